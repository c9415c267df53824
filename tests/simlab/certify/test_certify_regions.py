"""What is found in drawn shapes, and what a region says of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import asdict, replace

import numpy as np
import pytest

from experiments.certification.certificate_format import own_shape_line
from experiments.certification.self_test_known import Hidden
from simlab.arrays import Array, total_variation
from simlab.certify import CONTRACTS, certify
from simlab.certify.certificate import RangeEvidence
from simlab.certify.contracts.base import Function
from simlab.certify.engine.describing import deviation
from simlab.certify.engine.mapping import largest_region, mapped, region_text
from simlab.certify.engine.region import CALLS, GLANCE, Pool, Region, Tally, Visit
from simlab.certify.engine.tasks import Fault, Sample
from simlab.certify.registry import makes
from simlab.certify.shapes import rows
from simlab.certify.shapes.drawing import Drawing, cells
from simlab.certify.shapes.events import EXAMINED
from simlab.certify.shapes.ranges import Ranges, parsed
from simlab.mutants.gated.base import excess
from simlab.mutants.gated.contracts import implementation, reference
from simlab.mutants.gated.gates import ALWAYS, Gate
from simlab.mutants.gated.gates import GATES as GATED
from simlab.statistics import Sequential
from tests.support.certify import speculated, taken, verifier

GATES: dict[str, tuple[str, Callable[[int, int, int], bool]]] = {
    "between two lengths": ("V=8..900,gamma=6", lambda size, gamma, i: gamma == 6),
    "deep and wide at once": ("V=65..900,gamma=40..60", lambda size, gamma, i: i > 31 and size > 64),
    "beyond 65,536 tokens": ("V=70000,gamma=2", lambda size, gamma, i: size > 1 << 16),
    "in an odd vocabulary": ("V=2001,gamma=3", lambda size, gamma, i: size > 100 and size % 2 == 1),
}


def _region(*shapes: str, seed: int = 0, name: str = "verify", limit: float = 2.5) -> Region:
    """A region of own shapes of a contract alone, in which nothing was called yet."""
    contract = CONTRACTS[name]
    own = tuple(one for shape in shapes if (one := parsed(shape, contract.axes).within(contract.axes, {})))
    make = makes(name, None, "")
    return Region(Drawing((), contract.axes, lambda _: make, own, seed), 1e-6, 0.999, limit)


def _searched(function: Function, shape: str, calls: int, seed: int = 0, name: str = "verify") -> Region:
    """A region of one own shape of a contract after so many calls of it, in this process."""
    region = _region(shape, seed=seed, name=name, limit=10.0)
    for drawn in region.rounds(calls):
        for asked in drawn:
            if not region.finding:
                _call(region, asked, function, 0.0)
    return region


def _call(region: Region, asked: tuple[int, int, int], function: Function, seconds: float) -> None:
    """Take in the calls that a region asks for, as if each took so many seconds."""
    found = Sample(*asked).run(region.drawing[asked[0]], function, region.drawing.seed)
    region.add(replace(found, seconds=seconds * found.calls))


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("name", GATES)
def test_what_is_wrong_in_a_shape_is_found_there(name: str) -> None:
    """Half of the kinds of rows make TV 0.1 or more: of 24 shapes one is odd after 128 calls, and sure after 3,000.

    The same code without what is wrong raises no alarm; its rate is 1e-6.
    """
    shape, gate = GATES[name]
    found = _searched(verifier(gate), shape, 24 * CALLS).finding
    assert found
    assert found.log_e > 14
    assert _searched(verifier(), shape, 4 * CALLS).finding is None


BY_DESIGN = [  # fault, contract, gate, shape
    ("all tokens but the last two of a long cache stale", "decode", ALWAYS, "V=300,length=20"),
    ("drafts unverified", "decode", GATED["position = 23"], "V=300,length=40"),  # seen place by place
    ("candidates of 0.95 or more accepted whatever the coin", "tree_parents", ALWAYS, "V=300,nodes=20"),
    ("p without the filters", "chain_logits", GATED["V > 64"], "V=300,gamma=3"),
    ("p without the filters", "chain_logits_joint", GATED["V > 64"], "V=300,gamma=3"),
]


@pytest.mark.statistical
@pytest.mark.parametrize(("fault", "name", "gate", "shape"), BY_DESIGN, ids=lambda one: getattr(one, "name", one))
def test_what_is_wrong_by_design_is_found_in_a_drawn_shape(fault: str, name: str, gate: Gate, shape: str) -> None:
    """128 calls of each of eight shapes, and more of what looks odd, at most 16,384 of each.

    The same code without the fault raises no alarm; its rate is 1e-6.
    """
    assert _searched(implementation(fault, gate, name), shape, 8 * CALLS, 0, name).finding
    assert _searched(reference(name), shape, 2 * CALLS, 0, name).finding is None


def _chained(p: Array, q: Array, drafts: Array, coins: Array, sparse: bool = False) -> list[int]:
    """Speculative sampling by these coins; where ``sparse``, rejected drafts of rows with few tokens come from p."""

    def left(i: int) -> Array:
        return p[i] if sparse and np.count_nonzero(p[i]) * 8 < p.shape[1] else excess(p[i], q[i])

    return speculated(p, q, drafts, coins.__getitem__, lambda i: coins[-1], left)


def _coins_again(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
    return _chained(p, q, drafts, np.append(np.resize(rng.random(4), len(drafts)), rng.random()))


def _few_tokens(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
    return _chained(p, q, drafts, rng.random(len(drafts) + 1), sparse=True)


def _of_batch(p: Array, q: Array, drafts: Array, coins: Array) -> list[list[int]]:
    gammas = (drafts >= 0).sum(axis=1).tolist()
    cut = enumerate(gammas)
    return [_chained(p[b, : n + 1], q[b], drafts[b, :n], np.append(coins[b, :n], coins[b, -1])) for b, n in cut]


def _sequences_again(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[list[int]]:
    return _of_batch(p, q, drafts, np.resize(rng.random((8, p.shape[1])), p.shape[:2]))


def _greedy_as_the_first(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[list[int]]:
    if (p[0].max(axis=1)[: (drafts[0] >= 0).sum() + 1] == 1).all():
        p = np.eye(p.shape[2])[p.argmax(axis=2)]
    return _of_batch(p, q, drafts, rng.random(p.shape[:2]))


def _old_token_as_uniform(model: Function, length: int, rng: np.random.Generator, eos: int | None = None) -> list[int]:
    """The token eight before is the draft, and counts as a draw from all tokens alike."""
    found: list[int] = []
    while len(found) < length and (eos is None or eos not in found):
        p = model(tuple(found))
        q, u = np.full(len(p), 1 / len(p)), rng.random(2)
        if len(found) < 8:
            found.append(taken(p, u[0]))
        else:
            found.append(_chained(p[None].repeat(2, 0), q[None], np.array(found[-8:-7]), u)[0])
    return found


def _eight_siblings(p: Array, tokens: Array, parents: Array, coins: Array, coin: float) -> list[int]:
    """Candidates behind the eighth of a node are struck out, and not tried."""
    node, path = 0, list[int]()
    while True:
        rest, left, took = p[node].astype(float), 1.0, -1
        for k, child in enumerate(np.flatnonzero(parents == node)):
            x = tokens[child]
            if k < 8 and coins[child] * left < rest[x]:
                took = int(child)
                break
            left -= rest[x] if k < 8 else 0
            rest[x] = 0
        if took < 0:
            return [*path, taken(rest if rest.any() else p[node].astype(float), coin)]
        node = took
        path.append(int(tokens[took]))


WRONG = {  # what is wrong in a part of shapes that has to be hit: contract, shapes, and how many of them are drawn
    "coins of four drafts before": ("verify", "V=8..30,gamma=5..7", _coins_again, 64),
    "rows of few tokens": ("verify", "V=200..400,gamma=1..3", _few_tokens, 48),
    "coins of eight sequences before": (
        "verify_batch",
        "V=8..30,gamma=1,batch=9..17",
        _sequences_again,
        48,
    ),
    "a greedy first sequence": ("verify_batch", "V=8..30,gamma=1..2,batch=3..6", _greedy_as_the_first, 32),
    "an old token as a uniform draft": ("decode", "V=8..30,length=12..20", _old_token_as_uniform, 16),
    "nine siblings": ("tree_parents", "V=100..300,nodes=17..32", _eight_siblings, 24),
}


@pytest.mark.statistical
@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_in_some_drawn_cases_only_is_found(name: str) -> None:
    """128 calls of each of so many shapes, and more of what looks odd. An alarm is a false one with 1e-6.

    Of ten other seeds each, 59 of the 60 runs found it.
    """
    contract, shape, function, count = WRONG[name]
    assert _searched(function, shape, count * CALLS, 0, contract).finding


@pytest.mark.statistical
def test_what_was_seen_of_an_own_shape_is_told() -> None:
    seen, unseen = (mapped(_searched(verifier(), "V=50,gamma=3", calls)) for calls in (512, 64))
    assert seen
    assert seen.own[0].seen
    assert "in shapes of V = 50, gamma = 3 a TV of" in seen.told
    assert unseen
    assert not unseen.own[0].seen


def _called_on(region: Region, batches: int, seconds: Callable[[int], float]) -> None:
    """So many batches, of calls that take so long with V tokens."""
    for _ in range(batches):
        asked = region.next_case()
        assert asked
        _call(region, asked, verifier(), seconds(region.drawing.shape(asked[0])["V"]))


@pytest.mark.statistical
def test_a_range_of_which_shapes_were_left_out_as_slow_is_not_seen() -> None:
    """Deterministic but for a false alarm, whose rate is 1e-6."""
    quick, slow = _region("V=5000..50000,gamma=1"), _region("V=5000..50000,gamma=1")
    _called_on(quick, 12, lambda size: 0.001)
    assert quick.evidence_of(0).seen
    assert (quick.evidence_of(0).skipped, quick.evidence_of(0).why) == (0, "")
    _called_on(slow, 12, lambda size: 2.6 if size > 20_000 else 0.001)
    found = slow.evidence_of(0)
    assert found.detectable < 0.3
    assert found.skipped > 0
    assert not found.seen
    assert "a call would take too long" in found.why
    assert "too long" in own_shape_line(asdict(found))
    assert f"{found.skipped} more shapes that were drawn were left out" in own_shape_line(asdict(found))


@pytest.mark.statistical
def test_a_shape_that_only_seemed_slow_is_called_after_all() -> None:
    """A call takes 50 ms whatever its shape; at first that seems to be far more in large ones."""
    region = _region("V=7,gamma=1", "V=200000,gamma=7", "V=20000,gamma=7")
    _called_on(region, 4, lambda size: 0.05)
    assert region.evidence_of(1).skipped > 0
    _called_on(region, 6, lambda size: 0.05)
    assert region.evidence_of(1).skipped == 0
    assert region.evidence_of(1).outcomes > 0


@pytest.mark.statistical
def test_a_case_that_is_called_again_counts_no_more_for_its_range() -> None:
    region = _searched(verifier(), "V=50,gamma=3", 3 * CALLS)
    region.waiting.append(next(iter(region.visits.values())))
    asked = region.next_case()
    assert asked
    assert asked[2] == 3 * CALLS
    _call(region, asked, verifier(), 0.0)
    assert region.evidence_of(0).outcomes == 3 * CALLS
    assert region.pools[("all", 0), EXAMINED, 7].tally.test.n == 6 * CALLS


@pytest.mark.statistical
def test_sequences_of_a_call_count_as_one_in_what_is_told() -> None:
    contract, make = CONTRACTS["verify_batch"], makes("verify_batch", None, "")
    own = parsed("V=50,gamma=1,batch=16", contract.axes).within(contract.axes, {})
    assert own
    region = Region(Drawing((), contract.axes, lambda _: make, (own,), 0), 1e-6, 0.999, 2.5)
    for asked in next(region.rounds(4 * CALLS)):
        _call(region, asked, reference("verify_batch"), 0.0)
    found = region.evidence_of(0)
    assert found.outcomes == 4 * CALLS * 16
    assert found.detectable == Sequential(rows.LAWS[7]).detectable(4 * CALLS, region.pooled)
    assert found.tv_at_most > Sequential(rows.LAWS[7]).update(
        region.pools[("range", 0), EXAMINED, 7].tally.counts
    ).tv_upper(0.999)


@pytest.mark.statistical
def test_a_range_of_few_tokens_and_of_many_is_seen_once_both_are() -> None:
    """They are counted in two classes, or in seven."""
    region = _region("V=6..9,gamma=1")
    for asked in next(region.rounds(24 * CALLS)):
        if region.visits[asked[0]].shape["V"] >= 8:
            _call(region, asked, verifier(), 0.0)
    assert region.evidence_of(0).outcomes > 1000
    assert (region.evidence_of(0).detectable, region.evidence_of(0).seen) == (1, False)
    both = _searched(verifier(), "V=6..9,gamma=1", 24 * CALLS).evidence_of(0)
    assert both.seen
    assert both.outcomes == 24 * CALLS


@pytest.mark.exact
def test_with_a_number_of_calls_bands_with_large_shapes_are_not_seen() -> None:
    contract, make = CONTRACTS["verify"], makes("verify", None, "")
    small, large = cells(contract.axes, {"V": 1024, "gamma": 3})[-1], Ranges({"V": (1025, 16_384), "gamma": (33, 96)})
    region = Region(Drawing((), contract.axes, lambda _: make, (small, large), 0), 1e-6, 0.999, 2.5)
    assert next(region.rounds(4 * CALLS))
    assert [region.evidence_of(at).skipped > 0 for at in range(2)] == [False, True]
    assert "65,536 numbers" in region.evidence_of(1).why


@pytest.mark.exact
def test_a_shape_that_is_declined_is_left_out_and_one_that_fails_is_not() -> None:
    right = verifier()

    def declines(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        if len(drafts) > 20:
            raise ValueError("more than 20 drafts are not supported")
        return right(p, q, drafts, rng)  # type: ignore[no-any-return]

    def fails(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        table = np.zeros(20)
        return right(p, q, drafts, rng) if table[len(drafts) - 1] == 0 else []

    found = certify(Hidden(declines), calls=16)  # nothing is enumerated, which takes seconds
    assert found.verdict == "inconclusive"
    assert found.shapes
    assert any("more than 20 drafts are not supported" in one.why for one in found.shapes.cells)
    assert certify(Hidden(fails), calls=16).verdict == "breaks"


@pytest.mark.exact
def test_what_a_library_raises_or_depends_on_the_rows_is_no_shape_that_is_declined() -> None:
    right = verifier()

    def crashes(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        return right(p, q, drafts, rng) if len(drafts) < 20 else random.choices([0], weights=[0])

    def refuses(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        if len(drafts) > 20 and drafts[0] % 2:
            raise ValueError("the first draft is odd")
        return right(p, q, drafts, rng)  # type: ignore[no-any-return]

    found = certify(Hidden(crashes), calls=16)
    assert found.verdict == "breaks"
    assert "Total of weights must be greater than zero" in found.summary
    found = certify(Hidden(refuses), calls=16)
    assert found.verdict == "breaks"
    assert "the first draft is odd, in a shape that it has answered before" in found.summary


# The region of a map ----------------------------------------------------------------------------------------------


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
def test_each_band_is_looked_at_first_and_then_every_second_case_is_of_those_called_least() -> None:
    """The others are of the first band of which too little was seen, so that slow code has a region."""
    axes, make = CONTRACTS["verify"].axes, makes("verify", None, "")
    region = Region(Drawing((), axes, lambda _: make, cells(axes, {}), 0), 1e-6, 0.999, 2.5)
    count = len(region.drawing.ranges)

    def bands() -> tuple[list[int], set[int]]:
        asked = [asked for _ in range(count) if (asked := region.next_case())]
        return [region.visits[case].at for case, _, _ in asked], {calls for _, _, calls in asked}

    glanced, calls = bands()
    assert sorted(glanced) == list(range(count))
    assert calls == {GLANCE}
    later, calls = bands()
    assert calls == {CALLS, CALLS - GLANCE}
    assert len(set(later[1::2])) == count // 2
    assert max(later[::2]) < count // 2 < max(later[1::2])


@pytest.mark.exact
def test_a_band_is_called_in_shapes_that_were_not_called_before_as_long_as_a_few_draws_have_one() -> None:
    axes, make = CONTRACTS["verify"].axes, makes("verify", None, "")
    far = Ranges({"V": (65_537, 262_144), "gamma": (33, 96)}).within(axes, {})
    assert far
    region = Region(Drawing((), axes, lambda _: make, (far,), 0), 1e-6, 0.999, 2.5)
    shapes = []
    for _ in range(8):
        asked = region.next_case()
        assert asked
        shapes.append(region.visits[asked[0]].shape)
        region.answered.add(("", shapes[-1]))
    assert len(set(shapes)) >= 6  # of draws in turn three of four are of its smallest shape


@pytest.mark.exact
def test_shapes_that_are_declined_do_not_close_a_range_in_which_others_are_answered() -> None:
    axes, make = CONTRACTS["verify"].axes, makes("verify", None, "")
    own = parsed("V=1024..1025,gamma=4", axes).within(axes, {})
    assert own
    region = Region(Drawing((), axes, lambda _: make, (own,), 0), 1e-6, 0.999, 2.5)
    for _ in range(24):
        asked = region.next_case()
        assert asked
        case, number, calls = asked
        shape = region.visits[case].shape
        if shape["V"] % 2:
            assert region.left_out(Fault(Sample(case, number, calls), "declines", "V is odd", 0))
        else:
            region.visits[case].calls = calls
            region.answered.add(("", shape))
    assert len(region.declined[0]) == 1
    assert len(region.visits) == 23


def _asked_of(region: Region, key: tuple[str, int], p_value: float, count: int) -> list[Visit]:
    """The cases that a region asks for while counts of a kind look so odd."""
    kind, cases = (key, EXAMINED, 7), []
    for _ in range(count):
        region.pools.setdefault(kind, Pool(Tally(EXAMINED, 50), next(iter(region.visits.values()))))
        region.odd = {kind: p_value}
        asked = region.next_case()
        assert asked
        cases.append(region.visits[asked[0]])
    return cases


@pytest.mark.statistical
def test_more_is_drawn_of_what_looks_odd_when_added_up_and_a_range_rests_on_the_others() -> None:
    """Every third case, and every second one where it looks very odd. A false alarm has a rate of 1e-6."""
    region = _region("V=8..64,gamma=1..8", "V=100,gamma=30")
    _called_on(region, 6, lambda size: 0.001)
    before, planned = region.evidence_of(0), sum(region.planned[0].values())
    cases = _asked_of(region, ("gamma", 5), 1e-3, 6) + _asked_of(region, ("gamma", 5), 1e-9, 6)
    suspected = [visit for visit in cases if visit.suspected]
    assert [sum(visit.suspected for visit in part) for part in (cases[:6], cases[6:])] == [2, 3]
    assert {visit.shape["gamma"] for visit in suspected} == {5}
    others = sum(visit.at == 0 for visit in cases if not visit.suspected)
    assert sum(region.planned[0].values()) - planned in (others * CALLS, others * CALLS - GLANCE)
    _call(region, (suspected[-1].index, 0, CALLS), verifier(), 0.001)
    assert region.evidence_of(0) == before
    tested = [region.pools[(name, 0), EXAMINED, 7].tally.test.n for name in ("range", "band")]
    assert tested == [before.outcomes, before.outcomes + CALLS]


@pytest.mark.exact
def test_own_shapes_have_their_half_of_the_time_also_while_others_look_odd() -> None:
    contract, make = CONTRACTS["verify"], makes("verify", None, "")
    own = parsed("V=7,gamma=1", contract.axes).within(contract.axes, {})
    assert own
    ranges = (own, *cells(contract.axes, {"V": 64, "gamma": 8}))
    region = Region(Drawing((), contract.axes, lambda _: make, ranges, 0), 1e-6, 0.999, 2.5)
    for _ in range(160):
        (visit,) = _asked_of(region, ("gamma", 5), 1e-9, 1) if region.visits else _first(region)
        region.seconds[visit.at] += 1e-3 if visit.at else 1e-4
    assert region.seconds[0] > 0.4 * region.seconds.sum()


def _first(region: Region) -> list[Visit]:
    asked = region.next_case()
    assert asked
    return [region.visits[asked[0]]]


@pytest.mark.statistical
@pytest.mark.parametrize("wrong", ["float32", "float64"])
def test_a_range_rests_on_rows_of_its_own_precision(wrong: str) -> None:
    """Of one shape in two of them, code that is wrong for one; a false alarm has a rate of 1e-6."""
    contract = CONTRACTS["chain_uniforms"]
    own = [parsed(f"V=100,gamma=3{dtype}", contract.axes) for dtype in ("", ",dtype=float64")]
    ranges = tuple(found for one in own if (found := one.within(contract.axes, {})))
    make = {one.dtype: makes("chain_uniforms", None, one.dtype) for one in ranges}
    region = Region(Drawing((), contract.axes, lambda one: make[one.dtype], ranges, 0), 1e-6, 0.999, 2.5)

    def verify(p: Array, q: Array, drafts: Array, coins: Array, coin: float) -> list[int]:
        kept = 0 * coins if str(p.dtype) == wrong else coins  # all drafts
        return speculated(p, q, drafts, kept.__getitem__, lambda i: coin)

    called: set[str] = set()
    for asked in next(region.rounds(24 * CALLS)):
        if region.finding is None:
            _call(region, asked, verify, 0.001)
        called.add(ranges[region.visits[asked[0]].at].dtype)
    assert called == {"", "float64"}
    assert region.finding
    assert ranges[region.visits[region.finding.case].at].dtype == {"float32": "", "float64": "float64"}[wrong]
    assert region.evidence_of(0).shapes < 24 * 2


@pytest.mark.statistical
def test_what_is_wrong_at_one_place_of_a_sequence_is_told_of_that_place() -> None:
    """As in :data:`BY_DESIGN`, and its rate of false alarms."""
    wrong = implementation("drafts unverified", GATED["position = 23"], "decode")
    region = _searched(wrong, "V=300,length=40", 8 * CALLS, 0, "decode")
    assert region.finding
    case, counts = region.drawing[region.finding.case], region.finding.counts
    assert "at place 23 comes out with" in deviation(case, region.finding.events, counts)
    shares, law = case.events[region.finding.events].shares(counts)
    assert 0.02 < total_variation(shares, law) < 1
    assert [place for place in range(40) if counts.reshape(40, -1)[place].any()] == [23]


@pytest.mark.exact
def test_counts_that_are_odd_but_no_finding_are_told_and_nothing_passes() -> None:
    region = _region("V=50,gamma=3")
    asked = region.next_case()
    assert asked
    _call(region, asked, verifier(), 0.0)
    assert region.doubt == ""
    tally = region.visits[asked[0]].tallies[EXAMINED]
    tally.test.seen = np.where(tally.test.law.mass > 0.5, 34, 0)  # as odd as e^12, and no finding
    assert region.finding is None
    assert "V = 50, gamma = 3 are odd" in region.doubt
