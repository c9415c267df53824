"""A user's rule is what its two functions say: the same laws, read strictly, asked only what matters.

That every registered rule, brought as two functions, has the law that it has at home is in
:mod:`tests.simlab.rules.test_one_step_law`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from simlab import mutants
from simlab.rules import Amplify, OptimalLossy, Rule, Speculative, codebook_distances, make_rule
from tests.support.frontiers import nearest_frontier
from theory.acceptance import alpha
from theory.candidates import candidates_law
from theory.exact import step_law
from theory.example_processes import codebook_pairs
from theory.judge.contract import CHECKS, contract, families, reason
from theory.judge.rule_matching import match_rule
from theory.judge.searches import Judged
from theory.judge.user_rule import Broken, Functions, Inexact, UserRule, as_probability, as_row
from theory.pareto_frontier import nearest_envelope
from theory.search import LEVELS

pytestmark = pytest.mark.exact
DEFAULT_EVERY = 3

CASES = families(0)
SMALL_CASES = [pair for rows in CASES.values() for pair in rows if len(pair[0]) <= 6]
P, Q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
EXACT = np.array([F(1, 2), F(1, 2)])


def user_rule(rule: Any) -> UserRule:
    return UserRule(lambda vocabulary: Functions(rule.accept, rule.residual))


@pytest.mark.parametrize("candidates", [1, 2, 3])
def test_it_can_be_verified_with_several_candidates(candidates: int) -> None:
    p, q = CASES["positive rows of 2 to 6 tokens"][4]
    law, kept = candidates_law(user_rule(Amplify(2)), p, q, candidates)
    at_home, kept_at_home = candidates_law(Amplify(2), p, q, candidates)
    assert (law == at_home).all()
    assert kept == kept_at_home


def test_it_takes_batches() -> None:
    p, q = np.array([[P, Q], [Q, P]]), np.array([[Q, P], [P, Q]])
    np.testing.assert_allclose(step_law(user_rule(Amplify(2)), p, q), step_law(Amplify(2), p, q))


def test_only_what_can_happen_is_asked() -> None:
    """Not about tokens that are never drafted, nor what to draw after one that is never rejected."""
    asked = []

    class Watching:
        def accept(self, p: Any, q: Any, x: int) -> float:
            asked.append(("accept", x))
            return min(1.0, p[x] / q[x])

        def residual(self, p: Any, q: Any, x: int) -> Any:
            asked.append(("residual", x))
            return Speculative().residual(p, q, x)

    user_rule(Watching()).step(np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.75, 0.0]))
    assert asked == [("accept", 0), ("accept", 1), ("residual", 1)]


@pytest.mark.parametrize(
    ("read", "answer", "message"),
    [
        (as_probability, None, "returns None"),
        (as_probability, "0.5", "returns '0.5'"),
        (as_probability, 1.5, "returns 1.5"),
        (as_probability, -0.1, "returns -0.1"),
        (as_probability, float("nan"), "returns NaN"),
        (as_probability, np.array([0.5]), r"shape \(1,\)"),
        (as_probability, 0.5j, "returns 0.5j"),
        (as_row, None, "returns None"),
        (as_row, [0.5, 0.5], r"shape \(2,\)"),
        (as_row, [[0.5, 0.3, 0.2]], r"shape \(1, 3\)"),
        (as_row, [0.5, [0.5], 0.0], "expected a pmf of 3 numbers"),
        (as_row, [0.5, np.nan, 0.5], "returns NaN"),
        (as_row, [0.5, np.inf, 0.5], "returns infinity"),
        (as_row, [1.5, -0.5, 0.0], "holds -0.5"),
        (as_row, [0.5, 0.2, 0.2], "sums to 0.9"),
        (as_row, ["a", "b", "c"], "expected a pmf of 3 numbers"),
        (as_row, [F(1, 2), None, F(1, 2)], "expected a pmf of 3 numbers"),
    ],
)
def test_what_is_no_probability_or_no_pmf_is_told(read: Callable[..., Any], answer: Any, message: str) -> None:
    with pytest.raises(Broken, match=message):
        read(answer, "asked", P)


def test_answers_are_read_in_the_arithmetic_of_the_rows() -> None:
    assert as_probability(F(1, 3), "accept", EXACT) == F(1, 3)
    assert as_probability(1.0, "accept", EXACT) == 1
    assert as_probability(np.float32(0.25), "accept", P) == 0.25
    assert as_probability(np.True_, "accept", P) == 1
    assert as_probability(1 + 1e-12, "accept", P) == 1
    assert list(as_row([F(1, 3), F(2, 3)], "residual", EXACT)) == [F(1, 3), F(2, 3)]
    assert as_row([0.5, 0.3, 0.2 + 1e-8], "residual", P).sum() == pytest.approx(1, abs=1e-15)
    with pytest.raises(Inexact):
        as_probability(0.5, "accept", EXACT)
    with pytest.raises(Inexact):
        as_row([0.5, 0.5], "residual", EXACT)
    with pytest.raises(Broken, match="sums to 5/6"):
        as_row([F(1, 3), F(1, 2)], "residual", EXACT)


# The contract --------------------------------------------------------------------------------------------------


def test_the_families_are_pmfs_of_what_they_say() -> None:
    for name, rows in CASES.items():
        for p, q in rows:
            assert len(p) == len(q)
            assert sum(p) == sum(q) == 1
            assert min(*p, *q) >= 0
            assert (p == q) == (name == "q = p") or name != "q = p"
            if name == "disjoint supports":
                assert all(a * b == 0 for a, b in zip(p, q, strict=True))
    assert {len(p) for rows in CASES.values() for p, _ in rows} == {2, 3, 4, 5, 6, 64, 512}


@pytest.mark.parametrize("name", mutants.RULES)
def test_wrong_rules_keep_the_contract(name: str) -> None:
    """The contract says what a rule is, not that it is lossless."""
    checks = contract(user_rule(mutants.RULES[name]), 0, LEVELS[:4], 10, CASES)
    assert {check.outcome for check in checks} <= {"passes", "note"}


class Changed(Speculative):
    """The lossless rule with one function replaced."""

    def __init__(self, **functions: Callable[..., Any]) -> None:
        self.__dict__.update(functions)


def _in_place(p: Any, q: Any, x: int) -> Any:
    row = Speculative().residual(p, q, x)
    p[x] = 0
    return row


COUNT = iter(range(1, 1 << 30))
BREAKS = {
    "answers": Changed(accept=lambda p, q, x: 1 / 0),
    "accept": Changed(accept=lambda p, q, x: p[x] / q[x]),
    "residual": Changed(residual=lambda p, q, x: np.maximum(p - q, 0)),
    "repeatable": Changed(accept=lambda p, q, x: 1 / next(COUNT)),
    "inputs": Changed(residual=_in_place),
}


@pytest.mark.parametrize("id", BREAKS)
def test_each_check_fails_on_a_rule_that_breaks_it(id: str) -> None:
    checks = {check.id: check for check in contract(user_rule(BREAKS[id]), 0, LEVELS[:6], 20, CASES)}
    assert [name for name in CHECKS if checks[name].outcome == "fails"] == [id]
    fault = checks[id].fault
    assert fault is not None
    assert len(fault.p) == 2


def test_a_failure_at_one_size_only_is_found_there() -> None:
    def accept(p: Any, q: Any, x: int) -> Any:
        return np.nan if len(p) == 512 else min(1, p[x] / q[x])

    checks = contract(user_rule(Changed(accept=accept)), 0, LEVELS[:3], 5, CASES)
    failing = {check.id: check.fault for check in checks if check.outcome == "fails"}
    assert set(failing) == {"accept", "works: 64 and 512 tokens"}
    assert failing["accept"] is not None
    assert len(failing["accept"].p) == 512


@pytest.mark.slow
def test_a_failure_that_is_known_is_made_smaller_for_so_long_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule whose every call is slow, as one that fails with a message of many megabytes, is told all the same."""
    calls = []

    def accept(p: Any, q: Any, x: int) -> float:
        calls.append(x)
        raise ValueError("too slow")

    told = {}
    for limit in (1e9, -1.0):
        monkeypatch.setattr("theory.judge.contract.LONGEST", limit)
        calls.clear()
        checks = contract(user_rule(Changed(accept=accept)), 0, LEVELS[:4], 40, CASES)
        told[limit] = len(calls), {check.id for check in checks if check.outcome == "fails"}
    assert told[-1.0][0] < told[1e9][0]
    assert told[-1.0][1] == told[1e9][1]


