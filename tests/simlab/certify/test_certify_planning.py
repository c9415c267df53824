"""What a pass needs and excludes: classes of tokens, evidence of single calls, exact laws as bounds, descriptions."""

from __future__ import annotations

from itertools import chain, product
from math import ceil

import numpy as np
import pytest

from experiments.certification.certificate_format import named
from simlab.arrays import total_variation
from simlab.certify.battery import verifying
from simlab.certify.battery.blocks import by_rank, token_classes
from simlab.certify.certificate import counted
from simlab.certify.contracts.events import Every, every
from simlab.certify.engine.describing import condition, deviation
from simlab.certify.engine.evidence import Diagnosis, Evidence, _fits, _gain, diagnosed, recognised
from simlab.certify.engine.exact import ROUNDING, Exact, enumerate_law
from simlab.certify.engine.periodic import Periodic
from simlab.certify.engine.planning import LOOSE, Plan, calls_for, enough
from simlab.certify.engine.tasks import Sample
from simlab.certify.registry import CONTRACTS
from simlab.messages import printable, raised
from simlab.mutants.gated.correct import all_coins_at_once
from simlab.statistics import Sequential
from tests.support.certify import case_named
from tests.support.certify import evidence as called

pytestmark = pytest.mark.exact

FAST = all_coins_at_once


def test_the_evidence_of_one_call_in_so_many_has_expectation_1() -> None:
    """Over all batches of five calls, and again over two batches, by enumeration."""
    law, period = np.array([0.3, 0.7]), 2

    def counts(outcomes: tuple[int, ...]) -> np.ndarray:
        codes = [call % period * 2 + outcome for call, outcome in enumerate(outcomes)]
        return np.bincount(codes, minlength=4)

    total = 0.0
    for first in product((0, 1), repeat=5):
        for second in product((0, 1), repeat=3):
            test = Periodic(law, period).update(counts(first)).update(counts(second))
            total += float(np.prod(law[[*first, *second]]) * np.exp(test.log_e))
    assert total == pytest.approx(1)


def test_what_is_told_of_single_calls_is_of_all_together_at_half_the_level() -> None:
    """For the evidence of all calls is reduced by a factor of two before it raises an alarm."""
    case = next(case for case in verifying.cases() if all(isinstance(events, Every) for events in case.events))
    evidence = called([case], FAST, 6400)
    whole = evidence.tests[0][0]
    assert isinstance(whole, Periodic)
    assert whole.n == 6400
    assert whole.highest >= whole.whole.highest - np.log(2)
    assert evidence.detectable()[0][0] == whole.whole.detectable(6400, evidence.level / 2)
    line = {"case": case.name, "events": counted(case.events[0])}
    assert line["events"].endswith(", in every 60th call (TV: of all calls together)")
    assert named(line) == f"{case.name}: {line['events']}"
    assert counted(verifying.cases()[0].events[0]) == verifying.cases()[0].events[0].name


def test_sequences_of_a_call_count_as_one_in_bounds() -> None:
    case = case_named("batch_uniforms", "70 sequences")
    evidence, rng, calls = Evidence([case]), np.random.default_rng(0), 200
    many = [len(events.groups) for events in case.events]
    assert max(many) > 10
    counts = [rng.multinomial(calls * each, events.law) for events, each in zip(case.events, many, strict=True)]
    evidence.add_counts(0, counts, calls)
    for k, each in enumerate(many):
        law, test = case.events[k].law, evidence.tests[0][k]
        assert evidence.detectable()[0][k] == pytest.approx(Sequential(law).detectable(calls, evidence.level))
        assert evidence.bounds_of(0, 0.999)[k] > test.tv_upper(0.999) * (1 if each == 1 else 1.5)


def test_events_of_single_calls_have_the_law_of_their_place() -> None:
    case = verifying.cases()[0]
    events = every(case.events[0], 3)
    assert events.law == pytest.approx(np.tile(case.events[0].law / 3, 3))
    tokens = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    assert events.codes(tokens).tolist() == [0, 4 + 1, 8 + 2, 3]
    assert events.format(5) == "0, 1, call 1 of 3"


def test_classes_by_rank_are_cut_where_something_may_be_lost() -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(2000))
    weights[7] = 0
    labels, order = by_rank(weights), np.argsort(-weights)
    assert (np.diff(labels[order]) >= 0).all()
    for rank in (16, 64, 256, 512, 1024):
        assert labels[order[rank - 1]] < labels[order[rank]]
    rare = order[weights[order].cumsum() > 0.99 + 1e-9][:-1]
    assert labels[rare].min() > labels[order[0]]
    assert (labels == labels[7]).sum() == 1  # without mass


