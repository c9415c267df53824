"""A region of drawn shapes: which case is called next, and what is said to have been seen."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

from experiments.certification.certificate_format import clauses, own_shape_line
from experiments.certification.self_test_known import Hidden
from simlab.arrays import Array
from simlab.certify import CONTRACTS, certify
from simlab.certify.certificate import RangeEvidence
from simlab.certify.engine import shrink
from simlab.certify.engine.mapping import largest_region, mapped, region_text
from simlab.certify.engine.region import CALLS, FEWEST_CALLS, GLANCE, WHOLE, Region
from simlab.certify.engine.tallies import Pool, Tally, Visit
from simlab.certify.engine.tasks import Fault, Sample
from simlab.certify.shapes import rows
from simlab.certify.shapes.drawing import cells
from simlab.certify.shapes.events import EXAMINED, OF_KIND
from simlab.certify.shapes.positions import Positions
from simlab.certify.shapes.ranges import Ranges
from simlab.certify.shapes.turns import TwoInTurn
from simlab.mutants.gated.contracts import reference
from simlab.statistics import Sequential
from tests.support.certify import one_by_one, speculated, verifier
from tests.support.regions import asked_next, call, called_on, region_of, searched


@pytest.mark.statistical
def test_what_was_seen_of_an_own_shape_is_told() -> None:
    seen, unseen = (mapped(searched(verifier(), "V=50,gamma=3", calls)) for calls in (512, 64))
    assert seen
    assert seen.own[0].seen
    assert "in shapes of V = 50, gamma = 3 a TV of" in seen.told
    assert unseen
    assert not unseen.own[0].seen


@pytest.mark.statistical
def test_a_range_of_which_shapes_were_left_out_as_slow_is_not_seen() -> None:
    """Deterministic but for a false alarm, whose rate is 1e-6."""
    quick, slow = region_of("V=5000..50000,gamma=1"), region_of("V=5000..50000,gamma=1")
    called_on(quick, 12, lambda size: 0.001)
    assert quick.evidence_of(0).seen
    assert (quick.evidence_of(0).skipped, quick.evidence_of(0).why) == (0, "")
    called_on(slow, 24, lambda size: 2.6 if size > 20_000 else 0.001)
    found = slow.evidence_of(0)
    assert found.detectable < 0.3
    assert found.skipped > 0
    assert not found.seen
    assert "a call would take too long" in found.why
    assert "too long" in own_shape_line(asdict(found))
    assert f"{found.skipped} more shapes that were drawn were left out" in own_shape_line(asdict(found))


@pytest.mark.statistical
def test_a_case_that_is_called_again_counts_no_more_for_its_range() -> None:
    region = searched(verifier(), "V=50,gamma=3", 3 * CALLS)
    region.waiting.append(next(iter(region.visits.values())))
    asked = asked_next(region)
    assert asked[2] == 3 * CALLS
    call(region, asked, verifier(), 0.0)
    assert region.evidence_of(0).outcomes == 3 * CALLS
    assert region.pools[("all", 0), EXAMINED, 7].tally.test.n == 6 * CALLS


@pytest.mark.statistical
def test_sequences_of_a_call_count_as_one_in_what_is_told() -> None:
    region = region_of("V=50,gamma=1,batch=16", name="verify_batch")
    for asked in next(region.rounds(4 * CALLS)):
        call(region, asked, reference("verify_batch"), 0.0)
    found = region.evidence_of(0)
    assert 4 * CALLS * 15 <= found.outcomes <= 4 * CALLS * 16  # the first sequence may be greedy, which is not counted
    assert found.detectable == Sequential(rows.LAWS[7]).detectable(4 * CALLS, region.pooled)
    assert found.tv_at_most > Sequential(rows.LAWS[7]).update(
        region.pools[("range", 0), EXAMINED, 7].tally.counts
    ).tv_upper(0.999)


@pytest.mark.statistical
def test_a_range_of_few_tokens_and_of_many_is_seen_once_both_are() -> None:
    """They are counted in two classes, or in seven."""
    region = region_of("V=6..9,gamma=1")
    for asked in next(region.rounds(24 * CALLS)):
        if region.visits[asked[0]].shape["V"] >= 8:
            call(region, asked, verifier(), 0.0)
    assert region.evidence_of(0).outcomes > 1000
    assert (region.evidence_of(0).detectable, region.evidence_of(0).seen) == (1, False)
    both = searched(verifier(), "V=6..9,gamma=1", 24 * CALLS).evidence_of(0)
    assert both.seen
    assert both.outcomes == 24 * CALLS


@pytest.mark.exact
def test_with_a_number_of_calls_bands_with_large_shapes_are_not_seen() -> None:
    small = cells(CONTRACTS["verify"].axes, {"V": 1024, "gamma": 3})[-1]
    region = region_of(small, Ranges({"V": (1025, 16_384), "gamma": (33, 96)}))
    assert next(region.rounds(4 * CALLS))
    assert [region.evidence_of(at).skipped > 0 for at in range(2)] == [False, True]
    assert "65,536 numbers" in region.evidence_of(1).why


def evidence(of: dict[str, tuple[int, int]], seen: bool = True) -> RangeEvidence:
    """What is told of a range of shapes."""
    return RangeEvidence(of, "", "", "", 1, 1, 0.1, 0.1, seen)


def _bands(cell: Ranges) -> dict[str, tuple[int, int]]:
    return {name: cell.of[name] for name in cell.given}


@pytest.mark.exact
def test_a_region_has_bands_of_every_axis_of_which_every_cell_was_seen() -> None:
    """A cell is bands of V and of one other axis: of the third it has every size, and says nothing of its bands."""
    axes = CONTRACTS["verify_batch"].axes
    every = cells(axes, {})

    def region(seen: Callable[[Ranges], bool]) -> dict[str, int] | None:
        return largest_region([evidence(_bands(one), seen(one)) for one in every])

    first = every[0]
    assert region(lambda one: one is first) is None
    assert region(lambda one: "gamma" in one.given) is None
    assert region(lambda one: True) == {"V": 262_144, "gamma": 96, "batch": 256}
    assert region(lambda one: one.of["V"][1] < 1025) == {"V": 1024, "gamma": 96, "batch": 256}
    small = region(lambda one: "gamma" in one.given or one.of["batch"][0] < 33)
    assert small == {"V": 262_144, "gamma": 96, "batch": 32}
    shallow = region(lambda one: "batch" in one.given or one.of["gamma"][1] < 9)
    assert shallow == {"V": 262_144, "gamma": 8, "batch": 256}


@pytest.mark.exact
@pytest.mark.parametrize(
    ("name", "most", "told"),
    [
        ("verify", {"V": 65_536, "gamma": 96}, "in every band of shapes with V up to 65,536, gamma up to 96 a TV"),
        (
            "verify",
            {"V": 262_144, "gamma": 96},
            "gamma up to 96, as far as a call has at most 8,388,608 numbers of p, a TV of 0.1 in their mean",
        ),
        (
            "batch_uniforms",
            {"V": 65_536, "gamma": 8, "batch": 128},
            "in every pair of bands, of V and of another axis, of shapes with V up to 65,536, gamma up to 8, "
            "batch up to 128, as far as a call has at most 8,388,608 numbers of p, a TV",
        ),
        ("verify_candidates", {"V": 262_144, "K": 96}, "V up to 262,144, K up to 96 a TV"),
    ],
)
def test_a_region_says_where_the_size_of_a_call_cuts_it(name: str, most: dict[str, int], told: str) -> None:
    axes = CONTRACTS[name].axes
    every = [evidence(_bands(cell)) for cell in cells(axes, most)]
    own = replace(every[0], of={axis.name: (1, most[axis.name]) for axis in axes}, name="mine")
    text = region_text(axes, [own], every, most)
    assert told in text
    assert text.count("as far as") == 2 * told.count("as far as")


@pytest.mark.exact
@pytest.mark.parametrize(
    ("of", "told"),
    [
        ({"V": (2, 2), "gamma": (1, 96), "batch": (4096, 4096)}, ", as far as a call has at most 32,768 rows,"),
        ({"V": (2, 2), "gamma": (1, 7), "batch": (4096, 4096)}, ""),
    ],
)
def test_an_own_range_says_where_the_number_of_rows_cuts_it(of: dict[str, tuple[int, int]], told: str) -> None:
    own = replace(evidence(of), name="mine")
    text = region_text(CONTRACTS["verify_batch"].axes, [own], [], None)
    assert text.startswith(f"in shapes of {own.text}{told} a TV of 0.1 would have been seen; ")
    summary = {"failure": None, "shapes": {"own": []}, "summary": text}
    assert clauses(summary) == text.split("; ")[0 if told else 1 :]


@pytest.mark.statistical
@pytest.mark.parametrize("wrong", ["float32", "float64"])
def test_a_range_rests_on_rows_of_its_own_precision(wrong: str) -> None:
    """Of one shape in two of them, code that is wrong for one; a false alarm has a rate of 1e-6."""
    region = region_of("V=100,gamma=3", "V=100,gamma=3,dtype=float64", name="chain_uniforms")
    ranges = region.drawing.ranges

    def verify(p: Array, q: Array, drafts: Array, coins: Array, coin: float) -> list[int]:
        kept = 0 * coins if str(p.dtype) == wrong else coins  # all drafts
        return speculated(p, q, drafts, kept.__getitem__, lambda i: coin)

    called: set[str] = set()
    for asked in next(region.rounds(24 * CALLS)):
        if region.finding is None:
            call(region, asked, verify, 0.001)
        called.add(ranges[region.visits[asked[0]].at].dtype)
    assert called == {"", "float64"}
    assert region.finding
    assert ranges[region.visits[region.finding.case].at].dtype == {"float32": "", "float64": "float64"}[wrong]
    assert region.evidence_of(0).shapes < 24 * 2


@pytest.mark.exact
def test_counts_that_are_odd_but_no_finding_are_told_and_nothing_passes() -> None:
    region = region_of("V=50,gamma=3")
    asked = asked_next(region)
    call(region, asked, verifier(), 0.0)
    assert region.doubt == ""
    tally = region.visits[asked[0]].tallies[EXAMINED]
    tally.counts[:] = 0
    tally.add(np.where(tally.law > 0.5, 34, 0))  # as odd as e^12, and no finding
    assert region.finding is None
    assert "V = 50, gamma = 3 are odd" in region.doubt


# Which is called next ---------------------------------------------------------------------------------------------

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
    """Nor where a library raises, or it depends on the rows."""
    right = verifier()

    def declines(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        if len(drafts) > 20:
            raise ValueError("more than 20 drafts are not supported")
        return right(p, q, drafts, rng)  # type: ignore[no-any-return]

    def fails(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        table = np.zeros(20)
        return right(p, q, drafts, rng) if table[len(drafts) - 1] == 0 else []

    def crashes(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        return right(p, q, drafts, rng) if len(drafts) < 20 else random.choices([0], weights=[0])

    def refuses(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        if len(drafts) > 20 and drafts[0] % 2:
            raise ValueError("the first draft is odd")
        return right(p, q, drafts, rng)  # type: ignore[no-any-return]

    found = certify(Hidden(declines), calls=16, at_most=FEW)  # nothing is enumerated, which takes seconds
    assert found.verdict == "inconclusive"
    assert found.shapes
    assert any("more than 20 drafts are not supported" in one.why for one in found.shapes.cells)
    for function, told in (
        (fails, "IndexError"),
        (crashes, "Total of weights must be greater than zero"),
        (refuses, "the first draft is odd, in a shape that it has answered before"),
    ):
        found = certify(Hidden(function), calls=16, at_most=FEW)
        assert found.verdict == "breaks"
        assert told in found.summary


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
@pytest.mark.parametrize("kind", OF_KIND)
@pytest.mark.parametrize("positions", [None, Positions(6, 8)])
def test_more_is_drawn_of_rows_of_a_kind_where_their_counts_look_odd(positions: Positions | None, kind: str) -> None:
    """Of those alone that add to them: of as many classes, and of the same precision."""
    region = region_of("V=2..64,gamma=9..30", "V=9..64,gamma=9,dtype=float16", name="chain_uniforms")
    for _ in range(3):
        call(region, asked_next(region), reference("chain_uniforms"), 0.001)
    asked = _asked_of(region, positions.key if positions else WHOLE, 1e-9, 12, kind)
    looked = [next(_of_block(region.drawing[visit.index])) for visit in asked if visit.suspected]
    assert len(looked) == 6
    assert {one.kind for one in looked} == {OF_KIND[kind]}
    assert min(visit.shape["V"] for visit in asked if visit.suspected) >= 8
    assert positions is None or all(one.at[0] in positions.up_to(one.at[0]) for one in looked)


def _of_block(case: Any) -> Iterator[Any]:
    """The drawn blocks of a case, of both where two are called in turn."""
    for one in case.of if isinstance(case, TwoInTurn) else (case,):
        yield from one.drawn


@pytest.mark.exact
def test_a_shape_that_is_declined_is_told_once_however_often_it_comes_in_turn_with_others() -> None:
    """The sizes of the first shape of a range come again, as those of the second of two."""
    region = region_of("V=20..60,gamma=3..9")
    first = region.drawing.shape(region.drawing.number(0, 0))
    assert region.left_out(Fault(Sample(*asked_next(region)), "declines", "not this one", 0))
    again = 0
    for _ in range(300):
        asked = asked_next(region)
        if first in region.drawing.shapes(asked[0])[1:]:
            again += 1
            assert region.left_out(Fault(Sample(*asked), "declines", "not this one", 1))
            assert asked[0] not in region.visits
        else:
            call(region, asked, verifier(), 0.001)
    assert again >= 3
    assert region.declined[0] == [f"{first}: not this one"]
    assert region.evidence_of(0).seen


@pytest.mark.exact
def test_of_two_in_turn_the_second_one_that_fails_is_no_shape_that_was_answered() -> None:
    region = region_of("V=20,gamma=3")
    assert not region.left_out(Fault(Sample(*asked_next(region)), "declines", "not this one", 1))


@pytest.mark.exact
@pytest.mark.parametrize("seed", range(8))
def test_calls_that_are_asked_for_of_a_range_are_evidence_of_it(seed: int) -> None:
    """Of candidates some cases look at a row of another kind alone."""
    region = searched(reference("verify_candidates"), "V=50,K=3", 3 * CALLS, seed, "verify_candidates")
    assert region.pools[("range", 0), EXAMINED, 7].calls >= 3 * CALLS
    assert region.evidence_of(0).seen
    assert region.planned[0][7] == region.pools[("range", 0), EXAMINED, 7].calls


@pytest.mark.exact
def test_own_shapes_have_their_half_of_the_time_also_while_others_look_odd() -> None:
    region = region_of("V=7,gamma=1", *cells(CONTRACTS["verify"].axes, {"V": 64, "gamma": 8}))
    asked_next(region)
    for _ in range(160):
        (visit,) = _asked_of(region, ("gamma", 5), 1e-9, 1)
        region.seconds[visit.at] += 1e-3 if visit.at else 1e-4
    assert region.seconds[0] > 0.4 * region.seconds.sum()
