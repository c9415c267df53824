"""How operators are called: which arrays they are given, their coins among them, and in which order.

Coins are asked of the generator of a call, so that what enumerates a verifier that draws for itself enumerates an
operator as well: :class:`~simlab.certify.engine.scripted.Scripted` gives them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.operators.arrays import SINGLE, Arrays
from simlab.certify.engine.scripted import Scripted

Generator = np.random.Generator
Arguments = dict[str, Any]
OfBlock = Callable[[Arrays, Array, Array, Array, Generator], Arguments]


@dataclass(frozen=True)
class Layout:
    """A call ``name(...) -> tokens`` for p ``[gamma + 1, V]``, q ``[gamma, V]`` and drafts ``[gamma]``.

    ``arguments`` makes them of rows, drafts and a generator, in their order; ``written`` are the same in a program.
    """

    name: str
    arguments: OfBlock
    written: str
    noisy: bool = False

    @cached_property
    def given(self) -> tuple[str, ...]:
        """Names of the arguments."""
        rng = np.random.default_rng(0)
        return tuple(self.arguments(SINGLE, np.ones((2, 1)), np.ones((1, 1)), np.zeros(1, np.int64), rng))

    @property
    def signature(self) -> str:
        """The call in words."""
        return f"{self.name}({', '.join(self.given)}) -> tokens"


def race(rng: Generator, rows: int, size: int) -> Array:
    """Uniforms ``[rows, size]`` of which the noise of rows is made."""
    if isinstance(rng, Scripted):
        return np.stack([rng.race(size) for _ in range(rows)])
    return rng.random((rows, size))


def _rows(arrays: Arrays, p: Array, q: Array, drafts: Array, rng: Generator) -> Arguments:
    return {
        "p": arrays.rows(p),
        "q": arrays.rows(q),
        "drafts": arrays.whole(drafts),
        "uniforms": arrays.uniforms(rng.random(len(drafts))),
    }


def _uniforms(arrays: Arrays, p: Array, q: Array, drafts: Array, rng: Generator) -> Arguments:
    return _rows(arrays, p, q, drafts, rng) | {"uniform": arrays.uniforms(rng.random())}


def _exponential(arrays: Arrays, p: Array, q: Array, drafts: Array, rng: Generator) -> Arguments:
    return _rows(arrays, p, q, drafts, rng) | {"exponential": arrays.exponential(race(rng, *p.shape))}


def _gumbel(arrays: Arrays, p: Array, q: Array, drafts: Array, rng: Generator) -> Arguments:
    return _rows(arrays, p, q, drafts, rng) | {"gumbel": arrays.gumbel(race(rng, *p.shape))}


def _tokens(arrays: Arrays, p: Array, q: Array, drafts: Array, rng: Generator) -> Arguments:
    return {name: one for name, one in _uniforms(arrays, p, q, drafts, rng).items() if name != "q"}


UNIFORMS = Layout(
    "chain_uniforms",
    _uniforms,
    "real(p), real(q), whole(drafts), coins(rng.random(len(q))), coins(rng.random())",
)
EXPONENTIAL = Layout(
    "chain_exponential",
    _exponential,
    "real(p), real(q), whole(drafts), coins(rng.random(len(q))), real(exponential(rng, p.shape))",
    noisy=True,
)
GUMBEL = Layout(
    "chain_gumbel",
    _gumbel,
    "real(p), real(q), whole(drafts), coins(rng.random(len(q))), real(-np.log(exponential(rng, p.shape)))",
    noisy=True,
)
TOKENS = Layout(
    "chain_tokens",
    _tokens,
    "real(p), whole(drafts), coins(rng.random(len(drafts))), coins(rng.random())",
)


def unpadded(answer: Any) -> Any:
    """Tokens without the -1 that engines write behind them."""
    values = answer.tolist() if hasattr(answer, "tolist") else answer
    while isinstance(values, list | tuple) and len(values) == 1 and isinstance(values[0], list | tuple):
        values = values[0]
    if not isinstance(values, list | tuple):
        return answer
    kept = [token.item() if hasattr(token, "item") else token for token in values]
    while kept and kept[-1] == -1:
        kept.pop()
    return kept


__all__ = ["EXPONENTIAL", "GUMBEL", "TOKENS", "UNIFORMS", "Arguments", "Layout", "race", "unpadded"]
