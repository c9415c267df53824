"""Do two samples of a discrete outcome come from one law, which is not known?

The G-test of homogeneity over cells. Given how often each outcome occurred in both samples together, its occurrences
are distributed over the two by chance alone if the laws are equal; so cells are made from the two together, and the
level is what it is given the cells. With Williams' correction it is as good as chi-square's for four cells or more
(:mod:`simlab.statistics.discrete`); with two cells the exact hypergeometric test takes its place. Two laws d apart
in TV give noncentrality at least 4 d^2 n m / (n + m), by Pinsker's inequality.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy

from simlab.checks import check_at_least
from simlab.statistics.discrete import LEAST, g_statistic
from simlab.statistics.laws import as_floats, check_fits
from simlab.statistics.power import Planned


class TwoSampleG(Planned):
    """Whether two samples follow one law, by the G-test of homogeneity.

    Parameters
    ----------
    cells
        The most cells used, at least 2: the most frequent outcome stands alone, and so do others that are expected
        ``LEAST`` times in either sample; what is left shares one.

    Raises
    ------
    ValueError
        If ``cells`` is below 2.

    Notes
    -----
    A deviation is the TV of the two laws over those cells. In plans, n is the size of either sample. With two cells the
    exact hypergeometric test takes the place of chi-square.
    """

    def __init__(self, cells: int = 64) -> None:
        self.most_cells = check_at_least("cells", cells, 2)

    def p_value(self, first: Any, second: Any) -> float:
        """The p-value of two samples of counts.

        ``first``, ``second``: two mappings from outcomes to counts, or two arrays ``int[V]`` of one length. Returns 1
        where all observations fall into one cell. Raises ``ValueError`` if one is a mapping and the other is not,
        shapes differ, a number is no count, or a sample is empty.
        """
        table = self._pooled(_table(first, second))
        rows, columns, n = table.sum(axis=1), table.sum(axis=0), int(table.sum())
        if len(columns) == 1:
            return 1.0
        if len(columns) == 2:
            margins = n, int(columns[0]), int(rows[0])
            tails = (
                scipy.stats.hypergeom.cdf(table[0, 0], *margins),
                scipy.stats.hypergeom.sf(table[0, 0] - 1, *margins),
            )
            return float(min(1.0, 2 * min(tails)))
        freedom = len(columns) - 1
        corrected = 1 + (n * (1 / rows).sum() - 1) * (n * (1 / columns).sum() - 1) / (6 * n * freedom)
        g = float(g_statistic(table, np.outer(rows.astype(float), columns) / n).sum())
        return float(scipy.stats.chi2.sf(g / corrected, freedom))

    def _power(self, n: int, level: float, deviation: float) -> float:
        """With n in each sample, up to the approximation by the noncentral chi-square with all cells in use."""
        freedom = self.most_cells - 1
        return float(scipy.stats.ncx2.sf(scipy.stats.chi2.isf(level, freedom), freedom, 2 * n * deviation**2))

    def _pooled(self, table: np.ndarray) -> np.ndarray:
        """``[2, C]``: columns in falling order of what they hold together, the last shared, which is left where there
        are two: the exact test asks for no expectation."""
        both = table.sum(axis=0)
        order = np.argsort(-both, kind="stable")
        table, both = table[:, order], both[order]
        least = LEAST * table.sum() / table.sum(axis=1).min()  # so often in both, LEAST times in the smaller
        alone = min(int((both >= least).sum()), len(both) if len(both) <= self.most_cells else self.most_cells - 1)
        alone = max(1, alone)
        while 1 < alone < len(both) and both[alone:].sum() < least:
            alone -= 1
        rest = table[:, alone:].sum(axis=1, keepdims=True)
        return np.concatenate([table[:, :alone], rest], axis=1) if alone < len(both) else table


def _table(first: Any, second: Any) -> np.ndarray:
    """``int64[2, V]`` over the outcomes that occur."""
    if isinstance(first, Mapping) != isinstance(second, Mapping):
        raise ValueError("one of the samples is a mapping and the other is not; expected two of the same kind")
    if isinstance(first, Mapping):
        outcomes = list(dict.fromkeys([*first, *second]))
        first, second = ([side.get(outcome, 0) for outcome in outcomes] for side in (first, second))
    first, second = as_floats(first, "samples"), as_floats(second, "samples")
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(f"samples have shapes {first.shape} and {second.shape}; expected counts [V] of one length")
    table = np.stack([first, second])
    if not (np.isfinite(table) & (table >= 0) & (table == np.rint(table))).all():
        raise ValueError("samples hold a number that is no count; expected whole numbers >= 0")
    if (table.sum(axis=1) == 0).any():
        raise ValueError("a sample sums to 0; expected at least one observation in each")
    check_fits(table.sum(dtype=np.float64), "samples sum")
    return table[:, table.sum(axis=0) > 0].astype(np.int64)
