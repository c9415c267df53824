"""A decoder of sequences, written once: blocks of drafts from the model one token ago, verified as a chain is.

A gate's position is the place in the sequence, gamma the length that is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.mutants.gated.base import Block, Call, Source, Wrong
from simlab.mutants.gated.chains import emitted

GAMMA = 3  # drafts of a block
Model = Callable[[tuple[int, ...]], Array]


def decoded(
    model: Model, length: int, source: Source, wrong: Wrong, eos: int | None = None, number: int = 0
) -> list[int]:
    """``length`` tokens, or fewer where the last is ``eos``."""
    tokens = list[int]()
    while len(tokens) < length and (eos is None or eos not in tokens):
        new = step(model, tuple(tokens), length, source, wrong, number)
        tokens += new[: new.index(eos) + 1] if eos is not None and eos in new else new
    return tokens[:length]


def step(model: Model, prefix: tuple[int, ...], length: int, source: Source, wrong: Wrong, number: int) -> list[int]:
    """What a block behind a prefix emits."""
    return emitted(_drafted(model, prefix, length, source, Call(number)), source, wrong)


def _drafted(model: Model, prefix: tuple[int, ...], length: int, source: Source, call: Call) -> Block:
    """A block behind a prefix: drafts of the model one token ago."""
    gamma = min(GAMMA, length - len(prefix) - 1)
    p, q, drafts = [model(prefix)], list[Array](), list[int]()
    block = Block(p[0][None], None, np.zeros(0, np.int64), call, start=len(prefix), length=length)
    for i in range(gamma):
        q.append(model(prefix[:-1]) if i == 0 else p[-2])
        drafts.append(source.token(source.last(block, i), q[-1]))
        prefix = (*prefix, drafts[-1])
        p.append(model(prefix))
    block.p, block.drafts = np.stack(p), np.array(drafts, np.int64)
    block.q = np.stack(q) if q else np.zeros((0, block.V))
    call.blocks.append(block)
    return block


class Decoding:
    """An implementation of ``decode`` with a fault behind a gate; it counts its calls."""

    def __init__(self, wrong: Wrong, generated: Callable[[Any], Source]) -> None:
        self.wrong, self.generated, self.number = wrong, generated, 0

    def __call__(self, model: Any, length: int, rng: np.random.Generator, eos: int | None = None) -> list[int]:
        self.number += 1
        return decoded(model, length, self.generated(rng), self.wrong, eos, self.number - 1)
