"""Operators that receive their coins: what they are given, their exact laws, and what each known bug is found by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.certification.self_test_known import hidden
from simlab.certify.battery.verifying import cases, coarse_blocks
from simlab.certify.contracts.arrays import SINGLE, Arrays
from simlab.certify.contracts.base import Broken, Case, Function
from simlab.certify.contracts.cases import BlocksCase
from simlab.certify.contracts.chains import EXPONENTIAL, GUMBEL, TOKENS, UNIFORMS
from simlab.certify.contracts.layouts import Layout
from simlab.certify.contracts.scripted import HIGHEST, HIGHEST_SINGLE, Scripted
from simlab.certify.contracts.trees import SIBLINGS, Tree
from simlab.certify.engine.exact import AtTheEdge, check_edges, enumerate_law
from simlab.certify.engine.scripted import Race, law_of
from simlab.certify.registry import CONTRACTS, contract_named
from simlab.mutants.gated.contracts import CONTRACTS as WRITTEN
from simlab.mutants.gated.contracts import reference
from simlab.processes import filters
from tests.support.certify import case_named, missed, tree_of, tv_of, wrong

pytestmark = pytest.mark.exact


def case_of(layout: Layout, name: str, arrays: Arrays = SINGLE) -> BlocksCase:
    return next(case for case in cases(layout, arrays) if case.name == name)


def in_torch(p: Any, q: Any, drafts: Any, uniforms: Any, uniform: Any) -> Any:
    """As an engine writes it; for any precision."""
    import torch

    x = drafts[:, None]
    kept = int((uniforms * q.gather(1, x)[:, 0] < p[:-1].gather(1, x)[:, 0]).cumprod(0).sum())
    weights = (p[kept] - q[kept]).clamp(min=0) if kept < len(q) else p[kept]
    upto = (weights if weights.any() else p[kept]).cumsum(0)
    return torch.cat([drafts[:kept], torch.searchsorted(upto, (uniform * upto[-1])[None], right=True)])


# What they are given -------------------------------------------------------------------------------------------


def test_arguments_are_those_of_the_contract() -> None:
    p, q, drafts = np.full((3, 4), 0.25), np.full((2, 4), 0.25), np.array([1, 3])
    shapes = {
        UNIFORMS: {"p": (3, 4), "q": (2, 4), "drafts": (2,), "uniforms": (2,), "uniform": ()},
        EXPONENTIAL: {"p": (3, 4), "q": (2, 4), "drafts": (2,), "uniforms": (2,), "exponential": (3, 4)},
        GUMBEL: {"p": (3, 4), "q": (2, 4), "drafts": (2,), "uniforms": (2,), "gumbel": (3, 4)},
        TOKENS: {"p": (3, 4), "drafts": (2,), "uniforms": (2,), "uniform": ()},
    }
    for layout, wanted in shapes.items():
        given = layout.arguments(SINGLE, p, q, drafts, np.random.default_rng(0))
        assert {name: one.shape for name, one in given.items()} == wanted
        assert {one.dtype for name, one in given.items() if name != "drafts"} == {np.dtype(np.float32)}
        assert layout.signature == f"{layout.name}({', '.join(wanted)}) -> tokens"


@pytest.mark.parametrize("name", ["numpy.float64", "numpy.float32", "numpy.float16", "torch.float32", "torch.bfloat16"])
def test_coins_are_multiples_of_what_the_precision_resolves(name: str) -> None:
    if name.startswith("torch"):
        pytest.importorskip("torch")
    arrays = Arrays.named(name)
    step = 2.0**-arrays.bits
    low, high, tie = (float(arrays.uniforms(np.float64(u))) for u in (0.0, HIGHEST, 0.5 + step / 2))
    assert (low, high) == (0.0, 1 - step)
    assert tie == (0.5 if arrays.bits < 53 else 0.5 + step / 2), "cut off, not rounded"
    for noise in (arrays.exponential, arrays.gumbel):
        for highest in (HIGHEST, HIGHEST_SINGLE):  # the last one that there is, of both precisions
            found = noise(np.array([0.0, 0.3, highest], np.float32 if highest == HIGHEST_SINGLE else np.float64))
            assert np.isfinite(np.asarray(found)).all()
    assert float(arrays.exponential(np.zeros(1))[0]) > 0
    uniforms = np.random.default_rng(0).random(1000, np.float32)  # as many bits as noise has, or is cut to
    in_double = arrays.exponential(uniforms.astype(np.float64))
    np.testing.assert_allclose(np.asarray(arrays.exponential(uniforms)), np.asarray(in_double), rtol=1e-5)


@pytest.mark.parametrize(
    ("contract", "arrays", "told"),
    [
        ("chain_uniforms", "jax", "arrays is 'jax'; expected numpy, torch, cuda"),
        ("chain_uniforms", "torch.int8", "one of them with .float64, .float32"),
        ("chain_uniforms", "numpy.bfloat16", "expected torch.bfloat16"),
        ("verify", "torch", "which the contract verify does not take; chain_uniforms"),  # it draws for itself
    ],
)
def test_other_arrays_are_refused(contract: str, arrays: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        contract_named(contract, arrays)


# Races ---------------------------------------------------------------------------------------------------------


def test_the_weights_of_a_race_are_found() -> None:
    weights = np.array([0.0, 0.2, 0.5, 0.0, 0.3])

    def call(rng: np.random.Generator) -> tuple[int, ...]:
        assert isinstance(rng, Scripted)
        noise = -np.log1p(-rng.race(5))
        with np.errstate(divide="ignore", invalid="ignore"):
            return (int(np.nan_to_num(weights / noise).argmax()),)

    tree = tree_of(call, [])
    assert isinstance(tree, Race)
    assert law_of(tree) == pytest.approx({(1,): 0.2, (2,): 0.5, (4,): 0.3}, abs=1e-7)
    assert missed(call, tree, 300, 0) == 0


def test_what_is_no_race_is_noticed() -> None:
    def call(rng: np.random.Generator) -> tuple[int, ...]:
        assert isinstance(rng, Scripted)
        return (int((-np.log1p(-rng.race(3)) * [0.2, 0.3, 0.5]).argmax()),)  # the last one, not the first

    tree = tree_of(call, [])
    assert missed(call, tree, 300, 0) > 0


# Exact laws ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["numpy.float16", "torch.bfloat16", pytest.param("torch.float32", marks=pytest.mark.slow)]
)
def test_other_arrays_pass_without_rounding(name: str) -> None:
    """In eight bits too: the cases are made of multiples of 1/256."""
    function = reference("chain_uniforms") if name.startswith("numpy") else in_torch
    if name.startswith("torch"):
        pytest.importorskip("torch")
    arrays = Arrays.named(name)
    for case in (*cases(UNIFORMS, arrays)[:1], case_of(UNIFORMS, "certain drafts of three tokens", arrays)):
        check_edges(case, function)
        assert tv_of(case, function) < (1e-7 if arrays.bits == 24 else 1e-15)


@pytest.mark.slow
def test_a_tie_is_seen_in_eight_bits() -> None:
    """``coin <= ratio`` accepts one coin in 256 too often, which float32 would hide: 6e-8."""
    torch = pytest.importorskip("torch")
    case = case_of(UNIFORMS, "one draft, two tokens", Arrays.named("torch.bfloat16"))

    def kept_in_a_tie(p: Any, q: Any, drafts: Any, uniforms: Any, uniform: Any) -> Any:
        return in_torch(p, q, drafts, torch.nextafter(uniforms, uniforms - 1), uniform)

    assert tv_of(case, kept_in_a_tie) == pytest.approx(0.5 / 256)


def test_coarse_blocks_are_multiples_of_what_eight_bits_resolve() -> None:
    for named in coarse_blocks():
        for table in (*named.block.p, *named.block.q):
            assert (table * 256 == np.rint(table * 256)).all()


# Bugs ----------------------------------------------------------------------------------------------------------


def look_at_ends(cases: Sequence[Case], function: Function) -> None:
    for case in cases:
        check_edges(case, function)
        enumerate_law(0, case, function, np.random.default_rng(0))


AT_THE_ENDS = (
    *("coin <= ratio where the ratio is 0", "CDF inverted from the left"),
    *("1 - (1 - ratio) in single precision", "coins kept away from 0"),
)


@pytest.mark.parametrize(
    ("contract", "name"),
    [
        pytest.param(contract, name, marks=() if number < quick else pytest.mark.slow)
        for contract, quick in (("chain_uniforms", 2), ("verify", 1))
        for number, name in enumerate(AT_THE_ENDS)
    ],
)
def test_faults_at_the_ends_of_coins_are_found(contract: str, name: str) -> None:
    """Their law is the target's but for rounding; with the coins at their ends something wrong comes out."""
    of, verify = CONTRACTS[contract], wrong(contract, name)
    assert max(tv_of(case, verify) for case in of.cases()[:2]) < 1e-5
    zeros = case_named(contract, "zeros in p")
    with pytest.raises(AtTheEdge):
        look_at_ends((zeros, *of.both_ends()), verify)


