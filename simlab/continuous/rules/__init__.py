"""Rules for continuous tokens, one file each. ``make_rule(name, **parameters)`` makes one by name."""

from __future__ import annotations

from typing import Any

from simlab.continuous.rules.base import Rule
from simlab.continuous.rules.last_noise import LastNoise
from simlab.continuous.rules.last_step import LastStep
from simlab.continuous.rules.marginal import Marginal
from simlab.continuous.rules.path import Path
from simlab.continuous.rules.reference_code import ReferenceCode
from simlab.continuous.rules.reflection import Reflection
from simlab.continuous.rules.target_end import TargetEnd
from simlab.continuous.rules.two_path import TwoPath
from simlab.continuous.rules.variance_product import VarianceProduct
from simlab.registry import make

RULES: dict[str, type[Rule]] = {
    kind.name: kind
    for kind in (Marginal, Path, TwoPath, VarianceProduct, ReferenceCode, LastStep, Reflection, LastNoise, TargetEnd)
}


def make_rule(name: str, **parameters: Any) -> Rule:
    """The rule of a name.

    Parameters
    ----------
    name
        A key of ``RULES``: ``marginal``, ``path``, ``two-path``, ``variance-product``, ``cspd-reference``,
        ``last-step``, ``reflection``, ``last-noise`` or ``target-end``.
    **parameters
        Those of its class, such as ``aligned``.

    Returns
    -------
    Rule
        What a decoder's ``run`` takes.

    Raises
    ------
    ValueError
        For an unknown name or parameter, or a bad value.
    """
    return make("rule", RULES, name, parameters)


__all__ = [
    "RULES",
    "LastNoise",
    "LastStep",
    "Marginal",
    "Path",
    "ReferenceCode",
    "Reflection",
    "Rule",
    "TargetEnd",
    "TwoPath",
    "VarianceProduct",
    "make_rule",
]
