"""The tables over large vocabularies, at small sizes: what is in them, and that their numbers fit together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments.measurements import candidates
from experiments.measurements import large_vocabulary as tables
from theory.acceptance import alpha
from theory.exact import acceptance
from theory.example_processes import codebook_pairs

pytestmark = pytest.mark.exact


@pytest.fixture(scope="module")
def naive() -> pd.DataFrame:
    return tables.naive(vocabulary=256, contexts=3, rows=("flat", "peaked"))


def test_naive_rules_accept_as_much_and_move_the_least_mass(naive: pd.DataFrame) -> None:
    assert len(naive) == 2 * 8 * 3
    assert (naive["rule"].value_counts()[["amplify", "addition"]] == 16).all()
    for _, group in naive.groupby(["rows", "beside"]):
        assert np.ptp(group["acceptance"]) < 1e-9
        assert group["tv"].min() >= group["acceptance"].mean() - group["lossless"].mean() - 1e-9
        on_frontier = group[group["rule"] != group["beside"]]
        np.testing.assert_allclose(on_frontier["tv"], on_frontier["acceptance"] - on_frontier["lossless"], atol=1e-9)


def test_distances_lie_between_their_bounds(naive: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (naive["least"] <= naive["wasserstein"] + 1e-9).all()
    assert (naive["wasserstein"] <= naive["most"] + 1e-9).all()
    monkeypatch.setattr(tables, "EXACT", 128)
    large = tables.naive(vocabulary=256, contexts=1, rows=("flat",))
    assert large["wasserstein"].isna().all()
    assert (large["least"] <= large["most"]).all()


def test_neighbours_cover_every_setting() -> None:
    table = tables.neighbours(vocabulary=128, contexts=2, rows=("flat",))
    assert len(table) == 3 * 2 * 1 * 4, "k = 300 and 1000 are more than there are tokens"
    assert (table["acceptance"] >= table["lossless"] - 1e-12).all()
    np.testing.assert_allclose(table["tv"], table["acceptance"] - table["lossless"], atol=1e-9)
    sure = table[table["candidate"] == "likeliest"]
    assert (sure["tv"] < sure["delta"]).all()
    measured = tables.neighbours(vocabulary=128, contexts=1, rows=("peaked",), distances=True)
    assert (measured["least"] <= measured["most"] + 1e-12).all()
    pd.testing.assert_series_equal(measured["least"] > 0, measured["tv"] > 0, check_names=False)


def test_sequences_are_further_apart_the_longer_they_are() -> None:
    table = tables.compounding(vocabulary=64, length=20, sequences=400)
    assert table["n"].unique().tolist() == [1, 4, 16, 20]
    assert table["rule"].nunique() == 4
    for _, rule in table.groupby("rule"):
        assert (rule["least"] <= rule["estimate"]).all()
        assert (rule["estimate"] <= rule["most"]).all()
        assert (rule["directed"] <= rule["most"]).all()
        assert rule["estimate"].iloc[-1] > rule["estimate"].iloc[0]


def test_blocks_are_alike_exactly_and_by_sampling() -> None:
    exact = tables.blocks(vocabulary=64, length=24, gammas=(2, 4))
    assert len(exact) == 7 * 2
    off = exact["tokens"] / exact["formula_by_look"] - 1
    uneven = exact["heterogeneity"] >= 1.5
    assert off[uneven].max() < -0.0005
    assert off[exact["process"] != "local"].abs().max() < 0.01
    sampled = tables.simulated_blocks(vocabulary=64, shape=(4, 6), sequences=300, gammas=(2,))
    assert len(sampled) == 3
    for name in ("tokens", "by_look", "formula_by_look"):
        assert (sampled[f"{name}_least"] < sampled[name]).all()
        assert (sampled[name] < sampled[f"{name}_most"]).all()


def test_a_vocabulary_has_room_for_windows() -> None:
    with pytest.raises(ValueError, match="vocabulary is 100; expected a whole number >= 128"):
        tables.naive(vocabulary=100)


# Several candidates --------------------------------------------------------------------------------------------------


SEED, CONTEXTS = 4, 3


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return candidates.measure(SEED, CONTEXTS)


def test_no_rule_keeps_more_than_its_frontier_nor_the_lossless_one_than_the_optimum(
    table: pd.DataFrame,
) -> None:
    assert (table["acceptance"] <= table["frontier"] + 1e-9).all()
    lossless = table[table["rule"] == "speculative"]
    assert lossless["tv"].max() < 1e-12
    assert (lossless["acceptance"] <= lossless["optimum"] + 1e-12).all()
    assert (lossless["acceptance"] < lossless["optimum"] - 1e-4).any(), "the optimum is never out of reach"
    assert (table[table["rule"] != "speculative"]["tv"] > 1e-3).all()


def test_one_candidate_is_what_the_rule_accepts(table: pd.DataFrame) -> None:
    pairs = codebook_pairs(SEED, CONTEXTS, vocabulary=candidates.VOCABULARY)
    one = table[table["candidates"] == 1].set_index("rule")
    assert one["optimum"].iloc[0] == pytest.approx(alpha(pairs.p, pairs.q).mean())
    for name, rule in candidates.rules(pairs.codebook).items():
        assert one["acceptance"][name] == pytest.approx(acceptance(rule, pairs.p, pairs.q).mean())


def test_more_candidates_are_kept_more_often(table: pd.DataFrame) -> None:
    for _, part in table.groupby("rule"):
        assert part.sort_values("candidates")["acceptance"].is_monotonic_increasing
