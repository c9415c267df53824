"""``simlab generate --prompt``: images of texts, by models of others from the files they were published in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from experiments.cli.options import Rows, Run
from experiments.options import given_of
from experiments.terminal import (
    UsageError,
    advancing,
    check_copy,
    check_picture,
    error_output,
    output,
    print_text,
    usage_errors,
)
from simlab.registry import meant

PAINTERS = "lumina", "anole", "emu3", "llamagen-t2i"  # keys of simlab.models.text_to_image.KINDS


@dataclass(frozen=True)
class Texts:
    """What is asked for: images of ``prompts`` in turn, ``count`` of them or one each; None is the model's own way."""

    prompts: Sequence[str]
    count: int | None
    size: str | None


def draw_texts(
    texts: Texts,
    kind: str,
    folder: Path | None,
    method: str,
    settings: list[str] | None,
    rows: Rows,
    run: Run,
    out: Path,
    tokens: Path | None,
) -> int:
    """Draw and write the images; returns the exit status, 1 where some could not be drawn."""
    import numpy as np
    import torch

    from experiments.models import session
    from experiments.models.discrete.methods import make_method, read_settings
    from experiments.models.grid import write_grid
    from experiments.results import write_arrays
    from simlab.models.text_to_image import draw, load

    check_picture("--out", out)
    if tokens is not None:
        check_tokens(tokens, out)
    if kind not in PAINTERS:
        expected = f"{meant(kind, PAINTERS)}expected one of {', '.join(PAINTERS)} with --prompt"
        raise UsageError(f"--model {kind}: draws no texts; {expected}")
    if not texts.prompts:
        raise UsageError(f"--model {kind}: draws texts; expected --prompt TEXT")
    if folder is None:
        raise UsageError(f"--model {kind}: needs its published files; expected --models DIR")
    prompts = [texts.prompts[k % len(texts.prompts)] for k in range(texts.count or len(texts.prompts))]
    with usage_errors(min(run.batch, len(prompts))):
        model = load(kind, folder, pixels(texts.size), device=session.check_device(run.device))
        made = make_method(method, model.codebook, read_settings(settings or []))
        preset = model.preset._replace(**given_of(rows))
        length = model.prepare(prompts[:1]).model.config.length
        with advancing(made.name, len(prompts) * length) as tell:
            begun = perf_counter()
            drawn = sorted(
                draw(
                    model, prompts, made.decoder, made.rule, run.seed, preset, run.batch,
                    notify=lambda done: tell(completed=done),
                ),
                key=lambda each: each.prompt,
            )  # fmt: skip
            seconds = perf_counter() - begun
    done = [each for each in drawn if each.error is None]
    for each in drawn:
        if each.error is not None:
            print_text(error_output(), f"simlab: {prompts[each.prompt]!r}: {each.error}")
    if not done:
        return 1
    steps = np.array([each.steps for each in done])
    if tokens is not None:
        own = {"tokens": np.stack([each.tokens for each in done if each.tokens is not None]), "steps": steps}
        write_arrays(tokens, own | {"prompts": np.array([prompts[each.prompt] for each in done])})
    with usage_errors(min(run.batch, len(prompts))):
        write_grid(
            out, torch.stack([each.image for each in done if each.image is not None]).movedim(1, -1).numpy(), scale=1
        )
    console = output()
    print_text(
        console,
        f"{made.name} ({'lossless' if made.lossless else 'lossy'})  {len(done)} images of {length} tokens by {kind}\n"
        f"steps {steps.mean():.1f} an image, step compression {len(done) * length / steps.sum():.2f}, {seconds:.1f} s",
    )
    print_text(console, f"images  {out}" if tokens is None else f"images  {out}\ntokens  {tokens}")
    return 0 if len(done) == len(drawn) else 1


def check_tokens(tokens: Path, out: Path) -> None:
    """Raise :class:`UsageError` unless tokens can be written beside the picture ``out``."""
    check_copy("--tokens", tokens)
    if tokens.resolve() == out.resolve():
        raise UsageError(f"--tokens {tokens}: is the picture of --out; expected another file")


def pixels(size: str | None) -> int | tuple[int, int] | None:
    """A side, or (height, width). Raises ``ValueError`` for what is neither."""
    if size is None:
        return None
    sides = size.split("x")
    if len(sides) > 2 or not all(side.isdecimal() for side in sides):
        raise ValueError(f"size is {size!r}; expected a side in pixels, or heightxwidth")
    return int(sides[0]) if len(sides) == 1 else (int(sides[0]), int(sides[1]))
