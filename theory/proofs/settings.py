"""Statements about rules whose settings are unknown numbers, as their rows are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from simlab.arrays import total_variation
from simlab.rules import Rule
from theory.proofs.base import Numbers, Proof, Stated, eq, le, proof_of_rows

Make = Callable[[Any, int], Rule | None]  # a rule of a setting made of a number from 0 to 1, over V tokens, if any

LINE = "acceptance = 1 - TV(p, q) + TV(p, law)"
HALF, THIRD, TENTH = Fraction(1, 2), Fraction(1, 3), Fraction(1, 10)

__all__ = [
    *("HALF", "LINE", "TENTH", "THIRD", "Make", "always", "at_setting", "but_at", "law_and_tv_below", "on_the_line"),
    *("proof_of_settings", "set_to", "step"),
]


def at_setting(n: Numbers, states: Callable[..., Stated], make: Make) -> Stated:
    """A statement about a rule, over the rows of ``n``, with the setting that is made of the number ``s``."""
    rule = make(n["s"], len(n["p"]))
    return [] if rule is None else states(rule, n)


def proof_of_settings(
    name: str,
    claims: tuple[str, ...],
    statement: str,
    states: Callable[..., Stated],
    *makes: Make,
    wrong: Mapping[str, Make],
    sizes: Iterable[int] = (2, 3),
    **about: Any,
) -> Proof:
    """A proof that a statement is true of rules at every setting, and false of those that are ``wrong``, maybe at one
    setting alone; ``about`` as :func:`~theory.proofs.base.proof_of_rows` has it."""
    asked, others = [*({"make": make} for make in makes)], {told: {"make": make} for told, make in wrong.items()}
    stated = partial(at_setting, states=states)
    return proof_of_rows(name, claims, statement, stated, *asked, wrong=others, sizes=sizes, shares=("s",), **about)


def but_at(value: Fraction, wrong: Make, right: Make) -> Make:
    """A rule that is wrong where ``s`` is ``value`` and nowhere else: only a proof for every setting sees it."""
    return lambda s, size: (wrong if s == value else right)(s, size)


def always(rule: Rule) -> Make:
    """One rule, whatever the setting."""
    return lambda s, size: rule


def set_to(rule: Rule, **settings: Any) -> Rule:
    """A rule with settings that are unknown numbers, which no constructor takes for numbers."""
    for name, value in settings.items():
        object.__setattr__(rule, name, value)
    return rule


def step(rule: Rule, n: Numbers) -> tuple[Any, Any, Any, Any]:
    """Both rows, the law of a step, and its acceptance."""
    found = rule.step_rows(n["p"][None], n["q"][None])
    return n["p"], n["q"], found.law[0], found.acceptance[0]


# Statements about rules of more than one module ----------------------------------------------------------------


def on_the_line(rule: Rule, n: Numbers) -> Stated:
    """Acceptance = 1 - TV(p, q) + TV(p, law)."""
    p, q, law, accepts = step(rule, n)
    return [(accepts, eq, 1 - total_variation(p, q) + total_variation(p, law))]


def law_and_tv_below(rule: Rule, n: Numbers, turned: bool = False) -> Stated:
    """No token is emitted more often than 1/s times p, and TV is at most 1 - s; ``turned``, with 1 - s for s."""
    p, _, law, _ = step(rule, n)
    least = 1 - n["s"] if turned else n["s"]
    return [
        *((mass * least, le, own) for mass, own in zip(law, p, strict=True)),
        (total_variation(law, p), le, 1 - least),
    ]
