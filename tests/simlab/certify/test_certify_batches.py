"""The contract of batches: laws of known verifiers, what each bug is seen by, and what is reported."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from simlab.arrays import total_variation
from simlab.certify import certify
from simlab.certify.battery.batches import both_ends, cases, simplest
from simlab.certify.contracts.base import Broken
from simlab.certify.contracts.batches import as_rows
from simlab.mutants.gated.chains import excess
from simlab.mutants.gated.contracts import CONTRACTS, implementation, known, over_coins, reference
from simlab.mutants.gated.gates import ALWAYS
from simlab.randomness.coins import SampledCoins
from tests.support.certify import REACHABLE, Stuck, calls_to_tell_apart, exact_law, found_in

pytestmark = pytest.mark.exact
DEFAULT_EVERY = 2

SMALL = [case for case in cases() if case.small]
KNOWN, OF = known("verify_batch"), CONTRACTS["verify_batch"]
BREAKS = "bonus token twice"  # a token too many: no law, but broken output
lossless = over_coins("verify_batch", OF.right)
ours = reference("verify_batch")


def vectorised(p: Any, q: Any, drafts: Any, rng: np.random.Generator) -> Any:
    """All sequences at once, as engines do it: an array padded with -1."""
    batch, most = drafts.shape
    gamma = (drafts >= 0).sum(axis=1)
    rows, at = np.arange(batch)[:, None], np.arange(most)
    coins, ends = rng.random((batch, most)), rng.random(batch)
    x = np.maximum(drafts, 0)
    kept = (coins * q[rows, at, x] < p[rows, at, x]) & (at < gamma[:, None])
    count = np.cumprod(kept, axis=1).sum(axis=1)
    last = p[np.arange(batch), count]
    drawn = np.concatenate([q, np.zeros_like(p[:, :1])], axis=1)[np.arange(batch), count]
    rest = np.maximum(last - drawn, 0)
    rest[~rest.any(axis=1)] = last[~rest.any(axis=1)]
    upto = rest.cumsum(axis=1)
    tokens = np.full((batch, most + 1), -1)
    tokens[:, :most] = np.where(at < count[:, None], drafts, -1)
    tokens[np.arange(batch), count] = (upto <= (ends * upto[:, -1])[:, None]).sum(axis=1)
    return tokens


@pytest.mark.parametrize("case", [*SMALL, *both_ends()], ids=lambda case: case.name)
def test_the_right_one_emits_the_target(case):
    assert sum(case.every_input().values()) == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(_law(case, lossless), case.events[0].law, atol=1e-12)


def _law(case: Any, verify: Any) -> Any:
    """Along every branch of the whole batch."""
    law = 0
    for drafts, chance in case.every_input().items():
        arguments = case.arguments(case.as_input(drafts)).values()
        emitted = exact_law(verify, *arguments)
        law = law + chance * case.law_of({case.flat(rows): share for rows, share in emitted.items()})
    return law


def test_laws_of_sequences_multiply():
    """A bug of single sequences: the product of their laws is the law of the whole batch."""
    case = next(case for case in SMALL if case.name == "two sequences of one draft")
    wrong = _law(case, over_coins("verify_batch", KNOWN["residual drawn from p"]))
    np.testing.assert_allclose(case.law_under("residual drawn from p"), wrong, atol=1e-12)
    assert total_variation(wrong, case.events[0].law) > 0.1


SEEN = [name for name, fault in KNOWN.items() if fault.pair or "batch" in fault.needs or fault.number in ("12", "17")]


@pytest.mark.parametrize("name", SEEN)
def test_every_bug_is_seen_within_a_minute(name):
    assert calls_to_tell_apart(cases(), name) <= REACHABLE


def test_a_token_too_many_breaks():
    found = certify(implementation(BREAKS, ALWAYS, "verify_batch"), "verify_batch", calls=64, processes=0)
    assert found.verdict == "breaks"


@pytest.mark.parametrize("verify", [ours, vectorised])
def test_right_ones_pass(verify):
    found = certify(verify, "verify_batch", calls=100, processes=0)
    assert found.verdict == "inconclusive"
    assert found.failure is None
    assert found.calls == 100 * len(cases())
    assert found.exact.endswith("cases")
    assert found.forced.endswith("cases")
    assert found.notes == ()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("row of p of another sequence", marks=pytest.mark.slow),
        pytest.param("the coins of the first sequence", marks=pytest.mark.slow),
        "residual drawn from p",
    ],
)
def test_wrong_ones_are_found_exactly_and_recognised(name):
    found = certify(implementation(name, ALWAYS, "verify_batch"), "verify_batch", calls=64, processes=0)
    assert found.verdict == "lossy"
    assert found.failure is not None
    assert name in found.failure.known


def test_padding_taken_for_a_token_breaks():
    """-1 indexes the last token: q holds nothing there, so it is kept, and written."""

    def verify(p: Any, q: Any, drafts: Any, rng: np.random.Generator) -> Any:
        rows = []
        for b, row in enumerate(drafts.tolist()):
            kept = 0
            while kept < len(row) and rng.random() * q[b, kept, row[kept]] <= p[b, kept, row[kept]]:
                kept += 1
            end = p[b, kept] if kept == len(row) else excess(p[b, kept], q[b, kept])
            rows.append([*row[:kept], SampledCoins(rng).draw(end)])
        return rows

    found = certify(verify, "verify_batch", calls=64, processes=0)
    assert found.verdict == "breaks"
    assert "sequence" in found.summary


def test_generators_that_are_seeded_anew_are_found():
    """Also where single calls are right, and only two in turn are alike."""
    once, twice = cases()[0], next(case for case in cases() if case.name == "two calls in turn")
    assert found_in(once, lambda *arguments: ours(*arguments[:-1], np.random.default_rng(7)), 500)
    assert not found_in(once, Stuck(ours), 5000)
    assert not found_in(twice, ours, 5000)
    assert found_in(twice, Stuck(ours), 5000)


def test_rows_are_read_as_arrays_lists_and_without_padding():
    wanted = ((1,), (0, 1, 1))
    for answer in (
        [[1, -1, -1], [0, 1, 1]],
        np.array([[1, -1, -1], [0, 1, 1]]),
        [[1], (0, 1, 1)],
        [np.array([1]), [0, 1, 1]],
    ):
        assert as_rows(answer, 2, (2, 3)) == wanted


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([[1]], "expected 2 rows"),
        (3, "expected 2 rows"),
        ([1, 0], "expected a row of tokens"),
        ([[1], [-1, 1, 0]], "returns token -1"),
        ([[-1, -1, -1], [0, -1, -1]], "returns 0 tokens"),
        ([[0, 1, 1], [0, 1, 1]], "returns 3 tokens"),
        ([[0, -1, -1, -1], [0, 1, 1]], "a row of 4"),
        ([[2, -1, -1], [0, 1, 1]], "returns token 2"),
        ([[0.5], [0]], "whole numbers"),
    ],
)
def test_malformed_rows_are_told(answer, message):
    with pytest.raises(Broken, match=message):
        as_rows(answer, 2, (2, 3))


def test_the_script_runs(tmp_path):
    case = next(case for case in simplest() if len(set(case.widths)) == 2)
    (tmp_path / "mine.py").write_text(
        "def verify(p, q, drafts, rng):\n    return [[rng.choice(p.shape[2], p=rows[0])] for rows in p]\n"
    )
    (tmp_path / "shown.py").write_text(case.script("mine", "verify", 200))
    shown = subprocess.run([sys.executable, "shown.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert shown.stdout.count("target") == 2**case.length
