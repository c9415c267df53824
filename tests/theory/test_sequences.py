"""The law of finished sequences and of steps, for every decoder, in rationals.

The same law *and the same steps* come out of the slow recursions of :mod:`tests.support.oracles`, on context-dependent
random tables with and without zeros, in a line and on grids. That it is the target's with the lossless rule, whatever
the decoder and its options, is in tests/simlab/decoders/test_lossless.py.
"""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import pytest

from simlab.decoders import make_decoder
from simlab.processes import TableProcess
from simlab.rules import make_rule
from tests.support import oracles
from tests.support.cases import (
    DRAFTED,
    JACOBI,
    LONG,
    REFERENCE,
    SJD,
    SPECULATIVE,
    TREES,
    UNREFINED,
    by_decoder,
    nearest,
    sized,
)
from tests.support.small_processes import WORLDS, drafts, world
from theory.exact import block_law, complete, sequence_law, target_law
from theory.example_processes import random_process

pytestmark = pytest.mark.exact
DEFAULT_EVERY = 6

LOSSY = [
    ("amplify", {"k": 2}),
    ("grouped", {"labels": []}),
    ("grouped-group-residual", {"labels": []}),
    ("dynamic-grouped", {"size": 2, "window": "printed"}),
    ("gsd-reference", {"below": 1, "above": 1}),
    ("lantern", {"neighbours": nearest(3), "delta": F(1, 2)}),
    ("typical", {}),
]
LOOPS = DRAFTED + SJD + UNREFINED + REFERENCE + TREES + LONG
by_rule = pytest.mark.parametrize(("rule", "setting"), LOSSY, ids=[name for name, _ in LOSSY])


def test_target_law_is_the_product_of_rows() -> None:
    assert [target_law(world(where)) for where in WORLDS] == [oracles.target(world(where)) for where in WORLDS]


@by_decoder(LOOPS)
def test_the_first_block_completed_by_the_target_is_the_target_law(name: str, parameters: dict[str, Any]) -> None:
    decoder, rule = make_decoder(name, **parameters), make_rule("speculative")
    wrong = []
    for where in WORLDS:
        process = world(where)
        block = block_law(decoder, process, rule, **drafts(where, decoder))
        assert min(map(len, block)) >= 1
        wrong += [where] * (complete(block, process, process.length) != oracles.target(process))
    assert not wrong


# Against second opinions ---------------------------------------------------------------------------------------


def differs(name: str, parameters: dict[str, Any], where: str, rule: str, setting: dict[str, Any]) -> bool:
    """Whether the law of sequences or of steps is not what the slow recursion gives."""
    decoder, fitting = make_decoder(name, **parameters), sized(setting, WORLDS[where][0])
    draft = drafts(where, decoder)
    found = sequence_law(decoder, world(where), make_rule(rule, **fitting), **draft)
    return found != oracles.decoder_laws(name, parameters, world(where), oracles.RULES[rule](**fitting), **draft)


@by_decoder(LOOPS)
def test_law_and_steps_are_those_of_the_loop_as_printed(name: str, parameters: dict[str, Any]) -> None:
    wrong = [where for where in WORLDS if differs(name, parameters, where, "speculative", {})]
    assert not wrong


@by_rule
def test_so_they_are_for_lossy_rules(rule: str, setting: dict[str, Any]) -> None:
    """Every initialisation, with and without bonus; kept tail tokens then follow the rule's law, not p."""
    cases = [SPECULATIVE[1], *[case for case in SJD if case[1]["window"] == 2], REFERENCE[1]]
    where = ["line with zeros", "grid with zeros"]
    wrong = [(*case, place) for case in cases for place in where if differs(*case, place, rule, setting)]
    assert not wrong


@by_decoder(JACOBI)
def test_jacobi_decoding_is_its_iteration(name: str, parameters: dict[str, Any]) -> None:
    slow = {"fresh": oracles.jacobi_law, "fixed": oracles.jacobi_fixed_law}[parameters["noise"]]
    decoder, rule = make_decoder(name, **parameters), make_rule("speculative")
    wrong = []
    for where in ("line", "line with zeros", "column"):
        laws = sequence_law(decoder, world(where), rule)
        wrong += [where] * (laws != slow(world(where), parameters["window"]))
    assert not wrong


# Floats, time, and what does not end ---------------------------------------------------------------------------


@by_decoder([("autoregressive", {}), SPECULATIVE[1], JACOBI[4], SJD[1], UNREFINED[1], REFERENCE[1]])
def test_float_tables_give_the_same_laws_in_floats(name: str, parameters: dict[str, Any]) -> None:
    exact = world("grid")
    process = TableProcess(2, 4, lambda prefix: [float(mass) for mass in exact.row(prefix)], (2, 2))
    decoder, rule = make_decoder(name, **parameters), make_rule("speculative")
    draft = {"draft": process} if decoder.needs_draft else {}
    laws = sequence_law(decoder, process, rule, **draft)
    expected = sequence_law(decoder, exact, rule, **({"draft": exact} if draft else {}))
    for found, right in zip(laws, expected, strict=True):
        assert all(isinstance(mass, float) for mass in found.values())
        assert found == pytest.approx({key: float(mass) for key, mass in right.items()}, rel=0, abs=1e-13)


def test_a_decoder_that_does_not_end_is_an_error() -> None:
    class Stuck(type(make_decoder("autoregressive"))):  # type: ignore[misc]
        def step(self, state: Any, *others: Any) -> Any:
            return state, super().step(state, *others)[1]

    with pytest.raises(ArithmeticError, match=r"Stuck has not finished sequences of 4 tokens after 20 steps"):
        sequence_law(Stuck(), world("line"), make_rule("speculative"))


@pytest.mark.parametrize("vocabulary", [2, 3])
def test_lantern_blocks_of_a_chain_grow_with_delta_as_lantern_monotone_argues(vocabulary: int) -> None:
    target, draft = (random_process(seed, vocabulary, 3, zeros=0) for seed in (1, 2))
    near, decoder = nearest(vocabulary), make_decoder("speculative", gamma=2)

    def tokens(delta: F) -> F:
        rule = make_rule("lantern", neighbours=near, delta=delta)
        return sum((len(block) * mass for block, mass in block_law(decoder, target, rule, draft).items()), F(0))

    means = [tokens(F(k, 6)) for k in range(7)]
    assert means == sorted(means)
    assert means[0] < means[-1]
