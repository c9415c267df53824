r"""What an acceptance rate at draft length gamma says of a pair of models, whatever the models are.

Speculative decoding without loss commits tokens of the target's law, and a draft is accepted with a probability that
its prefix decides. So the mean of that probability over the positions of a sequence is a number of the two models:
gamma does not enter. A rate that is measured at one gamma bounds it from both sides, for two readings of "rate":

    of verified drafts, alpha: alpha / (1 + alpha / gamma) <= mean <= (alpha + alpha / gamma) / (1 + alpha / gamma)
    of all drafts, s:          gamma s / (1 + gamma s) <= mean <= (gamma + 1) s / (1 + gamma s)

Blocks whose tokens are replaced in place, each verified without the others, are in :func:`in_place_rates`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

from simlab.arrays import Number
from simlab.checks import check_at_least, check_number
from simlab.decoders import Decoder
from simlab.processes import TableProcess
from simlab.rules import Rule
from theory.exact import acceptance, merged_unfinished, transitions
from theory.published.ledger import Interval, Ledger, Row, grouped

EXACT = Fraction(0)
Bounds = Callable[[Any, int], tuple[Any, Any]]


def verified_bounds(alpha: Number, gamma: int) -> tuple[Number, Number]:
    """Bounds of the mean acceptance of a position, from the share ``alpha`` of verified drafts that are accepted."""
    return alpha / (1 + alpha / gamma), (alpha + alpha / gamma) / (1 + alpha / gamma)


def share_bounds(share: Number, gamma: int) -> tuple[Number, Number]:
    """Bounds of the mean acceptance of a position, from the ``share`` of all drafts that are accepted."""
    return gamma * share / (1 + gamma * share), (gamma + 1) * share / (1 + gamma * share)


def mean_between(rate: Interval, gamma: int, bounds: Bounds) -> Interval:
    """The mean acceptance of a position that the rates in an interval allow. Both bounds rise with the rate."""
    return Interval(bounds(rate.low, gamma)[0], bounds(rate.high, gamma)[1])


# Exact counts ------------------------------------------------------------------------------------------------------


class Counts(NamedTuple):
    """Mean counts over the first positions of a sequence."""

    positions: int
    blocks: Number  # that begin there
    verified: tuple[Number, ...]  # drafts, by position; where none is verified stands a token of the target
    accepted: tuple[Number, ...]  # of these
    mean: Number  # acceptance of a draft, over the positions, whether one is verified there or not

    @property
    def rate(self) -> Number:
        """The share of verified drafts that are accepted."""
        return sum(self.accepted) / sum(self.verified)


def counts(decoder: Decoder, gamma: int, target: TableProcess, draft: TableProcess, rule: Rule) -> Counts:
    """By enumeration, over all but the last ``gamma + 1`` positions: a block that begins before them is whole.

    ``decoder`` is one that cuts a block of ``gamma`` drafts at the first rejection.
    """
    end = target.length - gamma - 1
    check_at_least("the positions counted", end, 1)
    blocks: Number = Fraction(0)
    verified: list[Number] = [Fraction(0)] * target.length
    accepted = list(verified)
    steps = transitions(decoder, target, rule, draft)
    before = merged_unfinished(next(steps), target)
    for outcomes in steps:
        for states, paths in outcomes:
            for length, path in zip(states.length.tolist(), paths, strict=True):
                start = int(before.length[path.row])
                if start >= end:
                    continue
                blocks += path.weight
                for at in range(start, min(length, start + gamma)):
                    verified[at] += path.weight
                    accepted[at] += path.weight * (at < length - 1)
        if not any((states.length < target.length).any() for states, _ in outcomes):
            break
        before = merged_unfinished(outcomes, target)
    mean = sum(weight * acceptance(rule, p, q) for _, weight, p, q in _rows(target, draft, end)) / end
    return Counts(end, blocks, tuple(verified[:end]), tuple(accepted[:end]), mean)


def _rows(target: TableProcess, draft: TableProcess, end: int) -> Iterator[tuple[tuple[int, ...], Number, Any, Any]]:
    """Each prefix of fewer than ``end`` tokens, its probability under the target, and the rows of both after it."""
    waiting: list[tuple[tuple[int, ...], Number]] = [((), Fraction(1))]
    while waiting:
        prefix, weight = waiting.pop()
        p = target.row(prefix)
        yield prefix, weight, p, draft.row(prefix)
        if len(prefix) + 1 < end:
            waiting += [((*prefix, token), weight * mass) for token, mass in enumerate(p) if mass > 0]


def after_prefix(process: TableProcess, prefix: tuple[int, ...]) -> TableProcess:
    """``process`` behind ``prefix``: what is left to decode once these tokens are pre-filled."""
    return TableProcess(
        process.vocabulary, process.length - len(prefix), lambda rest: tuple(process.row(prefix + rest))
    )


def prefilled_counts(
    decoder: Decoder, gamma: int, target: TableProcess, draft: TableProcess, rule: Rule, prefill: int
) -> Counts:
    """:func:`counts` behind ``prefill`` tokens of the target; its positions are those that are drafted."""
    parts = []
    for prefix in product(range(target.vocabulary), repeat=prefill):
        weight: Number = Fraction(1)
        for at, token in enumerate(prefix):
            weight *= target.row(prefix[:at])[token]
        if weight > 0:
            behind = after_prefix(target, prefix), after_prefix(draft, prefix)
            parts.append((weight, counts(decoder, gamma, *behind, rule)))

    def over(name: str) -> Any:
        return sum((weight * getattr(part, name) for weight, part in parts), start=Fraction(0))

    def each(name: str) -> tuple[Number, ...]:
        rows = zip(*(getattr(part, name) for _, part in parts), strict=True)
        return tuple(sum(w * x for (w, _), x in zip(parts, row, strict=True)) for row in rows)

    return Counts(parts[0][1].positions, over("blocks"), each("verified"), each("accepted"), over("mean"))


# Blocks replaced in place ------------------------------------------------------------------------------------------


def in_place_rates(agree: Any, copy: Any, vocabulary: int, offsets: int) -> list[Any]:
    r"""Acceptance at each place of a block if the target sees the tokens before the block alone. Lossless rule.

    A token of the target is the one before it with probability ``copy``, else uniform over ``vocabulary`` tokens. The
    draft does the same from its own last token, and with probability 1 - ``agree`` marks it, as the target never does.
    So at place j (from 0) the last token that the target sees has come through with probability copy^(j + 1) in the
    target's row, and with probability copy^j in what the draft stands on. Exact for fractions.
    """
    for name, value in (("agree", agree), ("copy", copy)):
        check_number(name, value, most=1)
    found = []
    for j in range(offsets):
        seen, new = copy ** (j + 1), (1 - copy ** (j + 1)) / vocabulary  # in the target's row
        again, other = agree * (copy + (1 - copy) / vocabulary), agree * (1 - copy) / vocabulary  # in the draft's
        rest = (vocabulary - 2) * min(new, other)
        kept = min(seen + new, again) + min(new, other) + rest
        lost = min(seen + new, other) + min(new, again) + rest
        stays = copy**j + (1 - copy**j) / vocabulary
        found.append(stays * kept + (1 - stays) * lost)
    return found


def mean_of_first(values: Sequence[Any], gammas: Sequence[int]) -> list[Any]:
    """The mean of the first gamma values, for each gamma."""
    return [sum(values[:gamma]) / gamma for gamma in gammas]


# Printed columns ---------------------------------------------------------------------------------------------------


class Column(NamedTuple):
    """Rates that are printed for one pair of models and one setting, at several draft lengths."""

    name: str
    rows: tuple[Row, ...]  # from the shortest drafts on

    @property
    def gammas(self) -> tuple[int, ...]:
        return tuple(int(row.params["gamma"]) for row in self.rows)

    def means(self, bounds: Bounds) -> list[Interval]:
        """What each rate says of the mean acceptance of a position."""
        return [mean_between(row.interval, gamma, bounds) for row, gamma in zip(self.rows, self.gammas, strict=True)]

    def apart(self, bounds: Bounds, off: Fraction = EXACT) -> Fraction:
        """How far apart two of these intervals are, or 0; each rate may be ``off`` by more than rounding."""
        wider = [
            mean_between(Interval(max(rate.low - off, EXACT), rate.high + off), gamma, bounds)
            for rate, gamma in zip((row.interval for row in self.rows), self.gammas, strict=True)
        ]
        apart = max(each.low for each in wider) - min(each.high for each in wider)
        return max(apart, EXACT)

    def least_off(self, bounds: Bounds) -> float:
        """By how much more than rounding some rate has to be off for one mean to allow all; error below 1e-6."""
        low, high = 0.0, 1.0
        while high - low > 1e-6:
            middle = (low + high) / 2
            low, high = (middle, high) if self.apart(bounds, Fraction(middle)) > 0 else (low, middle)
        return high if low > 0 else 0.0


SETTINGS = {  # in words
    "resolution": "resolution {}",
    "align": "noise shared: {}",
    "prefill_percent": "{} % pre-filled",
}


def columns(ledger: Ledger, *tables: str) -> list[Column]:
    """CSpD's acceptance rates by draft length, of these tables."""

    def name(row: Row) -> str:
        setting = "".join(f", {told.format(row.params[n])}" for n, told in SETTINGS.items() if n in row.params)
        return f"Table {row.table}, {row.target}{setting}"

    found = grouped((row for row in ledger.select(paper="cspd", metric="alpha") if row.table in tables), name)
    return [Column(name, tuple(sorted(rows, key=lambda row: int(row.params["gamma"])))) for name, rows in found.items()]
