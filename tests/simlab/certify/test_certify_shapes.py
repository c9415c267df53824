"""Shapes that are drawn: their rows and laws, what is counted, and which are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import count, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simlab.arrays import Array, total_variation
from simlab.certify import CONTRACTS
from simlab.certify.contracts.arrays import Arrays
from simlab.certify.contracts.base import Broken
from simlab.certify.contracts.events import Events, independent
from simlab.certify.registry import makes
from simlab.certify.shapes import copies, rows
from simlab.certify.shapes.blocks import PLAIN, SPECIAL, drawn_block
from simlab.certify.shapes.cases import NUCLEUS, PARTS, TurningModel
from simlab.certify.shapes.copies import LARGE, Copies, KeptArrays
from simlab.certify.shapes.drawing import PURPOSES, Drawing, cells
from simlab.certify.shapes.events import (
    BEFORE,
    BRANCH,
    CERTAIN,
    EVERY,
    EXAMINED,
    FORCED,
    HALVES,
    LAST,
    LIKELY,
    MASSES,
    NEIGHBOURS,
    NEXT,
    OF_KIND,
    PAIR,
    REPEATED,
    Half,
    at,
    pairs_apart,
    pairs_of,
)
from simlab.certify.shapes.positions import ANYTHING, Wanted
from simlab.certify.shapes.ranges import MOST, Ranges, Shape, numbers
from simlab.certify.shapes.trees import DrawnTree, drawn_tree
from simlab.certify.shapes.turns import TwoInTurn
from simlab.mutants.catalogue import correct
from simlab.mutants.gated.contracts import reference
from simlab.processes.filters import FILTERS, softmax
from simlab.statistics import Sequential
from tests.support.certify import one_by_one
from tests.support.regions import any_shape

SIZES = st.integers(2, 300) | st.sampled_from((1023, 4097, 32_769, 65_537, 140_000))
SMALL = {"V": 3, "gamma": 2, "batch": 2, "K": 1, "length": 3, "nodes": 4}


# Rows ----------------------------------------------------------------------------------------------------------


@pytest.mark.property
@pytest.mark.parametrize(("row", "hard"), [(rows.any_row, rows.hard), (rows.dyadic_row, rows.dyadic_hard)])
@given(size=SIZES, seed=st.integers(0, 2**32))
@settings(deadline=None)
def test_every_row_gives_its_classes_the_same_masses(row: Any, hard: Any, size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    drawn = row(size, rng)
    assert np.bincount(drawn.labels, drawn.p, drawn.count) == pytest.approx(rows.LAWS[drawn.count])
    _, q = hard(drawn, rng)
    assert (q >= 0).all()
    assert q.sum() == pytest.approx(1)
    if row is rows.dyadic_row:  # a significand of bfloat16 has eight bits
        for masses in (drawn.p, q):
            assert (np.frexp(masses[masses > 0])[0] * 2**8 % 1 == 0).all()


@pytest.mark.exact
@pytest.mark.parametrize("size", [2, 7, 8, 40, 5000])
def test_rows_beside_the_one_looked_at(size: int) -> None:
    """Likely and nearly certain ones have laws of their own; halfway to a hard one half of the drafts are kept."""
    rng = np.random.default_rng(size)
    for _ in range(20):
        drawn = rows.any_row(size, rng)
        for mass in MASSES.values():
            heavy, law = rows.with_heavy(mass, drawn), rows.law_with(mass, drawn.count)
            assert np.bincount(heavy.labels, heavy.p, len(law)) == pytest.approx(law)
            assert law.max() == mass
            assert law.sum() == pytest.approx(1)
        assert np.minimum(drawn.p, rows.halfway(drawn, rng)).sum() >= 0.5 - 1e-12
        few = rows.dyadic_row(size, rng)
        q = rows.dyadic_halfway(few, rng)
        assert np.minimum(few.p, q).sum() >= 0.5 - 1e-12
        assert q.sum() == pytest.approx(1)
        assert (np.frexp(q[q > 0])[0] * 2**8 % 1 == 0).all()


@pytest.mark.exact
def test_of_a_quarter_of_rows_few_tokens_have_mass() -> None:
    rng = np.random.default_rng(0)
    kept = [np.count_nonzero(rows.any_row(1000, rng).p) for _ in range(400)]
    assert 60 < sum(count <= 500 for count in kept) < 140
    assert min(kept) < 10


@pytest.mark.exact
def test_ends_and_parts_of_a_large_vocabulary_are_classes() -> None:
    """The first token, the last, the last tile and what passes 16 bits are set apart in some of a few rows."""
    size, rng = 70_000, np.random.default_rng(0)
    drawn = [rows.row(size, rng).labels for _ in range(60)]
    ends = {tuple(np.flatnonzero(labels == 0)[[0, -1]].tolist()) for labels in drawn}
    assert {(0, 0), (size - 1, size - 1), (size // 64 * 64, size - 1)} <= ends
    assert any((labels[1 << 16 :] <= 1).all() and (labels[: 1 << 16] != 1).all() for labels in drawn)


@pytest.mark.exact
def test_rows_of_a_few_tokens_often_have_one_at_an_end() -> None:
    """Where the last tile is a part of a tile, and where indices pass 16 bits: in a few rows of either kind."""
    size, rng = 70_000, np.random.default_rng(0)
    for make in (rows.wholly_certain, rows.half_and_half):
        tokens = [np.flatnonzero(make(rows.row(size, rng), rng).p) for _ in range(60)]
        assert any((found >= size // 64 * 64).any() for found in tokens)
        assert any((found >= 1 << 16).any() for found in tokens)


@pytest.mark.exact
@pytest.mark.parametrize("passed", [rows.nearly, rows.certain, rows.same])
@pytest.mark.parametrize("positions", [1, 8, 96])
def test_a_block_gets_past_its_easy_rows(passed: Any, positions: int) -> None:
    rng = np.random.default_rng(positions)
    p, q = passed(rows.row(50, rng), positions, rng)
    assert p.sum() == pytest.approx(1)
    assert float(np.minimum(p, q).sum()) ** positions >= 0.7


@pytest.mark.exact
def test_of_some_blocks_a_row_and_the_draft_were_there_before_and_of_some_there_are_few_drafts() -> None:
    """Of 400 blocks of 1,000 tokens; where both drafts are certain they are one, and often the row is the last one."""
    rng, again, at_once, narrow = np.random.default_rng(0), 0, 0, 0
    for _ in range(400):
        drawn = drawn_block(1000, 8, rng, PLAIN)
        p, place = drawn.block.p, drawn.at[0]
        if drawn.kind == OF_KIND[REPEATED]:
            again += 1
            at_once += drawn.apart == 1
            assert (p[place] == p[place - drawn.apart]).all()
            assert drawn.before
            assert drawn.before[0] == place - drawn.apart
        if drawn.kind == rows.FEW_TOKENS:
            narrow += 1
            assert np.count_nonzero(drawn.block.q[place]) <= 5 < np.count_nonzero(p[place])
    for _ in range(50):  # where it is asked for, also at the first place there can be
        drawn = drawn_block(1000, 2, rng, PLAIN, Wanted(kind=OF_KIND[REPEATED]))
        assert drawn.kind == OF_KIND[REPEATED]
        assert (drawn.completed(np.full((3, 3), -1), rng)[:, drawn.at[0]] >= 0).all()
    assert 25 < again < 100
    assert again / 3 < at_once < again
    assert 8 < narrow < 60


# Laws ----------------------------------------------------------------------------------------------------------


@pytest.mark.exact
@pytest.mark.parametrize("name", ["verify", "chain_uniforms", "chain_tokens", "chain_logits", "verify_batch", "draft"])
def test_what_is_counted_of_a_block_has_the_law_that_is_stated(name: str) -> None:
    """Over all outcomes of small blocks, by the target's rows; every kind of events is among them."""
    contract, seen = CONTRACTS[name], set[str]()
    for seed in range(96):
        size = 9 if seed % 4 == 0 and "batch" not in {axis.name for axis in contract.axes} else SMALL["V"]
        shape = Shape(tuple((axis.name, (SMALL | {"V": size})[axis.name]) for axis in contract.axes))
        where = PURPOSES[2 * seed % len(PURPOSES)] if seed % 2 else ANYTHING
        case: Any = contract.drawn(shape, np.random.default_rng(seed), where)
        p = [table[0] for block in case.blocks for table in block.p]
        every = np.array(list(product(range(size), repeat=len(p))))
        chances = np.prod([row[every[:, i]] for i, row in enumerate(p)], axis=0)
        for events in case.events:
            _same(events, every, chances)
            seen.add(events.name)
    wanted = {EXAMINED, PAIR, EVERY if name == "draft" else NEXT}
    assert seen >= wanted | ({LAST, NEIGHBOURS} if name == "verify_batch" else set())
    assert seen >= ({BEFORE, CERTAIN, LIKELY} if name.startswith("verify") else set())
    assert FORCED in seen or name.startswith("chain")
    assert HALVES in seen or name == "chain_logits"


