"""The instruments of ``simlab certify``, against hand computation and brute force: laws, coins, enumeration, edges."""

from __future__ import annotations

import copy
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.special import softmax

from simlab.arrays import Array
from simlab.certify import Certificate, certify
from simlab.certify.battery import verifying
from simlab.certify.contracts.base import Function
from simlab.certify.contracts.blocks import Block
from simlab.certify.contracts.events import Events, Places, joint, windows
from simlab.certify.contracts.scripted import HIGHEST, NotScripted, Scripted, possible_edges
from simlab.certify.engine.exact import AtTheEdge, check_edges, enumerate_law
from simlab.certify.engine.scripted import at_extremes, law_of
from simlab.certify.registry import CONTRACTS, OPERATORS
from simlab.mutants.gated.base import excess
from simlab.mutants.gated.contracts import reference
from simlab.mutants.gated.correct import CORRECT as CORRECT_ONES
from simlab.mutants.gated.correct import Buffered
from simlab.randomness.coins import Coins, SampledCoins, outcomes
from tests.support.certify import case_named, missed, speculated, tree_of, tv_of, wrong

pytestmark = pytest.mark.exact
DEFAULT_EVERY = 6


def a_block(size: int, gamma: int, order: int) -> Block:
    rng = np.random.default_rng([size, gamma, order])
    tables = [tuple(rng.dirichlet(np.ones(size), size ** min(order, i)) for i in range(n)) for n in (gamma + 1, gamma)]
    return Block(tables[0], tables[1], order)


def brute_force(block: Block, events: Events) -> np.ndarray:
    """Sequence by sequence."""
    law = np.zeros(len(events.law))
    for tokens in product(range(block.vocabulary), repeat=len(block.p)):
        row, probability = np.array([tokens]), 1.0
        for i, x in enumerate(tokens):
            probability *= block.p[i][int(block.context(row[:, :i], i)[0]), x]
        law[int(events.codes(row)[0])] += probability
    return law


# Blocks and events ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [0, 1, 2, 4])
def test_laws_of_events_are_sums_over_sequences(order: int) -> None:
    block = a_block(3, 4, order)
    labels = np.array([0, 1, 0])
    for places in (joint(block), *windows(block, 2), Places("labels", (1, 3), labels), Places("last", (4,))):
        events = places.of(block)
        assert len(events.law) == (3 if places.labels is None else 2) ** len(places.places)
        assert events.law == pytest.approx(brute_force(block, events), abs=1e-14)


def test_the_law_of_what_is_emitted_is_completed_by_p() -> None:
    block = Block.of_rows(np.array([[0.25, 0.75], [0.5, 0.5]]), np.array([[1.0, 0.0]]))
    assert block.law_of({(0,): 0.5, (1, 0): 0.5}) == pytest.approx([0.25, 0.25, 0.5, 0.0])
    assert block.law_of({(0,): 0.25, (1,): 0.75}) == pytest.approx(joint(block).law(block))


def test_drafts_and_completion_follow_the_rows() -> None:
    """20,000 draws; each frequency is within 6 standard deviations but for a chance of 2e-9, and shows 0.03."""
    block, rng, n = a_block(2, 2, 2), np.random.default_rng(0), 20_000
    completed = block.completed(np.full((n, 3), -1), rng)
    frequency = np.bincount(joint(block).of(block).codes(completed), minlength=8) / n
    assert abs(frequency - joint(block).law(block)).max() < 6 * 0.5 / n**0.5
    drafts = Counter(map(tuple, block.drafts(n, rng).tolist()))
    for tokens, probability in block.every_draft().items():
        assert abs(drafts[tokens] / n - probability) < 6 * 0.5 / n**0.5
    assert sum(block.every_draft().values()) == pytest.approx(1)


def test_rows_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match=r"q\[0\] has shape \(1, 3\); expected \(1, 2\)"):
        Block.of_rows(np.array([[0.5, 0.5]] * 2), np.array([[0.5, 0.25, 0.25]]))
    with pytest.raises(ValueError, match=r"p\[1\] sums to 0.75"):
        Block.of_rows(np.array([[0.5, 0.5], [0.5, 0.25]]), np.array([[0.5, 0.5]]))


