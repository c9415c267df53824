"""``simlab show`` and ``simlab doctor``."""

from __future__ import annotations

from fractions import Fraction as F

import pytest

from experiments.cli import doctor
from experiments.cli.main import main
from experiments.cli.show import bar, read_value
from simlab.rules import RULES
from tests.support.cli import usage_error

pytestmark = pytest.mark.cli


def test_the_numbers_are_exact(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "1/3,1/3,1/3", "1/4,1/2,1/4", "--rule", "grouped", "--set", "labels=0,0,1"]) == 0
    told = capsys.readouterr().out
    assert [line.split()[3] for line in told.splitlines()[1:4]] == ["19/72", "4/9", "7/24"]
    assert "accepts  11/12" in told
    assert "1 - TV(p, q) = 5/6" in told
    assert "TV       1/9" in told
    assert "frontier 17/18" in told


def test_the_lossless_rule_is_lossless(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "0.5,0.25,0.25", "0.25,0.5,0.25"]) == 0
    told = capsys.readouterr().out
    assert "accepts  0.7500" in told
    assert "lossless here" in told


def test_neighbours_are_those_next_in_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert "lantern" in RULES
    assert main(["show", "0.4,0.3,0.2,0.1", "0.1,0.2,0.3,0.4", "--rule", "lantern", "--set", "delta=0.3"]) == 0
    near = capsys.readouterr().out
    other = ["--set", "neighbours=[[3], [2], [1], [0]]", "--set", "delta=0.3"]
    assert main(["show", "0.4,0.3,0.2,0.1", "0.1,0.2,0.3,0.4", "--rule", "lantern", *other]) == 0
    assert capsys.readouterr().out != near


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["1/2,1/3", "1/2,1/2"], "sums to 5/6"),
        (["1/2,x", "1/2,1/2"], "P 1/2,x: expected probabilities"),
        (["1/2,1/0", "1/2,1/2"], "P 1/2,1/0: expected probabilities"),
        (["1/2,1/2", "1/3,1/3,1/3"], "expected one shape"),
        (["1", "1", "--rule", "lantren"], "unknown rule 'lantren'"),
        (["1", "1", "--set", "labels"], "--set labels: expected KEY=VALUE"),
    ],
)
def test_what_is_wrong_is_named(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert told in usage_error(["show", *arguments], capsys)


def test_values() -> None:
    assert read_value("1/2") == F(1, 2)
    assert read_value("0,1") == [0, 1]
    assert read_value("[[1], [0]]") == [[1], [0]]
    assert read_value("tv") == "tv"
    assert bar(1) == 30 * "█"
    assert bar(1 / 30 / 4) == "▎"


def test_the_doctor_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    assert "numba" in capsys.readouterr().out
    monkeypatch.setitem(doctor.WANTED, "no-such-package", ("nothing", "simlab[nothing]"))
    assert main(["doctor"]) == 0
    line = next(each for each in capsys.readouterr().out.splitlines() if each.startswith("no-such-package"))
    assert line.split(maxsplit=2)[1:] == ["missing", "needed by nothing: pip install 'simlab[nothing]'"]
    monkeypatch.setattr(doctor, "NEEDED", ("no-such-package",))
    assert main(["doctor"]) == 1
