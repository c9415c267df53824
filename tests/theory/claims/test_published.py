"""Published numbers: the arithmetic is right, verdicts stay, and altered numbers alter them.

The headline numbers are computed again here from the file alone, with pandas and floats.
"""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction as F
from itertools import product

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.verdicts import KEPT, decided
from theory.acceptance import expected_tokens
from theory.claims import CLAIMS, CheckFailed
from theory.claims.format import plain
from theory.claims.published.comparisons import Check, Comparison, judged
from theory.claims.published.cspd import alpha_needed, best_cost, costs, speedup, speedup_dependent
from theory.claims.published.lengths import size, tree_length
from theory.claims.published.repeated_rows import same
from theory.claims.published.speedups import _quotients
from theory.published.ledger import FILE, Interval, Ledger, published

pytestmark = pytest.mark.exact

IDS = [id for id, claim in CLAIMS.items() if claim.paper == "published" and claim.decide]

# Arithmetic ----------------------------------------------------------------------------------------------------


def kept(pattern: tuple[bool, ...]) -> int:
    """Tokens of a block: the drafts before the first that is not kept, and one more."""
    return (*pattern, False).index(False) + 1


@pytest.mark.parametrize(("alpha", "gamma"), [(F(0), 3), (F(1, 5), 1), (F(3, 10), 4), (F(1), 5)])
def test_equation_51_counts_the_tokens_of_a_block(alpha: F, gamma: int) -> None:
    mean = expected_tokens(alpha, gamma)
    cost = Interval(F(3, 8), F(2, 5))
    point = speedup(Interval(alpha, alpha), gamma, cost)
    assert point == Interval(mean / (gamma * cost.high + 1), mean / (gamma * cost.low + 1))


@given(st.lists(st.integers(0, 5), min_size=8, max_size=8).filter(any))
def test_dependent_drafts_stay_below_their_bound(weights: list[int]) -> None:
    """Any joint law of three acceptances: the bound is at its largest marginal rate."""
    patterns, total = list(product((False, True), repeat=3)), sum(weights)
    mean = sum(F(w * kept(p), total) for w, p in zip(weights, patterns, strict=True))
    rate = max(sum(F(w, total) for w, p in zip(weights, patterns, strict=True) if p[k]) for k in range(3))
    free = Interval(F(0), F(0))
    assert mean <= speedup_dependent(Interval(rate, rate), 3, free).high
    all_or_none = rate * kept((True,) * 3) + (1 - rate) * kept((False,) * 3)
    assert speedup_dependent(Interval(rate, rate), 3, free) == Interval(all_or_none, all_or_none)


@given(st.floats(0.01, 0.99), st.integers(1, 32), st.floats(0, 1))
def test_the_rate_needed_gives_the_speedup(alpha: float, gamma: int, cost: float) -> None:
    ratio = sum(alpha**k for k in range(gamma + 1)) / (gamma * cost + 1)
    found = alpha_needed(ratio, gamma, cost)
    assert found is not None
    assert sum(found**k for k in range(gamma + 1)) == pytest.approx(ratio * (gamma * cost + 1))
    assert alpha_needed(ratio + gamma + 1, gamma, cost) is None
    assert alpha_needed(0.9 / (gamma * cost + 1), gamma, cost) is None  # a block has a token at any rate


@given(st.floats(0.05, 1.5))
def test_the_best_cost_is_found_where_there_is_one(cost: float) -> None:
    gammas = (4, 8, 16, 32)
    found, error = best_cost([(g / (g * cost + 1), g) for g in gammas], gammas)
    assert found == pytest.approx(cost, abs=1e-4)
    assert error < 1e-4
    off, larger = best_cost([(2.0, g) for g in gammas], [1.0 for _ in gammas])
    assert (off, larger) == pytest.approx((0.0, 0.5), abs=1e-4)


@given(st.fractions(F(1, 20), F(3, 2)), st.fractions(F(-99, 10**4), F(99, 10**4)))
def test_all_costs_that_give_the_speedups_are_found(cost: F, off: F) -> None:
    """Speedups that are off by up to one percent, either way, have the cost they were made with."""
    measured = [(g / (g * cost + 1) * (1 + by), g) for g, by in ((4, off), (32, -off))]
    found = costs([(Interval(ratio, ratio), g) for ratio, g in measured])
    assert found is not None
    assert found.low <= cost <= found.high
    assert costs([(Interval(F(2), F(2)), 4), (Interval(F(19, 10), F(19, 10)), 32)]) is None


def test_the_length_of_a_tree_is_that_of_its_enumeration() -> None:
    """Two children to a depth of two: six candidates, each accepted or not."""
    rate, mean = F(1, 3), F(0)
    assert size(2, 2) == 6
    for pattern in product((0, 1), repeat=6):
        chance = rate ** sum(pattern) * (1 - rate) ** (6 - sum(pattern))
        child = next((c for c in (0, 1) if pattern[c]), None)
        deeper = child is not None and any(pattern[2 + 2 * child : 4 + 2 * child])
        mean += chance * (1 + (child is not None) + deeper)
    assert tree_length(rate, 2, 2) == mean
    assert tree_length(rate, 1, 40) < 1 / (1 - rate)


