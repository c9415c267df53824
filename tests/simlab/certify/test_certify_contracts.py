"""What every contract must do: references are exact, bugs have the laws they are known by, and both are told apart."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simlab.arrays import Array, total_variation
from simlab.certify import certify
from simlab.certify.battery import verifying
from simlab.certify.contracts import candidates
from simlab.certify.contracts.arrays import SINGLE
from simlab.certify.contracts.base import Broken, as_emitted
from simlab.certify.contracts.candidates import _distinct
from simlab.certify.contracts.chains import UNIFORMS
from simlab.certify.contracts.layouts import as_rows
from simlab.certify.engine import exact
from simlab.certify.engine.evidence import calls_needed, recognised
from simlab.certify.engine.exact import check_edges, enumerate_law
from simlab.certify.registry import CONTRACTS
from simlab.mutants.gated.base import GENERATOR
from simlab.mutants.gated.contracts import CONTRACTS as WRITTEN
from simlab.mutants.gated.contracts import known, over_coins, reference
from simlab.mutants.gated.correct import CORRECT
from simlab.mutants.gated.drafting import of_accumulated_cdf, of_rounded_cdf
from simlab.processes.filters import bfloat16
from simlab.randomness.coins import outcomes
from simlab.statistics import Sequential
from tests.support.certify import REACHABLE, Stuck, calls_to_tell_apart, case_named, found_in, wrong

pytestmark = pytest.mark.exact
DEFAULT_EVERY = 3

IN_ONE_CALL = [name for name, of in WRITTEN.items() if GENERATOR in of.has and of.group != "decode"]
QUICK = ("verify", "verify_candidates", "draft", "chain_uniforms", "tree_parents", "decode")


@pytest.fixture(autouse=True)
def _fewer_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trees are tried on 200 lists, which miss one that is wrong for a tenth with 1e-9; laws are compared, too."""
    monkeypatch.setattr(exact, "TRIED", 200)


def unless_slow(quick: Any, *case: Any) -> Any:
    """A case that is slow unless it is ``quick``."""
    return pytest.param(*case, marks=() if quick else pytest.mark.slow, id=": ".join(map(str, case)))


def small(name: str) -> list[Any]:
    """The cases of a contract in one call whose laws are worked out, and those for the ends of coins."""
    contract = CONTRACTS[name]
    return [*(case for case in contract.cases() if case.branches), *contract.both_ends()]


def law(case: Any, verify: Callable[..., Any]) -> Array:
    """Along every branch of every input, of a callable over coins."""
    found = np.zeros(len(case.events[0].law))
    for key, chance in case.every_input().items():
        emitted = outcomes(partial(verify, *case.arguments(case.as_input(key)).values()))
        found += chance * case.law_of({case.flat(tokens): share for tokens, share in emitted.items()})
    return found


# What is right -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", IN_ONE_CALL)
def test_the_right_one_emits_the_target(name: str) -> None:
    for case in small(name):
        assert sum(case.every_input().values()) == pytest.approx(1, abs=1e-12)
        found = law(case, over_coins(name, WRITTEN[name].right))
        np.testing.assert_allclose(found, case.events[0].law, atol=1e-12, err_msg=case.name)
        assert calls_needed(case, found, 1e-8, 0.999) is None  # power is not claimed where there is none


NOT_ENUMERATED = (
    *("exponential coins and Gumbel noise", "uniforms kept for later calls", "Gumbel noise", "exponential race"),
    *("multinomial", "acceptance-rejection residual", "recovery with Gumbel noise of its own"),
)
LONG = ("flat_exponential", "flat_tokens", "chain_logits", "chain_logits_joint", "batch_uniforms")
ENUMERATED = [
    unless_slow(i == 0 and contract not in LONG, contract, name, i)
    for contract, functions in CORRECT.items()
    for i, name in enumerate(name for name in functions if name not in NOT_ENUMERATED)
]


@pytest.mark.parametrize(("contract", "name", "number"), ENUMERATED)
def test_correct_code_has_the_law_of_the_target(contract: str, name: str, number: int) -> None:
    """Also with coins at their ends; in single precision but for rounding. The first of a contract in three cases, the
    others in one of them each, in turn."""
    right, of, rng = CORRECT[contract][name], CONTRACTS[contract], np.random.default_rng(0)
    single = contract not in IN_ONE_CALL or "single precision" in name
    enumerated, first = 0, [case for case in of.cases() if case.branches][:3]
    for case in (*(first[number % 3 : number % 3 + 1] if number else first), *of.both_ends()):
        if case.branches:
            check_edges(case, right)
            found = enumerate_law(0, case, right, rng)
            # a loop that draws tokens to begin with is not followed in every case
            assert found is not None or contract == "decode", f"{case.name}: an enumeration that predicts what it does"
            if found is None:
                continue
            assert not found.deviates
            assert total_variation(found.law, case.events[0].law) < (1e-6 if single else 1e-12), case.name
            enumerated += 1
    assert enumerated > (contract != "decode")


