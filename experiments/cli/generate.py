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


def generate_command(
    method: Annotated[str, typer.Option(metavar="METHOD", help="decoder and rule; auto chooses")] = "auto",
    label: Label = "all",
    count: Annotated[int, count_option("--count", "images")] = 16,
    out: Annotated[Path, file_option("--out", "where to write")] = Path("out/grid.png"),
    tokens: Annotated[Path | None, file_option("--tokens", "write tokens, labels and steps here (.npz)")] = None,
    settings: Settings = None,
    curve: Annotated[
        Path | None, typer.Option("--curve", metavar="FILE", help="what calls cost, for auto; measured by default")
    ] = None,
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

    METHOD auto, the default, takes the lossless method that is predicted to be the fastest at this batch on this
    machine, and says why: from what calls cost (simlab device --curve; measured in a second or two if it is not known,
    and kept in the user's cache folder) and from the tokens a step commits. Which it is depends on the machine, and so
    do the tokens; name the method that it took to draw them again.

    Others are ar, jacobi, speculative, eagle, sjd, sjd-repeat-left, sjd-repeat-above, sjd-sample-left,
    sjd-sample-above, sjd-pd, sjd-ac, sjd-pac, gsd, lantern, another decoder, or one of these and a rule, as in
    sjd-pac+grouped.
    """
    from experiments.models import choice, session
    from experiments.models.grid import write_grid
    from experiments.models.methods import make_method, read_settings
    from experiments.results import write_arrays
    from simlab.models.process.sampling import Sampling

    check_copy("--out", out)
    if tokens is not None:
        check_copy("--tokens", tokens)
    try:
        labels = session.labels_of(label, count)
        loaded = session.Models(models, session.check_device(device))
        rows = Sampling(guidance, temperature, top_k, top_p)
        rows.check(loaded.target.config.length, loaded.target.config.vocabulary)
        with session.memory():
            if method == choice.AUTO:
                _check_free(settings)
                chosen = choice.choice(loaded, rows, min(batch, count), curve)
                print_text(output(), f"{chosen.reason}\ncosts   {curve or choice.curve_file(loaded, rows)}")
                made = make_method(chosen.candidate.method, loaded.codebook, chosen.candidate.settings)
            elif curve is not None:
                raise ValueError(f"--curve {curve}: is for --method auto; expected it alone")
            else:
                made = make_method(method, loaded.codebook, read_settings(settings or []))
            with progress_bar() as progress:
                bar = progress.add_task(made.name, total=count)
                begun = perf_counter()
                samples = session.draw(
                    loaded, made, labels, seed, rows, batch, notify=lambda done: progress.update(bar, completed=done)
                )
                seconds = perf_counter() - begun
            images = session.pictures(loaded, samples.tokens, batch)
    except ValueError as error:
        raise UsageError(str(error)) from None
    except session.OutOfMemory as error:
        raise UsageError(f"--batch {batch}: {error}; lower --batch") from None
    write_grid(out, images[:, 0].numpy())
    if tokens is not None:
        write_arrays(tokens, {"tokens": samples.tokens, "labels": labels, "steps": samples.steps})
    console = output()
    print_text(console, summary(made, samples, seconds))
    print_text(console, f"images  {out}" if tokens is None else f"images  {out}\ntokens  {tokens}")
    return 0


def _check_free(settings: list[str] | None) -> None:
    """Raise ``ValueError`` for settings of a method that is yet to be chosen."""
    if settings:
        raise ValueError(f"--set {settings[0]}: --method auto chooses the window itself; expected a method beside it")


def summary(method: Method, samples: Samples, seconds: float) -> str:
    """How many steps and seconds the images took."""
    count, length = samples.tokens.shape
    kind = "lossless" if method.lossless else "lossy"
    return (
        f"{method.name} ({kind})  {count} images of {length} tokens\n"
        f"steps {samples.steps.mean():.1f} an image, step compression {count * length / samples.steps.sum():.2f}, "
        f"{seconds:.1f} s"
    )
