"""Decide claims: as tasks for a pool, and as entries of ``verdicts.json``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from typing import Any

from experiments.attempts import Failure
from experiments.verification.pool import Job, Task
from theory.claims import CLAIMS, HEADLINES, TAKE_HOME, Evidence, Finding, combined
from theory.claims.format import plain
from theory.claims.witnesses import has_program
from theory.proofs.support import rests_on, supported, why_not

SECONDS = {  # of long simulations: by these, what takes longest begins first
    "SJD-PAC on the image-like process": 50.0,
    "SJD on the image-like process": 12.0,
    "neighbours over a codebook": 8.0,
    "continuous tokens": 5.0,
}


def with_parts(ids: Iterable[str]) -> list[str]:
    """``ids`` and the parts they split into, in the order of the list of claims."""
    wanted, waiting = set(), list(ids)
    while waiting:
        id = waiting.pop()
        wanted.add(id)
        waiting += CLAIMS[id].parts
    return [id for id in CLAIMS if id in wanted]


def tasks(ids: Iterable[str], seed: int) -> list[Task]:
    """A task for every claim that is decided exactly, and one for all that share what they simulate."""
    groups: dict[tuple[str, bool], dict[str, Job]] = {}
    for id in ids:
        if CLAIMS[id].decide:
            simulates = CLAIMS[id].simulates
            groups.setdefault((simulates or id, not simulates), {})[id] = partial(decide, id, seed)
    return [Task(jobs, exact, SECONDS.get(name, len(jobs))) for (name, exact), jobs in groups.items()]


def decide(id: str, seed: int) -> Finding:
    """The finding on one claim, with the proofs by solvers that it rests on."""
    check = CLAIMS[id].decide
    assert check is not None, f"{id} is decided by its parts"
    return supported(id, check(seed))


def finding_of(id: str, findings: dict[str, Finding]) -> Finding:
    """The finding on a claim, put together from its parts where it has some."""
    claim = CLAIMS[id]
    if not claim.parts:
        return findings[id]
    return combined({part: (CLAIMS[part], finding_of(part, findings)) for part in claim.parts})


def not_decided(reason: Failure) -> Finding:
    """The finding where the check failed."""
    return Finding("not-decided", [Evidence("check-failed", reason.splitlines()[-1])])


def entry(id: str, finding: Finding) -> dict[str, Any]:
    """What ``verdicts.json`` holds of a claim."""
    claim = CLAIMS[id]
    found = claim.described() | {
        "verdict": finding.verdict,
        "assumptions": _assumptions(id) if finding.verdict == "holds-under-assumptions" else [],
        "parts": list(claim.parts),
        "rests_on": rests_on(claim, finding),
        "why_not": why_not(claim, finding),
        "argument": claim.proof,
        "evidence": [_piece(piece) for piece in finding.evidence],
    }
    return found | {"witness": f"claims/{id}.py" if has_program(found) else ""}


def headlines(entries: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """What stands on top: headline claims of each paper, and results of ours, of those that are decided here."""
    found = {entry["id"]: entry for entry in entries}
    return {
        "headlines": [
            asdict(each) | {"paper": found[each.claim]["paper"], "verdict": found[each.claim]["verdict"]}
            for each in HEADLINES
            if each.claim in found
        ],
        "results": [
            asdict(each) | {"verdict": found[each.claim]["verdict"]} for each in TAKE_HOME if each.claim in found
        ],
    }


def _assumptions(id: str) -> list[str]:
    """The assumptions of a claim and of its parts."""
    inherited = [line for part in CLAIMS[id].parts for line in _assumptions(part)]
    return list(dict.fromkeys([*CLAIMS[id].assumptions, *inherited]))


def _piece(evidence: Evidence) -> dict[str, Any]:
    """One piece of evidence; its numbers stand under ``counterexample`` or ``example``."""
    piece = {"kind": evidence.kind, "summary": evidence.summary}
    return piece | ({evidence.kind: plain(evidence.numbers)} if evidence.numbers else {})
