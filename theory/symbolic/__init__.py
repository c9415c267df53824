"""Proofs for all rows: the rules, decoders and verifiers as they are, run on rows of numbers that are not known."""

from theory.symbolic.answers import Answer
from theory.symbolic.cells import Limit, Limits, Unsound
from theory.symbolic.prove import prove
from theory.symbolic.prove_decoders import prove_decoder
from theory.symbolic.prove_rules import prove_rule
from theory.symbolic.prove_verifiers import prove_verifier
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