@pytest.mark.exact
def test_all_places_of_a_sequence_are_independent_in_classes() -> None:
    """So they may be added up; nearly all of the cases have more than one of a kind."""
    every = np.array(list(product(range(9), repeat=4)))
    several = 0
    for seed in range(12):
        case: Any = CONTRACTS["decode"].drawn(Shape((("V", 9), ("length", 4))), np.random.default_rng(seed))
        rows = {prefix: case.model(prefix) for i in range(4) for prefix in product(range(9), repeat=i)}
        chances = np.array([np.prod([rows[tuple(one[:i])][one[i]] for i in range(4)]) for one in every.tolist()])
        for events in case.events:
            _same(events, every, chances)
            if events.name in (EVERY, PAIR):
                several += len(events.groups) > 1
                codes = events.codes(every).reshape(len(events.groups), -1)
                law = independent([events.law] * len(codes))
                joint = np.ravel_multi_index(tuple(codes), (len(events.law),) * len(codes))
                assert np.bincount(joint, chances, len(law)) == pytest.approx(law)
    assert several >= 12


@pytest.mark.exact
def test_a_sequence_of_a_batch_is_sometimes_greedy_and_looked_at_for_its_certain_tokens_alone() -> None:
    shape = Shape((("V", 9), ("gamma", 2), ("batch", 4)))
    found: list[Any] = [CONTRACTS["verify_batch"].drawn(shape, np.random.default_rng(seed)) for seed in range(80)]
    greedy = [case for case in found if any(one.greedy for one in case.drawn)]
    assert 3 < len(greedy) < 25
    assert len({[one.greedy for one in case.drawn].index(True) for case in greedy}) > 1
    for case in greedy:
        (one,) = (one for one in case.drawn if one.greedy)
        assert all(row.max() == 1 for row in one.block.p)
        assert len(case.events[0].groups) == 3
        assert FORCED in {events.name for events in case.events}


