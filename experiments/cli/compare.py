"""``simlab compare``: every method on one model at equal seeds, what it takes and what it gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.cli.terminal import UsageError, check_writable, output, plain_table, progress_bar
from experiments.models.compare import Asked, compare, table
from experiments.models.grid import write_grid
from experiments.models.methods import METHODS
from experiments.models.session import Models, OutOfMemory, check_device, memory
from experiments.results import write_arrays, write_json, write_table
from simlab.models.process.sampling import Sampling

FILES = ("compare.json", "compare.npz", "compare.parquet", "samples.png")
LEAST = 10  # images: fewer say nothing of a distribution


def compare_command(
    out: Path,
    methods: str | None,
    count: int,
    timing: list[int] | None,
    data: Path | None,
    models: Path | None,
    device: str,
    seed: int,
    batch: int,
    **sampling: Any,
) -> int:
    """Compare ``methods``, all there are by default, and write what is found into ``out``; returns the exit status."""
    batches = tuple(dict.fromkeys(timing or (1, 16)))
    for option, value, least in (("--count", count, LEAST), ("--batch", batch, 1)):
        _check(option, value, least)
    for value in batches:
        _check("--timing-batch", value, 1)
    check_writable("--out", out)
    try:
        names = tuple(METHODS) if methods is None else tuple(dict.fromkeys(methods.split(",")))
        asked = Asked(names, count, batch, batches, seed, Sampling(**sampling), data)
        loaded = Models(models, check_device(device))
        asked.sampling.check(loaded.target.config.length, loaded.target.config.vocabulary)
        with progress_bar() as progress, memory():
            steps = 2 + len(names) * (2 + len(batches))
            bar = progress.add_task("starting", total=steps)
            found = compare(loaded, asked, lambda what: progress.update(bar, description=what, advance=1))
    except ValueError as error:
        raise UsageError(str(error)) from None
    except OutOfMemory as error:
        raise UsageError(f"--batch {batch}: {error}; lower --batch or --timing-batch") from None
    write_json(out / "compare.json", found.document)
    write_arrays(out / "compare.npz", found.arrays)
    write_table(out / "compare.parquet", table(found.document))
    images = found.arrays["images"]
    write_grid(out / "samples.png", images.reshape(-1, *images.shape[2:]) / 255, images.shape[1], names)
    _print(found.document, out)
    return 0


def _check(option: str, value: int, least: int) -> None:
    if value < least:
        raise UsageError(f"{option} {value}: expected a whole number >= {least}")


def _print(document: dict[str, Any], out: Path) -> None:
    console = output()
    batches = [entry["batch"] for entry in document["methods"][0]["timing"]]
    names = ("method", "steps", "tokens/call ± s.e.", *(f"speedup, batch {b}" for b in batches), "bits", "accuracy")
    rows = [_row(row) for row in document["methods"]]
    title = f"{document['n']} images a method, {document['device']}, seed {document['seed']}"
    console.print(plain_table(console, (*names, "Frechet", "is it the target's law"), rows, title), highlight=False)
    console.print("Frechet: distance on features of simlab's classifier, to images of ar", highlight=False)
    paths = "\n".join(f"{Path(name).suffix[1:]:<9}{out / name}" for name in FILES)
    console.print(paths, highlight=False, soft_wrap=True, markup=False)


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    quality, compression = row["quality"], row["compression"]
    speed = ["" if entry["speedup"] is None else f"{entry['speedup']:.2f}" for entry in row["timing"]]
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


def _verdict(row: dict[str, Any]) -> str:
    """Of the tests for a lossless method, of the distortion for a lossy one."""
    if row["checks"] is not None:
        failed = [name for name, check in row["checks"].items() if not check["passes"]]
        ranks = row["checks"]["ranks"]["detects"]
        seen = "nothing" if ranks is None else f"ranks TV {ranks:.3f} away"
        return f"no: {', '.join(failed)}" if failed else f"not told apart ({seen} would be)"
    far = row["distortion"]
    return "lossy" if far is None else f"lossy: TV {far['tv']:.3f}, distance {far['wasserstein']:.3f} a token"
