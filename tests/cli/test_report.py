"""The whole run at a small size: what is measured on digits is saved, and the page is drawn from it alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments import digits, verify
from reports.page import build
from simlab.chance import Tape
from simlab.processes.digits import fit_digits
from simlab.rules import make_rule
from theory.exact import acceptance

SEQUENCES = 6


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything `simlab verify` saves, for two claims and a few sequences a pair."""
    out = tmp_path_factory.mktemp("results")

    def few(tasks: dict, seed: int, progress: object) -> object:
        for name, task in tasks.items():
            result = task()
            yield name, result, 0.0
            if name == verify.FIT:
                for decoder in digits.DECODERS:
                    yield f"digits: {decoder}", digits.measure(decoder, result, 0, SEQUENCES), 0.0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verify, "_run", few)
        patch.setattr(verify, "SEQUENCES", SEQUENCES)
        verify.verify(["gsd.speed", "leviathan.frontier"], 0, out, True, lambda name, done, total: None)
    return out


def test_every_decoder_rule_pair_is_measured(results: Path) -> None:
    table = pd.read_parquet(results / "digits.parquet")
    pairs = set(zip(table["decoder"], table["rule"], strict=True))
    judged = set(digits.DECODERS) - set(digits.RULELESS)
    assert pairs == {(d, r) for d in judged for r in digits.RULES} | {(d, "(none)") for d in digits.RULELESS}
    assert (table["sequences"] == SEQUENCES).all()


def test_lossless_pairs_spend_nothing_and_lossy_ones_stay_below_the_frontier(results: Path) -> None:
    table = pd.read_parquet(results / "digits-map.parquet")
    lossless = table[table["rule"] == "speculative"]
    np.testing.assert_allclose(lossless[["tv", "kl", "wasserstein"]], 0, atol=1e-12)
    assert (table["acceptance"] <= table["lossless"] + table["tv"] + 1e-12).all()
    assert (table[table["rule"] != "speculative"]["tv"] > 1e-3).all()


def test_distortion_only_grows_along_a_sequence(results: Path) -> None:
    table = pd.read_parquet(results / "digits-compounding.parquet")
    for _, line in table.groupby(["decoder", "rule"]):
        assert list(line["position"]) == list(range(64))
        assert (line[["tv", "kl", "wasserstein"]].diff().dropna() >= -1e-12).all(axis=None)


def test_recorded_contexts_are_the_drafts_that_were_looked_at() -> None:
    """With a rule that keeps nothing, exactly one draft a step is looked at, at the first open position."""
    pair = fit_digits(0)
    nothing = make_rule("amplify", k=0)
    decoder = digits.DECODERS["sjd, random"]
    done, contexts = digits.decode(decoder, nothing, pair, Tape(1, 2))
    assert (done.steps == 64).all()
    for b in range(2):
        assert sorted(contexts.position[contexts.sequence == b]) == list(range(64))
    assert acceptance(nothing, contexts.p, contexts.q).max() == 0


def test_the_page_is_drawn_from_the_saved_files(results: Path) -> None:
    page = build(results).read_text(encoding="utf-8")
    for heading in ("Acceptance bought with distortion", "Exact step distributions", "Distortion compounds", "digits"):
        assert heading in page
    assert page.count("<svg") == 4
    assert page.count("data:image/png;base64") == 1
    again = build(results).read_text(encoding="utf-8")
    assert again == page
