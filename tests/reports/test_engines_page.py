"""The page on engines: drawn from the certificates that come along, and from no other file."""

from __future__ import annotations

from html import escape, unescape
from pathlib import Path

import pytest

from reports.data.engines import FOLDER, TRIED, Engines, read_engines
from reports.data.files import Unreadable
from reports.pages import engines
from tests.support.pages import write

pytestmark = pytest.mark.cli


@pytest.fixture(scope="module")
def found() -> Engines:
    return read_engines()


def test_every_engine_is_shown_with_its_command_and_a_failure_with_its_smallest_case(found: Engines) -> None:
    page = engines.page(found, [("Index", "index.html")])
    assert found.certificates
    for certificate in found.certificates:
        assert f'id="{certificate["name"]}"' in page
        assert certificate["command"] in unescape(page)
        assert all(f"{name} {number}" in page for name, number in certificate["engine"].items())
        failure = certificate["failure"]
        assert (failure is None) == (certificate["verdict"] in ("lossless", "inconclusive"))
        assert bool(engines.told(certificate)["arguments"]) == bool(failure)
    assert all(escape(name) in page for name in found.tried)


def test_nothing_is_left_unescaped(found: Engines) -> None:
    certificate = found.certificates[0] | {"summary": "<script>alert(1)</script>"}
    assert "<script>alert" not in engines.page(Engines([certificate], {"<b>one": "<i>"}), [])


def test_another_file_is_named_and_a_folder_may_be_empty(tmp_path: Path) -> None:
    assert read_engines(tmp_path) == Engines([], {})
    assert (FOLDER / TRIED).exists()
    write(tmp_path / "one.json", {"name": "one"})
    with pytest.raises(Unreadable, match=r"one\.json"):
        read_engines(tmp_path)
