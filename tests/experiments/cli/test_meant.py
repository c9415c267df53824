"""A name that is mistyped is told which one was meant. Commands that say so: tests/experiments/cli/test_usage.py."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

from experiments.models.discrete.methods import METHODS
from simlab.decoders import DECODERS
from simlab.registry import meant
from simlab.rules import RULES
from theory.claims import CLAIMS
from theory.words import distance

pytestmark = pytest.mark.cli


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


@pytest.mark.parametrize("known", [RULES, DECODERS, METHODS, CLAIMS])
def test_the_nearest_name_was_meant(known: Iterable[str]) -> None:
    known = list(known)
    some = known[:: 1 + len(known) // 40]  # forty of each table, or a little fewer
    for name, wrong in ((each, wrong) for each in some for wrong in mistyped(each) - set(known)):
        told = re.fullmatch(r"did you mean (\S+)\? ", meant(wrong, known))
        assert told, wrong
        plain = wrong.lower().replace("_", "-")
        assert distance(plain, told[1].lower().replace("_", "-")) <= distance(plain, name.lower().replace("_", "-")) + 1


def test_what_is_near_to_nothing_is_told_nothing() -> None:
    assert not meant("qqqq", RULES)
    assert not meant("", RULES)
