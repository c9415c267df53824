"""``simlab model train``: train one of the shipped models, from the data and the models trained before it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from experiments.cli.options import Device
from experiments.options import option, out_option, seed_option
from experiments.terminal import UsageError, advancing, check_writable, error_output, output, print_text, wrong_usage


def train_command(
    model: Annotated[
        Literal[
            "tokenizer",
            "classifier",
            "target",
            "draft",
            "head",
            "continuous-autoencoder",
            "continuous-target",
            "continuous-draft",
        ],
        typer.Argument(help="which", show_default=False),
    ],
    out: Annotated[Path, out_option("models")] = Path("out/models"),
    data: Annotated[Path | None, option("the four files (default: Debian's package, or a download)", "DIR")] = None,
    device: Device = "cpu",
    precision: Annotated[Literal["float32", "bfloat16"] | None, option("of the products (default: float32)")] = None,
    compiled: Annotated[bool | None, option("compile the model, by torch", name="--compile")] = None,
    steps: Annotated[int | None, option("instead of the plan's", "N")] = None,
    batch: Annotated[int | None, option("examples a step, instead of the plan's", "N")] = None,
    rate: Annotated[float | None, option("of learning, instead of the plan's", "R")] = None,
    size: Annotated[
        tuple[int, int, int] | None, option("of a target or draft, instead of the usual", "LAYERS DIM HEADS")
    ] = None,
    seed: Annotated[int | None, seed_option("of weights, order and noise (default: 0)")] = None,
) -> int:
    """Train a small image model.

    One of the models that come with simlab, on Fashion-MNIST: the tokenizer, or the autoencoder of continuous tokens,
    first, then what is built on it. Killed at any instant, the same command goes on from the last saved state. Needs
    torch.
    """
    import torch

    from experiments.models.session import OutOfMemory, check_device, memory
    from experiments.training.commands import Request, plan_for, state, train_model

    check_writable("--out", out)
    plan = {
        "precision": precision, "compiled": compiled, "steps": steps, "batch": batch, "rate": rate, "seed": seed
    }  # fmt: skip
    try:
        with wrong_usage():
            where, command = torch.device(check_device(device)), _command(model, device, plan, size)
            request = Request(model, out, plan_for(model, **plan), data, where, command, size)
            if state(request).is_file():
                print_text(error_output(), f"simlab: going on from {state(request)}")
            with advancing(model, request.plan.steps) as tell, memory():
                record = train_model(request, lambda step, text: tell(completed=step, description=f"{model}  {text}"))
    except OutOfMemory as error:
        raise UsageError(f"{error}; lower --batch") from None
    except KeyboardInterrupt:
        print_text(error_output(), "simlab: interrupted; the same command goes on from the last save")
        return 130
    console = output()
    metrics = "  ".join(f"{name} {value:.4g}" for name, value in record["metrics"].items())
    print_text(console, f"{model}  {record['parameters']:,} numbers, {record['seconds']:.0f} s")
    print_text(console, f"held out  {metrics}\nmodel     {out / f'{model}.safetensors'}")
    return 0


def _command(model: str, device: str, plan: dict[str, Any], size: tuple[int, ...] | None) -> str:
    """What was typed, but for folders."""
    words = ["simlab model train", model]
    words += [f"--device {device}"] if device != "cpu" else []
    words += [f"--size {' '.join(map(str, size))}"] if size else []
    words += [
        "--compile" if name == "compiled" else f"--{name} {value}" for name, value in plan.items() if value is not None
    ]
    return " ".join(words)
