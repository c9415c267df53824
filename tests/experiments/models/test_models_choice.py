"""``--method auto``: what made-up machines make it choose, what it keeps, and files that it does not take."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import platformdirs
import pytest

pytest.importorskip("torch")

from experiments.models import choice, compression, curve
from experiments.models.choice import choose, predict
from experiments.models.compression import Candidate, Compression, named
from experiments.models.curve import Curve
from experiments.models.discrete.kind import Discrete
from experiments.models.discrete.methods import make_method
from experiments.models.own import Own
from simlab.decoders import nodes
from simlab.models.process.sampling import Sampling
from tests.support.fashion import write_models

pytestmark = pytest.mark.exact

BATCHES, ROWS = (1, 4, 16, 64), (1, 3, 5, 33)
STEPS = [
    Compression(Candidate("ar", {}), None, 1, 0, 1.0, 0.0),
    Compression(Candidate("sjd-ac", {"window": 4}), None, 5, 0, 1.8, 0.02),
    Compression(Candidate("sjd-ac", {"window": 32}), None, 33, 0, 4.4, 0.1),
    Compression(Candidate("speculative", {"gamma": 2}), "draft", 3, 2, 2.1, 0.02),
]


def machine(cost: Callable[[int, int], float], draft: float = 0.2) -> Curve:
    """A curve of a call's cost by batch and rows of a sequence; a draft costs a share of one row's call."""
    target = {batch: {rows: cost(batch, rows) for rows in ROWS} for batch in BATCHES}
    return Curve(
        target, {"draft": {batch: {1: draft * cost(batch, 1), 4: 4 * draft * cost(batch, 1)} for batch in BATCHES}}
    )


FREE = machine(lambda batch, rows: 5.0)
IN_PROPORTION = machine(lambda batch, rows: 0.1 * batch * rows)
AFFINE = machine(lambda batch, rows: 5 + 0.05 * batch * rows)


@pytest.mark.parametrize(
    ("cost", "methods"),
    [
        (FREE, ["sjd-ac, window 32"] * 4),
        (IN_PROPORTION, ["ar"] * 4),
        (AFFINE, ["sjd-ac, window 32", "sjd-ac, window 32", "speculative, gamma 2", "ar"]),
    ],
)
def test_windows_are_as_wide_as_rows_are_cheap(cost: Curve, methods: list[str]) -> None:
    assert [named(choose(STEPS, cost, batch).candidate) for batch in BATCHES] == methods


def test_a_method_that_is_faster_by_less_than_the_margin_is_not_taken() -> None:
    near = machine(lambda batch, rows: 5 + 0.25 * rows, draft=0.28)  # of speculative: 1.06 times
    found = choose([STEPS[0], STEPS[3]._replace(tokens=1.8)], near, 4)
    assert named(found.candidate) == "ar"
    assert found.reason.endswith(f"{1.8 * 5.25 / (5.75 + 2 * 0.28 * 5.25):.2f}x, not 1.1x")


def test_a_prediction_by_hand() -> None:
    found = predict(STEPS[3], AFFINE, 16)
    one, three = 5 + 0.05 * 16, 5 + 0.05 * 48
    assert found.call == pytest.approx(three / one)
    assert found.drafting == pytest.approx(0.4)
    assert found.speedup == pytest.approx(2.1 * one / (three + 0.4 * one))


def test_between_what_is_measured_costs_lie_on_lines() -> None:
    assert AFFINE.call(4, 19) == pytest.approx(5 + 0.05 * 4 * 19)
    assert AFFINE.call(40, 1) == pytest.approx(5 + 0.05 * 40)
    assert AFFINE.call(64, 65) == pytest.approx(5 + 0.05 * 64 * 65)  # beyond, as between the last two
    assert AFFINE.drafts("draft", 16, 2) == pytest.approx(0.4 * 5.8)
    assert AFFINE.drafts(None, 16, 0) == 0
    falling = machine(lambda batch, rows: 100 - rows)
    assert falling.call(1, 1000) == 100 - max(ROWS)  # but never below the least


def test_below_what_is_measured_a_call_costs_what_the_smallest_does() -> None:
    """Lines that rise more steeply than in proportion would be 0 at one image."""
    steep = Curve({b: {5: b - 7.9, 9: b - 7.8} for b in (8, 9)}, {})
    assert steep.call(1, 1) == steep.call(8, 5) > 0
    assert choose(STEPS[:3], steep, 1).best.speedup > 0


# The table that comes along ---------------------------------------------------------------------------------------


def test_more_rows_never_cost_less_whatever_a_busy_machine_measured() -> None:
    """A call for one row that was interrupted would make seventeen rows look as if they cost a fifth of it."""
    times = {1: 4.5, 2: 1.1, 17: 1.0, 33: 2.0}
    cost = curve.curve_of({"target": [{"batch": 1, "rows": r, "seconds": s} for r, s in times.items()], "drafting": {}})
    assert [cost.call(1, rows) for rows in times] == [1.0, 1.0, 1.0, 2.0]


def test_sizes_take_turns_and_what_is_slow_has_fewer() -> None:
    """A machine that slows down for a while slows all sizes alike; the first turn warms up."""
    now, asked = 0.0, []

    def call(size: int) -> None:
        nonlocal now
        asked.append(size)
        now += {1: 0.001, 2: 0.1}[size] * (50 if len(asked) <= 2 else 1)

    found = curve._medians({size: partial(call, size) for size in (1, 2)}, lambda: now)
    assert asked[:6] == [1, 2] * 3
    assert (asked.count(1), asked.count(2)) == (1 + curve.REPEATS, 3)
    assert found == {1: pytest.approx(0.001), 2: pytest.approx(0.1)}


def test_what_is_chosen_from_is_measured_and_not_read_off_lines() -> None:
    rows = {step.rows for step in compression.of_sampling(compression.shipped(), Sampling()) if not step.candidate.tree}
    assert rows <= set(curve.ROWS)


@pytest.mark.parametrize("guidance", [0.0, 0.5, 1.0])
def test_a_table_without_guidance_is_read(guidance: float) -> None:
    """Of all scales up to 1 the nearest table is the one without guidance, whatever scale it was measured at."""
    tables = [
        table | {"sampling": table["sampling"] | {"guidance": 0.0}} for table in compression.shipped()["tables"][:1]
    ]
    found = compression.of_sampling({"tables": tables}, Sampling(guidance=guidance))
    assert len(found) == len(tables[0]["rows"])


def test_the_table_that_comes_along_is_of_the_models_that_come_along() -> None:
    known = compression.shipped()
    models = Discrete()
    assert known["model"] == compression.identity(models)
    for table in known["tables"]:
        steps = compression.of_sampling(known, Sampling(table["sampling"]["guidance"]))
        assert [step.candidate for step in steps] == list(compression.candidates())
        for step in steps:
            method = make_method(step.candidate.method, models.codebook, step.candidate.settings)
            assert method.lossless
            assert step.rows == 1 + nodes(method.decoder)
            assert (step.drafter, step.drafts) == (method.drafter, nodes(method.decoder) if method.drafter else 0)
            assert 1 <= step.tokens <= step.rows
            assert step.error < 0.1 * step.tokens


def test_a_wider_window_commits_more_tokens() -> None:
    for table in compression.shipped()["tables"]:
        by_window = [row for row in table["rows"] if row["method"] == "sjd-ac" and "initial" not in row["settings"]]
        for narrow, wide in pairwise(by_window):
            assert wide["tokens"] > narrow["tokens"] - 4 * (wide["error"] + narrow["error"])


@pytest.mark.parametrize("scale", [0.5, 1.0, 1.2, 30.0])
def test_the_nearest_guidance_is_taken(scale: float) -> None:
    known = compression.shipped()
    scales = [table["sampling"]["guidance"] for table in known["tables"]]
    nearest = scales.index(min(scales) if scale < 1.5 else max(scales))
    found = compression.of_sampling(known, Sampling(scale))
    assert [step.tokens for step in found] == [row["tokens"] for row in known["tables"][nearest]["rows"]]


# What is kept -----------------------------------------------------------------------------------------------------


class Counted:
    """Instead of a measurement: a made-up one, and how often it was asked for."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.core = 1.0  # the share of one that the calls had

    def __call__(self, models: Discrete, sampling: Sampling, batches: list[int], *_: Any) -> dict[str, Any]:
        self.asked += batches
        target = [{"batch": b, "rows": rows, "seconds": 5 + 0.05 * b * rows} for b in batches for rows in ROWS]
        drafting = {
            name: [{"batch": b, "drafts": count, "seconds": float(count)} for b in batches for count in (1, 4)]
            for name in ("draft", "head")
        }
        return {"kind": "curve", "target": target, "drafting": drafting, "clock": curve.WALL, "core": self.core}


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Counted:
    monkeypatch.setenv(choice.CACHE, str(tmp_path / "cache"))
    made = Counted()
    monkeypatch.setattr(curve, "measure", made)
    return made


