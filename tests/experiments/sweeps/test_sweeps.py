"""Sweeps: the table depends on the spec and on nothing else, whatever happens on the way.

The runs here are in this process; real kills and clusters are in ``tests/experiments/cli/test_run.py``.
"""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.attempts import Failure
from experiments.sweeps import Cell, Failed, Listener, cells, local, parse_spec, run_sweep, summary
from experiments.sweeps.cells import configuration, rounds
from experiments.sweeps.cluster import _outcomes
from experiments.sweeps.frames import table
from experiments.sweeps.pools import Lost, Outcome, outcome_of
from experiments.sweeps.store import Store
from tests.support.sweeps import CODEBOOK, GOOD, LOCAL, changed

pytestmark = pytest.mark.property


class Notes(Listener):
    """Collects the notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def ran(text: str, out: Path, pool: Any = None, listener: Listener | None = None) -> pd.DataFrame:
    spec = parse_spec(text, "spec")
    return run_sweep(spec, cells(spec), out, pool or local(1), listener or Notes()).table


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of GOOD, computed in one go."""
    out = tmp_path_factory.mktemp("whole")
    ran(GOOD, out)
    return out


@pytest.fixture(scope="module")
def reference(whole: Path) -> bytes:
    """The bytes of the table of GOOD."""
    return (whole / "table.parquet").read_bytes()


@pytest.fixture
def finished(whole: Path, tmp_path: Path) -> Path:
    """A copy of the folder of GOOD."""
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    return tmp_path


# The table ---------------------------------------------------------------------------------------------------------


def test_the_table_is_tidy(finished: Path) -> None:
    made = ran(GOOD, finished)
    assert len(made) == 3 * 2 * 2 * 5
    assert not made.duplicated(["decoder", "decoder.window", "rule.delta", "seed", "replicate"]).any()
    first = [
        *("process", "process.label", "process.vocabulary", "process.length", "process.clusters"),
        *("decoder", "decoder.label", "decoder.window", "decoder.gamma"),
        *("rule", "rule.label", "rule.neighbours.count", "rule.delta", "seed", "replicate"),
    ]
    assert made.columns.tolist() == [*first, "steps", "tokens", "compression", "lengths", "loglik_mean", "loglik_std"]
    types = {name: str(made[name].dtype) for name in ("process.vocabulary", "decoder.window", "rule.delta", "seed")}
    assert types == {
        "process.vocabulary": "int64",
        "decoder.window": "Int64",  # one decoder has no window
        "rule.delta": "float64",
        "seed": "int64",
    }
    pd.testing.assert_frame_equal(pd.read_parquet(finished / "table.parquet"), made, check_dtype=False)
    assert (made["tokens"] / made["steps"] == made["compression"]).all()


COLUMNS = [
    ("grid.x = [1, 2]", "int64", [1, 2]),
    ("grid.x = [1, 2.5]", "float64", [1.0, 2.5]),
    ("grid.x = [true, false]", "bool", [True, False]),
    ('grid.x = ["a", "b"]', "str", ["a", "b"]),
    ('grid.x = [1, "b"]', "str", ["1", '"b"']),
    ("grid.x = [[8, 8], [4, 4]]", "str", ["[8,8]", "[4,4]"]),
    ("grid.x = [9223372036854775808, 1]", "str", ["9223372036854775808", "1"]),
]


@pytest.mark.parametrize(("line", "dtype", "values"), COLUMNS, ids=[line for line, *_ in COLUMNS])
def test_a_column_has_one_type(line: str, dtype: str, values: list[Any]) -> None:
    spec = parse_spec(changed("grid.window = [2, 3]", line), "spec")
    told = [Cell(spec.processes[0], d, spec.rules[0], 1, 0, 1, ("steps",), 1) for d in spec.decoders[:2]]
    made = table(told, [pd.DataFrame({"replicate": [0]})] * 2)["decoder.x"]
    assert made.tolist() == values
    assert str(made.dtype) in (dtype, "object")


