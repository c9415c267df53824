"""List sampling: candidates and the emitted token are winners of races over shared exponentials.

"List-Level Distribution Coupling", arXiv 2506.05632. E[k, v] are independent exponentials; candidate k is
argmin_v E[k, v]/q(v), which follows q, and the token emitted is argmin_v min_k E[k, v]/p(v), which follows p whatever
the candidates are. So it is lossless, and candidates are accepted as often as the races agree.

Given the candidates, the token emitted has a law in closed form, rational for rational rows. Let it be y, first in
race k* at the time t. The target's race has rate K in all, so t is exponential of rate K and, with probability p(y),
y is first, in each race k* alike; what the other exponentials have in excess of p(v) t is exponential again. So given
t, y and k* the candidates are independent winners of races in which v starts at r_v t, r_v = p(v)/q(v), and runs at
rate q(v), but for y in race k*, which arrives as it starts. While the tokens with r_v <= r are running, token x among
them wins between r t and r' t with probability

    q(x)/Q (exp(-(Q r - P) t) - exp(-(Q r' - P) t)),        Q and P what q and p put on those tokens.

Sums of such exponentials are multiplied out and integrated against K exp(-K t).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import inf, prod
from typing import ClassVar

import numpy as np

from simlab.arrays import Array, Number, namespace, number, wide
from simlab.candidates.base import Candidates, Verified, Verifier, among
from simlab.candidates.drawing import Independent
from simlab.candidates.optimal import beside, kinds
from simlab.checks import on_host
from simlab.remembering import remembered

Row = tuple[Number, ...]
Terms = dict[Number, Number]  # of a function of t: for each rate l the factor of exp(-l t)


@dataclass(frozen=True)
class ListSampling(Verifier):
    """Candidates and the token emitted from shared exponentials.

    All orders of a race are multiplied out, so it is for few tokens; rows of a batch are taken one after the other.
    """

    takes: ClassVar[tuple[type[Candidates], ...]] = (Independent,)

    def verify(self, p: Array, q: Array, x: Array, candidates: Candidates) -> Verified:
        rows = (on_host(rows).reshape(-1, p.shape[-1]).tolist() for rows in (wide(p), wide(q)))
        tokens = np.sort(on_host(x).reshape(-1, x.shape[-1])).tolist()  # their order does not matter
        laws = [emitted(tuple(one), tuple(other), tuple(seen)) for one, other, seen in zip(*rows, tokens, strict=True)]
        law = beside(np.array(laws).reshape(tuple(p.shape)), p)
        accepted = namespace(law).where(among(x, law), law, number(0, law))
        return Verified(accepted, law - accepted)


def emitted(p: Row, q: Row, x: tuple[int, ...]) -> Row:
    """The law ``[V]`` of the token emitted, given the candidates ``x[K]``."""
    return _emitted(p, q, x, kinds(p, q))


@remembered(65536)
def _emitted(p: Row, q: Row, x: tuple[int, ...], kind: tuple[type, ...]) -> Row:
    """The same for numbers of those kinds."""
    drawn = prod(q[token] for token in x)
    return tuple(_jointly(p, q, x, y) / drawn if p[y] > 0 else p[y] * 0 for y in range(len(p)))


def _jointly(p: Row, q: Row, x: tuple[int, ...], y: int) -> Number:
    """The probability of the candidates ``x[K]`` and the emitted token y."""
    count, zero = len(x), p[y] * 0
    found = zero
    for first in range(count):  # k*
        function: Terms = {zero: zero + 1}
        for k, token in enumerate(x):
            function = _times(function, _wins(p, q, token, y if k == first else None))
        found += sum(factor / (count + rate) for rate, factor in function.items())
    return p[y] * found


def _wins(p: Row, q: Row, x: int, arrived: int | None) -> Terms:
    """The probability that x wins a race, one token of which may arrive as it starts."""
    ratio = {v: p[v] / q[v] for v in range(len(p)) if q[v] > 0}
    end = inf if arrived is None else ratio.get(arrived, inf)
    found: Terms = defaultdict(lambda: p[0] * 0)
    starts = sorted(set(ratio.values()))
    for start, stop in zip(starts, [*starts[1:], inf], strict=True):
        running = [v for v in ratio if ratio[v] <= start]
        weight, reached = sum(q[v] for v in running), sum(p[v] for v in running)
        if ratio[x] <= start < end:
            found[weight * start - reached] += q[x] / weight
            if stop < inf:
                found[weight * stop - reached] -= q[x] / weight
        if x == arrived and start == end:
            before = [v for v in running if ratio[v] < start]
            found[sum(q[v] for v in before) * start - sum(p[v] for v in before)] += 1
    return found


def _times(one: Terms, other: Terms) -> Terms:
    """The product of two functions of t."""
    found: Terms = defaultdict(lambda: next(iter(one.values())) * 0)
    for rate, factor in one.items():
        for more, part in other.items():
            found[rate + more] += factor * part
    return found