@pytest.mark.property
@given(count=st.integers(2, 256), seed=st.integers(0, 2**32))
@settings(deadline=None)
def test_pairs_of_a_batch_are_one_distance_apart_and_share_no_sequence(count: int, seed: int) -> None:
    heavy = np.array([1, 0])  # token 1 alone
    (pairs,) = pairs_of([at(k, heavy) for k in range(count)], 2, np.random.default_rng(seed))
    tokens = np.eye(count, dtype=np.int64)  # outcome k has it in sequence k
    assert all(look(tokens).sum() == 1 for group in pairs.groups for look in group)
    places = [tuple(int(look(tokens).argmax()) for look in group) for group in pairs.groups]
    assert {b - a for a, b in places} == {pairs.distance}
    every = [place for pair in places for place in pair]
    assert len(set(every)) == len(every)


@pytest.mark.exact
@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("size", [2, 3, 7, 8, 27, 64, 1000, 40_000])
def test_what_filters_leave_of_drawn_logits_is_what_is_stated(name: str, size: int) -> None:
    """With the logits in single precision, and with cuts that are off by more than any rounding; nuclei of a few tokens
    and of many."""
    seen, wide, overflow = set[tuple[bool, bool]](), set[bool](), False
    for seed in range(24):
        shape = Shape((("V", size), ("gamma", 2)))
        case: Any = CONTRACTS[name].drawn(shape, np.random.default_rng(seed))
        settings_of, block = case.settings, case.blocks[0]
        seen.add((settings_of.top_k < size, settings_of.top_p < 1))
        for logits, rows_left in zip(case.handed(None), (block.p, block.q), strict=True):
            warm = softmax(logits.astype(np.float32))
            wide.add(np.count_nonzero(block.p[case.drawn[0].at[0]][0]) > 20 and settings_of.top_p < 1)
            off = 1 / (4 * NUCLEUS * PARTS) if size > 3 * PARTS * rows.LEAST_KEPT else 0.01  # a quarter of the least
            for other in (settings_of, settings_of._replace(top_p=min(1, settings_of.top_p * (1 + off)))):
                left = FILTERS[name](warm, other)
                np.testing.assert_allclose(left, np.concatenate(rows_left), rtol=1e-4, atol=1e-7)
            if settings_of.top_k < size:  # the last that is kept is clear of the next
                falling = -np.sort(-softmax(logits / settings_of.temperature), axis=1)
                last, following = falling[:, settings_of.top_k - 1], falling[:, settings_of.top_k]
                assert (last >= 1.99 * following).all()
        for events in case.events[:1]:
            place, labels = case.drawn[0].at
            assert np.bincount(labels, block.p[place][0], len(events.law)) == pytest.approx(events.law)
        overflow |= bool((case.handed(None)[0] > np.log(np.finfo(np.float32).max)).any())
    assert overflow or size < 8, "a softmax that does not take its largest off has no number"
    whole, top_k, top_p = (False, False), (True, False), (False, True)
    assert size < 40_000 or True in wide
    assert seen == {whole, *([top_k] if size > 2 else []), *([top_p] if size >= 64 else [])}


