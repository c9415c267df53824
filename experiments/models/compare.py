"""Compare methods on one model with the same labels and random numbers: cost, images, and whether they follow it.

Image i of every method is replicate i of the tape, i < n. The images they are tested against, drawn by the target
alone, are replicates n to 2n - 1. What is measured is the kind of token's (:class:`Comparison`).

It goes round by round: a document of ``FIRST`` images of each method, then of twice as many, until all n are there.
Times take about as long as the first images: in each round but the first they are taken at one batch more. What is
finished is kept in pieces, of which every document is made, so a comparison that was stopped goes on with the next
piece, and ends as if it had not been.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise, takewhile
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch

from experiments.kept import Arrays, Kept
from experiments.machine import facts
from experiments.models.curve import clock_of
from experiments.models.likelihood import classified
from experiments.models.quality import FALSE_ALARMS
from experiments.models.session import Models, labels_for
from experiments.results import device_name, sha256, versions
from experiments.training.data import SIDE, load_fashion
from experiments.training.tokenizer import as_images
from simlab.models.adapters.fashion import CLASSES
from simlab.statistics import Estimate

# of the document, what all pieces depend on, beside the processor
DEPENDS = "model", "sampling", "settings", "gamma", "prefill", "asked", "batch", "seed", "device", "threads", "versions"
FIRST = 16  # images of each method in the first document
CHUNK = 64  # of a piece, at most

Notify = Callable[..., None]  # called with what begins, and how many images that is, if it is any


@dataclass(frozen=True)
class Request:
    """What is to be compared."""

    methods: tuple[str, ...]
    count: int
    batch: int
    timing: tuple[int, ...]  # batches
    seed: int
    sampling: Any  # as the models take it
    data: Path | None
    settings: Mapping[str, Any] = field(default_factory=dict)  # of every method


class Outcome(NamedTuple):
    """What :func:`compare` finds: a document, and what is too large for it."""

    document: dict[str, Any]
    arrays: dict[str, np.ndarray]


class Comparison(ABC):
    """What is measured of one kind of token.

    Images of a method, with what is said of them, are whatever :meth:`drawn` makes of arrays; they have ``shown``.

    Raises ``ValueError`` for an unknown method.

    Attributes
    ----------
    measures
        What the names in the document mean.
    target
        What the target alone is called.
    methods, alone
        The methods, and for each how the target alone draws what it is tested against.
    """

    measures: Mapping[str, str]
    target: str

    def __init__(self, models: Any, request: Request) -> None:
        self.models, self.request = models, request
        self.methods = [self.method(name) for name in request.methods]
        self.alone = [self.reference(method) for method in self.methods]

    @property
    def draws(self) -> list[tuple[Any, int]]:
        """What draws images, and the number of its first: the target alone, and every method."""
        count = self.request.count
        return [(each, count) for each in dict.fromkeys(self.alone)] + [(method, 0) for method in self.methods]

    @property
    @abstractmethod
    def tests(self) -> int:
        """How many tests all methods have together."""

    @abstractmethod
    def method(self, name: str) -> Any:
        """The method called ``name`` with the settings of the request."""

    @abstractmethod
    def reference(self, method: Any) -> Any:
        """How the target alone draws what a method is tested against; the same object where it is the same."""

    @abstractmethod
    def known(self, method: Any) -> dict[str, Any]:
        """What images of a method depend on, beside their numbers."""

    @abstractmethod
    def shown(self, labels: np.ndarray) -> np.ndarray:
        """Which images are shown of those of ``labels[n]``, in order: of more images these and others behind them."""

    @abstractmethod
    def images(self, method: Any, labels: np.ndarray, first: int) -> tuple[Any, Arrays]:
        """Samples, the first with replicate ``first``, and what the models say of them."""

    @abstractmethod
    def drawn(self, arrays: Arrays) -> Any:
        """Images of a method, of all arrays of its pieces together."""

    @abstractmethod
    def row(self, method: Any, own: Any, reference: Any, level: float, held_out: np.ndarray | None) -> dict[str, Any]:
        """What the document says of a method, but for times."""

    @abstractmethod
    def timed(self, batch: int, notify: Notify) -> dict[str, Any]:
        """Times of all methods at a batch, by name."""

    @abstractmethod
    def timing(self, method: Any, own: Any, times: Sequence[dict[str, Any]], beside: dict[str, Any]) -> Any:
        """What the document says of a method's times, which are those of all methods, by batch."""

    @abstractmethod
    def head(self) -> dict[str, Any]:
        """What the document says of the kind."""

    @abstractmethod
    def arrays(self, drawn: Sequence[Any]) -> Arrays:
        """What is too large for the document."""

    def beside(
        self, kept: Kept, reference: Any, batches: Sequence[int], notify: Notify
    ) -> tuple[dict[str, Any], Arrays]:
        """What the document, with times at ``batches``, and the arrays hold of no method in particular."""
        return {}, {}


def sizes(count: int) -> list[int]:
    """Of how many images each document is: twice as many as the last, up to ``count``."""
    return [*takewhile(lambda n: n < count, (FIRST << k for k in range(count.bit_length()))), count]


