"""Every wrong tree, continuation and sampler is told from the right one by exact arithmetic (MUTANTS 1 to 6, 15, 22,
30 to 35), on worlds where the right one is exact; and what looks wrong but is right passes."""

from __future__ import annotations

from fractions import Fraction as F

import pytest

from simlab.decoders import Decoder, make_decoder
from simlab.mutants.samplers import Sampler, harmless, processed, samplers
from simlab.mutants.trees import ac_decoders, tree_decoders
from simlab.rules import Speculative
from theory.distances import aligned, tv
from theory.exact import sequence_law, target_law
from theory.example_processes import random_process

pytestmark = pytest.mark.exact
DEFAULT_EVERY = 2

LOSSLESS = Speculative()


def off(decoder: Decoder, count: int = 6) -> F:
    """TV from the target on the first of a few worlds with zeros over three tokens where there is one."""
    for seed in range(count):
        world = random_process(seed, 3, 3, zeros=0.35)
        found = F(tv(*aligned(sequence_law(decoder, world, LOSSLESS)[0], target_law(world))))
        if found:
            return found
    return F(0)


@pytest.mark.parametrize("tree", ["comb", "full"])
@pytest.mark.parametrize("name", tree_decoders(2, 2, 2, "comb"))
def test_wrong_trees(name: str, tree: str) -> None:
    assert off(tree_decoders(2, 2, 2, tree)[name]) > 0  # type: ignore[arg-type]


@pytest.mark.parametrize("tree", ["comb", "full"])
def test_the_right_tree_is_exact_there(tree: str) -> None:
    assert off(make_decoder("sjd-pac", window=2, candidates=2, depth=2, tree=tree)) == 0


@pytest.mark.parametrize("name", ac_decoders(3))
def test_wrong_continuations(name: str) -> None:
    assert off(ac_decoders(3)[name]) > 0
    assert off(make_decoder("sjd-ac", window=3)) == 0


WORLDS = [tuple(random_process(9 * k + j, 4, 3, zeros=0) for j in range(3)) for k in range(8)]


def misses(sampler: Sampler, target: object, unconditional: object) -> F:
    law = sequence_law(sampler.decoder, sampler.process, sampler.rule, draft=sampler.draft)[0]
    return F(tv(*aligned(law, target_law(processed(target, unconditional)))))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", samplers(*WORLDS[0], gamma=2))
def test_wrong_samplers(name: str) -> None:
    found = (misses(samplers(*world, gamma=2)[name], world[0], world[2]) for world in WORLDS)
    assert any(size > 0 for size in found)


@pytest.mark.parametrize("name", harmless(*WORLDS[0], gamma=2))
def test_samplers_that_look_wrong_and_are_right(name: str) -> None:
    assert max(misses(harmless(*world, gamma=2)[name], world[0], world[2]) for world in WORLDS[:4]) == 0
