"""Sequence decoders over coins that verify blocks of drafts: right ones, and bugs seen in real implementations.

A decoder here is a :class:`Loop`: a step that emits at least one token, taken until the sequence is complete. Steps ask
their randomness of :class:`~simlab.randomness.coins.Coins`, so that each can be run and has an exact output law, for
which equal states are merged. Most are :func:`speculative` with a verifier of :mod:`simlab.mutants.verifiers`; the
draft model is the target one token ago, flattened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from simlab.arrays import Array
from simlab.mutants.base import LOSSLESS, Tokens
from simlab.mutants.verifiers import Verify, lossless
from simlab.randomness.coins import Coins, SampledCoins, outcomes

GAMMA = 2  # drafts of a block

Model = Callable[[Tokens], Array]
Decode = Callable[..., Tokens]
Change = Callable[[Array], Array]
Target = Callable[[Model, Tokens, int], Array]


class Request(NamedTuple):
    """A sequence to decode: ``length`` tokens of ``model``, or fewer where the last is the token ``eos``."""

    model: Model
    length: int
    eos: int | None

    def cut(self, tokens: Tokens) -> Tokens:
        """Tokens up to the end of the sequence."""
        ends = tokens.index(self.eos) + 1 if self.eos in tokens else len(tokens)
        return tokens[: min(ends, self.length)]

    def complete(self, tokens: Tokens) -> bool:
        """Whether the sequence has ended."""
        return len(tokens) >= self.length or self.eos in tokens


class Carried(NamedTuple):
    """A draft for the next step; its q is the model's row after ``context``, or that of an initial token."""

    token: int
    context: Tokens | None


class State(NamedTuple):
    """The tokens emitted, the context that the decoder takes for them, and a draft it carries on."""

    tokens: Tokens
    context: Tokens
    carried: Carried | None = None


Step = Callable[[Request, State, Coins], State]
Around = Callable[[Coins, list[Any]], Coins]


@dataclass(frozen=True)
class Loop:
    """A decoder: ``step`` until the sequence is complete.

    ``around`` makes the coins of a step from new ones and from the uniforms that earlier steps left.
    """

    step: Step
    around: Around | None = None

    def run(self, request: Request, coins: Coins) -> Tokens:
        """One sequence."""
        state, left = State((), ()), list[Any]()
        while not request.complete(state.tokens):
            state = self.step(request, state, self.around(coins, left) if self.around else coins)
        return state.tokens

    def law(self, request: Request) -> dict[Tokens, float]:
        """The probability of every sequence."""
        if self.around:  # steps are not independent
            return outcomes(partial(self.run, request))
        law: dict[Tokens, float] = {}
        waiting = {State((), ()): 1.0}
        while waiting:
            state = min(waiting, key=lambda state: len(state.tokens))  # none that comes later leads back to it
            weight = waiting.pop(state)
            if request.complete(state.tokens):
                law[state.tokens] = law.get(state.tokens, 0.0) + weight
                continue
            for after, probability in outcomes(partial(self.step, request, state)).items():
                waiting[after] = waiting.get(after, 0.0) + weight * probability
        return law


def as_callable(loop: Loop) -> Decode:
    """A loop as a callable of the contract ``decode``."""

    def decode(model: Model, length: int, rng: np.random.Generator, eos: int | None = None) -> Tokens:
        return loop.run(Request(model, length, eos), SampledCoins(rng))

    return decode


def emit(
    request: Request, state: State, new: Tokens, context: Tokens | None = None, carried: Carried | None = None
) -> State:
    """The state after emitting ``new``; ``context``, if it is given, is what the decoder takes for it."""
    tokens = request.cut((*state.tokens, *new))
    if request.complete(tokens):
        return State(tokens, ())
    return State(tokens, (*state.context, *(new if context is None else context)), carried)


# A block of drafts ---------------------------------------------------------------------------------------------


def drafted(model: Model, context: Tokens) -> Array:
    """q: the model one token ago, mixed with the uniform row, which it is at the beginning."""
    row = model(context[:-1])
    return np.asarray(0.6 * row + 0.4 / len(row)) if context else np.full(len(row), 1 / len(row))


def unchanged(row: Array) -> Array:
    """The row as it is."""
    return row


