"""Compare all methods on one model with the same labels and random numbers: cost, likelihood and quality.

Image i of every method is replicate i of the tape, i < n. The images they are tested against, drawn by ``ar``, are
replicates n to 2n - 1. Time is taken in runs of its own (:mod:`experiments.models.timing`). All calls but those of
``ar`` and of draft models ask for as many rows (:mod:`experiments.models.methods`).

What takes long is kept in pieces as it is finished: the images of each method with all that a model says of them, and
the times at each batch. Of these the document is made, so a comparison that was stopped goes on with the next piece.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch

from experiments.bench.machine import facts
from experiments.models import curve
from experiments.models.choice import predict
from experiments.models.compression import Candidate, Compression
from experiments.models.distortion import distortion
from experiments.models.kept import Arrays, Kept
from experiments.models.likelihood import Classified, Likelihood, classified, likelihood
from experiments.models.locality import Locality, locality
from experiments.models.methods import NODES, Method, make_method, nodes, rows, with_drafts
from experiments.models.quality import FALSE_ALARMS, TESTS, Sample, checks, measures
from experiments.models.session import Models, Samples, draw, labels_for, pictures, sampling_record
from experiments.models.timing import ROUNDS, timing
from experiments.results import device_name, sha256, versions
from experiments.training.data import SIDE, load_fashion
from experiments.training.tokenizer import as_images
from simlab.decoders import verifies
from simlab.models.adapters.fashion import CLASSES
from simlab.models.process.sampling import Sampling
from simlab.rules import codebook_distances
from simlab.statistics import Estimate, estimate

# of the document, what all pieces depend on
DEPENDS = "model", "sampling", "n", "batch", "seed", "device", "threads", "versions"
CONTEXT_IMAGES = 32  # at most, for distortion and for locality
SHOWN = 12  # images of each method in the grid, at most

Notify = Callable[[str], None]

MEASURES = {
    "steps": "calls of the target an image",
    "rows": "of each image that a call of the target asks for: one behind every draft, and one before all",
    "compression": "tokens a call of the target: the mean of images, and pooled, all tokens by all calls",
    "committed": "tokens added by a call; the histogram counts calls that added 1, 2, ...",
    "seconds": "an image, after a run to warm up, by the clock that is named: on one thread of a CPU its own time",
    "speedup": "seconds of ar over those of the method in the same round, which draws the same labels by every method",
    "predicted": "pooled tokens a call, times what a call for one row costs over what one for all rows and drafts do",
    "ms": "milliseconds a step of the batch, by part: model, sampling, cache, drafting by another model, and "
    "verification, which is all else: coins, acceptance, residuals, and drafts from the target's own rows",
    "bits_per_token": "-log2 of a token's probability under the rows that are sampled from",
    "accuracy": "share of images that simlab's classifier takes for what their label says",
    "frechet_to_ar": "Frechet distance on features of simlab's classifier to images of ar with other random numbers",
    "frechet_to_held_out": "Frechet distance on features of simlab's classifier to as many held-out images",
    "tv, wasserstein": "of the law of a committed token to the target's row, and in distances of the codebook",
    "kept": "share of images whose token at a place is an accepted draft",
}


@dataclass(frozen=True)
class Request:
    """What is to be compared."""

    methods: tuple[str, ...]
    count: int
    batch: int
    timing: tuple[int, ...]  # batches
    seed: int
    sampling: Sampling
    data: Path | None
    drafts: int | None = None  # a call of every method; by default ``NODES`` in windows, and few of draft models


class Outcome(NamedTuple):
    """What :func:`compare` finds: a document, and what is too large for it."""

    document: dict[str, Any]
    arrays: dict[str, np.ndarray]


class Drawn(NamedTuple):
    """Images of one method, and what models say of them."""

    samples: Samples
    sample: Sample
    shown: np.ndarray  # uint8[shown, side, side]
    distortion: dict[str, float] | None


def compare(models: Models, request: Request, notify: Notify, folder: Path) -> Outcome:
    """Run and measure every method; finished pieces are kept in ``folder`` until the last is there.

    Raises ``ValueError`` for an unknown method, or models that do not fit together.
    """
    methods = [_method(name, models, request) for name in request.methods]
    lossless = sum(method.lossless for method in methods)
    level = FALSE_ALARMS / max(1, lossless * len(TESTS))
    held_out = held_out_features(models, request)
    head = _head(models, request, lossless, level)
    kept = Kept(folder, {name: head[name] for name in DEPENDS})

    notify("ar, other numbers")
    ar = make_method("ar", models.codebook)
    reference = _drawn_of(kept.piece({"reference": True}, partial(_drawn, models, ar, request, request.count)))
    drawn = []
    for method in methods:
        notify(method.name)
        known: dict[str, Any] = {"method": method.name, "settings": method.settings}
        drawn.append(_drawn_of(kept.piece(known, partial(_drawn, models, method, request))))
    notify("locality")
    near = _locality_of(kept.piece({"locality": True}, partial(_near, models, request, reference.samples)))
    notify("cost of calls")
    costs = _document_of(kept.piece({"costs": list(request.timing)}, partial(_costs, models, request)))
    times = []
    for batch in request.timing:
        known = {"batch": batch, "methods": list(request.methods), "drafts": request.drafts}
        times.append(_document_of(kept.piece(known, partial(_timed, models, methods, request, batch, notify))))
    found = [
        _described(method)
        | counted(own.samples)
        | {"quality": measures(own.sample, reference.sample, held_out), "distortion": own.distortion}
        | {"checks": checks(own.sample, reference.sample, level, request.seed) if method.lossless else None}
        | {
            "timing": [
                each[method.name] | predicted(method, own.samples, costs, each[method.name]["batch"]) for each in times
            ]
        }
        for method, own in zip(methods, drawn, strict=True)
    ]
    document = head | {"methods": found, "locality": _locality_record(near), "costs": costs}
    return Outcome(document, _arrays(models, request, drawn, near))


def table(document: dict[str, Any]) -> pd.DataFrame:
    """A row a method: all single numbers of a document, those of the timing under ``timing.B`` for each batch B."""
    flat = []
    for row in document["methods"]:
        own = {name: value for name, value in row.items() if name not in ("settings", "timing")}
        own["timing"] = {
            str(entry["batch"]): {name: value for name, value in entry.items() if name != "batch"}
            for entry in row["timing"]
        }
        flat.append(own)
    frame = pd.json_normalize(flat, sep=".")
    return frame.drop(columns=[name for name in frame.columns if str(name).endswith("histogram")])


def counted(samples: Samples) -> dict[str, Any]:
    """Steps, step compression, and what calls added."""
    length = samples.tokens.shape[1]
    added = samples.committed[samples.committed > 0]
    return {
        "steps": _estimate(estimate(samples.steps)),
        "compression": _estimate(estimate(length / samples.steps))
        | {"pooled": float(length * len(samples.steps) / samples.steps.sum())},
        "committed": {"mean": float(added.mean()), "histogram": np.bincount(added)[1:].tolist()},
        "accepted": {"mean": float(samples.accepted[samples.committed > 0].mean())},
    }


def predicted(method: Method, samples: Samples, costs: dict[str, Any], batch: int) -> dict[str, float]:
    """The speedup that follows from tokens a call and what calls cost, whatever was timed."""
    drafts = nodes(method.decoder) if method.drafter else 0
    tokens = samples.tokens.size / samples.steps.sum()
    step = Compression(Candidate(method.name, {}), method.drafter, rows(method.decoder), drafts, tokens, 0.0)
    return {"predicted": predict(step, curve.curve_of(costs), batch).speedup}


def accepted_share(samples: Samples, shape: tuple[int, int]) -> np.ndarray:
    """``float64[rows, columns]``: the share of images whose token at a place is an accepted draft."""
    start = np.cumsum(samples.committed, axis=1) - samples.committed
    place = np.arange(samples.tokens.shape[1])
    inside = (place >= start[..., None]) & (place < (start + samples.accepted)[..., None])
    return inside.any(axis=1).mean(axis=0).reshape(shape)


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


# Parts ------------------------------------------------------------------------------------------------------------


def _drawn(models: Models, method: Method, request: Request, first: int = 0) -> Arrays:
    """The images of a method from replicate ``first`` on, and what models say of them, as arrays."""
    labels = labels_for(request.seed, first + request.count)[first:]
    samples = draw(models, method, labels, request.seed, request.sampling, request.batch, first)
    images = pictures(models, samples.tokens, request.batch)
    found = likelihood(models, labels, samples.tokens, request.sampling, request.batch)
    classes = classified(models, labels, images, request.batch)
    few = labels[: min(request.count, CONTEXT_IMAGES)]
    far = None if method.lossless else distortion(models, method, few, request.seed, request.sampling)
    return {
        **samples._asdict(),
        **found._asdict(),
        **classes._asdict(),
        "shown": np.rint(255 * images[_first_of_each_class(labels), 0].numpy()).astype(np.uint8),
        **_as_arrays(far),
    }


def _drawn_of(arrays: Arrays) -> Drawn:
    samples = Samples(*(arrays[name] for name in Samples._fields))
    found = Likelihood(*(arrays[name] for name in Likelihood._fields))
    classes = Classified(*(arrays[name] for name in Classified._fields))
    return Drawn(samples, Sample(found, classes), arrays["shown"], _document_of(arrays))


def _timed(models: Models, methods: Sequence[Method], request: Request, batch: int, notify: Notify) -> Arrays:
    labels = labels_for(request.seed, ROUNDS * batch)
    return _as_arrays(timing(models, methods, labels, request.seed, request.sampling, notify))


def _costs(models: Models, request: Request) -> Arrays:
    """What calls of the target, and drafts, cost at the batches that are timed."""
    return _as_arrays(curve.measure(models, request.sampling, request.timing))


def _near(models: Models, request: Request, samples: Samples) -> Arrays:
    labels, first = labels_for(request.seed, 2 * request.count)[request.count :], min(request.count, CONTEXT_IMAGES)
    found = locality(models, labels[:first], samples.tokens[:first], request.seed, request.sampling)
    return {name: np.asarray(value) for name, value in found._asdict().items()}


def _locality_of(arrays: Arrays) -> Locality:
    images, places = (int(arrays[name]) for name in ("images", "places"))
    return Locality(arrays["offsets"], arrays["tv"], arrays["error"], images, places)


def _as_arrays(document: Any) -> Arrays:
    """A document among arrays."""
    return {"document": np.array(json.dumps(document))}


def _document_of(arrays: Arrays) -> Any:
    return json.loads(str(arrays["document"]))


def _first_of_each_class(labels: np.ndarray) -> np.ndarray:
    """The first image of each class."""
    return np.sort(np.unique(labels, return_index=True)[1])[:SHOWN]


def _described(method: Method) -> dict[str, Any]:
    return {
        "method": method.name,
        "decoder": method.decoder_name,
        "rule": method.rule_name if verifies(method.decoder) else None,
        "drafter": method.drafter,
        "lossless": method.lossless,
        "nodes": nodes(method.decoder),
        "rows": rows(method.decoder),
        "settings": method.settings,
    }


def _method(name: str, models: Models, request: Request) -> Method:
    if request.drafts is None:
        return make_method(name, models.codebook)
    return with_drafts(name, models.codebook, request.drafts)


def _head(models: Models, request: Request, lossless: int, level: float) -> dict[str, Any]:
    kinds = "tokenizer", "target", "draft", "head", "classifier"
    paths = {kind: models.folder / f"{kind}.safetensors" for kind in kinds}
    away = codebook_distances(models.codebook)
    np.fill_diagonal(away, np.inf)
    return {
        "model": {"name": "fashion", "sha256": {kind: sha256(path) for kind, path in paths.items() if path.is_file()}},
        "shape": list(models.target.config.shape),
        "vocabulary": models.target.config.vocabulary,
        "classes": list(CLASSES),
        "sampling": sampling_record(request.sampling),
        "n": request.count,
        "batch": request.batch,
        "drafts": request.drafts or NODES,
        "seed": request.seed,
        "device": device_name(models.device),
        "threads": torch.get_num_threads(),
        "machine": facts(),
        "clock": curve.clock_of(models.device)[1],
        "versions": {**versions(), "torch": torch.__version__},
        "measures": MEASURES,
        "memory": "torch.cuda.max_memory_allocated" if models.device.type == "cuda" else "not measured on a CPU",
        "nearest_codes": float(away.min(axis=1).mean()),
        "testing": {
            "against": f"{request.count} images of ar with other random numbers",
            "false_alarms": FALSE_ALARMS,
            "tests": lossless * len(TESTS),
            "level": level,
        },
    }


def _arrays(models: Models, request: Request, drawn: Sequence[Drawn], near: Locality) -> dict[str, np.ndarray]:
    labels = labels_for(request.seed, request.count)
    samples = [own.samples for own in drawn]
    return {
        "method": np.array(request.methods),
        "labels": labels,
        "tokens": np.stack([each.tokens for each in samples]).astype(np.int32),
        "steps": np.stack([each.steps for each in samples]),
        "bits": np.stack([own.sample.bits for own in drawn]),
        "kept": np.stack([accepted_share(each, models.target.config.shape) for each in samples]),
        "shown": _first_of_each_class(labels),
        "images": np.stack([own.shown for own in drawn]),
        "offsets": near.offsets,
        "locality": near.tv,
        "locality_error": near.error,
    }


def _locality_record(near: Locality) -> dict[str, Any]:
    values = {name: getattr(near, name).tolist() for name in ("offsets", "tv", "error")}
    return values | {"images": near.images, "places": near.places}


def _estimate(found: Estimate) -> dict[str, float]:
    return {"mean": found.mean, "error": found.error}


def _no_download(address: str) -> bytes:
    raise ValueError(f"{address}: is not downloaded here")
