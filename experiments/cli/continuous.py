"""What the commands for models do with ``fashion-continuous``, whose tokens are vectors."""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree
from time import perf_counter
from typing import TYPE_CHECKING, Any

from experiments.cli.terminal import (
    UsageError,
    check_copy,
    check_writable,
    error_output,
    numbers_table,
    output,
    plain_table,
    print_text,
    progress_bar,
    usage_errors,
)

if TYPE_CHECKING:
    from experiments.cli.options import Images, Rows, Run, Vectors
    from experiments.models.continuous.methods import Method
    from experiments.models.continuous.session import Samples

LOSSLESS = "last-step"  # what is taken where no method is named


def generate(
    method: str | None, images: Images, out: Path, tokens: Path | None, rows: Rows, vectors: Vectors, run: Run
) -> int:
    """``simlab generate``: images as a grid, and their tokens if they are asked for."""
    from experiments.models.continuous.session import Models, draw, pictures
    from experiments.models.grid import write_grid
    from experiments.models.session import check_device, labels_of
    from experiments.results import write_arrays

    check_copy("--out", out)
    if tokens is not None:
        check_copy("--tokens", tokens)
    with usage_errors(run.batch):
        made, settings = vectors.method(method or LOSSLESS), vectors.settings(rows, run.seed)
        loaded = Models(images.models, check_device(run.device))
        labels = labels_of(images.label, images.count, loaded.labels)
        with progress_bar() as progress:
            bar = progress.add_task(made.name, total=images.count)
            begun = perf_counter()
            samples = draw(
                loaded, made, labels, settings, run.batch, notify=lambda done: progress.update(bar, completed=done)
            )
            seconds = perf_counter() - begun
        grid = pictures(loaded, samples)
    console = output()
    print_text(console, summary(made, samples, seconds))
    write_grid(out, grid)
    print_text(console, f"images  {out}")
    if tokens is not None:
        write_arrays(tokens, {**samples._asdict(), "labels": labels})
        print_text(console, f"tokens  {tokens}")
    return 0


def summary(method: Method, samples: Samples, seconds: float) -> str:
    """How many calls and seconds the images took, and what became of drafts."""
    from simlab.continuous import Outcome

    count, length = samples.outcome.shape
    accepted, replaced, exhausted = (
        int((samples.outcome == outcome).sum()) for outcome in (Outcome.ACCEPTED, Outcome.REPLACED, Outcome.EXHAUSTED)
    )
    lines = [
        f"{method.name} ({'lossless' if method.lossless else 'lossy'})  {count} images of {length} tokens",
        f"calls of the target {samples.calls.mean():.1f} an image, {seconds:.1f} s",
    ]
    if verified := accepted + replaced + exhausted:
        rejected = max(1, replaced + exhausted)
        proposals = samples.trials.sum() / rejected
        lines.append(
            f"accepted {accepted / verified:.1%} of drafts; {proposals:.2f} proposals a rejected one, none taken of "
            f"{exhausted}"
        )
    return "\n".join(lines)


FILES = tuple(f"compare-continuous.{kind}" for kind in ("json", "npz", "parquet", "png"))
PARTS = "parts"  # a folder: what is finished of a comparison that is not


