"""``simlab bench`` runs, and its ratios follow from its own times. How fast anything is, is no matter of a test."""

from __future__ import annotations

import builtins
import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import machine
from experiments.bench import BENCHMARKS, bench, continuous, opponents, proving, verifying
from experiments.bench.benchmark import Contender, Finding, race, ratio
from experiments.bench.memory import peak_of
from experiments.bench.steps import DECODERS, NODES, Ready, kernel_steps, one_thread, reference_steps
from experiments.cli import bench as command
from experiments.cli.main import main
from simlab.continuous.compiled import simulate
from simlab.continuous.decoders import Truncating
from simlab.continuous.rules import LastStep
from simlab.continuous.tape import normals
from simlab.decoders.compiled.speculative import Chains, verify_drafts
from simlab.randomness import Purpose, Tape
from simlab.rules import Speculative
from simlab.rules.compiled.dispatch import compiled
from tests.support.cli import simlab

pytestmark = pytest.mark.cli


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """A quick run of everything, as a user would start it: its document, and what it prints without a terminal."""
    folder = tmp_path_factory.mktemp("bench")
    done = simlab("bench", "--quick", "--json", "out/bench.json", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads((folder / "out" / "bench.json").read_text(encoding="utf-8")), done.stdout


# The command ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_ratio_is_printed_and_the_document_has_what_a_reader_needs(ran: tuple[dict[str, Any], str]) -> None:
    document, printed = ran
    lines = [line for line in printed.splitlines() if " : " in line]
    assert len(lines) == len(document["ratios"])
    for row in document["ratios"]:
        compared = f"{row['contender']} : {row['against']}"
        assert any(line.startswith(row["what"]) and compared in line for line in lines)
        assert np.isfinite(row["value"])
        assert (row["met"] is None) == (row["at_least"] is None and row["at_most"] is None)
    assert document.keys() == {"machine", "quick", "minutes", "notes", "ratios", "times"}
    about = "processor", "cores", "last_level_cache", "cache_known_from", "numpy", "numba"
    assert document["machine"].keys() >= set(about)
    assert {row["benchmark"] for row in document["times"]} >= set(BENCHMARKS) - {"threads"}
    for row in document["times"]:
        assert row["work"]
        assert all(work > 0 for work in row["work"].values())
        assert row["fastest"] == min(row["seconds"], default=row["fastest"])
        assert row["fastest"] > 0


@pytest.mark.slow
def test_ratios_follow_from_the_times(ran: tuple[dict[str, Any], str]) -> None:
    document, _ = ran
    times = {(row["benchmark"], row["what"], row["contender"]): row for row in document["times"]}
    assert len(times) == len(document["times"])
    assert len(document["ratios"]) > 10
    for row in document["ratios"]:
        where = row["benchmark"], row["what"]
        if row["kind"] == "exponent":
            sizes = [time for key, time in times.items() if key[:2] == where]
            work = np.log([time["work"][row["per"]] for time in sizes])
            seconds = np.log([time["fastest"] for time in sizes])
            slope = np.cov(work, seconds, bias=True)[0, 1] / np.var(work)
            assert row["value"] == pytest.approx(slope)
        elif row["kind"] == "GiB":
            assert row["value"] == times[*where, row["contender"]]["work"]["GiB"]
        elif row["contender"] == "process":
            assert 0 < row["value"] < 1
        else:
            mine, other = (times[*where, row[name]] for name in ("contender", "against"))
            speeds = [time["work"][row["per"]] / time["fastest"] for time in (mine, other)]
            assert row["value"] == pytest.approx(speeds[0] / speeds[1])


def test_only_chooses_and_a_full_disk_loses_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(path: Path, value: Any) -> None:
        raise OSError(28, "No space left on device", str(path))

    def measured(names: list[str], quick: bool, note: Any) -> dict[str, Any]:
        assert (names, quick) == (["cost"], True)
        row = Finding("cost", "a", "time", "sequences", "exponent", "V", 1.04, at_most=1.1)
        about = {"processor": "p", "cores": 1, "last_level_cache": 1 << 20, "cache_known_from": "here"}
        return {"machine": about, "notes": [], "ratios": [row._asdict() | {"met": row.met}]}

    monkeypatch.setattr("experiments.bench.bench", measured)
    monkeypatch.setattr("experiments.results.write_json", full)
    assert main(["bench", "--quick", "--only", "cost", "--json", str(tmp_path / "bench.json")]) == 1
    printed = capsys.readouterr()
    assert "time : sequences" in printed.out
    assert "No space left on device" in printed.err


def test_the_peak_is_that_of_the_largest_process(tmp_path: Path) -> None:
    """Of what a command starts too, and not of whoever asks, however large that is."""
    held = bytearray(250 << 20)
    own = "bytearray(100 << 20)"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {own!r}])"
    for code in (own, child):
        peak = peak_of([sys.executable, "-c", code], tmp_path)
        assert peak is not None
        assert 100 << 20 < peak < 200 << 20
    assert peak_of([sys.executable, "-c", "raise SystemExit(2)"], tmp_path) is None
    assert len(held) == 250 << 20


