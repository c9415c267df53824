"""Evidence from drawn shapes: which were looked at, what was counted in them, and down to which TV a deviation shows.

Each drawn case is called a hundred times or so, and the first of each range a few times before. Its counts have a
test of their own, for what is wrong in one shape only; and as the law in classes is the same in all shapes, counts
are added up over each cell of the map, over each size of an axis and all larger ones, over positions that are alike,
and over all, for what is wrong by a little in many. A case whose counts look odd is called more often, and where
added counts do, more cases are drawn that would add to them. All tests may be looked at whenever one likes, so that
none of this raises more false alarms. What is told of a range rests on the first calls of each of its other cases,
whose number no outcome decides; and a range counts as seen only if no shape of it that was drawn had to be left out.
Sequences of one call count as one there: what is wrong may be so in all of them.
"""

from __future__ import annotations

from bisect import bisect, insort
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from math import ceil, inf, log, log2
from statistics import median
from typing import NamedTuple

import numpy as np

from simlab.arrays import Array
from simlab.certify.certificate import RangeEvidence
from simlab.certify.engine.evidence import Finding
from simlab.certify.engine.tallies import Pool, Tally, Visit
from simlab.certify.engine.tasks import Counts, Fault
from simlab.certify.shapes.drawing import PURPOSES, Drawing
from simlab.certify.shapes.events import EACH, EVENTS, EXAMINED, OF_KIND, law_of
from simlab.certify.shapes.positions import those_with
from simlab.certify.shapes.ranges import Ranges, Shape, numbers
from simlab.certify.shapes.rows import LAWS, classes

GLANCE = 16  # calls of the first case of every range, before any has more
CALLS, LEAST_CALLS = 128, 64  # of a drawn case at first, and where each has the outcomes of many sequences
TURN, FEWEST_CALLS = 0.2, 32  # seconds that these take, where that is more calls
MOST_CALLS = 1 << 14  # of one that looks odd
SOUGHT_AGAIN = 1.25  # times as many cases after which one is looked for again that was not found
ODD, STILL_ODD = 0.02, 0.1  # p-values below which a case is called more often, and goes on being
DOUBTED = 1e-3  # the part of certificates of lossless code in which some counts are odd at the end
BETWEEN = 2  # other cases between two of shapes whose added counts look odd, where there are such
SUSPICIOUS = 1e-3  # such counts that are expected by chance below which there is one other case between them
SEARCHED = 64  # shapes of a range that are looked at for one of that kind
SEEN, ENOUGH = 0.3, 384  # TV that has to be seen in every cell of a region, and calls that do
DECLINED = 3  # shapes of a range that are declined before it is left alone
NEAREST = 5  # calls by which it is said how long others take
TRIES = 8  # shapes of a range that are looked at for one that is quick enough
FEW = 1 << 16  # numbers of the rows of a shape that is quick on every machine
LEAST_NUMBERS = 1 << 12  # below which time does not depend on how many there are
WIDENING = 1 / 3  # of the time of drawn cases, for ranges that a region would have next
COST = 0.75  # the power of the time of a call by which its range is called less often
QUICK = 1e-4  # seconds of a call below which it does not matter how many there are
SIZES = 832  # sizes of axes, kinds of cases, positions and distances of two whose counts are added up, at most
EARLY = 1 << 13  # tests of added counts that have half of their level: in a minute there are seldom half as many
NEAR_POWERS = "V beside a power of two"
NUMBERS = (12, 16, 18, 20, 22)  # powers of two beyond which the numbers of shapes are added up
SLOW = "a call would take too long"
MANY = f"with a number of calls, shapes of more than {FEW:,} numbers of p are not drawn"

Key = tuple[str, int]
WHOLE = "all", 0  # what all counts are added to
# purposes of cases by what their counts are added to: some positions, or anything, of rows of some kind
BY_KEY = {(one.positions.key if one.positions else WHOLE, one.kind): n for n, one in enumerate(PURPOSES)}
Asked = tuple[str, Shape]  # a dtype, and a shape


class Alike(NamedTuple):
    """What cases have in common of which more are drawn."""

    key: Key  # what their counts are added to
    kind: str  # how q differs from p, if that matters
    classes: int  # how many their tokens have
    dtype: str  # of their rows: that of the oddest of them