@pytest.mark.exact
@pytest.mark.parametrize("certain", [frozenset[int](), frozenset({0}), frozenset({1, 2})], ids=len)
def test_what_is_counted_of_a_sequence_has_the_law_that_is_stated(certain: frozenset[int]) -> None:
    shape = Shape((("V", 9), ("length", 3)))
    drawn: Iterator[Any] = (CONTRACTS["decode"].drawn(shape, np.random.default_rng(seed)) for seed in count())
    case = next(case for case in drawn if case.model.others.keys() == certain)
    assert ({*SPECIAL} & {events.name for events in case.events} != set()) == bool(certain)
    every = np.array(list(product(range(9), repeat=3)))
    chances = np.array([np.prod([case.model(tokens[:i])[tokens[i]] for i in range(3)]) for tokens in every.tolist()])
    for events in case.events:
        _same(events, every, chances)


@pytest.mark.property
@given(size=SIZES, count=st.integers(1, 96), seed=st.integers(0, 2**32))
@settings(deadline=None)
def test_a_row_depends_on_every_token_before_it(size: int, count: int, seed: int) -> None:
    """Whichever token is another, however old, the row is turned otherwise; elsewhere by the last one, or by none."""
    rng = np.random.default_rng(seed)
    drawn: Any = CONTRACTS["decode"].drawn(Shape((("V", size), ("length", count))), rng)
    a, b, c = drawn.model.steps
    assert (a > 0, b) in {(True, 1), (False, 1), (False, 0)}
    model = replace(drawn.model, steps=(a or 1, 1, c))
    tokens = np.tile(rng.integers(size, size=count + 1), (count + 1, 1))
    tokens[np.arange(count), np.arange(count)] += rng.integers(1, size, size=count)
    turned = model._turns(count, tokens % size)
    assert (turned[:count] != turned[count]).all()
    assert (model(tokens[count, :count]) == np.roll(model.base.p, turned[count])).all()
    seen = model.base.labels[(tokens[:, count] % size - turned) % size]
    assert (model.label(count, model.base.labels, tokens % size) == seen).all()
    turned = drawn.model._turns(count, tokens % size)
    assert len(set(turned[: count - 1].tolist())) <= 1 or a
    assert b or (turned == c).all()


