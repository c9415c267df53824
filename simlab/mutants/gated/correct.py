"""Correct implementations of many kinds, of which no certificate may say otherwise, by contract.

The verifiers differ in how a token is drawn, or in how drafts and what comes out are coupled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numba import njit

from simlab.arrays import Array
from simlab.decoders import Block
from simlab.mutants.gated.base import excess, inverted, perturbed, raced
from simlab.mutants.gated.candidates import left_of_p, without
from simlab.mutants.gated.contracts import CONTRACTS, reference, variants
from simlab.processes.filters import FILTERS, Settings, softmax
from simlab.randomness import Randomness
from simlab.rules import Speculative

Generator = np.random.Generator
Function = Callable[..., Any]
Draw = Callable[[Array, Any], int]
Left = Callable[[Array, Array, Any], int]
Kept = Callable[[Any, Any, Any], bool]

# How a token is drawn from weights ---------------------------------------------------------------------------------


def by_inverse(weights: Array, rng: Generator) -> int:
    """By inverse CDF."""
    return inverted(weights, rng.random())


def sorted_first(weights: Array, rng: Generator) -> int:
    """By inverse CDF, the likeliest tokens first."""
    return _sorted_token(weights, rng.random())


def _sorted_token(weights: Array, uniform: Any) -> int:
    order = np.argsort(-weights, kind="stable")
    return int(order[inverted(weights[order], uniform)])


@njit(cache=True)
def _alias(weights: Array, column: float, coin: float) -> int:
    """Walker's method: columns of the same mass, each of at most two tokens."""
    size = len(weights)
    mass = weights * (size / weights.sum())
    small, large = np.empty(size, np.int64), np.empty(size, np.int64)
    smalls = larges = 0
    other = np.arange(size)
    for x in range(size):
        if mass[x] < 1.0:
            small[smalls] = x
            smalls += 1
        else:
            large[larges] = x
            larges += 1
    while smalls and larges:
        smalls -= 1
        low, high = small[smalls], large[larges - 1]
        other[low] = high
        mass[high] -= 1.0 - mass[low]
        if mass[high] < 1.0:
            larges -= 1
            small[smalls] = high
            smalls += 1
    for k in range(smalls):  # that rounding has left
        if weights[small[k]] > 0.0:
            mass[small[k]] = 1.0
    x = int(column * size)
    return x if coin < mass[x] else other[x]


def by_alias(weights: Array, rng: Generator) -> int:
    """With an alias table."""
    return int(_alias(np.asarray(weights, np.float64), rng.random(), rng.random()))


def by_gumbel(weights: Array, rng: Generator) -> int:
    """The largest of logarithms with Gumbel noise."""
    return perturbed(weights, rng.gumbel(size=len(weights)))


def by_race(weights: Array, rng: Generator) -> int:
    """The first in a race with exponential noise."""
    return raced(weights, rng.standard_exponential(len(weights)))


def by_multinomial(weights: Array, rng: Generator) -> int:
    """One throw among the tokens that have mass."""
    there = np.flatnonzero(weights)
    masses = np.asarray(weights[there], np.float64)
    return int(there[rng.multinomial(1, masses / masses.sum()).argmax()])


def single_draw(weights: Array, rng: Generator) -> int:
    """By inverse CDF, all of it in float32."""
    cumulative = weights.astype(np.float32).cumsum(dtype=np.float32)
    return int(np.searchsorted(cumulative, rng.random(dtype=np.float32) * cumulative[-1], side="right"))


def _with_single_coin(weights: Array, rng: Generator) -> int:
    return inverted(weights, rng.random(dtype=np.float32))


def until_another(tokens: Iterable[int], drafts: Array) -> list[int]:
    """Tokens up to the first that is not the draft; they are asked for one by one."""
    found = list[int]()
    for token, x in zip(tokens, [*drafts.tolist(), -1], strict=False):
        found.append(token)
        if token != x:
            break
    return found