def test_one_call_at_the_end_of_a_coin_is_shown(tmp_path: Path) -> None:
    verify = wrong("chain_uniforms", "coin <= ratio where the ratio is 0")
    case = case_of(UNIFORMS, "zeros in p")
    with pytest.raises(AtTheEdge) as edge:
        check_edges(case, verify)
    given = case.call_arguments(edge.value.inputs, 0)
    lines = case.once("wrong", tuple(given), edge.value.uniforms)
    names: dict[str, Any] = {"np": np, "Scripted": Scripted, "wrong": verify, **given}
    exec("\n".join(lines).replace("print(", "seen = ("), names)
    assert list(names["seen"]) == eval(str(edge.value).removeprefix("emits ").split(", which")[0])


@pytest.mark.parametrize("name", sorted(CONTRACTS.keys() - {"decode"}))
def test_a_program_calls_as_the_contract_says_or_is_not_written(name: str) -> None:
    case = next(iter(CONTRACTS[name].simplest()))
    given = case.call_arguments(case.inputs(1, np.random.default_rng(0)), 0)
    lines = case.once("mine", tuple(given), ())
    assert bool(lines) == (name not in IN_ARRAYS)
    arrays = {key: np.array(one) for key, one in given.items()}
    exec("\n".join(lines), {"np": np, "mine": reference(name), **arrays})


