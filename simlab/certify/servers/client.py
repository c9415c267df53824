"""Completions over HTTP: llama.cpp's ``/completion`` and ``/v1/completions`` as OpenAI-compatible servers have it.

The client is ``http.client`` of the standard library: it connects to the host that is given and to no other, follows
no redirect and reads no proxy from the environment.
"""

from __future__ import annotations

import http.client
import json
import re
import ssl
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from math import isnan
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from simlab.messages import shown

LLAMA, OPENAI = "/completion", "/v1/completions"
LARGEST = 1 << 22  # bytes of an answer
PART = 1 << 16  # bytes of it that are read at once
ENDED = "<end>"  # in place of tokens behind the end

Prompt = str | tuple[int, ...]
Outcome = int | str


class Completion(NamedTuple):
    """The tokens of a completion, with ``ENDED`` behind its end, and what was told of those that came before."""

    tokens: tuple[Outcome, ...]  # as many as were asked for
    # one for each token of the completion; none where none were asked for, or some are no numbers
    logprobs: tuple[float, ...] = ()


class Unanswered(Exception):
    """A server that does not answer as it has to: what it did instead."""


class Dropped(Exception):
    """A connection that was lost, or an answer that did not come in time."""


@dataclass(frozen=True)
class Request:
    """What is asked of both servers: ``tokens`` tokens, drawn at this temperature through these filters, and with
    ``logprobs`` the log-probability of each."""

    tokens: int = 4
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    stream: bool = False
    model: str | None = None
    logprobs: bool = False

    @property
    def plain(self) -> bool:
        """Whether tokens are drawn from the model's own rows."""
        return (self.temperature, self.top_k, self.top_p, self.min_p) == (1, 0, 1, 0)

    def body(self, path: str, prompt: Prompt, seed: int) -> dict[str, Any]:
        """The request of one completion, every filter told."""
        asked: dict[str, Any] = {
            "prompt": list(prompt) if isinstance(prompt, tuple) else prompt,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "seed": seed,
            "stream": self.stream,
        }
        if path.endswith(OPENAI):
            asked |= {"max_tokens": self.tokens, "logprobs": 0, "return_tokens_as_token_ids": True}
            asked |= {"top_k": self.top_k} if self.top_k else {}  # the interface has no such filter, some servers do
            asked |= {"min_p": self.min_p} if self.min_p else {}
            return asked | ({"model": self.model} if self.model else {})
        asked |= {"n_predict": self.tokens, "top_k": self.top_k, "min_p": self.min_p, "typical_p": 1.0}
        asked |= {"n_probs": 1, "post_sampling_probs": False} if self.logprobs else {}
        return asked | {"repeat_penalty": 1.0, "return_tokens": True, "cache_prompt": True}


