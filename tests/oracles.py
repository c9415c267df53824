"""Slow second opinions: the papers' algorithms once more, in plain Python loops over tuples of ``Fraction``.

Nothing here uses rules, decoders, chance or laws of the project. Only the process is shared, and of it only
``row(prefix)``, the table it was made from. Everything is written the way the papers print it, one token at a
time, so that a mistake in the batched code is not repeated here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import accumulate, pairwise, product
from math import prod
from typing import Any

from simlab.processes import TableProcess

Row = tuple[Fraction, ...]
Tokens = tuple[int, ...]
Laws = tuple[dict[Tokens, Fraction], dict[int, Fraction]]
ONE, NOUGHT = Fraction(1), Fraction(0)

# Rules ---------------------------------------------------------------------------------------------------------


def scaled_excess(p: Row, q: Row) -> Row:
    """[p - q]+, and p where that is empty."""
    excess = [max(a - b, NOUGHT) for a, b in zip(p, q, strict=True)]
    return tuple(e / sum(excess) for e in excess) if any(excess) else tuple(p)


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


RULES: dict[str, Callable[..., SlowRule]] = {
    "speculative": speculative,
    "amplify": amplify,
    "addition": addition,
    "grouped": grouped,
    "grouped-group-residual": grouped_group_residual,
    "dynamic-grouped": dynamic_grouped,
    "gsd-reference": gsd_reference,
}

# Decoders ------------------------------------------------------------------------------------------------------


def row(world: TableProcess, prefix: Tokens) -> Row:
    return tuple(world.row(prefix))


def possible(pmf: Row) -> Iterator[tuple[int, Fraction]]:
    return ((token, mass) for token, mass in enumerate(pmf) if mass > 0)


def split(joint: dict[tuple[Tokens, int], Fraction]) -> Laws:
    """The law of sequences and the law of steps of a joint law of both."""
    law: dict[Tokens, Fraction] = defaultdict(Fraction)
    steps: dict[int, Fraction] = defaultdict(Fraction)
    for (sequence, count), weight in joint.items():
        if weight > 0:
            law[sequence] += weight
            steps[count] += weight
    return dict(law), dict(steps)


def played_out(step: Callable[..., Iterator[tuple[Any, Fraction]]], length: int) -> Callable[..., dict]:
    """The joint law of (sequence, steps) from a state on; a state is a tuple that begins with the prefix."""

    @cache
    def from_state(state: Any) -> dict[tuple[Tokens, int], Fraction]:
        if len(state[0]) == length:
            return {(state[0], 0): ONE}
        joint: dict[tuple[Tokens, int], Fraction] = defaultdict(Fraction)
        for after, weight in step(*state):
            for (sequence, count), rest in from_state(after).items():
                joint[sequence, count + 1] += weight * rest
        return dict(joint)

    return from_state


def target(world: TableProcess) -> dict[Tokens, Fraction]:
    """The autoregressive law: the product of the rows, sequence by sequence."""
    sequences = product(range(world.vocabulary), repeat=world.length)
    law = {s: prod((world.row(s[:i])[s[i]] for i in range(world.length)), start=ONE) for s in sequences}
    return {s: mass for s, mass in law.items() if mass > 0}


def speculative_law(world: TableProcess, draft: TableProcess, rule: SlowRule, gamma: int) -> Laws:
    """Leviathan et al., Algorithm 1, block after block; a block does not draft past the end."""

    def blocks(prefix: Tokens, drafts: Tokens) -> Iterator[tuple[Tokens, Fraction]]:
        """Drafts after ``prefix``, one after the other."""
        if len(drafts) == min(gamma, world.length - len(prefix)):
            yield drafts, ONE
            return
        for x, mass in possible(row(draft, prefix + drafts)):
            for rest, weight in blocks(prefix, (*drafts, x)):
                yield rest, mass * weight

    def step(prefix: Tokens) -> Iterator[tuple[Any, Fraction]]:
        for drafts, drawn in blocks(prefix, ()):
            reached = drawn
            for j, x in enumerate(drafts):
                before = prefix + drafts[:j]
                p, q = row(world, before), row(draft, before)
                kept = rule.accept(p, q, x)
                for y, mass in possible(rule.after(p, q, x)):
                    yield ((*before, y),), reached * (1 - kept) * mass
                reached *= kept
            whole = prefix + drafts
            bonus = possible(row(world, whole)) if len(whole) < world.length else [(None, ONE)]
            for y, mass in bonus:
                yield (whole if y is None else (*whole, y),), reached * mass

    return split(played_out(step, world.length)(((),)))


def sjd_law(
    world: TableProcess,
    rule: SlowRule,
    window: int,
    initial: str = "random",
    bonus: bool = True,
    refine: bool = True,
    point_mass: bool = False,
) -> Laws:
    """SJD, section 4.1, steps 1 to 4, and section 4.2.

    A state is the prefix, the drafts of the window, the q declared for each, and the row each committed token
    came with in the call that committed it (for ``sample-above``). ``refine=False`` starts the whole window
    anew (appendix F); ``point_mass`` declares a point mass for every new draft (the reference code).
    """
    size, length, columns = world.vocabulary, world.length, world.shape[1]
    uniform = (Fraction(1, size),) * size

    def mass_on(token: int) -> Row:
        return tuple(Fraction(t == token) for t in range(size))

    def neighbour(i: int) -> int | None:
        if initial.endswith("left"):
            return i - 1 if i % columns else None
        return i - columns if initial.endswith("above") and i >= columns else None

    def filled(
        tokens: Tokens, rows: tuple[Row, ...], known: tuple[Row, ...], stop: int
    ) -> Iterator[tuple[Tokens, tuple[Row, ...], Fraction]]:
        """Draw positions ``len(tokens)`` to ``stop``; ``rows`` is what each of the tokens before was drawn from.

        ``known`` are rows of this call for the first of them; after these come new positions. Yields all
        tokens, the rows of all, and the probability.
        """
        i = len(tokens)
        if i >= stop:
            yield tokens, rows, ONE
            return
        near = neighbour(i)
        if known:
            pmf, drawn_from, rest = known[0], known[0], known[1:]
        elif near is None:
            pmf, drawn_from, rest = uniform, uniform, ()
        elif initial.startswith("repeat"):
            pmf, drawn_from, rest = mass_on(tokens[near]), mass_on(tokens[near]), ()
        else:
            pmf, drawn_from, rest = rows[near], rows[near], ()
        for x, mass in possible(pmf):
            for every, origins, weight in filled((*tokens, x), (*rows, drawn_from), rest, stop):
                yield every, origins, mass * weight

    def restart(
        committed: Tokens, rows: tuple[Row, ...], tail: tuple[Row, ...]
    ) -> Iterator[tuple[tuple[Any, ...], Fraction]]:
        """The states that may follow: tail tokens drawn from this call's rows, and new ones after them."""
        n = len(committed)
        tail = tail if refine else ()
        for tokens, drawn_from, weight in filled(committed, rows, tail, min(n + window, length)):
            declared = [
                mass_on(tokens[i]) if point_mass and i >= n + len(tail) else drawn_from[i]
                for i in range(n, len(tokens))
            ]
            yield (committed, tokens[n:], tuple(declared), drawn_from[:n]), weight

    def step(prefix: Tokens, drafts: Tokens, qs: tuple[Row, ...], past: tuple[Row, ...]) -> Iterator:
        n, width = len(prefix), len(drafts)
        ps = tuple(row(world, prefix + drafts[:j]) for j in range(width))
        reached = ONE
        for j, (p, q, x) in enumerate(zip(ps, qs, drafts, strict=True)):
            kept = rule.accept(p, q, x)
            if kept < 1:
                for y, mass in possible(rule.after(p, q, x)):
                    for state, weight in restart((*prefix, *drafts[:j], y), past + ps[: j + 1], ps[j + 1 :]):
                        yield state, reached * (1 - kept) * mass * weight
            reached *= kept
        if reached == 0:
            return
        whole = prefix + drafts
        if bonus and n + width < length:
            p = row(world, whole)
            for y, mass in possible(p):
                for state, weight in restart((*whole, y), (*past, *ps, p), ()):
                    yield state, reached * mass * weight
        else:
            for state, weight in restart(whole, past + ps, ()):
                yield state, reached * weight

    from_state = played_out(step, length)
    joint: dict[tuple[Tokens, int], Fraction] = defaultdict(Fraction)
    for state, weight in restart((), (), ()):
        for outcome, rest in from_state(state).items():
            joint[outcome] += weight * rest
    return split(joint)


