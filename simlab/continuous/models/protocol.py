"""What rules ask of a model: the kernels of a token.

An affine chain answers in closed form and a network by a pass through it; rules see means and standard deviations and
nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from simlab.continuous.models.gaussians import DIAGONAL, Layout, Normal

Noise = Callable[[int], np.ndarray]  # from a step, 0 for the start, to standard normals [B, d]


class Kernel(NamedTuple):
    """The law N(mean, root root') of the next states."""

    mean: np.ndarray  # float64[B, d]
    root: np.ndarray  # standard deviations float64[d] or [B, d], or a dense root [d, d]: as the layout of its model is


class Walk(NamedTuple):
    """Sampled trajectories, and the kernels they were sampled from."""

    states: np.ndarray  # float64[T + 1, B, d], x_t at index t
    kernels: tuple[Kernel, ...]  # kernel t, from x_t to x_{t-1}, at index t - 1


class Kernels(ABC):
    """The Gaussian kernels of a token, from noise x_T to x_0, under any condition.

    Conditions are rows of an array; what a row says is the model's own affair.

    Attributes
    ----------
    steps, dimension
        T and d.
    noisy_end
        Whether the last step adds its noise. Where not, x_0 is the mean of a kernel that has a density all the same.
    layout
        Of roots.
    """

    steps: int
    dimension: int
    noisy_end: bool

    @property
    @abstractmethod
    def layout(self) -> Layout: ...

    def joined(self, conditions: Sequence[Any]) -> Any:
        """Conditions, those of each part behind those of the parts before."""
        return np.concatenate(conditions)

    @abstractmethod
    def initial(self, c: Any) -> Kernel:
        """The law of x_T under the conditions ``c[B]``."""

    @abstractmethod
    def kernel(self, t: int, x: np.ndarray, c: Any) -> Kernel:
        """Kernel t, the law of x_{t-1}, at the states ``x[B, d]`` under the conditions ``c[B]``."""

    @abstractmethod
    def adds_noise(self, t: int) -> bool:
        """Whether step t adds noise, in any direction."""

    @property
    def last_noise(self) -> int:
        """k, the last step that adds noise: 1 to T, or T + 1 where all of it is in x_T."""
        return next(filter(self.adds_noise, range(1, self.steps + 1)), self.steps + 1)

    def last_root(self) -> np.ndarray | None:
        """The root of kernel 1, the same at all states; None where that is seen at states only.

        Raises ``ValueError`` where it follows the state.
        """
        return None

    @abstractmethod
    def undo(self, t: int, to: np.ndarray, c: Any, near: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Walk back the mean of a step that adds no noise.

        ``t``: the step, from 1 to T. ``to``: ``float64[B, d]``, where the mean went. ``c``: ``[B]``, the conditions.
        ``near``: ``float64[B, d]``, where to search first. Returns the states ``float64[B, d]`` whose mean that is, and
        ``float64[B]``, log |det| of its Jacobian there.
        """

    @abstractmethod
    def check_one_to_one(self) -> None:
        """Raise ``ValueError`` unless the means of the steps behind the last noise can be walked back."""

    @abstractmethod
    def check_density(self, first: int, last: int) -> None:
        """Raise ``ValueError`` if a kernel of the steps ``first`` to ``last`` has no density."""

    @abstractmethod
    def check_start(self) -> None:
        """Raise ``ValueError`` if x_T has no density."""

    def marginal(self, c: Any) -> Normal:
        """The law of x_0 under the conditions ``c[B]``. Raises ``ValueError`` where it is not known to be normal."""
        raise ValueError("the law of x_0 is not known in closed form; expected an affine chain of fixed variances")

    def check_noisy_end(self) -> None:
        """Raise ``ValueError`` where the last step adds no noise: then tokens do not follow the density they have."""
        if not self.noisy_end:
            raise ValueError(
                "the last step adds no noise; expected one that does: x_0 has no density given x_1. The rules "
                "last-noise and target-end ask for none"
            )

    def check_noise(self) -> None:
        """Raise ``ValueError`` if what the last noise leads to has no density given the state before."""
        if self.last_noise > self.steps:
            self.check_start()
        else:
            self.check_density(self.last_noise, self.last_noise)

    def drawn(self, kernel: Kernel, noise: np.ndarray) -> np.ndarray:
        """``[B, d]``: where a kernel goes with the standard normals ``noise[B, d]``."""
        return kernel.mean + self.layout.times(kernel.root, noise)

    def log_density_of(self, kernel: Kernel, to: np.ndarray) -> np.ndarray:
        """``[B]``: the log density of a kernel at ``to[B, d]``, up to d/2 log 2 pi, which all models share."""
        away = self.layout.whitened(kernel.root, to - kernel.mean)
        return -0.5 * np.sum(away * away, axis=-1) - self.log_volume_of(kernel)

    def log_volume_of(self, kernel: Kernel) -> np.ndarray:
        """``[B]``: log sqrt(det S) of a kernel."""
        return np.broadcast_to(self.layout.log_volume(kernel.root), kernel.mean.shape[:1])

    def log_start(self, x: np.ndarray, c: Any) -> np.ndarray:
        """``[B]``: log p(x_T = x), up to the same constant."""
        return self.log_density_of(self.initial(c), x)

    def walk(self, c: Any, noise: Noise) -> Walk:
        """A trajectory for each condition.

        ``c``: ``[B]``, the conditions. ``noise``: from a step t, 0 for the start, to standard normals
        ``float64[B, d]``. Returns states and kernels.
        """
        x = self.drawn(self.initial(c), noise(0))
        states, kernels = [x], []
        for t in range(self.steps, 0, -1):
            kernel = self.kernel(t, x, c)
            x = self.drawn(kernel, noise(t)) if t > 1 or self.noisy_end else kernel.mean
            states.append(x)
            kernels.append(kernel)
        return Walk(np.stack(states[::-1]), tuple(kernels[::-1]))


class FromNoise(Kernels):
    """Diagonal kernels from N(0, I), as networks have them."""

    @property
    def layout(self) -> Layout:
        return DIAGONAL

    def initial(self, c: Any) -> Kernel:
        return Kernel(np.zeros((len(c), self.dimension)), np.ones(self.dimension))

    def check_start(self) -> None:
        """Nothing: N(0, I) has a density."""
