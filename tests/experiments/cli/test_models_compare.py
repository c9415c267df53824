"""``simlab compare``: what it writes, how it counts and takes time, and clear words where it cannot compare."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("torch")
import torch
from PIL import Image

from experiments.cli.main import main
from experiments.kept import Kept
from experiments.models import timing
from experiments.models.discrete import compare
from experiments.models.discrete.kind import Discrete, Samples
from experiments.models.discrete.methods import GAMMA, NODES, make_method, rows
from experiments.models.discrete.methods import METHODS as METHODS_ALL
from experiments.models.timing import PARTS, Clock
from simlab.decoders.compiled import has_kernel
from simlab.models.process.cached_compiled import CachedOnHost
from simlab.models.process.sampling import Sampling
from tests.support.fashion import SIDE

pytestmark = [pytest.mark.cli, pytest.mark.slow]

METHODS = ("ar", "speculative", "sjd-pac", "gsd", "sjd-pac+grouped")
N, COUNT = (SIDE // 2) ** 2, 12
FILES = ("compare.json", "compare.npz", "compare.parquet", "samples.png")


@pytest.fixture(scope="module")
def results(models: Path) -> Path:
    out = models.parent / "compared"
    sizes = "--count", str(COUNT), "--timing-batch", "2"
    arguments = "--methods", ",".join(METHODS), *sizes, "--guidance", "1.5", "--seed", "4"
    assert main(["compare", "--models", str(models), "--out", str(out), *arguments]) == 0
    return out


@pytest.fixture(scope="module")
def document(results: Path) -> dict[str, Any]:
    return json.loads((results / "compare.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)


# What is written --------------------------------------------------------------------------------------------------


def test_nothing_else_is_written(results: Path) -> None:
    assert {path.name for path in results.iterdir()} == {".lock", *FILES}  # the first is no lock by being there


def test_the_document_says_what_was_compared(document: dict[str, Any]) -> None:
    assert document["n"] == COUNT
    assert document["sampling"] == {"guidance": 1.5, "temperature": 1.0, "top_k": None, "top_p": None}
    assert document["device"] == "CPU"
    assert {"torch", "simlab", "numpy"} <= document["versions"].keys()
    assert set(document["model"]["sha256"]) == {"tokenizer", "target", "draft", "head", "classifier"}
    assert document["testing"]["tests"] == 3 * 4
    assert document["testing"]["level"] == pytest.approx(1e-6 / 12)
    assert [row["method"] for row in document["methods"]] == list(METHODS)
    assert [row["lossless"] for row in document["methods"]] == [True, True, True, False, False]


def test_every_method_has_everything(document: dict[str, Any]) -> None:
    for row in document["methods"]:
        assert sum(row["committed"]["histogram"]) == round(row["steps"]["mean"] * COUNT)
        committed = sum((k + 1) * number for k, number in enumerate(row["committed"]["histogram"]))
        assert committed == N * COUNT
        assert row["compression"]["pooled"] == pytest.approx(N / row["steps"]["mean"])
        assert row["committed"]["mean"] == pytest.approx(row["compression"]["pooled"])
        assert row["quality"]["bits_per_token"] > 0
        assert row["quality"]["frechet_to_ar"] >= 0
        assert (row["checks"] is None) != row["lossless"]
        (entry,) = row["timing"]
        parts = entry["ms"]
        assert set(parts) == set(PARTS)
        assert sum(parts.values()) == pytest.approx(entry["step_ms"])
        assert min(parts[name] for name in ("model", "sampling", "cache", "verification")) > 0
        assert (parts["drafting"] > 0) == (row["drafter"] is not None)
        assert row["rows"] == (1 if row["method"] == "ar" else 5 if row["drafter"] else 33)
        assert entry["peak_bytes"] is None
    first, gsd, tree = (document["methods"][k] for k in (0, 3, 4))
    assert first["steps"] == {"mean": N, "error": 0}
    assert first["timing"][0]["speedup"] == first["timing"][0]["predicted"] == 1
    assert document["costs"]["kind"] == "curve"
    assert gsd["distortion"]["tv"] > 0
    assert tree["distortion"] is None


def test_lossless_methods_pass(document: dict[str, Any]) -> None:
    checks = [check for row in document["methods"] if row["checks"] for check in row["checks"].values()]
    assert len(checks) == 3 * 4
    assert all(check["passes"] for check in checks)


def test_the_arrays_are_there(results: Path, document: dict[str, Any]) -> None:
    with np.load(results / "compare.npz", allow_pickle=False) as saved:
        arrays = dict(saved)
    shape = SIDE // 2, SIDE // 2
    assert arrays["method"].tolist() == list(METHODS)
    assert arrays["tokens"].shape == (len(METHODS), COUNT, N)
    assert arrays["kept"].shape == (len(METHODS), *shape)
    assert (arrays["kept"][0] == 0).all()
    assert ((arrays["kept"] >= 0) & (arrays["kept"] <= 1)).all()
    assert arrays["steps"].mean(axis=1).tolist() == [row["steps"]["mean"] for row in document["methods"]]
    assert arrays["bits"].mean(axis=1) == pytest.approx(
        [row["quality"]["bits_per_token"] for row in document["methods"]]
    )
    assert sorted(arrays["labels"][arrays["shown"]]) == sorted(set(arrays["labels"]))
    assert arrays["locality"].tolist() == document["locality"]["tv"]
    assert arrays["images"].shape == (len(METHODS), len(arrays["shown"]), SIDE, SIDE)
    wide, high = Image.open(results / "samples.png").size
    assert high == len(METHODS) * (3 * SIDE + 6) + 6
    assert wide > len(arrays["shown"]) * (3 * SIDE + 6)


def test_the_table_has_a_row_a_method(results: Path, document: dict[str, Any]) -> None:
    table = pd.read_parquet(results / "compare.parquet")
    assert table["method"].tolist() == list(METHODS)
    assert table["steps.mean"].tolist() == [row["steps"]["mean"] for row in document["methods"]]
    assert table["timing.2.speedup"].tolist() == [row["timing"][0]["speedup"] for row in document["methods"]]
    assert {"quality.accuracy", "checks.ranks.p_value", "distortion.tv"} <= set(table.columns)


def test_images_are_those_of_their_own_numbers(results: Path, models: Path) -> None:
    """A method draws what it draws alone: same labels, same replicates of the seed."""
    with np.load(results / "compare.npz", allow_pickle=False) as saved:
        labels, tokens = saved["labels"], saved["tokens"][METHODS.index("sjd-pac")]
    loaded = Discrete(models)
    again = loaded.draw(make_method("sjd-pac", loaded.codebook), labels, 4, Sampling(1.5), COUNT)
    assert (again.tokens == tokens).all()


def test_pieces_of_another_comparison_are_not_taken_up(tmp_path: Path) -> None:
    made = iter(range(10))

    def one(content: dict[str, Any], what: dict[str, Any]) -> int:
        return int(Kept(tmp_path, content).piece(what, lambda: {"number": np.array(next(made))})["number"])

    assert [one({"seed": 0}, {"method": "sjd"}) for _ in range(2)] == [0, 0]
    assert one({"seed": 1}, {"method": "sjd"}) == 1
    assert one({"seed": 0}, {"method": "ar"}) == 2
    for path in tmp_path.iterdir():
        path.write_bytes(path.read_bytes()[:40])
    assert one({"seed": 0}, {"method": "sjd"}) == 3
    assert one({"seed": 0}, {"method": "sjd"}) == 3


def test_pieces_of_one_run_alone_are_removed(tmp_path: Path) -> None:
    def run(seed: int) -> Kept:
        made = Kept(tmp_path / "parts", {"seed": seed})
        made.piece({"method": "sjd"}, lambda: {"number": np.zeros(1)})
        return made

    one, other = run(0), run(1)
    one.claim({"method": "ar"})
    Kept(one.folder, one.content).piece({"method": "ar"}, lambda: {"number": np.zeros(1)})
    mine = one.folder / "mine.txt"
    mine.write_text("")
    one.remove()
    assert {path.suffix for path in one.folder.iterdir()} == {".txt", ".npz"}
    assert other.has({"method": "sjd"})
    assert not one.has({"method": "sjd"})
    assert not one.has({"method": "ar"})
    mine.unlink()
    other.remove()
    assert not one.folder.exists()


def test_a_comparison_leaves_what_is_not_its(models: Path, tmp_path: Path) -> None:
    mine = tmp_path / "parts" / "mine" / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("")
    given = "--methods", "ar", "--count", "10", "--timing-batch", "1", "--out", str(tmp_path)
    assert main(["compare", "--models", str(models), *given]) == 0
    assert list((tmp_path / "parts").iterdir()) == [mine.parent]
    assert mine.exists()


# Counting and timing ----------------------------------------------------------------------------------------------


def test_kept_places_are_those_of_the_drafts() -> None:
    # two images of 4 tokens: (2 accepted + 1 drawn, then 1 accepted), (1 drawn, then 2 accepted + 1 drawn)
    drawn = Samples(
        np.zeros((2, 4), dtype=np.int64), np.array([2, 2]), np.array([[2, 1], [0, 2]]), np.array([[3, 1], [1, 3]])
    )
    assert compare.accepted_share(drawn, (2, 2)).tolist() == [[0.5, 1.0], [0.5, 0.5]]
    counts = compare.counted(drawn)
    assert counts["committed"] == {"mean": 2.0, "histogram": [2, 0, 2]}
    assert counts["accepted"] == {"mean": 1.25}
    assert counts["compression"] == {"mean": 2.0, "error": 0.0, "pooled": 2.0}


@pytest.mark.parametrize(("name", "drafting"), [("sjd", 0.0), ("sjd-pac", 0.0), ("eagle", 1.5)])
def test_a_speedup_is_predicted_from_calls_and_what_they_cost(name: str, drafting: float, models: Path) -> None:
    """As leviathan.cost-of-rows.speedup has it: rows for nothing are worth all tokens a call, paid ones a share."""
    method = make_method(name, Discrete(models).codebook)
    samples = Samples(np.zeros((2, 16), dtype=np.int64), np.array([4, 6]), np.zeros((2, 6)), np.zeros((2, 6)))
    own = rows(method.decoder)

    def told(of_row: float) -> float:
        """What is predicted where a call costs 2 and ``of_row`` for each row of the two sequences."""
        calls = [{"batch": 2, "rows": n, "seconds": 2 + of_row * 2 * n} for n in (1, own, 65)]
        drafts = {"head": [{"batch": 2, "drafts": GAMMA, "seconds": drafting}]}
        return compare.predicted(method, samples, {"target": calls, "drafting": drafts}, 2)["predicted"]

    assert told(0.0) == pytest.approx(3.2 * 2 / (2 + drafting))
    assert told(0.5) == pytest.approx(3.2 * 3 / (2 + own + drafting))


@pytest.mark.parametrize("name", ["eagle", "speculative", "sjd-pac"])
def test_the_clock_changes_nothing_and_sees_what_is_slow(name: str, models: Path) -> None:
    """Logits of the target that are slow are the model's, and those of what drafts are drafting."""
    loaded = Discrete(models)
    method, labels = make_method(name, loaded.codebook), np.arange(3)
    plain = loaded.draw(method, labels, 0, Sampling(), 3)
    before, calls, clock = loaded.target.logits, {"model": 0, "drafting": 0}, Clock(torch.device("cpu"))

    def slow(features: torch.Tensor) -> torch.Tensor:
        calls[clock._marks[-1][0] if clock._marks else "model"] += bool(clock._marks)
        begun = time.perf_counter(), time.thread_time()
        while min(time.perf_counter() - begun[0], time.thread_time() - begun[1]) < 0.005:
            pass
        return before(features)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(loaded.target, "logits", slow)
        seen = loaded.draw(method, labels, 0, Sampling(), 3, clock=clock)
    parts = clock.seconds()
    assert calls["model"] == seen.steps.max()
    assert calls["drafting"] == (GAMMA * seen.steps.max() if name == "eagle" else 0)  # by the target's own last layer
    for part in calls:
        assert parts[part] >= 0.005 * calls[part]
    assert (parts["drafting"] > 0) == (method.drafter is not None)
    assert min(parts[part] for part in ("sampling", "cache", "verification")) > 0
    assert (plain.tokens == seen.tokens).all()


