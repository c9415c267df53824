"""Statements about all rows: right ones are proven, wrong ones come back with rows."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from simlab import mutants
from simlab.arrays import Array
from simlab.candidates import Independent, WithoutReplacement, make_verifier
from simlab.decoders import DECODERS, Decoder, Sjd, SjdAc, make_decoder
from simlab.mutants import ac_decoders, sjd_decoders, speculative_decoders
from simlab.mutants import blocks as wrong_blocks
from simlab.mutants import decoders as wrong_decoders
from simlab.mutants import randomness as wrong_randomness
from simlab.mutants import rules as wrong_rules
from simlab.mutants import trees as wrong_trees
from simlab.mutants.randomness import WithRandomness
from simlab.rules import Rule, Speculative, Step, make_rule
from tests.support import wrong_rules as other_rules
from theory.exact import block_acceptance, deviation, mean, sequence_law, target_law
from theory.proofs.catalogue import PROOFS
from theory.symbolic import Answer, Limits, Refused, prove, prove_decoders, prove_rule, prove_verifier, small_rows
from theory.symbolic.answers import up_to
from theory.symbolic.decoders import commits_nothing, first_difference, first_failure, one_step
from theory.symbolic.prove_decoders import prove_steps
from theory.symbolic.rows import Table, contexts, row_name
from theory.symbolic.statements import read_statement

pytestmark = pytest.mark.exact
DEFAULT_EVERY = 3

NEAR = [[1, 2], [0, 2], [0, 1]]
LOSSLESS = Speculative()


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        ((2, 3, 4), "V = 2 to 4"),
        ((4, 2), "V = 2, 4"),
        ((3, 2, 2), "V = 2 to 3"),
        ((2, 3, 5), "V = 2, 3, 5"),
        ((3,), "V = 3"),
    ],
)
def test_sizes_that_were_not_looked_at_are_not_told(sizes: tuple[int, ...], told: str) -> None:
    assert up_to(sizes) == told


@pytest.mark.parametrize(
    ("rule", "that", "size"),
    [
        (LOSSLESS, "lossless", 3),
        (LOSSLESS, "accepts == alpha", 3),
        (make_rule("grouped", labels=[0, 0, 1]), "accepts >= speculative", 3),
        (make_rule("lantern", neighbours=NEAR, delta=Fraction(1, 5)), "frontier", 3),
        (other_rules.ResidualFiltered(), "lossless", 2),  # it sorts, and sums what is true
    ],
)
def test_what_is_true_of_all_rows_is_proven(rule: Rule, that: str, size: int) -> None:
    answer = prove_rule(rule, that, sizes=[size])
    assert answer.outcome == "proven", answer
    assert answer.cells > 1


@pytest.mark.parametrize(
    ("rule", "that", "size"),
    [
        (make_rule("grouped", labels=[0, 0]), "lossless", 2),
        (make_rule("grouped", labels=[0, 0, 1]), "frontier", 3),
        (make_rule("lantern", neighbours=NEAR, delta=Fraction(1, 5)), "tv <= 1/5", 3),
        (make_rule("amplify", k=2), "tv <= 1/10", 2),
        (LOSSLESS, "accepts > alpha", 2),
        (LOSSLESS, "accepts <= 1/2", 2),
    ],
)
def test_what_is_false_comes_back_with_rows_where_it_is(rule: Rule, that: str, size: int) -> None:
    answer = prove_rule(rule, that, sizes=[size])
    assert answer.outcome == "counterexample", answer
    assert all(sum(row) == 1 and min(row) >= 0 for row in answer.rows.values())
    assert all(mass.denominator <= 12 for row in answer.rows.values() for mass in row)
    p, q = (np.array(answer.rows[name], dtype=object) for name in "pq")
    step = rule.step_rows(p[None], q[None])
    assert answer.values["law"] == tuple(step.law[0])
    assert answer.values["accepts"] == step.acceptance[0]


WRONG = {
    **mutants.RULES,
    "1/p": other_rules.InvertedQuotient(),
    "ratio plus": other_rules.RatioPlus(slack=Fraction(1, 100)),  # type: ignore[arg-type]
    "neighbours": other_rules.NeighbourNumerator(),
    "pairs": wrong_rules.PairsGrouped(),
    "argmax": wrong_rules.ArgmaxVerified(),
    "residual without draft": other_rules.ResidualWithoutDraft(),
    "residual squared": wrong_rules.ResidualTempered(),
}


@pytest.mark.parametrize("name", WRONG)
def test_every_wrong_rule_is_refuted(name: str) -> None:
    answer = prove_rule(WRONG[name], sizes=[2, 3])
    assert answer.outcome == "counterexample", answer
    p, q = (np.array(answer.rows[each], dtype=object) for each in "pq")
    assert tuple(WRONG[name].step_rows(p[None], q[None]).law[0]) != answer.rows["p"]


# Decoders --------------------------------------------------------------------------------------------------------

SMALL: dict[str, Any] = {
    **{"window": 2, "gamma": 2, "candidates": 2, "phrase": 1, "depth": 1, "top_k": 1, "total": 1},
    **{"branching": [2], "replacement": False},
}
LONGER = (  # sequences of three tokens are proven in a moment
    *("speculative", "block", "sjd", "sjd-ac", "sjd-block", "sjd-unrefined", "sjd-vp", "sjd-pv", "sjd-pp"),
    "sjd-reference",
)


def small(name: str) -> Decoder:
    """A registered decoder of two tokens at a time."""
    taken = inspect.signature(DECODERS[name]).parameters
    of_its_own = ("candidates",) if name == "candidate-tree" else ()  # to which this means something else
    return make_decoder(name, **{key: SMALL[key] for key in taken if key in SMALL and key not in of_its_own})


RIGHT: dict[str, tuple[Decoder, int]] = {
    **{name: (small(name), 3 if name in LONGER else 2) for name in DECODERS if name != "skipping"},  # which is lossy
    "sjd, neighbours copied": (make_decoder("sjd", window=2, initial="repeat-left"), 3),
    "maximal coupling": (make_decoder("sjd", window=2, renewal="maximal"), 3),
    "gumbel": (make_decoder("sjd", window=2, renewal="gumbel"), 2),
    "sjd-block, kept": (make_decoder("sjd-block", window=2, renewal="kept"), 3),
    "no bonus": (mutants.BonusOmitted(2), 3),
    "flat tail": (mutants.FlatTail(2), 3),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "sjd-vp" else name for name in RIGHT]
)
def test_lossless_decoders_are_proven(name: str) -> None:
    decoder, length = RIGHT[name]
    answer = prove(decoder, length=length)
    assert answer.outcome == "proven", answer
    assert answer.assumed == "real rows"


class WrongAtZeros(Speculative):
    """Keeps a draft that the target excludes."""

    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        excluded = np.take_along_axis(p, x[..., None], -1)[..., 0] == 0
        return np.where(excluded, Fraction(1), super().accept_rows(p, q, x))


@pytest.mark.parametrize("name", ["speculative", "sjd"])
def test_what_is_wrong_only_at_zeros_is_refuted_by_rows_with_zeros(name: str) -> None:
    decoder = RIGHT[name][0]
    assert prove(decoder, rule=WrongAtZeros(), length=2, zeros=False).outcome == "proven"
    answer = prove(decoder, rule=WrongAtZeros(), length=2)
    assert answer.outcome == "counterexample"
    assert any(0 in row for row in answer.rows.values())


def test_of_one_step_zeros_can_be_left_out_of_what_is_compared() -> None:
    answer = prove(RIGHT["block"][0], "accepts >= speculative", length=2, zeros=False)
    assert (answer.outcome, answer.assumed) == ("proven", "real rows without zeros")


WRONG_DECODERS: dict[str, Decoder] = {
    **{f"speculative: {name}": each for name, each in speculative_decoders(2).items()},
    **{f"sjd: {name}": each for name, each in sjd_decoders(2).items()},
    **{f"ac: {name}": each for name, each in ac_decoders(3).items()},
    "greedy drafts": mutants.GreedyDrafts(2),
    "hierarchical, uncapped": make_decoder("hierarchical", gamma=2, final="uncapped"),
    "maximal as published": make_decoder("sjd", window=2, renewal="maximal-reference"),
}


def tables(answer: Answer, decoder: Decoder, length: int) -> list[Table]:
    """The models of a counterexample over two tokens: the target, and the draft of a decoder that needs one."""
    rows = {each: np.array(row, dtype=object) for each, row in answer.rows.items()}
    return [
        Table(2, length, {each: rows[row_name(model, each)] for each in contexts(2, length)})
        for model in ("pq" if decoder.needs_draft else "p")
    ]


@pytest.mark.parametrize("name", WRONG_DECODERS)
def test_every_wrong_decoder_is_refuted_by_its_sequences(name: str) -> None:
    decoder = WRONG_DECODERS[name]
    length = 4 if "bonus duplicated" in name else 3  # it takes a bonus token that is not the last
    answer = prove(decoder, length=length)
    assert answer.outcome == "counterexample", answer

    target, *draft = tables(answer, decoder, length)
    law, _ = sequence_law(decoder, target, LOSSLESS, *draft)
    assert law != target_law(target)


NOT_WRONG = {  # of the wrong variants' houses, those that no proof refutes: why not
    "ResidualProcessed": "its processor is a parameter; ResidualTempered is one of them",
    "BonusOmitted": "lossless, and proven so",
    "FlatTail": "lossless, and proven so",
    "ChangedRandomness": "the base of those that are",
    "SiblingsReordered": "its order is a parameter; SiblingsSorted and OwnTokenLast are two of them",
}


def test_every_wrong_variant_is_refuted_here_or_by_a_kept_proof() -> None:
    kept = (each for proof in PROOFS.values() for ask in proof.wrong.values() for each in _parts(ask))
    wrong = [*WRONG.values(), *WRONG_DECODERS.values(), *kept]
    refuted = {each if inspect.isclass(each) else type(each) for each in wrong}
    refuted |= {each.change for each in wrong if isinstance(each, WithRandomness)}
    there = {
        each
        for house in (wrong_rules, wrong_decoders, wrong_trees, wrong_blocks, wrong_randomness)
        for name, each in vars(house).items()
        if inspect.isclass(each) and each.__module__ == house.__name__ and not name.startswith("_")
    }
    assert len(there) > 35
    assert {each.__name__ for each in there - refuted} == NOT_WRONG.keys()


def _parts(question: Any) -> Iterator[Any]:
    """What a question is about: its arguments, and what those hold."""
    if isinstance(question, partial):
        for each in (question.func, *question.args, *question.keywords.values()):
            yield from _parts(each)
    elif inspect.isfunction(question):
        for cell in question.__closure__ or ():
            yield from _parts(cell.cell_contents)
    else:
        yield question


@pytest.mark.parametrize(
    ("name", "that", "length"),
    [
        ("block", "accepts >= speculative", 3),
        ("block", "calls <= speculative", 2),
        ("sjd-ac", "accepts == sjd", 3),
        ("sjd", "calls <= 2", 2),
        ("sjd", "tv == 0", 2),
    ],
)
def test_numbers_of_decoders_are_compared(name: str, that: str, length: int) -> None:
    answer = prove(RIGHT[name][0], that, length=length)
    assert (answer.outcome, answer.assumed) == ("proven", "real rows")
    assert answer.cells > 20


@pytest.mark.parametrize(
    ("name", "that", "length", "rule", "values"),
    [
        ("speculative", "accepts >= block", 3, LOSSLESS, {"accepts": Fraction(3, 4), "block": Fraction(1)}),
        ("sjd", "calls <= 1", 2, LOSSLESS, {"calls": Fraction(3, 2)}),
        ("sjd", "tv <= 1/10", 2, make_rule("amplify", k=2), {"tv": Fraction(1, 6)}),
    ],
)
def test_a_false_comparison_of_decoders_comes_back_with_the_smallest_denominators(
    name: str, that: str, length: int, rule: Rule, values: dict[str, Fraction]
) -> None:
    decoder = RIGHT[name][0]
    answer = prove(decoder, that, rule=rule, length=length)
    assert answer.outcome == "counterexample", answer
    assert answer.values == values
    largest = max(mass.denominator for row in answer.rows.values() for mass in row)
    assert largest == {"accepts >= block": 2, "calls <= 1": 1, "tv <= 1/10": 3}[that]
    target, *draft = tables(answer, decoder, length)
    law, steps = sequence_law(decoder, target, rule, *draft)
    found = {"calls": mean(steps), "tv": deviation(decoder, target, rule, *draft)}
    found["accepts"] = block_acceptance(decoder, target, rule, *draft)
    own = next(iter(values))
    assert found[own] == values[own]
    assert sum(law.values()) == 1


def test_what_decoders_do_not_share_is_told() -> None:
    for that, told in (
        ("accepts >= block", "block needs gamma; Sjd"),
        ("calls + accepts >= sjd-ac", "one of accepts and calls beside sjd-ac"),
        ("accepts >= alpha", "alpha is not known; expected lossless, or a comparison of numbers and accepts, calls"),
    ):
        with pytest.raises(ValueError, match=told):
            prove(Sjd(2), that)


class Idle(Sjd):
    """Does nothing at all."""

    def step(self, state: Any, process: Any, rule: Any, randomness: Any, draft: Any = None) -> Any:
        return state, super().step(state, process, rule, randomness, draft)[1]


def test_a_decoder_that_does_not_come_to_an_end_is_told() -> None:
    with pytest.raises(ArithmeticError, match="has not finished sequences of 2 tokens"):
        prove(Idle(1), "calls <= 2", length=2)
    with pytest.raises(ArithmeticError, match="has not finished sequences of 2 tokens"):
        prove(Idle(1), length=2)


# Verifiers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "candidates"),
    [("recursive", WithoutReplacement()), ("recursive", Independent()), ("sample-and-match", None), ("optimal", None)],
)
def test_verifiers_of_candidates_are_proven(name: str, candidates: Any) -> None:
    assert prove_verifier(make_verifier(name), candidates=candidates, sizes=[2]).outcome == "proven"


def test_numbers_of_verifiers_are_compared() -> None:
    greedy = make_verifier("greedy")
    assert prove(greedy, "accepts >= speculative", 2).outcome == "proven"
    answer = prove(greedy, "accepts <= alpha", 2)
    assert answer.outcome == "counterexample"
    assert answer.values["accepts"] > answer.values["alpha"]
    assert answer.values["law"] == answer.rows["p"]
    lossy = make_verifier("recursive", rule=make_rule("amplify", k=2))
    assert prove_verifier(lossy, sizes=[2]).outcome == "counterexample"
    assert prove(lossy, "tv <= 1/2", 2).outcome == "proven"
    assert prove(lossy, "tv <= 1/4", 2).outcome == "counterexample"


# What cannot be run, and limits ----------------------------------------------------------------------------------


class Floats(Speculative):
    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        return np.vectorize(float)(super().accept_rows(p, q, x))


class Tempered(Speculative):
    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        return np.exp(p)


class Swallows(Speculative):
    """Asks for a float, and goes on as if nothing had happened where there is none."""

    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        try:
            return np.full(x.shape, Fraction(float(p.ravel()[0]) > 2))
        except Exception:
            return super().accept_rows(p, q, x)


class Half(Speculative):
    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        return super().accept_rows(p, q, x) * 0.3


class Kept(Speculative):
    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        assert len({*p.ravel().tolist()}) > 0
        return super().accept_rows(p, q, x)


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (Floats(), "float"),
        (Tempered(), "exponentials"),
        (Swallows(), "float"),
        (Half(), "0.3"),
        (Kept(), "unhashable"),
        (make_rule("typical"), "float"),
    ],
)
def test_a_rule_that_needs_more_than_fractions_is_refused(rule: Rule, told: str) -> None:
    with pytest.raises(Refused, match=told):
        prove(rule, size=2)


def test_a_rule_that_divides_by_0_somewhere_is_refuted_there() -> None:
    class Divides(Speculative):
        def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
            ratio = np.take_along_axis(p, x[..., None], -1)[..., 0] / np.take_along_axis(q, x[..., None], -1)[..., 0]
            return np.where(ratio < 1, ratio, Fraction(1))

    answer = prove(Divides(), size=2)
    assert answer.outcome == "counterexample"
    assert "divides by 0" in answer.why
    assert 0 in answer.rows["q"]
    assert prove_rule(Divides(), sizes=[2], zeros=False).outcome == "proven"


@pytest.fixture
def briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows at which something fails are not looked for long."""
    for module in (small_rows, prove_decoders):
        monkeypatch.setattr(module, "SEARCH", 0.1)


