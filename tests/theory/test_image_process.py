"""Speeds on the image-like process: what is measured, how two are compared, and which verdict follows.

Verdicts are tried on made-up speeds, so that each of them is seen: a claim that could only come out one way would be
no claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import comb as choose
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from scipy.stats import t as student

from simlab.decoders import Jacobi, Sjd, SjdAc, SjdPac, SjdPd, SjdUnrefined, run
from simlab.randomness import Tape
from simlab.rules import Speculative
from simlab.statistics import estimate
from theory.claims import CLAIMS, CheckFailed
from theory.claims.sjd import jacobi as sjd_jacobi
from theory.claims.sjd import speeds as sjd_speeds
from theory.claims.sjd_pac import locality as pac_locality
from theory.claims.sjd_pac import readings as pac_readings
from theory.claims.sjd_pac import speed as pac_scale
from theory.claims.sjd_pac.locality import masked
from theory.claims.sjd_pac.speed import ALARMS, POWER, comb, printed_compression, seen_from
from theory.image_process import Speed, compare, image, speed

pytestmark = pytest.mark.statistical

TOKENS = 576
SMALL = {"shape": (2, 24), "vocabulary": 64, "entropy": 4.0}


def made_up(ratio: float, count: int = 48, spread: float = 0.02, seed: int = 0) -> Speed:
    """A speed of ``count`` images with that many tokens a call, more or less."""
    calls = np.rint(TOKENS / (ratio * (1 + spread * np.random.default_rng(seed).standard_normal(count))))
    return Speed(TOKENS, calls.astype(np.int64), np.array([0, 5, 3, 2, 0, 0, 0, 0, 1]))


def test_speeds_are_those_of_the_reference_form() -> None:
    found = speed(Sjd(4), 3, 2, **SMALL)
    calls = [int(run(Sjd(4), image(k, **SMALL).target, Speculative(), Tape(3, [k])).steps[0]) for k in range(2)]
    assert found.calls.tolist() == calls
    assert found.lengths[0] == 0
    assert found.lengths.sum() == sum(calls)
    assert (found.lengths * np.arange(len(found.lengths))).sum() == 2 * found.tokens
    assert found.pooled == pytest.approx(2 * found.tokens / sum(calls))
    assert found.mean.mean == pytest.approx(np.mean([found.tokens / c for c in calls]))


def test_images_differ_and_share_their_model() -> None:
    one, other = (image(k, **SMALL) for k in range(2))
    nothing, start = np.zeros((1, 48), np.int64), np.zeros(1, np.int64)
    assert np.array_equal(one.codebook, other.codebook)  # type: ignore[arg-type]
    assert not np.allclose(one.target.forward(nothing, start, 1), other.target.forward(nothing, start, 1))


def test_a_comparison_is_sure_only_at_its_false_alarm_rate() -> None:
    fast, slow = made_up(2.5), made_up(2.0, seed=1)
    assert compare(fast, slow).sure == 1
    assert compare(slow, fast).sure == -1
    assert compare(fast, fast).sure == 0
    assert compare(fast, fast).p_value == 1
    assert compare(made_up(2.0, seed=2), slow).sure == 0
    assert compare(made_up(2.5, 12), made_up(2.0, 12)).sure == 0, "twelve images cannot reach 1e-6"
    one, other = np.array([10] * 40 + [20] * 8), np.full(48, 15)
    mixed = compare(Speed(TOKENS, one, np.ones(2)), Speed(TOKENS, other, np.ones(2)))
    assert (mixed.better, mixed.worse) == (40, 8)
    assert mixed.p_value == pytest.approx(2 * sum(choose(48, k) for k in range(9)) / 2**48)


@pytest.mark.parametrize("images", [6, 14, 28])
def test_the_gain_that_is_said_to_be_seen_is_seen_so_often(images: int) -> None:
    """Student's interval of few images: with the quantile of a normal law it would be 71 % of 6, not 90."""
    gains = np.random.default_rng(images).normal(seen_from(images) / images**0.5, 1, (images, 20_000))
    error = gains.std(axis=0, ddof=1) / images**0.5
    seen = np.mean(gains.mean(axis=0) > student.isf(ALARMS / 2, images - 1) * error)
    assert seen == pytest.approx(POWER, abs=0.012)


