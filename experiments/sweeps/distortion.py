"""Recorders of the distortion and acceptance of lossy rules, from the rows that were verified (:mod:`.replay`).

Nothing of this is there for a decoder that does not verify each draft by the rule and the rows of its calls: numbers
are NaN then, and lists empty. Nor is there a distortion or an acceptance for one that is lossy whatever the rule: its
drafts follow other rows than those that are declared.

``distortion``
    How far the law of a committed token is from the target's row p, both given the tokens before it and the rows of the
    call; means over every 17th position of the sequence, from the sixth on. A token that followed p without a
    draft, such as a bonus, counts as 0.

    ``distortion_tv``: TV. With one candidate a position it is exact: the law is the rule's for p and the declared q.
    With several it is an upper bound: TV of what the rule and what the lossless rule emit *for the candidates there
    were*, whose mean is at least the TV of the means. ``distortion_exact`` says which.
    ``distortion_w1``: the same in Wasserstein-1 under the L2 distances of the codebook, over every fourth of these
    positions, by most of the mass (:func:`theory.wasserstein.wasserstein1_nearly`); NaN without a codebook.
    ``acceptance``, ``acceptance_lossless``: the probability that a draft is accepted, by the rule and by the lossless
    one, over those of the positions that had one.

    After a lossy rule q is untrue for drafts that adaptive continuation has accepted, unless ``relabel`` declares the
    law; these numbers are for the q that was declared.
``group_gain``
    The acceptance of every draft that was verified (of several candidates the first), by the rule less by the lossless
    rule. ``gain_mean``: its mean; ``gain_negative``: how many are below 0; ``gain_histogram``: how many lie in each of
    40 bins of width 0.05 from -1 to 1. GSD, Fig. 7, shows this difference before it is cut at 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from experiments.sweeps.replay import VerifiedPosition, replayable, verified_positions
from experiments.sweeps.sample import Columns, Sample
from simlab.arrays import total_variation
from simlab.decoders import Decoder, SjdPd
from simlab.rules import Speculative, Step
from simlab.rules.compiled import compiled_step
from simlab.rules.compiled.dispatch import accept, compiled
from theory.candidates import given_candidates_law
from theory.wasserstein import wasserstein1_nearly

STRIDE, FIRST = 17, 5  # positions looked at; 17 and the length of a line have no common factor
W1_STRIDE = 4 * STRIDE
BINS = np.linspace(-1, 1, 41)


class _Point(NamedTuple):
    """The numbers of one position of the sequence."""

    tv: float
    w1: float  # NaN where it is not looked at
    accepted: float  # NaN where there was no draft
    lossless: float


def by_declared_rows(decoder: Decoder) -> bool:
    """Whether each draft is verified by the rule and the rows of its call, and follows the row declared for it."""
    return replayable(decoder) and decoder.lossless


def distortion(sample: Sample) -> Columns:
    """TV and Wasserstein-1 between the law of a committed token and p, and the acceptance."""
    count = len(sample.tape.replicates)
    exact = not isinstance(sample.decoder, SjdPd) or sample.decoder.candidates == 1
    points = [list(_points(sample, b, exact)) if by_declared_rows(sample.decoder) else [] for b in range(count)]
    return {
        "distortion_tv": _means([[point.tv for point in own] for own in points]),
        "distortion_w1": _means([[point.w1 for point in own] for own in points]),
        "distortion_exact": np.full(count, exact),
        "acceptance": _means([[point.accepted for point in own] for own in points]),
        "acceptance_lossless": _means([[point.lossless for point in own] for own in points]),
    }


def group_gain(sample: Sample) -> Columns:
    """By how much the rule raises the acceptance of each draft."""
    count = len(sample.tape.replicates)
    gains = [np.array(list(_gains(sample, b)) if replayable(sample.decoder) else []) for b in range(count)]
    return {
        "gain_mean": _means([own.tolist() for own in gains]),
        "gain_negative": np.array([int((own < 0).sum()) for own in gains]),
        "gain_histogram": [np.histogram(own, BINS)[0].tolist() if len(own) else [] for own in gains],
    }


def _points(sample: Sample, replicate: int, exact: bool) -> Iterator[_Point]:
    codebook = sample.pair.codebook
    for seen in verified_positions(sample, replicate):
        if seen.position % STRIDE != FIRST:
            continue
        wanted = codebook is not None and seen.position % W1_STRIDE == FIRST
        if seen.q is None:
            yield _Point(0.0, 0.0 if wanted else np.nan, np.nan, np.nan)
            continue
        own, lossless = _laws(sample, seen, exact)
        far = wasserstein1_nearly(own.law, lossless.law, codebook) if wanted and codebook is not None else np.nan
        yield _Point(float(total_variation(own.law, lossless.law)), far, own.acceptance, lossless.acceptance)


def _laws(sample: Sample, seen: VerifiedPosition, exact: bool) -> tuple[Step, Step]:
    """What the rule emits, and what it should."""
    p, q = seen.p, seen.q
    assert q is not None, "there are candidates"
    if exact:
        lossless = compiled_step(Speculative(), p, q)
        return compiled_step(sample.rule, p, q), lossless._replace(law=p.astype(np.float64))
    own, lossless = (given_candidates_law(rule, p, q, seen.candidates) for rule in (sample.rule, Speculative()))
    return own, lossless


def _gains(sample: Sample, replicate: int) -> Iterator[float]:
    rule, lossless = compiled(sample.rule), compiled(Speculative())
    for seen in verified_positions(sample, replicate):
        if seen.q is not None:
            p, q, x = np.ascontiguousarray(seen.p), np.ascontiguousarray(seen.q), seen.candidates[0]
            yield accept(rule, p, q, x) - accept(lossless, p, q, x)


def _means(values: list[list[float]]) -> np.ndarray:
    """The mean of each list's numbers; NaN where there are none."""
    numbers = [np.array([value for value in own if not np.isnan(value)]) for own in values]
    return np.array([own.mean() if len(own) else np.nan for own in numbers])
