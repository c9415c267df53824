"""Proofs about steps of decoders beside that they are lossless: which are one in law, and what each step does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from simlab.decoders import Block, Decoder, DynamicTree, Hierarchical, Sjd, SjdAc, SjdPac, SjdPd, Traversal
from simlab.mutants.decoders import TriesAgain, UnverifiedRelabelled
from simlab.mutants.randomness import OneUniform, WithRandomness
from simlab.mutants.trees import OtherParents, RowKept, WrongBranch
from simlab.rules import Amplify, Mixture, Rule, Speculative
from theory.proofs.base import Proof, Question
from theory.proofs.loops import Continuation, WithInputs
from theory.symbolic import Answer, prove_decoder
from theory.symbolic.answers import ProofAttempt, rows_in_words
from theory.symbolic.cells import Cell
from theory.symbolic.decoders import Outcome, Step, commits_nothing, first_difference, first_failure, one_step
from theory.symbolic.piecewise import added, vanishes, without_edges
from theory.symbolic.prove_decoders import prove_steps, wrong_tables

Key = Callable[[Outcome], Any]

__all__ = ["SEQUENCE_PROOFS", "at_tables"]


def at_tables(decoder: Decoder, size: int, length: int, rule: Rule | None = None) -> Answer:
    """Rational tables at which the sequences of a wrong decoder do not follow the target.

    For decoders whose sequences show what is wrong only where there are many cells.
    """
    attempt = ProofAttempt(repr(decoder), "lossless", rows_in_words(zeros=False))
    told, rows = f"V = {size}, sequences of {length}", wrong_tables(decoder, rule or Speculative(), size, length)
    return attempt.answer("counterexample", told, rows=rows) if rows else attempt.answer("unknown", told)


def state(outcome: Outcome) -> Any:
    """All that the next step knows: the committed tokens, the drafts, and the rows declared for them."""
    return outcome.tokens, outcome.declared, outcome.drafts


def committed(outcome: Outcome) -> Any:
    """The committed tokens."""
    return outcome.tokens


def counted(outcome: Outcome) -> Any:
    """The committed tokens, and how many drafts were accepted."""
    return outcome.tokens, outcome.accepted


def one_in_law(decoder: Decoder, other: Decoder, key: Key = state, size: int = 2, length: int = 3) -> Question:
    """That every step of two decoders, from the same state, has the same law of ``key(outcome)``."""

    def fails(step: Step) -> Cell[bool] | None:
        beside = one_step(other, Speculative(), size, length, step.prefix, step.supports, beside=step)
        return first_difference(step, beside, key)

    return partial(prove_steps, decoder, f"one in law with {other!r}", fails, None, size, length)


def declares(decoder: Decoder, rule: Rule) -> Question:
    """That every step with a rule, be it lossy, leaves drafts that follow the rows declared for them."""
    return partial(prove_steps, decoder, "drafts as declared", partial(first_failure, emits=False), rule)


def commits(decoder: Decoder) -> Question:
    """That every step commits a token."""
    return partial(prove_steps, decoder, "every step commits a token", commits_nothing)


def independent(decoder: Decoder, size: int = 2, length: int = 3) -> Question:
    """That each draft follows a row that the inputs of its call say, whatever stands to its left in the next call."""
    told = "drafts independent of what stands to their left in the next call, given the inputs"
    return partial(prove_steps, WithInputs(decoder), told, depends, None, size, length)


def depends(step: Step) -> Cell[bool] | None:
    """A cell in which a draft does not follow the call's row at its place, or the uniform row where it is new, given
    the inputs of the call and the tokens that stand to its left in the next call."""
    cells, target, done = step.cells, step.target, step.prefix or ()
    together: defaultdict[Any, list[Any]] = defaultdict(list)
    apart: defaultdict[Any, list[Any]] = defaultdict(list)
    for outcome, terms in step.laws.items():
        width = len(outcome.drafts)
        inputs = tuple(map(int, np.unravel_index(outcome.accepted, (target.vocabulary,) * width)))
        for j in range(min(width, target.length - len(outcome.tokens))):
            known = inputs, outcome.tokens, outcome.drafts[:j]
            together[known] += terms.items()
            apart[known, outcome.drafts[j]] += terms.items()
    for (known, x), parts in apart.items():
        inputs, tokens, drafts = known
        place = len(tokens) + len(drafts) - len(done)
        new = step.prefix is None or place >= len(inputs)
        chance = (target.uniform if new else target.row((*done, *inputs[:place])))[x]
        off = [*parts, *((where, value * chance * -1) for where, value in together[known])]
        if cell := vanishes(added(without_edges(off, cells), cells), cells):
            return cell
    return None


STEPS = "by induction over steps, so do the laws of sequences and of the number of steps"
TREE: dict[str, Any] = {"candidates": 2, "depth": 2}
SHARED: dict[str, Any] = {**TREE, "tree": "full", "shared": True}
CHAIN: dict[str, Any] = {"bonus": False}
HALF = Mixture(Fraction(1, 2))

SEQUENCE_PROOFS = (
    Proof(
        "sequences.traversal-chain",
        ("traversal.chain",),
        f"a step commits each tokens with the probability with which block verification does, for 1 and 2 "
        f"drafts; {STEPS}",
        (
            one_in_law(Traversal((1, 1)), Block(2), committed),
            one_in_law(Traversal((1,)), Block(1), committed),
        ),
        {"a parent keeps its row": one_in_law(RowKept((1, 1)), Block(2), committed)},
    ),
    Proof(
        "sequences.hierarchical",
        ("hsd.block",),
        f"a step commits and accepts with the joint law of block verification, for 1 and 2 drafts; {STEPS}",
        (one_in_law(Hierarchical(1), Block(1), counted), one_in_law(Hierarchical(2), Block(2), counted)),
        {"uncapped": one_in_law(Hierarchical(2, final="uncapped"), Block(2), counted)},
    ),
    Proof(
        "sequences.continuation",
        ("scd.continuation",),
        f"maximal coupling and SJD-PAC's Algorithm 1, written down line by line, have one law of what a step leaves; "
        f"{STEPS}",
        (
            one_in_law(Sjd(2, renewal="maximal"), Continuation(2)),
            one_in_law(Sjd(3, renewal="maximal"), Continuation(3)),
            one_in_law(Sjd(2, renewal="maximal", bonus=False), Continuation(2, bonus=False)),
        ),
        {
            "drafts that are drawn anew": one_in_law(Sjd(3), Continuation(3)),
            "drafts that are kept unverified": one_in_law(UnverifiedRelabelled(2), Continuation(2)),
        },
    ),
    Proof(
        "sequences.independence",
        ("sjd.independence",),
        "given the inputs of a call, each draft follows the call's row at its place, or the uniform row where it is "
        "new, whatever stands to its left in the next call",
        (
            *(independent(decoder) for decoder in (Sjd(2), Sjd(3), Sjd(2, bonus=False))),
            independent(Sjd(2), length=4),
            independent(Sjd(2), size=3, length=2),
        ),
        {
            "one uniform for all draws of a call": independent(WithRandomness(Sjd(2), OneUniform)),
            "a copy of the token to the left": independent(Sjd(2, "repeat-left")),
            "a draft from the row to its left, with a bonus token": independent(Sjd(2, "sample-left"), length=4),
        },
    ),
    Proof(
        "sequences.no-bonus",
        ("pac.readings.bonus",),
        f"a comb without bonus has the law of a chain without it, with continuation and without, K = D = 2; {STEPS}",
        tuple(
            one_in_law(kind(window, bonus=False, **TREE), chain(window, bonus=False))
            for window in (2, 3)
            for kind, chain in ((SjdPd, Sjd), (SjdPac, SjdAc))
        ),
        {
            "with the bonus": one_in_law(SjdPd(3, **TREE), Sjd(3, **CHAIN)),
            "a full tree": one_in_law(SjdPd(2, tree="full", **CHAIN, **TREE), Sjd(2, **CHAIN)),
        },
    ),
    Proof(
        "sequences.shared",
        ("pac.readings.shared",),
        "sequences of a full tree that shares its candidates follow the target, K = D = 2",
        (partial(prove_decoder, SjdPac(2, **SHARED)), partial(prove_decoder, SjdPac(3, **SHARED))),
        {"the first candidate's branch after another": partial(at_tables, WrongBranch(2, **SHARED), 3, 3)},
    ),
    Proof(
        "sequences.relabel",
        ("pac.relabel",),
        "with a lossy rule, a mixture or amplify, drafts follow the rows declared for them where its law is declared",
        tuple(declares(SjdAc(2, relabel="law"), rule) for rule in (HALF, Amplify(Fraction(2)))),
        {"p declared": declares(SjdAc(2), HALF)},
    ),
    Proof(
        "sequences.commits",
        ("sjd.worst-case",),
        "every step of SJD commits a token, whatever its drafts are",
        tuple(commits(decoder) for decoder in (Sjd(1), Sjd(2), Sjd(3), Sjd(2, bonus=False))),
        {"tries again where the first draft is rejected": commits(TriesAgain(2))},
    ),
    Proof(
        "sequences.dynamic-tree",
        ("candidates.eagle-2",),
        "sequences of two tokens follow the target, for a dynamic tree of two nodes",
        (partial(prove_decoder, DynamicTree(2, 1, 2), length=2, zeros=False),),
        {"nodes under other parents": partial(at_tables, OtherParents(2, 2, 3), 2, 3)},
    ),
)
