"""Continuous tokens, made by trajectories of Gaussian kernels: processes, rules, decoders, and the tape they share.

The nouns are those of the rest of simlab. A process (:mod:`~simlab.continuous.models.sequences`) gives the chain of
kernels of each token of a sequence; a rule (:mod:`~simlab.continuous.rules`) is a ratio of densities and a way to
propose; a decoder (:mod:`~simlab.continuous.decoders`) drafts, verifies and commits; chance is the tape, which here
deals normals.
"""

from simlab.continuous.decoders import Decoded, InPlace, Outcome, Truncating
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.pairs import PAIRS, affine, make_pair
from simlab.continuous.models.sequences import Pair, Tokens
from simlab.continuous.rules import RULES, make_rule

__all__ = [
    "PAIRS",
    "RULES",
    "Chain",
    "Decoded",
    "InPlace",
    "Outcome",
    "Pair",
    "Tokens",
    "Truncating",
    "affine",
    "make_pair",
    "make_rule",
]
