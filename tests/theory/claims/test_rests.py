"""What verdicts rest on: with a rule, a formula or a number broken, none of them is what it was."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from fractions import Fraction as F
from functools import cache
from itertools import count
from math import log, nan
from typing import Any

import numpy as np
import pytest

from simlab.continuous import affine_chain, schedule
from simlab.continuous.models.diffusion import ddim_chain
from simlab.continuous.rules import LastStep, Marginal, Path, TwoPath, VarianceProduct
from simlab.rules import Amplify, DynamicGrouped, Lantern, Speculative
from tests.support.verdicts import KEPT, decided, notices
from theory.claims import CheckFailed
from theory.claims.cspd import (
    alignment,
    bias,
    log_ratio,
    noiseless,
    paths,
    prefill,
    proved,
    ratios,
    resampling,
    samplers,
    settings,
    tables,
    trained_pair,
)
from theory.claims.cspd.draft_length import sharp
from theory.claims.gsd import acceptance, naive_lossy, output, reference_code
from theory.claims.gsd import large_vocabulary as gsd_scale
from theory.claims.lantern import large_vocabulary as lantern_scale
from theory.claims.lantern import large_vocabulary_output as lantern_scale_output
from theory.claims.leviathan import expected_tokens
from theory.claims.lossy import cactus
from theory.continuous import line
from theory.continuous.paths import Coupling
from theory.continuous.rejection_cost import Emitted
from theory.published.ledger import published

pytestmark = pytest.mark.exact


def changed(function: Callable[..., Any], change: Callable[[Any], Any]) -> Callable[..., Any]:
    """A function whose values are changed."""
    return lambda *given, **named: change(function(*given, **named))


def by(factor: float, function: Callable[..., Any]) -> Callable[..., Any]:
    return changed(function, lambda value: factor * value)


def more(function: Callable[..., Any]) -> Callable[..., Any]:
    return changed(function, lambda value: value + 0.01)


def lost(function: Callable[..., Any], which: int) -> Callable[..., Any]:
    """A function that gives no number at one of its calls, amid others that are right."""
    calls = count()
    return lambda *given, **named: nan if next(calls) == which else function(*given, **named)


def wider(self: Marginal, pair: Any, candidate: np.ndarray) -> np.ndarray:
    """The ratio of marginals, with the draft's covariance a tenth too large."""
    target, draft = (model.chain.marginal(model.condition) for model in pair)
    law = draft._replace(covariance=1.1 * draft.covariance)
    return target.log_density(candidate[0]) - law.log_density(candidate[0])  # type: ignore[no-any-return]


def noisy_flow(variance: float, steps: int) -> Any:
    return samplers.noisy(ddim_chain(np.array([0.5]), schedule("linear", steps=4), 0.5))


def shifted(target: Any, condition: np.ndarray, x: np.ndarray) -> np.ndarray:
    return TARGET_LAW(target, condition, x - 0.01)


INFLATED = changed(LastStep.log_ratio, lambda value: value + log(1.05))
DEFLATED = changed(LastStep.log_ratio, lambda value: value - log(1.05))
TARGET_LAW, ACCEPTANCE = line.target_law, settings.last_step_acceptance
LOGS, VOLUME = log_ratio.logs, log_ratio._log_volume
SHARED = alignment.moment_of_shared
ACCEPTANCE_RATES = resampling.acceptance_rates

