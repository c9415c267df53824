"""Certify the engines that are installed here, and keep each certificate with the versions it is about.

``python -m experiments.engines.record [--budget S] [NAME ...]`` writes ``certificates/NAME.json`` in this folder:
certificate.json of ``simlab certify``, and the versions of the packages it called. Without names it goes through all
that are installed and have none of these versions and of today's battery yet, two at a time, so that an interrupted run
goes on. One that is inconclusive though it had less than the usual time is made again. Repositories that are no
packages are looked for as ``src/OWNER+NAME`` in the folder of the environment.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from experiments.certification.certified import certified
from experiments.certification.request import Request
from experiments.certification.servers import PROMPTS, ServerRequest, certified_server
from experiments.engines import llama_cpp, openvino_genai
from experiments.engines.source import source_version
from experiments.machine import installed
from experiments.options import option, run_module
from experiments.results import write_json
from experiments.terminal import UsageError
from simlab.certify.adapters import ADAPTERS
from simlab.certify.adapters.checkouts.registry import PUBLISHED, Published, commit_of
from simlab.certify.certificate import battery_of
from simlab.certify.servers.client import LLAMA
from simlab.registry import meant

MODULE = "experiments.engines.record"
FOLDER = Path(__file__).parent / "certificates"
CHECKOUTS = Path(sys.prefix) / "src"  # where pip has those that it installs from a repository, too
LIMIT = 60.0  # seconds of a call: the machine may be busy
AT_ONCE = 2  # certificates that are made side by side, each with one process
BESIDE = ("torch", "triton", "numpy")  # packages whose versions matter to all of them


class Wanted(NamedTuple):
    """Seconds, and the TV that a pass excludes."""

    budget: float
    epsilon: float


SLOW = {"decode": Wanted(120.0, 0.1)}  # loops take some milliseconds a call
USUAL = Wanted(60.0, 0.03)
INTERPRETED = Wanted(300.0, 0.03)  # for kernels that an interpreter runs
SERVED = Wanted(360.0, 0.15)
REPEATING = (PROMPTS[1], PROMPTS[3])  # what ends as it was before: an n-gram has a draft at once
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
    def wanted(self) -> Wanted:
        """What fits the contract."""
        return INTERPRETED if self.package in ("vllm", "sglang") else SLOW.get(self.contract, USUAL)

    def request(self, budget: float) -> Request:
        """With so many seconds."""
        contract = None if self.spec in ADAPTERS else self.contract
        asked: Any = {"budget": budget, "epsilon": self.wanted.epsilon, "limit": LIMIT}
        return Request(self.spec, contract, processes=1, arrays=self.arrays, **asked)

    def certificate(self, scratch: Path, budget: float) -> dict[str, Any]:
        """The content of certificate.json."""
        return certified(self.request(budget), scratch, lambda: None, lambda what, share: None)

    def versions(self) -> dict[str, str]:
        """Of its package and of those beside it; raises ``PackageNotFoundError`` where it is not there."""
        own = source_version(self.package, self.source) if self.source else version(self.package)
        return {self.package: own} | _installed(self.beside)


@dataclass(frozen=True)
class ServedEngine:
    """A server with drafts against the same without; ``served`` starts both, and gives their addresses."""

    name: str
    served: Callable[[], AbstractContextManager[list[str]]]
    about: str
    package: str
    beside: tuple[str, ...] = ("numpy",)
    wanted: Wanted = SERVED
    prompts: tuple[str, ...] = PROMPTS[:2]

    def certificate(self, scratch: Path, budget: float) -> dict[str, Any]:
        """The content of certificate.json; its command has the usual ports in place of those that were free."""
        with self.served() as (url, reference):
            asked: Any = {"budget": budget, "epsilon": self.wanted.epsilon, "top_k": KEPT, "requests": 200_000}
            request = ServerRequest(url, reference, self.prompts, **asked)
            document = certified_server(request, scratch, lambda share: None)
        told = json.dumps(document)
        for address, usual in ((url, 8080), (reference, 8081)):
            told = told.replace(address, f"http://127.0.0.1:{usual}{LLAMA}")
        return dict(json.loads(told))

    def versions(self) -> dict[str, str]:
        """As :meth:`Engine.versions`."""
        return {self.package: version(self.package)} | _installed(self.beside)


@dataclass(frozen=True)
class PublishedEngine:
    """A verifier that is published as code, of a checkout of its repository."""

    published: Published

    @property
    def name(self) -> str:
        return self.published.name

    @property
    def about(self) -> str:
        return self.published.about

    @property
    def wanted(self) -> Wanted:
        """As :attr:`Engine.wanted`."""
        return SLOW.get(self.published.contract, USUAL)

    @property
    def checkout(self) -> Path:
        return CHECKOUTS / self.published.repository.replace("/", "+")

    def certificate(self, scratch: Path, budget: float) -> dict[str, Any]:
        """The content of certificate.json; its command names a folder, and its programs, which would need it, go."""
        asked: Any = {"budget": budget, "epsilon": self.wanted.epsilon, "limit": LIMIT}
        request = Request(self.name, processes=1, checkout=self.checkout, **asked)
        document = certified(request, scratch, lambda: None, lambda what, share: None)
        for failure in (document["failure"], document["edge"]):
            if failure:
                failure["script"] = ""
        told = replace(request, checkout=Path("FOLDER"))
        return document | {"command": told.command, "again": told.again(document) if document["again"] else ""}

    def versions(self) -> dict[str, str]:
        """The commit, and as :meth:`Engine.versions`."""
        if not self.checkout.is_dir():
            raise PackageNotFoundError(f"{self.published.repository}, as {self.checkout},")
        return {self.published.repository: commit_of(self.checkout)[:12]} | _installed(BESIDE)


AnyEngine = Engine | ServedEngine | PublishedEngine

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
    *(
        ServedEngine(f"llama-cpp-{how}-drafts", partial(llama_cpp.served, how), about, "xllamacpp", prompts=REPEATING)
        for how, about in (
            ("n-gram", "Its server with drafts looked up in the text so far, `ngram-simple`."),
            ("n-gram-pool", "Its server with drafts from a pool of n-grams that all requests share, `ngram-mod`."),
        )
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
        ("-without-q", "unscored", "flat_tokens", "Its rejection sampler for drafts without q, as n-gram drafts are."),
        ("-block", "blockwise", "flat_exponential", "Its rejection sampler with `enable_block_verify`."),
    )
    if (package, function) != ("vllm", "blockwise")
]


VERIFIERS = [
    Engine(name, f"experiments.engines.{module}:{function}", contract, package, arrays, source, about)
    for name, module, function, contract, package, arrays, source, about in (
        (
            *("vllm-runner-2", "vllm_runner", "scored", "verify", "vllm", None, "VLLM_SOURCE"),
            "`rejection_sample` of its second model runner, on one request.",
        ),
        (
            *("vllm-runner-2-block", "vllm_runner", "blockwise", "verify", "vllm", None, "VLLM_SOURCE"),
            "`rejection_sample` of its second model runner, with `use_block_verification`.",
        ),
        (
            *("sglang", "sglang", "chain", "chain_uniforms", "sglang", "torch", "SGLANG_SOURCE"),
            "Its kernel `chain_speculative_sampling_triton`.",
        ),
        (
            *("sglang-block", "sglang", "blocks", "chain_uniforms", "sglang", "torch", "SGLANG_SOURCE"),
            "`chain_speculative_sampling_triton` with `block_verification`.",
        ),
        (
            *("lmdeploy", "lmdeploy", "scored", "verify", "lmdeploy", None, "LMDEPLOY_SOURCE"),
            "The rejection sampling of its PyTorch engine where a device has none of its own.",
        ),
        (
            *("lmdeploy-without-q", "lmdeploy", "unscored", "verify", "lmdeploy", None, "LMDEPLOY_SOURCE"),
            "The same rejection sampling, for drafts without q.",
        ),
    )
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


def engines() -> list[AnyEngine]:
    """All that can be certified without a device."""
    adapters = (
        Engine(one.name, one.name, one.contract, one.package) for one in ADAPTERS.values() if not one.needs_cuda
    )
    return [*adapters, *SAMPLERS, *VERIFIERS, *LOOPS, *map(PublishedEngine, PUBLISHED.values()), *SERVERS]


def _installed(packages: tuple[str, ...]) -> dict[str, str]:
    """Their versions, of those that are there."""
    return {name: found for name in packages if (found := installed(name))}


def recorded(engine: AnyEngine, versions: dict[str, str], folder: Path = FOLDER) -> bool:
    """Whether there is a certificate of these versions, and of today's battery."""
    path = folder / f"{engine.name}.json"
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    short = found.get("verdict") == "inconclusive" and found["budget"] < engine.wanted.budget
    today = battery_of(found.get("contract", ""))
    return (found.get("engine"), found.get("battery")) == (versions, today) and not short


