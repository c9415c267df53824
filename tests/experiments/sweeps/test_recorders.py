"""Recorders of rows: what a replay sees, and every number against brute force on small processes."""

from __future__ import annotations

import inspect
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiments.sweeps.recorders import RECORDERS
from experiments.sweeps.replay import VerifiedPosition, replayable, verified_positions
from experiments.sweeps.sample import Sample
from simlab.decoders import DECODERS, Sjd, SjdPd, make_decoder, run
from simlab.decoders.compiled import simulate
from simlab.decoders.tree import NONE
from simlab.processes import Pair, Process, TableProcess, make_process
from simlab.randomness import Tape
from simlab.registry import examples
from simlab.rules import Rule, Speculative, make_rule
from tests.simlab.decoders.test_compiled import Hashed, tables
from tests.support.cases import nearest
from tests.support.refusals import refused
from tests.support.strategies import decoder_options
from theory.distances import tv, wasserstein1

pytestmark = pytest.mark.property
DEFAULT_EVERY = 4

V = 6
SMALL: dict[str, Any] = {"gamma": 3, "window": 4, "branching": [2, 1], "top_k": 2, "total": 4}
MADE = {name: make_decoder(name, **examples(DECODERS, name, {})[0]) for name in DECODERS}
VERIFYING = [name for name, decoder in MADE.items() if replayable(decoder)]
PLAIN = [name for name in DECODERS if name not in VERIFYING]
LOSSY = make_rule("lantern", neighbours=nearest(V), delta=0.3)
everything = settings(deadline=None, max_examples=20, suppress_health_check=list(HealthCheck))


def sampled(decoder: Any, rule: Rule, pair: Pair, replicates: Any = 3, seed: int = 4) -> Sample:
    tape = Tape(seed, replicates)
    made = simulate(decoder, pair.target, rule, tape, pair.draft if decoder.needs_draft else None)
    return Sample(made, pair, decoder, rule, tape)


def small(name: str, rule: Rule = LOSSY, length: int = 41, **parameters: Any) -> Sample:
    """A sample over the codebook process, with positions enough for the recorders that look at a few."""
    pair = make_process(
        "codebook", vocabulary=V, length=length, clusters=3, dimension=2, temperature=1.0, draft_noise=1.0
    )
    own = {key: SMALL[key] for key in inspect.signature(DECODERS[name]).parameters if key in SMALL}
    return sampled(make_decoder(name, **own | parameters), rule, pair)


def row(process: Process, tokens: np.ndarray, position: int) -> np.ndarray:
    """The row of one position, asked for alone."""
    return np.asarray(process.forward(tokens[None, :position], np.array([position]), 1)[0, 0])


# A sequence once more ----------------------------------------------------------------------------------------------


def is_seen_right(sample: Sample, replicate: int, seen: list[VerifiedPosition]) -> bool:
    """Every position once, with the row after the tokens before it, and drafts that the token may be one of."""
    tokens = sample.simulation.tokens[replicate]
    return [own.position for own in seen] == list(range(len(tokens))) and all(
        np.array_equal(own.p, row(sample.pair.target, tokens, own.position))
        and (own.q is None) == (not own.candidates)
        and len(set(own.candidates)) == len(own.candidates)
        for own in seen
    )


def drawn_by_the_reference_form(sample: Sample, replicate: int) -> list[tuple[list[int], np.ndarray | None]]:
    """Candidates and declared q of every position, from the states of the reference form."""
    decoder, found = sample.decoder, []
    tape = Tape(sample.tape.seed, [int(sample.tape.replicates[replicate])])

    def watch(before: Any, after: Any, info: Any) -> None:
        watch.calls += 1  # type: ignore[attr-defined]
        start, committed = int(before.length[0]), int(info.committed[0])
        drafts = before.tokens[0, start : start + decoder.window]
        if isinstance(decoder, SjdPd):
            shape = decoder.draft_tree()
            nodes = decoder.draw_tree(shape, before, tape.at(watch.calls))[0][0]  # type: ignore[attr-defined]
            children, depth = shape.children.values, shape.depth
        else:
            nodes, children, depth = drafts, None, 0
        at_row = 0
        for j in range(committed):
            chain = [j] if at_row == j < decoder.window else []
            below = [n for n in children[at_row] if n != NONE] if children is not None and j < depth else chain
            below = [n for n in below if nodes[n] != NONE]
            candidates = [int(nodes[n]) for n in below]
            found.append((candidates, before.q[0, j].copy() if candidates else None))
            token = int(after.tokens[0, start + j])
            at_row = below[candidates.index(token)] + 1 if token in candidates else -1

    watch.calls = 0  # type: ignore[attr-defined]
    run(decoder, sample.pair.target, sample.rule, tape, watch=watch)
    return found


