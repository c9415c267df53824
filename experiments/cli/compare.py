"""``simlab compare``: run every method on one model at equal seeds; cost, images, and tests of losslessness."""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree
from typing import Annotated, Any

import typer

from experiments.cli.options import (
    CONTINUOUS,
    DISCRETE,
    Models,
    Rows,
    Run,
    Shipped,
    Vectors,
    check_kind,
    out_option,
    sampling_of,
    with_records,
)
from experiments.cli.options import (
    FILES as WRITTEN,
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

FILES = {  # a document, arrays, a table and images
    DISCRETE: ("compare.json", "compare.npz", "compare.parquet", "samples.png"),
    CONTINUOUS: tuple(f"compare-continuous.{kind}" for kind in ("json", "npz", "parquet", "png")),
}
LEAST = 10  # images: fewer say nothing of a distribution
PARTS = "parts"  # a folder: what is finished of a comparison that is not
METHODS = "What is compared"  # a section of the help
TIMED = (1, 16)  # images at a time


@with_records
def compare_command(
    rows: Rows,
    vectors: Vectors,
    run: Run,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...", help="which, as simlab generate names them; all by default", rich_help_panel=METHODS
        ),
    ] = None,
    count: Annotated[
        int, typer.Option(metavar="N", min=LEAST, help="images of each method", rich_help_panel=METHODS)
    ] = 512,
    timing: Annotated[
        list[int] | None,
        typer.Option(
            "--timing-batch",
            metavar="N",
            min=1,
            help="time so many images (default: 1 and 16)",
            rich_help_panel=METHODS,
        ),
    ] = None,
    drafts: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="a call of every method (default: 32 in windows, 4 of draft models)",
            rich_help_panel=METHODS,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="the four files of Fashion-MNIST, if elsewhere", rich_help_panel=WRITTEN),
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
    check_kind(model, rows, vectors, drafts=drafts)

    from experiments.models.compare import Comparison, Request, compare, table
    from experiments.models.grid import write_grid
    from experiments.models.own import load_models
    from experiments.models.session import check_device
    from experiments.results import write_arrays, write_json, write_table

    check_writable("--out", out)
    parts, files = out / PARTS, [out / name for name in FILES[model]]
    comparison: type[Comparison]
    if model == CONTINUOUS:
        from experiments.models.continuous.compare import OfVectors as comparison
        from experiments.models.continuous.methods import GAMMA

        batches, settings = list(timing or TIMED[-1:])[:1], {"gamma": GAMMA, "prefill": 0} | vectors.drafts
    else:
        from experiments.models.discrete.compare import OfCodes as comparison

        batches, settings = list(dict.fromkeys(timing or TIMED)), {} if drafts is None else {"drafts": drafts}
    try:
        with usage_errors(run.batch, "--batch or --timing-batch"):
            sampling, loaded = sampling_of(model, rows, vectors), load_models(model, models, check_device(run.device))
            names = loaded.names(sampling) if methods is None else tuple(dict.fromkeys(methods.split(",")))
            loaded.check(sampling)
            request = Request(names, count, run.batch, tuple(batches), run.seed, sampling, data, settings)
            with progress_bar() as progress:
                asked = comparison(loaded, request)
                bar = progress.add_task("starting", total=asked.notices)
                found = compare(asked, lambda what: progress.update(bar, description=what, advance=1), parts)
    except KeyboardInterrupt:
        print_text(error_output(), f"simlab: interrupted; what is finished is in {parts}, the same command goes on")
        return 130
    document, images = found.document, found.arrays["images"]
    write_json(files[0], document)
    write_arrays(files[1], found.arrays)
    write_table(files[2], table(document))
    write_grid(files[3], images.reshape(-1, *images.shape[2:]) / 255, images.shape[1], names)
    rmtree(parts, ignore_errors=True)
    (_print_vectors if model == CONTINUOUS else _print_codes)(document)
    print_text(output(), "\n".join(f"{path.suffix[1:]:<9}{path}" for path in files))
    return 0


# columns ----------------------------------------------------------------------------------------------------------


def _print_codes(document: dict[str, Any]) -> None:
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


def _print_vectors(document: dict[str, Any]) -> None:
    console = output()
    names = (
        "method", "accepted", "calls", "proposals", "speedup (eq. 51)", "accuracy", "Frechet", "told from the target"
    )  # fmt: skip
    title = f"{document['n']} images a method, {document['device']}, seed {document['seed']}"
    rows = [_row_of_vectors(row) for row in document["methods"]]
    console.print(numbers_table(console, names, rows, title), highlight=False)
    print_text(console, "Frechet: distance on features of simlab's classifier, to images of the target alone")


def _row_of_vectors(row: dict[str, Any]) -> tuple[str, ...]:
    rate, proposals, quality, time = row["acceptance"], row["proposals"], row["quality"], row["timing"]
    error = "" if rate["error"] is None else f" ± {rate['error']:.3f}"
    return (
        row["method"],
        "" if rate["mean"] is None else f"{rate['mean']:.3f}{error}",
        f"{row['steps']['mean']:.1f}",
        "" if proposals["mean"] is None else f"{proposals['mean']:.2f}",
        f"{time['speedup']:.2f} ({time['predicted']:.2f})",
        f"{quality['accuracy']:.3f}",
        f"{quality['frechet_to_ar']:.3f}",
        _told_apart(row["checks"]),
    )


def _told_apart(checks: dict[str, Any]) -> str:
    """By which tests samples are told from the target's, or what surely would have been."""
    failed = [name for name, check in checks.items() if not check["passes"]]
    if failed:
        return f"yes: {', '.join(failed)}"
    said = [f"{name} TV {check['detects']:.2g}" for name, check in checks.items() if check["detects"] is not None]
    return f"no ({', '.join(said)} would be)" if said else "no (nothing surely would be)"
