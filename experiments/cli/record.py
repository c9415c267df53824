"""``simlab record``: the rows of a real run, for rules to be put through them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.cli.generate import check_counts
from experiments.cli.terminal import UsageError, check_copy, output, progress_bar
from experiments.models.methods import make_method, read_settings
from experiments.models.record import record
from experiments.models.recording import Recording, write_recording
from experiments.models.session import Models, OutOfMemory, check_device, label_of, memory
from simlab.models.adapters.fashion import CLASSES
from simlab.models.process.sampling import Sampling


def record_command(
    method: str,
    label: str,
    count: int,
    calls: int,
    out: Path,
    settings: list[str],
    models: Path | None,
    device: str,
    seed: int,
    batch: int,
    **sampling: Any,
) -> int:
    """Record up to ``calls`` calls of each of ``count`` images in ``out``; returns the exit status."""
    check_counts(count, batch)
    if calls < 1:
        raise UsageError(f"--calls {calls}: expected a whole number >= 1")
    if out.suffix != ".npz":
        raise UsageError(f"--out {out}: expected a name that ends in .npz")
    check_copy("--out", out)
    try:
        labels = np.arange(count) % len(CLASSES) if label == "all" else np.full(count, label_of(label))
        loaded, rows = Models(models, check_device(device)), Sampling(**sampling)
        rows.check(loaded.target.config.length, loaded.target.config.vocabulary)
        made = make_method(method, loaded.codebook, read_settings(settings))
        with progress_bar() as progress, memory():
            bar = progress.add_task(method, total=count)
            arrays = record(
                loaded, made, labels, seed, rows, batch, calls, lambda done: progress.update(bar, completed=done)
            )
    except ValueError as error:
        raise UsageError(str(error)) from None
    except OutOfMemory as error:
        raise UsageError(f"--batch {batch}: {error}; lower --batch or --calls") from None
    write_recording(out, arrays)
    _print_recording(Recording(out), out)
    return 0


def _print_recording(made: Recording, out: Path) -> None:
    lost, console = made.manifest["rounding"], output()
    told = f"{made.manifest['method']}  {len(made):,} drafts in {made.windows[-1] + 1} windows of "
    told += f"{len(np.unique(made.image))} images, V = {made.vocabulary}\n"
    told += f"rounding  TV {lost['mean_tv']:.1e}, at most {lost['max_tv']:.1e}\n"
    told += f"rows      {out}, {out.stat().st_size / 1e6:.1f} MB"
    console.print(told, highlight=False, soft_wrap=True, markup=False)
