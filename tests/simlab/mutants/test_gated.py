"""Wrong implementations by design: references are exact, faults deviate, and gates let them in where they say."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from simlab.mutants.gated import chain_faults
from simlab.mutants.gated.base import Wrong
from simlab.mutants.gated.contracts import CONTRACTS, Contract
from simlab.mutants.gated.deviations import (
    COUNTS,
    ENOUGH,
    LENGTHS,
    OF_LOGITS,
    ROWS,
    SIZES,
    Hard,
    Scene,
    deviation,
    measured,
)
from simlab.mutants.gated.gates import ALWAYS, FAMILIES, GATES, NEVER, Gate

pytestmark = pytest.mark.exact

ROUNDING = 1e-12
LAWS = (  # contracts that differ in the law that a fault comes to
    *("verify", "verify_batch", "chain_tokens", "flat_exponential", "flat_tokens"),
    *("chain_logits", "chain_logits_joint", "verify_candidates", "draft", "decode", "tree_parents", "tree_siblings"),
)
QUICK = ("verify", "verify_batch", "verify_candidates", "draft", "tree_parents")  # one of a group; decode takes longest


def quickly(names: Iterable[str]) -> pytest.MarkDecorator:
    """By contract, slowly but for the ``QUICK`` ones."""
    return pytest.mark.parametrize(
        "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in names]
    )


def small_scene(of: Contract) -> Scene:
    """A small shape, of which the last sequence and the first position are hard."""
    batch = 2 if "batch" in of.has else 1
    return Scene(8, 2, batch, batch - 1, 0 if of.group != "decode" else 1)


def rows_of(of: Contract) -> tuple[Hard, ...]:
    """Hard rows for a contract, with the settings of logits."""
    return OF_LOGITS if "logits" in of.has else ROWS


# References --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAWS)
def test_without_a_fault_the_law_is_the_target(name: str) -> None:
    of = CONTRACTS[name]
    for rows in rows_of(of):
        for position in (0, 1):
            scene = Scene(8, 2, 2 if "batch" in of.has else 1, 0, position)
            assert measured(scene, rows, Wrong(of.right, ALWAYS), of).tv < ROUNDING


@quickly(LAWS)
def test_behind_a_closed_gate_every_fault_is_exactly_lossless(name: str) -> None:
    of = CONTRACTS[name]
    for fault in of.faults.values():
        if of.fits(fault, NEVER) and (fault.known or fault.stale):
            assert measured(small_scene(of), rows_of(of)[0], Wrong(fault, NEVER), of).tv < ROUNDING, fault.name


# Faults ------------------------------------------------------------------------------------------------------------


@quickly(LAWS)
def test_every_fault_deviates_where_its_gate_is_open(name: str) -> None:
    """In a small shape, by the first of the hard rows that shows it, or in the smallest that was looked at; ``ENOUGH``
    is what a certificate has to find."""
    of = CONTRACTS[name]
    names = [fault.name for fault in of.faults.values() if of.fits(fault, ALWAYS) and not fault.faint]
    if "logits" in of.has:  # the others are those of a chain
        names = [fault for fault in names if fault not in chain_faults.FAULTS]
    faults = {name: Wrong(of.faults[name], ALWAYS) for name in names}
    shown = {
        fault
        for fault, wrong in faults.items()
        if any(measured(small_scene(of), rows, wrong, of).tv >= ENOUGH for rows in rows_of(of))
    }
    assert [fault for fault in names if fault not in shown and deviation(fault, ALWAYS, name).tv < ENOUGH] == []


def test_a_deviation_is_that_of_the_law_written_down_by_hand() -> None:
    """One draft of two tokens: residual drawn from p is off by (1 - a)(1 - r) with a the acceptance, r = p of it."""
    rows = Hard((0.5, 0.5), (0.75, 0.25), (0.5, 0.5), (0.5, 0.5))
    of = CONTRACTS["verify"]
    found = measured(Scene(2, 1), rows, Wrong(of.faults["residual drawn from p"]), of)
    assert found.tv == pytest.approx(0.25 * 0.5)
    assert found.exact


def test_a_gate_of_calls_counts_by_its_share() -> None:
    always = deviation("residual drawn from p", ALWAYS, "verify").tv
    assert deviation("residual drawn from p", GATES["one call in 7"], "verify").tv == pytest.approx(always / 7)


def test_a_fault_that_its_gate_keeps_out_does_not_deviate() -> None:
    assert deviation("first draft unverified", GATES["position > 31"], "verify").tv < ROUNDING
    assert deviation("row of p of another sequence", ALWAYS, "verify").tv == 0  # there is no other


@quickly(CONTRACTS)
def test_every_gate_can_be_asked_under_every_contract(name: str) -> None:
    """One of each family, of the first fault that goes with it: candidates of one position share their rows."""
    of = CONTRACTS[name]
    for gate in (next(family.gates()) for family in FAMILIES):
        fitting = [fault for fault, found in of.faults.items() if of.fits(found, gate)]
        assert not fitting or 0 <= deviation(fitting[0], gate, name).tv <= 1 + ROUNDING, gate.name


# Gates -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gate", GATES.values(), ids=lambda gate: gate.name)
def test_every_gate_opens_in_some_shape_and_not_in_all(gate: Gate) -> None:
    shapes = [{"V": V, "gamma": gamma, "batch": batch} for V in SIZES for gamma in LENGTHS for batch in COUNTS]
    if "batch" not in gate.needs:
        shapes = [shape for shape in shapes if shape["batch"] == 1]
    assert any(gate.reachable(shape) for shape in shapes)
    outside = gate.of in ("token", "row", "call", "position", "sequence")  # those are closed at some places of any
    assert outside or not all(gate.reachable(shape) for shape in shapes)


def test_gates_of_a_single_size_are_told_apart() -> None:
    single = {gate.name for gate in GATES.values() if gate.single}
    assert {"gamma = 77", "V = 50,257", "batch = 100", "position = 40"} <= single
    assert not {"gamma > 16", "V > 65,536", "9 <= gamma <= 15", "V odd", "gamma = 5", "position > 31"} & single
    assert GATES["one call in 7"].measure == pytest.approx(1 / 7)
