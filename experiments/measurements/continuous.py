"""Continuous tokens: output laws of rules, acceptance, cost, sequences, and CSpD's eq. 51, as tables.

Each function returns a tidy frame. Numbers are exact, in closed form or by quadrature, whose error has a column of its
own; only :func:`sequences` also samples, with standard errors. What is compared is models on the line, or in d equal
dimensions, whose kernels and mismatch are known: x_{t-1} = slope x_t + offset + sd e.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import inf, sqrt
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from simlab.checks import check_at_least
from simlab.continuous import InPlace, Pair, Truncating, affine_chain, ddpm, schedule
from simlab.continuous.compiled import simulate
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.diffusion import noiseless_end
from simlab.continuous.rules import LastStep, Marginal, ReferenceCode, Rule, VarianceProduct
from simlab.randomness import Tape
from theory.acceptance import speedup
from theory.claims.published.cspd import alpha_needed, best_cost
from theory.continuous.example_processes import UNCONDITIONAL
from theory.continuous.gaussian_overlap import cost_over_gap, last_step_acceptance
from theory.continuous.isotropic import isotropic_acceptance, overlap
from theory.continuous.joint_gaussian import last_means, log_sigma
from theory.continuous.line import Law, distances, marginal_tv, target_law, tv_from_target
from theory.continuous.sequences import SequenceLaw, autoregressive, in_place, kl
from theory.continuous.two_path import two_path_law
from theory.published.ledger import Ledger, Row, published

STEPS, SLOPE, SD = 8, 0.8, 0.5  # of the target
LIMIT = 100  # proposals: what the published code allows
RANGE = 4.0  # standard deviations of the target's token either way
POINTS = 181  # that the two-path law is given at

Record = dict[str, Any]


def chain(slope: Any = SLOPE, sd: Any = SD, offset: Any = 0.0) -> Chain:
    """A model on the line, the target if nothing is said."""
    return affine_chain(STEPS, slope, sd, offset)


def last_step_apart(last: float, others: float) -> np.ndarray:
    """``[T]``: one number for the last step and one for all others."""
    return np.array([last] + [others] * (STEPS - 1))


# What is emitted ------------------------------------------------------------------------------------------------

DRAFTS = {
    "the draft has more noise": chain(sd=0.6),
    "the draft has less noise": chain(sd=0.45),
    "the draft's means are higher": chain(offset=0.1),
}
RULES: dict[str, Rule] = {
    "last step, shared noise": LastStep(),
    "last step, own noise": LastStep(aligned=False),
    "Algorithm 1, shared noise": VarianceProduct(),
    "Algorithm 1, own noise": VarianceProduct(aligned=False),
}
TWO_PATH, CODE = "two paths, own noise", "published code"


def laws() -> pd.DataFrame:
    """The density each rule emits beside the target's, at most ``LIMIT`` proposals a token.

    Columns: pair, sigma, rule, x, density, target; and of the whole law kept, trials (proposals a token), unfinished,
    tv, tv_error. The published code has a target of its own, whose last step adds no noise.
    """
    target = chain()
    parts = []
    for pair, draft in DRAFTS.items():
        for rule, law, own, tv, error in _laws(target, draft):
            density = target_law(own, UNCONDITIONAL[0], law.x)
            near = np.abs(law.x) < RANGE * sqrt(float(own.marginal(np.zeros((1, 1))).covariance[0, 0]))
            whole = {
                "kept": law.acceptance,
                "trials": law.trials,
                "unfinished": law.unfinished,
                "tv": tv,
                "tv_error": error,
            }
            labels = {"pair": pair, "sigma": float(np.exp(log_sigma(target, draft))), "rule": rule}
            curve = {"x": law.x[near], "density": law.density[near], "target": density[near]}
            parts.append(pd.DataFrame(labels | curve | whole))
    return pd.concat(parts, ignore_index=True)


def _laws(target: Chain, draft: Chain) -> Iterator[tuple[str, Law, Chain, float, float]]:
    """Each rule, its law, the target it is for, their TV, and the error of that."""
    for name, rule in RULES.items():
        law, far = distances(target, draft, UNCONDITIONAL, rule, LIMIT)
        yield name, law, target, far.tv, far.tv_error
    fine, rough = (two_path_law(target, draft, UNCONDITIONAL, LIMIT, nodes, POINTS) for nodes in (36, 18))
    tv = [tv_from_target(law, target, UNCONDITIONAL) for law in (fine, rough)]
    yield TWO_PATH, fine, target, tv[0], abs(tv[0] - tv[1])
    ends = noiseless_end(target), noiseless_end(draft)
    law, far = distances(*ends, UNCONDITIONAL, ReferenceCode(), LIMIT)
    yield CODE, law, ends[0], far.tv, far.tv_error


# Acceptance ---------------------------------------------------------------------------------------------------


class Mismatch(NamedTuple):
    """A draft whose last kernel also stands ``gap`` standard deviations from the target's, if there is one."""

    label: str
    slope: Any
    sd: Any

    def draft(self, gap: float) -> Chain:
        return chain(self.slope, self.sd, last_step_apart(gap * SD, 0.0))


