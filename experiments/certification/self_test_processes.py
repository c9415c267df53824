"""The part of ``simlab certify --self-test`` for ``--command``: known bugs and correct ones as processes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from experiments.certification.known_process import known
from simlab.certify import certify
from simlab.certify.processes.command import Command
from simlab.mutants.catalogue import Implementation

LONGEST = 180.0  # seconds for a bug; it ends when it is found, which takes longer than in the certifier's own process
CALLS = 50  # of each case, for a correct one
ROOT = Path(__file__).parents[2]


def processes(quick: bool, sampled: set[tuple[str, str]]) -> list[tuple[Implementation, bool]]:
    """Which are started as a command, and whether they are wrong.

    A process of ``verify`` draws for itself: what of its bugs cannot be ``sampled``, only forced, is left out.
    ``quick`` takes every tenth.
    """
    wrong = [bug for bug in known(True) if bug.contract != "verify" or (bug.contract, bug.name) in sampled]
    step = 10 if quick else 1
    return [(one, True) for one in wrong[::step]] + [(one, False) for one in known(False)[::step]]


def process_row(made: Implementation, seed: int, wrong: bool) -> dict[str, Any]:
    """The verdict on one of them, and whether it is called by its name."""
    words = [sys.executable, "-m", "experiments.certification.known_process", made.contract, made.name]
    asked = {"budget": LONGEST} if wrong else {"calls": CALLS}
    found = certify(Command(words, made.contract, ROOT, seed), made.contract, seed=seed, processes=1, **asked)
    return {
        "name": made.name,
        "contract": made.contract,
        "mutant": made.mutant,
        "wrong": wrong,
        "verdict": found.verdict,
        "named": found.failure is not None and made.name in found.failure.known,
        "diagnosis": found.failure.diagnosis if found.failure else "",
        "calls": found.calls,
        "seconds": found.seconds_to_finding or found.seconds,
        "summary": found.summary,
    }