@pytest.mark.parametrize("name", VERIFYING)
def test_a_replay_sees_the_rows_and_drafts_that_decided(name: str) -> None:
    @everything
    @given(st.data())
    def check(data: st.DataObject) -> None:
        decoder = make_decoder(name, **data.draw(decoder_options(DECODERS, name)))
        vocabulary = data.draw(st.integers(1, 5))
        shape = data.draw(st.sampled_from([(1, 1), (2, 3), (3, 4)]))
        target, draft = (Hashed(data.draw(tables(vocabulary, False, np.float64)), shape) for _ in range(2))
        rule = make_rule("amplify", k=data.draw(st.sampled_from([0.5, 1.0, 2.0])))
        sample = sampled(decoder, rule, Pair(target, draft), [7, 2], data.draw(st.integers(0, 2**32)))
        for b in range(2):
            seen = list(verified_positions(sample, b))
            assert is_seen_right(sample, b, seen)
            if isinstance(decoder, Sjd):
                for own, (candidates, q) in zip(seen, drawn_by_the_reference_form(sample, b), strict=True):
                    assert own.candidates == candidates
                    assert (own.q is None) == (q is None)
                    assert own.q is None or np.array_equal(own.q, q)

    check()


@pytest.mark.parametrize("name", PLAIN)
def test_decoders_without_a_rule_have_nothing_to_replay(name: str) -> None:
    sample = small(name)
    assert not replayable(sample.decoder)
    refused(lambda: next(verified_positions(sample, 0)), "rule")
    for recorder in ("distortion", "group_gain", "keep"):
        for column, values in RECORDERS[recorder](sample).items():
            assert len(values) == 3
            nothing = all(v == [] if isinstance(v, list) else np.isnan(v) for v in values)
            assert nothing or column in ("distortion_exact", "gain_negative")


# Distortion and acceptance -----------------------------------------------------------------------------------------


def by_hand(sample: Sample, b: int) -> list[tuple[int, np.ndarray, np.ndarray | None]]:
    """(position, p, q) of a sequence decoded by draft and verify, from nothing but its tokens and its calls."""
    assert sample.pair.draft is not None
    tokens, found, start = sample.simulation.tokens[b], [], 0
    for accepted, committed in zip(sample.simulation.accepted[b], sample.simulation.committed[b], strict=True):
        for j in range(committed):
            drafted = j < sample.decoder.gamma  # type: ignore[attr-defined]
            q = row(sample.pair.draft, tokens, start + j) if drafted else None
            found.append((start + j, row(sample.pair.target, tokens, start + j), q))
        assert committed in (accepted, accepted + 1)
        start += committed
    return found


def test_distortion_is_that_of_the_laws() -> None:
    sample = small("speculative", length=150)
    columns = RECORDERS["distortion"](sample)
    away = np.linalg.norm(sample.pair.codebook[:, None] - sample.pair.codebook[None], axis=2)  # type: ignore[index]
    means = []
    for b in range(3):
        own = [entry for entry in by_hand(sample, b) if entry[0] % 17 == 5]
        laws = [p if q is None else sample.rule.law_rows(p, q) for _, p, q in own]
        spent = [float(tv(law, p)) for law, (_, p, _) in zip(laws, own, strict=True)]
        np.testing.assert_allclose(columns["distortion_tv"][b], np.mean(spent), atol=1e-12)
        far = [wasserstein1(law, p, away) for law, (k, p, _) in zip(laws, own, strict=True) if k % 68 == 5]
        assert len(far) == 3
        assert abs(columns["distortion_w1"][b] - np.mean(far)) <= 0.02 * away.max()
        drafted = [(p, q) for _, p, q in own if q is not None]
        alphas = [1 - float(tv(p, q)) for p, q in drafted]
        np.testing.assert_allclose(columns["acceptance_lossless"][b], np.mean(alphas), atol=1e-12)
        means.append(np.mean(spent))
    assert np.mean(means) > 0.02
    assert columns["distortion_exact"].all()
    # acceptance gained is at most the TV spent
    assert (columns["acceptance"] - columns["acceptance_lossless"] <= columns["distortion_tv"].max() * 3).all()


@pytest.mark.parametrize("name", VERIFYING)
def test_the_lossless_rule_distorts_nothing(name: str) -> None:
    columns = RECORDERS["distortion"](small(name, Speculative()))
    np.testing.assert_allclose(columns["distortion_tv"], 0, atol=1e-12)
    np.testing.assert_allclose(columns["distortion_w1"], 0, atol=1e-12)
    np.testing.assert_allclose(columns["acceptance"], columns["acceptance_lossless"], atol=1e-12)
    assert (columns["distortion_exact"] == (name not in ("sjd-pd", "sjd-pac"))).all()


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("sjd-pp", {"declared": "newest"}),
        ("sjd-vp", {"declared": "newest"}),
        ("sjd", {"renewal": "maximal-reference"}),
        ("sjd2", {"criterion": "noisy"}),
        ("sjd2", {"criterion": "clean"}),
    ],
)
def test_no_distortion_is_told_of_drafts_that_follow_other_rows(name: str, parameters: dict[str, Any]) -> None:
    """With the lossless rule it would come out as none, and these are lossy, or verify by blurred rows."""
    found = RECORDERS["distortion"](small(name, Speculative(), **parameters))
    assert all(np.isnan(found[column]).all() for column in ("distortion_tv", "acceptance", "acceptance_lossless"))


