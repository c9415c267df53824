"""Sequence decoders with bugs seen in real implementations, and correct ones that look suspicious.

Beside the blocks of drafts of :mod:`~simlab.mutants.loops` there are windows that are drafted anew by the target
itself, as in speculative Jacobi decoding, trees of two candidates, and decoders with Gumbel noise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.mutants import loops, rules, verifiers
from simlab.mutants.base import LOSSLESS, Mutant, Tokens, single_draw
from simlab.mutants.loops import Carried, Decode, Loop, Model, Request, State, Step, drafted, emit, speculative
from simlab.mutants.verifiers import sharpened, verifier
from simlab.randomness.coins import Coins
from simlab.rules import Amplify

# Windows of two drafts -----------------------------------------------------------------------------------------

Initial = Callable[[Tokens, int, Coins], int]
Scored = Callable[[int, int], Array]
Residual = Callable[[Array, Array, int], Array]
Tail = Callable[[Request, Tokens, int, Coins], Carried]


def _anywhere(context: Tokens, size: int, coins: Coins) -> int:
    return coins.draw(np.ones(size))


def _neighbour(context: Tokens, size: int, coins: Coins) -> int:
    return context[-1] if context else 0


def _evenly(x: int, size: int) -> Array:
    return np.full(size, 1 / size)


def _certain(x: int, size: int) -> Array:
    return np.eye(size)[x]


def _tail(request: Request, context: Tokens, x: int, coins: Coins) -> Carried:
    """A draft of the row behind the draft that was rejected, and of which row it is."""
    return Carried(coins.draw(request.model(context)), context)


def _relabelled(request: Request, context: Tokens, x: int, coins: Coins) -> Carried:
    return Carried(x, context)


def _old_label(request: Request, context: Tokens, x: int, coins: Coins) -> Carried:
    return Carried(coins.draw(request.model(context)), None)


def jacobi(initial: Initial = _anywhere, scored: Scored = _evenly, tail: Tail = _tail) -> Step:
    """Verify two drafts; behind a rejected one the second is drafted anew by the row it was to be verified with."""

    def step(request: Request, state: State, coins: Coins) -> State:
        context, size = state.context, len(request.model(()))
        x, label = state.carried or (initial(context, size, coins), None)
        q = scored(x, size) if label is None else request.model(label)
        p, behind = request.model(context), (*context, x)
        second = initial(behind, size, coins)
        if not coins.coin(LOSSLESS.accept(p, q, x)):
            return emit(
                request, state, (coins.draw(LOSSLESS.residual(p, q, x)),), carried=tail(request, behind, second, coins)
            )
        p, q = request.model(behind), scored(second, size)
        if not coins.coin(LOSSLESS.accept(p, q, second)):
            second = coins.draw(LOSSLESS.residual(p, q, second))
        return emit(request, state, (x, second))

    return step


# Trees: two candidates, behind each a chain of one --------------------------------------------------------------

Candidates = Callable[[Array, Coins], tuple[int, int, Array, Array]]


def _without(row: Array, x: int) -> Array:
    weights = row.copy()
    weights[x] = 0
    return _scaled(weights)


def _scaled(weights: Array) -> Array:
    return np.asarray(weights / weights.sum()) if weights.any() else np.full(len(weights), 1 / len(weights))


def _distinct(q: Array, coins: Coins) -> tuple[int, int, Array, Array]:
    """Candidates a, b and the row of each: b is drawn of q without a."""
    a = coins.draw(q)
    return a, coins.draw(_without(q, a)), q, _without(q, a)


def _distinct_scored_with_q(q: Array, coins: Coins) -> tuple[int, int, Array, Array]:
    a, b, _, _ = _distinct(q, coins)
    return a, b, q, q


def _independent(q: Array, coins: Coins) -> tuple[int, int, Array, Array]:
    return coins.draw(q), coins.draw(q), q, q


def _scored_as_distinct(q: Array, coins: Coins) -> tuple[int, int, Array, Array]:
    """The second does not exclude the first, and is scored as if it did."""
    a = coins.draw(q)
    return a, coins.draw(q), q, _without(q, a)


def _likeliest_first(q: Array, coins: Coins) -> tuple[int, int, Array, Array]:
    """Drawn independently, then sorted by q."""
    a, b = sorted((coins.draw(q), coins.draw(q)), key=lambda x: (-q[x], x))
    return a, b, q, q


def _two_best(q: Array, coins: Coins) -> tuple[int, int, Array, Array]:
    """The two that q holds likeliest, each as a point mass."""
    a, b = np.argsort(-q, kind="stable")[:2].tolist()
    return a, b, np.eye(len(q))[a], np.eye(len(q))[b]


def _two_best_scored_with_q(q: Array, coins: Coins) -> tuple[int, int, Array, Array]:
    a, b, _, _ = _two_best(q, coins)
    return a, b, q, _without(q, a)


def _another(uniform: Any, coins: Coins) -> Any:
    return coins.uniform()


def _the_same(uniform: Any, coins: Coins) -> Any:
    return uniform


def _unchanged(p: Array, q: Array, x: int) -> Array:
    return p


def _chosen(a: int, chosen: int) -> int:
    return chosen


def _first(a: int, chosen: int) -> int:
    return a


def tree(
    candidates: Candidates = _distinct,
    left: Residual = LOSSLESS.residual,
    chain: Callable[[int, int], int] = _chosen,
    coin: Callable[[Any, Coins], Any] = _another,
) -> Step:
    """Verify two candidates in turn, then the draft behind the one that was kept.

    The second is verified with what the first ``left``, by a ``coin`` made of the first; the draft goes on behind the
    candidate that ``chain`` says of the first and the one that was kept.
    """

    def step(request: Request, state: State, coins: Coins) -> State:
        context, p = state.context, request.model(state.context)
        a, b, of_a, of_b = candidates(drafted(request.model, context), coins)
        uniform = coins.uniform()
        chosen = a
        if not coins.below(uniform, LOSSLESS.accept(p, of_a, a)):
            rest = _scaled(left(p, of_a, a))
            kept = LOSSLESS.accept(rest, of_b, b) if of_b[b] > 0 else float(rest[b] > 0)
            if not coins.below(coin(uniform, coins), kept):
                return emit(request, state, (coins.draw(LOSSLESS.residual(rest, of_b, b)),))
            chosen = b
        behind = (*context, chain(a, chosen))
        p, q = request.model(behind), drafted(request.model, behind)
        x = coins.draw(q)
        if not coins.coin(LOSSLESS.accept(p, q, x)):
            return emit(request, state, (chosen, coins.draw(LOSSLESS.residual(p, q, x))))
        return emit(request, state, (chosen, x, coins.draw(request.model((*behind, x)))))

    return step


# Gumbel noise, which no law is computed of -----------------------------------------------------------------------


def _argmax(weights: Array, noise: Array) -> int:
    with np.errstate(divide="ignore"):
        return int((np.log(weights) + noise).argmax())


def _recovered(p: Array, q: Array, proposal: Array, recovery: Array, rng: np.random.Generator) -> int:
    x = _argmax(q, proposal)
    return x if rng.random() * q[x] < p[x] else _argmax(LOSSLESS.residual(p, q, x), recovery)


def _noise_shared(p: Array, q: Array, rng: np.random.Generator) -> int:
    noise = rng.gumbel(size=len(p))
    return _recovered(p, q, noise, noise, rng)


def _noise_of_its_own(p: Array, q: Array, rng: np.random.Generator) -> int:
    return _recovered(p, q, rng.gumbel(size=len(p)), rng.gumbel(size=len(p)), rng)


def _coupled(p: Array, q: Array, rng: np.random.Generator) -> int:
    """The draft has the noise of the target's own draw, which is emitted."""
    noise = rng.gumbel(size=len(p))
    x, own = _argmax(q, noise), _argmax(p, noise)
    return x if x == own else own