IN_ARRAYS = {"batch_uniforms", "flat_exponential", "flat_tokens", "tree_parents", "tree_siblings"}  # coins, of calls


def test_a_bonus_that_reuses_a_coin_is_drawn_with_it() -> None:
    verify = wrong("chain_uniforms", "bonus reuses the last coin")
    p, q = np.float32([[0.5, 0.5], [0.25, 0.75]]), np.float32([[0.5, 0.5]])
    assert verify(p, q, np.array([1]), np.float32([0.1]), np.float32(0.9)) == [1, 0], "drawn with 0.1, not 0.9"


def test_hidden_coins_are_as_they_were() -> None:
    """20,000 of each kind: means within 6 standard deviations, which shows .01, but for a chance of 2e-9."""
    rng, n = np.random.default_rng(0), 20_000
    turned = hidden(lambda *given: given, "chain_gumbel")
    again = hidden(lambda *given: given, "chain_gumbel")
    given = np.ones((2, 1)), np.ones((1, 1)), np.zeros(1, np.int64), np.float32([0.25]), np.float32([[0.5], [0.5]])
    assert turned(*given)[3] != turned(*given)[3], "other coins in every call, so that nothing can be enumerated"
    assert [np.array_equal(a, b) for a, b in zip(again(*given), given, strict=True)] == [True] * 3 + [False] * 2
    for name, drawn, mean, deviation in (
        ("chain_uniforms", SINGLE.uniforms(rng.random(n)), 0.5, 12**-0.5),
        ("chain_exponential", SINGLE.exponential(rng.random(n)), 1.0, 1.0),
    ):
        coins = hidden(lambda *given: given[-1], name)(*given[:4], drawn)
        assert abs(coins.mean() - mean) < 6 * deviation / n**0.5
        assert not np.array_equal(coins, drawn)


