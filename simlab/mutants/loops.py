"""Decoders of whole sequences that keep blocks of drafts: right ones, and with bugs that were seen in real ones.

A decoder here is a :class:`Loop`: a step that emits at least one token, taken until the sequence is over. Steps ask
their chance of :class:`~simlab.randomness.coins.Coins`, so that each can be run, and has an exact output law:
states that are alike are merged. The drafts are of the decoder's own making: the model one token ago, flattened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.blocks import Tokens
from simlab.mutants.verifiers import Accept, Residual, excess, ratio
from simlab.randomness.coins import Coins, SampledCoins, outcomes

GAMMA = 2  # drafts of a block

Model = Callable[[Tokens], Array]
Decode = Callable[..., Tokens]
Change = Callable[[Array], Array]
Target = Callable[[Model, Tokens, int], Array]
Bonus = Callable[[Model, Tokens, Array, Array, int], Array]


class Asked(NamedTuple):
    """What a decoder is asked: a sequence of ``length`` tokens of ``model``, or up to the token ``eos``."""

    model: Model
    length: int
    eos: int | None

    def cut(self, tokens: Tokens) -> Tokens:
        """Tokens up to the end of the sequence."""
        ends = tokens.index(self.eos) + 1 if self.eos in tokens else len(tokens)
        return tokens[: min(ends, self.length)]

    def over(self, tokens: Tokens) -> bool:
        """Whether the sequence is complete."""
        return len(tokens) >= self.length or self.eos in tokens


class Kept(NamedTuple):
    """A draft for the next step; its q is the model's row after ``label``, or that of an initial token."""

    token: int
    label: Tokens | None


class State(NamedTuple):
    """What is emitted, what the decoder takes for it, and a draft it kept."""

    tokens: Tokens
    context: Tokens
    kept: Kept | None = None


Step = Callable[[Asked, State, Coins], State]
Around = Callable[[Coins, list[Any]], Coins]


@dataclass(frozen=True)
class Loop:
    """A decoder: ``step`` until the sequence is over. ``around`` makes the coins of a step, with what others left."""

    step: Step
    around: Around | None = None

    def run(self, asked: Asked, coins: Coins) -> Tokens:
        """One sequence."""
        state, left = State((), ()), list[Any]()
        while not asked.over(state.tokens):
            state = self.step(asked, state, self.around(coins, left) if self.around else coins)
        return state.tokens

    def law(self, asked: Asked) -> dict[Tokens, float]:
        """The probability of every sequence."""
        if self.around:  # steps are not independent
            return outcomes(partial(self.run, asked))
        law: dict[Tokens, float] = {}
        waiting = {State((), ()): 1.0}
        while waiting:
            state = min(waiting, key=lambda state: len(state.tokens))  # none that comes later leads back to it
            weight = waiting.pop(state)
            if asked.over(state.tokens):
                law[state.tokens] = law.get(state.tokens, 0.0) + weight
                continue
            for after, probability in outcomes(partial(self.step, asked, state)).items():
                waiting[after] = waiting.get(after, 0.0) + weight * probability
        return law


def playing(loop: Loop) -> Decode:
    """A loop as a callable of the contract."""

    def decode(model: Model, length: int, rng: np.random.Generator, eos: int | None = None) -> Tokens:
        return loop.run(Asked(model, length, eos), SampledCoins(rng))

    return decode


def emit(asked: Asked, state: State, new: Tokens, seen: Tokens | None = None, kept: Kept | None = None) -> State:
    """``new`` is emitted, and ``seen``, if it is another, taken for it."""
    tokens = asked.cut((*state.tokens, *new))
    over = asked.over(tokens)
    return State(tokens, () if over else (*state.context, *(new if seen is None else seen)), None if over else kept)


# A block of drafts ---------------------------------------------------------------------------------------------


def drafted(model: Model, context: Tokens) -> Array:
    """q: the model one token ago, mixed with the uniform row, which it is at the beginning."""
    row = model(context[:-1])
    return np.asarray(0.6 * row + 0.4 / len(row)) if context else np.full(len(row), 1 / len(row))


def _after(model: Model, context: Tokens, x: int) -> Array:
    return model(context)


def _behind(model: Model, context: Tokens, p: Array, q: Array, x: int) -> Array:
    return model(context)


def _same(rows: Array) -> Array:
    return rows


