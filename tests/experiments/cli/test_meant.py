"""A name that is mistyped is told which one was meant, wherever names are typed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from experiments.models.session import CLASSES
from experiments.sweeps.spec import SpecFile
from simlab.candidates import VERIFIERS
from simlab.continuous import RULES as CONTINUOUS_RULES
from simlab.decoders import DECODERS, make_decoder
from simlab.processes import PROCESSES
from simlab.registry import meant
from simlab.rules import RULES, make_rule
from tests.support.cli import usage_error
from theory.claims import CLAIMS, PAPERS
from theory.words import distance

pytest.importorskip("torch")

from experiments.models.continuous.methods import NAMES as CONTINUOUS_METHODS
from experiments.models.methods import METHODS

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


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in TABLES.items() for name in names])
def test_the_nearest_name_was_meant(kind: str, name: str) -> None:
    known = list(TABLES[kind])
    for wrong in mistyped(name) - set(known):
        told = re.fullmatch(r"did you mean (\S+)\? ", meant(wrong, known))
        assert told, wrong
        plain = wrong.lower().replace("_", "-")
        assert distance(plain, told[1].lower().replace("_", "-")) <= distance(plain, name.lower().replace("_", "-")) + 1


def test_what_is_near_to_nothing_is_told_nothing() -> None:
    assert not meant("qqqq", RULES)
    assert not meant("", RULES)


@pytest.mark.parametrize("maker", [make_rule, make_decoder])
def test_what_makes_a_thing_by_name_says_which_was_meant(maker: object) -> None:
    assert callable(maker)
    name = {make_rule: "lantern", make_decoder: "sjd-pac"}[maker]  # type: ignore[index]
    with pytest.raises(ValueError, match=f"did you mean {name}"):
        maker(name[:-2] + name[-1])


SAID = [
    ("prove lantren", "lantern"),
    ("prove --decoder sdj", "sjd"),
    ("prove amplify --set kk=2", "k"),
    ("prove grouppd --at 1/2,1/2 1/2,1/2", "grouped"),
    ("generate --method sdj-pac", "sjd-pac"),
    ("generate --method sjd-pac+groupd", "grouped"),
    ("generate --method sjd --set windw=3", "window"),
    ("generate --label sneeker", "sneaker"),
    ("generate --model fashon", "fashion"),
    ("generate --model fashion-continuous --method lst-step", "last-step"),
    ("compare --methods ar,sdj", "sjd"),
    ("verify --claim gsd.teorem-1", "gsd.theorem-1"),
    ("verify --paper sjdpac", "sjd-pac"),
    ("claims gsd.teorem-1", "gsd.theorem-1"),
    ("run winow", "window"),
    ("bench --only vrification", "verification"),
    ("large nave", "naive"),
    ("certify flashspek", "flashspec"),
    ("certify x.py:f --contract verfy", "verify"),
]


@pytest.mark.parametrize(("line", "name"), SAID, ids=[line for line, _ in SAID])
def test_a_command_says_which_was_meant(
    line: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert f"did you mean {name}?" in usage_error(line.split(), capsys)
