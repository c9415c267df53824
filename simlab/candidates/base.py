"""Candidates and verifiers: K drafts for one position, and the law of the token that is emitted once they are seen.

Candidates are drawn one after the other, each from a row that depends on those before it (:meth:`Candidates.row`). A
verifier sees them and emits a token: accepted, if it is one of them, or drawn. All it does is in the masses of these
two outcomes (:class:`Verified`): one draw from their sum is the verifier, and the mean over candidates of that sum is
the law it emits, p if it is lossless.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from simlab.arrays import Array, Number, indices, namespace
from simlab.checks import check_at_least

NONE = -1  # in the place of a candidate, where there was nothing left to draw from


class Verified(NamedTuple):
    """What a verifier emits for given candidates; the two together sum to one."""

    accepted: Array  # [..., V]: the probability that each token is accepted; only candidates are
    drawn: Array  # [..., V]: the probability that it is emitted with no candidate accepted


class Candidates(ABC):
    """A way of drawing K candidates from one row."""

    @abstractmethod
    def row(self, q: Array, drawn: Array, last: bool) -> Array:
        """What the next candidate is drawn from, ``[..., V]``: pmfs, or zeros where nothing is left.

        ``q``: ``[..., V]``, pmfs. ``drawn``: ``int[..., j]``, the candidates before it, or ``NONE``. ``last``: whether
        it is the K-th.
        """


class Verifier(ABC):
    """A way of trying candidates.

    Attributes
    ----------
    takes
        The ways of drawing for which it is made; for others its law is not what it promises.
    lossless
        Whether the token that it emits follows p for every p and q.
    """

    takes: ClassVar[tuple[type[Candidates], ...]] = (Candidates,)

    @property
    def lossless(self) -> bool:
        return True

    def check_takes(self, candidates: Candidates) -> None:
        """Raise ``ValueError`` for candidates that are drawn in a way for which it is not made."""
        if not isinstance(candidates, self.takes):
            known = " or ".join(kind.__name__ for kind in self.takes)
            raise ValueError(
                f"{type(self).__name__} is given candidates of {type(candidates).__name__}; expected {known}"
            )

    @abstractmethod
    def verify(self, p: Array, q: Array, x: Array, candidates: Candidates) -> Verified:
        """The masses of what is emitted, given pmfs p and q ``[..., V]`` of target and draft.

        ``x``: ``int[..., K]``, the candidates as they were drawn from q, or ``NONE``. ``candidates``: how that was.
        """


def drawn_law(candidates: Candidates, q: np.ndarray, count: int) -> dict[tuple[int, ...], Number]:
    """All K = ``count`` candidates in turn that can be drawn from the row ``q[V]``, and their probabilities."""
    law: dict[tuple[int, ...], Number] = {(): q[0] * 0 + 1}
    for k in range(check_at_least("candidates", count, 1)):
        longer: dict[tuple[int, ...], Number] = {}
        for drawn, weight in law.items():
            row = candidates.row(q, np.array(drawn, dtype=np.int64), last=k == count - 1)
            masses = {x: mass for x, mass in enumerate(row) if mass > 0} or {NONE: weight * 0 + 1}
            longer |= {(*drawn, x): weight * mass for x, mass in masses.items()}
        law = longer
    return law


def verified_law(verifier: Verifier, candidates: Candidates, p: np.ndarray, q: np.ndarray, count: int) -> Verified:
    """What is accepted and what is drawn, in the mean over the candidates; exact for exact rows ``[V]``."""
    verifier.check_takes(candidates)
    law = drawn_law(candidates, q, count)
    tokens, weights = np.array(list(law)), np.array(list(law.values()))[:, None]
    shape = len(law), len(p)
    found = verifier.verify(np.broadcast_to(p, shape), np.broadcast_to(q, shape), tokens, candidates)
    return Verified((weights * found.accepted).sum(axis=0), (weights * found.drawn).sum(axis=0))


def among(x: Array, like: Array) -> Array:
    """``bool[..., V]``: which tokens of the rows ``like`` are among the candidates ``x[..., K]``."""
    return namespace(x).any(x[..., None] == indices(like.shape[-1], x), axis=-2)
