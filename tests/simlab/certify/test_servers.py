"""Servers compared over HTTP: mixing and other bugs are found, correct ones pass, bad answers are named."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress

import numpy as np
import pytest

from simlab.certify.engine.evidence import FALSE_ALARMS
from simlab.certify.servers import comparison as comparing
from simlab.certify.servers.client import ENDED, Completion, Dropped, Endpoint, Request, Unanswered
from simlab.certify.servers.comparison import Asker, Comparison, Faulty, Round, asked, compared
from simlab.certify.servers.logprobs import ReportedLogprobs
from simlab.certify.servers.toy import CORRECT, WRONG, Server, Toy, logprobs_of, tokens_of
from simlab.statistics import Paired

PROMPTS = ("one", "two", "three", "four")
Answer = Callable[[str], tuple[int, str, str]]  # to a request, in the place of a toy's
MIXING = "5 % of draws from a wrong row where requests run together"


def drawn(toy: Toy, n: int, rng: np.random.Generator, served: int = 8) -> Round:
    """A round without HTTP: n completions a prompt, of a toy that serves so many requests at once."""

    def side(one: Toy) -> list[list[tuple[int | str, ...]]]:
        among = [*PROMPTS, *PROMPTS][:served]
        return [[tuple(tokens_of(one, p, 2, [p, *among[: served - 1]], rng)) for _ in range(n)] for p in PROMPTS]

    return Round(side(toy), side(Toy()))


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("name", WRONG)
def test_bugs_of_servers_are_found(name: str) -> None:
    """Without HTTP, 4,000 completions of each prompt; a run of the weakest has its alarm after some 2,000.

    Where rows come from is told once there is enough to tell, which is later than the alarm.
    """
    rng, found = np.random.default_rng(), Comparison(PROMPTS, Request(tokens=2))
    for _ in range(40):
        found.add(drawn(WRONG[name], 100, rng))
        if found.deviates and name != MIXING:
            break
    assert found.deviates, found.highest
    certificate = found.certificate("engine", "reference", 0.1, 0.999, 0, 1.0, "")
    assert certificate.verdict == "lossy"
    assert name != MIXING or "from the rows of other prompts" in certificate.summary


@pytest.mark.statistical
@pytest.mark.parametrize("name", CORRECT)
def test_correct_servers_are_not_rejected(name: str) -> None:
    """A false alarm has probability 1e-6 at most. Mixing at a concurrency of 1 is correct too."""
    rng = np.random.default_rng()
    for toy, served in ((CORRECT[name], 8), (WRONG[MIXING], 1)):
        found = Comparison(PROMPTS, Request(tokens=2))
        found.add(drawn(toy, 20, rng, served))
        assert not found.deviates
        assert found.certificate("engine", "reference", 0.1, 0.999, 0, 1.0, "").verdict == "inconclusive"


def test_one_completion_of_each_prompt_is_not_said_to_be_the_same_again() -> None:
    for pairs, noted in ((1, False), (2, True)):
        found = Comparison(("a", "b"), Request(tokens=1))
        found.add(Round(*([[[(0,)] * pairs, [(1,)] * pairs]] * 2)))
        notes = found.certificate("engine", "reference", 0.1, 0.999, 0, 1.0, "").notes
        assert any("are the same" in note for note in notes) == noted


@pytest.mark.exact
def test_the_mean_of_all_stakes_is_fair() -> None:
    """Two prompts, one token of two: over every round with its probability, the mean stake is 1."""
    mean = 0.0
    for bits in np.ndindex(2, 2, 2, 2, 2, 2, 2, 2):
        sides = np.array(bits).reshape(2, 2, 2, 1).tolist()
        found = Comparison(("a", "b"), Request(tokens=1))
        found.add(Round(*([[tuple(one) for one in answers] for answers in side] for side in sides)))
        mean += np.exp(found.log_e_value) / 2**8
    assert mean == pytest.approx(1.0, abs=1e-12)


@pytest.mark.slow
@pytest.mark.statistical
def test_draws_from_wrong_rows_at_concurrency_eight_are_found_over_http() -> None:
    """Within three minutes on any machine; some 7,000 requests, which is 20 s on a busy core."""
    request = Request(tokens=2)
    found, rounds, progress = Comparison(PROMPTS, request), list[Round](), list[float]()
    with (
        Server(WRONG[MIXING]) as engine,
        Server(Toy()) as reference,
        closing(Asker(Endpoint(engine.url, 10.0), request, 8, 1e6)) as one,
        closing(Asker(Endpoint(reference.url, 10.0), request, 1, 1e6)) as other,
    ):
        rng, keep = np.random.default_rng(0), rounds.append
        compared(found, one, other, budget=180, most=100_000, rng=rng, keep=keep, progress=progress.append)
    certificate = found.certificate("engine", "reference", 0.1, 0.999, 0, 180.0, "")
    assert (certificate.verdict, certificate.false_alarms) == ("lossy", FALSE_ALARMS)


def completed(request: Request, answer: Answer | None = None, openai: bool = False, seed: int = 0) -> Completion:
    """The completion of one prompt by a toy over HTTP, or by what ``answer`` says in its place."""
    with Server(Toy(), answer) as server:
        endpoint = Endpoint(server.openai if openai else server.url, 10.0)
        with closing(endpoint.connect()) as connection:
            return endpoint.complete(connection, request, "one", seed)


@pytest.mark.parametrize("openai", [False, True])
@pytest.mark.parametrize("stream", [False, True])
def test_both_interfaces_give_the_tokens_of_a_seed_and_logprobs_if_asked(openai: bool, stream: bool) -> None:
    asked, silent = (completed(Request(tokens=3, stream=stream, logprobs=on), None, openai, 5) for on in (True, False))
    wanted = tokens_of(Toy(), "one", 3, [], np.random.default_rng(5))
    assert asked.tokens == (tuple(f"token_id:{token}" for token in wanted) if openai else tuple(wanted))
    assert asked.logprobs == pytest.approx(logprobs_of(Toy(), "one", wanted))
    assert silent == (asked.tokens, ())


@pytest.mark.parametrize(
    "told", [[-1.0, None], [-1.0], [-1.0, -2.0, -3.0], ["-1", -2.0], [float("nan"), -2.0], [10**400, -2.0]]
)
def test_logprobs_that_do_not_go_with_the_tokens_are_none(told: list[object]) -> None:
    text = json.dumps({"choices": [{"text": "ab", "logprobs": {"tokens": ["a", "b"], "token_logprobs": told}}]})
    found = completed(Request(tokens=2, logprobs=True), said(200, "application/json", text), openai=True)
    assert found == (("a", "b"), ())


def told_by(toy: Toy, n: int, rng: np.random.Generator) -> tuple[ReportedLogprobs, list[list[tuple[int | str, ...]]]]:
    """What a toy tells of n completions of each prompt, and these."""
    told, answers = ReportedLogprobs(), [[tokens_of(toy, prompt, 2, [], rng) for _ in range(n)] for prompt in PROMPTS]
    for prompt, found in zip(PROMPTS, answers, strict=True):
        for tokens in found:
            told.add(prompt, Completion(tuple(tokens), tuple(logprobs_of(toy, prompt, tokens))))
    return told, [[tuple(tokens) for tokens in found] for found in answers]


@pytest.mark.statistical
def test_logprobs_of_the_draft_are_named_and_are_no_verdict() -> None:
    """400 completions of each prompt. That first tokens come out otherwise than told is said wrongly with a probability
    of 2e-6, of both servers; the draft's rows are a TV of .4 and more from the target's."""
    rng, comparison = np.random.default_rng(), Comparison(PROMPTS, Request(tokens=2, logprobs=True))
    (right, answers), (wrong, others) = (told_by(toy, 400, rng) for toy in (Toy(), Toy(told=1)))
    comparison.add(Round(others, answers))
    same, *counted = comparison.logprobs(right, right)
    assert "0 apart, as rounding is" in same
    assert all("come out as often" in note for note in counted)
    apart, of_engine, of_reference = comparison.logprobs(wrong, right)
    assert "by the engine" in apart
    assert "first tokens come out otherwise than the logprobs of the engine tell" in of_engine
    assert "come out as often" in of_reference
    assert comparison.certificate("engine", "reference", 0.1, 0.999, 0, 1.0, "").verdict == "inconclusive"


def test_logprobs_that_nobody_tells_and_rows_behind_filters() -> None:
    filtered = Comparison(PROMPTS, Request(tokens=2, top_k=5, logprobs=True))
    told, _ = told_by(Toy(), 2, np.random.default_rng(0))
    assert filtered.logprobs(ReportedLogprobs(), told) == ["logprobs: the engine told none that go with the tokens"]
    assert len(filtered.logprobs(told, told)) == 1  # what is told may be before the filter, or after
    absurd = ReportedLogprobs()
    absurd.add(PROMPTS[0], Completion((1,), (1e9,)))
    plain = Comparison(PROMPTS, Request(tokens=1, logprobs=True))
    plain.add(Round([[(1,)] * 400] * 4, [[(1,)] * 400] * 4))
    assert "has 1e+09" in plain.logprobs(absurd, absurd)[1]
    other = ReportedLogprobs()
    other.add("another", Completion((1,), (-1.0,)))
    assert "no token after the same tokens" in filtered.logprobs(told, other)[0]


def said(status: int, kind: str, text: str) -> Answer:
    return lambda _: (status, kind, text)


BAD = {
    "500": (said(500, "text/plain", "out of memory"), "answers with status 500: 'out of memory'"),
    "HTML": (said(200, "text/html", "<html>Log in</html>"), "answers with HTML: '<html>Log in</html>'"),
    "no JSON": (said(200, "application/json", "ready"), "answers with what is no JSON: 'ready'"),
    "a list": (said(200, "application/json", "[1]"), "answers with [1]; expected an object"),
    "brackets": (said(200, "application/json", "[" * 100_000), "answers with what is no JSON: '[[["),
    "an error": (said(200, "application/json", '{"error": "no slot"}'), "answers with an error: 'no slot'"),
    "nothing of use": (said(200, "application/json", '{"text": "a"}'), "expected an object with content"),
    "too many tokens": (
        said(200, "application/json", '{"content": "abcdefg", "tokens": [1, 1, 1, 1, 1]}'),
        "5 tokens; 4",
    ),
    "too few tokens": (
        said(200, "application/json", '{"content": "a", "tokens": [1], "stop_type": "limit"}'),
        "1 tokens",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_answer_is_named(what: str) -> None:
    answer, named = BAD[what]
    with pytest.raises(Unanswered) as bad:
        completed(Request(), answer)
    assert named in str(bad.value)


def test_an_end_is_an_outcome_and_text_is_read_where_there_are_no_tokens() -> None:
    for text, wanted in (
        ('{"content": "ab", "tokens": [3], "stop_type": "eos"}', (3, ENDED, ENDED)),
        ('{"content": "ab"}', ("a", "b", ENDED)),
        ('{"content": "abcdef"}', ("a", "b", "c")),
    ):
        assert completed(Request(tokens=3), said(200, "application/json", text)).tokens == wanted


def test_a_token_may_hold_what_ends_a_line_elsewhere_and_an_error_may_be_none() -> None:
    """A line separator of Unicode is as it is in JSON, and ends no line of a stream of events."""
    for text in ("a\u2028b", "a\x85b"):
        event = json.dumps({"content": text, "tokens": [3], "error": None}, ensure_ascii=False)
        for stream, kind, told in (
            (True, "text/event-stream", f"data: {event}\r\n\r\ndata: [DONE]\n\n"),
            (False, "application/json", event),
        ):
            assert completed(Request(tokens=1, stream=stream), said(200, kind, told)).tokens == (3,)


def test_dropped_connections_are_asked_again_counted_and_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "PAUSE", 0.0)
    request, drops = Request(tokens=1), iter([True, False] * 100)
    whole = Endpoint.complete

    def shaky(self: Endpoint, *arguments: object) -> object:
        if next(drops):
            raise Dropped("gone")
        return whole(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Endpoint, "complete", shaky)
    with Server(Toy()) as server:
        sides = [Asker(Endpoint(server.url, 10.0), request, 1, 1e6) for _ in range(2)]
        found = asked(sides[0], sides[1], PROMPTS, 1, np.random.default_rng(0))
        assert found.dropped == 8
        drops = iter([True] * 100)
        with pytest.raises(Faulty, match="does not answer, 5 times in turn: gone"):
            asked(sides[0], sides[1], PROMPTS, 1, np.random.default_rng(0))
        for side in sides:
            side.close()


def test_nobody_there_is_a_dropped_connection() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        endpoint = Endpoint(f"http://127.0.0.1:{free.getsockname()[1]}/completion", 1.0)
        with pytest.raises(Dropped, match="ConnectionRefusedError"):
            endpoint.complete(endpoint.connect(), Request(), "one", 0)


@pytest.mark.parametrize(
    "url",
    [
        *("localhost:8080/completion", "ftp://a/completion", "http://a:8080", "http:///completion", "http://[::1"),
        *("http://a:99999/completion", "http://a b/completion", "http://a/\u00e4/completion", "http://a..b/completion"),
    ],
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=re.escape(url) + ".*expected an address"):
        Endpoint(url, 1.0)


def test_a_query_is_sent_and_a_password_neither_sent_nor_told() -> None:
    with Server(Toy()) as server:
        endpoint = Endpoint(f"{server.openai}?key=abc#part", 5.0)
        assert (endpoint.path, endpoint.target) == ("/v1/completions", "/v1/completions?key=abc")
        connection = endpoint.connect()
        assert len(endpoint.complete(connection, Request(tokens=2), "one", 0).tokens) == 2
        connection.close()
    with pytest.raises(ValueError, match="without a user name or password") as refused:
        Endpoint("http://me:secret@a/completion", 1.0)
    assert "secret" not in str(refused.value)
    for url in ("ftp://me:secret@a/completion", "http://me:secret@a:99999/completion"):
        with pytest.raises(ValueError, match=re.escape("//...@a")) as refused:
            Endpoint(url, 1.0)
        assert "secret" not in str(refused.value)


@pytest.mark.parametrize(("url", "port"), [("http://[::1]/completion", 80), ("https://[::1]/completion", 443)])
def test_an_address_of_six_parts_has_the_usual_port(url: str, port: int) -> None:
    connection = Endpoint(url, 1.0).connect()
    assert (connection.host, connection.port) == ("::1", port)


@contextmanager
def raw(*parts: bytes, pause: float = 0.0, limit: float = 10.0) -> Iterator[Endpoint]:
    """A server that answers one request with these bytes and no more; it pauses after each of them."""

    def answer(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            connection.recv(1 << 16)
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 16):  # what is not read would reset the connection
                pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer, args=(listener,), daemon=True)
        thread.start()
        yield Endpoint(f"http://127.0.0.1:{listener.getsockname()[1]}/completion", limit)
        thread.join()


def test_an_answer_that_is_cut_off_or_does_not_end_is_a_dropped_connection() -> None:
    """The first would else be completions that ended early; the second would be waited for as long as it likes."""
    event = b'data: {"content": "a", "tokens": [1]}\n\n'
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n"
    request = Request(tokens=2, stream=True)
    for parts, pause, limit, why in (
        ([head % 1000, event], 0.0, 10.0, "IncompleteRead"),
        ([head % 1000, *[b": wait\n\n"] * 30], 0.1, 0.5, "TimeoutError"),
    ):
        with (
            raw(*parts, pause=pause, limit=limit) as endpoint,
            closing(endpoint.connect()) as connection,
            pytest.raises(Dropped, match=why),
        ):
            endpoint.complete(connection, request, "one", 0)
    with raw(head % (2 * len(event)), event, event) as endpoint, closing(endpoint.connect()) as connection:
        assert endpoint.complete(connection, request, "one", 0).tokens == (1, 1)


def test_a_connection_is_kept() -> None:
    with Server(Toy()) as server:
        endpoint = Endpoint(server.url, 5.0)
        with closing(endpoint.connect()) as connection:
            used = []
            for seed in range(3):
                endpoint.complete(connection, Request(tokens=2), "one", seed)
                used.append(connection.sock)
    assert used[0] is not None
    assert used[0] is used[1] is used[2]


@pytest.mark.parametrize(("words", "ended"), [(["a"] * 5, "stop"), (["a"] * 3, "length")])
def test_as_many_tokens_told_as_texts_have_to_come_as_were_asked_for(words: list[str], ended: str) -> None:
    choice = {"text": "".join(words), "logprobs": {"tokens": words}, "finish_reason": ended}
    with pytest.raises(Unanswered, match=f"{len(words)} tokens; 4 were asked for"):
        completed(Request(tokens=4), said(200, "application/json", json.dumps({"choices": [choice]})), openai=True)


def test_servers_that_say_tokens_in_other_ways_are_not_compared() -> None:
    """Every token would be another one."""
    texts = said(200, "application/json", '{"content": "ab"}')
    with Server(Toy()) as engine, Server(Toy(), texts) as reference:
        sides = [Asker(Endpoint(one.url, 5.0), Request(tokens=2), 1, 1e6) for one in (engine, reference)]
        with pytest.raises(Faulty, match="answers with texts, the engine with token ids") as fault:
            asked(sides[0], sides[1], PROMPTS, 1, np.random.default_rng(0))
        assert not fault.value.engine
        for side in sides:
            side.close()


def rarely(n: int, rng: np.random.Generator, rare: int) -> list[tuple[int | str, ...]]:
    """First tokens: four in 58 of 100, in the others one of a million from ``rare`` on."""
    often = rng.random(n) < 0.58
    return [(int(token),) for token in np.where(often, rng.integers(4, size=n), rare + rng.integers(10**6, size=n))]


def test_tokens_that_came_once_are_not_said_to_show_a_deviation() -> None:
    """Laws that are 0.42 apart, in tokens of which hardly any comes again: no test can see it."""
    rng = np.random.default_rng(0)
    for other, apart in ((10, 0.0), (10**7, 0.42)):
        found = Comparison(("a",), Request(tokens=1))
        found.add(Round([rarely(3000, rng, 10)], [rarely(3000, rng, other)]))
        assert not found.deviates
        assert found.detectable()[0][0] > max(0.42, apart)
    seen = Comparison(("a",), Request(tokens=1))
    seen.add(Round(*([[[(i % 2,) for i in range(2000)]]] * 2)))
    assert seen.detectable()[0][0] < 0.16  # where all came again it is as it was


def test_what_chance_makes_of_the_tv_of_samples_is_told() -> None:
    """With 3,000 tokens, samples of 500 are half apart though they have one law."""
    rng, law = np.random.default_rng(0), 1 / np.arange(1, 3001)
    same = Paired()
    for pair in zip(*(rng.choice(3000, 500, p=law / law.sum()).tolist() for _ in range(2)), strict=True):
        same.update([pair])
    assert comparing._by_chance(same) == pytest.approx(same.tv, rel=0.1)
    found = Comparison(("a",), Request(tokens=1))
    found.add(Round([[(0,)] * 40], [[(1,)] * 40]))
    assert found.certificate("e", "r", 0.1, 0.999, 0, 1.0, "").summary.startswith("TV of the samples is 1 in token 1")
