"""What the commands for models do with ``fashion-continuous``, whose tokens are vectors."""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

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
)

if TYPE_CHECKING:
    from experiments.models.continuous.methods import Method
    from experiments.models.continuous.session import Samples, Settings

LOSSLESS = "last-step"  # what is taken where no method is named


class Drawing(NamedTuple):
    """The options of these models as they were given, None where not."""

    gamma: int | None
    prefill: int | None
    steps: int | None
    order: str | None
    spacing: str | None
    least: int | None
    variances: str | None
    temperature: float | None
    guidance: float | None

    def settings(self, seed: int) -> Settings:
        """How images are drawn. Raises ``ValueError`` for values that are out of range."""
        from experiments.models.continuous.session import Settings
        from simlab.continuous.networks.sampler import Sampler

        names = "steps", "spacing", "least", "variances", "temperature", "guidance"
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return Settings(Sampler(**given), self.order or "raster", seed)

    def method(self, name: str) -> Method:
        """The method called ``name``. Raises ``ValueError`` for an unknown one."""
        from experiments.models.continuous.methods import AR, GAMMA, make_method

        if name == AR and (self.gamma, self.prefill) != (None, None):
            raise ValueError(f"--gamma and --prefill are not for --method {AR}; expected neither")
        return make_method(name, self.gamma or GAMMA, self.prefill or 0)


def generate(
    method: str | None,
    label: str,
    count: int,
    out: Path,
    tokens: Path | None,
    models: Path | None,
    drawing: Drawing,
    seed: int,
    device: str,
    batch: int,
) -> int:
    """``simlab generate``: images as a grid, and their tokens if they are asked for."""
    from experiments.models.continuous.session import Models, draw, pictures
    from experiments.models.grid import write_grid
    from experiments.models.session import OutOfMemory, check_device, labels_of, memory
    from experiments.results import write_arrays

    check_copy("--out", out)
    if tokens is not None:
        check_copy("--tokens", tokens)
    try:
        made, settings = drawing.method(method or LOSSLESS), drawing.settings(seed)
        loaded = Models(models, check_device(device))
        labels = labels_of(label, count, loaded.labels)
        with memory(), progress_bar() as progress:
            bar = progress.add_task(made.name, total=count)
            begun = perf_counter()
            samples = draw(
                loaded, made, labels, settings, batch, notify=lambda done: progress.update(bar, completed=done)
            )
            seconds = perf_counter() - begun
        images = pictures(loaded, samples)
    except ValueError as error:
        raise UsageError(str(error)) from None
    except OutOfMemory as error:
        raise UsageError(f"--batch {batch}: {error}; lower --batch") from None
    console = output()
    print_text(console, summary(made, samples, seconds))
    write_grid(out, images)
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
    drawing: Drawing,
    seed: int,
    device: str,
    batch: int,
) -> int:
    """``simlab compare``: every method at equal seeds; the same command goes on where one was stopped."""
    from experiments.models.continuous.compare import CHUNK, Request, compare, table
    from experiments.models.continuous.methods import GAMMA, names_with
    from experiments.models.continuous.session import Models
    from experiments.models.grid import write_grid
    from experiments.models.session import OutOfMemory, check_device, memory
    from experiments.results import write_arrays, write_json, write_table

    check_writable("--out", out)
    parts = out / PARTS
    try:
        settings = drawing.settings(seed)
        names = names_with(settings.sampler) if methods is None else tuple(dict.fromkeys(methods.split(",")))
        request = Request(names, count, batch, timing, drawing.gamma or GAMMA, drawing.prefill or 0, settings, data)
        loaded = Models(models, check_device(device))
        with progress_bar() as progress, memory():
            bar = progress.add_task("starting", total=(len(names) + 2) * -(-count // CHUNK) + 1)
            found = compare(loaded, request, lambda what: progress.update(bar, description=what, advance=1), parts)
    except KeyboardInterrupt:
        print_text(error_output(), f"simlab: interrupted; what is finished is in {parts}, the same command goes on")
        return 130
    except ValueError as error:
        raise UsageError(str(error)) from None
    except OutOfMemory as error:
        raise UsageError(f"--batch {batch}: {error}; lower --batch") from None
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


def record(
    method: str | None,
    label: str,
    count: int,
    out: Path,
    models: Path | None,
    drawing: Drawing,
    seed: int,
    device: str,
    batch: int,
) -> int:
    """``simlab record``: trajectories and kernels of what was verified, with the decisions."""
    from experiments.models.continuous.record import record
    from experiments.models.continuous.recording import write_recording
    from experiments.models.continuous.session import Models
    from experiments.models.session import OutOfMemory, check_device, labels_of, memory

    try:
        made, settings = drawing.method(method or LOSSLESS), drawing.settings(seed)
        loaded = Models(models, check_device(device))
        labels = labels_of(label, count, loaded.labels)
        with memory(), progress_bar() as progress:
            bar = progress.add_task(made.name, total=count)
            arrays, manifest = record(
                loaded, made, labels, settings, batch, lambda done: progress.update(bar, completed=done)
            )
    except ValueError as error:
        raise UsageError(str(error)) from None
    except OutOfMemory as error:
        raise UsageError(f"--batch {batch}: {error}; lower --batch") from None
    write_recording(out, arrays, manifest)
    accepted = float(arrays["accepted"].mean())
    print_text(
        output(),
        f"{made.name}  {len(arrays['coin']):,} drafts of {count} images, {accepted:.1%} accepted\n"
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