@pytest.mark.parametrize("name", [unless_slow(name == "draft", name) for name in CONTRACTS])
def test_a_right_one_passes(name: str) -> None:
    """Nothing that is enumerated, forced or counted is wrong."""
    found = certify(reference(name), name, calls=16, processes=0)
    assert (found.verdict, found.failure, found.notes) == ("inconclusive", None, ())  # of so few calls
    assert found.calls == 16 * len(CONTRACTS[name].cases())
    assert found.exact.endswith("cases")
    assert found.forced.endswith("cases")


# What is wrong -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", IN_ONE_CALL)
def test_laws_of_bugs_are_what_the_code_draws(name: str) -> None:
    """Laws that are worked out position by position, or sequence by sequence, against all branches of the whole."""
    for case in [case for case in CONTRACTS[name].cases() if case.branches][:4]:
        for bug, expected in case.known_laws.items():
            found = law(case, over_coins(name, known(name)[bug]))
            np.testing.assert_allclose(found, expected, atol=1e-12, err_msg=f"{case.name}: {bug}")


WHOLE = ("verify", "tree_parents", "tree_siblings")  # contracts of which every bug is enumerated
SOME = (  # bugs that are enumerated of the others
    *("residual drawn from p", "siblings share a coin", "row one position too late"),
    *("rejected token kept in the cache", "one coin for all blocks of a sequence", "row of p of another sequence"),
)


def enumerable() -> Iterator[Any]:
    for contract in CONTRACTS:
        one_tree = known("tree_parents" if contract == "tree_siblings" else contract)  # a batch of one has no other
        chosen = [name for name in one_tree if contract in WHOLE or name in SOME]
        yield from (unless_slow(contract in QUICK and i % 24 == 0, contract, name) for i, name in enumerate(chosen))


def test_known_bugs_have_laws_where_no_sequence_has_drafts() -> None:
    """A failure may be reduced to such a batch; rows in equal steps are then each sequence's own."""
    case = next(iter(CONTRACTS["verify_batch"].simplest()))
    assert [block.gamma for block in case.blocks] == [0, 0]  # type: ignore[attr-defined]
    law = case.known_laws["rows gathered in equal steps"]
    np.testing.assert_allclose(law, case.events[0].law, atol=1e-12)


@pytest.mark.parametrize(("contract", "name"), tuple(enumerable()))
def test_enumeration_finds_the_law_that_a_bug_is_known_by(contract: str, name: str) -> None:
    """In the cases that it changes most; and the law is recognised as that of the bug."""
    cases = CONTRACTS[contract].cases()
    most, few = {"verify": (24, 2), "verify_candidates": (24, 2), "decode": (6, 1)}.get(contract, (2, 1))
    known_laws = {k: case.law_under(name) for k, case in enumerate(cases) if case.branches and k < most}
    off = {k: total_variation(law, cases[k].events[0].law) for k, law in known_laws.items() if law is not None}
    found = {}
    for k in sorted(off, key=lambda k: -off[k])[:few]:
        enumerated = enumerate_law(k, cases[k], wrong(contract, name), np.random.default_rng(0))
        assert enumerated is not None
        assert enumerated.deviates or off[k] < 1e-3
        np.testing.assert_allclose(enumerated.law, known_laws[k], atol=1e-6)
        found[k] = enumerated.law
    if contract in WHOLE[1:] and max(off.values()) < 1e-3:  # of trees the smallest alone are enumerated in time
        return
    diagnosis = recognised(cases, found)
    assert diagnosis.explains
    assert name in diagnosis.names


MOST = {"verify": 60_000, "decode": 100_000}  # calls
WITHOUT = {  # bugs that are right elsewhere, or take a million calls
    "decode": ("end of the sequence inside a block missed", "ratio times 1.01", "small masses of the residual cut")
}


def seen() -> Iterator[Any]:
    """Bugs by contract; in batches those that are seen in batches alone, or between. One in six is quick, of loops,
    whose laws take longest, one in 24."""
    for contract in (*IN_ONE_CALL, "decode"):
        every = 24 if contract == "decode" else 6
        for i, (name, fault) in enumerate(known(contract).items()):
            of_batches = fault.pair or "batch" in fault.needs or fault.number in ("12", "17")
            if name not in WITHOUT.get(contract, ()) and (contract != "verify_batch" or of_batches):
                yield unless_slow(i % every == 0, contract, name)


