"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from experiments.cli.terminal import UsageError

MOST_SEED = (1 << 32) - 1


def seed_option(help: str) -> Any:
    """``--seed``, with what it is the seed of."""
    return typer.Option("--seed", metavar="N", min=0, max=MOST_SEED, help=help)


def count_option(name: str, help: str) -> Any:
    """A number of things, at least one."""
    return typer.Option(name, metavar="N", min=1, help=help)


def out_option(help: str = "where to write") -> Any:
    """``--out``, a folder."""
    return typer.Option("--out", metavar="DIR", help=help)


def file_option(name: str, help: str) -> Any:
    """A file to be written."""
    return typer.Option(name, metavar="FILE", help=help)


# of the commands that draw with a model ----------------------------------------------------------------------------

KINDS = {"fashion": "discrete", "fashion-continuous": "continuous"}  # the models that come along, by their tokens
DISCRETE, CONTINUOUS = KINDS
OWN = "or one's own, as module:factory or file.py:factory"
Model = Annotated[str, typer.Option("--model", metavar="NAME", help=f"{', '.join(KINDS)}, {OWN}")]
Shipped = Annotated[Literal["fashion", "fashion-continuous"], typer.Option("--model", help="which model")]
Models = Annotated[
    Path | None, typer.Option("--models", metavar="DIR", help="checkpoints, instead of those that come along")
]
Guidance = Annotated[float, typer.Option("--guidance", metavar="S", help="scale of guidance; 1 is none")]
Temperature = Annotated[float, typer.Option("--temperature", metavar="T", help="of the rows")]
TopK = Annotated[int | None, typer.Option("--top-k", metavar="K", help="only the likeliest K tokens")]
TopP = Annotated[float | None, typer.Option("--top-p", metavar="P", help="only the likeliest tokens, of mass P")]
Seed = Annotated[int, seed_option("of all random numbers")]
Device = Annotated[str, typer.Option("--device", metavar="NAME", help="cpu or cuda")]
Batch = Annotated[int, count_option("--batch", "images at a time")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="a parameter of the method (repeatable)")
]
Label = Annotated[str, typer.Option("--label", metavar="NAME", help="of the class, or all")]

# of continuous tokens alone ----------------------------------------------------------------------------------------

Gamma = Annotated[
    int | None, typer.Option("--gamma", metavar="N", min=1, help="continuous: drafts a block [default: 4]")
]
Prefill = Annotated[
    int | None,
    typer.Option("--prefill", metavar="N", min=0, help="continuous: first tokens, the target's own [default: 0]"),
]
Steps = Annotated[
    int | None, typer.Option("--steps", metavar="T", min=1, help="continuous: denoising steps [default: 25]")
]
Order = Annotated[
    Literal["raster", "random"] | None, typer.Option("--order", help="continuous: of tokens [default: raster]")
]
Spacing = Annotated[
    Literal["linspace", "trailing"] | None,
    typer.Option("--spacing", help="continuous: which steps are taken [default: linspace]"),
]
Least = Annotated[
    int | None,
    typer.Option("--least", metavar="N", min=0, help="continuous: of the least noisy, left out [default: 0]"),
]
Variances = Annotated[
    Literal["learned", "posterior", "upper", "ddim"] | None,
    typer.Option("--variances", help="continuous: of the steps' noise [default: learned]"),
]


def refuse_given(model: str, options: dict[str, Any]) -> None:
    """Raise :class:`UsageError` naming the first of ``options`` that was given: none is for ``model``."""
    for name, value in options.items():
        if value not in (None, [], ()):
            shown = " ".join(map(str, value)) if isinstance(value, list) else value
            raise UsageError(f"{name} {shown}: is not for --model {model}; expected none")
