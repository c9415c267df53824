"""What ``simlab generate``, ``record``, ``replay`` and ``compare`` do with either kind of token."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("torch")
from PIL import Image

from experiments.cli.main import main
from experiments.models import compare as comparing
from experiments.models import grid
from experiments.models.compare import Comparison
from experiments.models.continuous.compare import OfVectors
from experiments.models.continuous.kind import Continuous, Settings
from experiments.models.continuous.methods import NAMES
from experiments.models.discrete.compare import OfCodes
from experiments.models.discrete.kind import Discrete
from experiments.models.discrete.methods import METHODS
from experiments.models.replay import read_recording
from experiments.models.session import Models
from simlab.continuous.decoders import autoregressive
from simlab.continuous.networks.sampler import Sampler
from simlab.decoders import run
from simlab.models.process.sampling import Sampling
from simlab.randomness import Tape

pytestmark = pytest.mark.cli


class Kind(NamedTuple):
    """A kind of token, and how small it is tested."""

    models: type[Models]
    methods: tuple[str, ...]
    alone: str  # the target
    drafting: str  # a lossless method
    small: tuple[str, ...]  # options of all commands
    sampling: Any  # what these are
    of: Callable[[str], tuple[str, ...]]  # a method's own options
    calls: str  # how often the target was called, among what is saved
    compares: type[Comparison]
    compared: str  # the name of a comparison's files
    rule: str  # that a recording of ``drafting`` is of


def _of(method: str) -> tuple[str, ...]:
    if method == "autoregressive":
        return ()
    return "--gamma", "3", "--prefill", "2", *(("--variances", "posterior") if method == "reflection" else ())


KINDS = {
    "discrete": Kind(
        Discrete, (*METHODS, "sjd-pac+grouped", "block"), "ar", "sjd", ("--guidance", "1.5"), Sampling(1.5),
        lambda method: (), "steps", OfCodes, "compare", "speculative",
    ),
    "continuous": Kind(
        Continuous, NAMES, "autoregressive", "last-step", ("--steps", "3", "--spacing", "trailing"),
        Settings(Sampler(3, spacing="trailing")), _of, "calls", OfVectors, "compare-continuous", "last-step",
    ),
}  # fmt: skip
QUICK = {"ar", "sjd", "sjd-pac+grouped", "autoregressive", "last-step"}
CASES = [
    pytest.param(kind, method, marks=() if method in QUICK else pytest.mark.slow, id=method)
    for kind in KINDS
    for method in KINDS[kind].methods
]


@pytest.fixture
def folder(kind: str, models: Path, pair: Path) -> Path:
    """The files of a kind's tiny models."""
    return {"discrete": models, "continuous": pair}[kind]


def command(name: str, kind: str, folder: Path, *more: str) -> list[str]:
    own = KINDS[kind]
    return [name, "--model", own.models.name, "--models", str(folder), *own.small, *more]


def drawn(kind: str, folder: Path, out: Path, method: str, *more: str) -> dict[str, np.ndarray]:
    files = "--out", str(out / "grid.png"), "--tokens", str(out / "tokens.npz")
    assert main(command("generate", kind, folder, "--method", method, "--count", "3", *files, *more)) == 0
    with np.load(out / "tokens.npz", allow_pickle=False) as saved:
        return dict(saved)