def test_conventions_are_noted_not_failed() -> None:
    """A plain program of the lossless rule divides by zero where nothing is drafted, or nothing rejected."""

    def residual(p: Any, q: Any, x: int) -> Any:
        over = np.maximum(p - q, 0)
        return over / over.sum()

    plain = Changed(accept=lambda p, q, x: np.minimum(1, p[x] / q[x]), residual=residual)
    checks = {check.id: check.outcome for check in contract(user_rule(plain), 0, LEVELS[:4], 10, CASES)}
    assert checks["undrafted"] == checks["unrejected"] == "note"
    assert set(checks.values()) == {"passes", "note"}


def test_rationals_are_used_where_they_are_answered_with_rationals() -> None:
    assert reason(user_rule(Speculative()), CASES) is None
    assert "rationals" in str(reason(user_rule(Changed(accept=lambda p, q, x: min(1.0, float(p[x] / q[x])))), CASES))
    fickle = Changed(accept=lambda p, q, x: min(1, p[x] / q[x]) if p.dtype == object else 0.5)
    assert reason(user_rule(fickle), CASES) == "the answers for rationals are not those for floats"


# Searches and matching -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_searches_find_what_is_there_and_nothing_else() -> None:
    def found(rule: Rule) -> dict[str, bool]:
        return {one.question.id: one.example is not None for one in Judged(user_rule(rule), True).search(0, 30)}

    nothing = dict.fromkeys(("law", "support", "acceptance", "wasteful"), False)
    assert found(Speculative()) == nothing
    assert found(Amplify(2)) == nothing | {"law": True}
    assert found(OptimalLossy(F(1, 10))) == nothing | {"law": True, "support": True}
    assert found(mutants.ResidualIsTarget()) == nothing | {"law": True, "wasteful": True}
    assert found(Amplify(F(1, 2))) == nothing | {"law": True, "acceptance": True, "wasteful": True}


