"""Speculative Jacobi decoding as its published reference code runs it.

It differs from the paper in four ways that matter to the law or the speed. Three are here: the window of W tokens
holds the last committed token and W - 1 drafts; a bonus token follows a window that is accepted whole; a new draft
is uniform but declared as a point mass, so it is accepted with probability p(x) instead of min(1, V p(x)). The fourth
is not: after a rejection the row behind the window gives the code a draft, too, with that row as its q, so that a call
that commits i tokens needs i - 1 new drafts. Here, as in the paper, it needs i: speeds are of the paper's loop with
the code's scoring.
"""

from __future__ import annotations

from dataclasses import dataclass

from simlab.arrays import Array, namespace, one_hot
from simlab.checks import check_at_least
from simlab.decoders.renewal import Renewal
from simlab.decoders.sjd import Sjd
from simlab.decoders.sjd_unrefined import SjdUnrefined
from simlab.processes import Process
from simlab.randomness import Randomness


@dataclass(frozen=True)
class PointMassSjd(Sjd):
    """SJD that declares a point mass for every new draft, however it was drawn."""

    def draw(
        self, randomness: Randomness, rows: Array, first: Array, committed: Array, new: Array, noise: Array
    ) -> tuple[Array, Array]:
        """New drafts have randomness of their own: what they declare is no row that keeps noise."""
        return super().draw(randomness, rows, first, committed | new, new, noise)

    def declared_q(self, process: Process, rows: Array, values: Array, new: Array, copied: Array) -> Array:
        return namespace(rows).where(new[..., None], one_hot(values, rows), rows)


@dataclass(frozen=True)
class UnrefinedPointMassSjd(SjdUnrefined, PointMassSjd):
    """The same without refinement: every new draft of every call is declared as a point mass."""


def sjd_reference(window: int = 16, *, renewal: Renewal = "fresh") -> Sjd:
    """The reference loop over ``window`` tokens.

    Parameters
    ----------
    window
        >= 2; one of the tokens is committed.
    renewal
        How drafts behind a rejection are renewed: ``fresh`` in SJD's code; the code of Speculative Coupled Decoding is
        the same loop with ``gumbel`` or ``maximal-reference``.

    Returns
    -------
    Sjd
        SJD with a window of ``window`` - 1 drafts, each new one declared as a point mass.

    Raises
    ------
    ValueError
        For a window below 2, or another renewal.
    """
    return PointMassSjd(check_at_least("window", window, 2) - 1, initial="random", bonus=True, renewal=renewal)
