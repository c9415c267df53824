"""Evidence for findings: requirements on checks, controls with mutants, and builders for each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from simlab.rules import make_rule
from theory.acceptance import alpha
from theory.claims.base import CheckFailed, Evidence
from theory.claims.format import fmt, numbers
from theory.distances import tv
from theory.exact import acceptance, step_law
from theory.search import Pmf

Found = TypeVar("Found")


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
    """The check run on wrong variants: each must be told apart. ``differs`` gives the deviation found, or 0."""
    sizes = {name: differs(control) for name, control in controls.items()}
    missed = [name for name, size in sizes.items() if not size > 0]
    require(not missed, f"the check of {what} does not see: {', '.join(missed)}")
    return Evidence(
        "control",
        "the same check, on deliberately wrong variants, deviates for each: "
        + ", ".join(f"{name} ({fmt(size)})" for name, size in sizes.items()),
    )


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
