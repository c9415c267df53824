"""What tests of several commands share: folders of a user, and small models that nobody has trained."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from simlab.certify import CONTRACTS


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's folder, as the current one; what is imported from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", None)):
            del sys.modules[name]


@pytest.fixture(scope="session")
def laws_at_hand() -> None:
    """Laws of known bugs, worked out once: what a command forks for a certificate inherits them."""
    import_module("scipy.stats")
    for case in CONTRACTS["verify"].cases():
        assert case.known_laws is not None


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Certificates and judged rules without their pages, which have tests of their own."""
    for command in ("certify", "judging"):
        monkeypatch.setattr(f"experiments.cli.{command}.drawn", lambda out, command: True)


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of tiny models over codes, as those that come along."""
    pytest.importorskip("torch")
    from tests.support.fashion import write_models

    folder = tmp_path_factory.mktemp("models")
    write_models(folder)
    return folder


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a tiny pair of continuous tokens, nine an image."""
    pytest.importorskip("torch")
    from tests.support.continuous_pair import write_pair

    return write_pair(tmp_path_factory.mktemp("pair"), side=12)
