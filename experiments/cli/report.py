"""``simlab report``: every page of the site again, from saved results, in a process that has nothing but them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.cli.terminal import UsageError, check_writable


def report_command(out: Path, runs: Sequence[Path]) -> int:
    """Draw the site of the results in ``out``, with the sweeps in ``runs``; returns the exit status.

    Raises :class:`~experiments.cli.terminal.UsageError` for a folder that is not there.
    """
    for option, folder in (("--out", out), *(("--runs", folder) for folder in runs)):
        if not folder.is_dir():
            raise UsageError(f"{option} {folder}: there is no such folder; expected one with results")
    check_writable("--out", out)
    command = [sys.executable, "-P", "-m", "reports", str(out), "site", *map(str, runs)]
    return subprocess.run(command, check=False).returncode