BREAKS: list[tuple[str, Any, str, Any]] = [
    ("cspd.output-law.last-step", LastStep, "log_ratio", INFLATED),
    ("cspd.output-law.last-step", line, "target_law", shifted),
    ("cspd.termination.without-sigma", LastStep, "log_ratio", DEFLATED),
    ("cspd.output-law", VarianceProduct, "log_ratio", LastStep.log_ratio),
    ("cspd.output-law.marginal", Marginal, "log_ratio", wider),
    ("cspd.path-rule", Path, "log_ratio", LastStep.log_ratio),
    ("cspd.alignment-helps", alignment, "accepted", lambda coupling: 0.9),
    ("cspd.alignment-helps", alignment, "two_phi", lambda gap: 0.5),
    ("cspd.alignment-helps", alignment, "affine_chain", lambda *given, **offset: affine_chain(*given)),
    # an example in which Sigma is not 1
    ("cspd.alignment-helps", alignment, "moment_of_shared", lambda *given: SHARED(*given[:3])),
    ("cspd.alignment-helps.centred", alignment, "last_step_acceptance", by(1.05, ACCEPTANCE)),
    ("cspd.ratio-table", alignment, "MANY", 100),  # steps that leave the rates off their limits
    ("cspd.ratio-table", alignment, "two_phi", lambda gap: 0.5),
    ("cspd.ratio-table", alignment, "_powers", lambda log_moment, count, s: 0 * s),
    ("cspd.ratio-table.means", alignment, "chance_below", lambda *given: 0.9),
    ("cspd.residual", resampling, "proposal_acceptance", by(0.9, resampling.proposal_acceptance)),
    # an example in which the threshold is 0
    ("cspd.corollary-1.paths", resampling, "acceptance_rates", lambda gap, *given: ACCEPTANCE_RATES(gap + 1.0, *given)),
    # rates that rise with the scale and fall with the temperature, since they are those of what is rejected
    ("cspd.temperature", settings, "last_step_acceptance", changed(ACCEPTANCE, lambda rate: 1 - rate)),
    ("cspd.guidance", settings, "last_step_acceptance", changed(ACCEPTANCE, lambda rate: 1 - rate)),
    ("cspd.ratio-collapse", TwoPath, "log_ratio", more(TwoPath.log_ratio)),
    ("cspd.path-ratio.unbiased", Path, "log_ratio", more(Path.log_ratio)),
    ("cspd.path-ratio.unbiased", LastStep, "log_ratio", more(LastStep.log_ratio)),
    ("cspd.unbiased-suffices", ratios, "emitted_mass", lambda p, *others: Emitted(p, 1.0)),
    ("cspd.path-ratio.two-path", TwoPath, "log_ratio", more(TwoPath.log_ratio)),
    ("cspd.path-ratio.two-path", ratios, "independent_noise", lambda *case: Coupling(*case[:3])),
    ("cspd.path-ratio.eq-15-first-order", bias, "first_order", by(1.05, bias.first_order)),
    ("cspd.path-ratio.eq-15-first-order", bias, "bounds", lambda *sds: (9.0 * (sds[1] - sds[0]),) * 2),
    ("cspd.path-ratio.bound", bias, "bounds", lambda *sds: (1.1, 1.1)),
    ("cspd.path-ratio.determined", TwoPath, "log_ratio", more(TwoPath.log_ratio)),
    ("cspd.path-ratio.determined", bias, "affine_chain", lambda steps, slope, *given: affine_chain(steps, slope, 1)),
    ("cspd.log-ratio.own-end-sign", log_ratio, "logs", changed(LOGS, lambda one: one._replace(shared_end=one.printed))),
    ("cspd.log-ratio.own-end-sign", log_ratio, "logs", changed(LOGS, lambda one: one._replace(shared_end=0.1))),
    ("cspd.log-ratio.higher-mean", TwoPath, "log_ratio", changed(TwoPath.log_ratio, lambda value: value + 1)),
    ("cspd.log-ratio.higher-mean", log_ratio, "mean_ratio", by(1.01, log_ratio.mean_ratio)),
    ("cspd.log-ratio.higher-mean", log_ratio, "own_ratio", by(0.99, log_ratio.own_ratio)),
    ("cspd.log-ratio.own-end-sign", log_ratio, "missed", more(log_ratio.missed)),
    ("cspd.log-ratio.own-end", log_ratio, "_log_volume", by(1.01, VOLUME)),
    ("cspd.log-ratio.own-end-sign", log_ratio, "_log_volume", by(1.01, VOLUME)),
    ("cspd.log-ratio.own-end-sign", log_ratio, "logs", changed(LOGS, lambda one: one._replace(own_end=-9))),
    ("cspd.samplers.stochastic", Path, "log_ratio", more(Path.log_ratio)),
    ("cspd.samplers.stochastic", samplers, "_noiseless", lambda chain: 0),
    ("cspd.samplers", samplers, "flow", noisy_flow),
    ("cspd.samplers.marginal", Marginal, "log_ratio", more(Marginal.log_ratio)),
    ("cspd.theorem-1", paths, "reduction", by(0.5, paths.reduction)),
    ("cspd.theorem-1", paths, "_excess", lambda seed: (0.0, 0.0)),
    ("cspd.theorem-1", paths, "affine_chain", lambda steps, slope=1, *more: affine_chain(steps, 0, *more)),
    ("cspd.theorem-1.corrected", paths, "reduction", changed(paths.reduction, abs)),
    ("cspd.theorem-1.corrected", paths, "_lowered", changed(paths._lowered, lambda values: [1.01 * v for v in values])),
    ("cspd.trajectory-distance", paths, "mean_norm", by(1.3, paths.mean_norm)),
    ("cspd.correlation", paths, "correlations", by(0.9, paths.correlations)),
    ("cspd.correlation", paths, "affine_chain", lambda steps, slope=1, *more: affine_chain(steps, (1, 0), *more)),
    ("cspd.prefill.printed", prefill, "falling", lambda *given: []),
    ("cspd.prefill.raises", prefill, "rates", lambda *pair: [0.5] * pair[0].length),
    ("cspd.pair.gamma", trained_pair, "sharp", lambda gamma, accepts: sharp(gamma, "1")),
    ("cspd.temperature", settings, "last_step_acceptance", lost(ACCEPTANCE, 1)),
    ("cspd.alignment-helps.centred", alignment, "last_step_acceptance", lost(ACCEPTANCE, 37)),
    ("cspd.noiseless.merging", noiseless, "last_step_acceptance", lost(ACCEPTANCE, 8)),
    ("cspd.proved.bias", proved, "tv_from_target", lost(line.tv_from_target, 2)),
    ("cspd.path-ratio.eq-15-first-order", bias, "first_order", lost(bias.first_order, 1)),
    ("cspd.trajectory-distance", paths, "mean_norm", lost(paths.mean_norm, 37)),
    ("cactus.emitted", cactus, "kl", lost(cactus.kl, 3)),
]
SLOWER = "cspd.tables.ratios", tables, "accepted", by(1.1, tables.accepted)