@pytest.mark.parametrize(("contract", "name"), tuple(seen()))
def test_every_bug_is_seen_within_a_minute(contract: str, name: str) -> None:
    assert calls_to_tell_apart(CONTRACTS[contract].cases(), name) <= MOST.get(contract, REACHABLE)


@pytest.mark.parametrize("name", IN_ONE_CALL)
def test_generators_that_are_seeded_anew_are_found(name: str) -> None:
    """Also where single calls are right, and only two in turn are alike.

    Each of 500 pairs that are alike brings the entropy of what is emitted, 0.6 nats or more, and 14 are an alarm.
    """
    ours, once, twice = reference(name), CONTRACTS[name].cases()[0], case_named(name, "two calls in turn")
    assert found_in(once, lambda *arguments: ours(*arguments[:-1], np.random.default_rng(7)), 500)
    assert not found_in(once, Stuck(ours), 1000)
    assert not found_in(twice, ours, 1000)
    assert found_in(twice, Stuck(ours), 1000)


def test_a_contract_may_have_no_known_bugs() -> None:
    """As one that has just been added: it is called and read back, and nothing is recognised."""
    case = verifying.cases(replace(UNIFORMS, name="chain_of_ones_own"), SINGLE)[0]
    found = enumerate_law(0, case, wrong("chain_uniforms", "residual drawn from p"), np.random.default_rng(0))
    assert found is not None
    assert found.deviates
    assert not recognised([case], {0: found.law}).names


# What is told ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in CONTRACTS if name != "tree_siblings"])  # which writes its answer
@pytest.mark.parametrize("answer", [[], [-1], [0] * 17, [0.5], "0", None, [99_999]], ids=repr)
def test_what_is_no_answer_is_broken(name: str, answer: Any) -> None:
    case, rng = CONTRACTS[name].cases()[0], np.random.default_rng(0)
    with pytest.raises(Broken, match="returns"):
        case.ask(lambda *given: answer, case.inputs(1, rng), 0, rng)


def test_tokens_and_rows_are_read_from_what_people_return() -> None:
    for answer, tokens in (
        ([1, 0], (1, 0)),
        (np.array([2]), (2,)),
        ((np.int64(1),), (1,)),
        (np.array([[1, 2]]), (1, 2)),
        (np.int64(2), (2,)),
    ):
        assert as_emitted(answer, 3, 2) == tokens
    padded = [[1, -1, -1], [0, 1, 1]]
    for rows in (padded, np.array(padded), [[1], (0, 1, 1)], [np.array([1]), [0, 1, 1]]):
        assert as_rows(rows, 2, (2, 3)) == ((1,), (0, 1, 1))


READ = {"tokens": lambda answer: as_emitted(answer, 3, 2), "rows": lambda answer: as_rows(answer, 2, (2, 3))}


@pytest.mark.parametrize(
    ("what", "answer", "told"),
    [
        *(("tokens", one, "expected tokens") for one in (None, [0.5], [float("nan")], [True], "01", [[0], [1]])),
        ("tokens", [], "returns 0 tokens"),
        ("tokens", [0, 1, 2], "returns 3 tokens"),
        ("tokens", [3], "returns token 3; expected 0 to 2"),
        ("tokens", [-1], "returns token -1"),
        ("rows", [[1]], "expected 2 rows"),
        ("rows", 3, "expected 2 rows"),
        ("rows", [1, 0], "expected a row of tokens"),
        ("rows", [[1], [-1, 1, 0]], "returns token -1"),
        ("rows", [[-1, -1, -1], [0, -1, -1]], "returns 0 tokens"),
        ("rows", [[0, 1, 1], [0, 1, 1]], "returns 3 tokens"),
        ("rows", [[0, -1, -1, -1], [0, 1, 1]], "a row of 4"),
        ("rows", [[2, -1, -1], [0, 1, 1]], "returns token 2"),
        ("rows", [[0.5], [0]], "whole numbers"),
    ],
)
def test_what_is_no_token_or_row_is_told(what: str, answer: Any, told: str) -> None:
    with pytest.raises(Broken, match=told):
        READ[what](answer)


