"""What recursions over sequences share, and the decoders without a window of pmfs: drafts, blocks, Jacobi iteration."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import accumulate, pairwise, product
from math import prod
from typing import Any

from simlab.processes import TableProcess
from tests.support.oracles.rules import NOUGHT, ONE, Row, SlowRule, without

Tokens = tuple[int, ...]
Laws = tuple[dict[Tokens, Fraction], dict[int, Fraction]]


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


def block_law(world: TableProcess, draft: TableProcess, rule: SlowRule, gamma: int) -> Laws:
    """Sun et al., arXiv 2403.10444, Algorithm 2, block after block; a block does not draft past the end."""

    def excess(weight: Fraction, prefix: Tokens) -> list[Fraction]:
        return [max(weight * a - b, NOUGHT) for a, b in zip(row(world, prefix), row(draft, prefix), strict=True)]

    def step(prefix: Tokens) -> Iterator[tuple[Any, Fraction]]:
        size = min(gamma, world.length - len(prefix))
        for drafts in product(range(world.vocabulary), repeat=size):
            drawn, weights = ONE, [ONE]
            for i, x in enumerate(drafts):
                p, q = row(world, prefix + drafts[:i])[x], row(draft, prefix + drafts[:i])[x]
                drawn *= q
                weights.append(min(ONE, weights[-1] * p / q) if q else NOUGHT)
            if not drawn:
                continue
            keeps = [ONE]
            for i in range(1, size):
                s = sum(excess(weights[i], prefix + drafts[:i]))
                keeps.append(s / (s + 1 - weights[i]) if s + 1 - weights[i] else ONE)
            keeps.append(weights[size])
            for tau in range(size + 1):
                longest = drawn * keeps[tau] * prod((1 - keep for keep in keeps[tau + 1 :]), start=ONE)
                here = prefix + drafts[:tau]
                if longest == 0:
                    continue
                if len(here) == world.length:
                    yield (here,), longest
                    continue
                left = excess(weights[tau], here) if tau < size else row(world, here)
                for y, mass in possible(tuple(mass / sum(left) for mass in left)):
                    yield ((*here, y),), longest * mass

    return split(played_out(step, world.length)(((),)))


def hierarchical_law(
    world: TableProcess, draft: TableProcess, gamma: int, final: str = "capped", prefix: str = "running-max"
) -> Laws:
    """Zhou et al., arXiv 2601.05724: steps back from the last draft, by joint probabilities as they are printed."""

    def step(before: Tokens) -> Iterator[tuple[Any, Fraction]]:
        size = min(gamma, world.length - len(before))
        for drafts in product(range(world.vocabulary), repeat=size):
            joint_p, joint_q, best = [ONE], [ONE], [ONE]
            for i, x in enumerate(drafts):
                joint_p.append(joint_p[-1] * row(world, before + drafts[:i])[x])
                joint_q.append(joint_q[-1] * row(draft, before + drafts[:i])[x])
                best.append(max(best[-1], joint_p[-1] / joint_q[-1]) if joint_q[-1] else ONE)
            if not joint_q[size]:
                continue
            ratio = joint_p[size] / joint_q[size]
            left = min(ONE, ratio / best[size - 1] if size and final == "capped" else ratio)
            here = before + drafts
            for y in [(y,) for y, _ in possible(row(world, here))] if len(here) < world.length else [()]:
                yield ((*here, *y),), joint_q[size] * left * (row(world, here)[y[0]] if y else ONE)
            left = joint_q[size] * (1 - left)
            for k in reversed(range(size)):
                reached = {"none": joint_p[k], "min": min(joint_p[k], joint_q[k]), "running-max": joint_p[k] / best[k]}
                here = before + drafts[:k]
                both = zip(row(world, here), row(draft, here), strict=True)
                gaps = [reached[prefix] * a - joint_q[k] * b for a, b in both]
                above, below = sum(max(gap, NOUGHT) for gap in gaps), sum(max(-gap, NOUGHT) for gap in gaps)
                stop = above / max(above, below) if k and above + below else ONE
                over = [max(gap, NOUGHT) / above for gap in gaps] if above else row(world, here)
                for y, mass in possible(tuple(over)):
                    yield ((*here, y),), left * stop * mass
                left *= 1 - stop

    return split(played_out(step, world.length)(((),)))


def traversal_law(world: TableProcess, draft: TableProcess, branching: Sequence[int], replacement: bool = True) -> Laws:
    """Weng et al., arXiv 2505.12398: trees verified from their leaves up; none is deeper than the sequence is long."""
    Family = list[tuple[int, list]]

    def families(prefix: Tokens, depth: int) -> Iterator[tuple[Family, Fraction]]:
        """The children of a node, each with its own family."""
        if depth == len(branching) or len(prefix) == world.length:
            yield [], ONE
            return
        yield from siblings(prefix, depth, row(draft, prefix), branching[depth])

    def siblings(prefix: Tokens, depth: int, q: Row, count: int) -> Iterator[tuple[Family, Fraction]]:
        if count == 0 or not any(q):
            yield [], ONE
            return
        for x, mass in possible(q):
            for below, one in families((*prefix, x), depth + 1):
                for others, two in siblings(prefix, depth, after(q, x), count - 1):
                    yield [(x, below), *others], mass * one * two

    def after(q: Row, x: int) -> Row:
        return q if replacement else without(q, x)

    def visit(prefix: Tokens, weight: Fraction, family: Family) -> tuple[list[tuple[Tokens, Fraction]], Fraction]:
        """What is committed with which probability, and the probability that nothing is."""
        outcomes, left = [], ONE
        p = row(world, prefix) if len(prefix) < world.length else ()
        q = row(draft, prefix) if family else ()
        for x, below in family:
            found, missed = visit((*prefix, x), min(ONE, weight * p[x] / q[x]), below)
            outcomes += [(tokens, left * mass) for tokens, mass in found]
            left *= missed
            excess = [max(weight * a - b, NOUGHT) for a, b in zip(p, q, strict=True)]
            s = sum(excess)
            p = tuple(mass / s for mass in excess) if s else p
            weight, q = s / (s + 1 - weight) if s + 1 - weight else ONE, after(q, x)
        ends = [((*prefix, y), mass) for y, mass in possible(p)] if p else [(prefix, ONE)]
        return outcomes + [(tokens, left * weight * mass) for tokens, mass in ends], left * (1 - weight)

    def step(prefix: Tokens) -> Iterator[tuple[Any, Fraction]]:
        for family, made in families(prefix, 0):
            outcomes, missed = visit(prefix, ONE, family)
            assert missed == 0, "the root is always accepted"
            for tokens, mass in outcomes:
                yield (tokens,), made * mass

    return split(played_out(step, world.length)(((),)))


def jacobi_law(world: TableProcess, window: int) -> Laws:
    """Jacobi iteration, every token drawn with new chance at every iteration."""
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
