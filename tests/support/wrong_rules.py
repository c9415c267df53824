"""Wrong rules of other shapes than :mod:`simlab.mutants.rules` has, for the prover to refute, and one that is right."""

from __future__ import annotations

from dataclasses import dataclass

from simlab.arrays import Array, at, indices, namespace, nonempty, number, without
from simlab.mutants import InvertedRatio
from simlab.rules import Speculative
from simlab.rules.base import group_masses, mass


class InvertedQuotient(InvertedRatio):
    """Accepts with min(1, q/p) as floating point divides: surely where p(x) = 0."""

    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        return namespace(p).where(at(p, x) > 0, super().accept_rows(p, q, x), number(1, p))


@dataclass(frozen=True)
class RatioPlus(Speculative):
    """Accepts with min(1, p/q + ``slack``)."""

    slack: float

    def _masses(self, p: Array, q: Array, x: Array) -> tuple[Array, Array]:
        draft = mass(q, x)
        return mass(p, x) + number(self.slack, p) * draft, draft


class NeighbourNumerator(Speculative):
    """Accepts with min(1, P(x and the tokens numbered next to it)/q(x)), and draws from [p - q]+."""

    def _masses(self, p: Array, q: Array, x: Array) -> tuple[Array, Array]:
        near = abs(indices(p.shape[-1], p) - x[..., None]) <= 1
        return group_masses(p, p, near)[0], mass(q, x)


class ResidualWithoutDraft(Speculative):
    """Draws from p without the rejected token, as if q were its point mass."""

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        return nonempty(without(p, x), p)


class ResidualFiltered(Speculative):
    """Cuts the residual to as many tokens as p holds, which takes nothing away: lossless."""

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        xp, weights = namespace(p), super().weights_rows(p, q, x)
        order = xp.argsort(-weights, axis=-1, stable=True)
        rank = xp.argsort(order, axis=-1, stable=True)
        return xp.where(rank < xp.sum(p > 0, axis=-1, keepdims=True), weights, number(0, weights))