DRAWS: dict[str, Draw] = {
    "inverse CDF": by_inverse,
    "sorted": sorted_first,
    "alias table": by_alias,
    "Gumbel noise": by_gumbel,
    "exponential race": by_race,
    "multinomial": by_multinomial,
}

# Verifiers ---------------------------------------------------------------------------------------------------------


def _below(p: float, q: float, rng: Generator) -> bool:
    """Whether a coin is below p/q."""
    return bool(rng.random() * q < p)


def in_turn(draw: Draw, left: Left | None = None, kept: Kept = _below) -> Function:
    """The loop of the papers, with this draw of a token, of one from what is left, and this coin for a draft."""

    def verify(p: Array, q: Array, drafts: Array, rng: Generator) -> list[int]:
        for i, x in enumerate(drafts.tolist()):
            if not kept(p[i, x], q[i, x], rng):
                token = left(p[i], q[i], rng) if left else draw(excess(p[i], q[i]), rng)
                return [*drafts[:i].tolist(), token]
        return [*drafts.tolist(), draw(p[len(drafts)], rng)]

    return verify


def matched(draw: Draw) -> Function:
    """Plain draws from p, up to the first that is not the draft."""
    return lambda p, q, drafts, rng: until_another((draw(row, rng) for row in p), drafts)


def _coupled(p: Array, q: Array, x: int, uniform: float) -> int:
    """The token of p at the quantile that a draft has under q."""
    upto = q.cumsum(dtype=np.float64)
    low = float(upto[x] - q[x])
    return inverted(p, min(max((low + uniform * float(q[x])) / float(upto[-1]), 0.0), 1 - 2.0**-53))


def coupled(p: Array, q: Array, drafts: Array, uniforms: Iterable[float]) -> list[int]:
    """Each draft has a uniform quantile under q; what comes out has the same one under p."""

    def tokens() -> Iterator[int]:
        coins = iter(uniforms)
        for i, x in enumerate(drafts.tolist()):
            yield _coupled(p[i], q[i], x, float(next(coins)))
        yield inverted(p[len(drafts)], next(coins))

    return until_another(tokens(), drafts)


def by_quantiles(p: Array, q: Array, drafts: Array, rng: Generator) -> list[int]:
    """Quantile coupling, with a coin at a time."""
    return coupled(p, q, drafts, (rng.random() for _ in p))


def _above(p: Array, q: Array, rng: Generator) -> int:
    """The residual by draws from p, each kept with its part that is above q."""
    if not (p > q).any():  # rounding has left nothing
        return by_inverse(p, rng)
    upto = p.cumsum()
    while True:
        x = int(np.searchsorted(upto, rng.random() * upto[-1], side="right"))
        if x < len(p) and rng.random() * p[x] < p[x] - q[x]:
            return x


def all_coins_at_once(p: Array, q: Array, drafts: Array, rng: Generator) -> Array:
    """Vectorised: every coin and every residual, of which one is used."""
    i = np.arange(len(drafts))
    kept = rng.random(len(drafts)) * q[i, drafts] < p[i, drafts]
    count = int(kept.argmin()) if not kept.all() else len(drafts)
    over = np.maximum(p[:-1] - q, 0)
    rows = np.concatenate([np.where(over.any(axis=1, keepdims=True), over, p[:-1]), p[-1:]])
    return np.append(drafts[:count], inverted(rows[count], rng.random()))


def in_single_precision(p: Array, q: Array, drafts: Array, rng: Generator) -> list[int]:
    """Everything in float32, coins included."""
    verify = in_turn(_with_single_coin, kept=lambda p, q, rng: rng.random(dtype=np.float32) * q < p)
    return list(verify(p.astype(np.float32), q.astype(np.float32), drafts, rng))


def _later(p: float, q: float, rng: Generator) -> bool:
    """An exponential coin against the log ratio."""
    with np.errstate(divide="ignore"):
        return not -rng.standard_exponential() >= np.log(p) - np.log(q)


