"""``simlab compare``: run every method on one model at equal seeds; cost, images, and tests of losslessness."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

from experiments.cli.options import CONTINUOUS, DISCRETE, Models, Rows, Run, Shipped, Vectors, check_kind, sampling_of
from experiments.interrupts import held_interrupts
from experiments.options import FILES as WRITTEN
from experiments.options import option, out_option, with_records
from experiments.terminal import (
    advancing,
    check_writable,
    error_output,
    holding,
    numbers_table,
    output,
    print_text,
    usage_errors,
)

if TYPE_CHECKING:
    from rich.console import Console

FILES = {  # a document, arrays, a table and images
    DISCRETE: ("compare.json", "compare.npz", "compare.parquet", "samples.png"),
    CONTINUOUS: tuple(f"compare-continuous.{kind}" for kind in ("json", "npz", "parquet", "png")),
}
LEAST = 10  # images: fewer say nothing of a distribution
PARTS = "parts"  # a folder: what is finished of a comparison that is not
METHODS = "What is compared"  # a section of the help
TIMED = (1, 16)  # images at a time
FRECHET = "distance on features of simlab's classifier, larger of fewer images, to as many of"
MEANT = (
    "bits: of a token by the target, in the mean; accuracy: how often simlab's classifier sees the label; ranks: where "
    "tokens fall in the CDF of their row"
)
HARDLY = 0.05  # of drafts accepted, in the median of methods
COMPARED = 256  # images from which such a distance is told: of fewer it is mostly that of their labels


@with_records
def compare_command(
    rows: Rows,
    vectors: Vectors,
    run: Run,
    methods: Annotated[
        str | None, option("which, as simlab generate names them; all by default", "A,B,...", section=METHODS)
    ] = None,
    count: Annotated[int, option("images of each method", "N", section=METHODS, min=LEAST)] = 512,
    timing: Annotated[
        list[int] | None,
        option("time so many images (default: 1 and 16)", "N", "--timing-batch", section=METHODS, min=1),
    ] = None,
    drafts: Annotated[
        int | None,
        option("a call of every method (default: 32 in windows, 4 of draft models)", "N", section=METHODS, min=1),
    ] = None,
    data: Annotated[
        Path | None, option("the four files of Fashion-MNIST, if elsewhere", "DIR", section=WRITTEN)
    ] = None,
    out: Annotated[Path, out_option()] = Path("out/compare"),
    model: Shipped = "fashion",
    models: Models = None,
) -> int:
    """Compare all methods on one model.

    Draws the same images by every method, with the same random numbers, and writes what each takes (steps, accepted
    lengths, time, memory) and what it gives (tests against the target's law, distances, accuracy, likelihood):
    compare.json, compare.npz, compare.parquet and samples.png. Needs torch.

    It goes round by round: a first table is of 16 images of each method, and each that follows of twice as many, until
    it is N; from the second on each has times at one batch more. Stop it when it is sure enough: the files are those of
    the last table. What is finished is kept in DIR/parts until all of it is, and the same command goes on from there.

    Of fashion-continuous methods are compared by acceptance, calls, proposals a rejected draft, speedup beside what
    CSpD's eq. 51 predicts, and whether their images can be told from the target's own.
    """
    check_kind(model, rows, vectors, drafts=drafts)

    from experiments.kept import remove_empty
    from experiments.models.compare import Comparison, Outcome, Request, compare, sizes, table
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

        settings = {"gamma": GAMMA, "prefill": 0} | vectors.drafts
    else:
        from experiments.models.discrete.compare import OfCodes as comparison

        settings = {} if drafts is None else {"drafts": drafts}
    batches = tuple(dict.fromkeys(timing or TIMED))
    console, shown = output(), _vectors if model == CONTINUOUS else _codes

    def tell(found: Outcome) -> None:
        images, made = found.arrays["images"], [parts / "table" / path.name for path in files]
        write_json(made[0], found.document)
        write_arrays(made[1], found.arrays)
        write_table(made[2], table(found.document))
        write_grid(made[3], images.reshape(-1, *images.shape[2:]) / 255, images.shape[1], names)
        with held_interrupts():  # all are of as many images
            for each, path in zip(made, files, strict=True):
                each.replace(path)
        remove_empty(made[0].parent)
        shown(console, found.document)

    try:
        with usage_errors(run.batch, "--batch or --timing-batch"):
            sampling, loaded = sampling_of(model, rows, vectors), load_models(model, models, check_device(run.device))
            names = loaded.names(sampling) if methods is None else tuple(dict.fromkeys(methods.split(",")))
            loaded.check(sampling)
            request = Request(names, count, run.batch, batches, run.seed, sampling, data, settings)
            asked, done = comparison(loaded, request), 0
            until = [n * len(asked.draws) for n in sizes(count)]  # images until each table
            with holding(f"--out {out}", out), advancing(total=until[0]) as advance:

                def watch(what: str, n: int = 0) -> None:
                    nonlocal done
                    done += n
                    total = next((all for all in until if done <= all), done)
                    advance(description=what, completed=done, total=total)

                for found in compare(asked, watch, parts):
                    tell(found)
    except KeyboardInterrupt:
        print_text(error_output(), f"simlab: interrupted; what is finished is in {parts}, the same command goes on")
        return 130
    print_text(console, "\n".join(f"{path.suffix[1:]:<9}{path}" for path in files))
    return 0


# columns ----------------------------------------------------------------------------------------------------------


def _codes(console: Console, document: dict[str, Any]) -> None:
    names = (
        "method",
        "steps",
        "tokens/call ± s.e.",
        *_speedups(document),
        "bits",
        "accuracy",
    )
    rows = [_row(row, document["n"]) for row in document["methods"]]
    drafts = f"{document['drafts']} drafts a call where there is a window"
    title = f"{_images(document)}, {drafts}, {document['device']}, seed {document['seed']}"
    table = numbers_table(console, (*names, "Frechet", "is it the target's law"), rows, title)
    console.print(table, highlight=False)
    _tell_speedup(console, document, "ar", "what was predicted of this machine")
    _tell_frechet(console, document, "ar")
    print_text(console, MEANT)


def _images(document: dict[str, Any]) -> str:
    """How many there are of each method, and how many there will be."""
    n, asked = document["n"], document["asked"]
    return f"{n} images a method" if n == asked else f"so far {n} of {asked} images a method"


def _speedups(document: dict[str, Any]) -> list[str]:
    return [f"speedup, batch {entry['batch']}" for entry in document["methods"][0]["timing"]]


def _tell_speedup(console: Console, document: dict[str, Any], target: str, predicted: str) -> None:
    timed = f"against {target}, ± its standard error, and in brackets {predicted}"
    print_text(console, f"speedup: {timed if _speedups(document) else 'from the next table on'}")


def _quality(quality: dict[str, Any], n: int) -> tuple[str, str]:
    frechet = f"{quality['frechet_to_ar']:.3f}" if n >= COMPARED else ""
    return f"{quality['accuracy']:.3f} ± {quality['accuracy_error']:.3f}", frechet


def _tell_frechet(console: Console, document: dict[str, Any], target: str) -> None:
    told = f"{FRECHET} {target}" if document["n"] >= COMPARED else f"told from {COMPARED} images on"
    print_text(console, f"Frechet: {told}")


def _row(row: dict[str, Any], n: int) -> tuple[str, ...]:
    quality, compression = row["quality"], row["compression"]
    bits = quality["bits_per_token"]
    return (
        row["method"],
        f"{row['steps']['mean']:.1f}",
        f"{compression['mean']:.3f} ± {compression['error']:.3f}",
        *map(_speedup, row["timing"]),
        "" if bits is None else f"{bits:.3f} ± {quality['bits_per_token_error']:.3f}",
        *_quality(quality, n),
        _verdict(row),
    )


def _speedup(timing: dict[str, Any]) -> str:
    if timing["speedup"] is None:
        return ""
    error = timing["speedup_error"]
    spread = "" if error is None else f" ± {error:.2f}"
    return f"{timing['speedup']:.2f}{spread} ({timing['predicted']:.2f})"


def _verdict(row: dict[str, Any]) -> str:
    """The outcome of the tests for a lossless method, the distortion for a lossy one."""
    if row["checks"] is not None:
        failed = [name for name, check in row["checks"].items() if not check["passes"]]
        ranks = row["checks"]["ranks"]["detects"]
        detects = "none would be, of so few" if ranks is None else f"a TV of {ranks:.3f} between ranks would be"
        return f"no: {', '.join(failed)}" if failed else f"no difference found ({detects})"
    far = row["distortion"]
    return "lossy" if far is None else f"lossy: TV {far['tv']:.3f}, distance {far['wasserstein']:.3f} a token"


def _vectors(console: Console, document: dict[str, Any]) -> None:
    names = (
        "method", "accepted", "calls", "proposals", *_speedups(document), "accuracy", "Frechet", "told from the target"
    )  # fmt: skip
    title = f"{_images(document)}, {document['device']}, seed {document['seed']}"
    rows = [_row_of_vectors(row, document["n"]) for row in document["methods"]]
    console.print(numbers_table(console, names, rows, title), highlight=False)
    _tell_speedup(console, document, "the target alone", "that of eq. 51")
    _tell_frechet(console, document, "the target alone")
    rates = [row["acceptance"]["mean"] for row in document["methods"] if row["acceptance"]["mean"] is not None]
    if rates and median(rates) < HARDLY:
        print_text(
            console, "Hardly a draft is accepted with so little noise in the last step: try --least 250 --steps 12"
        )


def _row_of_vectors(row: dict[str, Any], n: int) -> tuple[str, ...]:
    rate, proposals, quality = row["acceptance"], row["proposals"], row["quality"]
    error = "" if rate["error"] is None else f" ± {rate['error']:.3f}"
    return (
        row["method"],
        "" if rate["mean"] is None else f"{rate['mean']:.3f}{error}",
        f"{row['steps']['mean']:.1f}",
        "" if proposals["mean"] is None else f"{proposals['mean']:.2f}",
        *map(_speedup, row["timing"]),
        *_quality(quality, n),
        _told_apart(row["checks"]),
    )


def _told_apart(checks: dict[str, Any]) -> str:
    """By which tests samples are told from the target's, or what surely would have been."""
    failed = [name for name, check in checks.items() if not check["passes"]]
    if failed:
        return f"yes: {', '.join(failed)}"
    said = [f"{name} TV {check['detects']:.2g}" for name, check in checks.items() if check["detects"] is not None]
    return f"no ({', '.join(said)} would be)" if said else "no (of so few, none would be)"
