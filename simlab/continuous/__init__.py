"""Speculative decoding of continuous tokens, which are made by trajectories of Gaussian kernels.

A model (:mod:`~simlab.continuous.models`) gives the chain of kernels of each token of a sequence, and two models are a
``Pair``; a rule (:mod:`~simlab.continuous.rules`) is a ratio of densities and a way to propose; a decoder
(:mod:`~simlab.continuous.decoders`) drafts, verifies and commits, on normals of a counter-based tape.
"""

from simlab.continuous.decoders import Decoded, InPlace, Outcome, Truncating
from simlab.continuous.models.builders import affine, affine_chain, ddim, ddpm
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.diffusion import schedule
from simlab.continuous.models.sequences import Pair, Tokens
from simlab.continuous.rules import RULES, make_rule

__all__ = [
    "RULES",
    "Chain",
    "Decoded",
    "InPlace",
    "Outcome",
    "Pair",
    "Tokens",
    "Truncating",
    "affine",
    "affine_chain",
    "ddim",
    "ddpm",
    "make_rule",
    "schedule",
]
