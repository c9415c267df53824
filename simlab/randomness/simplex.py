"""Races of exponentials, exactly: a race that is run for several rows with the same times.

The times E_v are independent exponentials, and token t wins for a row q if E_t / q(t) is the least. Scaled to sum to
one, the times are a uniform point of the simplex, and t wins just where E_v >= (q(v) / q(t)) E_t for all v. What the
winners of several rows tell is therefore a set of such bounds, a convex part of the simplex, and the probability of a
winner is a ratio of volumes. Bounds with rational factors have rational volumes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from simlab.remembering import remembered

Bounds = tuple[Fraction, ...]  # V * V numbers c: E_v >= c[v, t] E_t, the tightest that follow from one another
Point = tuple[Fraction, ...]  # V coordinates with sum 1
Simplex = tuple[Point, ...]  # V corners


def unbounded(size: int) -> Bounds:
    """The bounds of the whole simplex of ``size`` tokens."""
    return tuple(Fraction(v == t) for v in range(size) for t in range(size))


def race(row: Sequence[Fraction], known: Bounds) -> Iterator[tuple[int, Bounds, Fraction]]:
    """Each token that may win for ``row[V]``, the bounds after it has, and its probability given those ``known``."""
    possible = [token for token, mass in enumerate(row) if mass > 0]
    if len(possible) == 1:
        yield possible[0], known, Fraction(1)
        return
    whole = volume(known)
    for token in possible:
        bounds = _won(known, token, tuple(row))
        if mass := volume(bounds):
            yield token, bounds, mass / whole


@remembered(1 << 16)
def _won(known: Bounds, token: int, row: tuple[Fraction, ...]) -> Bounds:
    """The bounds once ``token`` has won for ``row``, each the tightest that follows from all (Floyd and Warshall)."""
    size = len(row)
    bound = [list(known[v * size : (v + 1) * size]) for v in range(size)]
    for v in range(size):
        bound[v][token] = max(bound[v][token], row[v] / row[token])
    for s in range(size):
        bound = [[max(bound[v][t], bound[v][s] * bound[s][t]) for t in range(size)] for v in range(size)]
    return tuple(factor for line in bound for factor in line)


@remembered(1 << 16)
def volume(bounds: Bounds) -> Fraction:
    """The part of the simplex that lies within ``bounds``; 0 where they contradict each other."""
    size = next(v for v in range(1, len(bounds) + 1) if v * v == len(bounds))
    if any(bounds[v * size + v] > 1 for v in range(size)):
        return Fraction(0)
    pieces: list[Simplex] = [tuple(tuple(Fraction(v == t) for t in range(size)) for v in range(size))]
    for v in range(size):
        for t in range(size):
            if v != t and bounds[v * size + t] > 0:
                factor = bounds[v * size + t]
                pieces = [part for piece in pieces for part in _cut(piece, v, t, factor)]
    return sum((abs(_determinant(piece)) for piece in pieces), Fraction(0))


def _cut(piece: Simplex, v: int, t: int, factor: Fraction) -> Iterator[Simplex]:
    """The part of a simplex where ``E_v >= factor E_t``, in simplices."""
    height = [corner[v] - factor * corner[t] for corner in piece]
    above, below = max(height), min(height)
    if below >= 0:
        yield piece
    elif above > 0:  # an edge crosses: its crossing point makes two simplices, with fewer such edges each
        i, j = height.index(above), height.index(below)
        share = above / (above - below)
        point = tuple(a + share * (b - a) for a, b in zip(piece[i], piece[j], strict=True))
        for corner in (i, j):
            yield from _cut((*piece[:corner], point, *piece[corner + 1 :]), v, t, factor)


def _determinant(rows: Sequence[Sequence[Fraction]]) -> Fraction:
    """By elimination."""
    if not rows:
        return Fraction(1)
    lead = next((k for k, row in enumerate(rows) if row[0]), None)
    if lead is None:
        return Fraction(0)
    first = rows[lead]
    rest = [
        [b - row[0] / first[0] * a for a, b in zip(first[1:], row[1:], strict=True)]
        for k, row in enumerate(rows)
        if k != lead
    ]
    return first[0] * _determinant(rest) * (-1 if lead % 2 else 1)