def test_two_calls_in_turn_are_counted_together() -> None:
    case = case_named("verify", "two calls in turn")
    (events, swapped), single = case.events, verifying.cases()[0].events[0].law
    assert (events.calls, swapped.calls) == (2, 3)
    assert events.law == pytest.approx(np.kron(single, single))
    assert events.codes(np.array([[0, 1], [1, 0], [1, 1]])).tolist() == [1 * 4 + 2]
    assert events.format(6) == "0, 1, then 1, 0"
    calls = np.array([[0, 1], [1, 0], [1, 1], [0, 0], [0, 1], [1, 0], [1, 1]])
    assert swapped.codes(calls).tolist() == [1 * 4 + 3, 0 * 4 + 2]  # of three and three calls, the first and the last


# Coins ---------------------------------------------------------------------------------------------------------


def test_enumerated_coins_give_the_law_by_hand() -> None:
    p, q = np.array([0.4, 0.3, 0.3]), np.array([1.0, 0.0, 0.0])

    def independent(coins: Coins) -> int:
        return 0 if coins.coin(p[0] / q[0]) else coins.draw(excess(p, q))

    def reused(coins: Coins) -> int:
        uniform = coins.uniform()
        return 0 if coins.below(uniform, 0.4) else coins.invert(uniform, excess(p, q))

    assert outcomes(independent) == pytest.approx({0: 0.4, 1: 0.3, 2: 0.3})
    assert outcomes(reused) == pytest.approx({0: 0.4, 1: 0.1, 2: 0.5})  # 0.4 to 0.5 gives 1, the rest 2


def test_sampled_and_enumerated_coins_agree() -> None:
    """A uniform goes to the piece in which it lies."""
    rng = np.random.default_rng(0)
    for weights in (np.array([0.2, 0.0, 0.8]), np.array([0.0, 1.0, 3.0]), np.array([1.0, 0.0])):
        possible = set(outcomes(lambda coins, weights=weights: coins.draw(weights)))  # type: ignore[misc]
        assert possible == set(np.flatnonzero(weights).tolist())
        assert {SampledCoins(rng).invert(u, weights) for u in (0.0, HIGHEST, *rng.random(50))} == possible


# Somebody's code, enumerated -----------------------------------------------------------------------------------


def test_an_edge_that_nobody_knows_of_is_found() -> None:
    def odd(rng: np.random.Generator) -> tuple[int, ...]:
        first, second = rng.random(2)
        return (int(first > 0.123), int(second > 0.456 if first > 0.123 else second * 3))

    tree = tree_of(odd, [])
    third = 1 / 3
    expected = {(0, k): 0.123 * third for k in range(3)} | {(1, 0): 0.877 * 0.456, (1, 1): 0.877 * 0.544}
    assert law_of(tree) == pytest.approx(expected, abs=1e-12)
    assert missed(odd, tree, 500, 1) == 0


def test_a_piece_that_is_missed_is_noticed() -> None:
    """Two edges close together, unknown, between two probes: the tree is wrong there, and says so when tried."""

    def hidden(rng: np.random.Generator) -> tuple[int, ...]:
        return (int(0.30 < rng.random() < 0.34),)

    tree = tree_of(hidden, [])
    assert law_of(tree) == {(0,): 1.0}
    assert missed(hidden, tree, 1000, 1) > 0  # else with probability 0.96^1000
    assert law_of(tree_of(hidden, [0.3, 0.34]))[(1,)] == pytest.approx(0.04)


def test_scripted_choice_is_that_of_numpy() -> None:
    for seed in range(30):
        weights = np.random.default_rng(seed).dirichlet(np.ones(5))
        given = np.random.default_rng([seed, 1]).random(3).tolist()
        rng = np.random.default_rng([seed, 1])
        numpy_says = [int(rng.choice(5, p=weights)) for _ in range(3)]
        assert [int(Scripted(given[i:]).choice(5, p=weights)) for i in range(3)] == numpy_says


def test_a_script_answers_in_all_shapes() -> None:
    rng = Scripted([0.25, HIGHEST, 0.5, 0.75])
    assert rng.random() == 0.25
    single = rng.random(1, dtype=np.float32)
    assert single.dtype == np.float32
    assert single[0] < 1
    assert rng.uniform(2, 4, size=(2, 1)).tolist() == [[3.0], [3.5]]
    assert rng.random(out=np.empty(1)).tolist() == [0.5]  # beyond the list
    assert Scripted([0.1, 0.2, 0.3]).random(out=np.empty(3)).tolist() == [0.1, 0.2, 0.3]
    assert Scripted([0.5, 0.25]).uniform(0, np.array([1.0, 2.0])).tolist() == [0.5, 0.5]


