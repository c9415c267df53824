"""``simlab generate``: images of a model by any method, as a grid."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from experiments.cli.terminal import UsageError, check_copy, output, progress_bar
from experiments.models.grid import write_grid
from experiments.models.methods import Method, make_method, read_settings
from experiments.models.session import Drawn, Models, OutOfMemory, check_device, draw, label_of, memory, pictures
from experiments.results import write_arrays
from simlab.models.adapters.fashion import CLASSES
from simlab.models.process.sampling import Sampling


def generate_command(
    method: str,
    label: str,
    count: int,
    out: Path,
    settings: list[str],
    models: Path | None,
    device: str,
    seed: int,
    batch: int,
    tokens: Path | None,
    **sampling: Any,
) -> int:
    """Draw ``count`` images of ``label`` by ``method``, and write them as a grid; returns the exit status."""
    check_counts(count, batch)
    check_copy("--out", out)
    if tokens is not None:
        check_copy("--tokens", tokens)
    try:
        labels = np.arange(count) % len(CLASSES) if label == "all" else np.full(count, label_of(label))
        loaded, rows = Models(models, check_device(device)), Sampling(**sampling)
        rows.check(loaded.target.config.length, loaded.target.config.vocabulary)
        made = make_method(method, loaded.codebook, read_settings(settings))
        with memory():
            drawn, seconds = _drawn(loaded, made, labels, seed, rows, batch)
            images = pictures(loaded, drawn.tokens, batch)
    except ValueError as error:
        raise UsageError(str(error)) from None
    except OutOfMemory as error:
        raise UsageError(f"--batch {batch}: {error}; lower --batch") from None
    write_grid(out, images[:, 0].numpy())
    if tokens is not None:
        write_arrays(tokens, {"tokens": drawn.tokens, "labels": labels, "steps": drawn.steps})
    console = output()
    console.print(told(made, drawn, seconds), highlight=False, soft_wrap=True)
    written = f"images  {out}" if tokens is None else f"images  {out}\ntokens  {tokens}"
    console.print(written, highlight=False, soft_wrap=True, markup=False)
    return 0


def told(method: Method, drawn: Drawn, seconds: float) -> str:
    """What it took."""
    count, length = drawn.tokens.shape
    steps = drawn.steps.mean()
    kind = "lossless" if method.lossless else "lossy"
    return (
        f"{method.name} ({kind})  {count} images of {length} tokens\n"
        f"steps {steps:.1f} an image, step compression {count * length / drawn.steps.sum():.2f}, {seconds:.1f} s"
    )


def check_counts(count: int, batch: int) -> None:
    """Raise :class:`UsageError` for fewer than one image."""
    for option, value in (("--count", count), ("--batch", batch)):
        if value < 1:
            raise UsageError(f"{option} {value}: expected a whole number >= 1")


def _drawn(
    models: Models, method: Method, labels: np.ndarray, seed: int, sampling: Sampling, batch: int
) -> tuple[Drawn, float]:
    """The images, and the seconds they took."""
    with progress_bar() as progress:
        bar = progress.add_task(method.name, total=len(labels))
        begun = perf_counter()
        drawn = draw(
            models, method, labels, seed, sampling, batch, told=lambda done: progress.update(bar, completed=done)
        )
        return drawn, perf_counter() - begun
