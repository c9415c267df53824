"""What the commands for models do with ``fashion-continuous``, whose tokens are vectors."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from experiments.cli.terminal import UsageError, check_copy, output, print_text, progress_bar

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
    temperature: float | None
    guidance: float | None

    def settings(self, seed: int) -> Settings:
        """How images are drawn. Raises ``ValueError`` for values that are out of range."""
        from experiments.models.continuous.session import Settings
        from simlab.continuous.networks.sampler import Sampler

        names = "steps", "spacing", "least", "temperature", "guidance"
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
