"""``simlab certify --url`` as a person meets it: certificates, bad servers, and what is left after an interrupt."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.certification.servers import COMPLETIONS, PROMPTS, ServerRequest
from experiments.cli.main import main
from simlab.certify.servers import comparison
from simlab.certify.servers.client import Endpoint
from simlab.certify.servers.toy import Server, Toy
from tests.support.cli import certificate, usage_error

pytestmark = pytest.mark.cli


@pytest.fixture(autouse=True)
def quickly(here: Path, undrawn: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder of its own, and without pauses."""
    monkeypatch.setattr(comparison, "PAUSE", 0.0)


def arguments(engine: str, reference: str, *more: str) -> list[str]:
    return ["certify", "--url", engine, "--reference", reference, "--tokens", "1", "--requests", "64", *more]


def test_a_certificate_of_two_servers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with Server(Toy()) as engine, Server(Toy()) as reference:
        assert main(arguments(engine.url, reference.url, "--stream", "--logprobs")) == 3
    printed = capsys.readouterr().out
    assert printed.startswith("inconclusive: ")
    assert reference.url in printed
    assert "note: logprobs of" in printed
    document = certificate(tmp_path)
    assert document["calls"] == 64 == engine.requests + reference.requests
    assert "--requests 64 are made: more of them exclude more" in document["notes"]
    assert document["command"].startswith(f"simlab certify --url {engine.url} ")
    assert [line["calls"] for line in document["lines"]] == [8] * len(PROMPTS)
    assert not (tmp_path / "out" / "certify" / COMPLETIONS).exists()


def test_the_command_asks_for_the_same_model() -> None:
    url = "http://a/v1/completions?version=2.0"
    request = ServerRequest(url=url, reference=url, model="m-2.0", budget=2.0)
    assert request.command.count("version=2.0") == 2
    assert "--model m-2.0 " in request.command
    assert "--budget 2 " in request.command


def test_a_server_that_cannot_answer_is_named_and_nothing_is_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with Server(Toy()) as good, Server(Toy(), lambda _: (500, "text/plain", "out of memory")) as bad:
        for option, urls in (("--url", (bad.url, good.url)), ("--reference", (good.url, bad.url))):
            told = usage_error(arguments(*urls), capsys)
            assert f"{option} {bad.url} " in told
            assert "500: 'out of memory'" in told
    assert list((tmp_path / "out" / "certify").iterdir()) == []


def test_a_server_that_stops_answering_breaks(tmp_path: Path) -> None:
    answers = iter(range(1000))

    def later(text: str) -> tuple[int, str, str]:
        return (200, "application/json", text) if next(answers) < 12 else (503, "text/plain", "overloaded")

    with Server(Toy(), later) as engine, Server(Toy()) as reference:
        assert main(arguments(engine.url, reference.url)) == 1
    document = certificate(tmp_path)
    assert document["verdict"] == "breaks"
    assert "503: 'overloaded'" in document["summary"]


def test_an_interrupted_comparison_goes_on_from_what_was_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "out" / "certify" / COMPLETIONS
    rounds, add = iter(range(1000)), comparison.Comparison.add

    def interrupted(self: comparison.Comparison, found: comparison.Round) -> None:
        add(self, found)
        if next(rounds) == 1:
            raise KeyboardInterrupt

    with Server(Toy()) as engine, Server(Toy()) as reference:
        with monkeypatch.context() as patch:
            patch.setattr(comparison.Comparison, "add", interrupted)
            assert main(arguments(engine.url, reference.url)) == 130
        assert str(Path("out/certify") / COMPLETIONS) in capsys.readouterr().err
        before = kept.read_text()
        assert len(before.splitlines()) == 3
        kept.write_text(before + '{"engine": [[')  # a line that was cut off
        assert "--out" in usage_error(arguments(engine.url, reference.url, "--temperature", "2"), capsys)
        asked = engine.requests + reference.requests
        assert main(arguments(engine.url, reference.url)) == 3
        assert engine.requests + reference.requests == 64 > asked > 0
    assert not kept.exists()


def test_only_the_given_addresses_are_contacted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the proxy of the environment nor what a redirect says is asked."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with Server(Toy()) as server:
        endpoint = Endpoint(server.url, 5.0)
        connection = endpoint.connect()
        assert (connection.host, connection.port) == server.server.server_address
        connection.close()
        assert main(arguments(server.url, server.url)) == 3
