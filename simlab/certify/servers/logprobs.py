"""The log-probabilities that servers tell of their tokens, compared where that is asked for: never part of a verdict.

Engines are known to tell wrong ones: those of the draft model, or of another row. What both servers tell of the same
token after the same prompt and tokens should differ by rounding alone; and at temperature 1 without filters the first
token of a completion should come out as often as is told. Servers with filters are not held to the latter: some tell of
their rows before filters and temperature, some after.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from math import exp
from typing import NamedTuple

import numpy as np

from simlab.certify.engine.evidence import FALSE_ALARMS
from simlab.certify.servers.client import Completion, Outcome, Prompt
from simlab.messages import shown
from simlab.statistics.tv_bounds import always

ROUNDING = 0.01  # of log-probabilities: that much other kernels and batches may change them

Place = tuple[Prompt, tuple[Outcome, ...]]  # a prompt, and the tokens up to the one that is told of


class Span(NamedTuple):
    """The least and the largest that was told of one token."""

    low: float
    high: float


class ReportedLogprobs:
    """What one server has told so far."""

    def __init__(self) -> None:
        self.spans: dict[Place, Span] = {}

    def add(self, prompt: Prompt, completion: Completion) -> None:
        """Take in a completion; one whose log-probabilities do not go with its tokens has none."""
        for i, value in enumerate(completion.logprobs):
            place = prompt, completion.tokens[: i + 1]
            low, high = self.spans.get(place, (value, value))
            self.spans[place] = Span(min(low, value), max(high, value))


Counts = Mapping[Prompt, Counter[Hashable]]  # how often each first token came out


def compared_logprobs(engine: ReportedLogprobs, reference: ReportedLogprobs) -> str:
    """How far both servers' log-probabilities of the same tokens are apart."""
    silent = [name for name, told in (("the engine", engine), ("the reference", reference)) if not told.spans]
    if silent:
        return f"logprobs: {' and '.join(silent)} told none that go with the tokens"
    both = [place for place in engine.spans if place in reference.spans]
    if not both:
        return "logprobs: no token after the same tokens was told of by both servers"

    def apart(place: Place) -> float:
        one, other = engine.spans[place], reference.spans[place]
        return max(0.0, one.high - other.low, other.high - one.low)

    worst = max(both, key=apart)
    said = f"logprobs of {len(both)} tokens after the same tokens are at most {apart(worst):.2g} apart"
    if apart(worst) <= ROUNDING:
        return f"{said}, as rounding is"
    one, other = engine.spans[worst], reference.spans[worst]
    return f"{said}: {_named(worst)} has {_span_text(one)} by the engine, {_span_text(other)} by the reference"


def counted_logprobs(name: str, told: ReportedLogprobs, counts: Counts) -> str:
    """Whether first tokens come out as often as a server tells, whenever one looks; the tokens that it told of share a
    false-alarm rate of 1e-6."""
    first = [place for place in told.spans if len(place[1]) == 1]
    limit = always(1 - FALSE_ALARMS / max(1, 2 * len(first)))
    off = [(place, found) for place in first if (found := _counted(place, told.spans[place], counts, limit))]
    if not off:
        return f"first tokens come out as often as the logprobs of the {name} tell, as far as was counted"
    place, found = off[0]
    return (
        f"{len(off)} of {len(first)} first tokens come out otherwise than the logprobs of the {name} tell: "
        f"{_named(place)} has {_span_text(told.spans[place])}, {_mass(told.spans[place].high):.3g}, "
        f"and came out {found}"
    )


def _counted(place: Place, span: Span, counts: Counts, limit: Callable[[np.ndarray, int], np.ndarray]) -> str:
    """How often a first token came out, where that is otherwise than told; else nothing."""
    prompt, tokens = place
    k, n = counts[prompt][tokens], counts[prompt].total()
    most, rest = (float(limit(np.array([seen]), n)[0]) for seen in (k, n - k)) if n else (1.0, 1.0)
    return "" if _mass(span.low) <= most and _mass(span.high) >= 1 - rest else f"{k} times in {n}"


def _mass(logprob: float) -> float:
    return exp(min(logprob, 1.0))  # a number above 0 is wrong however large it is


def _span_text(span: Span) -> str:
    return f"{span.high:.4g}" if span.high - span.low <= ROUNDING else f"{span.low:.4g} to {span.high:.4g}"


def _named(place: Place) -> str:
    prompt, tokens = place
    before = f" and {shown(list(tokens[:-1]))}" if len(tokens) > 1 else ""
    return f"{shown(tokens[-1])} after prompt {shown(prompt)}{before}"