class Region:
    """Drawn cases, and what they are evidence of.

    Parameters
    ----------
    drawing
        The cases; those of its ranges that have a name are the user's own, the others cells of maps.
    level
        Bound on the probability of a false alarm.
    confidence
        With which all bounds hold.
    patience
        Seconds that a call may take: shapes that may take longer are left out.
    """

    def __init__(self, drawing: Drawing, level: float, confidence: float, patience: float) -> None:
        self.drawing, self.level, self.confidence, self.patience = drawing, level, confidence, patience
        count = len(drawing.ranges)
        self.own = [at for at, one in enumerate(drawing.ranges) if one.name]
        self.visits: dict[int, Visit] = {}
        self.pools: dict[tuple[Key, str, int], Pool] = {}
        self.kinds = Counter[str]()  # how many pools there are of each
        self.turns, self.later = np.zeros(count, int), np.zeros(count, int)
        self.seconds, self.calls = np.zeros(count), np.zeros(count, int)  # of the cases that were drawn from each
        self.between = 0  # cases since one that was drawn since counts look odd
        self.widening = 0.0  # seconds of those that were drawn since a region would have their range next
        self.anywhere = np.random.default_rng(drawing.seed).permutation(count)
        self.planned = [dict.fromkeys(LAWS, 0) for _ in range(count)]  # calls, by the number of classes
        self.most = np.full(count, inf)  # numbers of the rows of a shape that is called
        self.skipped: list[dict[int, Shape]] = [{} for _ in range(count)]  # drawn and not called, by number of the case
        self.slow = np.zeros(count, bool)  # of none of the last few that were drawn a call is quick enough
        self.declined: list[list[str]] = [[] for _ in range(count)]
        self.refused, self.undrawn = set[Asked](), dict[Alike, int]()  # what was not found among so many cases
        self.waiting: list[Visit] = []  # they look odd
        self.times: list[tuple[int, float]] = []  # numbers of the rows of a call, and its seconds, in rising order
        self.finding: Finding | None = None

    # Which case is called next ---------------------------------------------------------------------------------

    def next_case(self) -> tuple[int, int, int] | None:
        """The number of a case, of its batch, and calls: an odd one again, or a new one where least has been seen.

        A few calls of every range come first, wherever it is: what is wrong in many shapes, or by much, shows soon.
        Then every third case is of shapes whose added counts look odd, if any do, and every second one where they look
        very odd; not while own shapes have had less than their half. A part of the time is for the range that a
        region would have next, so that slow code has one, too, and the rest for those called least.
        """
        again = self._again()
        if again:
            return again
        open_ones = [at for at in range(len(self.slow)) if self._open(at)]
        mine = [at for at in open_ones if at in self.own]
        others = [at for at in open_ones if at not in self.own]
        first = mine and (not others or self.seconds[self.own].sum() <= self.seconds.sum() / 2)
        unseen = {*self.unseen}.difference(self.own)
        due = self.between >= (1 if self.suspicious else BETWEEN) and not (unseen or (first and others))
        suspected = self._suspected() if due else None
        if suspected:
            self.between = 0
            return suspected
        self.between += 1
        next_one = first or (self.widening <= WIDENING * self.seconds.sum() and not unseen)
        for at in sorted(mine if first else others, key=self._turn if next_one else self._least):
            before, visit = sum(self.planned[at].values()), self._new(at)
            self.slow[at] = visit is None
            if visit:
                visit.widens = next_one
                calls = self._enough(visit.shape)
                return self._asked(visit, GLANCE if at in unseen else calls - GLANCE * (before == GLANCE))
        return None

    @property
    def unseen(self) -> list[int]:
        """The ranges of which no case was called yet, as far as any may be."""
        return [at for at, planned in enumerate(self.planned) if not any(planned.values()) and self._open(at)]

    def _open(self, at: int) -> bool:
        """Whether more of a range is called: not if the code declines it, or as long as it seems too slow."""
        quick = not self.slow[at] or not all(self._hindrance(at, shape) for _, shape in self._late(at))
        return quick and len(self.declined[at]) < DECLINED

    def _turn(self, at: int) -> tuple[int, float]:
        """Ranges of which too little was seen come first, one after the other; then those that have cost least."""
        planned = min(self.planned[at][count] for count in _classes(self.drawing.ranges[at]))
        return (0, at) if planned < ENOUGH else (1, self._cost(at, planned))

    def _least(self, at: int) -> tuple[float, int]:
        """Ranges that have cost least come first, wherever they are: what is wrong in many shapes shows soon."""
        return self._cost(at, sum(self.planned[at].values())), int(self.anywhere[at])

    def _quickest(self, at: int) -> tuple[float, int]:
        """The same, where cases that are drawn since counts look odd count as well."""
        return self._cost(at, int(self.calls[at])), int(self.anywhere[at])

    def _cost(self, at: int, planned: int) -> float:
        """Calls of a range, times a power of the time of one: quick ones are called more often, not for as long."""
        return planned * max(QUICK, float(self.seconds[at]) / max(1, int(self.calls[at]))) ** COST

    def rounds(self, calls: int) -> Iterator[list[tuple[int, int, int]]]:
        """``calls`` of every range that has few numbers, or is the user's; then of odd cases, as long as they are odd.

        What came of a round has to be taken in before the next is asked for: the same ones on every machine.
        """
        first = []
        self.most[[at for at in range(len(self.most)) if at not in self.own]] = FEW
        for at in range(len(self.slow)):
            missing = ceil(calls / CALLS)
            while missing and (visit := self._new(at)):
                first.append(self._asked(visit, min(calls, CALLS)))
                missing -= EXAMINED in {events.name for events in self.drawing[visit.index].events}
        yield first
        while again := [asked for asked in iter(self._again, None) if asked]:
            yield again

    def _again(self) -> tuple[int, int, int] | None:
        """More calls of a case that looks odd."""
        while self.waiting:
            visit = self.waiting.pop(0)
            if visit.calls < MOST_CALLS:
                return self._asked(visit, min(3 * visit.calls, MOST_CALLS - visit.calls))
        return None

    def _suspected(self) -> tuple[int, int, int] | None:
        """A new case that adds to the counts that look oddest, if any look odd."""
        for _, what in sorted((odds, what) for what, odds in self._odds() if odds < 1):
            visit = self._new_of(what)
            if visit:
                return self._asked(visit, self._enough(visit.shape))
            self.undrawn[what] = len(self.visits)
        return None

    def _odds(self) -> Iterator[tuple[Alike, float]]:
        """Of added counts that look odd: what is alike in them, and about how many of their kind would by chance.

        Of those alone of which more can be drawn.
        """
        odd = [(kind, pool) for kind, pool in self.pools.items() if pool.together < ODD]
        if not odd:
            return
        names = (axis.name for axis in self.drawing.axes)
        drawable = {"band", "tiles", NEAR_POWERS, "numbers", *(key[0] for key, _ in BY_KEY if key != WHOLE)}
        drawable.update(*((name, f"{name} odd", f"{name} from") for name in names))
        for (key, name, count), pool in odd:
            what = Alike(key, OF_KIND.get(name, ""), count, self.drawing.ranges[pool.visit.at].dtype)
            tried = SOUGHT_AGAIN * self.undrawn.get(what, 0) > len(self.visits)
            can_be = key[0] in drawable or (key == WHOLE and what.kind)
            if can_be and not tried:
                yield what, pool.together * self.kinds[key[0]]

    @property
    def suspicious(self) -> bool:
        """Whether some added counts look so odd that more has to be seen of them before all else."""
        return any(odds < SUSPICIOUS for _, odds in self._odds())

    def _new_of(self, what: Alike) -> Visit | None:
        """A case whose counts are added to others; ``None`` where a few draws of each range have none."""
        key, kind, count, dtype = what
        name, value = key
        purpose = BY_KEY.get((key, kind), BY_KEY[WHOLE, kind])
        where = PURPOSES[purpose]
        every = [value] if name == "band" else sorted(filter(self._open, range(len(self.slow))), key=self._quickest)
        for at in every:
            if self.drawing.ranges[at].dtype != dtype or count not in _classes(self.drawing.ranges[at]):
                continue
            for _ in range(SEARCHED):
                index = self.drawing.number(at, int(self.later[at]), purpose)
                shape = self.drawing.shape(index)
                self.later[at] += 1
                alike = name in ("band", "all") or bool(where.positions) or key in self._sizes(shape)
                fits = alike and classes(shape["V"]) == count and shape.last >= where.start + bool(kind)
                if fits and self._at(at, shape) not in self.refused and not self._hindrance(at, shape):
                    visit = self._visited(at, index, shape)
                    visit.suspected = True
                    return visit
        return None

    def _new(self, at: int) -> Visit | None:
        """Another case of a range, of a shape that was not called before if a few draws have one.

        ``None`` where none of them is quick enough. One that seemed slow is called after all where larger ones have
        turned out to be quick.
        """
        called = {self._at(one.at, one.shape) for one in self.visits.values() if one.calls and not one.suspected}
        answered = declined = None
        for index, shape in chain(self._late(at), (self._draw(at) for _ in range(TRIES))):
            late = index in self.skipped[at]
            if self._hindrance(at, shape):
                if answered and not late:  # it is the next one to be drawn
                    self.turns[at] -= 1
                    break
                self.skipped[at][index] = shape
            elif self._at(at, shape) in called:
                answered = answered or (index, shape)
            elif self._at(at, shape) in self.refused:
                declined = declined or (index, shape)
            else:
                return self._visited(at, index, shape)
        chosen = answered or declined
        return self._visited(at, *chosen) if chosen else None

    def _visited(self, at: int, index: int, shape: Shape) -> Visit:
        """The case of that number, which will be called."""
        self.skipped[at].pop(index, None)
        return self.visits.setdefault(index, Visit(index, at, shape, len(self.visits) + 1))

    def _draw(self, at: int) -> tuple[int, Shape]:
        """The number and the shape of the next case of a range."""
        index = self.drawing.number(at, int(self.turns[at]))
        self.turns[at] += 1
        return index, self.drawing.shape(index)

    def _late(self, at: int) -> list[tuple[int, Shape]]:
        """The last few cases of a range that were drawn and not called."""
        return list(self.skipped[at].items())[-TRIES:]

    def _hindrance(self, at: int, shape: Shape) -> str:
        """Why a shape of a range is not called, in words; empty where it can be."""
        if self._numbers(shape) > self.most[at]:
            return MANY
        return SLOW if self._seconds(shape) > self.patience else ""

    def _numbers(self, shape: Shape) -> int:
        return max(LEAST_NUMBERS, numbers(self.drawing.axes, shape))

    def _seconds(self, shape: Shape) -> float:
        """About how long a call takes, by the median of the largest that were no larger; 0 where there were none."""
        count = self._numbers(shape)
        nearest = self.times[: bisect(self.times, (count, inf))][-NEAREST:]
        return median(seconds * count / one for one, seconds in nearest) if nearest else 0.0

    def _enough(self, shape: Shape) -> int:
        """Calls of a new case: fewer where each has the outcomes of many sequences, or takes long."""
        quick = int(TURN / self._seconds(shape)) if self._seconds(shape) else CALLS
        return max(FEWEST_CALLS, min(quick, max(LEAST_CALLS, CALLS // shape.batch)))

    def _asked(self, visit: Visit, calls: int) -> tuple[int, int, int]:
        number, visit.batches = visit.batches, visit.batches + 1
        self._plan(visit, number, calls)
        return visit.index, number, calls

    def _plan(self, visit: Visit, number: int, calls: int) -> None:
        """More calls are planned of a case that is not drawn since counts look odd, or fewer."""
        for at, one in enumerate(() if number or visit.suspected else self.drawing.ranges):
            self.planned[at][classes(visit.shape["V"])] += calls if self._of(visit, one) else 0

    # What comes of it ------------------------------------------------------------------------------------------

    def add(self, found: Counts) -> None:
        """Take in the counts of a batch."""
        visit = self.visits[found.task.case]
        visit.calls += found.calls
        of_those = found.calls if EXAMINED in found.names else 0  # calls that are evidence of a range
        self._plan(visit, found.task.number, of_those - found.task.calls)
        self.seconds[visit.at] += found.seconds
        self.widening += found.seconds * visit.widens
        self.calls[visit.at] += found.calls
        insort(self.times, (self._numbers(visit.shape), found.seconds / max(1, found.calls)))
        again = found.task.number > 0
        left = {"band", "range"} if again else {"range"} if visit.suspected else set()
        keys, level = [key for key in self._keys(visit, found.kinds) if key[0] not in left], self.pooled
        for name, seen, distance, placed in zip(found.names, found.counts, found.distances, found.placed, strict=True):
            if not seen.any():
                continue
            odd = self._count(visit, name, seen)
            for key in (*keys, *_of_distance(distance)):
                if key[0] != "range":
                    self._add_up(key, visit, name, seen, odd, level)
                elif name == EXAMINED:
                    pool = self._add_up(key, visit, name, seen, odd, level)
                    pool.means, pool.calls = pool.means + seen * (found.calls / seen.sum()), pool.calls + found.calls
            for place, own in placed.items():
                for positions in those_with(place) if own.any() else ():
                    self._add_up(positions.key, visit, name, own, odd, level)
        if visit.odd < (ODD if visit.batches == 1 else STILL_ODD):
            self.waiting.append(visit)

    def left_out(self, fault: Fault) -> bool:
        """Leave out a shape that the code under test says it does not take; not one that it has answered before."""
        index = fault.task.case
        visit, shapes = self.visits[index], self.drawing.shapes(index)
        if fault.call >= len(shapes) or shapes[fault.call] in shapes[: fault.call]:
            return False
        shape = shapes[fault.call]
        asked = self._at(visit.at, shape)
        if any(self._at(one.at, one.shape) == asked for one in self.visits.values() if one.calls):
            return False
        self.visits.pop(index)
        if asked not in self.refused:  # it may come again, in turn with others
            self.declined[visit.at].append(f"{shape}: {fault.message}")
            self.refused.add(asked)
        return True

    def _count(self, visit: Visit, name: str, seen: Array) -> float:
        """Take in counts of one kind of events of a case; the p-value of all of them."""
        size = visit.shape["V"]
        tally = visit.tallies.setdefault(name, Tally(name, size, seen.size // len(law_of(name, classes(size)))))
        tally.add(seen)
        doublings = log2(visit.rank) + 1
        self._raise(visit, name, tally, self.level / 2 / len(EVENTS) / (visit.rank * doublings * (doublings + 1)))
        return tally.p_value

    def _add_up(self, key: Key, visit: Visit, name: str, seen: Array, odd: float, level: float) -> Pool:
        """Add counts of a case, whose own p-value is ``odd``, to those alike; ``level`` is that of new ones."""
        size = visit.shape["V"]
        kind = key, name, classes(size)
        if kind not in self.pools:
            self.pools[kind] = Pool(Tally(name, size), visit, level)
            self.kinds[key[0]] += 1
            assert len(self.pools) <= self.most_pools, "each has its part of the false alarms"
        pool = self.pools[kind]
        if odd < pool.odd:
            pool.visit, pool.odd = visit, odd
        pool.tally.add(seen)
        pool.together = pool.tally.p_value
        self._raise(pool.visit, name, pool.tally, pool.level)
        return pool

    def _raise(self, visit: Visit, name: str, tally: Tally, level: float) -> None:
        if self.finding is None and tally.most >= -log(level) <= tally.log_e:
            told = self._with_place(visit, tally) if name == EACH else visit
            kinds = [events.name for events in self.drawing[told.index].events]  # not all cases have the same ones
            added, counts = tally is not visit.tallies.get(name), tally.told_of(told.tallies[name])
            self.finding = Finding(told.index, kinds.index(name), tally.log_e, counts, added)

    def _with_place(self, visit: Visit, tally: Tally) -> Visit:
        """A case that has the oddest place of added counts: this one, or the oddest that does."""
        having = [
            one
            for one in self.visits.values()
            if EACH in one.tallies
            and one.tallies[EACH].counts.shape[1] == tally.counts.shape[1]
            and one.tallies[EACH].counts[tally.place : tally.place + 1].any()
        ]
        return min(having, key=lambda one: (one is not visit, one.odd))

    @property
    def pooled(self) -> float:
        """The level of the next tests of added counts: half of that of all is for the early ones.

        It is fixed before the counts of a case are taken in, of which far fewer than ``EARLY / 2`` tests begin.
        """
        return self.level / 4 / (EARLY if len(self.pools) < EARLY // 2 else self.most_pools)

    @property
    def most_pools(self) -> int:
        """How many tests of added counts there are at most."""
        return len(EVENTS) * len(LAWS) * (2 * len(self.slow) + SIZES)

    def _at(self, at: int, shape: Shape) -> Asked:
        """A shape of a range, with the dtype of its rows."""
        return self.drawing.ranges[at].dtype, shape

    def _of(self, visit: Visit, one: Ranges) -> bool:
        """Whether a case is one of a range."""
        return self.drawing.ranges[visit.at].dtype == one.dtype and visit.shape in one

    def _keys(self, visit: Visit, kinds: tuple[str, ...]) -> Iterator[Key]:
        """What the counts of a case are added to."""
        shape = visit.shape
        yield WHOLE
        yield from self._sizes(shape)
        for at, one in enumerate(self.drawing.ranges):
            if self._of(visit, one):
                yield "range", at
                yield "band", at
        for kind in kinds:
            yield f"kind {kind}", 0
            yield from ((f"{kind}, {axis.name}", axis.band(shape[axis.name])) for axis in self.drawing.axes)

    def _sizes(self, shape: Shape) -> Iterator[Key]:
        """Those of them that sizes are enough for: each size, and all from some least one on."""
        size, count = shape["V"], self._numbers(shape)
        yield "tiles", size % 64
        yield from (("V", size) for axis in self.drawing.axes if size in axis.usual)
        yield from ((NEAR_POWERS, off) for off in (-1, 0, 1) if (size - off) & (size - off - 1) == 0)
        yield from (("numbers", power) for power in NUMBERS if count > 1 << power)
        yield from ((name, min(size, 128)) for name, size in shape.sizes if name != "V")
        for axis in self.drawing.axes:
            yield f"{axis.name} odd", shape[axis.name] % 2
            yield from ((f"{axis.name} from", low) for low, _ in axis.bands[1:] if shape[axis.name] >= low)

    # What it is worth ------------------------------------------------------------------------------------------

    @property
    def doubt(self) -> str:
        """Where counts are so odd, though they are no finding, that by chance one certificate in many has such."""
        own = [(tally, visit) for visit in self.visits.values() for tally in visit.tallies.values()]
        every = own + [(pool.tally, pool.visit) for pool in self.pools.values()]
        least = log(max(1, len(every)) / DOUBTED)
        those = [(tally.log_e_now, visit) for tally, visit in every if tally.most >= least]
        log_e, visit = max(those, key=lambda one: one[0], default=(0.0, None))
        if visit is None or log_e < least:
            return ""
        odd = f"counts of shapes such as {visit.shape} are odd, as they are by chance in one certificate of 1,000"
        return f"{odd}: a larger budget, or another seed, would tell"

    def evidence_of(self, at: int) -> RangeEvidence:
        """What was seen of a range, of the token looked at; of shapes of two classes and of seven, if it has both."""
        hindrances = list(filter(None, (self._hindrance(at, shape) for shape in self.skipped[at].values())))
        one = self.drawing.ranges[at]
        pools = [self.pools.get((("range", at), EXAMINED, count)) for count in _classes(one)]
        each = 1 - (1 - self.confidence) / (len(self.slow) * len(LAWS))
        least = max(min(1.0, pool.detectable(pool.level)) if pool else 1.0 for pool in pools)
        return RangeEvidence(
            of={name: band for name, band in one.of.items() if one.name or name in one.given},
            name=one.name,
            dtype=one.dtype,
            source=one.source,
            shapes=sum(self._of(visit, one) for visit in self.visits.values() if visit.calls and not visit.suspected),
            outcomes=sum(pool.tally.test.n for pool in pools if pool),
            detectable=least,
            tv_at_most=max(pool.tv_upper(each) if pool else 1.0 for pool in pools),
            seen=least <= SEEN and not hindrances,
            why="; ".join(dict.fromkeys([*self.declined[at], *hindrances])),
            skipped=len(hindrances),
        )


def _of_distance(distance: int) -> Iterator[Key]:
    """What counts of two places are added to."""
    if distance:
        yield "apart", min(distance, 128)


def _classes(one: Ranges) -> list[int]:
    """How many classes the shapes of a range have: few tokens have fewer."""
    return sorted({classes(size) for size in one.of["V"]})
