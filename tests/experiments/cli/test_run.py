"""``simlab run`` as a user meets it: what it prints and refuses, real kills, a real cluster, a disk that is full."""

from __future__ import annotations

import errno
import inspect
import json
import random
import re
import resource
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from subprocess import PIPE

import pandas as pd
import pytest
from distributed import LocalCluster
from rich.console import Console

from experiments import sweeps, terminal
from experiments.cli.main import main
from experiments.cli.run import SHIPPED
from experiments.sweeps import Lost, Pool, cells, local, read_spec, spec
from experiments.sweeps import cluster as cluster_module
from experiments.sweeps.cluster import cluster
from experiments.sweeps.recorders import RECORDERS, Sample
from tests.support.cli import COMMAND, alive, usage_error
from tests.support.sweeps import MANY

pytestmark = pytest.mark.cli
DEFAULT_EVERY = 2

EXAMPLE = textwrap.dedent(re.search(r"::\n\n(.*?)\n\nKeys", inspect.getdoc(spec) or "", re.S)[1])  # type: ignore[index]
CELLS = 18  # of the example


def spec_file(folder: Path, text: str, name: str = "spec.toml") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def ran(folder: Path, text: str, workers: str) -> tuple[Path, str]:
    """The folder of a run of this spec, and what was printed."""
    printed = StringIO()
    with redirect_stdout(printed):
        assert main(["run", spec_file(folder, text), "--out", str(folder / "o"), "--workers", workers]) == 0
    return folder / "o", printed.getvalue()


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The example of the documentation, run by two workers."""
    return ran(tmp_path_factory.mktemp("example"), EXAMPLE, "2")


@pytest.fixture(scope="module")
def table(example: tuple[Path, str]) -> bytes:
    return (example[0] / "table.parquet").read_bytes()


@pytest.fixture(scope="module")
def never_interrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A run of MANY that nobody stopped."""
    return ran(tmp_path_factory.mktemp("many"), MANY, "1")


@pytest.fixture(scope="module")
def many(never_interrupted: tuple[Path, str]) -> bytes:
    return (never_interrupted[0] / "table.parquet").read_bytes()


# What it prints and writes -----------------------------------------------------------------------------------------


def test_the_documented_example_runs(example: tuple[Path, str]) -> None:
    out, printed = example
    lines = printed.splitlines()
    assert len([line for line in lines if line.startswith("codebook ")]) == 9
    assert lines[-1].endswith(f"simlab report --runs {out}")
    assert {path.name for path in out.iterdir()} == {".lock", "cells", "table.parquet", "manifest.json"}
    assert len(pd.read_parquet(out / "table.parquet")) == 9 * 2 * 6
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["cells"] == {"all": CELLS, "kept": 0, "computed": CELLS, "stale": 0}
    assert manifest["rows"] == 108
    assert {"python", "simlab", "numpy", "numba", "pandas"} <= manifest["versions"].keys()


def test_one_worker_gives_the_same_bytes(tmp_path: Path, table: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", spec_file(tmp_path, EXAMPLE), "--out", str(tmp_path / "o"), "--workers", "1"]
    assert main(arguments) == 0
    assert (tmp_path / "o" / "table.parquet").read_bytes() == table
    capsys.readouterr()
    assert main(arguments) == 0
    printed = capsys.readouterr()
    assert f"{CELLS} there already" in printed.out
    assert f"{CELLS} of {CELLS} cells" in printed.err


def test_there_are_no_more_workers_than_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def one(workers: int) -> Pool:
        asked.append(workers)
        return local(1)

    monkeypatch.setattr(sweeps, "local", one)
    few = MANY.replace('"1..20"', "[1]")
    for workers in ("2", str(2**40)):
        ran(tmp_path / workers, few, workers)
    assert asked == [2, 4]


def test_the_shipped_specs_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    shipped = sorted(SHIPPED.glob("*.toml"))
    assert len(listed) == len(shipped) + 2 >= 4
    assert listed[-1].split()[0] == "large"
    for line, path in zip(listed[1:-1], shipped, strict=True):
        found = read_spec(path)
        assert line.split() == [path.stem, *found.title.split()]
        assert found.name == path.stem


def test_a_shipped_spec_runs_by_its_name_and_with_other_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec_file(tmp_path / "specs", MANY, "many.toml")
    monkeypatch.setattr("experiments.cli.run.SHIPPED", tmp_path / "specs")
    monkeypatch.chdir(tmp_path)
    assert main(["run", "many", "--seed", "7", "--seed", "8", "--workers", "1"]) == 0
    out = tmp_path / "out" / "sweeps" / "many"
    assert set(pd.read_parquet(out / "table.parquet")["seed"]) == {7, 8}
    assert json.loads((out / "manifest.json").read_text())["spec"]["seeds"] == [7, 8]


def test_tables_come_round_by_round(never_interrupted: tuple[Path, str]) -> None:
    """80 cells of one configuration are tables of 4, 8, 16, 32 and 64, and the last."""
    _, said = never_interrupted
    told = [f"Many quick cells, so far {3 * 4 << k} of 240 sequences" for k in range(5)]
    assert [line for line in said.splitlines() if "cells" in line][:6] == [*told, "Many quick cells"]
    assert "cells     80 computed, 0 there already" in said


def test_progress_with_a_time_estimate_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Console(file=StringIO(), width=100, force_terminal=True, color_system=None)
    monkeypatch.setattr(terminal, "error_output", lambda: screen)
    ran(tmp_path, MANY, "1")
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.file.getvalue())  # type: ignore[attr-defined]
    assert re.search(r"\d+/80 cells .* 0:00:\d\d 0:00:\d\d", shown)


