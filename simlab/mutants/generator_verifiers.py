"""Verifiers of a block that draw from a NumPy generator, as engines write them.

The correct ones are of many kinds; the bugs are those that the law of one call does not show: of random streams, and
of coins at their ends.

``CORRECT`` must be certified as lossless, ``BUGS`` must not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numba import njit

from simlab.arrays import Array
from simlab.decoders import Block
from simlab.mutants import rules
from simlab.mutants.base import LOSSLESS, Mutant, single_draw
from simlab.mutants.verifiers import Verify, hierarchical, lossless, own_draw, verifier
from simlab.randomness import Purpose, Randomness
from simlab.randomness.coins import SampledCoins
from simlab.rules import Speculative

Generator = np.random.Generator
Plain = Callable[[Array, Array, Array, Generator], Sequence[int]]


def plain(verify: Verify) -> Plain:
    """A verifier that asks for coins, as one that takes a generator."""
    return lambda p, q, drafts, rng: verify(p, q, drafts, SampledCoins(rng))


# Correct ones --------------------------------------------------------------------------------------------------


def all_coins_at_once(p: Array, q: Array, drafts: Array, rng: Generator) -> Array:
    """Vectorised: every coin and every residual, of which one is used."""
    i = np.arange(len(drafts))
    kept = rng.random(len(drafts)) * q[i, drafts] < p[i, drafts]
    count = int(kept.argmin()) if not kept.all() else len(drafts)
    over = np.maximum(p[:-1] - q, 0)
    rows = np.concatenate([np.where(over.any(axis=1, keepdims=True), over, p[:-1]), p[-1:]])
    upto = rows[count].cumsum()
    last = int(np.searchsorted(upto, rng.random() * upto[-1], side="right"))
    return np.append(drafts[:count], last)


def point_masses(p: Array, q: Array, drafts: Array, rng: Generator) -> list[int]:
    """Scores every draft as a point mass, whatever it was drawn from: lossless, for it keeps x with p(x)."""
    for i, x in enumerate(drafts.tolist()):
        if rng.random() >= p[i, x]:
            rest = p[i].copy()
            rest[x] = 0
            return [*drafts[:i].tolist(), SampledCoins(rng).draw(rest if rest.any() else p[i])]
    return [*drafts.tolist(), SampledCoins(rng).draw(p[-1])]


def not_above(p: Array, q: Array, drafts: Array, rng: Generator) -> list[int]:
    """``coin <= ratio``, but never for a token that p excludes."""
    for i, x in enumerate(drafts.tolist()):
        if not (p[i, x] > 0 and rng.random() <= p[i, x] / q[i, x]):
            return [*drafts[:i].tolist(), SampledCoins(rng).draw(LOSSLESS.residual(p[i], q[i], x))]
    return [*drafts.tolist(), SampledCoins(rng).draw(p[-1])]


def in_logarithms(p: Array, q: Array, drafts: Array, rng: Generator) -> list[int]:
    """Exponential coins against log ratios, tokens by Gumbel noise: independent streams, none of them uniform."""
    with np.errstate(divide="ignore"):
        logs = np.log(p)
        for i, x in enumerate(drafts.tolist()):
            if -rng.standard_exponential() >= logs[i, x] - np.log(q[i, x]):
                over = np.log(LOSSLESS.residual(p[i], q[i], x))
                return [*drafts[:i].tolist(), int(np.argmax(over + rng.gumbel(size=len(over))))]
        return [*drafts.tolist(), int(np.argmax(logs[-1] + rng.gumbel(size=len(logs[-1]))))]


def padded(p: Array, q: Array, drafts: Array, rng: Generator) -> list[int]:
    """Pads the vocabulary to a multiple of eight with tokens without mass."""
    more = ((0, 0), (0, -p.shape[1] % 8))
    return list(lossless(np.pad(p, more), np.pad(q, more), drafts, SampledCoins(rng)))


class GeneratorRandomness(Randomness):
    """The decisions of a verifier from a generator."""

    def __init__(self, rng: Generator) -> None:
        self.rng = rng

    def accept(self, probability: Array, position: Array, lane: int = 0) -> Array:
        return np.asarray(self.rng.random(probability.shape) < probability)

    def accept_prefix(self, probability: Array, position: Array) -> Array:
        return np.asarray(self.accept(probability, position).cumprod(axis=1).sum(axis=1))

    def draw(self, pmf: Array, position: Array, purpose: Purpose, lane: int | Array = 0) -> Array:
        raise NotImplementedError("a verifier draws no drafts")

    def draw_fixed(self, pmf: Array, position: Array, interval: Array) -> tuple[Array, Array]:
        raise NotImplementedError("a verifier draws no drafts")

    def unseen(self, batch: int, count: int, uniform: Array) -> Array:
        raise NotImplementedError("a verifier draws no drafts")

    def draw_raced(self, pmf: Array, position: Array, known: Array) -> tuple[Array, Array]:
        raise NotImplementedError("a verifier draws no drafts")


def block_verification(p: Array, q: Array, drafts: Array, rng: Generator) -> list[int]:
    """Block verification (:class:`simlab.decoders.Block`): another lossless coupling."""
    if len(drafts) == 0:
        return [SampledCoins(rng).draw(p[0])]
    first = np.zeros(1, np.int64)
    block = Block(len(drafts))
    count, row = block.verify(Speculative(), p[None], q[None], drafts[None], GeneratorRandomness(rng), first)
    return [*drafts[: count[0]].tolist(), SampledCoins(rng).draw(row[0])]


@njit(cache=True)
def _scanned(p: Array, q: Array, drafts: Array, coins: Array, noise: float) -> tuple[int, int]:
    count = 0
    while count < len(drafts) and coins[count] * q[count, drafts[count]] < p[count, drafts[count]]:
        count += 1
    rejected = count < len(drafts)
    whole = 0.0
    for y in range(p.shape[1]):
        whole += max(0.0, p[count, y] - (q[count, y] if rejected else 0.0))
    if whole == 0.0:
        rejected, whole = False, 1.0
    goal, upto, last = noise * whole, 0.0, 0
    for y in range(p.shape[1]):
        mass = max(0.0, p[count, y] - (q[count, y] if rejected else 0.0))
        if mass > 0.0:
            last = y
            upto += mass
            if upto > goal:
                break
    return count, last


def compiled(p: Array, q: Array, drafts: Array, rng: Generator) -> list[int]:
    """One compiled scan."""
    count, last = _scanned(p, q, drafts, rng.random(len(drafts)), rng.random())
    return [*drafts[:count].tolist(), last]


def in_single_precision(p: Array, q: Array, drafts: Array, rng: Generator) -> list[int]:
    """Everything in float32, coins included."""
    p, q = p.astype(np.float32), q.astype(np.float32)
    for i, x in enumerate(drafts.tolist()):
        if not rng.random(dtype=np.float32) * q[i, x] < p[i, x]:
            over = np.maximum(p[i] - q[i], 0)
            return [*drafts[:i].tolist(), _single(over if over.any() else p[i], rng)]
    return [*drafts.tolist(), _single(p[-1], rng)]


def _single(weights: Array, rng: Generator) -> int:
    upto = weights.cumsum(dtype=np.float64)
    return int(np.searchsorted(upto, float(rng.random(dtype=np.float32)) * upto[-1], side="right"))


def match_in_single_precision(p: Array, q: Array, drafts: Array, rng: Generator) -> list[int]:
    """The target's own draws in float32."""
    tokens: list[int] = []
    for row, x in zip(p, [*drafts.tolist(), -1], strict=True):
        tokens.append(single_draw(row, rng))
        if tokens[-1] != x:
            break
    return tokens


