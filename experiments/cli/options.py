"""Options that several commands share: those that belong together are a record, and spelled once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from experiments.options import count_option, given_of, option, seed_option
from experiments.terminal import UsageError

if TYPE_CHECKING:
    from experiments.models.continuous.kind import Settings as VectorSettings
    from simlab.models.process.sampling import Sampling

DRAWN, MODEL, ROWS, VECTORS, RUN = (  # sections of the help
    "What is drawn", "Model", "Rows", "Continuous tokens", "Run"
)  # fmt: skip


Settings = Annotated[list[str] | None, option("a parameter of it (repeatable)", "KEY=VALUE", "--set", section=DRAWN)]


def exact_settings(settings: list[str] | None) -> dict[str, Any]:
    """Parameters from ``KEY=VALUE``, fractions among them.

    Raises ``ValueError`` for what has no such form, and for one that is given twice.
    """
    found: dict[str, Any] = {}
    for text in settings or []:
        name, sign, value = text.partition("=")
        if not (name and sign) or name in found:
            raise ValueError(f"--set {text}: expected KEY=VALUE, each parameter once")
        found[name] = read_value(value)
    return found


def read_value(text: str) -> Any:
    """A parameter's value: a fraction, JSON, numbers with commas between them, or a word."""
    if "," in text and not text.startswith(("[", "{")):
        return [read_value(each) for each in text.split(",")]
    if "/" in text:
        try:
            return Fraction(text)
        except (ValueError, ZeroDivisionError):
            return text
    try:
        return json.loads(text)
    except ValueError:
        return text


# of the commands that draw with a model ----------------------------------------------------------------------------

KINDS = {"fashion": "discrete", "fashion-continuous": "continuous"}  # the models that come along, by their tokens
DISCRETE, CONTINUOUS = KINDS
OWN = "or one's own, as module:factory or file.py:factory"
Model = Annotated[str, option(f"{', '.join(KINDS)}, {OWN}", "NAME", "--model", section=MODEL)]
Shipped = Annotated[Literal["fashion", "fashion-continuous"], option("which model", name="--model", section=MODEL)]
Models = Annotated[
    Path | None, option("checkpoints, instead of those that come along", "DIR", "--models", section=MODEL)
]
Device = Annotated[str, option("cpu or cuda", "NAME", "--device")]
Small = Annotated[bool, option("small sizes: only to see whether it runs", name="--small")]
Label = Annotated[str, option("of the class, or all", "NAME", "--label", section=DRAWN)]
GUIDANCE = typer.Option("--guidance", metavar="S", help="scale of guidance; 1 is none")


@dataclass(frozen=True)
class Rows:
    """How rows are made of logits, or kernels; None is the model's own way, for those that come along 1, and all."""

    section: ClassVar[str] = ROWS
    guidance: Annotated[float | None, GUIDANCE] = None
    temperature: Annotated[float | None, option("of the rows", "T", "--temperature")] = None
    top_k: Annotated[int | None, option("only the likeliest K tokens", "K", "--top-k")] = None
    top_p: Annotated[float | None, option("only the likeliest tokens, of mass P", "P", "--top-p")] = None

    def sampling(self) -> Sampling:
        """Of the models that come along. Raises ``ValueError`` for values that are out of range."""
        from simlab.models.process.sampling import Sampling

        return Sampling(**given_of(self))


@dataclass(frozen=True)
class Run:
    """Where it is drawn, and with which random numbers."""

    section: ClassVar[str] = RUN
    seed: Annotated[int, seed_option("of all random numbers")] = 0
    device: Device = "cpu"
    batch: Annotated[int, count_option("--batch", "images at a time")] = 32


@dataclass(frozen=True)
class Vectors:
    """Of continuous tokens alone; None is the default."""

    section: ClassVar[str] = VECTORS
    gamma: Annotated[int | None, option("continuous: drafts a block [default: 4]", "N", "--gamma", min=1)] = None
    prefill: Annotated[
        int | None, option("continuous: first tokens, the target's own [default: 0]", "N", "--prefill", min=0)
    ] = None
    steps: Annotated[int | None, option("continuous: denoising steps [default: 25]", "T", "--steps", min=1)] = None
    order: Annotated[
        Literal["raster", "random"] | None, option("continuous: of tokens [default: raster]", name="--order")
    ] = None
    spacing: Annotated[
        Literal["linspace", "trailing"] | None,
        option("continuous: which steps are taken [default: linspace]", name="--spacing"),
    ] = None
    least: Annotated[
        int | None, option("continuous: of the least noisy, left out [default: 0]", "N", "--least", min=0)
    ] = None
    variances: Annotated[
        Literal["learned", "posterior", "upper", "ddim"] | None,
        option("continuous: of the steps' noise [default: learned]", name="--variances"),
    ] = None

    def sampling(self, rows: Rows) -> VectorSettings:
        """How images are drawn. Raises ``ValueError`` for values that are out of range."""
        from experiments.models.continuous.kind import Settings
        from simlab.continuous.networks.sampler import Sampler

        names = "steps", "spacing", "least", "variances", "temperature", "guidance"
        given = given_of(self) | given_of(rows)
        return Settings(Sampler(**{name: given[name] for name in names if name in given}), self.order or "raster")

    @property
    def drafts(self) -> dict[str, int]:
        """Of ``gamma`` and ``prefill`` those that were given."""
        return {name: value for name, value in given_of(self).items() if name in ("gamma", "prefill")}


def sampling_of(model: str, rows: Rows, vectors: Vectors) -> Any:
    """How images are drawn, as the models called ``model`` take it. Raises ``ValueError`` for what is out of range."""
    return vectors.sampling(rows) if model == CONTINUOUS else rows.sampling()


def settings_of(model: str, method: str, settings: list[str] | None, vectors: Vectors) -> dict[str, Any]:
    """Parameters of a method of these models. Raises ``ValueError`` for what is none of its."""
    if model != CONTINUOUS:
        from experiments.models.discrete.methods import read_settings

        return read_settings(settings or [])
    from experiments.models.continuous.methods import AR

    if method == AR and vectors.drafts:
        raise ValueError(f"--gamma and --prefill are not for --method {AR}; expected neither")
    return vectors.drafts


def check_kind(model: str, rows: Rows, vectors: Vectors, **others: Any) -> None:
    """Raise :class:`UsageError` for options of the other kind of token; ``others`` are of discrete tokens alone."""
    if model == CONTINUOUS:
        refuse_given(model, top_k=rows.top_k, top_p=rows.top_p, **others)
    else:
        refuse_given(model, vectors)


def refuse_given(model: str, *options: Any, **others: Any) -> None:
    """Raise :class:`UsageError` naming the first that was given, of records and of options: none is for ``model``."""
    found = {name: value for record in options for name, value in given_of(record).items()} | others
    for name, value in found.items():
        if value not in (None, [], ()):
            shown = " ".join(map(str, value)) if isinstance(value, list) else value
            option = "--set" if name == "settings" else f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} {shown}: is not for --model {model}; expected none")