def compare(
    methods: str | None,
    count: int,
    timing: int,
    data: Path | None,
    out: Path,
    models: Path | None,
    rows: Rows,
    vectors: Vectors,
    run: Run,
) -> int:
    """``simlab compare``: every method at equal seeds; the same command goes on where one was stopped."""
    from experiments.models.continuous.compare import CHUNK, Request, compare, table
    from experiments.models.continuous.methods import GAMMA, names_with
    from experiments.models.continuous.session import Models
    from experiments.models.grid import write_grid
    from experiments.models.session import check_device
    from experiments.results import write_arrays, write_json, write_table

    check_writable("--out", out)
    parts = out / PARTS
    try:
        with usage_errors(run.batch):
            settings = vectors.settings(rows, run.seed)
            names = names_with(settings.sampler) if methods is None else tuple(dict.fromkeys(methods.split(",")))
            request = Request(
                names, count, run.batch, timing, vectors.gamma or GAMMA, vectors.prefill or 0, settings, data
            )
            loaded = Models(models, check_device(run.device))
            with progress_bar() as progress:
                bar = progress.add_task("starting", total=(len(names) + 2) * -(-count // CHUNK) + 1)
                found = compare(loaded, request, lambda what: progress.update(bar, description=what, advance=1), parts)
    except KeyboardInterrupt:
        print_text(error_output(), f"simlab: interrupted; what is finished is in {parts}, the same command goes on")
        return 130
    write_json(out / FILES[0], found.document)
    write_arrays(out / FILES[1], found.arrays)
    write_table(out / FILES[2], table(found.document))
    images = found.arrays["images"]
    write_grid(out / FILES[3], images.reshape(-1, *images.shape[2:]) / 255, images.shape[1], names)
    rmtree(parts, ignore_errors=True)
    _print(found.document, out)
    return 0


def _print(document: dict[str, Any], out: Path) -> None:
    console = output()
    names = (
        "method", "accepted", "calls", "proposals", "speedup (eq. 51)", "accuracy", "Frechet", "told from the target"
    )  # fmt: skip
    title = f"{document['n']} images a method, {document['device']}, seed {document['seed']}"
    rows = [_row(row) for row in document["methods"]]
    console.print(numbers_table(console, names, rows, title), highlight=False)
    print_text(console, "Frechet: distance on features of simlab's classifier, to images of the target alone")
    print_text(console, "\n".join(f"{Path(name).suffix[1:]:<9}{out / name}" for name in FILES))


def _row(row: dict[str, Any]) -> tuple[str, ...]:
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
        _verdict(row["checks"]),
    )


def _verdict(checks: dict[str, Any]) -> str:
    """By which tests samples are told from the target's, or what surely would have been."""
    failed = [name for name, check in checks.items() if not check["passes"]]
    if failed:
        return f"yes: {', '.join(failed)}"
    said = [f"{name} TV {check['detects']:.2g}" for name, check in checks.items() if check["detects"] is not None]
    return f"no ({', '.join(said)} would be)" if said else "no (nothing surely would be)"


# recordings -------------------------------------------------------------------------------------------------------


def record(method: str | None, images: Images, out: Path, rows: Rows, vectors: Vectors, run: Run) -> int:
    """``simlab record``: trajectories and kernels of what was verified, with the decisions."""
    from experiments.models.continuous.record import record
    from experiments.models.continuous.recording import write_recording
    from experiments.models.continuous.session import Models
    from experiments.models.session import check_device, labels_of

    with usage_errors(run.batch):
        made, settings = vectors.method(method or LOSSLESS), vectors.settings(rows, run.seed)
        loaded = Models(images.models, check_device(run.device))
        labels = labels_of(images.label, images.count, loaded.labels)
        with progress_bar() as progress:
            bar = progress.add_task(made.name, total=images.count)
            arrays, manifest = record(
                loaded, made, labels, settings, run.batch, lambda done: progress.update(bar, completed=done)
            )
    write_recording(out, arrays, manifest)
    accepted = float(arrays["accepted"].mean())
    print_text(
        output(),
        f"{made.name}  {len(arrays['coin']):,} drafts of {images.count} images, {accepted:.1%} accepted\n"
        f"kernels   {out}, {out.stat().st_size / 1e6:.1f} MB",
    )
    return 0


def replay(recording: Path, rules: list[str], out: Path) -> int:
    """``simlab replay``: every rule through a recording; JSON. Needs no torch."""
    from experiments.models.continuous.recording import Recording
    from experiments.models.continuous.replay import replay
    from experiments.results import versions, write_json

    try:
        saved = Recording(recording)
        rows = replay(saved, tuple(rules))
    except ValueError as error:
        raise UsageError(str(error)) from None
    document = {"recording": saved.manifest, "drafts": len(saved), "rules": rows, "versions": versions()}
    write_json(out / "replay.json", document)
    console = output()
    title = f"{saved.manifest['method']}: {len(saved):,} drafts of {len(saved.manifest['labels'])} images"
    lines = [
        (row["rule"], "", "", row["refused"])
        if row["refused"]
        else (row["rule"], f"{row['acceptance']:.4f} ± {row['error'] or 0:.4f}", f"{row['decisions']:.4f}", "")
        for row in rows
    ]
    console.print(plain_table(console, ("rule", "acceptance", "same decisions", "has no ratio there"), lines, title))
    print_text(console, f"written   {out / 'replay.json'}")
    return 0