def test_the_summary_is_mean_and_pooled_ratio(tmp_path: Path) -> None:
    spec = parse_spec(GOOD.replace("length = 6", "length = 6\ngrid.seed = [0, 1]"), "spec")
    made = run_sweep(spec, cells(spec), tmp_path, local(1), Notes()).table
    rows = summary(spec, cells(spec), made)
    assert len(rows) == 2 * 3 * 2
    for row in rows.to_dict("records"):
        seed, delta = int(row["process"][-1]), float(row["rule"].split("=")[1])
        own = made[(made["process.seed"] == seed) & (made["rule.delta"] == delta)]
        name, _, window = row["decoder"].partition(" window=")
        own = own[own["decoder"] == name]
        own = own[own["decoder.window"] == int(window)] if window else own
        assert len(own) == row["sequences"] == 10
        assert row["mean"] == pytest.approx(own["compression"].mean())
        assert row["error"] == pytest.approx(own["compression"].std() / np.sqrt(10))
        assert row["pooled"] == pytest.approx(own["tokens"].sum() / own["steps"].sum())


def test_the_summary_takes_the_images_of_a_process_together(tmp_path: Path) -> None:
    """Between images, because the sequences of one image are alike."""
    spec = parse_spec(GOOD.replace(CODEBOOK, LOCAL + '\ngrid.image = "0..3"'), "spec")
    made = run_sweep(spec, cells(spec), tmp_path, local(1), Notes()).table
    row = summary(spec, cells(spec), made).to_dict("records")[0]
    assert (row["process"], row["decoder"], row["rule"]) == ("local", "sjd window=2", "lantern delta=0.0")
    own = made[(made["decoder.window"] == 2) & (made["rule.delta"] == 0)]
    assert len(own) == row["sequences"] == 4 * 2 * 5
    images = own.groupby("process.image")["compression"].mean()
    assert row["mean"] == pytest.approx(images.mean())
    assert row["error"] == pytest.approx(images.std() / 2)
    assert not own.duplicated(["seed", "replicate"]).any()


def test_sequences_of_the_first_image_say_nothing_of_the_spread_between_images() -> None:
    """As long as the table has one image of several there is no error."""
    text = GOOD.replace(CODEBOOK, LOCAL + '\ngrid.image = "0..1"').replace("seeds = [1, 2]", "seeds = [1]")
    spec = parse_spec(text.replace("replicates = 5", "replicates = 5\nchunk = 1"), "spec")
    work = cells(spec)
    for turn, known in ((0, False), (1, True)):
        own = [cell for cell, round in zip(work, rounds(work), strict=True) if round <= turn]
        made = table(own, [outcome.result for outcome in made_up(own)])  # type: ignore[misc]
        assert made["process.image"].nunique() == 1 + turn
        assert (summary(spec, own, made)["error"].notna() == known).all()


def test_the_summary_tells_decoders_of_one_label_apart(tmp_path: Path) -> None:
    """By what differs alone: each is written out, not spanned by a grid, so no parameter of theirs is in a label."""
    head, entries = GOOD.split("[[decoder]]", 1)
    rest = entries[entries.index("[[rule]]") :]
    pac = '[[decoder]]\nname = "sjd-pac"\nlabel = "PAC"\nwindow = {}\ncandidates = 2\ndepth = 1\nbudget = {}\n'
    sjd = '[[decoder]]\nname = "sjd"\nlabel = "SJD"\nwindow = 2\n'
    spec = parse_spec(head + pac.format(2, 4) + pac.format(3, 4) + pac.format(3, 5) + sjd + rest, "spec")
    made = run_sweep(spec, cells(spec), tmp_path, local(1), Notes()).table
    expected = ["PAC window=2 budget=4", "PAC window=3 budget=4", "PAC window=3 budget=5", "SJD"]
    rows = summary(spec, cells(spec), made)
    assert rows["decoder"].unique().tolist() == expected
    assert not rows.duplicated(["process", "decoder", "rule"]).any()