def test_a_machine_is_measured_once(counted: Counted) -> None:
    models = Discrete()
    first, again = (choice.choice(models, Sampling(), 16) for _ in range(2))
    assert first == again
    assert counted.asked == [16, 1]  # what one image at a time would give is told too
    choice.choice(models, Sampling(), 1)
    choice.choice(models, Sampling(), 16)
    assert counted.asked == [16, 1]
    kept = json.loads(choice.curve_file(models, Sampling()).read_text())
    assert {entry["batch"] for entry in kept["target"]} == {1, 16}
    choice.choice(models, Sampling(2.0), 16)  # guidance doubles the rows of a call
    assert counted.asked == [16, 1, 16, 1]


def test_times_of_a_busy_machine_are_told_and_not_kept(counted: Counted) -> None:
    models, counted.core = Discrete(), 0.5
    choice.choice(models, Sampling(), 16)
    assert choice.choice(models, Sampling(), 16).reason.endswith("busy machine")
    assert not choice.curve_file(models, Sampling()).exists()
    counted.core = 0.9
    assert "busy" not in choice.choice(models, Sampling(), 16).reason
    choice.choice(models, Sampling(), 16)
    assert counted.asked == [16, 1] * 3
    counted.core = 0.5
    choice.choice(models, Sampling(), 4)
    kept = json.loads(choice.curve_file(models, Sampling()).read_text())
    assert {each["batch"] for each in kept["target"]} == {16, 1}


