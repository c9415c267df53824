"""How often a ratio rho accepts a draft, from the moments of its logarithm: one integral for any T and d.

    min(1, rho) = (1 / 2 pi i) int rho^s / (s (1 - s)) ds  along Re s = theta, for any theta between 0 and 1,

so E min(1, rho) needs E rho^s alone, which is known in closed form where log rho is a quadratic in normal noise.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, pi

import numpy as np
import scipy

LogMoment = Callable[[np.ndarray], np.ndarray]  # s -> log E rho^s, complex, both [n]
LINES = np.concatenate([np.geomspace(1e-3, 0.5, 40), 1 - np.geomspace(1e-3, 0.45, 20)])  # theta
CLOSE = 1e-9  # of the integral with all nodes and with every second one


def expected_acceptance(log_moment: LogMoment) -> float:
    """E min(1, rho), from the moments of log rho, with an error of about 1e-9.

    Along the line where the integrand is smallest, by the trapezoidal rule in arsinh of its height, which converges
    exponentially. Raises ``ArithmeticError`` if it has not converged with 65,536 nodes.
    """
    theta = float(LINES[np.argmin(log_moment(LINES + 0j).real - np.log(LINES * (1 - LINES)))])
    before, top = inf, float(np.arcsinh(1e9 / theta))  # beyond it the integrand, below 1 / u^2, adds 1e-9
    for count in 2 ** np.arange(9, 17):
        t = np.linspace(0, top, count + 1)
        s = theta * (1 + 1j * np.sinh(t))
        values = (np.exp(log_moment(s)) / (s * (1 - s))).real * theta * np.cosh(t)
        found = float(np.trapezoid(values, t)) / pi
        if abs(found - before) < CLOSE:
            return found
        before = found
    raise ArithmeticError(f"the integral has not converged with {count} nodes")


def moment_of_shared(dimension: int, gap: float, spread: float = 0.0, log_sigma: float = 0.0) -> LogMoment:
    """The moments of the two-path ratio with shared noise, for last kernels of one sd, the unit of what follows.

    ``dimension``: d. ``gap``: length of the mean of the gap of the last means, which is normal; ``spread``: its
    standard deviation in each dimension. ``log_sigma``: :func:`theory.continuous.joint_gaussian.log_sigma`.
    """

    def log_moment(s: np.ndarray) -> np.ndarray:
        wide = 1 + s * (1 - s) * spread**2
        value: np.ndarray = s * log_sigma - dimension / 2 * np.log(wide) - s * (1 - s) * gap**2 / (2 * wide)
        return value

    return log_moment


def moment_of_independent(
    dimension: int, count: int, gap: float, target: float = 0.0, draft: float = 0.0, log_sigma: float = 0.0
) -> LogMoment:
    """The moments of the two-path ratio where each model has normals of its own, whose densities it weighs.

    ``dimension``: d. ``count``: normals of each model; (T - 1) d with x_T shared and a known condition. ``gap``: length
    of the mean gap of the last means, in units of the sd of both last kernels, as what follows. ``target``, ``draft``:
    standard deviations of the last means in each dimension. ``log_sigma``: as for :func:`moment_of_shared`.

    E rho^s is that of a normal gap once the densities of the noise have tilted it: the variance of the target's is
    divided by 1 + s, that of the draft's by 1 - s.
    """

    def log_moment(s: np.ndarray) -> np.ndarray:
        wide = 1 + s * (1 - s) * target**2 / (1 + s) + s * draft**2
        weights = -count / 2 * np.log(1 - s * s) - dimension / 2 * np.log(wide)
        value: np.ndarray = s * log_sigma + weights - s * (1 - s) * gap**2 / (2 * wide)
        return value

    return log_moment


def largest_acceptance(count: int) -> float:
    """What a two-path ratio with Sigma = 1 accepts at most where each model has n = ``count`` normals of its own.

    1/2 + Gamma(n) / ((n / 2) Gamma(n / 2)^2 2^n).
    """
    log = scipy.special.gammaln(count) - 2 * scipy.special.gammaln(count / 2) - count * np.log(2) - np.log(count / 2)
    return 0.5 + float(np.exp(log))