@pytest.mark.statistical
def test_a_sequence_that_ends_is_completed_to_the_law_that_is_stated() -> None:
    """2,000 sequences of four drawn cases: the counts of at most 12 kinds are each a false alarm with 1e-8."""
    function, ended, rng = one_by_one(), 0, np.random.default_rng(0)
    shape = Shape((("V", 12), ("length", 5)))
    drawn: list[Any] = [CONTRACTS["decode"].drawn(shape, np.random.default_rng(seed)) for seed in range(40)]
    for case in [case for case in drawn if case.eos is not None][:4]:
        tokens = np.full((2000, case.length), -1)
        for row in tokens:
            emitted = case.ask(function, None, 0, rng)
            row[: len(emitted)] = emitted
        ended += int((tokens[:, -1] < 0).sum())
        done = case.completed(tokens, rng)
        assert (done[tokens >= 0] == tokens[tokens >= 0]).all()
        for events in case.events:
            counts = np.bincount(events.codes(done), minlength=len(events.law))
            assert float(Sequential(events.law).update(counts).p_value) > 1e-8
    assert ended > 500


@pytest.mark.exact
@pytest.mark.parametrize("seed", range(8))
def test_what_is_counted_of_a_tree_has_the_law_that_is_stated(seed: int) -> None:
    """Along every path, each token from the row of the node that is reached, or from the row away from the tree."""
    case: Any = CONTRACTS["tree_parents"].drawn(Shape((("V", 8), ("nodes", 3))), np.random.default_rng(seed))
    (one,) = case.drawn
    every = np.array(list(product(range(8), repeat=one.width)))
    chances = np.ones(len(every))
    for place in range(one.width):
        chances *= one.p[one.reached(place, every), every[:, place]]
    for events in case.events:
        if events.name in (BRANCH, FORCED):
            nodes = [one.before] if events.name == BRANCH else [at for at in (one.forced, one.final) if at]
            there = np.concatenate([chances[one.reached(place, every) == node] for place, node, _ in nodes])
            assert (there @ events.codes(every)) / there.sum() == pytest.approx(events.law[1])
            assert all(one.p[node, token] == pytest.approx(events.law[0]) for _, node, token in nodes)
            continue
        looked = [look for group in events.groups for look in group]
        assert len(looked) == 1
        _same(events, every, chances)


@pytest.mark.exact
def test_trees_have_a_node_that_is_certain_of_no_candidate_and_one_of_the_first_token() -> None:
    """Of 1,000 an eighth each, of the former where there are candidates: half as few with probability 1e-7 at most."""
    found = [drawn_tree(70, 6, np.random.default_rng(seed)) for seed in range(1000)]
    final = [(one.tree, one.final) for one in found if one.final]
    assert len(final) >= 25
    for tree, there in final:
        assert there.token not in [tree.tokens[child] for child in tree.children[there.node]]
    firsts = [one for one in found if one.tree.tokens[_node_looked_at(one)] == 0]
    assert len(firsts) >= 62


def _node_looked_at(one: DrawnTree) -> int:
    node = 0
    for _ in range(one.place):
        node = max(one.tree.children[node], key=lambda child: float(one.p[node, one.tree.tokens[child]]))
    return node


@pytest.mark.statistical
@pytest.mark.parametrize("ending", [0, 1, 2])
def test_a_path_that_ends_early_is_completed_to_the_law_that_is_stated(ending: int) -> None:
    """5,000 paths of eight trees, cut where the first token is even: each count is a false alarm with 1e-8."""
    for seed in range(8):
        shape, rng = Shape((("V", 9), ("nodes", 12))), np.random.default_rng(seed)
        case: Any = CONTRACTS["tree_parents"].drawn(shape, rng)
        (one,) = case.drawn
        tokens = np.full((5000, one.width), -1)
        for place in range(one.width):
            nodes = one.reached(place, tokens)
            for node in set(nodes.tolist()):
                tokens[nodes == node, place] = rng.choice(9, (nodes == node).sum(), p=one.p[node] / one.p[node].sum())
        tokens[:, ending + 1 :][tokens[:, 0] % 2 == 0] = -1
        done = case.completed(tokens, rng)
        for events in case.events:
            counts = np.bincount(events.codes(done), minlength=len(events.law))
            assert float(Sequential(events.law).update(counts).p_value) > 1e-8


