"""``simlab model device-day``: everything that waits for a device, one step after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.cli.options import Device, Models, Small
from experiments.options import option, out_option
from experiments.terminal import (
    UsageError,
    check_writable,
    error_output,
    holding,
    output,
    plain_table,
    print_text,
    wrong_usage,
)


def device_day_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="of the machine, as h200", show_default=False)],
    device: Device = "cuda",
    seconds: Annotated[float, option("of all steps together, in this run", "S", min=1)] = 1500.0,
    small: Small = False,
    data: Annotated[Path | None, option("the four files of Fashion-MNIST, if elsewhere", "DIR")] = None,
    only: Annotated[list[str] | None, option("this alone (repeatable)", "STEP", "--step")] = None,
    models: Models = None,
    out: Annotated[Path, out_option("where steps work")] = Path("out/day"),
    results: Annotated[Path, option("where results are put", "DIR")] = Path("out/measured"),
) -> int:
    """Measure all that waits for a device, within a time.

    The tests that need one, what a step costs, both comparisons, certificates of engines' kernels, a
    medium model trained there, and where methods pay: each a step with a time limit, the most valuable first. What a
    step has found is put beside that of the others at once, as NAME-...; one that fails stops no other. The same
    command goes on where it was. Exit status: 0 if all is done, 3 if something is left. Needs torch.
    """
    from experiments.models.device_day import prepare, run_day, steps
    from experiments.models.session import check_device

    if not name.replace("-", "").isalnum():
        raise UsageError(f"{name!r} is no name of files; expected letters, digits and -")
    with wrong_usage("--device "):
        check_device(device)
    for flag, folder in (("--out", out), ("--results", results)):
        check_writable(flag, folder)
    folder = out.absolute() / name
    asked = steps(folder, device, small, data and data.absolute(), models and models.absolute())
    unknown = [each for each in only or () if each not in {step.name for step in asked}]
    if unknown:
        raise UsageError(f"--step {unknown[0]}: is no step; expected {', '.join(step.name for step in asked)}")
    errors = error_output()
    try:
        with holding(f"--out {out}", folder):
            with wrong_usage("--models "):
                prepare(folder, models)
            found = run_day(
                [step for step in asked if not only or step.name in only],
                name, folder, results, seconds, lambda step: print_text(errors, f"simlab: {step}"),
            )["steps"]  # fmt: skip
    except KeyboardInterrupt:
        print_text(errors, f"simlab: interrupted; what was found is in {results}, the same command goes on")
        return 130
    rows = []
    for step in asked:
        own = found.get(step.name)
        said = own["said"][-1] if own and own["said"] else ""
        rows.append((step.name, own["state"] if own else "not tried", f"{own['seconds']:.0f}" if own else "", said))
    console = output()
    console.print(plain_table(console, ("step", "", "seconds", "said last"), rows))
    print_text(console, f"results   {results / f'{name}-*'}")
    return 0 if all(row[1] == "done" for row in rows if not only or row[0] in only) else 3