class Endpoint:
    """The address of a completions interface; raises ``ValueError`` where it is none."""

    def __init__(self, url: str, limit: float) -> None:
        expected = f"expected an address such as http://localhost:8080{LLAMA}"
        told = re.sub("//[^/]*@", "//...@", url)  # without a password
        try:
            parts = urlsplit(url)
            port = parts.port
            (parts.hostname or "").encode("idna")
        except ValueError as error:
            raise ValueError(f"{told}: {error}; {expected}") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{told}: {expected}")
        if "@" in parts.netloc:
            name = parts.netloc.rpartition("@")[2]
            raise ValueError(f"{parts.scheme}://...@{name}{parts.path}: {expected}, without a user name or password")
        if not parts.path.endswith((LLAMA, OPENAI)):
            raise ValueError(f"{url}: expected an address that ends with {LLAMA} (llama.cpp) or {OPENAI} (OpenAI)")
        if not (parts.path + parts.query).isascii() or any(one.isspace() or not one.isprintable() for one in url):
            raise ValueError(f"{url}: {expected}, with spaces and what is not ASCII as %20")
        self.url, self.limit, self.path = url, limit, parts.path
        self.target = parts.path + (f"?{parts.query}" if parts.query else "")  # what is asked for
        self.secure, self.host = parts.scheme == "https", parts.hostname
        self.port = port if port is not None else 443 if self.secure else 80  # the client would look for one in ::1

    def connect(self) -> http.client.HTTPConnection:
        """A connection, which is opened when it is first used."""
        if self.secure:
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(self.host, self.port, timeout=self.limit, context=context)
        return http.client.HTTPConnection(self.host, self.port, timeout=self.limit)

    def complete(
        self, connection: http.client.HTTPConnection, request: Request, prompt: Prompt, seed: int
    ) -> Completion:
        """One completion.

        Raises :class:`Unanswered` for an answer that is none, and :class:`Dropped` where there was none.
        """
        body = json.dumps(request.body(self.path, prompt, seed))
        patience = self.limit * (1 + request.tokens * request.stream)  # for an event as long as for an answer
        try:
            connection.request("POST", self.target, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            data = _read(answer, time.monotonic() + patience)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise Dropped(f"{type(error).__name__}: {error}") from None
        text = data.decode("utf-8", "backslashreplace")
        if answer.status != 200:
            connection.close()
            to = (
                f", a redirect to {answer.headers['Location']}, which is not followed"
                if 300 <= answer.status < 400
                else ""
            )
            raise Unanswered(f"answers with status {answer.status}{to}: {shown(text[:300])}")
        if len(data) > LARGEST:
            connection.close()
            raise Unanswered(f"answers with more than {LARGEST} bytes")
        kind = answer.headers.get_content_type()
        if kind == "text/html":
            raise Unanswered(f"answers with HTML: {shown(text[:300])}")
        documents = list(_documents(text, request.stream))
        found, told = _tokens(self.path, documents)
        if told and (len(found) > request.tokens or (len(found) < request.tokens and _cut(self.path, documents))):
            raise Unanswered(f"answers with {len(found)} tokens; {request.tokens} were asked for")
        tokens = (*found[: request.tokens], *[ENDED] * (request.tokens - len(found)))
        return Completion(tokens, _logprobs(self.path, documents, len(found)) if request.logprobs else ())


def _read(answer: http.client.HTTPResponse, until: float) -> bytes:
    """The body of an answer, with no more than a byte beyond ``LARGEST``.

    Raises an error of ``http.client``, or ``OSError``, where it is cut off, or has not ended at that time.
    """
    data = bytearray()
    while len(data) <= LARGEST and (part := answer.read1(min(PART, LARGEST + 1 - len(data)))):
        data += part
        if time.monotonic() > until:
            raise TimeoutError("the answer does not end")
    if len(data) <= LARGEST:
        if answer.length:  # which the client passes over where so many bytes are asked for
            raise http.client.IncompleteRead(bytes(data), answer.length)
        answer.close()  # so that the connection can be asked again
    return bytes(data)


def _documents(text: str, stream: bool) -> Iterator[dict[str, Any]]:
    """The JSON documents of an answer: one, or those of a stream of events."""
    lines = re.split(r"\r\n|\n|\r", text) if stream else []  # other ends of lines may be in a token
    parts = [line[5:].strip() for line in lines if line.startswith("data:")] if stream else [text]
    if not parts:
        raise Unanswered(f"answers a request for a stream without an event: {shown(text[:300])}")
    for part in parts:
        if part == "[DONE]":
            return
        try:
            document = json.loads(part)
        except (ValueError, RecursionError):
            raise Unanswered(f"answers with what is no JSON: {shown(part[:300])}") from None
        if not isinstance(document, dict):
            raise Unanswered(f"answers with {shown(document)}; expected an object")
        if document.get("error") is not None:
            raise Unanswered(f"answers with an error: {shown(document['error'])}")
        yield document


def _cut(path: str, documents: list[dict[str, Any]]) -> bool:
    """Whether a server says that it ended because of the number of tokens."""
    if path.endswith(OPENAI):
        return any(choice.get("finish_reason") == "length" for one in documents for choice in one.get("choices") or [])
    return any(document.get("stop_type") == "limit" for document in documents)


def _tokens(path: str, documents: list[dict[str, Any]]) -> tuple[list[Outcome], bool]:
    """Token ids where a server tells them, tokens as texts where it tells those, characters else.

    And whether these are tokens: of characters there may be any number.
    """
    ids, words, text = list[Outcome](), list[Outcome](), ""
    with suppress(KeyError, IndexError, TypeError, AttributeError):
        for document in documents:
            if path.endswith(OPENAI):
                choice: dict[str, Any] = (document["choices"] or [{"text": ""}])[0]  # a stream ends with its usage
                ids += choice.get("token_ids") or []
                words += (choice.get("logprobs") or {}).get("tokens") or []
                text += choice["text"] or ""
            else:
                ids += document.get("tokens") or []
                text += document["content"]
        if all(isinstance(token, int) for token in ids) and all(isinstance(word, str) for word in words):
            return ids or words or list(text), bool(ids or words)
    wanted = "choices[0].text" if path.endswith(OPENAI) else "content"
    raise Unanswered(f"answers with {shown(documents[-1])}; expected an object with {wanted}")


def _logprobs(path: str, documents: list[dict[str, Any]], count: int) -> tuple[float, ...]:
    """The log-probabilities of ``count`` tokens; none where that is not what a server tells."""
    told = list[Any]()
    with suppress(KeyError, IndexError, TypeError, AttributeError, OverflowError):
        for document in documents:
            if path.endswith(OPENAI):
                beside = (document["choices"] or [{}])[0].get("logprobs") or {}
                told += beside.get("token_logprobs") or [one["logprob"] for one in beside.get("content") or []]
            else:
                told += [one["logprob"] for one in document.get("completion_probabilities") or []]
        if len(told) == count and not any(isnan(value) for value in told):
            return tuple(map(float, told))
    return ()