def compare(own: Comparison, notify: Notify, folder: Path) -> Iterator[Outcome]:
    """Run and measure every method, round by round; finished pieces are kept in ``folder``.

    A round is told of unless the next was finished too, by an earlier run. After the last, the pieces are removed; what
    else is in the folder stays. Raises ``ValueError`` for models that do not fit together.
    """
    request, ends = own.request, sizes(own.request.count)
    held_out = held_out_features(own.models, request)
    head = _head(own)
    depends = {name: head[name] for name in DEPENDS if name in head}
    kept = Kept(folder, depends | {"processor": head["machine"]["processor"]})
    blocks = [list(_blocks(first, end)) for first, end in pairwise([0, *ends])]
    there = [all(kept.has(_known(own, *each, *block)) for each in own.draws for block in of) for of in blocks]
    pieces: dict[tuple[Any, int], list[Arrays]] = {each: [] for each in own.draws}
    for number, (end, of) in enumerate(zip(ends, blocks, strict=True)):
        for (each, first), found in pieces.items():
            for begin, count in of:
                notify(f"{each.name}, image {begin} of {end}", count)
                make = partial(_piece, own, each, first + begin, count)
                found.append(kept.piece(_known(own, each, first, begin, count), make))
        if number + 1 < len(ends) and there[number + 1]:
            continue
        batches = request.timing if end == request.count else request.timing[:number]
        yield _outcome(own, head | {"n": end}, pieces, held_out, batches, kept, notify)
    kept.remove()


def table(document: dict[str, Any]) -> pd.DataFrame:
    """A row a method: all single numbers of a document, times at a batch B under ``timing.B``."""
    flat = []
    for row in document["methods"]:
        own = {name: value for name, value in row.items() if name not in ("settings", "timing")}
        times = {str(each["batch"]): {k: v for k, v in each.items() if k != "batch"} for each in row["timing"]}
        flat.append(own | {"timing": times})
    frame = pd.json_normalize(flat, sep=".")
    return frame[[name for name in frame.columns if not frame[name].map(lambda value: isinstance(value, list)).any()]]


def held_out_features(models: Models, request: Request) -> np.ndarray | None:
    """``float64[n, features]`` of as many held-out images as are drawn; None where there is no data on this machine, or
    the models are for images of another size.

    Raises ``ValueError`` for a folder that was named and has none.
    """
    if models.classifier.config.side != SIDE and request.data is None:
        return None
    try:
        data = load_fashion(request.data, fetch=_no_download).held_out
    except ValueError:
        if request.data is not None:
            raise
        return None
    pixels, labels = data.pixels[: request.count], data.labels[: request.count]
    return classified(models, labels, as_images(pixels), request.batch).features


def estimate_record(found: Estimate) -> dict[str, float | None]:
    """An estimate, to be written down; without an error where there is none."""
    return {"mean": found.mean, "error": None if isnan(found.error) else found.error}


# Parts ------------------------------------------------------------------------------------------------------------


def _blocks(first: int, end: int) -> Iterator[tuple[int, int]]:
    """The images of each piece: the number of the first, and how many."""
    for begin in range(first, end, CHUNK):
        yield begin, min(CHUNK, end - begin)


def _known(own: Comparison, method: Any, first: int, begin: int, count: int) -> dict[str, Any]:
    return own.known(method) | {"first": first + begin, "count": count}


def _piece(own: Comparison, method: Any, first: int, count: int) -> Arrays:
    labels = labels_for(own.request.seed, first + count)
    shown = own.shown(labels)
    shown, labels = shown[shown >= first] - first, labels[first:]
    samples, more = own.images(method, labels, first)
    images = own.models.pictures(samples, own.request.batch)
    classes = classified(own.models, labels, torch.from_numpy(images)[:, None], own.request.batch)
    return {**samples._asdict(), **classes._asdict(), "shown": np.rint(255 * images[shown]).astype(np.uint8), **more}


def _outcome(
    own: Comparison,
    head: dict[str, Any],
    pieces: Mapping[tuple[Any, int], Sequence[Arrays]],
    held_out: np.ndarray | None,
    batches: Sequence[int],
    kept: Kept,
    notify: Notify,
) -> Outcome:
    """What is known of the first images, by pieces of each method."""
    request, n = own.request, head["n"]
    drawn = {
        each: own.drawn({name: np.concatenate([piece[name] for piece in of]) for name in of[0]})
        for each, of in pieces.items()
    }
    images = [drawn[method, 0] for method in own.methods]
    references = [drawn[alone, request.count] for alone in own.alone]
    beside, arrays = own.beside(kept, references[0], batches, notify)
    times = []
    for batch in batches:
        known = {"timing": batch, "methods": list(request.methods), **request.settings}
        times.append(kept.document(known, partial(own.timed, batch, notify)))
    data = None if held_out is None else held_out[:n]
    rows = [
        own.row(method, each, reference, head["testing"]["level"], data)
        | {"timing": own.timing(method, each, times, beside)}
        for method, each, reference in zip(own.methods, images, references, strict=True)
    ]
    shared = {
        "method": np.array(request.methods),
        "labels": labels_for(request.seed, n),
        "images": np.stack([each.shown for each in images]),
    }
    return Outcome(head | {"methods": rows} | beside, shared | own.arrays(images) | arrays)


def _head(own: Comparison) -> dict[str, Any]:
    models, request = own.models, own.request
    paths = {name: models.folder / f"{name}.safetensors" for name in models.files}
    return {
        "model": {
            "name": models.name,
            "sha256": {name: sha256(path) for name, path in paths.items() if path.is_file()},
        },
        "shape": list(models.shape),
        "classes": list(CLASSES),
        "n": request.count,
        "asked": request.count,
        "batch": request.batch,
        "seed": request.seed,
        "device": device_name(models.device),
        "threads": torch.get_num_threads(),
        "machine": facts(),
        "clock": clock_of(models.device)[1],
        "versions": {**versions(), "torch": torch.__version__},
        "measures": dict(own.measures),
        "testing": {
            "against": f"as many images of {own.target} with other random numbers",
            "false_alarms": FALSE_ALARMS,
            "tests": own.tests,
            "level": FALSE_ALARMS / max(1, own.tests),
        },
        **own.head(),
    }


def _no_download(address: str) -> bytes:
    raise ValueError(f"{address}: is not downloaded here")