class Buffered:
    """Draws many uniforms at a time and keeps what is left for later calls: hidden state, but lossless."""

    def __init__(self, size: int = 1024) -> None:
        self.size = size
        self.left: list[float] = []

    def __call__(self, p: Array, q: Array, drafts: Array, rng: Generator) -> Sequence[int]:
        if len(self.left) < len(p):
            self.left = rng.random(self.size).tolist()
        for i, x in enumerate(drafts.tolist()):
            if self.left.pop() >= LOSSLESS.accept(p[i], q[i], x):
                return (*drafts[:i].tolist(), self._token(LOSSLESS.residual(p[i], q[i], x)))
        return (*drafts.tolist(), self._token(p[-1]))

    def _token(self, weights: Array) -> int:
        upto = weights.cumsum()
        return int(np.searchsorted(upto, self.left.pop() * upto[-1], side="right"))


CORRECT: dict[str, Plain] = {
    "the loop of the papers": plain(lossless),
    "sampler match": plain(own_draw),
    "all coins and residuals at once": all_coins_at_once,
    "drafts scored as point masses": point_masses,
    "coin <= ratio, except where p is 0": not_above,
    "exponential coins and Gumbel noise": in_logarithms,
    "padded vocabulary": padded,
    "top-k applied again to a filtered residual": plain(verifier(rules.ResidualFiltered())),
    "block verification": block_verification,
    "hierarchical verification, capped": plain(hierarchical(lambda r, highest: min(1.0, r / highest))),
    "compiled with Numba": compiled,
    "single precision": in_single_precision,
    "sampler match in single precision": match_in_single_precision,
    "uniforms kept for later calls": Buffered(),
}