def test_a_number_is_the_same_to_the_digits_of_the_shorter() -> None:
    ledger = published()
    own = ledger.one(paper="gsd", dataset="MS-COCO-2017", method="ar", metric="CLIP")  # 31.308
    quoted = ledger.one(paper="sjd-pac", dataset="MS-COCO-2017", target="Lumina-mGPT", method="ar", metric="CLIP")
    assert same(own, quoted)
    assert same(quoted, own)
    assert not same(own, replace(quoted, value=Decimal("31.30")))


def test_what_arguments_say_of_printed_numbers_is_so() -> None:
    ledger = published()

    def printed(paper: str, metric: str, params: dict[str, str] | None = None, **columns: str) -> list[float]:
        return [float(row.value) for row in ledger.select(params, paper=paper, metric=metric, **columns)]

    falls = []
    for resolution in ("256", "512"):
        first, last = (
            printed("cspd", "alpha", {"gamma": gamma, "resolution": resolution}, table="2")[0] for gamma in ("4", "32")
        )
        falls.append(f"{1 - last / first:.0%}".replace("%", f" % (at {resolution})"))
    assert " and ".join(falls) in CLAIMS["published.full-blocks-harmon"].proof
    seconds = printed("cspd", "residual_sampling_seconds")
    alphas = [printed("cspd", "alpha", {"gamma": g}, table="1", target="MAR-H")[0] for g in ("4", "32")]
    each = [
        time * float(expected_tokens(alpha, gamma)) / (1 - alpha**gamma)
        for time, alpha, gamma in zip((seconds[0], seconds[-1]), alphas, (4, 32), strict=True)
    ]
    assert 9 < each[0] / each[1] < 9.5
    assert "to a ninth" in CLAIMS["published.cspd-residual-time"].proof
    where = {"table": "1", "target": "Lumina-mGPT", "method": "sjd-pac"}
    fast = zip(printed("sjd-pac", "speedup", **where), printed("sjd-pac", "step_compression", **where), strict=True)
    above = [round(100 * (speed * 50.7 / 41.8 / steps - 1)) for speed, steps in fast]
    assert f"are {above[0]} and {above[1]} % above" in CLAIMS["published.sjd-pac-overhead"].proof
    anole = [
        float(row.value)
        for row in ledger.select(paper="sjd", target="Anole", metric="step_compression")
        if row.method.startswith("sjd")
    ]
    assert f"{min(anole)} to {max(anole)}" in CLAIMS["published.sjd-speed"].source.note
    scores = [printed("sjd", "HPSv2", {"top_k": k}, table="7") for k in ("10", "100", "2000")]
    apart = [max(each) - min(each) for each in scores]
    assert f"{min(apart):.4f} to {max(apart):.4f} apart" in CLAIMS["published.sjd-preference"].source.note


# Verdicts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("id", IDS)
def test_verdicts_stay_and_do_not_depend_on_the_seed(id: str) -> None:
    finding = decided(id)
    assert finding.verdict == KEPT[id]
    assert finding == decided(id, seed=7)
    assert finding.evidence[-1].kind == "control"
    first = finding.evidence[0]
    assert first.kind == ("counterexample" if finding.verdict == "refuted" else "example")
    assert first.numbers
    lines = {row.line for row in published()}
    for comparison in json.loads(json.dumps(plain(first.numbers))).values():
        assert comparison["lines"]
        assert set(comparison["lines"]) <= lines
        assert all(isinstance(value, str) for name, value in comparison.items() if name != "lines")


def agreeing(ledger: Ledger) -> list[Comparison]:
    row = ledger.rows[0]
    return [Comparison("one", {"value": row}, row.value < 1)]


WORDS = ("rows", "fit", "do not")


def test_a_comparison_is_refuted_by_one_row_that_does_not_agree() -> None:
    row = published().rows[0]
    large = {"a large one": published().altered({row.line: 2})}
    assert judged(agreeing, WORDS, large).verdict == "holds"

    def other(ledger: Ledger) -> list[Comparison]:
        (only,) = agreeing(ledger)
        return [only, replace(only, label="two", agrees=not only.agrees)]

    with pytest.raises(CheckFailed, match="does not notice: a large one"):
        judged(other, WORDS, large)


@pytest.mark.parametrize("answer", [True, False])
def test_a_comparison_that_cannot_answer_otherwise_fails(answer: bool) -> None:
    def stuck(ledger: Ledger) -> list[Comparison]:
        return [replace(agreeing(ledger)[0], agrees=answer)]

    with pytest.raises(CheckFailed, match="does not notice: a large one"):
        judged(stuck, WORDS, {"a large one": published().altered({published().rows[0].line: 2})})


