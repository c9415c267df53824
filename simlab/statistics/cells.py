"""Rare outcomes share a cell, so that asymptotic laws can be trusted.

The cells are fixed by the law and by n, before anything is seen. How often each must be expected is settled by exact
computation (``tests/statistical/test_statistics_tails.py``). At 25 times, with 4 to 4096 cells and Williams'
correction, the G-test's false-alarm rate is within 5 % of its level down to 1e-3, within 10 % at 1e-6, and within 25 %
at 1e-9; without the correction it is 30 % too high at 1e-6 for 64 cells. Pearson's statistic is not used: with such
cells its rate is up to six times 1e-6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simlab.statistics.laws import Law

LEAST = 25.0


@dataclass(frozen=True, eq=False)
class Cells:
    """Cell 0 is shared by the first ``shared`` places of ``order``, where there are any; the others stand alone."""

    order: np.ndarray
    shared: int
    mass: np.ndarray  # [C], summing to one

    @classmethod
    def of(cls, law: Law, n: int, least: float = LEAST) -> Cells:
        """All outcomes expected fewer than ``least`` times share a cell, which may itself be rare."""
        shared = int(np.searchsorted(law.mass[law.order] * n, least))
        return cls(law.order, shared, shared_out(law.mass, law.order, shared))

    def totals(self, values: np.ndarray) -> np.ndarray:
        """``values[..., K]`` summed over cells, ``[..., C]``."""
        return shared_out(values, self.order, self.shared)

    @property
    def freedom(self) -> int:
        return len(self.mass) - 1

    @property
    def hidden(self) -> float:
        """What pooling may take off a deviation's TV: the probability of the shared cell.

        With R the outcomes that share it, TV(w, p) <= TV of the pooled laws + min(w(R), p(R)).
        """
        return float(self.mass[0]) if self.shared > 1 else 0.0


def shared_out(values: np.ndarray, order: np.ndarray, shared: int) -> np.ndarray:
    """``values[..., K]`` in this order, the first ``shared`` of them summed."""
    if not shared:
        return values[..., order]
    rest = values[..., order[:shared]].sum(axis=-1, keepdims=True)
    return np.concatenate([rest, values[..., order[shared:]]], axis=-1)
