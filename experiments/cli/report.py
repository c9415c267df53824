"""``simlab report``: draw every page of the site from saved results alone."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from typer.core import TyperCommand

from experiments.interrupts import run_held
from experiments.options import option, out_option
from experiments.terminal import UNDRAWN, UsageError, check_writable


class SeveralRuns(TyperCommand):
    """A command whose option ``--runs`` takes several values: ``--runs A B`` is ``--runs A --runs B``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, repeated("--runs", args))


def repeated(option: str, arguments: Sequence[str]) -> list[str]:
    """``arguments`` with ``option`` before each of its values."""
    found: list[str] = []
    current = ""  # the option that a value belongs to
    for word in arguments:
        if word.startswith("-"):
            current = word.partition("=")[0]
        elif current == option and found[-1] != option:
            found.append(option)
        found.append(word)
    return found


def report_command(
    out: Annotated[Path, out_option("the results, and the site")] = Path("out"),
    runs: Annotated[
        list[Path] | None, option("runs, or folders of runs (default: DIR/runs, DIR/sweeps)", "DIR...")
    ] = None,
    paper: Annotated[
        bool, option("an article and a poster instead: LaTeX, and PDF where pdflatex is", name="--paper")
    ] = False,
) -> int:
    """Draw all pages again from saved results.

    Draws the whole site without simulating anything: the claims, a page for each run, benchmarks, certificates, an
    index, and every figure as PDF. What is missing is named with the command that makes it. With --paper it writes
    paper/simlab.tex in place of pages, theorems with proofs, counterexamples, tables, figures, and paper/poster.tex.
    """
    if paper and runs:
        raise UsageError("--paper has no runs; expected --paper alone, or --runs for the site")
    for flag, folder in (("--out", out), *(("--runs", folder) for folder in runs or [])):
        if not folder.is_dir():
            raise UsageError(f"{flag} {folder}: there is no such folder; expected one with results")
    if (out / "table.parquet").exists() and (out / "cells").is_dir():
        raise UsageError(f"--out {out}: is a run; expected a folder of results. simlab report --runs {out} draws it")
    check_writable("--out", out)
    what = ["paper"] if paper else ["site", *map(str, runs or [])]
    command = [sys.executable, "-P", "-m", "reports", str(out), *what]
    status = run_held(command)
    return 2 if status == UNDRAWN else status
