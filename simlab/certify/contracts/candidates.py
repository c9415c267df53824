"""The contract ``verify_candidates(p, q, candidates, rng) -> tokens``: several candidates for one position.

``p`` float64 ``[V]``, ``q`` float64 ``[V]``, ``candidates`` int64 ``[K]`` drawn from q in turn without replacement, K
at most its support, ``rng`` a ``numpy.random.Generator``; out comes one token, which must follow p.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.base import ArraysCase, Possible, counting_script
from simlab.certify.contracts.blocks import Tokens
from simlab.certify.contracts.events import Events
from simlab.certify.contracts.scripted import possible_edges
from simlab.mutants.gated.candidates import draws
from simlab.mutants.gated.candidates import in_turn as left_in_turn
from simlab.optimum import candidate_sets, optimal_acceptance

BRANCHES = 24  # draws of the candidates up to which somebody's code is enumerated


@dataclass(frozen=True, eq=False)
class CandidatesCase(ArraysCase):
    """p ``[V]``, and K candidates from q ``[V]``; of ``small`` ones the laws of known bugs are known."""

    name: str
    p: Array
    q: Array
    count: int
    events: tuple[Events, ...]
    small: bool = False
    both_ends: bool = False
    length: int = 1
    kinds: tuple[str, ...] = ()
    contract = "verify_candidates"

    @property
    def vocabulary(self) -> int:  # type: ignore[override]
        return len(self.p)

    @property
    def sizes(self) -> dict[str, int]:
        return {"V": self.vocabulary, "K": self.count}

    def __post_init__(self) -> None:
        support = int((self.q > 0).sum())
        if not 1 <= self.count <= support:
            raise ValueError(f"count is {self.count}; expected 1 to {support}, the tokens that q can draw")

    def inputs(self, n: int, rng: np.random.Generator) -> Array:
        if not self.small:
            return _distinct(self.q, self.count, n, rng)
        every, chances = zip(*self.every_draw.items(), strict=True)
        return np.array(every, np.int64)[rng.choice(len(every), n, p=np.array(chances) / sum(chances))]

    def arguments(self, given: Array) -> dict[str, Array]:
        return {"p": self.p.copy(), "q": self.q.copy(), "candidates": given.copy()}

    def every_input(self) -> dict[Tokens, float]:
        return self.every_draw

    def edges(self, given: Array) -> list[float]:
        return possible_edges(*left_in_turn(self.p, self.q, given))

    @property
    def enumerated(self) -> bool:
        return self.small and len(self.every_draw) <= BRANCHES

    @cached_property
    def every_draw(self) -> dict[Tokens, float]:
        """All candidates in turn, and their probabilities."""
        return draws(self.q, self.count)

    @cached_property
    def possible(self) -> Possible | None:
        if not self.small:
            return None
        sets = candidate_sets(self.q, self.count)
        matching = sum(float(chance) * float(self.p[list(drawn)].sum()) for drawn, chance in sets.items())
        return Possible(float(optimal_acceptance(self.p, sets)), matching)

    def kept(self, inputs: Array, tokens: Array) -> Array:
        return np.asarray((tokens[:, :1] == inputs).any(axis=1), np.float64)

    def completed(self, tokens: Array, rng: np.random.Generator) -> Array:
        return tokens

    def law_of(self, emitted: Mapping[Tokens, float]) -> Array:
        law = np.zeros(len(self.p))
        for (token,), probability in emitted.items():
            law[token] += probability
        return law

    def script(self, where: str, name: str, calls: int) -> str | None:
        if not self.small:
            return None
        return counting_script(
            where=where,
            name=name,
            contract="verify_candidates",
            given=f"p = np.array({self.p.tolist()})\nq = np.array({self.q.tolist()})",
            sizes=f"V, K = {calls}, len(p), {self.count}",
            shape="V",
            call=DRAWN,
            target='for token in range(V):\n    print(token, "emitted", counts[token] / n, "target", p[token])',
        )


DRAWN = """\
    left, candidates = q.copy(), []
    for _ in range(K):  # in turn, without replacement
        candidates.append(rng.choice(V, p=left / left.sum()))
        left[candidates[-1]] = 0
    token = np.ravel(verify_candidates(p.copy(), q.copy(), np.array(candidates), rng))
    counts[int(token[0])] += 1"""


PRECISE = 1e-6  # of q that is left, from which on sums say well enough where a coin falls


def _distinct(q: Array, count: int, n: int, rng: np.random.Generator) -> Array:
    """``int64[n, count]`` drawn from q in turn without replacement: what repeats itself is drawn from the others.

    They may be too unlikely for the precision of sums: then the rest of a row is drawn from them by a race.
    """
    upto = q.cumsum()
    found, going = np.full((n, count), -1), np.arange(n)
    for k in range(count):
        found[going, k] = np.searchsorted(upto, rng.random(len(going)) * upto[-1], side="right")
        again = going[_repeats(found[going, : k + 1])]
        found[again, k] = _of_others(q, upto, found[again, :k], rng)
        again = again[_repeats(found[again, : k + 1]) | (found[again, k] < 0) | (q[found[again, k]] == 0)]
        for row in again:
            left = q.copy()
            left[found[row, :k]] = 0
            found[row, k:] = _raced(left, count - k, rng)
        going = np.setdiff1d(going, again)
    return found


def _repeats(tokens: Array) -> Array:
    """Whether the last of each row ``tokens[n, k]`` is one of those before."""
    return np.asarray((tokens[:, :-1] == tokens[:, -1:]).any(axis=1))


def _of_others(q: Array, upto: Array, taken: Array, rng: np.random.Generator) -> Array:
    """Draws ``int64[n]`` from what is left of q beside ``taken[n, k]``; ``upto`` holds the sums of q up to each token.

    A coin over what is left becomes one over all of q, by the mass of the taken tokens that lie before its own. Where
    too little is left, -1 is drawn.
    """
    taken = np.sort(taken, axis=1)
    mass = q[taken]
    left_before = upto[taken] - mass.cumsum(axis=1)
    left = upto[-1] - mass.sum(axis=1)
    coin = rng.random(len(taken)) * left
    passed = (mass * (left_before <= coin[:, None])).sum(axis=1)
    drawn = np.minimum(np.searchsorted(upto, coin + passed, side="right"), len(q) - 1)
    return np.where(left < PRECISE * upto[-1], -1, drawn)


def _raced(q: Array, count: int, rng: np.random.Generator) -> Array:
    """The same of one row, all at once: the first ones in a race of all tokens."""
    with np.errstate(divide="ignore"):  # what q cannot draw never arrives
        arrival = np.log(rng.standard_exponential(len(q))) - np.log(q)
    first = np.argpartition(arrival, count - 1)[:count]
    return np.asarray(first[arrival[first].argsort()])