def test_a_missed_mark_is_called_missed() -> None:
    row = Finding("decoders", "a", "b", "c", "times", "sequences", 9.9, at_least=10.0)
    assert row.met is False
    assert command._verdict(row._asdict() | {"met": row.met}).endswith(": missed")
    row = Finding("cost", "a", "time", "V", "exponent", "V", 1.04, at_most=1.1)
    assert command._verdict(row._asdict() | {"met": row.met}).endswith(": met")
    assert row._replace(at_most=None).met is None


# What is optional ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_without_transformers_it_says_so_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = builtins.__import__

    def missing(name: str, *others: Any, **more: Any) -> Any:
        if name.partition(".")[0] in ("torch", "transformers"):
            raise ImportError(f"No module named {name!r}")
        return honest(name, *others, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    monkeypatch.setattr(verifying, "INSIDE", 1 / 32)
    monkeypatch.setattr(verifying, "BEYOND", 1 / 16)
    document = bench(["verification"], True, lambda what, found=None: None)
    assert any("No module named 'torch'" in note for note in document["notes"])
    assert not any("transformers" in row["against"] for row in document["ratios"])
    assert {row["against"] for row in document["ratios"]} >= {"reading alone", "reading the same rows"}


def test_a_machine_with_one_core_measures_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.bench.decoding.cores", lambda: 1)
    results = BENCHMARKS["threads"](True, lambda what, found=None: None)
    assert results.findings == []
    assert len(results.notes) == 1


def test_the_last_level_cache_is_the_largest_that_holds_data(tmp_path: Path) -> None:
    for k, (level, kind, size) in enumerate(
        (("1", "Instruction", "64K"), ("1", "Data", "32K"), ("3", "Unified", "8K"))
    ):
        (tmp_path / f"index{k}").mkdir()
        for name, text in (("level", level), ("type", kind), ("size", size)):
            (tmp_path / f"index{k}" / name).write_text(f"{text}\n")
    assert machine.last_level_cache(tmp_path)[0] == 8 << 10
    size, known = machine.last_level_cache(tmp_path / "nothing")
    assert size > 0
    assert known.startswith(("level 3, from sysconf", "assumed"))


# That the same is measured -----------------------------------------------------------------------------------------


def test_a_race_tells_fast_from_slow() -> None:
    """Loops of 1 and of 20: nothing that happens on a machine makes every turn of the shorter one the longer."""
    work = {"loops": 1.0}
    contenders = [Contender(name, partial(sum, range(n * 10_000)), work) for name, n in (("a", 1), ("b", 20))]
    times = race("race", "loops", contenders, 0.05)
    assert ratio(times, "a", "b", "loops").value > 2
    assert all(len(time.seconds) >= 3 for time in times.values())


@pytest.mark.parametrize("name", opponents.NUMPY)
@pytest.mark.parametrize("token", [verifying.REJECTED, verifying.ACCEPTED, None])
def test_opponents_do_what_the_kernel_does(name: str, token: int | None) -> None:
    """The same drafts kept, and the same tokens after them.

    In float64 sums differ in the last bits only, so of 64 tokens one differs with a probability below 1e-9.
    """
    rows = verifying.Rows(600, 64 * 17 * 600 * 4)
    p, q = (side.astype(np.float64) for side in rows.views(rows.p, rows.q)[3])
    random = np.random.Generator(np.random.Philox(1))
    x = random.integers(2, 600, (rows.blocks, verifying.GAMMA)) if token is None else rows.drafts(token)
    counts, after = opponents.NUMPY[name](p, q, x, rows.coins, rows.noise)

    tokens, length = np.zeros((rows.blocks, verifying.GAMMA + 1), np.int64), np.zeros(rows.blocks, np.int64)
    tokens[:, :-1] = x
    chains = Chains(p, q, tokens, length, rows.coins, rows.noise, verifying.GAMMA + 1)
    kept = verify_drafts(compiled(Speculative()), chains, 0)
    assert counts.tolist() == kept.tolist()
    assert after.tolist() == tokens[np.arange(len(x)), counts].tolist()
    wanted = {verifying.REJECTED: {0}, verifying.ACCEPTED: {verifying.GAMMA}, None: set(counts.tolist())}[token]
    assert set(counts.tolist()) == wanted
    assert token is not None or len(wanted) > 1


@pytest.mark.parametrize("kind", continuous.KINDS, ids=lambda kind: kind.name)
def test_numpys_generator_walks_the_trajectories_of_the_kernel(kind: continuous.Kind) -> None:
    """Given the tape's numbers in turn, it gives the same tokens."""
    target, draft = continuous.make_pair(kind, steps=5, size=4, length=3)
    tape, nobody = Tape(2, 6), np.zeros(6, np.int64)
    numbers = [
        normals(tape.at(n + 1), nobody + n, Purpose.TARGET, t, 0, 4) for n in range(3) for t in (0, 5, 4, 3, 2, 1)
    ]

    class InTurn:
        def standard_normal(self, shape: tuple[int, int]) -> np.ndarray:
            assert shape == (6, 4)
            return numbers.pop(0)

    found = continuous.with_generator(target, 6, InTurn())  # type: ignore[arg-type]
    wanted = simulate(Truncating(1, prefill=3), target, draft, LastStep(), tape).tokens
    assert np.allclose(found, wanted, rtol=0, atol=1e-12)
    assert not numbers


@pytest.mark.parity
@pytest.mark.parametrize("name", DECODERS)
def test_both_forms_take_the_same_steps_on_ready_rows(name: str) -> None:
    torch = pytest.importorskip("torch")
    drawn = np.random.Generator(np.random.Philox(1)).standard_exponential((2, NODES + 1, 32))
    rows = torch.from_numpy((drawn / drawn.sum(-1, keepdims=True)).astype(np.float32))
    kernel, reference = (form(DECODERS[name], Ready(rows)) for form in (kernel_steps, reference_steps))
    gained = []
    with one_thread():
        for _ in range(5):
            mine, other = kernel(), reference()
            length = int(mine.length[0])
            assert length == int(other.length[0])
            assert (mine.tokens[0, : length + 8] == other.tokens[0, : length + 8].numpy()).all()
            gained.append(length)
    assert len(set(gained)) > 1


def test_views_use_every_row_a_rejecting_block_reads() -> None:
    rows = verifying.Rows(64, 3 * 17 * 64 * 4)
    marked = [np.repeat(np.arange(len(side), dtype=np.float32)[:, None], 64, axis=1) for side in (rows.p, rows.q)]
    views = rows.views(*marked)
    for side, first in ((0, [view[0][:, 0, 0] for view in views]), (1, [view[1][:, 0, 0] for view in views])):
        seen = np.concatenate(first)
        assert len(seen) == len(set(seen.tolist())) == verifying.GAMMA * rows.blocks
        assert set(seen.tolist()) <= set(marked[side][:, 0].tolist())


def test_what_is_proven_is_told_when_it_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Finding] = []

    def watch(what: str, found: Finding | None = None) -> None:
        told.extend([found] if found else [])

    monkeypatch.setattr(proving, "_sizes", lambda quick: {"one": lambda: True, "none": lambda: False})
    monkeypatch.setattr(proving, "_beside", lambda quick: [("rule", lambda: True, lambda seconds: True, 5.0)])
    results = BENCHMARKS["proofs"](True, watch)
    assert told == results.findings
    assert [row.what for row in told] == ["rule", "one"]
    assert any("none was not proven" in note for note in results.notes)


def test_the_plain_prover_stops_when_it_is_told_to() -> None:
    assert proving._plain_rule(2, 60.0)
    ways: list[None] = []
    proving.PlainProver([]).proves(lambda: ways.append(None), -1.0)
    assert not ways