# The same table, whatever happens ----------------------------------------------------------------------------------


def test_how_replicates_are_cut_changes_no_result(reference: bytes, tmp_path: Path) -> None:
    ran(changed("replicates = 5", "replicates = 5\nchunk = 2"), tmp_path)
    assert (tmp_path / "table.parquet").read_bytes() == reference


@settings(max_examples=6)
@given(random=st.randoms(use_true_random=False))
def test_the_order_cells_come_in_changes_nothing(random: Any, reference: bytes) -> None:
    def shuffled(cells: Sequence[Cell]) -> Iterator[Outcome]:
        cells = list(cells)
        random.shuffle(cells)
        yield from map(outcome_of, cells)

    with TemporaryDirectory() as folder:
        ran(GOOD, Path(folder), shuffled)
        assert (Path(folder) / "table.parquet").read_bytes() == reference


# Round by round ----------------------------------------------------------------------------------------------------

IMAGES = GOOD.replace(CODEBOOK, LOCAL + '\ngrid.image = "0..4"').replace("replicates = 5", "replicates = 2")


def made_up(cells: Sequence[Cell]) -> Iterator[Outcome]:
    """In the place of a pool: numbers of each cell that nothing is simulated for."""
    for cell in cells:
        own = np.arange(cell.first, cell.stop)
        steps = 1 + (7 * own + cell.seed) % 5
        columns = {"replicate": own, "steps": steps, "tokens": 6, "compression": 6 / steps}
        yield Outcome(cell.key, pd.DataFrame(columns), 0.0)


class Tables(Notes):
    """Keeps what is shown and what is in the folder then; at table ``last`` the run is stopped."""

    def __init__(self, out: Path, last: int = 99) -> None:
        super().__init__()
        self.out, self.last, self.computed = out, last, 0
        self.shown: list[tuple[list[Cell], pd.DataFrame]] = []

    def ends(self, cell: Cell) -> None:
        self.computed += 1

    def shows(self, cells: list[Cell], table: pd.DataFrame) -> None:
        manifest = json.loads((self.out / "manifest.json").read_text())
        assert manifest["rows"] == len(table) == len(pd.read_parquet(self.out / "table.parquet"))
        assert manifest["cells"]["kept"] + manifest["cells"]["computed"] == len(cells) < manifest["cells"]["all"]
        self.shown.append((cells, table))
        if len(self.shown) == self.last:
            raise KeyboardInterrupt


def test_each_table_has_as_many_cells_of_every_configuration(tmp_path: Path) -> None:
    """Five images of two seeds are ten cells; the rows of a table are those that the last has for its cells."""
    told, spec = Tables(tmp_path), parse_spec(IMAGES, "spec")
    last = ran(IMAGES, tmp_path, made_up, told)
    sizes = []
    for own, made in told.shown:
        (size,) = set(Counter(map(configuration, own)).values())
        sizes.append(size)
        assert len({configuration(cell) for cell in own}) == 3 * 2
        whole = last[last["process.image"] * 2 + last["seed"] - 1 < size].reset_index(drop=True)
        pd.testing.assert_frame_equal(made, whole, check_dtype=False)
        rows = summary(spec, own, made)
        assert (rows["sequences"] == 2 * size).all()
        assert rows["error"].notna().all()
    assert sizes == [4, 8]
    assert Counter(rounds(cells(spec))) == {0: 24, 1: 24, 2: 12}


