"""Sets of signs, each the sum of its members, and what the sign of a product can be."""

from __future__ import annotations

from collections.abc import Iterable

NEGATIVE, ZERO, POSITIVE = SIGNS = 1, 2, 4
ANY = NEGATIVE | ZERO | POSITIVE
RELATIONS = {
    NEGATIVE: "<",
    ZERO: "=",
    POSITIVE: ">",
    NEGATIVE | ZERO: "<=",
    ZERO | POSITIVE: ">=",
    NEGATIVE | POSITIVE: "!=",
}  # of a number that has one of these signs to 0


def sign_of(value: object) -> int:
    """The sign of a number that is known."""
    return NEGATIVE if value < 0 else POSITIVE if value > 0 else ZERO  # type: ignore[operator]


def negated(signs: int) -> int:
    """The signs of the negative of a number that has one of ``signs``."""
    return (NEGATIVE if signs & POSITIVE else 0) | (signs & ZERO) | (POSITIVE if signs & NEGATIVE else 0)


def times(one: int, other: int) -> int:
    """The signs that a product may have."""
    found = ZERO if (one | other) & ZERO else 0
    if (one & POSITIVE and other & POSITIVE) or (one & NEGATIVE and other & NEGATIVE):
        found |= POSITIVE
    if (one & POSITIVE and other & NEGATIVE) or (one & NEGATIVE and other & POSITIVE):
        found |= NEGATIVE
    return found


def of_powers(sign: int, factors: Iterable[tuple[int, bool]]) -> int:
    """The signs that a product may have of a constant and factors, each with whether its power is odd."""
    for signs, odd in factors:
        sign = times(sign, signs if odd else (signs & ZERO) | (POSITIVE if signs & ~ZERO else 0))
    return sign
