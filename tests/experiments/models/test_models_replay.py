"""A recording holds what was verified, and a replay computes of it what enumeration gives."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from experiments.kept import Kept
from experiments.models import watched
from experiments.models.continuous.recording import Trajectories
from experiments.models.discrete.record import Spread
from experiments.models.discrete.recording import PLACES, Packed, Rows, halved, whole
from experiments.models.discrete.replay import prefixes, replay, rules_for, summary
from experiments.models.recording import RecordingError, opened
from experiments.models.watched import Windows, watch_run
from experiments.results import write_arrays
from simlab.decoders import Decoder, make_decoder
from simlab.models.process.cached import Cached
from simlab.models.process.cached_compiled import CachedOnHost
from simlab.models.process.sampling import Sampling
from simlab.randomness import Purpose, Tape
from simlab.rules import RULES, Speculative
from tests.support.networks import CLASSES, V, model
from tests.support.refusals import refused
from theory.distances import tv, wasserstein1
from theory.exact import acceptance, step_law

pytestmark = pytest.mark.exact
DEFAULT_EVERY = 4

SEED, IMAGES, CALLS = 5, 6, 100  # more calls than there are: every one is recorded
CODEBOOK = np.random.default_rng(0).normal(size=(V, 3))
DECODERS = {
    "sjd": make_decoder("sjd", window=4),
    "sjd-repeat-left": make_decoder("sjd", window=4, initial="repeat-left"),
    "sjd-ac": make_decoder("sjd-ac", window=4),
    "sjd-pd": make_decoder("sjd-pd", window=4, candidates=2, depth=2),
    "sjd-pac": make_decoder("sjd-pac", window=4, candidates=2, depth=2),
    "speculative": make_decoder("speculative", gamma=3),
    "block": make_decoder("block", gamma=3),
}
SCANS = "sjd", "sjd-repeat-left", "sjd-ac", "speculative"  # keep what a scan to the first rejection keeps


def recorded(decoder: Decoder, folder: Path, calls: int = CALLS, form: type[Cached] = CachedOnHost) -> Rows:
    """A recording of a run over a tiny model."""
    given, sampling = torch.arange(IMAGES) % CLASSES, Sampling(guidance=1.5)
    target = form(model("target"), given, sampling)
    draft = form(model("draft"), given, sampling, lag=1) if decoder.needs_draft else None
    packed = Packed()
    recorder = Spread(packed, range(IMAGES), calls, target.length)
    watch_run(decoder, target, Speculative(), Tape(SEED, IMAGES), draft, recorder)
    path = folder / "rows.npz"
    write_arrays(path, packed.arrays({"method": "test"}, CODEBOOK))
    return Rows(path)


def rows_of(recording: Rows) -> tuple[np.ndarray, np.ndarray]:
    """All its rows."""
    blocks = [(p, q) for _, p, q in recording.blocks()]
    return np.concatenate([p for p, _ in blocks]), np.concatenate([q for _, q in blocks])


def disagreements(recording: Rows) -> int:
    """In how many windows the coins of the tape, tossed for the recorded rows, keep another number of drafts than the
    run did; coins that rounding may have turned are not counted."""
    p, q = rows_of(recording)
    x, wrong = recording.token, 0
    kept = Speculative().accept_rows(p, q, x)
    for window in np.unique(recording.windows):
        own = recording.windows == window
        tape = Tape(SEED, [int(recording.image[own][0])], int(recording.call[own][0]))
        coins = tape.uniform(recording.position[own][None].astype(np.int64), Purpose.ACCEPT)[0]
        if (abs(coins - kept[own]) < 2e-3).any():
            continue
        count = int(np.cumprod(coins < kept[own]).sum())
        # a block cut at the end of the sequence is kept as far as the sequence goes
        wrong += count != min(int(recording.accepted[own][0]), own.sum())
    return wrong


@pytest.mark.parametrize("name", SCANS)
def test_the_coins_of_the_tape_keep_of_recorded_rows_what_the_run_kept(name: str, tmp_path: Path) -> None:
    assert disagreements(recorded(DECODERS[name], tmp_path)) == 0


@pytest.mark.parity
@pytest.mark.parametrize("name", DECODERS)
def test_compiled_decoders_record_what_the_reference_form_does(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = recorded(DECODERS[name], tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(watched, "has_kernel", lambda decoder, rule: False)
        patch.setattr(watched, "simulate", None)
        reference = recorded(DECODERS[name], tmp_path, form=Cached)
    for place in PLACES:
        assert np.array_equal(getattr(compiled, place), getattr(reference, place)), place
    for one, other in zip(rows_of(compiled), rows_of(reference), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-3)  # rounding tips the last bit of half precision


@pytest.mark.parametrize("name", DECODERS)
def test_windows_are_whole_and_drafts_have_mass(name: str, tmp_path: Path) -> None:
    recording = recorded(DECODERS[name], tmp_path)
    p, q = rows_of(recording)
    assert (q[np.arange(len(q)), recording.token] > 0).all()
    assert np.allclose(p.sum(axis=1), 1)
    assert set(recording.image) == set(range(IMAGES))
    for window in np.unique(recording.windows):
        own = recording.windows == window
        assert recording.place[own].tolist() == list(range(own.sum()))
        assert (np.diff(recording.position[own]) == 1).all()


def test_fewer_calls_are_spread_over_the_sequence(tmp_path: Path) -> None:
    recording = recorded(DECODERS["sjd"], tmp_path, calls=3)
    starts = recording.position[recording.place == 0]
    images = recording.image[recording.place == 0]
    for image in range(IMAGES):
        own = starts[images == image]
        assert 1 <= len(own) <= 3
        assert len(set(own // 3)) == len(own)  # of 9 positions, one in each third


@pytest.mark.parametrize(("length", "calls"), [(196, 20), (196, 21), (36, 14), (9, 10**30)])
def test_the_first_call_that_begins_in_each_part_is_recorded(length: int, calls: int) -> None:
    """Where parts begin at whole positions too, such as 147 of 196, the first of the sixteenth of twenty."""
    packed, row = Packed(), np.full((1, 1, 2), 0.5)
    spread = Spread(packed, [0], calls, length)
    for start in range(length):
        rows, one = torch.from_numpy(row), np.zeros(1, np.int64)
        spread(Windows(one, one + start, one[:, None], rows.repeat(1, 2, 1), rows, one, one + 1))
    found = [int(part.position[0]) for part in packed.parts]
    assert found == [
        start for start in range(length) if start == 0 or start * calls // length > (start - 1) * calls // length
    ]


def test_what_verifies_no_drafts_is_told(tmp_path: Path) -> None:
    refused(lambda: recorded(make_decoder("autoregressive"), tmp_path), "Autoregressive")


@pytest.mark.parametrize("by", [-1, 1 << 30])
def test_places_that_are_none_are_refused(by: int, tmp_path: Path) -> None:
    """A scan of a window would be another, or room be made for drafts that are nowhere."""
    recorded(DECODERS["sjd"], tmp_path)
    with np.load(tmp_path / "rows.npz") as file:
        arrays = {name: file[name] for name in file.files}
    write_arrays(tmp_path / "rows.npz", arrays | {"place": arrays["place"] + by})
    refused(lambda: Rows(tmp_path / "rows.npz"), "rows.npz", f"place of draft 0 is {by}", error=RecordingError)


TRAJECTORIES = {
    **{name: np.zeros(3, np.int64) for name in ("replicate", "position", "place")},
    **{"coin": np.full(3, 0.5), "accepted": np.ones(3, bool)},
    **{f"{side}_states": np.zeros((3, 3, 2)) for side in ("target", "draft")},
    **{f"{side}_{part}": np.ones((3, 2, 2)) for side in ("target", "draft", "crossed") for part in ("means", "sds")},
}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("coin", lambda own: own[:-1]),
        ("accepted", lambda own: own.astype(str)),
        ("crossed_means", lambda own: own[:-1]),
        ("draft_states", lambda own: own[:, 1:]),
        ("target_sds", lambda own: -own),
        ("target_means", lambda own: own * np.nan),
        ("draft_means", lambda own: own.astype(str)),
    ],
)
def test_trajectories_that_do_not_fit_are_refused(name: str, change: Any, tmp_path: Path) -> None:
    path, own = tmp_path / "drafts.npz", {"continuous": 1, "method": "last-step", "aligned": True, "noisy_end": True}
    whole = TRAJECTORIES | {"manifest": np.array(json.dumps(own | {"labels": [0]}))}
    write_arrays(path, whole)
    assert Trajectories(path).replayed(["last-step"]).rules[0]["refused"] is None
    write_arrays(path, whole | {name: change(whole[name])})
    refused(lambda: Trajectories(path), "drafts.npz", name, error=RecordingError)
    write_arrays(path, whole | {"manifest": np.array(json.dumps(own | {"labels": 3}))})
    refused(lambda: Trajectories(path), "drafts.npz", "labels", error=RecordingError)


def test_a_file_of_which_any_byte_is_another_is_no_recording(tmp_path: Path) -> None:
    path = tmp_path / "rows.npz"
    write_arrays(path, {"manifest": np.array("{}")})
    whole, damaged = path.read_bytes(), 0
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :])
        try:
            opened(path)
        except RecordingError:
            damaged += 1
    assert damaged > len(whole) / 2


def test_a_header_that_is_no_python_is_told_and_a_piece_with_one_made_again(tmp_path: Path) -> None:
    """NumPy cuts such a header into tokens, which has an error of its own."""
    kept, made = Kept(tmp_path, {}), {"manifest": np.array("{}")}
    path = kept.claim({})
    write_arrays(path, made)
    with zipfile.ZipFile(path) as archive:
        content = archive.read("manifest.npy")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.npy", content.replace(b"(), }", b"((, }"))
    refused(lambda: opened(path), path.name, error=RecordingError)
    assert kept.piece({}, lambda: made) == made
    assert opened(path)[1] == {}


def test_rounding_costs_what_is_said() -> None:
    rows = np.random.default_rng(1).dirichlet(np.full(1000, 0.02), size=20)
    half, lost = halved(rows)
    assert half.dtype == np.float16
    assert np.allclose(lost, abs(whole(half) - rows).sum(axis=1) / 2, atol=1e-12)
    assert lost.max() < 2**-11
    assert ((half > 0) == (rows > 0)).all()  # no draft loses its mass
    point = np.eye(4)
    assert (whole(halved(point)[0]) == point).all()


# All of them ------------------------------------------------------------------------------------------------------


def test_every_rule_is_there() -> None:
    names = [named.name for named in rules_for(24, np.random.default_rng(2).normal(size=(24, 2)))]
    assert set(names) == set(RULES)
    assert names[0] == "speculative"


def test_a_replay_is_what_is_computed_directly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.models.discrete.recording.ENTRIES", 7 * V)  # several blocks, which cut windows
    recording = recorded(DECODERS["sjd"], tmp_path)
    assert recording.manifest["blocks"] > 3
    p, q = rows_of(recording)
    rules = rules_for(V, CODEBOOK, ["grouped", "lantern", "optimal-lossy"])
    lines = summary(replay(recording, rules, rows=len(recording)))
    assert lines["rule"].tolist() == [named.name for named in rules]
    distances = np.linalg.norm(CODEBOOK[:, None].astype(np.float32) - CODEBOOK[None].astype(np.float32), axis=-1)
    for named, line in zip(rules, lines.to_dict("records"), strict=True):
        law = step_law(named.rule, p, q)
        kept, scans = named.rule.accept_rows(p, q, recording.token), []
        for window in np.unique(recording.windows):
            scans.append(np.cumprod(kept[recording.windows == window]).sum())
        assert line["acceptance"] == pytest.approx(acceptance(named.rule, p, q).mean(), abs=1e-12)
        assert line["tv"] == pytest.approx(tv(law, p).mean(), abs=1e-9)
        assert line["wasserstein"] == pytest.approx(wasserstein1(law, p, distances).mean(), rel=1e-5, abs=1e-9)
        assert line["kept"] == pytest.approx(np.mean(scans), abs=1e-12)
        assert line["gained"] == pytest.approx(line["acceptance"] - np.minimum(p, q).sum(axis=1).mean(), abs=1e-12)
        assert line["wasted"] > -1e-12
    optimal = lines[lines["rule"] == "optimal-lossy"]
    assert abs(optimal["wasted"]).max() < 1e-12


def test_what_a_scan_keeps_stops_at_windows() -> None:
    kept, windows, place = np.array([0.5, 0.5, 1.0, 0.25]), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    assert prefixes(kept, windows, place).tolist() == [0.75, 1.25]
    assert np.cumprod(kept).sum() != 2.0  # which it would be without


def test_means_over_fewer_rows_use_the_same_rows_for_every_rule(tmp_path: Path) -> None:
    recording = recorded(DECODERS["speculative"], tmp_path)
    table = replay(recording, rules_for(V, None), rows=5)
    assert set(table.groupby(["rule", "parameters"])["rows"].sum()) == {5}
