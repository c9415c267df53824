"""The record that every compiled rule is, and the sums that several of them need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload

from simlab.arrays import BLOCK, Constant
from simlab.arrays_compiled import accumulate, block_sum

(
    SPECULATIVE,
    GROUPED,
    GROUP_RESIDUAL,
    DYNAMIC,
    GSD_REFERENCE,
    LANTERN,
    LANTERN_MULTIPLICATIVE,
    LANTERN_GREEDY,
    LANTERN_REFERENCE,
    AMPLIFY,
    ADDITION,
    OPTIMAL_LOSSY,
    MIXTURE,
    TYPICAL,
    LENIENCE,
    CACTUS,
    TRUNCATION,
    CASCADE,
    FUZZY,
    MARS,
    MARS_REFERENCE,
    MEDUSA_REFERENCE,
    SAMPLER_MATCH,
) = range(23)


ANY: Any = np.int64(0)  # a token where it does not matter which; a literal has functions compiled for it alone


class CompiledRule(NamedTuple):
    """A rule as plain numbers; what they mean depends on ``kind``."""

    kind: int
    a: float
    b: float
    first: int
    second: int
    table: np.ndarray  # int64[rows, columns]: labels, or neighbours
    metric: np.ndarray  # float64[V, V]: distances


class Lossless(CompiledRule):
    """The record of the lossless rule, of a type of its own: kernels of this type hold no other rule."""


Compilers = dict[type, Callable[[Any], CompiledRule]]  # by the class of a rule: what its record is made of


# Options of Numba, as kernels have them: with others, what a kernel and a form both call would be compiled twice.
AS_KERNELS: Any = {"nogil": True, "no_cpython_wrapper": False, "no_cfunc_wrapper": False}


def by_type(forms: Mapping[type, Any]) -> Any:
    """A function for kernels to call: the one of ``forms`` for the type of its first argument, a record.

    Which, is known when a kernel is compiled, and it holds no other.
    """

    def chosen(record: Any, *given: Any) -> Any:
        raise NotImplementedError("kernels call this")

    @overload(chosen, jit_options=AS_KERNELS, strict=False)  # its parameters are named as those of the form
    def choose(record: Any, *given: Any) -> Any:
        return forms[record.instance_class].py_func

    return chosen


def record(
    kind: int,
    a: object = 0.0,
    b: object = 0.0,
    first: int = 0,
    second: int = 0,
    table: np.ndarray | None = None,
    metric: Constant | None = None,
) -> CompiledRule:
    """A :class:`CompiledRule`; tables that are not given have one entry."""
    tokens = np.zeros((1, 1), np.int64) if table is None else np.ascontiguousarray(np.atleast_2d(table))
    distances = np.zeros((1, 1)) if metric is None else metric.values
    return CompiledRule(kind, float(a), float(b), int(first), int(second), tokens, distances)  # type: ignore[arg-type]


@njit(nogil=True, cache=True)
def ratio(target: float, draft: float) -> float:
    """min(1, target / draft); 1 where the draft has no mass, 0 where it is no number."""
    target, draft = np.float64(target), np.float64(draft)
    if draft <= 0:
        return 1.0
    share = target / draft if draft > 0 else 0.0
    if share >= 1:
        return 1.0
    return share if share < 1 else 0.0


@njit(nogil=True, cache=True)
def over(value: float, by: float) -> float:
    """``value / by``, and ``value`` where there is nothing to divide by."""
    return value / (by if by > 0 else 1.0)


@njit(nogil=True, cache=True)
def sum_where(row: np.ndarray, members: np.ndarray) -> float:
    """The mass of the tokens that are ``members``."""
    part, cumulative = np.empty(BLOCK), np.empty(-(-len(row) // BLOCK))
    for k in range(len(cumulative)):
        for i in range(BLOCK):
            token = k * BLOCK + i
            part[i] = row[token] if token < len(row) and members[token] else 0.0
        cumulative[k] = block_sum(part, 0, 0)
    accumulate(cumulative)
    return cumulative[-1]