# What it refuses ---------------------------------------------------------------------------------------------------


# Killed ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_killed_at_random_moments_it_ends_with_the_same_bytes(workers: int, many: bytes, tmp_path: Path) -> None:
    """kill -9 some time after a run has finished a cell of its own, up to three times; then run to the end. No worker
    outlives its run."""
    path, out = spec_file(tmp_path, MANY), tmp_path / "o"
    command = [*COMMAND, "run", path, "--out", str(out), "--workers", str(workers)]
    interrupted = 0
    for _ in range(3):
        before, deadline = finished(out), time.monotonic() + 60
        with subprocess.Popen(command, stdout=PIPE, stderr=PIPE) as running:
            while finished(out) == before and running.poll() is None and time.monotonic() < deadline:
                time.sleep(0.001)
            time.sleep(random.uniform(0, 0.05))
            helpers = children(running.pid)
            at_work = workers if workers > 1 and finished(out) < 80 else 0  # they end when all is done
            running.send_signal(signal.SIGKILL)
        if running.returncode == 0:  # done before the signal came
            break
        interrupted += 1
        assert finished(out) > before
        assert len(helpers) >= at_work
        assert workers > 1 or not helpers
        while any(map(alive, helpers)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(map(alive, helpers))
    done = finished(out)
    assert interrupted
    assert main(["run", path, "--out", str(out), "--workers", "1"]) == 0
    assert (out / "table.parquet").read_bytes() == many
    assert {path.name for path in out.iterdir()} == {".lock", "cells", "table.parquet", "manifest.json"}
    assert finished(out) == len(list((out / "cells").iterdir())) == 80
    assert json.loads((out / "manifest.json").read_text())["cells"]["kept"] == done


def finished(out: Path) -> int:
    """How many cells are there; files that are being written begin with a dot."""
    return len([path for path in out.glob("cells/*") if path.name[0] != "."])


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


# Trouble with files ------------------------------------------------------------------------------------------------


def test_a_disk_that_takes_no_more_is_named_and_nothing_is_lost(
    tmp_path: Path, many: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    """A real limit on the size of files: cells do not fit, those that are there stay."""
    path, out = spec_file(tmp_path, MANY), tmp_path / "o"
    arguments = ["run", path, "--out", str(out), "--workers", "1"]
    assert main([*arguments, "--seed", "1", "--seed", "2"]) == 0
    before = {cell.name: cell.read_bytes() for cell in (out / "cells").iterdir()}
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, usual[1]))
    try:
        assert main(arguments) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    told = capsys.readouterr().err
    assert re.search(rf"simlab: {re.escape(str(out / 'cells'))}/[0-9a-f]{{32}}\.parquet: File too large\n", told)
    assert f"saved in {out / 'cells'}" in told
    assert {cell.name: cell.read_bytes() for cell in (out / "cells").iterdir()} == before
    assert main(arguments) == 0
    assert (out / "table.parquet").read_bytes() == many


def test_a_table_has_no_manifest_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full once the table is there."""
    path, out = spec_file(tmp_path, MANY), tmp_path / "o"
    arguments = ["run", path, "--out", str(out), "--workers", "1"]
    assert main([*arguments, "--seed", "1"]) == 0

    def full(path: Path, value: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        patch.setattr("experiments.sweeps.run.write_json", full)
        assert main([*arguments, "--seed", "2"]) == 1
    assert set(pd.read_parquet(out / "table.parquet")["seed"]) == {2}
    assert not (out / "manifest.json").exists()


def test_what_another_command_has_left_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`simlab verify` has a manifest too, without which its verdicts cannot be drawn or gone on from."""
    own = tmp_path / "manifest.json"
    own.write_text('{"seed": 0, "measured": true}')
    told = usage_error(["run", spec_file(tmp_path, MANY), "--out", str(tmp_path)], capsys)
    assert f"--out {tmp_path}: manifest.json" in told
    assert own.read_text() == '{"seed": 0, "measured": true}'
    assert {path.name for path in tmp_path.iterdir()} == {"manifest.json", "spec.toml"}


