"""The command line for tests: in a process of its own, or in this one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.cli.main import main

COMMAND = [sys.executable, "-P", "-c", "import sys; from experiments.cli.main import main; sys.exit(main())"]


def simlab(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The finished command, run in a process of its own in the folder ``cwd``, as for a user."""
    return subprocess.run([*COMMAND, *arguments], cwd=cwd, capture_output=True, text=True, timeout=300)


def beside_a_decoy(folder: Path, files: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """The finished command in a folder with these files, and with a package ``reports`` that is not simlab's."""
    decoy = {"reports/__main__.py": "raise SystemExit('not the simlab package')"}
    for name, text in (files | decoy).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return simlab(*arguments, cwd=folder)


def usage_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What the command prints of a usage error, in this process; it must exit with 2 and print nothing else."""
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("simlab: ")
    return printed.err


def files_of(guide: str) -> dict[str, str]:
    """The files that a guide shows, by their names."""
    return dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", guide, re.S))
