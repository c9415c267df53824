"""Speculative Jacobi decoding as its published reference code runs it.

It differs from the paper in three ways that matter to the law or the speed: the window of W tokens holds the
last committed token and W - 1 drafts; a bonus token follows a window that is kept whole; a new draft is
uniform but scored as a point mass, so it is kept with probability p(x) instead of min(1, V p(x)).
"""

from __future__ import annotations

from dataclasses import dataclass

from simlab.arrays import Array, grid, namespace, one_hot, slots
from simlab.chance import Chance
from simlab.checks import check_at_least
from simlab.decoders.sjd import Sjd
from simlab.processes import Process


@dataclass(frozen=True)
class PointMassSjd(Sjd):
    """SJD that declares a point mass for every new draft, however it was drawn."""

    def _fill(
        self,
        process: Process,
        chance: Chance,
        tokens: Array,
        first: Array,
        fresh: Array,
        end: Array,
        rows: Array,
        known: Array,
        known_from: Array,
    ) -> tuple[Array, Array]:
        tokens, q = super()._fill(process, chance, tokens, first, fresh, end, rows, known, known_from)
        position = grid(first, q.shape[1])
        drawn = slots(tokens, namespace(q).clip(position, 0, tokens.shape[1] - 1))
        new = position >= fresh[:, None]
        return tokens, namespace(q).where(new[..., None], one_hot(drawn, q), q)


def sjd_reference(window: int = 16) -> Sjd:
    """The reference loop for a window of ``window`` >= 2 tokens, one of them committed."""
    return PointMassSjd(check_at_least("window", window, 2) - 1, initial="random", bonus=True)
