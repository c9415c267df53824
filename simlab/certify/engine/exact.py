"""The exact law of a callable by enumeration, and its behaviour at the extreme values of a coin.

Both need its chance to be uniforms that can be given (:mod:`simlab.certify.engine.scripted`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from simlab.arrays import Array, total_variation
from simlab.certify.contracts.base import Broken, Case, Function
from simlab.certify.contracts.blocks import Tokens
from simlab.certify.contracts.scripted import NotScripted, Scripted
from simlab.certify.engine.asking import Asking, Patient
from simlab.certify.engine.scripted import (
    MOST,
    OFF,
    Piece,
    at_extremes,
    exact_laws,
    law_of,
    mispredicted,
    one_at_its_end,
    random_scripts,
)
from simlab.messages import raised

TRIED = 1200  # random lists of uniforms the trees of a case are tried on, shared out by the chances of its inputs
ROUND = 100  # of them at a time
SURE = 20.0  # trees that predict SURE / TV outcomes miss a part of TV with a probability of 2e-9
ROUNDING = 1e-5  # TV that rounding in float32 can make
NEXT_TO_IT = 2.0**-40  # how near a coin is to 0 or 1 that comes up so seldom that it is told of as an edge


class Edge(NamedTuple):
    """What goes wrong with these uniforms: its kind, as that of a fault, and a message."""

    kind: str
    message: str
    inputs: Any
    uniforms: tuple[float, ...]


@dataclass(frozen=True)
class Exact:
    """The law of the outcomes of case number ``case``.

    ``predicted`` random lists of uniforms gave the outcome that the enumeration says; so many for an input of chance 1,
    and for others in proportion. Where the TV from the target ``deviates``, it is more than rounding makes: if the
    target's were the law nonetheless, the trees would be wrong for as large a part of all lists.
    ``kept`` is how often the first draft is kept, ``edge`` what goes wrong where a coin is next to its end alone.
    """

    case: int
    law: Array
    predicted: float
    deviates: bool
    kept: float = 0.0
    edge: Edge | None = None

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

    Once ``patience`` is at an end it is not called for a tree any more, and trees are tried no further. Branches are
    followed side by side, so that many calls can be asked for at once.

    Raises :class:`~simlab.certify.contracts.scripted.NotScripted` where it cannot be, and :class:`AtTheEdge` where a
    call goes wrong.
    """
    target, branches = case.events[0].law, case.branches
    patient = _Forgiving(case, Patient(function, patience), _Trying(case, function))
    trees = exact_laws(patient.many, [edges() for _, _, edges in branches])
    law, kept = np.zeros(len(target)), 0.0
    for (probability, inputs, _), tree in zip(branches, trees, strict=True):
        law += probability * case.law_of(law_of(tree))
        kept += probability * _kept(case, inputs, law_of(tree))
    tv = float(total_variation(law, target))
    deviates = tv > ROUNDING
    if deviates and not all(isinstance(tree, Piece) for tree in trees):
        return None  # it asks for nothing: it draws elsewhere, perhaps beforehand, or it is wrong, as sampling shows
    tries = min(MOST, max(TRIED, ceil(SURE / tv)) if deviates else TRIED)
    predicted, trying = 0.0, _Trying(case, function)
    while predicted < tries and (predicted == 0 or patience()):
        share = np.inf
        calls = list[tuple[int, Scripted]]()
        for k, branch in enumerate(branches):
            n = ceil(branch.probability * ROUND)
            calls += [(k, script) for script in random_scripts(n, rng)]
            share = min(share, n / branch.probability)
        for (k, script), tokens in zip(calls, trying.many(calls), strict=True):
            if mispredicted(trees[k], [(script, tokens)]):
                return None
        predicted += share
    if case.both_ends and (target[law == 0] > 0).any():
        never = case.events[0].format(int(np.flatnonzero((target > 0) & (law == 0))[0]))
        raise AtTheEdge("edge", f"never emits {never}, which the target can emit", case.branches[0].inputs, ())
    return Exact(number, law, predicted, deviates, kept, patient.edge)


def _kept(case: Case, inputs: Any, emitted: Mapping[Tokens, float]) -> float:
    """How often the first draft is kept, where this is emitted with these probabilities."""
    if not case.possible:
        return 0.0
    tokens = [(*one, *[-1] * (case.length - len(one))) for one in emitted]
    return float(case.kept(np.repeat(inputs, len(tokens), axis=0), np.array(tokens)) @ np.array([*emitted.values()]))


def check_edges(case: Case, function: Function) -> None:
    """Try all coins at their ends; raises :class:`AtTheEdge` for an outcome that the target excludes, or for none.

    One coin at its end must be enough. Raises :class:`~simlab.certify.contracts.scripted.NotScripted` where none can be
    given.
    """
    call = _Trying(case, function)
    for k, (_, inputs, _) in enumerate(case.branches):

        def allowed(tokens: Tokens) -> bool:
            return bool((case.law_of({tokens: 1.0}) * case.events[0].law).any())

        def wrong(uniforms: tuple[float, ...], k: int = k, inputs: Any = inputs) -> AtTheEdge | None:
            try:
                tokens = call.one(k, Scripted(uniforms))
            except AtTheEdge as edge:
                return edge
            if allowed(tokens):
                return None
            return AtTheEdge("edge", f"emits {list(tokens)}, which the target excludes", inputs, call.uniforms)

        for uniforms in _suspects(call, k, allowed):
            if wrong(uniforms):
                asked_for = call.uniforms
                for one in one_at_its_end(asked_for):
                    if edge := wrong(one):
                        raise edge