MISMATCHES = (
    Mismatch("nothing else differs", SLOPE, SD),
    Mismatch("draft's noise 20 % larger", SLOPE, 1.2 * SD),
    Mismatch("draft's slopes 0.95, not 0.8", 0.95, SD),
    Mismatch("last slope has the other sign", last_step_apart(-SLOPE, SLOPE), SD),
)
GAPS = np.linspace(0, 4, 33)


def acceptance() -> pd.DataFrame:
    """Acceptance of the last step's ratio by the distance of the means of the last kernels.

    Columns: mismatch, gap (mean distance of the last kernels, in standard deviations of the target's), shared and own
    (acceptance with shared noise and with independent noise), spread_shared and spread_own (standard deviation of the
    gap, in the same unit), most (acceptance of the ratio of marginal densities, which no lossless rule exceeds).
    """
    target = chain()
    table = []
    for mismatch in MISMATCHES:
        for gap in GAPS:
            draft = mismatch.draft(float(gap))
            row: Record = {"mismatch": mismatch.label, "gap": float(gap)}
            for name, aligned in (("shared", True), ("own", False)):
                spread = float(last_means(target, draft, UNCONDITIONAL, aligned).gap[1][0, 0])
                row |= {name: last_step_acceptance(target, draft, UNCONDITIONAL, aligned)}
                row |= {f"spread_{name}": sqrt(max(spread, 0.0)) / SD}
            table.append({**row, "most": marginal_tv(target, draft, UNCONDITIONAL, Marginal())[1]})
    return pd.DataFrame(table)


DIMENSIONS = (1, 2, 4, 8, 16, 32, 64)
APART = {  # before the last step: its variance is the target's, so that the gap is all there is
    "means 0.25 apart": (Mismatch("", SLOPE, SD), 0.25),
    "noise before the last step 20 % larger": (Mismatch("", SLOPE, last_step_apart(SD, 1.2 * SD)), 0.0),
    "slopes 0.7, not 0.8": (Mismatch("", 0.7, SD), 0.0),
}


def dimensions() -> pd.DataFrame:
    """The same in d dimensions with the same mismatch in each, in closed form.

    Columns: mismatch, dimension, shared, own, most.
    """
    target = chain()
    table = []
    for label, (mismatch, gap) in APART.items():
        draft = mismatch.draft(gap)
        sds = [sqrt(float(c.marginal(np.zeros((1, 1))).covariance[0, 0])) for c in (target, draft)]
        means = [float(c.marginal(np.zeros((1, 1))).mean[0, 0]) for c in (target, draft)]
        for d in DIMENSIONS:
            row: Record = {"mismatch": label, "dimension": d}
            for name, aligned in (("shared", True), ("own", False)):
                mean, variance = (
                    float(part.ravel()[0]) for part in last_means(target, draft, UNCONDITIONAL, aligned).gap
                )
                row[name] = isotropic_acceptance(d, abs(mean) * sqrt(d), variance if variance > 1e-14 else 0.0, SD)
            table.append({**row, "most": overlap(d, abs(means[0] - means[1]) * sqrt(d), *sds)})
    return pd.DataFrame(table)


# What it costs --------------------------------------------------------------------------------------------------

RATIOS = np.concatenate([np.linspace(0.8, 0.99, 20), np.linspace(1.01, 1.2, 20)])
LIMITS = (LIMIT, 10_000)


def trials() -> pd.DataFrame:
    """Proposals against how much more noise the draft has, for the last step and for Algorithm 1, shared noise.

    Columns: rule, limit (0 for none), ratio (sd of the draft's kernels over the target's), sigma, kept, per_token,
    per_rejection (NaN where nothing is rejected), per_token_error, unfinished.
    """
    target = chain()
    rules = [("last step", False, inf), *(("Algorithm 1", True, float(limit)) for limit in LIMITS)]
    table = []
    for ratio in RATIOS:
        draft = chain(sd=float(ratio) * SD)
        mean, covariance = last_means(target, draft, UNCONDITIONAL, aligned=True).gap
        gap = float(mean[0]), sqrt(max(float(covariance[0, 0]), 0.0))
        weight = log_sigma(target, draft)
        for name, weighted, limit in rules:
            own = weight if weighted else 0.0
            fine, rough = (cost_over_gap(*gap, own, SD, float(ratio) * SD, limit, panels) for panels in (144, 72))
            lost = 1 - fine.acceptance
            table.append(
                {
                    "rule": name,
                    "limit": int(limit) if limit < inf else 0,
                    "ratio": float(ratio),
                    "sigma": float(np.exp(weight)),
                    "kept": fine.acceptance,
                    "per_token": fine.trials,
                    "per_rejection": fine.trials / lost if lost > 1e-9 else np.nan,
                    "per_token_error": abs(fine.trials - rough.trials),
                    "unfinished": fine.unfinished,
                }
            )
    return pd.DataFrame(table)


# Sequences ------------------------------------------------------------------------------------------------------

LENGTH, AR_COEFFICIENT, GAMMAS = 32, 0.9, (2, 4, 8)
SEQUENCES = 20_000


