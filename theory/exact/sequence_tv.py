"""Total variation between whole sequences of a lossy rule and of the target, from one-step laws.

Let every token of a sequence be a verified draft: it follows the rule's one-step law l given those before it, where the
target has p. With a bonus token after each block, which follows p, there would be fewer such tokens. Both laws of
sequences are products, so the likelihood ratio along a sequence that the rule emits is known:

    TV of the first n tokens = 1 - E min(1, R_n),    R_n = prod_{t <= n} p_t/l_t,

the mean being over the rule's own sequences. The numbers averaged lie between 0 and 1, so the mean has an interval of
guaranteed coverage without assumptions. Two upper bounds are cheaper: a coupling that is maximal at
every step fails with probability 1 - E prod_t min(1, p_t/l_t); and the sum of the TV of the steps. Lower bounds are
differences of the probabilities of an event; one that needs no knowledge of the rule is a low likelihood under the
target.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from simlab.arrays import total_variation
from simlab.processes import Process
from simlab.randomness import Purpose, Tape
from simlab.rules import Rule
from simlab.rules.compiled import compiled_step
from simlab.statistics import mean_interval, proportion_interval

Laws = Callable[[np.ndarray, np.ndarray], np.ndarray]  # from rows p, q [B, V] to the laws of the next tokens [B, V]


class EmittedSequences(NamedTuple):
    """Statistics of sequences that a rule emits, ``float64[B, N]`` each, up to and with each token."""

    log_ratio: np.ndarray  # log of R_n
    log_coupled: np.ndarray  # log of prod min(1, p/l)
    spent: np.ndarray  # the sum of the TV of the steps
    log_target: np.ndarray  # log of the target's probability


def laws_of(rule: Rule) -> Laws:
    """The one-step laws of ``rule``, which has a compiled form: from rows p and q ``float64[B, V]`` to the laws of the
    next tokens, ``float64[B, V]``.
    """
    return lambda p, q: np.stack([compiled_step(rule, *rows).law for rows in zip(p, q, strict=True)])


def follow(target: Process, draft: Process, laws: Laws, tape: Tape) -> EmittedSequences:
    """Draw one sequence for each replicate of ``tape`` from the one-step ``laws``.

    ``target``, ``draft``: processes of N tokens. ``laws``: from rows p and q ``[B, V]`` to the laws of the next tokens,
    such as :func:`laws_of` gives. ``tape``: random numbers, with B replicates. Returns statistics of the sequences,
    ``float64[B, N]`` each.
    """
    batch = len(tape.replicates)
    tokens = np.zeros((batch, target.length), np.int64)
    seen = []
    for position in range(target.length):
        start = np.full(batch, position)
        p, q = (process.forward(tokens, start, 1)[:, 0] for process in (target, draft))
        law = laws(p, q)
        token = tape.at(position).draw(law[:, None], start, Purpose.TARGET)
        tokens[:, position] = token[:, 0]
        under_p, under_law = (np.take_along_axis(rows, token, axis=1)[:, 0] for rows in (p, law))
        with np.errstate(divide="ignore"):  # what the target excludes has log 0
            likely = np.log(under_p)
        ratio = likely - np.log(under_law)
        seen.append((ratio, np.minimum(ratio, 0.0), total_variation(law, p), likely))
    return EmittedSequences(*np.cumsum(np.array(seen), axis=0).transpose(1, 2, 0))


class Distance(NamedTuple):
    """TV between the laws of sequences of n tokens, with its bounds: each holds with the confidence asked for."""

    least: float
    estimate: float
    most: float
    coupled: float  # a bound from above
    summed: float  # a weaker one, not cut at 1
    spent: float  # the estimate of what it bounds


def distance(followed: EmittedSequences, n: int, confidence: float) -> Distance:
    """TV between the laws of the first ``n`` tokens, 1 to N, with its bounds.

    ``followed``: sequences drawn from the rule's laws, by :func:`follow`. ``confidence``: with which each bound holds,
    between 0 and 1; ``coupled`` and ``summed`` are upper bounds that hold with the same.
    """
    values = -np.expm1(np.minimum(followed.log_ratio[:, n - 1], 0.0))
    least, most = mean_interval(values, confidence, 0, 1)
    coupled = -np.expm1(followed.log_coupled[:, n - 1])
    coupled_most = mean_interval(coupled, confidence, 0, 1)[1]
    spent = np.minimum(followed.spent[:, n - 1], n)  # which rounding may exceed
    summed = mean_interval(spent, confidence, 0, n)[1]
    return Distance(least, float(values.mean()), most, coupled_most, summed, float(spent.mean()))


def directed(honest: EmittedSequences, lossy: EmittedSequences, n: int, confidence: float) -> float:
    """A lower confidence bound, at least 0, for the TV of ``n`` tokens, 1 to N, from their likelihood under the target.

    ``honest``: sequences of the target itself. ``lossy``: sequences that the rule emits. ``confidence``: with which the
    bound holds, between 0 and 1.

    The event is a likelihood below the median of the first half of ``honest``; its frequency is counted in the second
    half and in all of ``lossy``. Two proportions share 1 - ``confidence`` equally.
    """
    pilot, rest = np.split(honest.log_target[:, n - 1], [len(honest.log_target) // 2])
    edge, each = np.median(pilot), (1 + confidence) / 2
    below = [proportion_interval(int((x < edge).sum()), len(x), each) for x in (rest, lossy.log_target[:, n - 1])]
    (low, high), (other_low, other_high) = below
    return max(0.0, other_low - high, low - other_high)
