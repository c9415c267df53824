"""What the tests of several contracts of ``simlab certify`` share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from simlab.certify.base import Case
from simlab.certify.coins import outcomes
from simlab.certify.evidence import FALSE_ALARMS, calls_needed

REACHABLE = 300_000  # calls of a case that a minute has room for
LEVEL = FALSE_ALARMS / 100  # of a single test, of which a certificate has fewer
TRIED = 2  # cases for which calls are counted


def exact_law(verify: Callable[..., Any], *arguments: Any) -> dict[Any, float]:
    """The exact law of what a known verifier returns."""
    return outcomes(partial(verify, *arguments))


def told_apart(cases: Sequence[Case], name: str) -> int | None:
    """The fewest calls, power 0.999, after which bets on a known bug raise the alarm; ``None`` where none do."""
    laws = [(case, case.suspects[name]) for case in cases if name in case.suspects]
    laws.sort(key=lambda found: -_divergence(found[1], found[0].events[0].law))
    needed = [calls_needed(case, law, LEVEL, 0.999) for case, law in laws[:TRIED] if _off(case, law)]
    return min((calls for calls in needed if calls is not None), default=None)


def _off(case: Case, law: np.ndarray) -> bool:
    return _divergence(law, case.events[0].law) > 1e-6


def _divergence(law: np.ndarray, target: np.ndarray) -> float:
    some = law > 1e-12
    with np.errstate(divide="ignore"):
        return float(law[some] @ np.log(law[some] / target[some]))
