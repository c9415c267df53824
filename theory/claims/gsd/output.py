"""Claims about what GSD emits: the law of tokens and groups, and tokens that the target excludes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from simlab.rules import Grouped, Rule, Speculative, make_rule
from theory.claims.base import Claims, Finding
from theory.claims.evidence import (
    control,
    counterexample,
    described,
    example,
    holds_if,
    holds_under_assumptions_if,
    require,
    require_found,
    search,
)
from theory.claims.format import fmt
from theory.claims.gsd.acceptance import WINDOWS
from theory.distances import tv
from theory.exact import step_law
from theory.search import Pmf, grouped_pairs, searched, sized_pairs, smallest_violation

CLAIMS = Claims("gsd")

CLAIMS.summary(
    "gsd.unbiased",
    "5.1",
    'Raising numerator and denominator together is "unbiased": the law of the output against p, '
    "token-wise and group-wise; and what a group-level residual would change.",
    ["gsd.unbiased.token", "gsd.unbiased.group", "gsd.unbiased.group-residual"],
)


def _group_masses(row: Any, labels: tuple[int, ...]) -> list[Fraction]:
    return [sum((m for m, g in zip(row, labels, strict=True) if g == label), Fraction(0)) for label in set(labels)]


def _biased(rule: str, level: Callable[[Any, tuple[int, ...]], Any]) -> Callable[[tuple], bool]:
    def violates(example: tuple[Pmf, Pmf, tuple[int, ...]]) -> bool:
        p, q, labels = example
        return bool(tv(level(step_law(make_rule(rule, labels=labels), p, q), labels), level(p, labels)) > 0)

    return violates


@CLAIMS.claim("gsd.unbiased.token", "5.1", "The token GSD emits follows p (token-level residual, as printed).")
def unbiased_token(seed: int) -> Finding:
    """Within a group tokens are accepted in proportion to q, not p, and the residual does not make up for it."""
    found = smallest_violation(grouped_pairs, _biased("grouped", lambda row, labels: row), seed)
    return _unbiased(found, "token", lambda row, labels: row)


@CLAIMS.claim("gsd.unbiased.group", "5.1", "The group GSD emits follows P (token-level residual, as printed).")
def unbiased_group(seed: int) -> Finding:
    """A group is accepted with mass min(P, Q), so it lacks [P - Q]^+. The token-level residual hands the rejected mass
    out in proportion to the group sums of [p - q]^+, which is something else as soon as a group has tokens
    on both sides.
    """
    found = smallest_violation(grouped_pairs, _biased("grouped", _group_masses), seed)
    return _unbiased(found, "group", _group_masses)


def _unbiased(found: Any, what: str, level: Callable[[Any, tuple[int, ...]], Any]) -> Finding:
    if found is None:
        return Finding("not-refuted", [search(searched())])
    p, q, labels = found
    law = level(step_law(Grouped(labels), p, q), labels)
    aim = level(p, labels)
    return Finding(
        "refuted",
        [
            counterexample(
                f"{len(p)} tokens in groups {labels}: the {what} law is ({', '.join(map(fmt, law))}) where "
                f"the target has ({', '.join(map(fmt, aim))})",
                described(
                    "grouped",
                    {"labels": labels},
                    p,
                    q,
                    **({"group_law": law, "group_target": aim} if what == "group" else {}),
                ),
            )
        ],
    )


@CLAIMS.claim(
    "gsd.unbiased.group-residual",
    "not in the paper",
    "With the group-level residual ([P - Q]+ over groups, p within a group) the group emitted follows P.",
    stated=False,
)
def unbiased_group_residual(seed: int) -> Finding:
    """Speculative sampling of the group: a draft's group follows Q, is accepted with min(1, P/Q), and is replaced by
    one from [P - Q]+. So the group follows P exactly. The token within it does not follow p: accepted tokens follow q
    within their group.
    """
    rule = "grouped-group-residual"
    found = smallest_violation(grouped_pairs, _biased(rule, _group_masses), seed)
    token = require_found(
        smallest_violation(grouped_pairs, _biased(rule, lambda row, labels: row), seed),
        "the search does not find that tokens within a group follow q",
    )
    printed = smallest_violation(grouped_pairs, _biased("grouped", _group_masses), seed)
    require(printed is not None, "the search does not tell the group residual from the printed one")
    p, q, labels = token
    return holds_if(
        found is None,
        search(f"the group law is P: {searched()}"),
        example(
            "token by token it is still not p: accepted tokens follow q within their group",
            described(rule, {"labels": labels}, p, q),
        ),
        control("the same search finds that the printed residual does not preserve the group law"),
    )


CLAIMS.summary(
    "gsd.support",
    "Algorithm 3",
    "GSD never emits a token of target probability 0.",
    ["gsd.support.partition", "gsd.support.printed", "gsd.support.clamped", "gsd.support.centred"],
)

DELTA = 0.15  # the paper's filter on the gap of probabilities


def emits_impossible(rule: Rule, p: Pmf, q: Pmf) -> Fraction:
    """The probability that a token of target probability 0 comes out."""
    return sum((m for m, t in zip(step_law(rule, p, q), p, strict=True) if t == 0), Fraction(0))


@CLAIMS.claim(
    "gsd.support.partition", "4, eq. 4", "Over a fixed partition no token of target probability 0 is emitted."
)
def support_partition(seed: int) -> Finding:
    """A draft of target probability 0 is accepted with the ratio of its group's masses, which is positive as soon as
    any token of the group has p > 0.
    """
    found = smallest_violation(grouped_pairs, lambda e: emits_impossible(Grouped(e[2]), *e[:2]) > 0, seed)
    return _impossible(found, "grouped", {} if found is None else {"labels": found[2]})


def _impossible(found: Any, rule: str, parameters: dict[str, Any]) -> Finding:
    if found is None:
        return Finding("not-refuted", [search(searched())])
    p, q = found[:2]
    leak = emits_impossible(make_rule(rule, **parameters), p, q)
    require(
        emits_impossible(Speculative(), p, q) == 0, f"speculative sampling emits what the target excludes: {p}, {q}"
    )
    text = ", ".join(f"{name} = {value}" for name, value in parameters.items() if value is not None)
    return Finding(
        "refuted",
        [
            counterexample(
                f"{len(p)} tokens, {text}: a token of target probability 0 comes out with probability {fmt(leak)}",
                described(rule, parameters, p, q),
            ),
            control("on the same pair speculative sampling emits no such token"),
        ],
    )


def _leaks(window: str) -> Callable[[tuple[Pmf, Pmf, int]], bool]:
    return lambda e: emits_impossible(make_rule("dynamic-grouped", **_with_delta(window, e[2])), *e[:2]) > 0


def _with_delta(window: str, size: int) -> dict[str, Any]:
    return {"size": size, "max_gap": DELTA, "max_distance": None, "distances": None, "window": window}


def _support(window: str) -> Callable[[int], Finding]:
    def decide(seed: int) -> Finding:
        """A draft of target probability 0 is accepted with the ratio of its window's masses, which is positive as soon
        as the window reaches a token with p > 0. The filter |p(y) - p(x)| <= delta does not help: it lets in
        neighbours of small positive probability, which is what an image model's rows are made of. (Clamped windows
        reach upwards only from G = 4 on.)
        """
        found = smallest_violation(sized_pairs, _leaks(window), seed)
        return _impossible(found, "dynamic-grouped", {} if found is None else _with_delta(window, found[2]))

    return decide


for _window in ("clamped", "centred"):
    CLAIMS.claim(
        f"gsd.support.{_window}",
        "Algorithm 3",
        f"With Algorithm 3's groups, read as {WINDOWS[_window]}, no token of target probability 0 is emitted.",
    )(_support(_window))


@CLAIMS.claim(
    "gsd.support.printed",
    "Algorithm 3",
    "With Algorithm 3's groups, the slice taken as printed, no token of target probability 0 is emitted.",
    assumptions=["the vocabulary holds at least 2 (G//2) tokens"],
)
def support_printed(seed: int) -> Finding:
    """Tokens of probability 0 are first in the sorted list, and all of them are found at idx = 0. Their slice
    [-G//2 : G//2] starts V - G//2 places from the front and is empty for V >= 2 (G//2): they are always rejected, and
    the residual [p - q]+ has no mass where p has none. In a smaller vocabulary the slice is not empty.
    """
    leaks = _leaks("printed")
    found = smallest_violation(sized_pairs, lambda e: len(e[0]) >= 2 * (e[2] // 2) and leaks(e), seed)
    small = require_found(
        smallest_violation(sized_pairs, leaks, seed), "the search does not find the leak of a smaller vocabulary"
    )
    return holds_under_assumptions_if(
        found is None,
        search(searched() if found is None else f"found {found}"),
        example(
            f"without the assumption: {len(small[0])} tokens, G = {small[2]}",
            described("dynamic-grouped", _with_delta("printed", small[2]), *small[:2]),
        ),
    )
