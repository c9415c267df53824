"""How a window's drafts are renewed: numbers and laws of the couplings, all exactly.

More of their numbers are in the claims ``scd``, ``sjdpp``, ``sjd-vp``, ``sjd-block`` and ``sjd2``.

Checked numbers are those of two chains of two tokens (first token 1/2, 1/2; stay with 4/5) and of a slot that is seen
twice, by enumeration in rationals.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from simlab.decoders import Sjd, SjdAc, SjdBlock, SjdPac, SjdPd, make_decoder
from simlab.decoders.renewal import RENEWALS
from simlab.decoders.sjd_reference import PointMassSjd
from simlab.decoders.triton import unsupported
from simlab.processes import TableProcess
from simlab.rules import Speculative
from theory.exact import block_law, deviation, mean, sequence_law, transitions
from theory.example_processes import sticky_process

F = Fraction
RULE = Speculative()
CHAIN = F(4, 5)

pytestmark = pytest.mark.exact


# Numbers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("renewal", "tv", "calls"),
    [
        ("fresh", F(0), F(41, 20)),
        ("maximal", F(0), F(41, 20)),
        ("gumbel", F(0), F(41, 20)),
        ("maximal-reference", F(9, 800), F(207, 100)),
    ],
)
def test_a_chain_of_three_whose_new_drafts_are_point_masses(renewal: Any, tv: Fraction, calls: Fraction) -> None:
    decoder, chain = make_decoder("sjd-reference", window=4, renewal=renewal), sticky_process(CHAIN, 2, 3)
    assert decoder == PointMassSjd(3, renewal=renewal)
    assert deviation(decoder, chain, RULE) == tv
    assert mean(sequence_law(decoder, chain, RULE)[1]) == calls


@pytest.mark.parametrize("renewal", RENEWALS)
def test_a_slot_seen_twice(renewal: Any) -> None:
    """q = (1/2, 1/2), p = (1/4, 3/4) at both visits: what the second visit emits when the first rejects before it."""
    seen: dict[int, Fraction] = {}
    decoder = make_decoder("sjd", window=2, initial="random", renewal=renewal)
    process = TableProcess(2, 2, lambda prefix: [[F(1), F(0)], [F(1, 4), F(3, 4)]][len(prefix)])
    # the first token is certain, and its uniform draft is rejected with probability 1/2: then slot 1 is seen again
    law, _ = sequence_law(decoder, process, RULE)
    for tokens, weight in law.items():
        seen[tokens[1]] = seen.get(tokens[1], F(0)) + weight
    once = block_law(decoder, process, RULE)
    twice = {x: seen[x] - once.get((0, x), F(0)) for x in (0, 1)}
    emitted = tuple(twice[x] / sum(twice.values()) for x in (0, 1))
    assert emitted == ((F(1, 8), F(7, 8)) if renewal == "maximal-reference" else (F(1, 4), F(3, 4)))


def test_what_has_no_fused_form_is_refused_by_name() -> None:
    assert (SjdAc(3).renewal, SjdPac(3).renewal, SjdPd(3).renewal) == ("maximal", "maximal", "fresh")
    for decoder in (Sjd(3, renewal="gumbel"), Sjd(3, renewal="maximal-reference"), SjdBlock(3, renewal="kept")):
        reason, renewal = unsupported(decoder, RULE), decoder.renewal
        assert reason == f"renewal is {renewal!r}, which has no fused form; expected 'fresh' or 'maximal'"
    assert unsupported(Sjd(3, renewal="maximal"), RULE) == unsupported(SjdAc(3), RULE)


def test_states_keep_what_is_known_of_the_noise_of_each_position() -> None:
    """After a draft from the uniform row of two tokens it is known which of their times is less."""
    process = TableProcess(2, 2, lambda prefix: [F(1, 4), F(3, 4)])
    first = next(transitions(Sjd(1, renewal="gumbel"), process, RULE))
    known = {tuple(state.tolist()) for states, _ in first for state in states.known[:, 0]}
    assert known == {(F(1), F(1), F(0), F(1)), (F(1), F(0), F(1), F(1))}
    assert np.concatenate([states.known for states, _ in first]).dtype == object