SCRIPTS: dict[str, tuple[Callable[[Any], bool], str]] = {  # in which case, and a callable
    "verify_batch": (lambda case: len(set(case.widths)) == 2, "[[rng.choice(p.shape[2], p=rows[0])] for rows in p]"),
    "verify_candidates": (lambda case: case.count == 2 and (case.p != case.q).any(), "rng.choice(len(p), p=p)"),
    "draft": (lambda case: case.length == 2, "[rng.choice(len(row), p=row) for row in q]"),
    "verify": (lambda case: case.length == 2, "[rng.choice(p.shape[1], p=p[0])]"),
    "chain_uniforms": (lambda case: case.length == 2, "[int(p[0].argmax())]"),
    "chain_tokens": (lambda case: case.length == 2, "[int(p[0].argmax())]"),
}


@pytest.mark.parametrize("name", [unless_slow(not name.startswith("chain_"), name) for name in SCRIPTS])
def test_the_script_runs(name: str, tmp_path: Path) -> None:
    """Without this package: it prints every outcome once; shares of 200 calls and of the target add up to 1."""
    suits, body = SCRIPTS[name]
    contract = CONTRACTS[name]
    case: Any = next(filter(suits, contract.simplest()))
    arguments = contract.signature.partition("(")[2].partition(")")[0]
    (tmp_path / "mine.py").write_text(f"def mine({arguments}):\n    return {body}\n")
    (tmp_path / "shown.py").write_text(case.script("mine", "mine", 200))
    shown = subprocess.run([sys.executable, "shown.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert len(lines) == case.vocabulary**case.length
    assert [sum(float(line[k]) for line in lines) for k in (-3, -1)] == pytest.approx([1, 1])


# What is drawn for them ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("precise", [candidates.PRECISE, 2.0])
def test_candidates_are_drawn_in_turn_without_replacement(precise: float, monkeypatch: pytest.MonkeyPatch):
    """Also where too little of q is left for sums.

    25,000 draws: a chi-square of 24 cells alarms with 1e-6, and sees TV 0.04 with power above 0.999.
    """
    monkeypatch.setattr(candidates, "PRECISE", precise)
    case = case_named("verify_candidates", "three candidates of four tokens")
    every = {drawn: k for k, drawn in enumerate(case.every_draw)}
    law = np.array(list(case.every_draw.values()))
    rng = np.random.default_rng(0)
    for found in (_distinct(case.q, case.count, 25_000, rng), case.inputs(25_000, rng)):
        counts = np.bincount([every[tuple(row)] for row in found.tolist()], minlength=len(every))
        assert float(Sequential(law).update(counts).p_value) > 1e-6
    independent = _distinct(np.full(4, 0.25), case.count, 25_000, rng)  # from another q
    counts = np.bincount([every[tuple(row)] for row in independent.tolist()], minlength=len(every))
    assert float(Sequential(law).update(counts).p_value) < 1e-6


def test_candidates_are_drawn_where_hardly_anything_is_left_of_q():
    q = np.array([1.0, *np.full(7, 1e-300)])
    found = _distinct(q, len(q), 16, np.random.default_rng(0))
    assert np.sort(found, axis=1).tolist() == [list(range(len(q)))] * 16


def test_many_candidates_are_drawn():
    """As many as a user may ask for, of rows that are uneven."""
    rng = np.random.default_rng(0)
    (found,) = _distinct(rng.dirichlet(np.full(8192, 0.1)), 4096, 1, rng).tolist()
    assert len(set(found)) == 4096


def test_more_candidates_than_q_can_draw_are_refused():
    case = case_named("verify_candidates", "q one-hot")
    with pytest.raises(ValueError, match="count is 2; expected 1 to 1"):
        type(case)("", case.p, case.q, 2, case.events)


def test_bfloat16_rounds_to_nearest_with_ties_to_even():
    ulp = 2.0**-7
    values = np.array([0.0, 1.0, 1 + 0.49 * ulp, 1 + ulp / 2, 1 + 0.51 * ulp, 1 + 1.5 * ulp, -1 - 0.51 * ulp, 0.9985])
    np.testing.assert_array_equal(bfloat16(values), [0, 1, 1, 1, 1 + ulp, 1 + 2 * ulp, -1 - ulp, 1])
    np.testing.assert_array_equal(bfloat16(bfloat16(values)), bfloat16(values))


def test_a_cdf_in_bfloat16_loses_tokens():
    assert of_rounded_cdf(np.array([0.9985, 0.0015]))[1] == 0
    equal = np.full(512, 1 / 512)
    assert (of_rounded_cdf(equal) == 0).sum() == 128  # every other one of the upper half
    assert (of_accumulated_cdf(np.full(4096, 1 / 4096)) == 0).mean() > 0.8
