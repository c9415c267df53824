"""``simlab run`` as a user meets it: what it prints and refuses, real kills, a real cluster, a disk that is full."""

from __future__ import annotations

import inspect
import json
import os
import pty
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

from experiments.cli.main import main
from experiments.cli.run import SHIPPED
from experiments.sweeps import Lost, cells, read_spec, spec
from experiments.sweeps import cluster as cluster_module
from experiments.sweeps.cluster import cluster
from experiments.sweeps.recorders import RECORDERS
from experiments.sweeps.store import locked
from tests.support.cli import COMMAND, alive, simlab, usage_error
from tests.support.sweeps import MANY

pytestmark = pytest.mark.cli
DEFAULT_EVERY = 2

EXAMPLE = textwrap.dedent(re.search(r"::\n\n(.*?)\n\nKeys", inspect.getdoc(spec) or "", re.S)[1])  # type: ignore[index]
CELLS = 18  # of the example


def spec_file(folder: Path, text: str, name: str = "spec.toml") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """The example of the documentation, run in a process of its own with two workers."""
    folder = tmp_path_factory.mktemp("example")
    done = simlab("run", spec_file(folder, EXAMPLE), "--workers", "2", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder, done


@pytest.fixture(scope="module")
def table(example: tuple[Path, object]) -> bytes:
    return (example[0] / "out" / "sweeps" / "window" / "table.parquet").read_bytes()


# What it prints and writes -----------------------------------------------------------------------------------------


def test_the_documented_example_runs(example: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, done = example
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len([line for line in lines if line.startswith("codebook ")]) == 9
    assert lines[-1].endswith("simlab report --runs out/sweeps/window")
    out = folder / "out" / "sweeps" / "window"
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


def test_seeds_from_the_command_line(tmp_path: Path) -> None:
    arguments = ["run", spec_file(tmp_path, MANY), "--out", str(tmp_path / "o"), "--workers", "1"]
    assert main([*arguments, "--seed", "7", "--seed", "8"]) == 0
    assert set(pd.read_parquet(tmp_path / "o" / "table.parquet")["seed"]) == {7, 8}
    assert json.loads((tmp_path / "o" / "manifest.json").read_text())["spec"]["seeds"] == [7, 8]


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


def test_a_shipped_spec_runs_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec_file(tmp_path / "specs", MANY, "many.toml")
    monkeypatch.setattr("experiments.cli.run.SHIPPED", tmp_path / "specs")
    monkeypatch.chdir(tmp_path)
    assert main(["run", "many", "--seed", "1", "--workers", "1"]) == 0
    assert (tmp_path / "out" / "sweeps" / "many" / "table.parquet").is_file()


@pytest.fixture(scope="module")
def never_interrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, str]:
    """The bytes of the table of MANY, and what is printed until it is there."""
    folder, printed = tmp_path_factory.mktemp("many"), StringIO()
    with redirect_stdout(printed):
        assert main(["run", spec_file(folder, MANY), "--out", str(folder / "o"), "--workers", "1"]) == 0
    return (folder / "o" / "table.parquet").read_bytes(), printed.getvalue()


@pytest.fixture(scope="module")
def many(never_interrupted: tuple[bytes, str]) -> bytes:
    return never_interrupted[0]


def test_tables_come_round_by_round(never_interrupted: tuple[bytes, str]) -> None:
    """80 cells of one configuration are tables of 4, 8, 16, 32 and 64, and the last."""
    _, said = never_interrupted
    told = [f"Many quick cells, so far {3 * 4 << k} of 240 sequences" for k in range(5)]
    assert [line for line in said.splitlines() if "cells" in line][:6] == [*told, "Many quick cells"]
    assert "cells     80 computed, 0 there already" in said


def test_progress_with_a_time_estimate_on_a_terminal(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [*COMMAND, "run", spec_file(tmp_path, MANY), "--workers", "1", "--out", "o"]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=theirs, env=environment) as running:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 1 << 16):
                shown += piece
        except OSError:  # the other side is closed
            pass
        os.close(ours)
    assert running.returncode == 0
    text = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", shown).decode()
    assert re.search(r"\d+/80 cells .* 0:00:\d\d 0:00:\d\d", text)


