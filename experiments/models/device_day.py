"""All that waits for a device, as steps that are run one after the other, the most valuable first.

A step is a command in a process of its own. It has a time limit; what it wrote by then counts, and is put beside the
results of the others at once, as ``NAME-...``: each command writes whole files, and goes on where it was when it
is run again. So the same day, run again, goes on: with steps that nobody has tried, then with those that were stopped
or failed. A step whose command was another begins afresh. ``NAME-day.json`` says what became of each.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from shutil import copyfile
from typing import Any

from experiments.results import write, write_json, write_text
from simlab.models.adapters.fashion import SHIPPED

SIMLAB = sys.executable, "-c", "from experiments.cli.main import run_process; run_process()"
PYTEST = sys.executable, "-m", "pytest", "-q", "-n", "4"
TESTS = Path(__file__).parents[2] / "tests"
BATCHES = 1, 16, 64, 256
GRACE = 10.0  # seconds that a step has to end in once it is told to
LINES = 12  # of what a step said last, that are kept
KERNELS = {  # of engines: what is certified, and as what
    "vllm": ("experiments.engines.vllm:scored", "--contract", "flat_exponential", "--arrays", "cuda"),
    "sglang": ("experiments.engines.sglang:chain", "--contract", "chain_uniforms", "--arrays", "cuda"),
    "flashinfer": ("flashinfer",),
    "sgl-kernel": (
        "sgl_kernel:tree_speculative_sampling_target_only", "--contract", "tree_siblings", "--arrays", "cuda"
    ),
}  # fmt: skip
MEDIUM = "12", "352", "8"  # layers, width and heads: ten times the target that comes along

Notify = Callable[[str], None]
Entry = dict[str, Any]


@dataclass(frozen=True)
class Step:
    """A command.

    Attributes
    ----------
    seconds
        Of one attempt, at most.
    results
        What it writes, and the name of it among the results.
    answers
        Exit statuses of a command that has done what it was asked.
    anew
        Whether another attempt does not go on: what one before has written is not its.
    """

    name: str
    seconds: float
    command: tuple[str, ...]
    results: dict[Path, str] = field(default_factory=dict)
    answers: tuple[int, ...] = (0,)
    anew: bool = False


def steps(folder: Path, device: str, small: bool, data: Path | None, models: Path | None = None) -> list[Step]:
    """The steps on a device, by their value; they work in ``folder``.

    With ``small`` sizes everything takes seconds: only to see whether it runs. ``data`` is Fashion-MNIST, and
    ``models`` checkpoints instead of those that come along.
    """
    place, medium = ("--device", device), folder / "medium"
    own = ("--models", str(models)) if models else ()
    times = [word for batch in ((1,) if small else BATCHES) for word in ("--timing-batch", str(batch))]
    at = [word for batch in ((1,) if small else BATCHES[:3]) for word in ("--batch", str(batch))]

    def simlab(command: str, *more: str, out: Path) -> tuple[str, ...]:
        return (*SIMLAB, *command.split(), *more, "--out", str(out))

    def compare(model: str, methods: str, *more: str, out: Path) -> tuple[str, ...]:
        few = ("--count", "10", "--methods", methods) if small else ()
        return simlab(f"compare --model {model}", *place, *own, *times, *few, *more, out=out)

    def kernel(name: str, *spec: str) -> Step:
        command = simlab("certify", *spec, "--budget", "2" if small else "60", out=folder / name)
        return Step(name, 75, command, {folder / name / "certificate.json": f"certificate-{name}"}, answers=(0, 1, 3))

    def payoff(name: str, *models: str) -> Step:
        out = folder / f"{name}.json"
        return Step(name, 100, simlab("model device --map", *place, *models, *at, out=out), {out: name})

    tests = [str(path) for path in sorted(TESTS.rglob("test_*.py")) if "mark.cuda" in path.read_text("utf-8")]
    sized = ("--small",) if small else ()
    outcomes = folder / "tests.xml"  # of each test, by name
    cheap = ("--steps", "2", "--spacing", "trailing") if small else ()
    trained = ("--size", "1", "16", "2", "--steps", "4") if small else ("--size", *MEDIUM, "--precision", "bfloat16")
    return [
        Step(
            "tests",
            150,
            (*PYTEST, "-m", "cuda", "--junit-xml", str(outcomes), *(tests or [str(TESTS)])),
            {outcomes: "tests"},
            anew=True,
        ),
        Step(
            "device",
            290,
            simlab("model device", *place, *sized, out=folder / "device.json"),
            {folder / "device.json": "device"},
        ),
        Step(
            "compare",
            300,
            compare("fashion", "ar,sjd", out=folder / "compare"),
            {folder / "compare" / "compare.json": "compare"},
        ),
        *(kernel(name, *spec) for name, spec in KERNELS.items()),
        Step(
            "compare-continuous",
            150,
            compare("fashion-continuous", "autoregressive,last-step", *cheap, out=folder / "pair"),
            {folder / "pair" / "compare-continuous.json": "compare-continuous"},
        ),
        Step(
            "medium",
            110,
            simlab("model train target", *place, *trained, *(("--data", str(data)) if data else ()), out=medium),
        ),
        payoff("medium-map", "--models", str(medium)),
        payoff("map", *own),
    ]


def run_day(asked: list[Step], name: str, folder: Path, results: Path, seconds: float, notify: Notify) -> Entry:
    """Run what is not done, for so many ``seconds`` at most; what became of all steps, as a document.

    Output of the steps is in ``folder``, and what they found in ``results``.
    """
    path, ends = results / f"{name}-day.json", time.monotonic() + seconds
    told: Entry = _read_steps(path)
    for step in asked:
        if step.name in told and told[step.name].get("command") != list(step.command):
            del told[step.name]  # of other sizes, or other models
    document: Entry = {"kind": "day", "name": name, "steps": told}
    for step in _waiting(asked, told):
        left = min(step.seconds, ends - time.monotonic() - GRACE)
        if left <= 0:
            break
        notify(step.name)
        begun, output = time.monotonic(), folder / f"{step.name}.log"
        for source in step.results if step.anew or step.name not in told else ():
            source.unlink(missing_ok=True)
        status = run_limited(step.command, left, output)
        said = output.read_text("utf-8", errors="replace").splitlines()[-LINES:]
        found = [each for source, each in step.results.items() if _taken(source, results / f"{name}-{each}")]
        told[step.name] = {
            "state": "done" if status in step.answers else "stopped" if status is None else "failed",
            "seconds": told.get(step.name, {}).get("seconds", 0.0) + time.monotonic() - begun,
            "attempts": told.get(step.name, {}).get("attempts", 0) + 1,
            "command": list(step.command),
            "results": found,
            "said": said,
        }
        write_json(path, document)
    return document


def prepare(folder: Path, models: Path | None) -> None:
    """What a medium target is trained over, and what drafts for it, where the steps of ``folder`` look for them.

    Raises ``ValueError`` for ``models`` that lack one of them.
    """
    sources = [(models or SHIPPED) / f"{each}.safetensors" for each in ("tokenizer", "draft")]
    for source in sources:
        if not source.is_file():
            raise ValueError(f"{source}: there is no such file; expected what the step medium trains and drafts with")
    for source in sources:
        write(folder / "medium" / source.name, partial(copyfile, source))


def run_limited(command: tuple[str, ...], seconds: float, output: Path) -> int | None:
    """The exit status of a process, which is interrupted after so many seconds and then killed: then None.

    What it says is written to ``output``; what it has started ends with it.
    """
    write_text(output, "")
    with output.open("w", encoding="utf-8") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(GRACE)
            with suppress(ProcessLookupError):  # nobody is left
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _waiting(asked: list[Step], told: Entry) -> list[Step]:
    """Steps that are not done, those that were tried less often first."""
    there = [step for step in asked if told.get(step.name, {}).get("state") != "done"]
    return sorted(there, key=lambda step: int(told.get(step.name, {}).get("attempts", 0)))


def _read_steps(path: Path) -> Entry:
    """What became of the steps until now."""
    try:
        found: Any = json.loads(path.read_text("utf-8"))["steps"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return found if isinstance(found, dict) and all(isinstance(step, dict) for step in found.values()) else {}


def _taken(source: Path, place: Path) -> bool:
    """Whether a step has written something, which is then among the results, with its own ending."""
    if not source.is_file():
        return False
    write_text(place.with_name(place.name + source.suffix), source.read_text("utf-8"))
    return True
