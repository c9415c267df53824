"""LANTERN as its published code verifies the candidates of a tree (github.com/jadohu/LANTERN, commit 3a56e451dd5e).

The functions are ``evaluate_posterior`` (dynamic tree) and ``evaluate_posterior_v1`` (static tree) of
``models/ea_model_llamagen.py``. A neighbour joins while the mass moved is *at most* delta, so neighbours of mass 0
join whatever delta is; a delta above 1 stands for a factor: then at most (delta - 1) p(x) may join. A table of
neighbours is one longer than the k that may join.

*Dynamic.* The candidates are the draft model's likeliest tokens, each scored with q = 1. After a rejection p is set to
zero on x and, if any neighbour has joined, on the k + 1 nearest tokens, joined or not.

*Static.* The candidates are drawn from q without replacement, and scored with q without the ones before. After a
rejection it is *q* that is set to zero, on the k + 1 nearest tokens if any has joined, and the token follows [p - q]+.

*Static, p.* ``evaluate_posterior`` of ``models/ea_model_lumina_mgpt.py`` with EAGLE's first version: as the static
tree, but it is *p* that is set to zero. It also accepts tokens of an image's syntax surely and others that are no image
tokens never, whatever p is; that belongs to a grammar of tokens, of which a rule knows nothing.

Where nothing is left, both draw from the uniform row.
"""

from __future__ import annotations

from dataclasses import dataclass

from simlab.arrays import Array, Number, full, indices, namespace, nonempty, number, one_hot, positive_part, wide
from simlab.checks import check_at_least, check_choice, check_number
from simlab.rules.lantern import NeighbourhoodRule
from simlab.rules.neighbourhood import NO_NEIGHBOUR

TREES = ("dynamic", "static", "static-p")


@dataclass(frozen=True, eq=False)
class LanternReference(NeighbourhoodRule):
    """Accept x with P(A), over q(x) in a static tree; residuals as the code has them.

    Attributes
    ----------
    neighbours
        ``neighbours[x]`` lists the nearest tokens of x, nearest first; the k + 1 first are set to zero once one has
        joined.
    delta
        The mass that may join, >= 0; above 1, it is (delta - 1) p(x).
    k
        How many neighbours may join, >= 0; ``None``: all that are listed.
    tree
        ``dynamic``, ``static`` or ``static-p``.

    Raises
    ------
    ValueError
        For a bad table of neighbours, a value outside its range, or an unknown tree.

    Notes
    -----
    With empty lists it is the lossless rule, in a dynamic tree for a draft that is a point mass.
    """

    delta: Number = 0.2
    k: int | None = None
    tree: str = "dynamic"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("delta", self.delta)
        if self.k is not None:
            check_at_least("k", self.k, 0)
        check_choice("tree", self.tree, TREES)

    def _masses(self, p: Array, q: Array, x: Array) -> tuple[Array, Array]:
        target, draft = super()._masses(p, q, x)
        return target, draft * 0 + number(1, p) if self.tree == "dynamic" else draft

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        p, q = wide(p), wide(q)
        xp, zero, near = namespace(p), number(0, p), self._near.of(p, x)
        joined, _ = self.joined_rows(p, x)
        near_ones = (near != NO_NEIGHBOUR) & xp.any(joined, axis=-1, keepdims=True)
        if self.k is not None:
            near_ones = near_ones & (indices(near.shape[-1], p) <= self.k)
        gone, uniform = self._member(p, x, near_ones), full(tuple(p.shape), 1, p)
        if self.tree == "static":
            return positive_part(p, xp.where(gone, zero, q), fallback=uniform)
        if self.tree == "static-p":
            return positive_part(xp.where(gone, zero, p), q, fallback=uniform)
        return nonempty(xp.where(gone | (one_hot(x, p) > 0), zero, p), uniform)

    def joined_rows(self, p: Array, x: Array) -> tuple[Array, Array]:
        joined, masses = super().joined_rows(p, x)
        return joined if self.k is None else joined & (indices(joined.shape[-1], p) < self.k), masses

    def _within(self, moved: Array, own: Array) -> Array:
        if self.delta > 1:
            return moved <= (number(self.delta, moved) - number(1, moved)) * own
        return moved <= number(self.delta, moved)
