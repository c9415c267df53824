"""Whether ``generate --method auto`` takes the fastest method: whole images by what it takes, and by others.

The models that come along, at several batches, on one core and by its own seconds. Beside what ``auto`` takes run plain
decoding and the methods that are predicted to be fastest, in turns.
"""

from __future__ import annotations

from collections.abc import Callable

from experiments.bench.benchmark import Results, Time, ratio
from experiments.bench.steps import one_thread

NAME = "auto"
WANTED = 1 / 1.1  # of the speed of the fastest, at least
BATCHES, OTHERS = (1, 4, 16, 64), 4


def auto(quick: bool, watch: Callable[[str], None]) -> Results:
    """The speed of what ``auto`` takes, in that of the fastest and of plain decoding."""
    results = Results()
    try:
        import torch  # noqa: F401  # the rest loads it
    except ImportError:
        results.notes.append(f"{NAME} left out: torch is not installed")
        return results
    from experiments.models import curve, payoff
    from experiments.models.choice import known_steps
    from experiments.models.compression import named
    from experiments.models.discrete.kind import Discrete
    from simlab.models.process.sampling import Sampling

    models, sampling = Discrete(), Sampling()
    with one_thread():
        steps = known_steps(models, sampling)
        most = max(step.tokens for step in steps)
        for batch in (1,) if quick else BATCHES:
            what = f"batch {batch}, the model that comes along"
            costs = curve.measure(models, sampling, [batch], most, lambda which: watch(f"{NAME}: {which}"))
            raced = payoff.race(
                models, sampling, steps, curve.curve_of(costs), batch,
                fastest=1 if quick else OTHERS, images=1 if quick else payoff.LEAST,
                notify=lambda which: watch(f"{NAME}: {which}"),
            )  # fmt: skip
            seconds = {named(each.step.candidate): own for each, own in raced.seconds}
            times = {name: Time(NAME, what, name, {"images": 1.0}, own, None, []) for name, own in seconds.items()}
            taken, fastest = named(raced.choice.candidate), named(raced.fastest.step.candidate)
            to_fastest = ratio(times, taken, fastest, "images", None if quick else WANTED)
            results.add(times, to_fastest, ratio(times, taken, "ar", "images"))
    return results