def test_a_search_brings_the_smallest_example() -> None:
    example = Judged(user_rule(mutants.ResidualIsTarget()), True).search(0, 8)[0].example
    assert example is not None
    assert len(example.p) == 2
    assert example.tv == sum(abs(step_law(mutants.ResidualIsTarget(), example.p, example.q) - example.p)) / 2


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("rule", "name"),
    [
        (Speculative(), "speculative"),
        (Amplify(F(17, 10)), "amplify, k = 17/10"),
        (make_rule("addition", epsilon=F(7, 100)), "addition, ε = 7/100"),
        (OptimalLossy(F(1, 8)), "optimal-lossy, tv = 1/8"),
        (make_rule("dynamic-grouped", size=4, window="printed"), "dynamic-grouped, printed, size = 4"),
        (make_rule("typical"), "typical, ε = 0.09, δ = 0.3"),
        (make_rule("gsd-reference"), "gsd-reference"),
        *((rule, f"the wrong variant “{name}”") for name, rule in mutants.RULES.items()),
    ],
)
def test_a_known_rule_is_recognised(rule: Rule, name: str, exact: bool) -> None:
    judged = Judged(user_rule(rule), exact)
    rows = [judged.rows(pair) for rows in CASES.values() for pair in rows if len(pair[0]) <= 64]
    alike = match_rule(judged.rule, rows, float(judged.tolerance))
    if exact:
        assert alike.rule == name
    else:
        assert (alike.rule or "").partition(" = ")[0] == name.partition(" = ")[0]


def test_a_rule_that_is_known_in_parts_only_is_told_so() -> None:
    mixed = Changed(residual=lambda p, q, x: q)
    rows = [tuple(np.array(row, dtype=object) for row in pair) for pair in SMALL_CASES]
    alike = match_rule(user_rule(mixed), rows, 0)
    assert alike.summary() == "accepts like speculative; after a rejection draws like q"
    unlike = Changed(accept=lambda p, q, x: min(1, p[x] / q[x]) ** 2, residual=lambda p, q, x: (p + q) / 2)
    assert match_rule(user_rule(unlike), rows, 0).summary() == "like none of the rules it was compared with"


# The least distance over many contexts -------------------------------------------------------------------------

WORLD = codebook_pairs(0, 12, vocabulary=12)
METRIC = codebook_distances(WORLD.codebook)


def test_in_one_context_the_envelope_is_the_nearest_frontier() -> None:
    for p, q in zip(WORLD.p[:4], WORLD.q[:4], strict=True):
        envelope = nearest_envelope(p[None], q[None], METRIC, prices=400)
        for share in (0, 0.2, 0.5, 0.8, 1):
            gained = share * envelope.most
            least = nearest_frontier(p, q, min(1.0, alpha(p, q) + gained), METRIC)
            assert envelope.least(gained) <= least + 1e-9
            assert envelope.least(gained) == pytest.approx(least, abs=2e-3)


def test_what_has_no_envelope_is_told() -> None:
    p, q = WORLD.p[:2], WORLD.q[:2]
    for rows in ((p[0], q[0]), (p[:0], q[:0])):
        with pytest.raises(ValueError, match=r"p has shape .*; expected rows \[n, V\], at least one"):
            nearest_envelope(*rows, METRIC)
    with pytest.raises(ValueError, match="metric holds infinity; expected finite distances"):
        nearest_envelope(p, q, np.where(np.median(METRIC) < METRIC, np.inf, METRIC))