def _reached(weights: Array, steps: int) -> Array:
    """The law of a token by inverse CDF with one of so many coins, 0, 1/steps, ...: how many fall on each."""
    upto = weights.cumsum()
    return np.diff(np.ceil(upto / upto[-1] * steps), prepend=0.0) / steps


def _of_correct(p: Array, q: Array, steps: int) -> Array:
    """The law of the first token of speculative sampling with such coins."""
    ratio = np.divide(p, q, out=np.ones_like(p), where=q > 0)
    kept = q * np.minimum(1, np.ceil(ratio * steps) / steps)
    left = np.maximum(p - q, 0)
    return kept + (1 - kept.sum()) * _reached(left, steps) if left.any() else kept


@pytest.mark.exact
@pytest.mark.parametrize(("kind", "off"), [("torch.bfloat16", 0.01), ("numpy.float16", 0.001)])
@pytest.mark.parametrize("size", [64, 4096, 65_536])
def test_rows_of_few_bits_have_coins_by_which_correct_code_follows_the_target(kind: str, off: float, size: int) -> None:
    """In classes, off by less than a thousandth of what coins of as few bits as the rows are off by."""
    if kind.startswith("torch"):
        pytest.importorskip("torch")
    make, found = makes("chain_uniforms", kind, ""), list[tuple[float, float]]()
    for seed in range(20):
        case: Any = make(Shape((("V", size), ("gamma", 1))), np.random.default_rng(seed))
        (events, *_), (drawn,) = case.events, case.drawn
        assert float(case.given_as.uniforms(np.float64(1 - 2.0**-53))) == 1 - 2.0**-24
        place, labels = drawn.at
        p, q = drawn.block.p[place][0], drawn.block.q[0][0]
        laws = (_reached(p, 1 << bits) if place else _of_correct(p, q, 1 << bits) for bits in (24, case.arrays.bits))
        now, coarse = (float(total_variation(np.bincount(labels, law, len(events.law)), events.law)) for law in laws)
        found.append((now, coarse))
    now, coarse = np.mean(found, axis=0)
    assert now < 1e-3 * coarse
    assert size < 4096 or coarse > off


@pytest.mark.property
@given(places=st.sets(st.integers(0, 60), min_size=2), data=st.data())
def test_no_place_is_in_two_of_the_pairs_that_are_as_far_apart(places: set[int], data: st.DataObject) -> None:
    one, other = sorted(data.draw(st.lists(st.sampled_from(sorted(places)), min_size=2, max_size=2, unique=True)))
    pairs = pairs_apart(places, other - one, one)
    assert (one, other) in pairs
    assert {j - i for i, j in pairs} == {other - one}
    assert len({i for pair in pairs for i in pair}) == 2 * len(pairs)
    assert {i for pair in pairs for i in pair} <= places


def _same(events: Events, every: Array, chances: Array) -> None:
    found = np.bincount(events.codes(every), np.tile(chances, len(events.groups)), len(events.law))
    shares, law = events.shares(found)
    assert shares == pytest.approx(law)
    assert all(events.format(code) for code in range(len(law)))


@pytest.mark.property
@pytest.mark.parametrize("name", sorted(CONTRACTS))
@given(seed=st.integers(0, 2**32), data=st.data())
@settings(deadline=None, max_examples=25)
def test_shapes_are_within_their_range_and_fit_memory(name: str, seed: int, data: st.DataObject) -> None:
    contract = CONTRACTS[name]
    found = cells(contract.axes, {})
    assert len(found) > 20
    one = data.draw(st.sampled_from(found))
    shape = any_shape(one, contract.axes, np.random.default_rng(seed))
    assert shape in one
    assert numbers(contract.axes, shape) <= MOST


