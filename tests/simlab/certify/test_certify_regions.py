"""What a region of drawn shapes says was seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace

import numpy as np
import pytest

from experiments.certification.certificate_format import clauses, own_shape_line
from simlab.arrays import Array
from simlab.certify import CONTRACTS
from simlab.certify.certificate import RangeEvidence
from simlab.certify.engine.mapping import largest_region, mapped, region_text
from simlab.certify.engine.region import CALLS
from simlab.certify.shapes import rows
from simlab.certify.shapes.drawing import cells
from simlab.certify.shapes.events import EXAMINED
from simlab.certify.shapes.ranges import Ranges
from simlab.mutants.gated.contracts import reference
from simlab.statistics import Sequential
from tests.support.certify import speculated, verifier
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


@pytest.mark.exact
def test_a_region_is_one_of_which_every_cell_was_seen() -> None:
    bands, depths = ((2, 7), (8, 64), (65, 1024)), ((1, 3), (4, 8))

    def region(*unseen: tuple[int, int]) -> dict[str, int] | None:
        return largest_region(
            [
                RangeEvidence({"V": a, "gamma": b}, "", "", "", 1, 1, 0.1, 0.1, (i, j) not in unseen)
                for i, a in enumerate(bands)
                for j, b in enumerate(depths)
            ]
        )

    assert region() == {"V": 1024, "gamma": 8}
    assert region((2, 1)) in ({"V": 1024, "gamma": 3}, {"V": 64, "gamma": 8})
    assert region((1, 0)) == {"V": 7, "gamma": 8}
    assert region((0, 0)) is None


def _bands(cell: Ranges) -> dict[str, tuple[int, int]]:
    return {name: cell.of[name] for name in cell.given}


@pytest.mark.exact
def test_a_region_of_three_axes_has_bands_of_each() -> None:
    """A cell is bands of V and of one other axis: of the third it has every size, and says nothing of its bands."""
    axes = CONTRACTS["verify_batch"].axes
    every = cells(axes, {})

    def region(seen: Callable[[Ranges], bool]) -> dict[str, int] | None:
        return largest_region([RangeEvidence(_bands(one), "", "", "", 1, 1, 0.1, 0.1, seen(one)) for one in every])

    first = every[0]
    assert region(lambda one: one is first) is None
    assert region(lambda one: "gamma" in one.given) is None
    assert region(lambda one: True) == {"V": 262_144, "gamma": 96, "batch": 256}
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
    every = [RangeEvidence(_bands(cell), "", "", "", 1, 1, 0.1, 0.1, True) for cell in cells(axes, most)]
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
    own = RangeEvidence(of, "mine", "", "", 1, 1, 0.1, 0.1, True)
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