def test_the_printed_numbers_come_from_the_ledger() -> None:
    assert printed_compression("2", "sjd", L=32) == 2.31
    assert printed_compression("3", "sjd-pac", K=5, D=3, L=64) == 4.47


def test_a_comb_fills_its_budget() -> None:
    for budget in (32, 64):
        for kind in (SjdPd, SjdPac):
            made = comb(kind, budget)
            assert made.draft_tree().nodes == budget == made.budget


# Verdicts --------------------------------------------------------------------------------------------------------


def decided(
    monkeypatch: pytest.MonkeyPatch, module: Any, id: str, ratio: Callable[..., float], spread: float = 0.02
) -> str:
    """The verdict on ``id`` where decoders commit as many tokens a call as ``ratio`` says."""

    def fake(decoder: Any, seed: int, count: int = 48, *_: Any, **changes: Any) -> Speed:
        return made_up(ratio(decoder, **changes), count, spread, crc32(str(decoder).encode()) + seed)

    monkeypatch.setattr(module, "speed", fake)
    decide = CLAIMS[id].decide
    assert decide is not None
    return decide(0).verdict


def saturating(window: int) -> Callable[..., float]:
    return lambda decoder, **_: 2.4 * (1 - 0.5 * 0.75 ** min(decoder.window, window))


def test_where_the_window_saturates(monkeypatch: pytest.MonkeyPatch) -> None:
    assert decided(monkeypatch, sjd_speeds, "sjd.window", saturating(16)) == "not-refuted"


def test_almost_is_nine_tenths_of_the_widest_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """32 inputs add 10.6 % to 16, which commit 90.4 % of what 32 do, surely."""
    of = lambda decoder, **_: {3: 1.5, 15: TOKENS / 282, 31: TOKENS / 255}[decoder.window]  # noqa: E731
    assert decided(monkeypatch, sjd_speeds, "sjd.window", of, spread=0) == "not-refuted"


def test_a_share_is_of_what_is_not_known_exactly() -> None:
    """0.2 tokens less on every image are 9.5 % less in the mean: within a tenth, as far as 24 images can tell."""
    ratios = np.linspace(1.1, 3.1, 24)
    other, one = (Speed(10**9, np.rint(10**9 / some).astype(np.int64), np.ones(2)) for some in (ratios, ratios - 0.2))
    assert compare(one, other).gain.error < 1e-6
    assert sjd_speeds.beyond(one, other, 0.9) == 0
    assert sjd_speeds.beyond(one, other, 0.5) == 1
    assert sjd_speeds.beyond(one, other, 1.0) == -1


