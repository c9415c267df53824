"""Every registered decoder that is said to be lossless emits the target's law, whatever its options, in rationals.

Hypothesis draws the options and the worlds: random tables of the whole prefix, with and without zeros, in a line and on
a grid, behind processors, and such that an end may fall inside a block of accepted drafts. That decoders which are
wrong are seen is shown in :mod:`tests.theory.symbolic.test_prove` and :mod:`tests.simlab.mutants.test_mutants`.
"""

from __future__ import annotations

from fractions import Fraction as F
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simlab.decoders import DECODERS, Decoder
from simlab.decoders.candidate_tree import CandidateTree
from simlab.decoders.sjd_reference import PointMassSjd
from simlab.processes import Ending, Process, Processed
from simlab.registry import make
from simlab.rules import make_rule
from tests.support.strategies import UNEVEN, decoder_options
from theory.exact import sequence_law, target_law
from theory.example_processes import random_process

pytestmark = pytest.mark.exact

RULE = make_rule("speculative")
FEWER, MORE = 20, 100  # configurations of each decoder
ALL: dict[str, Any] = {**DECODERS, "point masses": PointMassSjd}
SMALL: dict[str, st.SearchStrategy[Any]] = {  # to be enumerated
    "gamma": st.integers(1, 3),
    "window": st.integers(1, 3),
    "candidates": st.integers(1, 3),
    "depth": st.integers(0, 2),
    "top_k": st.integers(1, 3),
    "total": st.integers(1, 9),
    "branching": st.sampled_from([(1,), (2,), (1, 1), (2, 1), (1, 2), (2, 2), (1, 1, 1), UNEVEN[0], UNEVEN[2]]),
}
SIZES = [(2, 1, (1, 1)), (2, 2, (1, 2)), (2, 3, (1, 3)), (2, 4, (2, 2)), (3, 2, (2, 1)), (3, 2, (1, 2))]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Process, Process]:
    """A target and a draft of one size."""
    vocabulary, length, shape = draw(st.sampled_from(SIZES))
    seed, zeros = draw(st.integers(0, 999)), draw(st.sampled_from([0, 0.3]))
    target, draft = (random_process(seed + shift, vocabulary, length, shape, zeros=zeros) for shift in (0, 1000))
    behind = draw(st.sampled_from([None, partial(Ending, end=1), partial(Processed, temperature=F(1, 2), top_k=2)]))
    return target if behind is None else behind(target), draft


def emits_the_target(decoder: Decoder, target: Process, draft: Process) -> bool:
    """Exactly; to rounding where a verifier has irrational numbers."""
    law, steps = sequence_law(decoder, target, RULE, *([draft] if decoder.needs_draft else []))
    assert 1 <= min(steps) <= max(steps) <= target.length
    if isinstance(decoder, CandidateTree) and decoder.verifier == "k-seq":
        return {key: float(mass) for key, mass in law.items() if mass > 1e-12} == pytest.approx(target_law(target))
    return law == target_law(target) and sum(steps.values()) == 1


@pytest.mark.parametrize("count", [FEWER, pytest.param(MORE, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ALL)
def test_what_is_said_to_be_lossless_is(name: str, count: int) -> None:
    own = {key: drawn for key, drawn in SMALL.items() if name != "candidate-tree" or key != "candidates"}

    @settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))
    @given(decoder_options(ALL, name, own).map(lambda given: make("decoder", ALL, name, given)), worlds())
    def check(decoder: Decoder, pair: tuple[Process, Process]) -> None:
        assert not decoder.lossless or emits_the_target(decoder, *pair)

    check()


@pytest.mark.slow
@pytest.mark.parametrize(("vocabulary", "length"), [(2, 3), (3, 2)])
@pytest.mark.parametrize("name", ["mc_sim_7b_63", "mc_sim_7b_63_balanced", "naive_extend_57", "reverse_balanced_25"])
def test_published_trees_are_lossless(name: str, vocabulary: int, length: int) -> None:
    """Children without replacement, so that of five there are as many as tokens; Medusa's has too many branches."""
    pair = [random_process(seed, vocabulary, length, zeros=0.3) for seed in (2, 502)]
    assert emits_the_target(CandidateTree(name), *pair)
