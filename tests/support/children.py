"""Modules of :mod:`tests.support` run in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def output(module: str, *arguments: str, **environment: str) -> Any:
    """The JSON that a module prints, warnings being errors."""
    command = [sys.executable, "-W", "error", "-m", f"tests.support.{module}", *arguments]
    surroundings = os.environ | environment
    done = subprocess.run(command, capture_output=True, text=True, env=surroundings, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)