@pytest.mark.parametrize(("power", "verdict"), [(0.5, "refuted"), (0.2, "not-decided")])
def test_a_window_that_does_not_saturate_is_seen(power: float, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rising = lambda decoder, **_: 1 + decoder.window**power  # noqa: E731
    assert decided(monkeypatch, sjd_speeds, "sjd.window", rising) == verdict


def test_a_window_of_four_that_saturates_leaves_the_check_without_a_control(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CheckFailed, match="the check of saturation does not see: W = 4"):
        decided(monkeypatch, sjd_speeds, "sjd.window", lambda decoder, **_: 2.3)


@pytest.mark.parametrize(("few", "verdict"), [(1.7, "not-refuted"), (1.82, "refuted")])
def test_smaller_by_a_tenth_is_of_the_larger(few: float, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """2 is more than a tenth above 1.82, which is not more than a tenth below 2."""
    made = {"top-10": made_up(few, spread=0.001), "top-1024": made_up(2.0, spread=0.001)}
    monkeypatch.setattr(sjd_jacobi, "at_each_top", lambda decoder, seed: made)
    assert sjd_jacobi.stability_level(0).verdict == verdict


@pytest.mark.parametrize(("ratio", "verdict"), [(1.04, "not-refuted"), (1.1, "not-decided"), (1.3, "refuted")])
def test_whether_jacobi_decoding_accelerates(ratio: float, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of = lambda decoder, **_: ratio if isinstance(decoder, Jacobi) else 2.3  # noqa: E731
    assert decided(monkeypatch, sjd_speeds, "sjd.jacobi-sampling", of) == verdict


@pytest.mark.parametrize(("ratio", "verdict"), [(1.01, "not-refuted"), (1.1, "not-decided"), (1.3, "refuted")])
def test_whether_sjd_needs_refinement(ratio: float, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of = lambda decoder, **_: ratio if isinstance(decoder, SjdUnrefined) else 2.3  # noqa: E731
    assert decided(monkeypatch, sjd_speeds, "sjd.refinement.repeat", of) == verdict


@pytest.mark.parametrize(("left", "verdict"), [(2.3, "not-refuted"), (2.53, "not-decided"), (2.8, "refuted")])
def test_whether_the_initialisation_matters(left: float, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def of(decoder: Any, **_: Any) -> float:
        return 1.6 if decoder.window == 3 else left if decoder.initial == "repeat-left" else 2.3

    assert decided(monkeypatch, sjd_speeds, "sjd.spatial-speed.general", of) == verdict


@pytest.mark.parametrize(
    ("full", "verdict"),
    [((1, 4, 20), "not-refuted"), ((1, 1, 20), "not-decided"), ((1, 1, 3), "not-decided"), ((1, 1, 1), "refuted")],
)
def test_whether_lengths_of_calls_shift(full: list[int], verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of SJD commit 1, 1 and 3 tokens in turn, and a few commit 18."""

    def fake(decoder: Any, seed: int, images: int) -> list[np.ndarray]:
        often = full if isinstance(decoder, SjdPac) else (1, 1, 3)
        return [np.array([*often] * 30 + [18] * (2 + number % 2)) for number in range(images)]

    monkeypatch.setattr(pac_scale, "committed_of", fake)
    decide = CLAIMS["pac.reshapes"].decide
    assert decide is not None
    assert decide(0).verdict == verdict


def printed_order(decoder: Any, **_: Any) -> float:
    if isinstance(decoder, SjdPac):
        return 4.51 if decoder.budget in (63, 64) else 3.52  # with the root or without it
    return 2.71 if isinstance(decoder, SjdPd) else 2.31


def test_the_order_of_the_components(monkeypatch: pytest.MonkeyPatch) -> None:
    assert decided(monkeypatch, pac_scale, "pac.ablation.components", printed_order) == "not-refuted"
    with pytest.raises(CheckFailed, match="the order reversed"):  # a check that has then nothing to fail on
        decided(monkeypatch, pac_scale, "pac.ablation.components", lambda decoder, **_: 7 - printed_order(decoder))


def test_an_order_has_to_be_that_of_both_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    def of(decoder: Any, **_: Any) -> float:
        wide = isinstance(decoder, SjdPac) and decoder.tree == "full" and decoder.budget == 63
        return 3.0 if wide else printed_order(decoder)

    assert decided(monkeypatch, pac_scale, "pac.ablation.components", of) == "refuted"


@pytest.mark.parametrize(("drop", "verdict"), [(0.0, "not-decided"), (1.0, "not-refuted"), (-1.5, "refuted")])
def test_an_optimum_inside(drop: float, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def of(decoder: Any, **_: Any) -> float:
        if not isinstance(decoder, SjdPac):
            return 2.3
        return 4.5 if (decoder.candidates, decoder.depth) == (4, 3) else 4.5 - drop

    assert decided(monkeypatch, pac_scale, "pac.ablation.optimum", of) == verdict


@pytest.mark.parametrize(("long", "verdict"), [(4.6, "not-refuted"), (4.95, "not-decided"), (6.0, "refuted")])
def test_whether_a_longer_window_gains_little(long: float, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of = lambda decoder, **_: {128: long, 64: 4.5}.get(getattr(decoder, "budget", 0), 2.3)  # noqa: E731
    assert decided(monkeypatch, pac_scale, "pac.window", of) == verdict


@pytest.mark.parametrize(("alone", "verdict"), [(3.0, "not-refuted"), (5.0, "refuted"), (4.0, "not-decided")])
def test_continuation_alone(alone: float, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def of(decoder: Any, **_: Any) -> float:
        if isinstance(decoder, SjdPac):
            return 4.0
        return alone if isinstance(decoder, SjdAc) else 2.3

    assert decided(monkeypatch, pac_scale, "pac.ablation.continuation", of) == verdict


@pytest.mark.parametrize(
    ("local", "sjd", "verdict"),
    [(7.0, 2.2, "not-refuted"), (4.0, 2.2, "refuted"), (4.5, 2.2, "not-decided"), (7.0, 3.0, "refuted")],
)
def test_whether_a_strictly_local_process_predicts(
    local: float, sjd: float, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of(decoder: Any, **changes: Any) -> float:
        if isinstance(decoder, SjdPac):
            return local if changes.get("floor") == 0 else 4.4
        return sjd

    assert decided(monkeypatch, pac_scale, "pac.ablation.strictly-local", of) == verdict


@pytest.fixture(scope="module")
def laws_once() -> Iterator[None]:
    """Laws and mean numbers of steps, which no speed changes, are worked out once for all speeds."""

    def once(of: Callable[..., Any]) -> Callable[..., Any]:
        found: dict[Any, Any] = {}

        def remembered(decoder: Any, some: Any) -> Any:
            tables = [(one.vocabulary, one.length, one.row(())) for one in (some if isinstance(some, list) else [some])]
            key = type(decoder), str(decoder), str(tables)
            if key not in found:
                found[key] = of(decoder, some)
            return found[key]

        return remembered

    with pytest.MonkeyPatch.context() as patch:
        for name in ("deviation", "steps"):
            patch.setattr(pac_readings, name, once(getattr(pac_readings, name)))
        yield


@pytest.mark.usefixtures("laws_once")
@pytest.mark.parametrize(
    ("pd", "half", "verdict"), [(2.71, 3.52, "not-refuted"), (3.2, 3.52, "refuted"), (2.71, 3.9, "refuted")]
)
def test_whether_a_reading_predicts(pd: float, half: float, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def of(decoder: Any, **_: Any) -> float:
        if isinstance(decoder, SjdPac):
            return half if decoder.budget in (31, 32) else 4.51  # with the root or without it
        return pd if isinstance(decoder, SjdPd) else 2.31

    assert decided(monkeypatch, pac_readings, "pac.readings.steps", of) == verdict
    exists = "not-refuted" if verdict == "not-refuted" else "not-decided"  # one reading that fails refutes no other
    assert decided(monkeypatch, pac_readings, "pac.readings", of) == exists


@pytest.mark.parametrize(
    ("tv", "verdict"),
    [
        ({1: 0.4, 4: 0.01, 48: 0.4}, "not-refuted"),
        ({1: 0.4, 4: 0.01}, "not-decided"),
        ({48: 0.4}, "not-decided"),
        ({1: 0.4, 16: 0.6, 48: 0.4}, "refuted"),
        ({32: 0.4}, "refuted"),
        ({1: 0.4, 16: 0.05, 48: 0.4}, "not-decided"),
    ],
)
def test_whether_influence_falls_and_rises(tv: dict[int, float], verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    felt = {offset: estimate(tv.get(offset, 0.01) + np.array([-1e-4, 0, 1e-4] * 6)) for offset in pac_locality.OFFSETS}
    monkeypatch.setattr(pac_locality, "perturbed", lambda seed: felt)
    monkeypatch.setattr(pac_locality, "twice", str)
    assert pac_locality.row(0).verdict == verdict


def test_a_masked_token_is_not_looked_at() -> None:
    target = image(0, **SMALL).target
    blind, start = masked(target, 20), np.array([21])
    tokens = np.random.default_rng(0).integers(64, size=(1, 48))
    other = tokens.copy()
    other[0, 20] = (tokens[0, 20] + 1) % 64
    assert np.array_equal(blind.forward(tokens, start, 4), blind.forward(other, start, 4))
    assert not np.allclose(target.forward(tokens, start, 1), target.forward(other, start, 1))
    assert np.array_equal(*(p.forward(tokens, np.array([20]), 1) for p in (blind, target)))  # its own row, same noise
