"""The exact law of a black-box callable, found by supplying the uniforms it draws.

This is another algorithm than :mod:`simlab.randomness.enumerator`, which follows decisions whose probabilities are
known: a black box compares uniforms with unknown numbers, so where it branches has to be searched for.

It is given a :class:`~simlab.certify.contracts.scripted.Scripted` generator, which answers from a list. What comes
out is then a function of the list, constant between edges: the acceptance ratios, the steps of the CDFs that are
inverted, and whatever else the code compares with. Every uniform is cut at all edges that rules out there could have,
both ends of every piece are tried, and where they differ the edge between is found by halving (:func:`exact_laws`). The
result is a model of the code that predicts every outcome: :func:`mispredicted` tries that at random.

Noise for a row, exponential or Gumbel, is a *race* of the tokens: the first is the one whose exponential noise is the
smallest in units of its weight. Weights are found by halving too, of two tokens at a time (:class:`Race`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from typing import TypeVar

import numpy as np

from simlab.certify.contracts.blocks import Tokens
from simlab.certify.contracts.scripted import FINEST, HIGHEST, LONGEST, NotScripted, Scripted

LATER = (0.5, 0.0, HIGHEST, 0.2113, 0.7887)  # what later uniforms are while one is cut
MOST = 200_000  # calls of one law
ONE = -np.expm1(-1.0)  # the uniform whose exponential noise is 1
RELATIVE = 2.0**-24  # how exactly weights of a race are found
OFF = 2.0**-20  # how far a coin is moved off its end

T = TypeVar("T")
Call = Callable[[np.random.Generator], Tokens]
AskMany = Callable[[Sequence[tuple[int, "Scripted"]]], Iterable[Tokens]]


@dataclass(frozen=True)
class Piece:
    """Where one uniform is cut: between ``edges`` lie pieces, each with what follows in it."""

    edges: tuple[float, ...]
    parts: tuple[Piece | Tokens, ...]

    def predicted(self, uniforms: Sequence[float]) -> tuple[Tokens, int]:
        """What comes out for these uniforms, and how many of them are asked for."""
        first, *later = uniforms
        part = self.parts[int(np.searchsorted(self.edges, first, side="right")) - 1]
        tokens, asked = part.predicted(later) if isinstance(part, Piece) else (part, 0)
        return tokens, asked + 1

    def law(self) -> dict[Tokens, float]:
        """The probability of every outcome."""
        found: dict[Tokens, float] = {}
        for low, high, part in zip(self.edges, (*self.edges[1:], 1.0), self.parts, strict=True):
            inner = part.law() if isinstance(part, Piece) else {part: 1.0}
            for outcome, probability in inner.items():
                found[outcome] = found.get(outcome, 0.0) + (high - low) * probability
        return found


@dataclass(frozen=True)
class Race(Piece):
    """Where ``size`` uniforms are noise: one of ``tokens`` wins, with the law of one uniform cut at ``edges``."""

    tokens: tuple[int, ...]
    size: int

    def predicted(self, uniforms: Sequence[float]) -> tuple[Tokens, int]:
        weights = np.diff([*self.edges, 1.0])
        first = int((-np.log1p(-np.array(uniforms)[list(self.tokens)]) / weights).argmin())
        part, later = self.parts[first], uniforms[self.size :]
        tokens, asked = part.predicted(later) if isinstance(part, Piece) else (part, 0)
        return tokens, asked + self.size


@dataclass(frozen=True)
class _Probe:
    """A call of what ``of`` follows, with these uniforms; those beyond them are all the same."""

    of: _Followed
    uniforms: tuple[float, ...]
    beyond: float


Outcome = tuple[Tokens, int, Mapping[int, int]]  # what came out, how many uniforms were asked for, where races begin
Signature = tuple[tuple[Tokens, int], ...]
Steps = Generator[list[_Probe], list[Outcome], T]  # a search that asks for several calls at once, and is sent outcomes


def _together(searches: Sequence[Steps[T]]) -> Steps[list[T]]:
    """Searches side by side: what they ask for next is asked for at once."""
    found = dict[int, T]()
    asked = dict[int, list[_Probe]]()

    def advance(k: int, outcomes: list[Outcome] | None) -> None:
        try:
            asked[k] = next(searches[k]) if outcomes is None else searches[k].send(outcomes)
        except StopIteration as end:
            asked.pop(k, None)
            found[k] = end.value

    for k in range(len(searches)):
        advance(k, None)
    while asked:
        outcomes = iter((yield [probe for probes in asked.values() for probe in probes]))
        for k, probes in list(asked.items()):
            advance(k, list(islice(outcomes, len(probes))))
    return [found[k] for k in range(len(searches))]


@dataclass(eq=False)
class _Followed:
    number: int
    edges: Sequence[float]
    calls: int = 0
    own: set[float] = field(default_factory=set)

    def outcome(self, tokens: Tokens, rng: Scripted) -> Outcome:
        """Take in what came out of a call with ``rng``."""
        self.calls += 1
        if self.calls > MOST:
            raise NotScripted("too many branches")
        self.own.update(rng.edges)
        return tokens, rng.asked, rng.races

    def probes(self, places: Iterable[tuple[float, ...]], later: Sequence[float]) -> list[_Probe]:
        return [_Probe(self, uniforms, beyond) for uniforms in places for beyond in later]

    def signatures(self, places: Sequence[tuple[float, ...]]) -> Steps[list[Signature]]:
        """What comes out for each of these and several later ones; one outcome where no later ones are asked for."""
        firsts = yield self.probes(places, LATER[:1])
        more = [k for k, (_, asked, _) in enumerate(firsts) if asked > len(places[k])]
        rest = iter((yield self.probes((places[k] for k in more), LATER[1:])) if more else [])
        found = [[first] for first in firsts]
        for k in more:
            found[k] += islice(rest, len(LATER) - 1)
        return [tuple((tokens, asked) for tokens, asked, _ in one) for one in found]

    def tree(self, before: tuple[float, ...]) -> Steps[Piece | Tokens]:
        [(tokens, asked, races)] = yield self.probes([before], (0.5,))
        if asked <= len(before):
            return tokens
        if len(before) in races:
            return (yield from self.race(before, races[len(before)]))
        edges = yield from self.cuts(before)
        middles = [(low + high) / 2 for low, high in zip(edges, [*edges[1:], 1.0], strict=True)]
        parts = yield from _together([self.tree((*before, middle)) for middle in middles])
        return Piece(tuple(edges), tuple(parts))

    def race(self, before: tuple[float, ...], size: int) -> Steps[Race]:
        """Who wins a race, and how often: every token is tried against the likeliest one."""

        def place(ahead: Mapping[int, float], others: float = HIGHEST) -> tuple[float, ...]:
            return (*before, *(ahead.get(token, others) for token in range(size)))

        *alone, none = yield from self.signatures([*(place({token: 0.0}) for token in range(size)), place({}, 0.5)])
        same = [token for token in range(size) if alone[token] == none]
        last = yield from self.signatures([place({token: HIGHEST}, 0.5) for token in same])
        # those that cannot win leave the race to the likeliest, which is the one that loses when it comes last
        likeliest = next((token for token, seen in zip(same, last, strict=True) if seen != alone[token]), same[0])
        others = [token for token in range(size) if alone[token] != alone[likeliest]]
        found = yield from _together(
            [
                self.weight(lambda u, token=token: place({token: u, likeliest: ONE}), alone[token])  # type: ignore[misc]
                for token in others
            ]
        )
        weights = {likeliest: 1.0} | dict(zip(others, found, strict=True))
        runners = tuple(sorted(token for token, weight in weights.items() if weight > 0))
        upto = np.cumsum([weights[token] for token in runners])
        firsts = [tuple(0.0 if token == first else HIGHEST for token in range(size)) for first in runners]
        parts = yield from _together([self.tree((*before, *first)) for first in firsts])
        return Race((0.0, *(upto[:-1] / upto[-1]).tolist()), tuple(parts), runners, size)

    def weight(self, place: Callable[[float], tuple[float, ...]], alone: Signature) -> Steps[float]:
        """The weight of a token in units of the likeliest: the noise up to which it wins where the other's is 1."""
        low, high = 0.0, ONE
        [seen] = yield from self.signatures([place(low)])
        if seen != alone:
            return 0.0
        while high - low > FINEST * max(1.0, RELATIVE * low / FINEST):
            middle = (low + high) / 2
            [seen] = yield from self.signatures([place(middle)])
            low, high = (middle, high) if seen == alone else (low, middle)
        return float(-np.log1p(-(low + high) / 2))

    def cuts(self, before: tuple[float, ...]) -> Steps[list[float]]:
        """The lower edges of the pieces of the next uniform."""
        yield self.probes([before], LATER)  # for the edges it knows of itself
        marks = sorted({0.0, *(e for e in (*self.edges, *self.own) if 0 < e < 1)})
        ends = [max(low, float(np.nextafter(high, 0))) for low, high in zip(marks, [*marks[1:], 1.0], strict=True)]
        lefts = yield from self.signatures([(*before, low) for low in marks])
        rights = yield from self.signatures([(*before, below) for below in ends])
        pieces = list(zip(marks, ends, lefts, rights, strict=True))
        halves = yield from _together([self.halved(before, *piece) for piece in pieces if piece[2] != piece[3]])
        between, found, last = iter(halves), list[float](), None
        for low, _, left, right in pieces:
            if left != last:
                found.append(low)
            if left != right:
                found += next(between)
            last = right
        return found

    def halved(
        self, before: tuple[float, ...], low: float, high: float, left: Signature, right: Signature
    ) -> Steps[list[float]]:
        """The edges between two places with different signatures."""
        if high - low <= FINEST:
            return [high]
        middle = (low + high) / 2
        [between] = yield from self.signatures([(*before, middle)])
        halves = [(low, middle, left, between), (middle, high, between, right)]
        found = yield from _together([self.halved(before, *half) for half in halves if half[2] != half[3]])
        return [edge for edges in found for edge in edges]


