"""Certifying engines of others: which are there, what is kept of them, and how one file of a package is loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from experiments.engines.record import FOLDER, USUAL, Engine, PublishedEngine, engines, record, record_command, recorded
from experiments.engines.source import find, load, source_version
from experiments.options import run_module
from simlab.certify import CONTRACTS
from simlab.certify.adapters.checkouts.registry import PUBLISHED
from simlab.certify.certificate import BATTERY, battery_of

pytestmark = pytest.mark.cli

SOURCE = """
from absent_engine.deep.inside import Config, helper
from absent_engine.given import NUMBER

used = helper(Config())


def twice(x):
    return NUMBER * x
"""


def test_engines_are_named_once_and_can_be_asked_for() -> None:
    found = engines()
    assert len({engine.name for engine in found}) == len(found)
    called = [engine for engine in found if isinstance(engine, Engine)]
    assert all(engine.contract in CONTRACTS for engine in called)
    assert all(engine.request(9.0).command.startswith(f"simlab certify {engine.spec}") for engine in called)


def test_kept_certificates_name_a_command_that_there_is_and_no_folder_of_one_machine() -> None:
    kept = [json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.json")]
    assert kept
    assert all(one["command"].startswith("simlab certify ") for one in kept)
    assert not [one["name"] for one in kept if "--checkout /" in json.dumps(one)]


def test_an_engine_that_is_not_installed_has_no_versions() -> None:
    with pytest.raises(PackageNotFoundError):
        Engine("absent", "absent", "verify", "absent-engine").versions()


def test_a_repository_is_known_by_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.engines.record.CHECKOUTS", tmp_path)
    engine = PublishedEngine(PUBLISHED["eagle"])
    with pytest.raises(PackageNotFoundError, match=r"SafeAILab/EAGLE, as .*SafeAILab\+EAGLE"):
        engine.versions()
    git = ["git", "-C", str(tmp_path / "SafeAILab+EAGLE"), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q", git[2]], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    found = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout
    assert engine.versions()["SafeAILab/EAGLE"] == found[:12]


def test_a_certificate_of_other_versions_is_made_again(tmp_path: Path) -> None:
    engine = Engine("one", "one", "verify", "numpy")
    versions = engine.versions()
    assert not recorded(engine, versions, tmp_path)
    written = {"engine": versions, "battery": BATTERY}
    long = engine.wanted.budget
    for change, fresh in (
        ({}, True),
        ({"engine": versions | {"numpy": "0"}}, False),
        ({"battery": BATTERY - 1}, False),
        ({"contract": "decode"}, False),
        ({"contract": "decode", "battery": battery_of("decode")}, True),
        ({"verdict": "inconclusive", "budget": long - 1}, False),
        ({"verdict": "inconclusive", "budget": long}, True),
    ):
        (tmp_path / "one.json").write_text(json.dumps(written | change), encoding="utf-8")
        assert recorded(engine, versions, tmp_path) == fresh, change


def test_a_verdict_is_known_since_it_came_out_first(tmp_path: Path) -> None:
    verdicts = iter(["lossy", "lossy", "lossless"])
    wanted, certificate = USUAL, lambda scratch, budget: {"verdict": next(verdicts), "about": f"{budget:g} seconds."}
    made: Any = SimpleNamespace(name="one", about="", wanted=wanted, certificate=certificate)
    today = record(made, {}, folder=tmp_path)["since"]
    document = json.loads((tmp_path / "one.json").read_text(encoding="utf-8"))
    (tmp_path / "one.json").write_text(json.dumps(document | {"since": "2001-01-01"}), encoding="utf-8")
    assert record(made, {}, folder=tmp_path)["since"] == "2001-01-01" < today
    assert record(made, {}, folder=tmp_path)["since"] == today


def test_an_unknown_engine_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_module(record_command, ["no-such-engine"]) == 2
    assert "'no-such-engine' is no engine; expected some of transformers" in capsys.readouterr().err


def test_a_file_is_loaded_without_the_rest_of_its_package(tmp_path: Path) -> None:
    (tmp_path / "sampler.py").write_text(SOURCE, encoding="utf-8")
    module = load(tmp_path / "sampler.py", "loaded_sampler", ["absent_engine"], {"absent_engine.given": {"NUMBER": 2}})
    assert module.twice(3) == 6
    assert not any(name.startswith("absent_engine") for name in sys.modules)
    with pytest.raises(ModuleNotFoundError):  # nothing else finds a stand-in afterwards
        __import__("absent_engine")


def test_sources_are_found_in_the_folder_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="absent-engine is not installed; install it, or set ABSENT to its sources"):
        find("absent-engine", "one.py", "ABSENT")
    with pytest.raises(PackageNotFoundError):
        source_version("absent-engine", "ABSENT")
    monkeypatch.setenv("ABSENT", str(tmp_path))
    with pytest.raises(ValueError, match="expected the sources of absent-engine"):
        find("absent-engine", "one.py", "ABSENT")
    (tmp_path / "one.py").touch()
    assert find("absent-engine", "one.py", "ABSENT") == tmp_path / "one.py"
    assert source_version("absent-engine", "ABSENT") == "of unknown version"
    (tmp_path / "PKG-INFO").write_text("Name: absent-engine\nVersion: 1.2\n", encoding="utf-8")
    assert source_version("absent-engine", "ABSENT") == "1.2"