@pytest.mark.usefixtures("briefly")
def test_a_limit_gives_unknown_and_never_proven() -> None:
    answer = prove(LOSSLESS, size=3, limits=Limits(cells=10))
    assert answer.outcome == "unknown"
    assert "10 cells" in answer.why
    assert prove(make_decoder("block", gamma=2), limits=Limits(seconds=0.05)).outcome == "unknown"


@pytest.mark.usefixtures("briefly")
def test_a_rule_that_catches_the_limit_is_not_proven_by_it() -> None:
    class Patient(Speculative):
        def step_rows(self, p: Array, q: Array) -> Step:
            try:
                return super().step_rows(p, q)
            except Exception:
                return Step(np.array([Fraction(1)]), p)

    answer = prove_rule(Patient(), sizes=[3], limits=Limits(seconds=1e-4))
    assert answer.outcome == "unknown"


NONE = [
    *("losless", "accepts", "accepts >= nothing", "__import__('os') == 1", "tv <= 'a'", "tv <= True", "tv <= 1e999"),
    *("(tv == 0) == 1", "tv <= 1/0", "tv <= 1 / (1 - 1)", "1 / tv >= 1", "not tv <= 1", "+tv <= 1", "tv <= 2 ** 3"),
    *("tv <= 1/(-0)", "tv <= " + "-" * 480 + "nothing"),
]


