"""``simlab model device`` with ``--curve``, ``--compression`` and ``--map``: costs of calls, and what follows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.cli.options import DISCRETE
from experiments.cli.showing import bar
from experiments.terminal import UsageError, advancing, check_copy, output, plain_table, print_text, wrong_usage

if TYPE_CHECKING:
    from experiments.models.choice import Choice

SHOWN = 12  # methods, the fastest first
Measure = Callable[[Any, Any, Callable[[str], None]], dict[str, Any]]  # of models and a sampling, with progress


def measure_and_write(
    measure: Measure, model: str, models: Path | None, device: str, guidance: float, out: Path
) -> dict[str, Any]:
    """Measure something of the models at a guidance and write it to ``out``; raises :class:`UsageError`."""
    from experiments.models import session
    from experiments.models.discrete.kind import Discrete
    from experiments.models.own import load_models
    from experiments.results import write_json
    from simlab.models.process.sampling import Sampling

    check_copy("--out", out)
    try:
        with wrong_usage():
            loaded = load_models(model, models, session.check_device(device))
            if not isinstance(loaded, Discrete):
                raise ValueError(f"--model {model}: its calls have no rows; expected a model of discrete tokens")
            with advancing() as tell, session.memory():
                found = measure(loaded, Sampling(guidance), lambda what: tell(description=what))
    except session.OutOfMemory as error:
        raise UsageError(f"--device {device}: {error}; expected a smaller --batch") from None
    write_json(out, found)
    return found


def curve(model: str, models: Path | None, device: str, guidance: float, batches: list[int] | None, out: Path) -> int:
    """``--curve``: seconds of calls by their rows."""
    from experiments.models.curve import BATCHES, curve_of, measure

    found = measure_and_write(
        lambda loaded, sampling, notify: measure(loaded, sampling, batches or BATCHES, notify=notify),
        model, models, device, guidance, out,
    )  # fmt: skip
    cost, console = curve_of(found), output()
    sizes = sorted({entry["rows"] for entry in found["target"]})
    rows = []
    for batch in cost.target:
        one = cost.call(batch, 1)
        calls = [f"{cost.call(batch, size) / one:.2f}" if size in cost.target[batch] else "" for size in sizes]
        drafts = [f"{cost.drafts(drafter, batch, 1) / one:.2f}" for drafter in found["drafting"]]
        rows.append((str(batch), f"{1000 * one:.2f}", *calls, *drafts))
    names = "batch", "ms, 1 row", *(f"{size} rows" for size in sizes), *found["drafting"]
    console.print(plain_table(console, names, rows, "calls of the target, in calls for one row a sequence"))
    print_text(console, f"{found['device']}, threads: {found['threads']}, {found['clock']}\nwritten   {out}")
    return 0


def draw_choice(chosen: Choice, batch: int) -> None:
    """``--explain`` of ``simlab generate``: what calls cost by their rows, and what that makes of each method."""
    from experiments.models.compression import named

    console, cost = output(), chosen.cost
    here = "1 image" if batch == 1 else f"{batch} images"
    batches = {here: batch} if batch == 1 else {here: batch, "1 image": 1}
    sizes = sorted({rows for images in batches.values() for rows in cost.target.get(images, {})} or {1, 5, 9, 17, 33})
    calls = {
        name: [cost.call(images, size) / cost.call(images, 1) for size in sizes] for name, images in batches.items()
    }
    longest = max(map(max, calls.values()))
    rows = [
        (str(size), *(each for costs in calls.values() for each in (f"{costs[k]:.2f}", bar(costs[k] / longest))))
        for k, size in enumerate(sizes)
    ]
    names = "rows", *(each for name in batches for each in (name, ""))
    console.print(plain_table(console, names, rows, "what a call costs by its rows, in calls for one row a sequence"))
    by_speed = sorted(zip(chosen.here, chosen.alone, strict=True), key=lambda pair: -pair[0].speedup)
    methods = [
        (
            named(one.step.candidate),
            str(one.step.rows),
            f"{one.step.tokens:.2f}",
            *(f"{each.speedup:.2f}" for each in (one, other)[: len(batches)]),
        )
        for one, other in by_speed[:SHOWN]
    ]
    title = "a method pays where its tokens a step are more than its call costs: times as fast as plain decoding"
    console.print(plain_table(console, ("method", "rows", "tokens a step", *batches), methods, title))


def compression(models: Path | None, device: str, out: Path) -> int:
    """``--compression``: tokens a step of each method by its window."""
    from experiments.models.compression import GUIDANCE, IMAGES, candidates, measure, named, of_sampling, possible
    from simlab.models.process.sampling import Sampling

    samplings = [Sampling(scale) for scale in GUIDANCE]
    found = measure_and_write(
        lambda loaded, _, notify: measure(
            loaded, samplings, possible(loaded, candidates()), IMAGES, notify=notify
        ),
        DISCRETE, models, device, 1.0, out,
    )  # fmt: skip
    tables = [of_sampling(found, sampling) for sampling in samplings]
    rows = [
        (named(steps[0].candidate), *(f"{step.tokens:.3f} ± {step.error:.3f}" for step in steps))
        for steps in zip(*tables, strict=True)
    ]
    console = output()
    title = f"tokens a step, {found['images']} images a method"
    console.print(plain_table(console, ("method", *(f"guidance {scale:g}" for scale in GUIDANCE)), rows, title))
    print_text(console, f"written   {out}")
    return 0


def payoff(models: Path | None, device: str, guidance: float, batches: list[int] | None, out: Path) -> int:
    """``--map``: speedups over batch and window, predicted and measured."""
    from experiments.models.compression import Candidate, named
    from experiments.models.payoff import BATCHES, measure

    found = measure_and_write(
        lambda loaded, sampling, notify: measure(loaded, sampling, batches or BATCHES, notify=notify),
        DISCRETE, models, device, guidance, out,
    )  # fmt: skip
    console = output()
    names = dict.fromkeys(named(Candidate(each["method"], each["settings"])) for each in found["measured"])
    at = {(named(Candidate(each["method"], each["settings"])), each["batch"]): each for each in found["measured"]}
    columns = [chosen["batch"] for chosen in found["auto"]]
    rows = [
        (
            name,
            *(
                f"{each['measured']:.2f} ({each['predicted']:.2f})" if (each := at.get((name, batch))) else ""
                for batch in columns
            ),
        )
        for name in names
    ]
    title = "times as fast as ar: measured (predicted)"
    console.print(plain_table(console, ("method", *(f"batch {batch}" for batch in columns)), rows, title))
    for chosen in found["auto"]:
        print_text(
            console, f"auto      {chosen['reason']}; {chosen['of_best']:.2f}x the seconds of the fastest measured"
        )
    print_text(console, f"{found['device']}, threads: {found['threads']}, {found['clock']}\nwritten   {out}")
    return 0
