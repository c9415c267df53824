"""The command line for tests: in a process of its own, or in this one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from experiments.cli.main import main

HEEDED = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "  # ignored in the background
COMMAND = [sys.executable, "-P", "-c", "import sys; from experiments.cli.main import main; sys.exit(main())"]


def simlab(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The finished command, run in a process of its own in the folder ``cwd``, as for a user."""
    return subprocess.run([*COMMAND, *arguments], cwd=cwd, capture_output=True, text=True, timeout=300)


def written(folder: Path, files: dict[str, str]) -> Path:
    """The folder, with these files in it."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def alive(pid: int) -> bool:
    """Whether a process has not ended; nobody may have asked how it did."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def gone(pid: int) -> bool:
    """Whether a process has ended, or does soon."""
    deadline = time.monotonic() + 20
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not alive(pid)


def usage_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What the command prints of a usage error, in this process; it must exit with 2 and print nothing else."""
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("simlab: ")
    return printed.err


def certificate(folder: Path) -> dict[str, Any]:
    """The certificate in a user's ``folder``, which is JSON to the letter."""
    text = (folder / "out" / "certify" / "certificate.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text, parse_constant=lambda constant: pytest.fail(f"{constant} is no JSON"))
    return found


def pytest_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What pytest says in ``folder``, with the plugin and with nothing of these tests."""
    command = [sys.executable, "-m", "pytest", "-p", "simlab.pytest_plugin", "-p", "no:cacheprovider", "-q"]
    return subprocess.run([*command, *arguments], cwd=folder, capture_output=True, text=True, timeout=300)


def files_of(guide: str) -> dict[str, str]:
    """The files that a guide shows, by their names."""
    return dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", guide, re.S))