def sequences(seed: int = 0, count: int = SEQUENCES) -> pd.DataFrame:
    """Correlation of tokens by lag: cut at the first rejection, and replaced in place, with the last step's ratio.

    Columns: decoder, gamma, lag, exact, simulated, error (standard error of the simulated), sequences, kl (of the
    target's law of sequences from this one, nats), acceptance (in the runs). Correlations are means over places.
    """
    check_at_least("count", count, 2)
    abar = schedule("cosine", steps=4)
    model = partial(ddpm, 1, abar, 1 - AR_COEFFICIENT**2, length=LENGTH, ar_coefficient=AR_COEFFICIENT)
    pair = Pair(model(), model(level=0.1))
    target = autoregressive(pair.target)
    cases: list[tuple[str, Truncating | InPlace, SequenceLaw]] = [("cut at a rejection", Truncating(4), target)]
    cases += [("replaced in place", InPlace(gamma), in_place(pair.target, gamma)) for gamma in GAMMAS]
    table = []
    for name, decoder, law in cases:
        run = simulate(decoder, pair.target, pair.draft, LastStep(), Tape(seed, count))
        spread = np.sqrt(np.diag(law.covariance))
        away = (run.tokens[:, :, 0] - law.mean[:, 0]) / spread
        for lag in range(1, 2 * max(GAMMAS) + 1):
            each = (away[:, :-lag] * away[:, lag:]).mean(axis=1)
            table.append(
                {
                    "decoder": name,
                    "gamma": decoder.gamma,
                    "lag": lag,
                    "exact": float(law.autocorrelation(lag).mean()),
                    "simulated": float(each.mean()),
                    "error": float(each.std(ddof=1)) / sqrt(count),
                    "sequences": count,
                    "kl": max(0.0, kl(target, law)),
                    "acceptance": run.acceptance,
                }
            )
    return pd.DataFrame(table)


# Speedups -------------------------------------------------------------------------------------------------------


TABLES = ("1", "2", "7")  # those that print an acceptance rate beside a speedup for each gamma


def walltime(ledger: Ledger | None = None) -> pd.DataFrame:
    """CSpD's printed speedups beside what eq. 51 gives at the printed alpha, and beside blocks that are always full.

    Columns: table, target, draft, resolution, batch, gamma, alpha, printed; cost (c, NaN where none is printed),
    formula (at that c), needed (the alpha at which it would give the printed speedup; NaN if none does); free and
    needed_free (the same at c = 0, where drafts cost nothing); column_cost, full (c and speedups of gamma tokens a
    block, gamma / (gamma c + 1), with the one c for all gamma of a column that fits best).
    """
    ledger = ledger or published()
    cost = ledger.one(paper="cspd", metric="cost_ratio_c")
    rows = [row for row in ledger.select(paper="cspd", metric="speedup") if row.table in TABLES]
    table = pd.DataFrame([_speedup(ledger, row, cost) for row in rows])
    for _, part in table.groupby(["table", "target", "resolution", "batch"]):
        measured = list(zip(part["printed"], part["gamma"], strict=True))
        table.loc[part.index, "column_cost"] = best_cost(measured, [float(gamma) for gamma in part["gamma"]])[0]
    table["full"] = table["gamma"] / (table["gamma"] * table["column_cost"] + 1)
    return table


def _speedup(ledger: Ledger, row: Row, cost: Row) -> Record:
    """A printed speedup, and eq. 51 at the acceptance rate printed beside it."""
    setting = {name: value for name, value in row.params.items() if name != "batch"}
    rate = ledger.one(setting, paper="cspd", table=row.table, target=row.target, metric="alpha")
    alpha, ratio, gamma = float(rate.value), float(row.value), int(row.params["gamma"])
    priced = row.table == "1" and row.target == cost.target and row.params["batch"] == cost.params["batch"]
    c = float(cost.value) if priced else np.nan
    needed = alpha_needed(ratio, gamma, c) if priced else None
    free = alpha_needed(ratio, gamma, 0.0)
    return {
        "table": row.table,
        "target": row.target,
        "draft": row.draft,
        "resolution": row.params.get("resolution", ""),
        "batch": int(row.params["batch"]),
        "gamma": gamma,
        "alpha": alpha,
        "printed": ratio,
        "cost": c,
        "formula": speedup(alpha, gamma, c) if priced else np.nan,
        "needed": np.nan if needed is None else needed,
        "free": speedup(alpha, gamma, 0.0),
        "needed_free": np.nan if free is None else free,
    }


# All of them ----------------------------------------------------------------------------------------------------

EXACT: dict[str, Callable[[], pd.DataFrame]] = {
    "laws": laws,
    "acceptance": acceptance,
    "dimensions": dimensions,
    "trials": trials,
    "walltime": walltime,
}
MEASURED = (*EXACT, "sequences")


def measure(name: str, seed: int) -> pd.DataFrame:
    """The table called ``name``, one of ``MEASURED``; the seed is for what samples."""
    return EXACT[name]() if name in EXACT else sequences(seed)