def test_gains_are_those_of_the_drafts() -> None:
    sample = small("sjd-ac", make_rule("grouped", labels=[0, 0, 0, 1, 1, 2]))
    columns = RECORDERS["group_gain"](sample)
    for b in range(3):
        gains: list[float] = []

        def watch(before: Any, after: Any, info: Any, gains: list[float] = gains) -> None:
            start, committed, width = int(before.length[0]), int(info.committed[0]), sample.decoder.window  # type: ignore[attr-defined]
            p = sample.pair.target.forward(before.tokens, before.length, width)[0]
            for j in range(min(committed, width)):
                q, x = before.q[0, j], before.tokens[0, start + j]
                pair = p[j : j + 1], q[None], np.array([x])
                gains.append(float((sample.rule.accept_rows(*pair) - Speculative().accept_rows(*pair))[0]))

        run(sample.decoder, sample.pair.target, sample.rule, Tape(4, [b]), watch=watch)
        np.testing.assert_allclose(columns["gain_mean"][b], np.mean(gains), atol=1e-12)
        assert columns["gain_negative"][b] == sum(gain < 0 for gain in gains) > 0
        assert sum(columns["gain_histogram"][b]) == len(gains)
        above = sum(columns["gain_histogram"][b][20:])
        assert above == sum(gain >= 0 for gain in gains)


# Rows from call to call --------------------------------------------------------------------------------------------


def kept_by_hand(sample: Sample, b: int) -> np.ndarray:
    """``[2, W]``: 1 - TV(p', p) and sum p' p, means over the calls of the reference form."""
    decoder, target = sample.decoder, sample.pair.target
    width = decoder.window  # type: ignore[attr-defined]
    seen: list[tuple[int, np.ndarray]] = []

    def watch(before: Any, after: Any, info: Any) -> None:
        own = target.forward(before.tokens, before.length, width + 1)[0]
        seen.append((int(before.length[0]), own.copy()))

    run(decoder, target, sample.rule, Tape(4, [b]), watch=watch)
    pairs: list[list[tuple[float, float]]] = [[] for _ in range(width)]
    for (earlier, old), (start, new) in pairwise(seen):
        for j in range(width):
            k = start + j - earlier
            if k <= width and start + j < target.length:
                pairs[j].append((1 - float(tv(old[k], new[j])), float(old[k] @ new[j])))
    return np.array([np.mean(own, axis=0) if own else (np.nan, np.nan) for own in pairs]).T


@pytest.mark.parametrize("name", ["sjd", "sjd-ac", "sjd-unrefined"])
def test_keep_is_the_overlap_of_the_rows_of_two_calls(name: str) -> None:
    sample = small(name)
    columns = RECORDERS["keep"](sample)
    for b in range(3):
        np.testing.assert_allclose([columns["keep"][b], columns["keep_drawn"][b]], kept_by_hand(sample, b), atol=1e-12)


def second_order(prefix: tuple[int, ...]) -> list[float]:
    """Two tokens; a row depends on the last two."""
    mass = 0.5 + 0.3 * (prefix[-1] - 0.5 if prefix else 0) + 0.1 * (prefix[-2] if len(prefix) > 1 else 0.5)
    return [1 - mass, mass]


def test_a_replaced_token_is_felt_as_far_as_the_process_looks_back() -> None:
    world = TableProcess(2, 90, second_order)
    sample = sampled(make_decoder("autoregressive"), Speculative(), Pair(world, None), 2)
    columns = RECORDERS["perturbation"](sample)
    for b, tokens in enumerate(sample.simulation.tokens):
        found, first = np.array(columns["perturbation_tv"][b]), []
        for place in np.unique(np.linspace(0, 25, 24).astype(int)):
            other = tokens.copy()
            other[place] = 1 - other[place]
            first.append(float(tv(row(world, tokens, place + 1), row(world, other, place + 1))))
        assert found.shape == (64,)
        # with two tokens the other one is known, and what the one before the last does does not depend on the rest
        np.testing.assert_allclose(found[:2], [np.mean(first), 0.1], atol=1e-12)
        np.testing.assert_allclose(found[2:], 0, atol=1e-12)
        assert columns["perturbation_other_call_tv"][b] == columns["perturbation_tv"][b]
        assert columns["repeat_tv"][b] == 0