def _suspects(call: _Trying, k: int, allowed: Callable[[Tokens], bool]) -> Iterable[tuple[float, ...]]:
    """Uniforms at their ends; where many calls can be asked for at once, those are left out that did nothing wrong."""
    lists = at_extremes(partial(call.one, k))
    if not call.at_once:
        return lists
    tried = list(lists)
    try:
        emitted = call.many([(k, Scripted(uniforms)) for uniforms in tried])
        return [uniforms for uniforms, tokens in zip(tried, emitted, strict=True) if not allowed(tokens)]
    except AtTheEdge:
        return tried


class _Trying:
    """Calls of the branches of a case; remembers what the last one was given.

    Raises :class:`AtTheEdge` with the uniforms for whatever goes wrong in a call.
    """

    def __init__(self, case: Case, function: Function) -> None:
        self.case, self.function, self.asking = case, function, Asking(case, function)
        self._last = Scripted(())

    @property
    def at_once(self) -> bool:
        """Whether several calls can be asked for at once."""
        return self.asking.at_once

    def one(self, k: int, rng: np.random.Generator) -> Tokens:
        """What comes out of branch k."""
        assert isinstance(rng, Scripted), "its uniforms are given"
        self._last = rng
        with self._reporting(k):
            return self.case.ask(self.function, self.case.branches[k].inputs, 0, rng)

    def many(self, calls: Sequence[tuple[int, Scripted]]) -> Iterator[Tokens]:
        """What comes out of many calls, each of a branch; asked again one by one where something goes wrong."""
        if not self.at_once:
            yield from (self.one(k, rng) for k, rng in calls)
            return
        branches = self.case.branches
        try:
            found = list(self.asking.answers((branches[k].inputs, 0, rng) for k, rng in calls))
        except NotScripted:
            raise
        except Exception:
            for k, rng in calls:
                self.one(k, Scripted(rng.uniforms, rng.beyond))
            self._last = Scripted(())
            with self._reporting(calls[0][0]):  # it is only wrong where several are asked for
                raise
        yield from found

    @property
    def uniforms(self) -> tuple[float, ...]:
        """Those that the last call was given."""
        given = tuple(self._last.uniforms[: self._last.asked])
        return given + (self._last.beyond,) * (self._last.asked - len(given))

    @contextmanager
    def _reporting(self, k: int) -> Iterator[None]:
        inputs = self.case.branches[k].inputs
        try:
            yield
        except NotScripted:
            raise
        except Broken as broken:
            raise AtTheEdge("broken", str(broken), inputs, self.uniforms) from None
        except (Exception, SystemExit) as error:
            raise AtTheEdge("raises", raised(error), inputs, self.uniforms) from None


class _Forgiving(_Trying):
    """Calls that answer as if coins next to their ends were a little off them, where they go wrong with those alone.

    So that one such coin, which never comes up, does not hide the law of all others; the first is kept as ``edge``.
    """

    def __init__(self, case: Case, function: Function, checking: _Trying) -> None:
        super().__init__(case, function)
        self.checking, self.edge = checking, None

    edge: Edge | None

    def one(self, k: int, rng: np.random.Generator) -> Tokens:
        """What comes out of branch k, or would with other coins."""
        try:
            return super().one(k, rng)
        except AtTheEdge as edge:
            given = self._last
            moved = Scripted([*map(_off_its_end, given.uniforms)], _off_its_end(given.beyond))
            again = Scripted(given.uniforms, given.beyond)
            tokens = self._emitted(k, moved)
            if tokens is None or self._emitted(k, again) is not None:
                raise  # it does not depend on such a coin, or not on coins alone
            given.stand_for(moved)
            self.edge = self.edge or Edge(edge.kind, str(edge), edge.inputs, edge.uniforms)
            return tokens

    def many(self, calls: Sequence[tuple[int, Scripted]]) -> Iterator[Tokens]:
        """As of any calls; those that go wrong together are asked for again one by one."""
        try:
            yield from list(super().many(calls))
        except AtTheEdge:
            if not self.at_once:
                raise
            for k, rng in calls:
                again = Scripted(rng.uniforms, rng.beyond)
                tokens = self.one(k, again)
                rng.stand_for(again)
                yield tokens

    def _emitted(self, k: int, rng: Scripted) -> Tokens | None:
        try:
            return self.checking.one(k, rng)
        except (AtTheEdge, NotScripted):
            return None


def _off_its_end(uniform: float) -> float:
    """A uniform that is next to its end a little off it, and any other as it is."""
    return OFF if uniform < NEXT_TO_IT else 1 - OFF if uniform > 1 - NEXT_TO_IT else uniform