def _noisy(token: Callable[[Array, Array, np.random.Generator], int]) -> Decode:
    def decode(model: Model, length: int, rng: np.random.Generator, eos: int | None = None) -> Tokens:
        request, tokens = Request(model, length, eos), Tokens()
        while not request.complete(tokens):
            tokens = (*tokens, token(model(tokens), drafted(model, tokens), rng))
        return tokens

    return decode


# All of them -----------------------------------------------------------------------------------------------------


def _padded(step: Step) -> Step:
    """The same with two more tokens, which have no mass, in the vocabulary."""

    def wider(request: Request, state: State, coins: Coins) -> State:
        size = len(request.model(()))

        def model(context: Tokens) -> Array:
            known = tuple(token % size for token in context)  # padding that is drafted is rejected whatever follows
            return np.append(request.model(known), [0.0, 0.0])

        return step(request._replace(model=model), state, coins)

    return wider


def _mutants() -> dict[str, Mutant[Loop]]:
    table: list[tuple[str, str, Loop | Step]] = [
        ("1", "drafts drawn at temperature 1/2, scored with q as it is", speculative(drawn=sharpened)),
        ("2", "q scored at temperature 1/2, drafts drawn as it is", speculative(scored=sharpened)),
        ("4", "greedy drafts scored with a soft q", speculative(drawn=loops.top)),
        ("4", "the two likeliest candidates scored with a soft q", tree(_two_best_scored_with_q)),
        ("5", "initial token copied from its neighbour, scored with a uniform q", jacobi(_neighbour)),
        ("6", "p at temperature 1/2", speculative(target=lambda model, c, x: sharpened(model(c)))),
        ("7", "verified by argmax", speculative(verifier(rules.ArgmaxVerified()))),
        ("8", "rows of p one position too early", speculative(target=loops.early)),
        ("8", "rows of p one position too late", speculative(target=loops.late)),
        ("9", "rows of p of another context", speculative(target=loops.elsewhere)),
        ("11", "ratio times 1.05", speculative(verifier(Amplify(1.05)))),
        ("12", "residual drawn from p", speculative(verifier(rules.ResidualIsTarget()))),
        (
            "12",
            "residual drawn from p without the rejected token",
            speculative(verifier(rules.ResidualWithoutDraft())),
        ),
        ("13", "residual = [q - p]+", speculative(verifier(rules.ResidualReversed()))),
        ("15", "temperature applied to the residual again", speculative(verifier(rules.ResidualTempered()))),
        ("16", "first draft committed unverified", speculative(verifiers.unverified)),
        ("17", "one draft too many kept", speculative(verifiers.one_too_many)),
        ("17", "one draft too few kept", speculative(verifiers.one_too_few)),
        ("20", "small masses of the residual lost", speculative(loops.without_small)),
        ("21", "bonus token not emitted, but kept in the context", loops.bonus_not_emitted),
        ("21", "bonus token written twice", speculative(verifiers.bonus_twice)),
        ("21", "bonus drawn from the residual", speculative(verifier(bonus=verifiers.bonus_of_residual))),
        ("22", "tail token kept, its q relabelled with the new p", jacobi(tail=_relabelled)),
        ("22", "tail token drawn anew, its q still the old one", jacobi(tail=_old_label)),
        ("23", "rejected token kept in the cache", loops.rejected_in_cache),
        ("24", "end of the sequence inside a block missed", loops.end_missed),
        ("24", "end of the sequence inside a block dropped", loops.end_dropped),
        (
            "25",
            "drafts that q holds unlikely replaced by a draw from p",
            speculative(verifiers.unlikely_replaced(0.6)),
        ),
        ("26", "residual reuses the uniform of the coin", speculative(verifiers.residual_of_the_coin)),
        ("28", "one uniform for the coins of a block", speculative(verifiers.one_uniform)),
        ("28", "one uniform for all coins of a sequence", Loop(loops.RIGHT, loops.OneCoin)),
        ("29", "seed reset in every iteration", Loop(loops.RIGHT, loops.Reseeded)),
        ("30", "tree: second candidate drawn without the first, scored with q", tree(_distinct_scored_with_q)),
        ("31", "tree: target not updated between candidates", tree(left=_unchanged)),
        ("32", "tree: candidates sorted by q", tree(_likeliest_first)),
        ("33", "tree: second candidate does not exclude the first, scored as if it did", tree(_scored_as_distinct)),
        ("34", "tree: on down the first chain after the second was kept", tree(chain=_first)),
        ("35", "tree: one coin for both candidates", tree(coin=_the_same)),
        (
            "43",
            "hierarchical verification whose last step is not capped",
            speculative(verifiers.hierarchical(verifiers.uncapped)),
        ),
    ]
    return {name: Mutant(name, number, _loop(step)) for number, name, step in table}


