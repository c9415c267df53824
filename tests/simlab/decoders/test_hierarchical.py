"""Hierarchical speculative decoding: block verification as published it is when capped, and biased when not.

What goes for all decoders is tested where they are: laws of sequences beside the slow recursion in
:mod:`tests.theory.test_sequences`, tokens of the compiled form in :mod:`tests.simlab.decoders.test_compiled`.
"""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product
from typing import Any
from unittest import mock

import numpy as np
import pytest

from simlab.decoders import Decoder, Hierarchical, hierarchical, make_decoder
from simlab.processes import TableProcess
from simlab.rules import make_rule
from tests.support import oracles
from theory.distances import aligned, tv
from theory.exact import block_acceptance, block_law, complete, deviation, sequence_law, target_law
from theory.example_processes import random_process

pytestmark = pytest.mark.exact
DEFAULT_EVERY = 3

RULE = make_rule("speculative")
FINALS, PREFIXES = ("capped", "uncapped"), ("running-max", "none", "min")


def constant(mass: F, length: int) -> TableProcess:
    """Two tokens, independent of all before: token 0 with probability ``mass``."""
    return TableProcess(2, length, lambda _: [mass, 1 - mass])


PAIR = constant(F(1, 3), 2), constant(F(2, 3), 2)


@pytest.mark.parametrize("prefix", PREFIXES)
def test_two_drafts_with_the_published_last_step(prefix: str) -> None:
    """p = (1/3, 2/3), q = (2/3, 1/3): more drafts are accepted than by any lossless verification."""
    decoder = make_decoder("hierarchical", gamma=2, final="uncapped", prefix=prefix)
    law = complete(block_law(decoder, PAIR[0], RULE, PAIR[1]), PAIR[0], 2)
    assert law == {(0, 0): F(1, 9), (0, 1): F(2, 9), (1, 0): F(1, 3), (1, 1): F(1, 3)}
    assert tv(*aligned(law, target_law(PAIR[0]))) == F(1, 9)
    assert block_acceptance(decoder, *with_draft(PAIR)) == F(4, 3)


def with_draft(pair: tuple[TableProcess, TableProcess]) -> tuple[Any, ...]:
    return pair[0], RULE, pair[1]


def test_two_drafts_by_others() -> None:
    accepted = {
        name: block_acceptance(make_decoder(name, gamma=2), *with_draft(PAIR))
        for name in ("speculative", "block", "hierarchical")
    }
    assert accepted == {"speculative": F(10, 9), "block": F(11, 9), "hierarchical": F(11, 9)}
    alone = make_decoder("autoregressive")
    assert block_acceptance(alone, PAIR[0], RULE) == 0
    with pytest.raises(ValueError, match="needs one"):
        block_acceptance(make_decoder("block", gamma=2), PAIR[0], RULE)


class OnlyNewMaxima(Hierarchical):
    """A prefix is scaled only where its ratio is a new maximum, and stands for probability 1 elsewhere."""

    def verify(self, rule: Any, p: Any, q: Any, x: Any, *others: Any) -> Any:
        drafted = np.cumprod(np.take_along_axis(q, x[..., None], 2)[..., 0], axis=1)
        before = np.concatenate([np.full_like(drafted[:, :1], F(1)), drafted[:, :-1]], axis=1)

        def scaled(ratio: Any, highest: Any) -> Any:
            return np.where((ratio == highest) & (ratio > 1), ratio / highest, 1 / before)

        with mock.patch.dict(hierarchical.SCALED, {self.prefix: scaled}):
            return super().verify(rule, p, q, x, *others)


def test_a_cap_at_new_maxima_alone_is_seen() -> None:
    """As in the file algorithm.py of the published code: TV 1/3, with 5/3 drafts accepted."""
    decoder = OnlyNewMaxima(2, "uncapped")
    law = complete(block_law(decoder, PAIR[0], RULE, PAIR[1]), PAIR[0], 2)
    assert tv(*aligned(law, target_law(PAIR[0]))) == F(1, 3)
    assert block_acceptance(decoder, *with_draft(PAIR)) == F(5, 3)


@pytest.mark.parametrize(("vocabulary", "gamma"), [(2, 1), (2, 2), (2, 3), (3, 2)])
def test_capped_it_commits_as_block_verification_does(vocabulary: int, gamma: int) -> None:
    """The very law of what the first step commits, and of the steps of whole sequences."""
    block, capped = make_decoder("block", gamma=gamma), make_decoder("hierarchical", gamma=gamma)
    for seed, zeros in product(range(2), (0, 0.3)):
        pair = tuple(random_process(seed + shift, vocabulary, gamma + 1, zeros=zeros) for shift in (0, 500))
        assert block_law(capped, *with_draft(pair)) == block_law(block, *with_draft(pair))
        assert sequence_law(capped, *with_draft(pair)) == sequence_law(block, *with_draft(pair))


def worst(decoder: Decoder, gamma: int) -> F:
    pairs = [
        tuple(random_process(seed + shift, 2, gamma, zeros=zeros) for shift in (0, 500))
        for seed in range(4)
        for zeros in (0, 0.3)
    ]
    return max(deviation(decoder, *with_draft(pair)) for pair in pairs)


@pytest.mark.parametrize("gamma", [1, 2, 3])
@pytest.mark.parametrize("final", FINALS)
@pytest.mark.parametrize("prefix", PREFIXES)
def test_which_choices_are_lossless(prefix: Any, final: Any, gamma: int) -> None:
    """``min`` in place of the running maximum is lossless up to two drafts, and biased with three."""
    decoder = make_decoder("hierarchical", gamma=gamma, final=final, prefix=prefix)
    assert decoder.lossless == (worst(decoder, gamma) == 0)
    right = prefix == "running-max" or (prefix == "min" and gamma == 2)
    assert decoder.lossless == (gamma == 1 or (final == "capped" and right))


@pytest.mark.parametrize("final", FINALS)
@pytest.mark.parametrize("prefix", PREFIXES)
def test_every_choice_is_the_loop_as_printed(prefix: Any, final: Any) -> None:
    for gamma, zeros in ((2, 0.3), (3, 0)):
        pair = tuple(random_process(seed, 2, 4, zeros=zeros) for seed in (3, 503))
        given = {"gamma": gamma, "final": final, "prefix": prefix}
        found = sequence_law(make_decoder("hierarchical", **given), *with_draft(pair))
        assert found == oracles.hierarchical_law(*pair, **given)
