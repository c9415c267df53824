"""Verification rules, one file each. ``make_rule(name, **parameters)`` makes one by name."""

from __future__ import annotations

from typing import Any

from simlab.registry import make
from simlab.rules.addition import Addition
from simlab.rules.amplify import Amplify
from simlab.rules.base import RatioRule, Rule, Step
from simlab.rules.cactus import Cactus
from simlab.rules.cascade import Cascade
from simlab.rules.dynamic_grouped import DynamicGrouped
from simlab.rules.fuzzy import Fuzzy
from simlab.rules.grouped import Grouped
from simlab.rules.grouped_group_residual import GroupedGroupResidual
from simlab.rules.gsd_reference import GsdReference
from simlab.rules.lantern import Lantern, LanternMultiplicative
from simlab.rules.lantern_greedy import LanternGreedy
from simlab.rules.lantern_reference import LanternReference
from simlab.rules.lenience import Lenience
from simlab.rules.mars import Mars
from simlab.rules.mars_reference import MarsReference
from simlab.rules.medusa_reference import MedusaReference
from simlab.rules.mixture import Mixture
from simlab.rules.neighbourhood import codebook_distances, codebook_neighbours
from simlab.rules.optimal_lossy import OptimalLossy
from simlab.rules.sampler_match import SamplerMatch
from simlab.rules.speculative import Speculative
from simlab.rules.truncation import Truncation
from simlab.rules.typical import Typical

RULES: dict[str, type[Rule]] = {
    "speculative": Speculative,
    "amplify": Amplify,
    "addition": Addition,
    "grouped": Grouped,
    "grouped-group-residual": GroupedGroupResidual,
    "dynamic-grouped": DynamicGrouped,
    "gsd-reference": GsdReference,
    "lantern": Lantern,
    "lantern-multiplicative": LanternMultiplicative,
    "lantern-greedy": LanternGreedy,
    "lantern-reference": LanternReference,
    "typical": Typical,
    "medusa-reference": MedusaReference,
    "optimal-lossy": OptimalLossy,
    "mixture": Mixture,
    "lenience": Lenience,
    "cactus": Cactus,
    "truncation": Truncation,
    "cascade": Cascade,
    "fuzzy": Fuzzy,
    "mars": Mars,
    "mars-reference": MarsReference,
    "sampler-match": SamplerMatch,
}


def make_rule(name: str, **parameters: Any) -> Rule:
    """The rule called ``name``.

    Parameters
    ----------
    name
        A key of ``RULES``.
    parameters
        The fields of the rule's class.

    Raises
    ------
    ValueError
        For an unknown name or parameter, a missing parameter, or a bad value.
    """
    return make("rule", RULES, name, parameters)


__all__ = [
    "RULES",
    "Addition",
    "Amplify",
    "Cactus",
    "Cascade",
    "DynamicGrouped",
    "Fuzzy",
    "Grouped",
    "GroupedGroupResidual",
    "GsdReference",
    "Lantern",
    "LanternGreedy",
    "LanternMultiplicative",
    "LanternReference",
    "Lenience",
    "Mars",
    "MarsReference",
    "MedusaReference",
    "Mixture",
    "OptimalLossy",
    "RatioRule",
    "Rule",
    "SamplerMatch",
    "Speculative",
    "Step",
    "Truncation",
    "Typical",
    "codebook_distances",
    "codebook_neighbours",
    "make_rule",
]