def jacobi_law(world: TableProcess, window: int) -> Laws:
    """Jacobi iteration, every token drawn with new randomness at every iteration."""
    size, length = world.vocabulary, world.length

    def step(prefix: Tokens, drafts: Tokens) -> Iterator[tuple[Any, Fraction]]:
        rows = [row(world, prefix + drafts[:j]) for j in range(len(drafts))]
        for drawn in product(*(tuple(possible(r)) for r in rows)):
            y = tuple(token for token, _ in drawn)
            same = next((j for j, (a, b) in enumerate(zip(drafts, y, strict=True)) if a != b), len(y))
            final = prefix + y[: same + 1]
            added = min(len(final) + window, length) - (len(prefix) + len(y))
            weight = prod((mass for _, mass in drawn), start=ONE) / size**added
            for new in product(range(size), repeat=added):
                yield (final, y[same + 1 :] + new), weight

    from_state = played_out(step, length)
    joint: dict[tuple[Tokens, int], Fraction] = defaultdict(Fraction)
    first = min(window, length)
    for drafts in product(range(size), repeat=first):
        for outcome, rest in from_state(((), drafts)).items():
            joint[outcome] += rest / size**first
    return split(joint)


def jacobi_fixed_law(world: TableProcess, window: int) -> Laws:
    """Jacobi iteration with one uniform a position: every run of it, over all cells of the unit cube.

    The uniform of a position matters only through the tokens it gives under the rows that position can have, so
    it is enough to try one value between any two neighbouring edges of these rows.
    """
    size, length = world.vocabulary, world.length

    def inverse_cdf(pmf: Row, u: Fraction) -> int:
        return next(token for token, upto in enumerate(accumulate(pmf)) if u < upto)

    def run(noise: Sequence[Fraction], start: Tokens) -> tuple[Tokens, int]:
        tokens, n, steps = list(start), 0, 0
        while n < length:
            stop, steps = min(n + window, length), steps + 1
            new = [inverse_cdf(row(world, tuple(tokens[:i])), noise[i]) for i in range(n, stop)]
            old, tokens[n:stop] = tokens[n:stop], new
            while n < stop:
                n += 1
                if old[n - 1 - stop] != tokens[n - 1]:
                    break
        return tuple(tokens), steps

    cells = []
    for i in range(length):
        edges = {NOUGHT, ONE}
        for prefix in product(range(size), repeat=i):
            edges |= set(accumulate(row(world, prefix)))
        cells.append([((low + high) / 2, high - low) for low, high in pairwise(sorted(edges))])
    joint: dict[tuple[Tokens, int], Fraction] = defaultdict(Fraction)
    for noise in product(*cells):
        weight = prod((width for _, width in noise), start=ONE) / size**length
        for start in product(range(size), repeat=length):
            joint[run([u for u, _ in noise], start)] += weight
    return split(joint)
