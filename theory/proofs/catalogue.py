"""All proofs, by name, with the claims that they serve and the wrong variants that each has to refute."""

from __future__ import annotations

from theory.proofs import candidates, decoders, lantern, lossy, methods, pointwise, rules, sequences
from theory.proofs.base import Proof

LISTS = {
    rules: rules.RULE_PROOFS,
    lossy: lossy.LOSSY_PROOFS,
    lantern: lantern.LANTERN_PROOFS,
    methods: methods.METHOD_PROOFS,
    pointwise: pointwise.POINTWISE,
    candidates: candidates.CANDIDATE_PROOFS,
    decoders: decoders.DECODER_PROOFS,
    sequences: sequences.SEQUENCE_PROOFS,
}
PROOFS: dict[str, Proof] = {proof.name: proof for proofs in LISTS.values() for proof in proofs}
LISTED = {proof.name: module.__name__ for module, proofs in LISTS.items() for proof in proofs}  # which module says it

__all__ = ["LISTED", "PROOFS"]
