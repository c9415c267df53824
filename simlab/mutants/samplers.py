"""Mutants of samplers: drafts that do not follow their declared q, and outputs that do not follow the target.

As in :mod:`simlab.mutants.decoders`, only checks and tests may use them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from simlab.arrays import Array, namespace, normalised, one_hot
from simlab.decoders import Decoder, SpeculativeDecoder
from simlab.mutants.rules import ArgmaxVerified, ResidualProcessed
from simlab.processes import Process, Processed
from simlab.processes.processors import top_k, top_p
from simlab.rules import Rule, Speculative


class Sampler(NamedTuple):
    """A decoder with the processes and the rule it runs on, to be compared with the target it should be lossless to."""

    decoder: Decoder
    process: Process
    draft: Process
    rule: Rule = Speculative()


@dataclass(frozen=True)
class ScoredAs(SpeculativeDecoder):
    """Draws its drafts from the draft process, and declares the rows of another."""

    scored: Process

    def declared_q(self, row: Array, tokens: Array, position: Array) -> Array:
        return self.scored.forward(tokens, position, 1)


class Mapped(Process):
    """A process whose rows go through the function ``change``."""

    def __init__(self, process: Process, change: Callable[[Array], Array]) -> None:
        self.process, self.change = process, change
        self.vocabulary, self.length, self.shape = process.vocabulary, process.length, process.shape
        self.uniform = process.uniform

    def _rows(self, tokens: Array, start: Array, count: int) -> Array:
        return self.change(self.process.forward(tokens, start, count))


def rounded(rows: Array) -> Array:
    """Exact rows in the 8 significant bits of bfloat16, scaled up."""
    return normalised(np.vectorize(_bfloat16, otypes=[object])(rows), rows)


def _bfloat16(value: Fraction) -> Fraction:
    if not value:
        return value
    unit = Fraction(2) ** (int(np.floor(np.log2(float(value)))) - 7)
    return round(value / unit) * unit


TOP = 3
MASS = Fraction(4, 5)


def samplers(target: Process, draft: Process, unconditional: Process, gamma: int) -> dict[str, Sampler]:
    """Wrong samplers of ``target`` with temperature 1/2, top-k, top-p and guidance on both sides."""
    right_p, right_q = processed(target, unconditional), processed(draft, unconditional)
    greedy = Processed(draft, temperature=0)
    right = SpeculativeDecoder(gamma)
    return {
        "greedy drafts scored with softmax q": Sampler(ScoredAs(gamma, draft), right_p, greedy),
        "filtered drafts scored without the filter": Sampler(
            ScoredAs(gamma, draft), right_p, Processed(draft, top_k=TOP)
        ),
        "drafts scored with a filter they did not have": Sampler(
            ScoredAs(gamma, Processed(draft, top_k=TOP)), right_p, draft
        ),
        "drafts scored with a temperature they did not have": Sampler(
            ScoredAs(gamma, Processed(draft, temperature=Fraction(1, 2))), right_p, draft
        ),
        "drawn in bfloat16, scored in full": Sampler(ScoredAs(gamma, draft), right_p, Mapped(draft, rounded)),
        "deterministic candidates scored with soft q": Sampler(
            ScoredAs(gamma, right_q), right_p, Mapped(right_q, _first)
        ),
        "target without temperature": Sampler(right, processed(target, unconditional, temperature=1), right_q),
        "target without top-k and top-p": Sampler(right, processed(target, unconditional, filters=False), right_q),
        "guidance on the draft only": Sampler(right, processed(target, None), right_q),
        "verified by argmax": Sampler(right, right_p, right_q, ArgmaxVerified()),
        "residual through top-p again": Sampler(
            right, right_p, right_q, ResidualProcessed(lambda rows: top_p(rows, MASS))
        ),
        "residual through temperature again": Sampler(right, right_p, right_q, ResidualProcessed(_squared)),
    }


def processed(
    process: Process, unconditional: Process | None, temperature: Fraction | int = Fraction(1, 2), filters: bool = True
) -> Processed:
    """A process with guidance 2, temperature, top-k and top-p; no guidance where ``unconditional`` is None."""
    scale = 1 if unconditional is None else 2
    filtering = {"top_k": TOP, "top_p": MASS} if filters else {}
    return Processed(process, temperature=temperature, unconditional=unconditional, guidance=scale, **filtering)  # type: ignore[arg-type]


def harmless(target: Process, draft: Process, unconditional: Process, gamma: int) -> dict[str, Sampler]:
    """Samplers that look wrong and are lossless: no check may reject them."""
    right_p, right_q = processed(target, unconditional), processed(draft, unconditional)
    greedy = Processed(draft, temperature=0)
    return {
        "greedy drafts scored as what they are": Sampler(SpeculativeDecoder(gamma), right_p, greedy),
        "residual through top-k again": Sampler(
            SpeculativeDecoder(gamma), right_p, right_q, ResidualProcessed(lambda rows: top_k(rows, TOP))
        ),
        "draft with other processors": Sampler(SpeculativeDecoder(gamma), right_p, Processed(draft, top_k=TOP)),
    }


def _first(rows: Array) -> Array:
    """A point mass on the first token that has mass: a lookup that is not drawn."""
    xp = namespace(rows)
    return one_hot(xp.argmax(xp.astype(rows > 0, xp.int64), axis=-1), rows)


def _squared(rows: Array) -> Array:
    return normalised(rows * rows, rows)
