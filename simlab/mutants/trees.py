"""Deliberately wrong trees and continuations: what SJD-PAC's decoders become by one mistake each.

As in :mod:`simlab.mutants.decoders`, only checks and tests may use them.
"""

from __future__ import annotations

from typing import Any

from simlab.arrays import Array, at, namespace, number, slots
from simlab.decoders import Decoder, SjdAc, SjdPac
from simlab.decoders.sjd import Known, SjdState, Tail, Verified
from simlab.decoders.tree import NONE, Shape
from simlab.mutants.decoders import TailRelabelled
from simlab.mutants.randomness import SharedCoin, WithRandomness
from simlab.randomness import Randomness
from simlab.rules import Rule

# Siblings ------------------------------------------------------------------------------------------------------


class SiblingsUnconditional(SjdPac):
    """Scores every sibling with q, although it was drawn without those before it."""

    def _rescored(self, q: Array, x: Array) -> Array:
        return q


class SiblingsRepeat(SjdPac):
    """Draws the siblings of the window's token without excluding it, and scores them as if it had been."""

    def _left(self, q: Array, x: Array, k: int) -> Array:
        return q if k == 0 else super()._left(q, x, k)


class TargetNotUpdated(SjdPac):
    """Verifies every sibling against p itself; after the last the residual of that one follows."""

    def _pick(
        self, rule: Rule, p: Array, q: Array, candidates: Array, randomness: Randomness, position: Array
    ) -> tuple[Array, Array]:
        return super()._pick(_Forgetful(rule, p), p, q, candidates, randomness, position)


class _Forgetful(Rule):
    """A rule that accepts by the row it was made with."""

    def __init__(self, rule: Rule, p: Array) -> None:
        self.rule, self.p = rule, p

    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        return self.rule.accept_rows(self.p, q, x)

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        return self.rule.weights_rows(self.p, q, x)


class SiblingsReordered(SjdPac):
    """Verifies the candidates of a node in another order than they were drawn in."""

    def _pick(
        self, rule: Rule, p: Array, q: Array, candidates: Array, randomness: Randomness, position: Array
    ) -> tuple[Array, Array]:
        xp = namespace(p)
        order = self._order(q, candidates)
        picked, left = super()._pick(rule, p, q, slots(candidates, order), randomness, position)
        return xp.where(picked == NONE, NONE, at(order, xp.clip(picked, 0, None))), left

    def _order(self, q: Array, candidates: Array) -> Array:
        """``int[B, K]``: which candidate comes first, second and so on."""
        raise NotImplementedError


class SiblingsSorted(SiblingsReordered):
    """Verifies the likeliest sibling first."""

    def _order(self, q: Array, candidates: Array) -> Array:
        xp = namespace(q)
        masses = slots(q, xp.clip(candidates, 0, None))
        masses = xp.where(candidates == NONE, number(-1, q), masses)
        return xp.argsort(-masses, axis=1, stable=True)


class KeptLast(SiblingsReordered):
    """Verifies the window's own token after its siblings."""

    def _order(self, q: Array, candidates: Array) -> Array:
        xp = namespace(candidates)
        missing = xp.astype(candidates == NONE, candidates.dtype)
        own = candidates * 0
        own[:, 0] = 1
        return xp.argsort(own + 2 * missing, axis=1, stable=True)


class WrongBranch(SjdPac):
    """Goes on below the first candidate after another was accepted."""

    def _below(self, children: Array, picked: Array) -> Array:
        return children[:, 0] + 1


# Continuation --------------------------------------------------------------------------------------------------


class ContinuedUndeclared(SjdAc):
    """Verifies on, but goes on declaring the rows of the call before."""

    def _tail(self, state: SjdState, seen: Verified, rule: Rule, randomness: Randomness, start: Array) -> Tail:
        tail = super()._tail(state, seen, rule, randomness, start)
        rows = namespace(seen.p).concat([state.q, seen.p[:, self.window :]], axis=1)
        return Tail(tail.drawn, Known(rows, state.length))


class ContinuedUnverified(TailRelabelled, SjdAc):
    """Keeps every token behind the rejection and declares the rows of this call for it."""


class ContinuedFromTarget(SjdAc):
    """Replaces a rejected token of the tail by a draw from p."""

    def _tail(self, state: SjdState, seen: Verified, rule: Rule, randomness: Randomness, start: Array) -> Tail:
        return super()._tail(state, seen, _FromTarget(rule), randomness, start)


class _FromTarget(Rule):
    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        return self.rule.accept_rows(p, q, x)

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        return p


def ac_decoders(window: int) -> dict[str, Decoder]:
    """Wrong variants of adaptive continuation."""
    return {
        "continued, old q declared": ContinuedUndeclared(window),
        "tail kept unverified, q relabelled": ContinuedUnverified(window),
        "replaced from p": ContinuedFromTarget(window),
    }


def tree_decoders(window: int, candidates: int, depth: int, tree: Shape) -> dict[str, Decoder]:
    """Wrong variants of proactive drafting with adaptive continuation."""
    shape: dict[str, Any] = {"candidates": candidates, "depth": depth, "tree": tree}
    wrong: dict[str, Decoder] = {
        "siblings scored with unconditional q": SiblingsUnconditional(window, **shape),
        "target not updated between siblings": TargetNotUpdated(window, **shape),
        "siblings sorted by q": SiblingsSorted(window, **shape),
        "kept token verified last": KeptLast(window, **shape),
        "siblings may repeat the kept token": SiblingsRepeat(window, **shape),
        "first candidate's branch after another": WrongBranch(window, **shape),
        "siblings share one coin": WithRandomness(SjdPac(window, **shape), SharedCoin),
    }
    return wrong
