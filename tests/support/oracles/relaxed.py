"""LANTERN's rules from the definition of its neighbourhood, and the two rules that others are compared with.

A neighbourhood is grown one token at a time; for each, the changed target is written down and its distance to the
target is summed over the vocabulary. Logarithms are taken in decimals of 60 digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

from tests.support.oracles.rules import NOUGHT, ONE, Row, SlowRule, scaled_excess

Lists = Sequence[Sequence[int]]
TIE = Decimal("1e-40")  # decimals nearer than this are equal


def decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def total_variation(a: Row, b: Row) -> Decimal | Fraction:
    return sum((abs(x - y) for x, y in zip(a, b, strict=True)), NOUGHT) / 2


def jensen_shannon(a: Row, b: Row) -> Decimal:
    """In nats: half the divergence of each row to the mean of both."""
    total = Decimal(0)
    for x, y in zip(a, b, strict=True):
        for one in (x, y):
            if one > 0:
                total += decimal(one) * decimal(one / ((x + y) / 2)).ln() / 2
    return total


DISTANCES: dict[str, Callable[[Row, Row], Decimal | Fraction]] = {
    "tv": total_variation,
    "jsd": jensen_shannon,
    "jsd-bits": lambda a, b: jensen_shannon(a, b) / Decimal(2).ln(),
    "jsd-root": lambda a, b: max(jensen_shannon(a, b), Decimal(0)).sqrt(),
}


def conditional(p: Row, members: Sequence[int], x: int) -> Row:
    """p_A(. given x): x has the mass of all ``members``, the others of them have none."""
    return tuple(sum(p[z] for z in members) if y == x else NOUGHT if y in members else p[y] for y in range(len(p)))


def below(distance: Decimal | Fraction, delta: Fraction) -> bool:
    if isinstance(distance, Fraction):
        return distance < delta
    return decimal(delta) - distance > TIE


def grown(p: Row, x: int, near: Sequence[int], delta: Fraction, bound: str) -> list[int]:
    """A: x, and its neighbours until the first that takes the changed target as far as ``delta``."""
    members = [x]
    with localcontext() as context:
        context.prec = 60
        for y in near:
            if not below(DISTANCES[bound](conditional(p, [*members, y], x), p), Fraction(delta)):
                break
            members.append(y)
    return members


Grow = Callable[[Row, int], list[int]]


def by_mass(grow: Grow) -> SlowRule:
    """LANTERN, Algorithm 1, lines 9 to 14."""

    def masses(p: Row, q: Row, x: int) -> tuple[Fraction, Fraction]:
        return sum((p[y] for y in grow(p, x)), NOUGHT), q[x]

    def after(p: Row, q: Row, x: int) -> Row:
        changed = conditional(p, grow(p, x), x)
        excess = [max(a - b, NOUGHT) for a, b in zip(changed, q, strict=True)]
        return tuple(e / sum(excess) for e in excess) if any(excess) else p

    return SlowRule(masses, after)


def lantern(neighbours: Lists, delta: Fraction, bound: str = "tv") -> SlowRule:
    return by_mass(lambda p, x: grown(p, x, neighbours[x], delta, bound))


def lantern_multiplicative(neighbours: Lists, factor: Fraction) -> SlowRule:
    def grow(p: Row, x: int) -> list[int]:
        members = [x]
        for y in neighbours[x]:
            if sum(p[z] for z in [*members, y]) > factor * p[x]:
                break
            members.append(y)
        return members

    return by_mass(grow)


def first_largest(row: Row) -> int:
    return row.index(max(row))


def certain(size: int, token: int) -> Row:
    return tuple(Fraction(y == token) for y in range(size))


def lantern_greedy(neighbours: Lists, delta: Fraction, bound: str = "tv") -> SlowRule:
    """Section 3.3, last paragraph."""

    def masses(p: Row, q: Row, x: int) -> tuple[Fraction, Fraction]:
        changed = conditional(p, grown(p, x, neighbours[x], delta, bound), x)
        return Fraction(first_largest(changed) == x), ONE

    def after(p: Row, q: Row, x: int) -> Row:
        return certain(len(p), first_largest(conditional(p, grown(p, x, neighbours[x], delta, bound), x)))

    return SlowRule(masses, after)


def lantern_reference(neighbours: Lists, delta: Fraction, k: int | None = None, tree: str = "dynamic") -> SlowRule:
    """The published code: up to the bound k neighbours join, and k + 1 are zeroed in p, or in a static tree in q."""

    def grow(p: Row, x: int) -> list[int]:
        most = (Fraction(delta) - 1) * p[x] if delta > 1 else Fraction(delta)
        members = [x]
        for y in neighbours[x][:k]:
            if sum(p[z] for z in members[1:]) + p[y] > most:
                break
            members.append(y)
        return members

    def masses(p: Row, q: Row, x: int) -> tuple[Fraction, Fraction]:
        return sum((p[y] for y in grow(p, x)), NOUGHT), q[x] if tree == "static" else ONE

    def after(p: Row, q: Row, x: int) -> Row:
        near = neighbours[x] if k is None else neighbours[x][: k + 1]
        gone = set(near) if len(grow(p, x)) > 1 else set()
        if tree == "static":
            left = [max(p[y] - (NOUGHT if y in gone else q[y]), NOUGHT) for y in range(len(p))]
        else:
            left = [NOUGHT if y in gone | {x} else p[y] for y in range(len(p))]
        return tuple(mass / sum(left) for mass in left) if any(left) else (Fraction(1, len(p)),) * len(p)

    return SlowRule(masses, after)


def typical(epsilon: Fraction = Fraction(9, 100), delta: Fraction = Fraction(3, 10)) -> SlowRule:
    """Medusa, section 2.3.1."""

    def masses(p: Row, q: Row, x: int) -> tuple[Fraction, Fraction]:
        with localcontext() as context:
            context.prec = 60
            entropy = -sum((decimal(mass) * decimal(mass).ln() for mass in p if mass > 0), Decimal(0))
            threshold = min(decimal(Fraction(epsilon)), decimal(Fraction(delta)) * (-entropy).exp())
            return Fraction(decimal(p[x]) - threshold > TIE), ONE

    return SlowRule(masses, lambda p, q, x: p)


def optimal_lossy(tv: Fraction) -> SlowRule:
    """Lossless sampling of p_t = p + t (q - p), as far from p as ``tv`` allows."""

    def towards(p: Row, q: Row) -> tuple[Row, Fraction]:
        apart = sum((max(a - b, NOUGHT) for a, b in zip(p, q, strict=True)), NOUGHT)
        t = min(ONE, Fraction(tv) / apart) if apart else NOUGHT
        return tuple(a + t * (b - a) for a, b in zip(p, q, strict=True)), t

    def after(p: Row, q: Row, x: int) -> Row:
        mixed, t = towards(p, q)
        return scaled_excess(p if t == 1 else mixed, q)

    return SlowRule(lambda p, q, x: (towards(p, q)[0][x], q[x]), after)
