"""What a claim is, and how its verdict is earned.

A claim is one statement of one paper with the function that decides it. The function's docstring carries the
proof, where there is one; what it returns is a :class:`Finding`: a verdict and the evidence for it, computed
on the spot. A ``holds`` rests on the proof, with enumeration as the check that the implementation is what the
proof speaks of; every check is itself seen failing on deliberately wrong variants (:mod:`simlab.mutants`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal, TypeVar, get_args

import numpy as np

from simlab.rules import make_rule
from theory.acceptance import alpha
from theory.distances import tv
from theory.exact import acceptance, step_law
from theory.search import Pmf

Verdict = Literal["holds", "holds-under-assumptions", "refuted", "not-refuted", "not-decided"]
Found = TypeVar("Found")
VERDICTS: tuple[str, ...] = get_args(Verdict)
Kind = Literal[
    "enumeration",
    "identity",
    "search",
    "counterexample",
    "example",
    "control",
    "exact-small-scale",
    "simulation",
    "parts",
    "check-failed",
]


class CheckFailed(AssertionError):
    """A check did not do what a check must: a wrong variant passed it, or it contradicts itself."""


@dataclass(frozen=True)
class Evidence:
    """One piece of evidence: what was computed, what came out, and the numbers of a (counter)example."""

    kind: Kind
    summary: str
    numbers: dict[str, Any] | None = None


@dataclass(frozen=True)
class Finding:
    """The verdict on a claim and what it rests on. Only a refutation has counterexamples; others have examples."""

    verdict: Verdict
    evidence: Sequence[Evidence]

    def __post_init__(self) -> None:
        if self.verdict != "refuted":
            told = [replace(e, kind="example") if e.kind == "counterexample" else e for e in self.evidence]
            object.__setattr__(self, "evidence", told)


@dataclass(frozen=True)
class Claim:
    """One statement of one paper.

    ``parts`` are the ids of the statements it splits into; ``stated`` is false for a part that is a reading or
    an addition of ours, which does not count towards its parent's verdict.
    """

    id: str
    paper: str
    where: str
    statement: str
    decide: Callable[[int], Finding] | None
    assumptions: Sequence[str] = ()
    parts: Sequence[str] = ()
    stated: bool = True
    proof: str = field(default="")


class Claims(dict[str, Claim]):
    """The claims of one paper, in the order they are told. Filled by the decorator :meth:`claim`."""

    def __init__(self, paper: str) -> None:
        super().__init__()
        self.paper = paper

    def claim(
        self, id: str, where: str, statement: str, assumptions: Sequence[str] = (), stated: bool = True
    ) -> Callable[[Callable[[int], Finding]], Callable[[int], Finding]]:
        """Register the function that decides claim ``id``; it takes a seed and returns a finding."""

        def register(decide: Callable[[int], Finding]) -> Callable[[int], Finding]:
            proof = _unwrapped(inspect.cleandoc(decide.__doc__ or ""))
            self[id] = Claim(id, self.paper, where, statement, decide, assumptions, (), stated, proof)
            return decide

        return register

    def summary(self, id: str, where: str, statement: str, parts: Sequence[str]) -> None:
        """Register a claim whose verdict follows from its parts, which may be registered later."""
        self[id] = Claim(id, self.paper, where, statement, None, (), tuple(parts))


def _unwrapped(text: str) -> str:
    """Paragraphs on one line each, so that they can be set to any width; indented ones stay as they are."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(p if "\n " in p or p.startswith(" ") else " ".join(p.splitlines()) for p in paragraphs)


def combined(parts: Mapping[str, tuple[Claim, Finding]]) -> Finding:
    """The finding of a claim that splits: refuted if a part the paper states is refuted; if it states none, by all."""
    everything = {id: finding.verdict for id, (_, finding) in parts.items()}
    stated = {id: verdict for id, verdict in everything.items() if parts[id][0].stated} or everything
    order = ["refuted", "not-decided", "not-refuted", "holds-under-assumptions", "holds"]
    verdict: Any = min(stated.values(), key=order.index)
    evidence = [
        Evidence(
            "parts",
            "; ".join(
                f"{id}: {finding.verdict}" + ("" if claim.stated else " (our reading)")
                for id, (claim, finding) in parts.items()
            ),
        )
    ]
    if verdict == "refuted":
        first = next(id for id, v in stated.items() if v == "refuted")
        evidence += [e for e in parts[first][1].evidence if e.kind == "counterexample"]
    return Finding(verdict, evidence)


# Evidence that several claims use ------------------------------------------------------------------------------


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


def fmt_row(row: Iterable[Any]) -> str:
    """A row of numbers to read."""
    return f"({', '.join(map(fmt, row))})"


def fmt(value: Any) -> str:
    """A number to read: short rationals as they are, everything else with four digits."""
    if isinstance(value, Fraction) and value.denominator < 1000:
        return str(value)
    return f"{float(value):.4g}"


def numbers(rule: str | None = None, parameters: Mapping[str, Any] | None = None, **values: Any) -> dict:
    """A (counter)example anyone can recompute: plain numbers, and the rationals behind them under ``exact``."""
    everything = {**(parameters or {}), **values}
    exact = {name: _exact(value) for name, value in everything.items() if _has_fraction(value)}
    named = {"rule": rule} if rule else {}
    return named | {name: plain(value) for name, value in everything.items()} | ({"exact": exact} if exact else {})


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


def plain(value: Any) -> Any:
    """``value`` in JSON's own types; rationals become floats, prefixes become text."""
    if isinstance(value, Mapping):
        return {" ".join(map(str, k)) if isinstance(k, tuple) else str(k): plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray) or (isinstance(value, Iterable) and not isinstance(value, str)):
        return [plain(v) for v in value]
    if isinstance(value, Fraction | np.floating):
        return float(value)
    if isinstance(value, np.integer | np.bool_):
        return value.item()
    return value


def _exact(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {" ".join(map(str, k)) if isinstance(k, tuple) else str(k): _exact(v) for k, v in value.items()}
    if isinstance(value, np.ndarray) or (isinstance(value, Iterable) and not isinstance(value, str)):
        return [_exact(v) for v in value]
    return str(value)


def _has_fraction(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_fraction, value.values()))
    if isinstance(value, np.ndarray) or (isinstance(value, Iterable) and not isinstance(value, str)):
        return any(map(_has_fraction, value))
    return isinstance(value, Fraction)
