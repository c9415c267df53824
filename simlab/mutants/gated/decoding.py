"""A decoder of sequences, written once: blocks of drafts of the model one token ago, verified as a chain is.

A gate's position is the place in the sequence, gamma the length that is asked for. Beside blocks there are trees of
two candidates, and windows of two drafts that the target itself drafts anew, as in speculative Jacobi decoding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from simlab.arrays import Array
from simlab.mutants.gated import candidates, chain_faults, chains
from simlab.mutants.gated.base import (
    GENERATOR,
    Block,
    Call,
    Generated,
    OverCoins,
    Source,
    Wrong,
    excess,
    over,
    perturbed,
)
from simlab.mutants.gated.chain_faults import sharpened
from simlab.mutants.gated.chains import ChainFault, emitted
from simlab.mutants.gated.weights import even, greedy
from simlab.randomness.coins import Coins, outcomes

GAMMA = 2  # drafts of a block
Tokens = tuple[int, ...]
Model = Callable[[Tokens], Array]

# A sequence and its states -----------------------------------------------------------------------------------------


class Request(NamedTuple):
    """A sequence to decode: ``length`` tokens of ``model``, or fewer where the last is the token ``eos``."""

    model: Model
    length: int
    eos: int | None = None

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

    tokens: Tokens = ()
    context: Tokens = ()
    carried: Carried | None = None


Step = Callable[[Request, State, Source, Wrong, Call], State]


def emit(
    request: Request, state: State, new: Any, context: Tokens | None = None, carried: Carried | None = None
) -> State:
    """The state after emitting ``new``; ``context``, if it is given, is what the decoder takes for it."""
    tokens = request.cut((*state.tokens, *new))
    if request.complete(tokens):
        return State(tokens)
    return State(tokens, (*state.context, *(new if context is None else context)), carried)


# Faults ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DecodeFault(ChainFault):
    """Where a fault acts, beside those of a chain."""

    step: Step | None = None  # how tokens are made, where it is not in blocks
    drawn: Callable[[Array], Array] | None = None  # the row that a draft is drawn from, of its q
    target: Callable[[Model, Tokens], Array] | None = None  # the row p of a model after a context
    # what becomes of the tokens that come of a block
    after: Callable[[Request, State, Block, list[int]], State] | None = None
    lasting: bool = False  # whether coins of a block are used in later ones, so that blocks are not independent


def drafted(model: Model, context: Tokens) -> Array:
    """q: the model one token ago, mixed with an even row over its tokens, which it is at the beginning."""
    row = model(context[:-1])
    there = even(row) / np.count_nonzero(row)
    return np.asarray(0.6 * row + 0.4 * there) if context else there


def in_blocks(request: Request, state: State, source: Source, wrong: Wrong, call: Call) -> State:
    """A block of drafts behind the context, and what its verifier emits."""
    fault: DecodeFault = wrong.fault
    context, block = state.context, _next(request, state, call)
    p, q, drafts = list[Array](), list[Array](), list[int]()
    inside = (fault.drawn or fault.target or fault.after) and bool(wrong.inside(block, 0))
    target = fault.target if fault.target and inside else _itself
    for i in range(min(GAMMA, request.length - block.start)):
        p.append(target(request.model, context))
        q.append(drafted(request.model, context))
        row = fault.drawn(q[-1]) if fault.drawn and inside else q[-1]
        drafts.append(source.token(source.last(block, i), row))
        context = (*context, drafts[-1])
    block.p, block.drafts = np.stack([*p, target(request.model, context)]), np.array(drafts, np.int64)
    block.q = np.stack(q)
    call.blocks.append(block)
    tokens = emitted(block, source, wrong)
    return fault.after(request, state, block, tokens) if fault.after and inside else emit(request, state, tokens)


def _next(request: Request, state: State, call: Call) -> Block:
    """The block that begins at the next token, without drafts as yet."""
    row = request.model(state.context)[None]
    return Block(row, None, np.zeros(0, np.int64), call, start=len(state.tokens), length=request.length)


def _itself(model: Model, context: Tokens) -> Array:
    return model(context)


def step(
    model: Model, prefix: Tokens, length: int, source: Source, wrong: Wrong, number: int, eos: int | None = None
) -> list[int]:
    """What a step behind a prefix emits."""
    request, state = Request(model, length, eos), State(prefix, prefix)
    return list(_step(request, state, source, wrong, Call(number)).tokens[len(prefix) :])


def _step(request: Request, state: State, source: Source, wrong: Wrong, call: Call) -> State:
    """The step of the fault where its gate is open, and a block elsewhere."""
    taken = wrong.fault.step if wrong.fault.step and _inside(request, state, wrong, call) else in_blocks
    return taken(request, state, source, wrong, call)


def _inside(request: Request, state: State, wrong: Wrong, call: Call) -> bool:
    """Whether a gate is open at the next token."""
    return bool(wrong.inside(_next(request, state, call), 0))


def law(request: Request, wrong: Wrong) -> dict[Tokens, float]:
    """The probability of every sequence, step by step; equal states are merged, unless coins outlast a step."""
    if wrong.fault.lasting:
        return outcomes(lambda coins: _decoded(request, OverCoins(coins), wrong))
    found: dict[Tokens, float] = {}
    waiting = {State(): 1.0}
    while waiting:
        state = min(waiting, key=lambda state: len(state.tokens))  # none that comes later leads back to it
        weight = waiting.pop(state)
        if request.complete(state.tokens):
            found[state.tokens] = found.get(state.tokens, 0.0) + weight
            continue
        for after, probability in outcomes(partial(_stepped, request, state, wrong)).items():
            waiting[after] = waiting.get(after, 0.0) + weight * probability
    return found


def _stepped(request: Request, state: State, wrong: Wrong, coins: Coins) -> State:
    return _step(request, state, OverCoins(coins), wrong, Call())


def _decoded(request: Request, source: Source, wrong: Wrong, number: int = 0) -> Tokens:
    """A sequence, in the call of this number."""
    state, before = State(), Call()
    streams, blocks = wrong.fault.streams, 0
    while not request.complete(state.tokens):
        call, taken = Call(blocks if streams else number, before=before), source
        if streams and isinstance(source, Generated) and _inside(request, state, wrong, call):
            taken = Generated(streams(call, source.rng))
        state = _step(request, state, taken, wrong, call)
        before, blocks = Call(seed=call.seed, uniforms=call.uniforms), blocks + 1
    return state.tokens


class Decoding:
    """An implementation of ``decode`` with a fault behind a gate; it counts its calls."""

    def __init__(self, wrong: Wrong) -> None:
        self.wrong, self.number = wrong, 0

    def __call__(self, model: Any, length: int, rng: np.random.Generator, eos: int | None = None) -> list[int]:
        tokens = _decoded(Request(model, length, eos), Generated(rng), self.wrong, self.number)
        self.number += 1
        return list(tokens)


# What is done with the tokens of a block ---------------------------------------------------------------------------


def _bonus_not_emitted(request: Request, state: State, block: Block, tokens: list[int]) -> State:
    """The bonus token goes into the context, but is not emitted."""
    return emit(request, state, tokens[: block.gamma] or tokens, tuple(tokens))


def _rejected_in_cache(request: Request, state: State, block: Block, tokens: list[int]) -> State:
    """The context holds the rejected draft in place of the token that was emitted for it."""
    rejected = len(tokens) <= block.gamma
    wrong = [*tokens[:-1], int(block.drafts[len(tokens) - 1])] if rejected else tokens
    return emit(request, state, tokens, tuple(wrong))


def _end_missed(request: Request, state: State, block: Block, tokens: list[int]) -> State:
    """Only the last token of a block may end the sequence: what was drafted behind the end is emitted."""
    return State((*state.tokens, *tokens)[: request.length], (*state.context, *tokens))


def _end_dropped(request: Request, state: State, block: Block, tokens: list[int]) -> State:
    """An end inside a block is taken out, and decoding goes on."""
    return emit(request, state, (*(token for token in tokens[:-1] if token != request.eos), tokens[-1]))


def _one_coin(block: Block, place: Any) -> Any:
    """The first coin of a sequence, in all of its blocks."""
    coins, before = block.call.uniforms, block.call.before
    coins[0] = before.uniforms.get(0, coins[0]) if before else coins[0]
    return [coins[0][0]] * len(place)


def _elsewhere(model: Model, context: Tokens) -> Array:
    """The row of another context."""
    size = len(model(()))
    return model(tuple((token + 1) % size for token in context))


def _stale(model: Model, context: Tokens) -> Array:
    """The row behind a cache in which all tokens but the last two are the first, where there are more than five."""
    return model((context[0],) * (len(context) - 2) + context[-2:] if len(context) > 5 else context)


# Trees: two candidates, and a draft behind the one that was kept -----------------------------------------------------


def in_trees(fault: candidates.CandidateFault = candidates.RIGHT, first: bool = False) -> Step:
    """Verify two candidates with a fault of candidates; the draft goes on behind the one kept, or the ``first``."""

    def tree(request: Request, state: State, source: Source, wrong: Wrong, call: Call) -> State:
        model, context = request.model, state.context
        p, q, drawn = model(context), drafted(model, context), list[int]()
        block, left = call.add(p[None], q[None], np.zeros(0, np.int64)), q
        for k in range(min(2, int(np.count_nonzero(q)))):
            drawn.append(source.token(source.last(block, k), left))
            left = candidates.without(left, drawn[-1])
        block.drafts = np.array(drawn)
        (token,) = candidates.taken(block, source, Wrong(fault))
        behind = (*context, drawn[0] if first and token in drawn else token)
        x = source.token(source.last(block, 0), drafted(model, behind))
        rows = np.stack([model(behind), model((*behind, x))])
        draft = Block(rows, drafted(model, behind)[None], np.array([x]), call)
        return emit(request, state, (token, *emitted(draft, source, Wrong(chains.RIGHT))))

    return tree


# Windows of two drafts -----------------------------------------------------------------------------------------------

Initial = Callable[[Tokens, int, Source, Block], int]
Tail = Callable[[Request, Tokens, int, Source, Block], Carried]


def _anywhere(context: Tokens, size: int, source: Source, block: Block) -> int:
    return source.token(source.last(block, 0), np.ones(size))


def _neighbour(context: Tokens, size: int, source: Source, block: Block) -> int:
    return context[-1] if context else 0


def _evenly(x: int, size: int) -> Array:
    return np.full(size, 1 / size)


def _certain(x: int, size: int) -> Array:
    return (np.arange(size) == x).astype(np.float64)


def _tail(request: Request, context: Tokens, x: int, source: Source, block: Block) -> Carried:
    """A draft of the row behind the draft that was rejected, and of which row it is."""
    return Carried(source.token(source.last(block, 0), request.model(context)), context)


def _relabelled(request: Request, context: Tokens, x: int, source: Source, block: Block) -> Carried:
    return Carried(x, context)


def _old_label(request: Request, context: Tokens, x: int, source: Source, block: Block) -> Carried:
    return _tail(request, context, x, source, block)._replace(context=None)


def in_windows(initial: Initial = _anywhere, scored: Callable[[int, int], Array] = _evenly, tail: Tail = _tail) -> Step:
    """Verify two drafts; behind a rejected one the second is drafted anew by the row it was to be verified with."""

    def window(request: Request, state: State, source: Source, wrong: Wrong, call: Call) -> State:
        context, size = state.context, len(request.model(()))
        block = Block(np.empty((1, size)), None, np.zeros(1, np.int64), call)
        x, label = state.carried or (initial(context, size, source, block), None)
        behind, q = (*context, x), scored(x, size) if label is None else request.model(label)
        second = initial(behind, size, source, block)
        kept, token = _verified(request.model(context), q, x, source, block)
        if not kept:
            return emit(request, state, (token,), carried=tail(request, behind, second, source, block))
        _, token = _verified(request.model(behind), scored(second, size), second, source, block)
        return emit(request, state, (x, token))

    return window


def _verified(p: Array, q: Array, x: int, source: Source, block: Block) -> tuple[bool, int]:
    """Whether a draft is kept, and the token that comes out."""
    if source.accepts(source.uniforms(block)[0], over(p[x], q[x])):
        return True, x
    return False, source.token(source.last(block, 0), excess(p, q))


# Gumbel noise, which no law is computed of ---------------------------------------------------------------------------


def with_noise(shared: bool) -> Step:
    """One token at a time: a draft by Gumbel noise, and its recovery by noise of its own, or the same."""

    def noisy(request: Request, state: State, source: Source, wrong: Wrong, call: Call) -> State:
        assert isinstance(source, Generated)
        p, q = request.model(state.context), drafted(request.model, state.context)
        noise = source.rng.gumbel(size=len(p))
        x = perturbed(q, noise)
        if source.rng.random() * q[x] < p[x]:
            return emit(request, state, (x,))
        recovery = noise if shared else source.rng.gumbel(size=len(p))
        return emit(request, state, (perturbed(excess(p, q), recovery),))

    return noisy


# All of them -------------------------------------------------------------------------------------------------------


def _of_chains(fault: ChainFault) -> DecodeFault:
    return DecodeFault(**vars(fault))


TREES = (  # faults of candidates
    "siblings scored with the unconditional q",
    "p not updated between siblings",
    "siblings sorted by q",
    "siblings scored as if they did not exclude the first",
    "siblings share a coin",
)
RIGHT = _of_chains(chains.RIGHT)


def _made() -> tuple[DecodeFault, ...]:
    make = partial(DecodeFault, faint=True)
    of_trees = [candidates.FAULTS[name] for name in TREES]
    return (
        *map(_of_chains, chain_faults.FAULTS.values()),
        make("drafts drawn at temperature 1/2, scored with q as it is", "1", drawn=sharpened),
        make("greedy drafts scored with a soft q", "4", drawn=greedy),
        make("row of p of another context", "9", target=_elsewhere),
        make("bonus token not emitted, but kept in the context", "21", after=_bonus_not_emitted),
        make("rejected token kept in the cache", "23", after=_rejected_in_cache),
        make("all tokens but the last two of a long cache stale", "44", lawless=True, target=_stale),
        make("end of the sequence inside a block missed", "24", after=_end_missed),
        make("end of the sequence inside a block dropped", "24", after=_end_dropped),
        make("initial token copied from its neighbour, scored with a uniform q", "5", step=in_windows(_neighbour)),
        make("tail token kept, its q relabelled with the new p", "22", step=in_windows(tail=_relabelled)),
        make("tail token drawn anew, its q still the old one", "22", step=in_windows(tail=_old_label)),
        make("proposal and recovery share Gumbel noise", "27", {GENERATOR}, lawless=True, step=with_noise(True)),
        make("one coin for all blocks of a sequence", "28", lasting=True, coins=_one_coin),
        make("on down the first chain after the second candidate", "34", step=in_trees(first=True)),
        *(make(f"in trees: {one.name}", one.number, step=in_trees(one)) for one in of_trees),
    )


def _rightly_made() -> tuple[DecodeFault, ...]:
    make = DecodeFault
    return (
        *map(_of_chains, chain_faults.VARIANTS.values()),
        make("two distinct candidates", step=in_trees()),
        make("uniform initial token scored with a uniform q", step=in_windows()),
        make("uniform initial token scored as a point mass", step=in_windows(scored=_certain)),
        make("neighbour copied as initial token, scored as a point mass", step=in_windows(_neighbour, _certain)),
        make("recovery with Gumbel noise of its own", lawless=True, step=with_noise(False)),
    )


FAULTS: dict[str, DecodeFault] = {fault.name: fault for fault in _made()}
VARIANTS: dict[str, DecodeFault] = {one.name: one for one in _rightly_made()}  # that differ, and are right