@pytest.mark.property
@pytest.mark.parametrize("name", sorted(CONTRACTS))
@given(seed=st.integers(0, 2**32), where=st.sampled_from(PURPOSES), data=st.data())
@settings(deadline=None, max_examples=25)
def test_what_is_looked_for_is_drawn_in_every_shape(name: str, seed: int, where: Wanted, data: st.DataObject) -> None:
    """Or anything else, where a shape has no such position: in a batch some sequences have no draft."""
    contract, rng = CONTRACTS[name], np.random.default_rng(seed)
    small = {"V": 64, "gamma": 9, "batch": 9, "length": 9, "nodes": 9}
    shape = any_shape(data.draw(st.sampled_from(cells(contract.axes, small))), contract.axes, rng)
    assert contract.drawn(shape, rng, where).events


@pytest.mark.exact
@pytest.mark.parametrize("one", correct(), ids=lambda one: f"{one.contract}: {one.name}")
def test_correct_code_answers_drawn_shapes(one: Any) -> None:
    """Whatever is valid is counted, and within the law's support: a token that p excludes never comes out."""
    contract, rng = CONTRACTS[one.contract], np.random.default_rng(1)
    function = one.make()
    for cell in cells(contract.axes, {"V": 300, "gamma": 9, "batch": 9, "length": 6, "nodes": 9})[:12]:
        case = contract.drawn(any_shape(cell, contract.axes, rng), rng)
        inputs = case.inputs(4, rng)
        tokens = np.full((4, case.length), -1)
        for i in range(4):
            emitted = case.ask(function, inputs, i, rng)
            tokens[i, : len(emitted)] = emitted
        done = case.completed(tokens, rng)
        for events in case.events:
            counts = np.bincount(events.codes(done), minlength=len(events.law))
            assert counts[events.law == 0].sum() == 0


@pytest.mark.exact
def test_a_long_sequence_is_read_in_a_time_that_its_length_bounds() -> None:
    """A model that is asked for 4,000 tokens in turn steps through each of them once, not through all each time."""
    base = rows.row(16, np.random.default_rng(0))
    steps = 0

    class Counting(TurningModel):
        def _on(self, turn: Any, token: Any) -> Any:
            nonlocal steps
            steps += 1
            return super()._on(turn, token)

    model = Counting(base, (3, 1, 5))
    tokens = np.random.default_rng(1).integers(16, size=4000).tolist()
    for i in range(4000):
        model(tokens[:i])
    assert steps == 3999
    for prefix in (tokens[:7], [*tokens[:5], (tokens[5] + 1) % 16, *tokens[6:9]], [], np.array(tokens[:3])):
        assert (model(prefix) == TurningModel(base, (3, 1, 5))(prefix)).all()
    with pytest.raises(ValueError, match="token 16"):
        model([*tokens[:5], 16])
    assert (model(tokens[:9]) == TurningModel(base, (3, 1, 5))(tokens[:9])).all()


# Copies --------------------------------------------------------------------------------------------------------