def exact_laws(ask: AskMany, edges: Sequence[Sequence[float]]) -> list[Piece | Tokens]:
    """The trees of what calls return, each cut at its ``edges`` and wherever else it changes.

    ``ask`` is given numbers of these calls with their generators, and answers all of them.

    Raises :class:`NotScripted` where the code asks for other chance than uniforms and choices, or branches too
    often.
    """
    search = _together([_Followed(number, known).tree(()) for number, known in enumerate(edges)])
    try:
        probes = next(search)
        while True:
            scripts = [Scripted(probe.uniforms, probe.beyond) for probe in probes]
            emitted = ask([(probe.of.number, rng) for probe, rng in zip(probes, scripts, strict=True)])
            answered = zip(probes, emitted, scripts, strict=True)
            probes = search.send([probe.of.outcome(tokens, rng) for probe, tokens, rng in answered])
    except StopIteration as end:
        found: list[Piece | Tokens] = end.value
        return found


def law_of(tree: Piece | Tokens) -> dict[Tokens, float]:
    """The probability of every outcome of a tree."""
    return tree.law() if isinstance(tree, Piece) else {tree: 1.0}


def random_scripts(n: int, rng: np.random.Generator) -> list[Scripted]:
    """Scripts of random uniforms."""
    return [Scripted(rng.random(LONGEST).tolist()) for _ in range(n)]