# Images -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "method"), CASES)
def test_every_method_draws(
    kind: str, method: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = KINDS[kind]
    saved = drawn(kind, folder, tmp_path, method, *own.of(method))
    said = capsys.readouterr()
    loaded = own.models(folder)
    rows, columns = loaded.shape
    lossless = loaded.method(method, {}).lossless
    assert not said.err
    assert f"{method} ({'lossless' if lossless else 'lossy'})  3 images of {rows * columns} tokens" in said.out
    assert np.asarray(Image.open(tmp_path / "grid.png")).std() > 0
    assert saved["labels"].tolist() == [0, 1, 2]
    assert saved["tokens"].shape[:2] == (3, rows * columns)
    assert np.isfinite(saved["tokens"]).all()
    assert (saved[own.calls] <= rows * columns).all()
    assert (saved[own.calls] == rows * columns).all() or method != own.alone


@pytest.mark.parity
@pytest.mark.parametrize("kind", KINDS)
def test_images_are_what_the_decoder_makes_of_the_models(kind: str, folder: Path, tmp_path: Path) -> None:
    """Replicate i of the seed is image i: in the reference form, without the commands and what they load."""
    own, labels = KINDS[kind], np.arange(3)
    for name in (own.alone, own.drafting):
        saved = drawn(kind, folder, tmp_path, name, "--seed", "6")
        loaded = own.models(folder)
        method, tape = loaded.method(name, {}), Tape(6, range(3))
        if isinstance(loaded, Discrete):
            target, draft = loaded.processes(method.drafter, labels, own.sampling)
            expected = run(method.decoder, target, method.rule, tape, draft).tokens.numpy()
            np.testing.assert_array_equal(saved["tokens"], expected)
        else:
            assert isinstance(loaded, Continuous)
            places = np.tile(np.arange(loaded.pair.length), (3, 1))
            pair = loaded.pair.pair(labels, places, own.sampling.of(method))
            one = method.decoder is None
            made = autoregressive(pair.target, tape) if one else method.decoder.run(*pair, method.rule, tape)
            np.testing.assert_array_equal(saved["tokens"], made.tokens)
            np.testing.assert_array_equal(saved["outcome"], made.outcome)


@pytest.mark.parametrize(
    ("kind", "name"),
    [*(("discrete", name) for name in ("ar", "speculative", "eagle", "sjd-pac")), ("continuous", "last-step")],
)
def test_an_image_is_that_of_its_seed_and_number_whatever_the_batch(kind: str, name: str, folder: Path) -> None:
    own = KINDS[kind]
    loaded, sampling = own.models(folder), own.sampling
    if isinstance(loaded, Discrete):
        for model in (loaded.target, loaded.draft, loaded.head):
            model.double()  # so that no rounding depends on the batch
    else:
        sampling = Settings(Sampler(3, spacing="trailing", guidance=1.5), "random")
    method, labels = loaded.method(name, {}), np.array([4, 0, 2])

    def tokens(seed: int, batch: int, first: int = 0) -> np.ndarray:
        found: np.ndarray = loaded.draw(method, labels[first:], seed, sampling, batch, first).tokens
        return found

    whole = tokens(1, 3)
    for again in (tokens(1, 2), tokens(1, 1)):
        np.testing.assert_allclose(again, whole, atol=1e-4)
    np.testing.assert_allclose(tokens(1, 2, first=1), whole[1:], atol=1e-4)
    assert (tokens(2, 3) != whole).any()


# Recordings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_recorded_is_replayed(
    kind: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = KINDS[kind]
    for name in ("rows.npz", "again.npz"):
        more = "--method", own.drafting, "--count", "3", "--seed", "4", "--out", str(tmp_path / name)
        assert main(command("record", kind, folder, *more)) == 0
    saved = read_recording(tmp_path / "rows.npz")
    assert saved.told() in capsys.readouterr().out
    manifest = saved.manifest
    assert (manifest["method"], manifest["seed"], manifest["labels"]) == (own.drafting, 4, [0, 1, 2])
    assert manifest["shape"] == list(own.models(folder).shape)
    with np.load(tmp_path / "rows.npz") as one, np.load(tmp_path / "again.npz") as other:
        assert one.files == other.files
        for name in one.files:
            np.testing.assert_array_equal(one[name], other[name])
    assert main(["replay", str(tmp_path / "rows.npz"), "--out", str(tmp_path), "--rule", own.rule]) == 0
    document = json.loads((tmp_path / "replay.json").read_text())
    assert document["recording"] == manifest
    assert [line["rule"] for line in document["rules"]] == [own.rule]
    assert 0 < document["rules"][0]["acceptance"] < 1
    assert f"{own.rule} " in capsys.readouterr().out


# Comparisons ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_stopped_comparison_goes_on_where_it_was(
    kind: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Stopped at every piece, at a time and while a round is written: nothing that was finished is done again, what is
    written is whole, and the last table is that of a comparison in one piece that nobody stopped."""
    own, count = KINDS[kind], 12
    draw, asked, stops = own.models.draw, list[tuple[str, int]](), list[str]()

    def drawing(self: Models, method: Any, labels: np.ndarray, *more: Any, **told: Any) -> Any:
        if len(labels) > 1:  # one at a time where times are taken
            asked.append((method.name, more[3]))
            if stops and method.name == stops[0]:
                stops.pop()
                raise KeyboardInterrupt
        return draw(self, method, labels, *more, **told)

    def stop(*_: Any) -> Any:
        raise KeyboardInterrupt

    def run(out: Path, *more: str) -> int:
        names = f"{own.alone},{own.drafting}"
        sizes = "--count", str(count), "--timing-batch", "1", "--methods", names
        return main(command("compare", kind, small, *sizes, "--out", str(out), *more))

    def written(out: Path) -> dict[str, Any]:
        """The document, once it is known that all that was written is of as many images."""
        document: dict[str, Any] = json.loads((out / f"{own.compared}.json").read_text())
        with np.load(out / f"{own.compared}.npz") as arrays:
            assert arrays["method"].tolist() == [own.alone, own.drafting]
            assert len(arrays["labels"]) == document["n"]
            assert arrays["images"].shape[:2] == (2, min(document["n"], arrays["images"].shape[1]))
        assert pd.read_parquet(out / f"{own.compared}.parquet")["method"].tolist() == [own.alone, own.drafting]
        return document

    if kind == "continuous":  # the classifier that comes along is for images of 28 pixels a side
        from tests.support.continuous_pair import write_pair

        small = write_pair(tmp_path / "pair")
    else:
        small = folder
    monkeypatch.setattr(own.models, "draw", drawing)
    monkeypatch.setattr(comparing, "FIRST", 3)
    monkeypatch.setattr(comparing, "CHUNK", 4)
    out, files = tmp_path / "out", {f"{own.compared}.{ending}" for ending in ("json", "npz", "parquet")}

    stops.append(own.drafting)
    assert run(out) == 130  # before there is a table
    assert "simlab: interrupted" in capsys.readouterr().err
    assert {path.name for path in out.iterdir()} == {".lock", "parts"}
    assert asked == [(own.alone, count), (own.alone, 0), (own.drafting, 0)]
    assert len(list((out / "parts").iterdir())) == 2
    stops.append(own.alone)  # in the second round
    assert run(out) == 130
    said = capsys.readouterr().out
    assert "so far 3 of 12 images a method" in said
    assert "speedup: from the next table on" in said
    first = written(out)
    assert (first["n"], first["asked"]) == (3, count)
    assert not any(row["timing"] for row in first["methods"])
    with monkeypatch.context() as patched:
        patched.setattr(own.compares, "timed", stop)
        assert run(out) == 130
    assert written(out)["n"] == 3
    assert "so far 3 of 12 images a method" in capsys.readouterr().out
    with monkeypatch.context() as patched:  # its images and times are there, and no file of its own
        patched.setattr(grid, "write_grid", stop)
        assert run(out) == 130
    assert written(out)["n"] == 3
    assert run(out) == 0
    said = capsys.readouterr().out
    assert [line.partition(" images")[0] for line in said.splitlines() if " images a method" in line] == [
        "so far 6 of 12", "12"
    ]  # fmt: skip
    assert {path.name for path in out.iterdir()} > files
    assert not (out / "parts").exists()
    assert len(asked) == len(set(asked)) + 2  # the two that were stopped are drawn once more

    monkeypatch.setattr(comparing, "FIRST", count)
    monkeypatch.setattr(comparing, "CHUNK", count)
    assert run(tmp_path / "whole") == 0
    found = []
    for place in (out, tmp_path / "whole"):
        document = written(place)
        for row in document["methods"]:
            assert row.pop("timing")
        found.append({name: value for name, value in document.items() if name not in ("machine", "costs")})
    assert_near(found[0], found[1])
    rows = {row["method"]: row for row in found[0]["methods"]}
    assert rows[own.alone]["steps"]["mean"] == np.prod(found[0]["shape"])
    assert rows[own.drafting]["steps"]["mean"] < np.prod(found[0]["shape"])
    assert all(check["passes"] for check in rows[own.drafting]["checks"].values())


def assert_near(one: Any, other: Any) -> None:
    """Equal, but for what networks round otherwise in a batch of another size."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name, value in one.items():
            assert_near(value, other[name])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for each in zip(one, other, strict=True):
            assert_near(*each)
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-4, abs=1e-6)
    else:
        assert one == other
