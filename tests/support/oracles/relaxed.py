"""LANTERN's rules from the definition of its neighbourhood, and the lossy rules that take no table.

A neighbourhood is grown one token at a time; for each, the changed target is written down and its distance to the
target is summed over the vocabulary. Logarithms are taken in decimals of 60 digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from math import isqrt

from tests.support.oracles.rules import NOUGHT, ONE, Row, SlowRule, scaled, scaled_excess

Lists = Sequence[Sequence[int]]
TIE, NONE = Decimal("1e-40"), Decimal(0)  # decimals nearer than TIE are equal


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
    with localcontext(prec=60):
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

    return SlowRule(masses, lambda p, q, x: scaled_excess(conditional(p, grow(p, x), x), q, p))


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

    def chosen(p: Row, x: int) -> int:
        return first_largest(conditional(p, grown(p, x, neighbours[x], delta, bound), x))

    return SlowRule(lambda p, q, x: (Fraction(chosen(p, x) == x), ONE), lambda p, q, x: certain(len(p), chosen(p, x)))


def lantern_reference(neighbours: Lists, delta: Fraction, k: int | None = None, tree: str = "dynamic") -> SlowRule:
    """The published code: up to the bound k neighbours join, and k + 1 are zeroed in p, or in a static tree in q; with
    ``static-p`` the tree is static and they are zeroed in p."""

    def grow(p: Row, x: int) -> list[int]:
        most = (Fraction(delta) - 1) * p[x] if delta > 1 else Fraction(delta)
        members = [x]
        for y in neighbours[x][:k]:
            if sum(p[z] for z in members[1:]) + p[y] > most:
                break
            members.append(y)
        return members

    def masses(p: Row, q: Row, x: int) -> tuple[Fraction, Fraction]:
        return sum((p[y] for y in grow(p, x)), NOUGHT), ONE if tree == "dynamic" else q[x]

    def after(p: Row, q: Row, x: int) -> Row:
        near = neighbours[x] if k is None else neighbours[x][: k + 1]
        gone = set(near) if len(grow(p, x)) > 1 else set()
        if tree == "static":
            left = [max(p[y] - (NOUGHT if y in gone else q[y]), NOUGHT) for y in range(len(p))]
        elif tree == "static-p":
            left = [max((NOUGHT if y in gone else p[y]) - q[y], NOUGHT) for y in range(len(p))]
        else:
            left = [NOUGHT if y in gone | {x} else p[y] for y in range(len(p))]
        return scaled(left, (Fraction(1, len(p)),) * len(p))

    return SlowRule(masses, after)


def beyond(p: Row, epsilon: Fraction, delta: Fraction, little: Decimal = NONE) -> list[Decimal]:
    """How far each token is above min(epsilon, delta exp(-H)); ``little`` is added in the logarithms of the entropy."""
    with localcontext(prec=60):
        masses = [decimal(mass) for mass in p]
        entropy = -sum((mass * (mass + little).ln() for mass in masses if mass > 0), NONE)
        threshold = min(decimal(Fraction(epsilon)), decimal(Fraction(delta)) * (-entropy).exp())
        return [mass - threshold for mass in masses]


def typical(epsilon: Fraction = Fraction(9, 100), delta: Fraction = Fraction(3, 10)) -> SlowRule:
    """Medusa, section 2.3.1."""
    return SlowRule(lambda p, q, x: (Fraction(beyond(p, epsilon, delta)[x] > TIE), ONE), lambda p, q, x: p)


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


def mixture(weight: Fraction) -> SlowRule:
    """DIVERSED's static ensemble: lossless sampling of a mixture."""

    def mixed(p: Row, q: Row) -> Row:
        return tuple(Fraction(weight) * a + (1 - Fraction(weight)) * b for a, b in zip(p, q, strict=True))

    def after(p: Row, q: Row, x: int) -> Row:
        return scaled_excess(mixed(p, q) if weight else p, q)

    return SlowRule(lambda p, q, x: (mixed(p, q)[x], q[x]), after)


def lenience(factor: Fraction, residual: str = "target") -> SlowRule:
    """The draft's mass counts ``factor`` of what it is, in the comparison or in the residual too."""
    own = Fraction(factor) if residual == "lenient" else ONE
    return SlowRule(lambda p, q, x: (p[x], factor * q[x]), lambda p, q, x: scaled_excess(p, tuple(own * m for m in q)))


def root(value: Fraction) -> Fraction:
    """Exact where it is a fraction; else sqrt(n d)/d, the root on 64 bits behind the point."""
    n, d = value.numerator, value.denominator
    if isqrt(n * d) ** 2 == n * d:
        return Fraction(isqrt(n * d), d)
    with localcontext(prec=60):
        return Fraction(int(Decimal(n * d).sqrt() * 2**64), d * 2**64)