def mispredicted(tree: Piece | Tokens, tried: Iterable[tuple[Scripted, Tokens]]) -> int:
    """For how many random scripts, with what came out of a call that was given them, tree and call disagree.

    They must also ask for equally many: code that saves uniforms for later calls does not do what the tree says.
    """
    return sum(
        (tokens, script.asked) != (tree.predicted(script.uniforms) if isinstance(tree, Piece) else (tree, 0))
        for script, tokens in tried
    )


def at_extremes(call: Call, most: int = 6) -> Iterator[tuple[float, ...]]:
    """Lists of uniforms that are 0 or the largest float below 1, as long as ``call`` asks for, up to 64.

    The first ``most`` are tried in every combination, the others all at one end.
    """
    rng = Scripted((), 0.5)
    call(rng)
    for ends in product((0.0, HIGHEST), repeat=min(rng.asked + 1, most)):
        for beyond in (0.0, HIGHEST):
            yield (*ends, *[beyond] * (LONGEST - len(ends)))


def one_at_its_end(uniforms: Sequence[float]) -> Iterator[tuple[float, ...]]:
    """The same lists with all coins but one moved off their ends: two at theirs at once are rarer than rounding."""
    moved = [OFF if uniform == 0 else 1 - OFF for uniform in uniforms]
    for place, uniform in enumerate(uniforms):
        yield (*moved[:place], uniform, *moved[place + 1 :])