def test_classes_by_chance_are_others_in_every_line_and_case() -> None:
    p = (np.full((1, 300), 1 / 300),) * 3
    found = [
        events.labels.tobytes()
        for number in (0, 1)
        for events in token_classes(p, p[:2], number)
        if "chance" in events.name and events.labels is not None
    ]
    assert len(found) == len(set(found)) == 8


@pytest.mark.parametrize("contract", CONTRACTS)
def test_principal_cases_are_there(contract: str) -> None:
    found = CONTRACTS[contract]
    assert set(found.principal) & {case.name for case in found.cases()}


def test_an_enumerated_law_bounds_tv_by_what_was_tried() -> None:
    cases = verifying.cases()
    evidence = Evidence(cases)
    law = enumerate_law(0, cases[0], FAST, np.random.default_rng(0))
    assert law is not None
    evidence.laws[0] = law
    each = evidence.each(0.999)
    assert evidence.bounds_of(0, 0.999) == [pytest.approx(-np.log(1 - each) / law.predicted, abs=1e-9)]
    assert evidence.bounds_of(1, 0.999) == [1.0]
    # trees that are wrong for a part t predict n lists with probability (1 - t)^n
    wrong = Exact(0, law.law, 100.0, True)
    assert np.exp(-wrong.sureness(0.3)) >= 0.7**100
    assert wrong.tv_upper(0.1, 0.99) == pytest.approx(0.1 + np.log(100) / 100)


def test_a_plan_calls_all_cases_then_principal_ones_until_they_are_bounded() -> None:
    cases = verifying.cases()[:6]
    evidence = Evidence(cases)
    plan = Plan(evidence, (cases[0].name,), 0.03, 0.999)
    planned = np.zeros(len(cases), np.int64)
    assert [plan.goal(i) for i in (0, 1)] == [0.03, LOOSE]
    for i in range(len(cases)):
        assert plan.next_case(planned) == i
        planned[i] = 8
        evidence.add(Sample(i, 0, 8).run(cases[i], FAST, 0))
    planned[:] = 1000
    assert plan.next_case(planned) == 0
    missing = plan.missing(evidence.bounds(0.999))
    assert missing[0] > 10 * missing[1]


def test_a_case_whose_counts_exclude_less_than_they_would_on_average_is_called_again() -> None:
    """So that a pass does not hang on a hair in a case that has had its calls."""
    (case, principal) = cases = verifying.cases()[:2]
    law, calls = case.events[0].law, enough(case, LOOSE)
    for shares, wanting in ((law, False), (law + np.array([0.2, -0.2, 0, 0]), True)):
        evidence = Evidence(cases)
        evidence.add_counts(0, [np.round(calls * shares).astype(np.int64)], calls)
        plan = Plan(evidence, (principal.name,), 0.03, 0.999)
        assert (max(evidence.bounds_of(0, 0.999)) > LOOSE) == wanting
        assert (0 in plan._loose(np.array([calls, calls]))) == wanting
        assert 0 not in plan._loose(np.array([2 * calls, calls]))


def test_the_time_that_a_pass_needs_yet_falls_with_calls_and_is_nothing_once_all_is_met() -> None:
    """By it shapes get their share of the time."""
    cases = verifying.cases()[:6]
    evidence = called(cases, FAST, 64)
    plan = Plan(evidence, (cases[0].name,), 0.03, 0.999)
    few, more = np.full(len(cases), 8), np.full(len(cases), 64)
    assert plan.seconds_needed(few) > plan.seconds_needed(more) > 0
    evidence.add(Sample(0, 1, 5000).run(cases[0], FAST, 0))
    bound = max(evidence.bounds_of(0, 0.999))
    more[0] = 5064 * (bound / 0.03) ** 2  # a bound falls with the root of how often a case was called
    assert bound > 0.03
    assert plan.seconds_needed(np.maximum(more, 4096)) == pytest.approx(0, abs=0.1 * plan.seconds_needed(few))
    evidence.laws = {i: Exact(i, case.events[0].law, 1e9, False) for i, case in enumerate(cases)}
    plan = Plan(evidence, (cases[0].name,), 0.03, 0.999)
    assert plan.seconds_needed(few) == 0


def test_a_deviation_is_described_by_where_it_is() -> None:
    cases = verifying.cases()
    large = [i for i, case in enumerate(cases) if case.vocabulary > 512]
    assert condition(cases, {i: i in large for i in range(len(cases))}) == "only in cases with more than 512 tokens"
    assert condition(cases, {0: True}) == ""  # nothing to compare with


def test_what_the_target_excludes_is_described_first_however_rare() -> None:
    case = next(case for case in verifying.cases() if (case.events[0].law == 0).any())
    law = case.events[0].law
    never, most = int(np.flatnonzero(law == 0)[-1]), int(law.argmax())
    shares = law.copy()
    shares[[never, most]] += 0.001, -0.101
    shares[int(np.flatnonzero(law > 0)[0])] += 0.1
    assert f"{case.events[0].format(never)} comes out with 0.001 in place of 0" in deviation(case, 0, shares)
    shares[never] = 1e-12  # rounding of a law that was enumerated
    assert "in place of 0;" not in f"{deviation(case, 0, shares)};"