def of_context(model: Model, context: Tokens, x: int) -> Array:
    """The row p that a draft x is verified with."""
    return model(context)


class Drafts(NamedTuple):
    """A block: p ``[gamma + 1, V]``, q ``[gamma, V]`` and the drafts ``[gamma]``."""

    p: Array
    q: Array
    x: Array


def draft_block(
    request: Request,
    context: Tokens,
    coins: Coins,
    drawn: Change = unchanged,
    scored: Change = unchanged,
    target: Target = of_context,
    least: float = 0.0,
) -> Drafts:
    """Draft up to ``GAMMA`` tokens.

    Drafts are ``drawn`` from a change of q and ``scored`` with another, each with the row that ``target`` gives;
    drafting ends after one whose q is below ``least``.
    """
    p, q, x = list[Array](), list[Array](), list[int]()
    while len(x) < GAMMA:
        row = drafted(request.model, context)
        x.append(coins.draw(drawn(row)))
        q.append(scored(row))
        p.append(target(request.model, context, x[-1]))
        context = (*context, x[-1])
        if row[x[-1]] < least:
            break
    return Drafts(np.stack([*p, request.model(context)]), np.stack(q), np.array(x))


def speculative(verify: Verify = lossless, **drafting: Any) -> Step:
    """A step that drafts a block and emits what ``verify`` makes of it; for ``drafting`` see :func:`draft_block`."""

    def step(request: Request, state: State, coins: Coins) -> State:
        block = draft_block(request, state.context, coins, **drafting)
        return emit(request, state, verify(*block, coins))

    return step


def top(row: Array) -> Array:
    """All mass on the likeliest token."""
    return np.eye(len(row))[int(row.argmax())]


def early(model: Model, context: Tokens, x: int) -> Array:
    """The row of the position before."""
    return model(context[:-1])


def late(model: Model, context: Tokens, x: int) -> Array:
    """The row of the position after."""
    return model((*context, x))


def elsewhere(model: Model, context: Tokens, x: int) -> Array:
    """The row of another context."""
    size = len(model(()))
    return model(tuple((token + 1) % size for token in context))


def without_small(p: Array, q: Array, drafts: Array, coins: Coins) -> Tokens:
    """Verifies with a residual whose masses below 0.05 are lost."""
    for i, x in enumerate(drafts.tolist()):
        if not coins.coin(LOSSLESS.accept(p[i], q[i], x)):
            weights = LOSSLESS.residual(p[i], q[i], x)
            large = np.where(weights < 0.05, 0, weights)
            return (*drafts[:i].tolist(), coins.draw(large if large.any() else weights))
    return (*drafts.tolist(), coins.draw(p[-1]))


# What is done with the tokens of a block -----------------------------------------------------------------------


def bonus_not_emitted(request: Request, state: State, coins: Coins) -> State:
    """The bonus token goes into the context, but is not emitted."""
    tokens = lossless(*draft_block(request, state.context, coins), coins)
    return emit(request, state, tokens[:GAMMA], tokens)


def rejected_in_cache(request: Request, state: State, coins: Coins) -> State:
    """The context holds the rejected draft in place of the token that was emitted for it."""
    block = draft_block(request, state.context, coins)
    tokens = lossless(*block, coins)
    wrong = (*tokens[:-1], int(block.x[len(tokens) - 1])) if len(tokens) <= GAMMA else tokens
    return emit(request, state, tokens, wrong)


def end_missed(request: Request, state: State, coins: Coins) -> State:
    """Only the last token of a block may end the sequence: what was drafted behind the end is emitted."""
    tokens = lossless(*draft_block(request, state.context, coins), coins)
    return State((*state.tokens, *tokens)[: request.length], (*state.context, *tokens))


def end_dropped(request: Request, state: State, coins: Coins) -> State:
    """An end inside a block is taken out, and decoding goes on."""
    *accepted, last = lossless(*draft_block(request, state.context, coins), coins)
    return emit(request, state, (*(token for token in accepted if token != request.eos), last))


def one_by_one(request: Request, state: State, coins: Coins) -> State:
    """One token of the model."""
    return emit(request, state, (coins.draw(request.model(state.context)),))


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
    """One uniform for every acceptance; draws have their own."""

    def coin(self, probability: float) -> bool:
        return self.below(self._held(0), probability)


RIGHT = speculative()
