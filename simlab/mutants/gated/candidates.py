"""A verifier of several candidates for one position, written once; a gate's position is the number of a candidate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from simlab.arrays import Array
from simlab.mutants.gated.base import (
    Block,
    Fault,
    Source,
    Wrong,
    excess,
    not_above,
    of_draws,
    of_ratios,
    of_streams,
    of_weights,
    over,
)
from simlab.mutants.gated.weights import greedy


class Rejected(NamedTuple):
    """A token that is rejected: the rows p and q, and what was left of both before it."""

    p: Array
    q: Array
    rest: Array
    left: Array
    x: int


@dataclass(frozen=True)
class CandidateFault(Fault):
    """Where a fault acts, beside the ratio of each candidate and the draw of the last token."""

    coin: Callable[[int], int] | None = None  # the number of the candidate whose coin it is compared with
    # target, draft: what is left of p and of q after a rejection
    target: Callable[[Rejected], Array] | None = None
    draft: Callable[[Rejected], Array] | None = None
    last: Callable[[Rejected, Array], Array] | None = None  # the weights after the last one, of what is left of p
    reused: bool = False  # whether the last coin is used again
    order: Callable[[Array, Array, Array], Array] | None = None  # in which turn candidates are tried


RIGHT = CandidateFault("nothing")


def taken(block: Block, source: Source, wrong: Wrong) -> list[int]:
    """One token, of rows p ``[1, V]`` and q ``[1, V]`` and candidates ``drafts[K]``."""
    p, q = block.p[0], block.row_q(0)
    fault: CandidateFault = wrong.fault
    if fault.order and bool(wrong.inside(block, 0)):
        block.drafts = fault.order(p, q, block.drafts)
    uniforms = source.uniforms(block)
    rest, left = p, q
    for k, x in enumerate(block.drafts.tolist()):
        here = fault if bool(wrong.inside(block, k)) else RIGHT
        ratio = (here.ratio or over)(float(rest[x]), float(left[x]))
        if source.accepts(uniforms[here.coin(k) if here.coin else k], ratio):
            return [x]
        at = Rejected(p, q, rest, left, x)
        rest = here.target(at) if here.target else left_of_p(rest, left)
        left = here.draft(at) if here.draft else without(left, x)
    rest = rest if rest.any() else p  # what is not scaled can vanish
    draw = partial(source.of_coin, uniforms[k]) if here.reused else partial(source.token, source.last(block, k))
    return [here.token(draw, here.last(at, rest) if here.last else rest, rest)]


def left_of_p(rest: Array, left: Array) -> Array:
    """[p - q]+ scaled, or p where rounding leaves nothing."""
    found = excess(rest, left)
    return found if found is rest else np.asarray(found / found.sum())


def without(left: Array, x: int) -> Array:
    """q without the rejected token, scaled."""
    found = _struck(left, x)
    whole = found.sum()
    return np.asarray(found / whole) if whole > 0 else found


def _struck(left: Array, x: int) -> Array:
    """Not scaled."""
    found = left.copy()
    found[x] = 0
    return found


def draws(q: Array, count: int, before: Sequence[int] = ()) -> dict[tuple[int, ...], float]:
    """The law of so many tokens drawn from ``q[V]`` in turn without replacement, after those ``before``."""
    found: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(count):
        longer = {}
        for tokens, chance in found.items():
            left = q.copy()
            left[[*before, *tokens]] = 0
            for x in np.flatnonzero(left).tolist():
                longer[(*tokens, x)] = chance * float(left[x] / left.sum())
        found = longer
    return found


def in_turn(p: Array, q: Array, candidates: Array) -> tuple[Array, Array]:
    """p ``[K + 1, V]`` and q ``[K, V]`` as they are left after 0, 1, ... rejections."""
    targets, drafts = [p], [q]
    for x in candidates.tolist():
        targets.append(left_of_p(targets[-1], drafts[-1]))
        drafts.append(without(drafts[-1], x))
    return np.stack(targets), np.stack(drafts[:-1])


def _unscaled(at: Rejected) -> Array:
    return np.maximum(at.rest - at.left, 0)


def _first_not_excluded(at: Rejected) -> Array:
    """As if the other candidates were drawn from all of q, the first among them."""
    return at.q if at.left is at.q else without(at.left, at.x)


def _missing_on_last(at: Rejected, rest: Array) -> Array:
    """Not scaled: what is missing of 1 is on the last token."""
    found = rest.copy()
    found[-1] += max(0.0, 1 - float(found.sum()))
    return found


def _made() -> tuple[CandidateFault, ...]:
    make = CandidateFault
    return (
        *of_ratios(
            make,
            *("ratio inverted", "ratio times 1.1", "ratio times 1.05", "ratio times 0.8", "0.1 added to the ratio"),
        ),
        make("ratio times 1.01", "11", faint=True, ratio=lambda p, q: 1.01 * over(p, q)),
        make("verified by argmax", "7", ratio=lambda p, q: 0.0, last=lambda at, rest: greedy(at.p)),
        make("coin <= ratio where the ratio is 0", "19", faint=True, lawless=True, ratio=not_above),
        make("candidates unverified", "16", ratio=lambda p, q: 1.0),
        make("candidates accepted where p is at least q", "7", ratio=lambda p, q: float(p >= q)),
        make("candidates accepted with p", "30", ratio=lambda p, q: p),
        make("siblings share a coin", "35", coin=lambda k: 0),
        make("q before its temperature", "2", ratio=lambda p, q: over(p, q**0.5)),
        make("siblings scored with the unconditional q", "30", draft=lambda at: at.q),
        make("what is left of q not scaled", "30", draft=lambda at: _struck(at.left, at.x)),
        make("siblings scored as if they did not exclude the first", "33", draft=_first_not_excluded),
        make("p not updated between siblings", "31", target=lambda at: at.rest),
        make("rejected tokens struck from p, q not subtracted", "12", target=lambda at: without(at.rest, at.x)),
        make("[q - p]+ left of p", "13", target=lambda at: left_of_p(at.left, at.rest)),
        make("what is left of p not scaled", "31", target=_unscaled),
        make("residual not scaled", "14", target=_unscaled, last=_missing_on_last),
        make("residual not carried to the next sibling", "31", target=lambda at: left_of_p(at.p, at.left)),
        make("after all rejections drawn from p", "12", last=lambda at, rest: at.p),
        make("after all rejections drawn from q", "12", last=lambda at, rest: at.q),
        make("the last rejection not taken from p", "12", last=lambda at, rest: at.rest),
        make("last residual = [q - p]+", "13", last=lambda at, rest: left_of_p(at.left, at.rest)),
        make(
            "only the last rejection taken from p",
            "31",
            target=lambda at: at.rest,
            last=lambda at, rest: left_of_p(at.rest, at.left),
        ),
        *of_weights(make),
        make("residual reuses the last coin", "26", reused=True),
        make("siblings sorted by q", "32", order=lambda p, q, x: x[np.argsort(-q[x], kind="stable")]),
        make("siblings sorted by p", "32", order=lambda p, q, x: x[np.argsort(-p[x], kind="stable")]),
        make("siblings sorted by number", "32", order=lambda p, q, x: np.sort(x)),
        make("siblings sorted by p/q", "32", order=lambda p, q, x: x[np.argsort(-p[x] / q[x], kind="stable")]),
        *of_streams(make),
        *of_draws(make),
    )


FAULTS: dict[str, CandidateFault] = {fault.name: fault for fault in _made()}