@pytest.mark.parametrize(
    ("id", "place", "name", "broken"),
    [*BREAKS, pytest.param(*SLOWER, marks=pytest.mark.slow)],
    ids=[f"{id}: {name}" for id, _, name, _ in (*BREAKS, SLOWER)],
)
def test_what_a_verdict_rests_on_can_fail(
    id: str, place: Any, name: str, broken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert notices(id, place, name, broken, monkeypatch)


# Other settings, in which single numbers are others ---------------------------------------------------------------


def measured(change: Callable[[dict[str, Any]], None]) -> Callable[..., Any]:
    """The numbers of the trained pair, changed."""

    def broken() -> dict[str, Any]:
        found = copy.deepcopy(MEASURED())
        change(found["settings"])
        return found

    return broken


def higher(setting: str) -> Callable[..., Any]:
    """A setting that is accepted more often."""

    def change(settings: dict[str, Any]) -> None:
        settings[setting]["acceptance"]["mean"] += 1.0

    return measured(change)


def no_sigma(settings: dict[str, Any]) -> None:
    settings["gamma 4"]["sigma_adds"]["mean"] -= 1.0


def no_number(settings: dict[str, Any]) -> None:
    settings["gamma 8"]["acceptance"]["mean"] = nan


def without(window: str) -> Callable[..., Any]:
    """Windows of which one kind loses nothing."""

    def broken(name: str, *given: Any) -> tuple[Any, Any]:
        rule, parameters = WINDOW(name, *given)
        return (Speculative() if name == window else rule), parameters

    return broken


def farther(rule: Any, rows: Any) -> Any:
    found = MOVED(rule, rows)
    return found if isinstance(rule, DynamicGrouped) else found._replace(wasserstein=found.wasserstein + 1)


MEASURED, WINDOW, MOVED = trained_pair.measured, acceptance.window_rule, gsd_scale.moved
MIXED, REGIONS, NEAR = expected_tokens.mixed_blocks, expected_tokens.two_regions, lantern_scale.neighbours
LARGER_RATIO = changed(acceptance.mean_ratio, lambda mean: mean + F(1, 10))
PAIR, SCALE = "cspd.pair", lantern_scale
ALONE = {"below": 0, "above": 0, "max_gap": 0.15}
BETWEEN = {"paper": "gsd", "dataset": "MS-COCO-2017", "method": "addition", "metric": "FID"}


def twice_the_tokens(found: Any) -> Any:
    return found._replace(tokens=2 * found.tokens)


def shorter_stays(easy: Any, hard: Any, stay: Any, gamma: int) -> Any:
    return REGIONS(easy, hard, (1 - stay) / 2, gamma)


def ahead() -> Any:
    """GSD's table, with a row of addition above its front."""
    ledger = published()
    return ledger.altered({ledger.one({"epsilon": "0.1"}, **BETWEEN).line: 30.0})


def exchanged(**other: str) -> Callable[[], Any]:
    """Each measure's neighbours are those of another."""
    return lambda: {measure: NEAR()[other.get(measure, measure)] for measure in NEAR()}


def far_off(contexts: object, rule: object, *given: object) -> tuple[float, float]:
    """LANTERN moves mass farther in every context."""
    return (1.0, 1.0) if isinstance(rule, Lantern) else (0.0, 0.0)


OTHERS: list[tuple[str, Any, str, Any]] = [
    (f"{PAIR}.sigma", trained_pair, "measured", measured(no_sigma)),
    (f"{PAIR}.gamma", trained_pair, "measured", higher("gamma 16")),
    (f"{PAIR}.gamma", trained_pair, "measured", measured(no_number)),
    (f"{PAIR}.in-place", trained_pair, "measured", higher("in place")),
    (f"{PAIR}.prefill", trained_pair, "measured", higher("gamma 4")),
    (f"{PAIR}.alignment", trained_pair, "measured", higher("two-path, independent noise")),
    ("leviathan.expected-tokens.block", expected_tokens, "mixed_blocks", changed(MIXED, twice_the_tokens)),
    ("leviathan.expected-tokens.regions", expected_tokens, "two_regions", shorter_stays),
    ("leviathan.expected-tokens.empirical", expected_tokens, "CLOSE", 0.5),
    ("leviathan.expected-tokens.empirical", expected_tokens, "GAMMAS", (1, 8)),  # of one draft the formula is right
    ("gsd.naive-lossy.printed", naive_lossy, "published", ahead),
    ("gsd.dynamic.centred", acceptance, "window_rule", without("centred")),
    ("gsd.dynamic.centred", acceptance, "window_rule", without("clamped")),
    ("gsd-reference.acceptance", reference_code, "RULE", ALONE),
    ("gsd-reference.support", reference_code, "RULE", ALONE),
    ("gsd.unbiased", output, "mean_ratio", LARGER_RATIO),
    ("gsd.expected-ratio.capped", acceptance, "mean_ratio", LARGER_RATIO),
    ("gsd.compounding", output, "_tv_of_sequences", by(1.2, output._tv_of_sequences)),
    ("gsd.naive-lossy.empirical", gsd_scale, "parameters_to", lambda rows, accepted: (2.0, 0.1)),
    ("gsd.dynamic.scale", gsd_scale, "windows", lambda size: Amplify(0.99)),
    ("gsd.naive-lossy.explode.scale", gsd_scale, "ADDENDS", (1e-6,)),
    ("lantern.neighbours.naive", SCALE, "amplify_to", lambda contexts, accepted: 1.0),
]
SLOW: list[tuple[str, Any, str, Any]] = [
    ("gsd.naive-lossy.empirical", gsd_scale, "moved", farther),
    ("lantern.neighbours.naive", SCALE, "bounds", far_off),
    ("lantern.neighbours.empirical", SCALE, "neighbours", exchanged(l2="random", random="l2")),
    ("lantern.neighbours.empirical", SCALE, "neighbours", exchanged(random="l2")),
    ("lantern.output-bound.scale", lantern_scale_output, "_deterministic_laws", lambda rule, p, q: p),
]


@pytest.fixture
def fewer(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fewer contexts and sequences, and no memory of other tests."""
    SCALE.candidates.cache_clear()
    monkeypatch.setattr(gsd_scale, "CONTEXTS", 6)
    small = {**lantern_scale_output.SEQUENCE, "vocabulary": 64, "length": 64, "clusters": 8}
    monkeypatch.setattr(lantern_scale_output, "SEQUENCE", small)
    monkeypatch.setattr(lantern_scale_output, "LENGTHS", (1, 64))
    monkeypatch.setattr(expected_tokens, "GAMMAS", (8,))
    monkeypatch.setattr(expected_tokens, "LINE", {**expected_tokens.LINE, "shape": (1, 40)})
    yield
    SCALE.candidates.cache_clear()


@cache
def verdict_of_fewer(id: str) -> str:
    """With nothing broken; for all cases of a claim at once."""
    return decided(id, 3).verdict


def named(cases: list[tuple[str, Any, str, Any]]) -> list[str]:
    return [f"{id}: {name} {k}" for k, (id, _, name, _) in enumerate(cases)]


@pytest.mark.usefixtures("fewer")
@pytest.mark.parametrize(
    ("id", "place", "name", "broken"),
    [*OTHERS, *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW)],
    ids=named([*OTHERS, *SLOW]),
)
def test_other_numbers_give_another_verdict(
    id: str, place: Any, name: str, broken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert verdict_of_fewer(id) == KEPT[id]
    assert notices(id, place, name, broken, monkeypatch, 3)


@pytest.mark.slow
@pytest.mark.usefixtures("fewer")
def test_sampled_candidates_have_to_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    both = SCALE.candidates
    monkeypatch.setattr(
        lantern_scale_output, "candidates", lambda *given: dict.fromkeys(SCALE.CANDIDATES, both(*given)["likeliest"])
    )
    with pytest.raises(CheckFailed, match="does not see: sampled candidates"):
        decided("lantern.output-bound.scale", 3)


def test_naive_rows_above_the_front_are_found() -> None:
    ledger = published()
    assert len(naive_lossy.points(ledger, "MS-COCO-2017", "FID", ("gsd",))) == 3
    between = ledger.one({"epsilon": "0.1"}, **BETWEEN)
    for fid, above in ((31.7, 0), (31.6, 1)):  # the line between 701.35 calls, FID 33.12, and 925.89, 31.50
        assert len(naive_lossy.on_front(ledger.altered({between.line: fid}))) == above


def test_sequences_of_a_few_tokens_by_enumeration() -> None:
    law, p = (F(19, 72), F(32, 72), F(21, 72)), (F(1, 3),) * 3
    one, other = (np.array(row, dtype=float) for row in (law, p))
    pair = abs(np.multiply.outer(one, one) - np.multiply.outer(other, other)).sum() / 2
    assert output._tv_of_sequences(law, p, 2) == pytest.approx(pair)


def test_errors_of_the_trained_pair_are_small_enough_to_say_something() -> None:
    rates = [setting["acceptance"] for setting in MEASURED()["settings"].values()]
    assert max(rate["error"] for rate in rates) < 0.05
