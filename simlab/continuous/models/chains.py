"""Trajectories: Markov chains of Gaussian kernels from noise x_T to a token x_0.

    x_T = D c + m + F e,    x_{t-1} = A_t x_t + B_t c + o_t + L_t(x_t) e_t,    e ~ N(0, I)

c is the condition of the token, what its prefix and class amount to. Kernel t stands at index t - 1 of an array. All
matrices of a chain are diagonal, ``[T, d]``, or all are dense, ``[T, d, d]``. CSpD, eqs. 1 and 3.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from simlab.checks import check_flag
from simlab.continuous.models.gaussians import DENSE, DIAGONAL, Layout, Normal, as_numbers
from simlab.continuous.models.protocol import Kernel, Kernels, Noise

LARGEST = 700.0  # where exponents are cut, here and in compiled code: exp of it is still a number


class LearnedRange(NamedTuple):
    """Standard deviations between a lower and a higher bound, as a function of the state.

    log sd_t(x) = log low_t + width_t * sigmoid(slope_t * x + bias_t), where low is the chain's ``factor``.

    See Nichol and Dhariwal, "Improved denoising diffusion probabilistic models", 2021.
    """

    width: np.ndarray  # float64[T, d], half the logarithm of the ratio of the two variances, from 0 to 700
    # slope, bias: float64[T, d]
    slope: np.ndarray
    bias: np.ndarray


@dataclass(frozen=True)
class Chain(Kernels):
    """The kernels of one model, and where they start.

    Parameters
    ----------
    slope, condition_gain, factor
        A_t, B_t and L_t: ``[T, d]`` if diagonal, ``[T, d, d]`` if dense; factors of dense covariances may be any root.
    offset
        o_t: ``[T, d]``.
    start_factor, start_mean, start_gain
        F, m and D, the law of x_T: ``[d]`` or ``[d, d]``, ``[d]``, and as the first. Without the last two they are 0.
    learned
        How standard deviations follow the state, for diagonal chains; without it they are fixed.
    noisy_end
        Whether the last step adds its noise. Where not, x_0 is the mean of a kernel that has a density all the same.

    Attributes
    ----------
    steps, dimension
        T and d.

    Raises
    ------
    ValueError
        For shapes that do not go together, what is no finite number, a learned range beside dense matrices, and a
        ``noisy_end`` that is neither True nor False.

    References
    ----------
    CSpD, eqs. 1 and 3.
    """

    slope: np.ndarray
    condition_gain: np.ndarray
    offset: np.ndarray
    factor: np.ndarray
    start_factor: np.ndarray
    start_mean: np.ndarray = None  # type: ignore[assignment]  # zeros
    start_gain: np.ndarray = None  # type: ignore[assignment]  # zeros
    learned: LearnedRange | None = None
    noisy_end: bool = True
    steps: int = field(init=False)
    dimension: int = field(init=False)

    def __post_init__(self) -> None:
        check_flag("noisy_end", self.noisy_end)
        start = as_numbers(self.start_factor, "start_factor")
        absent = {"start_mean": np.zeros(start.shape[:1]), "start_gain": np.zeros(start.shape)}
        for name in ("slope", "condition_gain", "offset", "factor", "start_factor", "start_mean", "start_gain"):
            given = getattr(self, name)
            value = absent[name] if given is None and name in absent else as_numbers(given, name)
            object.__setattr__(self, name, value)
        if self.offset.ndim != 2 or 0 in self.offset.shape:
            raise ValueError(f"offset has shape {self.offset.shape}; expected [T, d]")
        if self.slope.ndim not in (2, 3):
            raise ValueError(f"slope has shape {self.slope.shape}; expected [T, d] if diagonal or [T, d, d] if dense")
        steps, size = self.offset.shape
        layout = (steps, size) if self.slope.ndim == 2 else (steps, size, size)
        expected: dict[str, tuple[int, ...]] = dict.fromkeys(("slope", "condition_gain", "factor"), layout)
        expected |= {"start_factor": layout[1:], "start_mean": (size,), "start_gain": layout[1:]}
        for name, shape in expected.items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"{name} has shape {getattr(self, name).shape}; expected {shape} beside the others")
        if self.learned is not None:
            object.__setattr__(self, "learned", self._learned((steps, size)))
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "dimension", size)

    def _learned(self, shape: tuple[int, int]) -> LearnedRange:
        """The learned range, checked."""
        if not isinstance(self.learned, LearnedRange):
            raise ValueError(f"learned is {self.learned!r}; expected a LearnedRange of width, slope and bias")
        parts = {name: as_numbers(part, f"{name} of learned") for name, part in self.learned._asdict().items()}
        if not self.diagonal or any(part.shape != shape for part in parts.values()):
            shapes = [part.shape for part in parts.values()]
            raise ValueError(f"learned has the shapes {shapes}; expected {shape} for each, and diagonal matrices")
        width = parts["width"]
        if ((width < 0) | (width > LARGEST)).any():
            wrong = width[(width < 0) | (width > LARGEST)][0]
            raise ValueError(f"width of learned holds {wrong}; expected numbers from 0 to {LARGEST:g}")
        return LearnedRange(**parts)

    @property
    def diagonal(self) -> bool:
        return self.slope.ndim == 2

    @property
    def layout(self) -> Layout:
        return DIAGONAL if self.diagonal else DENSE

    def adds_noise(self, t: int) -> bool:
        return (t > 1 or self.noisy_end) and bool(self.factor[t - 1].any())

    # One kernel ------------------------------------------------------------------------------------------------

    def mean(self, t: int, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        """``[B, d]``: where kernel t goes from the states ``x[B, d]`` under the conditions ``c[B, d]``."""
        times = self.layout.times
        return times(self.slope[t - 1], x) + (times(self.condition_gain[t - 1], c) + self.offset[t - 1])

    def root(self, t: int, x: np.ndarray) -> np.ndarray:
        """``[d]``, ``[d, d]`` or, where it follows the state, ``[B, d]``: the root L_t(x) of the covariance."""
        if self.learned is None:
            return self.factor[t - 1]
        width, slope, bias = (part[t - 1] for part in self.learned)
        with np.errstate(over="ignore"):  # a product that is infinite is cut as well
            exponent = np.clip(-(slope * x + bias), -LARGEST, LARGEST)
        return self.factor[t - 1] * np.exp(width / (1 + np.exp(exponent)))

    def kernel(self, t: int, x: np.ndarray, c: np.ndarray) -> Kernel:
        return Kernel(self.mean(t, x, c), self.root(t, x))

    def last_root(self) -> np.ndarray:
        self.check_fixed()
        return self.factor[0]

    def undo(self, t: int, to: np.ndarray, c: np.ndarray, near: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The states ``[B, d]`` whose mean under kernel t is ``to[B, d]``, and ``[B]``: ``log |det A_t|``."""
        rest = self.layout.times(self.condition_gain[t - 1], c) + self.offset[t - 1]
        volume = self.layout.log_volume(self.slope[t - 1])
        return self.layout.whitened(self.slope[t - 1], to - rest), np.broadcast_to(volume, to.shape[:1])

    def start(self, c: np.ndarray) -> np.ndarray:
        """``[B, d]``: the means of x_T."""
        return self.layout.times(self.start_gain, c) + self.start_mean

    def initial(self, c: np.ndarray) -> Kernel:
        return Kernel(self.start(c), self.start_factor)

    # All of them -----------------------------------------------------------------------------------------------

    def trajectory(self, c: np.ndarray, noise: Noise) -> np.ndarray:
        """A trajectory for each condition.

        ``c``: ``float64[B, d]``, the conditions. ``noise``: from a step t, 0 for the start, to standard normals
        ``[B, d]``. Returns ``float64[T + 1, B, d]``, x_t at index t.
        """
        return self.walk(c, noise).states

    def marginal(self, c: np.ndarray) -> Normal:
        """The law of x_0.

        ``c``: ``float64[B, d]``, the conditions. Returns means ``[B, d]`` and one covariance ``[d, d]``. Raises
        ``ValueError`` where standard deviations follow the state: then it is not normal.
        """
        self.check_fixed()
        layout = self.layout
        mean, covariance = self.start(c), layout.squared(self.start_factor)
        for t in range(self.steps, 0, -1):
            mean, covariance = self.mean(t, mean, c), layout.through(self.slope[t - 1], covariance)
            if t > 1 or self.noisy_end:
                covariance = covariance + layout.squared(self.factor[t - 1])
        return Normal(mean, layout.dense(covariance))

    # Checks -----------------------------------------------------------------------------------

    def check_fixed(self) -> None:
        """Raise ``ValueError`` where standard deviations follow the state."""
        if self.learned is not None:
            raise ValueError("the chain has a learned range; expected fixed variances: only then are states normal")

    def check_density(self, first: int, last: int) -> None:
        """Raise ``ValueError`` if a kernel of the steps ``first`` to ``last`` has no density."""
        for t in range(first, last + 1):
            if not np.isfinite(self.layout.log_volume(self.factor[t - 1])):
                raise ValueError(
                    f"kernel {t} of {self.steps} has a singular covariance; expected one with a density: "
                    "a step that adds no noise, such as DDIM's with eta = 0, leads to points, and ratios of densities "
                    "do not exist; the rule last-noise compares what the noise before it leads to"
                )

    def check_one_to_one(self) -> None:
        """Raise ``ValueError`` unless the means of the steps behind the last noise lead from one state each."""
        for t in range(1, self.last_noise):
            if not np.isfinite(self.layout.log_volume(self.slope[t - 1])):
                raise ValueError(
                    f"the mean of kernel {t} of {self.steps}, which adds no noise, has a singular slope; expected one "
                    "that can be walked back: x_0 has no density given the state before the last noise"
                )

    def check_start(self) -> None:
        """Raise ``ValueError`` if x_T has no density."""
        if not np.isfinite(self.layout.log_volume(self.start_factor)):
            raise ValueError("start_factor is singular; expected one with a density: x_T is a point in some direction")
