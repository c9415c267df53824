"""Where methods pay: speedups over batch and window, predicted from the cost of calls, beside those that are measured.

What is measured is whole images, by all that a method does; what is predicted knows of calls, drafts and tokens a step
alone. At every batch the methods of ``SHOWN`` are run, those predicted to be fastest, and the one ``auto`` takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from experiments.models import compression, curve
from experiments.models.choice import Choice, Predicted, choose, known_steps, predict
from experiments.models.compression import Candidate, Compression
from experiments.models.curve import Clock, Curve, Entry, Notify
from experiments.models.discrete.kind import Discrete, sampling_record
from experiments.models.discrete.methods import make_method
from experiments.models.session import labels_for
from experiments.results import versions
from simlab.models.process.sampling import Sampling

BATCHES = (1, 4, 16, 64)
LEAST = 4  # images of a method at a batch
ROUNDS = 2  # of which the faster counts
FASTEST = 1  # of those predicted, that are measured whatever they are
SHOWN = (
    Candidate("sjd-ac", {"window": 4}),
    Candidate("sjd-ac", {"window": 32}),
    Candidate("sjd-ac", {"window": 4, "initial": "sample-above"}),
    Candidate("speculative", {"gamma": 2}),
    Candidate("eagle", {"gamma": 1}),
    Candidate("sjd-pac", {"window": 23, "candidates": 4, "depth": 3}),
)


def measure(
    models: Discrete,
    sampling: Sampling,
    batches: Sequence[int] = BATCHES,
    seed: int = 0,
    notify: Notify = lambda what: None,
) -> dict[str, Any]:
    """Speedups, as a document: what calls cost, what is predicted of every candidate at every batch that calls were
    timed at, what was measured at ``batches``, and what ``auto`` takes there."""
    steps = known_steps(models, sampling, notify)
    costs = curve.measure(models, sampling, sorted({*curve.BATCHES, *batches}), notify=notify)
    cost, name = curve.curve_of(costs), curve.clock_of(models.device)[1]
    measured: list[Entry] = []
    chosen: list[Entry] = []
    for batch in batches:
        raced = race(models, sampling, steps, cost, batch, SHOWN, seed, notify, images=LEAST)
        plain = next(own for each, own in raced.seconds if each.step.candidate.method == "ar")
        measured += [_entry(each, batch) | {"measured": plain / own} for each, own in raced.seconds]
        best = raced.choice
        chosen.append(_entry(best.best, batch) | {"reason": best.reason, "of_best": raced.of_best})
    return {
        "kind": "map",
        **curve.identity(models, sampling),
        "clock": name,
        "versions": versions(),
        "sampling": sampling_record(sampling),
        "costs": costs,
        "predicted": [_entry(predict(step, cost, batch), batch) for step in steps for batch in cost.target],
        "measured": measured,
        "auto": chosen,
    }


class Raced(NamedTuple):
    """What was measured at one batch."""

    choice: Choice
    seconds: list[tuple[Predicted, float]]  # an image

    @property
    def fastest(self) -> Predicted:
        return min(self.seconds, key=lambda pair: pair[1])[0]

    @property
    def of_best(self) -> float:
        """Seconds of what ``auto`` takes, in those of the fastest."""
        own = next(seconds for each, seconds in self.seconds if each.step.candidate == self.choice.candidate)
        return own / min(seconds for _, seconds in self.seconds)


def race(
    models: Discrete,
    sampling: Sampling,
    steps: Sequence[Compression],
    cost: Curve,
    batch: int,
    shown: Sequence[Candidate] = (),
    seed: int = 0,
    notify: Notify = lambda what: None,
    fastest: int = FASTEST,
    images: int = LEAST,
) -> Raced:
    """Draw a batch, or so many ``images`` at least: by plain decoding, what is ``shown``, as many as are predicted
    to be the ``fastest``, and what ``auto`` takes."""
    chosen, clock = choose(steps, cost, batch), curve.clock_of(models.device)[0]
    asked = _asked([predict(step, cost, batch) for step in steps], (*shown, chosen.candidate), fastest)
    seconds = [float("inf")] * len(asked)
    count = batch * max(1, -(-images // batch))
    for _ in range(ROUNDS):  # in turn, so that what slows the machine for a while slows all of them
        for k, each in enumerate(asked):
            notify(f"batch {batch}, {compression.named(each.step.candidate)}")
            own = _seconds(models, each.step.candidate, batch, count, seed, sampling, clock)
            seconds[k] = min(seconds[k], own)
    return Raced(chosen, list(zip(asked, seconds, strict=True)))


def _asked(predicted: Sequence[Predicted], shown: Sequence[Candidate], count: int) -> list[Predicted]:
    """What is run at a batch: plain decoding, what is shown, and the ``count`` predicted to be fastest."""
    fastest = sorted(predicted, key=lambda each: -each.speedup)[:count]
    return [
        each
        for each in predicted
        if each.step.candidate.method == "ar" or each.step.candidate in shown or each in fastest
    ]


def _seconds(
    models: Discrete, candidate: Candidate, batch: int, images: int, seed: int, sampling: Sampling, clock: Clock
) -> float:
    """An image, of so many ``batch`` at a time, after one that is not timed: it loads kernels."""
    method = make_method(candidate.method, models.codebook, candidate.settings)
    labels = labels_for(seed, images)
    models.draw(method, labels[:1], seed, sampling, 1)
    begun = clock()
    models.draw(method, labels, seed, sampling, batch)
    return (clock() - begun) / images


def _entry(predicted: Predicted, batch: int) -> Entry:
    """A candidate at a batch, what its step is, and what is predicted of it."""
    step = predicted.step
    return {
        "batch": batch,
        "method": step.candidate.method,
        "settings": step.candidate.settings,
        "rows": step.rows,
        "drafts": step.drafts,
        "drafter": step.drafter,
        "tokens": step.tokens,
        "predicted": predicted.speedup,
    }
