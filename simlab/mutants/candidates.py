"""Verifiers of several candidates for one position, over coins: the lossless one, and bugs.

Candidates are drawn from q in turn without replacement. The right one goes through them in turn: with q = what is left
of it and p = what is left to be emitted, both scaled to one, a candidate is accepted with min(1, p/q); a rejection
makes p [p - q]+ and takes the candidate out of q.

Not seen: a zero residual replaced by something (mutant 14). After a rejection something is left of [p - q]+, however
many candidates there are; only rounding leaves nothing, where a rejection has a probability of 1e-16.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simlab.arrays import Array, normalised
from simlab.mutants import rules
from simlab.mutants.base import LOSSLESS, Mutant, RowRule, single_draw
from simlab.randomness.coins import Coins
from simlab.rules import Amplify

VerifyCandidates = Callable[[Array, Array, Array, Coins], tuple[int, ...]]
Order = Callable[[Array, Array, Array], list[int]]
Accept = Callable[[Array, Array, int], float]
Left = Callable[[Array, Array, list[int]], Array]
Update = Callable[[Array, Array], Array]
Last = Callable[[Array, Array, Array, Array], Array]

# The pieces ----------------------------------------------------------------------------------------------------


def in_turn(p: Array, q: Array, candidates: Array) -> list[int]:
    """The candidates as they were drawn."""
    return [int(x) for x in candidates]


def without_rejected(q: Array, left: Array, rejected: list[int]) -> Array:
    """What is left of q, scaled."""
    rest = _unscaled(q, left, rejected)
    return normalised(rest, rest)


def excess(p: Array, q: Array) -> Array:
    """The residual of a rejection: [p - q]+ scaled, or p where nothing is left."""
    return normalised(LOSSLESS.residual(p, q, 0), p)  # whichever token was rejected


def what_is_left(p: Array, rest: Array, before: Array, q: Array) -> Array:
    """What is left of p after all rejections."""
    return rest


def verifier(
    order: Order = in_turn,
    accept: Accept = LOSSLESS.accept,
    left: Left = without_rejected,
    update: Update = excess,
    last: Last = what_is_left,
) -> VerifyCandidates:
    """Accept the first candidate whose coin says so; after none draw from what is left of p."""

    def verify(p: Array, q: Array, candidates: Array, coins: Coins) -> tuple[int, ...]:
        rest, before, drawn, rejected = p, p, q, list[int]()
        for x in order(p, q, candidates):
            if coins.coin(accept(rest, drawn, x)):
                return (x,)
            rejected.append(x)
            before, rest = rest, update(rest, drawn)
            scored, drawn = drawn, left(q, drawn, rejected)
        return (coins.draw(last(p, rest, before, scored)),)

    return verify


lossless = verifier()


def own_draw(p: Array, q: Array, candidates: Array, coins: Coins) -> tuple[int, ...]:
    """Draws from p and looks at no candidate; lossless too."""
    return (coins.draw(p),)


def in_single_precision(p: Array, q: Array, candidates: Array, rng: np.random.Generator) -> tuple[int, ...]:
    """Candidates in turn in float32, coins included."""
    rest, whole = p.astype(np.float32), q.astype(np.float32)
    left = whole
    for k, x in enumerate(candidates.tolist()):
        if rng.random(dtype=np.float32) * left[x] < rest[x]:
            return (x,)
        over = np.maximum(rest - left, 0)
        rest = over / over.sum() if over.any() else rest
        left = _unscaled(whole, left, candidates[: k + 1].tolist())
        left /= left.sum() or np.float32(1)
    return (single_draw(rest, rng),)


def own_draw_in_single_precision(p: Array, q: Array, candidates: Array, rng: np.random.Generator) -> tuple[int, ...]:
    """The target's own draw in float32."""
    return (single_draw(p, rng),)


def chain(p: Array, q: Array, candidates: Array) -> tuple[Array, Array]:
    """p ``[K + 1, V]`` and q ``[K, V]`` as the right one has them after 0, 1, ... rejections."""
    targets, drafts = [p], [q]
    for k in range(len(candidates)):
        targets.append(excess(targets[-1], drafts[-1]))
        drafts.append(without_rejected(q, drafts[-1], candidates[: k + 1].tolist()))
    return np.stack(targets), np.stack(drafts[:-1])


# The wrong q ---------------------------------------------------------------------------------------------------


def _unconditional(q: Array, left: Array, rejected: list[int]) -> Array:
    return q


def _unscaled(q: Array, left: Array, rejected: list[int]) -> Array:
    rest = q.copy()
    rest[rejected] = 0
    return rest


def _first_not_excluded(q: Array, left: Array, rejected: list[int]) -> Array:
    """As if the other candidates were drawn from all of q, the first among them."""
    return without_rejected(q, left, rejected[1:])


