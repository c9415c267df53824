"""How a window's drafts are renewed: numbers and laws of the couplings, all exactly.

Checked numbers are those of two chains of two tokens (first token 1/2, 1/2; stay with 4/5) and of a slot that is seen
twice, by enumeration in rationals.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from simlab.decoders import Decoder, Sjd, Sjd2, SjdAc, SjdBlock, SjdBlockTree, SjdPac, SjdPd, SjdPp, SjdVp, make_decoder
from simlab.decoders.renewal import RENEWALS
from simlab.decoders.sjd_reference import PointMassSjd
from simlab.decoders.triton import unsupported
from simlab.mutants.blocks import CoupledUnseen
from simlab.processes import TableProcess
from simlab.rules import Speculative
from theory.exact import block_law, deviation, mean, sequence_law, transitions
from theory.example_processes import random_process, sticky_process

F = Fraction
RULE = Speculative()
LOSSLESS = "fresh", "maximal", "gumbel"
WORLDS = [random_process(31, 2, 4, zeros=0.0), random_process(32, 3, 3, (1, 3), zeros=0.35)]
CHAIN = F(4, 5)

pytestmark = pytest.mark.exact


def bias(decoder: Decoder, process: TableProcess) -> Any:
    return deviation(decoder, process, RULE)


def steps(decoder: Decoder, process: TableProcess) -> Any:
    return mean(sequence_law(decoder, process, RULE)[1])


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
    assert (bias(decoder, chain), steps(decoder, chain)) == (tv, calls)


@pytest.mark.parametrize(
    ("renewal", "calls"), [("fresh", F(6089, 2000)), ("maximal", F(1511, 500)), ("gumbel", F(1511, 500))]
)
def test_a_chain_of_five(renewal: Any, calls: Fraction) -> None:
    assert steps(PointMassSjd(4, renewal=renewal), sticky_process(CHAIN, 2, 5)) == calls


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


def test_adaptive_continuation_is_the_maximal_coupling() -> None:
    """One decoder under two names: the very states, on every path."""
    assert SjdAc(3).renewal == "maximal"
    assert SjdPac(3).renewal == "maximal"
    assert SjdPd(3).renewal == "fresh"
    for process in WORLDS:
        assert sequence_law(SjdAc(3), process, RULE) == sequence_law(Sjd(3, renewal="maximal"), process, RULE)
        assert sequence_law(SjdAc(3, renewal="fresh"), process, RULE) == sequence_law(Sjd(3), process, RULE)
    shape: dict[str, Any] = {"candidates": 2, "depth": 1}
    process = random_process(33, 3, 3, zeros=0.35)
    one, other = SjdPac(2, **shape, renewal="fresh"), SjdPd(2, **shape)
    assert sequence_law(one, process, RULE) == sequence_law(other, process, RULE)


def test_one_visit_accepts_the_common_mass() -> None:
    """The second call's first draft is accepted with 1 - TV, however it was renewed: rows that depend on position."""
    process = TableProcess(3, 3, lambda prefix: [[F(1), F(0), F(0)], [F(1, 2), F(3, 10), F(1, 5)], [F(0), F(0), F(1)]][
        len(prefix)])  # fmt: skip
    for renewal in LOSSLESS:
        law = block_law(Sjd(2, renewal=renewal), process, RULE)
        both = sum((mass for tokens, mass in law.items() if len(tokens) > 1), F(0))
        assert both == F(1, 3)  # 1 - TV of the first row and the uniform one


def test_what_has_no_fused_form_is_refused_by_name() -> None:
    for renewal in ("gumbel", "maximal-reference"):
        reason = unsupported(Sjd(3, renewal=renewal), RULE)
        assert reason == f"renewal is {renewal!r}, which has no fused form; expected 'fresh' or 'maximal'"
    assert unsupported(Sjd(3, renewal="maximal"), RULE) == unsupported(SjdAc(3), RULE)


def test_states_keep_what_is_known_of_the_noise_of_each_position() -> None:
    """After a draft from the uniform row of two tokens it is known which of their times is less."""
    process = TableProcess(2, 2, lambda prefix: [F(1, 4), F(3, 4)])
    first = next(transitions(Sjd(1, renewal="gumbel"), process, RULE))
    known = {tuple(state.tolist()) for states, _ in first for state in states.known[:, 0]}
    assert known == {(F(1), F(1), F(0), F(1)), (F(1), F(0), F(1), F(1))}
    assert np.concatenate([states.known for states, _ in first]).dtype == object


# Reuse -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("threshold", "biased", "calls", "honest"),
    [  # the chain of three tokens, whose new drafts are point masses
        (F(0), F(39, 640), F(31, 16), F(2)),
        (F(1, 2), F(267, 16000), F(167, 80), F(21, 10)),
        (F(1), F(3, 2000), F(41, 20), F(41, 20)),
    ],
)
def test_reused_drafts_and_the_row_they_follow(threshold: F, biased: F, calls: F, honest: F) -> None:
    class PointMassSjdPp(SjdPp, PointMassSjd):
        """SJD++ whose new drafts declare point masses."""

    chain = sticky_process(CHAIN, 2, 3)
    newest, drawn = (
        PointMassSjdPp(3, bonus=False, tau=threshold, declared=declared) for declared in ("newest", "drawn")
    )
    assert (bias(newest, chain), steps(newest, chain)) == (biased, calls)
    assert (bias(drawn, chain), steps(drawn, chain)) == (0, honest)


# Blocks of a window, and rows that go on as they changed ---------------------------------------------------------


def test_coupled_drafts_behind_a_block_change_calls_alone() -> None:
    fresh, coupled, unseen = SjdBlock(3, renewal="fresh"), SjdBlock(3), CoupledUnseen(3)
    for process in (random_process(3, 2, 4, zeros=0.0), sticky_process(CHAIN, 2, 5)):
        assert bias(fresh, process) == bias(coupled, process) == 0
        assert bias(unseen, process) > 0
    assert steps(SjdBlock(4), process) < steps(SjdBlock(4, renewal="fresh"), process)


@pytest.mark.parametrize("seed", [3, 4])
def test_a_row_without_strength_is_the_newest(seed: int) -> None:
    process = random_process(seed, 2, 4)
    assert sequence_law(SjdVp(3, strength=0), process, RULE) == sequence_law(Sjd(3), process, RULE)
    assert bias(SjdVp(3, strength=F(1, 2)), process) == 0
    assert bias(SjdVp(3, strength=F(1, 2), declared="newest"), process) > 0


def test_noise_of_no_call_and_no_sibling_are_the_decoders_without_them() -> None:
    process = random_process(34, 2, 3, zeros=0.0)
    assert sequence_law(Sjd2(2, levels=0), process, RULE) == sequence_law(Sjd(2), process, RULE)
    assert sequence_law(SjdBlockTree(2, candidates=1), process, RULE) == sequence_law(SjdBlock(2), process, RULE)
    assert bias(Sjd2(2, levels=2), process) == bias(SjdBlockTree(2, candidates=2), process) == 0
    assert bias(Sjd2(2, criterion="noisy"), process) > 0
