"""Jacobi decoding under sampling: a window of tokens is iterated until they stop changing.

After Song et al. 2021; SJD, section 3.2, describes it with the likeliest token of each row. Here every iteration draws
each token of the window from its row; a token is final once all tokens before it are final and unchanged, because then
its row was the right one. ``noise`` says whether iterations share their randomness:

``fresh``
    every iteration draws with new randomness. A draft survives only if the same token is drawn again.
``fixed``
    each position keeps one uniform through all iterations and applies it to the inverse CDF of its current
    row, which makes the iteration deterministic: a token changes only when its row changes enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from simlab.arrays import Array, full, grid, how_many_first, indices, namespace, one_hot, slots, splice
from simlab.checks import check_at_least, check_choice
from simlab.decoders.base import Decoder, Info, advance
from simlab.processes import Process
from simlab.randomness import Purpose, Randomness, Run
from simlab.rules import Rule

Noise = Literal["fresh", "fixed"]


class JacobiState(NamedTuple):
    tokens: Array  # int[B, N+W+1]: committed, then the W tokens of the window
    length: Array  # int[B]
    interval: Array  # [B, W, 2]: the interval that holds the fixed uniform of each window position


@dataclass(frozen=True)
class Jacobi(Decoder[JacobiState]):
    """Jacobi iteration over a window of ``window`` tokens, started at random. The rule is not used.

    Attributes
    ----------
    window
        Tokens drawn in one call, >= 1.
    noise
        ``fresh``: new randomness in every iteration; ``fixed``: one uniform a position, kept through all iterations.

    Raises
    ------
    ValueError
        For a window below 1, or another noise.

    References
    ----------
    Song et al. 2021; its greedy form in SJD, section 3.2.
    """

    window: int
    noise: Noise = "fresh"

    def __post_init__(self) -> None:
        check_at_least("window", self.window, 1)
        check_choice("noise", self.noise, get_args(Noise))

    def init(self, process: Process, randomness: Randomness, batch: int) -> JacobiState:
        tokens = process.buffer(batch, process.length + self.window + 1)
        length = tokens[:, 0]
        tokens = self._start(process, randomness, tokens, length, length + self.window)
        return JacobiState(tokens, length, self._unit_interval(process, batch))

    def step(
        self, state: JacobiState, process: Process, rule: Rule, randomness: Randomness, draft: Process | None = None
    ) -> tuple[JacobiState, Info]:
        tokens, length, interval = state
        xp, width = namespace(tokens), self.window
        randomness = randomness.ahead(length, self._choices)
        p = process.forward(tokens, length, width)
        x = slots(tokens, grid(length, width))
        if self.noise == "fixed":
            y, interval = randomness.draw_fixed(p, length, interval)
        else:
            y = randomness.draw(p, length, Purpose.TARGET)

        # unchanged tokens are final, and so is the first that changed
        count = xp.clip(how_many_first(x == y), 0, width - 1)
        start = length + count + 1
        tokens = self._start(process, randomness, splice(tokens, length, y), length + width, start + width)

        interval = xp.concat([interval, self._unit_interval(process, len(tokens))], axis=1)
        interval = slots(interval, grid(count + 1, width))
        length, info = advance(process, length, count)
        return JacobiState(tokens, length, interval), info

    def choices(self) -> list[Run]:
        """A draw for each token of the window, and for those of the next that are new."""
        return [Run(Purpose.TARGET, 0, 0, self.window), Run(Purpose.DRAFT, 0, self.window, self.window)]

    def _start(self, process: Process, randomness: Randomness, tokens: Array, first: Array, end: Array) -> Array:
        """Uniform tokens from position ``first`` to ``end``."""
        position = grid(first, self.window)
        inside = (position < end[:, None]) & (position < process.length)
        nothing = one_hot(indices(1, position), process.uniform)
        rows = namespace(nothing).where(inside[..., None], process.uniform, nothing)
        return splice(tokens, first, randomness.draw(rows, first, Purpose.DRAFT))

    def _unit_interval(self, process: Process, batch: int) -> Array:
        """The interval (0, 1) for every position of the window."""
        shape = batch, self.window, 1
        ends = [full(shape, 0, process.uniform), full(shape, 1, process.uniform)]
        return namespace(process.uniform).concat(ends, axis=2)
