"""Tokens committed by a call, counted on digits: the counts add up, the errors are those of ratios."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.measurements import digits_pac
from simlab.decoders import make_decoder, run
from simlab.processes.digits import DigitsPair, fit_digits
from simlab.randomness import Tape
from simlab.rules import make_rule

pytestmark = pytest.mark.property

SEQUENCES = 5


@pytest.fixture(scope="module")
def pair() -> DigitsPair:
    return fit_digits(0)


@pytest.fixture(scope="module")
def measured(pair: DigitsPair) -> digits_pac.Measured:
    return digits_pac.measure("repeat-above", pair, 0, SEQUENCES)


def test_calls_and_tokens_add_up(pair: DigitsPair) -> None:
    for decoder in (make_decoder("autoregressive"), make_decoder("sjd-pac", window=8, candidates=3, depth=2)):
        steps, counts = digits_pac.decode(decoder, pair, Tape(4, SEQUENCES))
        assert (steps == run(decoder, pair.target, make_rule("speculative"), Tape(4, SEQUENCES)).steps).all()
        assert (counts.sum(axis=1) == steps).all()
        assert (counts @ np.arange(1, counts.shape[1] + 1) == 64).all()
        assert (counts.shape[1] == 1) == (decoder == make_decoder("autoregressive"))


def test_runs_and_lengths_tell_the_same(measured: digits_pac.Measured) -> None:
    names = ["decoder", "initial", "reading", "limited", "window", "nodes", "candidates", "depth", "tree"]
    assert len(measured.runs) == len(list(digits_pac.cases("repeat-above")))
    assert not measured.runs.duplicated(names).any()
    for key, line in measured.lengths.groupby(names):
        row = measured.runs.set_index(names).loc[key]
        assert line["share"].sum() == pytest.approx(1)
        assert row["one"] == line.set_index("tokens")["share"][1]
        # images of equal length: mean calls are tokens over tokens a call
        assert row["steps"] * (line["tokens"] * line["share"]).sum() == pytest.approx(64)


def test_standard_errors_are_those_of_a_ratio_over_whole_sequences() -> None:
    counts = np.array([[9, 1], [2, 2], [5, 4], [1, 8], [0, 3]])
    table = digits_pac._shares(counts)
    ones, calls = counts[:, 0], counts.sum(axis=1)
    left_out = np.array([(ones.sum() - a) / (calls.sum() - b) for a, b in zip(ones, calls, strict=True)])
    jackknife = np.sqrt(4 / 5 * ((left_out - left_out.mean()) ** 2).sum())
    assert table["share"].tolist() == [17 / 35, 18 / 35]
    assert table["share_se"][0] == pytest.approx(jackknife, rel=0.15)
    assert (digits_pac._shares(np.repeat([[3, 1]], 6, axis=0))["share_se"] == 0).all()


@pytest.mark.parametrize("initial", digits_pac.INITIALS)
def test_windows_and_budgets_are_what_they_say(initial: str) -> None:
    cases = list(digits_pac.cases(initial))
    told = {(c.name, c.window, c.candidates, c.depth, c.tree, c.reading) for c in cases}
    assert len(told) == len(cases)
    for case in cases:
        assert case.decoder.initial == initial  # type: ignore[attr-defined]
        assert case.decoder.window == case.window  # type: ignore[attr-defined]
        if case.candidates > 1:
            assert case.decoder.draft_tree().nodes == case.nodes  # type: ignore[attr-defined]
        if case.limited == "budget":
            assert case.nodes == digits_pac.BUDGET > case.window
        else:
            assert case.window == digits_pac.WINDOW <= case.nodes <= digits_pac.MOST_NODES
    if initial == "random":
        assert {c.candidates for c in cases} == {1, *digits_pac.CANDIDATES}
        assert {c.reading for c in cases} == {"", "kept dropped", "no bonus", "shared"}
        assert {c.limited for c in cases} == {"window", "budget"}