def test_costs_are_of_the_models_that_draft_and_of_the_processor(
    counted: Counted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_models(tmp_path)
    models = Discrete(tmp_path)
    files = [choice.curve_file(models, Sampling())]
    draft = tmp_path / "draft.safetensors"
    draft.rename(tmp_path / "old")
    files.append(choice.curve_file(models, Sampling()))
    draft.write_bytes((tmp_path / "old").read_bytes() + b" ")  # another
    files.append(choice.curve_file(models, Sampling()))
    monkeypatch.setattr(curve, "facts", lambda: {"processor": "another"})
    files.append(choice.curve_file(models, Sampling()))
    assert len(set(files)) == 4
    target = curve.identity(models, Sampling())["model"]
    assert target == models.fingerprint("target")  # as in files of earlier versions


def test_a_choice_says_where_its_costs_are_from(counted: Counted, tmp_path: Path) -> None:
    models, file = Discrete(), tmp_path / "curve.json"
    assert choice.choice(models, Sampling(), 4).costs == choice.curve_file(models, Sampling())
    file.write_text(json.dumps(counted(models, Sampling(), [1])))
    assert choice.choice(models, Sampling(), 4, file).costs == file
    counted.core = 0.5
    assert choice.choice(models, Sampling(), 8).costs is None


def test_a_choice_says_what_was_measured_elsewhere(counted: Counted, tmp_path: Path) -> None:
    """At another sampling, or on another device; costs of other models are refused."""
    models, file = Discrete(), tmp_path / "curve.json"
    assert "tokens a step are" not in choice.choice(models, Sampling(3.0), 4).reason
    assert choice.choice(models, Sampling(temperature=0.5, top_k=9), 4).reason.endswith(
        "; tokens a step are those at guidance 1.0, temperature 1.0, this is at guidance 1.0, temperature 0.5, top-k 9"
    )
    document = counted(models, Sampling(), [1]) | curve.identity(models, Sampling())
    file.write_text(json.dumps(document))
    assert "not as here" not in choice.choice(models, Sampling(), 4, file).reason
    assert choice.choice(models, Sampling(2.0), 4, file).reason.count("rows by no guidance and no filter") == 1
    file.write_text(json.dumps(document | {"device": "TPU"}))
    assert "; not as here, calls were timed with device TPU" in choice.choice(models, Sampling(), 4, file).reason
    for other in ({"model": "0" * 64}, {"drafters": document["drafters"] | {"draft": "0" * 64}}):
        file.write_text(json.dumps(document | other))
        with pytest.raises(ValueError, match=r"curve.json: the costs are of another (target|draft), 0{12}\.\.\."):
            choice.choice(models, Sampling(), 4, file)


@pytest.mark.parametrize(("clock", "core", "disturbed"), [("wall clock", 0.5, True), ("CPU seconds", 0.5, False)])
def test_a_thread_s_own_time_is_lengthened_by_nobody(clock: str, core: float, disturbed: bool) -> None:
    assert curve.disturbed({"clock": clock, "core": core}) is disturbed
    assert not curve.disturbed({"clock": clock, "core": 0.99})
    assert not curve.disturbed({})  # of an earlier version


@pytest.mark.slow
def test_a_model_of_ones_own_is_known_by_its_own_weights(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "from tests.support.networks import model\n"
        "def one():\n    return model('target')\n"
        "def other():\n    return model('draft')\n"
    )
    one, again, other = (Own(f"{path}:{name}", "cpu") for name in ("one", "one", "other"))
    known = [curve.identity(each, Sampling())["model"] for each in (one, again, other, Discrete())]
    assert known[0] == known[1]
    assert len(set(known)) == 3
    assert one.drafters == ()
    assert compression.identity(one) == {"target": known[0]}
    assert curve.measure(one, Sampling(), [1], most=0.0)["drafting"] == {}


def test_what_cannot_be_read_is_measured_again(counted: Counted) -> None:
    models = Discrete()
    path = choice.curve_file(models, Sampling())
    for broken in ("", "[]", "{}", '{"target": [{}], "drafting": {}}'):
        path.parent.mkdir(exist_ok=True)
        path.write_text(broken)
        choice.choice(models, Sampling(), 4)
    assert counted.asked == [4, 1] * 4


@pytest.mark.parametrize("rows", [float("inf"), "many", None])
def test_steps_that_cannot_be_read_are_told(rows: Any) -> None:
    """So that those that were kept are measured again."""
    row = {"method": "ar", "settings": {}, "drafter": None, "rows": rows, "drafts": 0, "tokens": 1.0, "error": 0.0}
    with pytest.raises(ValueError, match="no step compression is to be read"):
        compression.of_sampling({"tables": [{"sampling": {"guidance": 1.0}, "rows": [row]}]}, Sampling())


def test_a_folder_that_cannot_be_written_is_no_reason_to_stop(
    counted: Counted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(choice.CACHE, str(tmp_path / "file"))
    choice.choice(Discrete(), Sampling(), 4)
    assert counted.asked == [4, 1]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "curve.json"),
        ("{", "JSON"),
        ("[1]", "curve.json"),
        *((each, "simlab model device --curve") for each in ("{}", '{"target": [], "drafting": {}}')),
        ('{"target": [{"batch": 8, "rows": 1, "seconds": 1.0}], "drafting": {}}', "drafting by draft is to be read"),
        ("[" * 100_000, "JSON"),
        *(
            (f'{{"target": [{{"batch": 8, "rows": 1, "seconds": {wrong}}}], "drafting": {{}}}}', "curve.json.*seconds")
            for wrong in ("0", "-1.0", "NaN", '"1"')
        ),
        ('{"target": [{"batch": "8", "rows": 1, "seconds": 1.0}], "drafting": {}}', "curve.json.*batch is '8'"),
        *(
            (f'{{"{name}": {wrong}, "target": [], "drafting": {{}}}}', f"curve.json.*{name} is")
            for name, wrong in (("drafters", '["draft"]'), ("rows_of", "3"), ("core", '"x"'))
        ),
    ],
)
def test_a_file_of_something_else_is_refused(text: str | None, says: str, tmp_path: Path) -> None:
    path = tmp_path / "curve.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ValueError, match=says):
        choice.choice(Discrete(), Sampling(), 8, path)


