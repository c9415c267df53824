"""One proof made again, with its files: in a process of its own, and so in a module of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from theory.failures import CheckFailed
from theory.proofs.kept import Entry, made
from theory.symbolic.smtlib import CHECKER, written

LONGEST = 600.0  # seconds that cvc5 is given for a proof

__all__ = ["make_again", "second_solver_agrees"]


def make_again(name: str, out: Path, check: bool) -> Entry:
    """Make a proof, write its files, and let a second solver check them."""
    entry, answers = made(name)
    _write_files(out, name, answers)
    if check and second_solver_agrees(out / CHECKER.name, [out / name]):
        entry["solvers"]["cvc5"] = version("cvc5")
    return entry


def _write_files(out: Path, name: str, answers: list[Any]) -> None:
    folder = out / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for k, answer in enumerate(answers):
        title = f"{answer.subject}: {answer.statement}, {answer.size}"
        for j, text in enumerate(written(answer.spaces, title)):
            (folder / f"{k:02d}-{j:02d}.smt2").write_text(text, encoding="utf-8")
    shutil.copy(CHECKER, out / CHECKER.name)


def second_solver_agrees(checker: Path, paths: Sequence[Path], seconds: float = LONGEST) -> bool:
    """Whether cvc5 answers every question of some files as z3 has.

    Parameters
    ----------
    checker
        ``check.py``, which ships beside the files.
    paths
        The files, or folders with all the files in them.
    seconds
        The longest that it may take.

    Returns
    -------
    bool
        False if time did not suffice.

    Raises
    ------
    CheckFailed
        If cvc5 says otherwise.
    """
    command = [sys.executable, str(checker), *map(str, paths), "--solver", "cvc5"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return False
    if done.returncode not in (0, 2):
        raise CheckFailed(f"a solver does not agree: {done.stdout[-1000:]}{done.stderr[-1000:]}")
    return done.returncode == 0
