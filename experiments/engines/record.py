"""Certify the engines that are installed here, and keep each certificate with the versions it is about.

``python -m experiments.engines.record [NAME ...]`` writes ``certificates/NAME.json`` in this folder: certificate.json
of ``simlab certify``, and the versions of the packages it called. Without names it goes through all that are installed
and have none of these versions yet, so that an interrupted run goes on.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from experiments.certification.certified import certified
from experiments.certification.request import Request
from experiments.certification.servers import PROMPTS, ServerRequest, certified_server
from experiments.engines import llama_cpp, openvino_genai
from experiments.engines.source import source_version
from experiments.results import write_json
from simlab.certify.adapters import ADAPTERS
from simlab.certify.servers.client import LLAMA

FOLDER = Path(__file__).parent / "certificates"
BESIDE = ("torch", "triton", "numpy")  # packages whose versions matter to all of them
SLOW = {"decode": (120.0, 0.1)}  # seconds and TV for loops, which take some milliseconds a call
USUAL = (60.0, 0.03)
INTERPRETED = (300.0, 0.03)  # for kernels that an interpreter runs
SERVED = (600.0, 0.1)  # for servers
KEPT = 8  # likeliest tokens that servers draw from: of so few the law is known soon


@dataclass(frozen=True)
class Engine:
    """What ``simlab certify SPEC`` is asked, and the package that is called."""

    name: str
    spec: str
    contract: str
    package: str
    arrays: str | None = None
    source: str = ""  # the environment variable that may name a folder of its sources
    about: str = ""
    beside: tuple[str, ...] = BESIDE

    @property
    def request(self) -> Request:
        """With a budget that fits the contract."""
        budget, epsilon = INTERPRETED if self.package == "vllm" else SLOW.get(self.contract, USUAL)
        contract = None if self.spec in ADAPTERS else self.contract
        return Request(self.spec, contract, budget, epsilon, 0.999, 0, None, 2, 10.0, self.arrays)

    def certificate(self, scratch: Path) -> dict[str, Any]:
        """The content of certificate.json."""
        return certified(self.request, scratch, lambda: None, lambda what, share: None)

    def versions(self) -> dict[str, str]:
        """Of its package and of those beside it; raises ``PackageNotFoundError`` where it is not there."""
        own = source_version(self.package, self.source) if self.source else version(self.package)
        return {self.package: own} | dict(_installed(self.beside))


@dataclass(frozen=True)
class ServedEngine:
    """A server with drafts against the same without; ``served`` starts both, and gives their addresses."""

    name: str
    served: Callable[[], AbstractContextManager[list[str]]]
    about: str
    package: str
    beside: tuple[str, ...] = ("numpy",)

    def certificate(self, scratch: Path) -> dict[str, Any]:
        """The content of certificate.json; its command has the usual ports in place of those that were free."""
        with self.served() as (url, reference):
            request = ServerRequest(url, *SERVED, 0.999, 0, 10.0, reference, PROMPTS[:2], top_k=KEPT, requests=200_000)
            document = certified_server(request, scratch, lambda share: None)
        told = json.dumps(document)
        for address, usual in ((url, 8080), (reference, 8081)):
            told = told.replace(address, f"http://127.0.0.1:{usual}{LLAMA}")
        return dict(json.loads(told))

    def versions(self) -> dict[str, str]:
        """As :meth:`Engine.versions`."""
        return {self.package: version(self.package)} | dict(_installed(self.beside))


SERVERS = [
    ServedEngine(
        "llama-cpp-greedy-drafts",
        partial(llama_cpp.served, "greedy"),
        "Its server with a draft model whose likeliest tokens are drafts.",
        "xllamacpp",
    ),
    ServedEngine(
        "llama-cpp-drawn-drafts",
        partial(llama_cpp.served, "drawn"),
        "Its server with a draft model from which drafts are drawn.",
        "xllamacpp",
    ),
    ServedEngine(
        "openvino-genai",
        openvino_genai.served,
        "Its `ContinuousBatchingPipeline` with a draft model, behind a server of a few lines, on a CPU.",
        "openvino-genai",
        ("openvino", "numpy"),
    ),
]

SAMPLERS = [
    Engine(f"{package}{suffix}", f"{module}:{function}", contract, package, "torch", source, about)
    for package, module, source in (
        ("vllm", "experiments.engines.vllm", "VLLM_SOURCE"),
        ("vllm-ascend", "experiments.engines.vllm_ascend", "VLLM_ASCEND_SOURCE"),
    )
    for suffix, function, contract, about in (
        ("", "scored", "flat_exponential", "Its rejection sampler on a flattened batch."),
        ("-without-q", "unscored", "flat_tokens", "The same for drafts without q, as n-gram drafts are."),
        ("-block", "blockwise", "flat_exponential", "The same with `enable_block_verify`."),
    )
    if (package, function) != ("vllm", "blockwise")
]


LOOPS = [
    Engine(
        "mlx-lm",
        "experiments.engines.mlx_lm:decode",
        "decode",
        "mlx-lm",
        about="Its loop `speculative_generate_step` with a draft model, on a CPU.",
        beside=("mlx", "numpy"),
    )
]


def engines() -> list[Engine | ServedEngine]:
    """All that can be certified without a device."""
    adapters = (
        Engine(one.name, one.name, one.contract, one.package) for one in ADAPTERS.values() if not one.needs_cuda
    )
    return [*adapters, *SAMPLERS, *LOOPS, *SERVERS]


def _installed(packages: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for name in packages:
        try:
            yield name, version(name)
        except PackageNotFoundError:
            continue


def recorded(engine: Engine | ServedEngine, versions: dict[str, str], folder: Path = FOLDER) -> bool:
    """Whether there is a certificate of these versions."""
    path = folder / f"{engine.name}.json"
    return path.exists() and json.loads(path.read_text(encoding="utf-8")).get("engine") == versions


def record(engine: Engine | ServedEngine, versions: dict[str, str], folder: Path = FOLDER) -> dict[str, Any]:
    """Certify it, and write the certificate."""
    with tempfile.TemporaryDirectory() as scratch:
        document = engine.certificate(Path(scratch))
    document |= {"name": engine.name, "engine": versions, "about": engine.about or document["about"]}
    write_json(folder / f"{engine.name}.json", document)
    return document


def main(names: list[str]) -> int:
    """Certify those of these names, or all that have no certificate of these versions."""
    found = {engine.name: engine for engine in engines()}
    unknown = [name for name in names if name not in found]
    if unknown:
        print(f"{unknown[0]!r} is no engine; expected some of {', '.join(found)}", file=sys.stderr)
        return 2
    for engine in (found[name] for name in names or found):
        try:
            versions = engine.versions()
        except PackageNotFoundError as error:
            print(f"{engine.name}: {error.name} is not installed")
            continue
        if not names and recorded(engine, versions):
            print(f"{engine.name}: recorded")
            continue
        document = record(engine, versions)
        print(f"{engine.name}: {document['verdict']}, {document['summary']}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