def test_time_belongs_to_the_innermost_part(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(timing, "clock_of", lambda device: (lambda: now, "by hand"))
    clock = Clock(torch.device("cpu"))
    assert not any(clock.seconds().values())
    clock = Clock(torch.device("cpu"))
    now = 1.0  # before the first part: no time of a step
    with clock.during("cache"):
        now = 3.0
        with clock.during("model"):
            now = 10.0
        now = 11.0
        with suppress(ValueError), clock.during("sampling"):
            now = 15.0
            raise ValueError("a part ends however it is left")
    now = 16.0
    with clock.during("drafting"), clock.during("model"):
        now = 18.0
    assert clock.seconds() == {"model": 7.0, "sampling": 4.0, "cache": 3.0, "drafting": 2.0, "verification": 1.0}


@pytest.mark.parametrize("name", METHODS_ALL)
def test_every_call_asks_for_as_many_rows(name: str, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows and trees for NODES + 1, draft models for GAMMA + 1, ar for one: counted where rows are made."""
    loaded, asked = Discrete(models), set()
    method, chain, tree = make_method(name, loaded.codebook), CachedOnHost.chain, CachedOnHost.tree

    def counted(self: CachedOnHost, tokens: Any, start: Any, count: int) -> Any:
        asked.update({count} if self.model is loaded.target else ())
        return chain(self, tokens, start, count)

    def counted_tree(self: CachedOnHost, tokens: Any, start: Any, nodes: Any, shape: Any) -> Any:
        asked.add(1 + nodes.shape[1])
        return tree(self, tokens, start, nodes, shape)

    monkeypatch.setattr(CachedOnHost, "chain", counted)
    monkeypatch.setattr(CachedOnHost, "tree", counted_tree)
    loaded.draw(method, np.arange(2), 0, Sampling(), 2)
    wanted = 1 if name == "ar" else GAMMA + 1 if method.drafter else NODES + 1
    assert rows(method.decoder) == wanted
    if has_kernel(method.decoder, method.rule):  # others are run in their reference form, whose calls are not these
        assert asked == {wanted}


def test_every_round_draws_the_same_images_by_every_method(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run to warm up is not counted; a speedup is that of its round, whatever slows the machine down meanwhile."""
    met, loaded = [], Discrete(models)
    slowness = {(0, 1): iter([50.0, 1.0]), (2, 3): iter([10.0]), (4, 5): iter([100.0])}
    now: dict[tuple[int, ...], float] = {}

    def timed(models: Any, method: Any, labels: np.ndarray, seed: int, sampling: Any, first: int) -> timing.Cost:
        share = (first, first + len(labels) - 1)
        met.append((method.name, share))
        if method.name == "ar":
            now[share] = next(slowness[share])
        seconds = now[share] * (2.0 if method.name == "ar" else 1.0)
        return timing.Cost({part: seconds / len(PARTS) for part in PARTS}, 10, 7)

    monkeypatch.setattr(timing, "timed", timed)
    methods = [make_method(name, loaded.codebook) for name in ("ar", "eagle")]
    found = timing.timing(loaded, methods, np.zeros(6, dtype=np.int64), 0, Sampling(), lambda what: None)
    assert met == [(name, share) for share in ((0, 1), (0, 1), (2, 3), (4, 5)) for name in ("ar", "eagle")]
    assert (found["ar"]["speedup"], found["eagle"]["speedup"], found["eagle"]["speedup_error"]) == (1.0, 2.0, 0.0)
    assert found["eagle"]["seconds"] == pytest.approx((1 + 10 + 100) / 6)
    assert found["eagle"]["step_ms"] == pytest.approx(1000 * 111 / 30)
    assert sum(found["eagle"]["ms"].values()) == pytest.approx(found["eagle"]["step_ms"])
    assert found["eagle"]["peak_bytes"] == 7


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_a_cuda_device_is_named_and_its_memory_measured(models: Path, tmp_path: Path) -> None:
    arguments = "--methods", ",".join(METHODS), "--count", "10", "--timing-batch", "2", "--device", "cuda"
    assert main(["compare", "--models", str(models), "--out", str(tmp_path), *arguments]) == 0
    document = json.loads((tmp_path / "compare.json").read_text(encoding="utf-8"))
    assert document["device"] == torch.cuda.get_device_name()
    for row in document["methods"]:
        (entry,) = row["timing"]
        assert entry["peak_bytes"] > 0
        assert entry["ms"]["model"] > 0
        assert entry["ms"]["verification"] > 0
