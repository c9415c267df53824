"""Where methods pay: speedups over batch and window, predicted from the cost of calls, beside those that are measured.

What is measured is whole images, by all that a method does; what is predicted knows of calls, drafts and tokens a step
alone. At every batch the methods of ``SHOWN`` are run, those predicted to be fastest, and the one ``auto`` takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from experiments.models import compression, curve
from experiments.models.choice import Predicted, choose, known_steps, predict
from experiments.models.compare import labels_for
from experiments.models.compression import Candidate
from experiments.models.curve import Clock, Entry
from experiments.models.methods import make_method
from experiments.models.session import Models, draw, sampling_record
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

Notify = Callable[[str], None]


def measure(
    models: Models,
    sampling: Sampling,
    batches: Sequence[int] = BATCHES,
    seed: int = 0,
    notify: Notify = lambda what: None,
) -> dict[str, Any]:
    """Speedups, as a document: what calls cost, what is predicted of every candidate at every batch that calls were
    timed at, what was measured at ``batches``, and what ``auto`` takes there."""
    steps = known_steps(models, sampling, notify)
    costs = curve.measure(models, sampling, sorted({*curve.BATCHES, *batches}), notify=notify)
    cost, (clock, name) = curve.curve_of(costs), curve.clock_of(models.device)
    measured: list[Entry] = []
    chosen: list[Entry] = []
    for batch in batches:
        predicted = [predict(step, cost, batch) for step in steps]
        best = choose(steps, cost, batch)
        asked = _asked(predicted, best.candidate)
        seconds = dict.fromkeys(range(len(asked)), float("inf"))
        for _ in range(ROUNDS):  # in turn, so that what slows the machine for a while slows all of them
            for k, each in enumerate(asked):
                notify(f"batch {batch}, {compression.named(each.step.candidate)}")
                seconds[k] = min(seconds[k], _seconds(models, each.step.candidate, batch, seed, sampling, clock))
        plain = next(seconds[k] for k, each in enumerate(asked) if each.step.candidate.method == "ar")
        measured += [_entry(each, batch) | {"measured": plain / seconds[k]} for k, each in enumerate(asked)]
        own = next(seconds[k] for k, each in enumerate(asked) if each.step.candidate == best.candidate)
        chosen.append(_entry(best.best, batch) | {"reason": best.reason, "of_best": own / min(seconds.values())})
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


def _asked(predicted: Sequence[Predicted], chosen: Candidate) -> list[Predicted]:
    """What is run at a batch: plain decoding, what is shown, what is promising, and what auto takes."""
    fastest = sorted(predicted, key=lambda each: -each.speedup)[:FASTEST]
    return [
        each
        for each in predicted
        if each.step.candidate.method == "ar" or each.step.candidate in (*SHOWN, chosen) or each in fastest
    ]


def _seconds(models: Models, candidate: Candidate, batch: int, seed: int, sampling: Sampling, clock: Clock) -> float:
    """An image, of as many as are drawn at once, or a few more, after one that is not timed: it loads kernels."""
    images = batch * max(1, -(-LEAST // batch))
    method = make_method(candidate.method, models.codebook, candidate.settings)
    labels = labels_for(seed, images)
    draw(models, method, labels[:1], seed, sampling, 1)
    begun = clock()
    draw(models, method, labels, seed, sampling, batch)
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
