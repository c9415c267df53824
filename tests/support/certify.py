"""What the tests of several contracts of ``simlab certify`` share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from simlab.arrays import Array, total_variation
from simlab.certify.contracts.base import Case, Function
from simlab.certify.contracts.blocks import Tokens
from simlab.certify.engine.evidence import Evidence, calls_needed
from simlab.certify.engine.exact import enumerate_law
from simlab.certify.engine.scripted import Call, Piece, exact_laws, mispredicted, random_scripts
from simlab.certify.engine.tasks import Sample
from simlab.certify.registry import CONTRACTS
from simlab.mutants.gated.base import excess
from simlab.mutants.gated.contracts import implementation
from simlab.mutants.gated.gates import ALWAYS

REACHABLE = 300_000  # calls of a case that a minute has room for
TRIED = 2  # cases for which calls are counted


def case_named(contract: str, name: str) -> Any:
    """The case of a contract's battery with this name."""
    return next(case for case in CONTRACTS[contract].cases() if case.name == name)


def wrong(contract: str, fault: str) -> Any:
    """Code of a contract that has a fault in every call."""
    return implementation(fault, ALWAYS, contract)


def tv_of(case: Any, function: Function) -> float:
    """The TV of the enumerated law of what comes out of a case from the target's."""
    found = enumerate_law(0, case, function, np.random.default_rng(0))
    assert found is not None, "an enumeration that predicts what it does"
    return float(total_variation(found.law, case.events[0].law))


def tree_of(call: Call, edges: Sequence[float]) -> Piece | Tokens:
    """The tree of what one ``call(generator)`` returns."""
    [tree] = exact_laws(lambda calls: (call(rng) for _, rng in calls), [edges])
    return tree


def taken(weights: Array, coin: float) -> int:
    """The token at a coin, by inverse CDF."""
    upto = weights.cumsum()
    return int(np.searchsorted(upto, coin * upto[-1], side="right"))


def speculated(
    p: Array,
    q: Array,
    drafts: Array,
    coin: Callable[[int], float],
    last: Callable[[int], float],
    left: Callable[[int], Array] | None = None,
) -> list[int]:
    """Speculative sampling of a block by these numbers in [0, 1): ``coin(i)`` decides on draft i.

    Behind i drafts that are kept ``last(i)`` draws a token: of a rejection from ``left(i)``, by default the residual.
    """
    for i, x in enumerate(drafts.tolist()):
        if coin(i) * q[i, x] >= p[i, x]:
            rest = excess(p[i], q[i]) if left is None else left(i)
            return [*drafts[:i].tolist(), taken(rest, last(i))]
    return [*drafts.tolist(), taken(p[len(drafts)], last(len(drafts)))]


def verifier(wrong: Callable[[int, int, int], bool] = lambda size, gamma, i: False) -> Function:
    """Speculative sampling whose residual is drawn from p where it is ``wrong``."""

    def verify(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        def left(i: int) -> Array:
            return p[i] if wrong(p.shape[1], len(drafts), i) else excess(p[i], q[i])

        return speculated(p, q, drafts, lambda i: rng.random(), lambda i: rng.random(), left)

    return verify


def one_by_one(
    draw: Callable[[list[Array], list[int], np.random.Generator], int] = lambda rows, found, rng: taken(
        rows[-1], rng.random()
    ),
) -> Function:
    """A loop of the contract ``decode`` without drafts: ``draw(rows, found, rng)`` is the next token.

    ``rows`` are those of the model so far, the last one for the token that is drawn, by default from it.
    """

    def decode(model: Function, length: int, rng: np.random.Generator, eos: int | None = None) -> list[int]:
        rows, found = list[Array](), list[int]()
        while len(found) < length and (eos is None or eos not in found):
            rows.append(model(tuple(found)))
            found.append(draw(rows, found, rng))
        return found

    return decode


def evidence(cases: Sequence[Case], function: Function, calls: int, seed: int = 0, only: str | None = None) -> Evidence:
    """What so many calls with the real generator show of every case, or of the one with the name ``only``."""
    found = Evidence(cases)
    for i, case in enumerate(cases):
        if only in (None, case.name):
            found.add(Sample(i, 0, calls).run(case, function, seed))
    return found


def calls_to_tell_apart(cases: Sequence[Case], name: str) -> float:
    """The fewest calls, power 0.999, after which bets on a known bug raise the alarm; infinite where none do."""
    under = [(case, case.law_under(name)) for case in cases if name in case.bugs]
    laws = [(case, law) for case, law in under if law is not None]
    laws.sort(key=lambda found: -_divergence(found[1], found[0].events[0].law))
    level = Evidence(cases).level
    off = [(case, law) for case, law in laws[:TRIED] if _divergence(law, case.events[0].law) > 1e-6]
    needed = [calls_needed(case, law, level, 0.999) for case, law in off]
    return min((calls for calls in needed if calls is not None), default=np.inf)


def found_in(case: Case, function: Function, calls: int) -> bool:
    """Whether so many calls with the real generator raise the alarm in a case, of false ones 1e-6."""
    return evidence([case], function, calls).finding is not None


def missed(call: Call, tree: Piece | Tokens, n: int, seed: int) -> int:
    """For how many of n random scripts a tree is wrong about what ``call(generator)`` returns."""
    return mispredicted(tree, ((rng, call(rng)) for rng in random_scripts(n, np.random.default_rng(seed))))


class Stuck:
    """Has so many generators in turn, each seeded anew for every second of its calls: a call and a later one are alike.

    By itself each call is right. So many calls were made ``before``.
    """

    def __init__(self, function: Function, generators: int = 1, before: int = 0) -> None:
        self.function, self.seeds, self.calls = function, [0] * generators, before

    def __call__(self, *arguments: Any) -> Any:
        *given, rng = arguments
        turn, k = divmod(self.calls, len(self.seeds))
        if turn % 2 == 0:
            self.seeds[k] = int(rng.integers(1 << 62))
        self.calls += 1
        return self.function(*given, np.random.default_rng(self.seeds[k]))


def _divergence(law: np.ndarray, target: np.ndarray) -> float:
    some = law > 1e-12
    with np.errstate(divide="ignore"):
        return float(law[some] @ np.log(law[some] / target[some]))
