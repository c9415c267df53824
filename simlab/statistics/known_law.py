"""What tests of counts against a known law share: an outcome that the law excludes is never forgiven."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from simlab.checks import check_at_least
from simlab.statistics.laws import Law, as_p_values, observations
from simlab.statistics.power import Planned, check_share


class AgainstLaw(Planned):
    """A test whether counts follow ``law``."""

    law: Law  # the null hypothesis

    @abstractmethod
    def _p_values(self, seen: np.ndarray, n: int) -> Any:
        """P-values ``[...]`` of counts ``seen[..., K]`` of the outcomes that the law does not exclude."""

    @abstractmethod
    def _reached(self, n: int, level: float, mass: np.ndarray) -> float:
        """The probability of a p-value of at most ``level`` where those outcomes have ``mass[K]``, summing to one."""

    def p_value(self, counts: Any) -> Any:
        """The p-value of counts; 0 if something was seen that the law excludes.

        ``counts``: ``int[..., V]``, all rows of one n, or a mapping from outcomes to counts. Returns a float for one
        row or a mapping, else ``float64[...]``. Raises ``ValueError`` if counts are negative, not whole, sum to 0 or to
        different n, or their length is not the law's.
        """
        seen, excluded = self.law.counts(counts)
        return as_p_values(np.where(excluded > 0, 0.0, self._p_values(seen, observations(seen, excluded))))

    def power_against(self, n: int, level: float, wrong: Any) -> float:
        """The probability of a p-value of at most ``level`` where outcomes follow ``wrong``.

        ``wrong``: a ``Law``, a mapping or a row ``[V]``. Returns the power: exact, but for a G-test over three cells or
        more, where the noncentral chi-square stands for it. Raises ``ValueError`` if a number is out of range, or
        ``wrong`` is no pmf over as many outcomes.
        """
        check_at_least("n", n, 1)
        check_share("level", level)
        return self._against(n, level, *self.law.masses(wrong))

    def _against(self, n: int, level: float, inside: np.ndarray, outside: float) -> float:
        """:meth:`power_against` a law with ``inside[K]`` on the outcomes of this one, and ``outside`` of them."""
        if outside >= 1:
            return 1.0
        return 1 - (1 - outside) ** n * (1 - self._reached(n, level, inside / inside.sum()))