def test_coins_at_their_ends() -> None:
    def call(rng: np.random.Generator) -> tuple[int, ...]:
        return (int(rng.random() < 1e-12), int(rng.random() < 1))

    assert {call(Scripted(uniforms)) for uniforms in at_extremes(call)} == {(0, 1), (1, 1)}


def test_what_needs_two_coins_at_their_ends_is_no_fault() -> None:
    """The largest of Gumbel noises made of uniforms: with all of them 0 an excluded token comes out first."""

    def noisy(p: np.ndarray, q: np.ndarray, drafts: np.ndarray, rng: np.random.Generator) -> list[int]:
        with np.errstate(divide="ignore"):
            noise = np.log(p[0]) - np.log(-np.log(rng.random(p.shape[1])))
        return [int(noise.argmax())]

    case = case_named("verify", "zeros in p")
    check_edges(case, noisy)
    with pytest.raises(AtTheEdge, match="excludes"):
        check_edges(case, lambda p, q, drafts, rng: [int(np.searchsorted(p[0].cumsum(), rng.random()))])


@pytest.mark.parametrize(
    ("ask", "named"),
    [
        (lambda rng: rng.gumbel(), "gumbel"),
        (lambda rng: rng.choice(3, size=2, replace=False), "without replacement"),
        (lambda rng: rng.random(65), "too many uniforms"),
        (copy.deepcopy, "copy"),
        (lambda rng: tree_of(lambda rng: next((1,) for _ in iter(rng.random, 1.0) if False), []), "too many"),
    ],
)
def test_what_a_list_cannot_answer_is_refused(ask: Any, named: str) -> None:
    with pytest.raises(NotScripted, match=named):
        ask(Scripted([]))


@pytest.mark.parametrize("filled", [False, True])
def test_uniforms_kept_for_later_calls_are_no_law(filled: bool) -> None:
    """A buffer that was filled by one list of uniforms answers for the next: nothing is concluded from that."""
    case, verify = verifying.cases()[4], Buffered(40)
    if filled:
        verify(*case.arguments(np.array([0])).values(), Scripted([], 0.5))
    assert enumerate_law(0, case, verify, np.random.default_rng(0)) is None
    for number, edge in enumerate(verifying.both_ends()):
        check_edges(edge, Buffered(40))
        assert enumerate_law(number, edge, Buffered(40), np.random.default_rng(0)) is None


def test_a_token_too_many_is_no_valid_output() -> None:
    with pytest.raises(AtTheEdge, match="returns 3 tokens"):
        tv_of(verifying.cases()[0], wrong("verify", "bonus token twice"))


@pytest.mark.parametrize(
    "contract", [pytest.param(name, marks=pytest.mark.slow) if name in OPERATORS else name for name in CORRECT_ONES]
)
def test_a_rare_token_that_never_comes_is_found_in_every_contract(contract: str) -> None:
    """Masses below 1e-6 are lost, of the argument p, the q of drafts, or the rows of a model."""
    right = reference(contract)
    names = CONTRACTS[contract].signature.partition("(")[2].partition(")")[0].split(", ")
    place = next((names.index(name) for name in ("p", "target_probs", "target_logits") if name in names), 0)

    def loses(*given: object) -> object:
        rows = given[place]
        changed = (lambda prefix: cut(rows(prefix))) if callable(rows) else cut(rows)
        return right(*given[:place], changed, *given[place + 1 :])

    def cut(rows: object) -> np.ndarray:
        if names[place] == "target_logits":
            return np.where(softmax(rows, axis=-1) < 1e-6, -np.inf, rows)
        kept = np.where(np.asarray(rows) < 1e-6, 0, rows)
        return np.asarray(kept / np.maximum(kept.sum(axis=-1, keepdims=True), 1e-300)).astype(np.asarray(rows).dtype)

    for case in CONTRACTS[contract].both_ends():
        if case.both_ends:
            with pytest.raises(AtTheEdge, match="never emits"):
                enumerate_law(0, case, loses, np.random.default_rng(0))


# What shows only where a coin is at its end, or next to it: an edge, beside the verdict ---------------------------