def test_shares_that_print_alike_have_more_digits() -> None:
    case = verifying.cases()[0]
    law = case.events[0].law
    off = law + 1e-6 * (np.arange(len(law)) == 0) - 1e-6 * (np.arange(len(law)) == 1)
    found, wanted = deviation(case, 0, off).partition(" comes out with ")[2].split(" in place of ")
    assert abs(float(found) - float(wanted)) == pytest.approx(1e-6, rel=0.1)
    assert deviation(case, 0, law).endswith(f"{law[0]:.4g} in place of {law[0]:.4g}")


@pytest.mark.parametrize("calls", [1, 8, 30])
def test_of_few_calls_a_bound_says_little_about_how_many_would_do(calls: int) -> None:
    case = verifying.cases()[0]
    least = enough(case, 0.1)
    assert least <= calls_for(case, 0.1, calls, 0.9) <= ceil(1.5 * least)
    assert calls_for(case, 0.1, 1000, 0.2) == min(4000, ceil(1.5 * least))
    assert calls_for(case, 0.1, 1000, 0.05) == 250


def test_no_bug_is_named_after_cases_in_which_nothing_is_wrong() -> None:
    """Of 40 times that counts follow the target a bug was a little likelier by chance in the 13th, and was named."""
    cases = CONTRACTS["verify_candidates"].cases()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        counts = {i: rng.multinomial(2000, case.events[0].law) for i, case in enumerate(cases) if case.known_laws}
        assert diagnosed(cases, counts) == Diagnosis((), False)
        if seed == 12:
            fitting = [name for name in {*chain(*(cases[i].known_laws for i in counts))} if _fits(name, cases, counts)]
            gains = [sum(_gain(cases[i], counts[i], cases[i].known_laws.get(name)) for i in counts) for name in fitting]
            assert max(gains) > 0
    wrong = "siblings share a coin"
    rng = np.random.default_rng(0)
    laws = {i: case.known_laws.get(wrong, case.events[0].law) for i, case in enumerate(cases) if case.known_laws}
    counts = {i: rng.multinomial(20_000, law) for i, law in laws.items()}
    assert wrong in diagnosed(cases, counts).names
    between = {i: rng.multinomial(200_000, 0.7 * law + 0.3 * cases[i].events[0].law) for i, law in laws.items()}
    assert sum(_gain(cases[i], counts, laws[i]) for i, counts in between.items()) > 100  # likelier than the target
    assert diagnosed(cases, between) == Diagnosis((), False)  # and yet no bug's


def test_no_bug_is_named_after_laws_that_are_the_targets() -> None:
    """As those of the fixed cases are where only a drawn one or the end of a coin shows what is wrong."""
    cases = CONTRACTS["verify"].cases()
    laws = {i: case.events[0].law for i, case in enumerate(cases[:2])}
    unseen = set.intersection(
        *(
            {name for name, law in case.known_laws.items() if total_variation(law, laws[i]) <= ROUNDING}
            for i, case in enumerate(cases[:2])
        )
    )
    assert unseen
    assert recognised(cases, laws) == Diagnosis((), False)
    name, law = next((name, law) for name, law in cases[0].known_laws.items() if total_variation(law, laws[0]) > 0.05)
    assert name in recognised(cases, {0: law}).names


def test_messages_of_others_are_one_line_that_is_safe_to_print() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ZeroDivisionError

    assert raised(Mute()) == "raises Mute: (and so does its message: ZeroDivisionError)"
    assert raised(ValueError("\x1b[31mred\x07\n\udcff")) == r"raises ValueError: \x1b[31mred\x07 \udcff"
    assert len(printable("many words " * 10_000_000)) <= 304


@pytest.mark.parametrize("contract", ["verify", "chain_uniforms"])
def test_cases_for_the_ends_of_coins_are_enumerated_before_large_ones(contract: str) -> None:
    """Or a process that answers slowly on a busy machine has none of them enumerated."""
    named = CONTRACTS[contract]
    cases, ends = named.cases(), named.both_ends()
    plan = Plan(Evidence(cases), named.principal, 0.03, 0.999)
    every = [i for i, case in enumerate((*cases, *ends)) if case.branches]
    found = plan.small_in_turn(every, (*cases, *ends))
    assert sorted(found) == every
    assert set(found[: len(plan.principal)]) == set(plan.principal)
    later = [i for i in found if i not in plan.principal and len((*cases, *ends)[i].branches) > 2]
    assert len(later) > 8
    assert max(found.index(len(cases) + k) for k in range(len(ends))) < min(found.index(i) for i in later)