@pytest.mark.parametrize("name", ["cells", ".lock"])
def test_what_is_in_the_way_is_named_and_no_cells_are_said_to_be_saved(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, here = tmp_path / "o", tmp_path / "o" / name
    out.mkdir()
    here.mkdir() if name == ".lock" else here.touch()
    assert main(["run", spec_file(tmp_path, MANY), "--out", str(out), "--workers", "1"]) == 1
    told = capsys.readouterr().err
    assert f"simlab: {here}: " in told
    assert "saved" not in told


def test_a_cell_that_fails_is_named_and_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(sample: Sample) -> dict[str, object]:
        if sample.tape.seed == 1:
            raise ZeroDivisionError("on purpose")
        return {}

    monkeypatch.setitem(RECORDERS, "lengths", fails)
    out = tmp_path / "o"
    arguments = ["run", spec_file(tmp_path, MANY), "--out", str(out), "--workers", "1"]
    assert main([*arguments, "--seed", "1", "--seed", "2"]) == 1
    told = capsys.readouterr().err
    assert "markov x sjd x speculative, seed 1, replicates 0 to 2: ZeroDivisionError: on purpose" in told
    assert "4 cells" in told
    assert finished(out) == 4
    assert not (out / "table.parquet").exists()


# On a cluster ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scheduler() -> Iterator[LocalCluster]:
    options = {"processes": False, "protocol": "tcp", "dashboard_address": ":0"}
    with LocalCluster(n_workers=2, threads_per_worker=1, **options) as running:
        yield running


def test_a_cluster_gives_the_same_bytes(scheduler: LocalCluster, table: bytes, tmp_path: Path) -> None:
    address = scheduler.scheduler_address
    assert main(["run", spec_file(tmp_path, EXAMPLE), "--out", str(tmp_path / "o"), "--scheduler", address]) == 0
    assert (tmp_path / "o" / "table.parquet").read_bytes() == table


def refused(address: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What is said of an address that will not do: in good time, with status 2, and without anything written."""
    started = time.monotonic()
    printed = usage_error(["run", spec_file(folder, MANY), "--out", str(folder / "o"), "--scheduler", address], capsys)
    assert time.monotonic() - started < 10
    assert not (folder / "o").exists()
    return printed


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cluster_module.CONNECT_SECONDS + cluster_module.WORKER_SECONDS < 10
    monkeypatch.setattr(cluster_module, "CONNECT_SECONDS", 0.3)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "gopher://127.0.0.1:70", ""])
def test_nobody_at_the_address(address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"--scheduler {address}: no Dask scheduler answers at {address!r}: " in refused(address, tmp_path, capsys)


@pytest.mark.usefixtures("impatient")
def test_somebody_else_at_the_address(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = "tcp://{}:{}".format(*silent.getsockname())
        assert f"no Dask scheduler answers at {address!r}: " in refused(address, tmp_path, capsys)


def test_a_cluster_without_workers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_module, "WORKER_SECONDS", 0.2)
    with LocalCluster(n_workers=0, processes=False, protocol="tcp", dashboard_address=":0") as empty:
        address = empty.scheduler_address
        assert f"the Dask cluster at {address} has no workers" in refused(address, tmp_path, capsys)


def test_workers_with_another_simlab(
    scheduler: LocalCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_module, "version", lambda name: "99")
    told = refused(scheduler.scheduler_address, tmp_path, capsys)
    assert re.search(r"the worker tcp://\S+ has simlab \d\S+; expected 99, as here", told)


def test_without_the_package(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert "needs the package distributed: pip install 'simlab[cluster]'" in refused("tcp://x:1", tmp_path, capsys)


def test_a_scheduler_that_goes_away(tmp_path: Path) -> None:
    work = cells(read_spec(Path(spec_file(tmp_path, MANY))))
    options = {"processes": False, "protocol": "tcp", "dashboard_address": ":0"}
    with LocalCluster(n_workers=1, **options) as going, cluster(going.scheduler_address) as pool:
        outcomes = pool(work)
        assert next(outcomes).seconds > 0
        going.close()
        with pytest.raises(Lost, match="the Dask scheduler is gone"):
            list(outcomes)
