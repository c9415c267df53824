"""Correct implementations of many kinds, of which no certificate may say otherwise, by contract.

The verifiers differ in how a token is drawn, or in how drafts and what comes out are coupled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from simlab.arrays import Array
from simlab.mutants.base import single_draw
from simlab.mutants.gated.base import inverted
from simlab.mutants.gated.candidates import excess as left_of_p
from simlab.mutants.gated.candidates import without
from simlab.mutants.gated.chains import excess
from simlab.mutants.gated.contracts import CONTRACTS, reference
from simlab.mutants.generator_verifiers import block_verification, in_single_precision

Generator = np.random.Generator
Function = Callable[..., Any]
Draw = Callable[[Array, Generator], int]

# How a token is drawn from weights ---------------------------------------------------------------------------------


def by_inverse(weights: Array, rng: Generator) -> int:
    """By inverse CDF."""
    return inverted(weights, rng.random())


def sorted_first(weights: Array, rng: Generator) -> int:
    """By inverse CDF, the likeliest tokens first."""
    order = np.argsort(-weights, kind="stable")
    return int(order[inverted(weights[order], rng.random())])


@njit(cache=True)
def _alias(weights: Array, column: float, coin: float) -> int:
    """Walker's method: columns of the same mass, each of at most two tokens."""
    size = len(weights)
    mass = weights * (size / weights.sum())
    small, large = np.empty(size, np.int64), np.empty(size, np.int64)
    smalls = larges = 0
    other = np.arange(size)
    for x in range(size):
        if mass[x] < 1.0:
            small[smalls] = x
            smalls += 1
        else:
            large[larges] = x
            larges += 1
    while smalls and larges:
        smalls -= 1
        low, high = small[smalls], large[larges - 1]
        other[low] = high
        mass[high] -= 1.0 - mass[low]
        if mass[high] < 1.0:
            larges -= 1
            small[smalls] = high
            smalls += 1
    for k in range(smalls):  # that rounding has left
        if weights[small[k]] > 0.0:
            mass[small[k]] = 1.0
    x = int(column * size)
    return x if coin < mass[x] else other[x]


def by_alias(weights: Array, rng: Generator) -> int:
    """With an alias table."""
    return int(_alias(np.asarray(weights, np.float64), rng.random(), rng.random()))


def by_gumbel(weights: Array, rng: Generator) -> int:
    """The largest of logarithms with Gumbel noise."""
    with np.errstate(divide="ignore"):
        return int(np.argmax(np.log(weights) + rng.gumbel(size=len(weights))))


def by_race(weights: Array, rng: Generator) -> int:
    """The first in a race with exponential noise."""
    return int(np.argmax(weights / rng.standard_exponential(len(weights))))


def by_multinomial(weights: Array, rng: Generator) -> int:
    """One throw among the tokens that have mass."""
    there = np.flatnonzero(weights)
    masses = np.asarray(weights[there], np.float64)
    return int(there[rng.multinomial(1, masses / masses.sum()).argmax()])


DRAWS: dict[str, Draw] = {
    "inverse CDF": by_inverse,
    "sorted": sorted_first,
    "alias table": by_alias,
    "Gumbel noise": by_gumbel,
    "exponential race": by_race,
    "multinomial": by_multinomial,
}

# Verifiers ---------------------------------------------------------------------------------------------------------


def in_turn(draw: Draw) -> Function:
    """The loop of the papers with this draw."""

    def verify(p: Array, q: Array, drafts: Array, rng: Generator) -> list[int]:
        for i, x in enumerate(drafts.tolist()):
            if not rng.random() * q[i, x] < p[i, x]:
                return [*drafts[:i].tolist(), draw(excess(p[i], q[i]), rng)]
        return [*drafts.tolist(), draw(p[len(drafts)], rng)]

    return verify


def matched(draw: Draw) -> Function:
    """Plain draws from p, up to the first that is not the draft."""

    def verify(p: Array, q: Array, drafts: Array, rng: Generator) -> list[int]:
        tokens = list[int]()
        for row, x in zip(p, [*drafts.tolist(), -1], strict=True):
            tokens.append(draw(row, rng))
            if tokens[-1] != x:
                break
        return tokens

    return verify


def _coupled(p: Array, q: Array, x: int, uniform: float) -> int:
    """The token of p at the quantile that a draft has under q."""
    upto = q.cumsum(dtype=np.float64)
    low = float(upto[x] - q[x])
    return inverted(p, min(max((low + uniform * float(q[x])) / float(upto[-1]), 0.0), 1 - 2.0**-53))


