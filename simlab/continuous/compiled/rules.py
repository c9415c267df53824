"""Rules compiled: plain numbers of one type, so that decoders are compiled once and not once a rule."""

from __future__ import annotations

from typing import NamedTuple

from simlab.continuous import rules
from simlab.continuous.compiled.constants import FIRST, MARGINAL

LAST_STEP, VARIANCE_PRODUCT, INVERSE_PRODUCT, TWO_PATH, ONE_PATH = range(5)  # what the ratio has beside one density


class CompiledRule(NamedTuple):
    """A rule as numbers."""

    kind: int
    aligned: bool
    compared: int  # the map whose densities are compared, and that makes proposals
    sharpness: float  # what squared distances are multiplied with when a draft is judged
    fill_value: float  # what a token is filled with when proposals have run out


_KINDS = {
    rules.LastStep: (LAST_STEP, FIRST),
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
    return CompiledRule(kind, bool(rule.aligned), int(compared), float(sharpness), float(rule.fill_value))
