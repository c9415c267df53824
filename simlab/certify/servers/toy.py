"""Small servers with and without speculation, right and wrong: what ``simlab certify --url`` is itself tested with.

The model draws a token from a row that the prompt and the last token give; rows of different prompts are unlike.
"""

from __future__ import annotations

import json
import threading
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.servers.client import LLAMA, OPENAI
from simlab.mutants.gated.contracts import CONTRACTS, over_coins
from simlab.randomness.coins import SampledCoins

V = 26
GAMMA = 2
STEP = 0.0005  # seconds of a step of the model: requests overlap

Verify = Callable[[Array, Array, Array, SampledCoins], Any]


@dataclass(frozen=True)
class Toy:
    """What a server does: ``verify`` with speculation, ``None`` without; and what is wrong with it."""

    verify: Verify | None = None  # what verifies two drafts
    # share of completions that follow the prompt of another request, where one is served at the same time
    wrong_rows: float = 0.0
    above: int = 1 << 30  # completions begin with token 0 where more than so many requests are served at once
    scored: float = 1.0  # temperature at which drafts are scored; they are drawn at 1
    told: int = 0  # whose log-probabilities are told: of the target (0) or the draft (1)


lossless = over_coins("verify", CONTRACTS["verify"].right)
CORRECT = {"without speculation": Toy(), "with speculation": Toy(lossless)}
WRONG = {
    "residual drawn from p": Toy(over_coins("verify", CONTRACTS["verify"].faults["residual drawn from p"])),
    "drafts scored at another temperature": Toy(lossless, scored=3.0),
    "5 % of draws from a wrong row where requests run together": Toy(lossless, wrong_rows=0.05),
    "wrong above a batch size of 4": Toy(lossless, above=4),
}


def row(prompt: Any, last: int, model: int) -> Array:
    """The row ``[V]`` after a prompt and a token, of the target (0) or the draft (1)."""
    bits = zlib.crc32(json.dumps([prompt, last]).encode())
    rng = np.random.default_rng(bits)
    mass = rng.gamma(0.1, size=V) + 0.0005
    other = rng.gamma(0.1, size=V) + 0.0005
    mixed = mass if model == 0 else 0.5 * mass + 0.5 * other
    return np.asarray(mixed / mixed.sum())


def tokens_of(toy: Toy, prompt: Any, count: int, served: list[Any], rng: np.random.Generator) -> list[int]:
    """A completion, while the prompts ``served`` are."""
    others = [other for other in served if other != prompt]
    if others and rng.random() < toy.wrong_rows:
        prompt = others[int(rng.integers(len(others)))]
    found: list[int] = [0] if len(served) > toy.above else []
    while len(found) < count:
        if toy.verify is None:
            found.append(int(rng.choice(V, p=row(prompt, found[-1] if found else -1, 0))))
            continue
        seen = [found[-1] if found else -1]
        q = []
        for _ in range(GAMMA):
            q.append(row(prompt, seen[-1], 1))
            seen.append(int(rng.choice(V, p=q[-1])))
        p = np.array([row(prompt, last, 0) for last in seen])
        scored = np.array(q) ** (1 / toy.scored)
        scored /= scored.sum(axis=1, keepdims=True)
        found += [int(token) for token in toy.verify(p, scored, np.array(seen[1:]), SampledCoins(rng))]
    return found[:count]


def logprobs_of(toy: Toy, prompt: Any, tokens: list[int]) -> list[float]:
    """What a server tells of its tokens."""
    before = [-1, *tokens[:-1]]
    return [float(np.log(row(prompt, last, toy.told)[token])) for last, token in zip(before, tokens, strict=True)]


class Server:
    """A toy behind HTTP, while the context lasts; ``url`` and ``openai`` are the addresses of its interfaces.

    ``answer`` may make the status, the kind and the text of an answer of what would be answered, for servers that are
    wrong in other ways than their law.
    """

    def __init__(self, toy: Toy, answer: Callable[[str], tuple[int, str, str]] | None = None) -> None:
        self.toy = toy
        self.answer = answer or (lambda text: (200, "application/json", text))
        self.served: list[Any] = []
        self.lock = threading.Lock()
        self.requests = 0
        self.server = _Quiet(("127.0.0.1", 0), _handler(self))
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        base = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.url, self.openai = base + LLAMA, base + OPENAI

    def __enter__(self) -> Server:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def completion(self, asked: dict[str, Any]) -> list[int]:
        """The tokens that are asked for."""
        prompt = asked["prompt"]
        with self.lock:
            self.requests += 1
            self.served.append(prompt)
        try:
            time.sleep(STEP)
            count = asked["n_predict"] if "n_predict" in asked else asked["max_tokens"]
            return tokens_of(self.toy, prompt, count, list(self.served), np.random.default_rng(asked["seed"]))
        finally:
            with self.lock:
                self.served.remove(prompt)


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is no error here."""


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found = server.completion(asked)
            told = logprobs_of(server.toy, asked["prompt"], found)
            if self.path.partition("?")[0] == OPENAI:
                text = _openai(found, told, asked["stream"])
            else:
                text = _llama(found, told if asked.get("n_probs") else [], asked["stream"])
            status, kind, text = server.answer(text)
            data = text.encode()
            with suppress(OSError):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is logged."""

    return Handler


def _llama(tokens: list[int], told: list[float], stream: bool) -> str:
    def piece(part: slice) -> dict[str, Any]:
        beside = [{"logprob": value} for value in told[part]]
        found = {"content": "".join(chr(97 + token) for token in tokens[part]), "tokens": tokens[part], "stop": False}
        return found | ({"completion_probabilities": beside} if beside else {})

    end = {"stop": True, "stop_type": "limit"}
    if not stream:
        return json.dumps(piece(slice(None)) | end)
    events = [*(piece(slice(i, i + 1)) for i in range(len(tokens))), piece(slice(0)) | end]
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events)


def _openai(tokens: list[int], told: list[float], stream: bool) -> str:
    def piece(part: slice) -> dict[str, Any]:
        beside = {"tokens": [f"token_id:{token}" for token in tokens[part]], "token_logprobs": told[part]}
        text = "".join(chr(97 + token) for token in tokens[part])
        return {"choices": [{"text": text, "logprobs": beside, "finish_reason": "length"}]}

    if not stream:
        return json.dumps(piece(slice(None)))
    events = [json.dumps(piece(slice(i, i + 1))) for i in range(len(tokens))]
    return "".join(f"data: {event}\n\n" for event in [*events, "[DONE]"])
