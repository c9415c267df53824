"""``simlab record`` and ``simlab replay``: a file without pickles, a table of rules, and clear words otherwise."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.cli.main import main
from experiments.models.discrete.recording import PLACES, Rows
from experiments.models.discrete.replay import replay, rules_for
from tests.support.cli import usage_error
from tests.support.fashion import CODES

pytestmark = pytest.mark.cli


@pytest.fixture(scope="module")
def rows(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.npz"
    assert main(record(models, path)) == 0
    return path


def record(models: Path, out: Path, *more: str) -> list[str]:
    sizes = ["--count", "3", "--calls", "4", "--batch", "2", "--guidance", "2", "--top-k", "30", "--seed", "4"]
    return ["record", "--models", str(models), "--method", "sjd-pac", *sizes, "--out", str(out), *more]


def test_a_recording_says_what_it_is(rows: Path) -> None:
    recording = Rows(rows)
    manifest = recording.manifest
    assert (manifest["method"], manifest["seed"], manifest["calls"], manifest["labels"]) == ("sjd-pac", 4, 4, [0, 1, 2])
    assert manifest["sampling"] == {"guidance": 2.0, "temperature": 1.0, "top_k": 30, "top_p": None}
    assert {"python", "simlab", "numpy"} <= set(manifest["versions"])
    assert 0 < manifest["rounding"]["mean_tv"] <= manifest["rounding"]["max_tv"] < 2**-11
    assert recording.vocabulary == CODES
    for _, p, q in recording.blocks():
        assert (p > 0).sum(axis=1).max() <= 30
        assert p.shape == q.shape
    with np.load(rows, allow_pickle=False) as file:
        assert all(file[name].dtype.kind in "iufU" for name in file.files)


def test_a_replay_is_printed_and_written(rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    only = [word for name in ("optimal-lossy", "grouped", "typical") for word in ("--rule", name)]
    assert main(["replay", str(rows), "--out", str(tmp_path), "--rows", "12", *only]) == 0
    assert "-0.0000" not in capsys.readouterr().out
    document = json.loads((tmp_path / "replay.json").read_text())
    assert (document["rows"], document["wasserstein"]) == (12, "exact")
    assert [line["rule"] for line in document["rules"]] == ["speculative", *["optimal-lossy"] * 3, "typical", "grouped"]
    assert all(line["wasted"] > -1e-9 for line in document["rules"])
    assert document["rules"][0]["gained"] == 0
    assert document["recording"]["method"] == "sjd-pac"
    table = pd.read_parquet(tmp_path / "replay.parquet")
    assert set(table["image"]) == {0, 1, 2}
    assert table["kept"].notna().all()


# Errors -----------------------------------------------------------------------------------------------------------


NO_RECORDING = "expected a file that simlab record wrote"


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"",
        lambda whole: b"rows",
        lambda whole: whole[: len(whole) // 2],
        lambda whole: whole[:400] + bytes(200) + whole[600:],
    ],
)
def test_what_is_no_recording_is_refused(
    damage: Callable[[bytes], bytes], rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.npz"
    path.write_bytes(damage(rows.read_bytes()))
    assert NO_RECORDING in usage_error(["replay", str(path), "--out", str(tmp_path)], capsys)
    assert list(tmp_path.iterdir()) == [path]


ROWS = {"format": "simlab rows 1", "vocabulary": 2, "rows": 1}
Arrays = dict[str, np.ndarray]


def other(*names: str, manifest: object = None) -> Arrays:
    """The arrays of another file."""
    own = {} if manifest is None else {"manifest": np.array(json.dumps(manifest))}
    return {name: np.zeros(1, dtype=np.int32) for name in names} | own


CHANGES: list[tuple[Callable[[Arrays], Arrays], str]] = [  # what is saved instead of the arrays of a recording
    (lambda own: other(), "is no recording: it has no manifest, but nothing; "),
    (lambda own: other("a", "b", "c", "d", "e"), "is no recording: it has no manifest, but a, b, c, d, …; "),
    (lambda own: other("a") | {"manifest": np.array("hello")}, "its manifest is no JSON; "),
    (lambda own: other("image", manifest=ROWS), "is no recording, or a part of one: it has no call, place, position, "),
    (lambda own: other(*PLACES, manifest=ROWS), "its manifest has no method, blocks, rounding; "),
    (lambda own: other("coin", manifest={"continuous": 1}), "it has no replicate, position, place, accepted, "),
    (lambda own: other("coin", manifest={"continuous": 2}), "is of version 2 of continuous tokens; expected 1"),
    (lambda own: own | {"token": own["token"] * 0 + CODES}, "a token is outside the vocabulary"),
    (lambda own: own | {"image": own["image"][:-1]}, "not every draft is described"),
    (lambda own: own | {"codebook": own["codebook"][:-1]}, "the codebook has 79 vectors"),
    (lambda own: own | {"p_0": own["p_0"][:, :-1]}, "block 0 has rows"),
    (lambda own: own | {"p_0": own["p_0"].astype(str)}, "block 0 is of <U32; expected rows of floats"),
    (lambda own: own | {"q_0": own["q_0"].astype(int)}, "block 0 is of int64; expected rows of floats"),
    (lambda own: own | {"token": own["token"] + 0.5}, "token is float64 of shape"),
    (lambda own: own | {"accepted": own["accepted"][:, None]}, "expected whole numbers, one of each draft"),
    (lambda own: own | {"codebook": own["codebook"][:, 0]}, "the codebook has shape (80,)"),
    (lambda own: own | {"codebook": own["codebook"] * np.nan}, "or NaN; expected numbers [V, d]"),
    (lambda own: own | {"manifest": np.array("[" * 100_000)}, NO_RECORDING),
    (lambda own: own | {"p_0": own["p_0"] * 0}, "block 0 holds a row without mass"),
    (lambda own: own | {"q_0": own["q_0"] * np.float16("nan")}, "block 0 holds a row without mass"),
    (lambda own: own | {"manifest": np.array('{"format": "other"}')}, "has the format 'other'"),
    (lambda own: own | {"manifest": np.array([{}], dtype=object)}, NO_RECORDING),
    (lambda own: own | {"manifest": np.array(str(own["manifest"])[:-1] + ', "a": NaN}')}, "its manifest holds NaN or "),
    (lambda own: own | {"manifest": np.array(str(own["manifest"])[:-1] + ', "a": [1e999]}')}, "which JSON has not; "),
]


@pytest.mark.parametrize(("change", "told"), CHANGES)
def test_what_is_no_whole_recording_is_told_what_it_has_not(
    change: Callable[[Arrays], Arrays], told: str, rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with np.load(rows) as file:
        arrays = {key: file[key] for key in file.files}
    path = tmp_path / "other.npz"
    np.savez(path, **change(arrays))
    printed = usage_error(["replay", str(path), "--out", str(tmp_path), "--rule", "typical"], capsys)
    assert told in printed
    assert f"simlab: {path}: " in printed
    assert list(tmp_path.iterdir()) == [path]


def test_an_array_that_claims_more_than_there_is_is_refused(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    huge, path = io.BytesIO(), tmp_path / "huge.npz"
    np.lib.format.write_array_header_1_0(huge, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)})
    with zipfile.ZipFile(rows) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(name, huge.getvalue() if name == "p_0.npy" else old.read(name))
    assert NO_RECORDING in usage_error(["replay", str(path), "--out", str(tmp_path), "--rule", "typical"], capsys)


def test_more_rows_than_there_are_are_all(rows: Path) -> None:
    recording = Rows(rows)
    assert replay(recording, rules_for(CODES, None, ["speculative"]), 10**12)["rows"].sum() == len(recording)


def test_a_rule_that_cannot_be_replayed_is_refused(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "unknown rule 'none'" in usage_error(["replay", str(rows), "--out", str(tmp_path), "--rule", "none"], capsys)
    assert "rows is 0; expected" in usage_error(["replay", str(rows), "--out", str(tmp_path), "--rows", "0"], capsys)
    with np.load(rows) as file:
        arrays = {key: file[key] for key in file.files if key != "codebook"}
    path = tmp_path / "rows.npz"
    np.savez_compressed(path, **arrays)
    assert "needs a codebook" in usage_error(["replay", str(path), "--out", str(tmp_path), "--rule", "lantern"], capsys)
    assert main(["replay", str(path), "--out", str(tmp_path), "--rule", "typical"]) == 0
    assert json.loads((tmp_path / "replay.json").read_text())["rules"][1]["wasserstein"] is None
