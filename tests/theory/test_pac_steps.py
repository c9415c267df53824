"""Step distributions of SJD-PAC: floating point against rationals, and the check that all of them are lossless."""

from __future__ import annotations

import pytest

from experiments.measurements import small_processes
from simlab.decoders import make_decoder
from simlab.rules import make_rule
from theory.exact import sequence_law
from theory.example_processes import random_process

pytestmark = pytest.mark.exact

WORLD = random_process(1, 3, 3, zeros=0.4)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> str:
    """A world small enough for rationals, with all decoders."""
    monkeypatch.setitem(small_processes.PAC_PROCESSES, "small", (WORLD, small_processes.PAC))
    return "small"


@pytest.mark.slow
def test_floating_point_weights_are_those_of_rationals(small: str) -> None:
    table = small_processes.pac_steps(small)
    assert len(table.groupby(["decoder", "reading"])) == len(small_processes.PAC)
    for label, reading, kind, parameters in small_processes.PAC:
        decoder = make_decoder(kind, window=small_processes.PAC_WINDOW, **parameters)
        _, steps = sequence_law(decoder, WORLD, make_rule("speculative"))
        rows = table[(table["decoder"] == label) & (table["reading"] == reading)]
        assert dict(zip(rows["steps"], rows["probability"], strict=True)) == pytest.approx(
            {count: float(mass) for count, mass in steps.items()}, abs=1e-12
        )
    assert table["off"].max() < 1e-12


def test_off_sees_a_rule_that_is_not_lossless(small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(small_processes.RULES, "speculative", make_rule("amplify", k=2))
    assert small_processes.pac_steps(small)["off"].min() > 0.01


def test_verifying_on_saves_calls_in_one_world_and_costs_some_in_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the report says of them."""
    saved = []
    for name, (world, cases) in small_processes.PAC_PROCESSES.items():
        monkeypatch.setitem(small_processes.PAC_PROCESSES, name, (world, cases[:2]))
        table = small_processes.pac_steps(name)
        mean = (table["steps"] * table["probability"]).groupby(table["decoder"]).sum()
        saved.append(mean["sjd"] - mean["sjd-ac"])
    assert saved[0] > 0.01
    assert saved[1] < -0.01
