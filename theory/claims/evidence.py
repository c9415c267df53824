"""Builders of findings and of each kind of evidence, and what checks require of themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from math import inf, isnan, log10
from typing import Any, TypeVar

import numpy as np

from simlab.rules import make_rule
from theory.acceptance import alpha
from theory.claims.base import Evidence, Finding, Verdict
from theory.claims.format import fmt, numbers
from theory.distances import tv
from theory.exact import acceptance, step_law
from theory.failures import CheckFailed
from theory.search import Pmf

Found = TypeVar("Found")

# Findings ------------------------------------------------------------------------------------------------------


def holds_if(condition: bool, *evidence: Evidence) -> Finding:
    """``holds``, under the assumptions if there are any, if the checks agree with the proof, else ``refuted``."""
    return Finding("holds" if condition else "refuted", evidence)


def not_refuted_if(condition: bool, *evidence: Evidence) -> Finding:
    """``not-refuted`` if no violation was found, else ``refuted``."""
    return Finding("not-refuted" if condition else "refuted", evidence)


def refuted_if(condition: bool, *evidence: Evidence) -> Finding:
    """``refuted`` if a counterexample was found, else ``not-refuted``."""
    return not_refuted_if(not condition, *evidence)


def judged(sure: int, *evidence: Evidence) -> Finding:
    """``not-refuted`` where it is surely so, 1, ``refuted`` where it surely is not, -1, else, 0, ``not-decided``."""
    verdicts: dict[int, Verdict] = {1: "not-refuted", 0: "not-decided", -1: "refuted"}
    return Finding(verdicts[sure], evidence)


def side(interval: tuple[float, float], bound: float = 0.0) -> int:
    """1 or -1 where an interval is above or below a bound, 0 where it holds it."""
    low, high = interval
    return int(low > bound) - int(high < bound)


# Evidence of each kind: what it says, and the numbers of a (counter)example ---------------------------------------

proof = partial(Evidence, "proof")  # by solvers, for all real rows up to a size, or pointwise (theory.proofs)
enumeration = partial(Evidence, "enumeration")  # all outcomes with their exact probabilities
identity = partial(Evidence, "identity")  # an equation or inequality, checked on given inputs
search = partial(Evidence, "search")  # what was searched for a violation
counterexample = partial(Evidence, "counterexample")  # a case in which the statement is false
example = partial(Evidence, "example")  # a case that shows what the statement says
small_scale = partial(Evidence, "exact-small-scale")  # exact numbers of a small process
simulation = partial(Evidence, "simulation")  # estimates from samples, with their errors
control = partial(Evidence, "control")  # the same check, failing where it must

# Checks --------------------------------------------------------------------------------------------------------


def require(condition: bool, message: str) -> None:
    """Raise :class:`CheckFailed` with ``message`` unless ``condition``."""
    if not condition:
        raise CheckFailed(message)


def require_found(found: Found | None, message: str) -> Found:
    """``found``; raise :class:`CheckFailed` with ``message`` if a search came back without it."""
    if found is None:
        raise CheckFailed(message)
    return found


def rejects_mutants(controls: Mapping[str, Any], differs: Callable[[Any], Any], what: str) -> Evidence:
    """The check run on wrong variants: each must be distinguished. ``differs`` gives the deviation found, or 0.

    There has to be one at least.
    """
    require(bool(controls), f"the check of {what} is run on no wrong variant; expected one or more")
    sizes = {name: differs(control) for name, control in controls.items()}
    missed = [name for name, size in sizes.items() if not size > 0]
    require(not missed, f"the check of {what} does not see: {', '.join(missed)}")
    return control(
        "the same check, on deliberately wrong variants, deviates for each: "
        + ", ".join(f"{name} ({fmt(size)})" for name, size in sizes.items()),
    )


def over(value: float, near: float) -> float:
    """``value`` where it is above ``near``, the precision of what was computed; else 0: a check's deviation.

    NaN, which agrees with nothing, is as far off as can be.
    """
    if isnan(value):
        return inf
    return value if value > near else 0.0


def largest(deviations: Iterable[Any], near: float) -> float:
    """The largest of ``deviations``, numbers or arrays, in size; 0 where all are within ``near``, infinite for NaN."""
    return over(float(np.max([float(np.max(np.abs(each))) for each in deviations])), near)


def powers_below(p_value: float, level: float) -> float:
    """By how many powers of ten a p-value is below a level; 0 where it is not, infinitely many for NaN."""
    if isnan(p_value):
        return inf
    return max(0.0, log10(level) - log10(max(p_value, 1e-300)))


def first(values: Iterable[Any]) -> Any:
    """The first of ``values`` above 0, or 0: how far off a wrong variant is where it first is."""
    return next((value for value in values if value > 0), 0)


def described(rule: str, parameters: dict[str, Any], p: Pmf, q: Pmf, **more: Any) -> dict[str, Any]:
    """A counterexample for one pair of rows: what the rule does there, and what the lossless rule does."""
    made = make_rule(rule, **parameters)
    law = step_law(made, p, q)
    return numbers(
        rule,
        parameters,
        p=p,
        q=q,
        acceptance=acceptance(made, p, q),
        acceptance_speculative=alpha(p, q),
        law=law,
        tv=tv(law, p),
        **more,
    )
