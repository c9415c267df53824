"""``simlab record``: save the rows of a real run, for replay under other rules."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from experiments.cli.options import (
    CONTINUOUS,
    DRAWN,
    Label,
    Model,
    Models,
    Rows,
    Run,
    Settings,
    Vectors,
    check_kind,
    sampling_of,
    settings_of,
)
from experiments.options import count_option, file_option, option, with_records
from experiments.terminal import UsageError, advancing, check_copy, output, print_text, usage_errors

USUAL = "sjd", "last-step"  # methods of discrete and of continuous tokens


@with_records
def record_command(
    rows: Rows,
    vectors: Vectors,
    run: Run,
    method: Annotated[
        str | None, option("as of simlab generate (default: sjd, or last-step)", "METHOD", section=DRAWN)
    ] = None,
    label: Label = "all",
    count: Annotated[int, count_option("--count", "images", DRAWN)] = 8,
    calls: Annotated[int | None, count_option("--calls", "of each image, spread over it (default: 8)", DRAWN)] = None,
    out: Annotated[Path, file_option("--out", "where to write")] = Path("out/rows.npz"),
    settings: Settings = None,
    model: Model = "fashion",
    models: Models = None,
) -> int:
    """Save the rows of a run of a model.

    Draws images as simlab generate does, and saves what was verified: for every draft in a window the target's row, the
    row declared for the draft, the token, and where it stood. simlab replay puts every rule through it. Needs torch.

    Of fashion-continuous it saves the trajectories of every verified draft, states, means and deviations of both
    models, with the coin and the decision.
    """
    if out.suffix != ".npz":
        raise UsageError(f"--out {out}: expected a name that ends in .npz")
    check_copy("--out", out)
    check_kind(model, rows, vectors, settings=settings, calls=calls)
    method = method or USUAL[model == CONTINUOUS]

    from experiments.models import session
    from experiments.models.own import load_models
    from experiments.models.record import Recorder, record
    from experiments.models.replay import read_recording
    from experiments.results import write_arrays

    with usage_errors(run.batch, "--batch" if model == CONTINUOUS else "--batch or --calls"):
        sampling, own = sampling_of(model, rows, vectors), settings_of(model, method, settings, vectors)
        loaded: Any = load_models(model, models, session.check_device(run.device))
        labels = session.labels_of(label, count, loaded.labels)
        loaded.check(sampling)
        made = loaded.method(method, own)
        with advancing(method, count) as tell:
            recorder: Recorder
            if model == CONTINUOUS:
                from experiments.models.continuous.record import OfTrajectories

                recorder = OfTrajectories(loaded, made, sampling)
            else:
                from experiments.models.discrete.record import OfRows

                recorder = OfRows(loaded, made, sampling, calls)
            arrays = record(recorder, labels, run.seed, run.batch, lambda images: tell(completed=images))
    write_arrays(out, arrays)
    saved = read_recording(out)
    print_text(output(), f"{saved.told()}\n{saved.holds:<10}{out}, {out.stat().st_size / 1e6:.1f} MB")
    return 0