# The wrong p ---------------------------------------------------------------------------------------------------


def _not_carried(p: Array, q: Array) -> Array:
    return p


def _not_scaled(p: Array, q: Array) -> Array:
    rest = np.maximum(p - q, 0)
    return rest if rest.any() else p


def _without_rejected(p: Array, q: Array, candidates: Array, coins: Coins) -> tuple[int, ...]:
    """Rejected tokens are struck from p, as if q were their point mass."""
    rest, left = p, q
    for k, x in enumerate(candidates.tolist()):
        if coins.coin(LOSSLESS.accept(rest, left, x)):
            return (x,)
        struck = rest.copy()
        struck[x] = 0
        rest = normalised(struck, rest)
        left = without_rejected(q, left, candidates[: k + 1].tolist())
    return (coins.draw(rest),)


def _missing_on_last(p: Array, rest: Array, before: Array, q: Array) -> Array:
    return RowRule(rules.ResidualNotNormalised()).residual(before, q, 0)


# The wrong order -----------------------------------------------------------------------------------------------


def _likeliest_of_q(p: Array, q: Array, candidates: Array) -> list[int]:
    return sorted(candidates.tolist(), key=lambda x: -q[x])


def _likeliest_of_p(p: Array, q: Array, candidates: Array) -> list[int]:
    return sorted(candidates.tolist(), key=lambda x: -p[x])


def _by_number(p: Array, q: Array, candidates: Array) -> list[int]:
    return sorted(candidates.tolist())


def _best_ratio(p: Array, q: Array, candidates: Array) -> list[int]:
    return sorted(candidates.tolist(), key=lambda x: -LOSSLESS.accept(p, q, x))


# Randomness ----------------------------------------------------------------------------------------------------


def _one_coin(p: Array, q: Array, candidates: Array, coins: Coins) -> tuple[int, ...]:
    targets, drafts = chain(p, q, candidates)
    uniform = coins.uniform()
    for k, x in enumerate(candidates.tolist()):
        if coins.below(uniform, LOSSLESS.accept(targets[k], drafts[k], x)):
            return (x,)
    return (coins.draw(targets[-1]),)


def _residual_of_the_coin(p: Array, q: Array, candidates: Array, coins: Coins) -> tuple[int, ...]:
    targets, drafts = chain(p, q, candidates)
    for k, x in enumerate(candidates.tolist()):
        uniform = coins.uniform()
        if coins.below(uniform, LOSSLESS.accept(targets[k], drafts[k], x)):
            return (x,)
    return (coins.invert(uniform, targets[-1]),)


def _argmax(p: Array, q: Array, candidates: Array, coins: Coins) -> tuple[int, ...]:
    return (int(p.argmax()),)


def _mutants() -> dict[str, Mutant[VerifyCandidates]]:
    table: list[tuple[str, str, VerifyCandidates]] = [
        ("7", "verified by argmax", _argmax),
        ("10", "ratio inverted", verifier(accept=RowRule(rules.InvertedQuotient()).accept)),
        ("11", "ratio times 1.05", verifier(accept=RowRule(Amplify(1.05)).accept)),
        ("12", "after all rejections drawn from p", verifier(last=lambda p, rest, before, q: p)),
        ("12", "the last rejection not taken from p", verifier(last=lambda p, rest, before, q: before)),
        ("12", "rejected tokens struck from p, q not subtracted", _without_rejected),
        ("13", "last residual = [q - p]+", verifier(last=lambda p, rest, before, q: excess(q, before))),
        ("14", "last residual not renormalised, the rest on the last token", verifier(last=_missing_on_last)),
        ("26", "residual reuses the uniform of the last coin", _residual_of_the_coin),
        ("30", "siblings scored with the unconditional q", verifier(left=_unconditional)),
        ("30", "siblings scored with q without the rejected, not renormalised", verifier(left=_unscaled)),
        ("31", "residual not carried to the next sibling", verifier(update=_not_carried, last=_last_step_only)),
        ("31", "residual carried without renormalising", verifier(update=_not_scaled)),
        ("32", "siblings sorted by q", verifier(order=_likeliest_of_q)),
        ("32", "siblings sorted by p", verifier(order=_likeliest_of_p)),
        ("32", "siblings sorted by number", verifier(order=_by_number)),
        ("32", "siblings sorted by p/q", verifier(order=_best_ratio)),
        ("33", "siblings scored as if they did not exclude the first", verifier(left=_first_not_excluded)),
        ("35", "siblings share one coin", _one_coin),
    ]
    return {name: Mutant(name, number, verify) for number, name, verify in table}


def _last_step_only(p: Array, rest: Array, before: Array, q: Array) -> Array:
    return excess(p, q)


MUTANTS: dict[str, Mutant[VerifyCandidates]] = _mutants()