@pytest.mark.parametrize(
    ("check", "altered", "said"),
    [
        (agreeing, {}, "nothing altered"),
        (lambda ledger: [], {"same": published()}, "no rows to compare"),
        (lambda ledger: agreeing(ledger) * 2, {"same": published()}, "two comparisons have one name"),
    ],
)
def test_an_empty_comparison_fails(check: Check, altered: dict[str, Ledger], said: str) -> None:
    with pytest.raises(CheckFailed, match=said):
        judged(check, WORDS, altered)


@pytest.mark.parametrize("metric", ["latency_seconds", "nfe"])
def test_any_altered_number_of_gsd_is_noticed(metric: str) -> None:
    """Three percent more in any one row: the quotient printed beside it no longer follows."""
    ledger = published()
    for row in ledger.select(paper="gsd", table="1", metric=metric):
        altered = ledger.altered({row.line: float(row.value) * 1.03})
        off = [c for c in _quotients(altered) if not c.agrees]
        assert off, row.setting
        assert all(row.line in {other.line for other in c.rows} for c in off)


# Headline numbers, from the file alone -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    frame = pd.read_csv(FILE, dtype={"table": str}, keep_default_na=False, na_values={"value": [], "std": [""]})
    frame["given"] = frame["params"].map(lambda text: dict(item.split("=") for item in text.split(";") if "=" in item))
    return frame


def off(id: str) -> int:
    """How many comparisons refute a claim."""
    numbers = decided(id).evidence[0].numbers
    assert numbers is not None
    return len(numbers)


def test_gsd_is_faster_than_its_steps_in_eight_rows(table: pd.DataFrame) -> None:
    rows = table[(table["paper"] == "gsd") & (table["table"] == "1")]
    wide = rows.pivot_table(index=["dataset", "method", "params"], columns="metric", values="value")
    faster = wide[wide["speedup"] > wide["step_compression"] + 0.01]
    assert len(faster) == off("published.gsd-latency") == 8
    per_call = 1000 * wide["latency_seconds"] / wide["nfe"]
    assert per_call["PartiPrompts", "gsd", "G=50"] == pytest.approx(37.9, abs=0.05)
    assert per_call["PartiPrompts", "ar", ""] == pytest.approx(46.9, abs=0.05)


def cspd(table: pd.DataFrame) -> pd.DataFrame:
    """The speedups of Tables 1 and 2 with gamma, batch and alpha."""
    rows = table[(table["paper"] == "cspd") & table["table"].isin(["1", "2"])].copy()
    for name in ("gamma", "resolution", "batch"):
        rows[name] = rows["given"].map(lambda given, name=name: int(given.get(name, 0)))
    keys = ["target", "resolution", "gamma"]
    rates = rows[rows["metric"] == "alpha"].set_index(keys)["value"].rename("alpha")
    return rows[rows["metric"] == "speedup"].join(rates, on=keys)


def test_eq_51_falls_short_of_the_printed_speedups(table: pd.DataFrame) -> None:
    rows = cspd(table)
    alpha, gamma = rows["alpha"] + 0.005, rows["gamma"]
    most = (1 - alpha ** (gamma + 1)) / (1 - alpha)
    assert len(rows) == 64
    assert (rows["value"] - 0.005 > most).sum() == off("published.cspd-walltime") == 52
    at = rows[(rows["target"] == "MAR-H") & (rows["batch"] == 128)].set_index("gamma")
    follows = (1 - at["alpha"] ** (at.index + 1)) / ((1 - at["alpha"]) * (at.index * 0.38 + 1))
    assert follows[32] == pytest.approx(0.0938, abs=1e-4)
    assert (follows < 0.6).all()
    assert (at["value"] > 1.5).all()


def test_digits_cut_off_would_not_change_what_is_off() -> None:
    """Cut digits lie above only: as many speedups exceed eq. 51, and no rate of Table 1 is in Table 5."""
    cut = {"published.cspd-walltime": 52, "published.cspd-alpha": 4}
    for id, count in cut.items():
        assert decided(id).evidence[0].summary.endswith(f"If digits were cut off, not rounded, it would be {count}")


def test_what_gsd_says_in_two_places() -> None:
    average = decided("published.gsd-speed").evidence[0].numbers
    assert average is not None
    assert [each["printed again"] for each in average.values()] == ["3.8", "3.8"]
    most = decided("published.gsd-g50").evidence[0].numbers
    assert most is not None
    assert [each["text"] for each in most.values()] == ["3.6"]
    assert "not by FID: 3 of 3" in decided("published.gsd-g3").evidence[1].summary


def test_tables_1_and_5_of_cspd(table: pd.DataFrame) -> None:
    rows = table[(table["paper"] == "cspd") & (table["target"] == "MAR-H") & table["table"].isin(["1", "5"])]
    told = {(r.table, r.params, r.metric): r.value for r in rows.itertuples()}
    for gamma in (4, 8, 16, 32):
        fifth, first = f"gamma={gamma};prefill_percent=15", f"gamma={gamma};resolution=256"
        assert told["5", fifth, "speedup"] == told["1", f"{first};batch=8", "speedup"]
        assert told["5", fifth, "alpha"] > told["1", first, "alpha"] + 0.03
