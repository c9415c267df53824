"""The tables on continuous tokens: what is in them, that numbers fit together, and the closed forms behind them."""

from __future__ import annotations

from math import inf

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from experiments.measurements import continuous as tables
from simlab.continuous.rules import LastStep, VarianceProduct
from theory.continuous.example_processes import UNCONDITIONAL
from theory.continuous.gaussian_overlap import acceptance_over_gap
from theory.continuous.isotropic import isotropic_acceptance, overlap
from theory.continuous.line import emitted
from theory.published.ledger import published

pytestmark = pytest.mark.exact


@pytest.fixture(scope="module")
def laws() -> pd.DataFrame:
    return tables.laws()


def test_each_law_is_whole_and_the_last_step_alone_is_the_targets(laws: pd.DataFrame) -> None:
    assert laws.groupby("pair")["rule"].nunique().eq(6).all()
    for (_, rule), curve in laws.groupby(["pair", "rule"]):
        whole = curve.iloc[0]
        width = np.diff(curve["x"]).mean()
        seen = curve["density"].sum() * width
        assert seen + whole["unfinished"] == pytest.approx(1, abs=5e-3), "what is not shown is beyond 4 deviations"
        assert whole["tv_error"] < 1e-2 * max(whole["tv"], 1e-6)
        if rule.startswith("last step"):
            assert whole["tv"] == pytest.approx(whole["unfinished"], abs=1e-9)
            assert whole["trials"] <= 1 + 1e-9
            assert np.abs(curve["density"] - curve["target"]).max() < 2e-3
    told = laws.drop_duplicates(["pair", "rule"]).set_index(["pair", "rule"])["tv"]
    assert (told.xs("two paths, own noise", level="rule") > 0.1).all()
    biased = told.xs("Algorithm 1, shared noise", level="rule")
    assert biased["the draft's means are higher"] < 1e-9, "the variances agree, so Sigma is 1"
    assert (biased.drop("the draft's means are higher") > 0.05).all()


def test_shared_noise_helps_and_hurts_and_nothing_exceeds_the_most() -> None:
    table = tables.acceptance()
    assert (table[["shared", "own"]].max(axis=1) <= table["most"] + 1e-9).all()
    gain = (table["shared"] - table["own"]).groupby(table["mismatch"])
    assert (gain.max() > 0).all()
    assert (gain.min() < 0).all()
    near = table[table["gap"] == 0].set_index("mismatch")
    assert near.loc["nothing else differs", "shared"] == 1
    reversed_slope = near.loc["last slope has the other sign"]
    assert reversed_slope["shared"] < reversed_slope["own"]
    assert reversed_slope["most"] == pytest.approx(1)
    assert reversed_slope["spread_shared"] == pytest.approx(np.sqrt(2) * reversed_slope["spread_own"])


def test_dimensions_cost_least_with_shared_noise() -> None:
    table = tables.dimensions()
    for _, part in table.groupby("mismatch"):
        assert list(part["dimension"]) == list(tables.DIMENSIONS)
        for name in ("shared", "own", "most"):
            assert (np.diff(part[name]) < 0).all()
        assert (part["own"] < part["shared"]).all()
        assert (part["shared"] < part["most"]).all()


def test_proposals_are_those_of_the_law() -> None:
    table = tables.trials()
    assert (table["per_token_error"] <= 1e-6 * table["per_token"]).all()
    last = table[table["rule"] == "last step"]
    np.testing.assert_allclose(last["per_token"], 1, atol=1e-9)
    assert (last["unfinished"] == 0).all()
    for row in table[table["ratio"].isin([0.8, 1.2])].to_dict("records"):
        draft = tables.chain(sd=row["ratio"] * tables.SD)
        rule = LastStep() if row["rule"] == "last step" else VarianceProduct()
        law = emitted(tables.chain(), draft, UNCONDITIONAL, rule, row["limit"] or inf, 168, 60)
        assert row["per_token"] == pytest.approx(law.trials, rel=1e-6)
        assert row["unfinished"] == pytest.approx(law.unfinished, rel=1e-4, abs=1e-9)
        assert row["kept"] == pytest.approx(law.acceptance, rel=1e-6)
    few, many = (table[table["limit"] == limit].set_index("ratio") for limit in tables.LIMITS)
    assert (few["unfinished"] >= many["unfinished"]).all()
    assert few.loc[few.index < 1, "unfinished"].min() > 0.05