# Wrong ones ----------------------------------------------------------------------------------------------------


class SeedReset:
    """A generator made anew from a seed inside the call."""

    def __call__(self, p: Array, q: Array, drafts: Array, rng: Generator) -> Sequence[int]:
        return lossless(p, q, drafts, SampledCoins(np.random.default_rng(1234)))


class UniformKept:
    """Uniforms are drawn for every second call, and used in the next one too."""

    def __init__(self) -> None:
        self.calls, self.seed = 0, 0

    def __call__(self, p: Array, q: Array, drafts: Array, rng: Generator) -> Sequence[int]:
        if self.calls % 2 == 0:
            self.seed = int(rng.integers(1 << 62))
        self.calls += 1
        return lossless(p, q, drafts, SampledCoins(np.random.default_rng(self.seed)))


class RowsKept:
    """The target rows of the call before, where they have the same shape: those of another sequence in the batch."""

    def __init__(self) -> None:
        self.last: Array | None = None

    def __call__(self, p: Array, q: Array, drafts: Array, rng: Generator) -> Sequence[int]:
        last, self.last = self.last, p.copy()
        return lossless(last if last is not None and last.shape == p.shape else p, q, drafts, SampledCoins(rng))


def not_above_zero(p: Array, q: Array, drafts: Array, rng: Generator) -> list[int]:
    """``coin <= ratio``, also where the ratio is 0."""
    for i, x in enumerate(drafts.tolist()):
        if not rng.random() <= LOSSLESS.accept(p[i], q[i], x):
            return [*drafts[:i].tolist(), SampledCoins(rng).draw(LOSSLESS.residual(p[i], q[i], x))]
    return [*drafts.tolist(), SampledCoins(rng).draw(p[-1])]


def small_ratio_lost(p: Array, q: Array, drafts: Array, rng: Generator) -> list[int]:
    """Rejects with log(coin) < log(1 - ratio), in float32: a small ratio is lost."""
    for i, x in enumerate(drafts.tolist()):
        with np.errstate(divide="ignore"):
            rejected = np.log(rng.random()) < np.log(np.float32(1) - np.float32(LOSSLESS.accept(p[i], q[i], x)))
        if rejected:
            return [*drafts[:i].tolist(), SampledCoins(rng).draw(LOSSLESS.residual(p[i], q[i], x))]
    return [*drafts.tolist(), SampledCoins(rng).draw(p[-1])]


def uniform_for_nothing(p: Array, q: Array, drafts: Array, rng: Generator) -> list[int]:
    """Draws uniformly where the residual is zero, which rounding alone can bring about."""
    return list(verifier(rules.ResidualOrUniform())(p, q, drafts, SampledCoins(rng)))


def edge_on_the_left(p: Array, q: Array, drafts: Array, rng: Generator) -> list[int]:
    """Inverts a CDF from the left: a uniform of 0 gives the first token, whether it has mass or not."""
    for i, x in enumerate(drafts.tolist()):
        if not rng.random() < LOSSLESS.accept(p[i], q[i], x):
            return [*drafts[:i].tolist(), _from_the_left(LOSSLESS.residual(p[i], q[i], x), rng)]
    return [*drafts.tolist(), _from_the_left(p[-1], rng)]


def _from_the_left(weights: Array, rng: Generator) -> int:
    upto = weights.cumsum()
    return int(np.searchsorted(upto, rng.random() * upto[-1], side="left"))


def _always(function: Plain) -> Callable[[], Plain]:
    return lambda: function


_BUGS: list[tuple[str, str, Callable[[], Plain]]] = [
    ("9", "target rows of the call before", RowsKept),
    ("14", "zero residual replaced by the uniform row", _always(uniform_for_nothing)),
    ("19", "coin <= ratio where the ratio is 0", _always(not_above_zero)),
    ("19", "CDF inverted from the left", _always(edge_on_the_left)),
    ("20", "log(1 - ratio) in single precision", _always(small_ratio_lost)),
    ("28", "uniforms used in two calls", UniformKept),
    ("29", "seed reset in every call", SeedReset),
]
BUGS = {name: Mutant(name, mutant, make) for mutant, name, make in _BUGS}
