"""``simlab generate``: sample images from a model by any method, as a grid."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

from experiments.cli.compiling import BEGUN, compiling
from experiments.cli.curve import draw_choice
from experiments.cli.options import (
    CONTINUOUS,
    DRAWN,
    KINDS,
    MODEL,
    Label,
    Models,
    Rows,
    Run,
    Settings,
    Vectors,
    check_kind,
    refuse_given,
    sampling_of,
    settings_of,
)
from experiments.cli.prompts import PAINTERS, Texts, check_tokens, draw_texts
from experiments.options import count_option, file_option, option, with_records
from experiments.terminal import (
    UsageError,
    advancing,
    check_picture,
    error_output,
    output,
    print_text,
    usage_errors,
)
from simlab.registry import meant

AUTO, UNMEASURED = "auto", "sjd-ac"  # what auto takes where nobody has measured what a model's steps commit
CHOICE = "Choice of --method auto"
LOSSLESS = "last-step", "autoregressive"  # for continuous tokens it takes the first that there is
TOKENS = Path("out/tokens.npz")  # where tokens go that no image is made of


@with_records
def generate_command(
    rows: Rows,
    vectors: Vectors,
    run: Run,
    method: Annotated[str, option("decoder and rule; auto chooses", "METHOD", section=DRAWN)] = AUTO,
    label: Label = "all",
    count: Annotated[int | None, count_option("--count", "images (default: 16, or one of each prompt)", DRAWN)] = None,
    out: Annotated[Path, file_option("--out", "where to write")] = Path("out/grid.png"),
    tokens: Annotated[Path | None, file_option("--tokens", "write tokens, labels and steps here (.npz)")] = None,
    settings: Settings = None,
    curve: Annotated[
        Path | None, option("what calls cost; measured by default", "FILE", "--curve", section=CHOICE)
    ] = None,
    explain: Annotated[
        bool, option("draw what calls cost, and every method's speedup", name="--explain", section=CHOICE)
    ] = False,
    model: Annotated[
        str, option(f"{', '.join(KINDS)}, or module:factory; with --prompt one of texts", "NAME", section=MODEL)
    ] = "fashion",
    models: Models = None,
    prompt: Annotated[list[str] | None, option("draw this (repeatable)", "TEXT", section=DRAWN)] = None,
    size: Annotated[str | None, option("of images of prompts: a side, or HxW", "PIXELS", section=DRAWN)] = None,
) -> int:
    """Generate images with a model by any method.

    The model is one that comes with simlab, or one of simlab model train; the images are written as a grid. The same
    seed gives the same tokens, however many are drawn at a time, but for rounding. Needs torch.

    METHOD auto, the default, takes the lossless method that is predicted to be the fastest at this batch on this
    machine, and says why: from what calls cost (simlab model device --curve; measured in a second or two if it is not
    known, and kept in the user's cache folder) and from the tokens a step commits. Beside it stands what the fastest
    method that drafts would give here, and for one image at a time; --explain draws what calls cost. Which it is
    depends on the machine, and so do the tokens; name the method that it took to draw them again.

    With --prompt, NAME is lumina, anole, emu3 or llamagen-t2i, and --models a folder of its published files; prompts,
    guidance and sampling are those of its own code, unless given, and auto takes sjd-ac. Needs transformers.

    With module:factory or path/to/file.py:factory as NAME, the model is one's own, which that function makes
    (simlab model check says what it lacks). Where it decodes no pixels its tokens are written, and auto takes sjd-ac.

    Other METHODs are ar, jacobi, speculative, eagle, sjd, sjd-repeat-left, sjd-repeat-above, sjd-sample-left,
    sjd-sample-above, sjd-pd, sjd-ac, sjd-pac, sjd-maximal, sjd-gumbel, sjd-pac-gumbel, sjd-block, sjd-block-tree,
    sjd-pp, sjd-pp-newest, sjd-vp, sjd-vp-newest, sjd-pv, sjd2, sjd2-noisy, sampler-match, vvs, cascade, gsd, lantern,
    another decoder, or one of these and a rule, as in sjd-pac+grouped.

    The tokens of fashion-continuous are vectors, each made by denoising steps. Its METHODs are autoregressive,
    algorithm-1, algorithm-1-unaligned, two-path, path, published-code, last-step, last-step-unaligned, last-noise,
    target-end and, with --variances posterior or upper, reflection; auto takes last-step, or autoregressive where no
    step adds noise, as with --temperature 0 or --variances ddim.
    """
    check_kind(model, rows, vectors, prompt=prompt, size=size, settings=settings, curve=curve)
    if model in PAINTERS:
        refuse_given(model, curve=curve, label=None if label == "all" else label)
    elif not prompt:
        refuse_given(model, size=size)
    if explain and (method != AUTO or model != "fashion" or prompt):
        told = f"is for --model {model} --method {method}, of which no choice is made"
        raise UsageError(f"--explain: expected --method auto and a model of which methods are predicted; this {told}")

    import numpy as np

    from experiments.models import choice, session
    from experiments.models.discrete.kind import Discrete
    from experiments.models.grid import write_grid
    from experiments.models.own import is_own, load_models
    from experiments.results import write_arrays

    if prompt or model in PAINTERS:
        taken = UNMEASURED if method == AUTO else method
        status = draw_texts(Texts(prompt or [], count, size), model, models, taken, settings, rows, run, out, tokens)
        if method == AUTO:
            print_text(output(), unmeasured(model))
        return status
    if is_own(model):
        refuse_given(model, curve=curve)
    why = ""
    if is_own(model) and method == AUTO:
        method, why = UNMEASURED, f"{unmeasured(model)}\n"
    elif not is_own(model) and model not in KINDS:
        known = *KINDS, *PAINTERS
        expected = f"{meant(model, known)}expected {', '.join(known)}, module:factory or file.py:factory"
        raise UsageError(f"--model {model}: is no model; {expected}")
    count = count or 16
    check_picture("--out", out)
    if tokens is not None:
        check_tokens(tokens, out)
    with usage_errors(min(run.batch, count)):
        sampling = sampling_of(model, rows, vectors)
        loaded = load_models(model, models, session.check_device(run.device))
        labels = session.labels_of(label, count, loaded.labels)
        if tokens is None and not loaded.draws:
            tokens = TOKENS
            check_tokens(tokens, out)
        loaded.check(sampling)
        if method == AUTO and model == CONTINUOUS:
            method = next(name for name in LOSSLESS if name in loaded.names(sampling))
        if method == AUTO:
            assert isinstance(loaded, Discrete)
            if settings:
                told = "--method auto chooses the window itself; expected a method beside it"
                raise ValueError(f"--set {settings[0]}: {told}")
            batch = min(run.batch, count)
            with advancing("auto") as tell:
                chosen = choice.choice(loaded, sampling, batch, curve, lambda what: tell(description=f"auto: {what}"))
            print_text(output(), f"{chosen.reason}\n{chosen.offer}\ncosts   {chosen.costs or 'not kept'}")
            if explain:
                draw_choice(chosen, batch)
            made = loaded.method(chosen.candidate.method, chosen.candidate.settings)
        elif curve is not None:
            raise ValueError(f"--curve {curve}: is for --method auto; expected it alone")
        else:
            made = loaded.method(method, settings_of(model, method, settings, vectors))
        with advancing(made.name, count) as tell, compiling() as compiled:
            compiled.tell = lambda: tell(description="compiling, once")
            times: list[float] = []

            def stepped(tokens: int) -> None:
                times.append(perf_counter())
                tell(description=made.name)

            begun = perf_counter()
            lost: dict[int, str] = {}
            samples = loaded.draw(
                made, labels, run.seed, sampling, run.batch,
                notify=lambda images: tell(completed=images), stepped=stepped, failed=lost.__setitem__,
            )  # fmt: skip
            seconds = perf_counter() - begun
    if tokens is not None:  # before pixels are made of them, which may fail
        drawn = np.delete(labels, list(lost))
        write_arrays(tokens, {"labels": drawn, **{name: getattr(samples, name) for name in samples.saved}})
    with usage_errors(min(run.batch, count)):
        pictures = loaded.pictures(samples, run.batch) if loaded.draws else None
    console = output()
    print_text(console, f"{why}{summary(made, samples, seconds)}")
    if model != CONTINUOUS:
        print_text(console, first_step(times, compiled.seconds))
    if pictures is not None:
        with usage_errors(min(run.batch, count)):
            write_grid(out, pictures)
        print_text(console, f"images  {out}")
    else:
        print_text(console, "images  none: the model has no pixels(tokens)")
    if tokens is not None:
        print_text(console, f"tokens  {tokens}")
    for image, why in lost.items():
        print_text(error_output(), f"simlab: image {image}: {why}")
    if lost:
        print_text(error_output(), f"simlab: {len(lost)} of {count} images could not be drawn; the others are written")
    return 1 if lost else 0


def unmeasured(model: str) -> str:
    """What auto takes for a model of others or of one's own, and why."""
    return (
        f"{UNMEASURED}: what a step of each method commits has not been measured for {model}, and this one drafts by "
        "itself; another may be faster: --method METHOD"
    )


def first_step(steps: Sequence[float], compiled: float) -> str:
    """When the first step was over, and why so late where it was late."""
    if not steps:
        return "first step: the device does not say"
    late = f", {compiled:.1f} s of them to compile kernels, which are kept" if compiled >= 0.1 else ""
    return f"first step {steps[0] - BEGUN:.1f} s after the command{late}"


def summary(method: Any, samples: Any, seconds: float) -> str:
    """What was drawn by which method, what it took, and what became of drafts where samples say."""
    count, length = samples.tokens.shape[:2]
    kind = "lossless" if method.lossless else "lossy"
    took, *more = samples.took()
    return "\n".join([f"{method.name} ({kind})  {count} images of {length} tokens", f"{took}, {seconds:.1f} s", *more])
