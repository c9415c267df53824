"""The exact law of a callable by enumeration, and its behaviour at the extreme values of a coin.

Both need its chance to be uniforms that can be given (:mod:`simlab.certify.engine.scripted`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any

import numpy as np

from simlab.arrays import Array, total_variation
from simlab.certify.contracts.base import Broken, Case, Function
from simlab.certify.contracts.blocks import Tokens
from simlab.certify.engine.messages import raised
from simlab.certify.engine.scripted import (
    MOST,
    NotScripted,
    Piece,
    Scripted,
    at_extremes,
    exact_law,
    law_of,
    mispredicted,
    one_at_its_end,
)

TRIED = 1200  # random lists of uniforms the trees of a case are tried on, shared out by the chances of its inputs
ROUND = 100  # of them at a time
SURE = 20.0  # trees that predict SURE / TV outcomes miss a part of TV with a probability of 2e-9
TOO_SLOW = "too slow"
ROUNDING = 1e-5  # TV that rounding in float32 can make


@dataclass(frozen=True)
class Exact:
    """The law of the outcomes of case number ``case``.

    ``predicted`` random lists of uniforms gave the outcome that the enumeration says; so many for an input of chance 1,
    and for others in proportion. Where the TV from the target ``deviates``, it is more than rounding makes: if the
    target's were the law nonetheless, the trees would be wrong for as large a part of all lists.
    ``kept`` is how often the first draft is kept.
    """

    case: int
    law: Array
    predicted: float
    deviates: bool
    kept: float = 0.0

    def sureness(self, tv: float) -> float:
        """Minus the log of the probability that trees which are wrong for a part ``tv`` predict all that was tried."""
        return self.predicted * tv

    def tv_upper(self, tv: float, confidence: float) -> float:
        """An upper limit on the TV from a law from which that of the trees is off by ``tv``."""
        return min(1.0, tv + float(-np.log1p(-confidence)) / self.predicted)


class AtTheEdge(Exception):
    """With these uniforms something comes out that must not, or nothing."""

    def __init__(self, kind: str, message: str, inputs: Any, uniforms: tuple[float, ...]) -> None:
        super().__init__(message)
        self.kind, self.inputs, self.uniforms = kind, inputs, uniforms


def enumerate_law(
    number: int, case: Case, function: Function, rng: np.random.Generator, patience: Callable[[], bool] = lambda: True
) -> Exact | None:
    """The law of what comes out, if it can be enumerated and the enumeration predicts random outcomes.

    Once ``patience`` is at an end it is not called for a tree any more, and trees are tried no further.

    Raises :class:`~simlab.certify.engine.scripted.NotScripted` where it cannot be, and :class:`AtTheEdge` where a call
    goes wrong.
    """
    target = case.events[0].law
    law, kept, calls = np.zeros(len(target)), 0.0, list[tuple[float, Any, _Trying, Piece | Tokens]]()
    for probability, inputs, edges in case.branches:
        call = _Trying(asked(case, _while(patience, function), inputs))
        with call.reporting(inputs):
            tree = exact_law(call, edges())
        call = _Trying(asked(case, function, inputs))
        calls.append((probability, inputs, call, tree))
        law += probability * case.law_of(law_of(tree))
        kept += probability * _kept(case, inputs, law_of(tree))
    tv = float(total_variation(law, target))
    deviates = tv > ROUNDING
    if deviates and not all(isinstance(tree, Piece) for *_, tree in calls):
        return None  # it asks for nothing: it draws elsewhere, perhaps beforehand, or it is wrong, as sampling shows
    tries = min(MOST, max(TRIED, ceil(SURE / tv)) if deviates else TRIED)
    predicted = 0.0
    while predicted < tries and (predicted == 0 or patience()):
        share = np.inf
        for probability, inputs, call, tree in calls:
            n = ceil(probability * ROUND)
            with call.reporting(inputs):
                if mispredicted(call, tree, n, rng):
                    return None
            share = min(share, n / probability)
        predicted += share
    if case.both_ends and (target[law == 0] > 0).any():
        never = case.events[0].format(int(np.flatnonzero((target > 0) & (law == 0))[0]))
        raise AtTheEdge("edge", f"never emits {never}, which the target can emit", case.branches[0].inputs, ())
    return Exact(number, law, predicted, deviates, kept)


def _while(patience: Callable[[], bool], function: Function) -> Function:
    """The function, which is not called any more once patience is at an end."""

    def call(*arguments: Any, **named: Any) -> Any:
        if not patience():
            raise NotScripted(TOO_SLOW)
        return function(*arguments, **named)

    return call


def _kept(case: Case, inputs: Any, emitted: Mapping[Tokens, float]) -> float:
    """How often the first draft is kept, where this is emitted with these probabilities."""
    if not case.possible:
        return 0.0
    tokens = [(*one, *[-1] * (case.length - len(one))) for one in emitted]
    return float(case.kept(np.repeat(inputs, len(tokens), axis=0), np.array(tokens)) @ np.array([*emitted.values()]))


def check_edges(case: Case, function: Function) -> None:
    """Try all coins at their ends; raises :class:`AtTheEdge` for an outcome that the target excludes, or for none.

    One coin at its end must be enough. Raises :class:`~simlab.certify.engine.scripted.NotScripted` where none can be
    given.
    """
    for _, inputs, _ in case.branches:
        call = _Trying(asked(case, function, inputs))

        def wrong(uniforms: tuple[float, ...], call: _Trying = call, inputs: Any = inputs) -> AtTheEdge | None:
            try:
                with call.reporting(inputs):
                    tokens = call(Scripted(uniforms))
            except AtTheEdge as edge:
                return edge
            if (case.law_of({tokens: 1.0}) * case.events[0].law).any():
                return None
            return AtTheEdge("edge", f"emits {list(tokens)}, which the target excludes", inputs, call.uniforms)

        for uniforms in at_extremes(call):
            if wrong(uniforms):
                asked_for = call.uniforms
                for one in one_at_its_end(asked_for):
                    if edge := wrong(one):
                        raise edge


def asked(case: Case, function: Function, inputs: Any) -> Callable[[np.random.Generator], Tokens]:
    """One call, as a function of the generator."""
    return partial(case.ask, function, inputs, 0)


class _Trying:
    """Remembers what the last call was given."""

    def __init__(self, call: Callable[[np.random.Generator], Tokens]) -> None:
        self.call = call
        self._last = Scripted(())

    def __call__(self, rng: np.random.Generator) -> Tokens:
        assert isinstance(rng, Scripted), "its uniforms are given"
        self._last = rng
        return self.call(rng)

    @property
    def uniforms(self) -> tuple[float, ...]:
        """Those that the last call was given."""
        given = tuple(self._last.uniforms[: self._last.asked])
        return given + (self._last.beyond,) * (self._last.asked - len(given))

    @contextmanager
    def reporting(self, inputs: Any) -> Iterator[None]:
        """Raise :class:`AtTheEdge` with the uniforms for whatever goes wrong in a call."""
        try:
            yield
        except NotScripted:
            raise
        except Broken as broken:
            raise AtTheEdge("broken", str(broken), inputs, self.uniforms) from None
        except (Exception, SystemExit) as error:
            raise AtTheEdge("raises", raised(error), inputs, self.uniforms) from None
