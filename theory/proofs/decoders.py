"""Proofs about decoders: a step from every state emits the target's law, and so do sequences, by induction."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from simlab.arrays import Array
from simlab.decoders import (
    Block,
    Decoder,
    Hierarchical,
    Sjd,
    SjdAc,
    SjdPac,
    SjdPd,
    SpeculativeDecoder,
    Traversal,
    sjd_reference,
)
from simlab.mutants.decoders import (
    NeighbourScoredUniform,
    ReferenceTailStale,
    StaleRows,
    TailStale,
    UnverifiedRelabelled,
    sjd_decoders,
    speculative_decoders,
)
from simlab.mutants.randomness import OneMorePrefix, WithRandomness
from simlab.mutants.rules import RULES, TargetZeroedInPlace
from simlab.mutants.trees import OwnTokenLast, RowKept, SquaredWeights, ac_decoders, tree_decoders
from theory.proofs.base import Proof, Question
from theory.proofs.loops import AnyInitial, RowBehind
from theory.proofs.sequences import at_tables
from theory.symbolic import prove_decoder

SEQUENCES = "sequences follow the target: a step from every state emits its law, and leaves drafts as declared"

__all__ = ["DECODER_PROOFS"]


def decoder_asks(
    *made: Decoder, size: int = 2, length: int = 3, that: str = "lossless", zeros: bool = True
) -> tuple[Question, ...]:
    """A statement about sequences of each of some decoders."""
    return tuple(partial(prove_decoder, each, that, size=size, length=length, zeros=zeros) for each in made)


def wrong_rules(decoder: Decoder, length: int = 3) -> dict[str, Question]:
    """The wrong rules of :mod:`simlab.mutants.rules` with a decoder.

    The one that zeroes a token in p needs three tokens: of two, the residual is certain whatever it was made of.
    """
    found: dict[str, Question] = {}
    for name, rule in RULES.items():
        if isinstance(rule, TargetZeroedInPlace):
            found[name] = partial(at_tables, decoder, 3, 2, rule)
        else:
            found[name] = partial(prove_decoder, decoder, rule=rule, size=2, length=length)
    return found


def wrong_decoders(found: Mapping[str, Decoder], length: int = 3) -> dict[str, Question]:
    """Wrong decoders with the right rule."""
    return {name: partial(prove_decoder, each, size=2, length=length) for name, each in found.items()}


class UniformDeclared(AnyInitial):
    """Declares the uniform row for new drafts, whatever they were drawn from."""

    def declared_new(self, rows: Array, uniform: Array) -> Array:
        return uniform


class RowBehindStale(TailStale, RowBehind):
    """The published loop, with the fault of :class:`TailStale`."""


TREES: dict[str, Any] = {"candidates": 2, "depth": 1}
DECODER_PROOFS = (
    Proof(
        "decoder.speculative",
        ("leviathan.lossless", "samplers.processors"),
        SEQUENCES,
        (
            *decoder_asks(SpeculativeDecoder(1), SpeculativeDecoder(2)),
            *decoder_asks(SpeculativeDecoder(1), size=3, length=2),
        ),
        wrong_rules(SpeculativeDecoder(2)) | wrong_decoders(speculative_decoders(2), 4),
    ),
    Proof(
        "decoder.sjd",
        ("sjd.theorem-1.sequence", "sjd.theorem-1.token", "sjd.artifacts", "sjd2.law"),
        SEQUENCES,
        (
            *decoder_asks(Sjd(2), Sjd(2, bonus=False)),
            *decoder_asks(Sjd(3), length=4),
            *decoder_asks(Sjd(2), size=3, length=2),
        ),
        wrong_rules(Sjd(2)) | wrong_decoders(sjd_decoders(2)),
    ),
    Proof(
        "decoder.sjd-initial",
        ("sjd.initialisation", "sjd.theorem-1.sequence"),
        SEQUENCES,
        decoder_asks(*(Sjd(2, initial=name) for name in ("random", "repeat-left", "sample-left"))),
        wrong_decoders({"scored with another row": NeighbourScoredUniform(2, "sample-left")}),
    ),
    Proof(
        "decoder.sjd-any-initial",
        ("sjd.theorem-1.sequence",),
        f"{SEQUENCES}, from whatever rows new drafts are drawn, if these are declared for them",
        decoder_asks(AnyInitial(1), AnyInitial(2), AnyInitial(2, bonus=False)),
        wrong_decoders({"the uniform row declared": UniformDeclared(2)}),
    ),
    Proof(
        "decoder.sjd-reference",
        ("sjd-reference.lossless",),
        f"{SEQUENCES}, with a new draft after a rejection, or one from the row behind the window",
        decoder_asks(sjd_reference(2), RowBehind(1), RowBehind(2)),
        wrong_decoders(
            {
                "the tail's rows are stale": ReferenceTailStale(2),
                "the same of the published loop": RowBehindStale(2),
            }
        ),
    ),
    Proof(
        "decoder.sjd-ac",
        ("pac.theorem-1",),
        SEQUENCES,
        decoder_asks(SjdAc(2), SjdAc(3), SjdAc(2, bonus=False)),
        wrong_rules(SjdAc(2)) | wrong_decoders(ac_decoders(2)),
    ),
    Proof(
        "decoder.sjd-pac",
        ("pac.combined", "pac.theorem-1", "pac.readings.kept"),
        SEQUENCES,
        decoder_asks(SjdPac(3, candidates=2, depth=2), SjdPd(3, candidates=2, depth=2)),
        {name: partial(at_tables, each, 3, 3) for name, each in tree_decoders(2, 2, 2, "comb").items()},
    ),
    Proof(
        "decoder.sjd-pac-kept",
        ("pac.readings.kept",),
        SEQUENCES,
        decoder_asks(*(SjdPac(3, kept=kept, **TREES) for kept in ("first", "dropped"))),
        wrong_decoders({"the kept token last": OwnTokenLast(3, **TREES)}),
    ),
    Proof(
        "decoder.block",
        ("baselines.block-verification", "block.optimal"),
        SEQUENCES,
        (*decoder_asks(Block(1), Block(2)), *decoder_asks(Block(1), size=3, length=2)),
        wrong_decoders({"count off by one": WithRandomness(Block(2), OneMorePrefix)}),
    ),
    Proof(
        "decoder.block-tokens",
        ("baselines.block-verification",),
        "a first block accepts at least as many drafts as token by token",
        decoder_asks(Block(2), that="accepts >= speculative"),
        {"fewer": decoder_asks(Block(2), that="accepts <= speculative")[0]},
    ),
    Proof(
        "decoder.hierarchical",
        ("hsd.block",),
        "a first block of hierarchical verification accepts as many as block verification, and is lossless",
        (
            *decoder_asks(Hierarchical(2)),
            *decoder_asks(Hierarchical(2), that="accepts == block"),
        ),
        wrong_decoders({"uncapped": Hierarchical(2, final="uncapped"), "no prefix": Hierarchical(2, prefix="none")}),
    ),
    Proof(
        "decoder.traversal",
        ("traversal.lossless",),
        SEQUENCES,
        (*decoder_asks(Traversal((1, 2)), Traversal((2,))), *decoder_asks(Traversal((2, 1)), zeros=False)),
        wrong_decoders({"weights squared": SquaredWeights((2, 1)), "a parent keeps its row": RowKept((2, 1))}),
    ),
    Proof(
        "decoder.coupled",
        ("scd.lossless",),
        SEQUENCES,
        decoder_asks(Sjd(2, renewal="maximal"), Sjd(3, renewal="maximal")),
        wrong_decoders(
            {"declared rows are stale": StaleRows(3, renewal="maximal"), "relabelled": UnverifiedRelabelled(3)}
        ),
    ),
    Proof(
        "decoder.coupled-trees",
        ("scd.with-trees",),
        SEQUENCES,
        decoder_asks(SjdPac(2, renewal="maximal", **TREES)),
        wrong_decoders({"the published code's coupling": SjdPac(3, renewal="maximal-reference", **TREES)}),
    ),
)
