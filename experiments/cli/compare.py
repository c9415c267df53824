"""``simlab compare``: run every method on one model at equal seeds; cost, images, and tests of losslessness."""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree
from typing import Annotated, Any

import typer

from experiments.cli import continuous
from experiments.cli.options import (
    CONTINUOUS,
    Models,
    Rows,
    Run,
    Shipped,
    Vectors,
    out_option,
    refuse_given,
    with_records,
)
from experiments.cli.terminal import (
    check_writable,
    error_output,
    numbers_table,
    output,
    print_text,
    progress_bar,
    usage_errors,
)

FILES = ("compare.json", "compare.npz", "compare.parquet", "samples.png")
LEAST = 10  # images: fewer say nothing of a distribution
PARTS = "parts"  # a folder: what is finished of a comparison that is not
TIMED = (1, 16)  # images at a time


@with_records
def compare_command(
    rows: Rows,
    vectors: Vectors,
    run: Run,
    methods: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="which, as simlab generate names them; all by default")
    ] = None,
    count: Annotated[int, typer.Option(metavar="N", min=LEAST, help="images of each method")] = 512,
    timing: Annotated[
        list[int] | None,
        typer.Option("--timing-batch", metavar="N", min=1, help="time so many images (default: 1 and 16)"),
    ] = None,
    drafts: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="a call of every method (default: 32 in windows, 4 of draft models)"),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="the four files of Fashion-MNIST, if elsewhere")
    ] = None,
    out: Annotated[Path, out_option()] = Path("out/compare"),
    model: Shipped = "fashion",
    models: Models = None,
) -> int:
    """Compare all methods on one model.

    Draws the same images by every method, with the same random numbers, and writes what each takes (steps, accepted
    lengths, time, memory) and what it gives (tests against the target's law, distances, accuracy, likelihood):
    compare.json, compare.npz, compare.parquet and samples.png. What is finished is kept in DIR/parts until all of it
    is, and a command that was stopped goes on from there. Needs torch.

    Of fashion-continuous methods are compared by acceptance, calls, proposals a rejected draft, speedup beside what
    CSpD's eq. 51 predicts, and whether their images can be told from the target's own; one batch is timed.
    """
    if model == CONTINUOUS:
        refuse_given(model, top_k=rows.top_k, top_p=rows.top_p, drafts=drafts)
        one = (timing or TIMED[-1:])[0]
        return continuous.compare(methods, count, one, data, out, models, rows, vectors, run)
    refuse_given(model, vectors)

    from experiments.models import session
    from experiments.models.compare import Request, compare, table
    from experiments.models.grid import write_grid
    from experiments.models.methods import METHODS
    from experiments.models.timing import ROUNDS
    from experiments.results import write_arrays, write_json, write_table

    batches = tuple(dict.fromkeys(timing or TIMED))
    check_writable("--out", out)
    parts = out / PARTS
    try:
        with usage_errors(run.batch, "--batch or --timing-batch"):
            names = tuple(METHODS) if methods is None else tuple(dict.fromkeys(methods.split(",")))
            request = Request(names, count, run.batch, batches, run.seed, rows.sampling(), data, drafts)
            loaded = session.Models(models, session.check_device(run.device))
            request.sampling.check(loaded.target.config.length, loaded.target.config.vocabulary)
            with progress_bar() as progress:
                bar = progress.add_task("starting", total=3 + len(names) * (1 + len(batches) * (1 + ROUNDS)))
                found = compare(loaded, request, lambda what: progress.update(bar, description=what, advance=1), parts)
    except KeyboardInterrupt:
        print_text(error_output(), f"simlab: interrupted; what is finished is in {parts}, the same command goes on")
        return 130
    write_json(out / "compare.json", found.document)
    write_arrays(out / "compare.npz", found.arrays)
    write_table(out / "compare.parquet", table(found.document))
    images = found.arrays["images"]
    write_grid(out / "samples.png", images.reshape(-1, *images.shape[2:]) / 255, images.shape[1], names)
    rmtree(parts, ignore_errors=True)
    _print(found.document, out)
    return 0


def _print(document: dict[str, Any], out: Path) -> None:
    console = output()
    batches = [entry["batch"] for entry in document["methods"][0]["timing"]]
    names = (
        "method",
        "steps",
        "tokens/call ± s.e.",
        *(f"speedup, batch {b}" for b in batches),
        "bits",
        "accuracy",
    )
    rows = [_row(row) for row in document["methods"]]
    drafts = f"{document['drafts']} drafts a call where there is a window"
    title = f"{document['n']} images a method, {drafts}, {document['device']}, seed {document['seed']}"
    table = numbers_table(console, (*names, "Frechet", "is it the target's law"), rows, title)
    console.print(table, highlight=False)
    print_text(console, "speedup: against ar, ± its standard error, and in brackets what was predicted of this machine")
    print_text(console, "Frechet: distance on features of simlab's classifier, to images of ar")
    print_text(console, "\n".join(f"{Path(name).suffix[1:]:<9}{out / name}" for name in FILES))


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    quality, compression = row["quality"], row["compression"]
    speed = ["" if e["speedup"] is None else _speedup(e) for e in row["timing"]]
    bits = "" if quality["bits_per_token"] is None else f"{quality['bits_per_token']:.3f}"
    return (
        row["method"],
        f"{row['steps']['mean']:.1f}",
        f"{compression['mean']:.3f} ± {compression['error']:.3f}",
        *speed,
        bits,
        f"{quality['accuracy']:.3f}",
        f"{quality['frechet_to_ar']:.3f}",
        _verdict(row),
    )


def _speedup(timing: dict[str, Any]) -> str:
    error = timing["speedup_error"]
    spread = "" if error is None else f" ± {error:.2f}"
    return f"{timing['speedup']:.2f}{spread} ({timing['predicted']:.2f})"


def _verdict(row: dict[str, Any]) -> str:
    """The outcome of the tests for a lossless method, the distortion for a lossy one."""
    if row["checks"] is not None:
        failed = [name for name, check in row["checks"].items() if not check["passes"]]
        ranks = row["checks"]["ranks"]["detects"]
        detects = "nothing" if ranks is None else f"ranks TV {ranks:.3f} away"
        return f"no: {', '.join(failed)}" if failed else f"no difference found ({detects} would be)"
    far = row["distortion"]
    return "lossy" if far is None else f"lossy: TV {far['tv']:.3f}, distance {far['wasserstein']:.3f} a token"