def test_the_folder_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(choice.CACHE, raising=False)
    assert choice.folder() == platformdirs.user_cache_path("simlab", appauthor=False)
    monkeypatch.setenv(choice.CACHE, "")
    assert choice.folder() == platformdirs.user_cache_path("simlab", appauthor=False)
    monkeypatch.setenv(choice.CACHE, str(tmp_path))
    assert choice.folder() == tmp_path


# Other models -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_models_of_ones_own_are_measured_and_kept(
    tmp_path: Path, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "models"
    write_models(folder)
    (folder / "head.safetensors").unlink()
    monkeypatch.setattr(compression, "FEW", 2)
    models = Discrete(folder)
    first = choice.known_steps(models, Sampling())
    assert {step.candidate.method for step in first} == {"ar", "sjd", "sjd-ac", "sjd-block", "speculative"}
    monkeypatch.setattr(compression, "measure", None)  # would fail: it is not asked again
    assert choice.known_steps(models, Sampling()) == first
    assert choice.choice(models, Sampling(), 4).candidate in [step.candidate for step in first]


def test_methods_whose_draft_is_not_there_are_not_measured(tmp_path: Path) -> None:
    write_models(tmp_path)
    (tmp_path / "draft.safetensors").unlink()
    asked = {each.method for each in compression.possible(Discrete(tmp_path), compression.candidates())}
    assert asked == {each.method for each in compression.candidates()} - {"speculative"}


def test_calls_are_timed_in_the_middle_of_images(tmp_path: Path) -> None:
    write_models(tmp_path)
    found = curve.measure(Discrete(tmp_path), Sampling(2.0), [2], most=0.0)
    assert [(entry["batch"], entry["rows"]) for entry in found["target"]] == [(2, 1), (2, 2)]  # no wider one could pay
    assert {name: len(entries) for name, entries in found["drafting"].items()} == {"draft": 2, "head": 2}
    cost = curve.curve_of(found)
    assert cost.call(2, 1) > 0
    assert cost.drafts("head", 2, 3) > 0
    assert found["rows_of"] == {"guidance": True, "top_k": False, "top_p": False}