# Batches and trees ---------------------------------------------------------------------------------------------


def test_a_flattened_batch_is_that_of_vllm() -> None:
    """Rows of all sequences behind each other; the bonus rows are not among them."""
    case = next(case for case in CONTRACTS["flat_exponential"].cases() if case.name.startswith("one sequence of two"))
    inputs = case.inputs(1, np.random.default_rng(0))
    seen: list[Any] = []
    case.ask(lambda *given: seen.extend(given) or [[0], [0]], inputs, 0, np.random.default_rng(0))
    ids, ends, q, p, *_ = seen
    assert [one.shape for one in seen] == [(3,), (2,), (3, 2), (3, 2), (2, 1), (3,), (2, 2)]
    assert ends.tolist() == [2, 3]
    assert ids.tolist() == [*inputs[0, 0], inputs[0, 1, 0]]
    blocks = case.blocks  # type: ignore[attr-defined]
    assert p == pytest.approx(np.stack([blocks[0].p[0][0], blocks[0].p[1][0], blocks[1].p[0][0]]))
    assert q == pytest.approx(np.stack([blocks[0].q[0][0], blocks[0].q[1][0], blocks[1].q[0][0]]))


def test_a_tree_is_that_of_sglang() -> None:
    tree = Tree((0, 1, 2, 3, 4, 5), (-1, 0, 1, 0, 3, 4))
    p = np.zeros((1, 6, 20))
    given = SIBLINGS.arguments(SINGLE, p, (tree,), np.zeros(0), np.random.default_rng(0))
    assert given["retrive_next_token"].tolist() == [[1, 2, -1, 4, 5, -1]]  # the example of its tests
    assert given["retrive_next_sibling"].tolist() == [[-1, 3, -1, -1, -1, -1]]
    assert tree.paths == ((), (1,), (1, 2), (3,), (3, 4), (3, 4, 5))
    assert given["accept_index"].shape == (1, 4)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (None, r"accept_index has \[-1\] for 0 accepted"),
        ((np.zeros(6), 1, 2), "cannot be read"),
        ([0, 1], "cannot be read"),
        *(
            ((np.zeros(3, int), np.array([[0, 1]]), np.array([count])), f"is {count}; expected 0 to 1")
            for count in (-2, 2, 7)
        ),
        ((np.zeros(3, int), np.array([[0, -1]]), np.array([1])), "expected 0 to 2"),
    ],
)
def test_trees_that_are_not_answered_are_told(answer: Any, told: str) -> None:
    case = CONTRACTS["tree_siblings"].cases()[0]
    with pytest.raises(Broken, match=told):
        case.ask(lambda *given: answer, case.inputs(1, np.random.default_rng(0)), 0, np.random.default_rng(0))


# Logits --------------------------------------------------------------------------------------------------------


def test_filters_in_turn_and_jointly_keep_what_is_written() -> None:
    """Of (.4, .35, .25), top-k 2 leaves (8/15, 7/15): its first token has .5, of the whole row it takes two."""
    row = np.array([[0.4, 0.35, 0.25]])
    settings = filters.Settings(1.0, 2, 0.5)
    assert filters.in_turn(row, settings).tolist() == [[1.0, 0.0, 0.0]]
    assert filters.jointly(row, settings) == pytest.approx(np.array([[8 / 15, 7 / 15, 0.0]]))


