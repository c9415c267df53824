"""Mutants of SJD-PAC: its trees of drafts and its adaptive continuation with one mistake each.

As in :mod:`simlab.mutants.decoders`, only checks and tests may use them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from simlab.arrays import Array, namespace, number, take, without
from simlab.candidates import Candidates, Recursive, Verified
from simlab.decoders import Decoder, DynamicTree, SjdAc, SjdPac, Traversal
from simlab.decoders.dynamic_tree import Grown, Ranked, ranked
from simlab.decoders.sjd import DraftTail, PositionRows, SjdState, VerifiedWindow
from simlab.decoders.tree import NONE, Shape
from simlab.mutants.decoders import TailRelabelled
from simlab.mutants.randomness import SharedCoin, WithRandomness
from simlab.randomness import Randomness
from simlab.rules import Rule

# Siblings ------------------------------------------------------------------------------------------------------


class SiblingsUnconditional(SjdPac):
    """Declares q for every sibling, although it was drawn without those before it."""

    def declared(self, q: Array, candidates: Array, drawn_from: list[Array]) -> list[Array]:
        return [q] * self.candidates


class SiblingsRepeat(SjdPac):
    """Draws the siblings of the window's token from q with it, and declares q without it."""

    def remaining(self, q: Array, x: Array, k: int) -> Array:
        return q if k == 0 else super().remaining(q, x, k)

    def declared(self, q: Array, candidates: Array, drawn_from: list[Array]) -> list[Array]:
        rows = [q]
        for k in range(self.candidates - 1):
            rows.append(without(rows[-1], candidates[..., k]))
        return rows


class TargetNotUpdated(SjdPac):
    """Verifies every sibling against p instead of the residual of those before it."""

    def verify_candidates(
        self, rule: Rule, p: Array, declared: list[Array], candidates: Array
    ) -> tuple[Array, Array, Array]:
        return super().verify_candidates(_FixedTarget(rule, p), p, declared, candidates)


class _FixedTarget(Rule):
    """A rule that accepts by the row p it was made with."""

    def __init__(self, rule: Rule, p: Array) -> None:
        self.rule, self.p = rule, p

    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        return self.rule.accept_rows(self.p, q, x)

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        return self.rule.weights_rows(p, q, x)


class SiblingsReordered(SjdPac):
    """Verifies the candidates of a node in another order than they were drawn in."""

    def verify_candidates(
        self, rule: Rule, p: Array, declared: list[Array], candidates: Array
    ) -> tuple[Array, Array, Array]:
        order = self._order(declared[0], candidates)
        candidates = take(candidates, order, -1)
        rows = self._declared_in_turn(declared[0], candidates)
        probability, residual, _ = super().verify_candidates(rule, p, rows, candidates)
        return probability, residual, order

    def _declared_in_turn(self, q: Array, candidates: Array) -> list[Array]:
        """q without the candidates before each, in the order they are verified in."""
        rows = [q]
        for k in range(self.candidates - 1):
            there = (candidates[..., k] != NONE)[..., None]
            rows.append(namespace(q).where(there, without(rows[-1], candidates[..., k]), rows[-1]))
        return rows

    def _order(self, q: Array, candidates: Array) -> Array:
        """``int[B, P, K]``: which candidate comes first, second and so on."""
        raise NotImplementedError


class SiblingsSorted(SiblingsReordered):
    """Verifies the likeliest sibling first."""

    def _order(self, q: Array, candidates: Array) -> Array:
        xp = namespace(q)
        masses = take(q, xp.clip(candidates, 0, None), -1)
        masses = xp.where(candidates == NONE, number(-1, q), masses)
        return xp.argsort(-masses, axis=-1, stable=True)


class OwnTokenLast(SiblingsReordered):
    """Verifies the window's own token after its siblings."""

    def _order(self, q: Array, candidates: Array) -> Array:
        xp = namespace(candidates)
        missing = xp.astype(candidates == NONE, candidates.dtype)
        own = candidates * 0
        own[..., 0] = 1
        return xp.argsort(own + 2 * missing, axis=-1, stable=True)


class WrongBranch(SjdPac):
    """Continues below the first candidate after another was accepted."""

    def row_below(self, children: Array, chosen: Array) -> Array:
        return children[:, 0] + 1


# Continuation --------------------------------------------------------------------------------------------------


class ContinuedUndeclared(SjdAc):
    """Verifies the tail, but still declares the rows of the call before."""

    def draft_tail(
        self, state: SjdState, verified: VerifiedWindow, rule: Rule, randomness: Randomness, start: Array
    ) -> DraftTail:
        tail = super().draft_tail(state, verified, rule, randomness, start)
        rows = namespace(verified.p).concat([state.q, verified.p[:, self.window :]], axis=1)
        return DraftTail(tail.drawn, PositionRows(rows, state.length))


class ContinuedUnverified(TailRelabelled, SjdAc):
    """Leaves every draft behind the rejection unverified and declares the rows of this call for it."""


class ContinuedFromTarget(SjdAc):
    """Replaces a rejected draft of the tail by a draw from p instead of the residual."""

    def draft_tail(
        self, state: SjdState, verified: VerifiedWindow, rule: Rule, randomness: Randomness, start: Array
    ) -> DraftTail:
        return super().draft_tail(state, verified, _FromTarget(rule), randomness, start)


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
        "kept token verified last": OwnTokenLast(window, **shape),
        "siblings may repeat the kept token": SiblingsRepeat(window, **shape),
        "first candidate's branch after another": WrongBranch(window, **shape),
        "siblings share one coin": WithRandomness(SjdPac(window, **shape), SharedCoin),
    }
    return wrong


@dataclass(frozen=True)
class RowKept(Traversal):
    """The token after a path follows the target's own row, whatever was rejected below it."""

    def traverse(self, p: Any, q: Any, nodes: Any) -> Any:
        order, weights, _ = super().traverse(p, q, nodes)
        return order, weights, [p[:, row] for row in order]


@dataclass(frozen=True)
class SquaredWeights(Traversal):
    """Tries every row with the square of its weight."""

    def traverse(self, p: Any, q: Any, nodes: Any) -> Any:
        order, weights, left = super().traverse(p, q, nodes)
        return order, [weight * weight if row else weight for row, weight in zip(order, weights, strict=True)], left


class OtherParents(DynamicTree):
    """Takes a node for the child of another node than the one it follows."""

    def grow(self, draft: Any, tokens: Array, length: Array, ranked: Ranked = ranked) -> Grown:
        tree = super().grow(draft, tokens, length, ranked)
        return tree._replace(parents=np.roll(tree.parents, 1, axis=1))


class FromTarget(Recursive):
    """Draws from p where no candidate is accepted, not from what is left of it."""

    def verify(self, p: Array, q: Array, x: Array, candidates: Candidates) -> Verified:
        accepted = super().verify(p, q, x, candidates).accepted
        return Verified(accepted, (1 - accepted.sum(axis=-1))[..., None] * p)