def speculative(
    drawn: Change = _same,
    scored: Change = _same,
    target: Target = _after,
    accept: Accept = ratio,
    residual: Residual = excess,
    bonus: Bonus = _behind,
) -> Step:
    """Drafts are ``drawn`` and ``scored`` in turn; the first rejected one is replaced, else a bonus is added."""

    def step(asked: Asked, state: State, coins: Coins) -> State:
        context, new = state.context, Tokens()
        for _ in range(GAMMA):
            q = drafted(asked.model, context)
            x = coins.draw(drawn(q))
            q, p = scored(q), target(asked.model, context, x)
            if not coins.coin(accept(p, q, x)):
                return emit(asked, state, (*new, coins.draw(residual(p, q, x))))
            context, new = (*context, x), (*new, x)
        return emit(asked, state, (*new, coins.draw(bonus(asked.model, context, p, q, x))))

    return step


def top(row: Array) -> Array:
    return np.eye(len(row))[int(row.argmax())]


def early(model: Model, context: Tokens, x: int) -> Array:
    return model(context[:-1])


def late(model: Model, context: Tokens, x: int) -> Array:
    return model((*context, x))


def elsewhere(model: Model, context: Tokens, x: int) -> Array:
    size = len(model(()))
    return model(tuple((token + 1) % size for token in context))


def by_argmax(p: Array, q: Array, x: int) -> float:
    return float(x == int(p.argmax()))


def without_small(p: Array, q: Array, x: int) -> Array:
    weights = excess(p, q, x)
    return np.where(weights < 0.05, 0, weights) if (weights >= 0.05).any() else weights


def of_residual(model: Model, context: Tokens, p: Array, q: Array, x: int) -> Array:
    return excess(p, q, x)


# Blocks that end differently -----------------------------------------------------------------------------------


class _Verified(NamedTuple):
    """Drafts that were kept, the context behind them, and p, q and draft of the one rejected, if one was."""

    kept: Tokens
    context: Tokens
    rejected: tuple[Array, Array, int] | None


def _verified(asked: Asked, state: State, coins: Coins, context: Tokens | None = None, most: int = GAMMA) -> _Verified:
    context = state.context if context is None else context
    kept: Tokens = ()
    while len(kept) < most:
        p, q = asked.model(context), drafted(asked.model, context)
        x = coins.draw(q)
        if not coins.coin(ratio(p, q, x)):
            return _Verified(kept, context, (p, q, x))
        kept, context = (*kept, x), (*context, x)
    return _Verified(kept, context, None)


def _last(asked: Asked, found: _Verified, coins: Coins) -> int:
    return coins.draw(excess(*found.rejected) if found.rejected else asked.model(found.context))


def unverified(asked: Asked, state: State, coins: Coins) -> State:
    first = coins.draw(drafted(asked.model, state.context))
    found = _verified(asked, state, coins, (*state.context, first), GAMMA - 1)
    return emit(asked, state, (first, *found.kept, _last(asked, found, coins)))


def one_too_many(asked: Asked, state: State, coins: Coins) -> State:
    found = _verified(asked, state, coins)
    wrong = () if found.rejected is None else (found.rejected[2],)
    return emit(asked, state, (*found.kept, *wrong, coins.draw(asked.model((*found.context, *wrong)))))


def one_too_few(asked: Asked, state: State, coins: Coins) -> State:
    found = _verified(asked, state, coins)
    if not found.kept or found.rejected is None:
        return emit(asked, state, (*found.kept, _last(asked, found, coins)))
    before = found.context[:-1]
    weights = excess(asked.model(before), drafted(asked.model, before), found.kept[-1])
    return emit(asked, state, (*found.kept[:-1], coins.draw(weights)))


def bonus_not_emitted(asked: Asked, state: State, coins: Coins) -> State:
    found = _verified(asked, state, coins)
    last = _last(asked, found, coins)
    new = (*found.kept, last) if found.rejected else found.kept
    return emit(asked, state, new, (*found.kept, last))


def bonus_twice(asked: Asked, state: State, coins: Coins) -> State:
    found = _verified(asked, state, coins)
    last = _last(asked, found, coins)
    return emit(asked, state, (*found.kept, last) if found.rejected else (*found.kept, last, last))


