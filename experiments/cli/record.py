"""``simlab record``: save the rows of a real run, for replay under other rules."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.cli import continuous
from experiments.cli.options import (
    CONTINUOUS,
    Images,
    Label,
    Model,
    Models,
    Rows,
    Run,
    Settings,
    Vectors,
    count_option,
    file_option,
    refuse_given,
    with_records,
)
from experiments.cli.terminal import UsageError, check_copy, output, print_text, progress_bar, usage_errors

if TYPE_CHECKING:
    from experiments.models.recording import Recording


@with_records
def record_command(
    rows: Rows,
    vectors: Vectors,
    run: Run,
    method: Annotated[
        str | None, typer.Option(metavar="METHOD", help="as of simlab generate (default: sjd, or last-step)")
    ] = None,
    label: Label = "all",
    count: Annotated[int, count_option("--count", "images")] = 8,
    calls: Annotated[int | None, count_option("--calls", "of each image, spread over it (default: 8)")] = None,
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
    if model == CONTINUOUS:
        refuse_given(model, top_k=rows.top_k, top_p=rows.top_p, settings=settings, calls=calls)
        return continuous.record(method, Images(label, count, models), out, rows, vectors, run)
    refuse_given(model, vectors)
    method, calls = method or "sjd", calls or 8

    from experiments.models import session
    from experiments.models.methods import make_method, read_settings
    from experiments.models.own import load_models
    from experiments.models.record import record
    from experiments.models.recording import Recording, write_recording

    with usage_errors(run.batch, "--batch or --calls"):
        loaded = load_models(model, models, session.check_device(run.device))
        labels = session.labels_of(label, count, loaded.labels)
        sampling = rows.sampling()
        sampling.check(loaded.target.config.length, loaded.target.config.vocabulary)
        made = make_method(method, loaded.codebook, read_settings(settings or []))
        with progress_bar() as progress:
            bar = progress.add_task(method, total=count)

            def done(images: int) -> None:
                progress.update(bar, completed=images)

            arrays = record(loaded, made, labels, run.seed, sampling, run.batch, calls, done)
    write_recording(out, arrays)
    print_text(output(), _summary(Recording(out), out))
    return 0


def _summary(recording: Recording, out: Path) -> str:
    manifest, images = recording.manifest, len(set(recording.image.tolist()))
    return (
        f"{manifest['method']}  {len(recording):,} drafts in {recording.windows[-1] + 1} windows of {images} images, "
        f"V = {recording.vocabulary}\n"
        f"rounding  TV {manifest['rounding']['mean_tv']:.1e}, at most {manifest['rounding']['max_tv']:.1e}\n"
        f"rows      {out}, {out.stat().st_size / 1e6:.1f} MB"
    )