def padded(p: Array, q: Array, drafts: Array, rng: Generator) -> Array:
    """Pads the vocabulary to a multiple of eight with tokens without mass."""
    more = ((0, 0), (0, -p.shape[1] % 8))
    return all_coins_at_once(np.pad(p, more), np.pad(q, more), drafts, rng)


class GeneratorRandomness(Randomness):
    """The decisions of a verifier from a generator."""

    def __init__(self, rng: Generator) -> None:
        self.rng = rng

    def accept(self, probability: Array, position: Array, lane: int = 0) -> Array:
        return np.asarray(self.rng.random(probability.shape) < probability)

    def accept_prefix(self, probability: Array, position: Array) -> Array:
        return np.asarray(self.accept(probability, position).cumprod(axis=1).sum(axis=1))

    def _no_drafts(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("a verifier draws no drafts")

    draw = draw_fixed = draw_raced = unseen = _no_drafts


def block_verification(p: Array, q: Array, drafts: Array, rng: Generator) -> list[int]:
    """Block verification (:class:`simlab.decoders.Block`): another lossless coupling."""
    if len(drafts) == 0:
        return [by_inverse(p[0], rng)]
    first = np.zeros(1, np.int64)
    block = Block(len(drafts))
    count, row = block.verify(Speculative(), p[None], q[None], drafts[None], GeneratorRandomness(rng), first)
    return [*drafts[: count[0]].tolist(), by_inverse(row[0], rng)]


class Buffered:
    """Draws many uniforms at a time and keeps what is left for later calls: hidden state, but lossless."""

    def __init__(self, size: int = 1024) -> None:
        self.size = size
        self.left: list[float] = []

    def random(self) -> float:
        """The next one, as of a generator."""
        return self.left.pop()

    def __call__(self, p: Array, q: Array, drafts: Array, rng: Generator) -> list[int]:
        if len(self.left) < len(p):
            self.left = rng.random(self.size).tolist()
        return list(in_turn(by_inverse)(p, q, drafts, self))


VERIFIERS: dict[str, Function] = {
    **{name: in_turn(draw) for name, draw in DRAWS.items() if name != "inverse CDF"},
    "all coins and residuals at once": all_coins_at_once,
    "exponential coins and Gumbel noise": in_turn(by_gumbel, kept=_later),  # independent streams, none of them uniform
    "padded vocabulary": padded,
    "uniforms kept for later calls": Buffered(),
    "quantile coupling": by_quantiles,
    "acceptance-rejection residual": in_turn(by_inverse, _above),
    "single precision": in_single_precision,
    "plain draws from p": matched(by_inverse),
    "plain draws from p in single precision": matched(single_draw),
    "block verification": block_verification,
}

# Other contracts ---------------------------------------------------------------------------------------------------


def _each(verify: Function) -> Function:
    """One verifier for every sequence."""

    def verify_batch(p: Array, q: Array, drafts: Array, rng: Generator) -> list[list[int]]:
        gammas = (drafts >= 0).sum(axis=1).tolist()
        return [verify(p[b, : n + 1], q[b, :n], drafts[b, :n], rng) for b, n in enumerate(gammas)]

    return verify_batch


def _drafting(draw: Draw) -> Function:
    return lambda q, rng: [draw(row, rng) for row in q]


def _candidates(draw: Draw) -> Function:
    """Candidates in turn, then what is left of p with this draw."""

    def verify(p: Array, q: Array, candidates: Array, rng: Generator) -> list[int]:
        rest, left = p, q
        for x in candidates.tolist():
            if rng.random() * left[x] < rest[x]:
                return [x]
            rest, left = left_of_p(rest, left), without(left, x)
        return [draw(rest, rng)]

    return verify


def _one_by_one(draw: Draw) -> Function:
    """Tokens of a model in turn."""

    def decode(model: Any, length: int, rng: Generator, eos: int | None = None) -> list[int]:
        tokens = list[int]()
        while len(tokens) < length and (eos is None or eos not in tokens):
            tokens.append(draw(model(tuple(tokens)), rng))
        return tokens

    return decode


def _chain_sorted(p: Array, q: Array, drafts: Array, uniforms: Array, uniform: Any) -> list[int]:
    """The likeliest tokens first in the CDF."""
    kept = next((i for i, x in enumerate(drafts.tolist()) if not uniforms[i] * q[i, x] < p[i, x]), len(drafts))
    weights = excess(p[kept], q[kept]) if kept < len(drafts) else p[kept]
    return [*drafts[:kept].tolist(), _sorted_token(weights, uniform)]


def _chain_coupled(p: Array, q: Array, drafts: Array, uniforms: Array, uniform: Any) -> list[int]:
    """Quantile coupling with the coins of the drafts."""
    return coupled(p, q, drafts, [*uniforms, uniform])


def _own_draws(q: Array, drafts: Array, uniforms: Array, p: Array) -> Array:
    """The target's own draws for every sequence, up to the first that is not the draft."""
    tokens = np.full(p.shape[:2], -1)
    for b, row in enumerate(drafts):
        found = until_another((inverted(p[b, i], uniforms[b, i]) for i in range(p.shape[1])), row)
        tokens[b, : len(found)] = found
    return tokens


def _raced_tokens(p: Array, q: Array, drafts: Array, uniforms: Array, exponential: Array) -> list[int]:
    """The target's own draws by a race for each position."""
    return until_another((p / exponential).argmax(axis=1).tolist(), drafts)


def _of_logits(contract: str) -> Function:
    """Rows are made of logits in the way of a contract, and verified by a chain."""

    def verify(target: Array, draft: Array, drafts: Array, uniforms: Array, uniform: Any, *settings: Any) -> Any:
        p, q = (FILTERS[contract](softmax(logits), Settings(*settings)) for logits in (target, draft))
        return _chain_sorted(p, q, drafts, uniforms, uniform)

    return verify


def _mass_up_to(p: Array, tokens: Array, parents: Array, uniforms: Array, uniform: Any) -> list[int]:
    """Siblings of a tree are compared with one coin, each with the mass up to it."""
    node, path, asked = 0, list[int](), 0
    while True:
        rest, upto, children = p[node].astype(np.float64), 0.0, np.flatnonzero(parents == node).tolist()
        for child in children:
            upto += float(rest[tokens[child]])
            if uniforms[asked] < upto:
                break
            rest[tokens[child]] = 0
        else:
            return [*path, inverted(rest if rest.any() else p[node], uniform)]
        path.append(int(tokens[child]))
        node, asked = child, asked + 1


def _made() -> dict[str, dict[str, Function]]:
    found = {name: {"the reference": reference(name)} | variants(name) for name in CONTRACTS}
    found["verify"] |= VERIFIERS
    found["verify_batch"] |= {name: _each(verify) for name, verify in VERIFIERS.items()}
    found["draft"] |= {name: _drafting(draw) for name, draw in DRAWS.items()}
    found["draft"]["single precision"] = _drafting(single_draw)
    found["verify_candidates"] |= {name: _candidates(draw) for name, draw in DRAWS.items()}
    found["verify_candidates"]["plain draws from p"] = lambda p, q, candidates, rng: [by_inverse(p, rng)]
    found["verify_candidates"]["plain draws in single precision"] = lambda p, q, drawn, rng: [single_draw(p, rng)]
    found["decode"]["one token at a time"] = _one_by_one(by_inverse)
    found["decode"]["one token at a time, in single precision"] = _one_by_one(single_draw)
    found["chain_uniforms"] |= {"sorted": _chain_sorted, "quantile coupling": _chain_coupled}
    found["chain_exponential"]["sampler match by races"] = _raced_tokens
    found["batch_uniforms"]["plain draws from p"] = _own_draws
    found["tree_parents"]["one coin and the mass up to each sibling"] = _mass_up_to
    for name in FILTERS:
        found[name]["sorted"] = _of_logits(name)
    return found


CORRECT: dict[str, dict[str, Function]] = _made()