@pytest.mark.exact
@pytest.mark.parametrize("count", [8, LARGE // 8 + 3])
def test_what_is_written_to_a_copy_is_seen_nowhere_else(count: int) -> None:
    array = np.arange(count, dtype=np.float64)
    kept = Copies(array)
    first, second = kept(), kept()
    first[:] = -1
    assert second[-1] == kept()[-1] == array[-1] == count - 1
    del kept
    assert second[1] == 1


@pytest.mark.exact
@pytest.mark.parametrize("kind", ["numpy.float32", "torch.float32", "torch.bfloat16", "torch.float16"])
def test_kept_rows_are_what_arrays_make_of_them(kind: str) -> None:
    rows_kept, other = np.random.default_rng(0).dirichlet(np.ones(600), 800), np.ones((2, 3)) / 3
    usual = Arrays.named(kind)
    kept = KeptArrays.of(usual, rows_kept)
    for one in (rows_kept, other):
        made, wanted = kept.rows(one), usual.rows(one)
        assert made.dtype == wanted.dtype
        assert (made == wanted).all()
        made[:] = 0
        assert (kept.rows(one) == wanted).all()
        there = np.arange(len(one)) % 2 == 0
        picked = kept.rows_at(one, there)
        assert (picked == usual.rows_at(one, there)).all()
        picked[:] = 0
        assert (kept.rows_at(one, there) == wanted[::2]).all()
        assert (kept.rows_at(one, ~there) == wanted[1::2]).all()


@pytest.mark.exact
@pytest.mark.parametrize("name", ["verify", "verify_batch", "batch_uniforms", "flat_exponential", "chain_logits"])
def test_rows_are_converted_before_the_first_call(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a call takes is the time of the code under test, and not of what makes its rows."""
    shape = Shape(tuple((axis.name, {"V": 600, "gamma": 3, "batch": 5}[axis.name]) for axis in CONTRACTS[name].axes))
    case: Any = CONTRACTS[name].drawn(shape, np.random.default_rng(0))
    inputs = case.inputs(2, np.random.default_rng(0))
    made = []
    monkeypatch.setattr(copies, "Copies", lambda array: made.append(array) or Copies(array))
    case.prepare(inputs)
    assert len(made) == 2
    with pytest.raises(Broken):
        case.ask(lambda *given: None, inputs, 1, np.random.default_rng(0))
    assert len(made) == 2


@pytest.mark.exact
@pytest.mark.parametrize(("name", "sizes"), [("decode", {"length": 9}), ("verify_batch", {"gamma": 4, "batch": 3})])
def test_two_in_turn_count_what_each_counts_of_its_own_calls(name: str, sizes: dict[str, int]) -> None:
    """Each half is cut once for all who look at it, for what they found of the same outcomes is kept."""
    rng = np.random.default_rng(3)
    shape = Shape((("V", 50), *sizes.items()))
    both = TwoInTurn(tuple(makes(name, None, "")(shape, rng) for _ in range(2)))
    tokens = rng.integers(50, size=(40, both.length))
    for events in both.events:
        counts, parts = np.bincount(events.codes(tokens), minlength=len(events.law)), np.zeros(len(events.law), int)
        for k, case in enumerate(both.of):
            for one in (one for one in case.events if one.name == events.name):
                parts += np.bincount(one.codes(tokens[k::2]), minlength=len(one.law))
        assert counts.tolist() == parts.tolist()
        placed = events.by_place(tokens)
        assert not placed or sum(placed.values()).tolist() == counts.tolist()
    half = Half(1)
    assert half(tokens) is half(tokens)


@pytest.mark.exact
@pytest.mark.parametrize(
    "name",
    [
        *("verify", "decode", "draft", "tree_parents"),
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("verify_batch", "chain_logits")),
    ],
)
def test_two_in_turn_may_have_two_shapes(name: str) -> None:
    """The other one is the first shape of the range; what comes out is as long as each has it."""
    contract = CONTRACTS[name]
    drawing = Drawing((), contract.axes, partial(_drawn, name), cells(contract.axes, {"V": 64})[-4:], 1)
    turning = (drawing[i] for i in range(4, 400))
    case: Any = next(one for one in turning if isinstance(one, TwoInTurn) and one.other)
    rng, function = np.random.default_rng(0), one_by_one() if name == "decode" else reference(name)
    tokens, inputs = np.full((6, case.length), -1), case.prepare(case.inputs(6, rng))
    for i, row in enumerate(tokens):
        emitted = case.ask(function, inputs, i, rng)
        row[: len(emitted)] = emitted
    done = case.completed(tokens, rng)
    for k, one in enumerate(case.of):
        assert (done[k::2, one.length :] == -1).all()
    for events in case.events:
        assert events.name in {BRANCH, FORCED} or len(events.codes(done)) == 3 * len(events.groups)
    assert str(case.other) in case.name
    for i in range(4, 400):
        shape, *others = drawing.shapes(i)
        for other in others:
            assert other.batch == shape.batch
            assert numbers(drawing.axes, other) <= numbers(drawing.axes, shape)
            assert all((other in one) == (shape in one) for one in drawing.ranges)


def _drawn(name: str, of: Ranges) -> Any:
    return makes(name, None, of.dtype)