def rejected_in_cache(asked: Asked, state: State, coins: Coins) -> State:
    found = _verified(asked, state, coins)
    last = _last(asked, found, coins)
    seen = last if found.rejected is None else found.rejected[2]
    return emit(asked, state, (*found.kept, last), (*found.kept, seen))


def end_missed(asked: Asked, state: State, coins: Coins) -> State:
    """Only the last token of a block is looked at: what was drafted behind the end is emitted."""
    found = _verified(asked, state, coins)
    new = (*found.kept, _last(asked, found, coins))
    return State((*state.tokens, *new)[: asked.length], (*state.context, *new))


def end_dropped(asked: Asked, state: State, coins: Coins) -> State:
    """An end inside a block is taken out, and decoding goes on."""
    found = _verified(asked, state, coins)
    new = (*(token for token in found.kept if token != asked.eos), _last(asked, found, coins))
    return emit(asked, state, new)


def unlikely_not_verified(asked: Asked, state: State, coins: Coins) -> State:
    """Drafting ends at a draft that q holds unlikely, and a token of p takes its place."""
    context, new = state.context, Tokens()
    for _ in range(GAMMA):
        p, q = asked.model(context), drafted(asked.model, context)
        x = coins.draw(q)
        if q[x] < 0.6 * q.max():
            return emit(asked, state, (*new, coins.draw(p)))
        if not coins.coin(ratio(p, q, x)):
            return emit(asked, state, (*new, coins.draw(excess(p, q, x))))
        context, new = (*context, x), (*new, x)
    return emit(asked, state, (*new, coins.draw(asked.model(context))))


def unlikely_verified(asked: Asked, state: State, coins: Coins) -> State:
    """Drafting ends behind a draft that q holds unlikely, which is verified like any other."""
    first = _verified(asked, state, coins, most=1)
    if first.rejected or drafted(asked.model, state.context)[first.kept[0]] < 0.6:
        return emit(asked, state, (*first.kept, _last(asked, first, coins)))
    more = _verified(asked, state, coins, first.context, 1)
    return emit(asked, state, (*first.kept, *more.kept, _last(asked, more, coins)))


def residual_of_the_coin(asked: Asked, state: State, coins: Coins) -> State:
    context, new = state.context, Tokens()
    for _ in range(GAMMA):
        p, q = asked.model(context), drafted(asked.model, context)
        x, uniform = coins.draw(q), coins.uniform()
        if not coins.below(uniform, ratio(p, q, x)):
            return emit(asked, state, (*new, coins.invert(uniform, excess(p, q, x))))
        context, new = (*context, x), (*new, x)
    return emit(asked, state, (*new, coins.draw(asked.model(context))))


def own_draw(asked: Asked, state: State, coins: Coins) -> State:
    """The target's own draw is emitted; where it is the draft, the block goes on."""
    context, new = state.context, Tokens()
    for _ in range(GAMMA):
        x, own = coins.draw(drafted(asked.model, context)), coins.draw(asked.model(context))
        context, new = (*context, own), (*new, own)
        if own != x:
            break
    return emit(asked, state, new)


def one_by_one(asked: Asked, state: State, coins: Coins) -> State:
    return emit(asked, state, (coins.draw(asked.model(state.context)),))


# Coins that are not new ----------------------------------------------------------------------------------------


class _Shared(Coins):
    """Coins of ``coins``, some of which are those that ``left`` holds."""

    def __init__(self, coins: Coins, left: list[Any]) -> None:
        self.coins, self.left, self.asked = coins, left, 0

    def uniform(self) -> Any:
        return self.coins.uniform()

    def below(self, uniform: Any, threshold: float) -> bool:
        return self.coins.below(uniform, threshold)

    def invert(self, uniform: Any, weights: Array) -> int:
        return self.coins.invert(uniform, weights)

    def _held(self, place: int) -> Any:
        while len(self.left) <= place:
            self.left.append(self.coins.uniform())
        return self.left[place]


class Reseeded(_Shared):
    """Every step begins with the same uniforms."""

    def uniform(self) -> Any:
        self.asked += 1
        return self._held(self.asked - 1)


class OneCoin(_Shared):
    """One uniform for every coin; draws have their own."""

    def coin(self, probability: float) -> bool:
        return self.below(self._held(0), probability)


def one_coin_a_block(asked: Asked, state: State, coins: Coins) -> State:
    return RIGHT(asked, state, OneCoin(coins, []))


RIGHT = speculative()
