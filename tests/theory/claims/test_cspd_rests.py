"""What verdicts on CSpD rest on: with a rule, a formula or a number broken, none of them is what it was."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any

import numpy as np
import pytest

from simlab.continuous import affine_chain, schedule
from simlab.continuous.models.diffusion import ddim_chain
from simlab.continuous.rules import LastStep, Marginal, Path, TwoPath, VarianceProduct
from tests.support.verdicts import notices
from theory.claims.cspd import (
    alignment,
    bias,
    log_ratio,
    paths,
    prefill,
    ratios,
    residual,
    samplers,
    settings,
    tables,
    trained_pair,
)
from theory.claims.cspd.draft_length import sharp
from theory.continuous import line
from theory.continuous.paths import Coupling, on_the_line

pytestmark = pytest.mark.exact


def changed(function: Callable[..., Any], change: Callable[[Any], Any]) -> Callable[..., Any]:
    """A function whose values are changed."""
    return lambda *given, **named: change(function(*given, **named))


def by(factor: float, function: Callable[..., Any]) -> Callable[..., Any]:
    return changed(function, lambda value: factor * value)


def more(function: Callable[..., Any]) -> Callable[..., Any]:
    return changed(function, lambda value: value + 0.01)


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
TARGET_LAW, ACCEPTANCE, VOLUME = line.target_law, settings.last_step_acceptance, log_ratio._log_volume
ACCEPTANCE_RATES = residual.acceptance_rates

BREAKS: list[tuple[str, Any, str, Callable[..., Any]]] = [
    ("cspd.output-law.last-step", LastStep, "log_ratio", INFLATED),
    ("cspd.output-law.last-step", line, "target_law", shifted),
    ("cspd.termination.without-sigma", LastStep, "log_ratio", DEFLATED),
    ("cspd.output-law", VarianceProduct, "log_ratio", LastStep.log_ratio),
    ("cspd.output-law.marginal", Marginal, "log_ratio", wider),
    ("cspd.path-rule", Path, "log_ratio", LastStep.log_ratio),
    ("cspd.alignment-helps", alignment, "accepted", lambda coupling: 0.9),
    ("cspd.alignment-helps", alignment, "two_phi", lambda gap: 0.5),
    ("cspd.alignment-helps", alignment, "affine_chain", lambda *given, **offset: affine_chain(*given)),
    ("cspd.alignment-helps.centred", alignment, "last_step_acceptance", by(1.05, ACCEPTANCE)),
    ("cspd.ratio-table", alignment, "two_phi", lambda gap: 0.5),
    ("cspd.ratio-table", alignment, "_powers", lambda log_moment, count, s: 0 * s),
    ("cspd.ratio-table.means", alignment, "chance_below", lambda *given: 0.9),
    ("cspd.tables.ratios", tables, "acceptance_over_gap", by(1.1, tables.acceptance_over_gap)),
    ("cspd.residual", residual, "proposal_acceptance", by(0.9, residual.proposal_acceptance)),
    # an example in which the threshold is 0
    ("cspd.corollary-1", residual, "acceptance_rates", lambda gap, *given: ACCEPTANCE_RATES(gap + 1.0, *given)),
    # rates that rise with the scale and fall with the temperature, since they are those of what is rejected
    ("cspd.temperature", settings, "last_step_acceptance", changed(ACCEPTANCE, lambda rate: 1 - rate)),
    ("cspd.guidance", settings, "last_step_acceptance", changed(ACCEPTANCE, lambda rate: 1 - rate)),
    ("cspd.ratio-collapse", TwoPath, "log_ratio", more(TwoPath.log_ratio)),
    ("cspd.path-ratio.unbiased", Path, "log_ratio", more(Path.log_ratio)),
    ("cspd.path-ratio.unbiased", LastStep, "log_ratio", more(LastStep.log_ratio)),
    ("cspd.path-ratio.unbiased", ratios, "emitted", lambda p, *others: p),
    ("cspd.path-ratio.two-path", TwoPath, "log_ratio", more(TwoPath.log_ratio)),
    ("cspd.path-ratio.two-path", ratios, "independent_noise", lambda *case: Coupling(*case[:3])),
    ("cspd.path-ratio.eq-15-first-order", bias, "first_order", by(1.05, bias.first_order)),
    ("cspd.path-ratio.bound", bias, "bounds", lambda *sds: (1.1, 1.1)),
    ("cspd.log-ratio", log_ratio, "logs", changed(log_ratio.logs, lambda one: one._replace(shared_end=one.printed))),
    ("cspd.log-ratio", log_ratio, "logs", changed(log_ratio.logs, lambda one: one._replace(shared_end=0.1))),
    ("cspd.log-ratio", TwoPath, "log_ratio", changed(TwoPath.log_ratio, lambda value: value + 1)),
    ("cspd.log-ratio", log_ratio, "mean_ratio", by(1.01, log_ratio.mean_ratio)),
    ("cspd.log-ratio", log_ratio, "missed", more(log_ratio.missed)),
    ("cspd.log-ratio.own-end", log_ratio, "_log_volume", by(1.01, VOLUME)),
    ("cspd.log-ratio.own-end-sign", log_ratio, "_log_volume", by(1.01, VOLUME)),
    ("cspd.log-ratio.own-end-sign", log_ratio, "logs", changed(log_ratio.logs, lambda one: one._replace(own_end=-9))),
    ("cspd.samplers.stochastic", Path, "log_ratio", more(Path.log_ratio)),
    ("cspd.samplers.stochastic", samplers, "_noiseless", lambda chain: 0),
    ("cspd.samplers", samplers, "flow", noisy_flow),
    ("cspd.samplers.marginal", Marginal, "log_ratio", more(Marginal.log_ratio)),
    ("cspd.theorem-1", paths, "reduction", by(0.5, paths.reduction)),
    ("cspd.theorem-1", paths, "_excess", lambda seed: (0.0, 0.0)),
    ("cspd.theorem-1", paths, "on_the_line", lambda slopes, sds: on_the_line((0, 0), sds)),
    ("cspd.theorem-1.corrected", paths, "reduction", changed(paths.reduction, abs)),
    ("cspd.theorem-1.corrected", paths, "_lowered", changed(paths._lowered, lambda values: [1.01 * v for v in values])),
    ("cspd.trajectory-distance", paths, "mean_norm", by(1.3, paths.mean_norm)),
    ("cspd.correlation", paths, "correlations", by(0.9, paths.correlations)),
    ("cspd.correlation", paths, "on_the_line", lambda slopes, sds: on_the_line((1, 0), sds)),
    ("cspd.prefill.raises", prefill, "rates", lambda *pair: [0.5] * pair[0].length),
    ("cspd.pair.gamma", trained_pair, "sharp", lambda gamma, accepts: sharp(gamma, "1")),
]


@pytest.mark.parametrize(("id", "place", "name", "broken"), BREAKS, ids=[f"{id}: {name}" for id, _, name, _ in BREAKS])
def test_what_a_verdict_rests_on_can_fail(
    id: str, place: Any, name: str, broken: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert notices(id, place, name, broken, monkeypatch)
