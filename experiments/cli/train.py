"""``simlab train``: one model at a time, from the data and the models trained before it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from experiments.cli.terminal import UsageError, check_writable, output, progress_bar
from experiments.models.session import OutOfMemory, check_device, memory
from experiments.training.commands import Asked, plan_for, state, train_model


def train_command(model: str, out: Path, data: Path | None, device: str, **plan: Any) -> int:
    """Train ``model``, by its plan but for what is given of ``plan``; returns the exit status."""
    check_writable("--out", out)
    try:
        where, command = torch.device(check_device(device)), _command(model, device, plan)
        asked = Asked(model, out, plan_for(model, **plan), data, where, command)
        if state(asked).is_file():
            Console(stderr=True, highlight=False).print(f"simlab: going on from {state(asked)}")
        with progress_bar() as progress, memory():
            bar = progress.add_task(model, total=asked.plan.steps)
            record = train_model(
                asked, lambda step, text: progress.update(bar, completed=step, description=f"{model}  {text}")
            )
    except ValueError as error:
        raise UsageError(str(error)) from None
    except OutOfMemory as error:
        raise UsageError(f"{error}; lower --batch") from None
    except KeyboardInterrupt:
        Console(stderr=True, highlight=False).print("simlab: interrupted; the same command goes on from the last save")
        return 130
    console = output()
    told = "  ".join(f"{name} {value:.4g}" for name, value in record["metrics"].items())
    console.print(f"{model}  {record['parameters']:,} numbers, {record['seconds']:.0f} s", highlight=False)
    console.print(f"held out  {told}\nmodel     {out / f'{model}.safetensors'}", highlight=False, soft_wrap=True)
    return 0


def _command(model: str, device: str, plan: dict[str, Any]) -> str:
    """What was typed, but for folders."""
    words = ["simlab train", model]
    words += [f"--device {device}"] if device != "cpu" else []
    words += [
        "--compile" if name == "compiled" else f"--{name} {value}" for name, value in plan.items() if value is not None
    ]
    return " ".join(words)
