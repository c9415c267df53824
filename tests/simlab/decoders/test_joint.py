"""Verification of a block or a tree as a whole: which forms of it are lossless.

That capped hierarchical verification is block verification, traversal of a chain too, that a tree keeps no fewer drafts
than from the root down, and what is published is biased, are claims (``hsd``, ``traversal``); laws of sequences
and of steps are in :mod:`tests.theory.test_sequences`.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from simlab.decoders import make_decoder
from simlab.rules import make_rule
from tests.support import oracles
from tests.support.small_processes import pair
from theory.exact import deviation, sequence_law

pytestmark = pytest.mark.exact

RULE = make_rule("speculative")


def test_it_is_a_rule_of_its_own() -> None:
    """One draft is verified as the lossless rule does, and two are not; the rule that is given is not used."""
    target, draft = pair(1, 2, 4)
    for gamma in (1, 2):
        single = sequence_law(make_decoder("speculative", gamma=gamma), target, RULE, draft)
        for rule in (RULE, make_rule("amplify", k=2)):
            whole = sequence_law(make_decoder("block", gamma=gamma), target, rule, draft)
            assert whole[0] == single[0]
            assert (whole[1] == single[1]) == (gamma == 1)


# Hierarchical verification -------------------------------------------------------------------------------------

CHOICES = list(product(("capped", "uncapped"), ("running-max", "none", "min")))


@pytest.mark.parametrize("gamma", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("final", "prefix"), CHOICES)
def test_which_choices_are_lossless(prefix: str, final: str, gamma: int) -> None:
    """``min`` in place of the running maximum is lossless up to two drafts, and biased with three."""
    decoder = make_decoder("hierarchical", gamma=gamma, final=final, prefix=prefix)
    pairs = [pair(seed, 2, gamma, zeros) for seed, zeros in product(range(4), (0, 0.3))]
    assert decoder.lossless == (max(deviation(decoder, target, RULE, draft) for target, draft in pairs) == 0)
    right = prefix == "running-max" or (prefix == "min" and gamma == 2)
    assert decoder.lossless == (gamma == 1 or (final == "capped" and right))


@pytest.mark.parametrize(("final", "prefix"), CHOICES)
def test_every_choice_is_the_loop_as_printed(prefix: str, final: str) -> None:
    for gamma, zeros in ((2, 0.3), (3, 0)):
        target, draft = pair(3, 2, 4, zeros)
        given: dict[str, Any] = {"gamma": gamma, "final": final, "prefix": prefix}
        found = sequence_law(make_decoder("hierarchical", **given), target, RULE, draft)
        assert found == oracles.hierarchical_law(target, draft, **given)