def _correct() -> dict[str, Loop]:
    table: dict[str, Step] = {
        "one token at a time": loops.one_by_one,
        "drafts, ratio and residual": loops.RIGHT,
        "the target's own draw emitted": speculative(verifiers.own_draw),
        "greedy drafts scored as point masses": speculative(drawn=loops.top, scored=loops.top),
        "the two likeliest candidates, zeroed and renormalised in turn": tree(_two_best),
        "two distinct candidates": tree(),
        "two independent candidates": tree(_independent),
        "top-k applied again to a residual it leaves alone": speculative(verifier(rules.ResidualFiltered())),
        "uniform initial token scored with a uniform q": jacobi(),
        "uniform initial token scored as a point mass": jacobi(scored=_certain),
        "neighbour copied as initial token, scored as a point mass": jacobi(_neighbour, _certain),
        "vocabulary padded with tokens without mass": _padded(loops.RIGHT),
        "drafting ends behind an unlikely draft, which is verified": speculative(least=0.6),
    }
    return {name: _loop(step) for name, step in table.items()}


def _loop(step: Loop | Step) -> Loop:
    return step if isinstance(step, Loop) else Loop(step)


MUTANTS: dict[str, Mutant[Loop]] = _mutants()
CORRECT: dict[str, Loop] = _correct()
GUMBEL_MUTANTS: dict[str, Mutant[Decode]] = {
    "proposal and recovery share Gumbel noise": Mutant(
        "proposal and recovery share Gumbel noise", "27", _noisy(_noise_shared)
    )
}
GUMBEL_CORRECT: dict[str, Decode] = {
    "one token at a time, in single precision": _noisy(lambda p, q, rng: single_draw(p, rng)),
    "recovery with Gumbel noise of its own": _noisy(_noise_of_its_own),
    "draft and target coupled by Gumbel noise, the target's own draw emitted": _noisy(_coupled),
}
