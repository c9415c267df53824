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


_KINDS = {
    rules.LastStep: (LAST_STEP, FIRST),
    rules.Reflection: (LAST_STEP, FIRST),
    rules.LastNoise: (LAST_STEP, FIRST),  # of chains whose steps from the last noise on are one
    rules.TargetEnd: (LAST_STEP, FIRST),  # of chains without the steps behind the last noise
    rules.VarianceProduct: (VARIANCE_PRODUCT, FIRST),
    rules.ReferenceCode: (INVERSE_PRODUCT, FIRST),
    rules.TwoPath: (TWO_PATH, FIRST),
    rules.Path: (ONE_PATH, FIRST),
    rules.Marginal: (LAST_STEP, MARGINAL),
}


def compiled(rule: rules.Rule) -> CompiledRule:
    """The compiled form of ``rule``; raises ``ValueError`` for a rule that has none."""
    if type(rule) not in _KINDS:
        known = ", ".join(kind.__name__ for kind in _KINDS)
        raise ValueError(f"rule is a {type(rule).__name__}, which has no compiled form; expected one of {known}")
    kind, compared = _KINDS[type(rule)]
    sharpness = rule.sharpness if isinstance(rule, rules.ReferenceCode) else 1.0
    ends, reflects = isinstance(rule, rules.TargetEnd), isinstance(rule, rules.Reflection)
    return CompiledRule(
        kind, bool(rule.aligned), int(compared), float(sharpness), float(rule.fill_value), ends, reflects
    )


def judged(rule: rules.Rule) -> Callable[[Chain], Chain]:
    """What makes of a chain the one whose last step the rule compares."""
    if isinstance(rule, rules.LastNoise):
        return merged
    return without_end if isinstance(rule, rules.TargetEnd) else _itself


def _itself(chain: Chain) -> Chain:
    return chain
