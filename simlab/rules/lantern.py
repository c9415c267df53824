"""LANTERN: accept a draft with the mass of its neighbourhood in the codebook.

LANTERN, sections 3.2 and 3.3 and Algorithm 1 (whose q is the target: here p is). The neighbourhood A of a drafted
token x is x itself and its nearest tokens, which join one by one while the *conditional* target

    p_A(y given x) = P(A) if y = x,  0 if y is another token of A,  p(y) otherwise

stays nearer to p than ``delta``; the first that would reach it stops the joining. A draft is accepted with
min(1, P(A)/q(x)); after a rejection the token follows [p_A(. given x) - q]+.

Only the mass m that moves to x matters: TV(p_A, p) = m, and the Jensen-Shannon divergence is, in nats,

    JS = (m log 2 + a log(a/c) + b log(b/c))/2   with a = p(x), b = a + m, c = (a + b)/2,

because every token that joined loses all it had. Both grow with m.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from simlab.arrays import (
    Array,
    Number,
    is_exact,
    marked,
    namespace,
    number,
    one_hot,
    positive_part,
    sums_by,
    total,
    wide,
)
from simlab.checks import check_choice, check_number
from simlab.rules.base import RatioRule, Step, acceptance_ratio, every_token, mass
from simlab.rules.neighbourhood import NO_NEIGHBOUR, Neighbours

ENTRIES = 1 << 20  # of a table of tokens and their neighbours that are in memory together


def moved_tv(moved: Array, own: Array) -> Array:
    """TV of p_A to p."""
    return moved


def moved_js(moved: Array, own: Array) -> Array:
    """Jensen-Shannon divergence of p_A to p in nats, at most log 2; in floating point, also for exact rows."""
    return moved_js_bits(moved, own) * float(np.log(2))


def moved_js_bits(moved: Array, own: Array) -> Array:
    """Jensen-Shannon divergence of p_A to p in bits; it is m itself where a = 0, and never below m/2.

    ``moved``: m, ``[...]``: the mass that has joined. ``own``: a, ``[...]``: p(x).

    (m + (2a + m)(1 - H))/2, H the entropy in bits of a share a/(2a + m); in floating point, also for exact rows.
    """
    if is_exact(moved):
        moved, own = moved.astype(np.float64), own.astype(np.float64)
    moved, own = wide(moved), wide(own)
    xp = namespace(moved)
    both = 2 * own + moved
    share = own / xp.where(both > 0, both, 1.0)
    inner = xp.where(share > 0, share, 1.0)
    entropy = -(inner * xp.log(inner) + (1 - share) * xp.log(1 - share)) / float(np.log(2))
    extra = xp.where(share > 0, both * (1 - entropy), moved)
    return (moved + xp.clip(extra, 0.0, None)) / 2


def moved_js_root(moved: Array, own: Array) -> Array:
    """The Jensen-Shannon *distance*: the square root of the divergence in nats."""
    divergence = moved_js(moved, own)
    return namespace(divergence).sqrt(divergence)


BOUNDS: dict[str, Callable[[Array, Array], Array]] = {
    "tv": moved_tv,
    "jsd": moved_js,
    "jsd-bits": moved_js_bits,
    "jsd-root": moved_js_root,
}


@dataclass(frozen=True, eq=False)
class NeighbourhoodRule(RatioRule):
    """What LANTERN's rules share: a neighbourhood, its mass, and the conditional target it makes."""

    neighbours: Any
    _near: Neighbours = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_near", Neighbours(self.neighbours))

    def check_vocabulary(self, size: int) -> None:
        self._near.check_vocabulary(size)

    def _masses(self, p: Array, q: Array, x: Array) -> tuple[Array, Array]:
        return self._mass(p, x, *self.joined_rows(p, x)), mass(q, x)

    def _mass(self, p: Array, x: Array, joined: Array, masses: Array) -> Array:
        """P(A), ``[...]``."""
        return mass(p, x) + total(namespace(p).where(joined, masses, number(0, p)))

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        return positive_part(self.conditional_rows(p, x), q, fallback=p)

    def accept_each(self, p: Array, q: Array) -> Array:
        """As every rule's, in O(V k) and for a block of tokens at once."""
        one, other = p[..., None, :], q[..., None, :]
        return namespace(p).concat([self.accept_rows(one, other, x) for x in self._blocks(p)], axis=-1)

    def step_rows(self, p: Array, q: Array) -> Step:
        """As every rule's, in O(V k), a block of tokens at a time.

        A token x that is rejected has q(x) > P(A) >= p(x), so it is not in [p_A - q]+; elsewhere p_A is p, or 0 on the
        tokens that joined x. So with D = [p - q]+, not scaled, r_x is D outside A(x) over
        Z(x) = sum D - sum_{y in A(x)} D(y), and with w(x) = q(x) (1 - a(x))/Z(x)

            law(y) = q(y) a(y) + D(y) (sum_x w(x) - sum_{x: y in A(x)} w(x)).

        Z(x) >= q(x) (1 - a(x)), since [p_A - q]+ and [q - p_A]+ have one mass and the second has q(x) - P(A) on x.
        """
        xp, zero, one = namespace(p), number(0, p), number(1, p)
        excess = xp.where(wide(p) > wide(q), wide(p) - wide(q), zero)
        whole, kept, shares, less = total(excess)[..., None], [], [], excess * 0
        for x in self._blocks(p):
            near, (joined, masses) = self._near.of(p, x), self.joined_rows(p[..., None, :], x)
            drafted = xp.take_along_axis(q, x, axis=-1)
            accepted = acceptance_ratio(p, self._mass(p[..., None, :], x, joined, masses), wide(drafted), drafted)
            rejected = drafted * (one - accepted)
            outside = whole - total(xp.where(joined, _at_each(excess[..., None, :], near), zero))
            least = rejected / number(2, p)  # more than rounding leaves
            outside = xp.where(outside > least, outside, least)
            share = xp.where(rejected > 0, rejected / xp.where(rejected > 0, outside, one), zero)
            less = less + self._sums(xp.where(joined, share[..., None], zero), x, excess)
            kept.append(drafted * accepted)
            shares.append(share)
        taken = xp.concat(kept, axis=-1)
        return Step(total(taken)[()], taken + excess * (total(xp.concat(shares, axis=-1))[..., None] - less))

    def _sums(self, shares: Array, x: Array, like: Array) -> Array:
        """``[..., V]``: for each token the sum of ``shares[..., n, K]`` of the tokens ``x[..., n]`` that it joined."""
        table = self._near.of(like, x[(0,) * (x.ndim - 1)])  # the same tokens for all rows
        flat = namespace(like).reshape(shares, (*like.shape[:-1], -1))
        return sums_by(flat, namespace(like).clip(namespace(like).reshape(table, (-1,)), 0, None), like.shape[-1])

    def _blocks(self, p: Array) -> Iterator[Array]:
        """``int[..., n]``: all tokens, so many at a time that no table beside the rows is large."""
        size, rows = p.shape[-1], prod(p.shape[:-1])
        count = max(1, ENTRIES // max(1, rows * self._near.table.values.shape[1]))
        tokens = every_token(p)
        return (tokens[..., first : first + count] for first in range(0, size, count))

    def conditional_rows(self, p: Array, x: Array) -> Array:
        """p_A(. given x), ``[..., V]``: the target with the mass of the neighbourhood moved to x."""
        xp, (joined, masses) = namespace(p), self.joined_rows(p, x)
        moved = total(xp.where(joined, masses, number(0, p)))[..., None]
        lost = self._member(p, x, joined)
        return xp.where(lost, number(0, p), p) + moved * one_hot(x, p)

    def joined_rows(self, p: Array, x: Array) -> tuple[Array, Array]:
        """Which neighbours ``[..., K]`` join x, and the mass p has on each."""
        xp, near = namespace(p), self._near.of(p, x)
        masses = xp.where(near == NO_NEIGHBOUR, number(0, p), _at_each(p, near))
        return (near != NO_NEIGHBOUR) & self._within(xp.cumulative_sum(masses, axis=-1), mass(p, x)[..., None]), masses

    def _member(self, p: Array, x: Array, joined: Array) -> Array:
        """``bool[..., V]``: the tokens that joined."""
        return marked(self._near.of(p, x), joined, p.shape[-1])

    def _within(self, moved: Array, own: Array) -> Array:
        """Whether a neighbour may join, ``moved[..., K]`` being the mass moved to x then, and ``own`` what x has."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Lantern(NeighbourhoodRule):
    """LANTERN's rule: neighbours join while ``bound`` stays strictly below ``delta``.

    Attributes
    ----------
    neighbours
        ``neighbours[x]`` lists the nearest tokens of x, nearest first, without x.
    delta
        The most that p may be moved, 0 to 1; with 0 no token that has mass joins, and the rule is lossless.
    bound
        What ``delta`` bounds: ``tv``, ``jsd`` (in nats), ``jsd-bits`` or ``jsd-root``.

    Raises
    ------
    ValueError
        For a bad table of neighbours, a ``delta`` outside [0, 1], or another bound.
    """

    delta: Number = 0.2
    bound: str = "tv"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("delta", self.delta, most=1)
        check_choice("bound", self.bound, tuple(BOUNDS))

    def _within(self, moved: Array, own: Array) -> Array:
        return BOUNDS[self.bound](moved, own) < number(self.delta, moved)


@dataclass(frozen=True, eq=False)
class LanternMultiplicative(NeighbourhoodRule):
    """LANTERN++'s rule: neighbours join while they add at most (``factor`` - 1) p(x) to p(x).

    Attributes
    ----------
    neighbours
        ``neighbours[x]`` lists the nearest tokens of x, nearest first, without x.
    factor
        >= 1; 1 is lossless.

    Raises
    ------
    ValueError
        For a bad table of neighbours, or a ``factor`` below 1.

    Notes
    -----
    The reference code of LANTERN reads a bound above 1 this way.
    """

    factor: Number = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("factor", self.factor, least=1)

    def _within(self, moved: Array, own: Array) -> Array:
        return moved <= (number(self.factor, moved) - number(1, moved)) * own


def _at_each(p: Array, near: Array) -> Array:
    """``p[..., near[..., k]]``; any entry where ``near`` is ``NO_NEIGHBOUR``."""
    xp = namespace(p)
    return wide(xp.take_along_axis(p, xp.clip(near, 0, None), axis=-1))
