"""Compare methods on one model with the same labels and random numbers: cost, images, and whether they follow it.

Image i of every method is replicate i of the tape, i < n. The images they are tested against, drawn by the target
alone, are replicates n to 2n - 1. What is measured is the kind of token's (:class:`Comparison`).

What takes long is kept in pieces as it is finished: images of each method with all that is said of them, and times at
each batch. Of these the document is made, so a comparison that was stopped goes on with the next piece.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch

from experiments.bench.machine import facts
from experiments.models.curve import clock_of
from experiments.models.kept import Arrays, Kept
from experiments.models.likelihood import classified
from experiments.models.quality import FALSE_ALARMS
from experiments.models.session import Models, labels_for
from experiments.models.timing import ROUNDS
from experiments.results import device_name, sha256, versions
from experiments.training.data import SIDE, load_fashion
from experiments.training.tokenizer import as_images
from simlab.models.adapters.fashion import CLASSES
from simlab.statistics import Estimate

# of the document, what all pieces depend on
DEPENDS = "model", "sampling", "settings", "gamma", "prefill", "n", "batch", "seed", "device", "threads", "versions"

Notify = Callable[[str], None]


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

    Attributes
    ----------
    measures
        What the names in the document mean.
    target
        What the target alone is called.
    told
        How often :func:`compare` says how far it is, beside once a piece and once a method and round of times.
    methods, alone
        The methods, and for each how the target alone draws what it is tested against.

    Raises
    ------
    ValueError
        For an unknown method.
    """

    measures: Mapping[str, str]
    target: str
    told: int

    def __init__(self, models: Any, request: Request) -> None:
        self.models, self.request = models, request
        self.methods = [self.method(name) for name in request.methods]
        self.alone = [self.reference(method) for method in self.methods]

    @property
    def chunk(self) -> int:
        """Images of a piece."""
        return self.request.count

    @property
    def notices(self) -> int:
        """How often :func:`compare` says how far it is."""
        drawn = len(self.methods) + len(set(self.alone))
        times = len(self.request.timing) * (1 + ROUNDS) * len(self.methods)
        return drawn * -(-self.request.count // self.chunk) + times + self.told

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
        """Which images of a piece are shown, of those of ``labels[n]``."""

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

    def beside(self, kept: Kept, reference: Any, notify: Notify) -> tuple[dict[str, Any], Arrays]:
        """What the document and the arrays hold of no method in particular."""
        return {}, {}


def compare(own: Comparison, notify: Notify, folder: Path) -> Outcome:
    """Run and measure every method; finished pieces are kept in ``folder`` until the last is there.

    Raises ``ValueError`` for models that do not fit together.
    """
    request = own.request
    level = FALSE_ALARMS / max(1, own.tests)
    held_out = held_out_features(own.models, request)
    head = _head(own, level)
    kept = Kept(folder, {name: head[name] for name in DEPENDS if name in head})
    references = {each: _drawn(own, each, request.count, kept, notify) for each in dict.fromkeys(own.alone)}
    drawn = [_drawn(own, method, 0, kept, notify) for method in own.methods]
    beside, arrays = own.beside(kept, next(iter(references.values())), notify)
    times = []
    for batch in request.timing:
        known = {"timing": batch, "methods": list(request.methods), **request.settings}
        times.append(document_of(kept.piece(known, partial(_timed, own, batch, notify))))
    rows = [
        own.row(method, each, references[alone], level, held_out) | {"timing": own.timing(method, each, times, beside)}
        for method, each, alone in zip(own.methods, drawn, own.alone, strict=True)
    ]
    shared = {
        "method": np.array(request.methods),
        "labels": labels_for(request.seed, request.count),
        "images": np.stack([each.shown for each in drawn]),
    }
    return Outcome(head | {"methods": rows} | beside, shared | own.arrays(drawn) | arrays)


def table(document: dict[str, Any]) -> pd.DataFrame:
    """A row a method: all single numbers of a document, those of several batches under ``timing.B`` for each."""
    flat = []
    for row in document["methods"]:
        own = {name: value for name, value in row.items() if name not in ("settings", "timing")}
        times = row["timing"]
        if isinstance(times, list):
            times = {str(each["batch"]): {k: v for k, v in each.items() if k != "batch"} for each in times}
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


def as_arrays(document: Any) -> Arrays:
    """A document among arrays."""
    return {"document": np.array([json.dumps(document)])}


def document_of(arrays: Arrays) -> Any:
    """The document among arrays."""
    return json.loads(str(arrays["document"][0]))


def estimate_record(found: Estimate) -> dict[str, float]:
    """An estimate, to be written down."""
    return {"mean": found.mean, "error": found.error}


# Parts ------------------------------------------------------------------------------------------------------------


def _drawn(own: Comparison, method: Any, first: int, kept: Kept, notify: Notify) -> Any:
    """The images of a method from replicate ``first`` on."""
    pieces = []
    for begin in range(first, first + own.request.count, own.chunk):
        notify(f"{method.name}, image {begin}")
        count = min(own.chunk, first + own.request.count - begin)
        known = own.known(method) | {"first": begin, "count": count}
        pieces.append(kept.piece(known, partial(_piece, own, method, begin, count)))
    return own.drawn({name: np.concatenate([each[name] for each in pieces]) for name in pieces[0]})


def _piece(own: Comparison, method: Any, first: int, count: int) -> Arrays:
    labels = labels_for(own.request.seed, first + count)[first:]
    samples, more = own.images(method, labels, first)
    images = own.models.pictures(samples, own.request.batch)
    classes = classified(own.models, labels, torch.from_numpy(images)[:, None], own.request.batch)
    shown = np.rint(255 * images[own.shown(labels)]).astype(np.uint8)
    return {**samples._asdict(), **classes._asdict(), "shown": shown, **more}


def _timed(own: Comparison, batch: int, notify: Notify) -> Arrays:
    return as_arrays(own.timed(batch, notify))


def _head(own: Comparison, level: float) -> dict[str, Any]:
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
        "batch": request.batch,
        "seed": request.seed,
        "device": device_name(models.device),
        "threads": torch.get_num_threads(),
        "machine": facts(),
        "clock": clock_of(models.device)[1],
        "versions": {**versions(), "torch": torch.__version__},
        "measures": dict(own.measures),
        "testing": {
            "against": f"{request.count} images of {own.target} with other random numbers",
            "false_alarms": FALSE_ALARMS,
            "tests": own.tests,
            "level": level,
        },
        **own.head(),
    }


def _no_download(address: str) -> bytes:
    raise ValueError(f"{address}: is not downloaded here")