def by_quantiles(p: Array, q: Array, drafts: Array, rng: Generator) -> list[int]:
    """Each draft has a uniform quantile under q; what comes out has the same one under p."""
    tokens = list[int]()
    for i, x in enumerate(drafts.tolist()):
        tokens.append(_coupled(p[i], q[i], x, rng.random()))
        if tokens[-1] != x:
            return tokens
    return [*tokens, by_inverse(p[len(drafts)], rng)]


def by_rejection(p: Array, q: Array, drafts: Array, rng: Generator) -> list[int]:
    """The residual by draws from p, each kept with its part that is above q."""
    for i, x in enumerate(drafts.tolist()):
        if not rng.random() * q[i, x] < p[i, x]:
            return [*drafts[:i].tolist(), _above(p[i], q[i], rng)]
    return [*drafts.tolist(), by_inverse(p[len(drafts)], rng)]


def _above(p: Array, q: Array, rng: Generator) -> int:
    if not (p > q).any():  # rounding has left nothing
        return by_inverse(p, rng)
    upto = p.cumsum()
    while True:
        x = int(np.searchsorted(upto, rng.random() * upto[-1], side="right"))
        if x < len(p) and rng.random() * p[x] < p[x] - q[x]:
            return x


VERIFIERS: dict[str, Function] = {
    **{name: in_turn(draw) for name, draw in DRAWS.items() if name != "inverse CDF"},
    "quantile coupling": by_quantiles,
    "acceptance-rejection residual": by_rejection,
    "single precision": in_single_precision,
    "plain draws from p": matched(by_inverse),
    "block verification": block_verification,
}

# Other contracts ---------------------------------------------------------------------------------------------------


def _each(verify: Function) -> Function:
    """One verifier for every sequence."""

    def verify_batch(p: Array, q: Array, drafts: Array, rng: Generator) -> list[list[int]]:
        gammas = (drafts >= 0).sum(axis=1).tolist()
        return [verify(p[b, : n + 1], q[b, :n], drafts[b, :n], rng) for b, n in enumerate(gammas)]

    return verify_batch


def _drafting(draw: Draw) -> Function:
    return lambda q, rng: [draw(row, rng) for row in q]


def _candidates(draw: Draw) -> Function:
    """Candidates in turn, then what is left of p with this draw."""

    def verify(p: Array, q: Array, candidates: Array, rng: Generator) -> list[int]:
        rest, left = p, q
        for x in candidates.tolist():
            if rng.random() * left[x] < rest[x]:
                return [x]
            rest, left = left_of_p(rest, left), without(left, x)
        return [draw(rest, rng)]

    return verify


def _chain_sorted(p: Array, q: Array, drafts: Array, uniforms: Array, uniform: Any) -> list[int]:
    """The likeliest tokens first in the CDF."""
    kept = next((i for i, x in enumerate(drafts.tolist()) if not uniforms[i] * q[i, x] < p[i, x]), len(drafts))
    weights = excess(p[kept], q[kept]) if kept < len(drafts) else p[kept]
    order = np.argsort(-weights, kind="stable")
    return [*drafts[:kept].tolist(), int(order[inverted(weights[order], uniform)])]


def _chain_coupled(p: Array, q: Array, drafts: Array, uniforms: Array, uniform: Any) -> list[int]:
    """Quantile coupling with the coins of the drafts."""
    tokens = list[int]()
    for i, x in enumerate(drafts.tolist()):
        tokens.append(_coupled(p[i], q[i], x, float(uniforms[i])))
        if tokens[-1] != x:
            return tokens
    return [*tokens, inverted(p[len(drafts)], uniform)]


def _made() -> dict[str, dict[str, Function]]:
    found = {name: {"the reference": reference(name)} for name in CONTRACTS}
    found["verify"] |= VERIFIERS
    found["verify_batch"] |= {name: _each(verify) for name, verify in VERIFIERS.items()}
    found["draft"] |= {name: _drafting(draw) for name, draw in DRAWS.items()}
    found["draft"]["single precision"] = _drafting(single_draw)
    found["verify_candidates"] |= {name: _candidates(draw) for name, draw in DRAWS.items()}
    found["verify_candidates"]["plain draws from p"] = lambda p, q, candidates, rng: [by_inverse(p, rng)]
    found["chain_uniforms"] |= {"sorted": _chain_sorted, "quantile coupling": _chain_coupled}
    return found


CORRECT: dict[str, dict[str, Function]] = _made()
