"""Rules compiled: plain numbers of one type, so that decoders are compiled once and not once a rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from simlab.continuous import rules
from simlab.continuous.compiled.constants import FIRST, MARGINAL
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.merged import merged, without_end

LAST_STEP, VARIANCE_PRODUCT, INVERSE_PRODUCT, TWO_PATH, ONE_PATH = range(5)  # what the ratio has beside one density


class CompiledRule(NamedTuple):
    """A rule as numbers."""

    kind: int
    aligned: bool
    compared: int  # the map whose densities are compared, and that makes proposals
    sharpness: float  # what squared distances are multiplied with when a draft is judged
    fill_value: float  # what a token is filled with when proposals have run out
    ends: bool  # whether the target's means end what is accepted
    reflects: bool  # whether a rejected draft's noise, reflected, makes the token in its place


class Form(NamedTuple):
    """What is special about the compiled form of a rule."""

    kind: int = LAST_STEP
    compared: int = FIRST
    ends: bool = False
    reflects: bool = False
    judged: Callable[[Chain], Chain] | None = None  # makes of a chain the one whose last step the rule compares


FORMS = {
    rules.LastStep: Form(),
    rules.Reflection: Form(reflects=True),
    rules.LastNoise: Form(judged=merged),  # of chains whose steps from the last noise on are one
    rules.TargetEnd: Form(ends=True, judged=without_end),  # of chains without the steps behind the last noise
    rules.VarianceProduct: Form(VARIANCE_PRODUCT),
    rules.ReferenceCode: Form(INVERSE_PRODUCT),
    rules.TwoPath: Form(TWO_PATH),
    rules.Path: Form(ONE_PATH),
    rules.Marginal: Form(compared=MARGINAL),
}


def compiled(rule: rules.Rule) -> CompiledRule:
    """The compiled form of ``rule``; raises ``ValueError`` for a rule that has none."""
    if type(rule) not in FORMS:
        known = ", ".join(kind.__name__ for kind in FORMS)
        raise ValueError(f"rule is a {type(rule).__name__}, which has no compiled form; expected one of {known}")
    kind, compared, ends, reflects, _ = FORMS[type(rule)]
    sharpness = rule.sharpness if isinstance(rule, rules.ReferenceCode) else 1.0
    return CompiledRule(
        kind, bool(rule.aligned), int(compared), float(sharpness), float(rule.fill_value), ends, reflects
    )


def judged(rule: rules.Rule, chain: Chain) -> Chain:
    """The chain whose last step the rule compares."""
    change = FORMS[type(rule)].judged
    return chain if change is None else change(chain)