def test_a_run_that_is_stopped_at_a_table_leaves_it_and_goes_on(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        ran(IMAGES, tmp_path / "stopped", made_up, Tables(tmp_path / "stopped", 1))
    again = Tables(tmp_path / "stopped")
    ran(IMAGES, tmp_path / "stopped", made_up, again)
    assert again.computed == 60 - 24
    assert [len(own) for own, _ in again.shown] == [48]  # not the one that it was stopped at
    ran(IMAGES, tmp_path / "whole", made_up)
    assert len({(tmp_path / name / "table.parquet").read_bytes() for name in ("stopped", "whole")}) == 1


def test_the_table_before_a_cell_that_fails_stays(tmp_path: Path) -> None:
    def fails(cells: Sequence[Cell]) -> Iterator[Outcome]:
        for cell, made in zip(cells, made_up(cells), strict=True):
            yield made if cell.first < 4 else made._replace(result=Failure("of the third image, or behind it"))

    with pytest.raises(Failed) as caught:
        ran(IMAGES, tmp_path, fails)
    assert len(caught.value.failures) == 60 - 24
    assert len(pd.read_parquet(tmp_path / "table.parquet")) == 24 * 2


FEW = changed("seeds = [1, 2]", "seeds = [1]").replace("[0.0, 0.5]", "[0.5]")  # three cells


class Killed(BaseException):
    """Stands for the end of the process: nothing after it happens."""


def dying_at(moment: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Die at call ``moment`` of what writing is made of: before or after it."""
    calls = count()

    def mortal(name: str) -> None:
        whole: Callable[..., Any] = getattr(os, name)

        def call(*arguments: Any) -> Any:
            if next(calls) == moment:
                raise Killed
            done = whole(*arguments)
            if next(calls) == moment:
                raise Killed
            return done

        monkeypatch.setattr(os, name, call)

    mortal("fsync")
    mortal("replace")
    monkeypatch.setattr(Path, "unlink", lambda path, missing_ok=False: None)


def test_dying_at_any_moment_of_writing_changes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """At every step of every write, and at every third twice in a row: the next run ends with the same bytes."""
    ran(FEW, tmp_path / "whole")
    reference = (tmp_path / "whole" / "table.parquet").read_bytes()
    for moment in count():
        out = tmp_path / str(moment)
        for again in (moment, moment // 2)[: 1 + (moment % 3 == 0)]:
            with monkeypatch.context() as patch:
                dying_at(again, patch)
                try:
                    ran(FEW, out)
                except Killed:
                    died = True
                    assert not any(path.suffix != ".parquet" for path in (out / "cells").iterdir())
                else:
                    died = False
        ran(FEW, out)
        assert (out / "table.parquet").read_bytes() == reference
        assert {path.name for path in out.iterdir()} == {".lock", "cells", "table.parquet", "manifest.json"}
        assert not list((out / "cells").glob(".*"))
        if not died and moment % 3:
            break
    assert moment >= 4 * 5, "three cells, the table and the manifest"


def test_a_file_of_somebody_else_in_the_folder_of_a_run_stays(tmp_path: Path) -> None:
    own = tmp_path / ".lint.base.json"
    own.touch()
    begun = tmp_path / ".table.parquet.0.parquet"  # by a run that was killed
    begun.touch()
    Store(tmp_path)
    assert own.exists()
    assert not begun.exists()


DAMAGES: dict[str, Callable[[list[Path]], bytes]] = {  # what stands in the place of the first of some cells
    "cut short": lambda cells: cells[0].read_bytes()[:-7],
    "empty": lambda cells: b"",
    "another cell": lambda cells: cells[1].read_bytes(),
    "garbage": lambda cells: b"PAR1" + bytes(100) + b"PAR1",
    "no cell": lambda cells: pd.DataFrame({"replicate": range(5)}).to_parquet(),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_cell_is_computed_again(damage: str, finished: Path, reference: bytes) -> None:
    cells = sorted((finished / "cells").iterdir())
    cells[0].write_bytes(DAMAGES[damage](cells))
    notes = Notes()
    ran(GOOD, finished, listener=notes)
    assert (finished / "table.parquet").read_bytes() == reference
    unreadable, kept = notes.notes
    assert str(cells[0]) in unreadable
    assert "11 of 12" in kept


def test_a_bit_that_is_another_is_seen(finished: Path) -> None:
    """Whatever bit it is, a cell counts as not computed or says what it said."""
    spec = parse_spec(GOOD, "good.toml")
    store, cell = Store(finished), cells(spec)[0]
    path, right = store.path(cell), store.load(cell)
    content, changed = path.read_bytes(), 0
    for place in range(4, min(1000, len(content)), 13):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :])
        found = store.find([cell])
        assert len(found.finished) + len(found.unreadable) == 1
        changed += len(found.unreadable)
        if found.finished:
            pd.testing.assert_frame_equal(store.load(cell), right)
    assert changed > 0


def test_what_is_no_number_is_so_again_whatever_its_bits(finished: Path) -> None:
    """As 0/0 makes it, whose sign most processors set: no file keeps the bits."""
    store, cell = Store(finished), cells(parse_spec(GOOD, "spec"))[0]
    store.save(cell, store.load(cell).assign(loglik_std=-np.nan, keep=[[-np.nan], [], [0.5, -np.nan], [1.0], []]))
    assert store.load(cell)["loglik_std"].isna().all()


def test_a_folder_in_the_place_of_a_cell_is_named(finished: Path) -> None:
    path = sorted((finished / "cells").iterdir())[0]
    path.unlink()
    path.mkdir()
    with pytest.raises(IsADirectoryError, match=path.name):
        ran(GOOD, finished)


def test_another_spec_in_the_same_folder_leaves_old_cells_alone(finished: Path, tmp_path: Path) -> None:
    other = changed("seeds = [1, 2]", "seeds = [2, 3]")
    notes = Notes()
    ran(other, finished, listener=notes)
    folder = finished / "cells"
    kept, alone = notes.notes
    assert "6 of 12" in kept
    assert f"6 files in {folder}" in alone
    ran(other, tmp_path / "fresh")
    assert (finished / "table.parquet").read_bytes() == (tmp_path / "fresh" / "table.parquet").read_bytes()
    manifest = json.loads((finished / "manifest.json").read_text())
    assert manifest["cells"] == {"all": 12, "kept": 6, "computed": 6, "stale": 6}
    assert manifest["spec"] == tomllib.loads(other)


def test_cells_of_another_version_are_named(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.sweeps.store.versions", lambda: {"simlab": "99"})
    notes = Notes()
    ran(GOOD, finished, listener=notes)
    assert "simlab 0." in notes.notes[1]


# Trouble -----------------------------------------------------------------------------------------------------------


class Future:
    """Of a cluster: what becomes of it, one status after the other."""

    def __init__(self, *statuses: str) -> None:
        self.statuses = list(statuses)
        self.result, self.release = lambda: "cell", lambda: None

    @property
    def status(self) -> str:
        return self.statuses[0]


class Completed(list[Future]):
    """In the place of Dask's: futures in turn, those that are added last."""

    def add(self, future: Future) -> None:
        del future.statuses[0]
        self.append(future)


@pytest.mark.parametrize(
    ("statuses", "client", "gone"),
    [
        (("lost", "finished"), "running", False),
        (("pending", "lost", "finished"), "running", False),
        (("lost", "finished"), "connecting", True),
        (("cancelled",), "running", True),
    ],
)
def test_a_result_that_went_with_its_worker_is_waited_for_again(
    statuses: tuple[str, ...], client: str, gone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(distributed, "as_completed", Completed)
    futures = [Future("finished"), Future(*statuses), Future("finished")]
    there: Any = SimpleNamespace(map=lambda *_, **__: futures, cancel=lambda _: None, status=client)
    if gone:
        with pytest.raises(Lost, match="Dask"):
            list(_outcomes(there, []))
    else:
        assert list(_outcomes(there, [])) == ["cell"] * 3
