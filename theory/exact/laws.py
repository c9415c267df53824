"""Exact laws of rules and decoders, by enumeration.

``step_law`` and ``acceptance``
    the law of the token a rule emits for one target row and one draft row, and its acceptance rate.
``block_law`` and ``block_acceptance``
    the joint law of the tokens that one step of a decoder emits, and how many drafts it accepts in the mean.
``sequence_law``
    the joint law of finished sequences and the law of the number of steps.

Rational tables give rational answers. Nothing here samples.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from simlab.arrays import Array, Number, is_exact, number
from simlab.checks import as_pair
from simlab.decoders import Decoder, Info
from simlab.decoders.run import check_given, check_rule
from simlab.processes import Process
from simlab.randomness import Enumerator, Path, explore
from simlab.rules import Rule, Step
from theory.distances import aligned, tv

Law = dict[tuple[int, ...], Number]
Outcomes = tuple[Any, list[Path]]  # a batch of states, and the path that led to each of its rows

__all__ = [
    "Law",
    "acceptance",
    "block_acceptance",
    "block_law",
    "complete",
    "deviation",
    "mean",
    "merged_unfinished",
    "sequence_law",
    "step_law",
    "target_law",
    "transitions",
]


def acceptance(rule: Rule, p: Any, q: Any, drawn: Any = None) -> Any:
    """The probability that a draft is accepted, ``sum_x r(x) a(x)``, with r the row it is drawn from.

    Parameters
    ----------
    rule
        The verification rule, with acceptance probabilities a.
    p, q
        Target row and the row declared for the draft ``[..., V]``, floats or ``Fraction``.
    drawn
        r, where the draft is drawn from another row than q; None for q.

    Returns
    -------
    Any
        ``[...]``, a number for single rows; exact for exact rows.

    Raises
    ------
    ValueError
        If p or q is no pmf, or their shapes differ, and for the name of a rule in the place of a rule.
    """
    p, q, step = _step(rule, p, q, drawn)
    accepted = step.acceptance
    return accepted if p.ndim > 1 else _scalar(accepted)


def step_law(rule: Rule, p: Any, q: Any, drawn: Any = None) -> Array:
    """The law of the token emitted: ``law(y) = r(y) a(y) + sum_x r(x) (1 - a(x)) R_x(y)``, with residuals R_x.

    Here r is the row that the draft is drawn from, q unless ``drawn`` says otherwise. Where the law for r = q is p, it
    is within TV(r, q) of p for every r: what a rule does to a draft is one channel, and a channel brings no two laws
    further apart.

    Parameters
    ----------
    rule
        The verification rule.
    p, q
        Target row and the row declared for the draft ``[..., V]``, floats or ``Fraction``.
    drawn
        r, where the draft is drawn from another row than q; None for q.

    Returns
    -------
    Array
        ``[..., V]``, exact for exact rows.

    Raises
    ------
    ValueError
        If p or q is no pmf, or their shapes differ, and for the name of a rule in the place of a rule.
    """
    p, _, step = _step(rule, p, q, drawn)
    law = step.law
    return np.vectorize(Fraction, otypes=[object])(law) if is_exact(p) else law


def _step(rule: Rule, p: Any, q: Any, drawn: Any) -> tuple[Array, Array, Step]:
    check_rule(rule)
    p, q = as_pair(p, q)
    if drawn is None:
        return p, q, rule.step_rows(p, q)
    _, drawn = as_pair(p, drawn, ("p", "drawn"))
    return p, q, rule.drawn_rows(p, q, drawn)


def _scalar(value: Any) -> Number:
    return value if isinstance(value, Fraction) else float(value)


# Sequences ---------------------------------------------------------------------------------------------------


def sequence_law(
    decoder: Decoder, process: Process, rule: Rule, draft: Process | None = None
) -> tuple[Law, dict[int, Number]]:
    """The joint law of finished sequences, and the law of the number of steps they take.

    Parameters
    ----------
    decoder
        Whose sequences are enumerated.
    process
        The target.
    rule
        The verification rule.
    draft
        The draft process, for a decoder that needs one.

    Returns
    -------
    law
        Each finished sequence, a tuple of tokens, and its probability, in order of tokens.
    steps
        Each number of steps, and its probability.

    Raises
    ------
    ValueError
        If the decoder needs a draft process and has none, or the other way round.
    ArithmeticError
        If the decoder has not finished after 4 N + 4 steps for N tokens.

    Notes
    -----
    States that are equal in every respect (prefix, drafts and the q declared for each) are merged between steps.
    """
    check_given(decoder, process, rule, draft)
    law: defaultdict[tuple[int, ...], Number] = defaultdict(_zero(process))
    steps: defaultdict[int, Number] = defaultdict(_zero(process))
    for taken, outcomes in enumerate(transitions(decoder, process, rule, draft)):
        for states, paths in outcomes:
            tokens = process.closed(states.tokens[:, : process.length]).tolist()
            for finished, sequence, path in zip(_over(states, process), tokens, paths, strict=True):
                if finished:
                    law[tuple(sequence)] += path.weight
                    steps[taken] += path.weight
    return dict(sorted(law.items())), dict(steps)


def deviation(decoder: Decoder, process: Process, rule: Rule, draft: Process | None = None) -> Number:
    """TV between the law of finished sequences and the target's.

    Parameters
    ----------
    decoder, process, rule, draft
        As for :func:`sequence_law`.

    Returns
    -------
    Number
        0 exactly for a lossless decoder on rational tables.

    Raises
    ------
    ValueError, ArithmeticError
        As :func:`sequence_law` does.
    """
    law, _ = sequence_law(decoder, process, rule, draft)
    return tv(*aligned(law, target_law(process)))


def mean(law: Mapping[int, Number]) -> Number:
    """The mean of a law of numbers, such as the number of steps.

    Parameters
    ----------
    law
        Each number, and its probability.

    Returns
    -------
    Number
        A ``Fraction`` where the probabilities are.
    """
    return sum(value * weight for value, weight in law.items())


def transitions(
    decoder: Decoder, process: Process, rule: Rule, draft: Process | None = None
) -> Iterator[list[Outcomes]]:
    """All outcomes of the start, then of each step.

    Parameters
    ----------
    decoder, process, rule, draft
        As for :func:`sequence_law`.

    Yields
    ------
    list of (states, paths)
        Batches of states, with the path that led to each of their rows: its ``row`` numbers the merged states before
        the step, its ``weight`` is the probability of the whole history.

    Raises
    ------
    ValueError, ArithmeticError
        As :func:`sequence_law` does.
    """
    check_given(decoder, process, rule, draft)
    outcomes = list(_at_start(decoder, process))
    yield outcomes
    for _ in range(4 * process.length + 4):
        states, weights = _merged(_unfinished(batch, process) for batch in outcomes)
        if not weights:
            return
        outcomes = list(_after_step(decoder, process, rule, draft, states, weights))
        yield outcomes
    raise ArithmeticError(
        f"{type(decoder).__name__} has not finished sequences of {process.length} tokens after "
        f"{4 * process.length + 4} steps; expected a token a step"
    )


def merged_unfinished(outcomes: Iterable[Outcomes], process: Process) -> Any:
    """The distinct unfinished states of ``outcomes``, in the order in which the next step's paths number them.

    Parameters
    ----------
    outcomes
        One item of :func:`transitions`.
    process
        The target, which says whether a sequence is over.

    Returns
    -------
    Any
        One batch of the decoder's states.
    """
    return _merged(_unfinished(batch, process) for batch in outcomes)[0]


def block_law(decoder: Decoder, process: Process, rule: Rule, draft: Process | None = None) -> Law:
    """The joint law of the tokens that the first step emits: tuples of one or more, cut at the end.

    Parameters
    ----------
    decoder, process, rule, draft
        As for :func:`sequence_law`.

    Returns
    -------
    Law
        Each tuple of tokens, and its probability, in order of tokens.

    Raises
    ------
    ValueError
        If the decoder needs a draft process and has none, or the other way round.
    """
    check_given(decoder, process, rule, draft)
    law: defaultdict[tuple[int, ...], Number] = defaultdict(_zero(process))
    states, weights = _merged(_at_start(decoder, process))
    states, weights = _merged(_after_step(decoder, process, rule, draft, states, weights))
    for sequence, length, weight in zip(states.tokens.tolist(), states.length.tolist(), weights, strict=True):
        law[tuple(sequence[:length])] += weight
    return dict(sorted(law.items()))


def block_acceptance(decoder: Decoder, process: Process, rule: Rule, draft: Process | None = None) -> Number:
    """The mean number of drafts that the first step accepts; those that the end of the sequence cuts do not count.

    Parameters
    ----------
    decoder, process, rule, draft
        As for :func:`sequence_law`.

    Returns
    -------
    Number
        A ``Fraction`` where the process is exact.

    Raises
    ------
    ValueError
        If the decoder needs a draft process and has none, or the other way round.
    """
    check_given(decoder, process, rule, draft)
    states, weights = _merged(_at_start(decoder, process))
    counts: defaultdict[int, Number] = defaultdict(_zero(process))
    for (_, info), paths in _steps(decoder, process, rule, draft, states, weights):
        for count, path in zip(info.accepted.tolist(), paths, strict=True):
            counts[count] += path.weight
    return mean(counts)


def complete(law: Law, process: Process, length: int) -> Law:
    """``law`` of tuples of at most ``length`` tokens, each continued to ``length`` tokens by the process.

    Parameters
    ----------
    law
        Each tuple of tokens, and its probability, as :func:`block_law` gives it.
    process
        What the tokens that are missing follow.
    length
        Tokens of a completed tuple.

    Returns
    -------
    Law
        Each completed tuple, and its probability; that of the process itself if ``law`` is lossless.
    """
    full: defaultdict[tuple[int, ...], Number] = defaultdict(_zero(process))
    waiting = list(law.items())
    while waiting:
        tokens, weight = waiting.pop()
        if len(tokens) >= length:
            full[tokens] += weight
            continue
        row = process.forward(np.array([tokens], dtype=np.int64).reshape(1, -1), np.array([len(tokens)]), 1)[0, 0]
        waiting += [((*tokens, token), weight * mass) for token, mass in enumerate(row) if mass > 0]
    return dict(sorted(full.items()))


def target_law(process: Process, length: int | None = None) -> Law:
    """The law of the first tokens of the process itself.

    Parameters
    ----------
    process
        The target.
    length
        How many tokens; whole sequences by default.

    Returns
    -------
    Law
        Each tuple of tokens, and its probability.
    """
    return complete({(): number(1, process.uniform)}, process, process.length if length is None else length)


def _at_start(decoder: Decoder, process: Process) -> Iterator[Outcomes]:
    return explore(lambda rows, randomness: decoder.init(process, randomness, len(rows)), [number(1, process.uniform)])


def _after_step(
    decoder: Decoder, process: Process, rule: Rule, draft: Process | None, states: Any, weights: list[Number]
) -> Iterator[Outcomes]:
    return ((after, paths) for (after, _), paths in _steps(decoder, process, rule, draft, states, weights))


def _steps(
    decoder: Decoder, process: Process, rule: Rule, draft: Process | None, states: Any, weights: list[Number]
) -> Iterator[tuple[tuple[Any, Info], list[Path]]]:
    """All outcomes of one step: the states after it and its counts, with the paths that led there."""

    def step(rows: np.ndarray, randomness: Enumerator) -> tuple[Any, Info]:
        batch = type(states)(*(field[rows] for field in states))
        return decoder.step(batch, process, rule, randomness, draft)

    return explore(step, weights)


def _over(states: Any, process: Process) -> Array:
    """``bool[B]``: whether a run is over, at an end token as well."""
    return process.over(states.tokens, states.length)


def _unfinished(batch: Outcomes, process: Process) -> Outcomes:
    states, paths = batch
    going = ~_over(states, process)
    unfinished = [path for path, goes in zip(paths, going, strict=True) if goes]
    return type(states)(*(field[going] for field in states)), unfinished


def _merged(outcomes: Iterable[Outcomes]) -> tuple[Any, list[Number]]:
    """The distinct states among ``outcomes``, with the total weight of each."""
    place: dict[Any, int] = {}
    weights: list[Number] = []
    distinct = []
    for states, paths in outcomes:
        first = []
        for row, (key, path) in enumerate(zip(_keys(states), paths, strict=True)):
            if key in place:
                weights[place[key]] += path.weight
            else:
                place[key] = len(weights)
                weights.append(path.weight)
                first.append(row)
        distinct.append(type(states)(*(field[first] for field in states)))
    return type(distinct[0])(*(np.concatenate(fields) for fields in zip(*distinct, strict=True))), weights


def _keys(states: Any) -> Iterable[tuple]:
    """A hashable identity for each row of a batch of states."""
    flat = [field.reshape(len(states.length), prod(field.shape[1:])) for field in states]
    return zip(*map(_hashable, flat), strict=True)


def _hashable(rows: np.ndarray) -> list[Any]:
    """Each row ``[B, M]`` by its bytes, which is faster than by its numbers; fractions as they are, and other exact
    numbers by their ``key``."""
    if is_exact(rows):
        return [tuple([getattr(number, "key", number) for number in row]) for row in rows.tolist()]
    return [row.tobytes() for row in rows]


def _zero(process: Process) -> Callable[[], Number]:
    return lambda: number(0, process.uniform)
