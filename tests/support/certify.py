"""What the tests of several contracts of ``simlab certify`` share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.base import Case, Function
from simlab.certify.contracts.blocks import Tokens
from simlab.certify.engine.evidence import Evidence, calls_needed
from simlab.certify.engine.scripted import Call, Piece, mispredicted, random_scripts
from simlab.certify.engine.tasks import Sample
from simlab.randomness.coins import outcomes

REACHABLE = 300_000  # calls of a case that a minute has room for
TRIED = 2  # cases for which calls are counted


def exact_law(verify: Callable[..., Any], *arguments: Any) -> dict[Any, float]:
    """The exact law of what a known verifier returns."""
    return outcomes(partial(verify, *arguments))


def accepted(p: np.ndarray, q: np.ndarray, x: int) -> float:
    """The probability with which a draft x is accepted."""
    return min(1.0, float(p[x] / q[x])) if q[x] > 0 else float(p[x] > 0)


def taken(weights: Array, coin: float) -> int:
    """The token at a coin, by inverse CDF."""
    upto = weights.cumsum()
    return int(np.searchsorted(upto, coin * upto[-1], side="right"))


def drawn_from(weights: Array, rng: np.random.Generator) -> int:
    return taken(weights, rng.random())


def verifier(wrong: Callable[[int, int, int], bool] = lambda size, gamma, i: False) -> Function:
    """Speculative sampling whose residual is drawn from p where it is ``wrong``."""

    def verify(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        for i, x in enumerate(drafts):
            if rng.random() * q[i, x] >= p[i, x]:
                left = np.maximum(p[i] - q[i], 0)
                left = p[i] if not left.any() or wrong(p.shape[1], len(drafts), i) else left
                return [*drafts[:i], drawn_from(left, rng)]
        return [*drafts, drawn_from(p[-1], rng)]

    return verify


def calls_to_tell_apart(cases: Sequence[Case], name: str) -> float:
    """The fewest calls, power 0.999, after which bets on a known bug raise the alarm; infinite where none do."""
    under = [(case, case.law_under(name)) for case in cases if name in case.bugs]
    laws = [(case, law) for case, law in under if law is not None]
    laws.sort(key=lambda found: -_divergence(found[1], found[0].events[0].law))
    level = Evidence(cases).level
    needed = [calls_needed(case, law, level, 0.999) for case, law in laws[:TRIED] if _off(case, law)]
    return min((calls for calls in needed if calls is not None), default=np.inf)


def found_in(case: Case, function: Function, calls: int) -> bool:
    """Whether so many calls with the real generator raise the alarm in a case, of false ones 1e-6."""
    evidence = Evidence([case])
    evidence.add(Sample(0, 0, calls).run(case, function, 0))
    return evidence.finding is not None


def missed(call: Call, tree: Piece | Tokens, n: int, seed: int) -> int:
    """For how many of n random scripts a tree is wrong about what ``call(generator)`` returns."""
    return mispredicted(tree, ((rng, call(rng)) for rng in random_scripts(n, np.random.default_rng(seed))))


class Stuck:
    """Seeds a generator anew for every second call and gives it to both: each call is right, two in turn are alike."""

    def __init__(self, function: Function) -> None:
        self.function, self.calls, self.seed = function, 0, 0

    def __call__(self, *arguments: Any) -> Any:
        *given, rng = arguments
        if self.calls % 2 == 0:
            self.seed = int(rng.integers(1 << 62))
        self.calls += 1
        return self.function(*given, np.random.default_rng(self.seed))


def _off(case: Case, law: np.ndarray) -> bool:
    return _divergence(law, case.events[0].law) > 1e-6


def _divergence(law: np.ndarray, target: np.ndarray) -> float:
    some = law > 1e-12
    with np.errstate(divide="ignore"):
        return float(law[some] @ np.log(law[some] / target[some]))
