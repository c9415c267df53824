"""Witnesses: they run where simlab cannot be imported, agree with the entry, and fail once the entry is altered."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from experiments.verification.claims import decide, entry
from theory.claims.witnesses import examples, program, sources, standalone

pytestmark = pytest.mark.exact
DEFAULT_EVERY = 6

# Runs a program as the file it is, with this project out of reach.
ALONE = """
import runpy, sys
for name in ("simlab", "theory", "experiments", "reports"):
    sys.modules[name] = None
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def run(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-c", ALONE, str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def altered(value: Any) -> Any:
    """``value`` with its first number moved by more than any tolerance."""
    if isinstance(value, dict):
        key = next(iter(value))
        return value | {key: altered(value[key])}
    if isinstance(value, list):
        return [altered(value[0]), *value[1:]]
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return f"not {value}"
    return value + 10 + abs(value)


def compared(output: str, found: list[dict[str, Any]]) -> set[tuple[int, str]]:
    """The example and the name of every number that a program printed beside the entry's."""
    lines = [line.split(": ", 1) for line in output.splitlines() if line[:1].isdigit()]
    return {
        (number, name)
        for number, example in enumerate(found, 1)
        for name in example
        if any(int(of) == number and rest.startswith((f"{name}:", f"{name} ")) for of, rest in lines)
    }


@pytest.mark.parametrize("id", sorted(sources()))
def test_a_witness_finds_the_numbers_of_its_entry_and_fails_on_others(id: str, tmp_path: Path) -> None:
    found = json.loads(json.dumps(entry(id, decide(id, seed=0))))
    source, path = standalone(sources()[id]), tmp_path / f"{id}.py"
    path.write_text(program(found, source), "utf-8")
    ran = run(path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    numbers = compared(ran.stdout, examples(found))
    assert {number for number, _ in numbers} == set(range(1, len(examples(found)) + 1)), "an example is not recomputed"
    number, name = min(numbers)
    wrong = copy.deepcopy(found)
    example = examples(wrong)[number - 1]
    example[name] = altered(example[name])
    path.write_text(program(wrong, source), "utf-8")
    assert run(path).returncode != 0