def record(
    engine: AnyEngine, versions: dict[str, str], budget: float | None = None, folder: Path = FOLDER
) -> dict[str, Any]:
    """Certify it, and write the certificate, with the day since which this is its verdict."""
    with tempfile.TemporaryDirectory() as scratch:
        document = engine.certificate(Path(scratch), budget or engine.wanted.budget)
    path = folder / f"{engine.name}.json"
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    known = before.get("since") if before.get("verdict") == document["verdict"] else None
    document |= {"name": engine.name, "engine": versions, "about": engine.about or document["about"]}
    document["since"] = known or date.today().isoformat()
    write_json(path, document)
    return document


def missing() -> Iterator[str]:
    """Names of those that are installed and have no certificate of what is installed; says what there is of others."""
    for engine in engines():
        try:
            made = recorded(engine, engine.versions())
        except PackageNotFoundError as error:
            print(f"{engine.name}: {error.name} is not installed")
            continue
        if made:
            print(f"{engine.name}: recorded")
        else:
            yield engine.name


def apart(name: str, budget: float | None) -> int:
    """Certify one in a process of its own: its status."""
    more = [] if budget is None else ["--budget", str(budget)]
    return subprocess.run([sys.executable, "-m", MODULE, name, *more], check=False).returncode


def record_command(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="what is certified (default: what has no certificate)")
    ] = None,
    budget: Annotated[float | None, option("seconds of each (default: what fits its contract)", "S")] = None,
) -> int:
    """Certify those of these names, or all that have no certificate of these versions."""
    found = {engine.name: engine for engine in engines()}
    for name in names or []:
        if name not in found:
            raise UsageError(f"{name!r} is no engine; {meant(name, found)}expected some of {', '.join(found)}")
    if not names or len(names) > 1:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return max(pool.map(partial(apart, budget=budget), names or missing()), default=0)
    engine = found[names[0]]
    try:
        document = record(engine, engine.versions(), budget)
    except (PackageNotFoundError, ValueError) as error:
        raise UsageError(f"{engine.name}: {error}") from None
    print(f"{engine.name}: {document['verdict']}, {document['summary']}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(run_module(record_command))
