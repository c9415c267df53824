"""A network under the decoders and rules of continuous tokens: what they ask of any model, asked of a network.

Decoders and rules are NumPy in float64; a network is torch, of any precision and on any device. A trajectory goes to
the device as noise and comes back once, as states and the means and deviations of the kernels it went through. Prefixes
are rows of a batch: those of a block take one pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from simlab.continuous.models.gaussians import DIAGONAL, Layout
from simlab.continuous.models.protocol import Kernel, Kernels, Noise, SequenceModel, Walk

NEWTON = 12  # iterations at most
NEAR = 1e-5  # of what a mean goes to, in the precision of a network


class Network(Protocol):
    """What is asked of a network that makes sequences of N tokens of d numbers in T steps each.

    Attributes
    ----------
    length, dimension, steps
        N, d and T.
    noisy_end
        Whether the last step adds its noise.
    device
        Where it is.
    """

    length: int
    dimension: int
    steps: int
    noisy_end: bool
    device: torch.device

    def conditions(self, tokens: Tensor, rows: Tensor, known: Tensor, position: Tensor) -> Tensor:
        """``[R, D]``: the conditions of the tokens at ``position[R]`` of the sequences ``rows[R]``.

        ``tokens[R, n, d]``, in float64, are those before; row r sees the first ``known[r]`` of them, at most n.
        """
        ...

    def kernel(self, t: int, x: Tensor, conditions: Tensor) -> tuple[Tensor, Tensor]:
        """Means and standard deviations ``float64[R, d]`` of kernel t at ``x[R, d]``."""
        ...

    def adds_noise(self, t: int) -> bool:
        """Whether step t adds noise."""
        ...

    def check_density(self, first: int, last: int) -> None:
        """Raise ``ValueError`` if a kernel of the steps ``first`` to ``last`` has no density."""
        ...


class NetworkKernels(Kernels):
    """The kernels of a network, from N(0, I)."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.steps, self.dimension, self.noisy_end = network.steps, network.dimension, network.noisy_end

    @property
    def layout(self) -> Layout:
        return DIAGONAL

    def initial(self, c: Tensor) -> Kernel:
        return Kernel(np.zeros((len(c), self.dimension)), np.ones(self.dimension))

    @torch.no_grad()
    def kernel(self, t: int, x: np.ndarray, c: Tensor) -> Kernel:
        return Kernel(*(part.cpu().numpy() for part in self.network.kernel(t, self._there(x), c)))

    @torch.no_grad()
    def walk(self, c: Tensor, noise: Noise) -> Walk:
        drawn = self._there(np.stack([noise(t) for t in range(self.steps + 1)]))
        states, means, deviations = [drawn[0]], [], []
        for t in range(self.steps, 0, -1):
            mean, deviation = self.network.kernel(t, states[-1], c)
            states.append(mean + deviation * drawn[t] if t > 1 or self.noisy_end else mean)
            means.append(mean)
            deviations.append(deviation)
        back = torch.stack([*states, *means, *deviations]).cpu().numpy()
        walked, *kernels = np.split(back, [self.steps + 1, 2 * self.steps + 1])
        return Walk(walked[::-1], tuple(map(Kernel, *(part[::-1] for part in kernels))))

    def adds_noise(self, t: int) -> bool:
        return self.network.adds_noise(t)

    def undo(self, t: int, to: np.ndarray, c: Tensor) -> tuple[np.ndarray, np.ndarray]:
        """As for any model, by Newton's method from where the mean went; NaN where that does not end."""
        goal = self._there(to)
        x = goal.clone()
        for _ in range(NEWTON):
            mean, slope = self._linear(t, x, c)
            off = ~((goal - mean).abs().amax(dim=1) <= NEAR * (1 + goal.abs().amax(dim=1)))
            x = x + torch.linalg.solve_ex(slope, goal - mean).result.nan_to_num()
            if not off.any():
                break
        volume = torch.linalg.slogdet(slope)[1].masked_fill(off, torch.nan)
        return x.cpu().numpy(), volume.cpu().numpy()

    def _linear(self, t: int, x: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        """Means ``[R, d]`` of kernel t at ``x[R, d]``, and their Jacobians ``[R, d, d]``."""
        with torch.enable_grad():
            at = x.detach().requires_grad_()
            mean = self.network.kernel(t, at, c)[0]
            rows = [torch.autograd.grad(mean[:, i].sum(), at, retain_graph=True)[0] for i in range(self.dimension)]
        return mean.detach(), torch.stack(rows, dim=1)

    def check_one_to_one(self) -> None:
        """Nothing: whether a network's means are one to one is not known; :meth:`undo` says where it finds no way."""

    def check_density(self, first: int, last: int) -> None:
        self.network.check_density(first, last)

    def check_start(self) -> None:
        """Nothing: N(0, I) has a density."""

    def _there(self, values: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self.network.device)


class NetworkTokens(SequenceModel):
    """Sequences that a network makes.

    Parameters
    ----------
    network
        What is asked.

    Notes
    -----
    Tokens in between are never integrated out: the network itself says what a token is like whose neighbours it does
    not see, as MAR was trained to.
    """

    def __init__(self, network: Network) -> None:
        self.network, self.length = network, network.length
        self._chain = NetworkKernels(network)

    @property
    def chain(self) -> NetworkKernels:
        return self._chain

    def conditions(self, tokens: np.ndarray, rows: np.ndarray, position: np.ndarray) -> Tensor:
        return self._conditions(tokens, rows, position, position)

    def chains_ahead(self, count: int) -> Sequence[NetworkKernels]:
        return [self._chain] * count

    def conditions_ahead(
        self, tokens: np.ndarray, rows: np.ndarray, position: np.ndarray, count: int
    ) -> Sequence[Tensor]:
        found = self._conditions(
            tokens, np.tile(rows, count), np.tile(position, count), np.concatenate([position + j for j in range(count)])
        )
        return found.split(len(rows))

    @torch.no_grad()
    def _conditions(self, tokens: np.ndarray, rows: np.ndarray, known: np.ndarray, position: np.ndarray) -> Tensor:
        last = self.length - 1  # behind the end there is nothing to ask: whatever the last is like
        known, position = np.minimum(known, last), np.minimum(position, last)
        before = np.nan_to_num(tokens[rows, : int(known.max(initial=0))])
        return self.network.conditions(*(self._chain._there(part) for part in (before, rows, known, position)))