def small(function: Function, at_most: str = "V=2,gamma=1", **options: Any) -> Certificate:
    """A certificate of few cases, those of one draft of two tokens."""
    return certify(function, calls=8, at_most=at_most, **options)


def _verified(p: Array, q: Array, drafts: Array, coins: Array, rng: np.random.Generator) -> list[int]:
    return speculated(p, q, drafts, coins.__getitem__, lambda i: rng.random())


def _refuses_zero(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
    coins = rng.random(len(drafts))
    if 0 in coins:
        raise ValueError("coin is 0")
    return _verified(p, q, drafts, coins, rng)


def _refuses_rounding(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
    """Where q is above p by rounding alone, a coin next to 1 finds nothing left to draw from."""

    def left(i: int) -> Array:
        rest = np.maximum(p[i] - q[i], 0)
        if not rest.any():
            raise ValueError("nothing is left")
        return rest

    return speculated(p, q, drafts, lambda i: rng.random(), lambda i: rng.random(), left)


def _refuses_large_coins(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
    """One at its end among them, but not that alone."""
    coins = rng.random(len(drafts))
    if (coins >= 0.999).any():
        raise ValueError("coin is too large")
    return _verified(p, q, drafts, coins, rng)


def test_a_coin_that_is_exactly_zero_is_an_edge_and_its_program_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    """And what only shows there does not end the rest."""
    verify = wrong("verify", "coin <= ratio where the ratio is 0")
    found = small(verify, "V=4,gamma=1", subject="mine:verify")  # in which p excludes some
    assert found.verdict == "inconclusive"  # so few calls are too few for more
    assert found.failure is None
    assert found.edge
    assert found.edge.at_the_ends
    assert "a coin is 0" in found.summary
    assert "no deviation found" in found.summary
    assert all(line.calls == 8 for line in found.lines)
    assert found.edge.arguments["uniforms"][0] == 0
    assert found.edge.script
    exec(found.edge.script.replace(found.edge.script.splitlines()[1], ""), {"verify": verify})
    tokens = eval(capsys.readouterr().out)
    assert found.edge.arguments["p"][0][tokens[0]] == 0  # excluded, and emitted


def test_what_raises_next_to_the_end_of_a_coin_alone_is_an_edge() -> None:
    """Where laws are enumerated as well, which look at all coins."""
    for function in (_refuses_zero, _refuses_rounding):
        found = small(function, "V=3,gamma=1")  # q is above p by rounding alone where there are three tokens
        assert found.verdict == "inconclusive"  # so few calls are too few for more
        assert found.edge
        assert "raises ValueError" in found.edge.told
    assert small(_refuses_zero, "V=3,gamma=1", strict=True).verdict == "breaks"


def test_what_raises_elsewhere_as_well_is_no_edge() -> None:
    found = small(_refuses_large_coins)
    assert found.verdict == "breaks"
    assert found.failure
    assert not found.failure.at_the_ends


def test_a_guard_at_the_ends_of_coins_hides_no_law() -> None:
    """Of one that accepts 1 % too seldom, which so few calls do not show."""

    def verify(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        coins = rng.random(len(drafts))
        if any(not 2**-45 < coin < 1 - 2**-45 for coin in coins):
            raise ValueError("coin at its end")
        return _verified(p, q, drafts, coins / 0.99, rng)

    found = small(verify)
    assert found.verdict == "lossy"
    assert found.failure
    assert found.failure.tv_exact == pytest.approx(0.005, abs=0.005)
    assert found.edge


def test_what_goes_wrong_once_is_no_edge() -> None:
    """Though a coin was at its end then: asked again with the same coins it answers."""
    coins_at_ends = []

    def verify(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        coins = rng.random(len(drafts))
        coins_at_ends.append(0 in coins)
        if coins_at_ends[-1] and sum(coins_at_ends) == 3:
            raise ValueError("once")
        return _verified(p, q, drafts, coins, rng)

    case = CONTRACTS["verify"].cases()[0]
    with pytest.raises(AtTheEdge, match="once"):
        enumerate_law(0, case, verify, np.random.default_rng(0))


def test_possible_edges_hold_the_ratios_and_the_steps_of_cdfs() -> None:
    edges = possible_edges(np.array([[0.2, 0.8], [0.3, 0.7]]), np.array([[0.6, 0.4]]))
    assert {0.2, 0.3, 0.6, 0.333333333333}.issubset({round(edge, 12) for edge in edges})