@pytest.mark.parametrize("that", NONE)
def test_a_statement_that_is_none_is_told(that: str) -> None:
    with pytest.raises(ValueError, match="expected lossless, frontier"):
        prove(LOSSLESS, that)


def test_a_statement_may_have_space_around_it_and_numbers_below_0() -> None:
    values = {"tv": Fraction(0), "alpha": Fraction(1)}
    for text, true in ((" tv == 0 ", True), ("tv >= 1/-10", True), ("tv == 1 / -(-2)", False), ("\ttv<alpha", True)):
        assert read_statement(text).holds(values.__getitem__) == true
    with pytest.raises(ValueError, match="expected at most 500"):
        read_statement("-" * 3000 + "tv <= 1")


def test_steps_of_two_decoders_are_one_in_law_or_not() -> None:
    def apart(other: Decoder) -> Any:
        def fails(step: Any) -> Any:
            beside = one_step(other, LOSSLESS, 2, 2, step.prefix, step.supports, beside=step)
            return first_difference(step, beside, lambda outcome: outcome.tokens)

        return fails

    blocks, single = make_decoder("block", gamma=1), make_decoder("speculative", gamma=1)
    assert prove_steps(blocks, "one in law", apart(single), length=2).outcome == "proven"
    other = prove_steps(make_decoder("block", gamma=2), "one in law", apart(single), length=3)
    assert other.outcome == "counterexample"
    assert other.rows


def test_every_step_commits_a_token_or_not() -> None:
    assert prove_steps(Sjd(1), "commits", commits_nothing, length=2).outcome == "proven"
    assert prove_steps(Idle(1), "commits", commits_nothing, length=2).outcome == "counterexample"


def test_a_law_that_is_declared_may_be_a_sum_of_positive_masses() -> None:
    rule = make_rule("mixture", weight=Fraction(1, 2))
    as_declared = partial(first_failure, emits=False)
    assert prove_steps(SjdAc(2, relabel="law"), "as declared", as_declared, rule, length=2).outcome == "proven"
    assert prove_steps(SjdAc(2), "as declared", as_declared, rule, length=2).outcome == "counterexample"
