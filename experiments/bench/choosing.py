"""Whether ``generate --method auto`` takes the fastest method: whole images by what it takes, and by others.

The models that come along, at several batches, on one core and by its own seconds. Beside what ``auto`` takes run plain
decoding and the methods that are predicted to be fastest, in turns.
"""

from __future__ import annotations

from collections.abc import Callable

from experiments.bench.benchmark import Finding, Results, Time
from experiments.bench.steps import one_thread

NAME = "auto"
WANTED = 1.1  # at most so many times the seconds of the fastest
BATCHES, OTHERS = (1, 4, 16, 64), 4


def auto(quick: bool, watch: Callable[[str], None]) -> Results:
    """Seconds of what ``auto`` takes, in those of the fastest; and of plain decoding, in those of what it takes."""
    results = Results([], [], [])
    try:
        import torch  # noqa: F401  # the rest loads it
    except ImportError:
        results.notes.append(f"{NAME} left out: torch is not installed")
        return results
    from experiments.models import curve, payoff
    from experiments.models.choice import known_steps
    from experiments.models.compression import named
    from experiments.models.session import Models
    from simlab.models.process.sampling import Sampling

    models, sampling = Models(), Sampling()
    with one_thread():
        steps = known_steps(models, sampling)
        most = max(step.tokens for step in steps)
        for batch in (1,) if quick else BATCHES:
            what = f"batch {batch}, the model that comes along"
            costs = curve.measure(models, sampling, [batch], most, lambda which: watch(f"{NAME}: {which}"))
            raced = payoff.race(
                models, sampling, steps, curve.curve_of(costs), batch,
                notify=lambda which: watch(f"{NAME}: {which}"), fastest=1 if quick else OTHERS,
            )  # fmt: skip
            taken, fastest = named(raced.choice.candidate), named(raced.fastest.step.candidate)
            seconds = {named(each.step.candidate): own for each, own in raced.seconds}
            results.findings += [
                _times(what, taken, fastest, raced.of_best, None if quick else WANTED),
                _times(what, "ar", taken, seconds["ar"] / seconds[taken]),
            ]
            results.times.extend(Time(NAME, what, name, {"images": 1.0}, own, 1.0, []) for name, own in seconds.items())
    return results


def _times(what: str, contender: str, against: str, value: float, at_most: float | None = None) -> Finding:
    return Finding(NAME, what, f"seconds of {contender}", against, "times", "images", value, at_most=at_most)