def cactus(delta: Fraction) -> SlowRule:
    """``solve_constraint``: a target for every drafted token."""

    def target(p: Row, x: int) -> Row:
        own = min(ONE, p[x] + root(2 * Fraction(str(delta)) * p[x] * (1 - p[x])))
        rest = 1 - p[x]
        return tuple(own if y == x else p[y] * (1 - own) / rest if rest else p[y] for y in range(len(p)))

    return SlowRule(lambda p, q, x: (target(p, x)[x], q[x]), lambda p, q, x: scaled_excess(target(p, x), q, p))


def truncation(threshold: Fraction, residual: str = "truncated") -> SlowRule:
    """Kept is what the truncated target can draw."""

    def cut(p: Row) -> Row:
        return tuple(mass if mass >= threshold * max(p) else NOUGHT for mass in p)

    def after(p: Row, q: Row, x: int) -> Row:
        return p if residual == "target" else scaled(cut(p), p)

    return SlowRule(lambda p, q, x: (Fraction(p[x] >= threshold * max(p)), ONE), after)


def cascade(threshold: Fraction) -> SlowRule:
    """Lossless sampling of the law of a cascade that asks the target wherever the draft's token is unlikely."""

    def emitted(p: Row, q: Row) -> Row:
        law = [NOUGHT] * len(p)
        for x, drafted in enumerate(q):
            if p[x] >= threshold * max(p):
                law[x] += drafted
            else:
                law = [mass + drafted * other for mass, other in zip(law, p, strict=True)]
        return tuple(law)

    return SlowRule(lambda p, q, x: (emitted(p, q)[x], q[x]), lambda p, q, x: scaled_excess(emitted(p, q), q, p))


def fuzzy(threshold: Fraction, divergence: str = "js", beyond: str = "target") -> SlowRule:
    """Everything is kept where the two rows are near."""

    def near(p: Row, q: Row) -> bool:
        with localcontext(prec=60):
            if divergence == "kl":
                if any(a > 0 and not b for a, b in zip(p, q, strict=True)):
                    return False
                terms = (decimal(a) * decimal(a / b).ln() for a, b in zip(p, q, strict=True) if a > 0)
                return sum(terms, Decimal(0)) - decimal(Fraction(threshold)) <= TIE
            if divergence == "tv":
                return total_variation(p, q) <= threshold
            return jensen_shannon(p, q) - decimal(Fraction(threshold)) <= TIE

    def masses(p: Row, q: Row, x: int) -> tuple[Fraction, Fraction]:
        return (ONE, ONE) if near(p, q) else (NOUGHT if beyond == "target" else p[x], q[x])

    return SlowRule(masses, lambda p, q, x: p if beyond == "target" else scaled_excess(p, q))


def likeliest_two(p: Row) -> list[int]:
    return sorted(range(len(p)), key=lambda x: (-p[x], x))[:2]


def relaxed(p: Row, normaliser: Fraction, threshold: Fraction) -> bool:
    """Whether the second largest logit over the largest exceeds the threshold."""
    best = [p[x] for x in likeliest_two(p)] + [NOUGHT]
    with localcontext(prec=60):
        first, second = (
            (decimal(mass).ln() if mass > 0 else Decimal("-1e9")) + decimal(Fraction(normaliser)) for mass in best[:2]
        )
        return second / first - decimal(Fraction(threshold)) > TIE


def mars(normaliser: Fraction, threshold: Fraction = Fraction(9, 10)) -> SlowRule:
    """The criterion on top of the lossless rule."""

    def masses(p: Row, q: Row, x: int) -> tuple[Fraction, Fraction]:
        return (ONE, ONE) if relaxed(p, normaliser, threshold) and x in likeliest_two(p) else (p[x], q[x])

    return SlowRule(masses)


def mars_reference(normaliser: Fraction, threshold: Fraction = Fraction(9, 10)) -> SlowRule:
    """``evaluate_posterior`` for one child x of a node."""

    def masses(p: Row, q: Row, x: int) -> tuple[Fraction, Fraction]:
        return (Fraction(x in likeliest_two(p)), ONE) if relaxed(p, normaliser, threshold) else (p[x], q[x])

    def after(p: Row, q: Row, x: int) -> Row:
        if relaxed(p, normaliser, threshold):
            return p
        return scaled(tuple(max(NOUGHT, p[y] - q[y]) if y == x else p[y] for y in range(len(p))), p)

    return SlowRule(masses, after)


def medusa_reference(
    epsilon: Fraction = Fraction(9, 100), delta: Fraction = Fraction(3, 10), residual: str = "likeliest"
) -> SlowRule:
    """``evaluate_posterior`` and what the next step begins with."""

    def over(p: Row) -> list[Decimal]:
        return beyond(p, epsilon, delta, Decimal("1e-5"))

    def after(p: Row, q: Row, x: int) -> Row:
        if residual == "likeliest":
            return certain(len(p), first_largest(p))
        return scaled([mass if far >= -TIE else NOUGHT for mass, far in zip(p, over(p), strict=True)], p)

    return SlowRule(lambda p, q, x: (Fraction(over(p)[x] > TIE), ONE), after)
