"""A network under the decoders and rules of continuous tokens: what they ask of any model, asked of a network.

Decoders and rules are NumPy in float64; a network is torch, of any precision and on any device. A block goes to the
device as noise and comes back once, as the states of its trajectories and the means and deviations of the kernels they
went through: drafts are made from drafts, and the target is asked of them, where the networks are. Prefixes are rows of
a batch: those of a block take one pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeGuard

import numpy as np
import torch
from torch import Tensor

from simlab.continuous.models.protocol import FromNoise, Kernel, Noise, Walk
from simlab.continuous.models.sequence_model import Block, SequenceModel, Start
from simlab.continuous.models.trajectories import Trajectory

NEWTON = 12  # iterations at most
NEAR = 1e-5  # of what a mean goes to, in the precision of a network


class Network(Protocol):
    """What is asked of a network that makes sequences of N tokens of d numbers in T steps each."""

    # length, dimension, steps: N, d and T
    length: int
    dimension: int
    steps: int
    noisy_end: bool  # whether the last step adds its noise
    device: torch.device  # where it is

    def conditions(self, tokens: Tensor, rows: Tensor, known: Tensor, position: Tensor) -> Tensor:
        """``[R, D]``: the conditions of the tokens at ``position[R]`` of the sequences ``rows[R]``.

        ``tokens[R, n, d]``, in float64, are those before; row r sees the first ``known[r]`` of them, at most n.
        """
        ...

    def kernel(self, t: int, x: Tensor, conditions: Tensor) -> tuple[Tensor, Tensor]:
        """Means and standard deviations ``float64[..., R, d]`` of kernel t at ``x[..., R, d]``."""
        ...

    def adds_noise(self, t: int) -> bool:
        """Whether step t adds noise."""
        ...

    def check_density(self, first: int, last: int) -> None:
        """Raise ``ValueError`` if a kernel of the steps ``first`` to ``last`` has no density."""
        ...


class NetworkKernels(FromNoise):
    """The kernels of a network."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.steps, self.dimension, self.noisy_end = network.steps, network.dimension, network.noisy_end

    def joined(self, conditions: Sequence[Tensor]) -> Tensor:
        return torch.cat(list(conditions))

    @torch.no_grad()
    def kernel(self, t: int, x: np.ndarray, c: Tensor) -> Kernel:
        return Kernel(*(part.cpu().numpy() for part in self.network.kernel(t, self.there(x), c)))

    @torch.no_grad()
    def walk(self, c: Tensor, noise: Noise) -> Walk:
        return self.on_host([self.walked(c, self.there(self.stacked(noise)))])[0]

    def stacked(self, noise: Noise) -> np.ndarray:
        """``float64[T + 1, B, d]``: the noise of all steps, that of the start first."""
        return np.stack([noise(t) for t in range(self.steps + 1)])

    def walked(self, c: Tensor, noise: Tensor) -> Tensor:
        """``float64[3 T + 1, B, d]``: trajectories from x_T on, and means and deviations of kernels."""
        states, means, deviations = [noise[0]], [], []
        for t in range(self.steps, 0, -1):
            mean, deviation = self.network.kernel(t, states[-1], c)
            states.append(mean + deviation * noise[t] if t > 1 or self.noisy_end else mean)
            means.append(mean)
            deviations.append(deviation)
        return torch.stack([*states, *means, *deviations])

    def on_host(self, walked: Sequence[Tensor]) -> list[Walk]:
        """What :meth:`walked` made, brought here at once."""
        together = torch.cat(list(walked), dim=1).numpy(force=True)
        ends = np.cumsum([part.shape[1] for part in walked])[:-1]
        return [self._walk(part) for part in np.split(together, ends, axis=1)]

    def _walk(self, part: np.ndarray) -> Walk:
        states, *kernels = np.split(part, [self.steps + 1, 2 * self.steps + 1])
        return Walk(states[::-1], tuple(map(Kernel, *(numbers[::-1] for numbers in kernels))))

    def adds_noise(self, t: int) -> bool:
        return self.network.adds_noise(t)

    def undo(self, t: int, to: np.ndarray, c: Tensor, near: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As for any model, by Newton's method; NaN where that does not end."""
        goal, x = self.there(to), self.there(near)
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
        directions = torch.eye(self.dimension, dtype=x.dtype, device=x.device)[:, None].expand(-1, *x.shape)
        with torch.enable_grad():
            at = x.detach().requires_grad_()
            means = self.network.kernel(t, at, c)[0]
            rows = torch.autograd.grad(means, at, directions, is_grads_batched=True)[0]
        return means.detach(), rows.transpose(0, 1)

    def check_one_to_one(self) -> None:
        """Nothing: whether a network's means are one to one is not known; :meth:`undo` says where it finds no way."""

    def check_density(self, first: int, last: int) -> None:
        self.network.check_density(first, last)

    def there(self, values: np.ndarray) -> Tensor:
        """The numbers where the network is."""
        return torch.from_numpy(np.ascontiguousarray(values)).to(self.network.device)


class Prefixes(NamedTuple):
    """Sequences where a network is, with room for the drafts of a block."""

    tokens: Tensor  # float64[R, W, d]; what stands from start on is not looked at before it is written
    # rows, start: int[R]: the numbers of the sequences, and where their blocks start
    rows: Tensor
    start: Tensor
    longest: int  # the largest start

    def write(self, j: int, drafts: Tensor) -> None:
        """Put drafts ``[R, d]`` at the j-th place of the blocks."""
        places = (self.start + j)[:, None, None].expand(-1, 1, drafts.shape[1])
        self.tokens.scatter_(1, places, drafts[:, None])


class NetworkTokens(SequenceModel):
    """Sequences that a network makes.

    ``network``: what is asked.

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
        return self._asked(self._prefixes(tokens, rows, position), [0], [0])[0]

    def chains_ahead(self, count: int) -> Sequence[NetworkKernels]:
        return [self._chain] * count

    def conditions_ahead(
        self, tokens: np.ndarray, rows: np.ndarray, position: np.ndarray, count: int
    ) -> Sequence[Tensor]:
        return self._asked(self._prefixes(tokens, rows, position), [0] * count, range(count))

    def block(self, draft: SequenceModel, start: Start) -> Block:
        if not self._beside(draft):
            return super().block(draft, start)
        return self._block(draft, start, range(len(start.verifying)))

    def block_ahead(self, draft: SequenceModel, start: Start) -> Block:
        if not self._beside(draft):
            return super().block_ahead(draft, start)
        return self._block(draft, start, [0] * len(start.verifying))

    def _beside(self, draft: SequenceModel) -> TypeGuard[NetworkTokens]:
        """Whether both are networks of one device, so that drafts need not come here to be verified."""
        return isinstance(draft, NetworkTokens) and draft.network.device == self.network.device

    @torch.no_grad()
    def _block(self, draft: NetworkTokens, start: Start, seen: Sequence[int]) -> Block:
        """A block of which the target sees as many drafts at each place as ``seen`` says, brought here at once."""
        tokens, rows, position, drafted, verifying = start
        chain, count = self._chain, len(verifying)
        noise = chain.there(np.stack([chain.stacked(each) for each in (*drafted, *verifying)]))
        prefixes = self._prefixes(tokens, rows, position, room=len(drafted))
        asked, walked = [], []
        for j in range(len(drafted)):
            asked += draft._asked(prefixes, [j], [j])
            walked.append(draft._chain.walked(asked[j], noise[j]))
            prefixes.write(j, walked[j][chain.steps])
        conditions = self._asked(prefixes, seen, range(count))
        together = torch.cat(list(noise[len(drafted) :]), dim=1)
        walked += chain.walked(torch.cat(conditions), together).chunk(count, dim=1)
        walks = chain.on_host(walked)
        drafts = [Trajectory(draft._chain, c, *walk) for c, walk in zip(asked, walks, strict=False)]
        targets = [Trajectory(chain, c, *walk) for c, walk in zip(conditions, walks[len(drafts) :], strict=True)]
        for j, made in enumerate(drafts):
            tokens[rows, position + j] = made.states[0]
        return Block(drafts, targets)

    def _prefixes(self, tokens: np.ndarray, rows: np.ndarray, position: np.ndarray, room: int = 0) -> Prefixes:
        longest = int(position.max(initial=0))
        given = np.nan_to_num(tokens[rows, : longest + room])
        there = self._chain.there
        return Prefixes(there(given), there(rows), there(position), longest)

    @torch.no_grad()
    def _asked(self, prefixes: Prefixes, seen: Sequence[int], ahead: Sequence[int]) -> list[Tensor]:
        """Conditions ``[R, D]`` of the places ``ahead`` of the prefixes' ends, given so many tokens of a block, in one
        pass. Behind the end of a sequence there is nothing to ask: whatever its last place is like."""
        last, count = self.length - 1, len(seen)
        known, position = (torch.cat([prefixes.start + j for j in some]).clamp(max=last) for some in (seen, ahead))
        before = prefixes.tokens[:, : min(prefixes.longest + max(seen), last)]
        found = self.network.conditions(before.repeat(count, 1, 1), prefixes.rows.repeat(count), known, position)
        return list(found.chunk(count))
