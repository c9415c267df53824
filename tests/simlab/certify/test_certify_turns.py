"""Which drawn case is called next."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from experiments.certification.self_test_known import Hidden
from simlab.arrays import Array
from simlab.certify import CONTRACTS, certify
from simlab.certify.engine import shrink
from simlab.certify.engine.region import CALLS, FEWEST_CALLS, GLANCE, WHOLE, Region
from simlab.certify.engine.tallies import Pool, Tally, Visit
from simlab.certify.engine.tasks import Fault, Sample
from simlab.certify.shapes import rows
from simlab.certify.shapes.drawing import cells
from simlab.certify.shapes.events import EXAMINED, LACKING
from simlab.certify.shapes.positions import Positions
from simlab.certify.shapes.ranges import Ranges
from simlab.certify.shapes.turns import TwoInTurn
from simlab.mutants.gated.contracts import reference
from tests.support.certify import one_by_one, verifier
from tests.support.regions import asked_next, call, called_on, region_of

FEW = "V=8,gamma=40"  # of what is drawn, and of the fixed cases


@pytest.mark.exact
def test_each_band_is_looked_at_first_and_then_those_called_least_and_what_a_region_needs_next() -> None:
    """A third of the time is for the first bands of which too little was seen, so that slow code has a region."""
    region = region_of(*cells(CONTRACTS["verify"].axes, {}))
    count = len(region.drawing.ranges)

    def bands(batches: int) -> tuple[list[Visit], set[int]]:
        visits, called = list[Visit](), set[int]()
        for _ in range(batches):
            case, _, calls = asked_next(region)
            visits.append(region.visits[case])
            called.add(calls)
            region.seconds[visits[-1].at] += 1.0  # whatever is called
            region.widening += visits[-1].widens
        return visits, called

    glanced, calls = bands(count)
    assert sorted(visit.at for visit in glanced) == list(range(count))
    assert calls == {GLANCE}
    later, calls = bands(3 * count)
    assert calls == {CALLS, CALLS - GLANCE}
    widening = [visit.at for visit in later if visit.widens]
    assert abs(len(widening) - 4 * count / 3) <= 1
    assert widening == sorted(widening)
    others = [visit.at for visit in later if not visit.widens]
    assert max(widening) < max(others)
    assert len(set(others)) > count // 2


@pytest.mark.exact
def test_where_calls_take_long_a_case_has_fewer() -> None:
    region = region_of("V=1000,gamma=7")
    assert asked_next(region)[-1] == CALLS
    region.times = [(8000, 0.005)]
    assert asked_next(region)[-1] == 40
    region.times = [(8000, 0.5)]
    assert asked_next(region)[-1] == FEWEST_CALLS


@pytest.mark.exact
def test_a_band_is_called_in_shapes_that_were_not_called_before_as_long_as_a_few_draws_have_one() -> None:
    region = region_of(Ranges({"V": (65_537, 262_144), "gamma": (33, 96)}))
    shapes = []
    for _ in range(8):
        visit = region.visits[asked_next(region)[0]]
        shapes.append(visit.shape)
        visit.calls = CALLS
    assert len(set(shapes)) >= 6  # of draws in turn three of four are of its smallest shape


@pytest.mark.statistical
def test_a_shape_that_only_seemed_slow_is_called_after_all() -> None:
    """A call takes 50 ms whatever its shape; at first that seems to be far more in large ones."""
    region = region_of("V=7,gamma=1", "V=200000,gamma=7", "V=20000,gamma=7")
    called_on(region, 10, lambda size: 0.05)
    assert region.evidence_of(1).skipped > 0
    called_on(region, 6, lambda size: 0.05)
    assert region.evidence_of(1).skipped == 0
    assert region.evidence_of(1).outcomes > 0


@pytest.fixture
def no_smaller_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """No smaller case that fails is looked for, which takes seconds where there is none."""
    monkeypatch.setattr(shrink, "SECONDS", 0.0)


@pytest.mark.exact
@pytest.mark.usefixtures("no_smaller_case")
def test_a_shape_that_is_declined_is_left_out_and_one_that_fails_is_not() -> None:
    right = verifier()

    def declines(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        if len(drafts) > 20:
            raise ValueError("more than 20 drafts are not supported")
        return right(p, q, drafts, rng)  # type: ignore[no-any-return]

    def fails(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        table = np.zeros(20)
        return right(p, q, drafts, rng) if table[len(drafts) - 1] == 0 else []

    found = certify(Hidden(declines), calls=16, at_most=FEW)  # nothing is enumerated, which takes seconds
    assert found.verdict == "inconclusive"
    assert found.shapes
    assert any("more than 20 drafts are not supported" in one.why for one in found.shapes.cells)
    assert certify(Hidden(fails), calls=16, at_most=FEW).verdict == "breaks"


@pytest.mark.exact
@pytest.mark.usefixtures("no_smaller_case")
def test_what_a_library_raises_or_depends_on_the_rows_is_no_shape_that_is_declined() -> None:
    right = verifier()

    def crashes(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        return right(p, q, drafts, rng) if len(drafts) < 20 else random.choices([0], weights=[0])

    def refuses(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        if len(drafts) > 20 and drafts[0] % 2:
            raise ValueError("the first draft is odd")
        return right(p, q, drafts, rng)  # type: ignore[no-any-return]

    found = certify(Hidden(crashes), calls=16, at_most=FEW)
    assert found.verdict == "breaks"
    assert "Total of weights must be greater than zero" in found.summary
    found = certify(Hidden(refuses), calls=16, at_most=FEW)
    assert found.verdict == "breaks"
    assert "the first draft is odd, in a shape that it has answered before" in found.summary


@pytest.mark.exact
def test_shapes_that_are_declined_do_not_close_a_range_in_which_others_are_answered() -> None:
    region = region_of("V=1024..1025,gamma=4")
    for _ in range(24):
        case, number, calls = asked_next(region)
        shape = region.visits[case].shape
        if shape["V"] % 2:
            assert region.left_out(Fault(Sample(case, number, calls), "declines", "V is odd", 0))
        else:
            region.visits[case].calls = calls
    assert len(region.declined[0]) == 1
    assert len(region.visits) == 23


def _asked_of(region: Region, key: tuple[str, int], p_value: float, count: int, name: str = EXAMINED) -> list[Visit]:
    """The cases that a region asks for while counts of a kind look so odd."""
    kind, cases = (key, name, 7), []
    for _ in range(count):
        region.pools.setdefault(kind, Pool(Tally(name, 50), next(iter(region.visits.values())), region.pooled))
        region.pools[kind].together = p_value
        cases.append(region.visits[asked_next(region)[0]])
    return cases


@pytest.mark.statistical
def test_more_is_drawn_of_what_looks_odd_when_added_up_and_a_range_rests_on_the_others() -> None:
    """Every third case, and every second one where it looks very odd. A false alarm has a rate of 1e-6."""
    region = region_of("V=8..64,gamma=1..8", "V=100,gamma=30")
    called_on(region, 6, lambda size: 0.001)
    before, planned = region.evidence_of(0), sum(region.planned[0].values())
    cases = _asked_of(region, ("gamma", 5), 1e-3, 6) + _asked_of(region, ("gamma", 5), 1e-9, 6)
    suspected = [visit for visit in cases if visit.suspected]
    assert [sum(visit.suspected for visit in part) for part in (cases[:6], cases[6:])] == [2, 3]
    assert {visit.shape["gamma"] for visit in suspected} == {5}
    others = sum(visit.at == 0 for visit in cases if not visit.suspected)
    assert sum(region.planned[0].values()) - planned in (others * CALLS, others * CALLS - GLANCE)
    call(region, (suspected[-1].index, 0, CALLS), verifier(), 0.001)
    assert region.evidence_of(0) == before
    tested = [region.pools[(name, 0), EXAMINED, 7].tally.test.n for name in ("range", "band")]
    assert tested == [before.outcomes, before.outcomes + CALLS]


@pytest.mark.exact
@pytest.mark.parametrize(
    ("name", "shape", "positions"),
    [
        ("verify", "V=8..64,gamma=1..96", Positions(31, 32)),
        ("verify_batch", "V=8..64,gamma=1..20,batch=2..5", Positions(7, 8)),
        ("chain_logits", "V=8..64,gamma=1..20", Positions(16)),
        ("decode", "V=8..64,length=1..40", Positions(5, 8)),
        ("tree_parents", "V=8..64,nodes=40..96", Positions(31, 32)),
    ],
)
def test_more_is_drawn_of_positions_whose_counts_look_odd(name: str, shape: str, positions: Positions) -> None:
    """A batch has sequences that end before them, and a token there may be certain."""
    region = region_of(shape, name=name)
    for _ in range(3):
        call(region, asked_next(region), reference(name) if name != "decode" else one_by_one(), 0.001)
    suspected = [visit for visit in _asked_of(region, positions.key, 1e-9, 12) if visit.suspected]
    assert len(suspected) == 6
    looked = [region.drawing[visit.index].events[0].places for visit in suspected]
    there = [place in positions.up_to(place) for places in looked for place in places]
    sure = name in ("verify", "chain_logits", "tree_parents")
    assert np.mean(there) > (0.99 if sure else 0.4)  # by chance one in eight would be


@pytest.mark.exact
@pytest.mark.parametrize("positions", [None, Positions(6, 8)])
def test_more_is_drawn_of_rows_whose_q_lacks_a_class_where_their_counts_look_odd(positions: Positions | None) -> None:
    """Of those alone that add to them: of as many classes, and of the same precision."""
    region = region_of("V=2..64,gamma=9..30", "V=9..64,gamma=9,dtype=float16", name="chain_uniforms")
    for _ in range(3):
        call(region, asked_next(region), reference("chain_uniforms"), 0.001)
    asked = _asked_of(region, positions.key if positions else WHOLE, 1e-9, 12, LACKING)
    looked = [next(_of_block(region.drawing[visit.index])) for visit in asked if visit.suspected]
    assert len(looked) == 6
    assert {one.kind for one in looked} == {rows.WITHOUT}
    assert min(visit.shape["V"] for visit in asked if visit.suspected) >= 8
    assert positions is None or all(one.at[0] in positions.up_to(one.at[0]) for one in looked)


def _of_block(case: Any) -> Iterator[Any]:
    """The drawn blocks of a case, of both where two are called in turn."""
    for one in case.of if isinstance(case, TwoInTurn) else (case,):
        yield from one.drawn


@pytest.mark.exact
def test_own_shapes_have_their_half_of_the_time_also_while_others_look_odd() -> None:
    region = region_of("V=7,gamma=1", *cells(CONTRACTS["verify"].axes, {"V": 64, "gamma": 8}))
    asked_next(region)
    for _ in range(160):
        (visit,) = _asked_of(region, ("gamma", 5), 1e-9, 1)
        region.seconds[visit.at] += 1e-3 if visit.at else 1e-4
    assert region.seconds[0] > 0.4 * region.seconds.sum()
