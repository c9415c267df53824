"""The page on engines: drawn from the certificates that come along, and from no other file."""

from __future__ import annotations

import json
from html import escape, unescape
from pathlib import Path

import pytest

from reports.data.engines import FOLDER, TRIED, Engines, read_engines
from reports.data.files import Unreadable
from reports.pages import engines

pytestmark = pytest.mark.cli


@pytest.fixture(scope="module")
def found() -> Engines:
    return read_engines()


def test_every_engine_is_shown_with_its_verdict_and_command(found: Engines) -> None:
    page = engines.page(found, [("Index", "index.html")])
    assert found.certificates
    for certificate in found.certificates:
        assert f'id="{certificate["name"]}"' in page
        assert certificate["command"] in unescape(page)
        version = certificate["engine"]
        assert all(f"{name} {number}" in page for name, number in version.items())
    assert all(escape(name) in page for name in found.tried)


def test_a_failure_is_told_with_its_smallest_case(found: Engines) -> None:
    for certificate in found.certificates:
        row = engines.told(certificate)
        failure = certificate["failure"]
        assert (failure is None) == (certificate["verdict"] in ("lossless", "inconclusive"))
        assert bool(row["arguments"]) == bool(failure)


def test_nothing_is_left_unescaped(found: Engines) -> None:
    certificate = found.certificates[0] | {"summary": "<script>alert(1)</script>"}
    assert "<script>alert" not in engines.page(Engines([certificate], {"<b>one": "<i>"}), [])


def test_another_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(json.dumps({"name": "one"}), encoding="utf-8")
    with pytest.raises(Unreadable, match=r"one\.json cannot be read: it lacks "):
        read_engines(tmp_path)


def test_a_folder_may_be_empty(tmp_path: Path) -> None:
    assert read_engines(tmp_path) == Engines([], {})
    assert (FOLDER / TRIED).exists()
