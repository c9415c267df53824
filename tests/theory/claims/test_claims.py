"""Claims: their counterexamples refute what they say they refute, and a check that cannot fail is an error.

Every refutation by a rule at one pair of rows is computed again, from the numbers in its evidence alone, with the
slow rules of :mod:`tests.support.oracles`. The helpers that make findings are seen to refuse a control that passes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from tests.support import oracles
from tests.support.verdicts import KEPT, decided, numbers_of
from theory.claims import CLAIMS, VERDICTS, CheckFailed, Finding, Verdict, combined, evidence, find, registry
from theory.claims.base import Claim
from theory.claims.evidence import rejects_mutants, require, require_found
from theory.claims.format import plain
from theory.claims.sources import said

pytestmark = pytest.mark.exact
DEFAULT_EVERY = 2

Example = dict[str, Any]
ALL = slice(None)


def slow_rule(example: Example) -> oracles.SlowRule:
    """The rule an example names; decimals are taken as they are written."""
    names = ("labels", "size", "max_gap", "max_distance", "distances", "window", "below", "above")
    names += ("neighbours", "delta", "bound", "k", "tree")
    given = {name: example[name] for name in names if name in example}
    for name in ("max_gap", "max_distance", "delta"):
        if given.get(name) is not None:
            given[name] = F(str(given[name]))
    return oracles.RULES[example["rule"]](**given)


def exact(example: Example, *names: str) -> list[Any]:
    """The rationals behind the numbers of an example."""
    values = [example["exact"][name] for name in names]
    return [tuple(map(F, value)) if isinstance(value, list) else F(value) for value in values]


def distance(one: Any, other: Any) -> F:
    return sum((abs(a - b) for a, b in zip(one, other, strict=True)), F(0)) / 2


def accepts_less(example: Example) -> bool:
    p, q = exact(example, "p", "q")
    return slow_rule(example).acceptance(p, q) < oracles.speculative().acceptance(p, q)


def token_law_is_off(example: Example) -> bool:
    p, q = exact(example, "p", "q")
    return slow_rule(example).law(p, q) != p


def group_law_is_off(example: Example) -> bool:
    p, q = exact(example, "p", "q")
    rows = (slow_rule(example).law(p, q), p)
    groups = [[sum(m for m, g in zip(row, example["labels"], strict=True) if g == k) for k in range(9)] for row in rows]
    return groups[0] != groups[1]


def emits_what_the_target_excludes(example: Example) -> bool:
    p, q = exact(example, "p", "q")
    return any(m > 0 == x for m, x in zip(slow_rule(example).law(p, q), p, strict=True))


def law_is_delta_away(example: Example) -> bool:
    p, q = exact(example, "p", "q")
    return distance(slow_rule(example).law(p, q), p) >= F(str(example["delta"]))


def residual_is_not_the_papers(example: Example) -> bool:
    p, q = exact(example, "p", "q")
    near = [row[: example["k"]] for row in example["neighbours"]]
    paper = oracles.RULES["lantern"](near, F(str(example["delta"])))
    return slow_rule(example).law(p, q) != paper.law(p, q)


def more_would_fit(example: Example) -> bool:
    """Token 2 moves less than delta, and is not in the neighbourhood that was built."""
    (p, q), delta = exact(example, "p", "q"), F(str(example["delta"]))
    return p[2] < delta and slow_rule(example).accept(p, q, 0) == p[0]


# A claim, the kind of its evidence, which of it, and what that shows.
REFUTES: list[tuple[str, str, slice, Callable[[Example], bool]]] = [
    ("gsd.dynamic.centred", "counterexample", ALL, accepts_less),
    ("gsd.support", "counterexample", ALL, emits_what_the_target_excludes),
    ("lantern.output-bound.step", "counterexample", ALL, law_is_delta_away),
    ("lantern-reference.dynamic.residual", "counterexample", ALL, residual_is_not_the_papers),
    ("lantern-reference.static.residual", "counterexample", ALL, residual_is_not_the_papers),
    ("lantern-reference.static.zero-delta", "counterexample", ALL, token_law_is_off),
    ("gsd-reference.acceptance", "counterexample", ALL, accepts_less),
    ("gsd-reference.support", "counterexample", ALL, emits_what_the_target_excludes),
    # of entries that hold: what refutes a stronger statement
    ("gsd.unbiased", "example", slice(3, 4), token_law_is_off),
    ("gsd.unbiased", "example", slice(4, 5), group_law_is_off),
    ("lantern.largest.nearest", "example", slice(1, 2), more_would_fit),
]


def refutes(example: Example, of: Callable[[Example], bool]) -> bool:
    """Whether an example refutes, its numbers being those of the slow rules."""
    p, q, law, kept, lossless = exact(example, "p", "q", "law", "acceptance", "acceptance_speculative")
    assert slow_rule(example).law(p, q) == law
    assert slow_rule(example).acceptance(p, q) == kept
    assert oracles.speculative().acceptance(p, q) == lossless
    assert [float(mass) for mass in p] == example["p"]
    return of(example)


@pytest.mark.parametrize(("id", "kind", "which", "of"), REFUTES)
def test_examples_can_be_recomputed_and_refute(id: str, kind: str, which: slice, of: Callable[[Example], bool]) -> None:
    assert decided(id, 3).verdict == KEPT[id]
    examples = json.loads(json.dumps(numbers_of(id, kind)))[which]
    assert examples
    assert all(refutes(example, of) for example in examples)


def test_a_wrong_variant_is_seen_whatever_the_random_table() -> None:
    """That of seed 8 has no row that lets a draft stay at threshold 2."""
    assert decided("sjdpp.mended", 8).verdict == "holds"


@pytest.mark.slow
def test_two_measures_are_not_told_apart_by_a_few_contexts() -> None:
    """Those of seed 100 have a difference of more than a quarter of the lead, by less than a standard error."""
    assert decided("lantern.neighbours.empirical", 100).verdict == KEPT["lantern.neighbours.empirical"]


def test_an_unknown_claim_is_named_with_its_neighbours() -> None:
    assert find("gsd.support") is CLAIMS["gsd.support"]
    with pytest.raises(ValueError, match=r"unknown claim 'gsd\.suport'.*gsd\.support"):
        find("gsd.suport")


SOURCES = {True: said("4.1", "quoted"), False: said("4.1", "quoted", "stronger")}


def verdict_of(*parts: tuple[str, bool]) -> str:
    """The verdict of a claim with parts of these verdicts, each stated by the paper or not."""
    found = {
        str(k): (Claim(str(k), "x", SOURCES[stated], "x", None), Finding(verdict, []))  # type: ignore[arg-type]
        for k, (verdict, stated) in enumerate(parts)
    }
    return combined(found).verdict


def test_a_claim_is_refuted_if_a_part_the_paper_states_is() -> None:
    assert verdict_of(("holds", True), ("refuted", True)) == "refuted"
    assert verdict_of(("holds", True), ("refuted", False)) == "holds"
    assert verdict_of(("holds", True), ("not-decided", True)) == "not-decided"
    assert verdict_of(("holds", True), ("holds-under-assumptions", True)) == "holds-under-assumptions"
    assert verdict_of(("refuted", False), ("holds", False)) == "refuted"  # it states none of its parts: all count
    assert verdict_of(("not-decided", True), ("refuted", True)) == "refuted"
    assert verdict_of(("not-refuted", True), ("holds-under-assumptions", True)) == "not-refuted"
    assert verdict_of(("not-refuted", True), ("not-decided", True)) == "not-decided"
    assert set(VERDICTS) == {"holds", "holds-under-assumptions", "refuted", "not-refuted", "not-decided"}


def test_a_refuted_claim_has_the_counterexamples_of_its_first_refuted_part() -> None:
    def part(id: str, verdict: Verdict, stated: bool = True) -> tuple[Claim, Finding]:
        return Claim(id, "x", SOURCES[stated], "x", None), Finding(
            verdict, [evidence.counterexample(id), evidence.example(id)]
        )

    parts = {"a": part("a", "refuted", False), "b": part("b", "refuted"), "c": part("c", "refuted")}
    kind, summary = zip(*((piece.kind, piece.summary) for piece in combined(parts).evidence), strict=True)
    assert kind == ("parts", "counterexample")
    assert summary == ("a: refuted (stronger); b: refuted; c: refuted", "b")


def test_modules_come_in_their_declared_order_and_no_id_is_given_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    assert registry.CLAIMS.keys() == registry.collected().keys()
    assert list(registry.PAPERS[:4]) == ["leviathan", "gsd", "lantern", "sjd"]
    one = next(registry.modules())
    monkeypatch.setattr(registry, "modules", lambda: [one, one])
    with pytest.raises(ValueError, match=r"speculative_rule has claims that exist already: .*leviathan\.acceptance"):
        registry.collected()


def test_a_control_that_passes_fails_the_check() -> None:
    assert rejects_mutants({"bug": 1}, float, "it").kind == "control"
    with pytest.raises(CheckFailed, match="the check of it does not see: no bug"):
        rejects_mutants({"bug": 1, "no bug": 0}, float, "it")
    with pytest.raises(CheckFailed, match="why"):
        require(False, "why")
    with pytest.raises(CheckFailed, match="nothing"):
        require_found(None, "nothing")


def test_plain_values_are_json() -> None:
    value = {(0, 1): F(1, 2), "rows": np.array([F(1, 4), 1]), "count": np.int64(3), "yes": np.True_, "none": None}
    plain_value = {"0 1": 0.5, "rows": [0.25, 1], "count": 3, "yes": True, "none": None}
    assert json.loads(json.dumps(plain(value))) == plain_value


def test_a_notebook_displays_statement_assumptions_and_proof() -> None:
    claim = find("cspd.output-law.last-step")
    text = claim._repr_markdown_()
    assert all(part in text for part in (claim.id, claim.statement, claim.proof, *claim.assumptions))
    assert "Proof" not in find("sjd.theorem-1")._repr_markdown_()


@pytest.mark.slow
def test_what_simulates_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """`simlab verify` begins it when its kernels are compiled; what is decided exactly would compile them beside."""

    class Simulates(Exception):
        pass

    def simulated(*given: Any, **named: Any) -> Any:
        raise Simulates

    for form in ("decoders.compiled.run._decoded", "continuous.compiled.run.compiled_model"):
        monkeypatch.setattr(f"simlab.{form}", simulated)
    undeclared = []
    for claim in CLAIMS.values():
        if claim.decide and not claim.simulates:
            try:
                claim.decide(0)
            except Simulates:
                undeclared.append(claim.id)
    assert undeclared == []