@pytest.mark.parametrize("contract", filters.FILTERS)
def test_logits_are_those_of_the_rows_and_no_filter_is_at_a_tie(contract: str) -> None:
    cases: Any = CONTRACTS[contract].cases()
    for case in cases:
        inputs = case.inputs(1, np.random.default_rng(0))
        seen: list[Any] = []
        case.ask(lambda *given, seen=seen: seen.extend(given) or [0], inputs, 0, np.random.default_rng(0))
        rows, settings = filters.softmax(seen[0]), filters.Settings(*seen[5:])
        assert rows == pytest.approx(case.raw.rows(inputs[0])[0], abs=1e-6)
        made = filters.FILTERS[contract](rows, settings)
        assert made == pytest.approx(case.blocks[0].rows(inputs[0])[0], abs=1e-6), "also in single precision"
    in_turn, jointly = ([c.blocks[0].p[0] for c in CONTRACTS[name].cases()] for name in filters.FILTERS)  # type: ignore[attr-defined]
    assert sum(not np.allclose(a, b) for a, b in zip(in_turn, jointly, strict=True)) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("contract", filters.FILTERS)
def test_operators_of_logits_are_told_apart(contract: str) -> None:
    """The right one follows the target in the cases of which each bug does not in one."""
    right = reference(contract)
    cases: Any = [case for case in CONTRACTS[contract].cases() if case.branches and case.vocabulary == 3]
    shown = {"temperature": cases[1], "filters": cases[3], "way": cases[-1]}
    assert max(tv_of(case, right) for case in shown.values()) < 1e-6
    for name in (name for name, fault in WRITTEN[contract].faults.items() if "logits" in fault.needs):
        named = [case for word, case in shown.items() if word in name] or list(shown.values())
        assert any(tv_of(case, wrong(contract, name)) > 0.005 for case in named), name


# Programs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arrays", ["numpy.float16", "numpy.float64", "torch.bfloat16", "torch.float32"])
@pytest.mark.parametrize("layout", [EXPONENTIAL, GUMBEL])
def test_a_program_calls_with_arrays_of_the_kinds_that_were_certified(layout: Layout, arrays: str) -> None:
    """Noise is of float32 at least: in eight bits it would have ties."""
    if arrays.startswith("torch"):
        pytest.importorskip("torch")
    given = list[list[str]]()

    def operator(*arguments: Any) -> list[int]:
        given.append([str(one.dtype) for one in arguments])
        return [0]

    case = next(iter(contract_named(layout.name, arrays).simplest()))
    case.ask(operator, case.inputs(1, np.random.default_rng(0)), 0, np.random.default_rng(0))
    program = case.script("mine", "mine", 3)
    assert program
    exec(program.replace(program.splitlines()[1], ""), {layout.name: operator})
    assert len(given) == 4
    assert all(kinds == given[0] for kinds in given)


def test_a_program_without_coins_calls_until_a_rare_answer_shows(capsys: pytest.CaptureFixture[str]) -> None:
    case = case_of(UNIFORMS, "one draft, two tokens")
    rare = lambda p, q, drafts, uniforms, uniform: [7] if uniforms[0] > 0.95 else [0]  # noqa: E731
    p, q = case.rows(np.zeros(1, np.int64))
    lines = case.once("chain_uniforms", ("p", "q", "drafts"), ())
    exec("\n".join(lines), {"chain_uniforms": rare, "np": np, "p": p, "q": q, "drafts": np.zeros(1, np.int64)})
    assert "[7]" in capsys.readouterr().out


def test_a_program_fetches_an_answer_of_a_device() -> None:
    """By what the text says, for a device is seldom there; NumPy reads no tensor of it."""
    torch = pytest.importorskip("torch")
    case = next(iter(contract_named("chain_uniforms").simplest()))
    program = replace(case, arrays=Arrays("cuda")).script("mine", "mine", 3)
    assert program
    assert "np.ravel(torch.as_tensor(chain_uniforms(real(p), " in program
    for answer in ([0, 1], torch.tensor([0, 1]), [torch.tensor(0), 1]):
        read = eval(Arrays("cuda").read.format("answer"), {"torch": torch, "answer": answer})
        assert np.ravel(read).tolist() == [0, 1]
