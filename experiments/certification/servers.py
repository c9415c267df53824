"""The request of ``simlab certify --url``, and its certificate.

completions.jsonl  while it goes on: what both servers have answered, so that an interrupted command goes on from there
certificate.json   the certificate, as of any other way to certify
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from experiments.certification.effort import LEAST, Effort
from experiments.certification.request import finite
from experiments.journal import Journal
from experiments.results import versions
from simlab import __version__
from simlab.certify.servers.client import Endpoint, Outcome, Request
from simlab.certify.servers.comparison import Asker, Comparison, Faulty, Round, compared
from simlab.checks import check_at_least, check_number

COMPLETIONS = "completions.jsonl"
PROMPTS = (
    "The capital of France is",
    "def fibonacci(n):\n    ",
    "Once upon a time there was a",
    "1, 2, 3, 4, 5,",
)


@dataclass(frozen=True)
class ServerRequest(Effort):
    """The options of the command line; raises ``ValueError`` for one that cannot be."""

    url: str
    reference: str = ""
    prompts: tuple[str, ...] = PROMPTS
    tokens: int = 4
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    stream: bool = False
    model: str | None = None
    concurrency: int = 8
    reference_concurrency: int = 1
    requests: int = 100_000
    rate: float = 1000.0
    logprobs: bool = False

    def __post_init__(self) -> None:
        if not self.reference:
            raise ValueError("--url needs --reference URL: the same server without speculation")
        for option, url in (("--url", self.url), ("--reference", self.reference)):
            try:
                Endpoint(url, self.limit)
            except ValueError as error:
                raise ValueError(f"{option} {error}") from None
        self.check()
        check_number("--rate", self.rate, LEAST)
        check_number("--temperature", self.temperature, LEAST)
        check_number("--min-p", self.min_p, 0, 1)
        check_number("--top-p", self.top_p, LEAST, 1)
        least = {"tokens": 1, "top_k": 0, "concurrency": 1, "reference_concurrency": 1, "requests": 1}
        for name, value in least.items():
            check_at_least(f"--{name.replace('_', '-')}", getattr(self, name), value)
        if len(set(self.prompts)) < len(self.prompts):
            raise ValueError("--prompt: one is given twice; expected prompts that differ")

    @property
    def asked(self) -> Request:
        """What is asked of both servers."""
        names = [field.name for field in fields(Request)]
        return Request(**{name: getattr(self, name) for name in names})

    @property
    def command(self) -> str:
        """The command that asks for the same."""
        words = ["simlab", "certify"]
        for name, value in ({"url": self.url} | asdict(self)).items():
            if name == "prompts":
                words += [word for prompt in value if value != PROMPTS for word in ("--prompt", prompt)]
            elif isinstance(value, bool):
                words += [f"--{name}"] if value else []
            elif value is not None:
                text = value if isinstance(value, str) else str(value).removesuffix(".0")
                words += [f"--{name.replace('_', '-')}", text]
        return shlex.join(words)

    @property
    def same(self) -> dict[str, Any]:
        """What has to be the same for answers to be counted together."""
        return {"simlab completions": 1} | {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
            if name not in ("budget", "epsilon", "confidence", "requests", "rate", "limit")
        }


def certified_server(request: ServerRequest, out: Path, progress: Callable[[float], None]) -> dict[str, Any]:
    """The content of certificate.json.

    Raises ``ValueError`` for servers that do not answer as they have to: either of them at the beginning, the reference
    at any time. What was counted stays in ``completions.jsonl``.
    """
    start = time.monotonic()
    comparison = Comparison(request.prompts, request.asked)
    journal = Journal(out / COMPLETIONS, request.same)
    for found in journal.earlier:
        comparison.add(Round(_answers(found["engine"]), _answers(found["reference"]), found["dropped"]))
    fault = ""
    engine, reference = (
        Asker(Endpoint(url, request.limit), request.asked, concurrency, request.rate)
        for url, concurrency in (
            (request.url, request.concurrency),
            (request.reference, request.reference_concurrency),
        )
    )

    try:
        compared(
            comparison,
            engine,
            reference,
            budget=request.budget,
            most=request.requests,
            rng=np.random.default_rng([request.seed, len(journal.earlier)]),
            keep=lambda found: journal.add(asdict(found)),
            progress=progress,
        )
    except Faulty as error:
        if not error.engine:
            raise ValueError(f"--reference {request.reference} {error}") from None
        if not comparison.asked:
            raise ValueError(f"--url {request.url} {error}") from None
        fault = str(error)
    finally:
        engine.close()
        reference.close()
    certificate = comparison.certificate(
        request.url,
        request.reference,
        request.epsilon,
        request.confidence,
        request.seed,
        time.monotonic() - start,
        fault,
    )
    document = dict(finite(certificate.document))
    if certificate.verdict == "inconclusive" and request.requests - comparison.asked < 2 * len(comparison.prompts):
        document["notes"] = [*document["notes"], f"--requests {request.requests} are made: more of them exclude more"]
    if request.logprobs:
        document["notes"] = [*document["notes"], *comparison.logprobs(engine.told, reference.told)]
    return document | {
        "signature": f"{request.tokens} token{'s' * (request.tokens > 1)} after a prompt",
        "about": f"A server, {request.concurrency} requests at a time, against {request.reference}, "
        f"{request.reference_concurrency} at a time; the target is what the reference draws.",
        "budget": request.budget,
        "calls_of_each": None,
        "command": request.command,
        "simlab": __version__,
        "versions": versions(),
    }


def _answers(found: list[list[list[Outcome]]]) -> list[list[tuple[Outcome, ...]]]:
    return [[tuple(answer) for answer in answers] for answers in found]


def finished(out: Path) -> None:
    """The certificate is written: what was kept in case of an interrupt goes."""
    (out / COMPLETIONS).unlink(missing_ok=True)
