"""``simlab generate``: sample images from a model by any method, as a grid."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.cli.options import (
    Batch,
    Device,
    Guidance,
    Label,
    Model,
    Models,
    Seed,
    Settings,
    Temperature,
    TopK,
    TopP,
    count_option,
    file_option,
)
from experiments.cli.terminal import UsageError, check_copy, output, print_text, progress_bar

if TYPE_CHECKING:
    from experiments.models.methods import Method
    from experiments.models.session import Samples


TOKENS = Path("out/tokens.npz")  # where tokens go that no image is made of


def generate_command(
    method: Annotated[str, typer.Option(metavar="METHOD", help="decoder and rule")] = "sjd-pac",
    label: Label = "all",
    count: Annotated[int, count_option("--count", "images")] = 16,
    out: Annotated[Path, file_option("--out", "where to write")] = Path("out/grid.png"),
    tokens: Annotated[Path | None, file_option("--tokens", "write tokens, labels and steps here (.npz)")] = None,
    settings: Settings = None,
    model: Model = "fashion",
    models: Models = None,
    guidance: Guidance = 1.0,
    temperature: Temperature = 1.0,
    top_k: TopK = None,
    top_p: TopP = None,
    seed: Seed = 0,
    device: Device = "cpu",
    batch: Batch = 32,
) -> int:
    """Generate images with a model by any method.

    The model is one that comes with simlab, or one of simlab train; the images are written as a grid. The same seed
    gives the same tokens, however many are drawn at a time, but for rounding. Needs torch.

    One's own model is module:factory or path/to/file.py:factory, a function that makes it (docs/own-models.md; simlab
    check says what it lacks); without a decoder of pixels, its tokens are written.

    METHOD is ar, jacobi, speculative, eagle, sjd, sjd-repeat-left, sjd-repeat-above, sjd-sample-left,
    sjd-sample-above, sjd-pd, sjd-ac, sjd-pac, gsd, lantern, another decoder, or one of these and a rule, as in
    sjd-pac+grouped.
    """
    from experiments.models import session
    from experiments.models.grid import write_grid
    from experiments.models.methods import make_method, read_settings
    from experiments.models.own import load_models
    from experiments.results import write_arrays
    from simlab.models.process.sampling import Sampling

    check_copy("--out", out)
    if tokens is not None:
        check_copy("--tokens", tokens)
    try:
        loaded = load_models(model, models, session.check_device(device))
        labels = session.labels_of(label, count, loaded.labels)
        rows = Sampling(guidance, temperature, top_k, top_p)
        rows.check(loaded.target.config.length, loaded.target.config.vocabulary)
        made = make_method(method, loaded.codebook, read_settings(settings or []))
        with session.memory():
            with progress_bar() as progress:
                bar = progress.add_task(made.name, total=count)
                begun = perf_counter()
                samples = session.draw(
                    loaded, made, labels, seed, rows, batch, notify=lambda done: progress.update(bar, completed=done)
                )
                seconds = perf_counter() - begun
            images = session.pictures(loaded, samples.tokens, batch) if loaded.draws else None
    except ValueError as error:
        raise UsageError(str(error)) from None
    except session.OutOfMemory as error:
        raise UsageError(f"--batch {batch}: {error}; lower --batch") from None
    console = output()
    print_text(console, summary(made, samples, seconds))
    if images is not None:
        write_grid(out, images.movedim(1, -1).squeeze(-1).numpy())
        print_text(console, f"images  {out}")
    else:
        tokens = tokens or TOKENS
        print_text(console, "images  none: the model has no pixels(tokens)")
    if tokens is not None:
        write_arrays(tokens, {"tokens": samples.tokens, "labels": labels, "steps": samples.steps})
        print_text(console, f"tokens  {tokens}")
    return 0


def summary(method: Method, samples: Samples, seconds: float) -> str:
    """How many steps and seconds the images took."""
    count, length = samples.tokens.shape
    kind = "lossless" if method.lossless else "lossy"
    return (
        f"{method.name} ({kind})  {count} images of {length} tokens\n"
        f"steps {samples.steps.mean():.1f} an image, step compression {count * length / samples.steps.sum():.2f}, "
        f"{seconds:.1f} s"
    )
