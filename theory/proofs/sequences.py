"""Proofs about steps of decoders beside that they are lossless: which are one in law, and what each step does."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from simlab.decoders import Block, Decoder, DynamicTree, Hierarchical, Sjd, SjdAc, SjdPac, SjdPd, Traversal
from simlab.mutants.decoders import TriesAgain
from simlab.mutants.trees import OtherParents, RowKept, WrongBranch
from simlab.rules import Amplify, Mixture, Rule, Speculative
from theory.proofs.base import Proof, Question
from theory.symbolic import Answer, prove_decoder
from theory.symbolic.answers import ProofAttempt, rows_in_words
from theory.symbolic.cells import Cell
from theory.symbolic.decoders import Outcome, Step, commits_nothing, first_difference, first_failure, one_step
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
        f"maximal coupling and adaptive continuation have one law of what a step leaves; {STEPS}",
        (
            one_in_law(Sjd(2, renewal="maximal"), SjdAc(2)),
            one_in_law(Sjd(3, renewal="maximal"), SjdAc(3)),
            one_in_law(Sjd(2, renewal="maximal", bonus=False), SjdAc(2, bonus=False)),
        ),
        {"drafts that are drawn anew": one_in_law(Sjd(3), SjdAc(3))},
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
