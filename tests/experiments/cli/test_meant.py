"""A name that is mistyped is told which one was meant. Commands that say so: tests/experiments/cli/test_usage.py."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from experiments.models.continuous.methods import NAMES as CONTINUOUS_METHODS
from experiments.models.discrete.methods import METHODS
from experiments.models.session import CLASSES
from experiments.sweeps.spec import SpecFile
from simlab.candidates import VERIFIERS
from simlab.continuous import RULES as CONTINUOUS_RULES
from simlab.decoders import DECODERS
from simlab.processes import PROCESSES
from simlab.registry import meant
from simlab.rules import RULES
from theory.claims import CLAIMS, PAPERS
from theory.words import distance

pytestmark = pytest.mark.cli

SPECS = [path.stem for path in (Path(__file__).parents[3] / "experiments" / "specs").glob("*.toml")]
TABLES: dict[str, Iterable[str]] = {
    "rules": RULES,
    "decoders": DECODERS,
    "verifiers": VERIFIERS,
    "processes": PROCESSES,
    "rules of continuous tokens": CONTINUOUS_RULES,
    "methods": METHODS,
    "methods of continuous tokens": CONTINUOUS_METHODS,
    "labels": CLASSES,
    "papers": PAPERS,
    "claims": CLAIMS,
    "studies": SPECS,
    "keys of studies": SpecFile.model_fields,
}


def mistyped(name: str) -> set[str]:
    """A name with the letter in its middle left out, put in twice or swapped with the next, in capitals, and spelled
    as in Python."""
    k = len(name) // 2
    wrong = {
        name[:k] + name[k + 1 :],
        name[:k] + name[k] + name[k:],
        name[: k - 1] + name[k] + name[k - 1] + name[k + 1 :],
    }
    return {each for each in wrong | {name.upper(), name.replace("-", "_")} if len(each) > 3}


@pytest.mark.parametrize("kind", TABLES)
def test_the_nearest_name_was_meant(kind: str) -> None:
    known = list(TABLES[kind])
    some = known[:: 1 + len(known) // 40]  # forty of each table, or a little fewer
    for name, wrong in ((each, wrong) for each in some for wrong in mistyped(each) - set(known)):
        told = re.fullmatch(r"did you mean (\S+)\? ", meant(wrong, known))
        assert told, wrong
        plain = wrong.lower().replace("_", "-")
        assert distance(plain, told[1].lower().replace("_", "-")) <= distance(plain, name.lower().replace("_", "-")) + 1


def test_what_is_near_to_nothing_is_told_nothing() -> None:
    assert not meant("qqqq", RULES)
    assert not meant("", RULES)