# What it refuses ---------------------------------------------------------------------------------------------------


def test_two_runs_in_one_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with locked(tmp_path / "o"):
        told = usage_error(["run", spec_file(tmp_path, MANY), "--out", str(tmp_path / "o"), "--workers", "1"], capsys)
    assert f"process {os.getpid()} on {socket.gethostname()}" in told


# Killed ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("workers", "kills"),
    [
        pytest.param(2, 1, marks=pytest.mark.slow),
        pytest.param(1, 3, marks=pytest.mark.slow),
        pytest.param(2, 3, marks=pytest.mark.slow),
    ],
)
def test_killed_at_random_moments_it_ends_with_the_same_bytes(
    workers: int, kills: int, many: bytes, tmp_path: Path
) -> None:
    """kill -9 some time after a run has finished a cell of its own; then run to the end. No worker outlives its run."""
    path, out = spec_file(tmp_path, MANY), tmp_path / "o"
    command = [*COMMAND, "run", path, "--out", str(out), "--workers", str(workers)]
    interrupted = 0
    for _ in range(kills):
        before, deadline = finished(out), time.monotonic() + 60
        with subprocess.Popen(command, stdout=PIPE, stderr=PIPE) as running:
            while finished(out) == before and running.poll() is None and time.monotonic() < deadline:
                time.sleep(0.001)
            time.sleep(random.uniform(0, 0.05))
            helpers = children(running.pid)
            running.send_signal(signal.SIGKILL)
        if running.returncode == 0:  # done before the signal came
            break
        interrupted += 1
        assert finished(out) > before
        assert len(helpers) >= workers if workers > 1 else not helpers
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


def test_a_disk_that_takes_no_more_is_named_and_nothing_is_lost(tmp_path: Path, many: bytes) -> None:
    """A real limit on the size of files, in a process of its own: cells do not fit, those that are there stay."""
    path, out = spec_file(tmp_path, MANY), tmp_path / "o"
    arguments = ["run", path, "--out", str(out), "--workers", "1"]
    assert main([*arguments, "--seed", "1", "--seed", "2"]) == 0
    before = {cell.name: cell.read_bytes() for cell in (out / "cells").iterdir()}

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))

    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, preexec_fn=limit, timeout=120)
    assert done.returncode == 1
    assert re.search(rf"simlab: {re.escape(str(out / 'cells'))}/[0-9a-f]{{32}}\.parquet: File too large\n", done.stderr)
    assert f"saved in {out / 'cells'}" in done.stderr
    assert "Traceback" not in done.stderr
    assert {cell.name: cell.read_bytes() for cell in (out / "cells").iterdir()} == before
    assert main(arguments) == 0
    assert (out / "table.parquet").read_bytes() == many


def test_a_folder_that_cannot_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = spec_file(tmp_path, MANY)
    assert main(["run", path, "--out", f"{path}/sub", "--workers", "1"]) == 1
    assert f"simlab: {path}/sub: Not a directory" in capsys.readouterr().err


def test_a_cell_that_fails_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(sample: object) -> dict[str, object]:
        raise ZeroDivisionError("on purpose")

    monkeypatch.setitem(RECORDERS, "lengths", fails)
    path = spec_file(tmp_path, MANY)
    assert main(["run", path, "--out", str(tmp_path / "o"), "--workers", "1", "--seed", "1"]) == 1
    told = capsys.readouterr().err
    assert "markov x sjd x speculative, seed 1, replicates 0 to 2: ZeroDivisionError: on purpose" in told
    assert "4 cells" in told
    assert not (tmp_path / "o" / "table.parquet").exists()


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
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "127.0.0.1", "gopher://127.0.0.1:70", ""])
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
