"""Proofs for all rows: the rules, decoders and verifiers as they are, run on rows of numbers that are not known."""

from theory.symbolic.cells import Limit, Limits, Unsound
from theory.symbolic.prove import Answer, prove, prove_decoder, prove_rule, prove_verifier
from theory.symbolic.unknown import Refused

__all__ = [
    "Answer",
    "Limit",
    "Limits",
    "Refused",
    "Unsound",
    "prove",
    "prove_decoder",
    "prove_rule",
    "prove_verifier",
]
