"""Mutants: deliberately wrong rules, randomness, decoders and trees, each with one known bug.

Checks are seen failing on them. This package lists what can be put in place of the parts of simlab; the callables that
``simlab certify`` is tested with are in :mod:`simlab.mutants.catalogue`.
"""

from simlab.mutants.decoders import (
    BonusFromResidual,
    BonusOmitted,
    BonusTwice,
    FlatTail,
    GreedyDrafts,
    NeighbourScoredUniform,
    ReferenceTailStale,
    TailRelabelled,
    TailStale,
    sjd_decoders,
    speculative_decoders,
)
from simlab.mutants.randomness import (
    ChangedRandomness,
    CountOffByOne,
    FirstUnverified,
    OneCoin,
    OneUniform,
    SharedCoin,
    WithRandomness,
)
from simlab.mutants.rules import (
    RULES,
    InvertedRatio,
    ResidualIsTarget,
    ResidualNotNormalised,
    ResidualReversed,
    ResidualTempered,
    TargetZeroedInPlace,
    inflated_ratio,
)
from simlab.mutants.trees import ac_decoders, tree_decoders

__all__ = [
    "RULES",
    "BonusFromResidual",
    "BonusOmitted",
    "BonusTwice",
    "ChangedRandomness",
    "CountOffByOne",
    "FirstUnverified",
    "FlatTail",
    "GreedyDrafts",
    "InvertedRatio",
    "NeighbourScoredUniform",
    "OneCoin",
    "OneUniform",
    "ReferenceTailStale",
    "ResidualIsTarget",
    "ResidualNotNormalised",
    "ResidualReversed",
    "ResidualTempered",
    "SharedCoin",
    "TailRelabelled",
    "TailStale",
    "TargetZeroedInPlace",
    "WithRandomness",
    "ac_decoders",
    "inflated_ratio",
    "sjd_decoders",
    "speculative_decoders",
    "tree_decoders",
]