def local_sample(jitter: float, floor: float = 0.0, top_k: int | None = None) -> Sample:
    processors = {} if top_k is None else {"processors": {"top_k": top_k}}
    pair = make_process(
        "local", vocabulary=64, shape=[3, 24], entropy=4.0, floor=floor, radius=1, jitter=jitter, **processors
    )
    return sampled(make_decoder("autoregressive"), Speculative(), pair, 2)


def test_noise_of_calls_and_a_floor_are_told_apart() -> None:
    """Noise moves rows between calls on the same tokens; a floor moves them only when a token is replaced."""
    noisy, floor, neither = (
        RECORDERS["perturbation"](made) for made in (local_sample(0.2), local_sample(0.0, 0.5), local_sample(0.0))
    )
    assert min(noisy["repeat_tv"]) > 0.02
    assert max(floor["repeat_tv"] + neither["repeat_tv"]) == 0
    far = slice(29, None)  # neighbours are 1, 23, 24 and 25 tokens before
    assert np.max([noisy["perturbation_tv"], neither["perturbation_tv"]], axis=(0, 1))[far].max() < 1e-12
    assert np.mean(noisy["perturbation_other_call_tv"], axis=0)[far].min() > 0.02
    assert np.mean(floor["perturbation_tv"], axis=0)[far].min() > 0.002
    assert floor["perturbation_other_call_tv"] == floor["perturbation_tv"]


def test_a_token_that_cannot_be_another_stays() -> None:
    columns = RECORDERS["perturbation"](local_sample(0.0, 0.5, top_k=1))
    assert max(map(max, columns["perturbation_tv"])) == 0


@pytest.mark.filterwarnings("error")
def test_behind_a_single_token_nothing_is_replaced() -> None:
    world = TableProcess(2, 1, lambda prefix: [0.5, 0.5])
    columns = RECORDERS["perturbation"](sampled(make_decoder("autoregressive"), Speculative(), Pair(world, None), 2))
    assert columns["perturbation_tv"] == columns["perturbation_other_call_tv"] == [[], []]
    assert np.isnan(columns["repeat_tv"]).all()


def test_a_pair_is_as_far_apart_as_its_rows() -> None:
    pair = make_process("categorical", vocabulary=9, length=70, entropy=2.0, tv=0.3)
    sample = sampled(make_decoder("speculative", gamma=2), Speculative(), pair, 2)
    columns = RECORDERS["pair_tv"](sample)
    tokens = sample.simulation.tokens[0]
    both = [(row(pair.target, tokens, i), row(pair.draft, tokens, i)) for i in range(70)]  # type: ignore[arg-type]
    np.testing.assert_allclose(columns["pair_tv"], 0.3, atol=1e-9)
    np.testing.assert_allclose(columns["pair_entropy"], 2.0, atol=1e-9)
    relative = [np.log(q / p).std() for p, q in both]
    np.testing.assert_allclose(columns["pair_relative"], np.mean(relative), rtol=1e-9)
    np.testing.assert_allclose(columns["pair_absolute"], np.mean([abs(p - q) for p, q in both]), rtol=1e-9)


def test_a_pair_without_a_draft_has_only_an_entropy() -> None:
    world = TableProcess(2, 4, lambda prefix: [0.5, 0.5])
    columns = RECORDERS["pair_tv"](sampled(make_decoder("autoregressive"), Speculative(), Pair(world, None), 1))
    assert columns["pair_entropy"].tolist() == [1.0]
    assert all(np.isnan(columns[name]).all() for name in ("pair_tv", "pair_relative", "pair_absolute"))


@pytest.mark.filterwarnings("error")
def test_rows_without_a_token_in_common_have_no_relative_difference() -> None:
    target, draft = (TableProcess(2, 4, lambda prefix, row=row: row) for row in ([1.0, 0.0], [0.0, 1.0]))  # type: ignore[misc]
    columns = RECORDERS["pair_tv"](sampled(make_decoder("autoregressive"), Speculative(), Pair(target, draft), 1))
    assert columns["pair_tv"].tolist() == [1.0]
    assert np.isnan(columns["pair_relative"]).all()


# All of them -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RECORDERS)
def test_an_entry_depends_on_its_own_replicate_only(name: str) -> None:
    pair = make_process("codebook", vocabulary=V, length=41, clusters=3, dimension=2, temperature=1.0, draft_noise=1.0)
    decoder = make_decoder("sjd-pac", window=4, candidates=2, depth=2)
    together, alone = (RECORDERS[name](sampled(decoder, LOSSY, pair, own)) for own in ([3, 5, 9], [5]))
    for column, values in together.items():
        np.testing.assert_array_equal(values[1], alone[column][0])