def test_sequences_follow_their_law() -> None:
    table = tables.sequences(seed=0, count=2000)
    away = (table["simulated"] - table["exact"]) / table["error"]
    assert away.abs().max() < 6, "64 correlated numbers, at a level far below 1e-6"
    assert (table["error"] < 0.02).all()
    first = table[table["lag"] == 1].set_index(["decoder", "gamma"])
    assert first.loc[("cut at a rejection", 4), "kl"] < 1e-9
    placed = first.loc["replaced in place"]
    assert placed["exact"].is_monotonic_decreasing
    assert placed["kl"].is_monotonic_increasing
    wrong = table["simulated"][table["gamma"] == 8].to_numpy() - table["exact"][table["gamma"] == 2].to_numpy()
    assert (np.abs(wrong) / table["error"][table["gamma"] == 8].to_numpy()).max() > 6, "another gamma is told apart"
    pd.testing.assert_frame_equal(table, tables.sequences(seed=0, count=2000))


def test_printed_speedups_beside_the_formula() -> None:
    table = tables.walltime()
    assert table.groupby("table").size().to_dict() == {"1": 32, "2": 32, "7": 4}
    priced = table[table["cost"].notna()]
    assert priced["batch"].eq(128).all()
    assert len(priced) == 4
    assert (priced["formula"] < 1).all()
    assert (priced["printed"] > 1.5).all()
    again = [tables.speedup(a, g, c) for a, g, c in priced[["needed", "gamma", "cost"]].itertuples(index=False)]
    np.testing.assert_allclose(again, priced["printed"], rtol=1e-9)
    assert table["draft"].isin(["MAR-B", "xAR-B", "Harmon-0.5B"]).all()
    line = published().one(
        {"gamma": "32", "resolution": "256"}, paper="cspd", table="1", target="MAR-H", metric="alpha"
    )
    other = tables.walltime(published().altered({line.line: 0.5}))
    assert (other["free"] != table["free"]).sum() == 4


# What the tables are made from ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("gap", "variance"), [(0.0, 1.0), (0.3, 0.2), (2.0, 1e-4)])
def test_acceptance_in_one_dimension_is_that_on_the_line(gap: float, variance: float) -> None:
    assert isotropic_acceptance(1, gap, variance, 0.5) == pytest.approx(
        acceptance_over_gap(gap, variance**0.5, 0.0, 0.5, 0.5), abs=1e-9
    )
    assert isotropic_acceptance(1, gap, 0.0, 0.5) == pytest.approx(2 * norm.cdf(-gap))


def test_acceptance_in_two_dimensions_by_quadrature() -> None:
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / weights.sum()
    x, y = np.meshgrid(0.6 + 0.9 * nodes, 0.9 * nodes)
    mean = float(weights @ (2 * norm.cdf(-np.hypot(x, y) / (2 * 0.5))) @ weights)
    assert isotropic_acceptance(2, 0.6, 0.81, 0.5) == pytest.approx(mean, abs=2e-4)
    assert abs(isotropic_acceptance(2, 0.6, 0.81, 0.55) - mean) > 1e-2


@pytest.mark.parametrize(("gap", "sd", "other"), [(0.0, 1.0, 2.0), (1.0, 1.2, 1.0), (3.0, 0.5, 0.7), (1.0, 1.0, 1.0)])
def test_the_overlap_in_one_and_two_dimensions_by_quadrature(gap: float, sd: float, other: float) -> None:
    x = np.linspace(-12, 12, 4801)
    width = x[1] - x[0]
    p, q, side = norm.pdf(x, gap, sd), norm.pdf(x, 0, other), (norm.pdf(x, 0, sd), norm.pdf(x, 0, other))
    assert overlap(1, gap, sd, other) == pytest.approx(np.minimum(p, q).sum() * width, abs=1e-5)
    x = x[::12]
    plane = np.minimum(np.outer(p[::12], side[0][::12]), np.outer(q[::12], side[1][::12])).sum() * (12 * width) ** 2
    assert overlap(2, gap, sd, other) == pytest.approx(plane, abs=1e-4)
