"""What came out of the proofs, kept with a hash of the code that was run.

A kept entry counts while the code that it ran is the same: a proof of other code is made again when it is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

from theory.failures import CheckFailed

ROOT = Path(__file__).resolve().parents[2]
KEPT = Path(__file__).with_name("kept.json")
RUN = (  # what a proof runs, wrong variants among it
    "theory/symbolic/*.py",
    "theory/proofs/*.py",
    "theory/exact/laws.py",
    "simlab/arrays.py",
    "simlab/checks.py",
    "simlab/rules/*.py",
    "simlab/candidates/*.py",
    "simlab/optimum.py",
    "simlab/processes/processors.py",
    "theory/candidates.py",
    "simlab/decoders/*.py",
    "simlab/randomness/base.py",
    "simlab/randomness/enumerator.py",
    "simlab/mutants/rules.py",
    "simlab/mutants/decoders.py",
    "simlab/mutants/randomness.py",
    "simlab/mutants/trees.py",
)
BESIDE = tuple(
    f"theory/proofs/{name}.py" for name in ("__init__", "__main__", "kept", "making", "reasons", "support")
)  # no part of a proof
SOLVERS = ("z3-solver",)  # that made it; cvc5 is added where it has answered the same questions

Entry = dict[str, Any]

__all__ = ["KEPT", "code_hash", "entry_of", "is_fresh", "kept_entries", "made"]


@cache
def code_hash() -> str:
    """The hash of the code that proofs run, of its text whatever the line ends are."""
    digest = sha256()
    for path in _sources():
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0")
        digest.update(path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()


def _sources() -> Iterator[Path]:
    found = {path for pattern in RUN for path in ROOT.glob(pattern)}
    beside = {ROOT / name for name in BESIDE}
    yield from sorted(path for path in found - beside if not path.name.startswith("compiled"))


@cache
def kept_entries() -> dict[str, Entry]:
    """What is kept, by the name of the proof."""
    if not KEPT.exists():
        return {}
    found: dict[str, Entry] = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


def is_fresh(entry: Entry | None) -> bool:
    """Whether a kept entry is of the code that is there."""
    return entry is not None and entry["code"] == code_hash()


@cache
def entry_of(name: str) -> Entry:
    """What came out of a proof: what is kept, or, where the code is another by now, what comes out today.

    Raises
    ------
    CheckFailed
        If it is not proven any more, or a wrong variant is.
    """
    kept = kept_entries().get(name)
    return kept if kept is not None and is_fresh(kept) else made(name)[0]


def made(name: str) -> tuple[Entry, list[Any]]:
    """Make a proof and refute its wrong variants.

    Parameters
    ----------
    name
        Of a proof in :mod:`theory.proofs.catalogue`.

    Returns
    -------
    tuple
        What to keep, and the answers of the proof itself.

    Raises
    ------
    CheckFailed
        If something is not proven, or a wrong variant is not refuted.
    """
    from theory.proofs.catalogue import PROOFS
    from theory.symbolic.smtlib import questions

    proof, begin = PROOFS[name], perf_counter()
    answers = [ask() for ask in proof.questions]
    for answer in answers:
        if answer.outcome != "proven":
            raise CheckFailed(f"the proof {name} does not go through: {answer}")
    seconds, refuted = perf_counter() - begin, {}
    for told, ask in proof.wrong.items():
        found = ask()
        if found.outcome != "counterexample":
            raise CheckFailed(f"the proof {name} does not see: {told} ({found})")
        refuted[told] = {each: [str(mass) for mass in row] for each, row in found.rows.items()}
    entry = {
        "statement": proof.statement,
        "lemma": proof.lemma,
        "claims": list(proof.claims),
        "outcome": "proven",
        "sizes": list(dict.fromkeys(answer.size for answer in answers)),
        "assumed": list(dict.fromkeys(answer.assumed for answer in answers)),
        "cells": sum(answer.cells for answer in answers),
        "questions": sum(1 for answer in answers for space in answer.spaces for _ in questions(space)),
        "refuted": refuted,
        "seconds": round(seconds, 2),
        "solvers": {each: version(each) for each in SOLVERS},
        "code": code_hash(),
    }
    return entry, answers
