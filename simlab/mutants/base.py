"""What mutants are made of: their record, and a verification rule for one row at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeVar

import numpy as np

from simlab.arrays import Array
from simlab.rules import Rule, Speculative

Code = TypeVar("Code")
Tokens = tuple[int, ...]

TABULATED = 8  # tokens up to which a rule's answers for a pair of rows are computed at once and remembered


@dataclass(frozen=True)
class Mutant(Generic[Code]):
    """A known bug. ``name`` completes the sentence "it looks like: ..."; ``mutant`` is its number in the guide."""

    name: str
    mutant: str
    run: Code


@dataclass(frozen=True)
class RowRule:
    """A rule of :mod:`simlab.rules`, asked for one drafted token: float64 rows ``p[V]`` and ``q[V]``, a token x."""

    rule: Rule

    def accept(self, p: Array, q: Array, x: int) -> float:
        """The probability of accepting x."""
        if len(p) <= TABULATED:
            return float(_table(self.rule, _key(p), _key(q))[0][x])
        return float(self.rule.accept_rows(p, q, np.asarray(x)))

    def residual(self, p: Array, q: Array, x: int) -> Array:
        """Weights ``[V]`` in proportion to the residual; not to be written to."""
        if len(p) <= TABULATED:
            return np.asarray(_table(self.rule, _key(p), _key(q))[1][x])
        return np.asarray(self.rule.weights_rows(p, q, np.asarray(x)))


LOSSLESS = RowRule(Speculative())


def single_draw(weights: Array, rng: np.random.Generator) -> int:
    """A token by inverse CDF, all of it in float32."""
    cumulative = weights.astype(np.float32).cumsum(dtype=np.float32)
    return int(np.searchsorted(cumulative, rng.random(dtype=np.float32) * cumulative[-1], side="right"))


def _key(row: Array) -> bytes:
    return np.asarray(row, np.float64).tobytes()


@lru_cache(maxsize=1 << 15)
def _table(rule: Rule, p: bytes, q: bytes) -> tuple[Array, Array]:
    """``accept[V]`` and ``weights[V, V]`` of every drafted token."""
    target, draft = np.frombuffer(p), np.frombuffer(q)
    x = np.arange(len(target))
    target, draft = (np.broadcast_to(row, (len(x), len(x))) for row in (target, draft))
    accept, weights = rule.accept_rows(target, draft, x), np.array(rule.weights_rows(target, draft, x))
    weights.setflags(write=False)
    return np.asarray(accept), weights
