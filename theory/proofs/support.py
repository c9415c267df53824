"""Proofs as evidence of claims, and what a claim that holds rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from theory.claims.base import Claim, Evidence, Finding
from theory.claims.evidence import proof as proof_evidence
from theory.proofs.kept import Entry, entry_of, kept_entries
from theory.proofs.reasons import PARTLY, UP_TO_A_SIZE, reason

EVERY, ROWS = "every V", "all rows up to a size"
PROSE, CHECKED, SAMPLED, PARTS, PRINTED = "enumeration", "equations checked", "sampled", "its parts", "examples"
MEANING = {  # what a claim that holds rests on, the strongest first
    EVERY: "proven pointwise by solvers, and so for every V, by the lemma named",
    ROWS: "proven by solvers for all real rows up to a size, at the parameters named, of the code as it is",
    PROSE: "proof in prose; the code enumerated on small cases",
    CHECKED: "proof in prose; equations checked on given inputs",
    SAMPLED: "proof in prose; simulated or searched",
    PARTS: "follows from its parts",
    PRINTED: "examples, or numbers that are printed",
}
HOLDS = ("holds", "holds-under-assumptions")

__all__ = ["MEANING", "badge", "is_for_every_size", "kept_of", "proofs_of", "rests_on", "supported", "why_not"]


def kept_of(id: str) -> dict[str, Entry]:
    """What is kept of the proofs that serve a claim, by the name of the proof."""
    return {name: entry for name, entry in kept_entries().items() if id in entry["claims"]}


def proofs_of(id: str) -> list[Entry]:
    """The entries of the proofs that serve a claim; made again where the code is another.

    Those for every V come first, then those of sequences, which are what a claim is about that has any.
    """
    return sorted(
        map(entry_of, kept_of(id)), key=lambda entry: (not entry["lemma"], "sequences" not in str(entry["sizes"]))
    )


def supported(id: str, finding: Finding) -> Finding:
    """A finding with the proofs of its claim before its other evidence, where it holds.

    Raises
    ------
    CheckFailed
        If a proof has to be made again and does not go through.
    """
    if finding.verdict not in HOLDS:
        return finding
    return replace(finding, evidence=[*(_evidence(id, entry) for entry in proofs_of(id)), *finding.evidence])


def _evidence(id: str, entry: Entry) -> Evidence:
    seen = f"; refutes {', '.join(entry['refuted'])}" if entry["refuted"] else ""
    lemma = f"; then {entry['lemma']}" if entry["lemma"] else ""
    which = f"; of {', '.join(entry['of'])}" if entry["of"] else ""
    part = id in PARTLY or (id in UP_TO_A_SIZE and entry["lemma"])
    return proof_evidence(f"{'of a part, ' if part else ''}{badge(entry)}: {entry['statement']}{which}{lemma}{seen}")


def badge(entry: Entry) -> str:
    """How much is proven, as a badge says it."""
    solvers = " and ".join(name.removesuffix("-solver") for name in entry["solvers"])
    if entry["lemma"]:
        return f"proven for every V, pointwise, {entry['cells']:,} cells, {solvers}"
    told = "; for all ".join(f"{rows}, {sizes_text(sizes)}" for rows, sizes in entry["sizes"].items())
    return f"proven for all {told}, {entry['cells']:,} cells, {solvers}"


def sizes_text(sizes: Sequence[str]) -> str:
    """Sizes in words; those that differ in V alone together: ``V = 2 to 4``."""
    known = [size.removeprefix("V = ") for size in sizes]
    alone = [int(size) for size in known if size.isdigit()]
    if len(sizes) > 1 and len(alone) == len(sizes) and alone == [*range(alone[0], alone[-1] + 1)]:
        return f"V = {alone[0]} to {alone[-1]}"
    return "; ".join(sizes)


def is_for_every_size(id: str) -> bool:
    """Whether all of a claim is proven for every V: a lemma covers it, and not a part alone."""
    return id not in UP_TO_A_SIZE and any(entry["lemma"] for entry in kept_of(id).values())


def rests_on(claim: Claim, finding: Finding) -> str:
    """What a claim that holds rests on, a key of ``MEANING``; nothing for others."""
    if finding.verdict not in HOLDS:
        return ""
    kinds: Sequence[str] = [piece.kind for piece in finding.evidence]
    if "proof" in kinds and claim.id not in PARTLY:
        return EVERY if is_for_every_size(claim.id) else ROWS
    if claim.parts:
        return PARTS
    for kind, told in (("enumeration", PROSE), ("identity", CHECKED), ("exact-small-scale", PROSE)):
        if kind in kinds:
            return told
    return SAMPLED if "simulation" in kinds or "search" in kinds else PRINTED


def why_not(claim: Claim, finding: Finding) -> str:
    """Why a claim that holds is not proven by solvers, or what is left of it; nothing where all of it is proven.

    Of one of which a lemma covers a part, the other part.
    """
    if finding.verdict not in HOLDS:
        return ""
    if claim.id in PARTLY:
        return f"a part is; not {PARTLY[claim.id]}"
    if claim.id in UP_TO_A_SIZE:
        return f"{UP_TO_A_SIZE[claim.id]}, for every V; for rows up to a size it is"
    return "" if kept_of(claim.id) else reason(claim)
