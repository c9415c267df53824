"""What a test says before it sees data: its power, the smallest deviation it detects, the sample size it needs.

A test defines its power, the probability of an alarm at a given deviation whatever its shape; the other
two are its inverses. Power rises with the deviation, and with n but for small steps down, where a test over whole
numbers or cells changes its threshold: a sample size suffices, and one less does not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf, isfinite
from numbers import Real
from typing import Any

import scipy

from simlab.checks import check_at_least, check_number

POWER = 0.999
LARGEST = 1 << 50  # observations: where a search for a sample size ends


@dataclass(frozen=True)
class Stated:
    """What stands beside a verdict by sampling.

    Attributes
    ----------
    n
        Number of observations.
    false_alarms
        The level: probability of an alarm where nothing is wrong.
    detectable
        The smallest deviation detected with ``power``; infinite if none is.
    power
        Probability of an alarm at that deviation.
    unit
        What deviations are measured in, such as ``TV``.
    """

    n: int
    false_alarms: float
    detectable: float
    power: float = POWER
    unit: str = "TV"

    def __str__(self) -> str:
        seen = f"detects {self.unit} {self.detectable:.3g}" if isfinite(self.detectable) else "detects nothing"
        return f"n = {self.n:,}, false alarms {self.false_alarms:.2g}, {seen} with power {self.power:g}"


class Planned(ABC):
    """A test that can be planned before there are data.

    ``n`` observations, at least 1, raise a false alarm at the rate ``level``, between 0 and 1; where ``power``, the
    wanted probability of an alarm, is asked for, it is above ``level`` and below 1. A ``deviation`` is from 0, which no
    test detects, to ``most``.

    Attributes
    ----------
    unit
        What its deviations are measured in.
    most
        The largest deviation there is.
    """

    unit: str = "TV"
    most: float = 1.0

    @abstractmethod
    def _power(self, n: int, level: float, deviation: float) -> float:
        """:meth:`power`, of checked numbers."""

    def power(self, n: int, level: float, deviation: float) -> float:
        """The least probability of an alarm at any deviation of that size.

        Returns the power, whatever the deviation's shape. Raises ``ValueError`` if a number is out of range.
        """
        check_at_least("n", n, 1)
        check_number("deviation", deviation, most=self.most)
        return self._power(n, check_share("level", level), float(deviation))

    def detectable(self, n: int, level: float, power: float = POWER) -> float:
        """The smallest deviation that raises an alarm with probability ``power``.

        Returns the deviation in ``unit``; infinite if the largest is not enough. Raises ``ValueError`` unless n >= 1
        and 0 < level < power < 1.
        """
        level, power = check_plan(level, power, n)
        if self._power(n, level, self.most) < power:
            return inf

        def excess(deviation: float) -> float:
            return self._power(n, level, deviation) - power

        return float(scipy.optimize.brentq(excess, 0, self.most, xtol=1e-14, rtol=1e-10))

    def sample_size(self, deviation: float, level: float, power: float = POWER) -> int:
        """How many observations raise the alarm with probability ``power`` at that deviation.

        Returns a number that suffices where one less does not. Raises ``ValueError`` if a number is out of range, or
        where 2^50 observations do not suffice.
        """
        level, power = check_plan(level, power)
        check_number("deviation", deviation, most=self.most)
        if deviation == 0:
            raise ValueError("deviation is 0; expected one above 0: no test detects none")
        deviation = float(deviation)

        def enough(n: int) -> bool:
            return self._power(n, level, deviation) >= power

        most = 1
        while not enough(most):
            most *= 2
            if most > LARGEST:
                raise ValueError(f"deviation is {deviation} ({self.unit}); expected one that 2^50 samples detect")
        least = most // 2
        while most - least > 1:
            middle = (least + most) // 2
            least, most = (least, middle) if enough(middle) else (middle, most)
        return most

    def stated(self, n: int, level: float, power: float = POWER) -> Stated:
        """n, the level and what it detects, to print beside a result.

        Returns a :class:`Stated`, whose ``str`` is the line to print. Raises ``ValueError`` unless n >= 1 and
        0 < level < power < 1.
        """
        level, power = check_plan(level, power, n)
        return Stated(n, level, self.detectable(n, level, power), power, self.unit)


# What is asked of a plan ----------------------------------------------------------------------------------------


def check_share(name: str, value: Any) -> float:
    """``value`` as a float, which SciPy asks for; raise ``ValueError`` unless 0 < value < 1."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < 1:
        raise ValueError(f"{name} is {value!r}; expected a number between 0 and 1, both excluded")
    return float(value)


def check_plan(level: Any, power: Any, n: Any = 1) -> tuple[float, float]:
    """Level and power as floats; raise ``ValueError`` unless n >= 1 and 0 < level < power < 1."""
    check_at_least("n", n, 1)
    level, power = check_share("level", level), check_share("power", power)
    if power <= level:
        raise ValueError(f"power is {power!r}; expected more than the level {level!r}, which chance alone gives")
    return level, power
