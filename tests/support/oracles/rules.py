"""The rules of speculative decoding and of GSD, one token at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Row = tuple[Fraction, ...]
ONE, NOUGHT = Fraction(1), Fraction(0)


def scaled(row: Sequence[Fraction], fallback: Row) -> Row:
    """``row`` with the sum 1, and ``fallback`` where it is empty."""
    return tuple(mass / sum(row) for mass in row) if any(row) else tuple(fallback)


def scaled_excess(p: Row, q: Row, fallback: Row | None = None) -> Row:
    """[p - q]+, and p where that is empty, or ``fallback``."""
    return scaled([max(a - b, NOUGHT) for a, b in zip(p, q, strict=True)], p if fallback is None else fallback)


def without(q: Row, x: int) -> Row:
    """q with x taken out, scaled up; nothing where x was all there is."""
    rest = tuple(NOUGHT if y == x else mass for y, mass in enumerate(q))
    return scaled(rest, rest)


@dataclass(frozen=True)
class SlowRule:
    """``masses(p, q, x)`` is the ratio's numerator and denominator; ``after(p, q, x)`` the residual."""

    masses: Callable[[Row, Row, int], tuple[Fraction, Fraction]]
    after: Callable[[Row, Row, int], Row] = lambda p, q, x: scaled_excess(p, q)

    def accept(self, p: Row, q: Row, x: int) -> Fraction:
        if q[x] == 0:
            return ONE
        target, draft = self.masses(p, q, x)
        return min(ONE, target / draft) if draft > 0 else NOUGHT

    def law(self, p: Row, q: Row) -> Row:
        """What is emitted: each token drafted, kept, or replaced."""
        law = [NOUGHT] * len(p)
        for x, drafted in enumerate(q):
            kept = self.accept(p, q, x)
            law[x] += drafted * kept
            for y, replaced in enumerate(self.after(p, q, x)):
                law[y] += drafted * (1 - kept) * replaced
        return tuple(law)

    def acceptance(self, p: Row, q: Row) -> Fraction:
        return sum((drafted * self.accept(p, q, x) for x, drafted in enumerate(q)), NOUGHT)


def speculative() -> SlowRule:
    return SlowRule(lambda p, q, x: (p[x], q[x]))


def amplify(k: Fraction) -> SlowRule:
    return SlowRule(lambda p, q, x: (k * p[x], q[x]))


def addition(epsilon: Fraction) -> SlowRule:
    return SlowRule(lambda p, q, x: (p[x] + epsilon, q[x]))


def over(group: Callable[[Row, int], Sequence[int]]) -> Callable[[Row, Row, int], tuple[Fraction, Fraction]]:
    """Masses of the group of the drafted token."""

    def masses(p: Row, q: Row, x: int) -> tuple[Fraction, Fraction]:
        members = group(p, x)
        return sum((p[y] for y in members), NOUGHT), sum((q[y] for y in members), NOUGHT)

    return masses


def grouped(labels: Sequence[int]) -> SlowRule:
    return SlowRule(over(lambda p, x: [y for y in range(len(p)) if labels[y] == labels[x]]))


def grouped_group_residual(labels: Sequence[int]) -> SlowRule:
    """First the group in proportion to [P - Q]+, then the token in proportion to p within it."""

    def after(p: Row, q: Row, x: int) -> Row:
        names = sorted(set(labels))
        mass = [[sum(row[y] for y in range(len(p)) if labels[y] == g) for g in names] for row in (p, q)]
        excess = [max(a - b, NOUGHT) for a, b in zip(*mass, strict=True)]
        if not any(excess):
            return tuple(p)
        shares = {g: (e / sum(excess), m) for g, e, m in zip(names, excess, mass[0], strict=True)}
        return tuple(share * p[y] / m if m else NOUGHT for y in range(len(p)) for share, m in [shares[labels[y]]])

    return SlowRule(grouped(labels).masses, after)


def dynamic_grouped(
    size: int,
    max_gap: Fraction | None = None,
    max_distance: Fraction | None = None,
    distances: Any = None,
    window: str = "centred",
) -> SlowRule:
    """GSD, Algorithm 3, lines 3 to 12; ``printed`` is the slice exactly as Python reads it."""

    def group(p: Row, x: int) -> list[int]:
        by_value = sorted(range(len(p)), key=lambda y: p[y])
        values = [p[y] for y in by_value]
        half = size // 2
        if window == "printed":
            idx = values.index(p[x])
            members = by_value[idx - half : idx + half]
        else:
            idx = by_value.index(x)
            members = by_value[max(idx - half, 0) : idx + half + (window == "centred")]
        if max_gap is not None:
            members = [y for y in members if not abs(p[y] - p[x]) > max_gap]
        if max_distance is not None:
            members = [y for y in members if not distances[x][y] > max_distance]
        return members

    return SlowRule(over(group))


def gsd_reference(
    below: int = 7,
    above: int = 6,
    max_gap: Fraction | None = None,
    max_distance: Fraction | None = None,
    distances: Any = None,
) -> SlowRule:
    """GSD's code: fixed ranks around the token, strict filters, the plain ratio at the low end."""

    def group(p: Row, x: int) -> list[int]:
        by_value = sorted(range(len(p)), key=lambda y: p[y])
        rank = by_value.index(x)
        if rank < below:
            return [x]
        members = by_value[rank - below : rank + above + 1]
        if max_gap is not None:
            members = [y for y in members if abs(p[y] - p[x]) < max_gap]
        if max_distance is not None:
            members = [y for y in members if distances[x][y] < max_distance]
        return members

    return SlowRule(over(group))
