"""Compare all methods on one model with the same labels and random numbers: cost, likelihood and quality.

Image i of every method is replicate i of the tape, i < n. The images they are tested against, drawn by ``ar``, are
replicates n to 2n - 1. Time is taken in runs of its own (:mod:`experiments.models.timing`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch

from experiments.models.distortion import distortion
from experiments.models.likelihood import likelihood, seen
from experiments.models.locality import Locality, locality
from experiments.models.methods import Method, make_method, nodes
from experiments.models.quality import FALSE_ALARMS, TESTS, Sample, checks, measures
from experiments.models.session import Models, Samples, draw, pictures, sampling_record
from experiments.models.timing import RUNS, timing
from experiments.results import versions
from experiments.sweeps.replay import verifies
from experiments.training.commands import device_name, sha256
from experiments.training.data import SIDE, load_fashion
from experiments.training.tokenizer import as_images
from simlab.models.adapters.fashion import CLASSES
from simlab.models.process.sampling import Sampling
from simlab.rules import codebook_distances
from simlab.statistics import Estimate, estimate

CONTEXT_IMAGES = 32  # at most, for distortion and for locality
SHOWN = 12  # images of each method in the grid, at most

Notify = Callable[[str], None]

MEASURES = {
    "steps": "calls of the target an image",
    "compression": "tokens a call of the target: the mean of images, and pooled, all tokens by all calls",
    "committed": "tokens added by a call; the histogram counts calls that added 1, 2, ...",
    "seconds": "wall-clock seconds an image, after a run to warm up",
    "target_ms, draft_ms, overhead_ms": "milliseconds a step of the batch: the target, what drafts, and the rest",
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


class Outcome(NamedTuple):
    """What :func:`compare` finds: a document, and what is too large for it."""

    document: dict[str, Any]
    arrays: dict[str, np.ndarray]


def compare(models: Models, request: Request, notify: Notify) -> Outcome:
    """Run and measure every method. Raises ``ValueError`` for an unknown one, or models that do not fit together."""
    methods = [make_method(name, models.codebook) for name in request.methods]
    labels = labels_for(request.seed, 2 * request.count)
    lossless = sum(method.lossless for method in methods)
    level = FALSE_ALARMS / max(1, lossless * len(TESTS))

    notify("ar, other numbers")
    ar = make_method("ar", models.codebook)
    reference_labels = labels[request.count :]
    others = draw(models, ar, reference_labels, request.seed, request.sampling, request.batch, first=request.count)
    reference, _ = _assessed(models, reference_labels, others, request)
    held_out = held_out_features(models, request)
    rows, samples, images, bits = [], [], [], []
    for method in methods:
        notify(method.name)
        own = draw(models, method, labels[: request.count], request.seed, request.sampling, request.batch)
        sample, displayed = _assessed(models, labels[: request.count], own, request)
        notify(f"{method.name}, quality")
        few = labels[: min(request.count, CONTEXT_IMAGES)]
        rows.append(
            _described(method)
            | counted(own)
            | {"quality": measures(sample, reference, held_out)}
            | {
                "distortion": None
                if method.lossless
                else distortion(models, method, few, request.seed, request.sampling)
            }
            | {"checks": checks(sample, reference, level, request.seed) if method.lossless else None}
            | {"timing": [_timed(models, method, request, batch, notify) for batch in request.timing]}
        )
        samples.append(own)
        images.append(displayed)
        bits.append(sample.bits)
    _speed_up(rows)
    notify("locality")
    first = min(request.count, CONTEXT_IMAGES)
    near = locality(models, reference_labels[:first], others.tokens[:first], request.seed, request.sampling)
    document = _head(models, request, lossless, level) | {"methods": rows, "locality": _locality(near)}
    return Outcome(document, _arrays(models, request, labels, samples, images, bits, near))


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


def accepted_share(samples: Samples, shape: tuple[int, int]) -> np.ndarray:
    """``float64[rows, columns]``: the share of images whose token at a place is an accepted draft."""
    start = np.cumsum(samples.committed, axis=1) - samples.committed
    place = np.arange(samples.tokens.shape[1])
    inside = (place >= start[..., None]) & (place < (start + samples.accepted)[..., None])
    return inside.any(axis=1).mean(axis=0).reshape(shape)


def labels_for(seed: int, count: int) -> np.ndarray:
    """``int64[count]``: a class for each image, drawn like everything else; the first do not depend on ``count``."""
    return np.random.Generator(np.random.Philox(seed)).integers(len(CLASSES), size=count)


def held_out_features(models: Models, request: Request) -> np.ndarray | None:
    """``float64[n, features]`` of as many held-out images as are drawn; None where there is no data on this machine, or
    the models are for images of another size.

    Raises ``ValueError`` for a folder that was named and has none.
    """
    if models.classifier.config.side != SIDE and request.data is None:
        return None
    try:
        data = load_fashion(request.data, fetch=_nothing).held_out
    except ValueError:
        if request.data is not None:
            raise
        return None
    pixels, labels = data.pixels[: request.count], data.labels[: request.count]
    return seen(models, labels, as_images(pixels), request.batch).features


# Parts ------------------------------------------------------------------------------------------------------------


def _assessed(models: Models, labels: np.ndarray, samples: Samples, request: Request) -> tuple[Sample, torch.Tensor]:
    images = pictures(models, samples.tokens, request.batch)
    found = likelihood(models, labels, samples.tokens, request.sampling, request.batch)
    return Sample(found, seen(models, labels, images, request.batch)), images


def _timed(models: Models, method: Method, request: Request, batch: int, notify: Notify) -> dict[str, Any]:
    notify(f"{method.name}, time at batch {batch}")
    return timing(models, method, labels_for(request.seed, RUNS * batch), request.seed, request.sampling)


def _speed_up(rows: list[dict[str, Any]]) -> None:
    """Say of every timing how many times as fast it is as ar at the same batch; None without ar."""
    base = {entry["batch"]: entry["seconds"] for row in rows if row["method"] == "ar" for entry in row["timing"]}
    for row in rows:
        for entry in row["timing"]:
            known = base.get(entry["batch"])
            entry["speedup"] = None if known is None else known / entry["seconds"]


def _described(method: Method) -> dict[str, Any]:
    return {
        "method": method.name,
        "decoder": method.decoder_name,
        "rule": method.rule_name if verifies(method.decoder) else None,
        "drafter": method.drafter,
        "lossless": method.lossless,
        "nodes": nodes(method.decoder),
        "settings": method.settings,
    }


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
        "seed": request.seed,
        "device": device_name(models.device),
        "threads": torch.get_num_threads(),
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


def _arrays(
    models: Models,
    request: Request,
    labels: np.ndarray,
    samples: Sequence[Samples],
    images: Sequence[torch.Tensor],
    bits: Sequence[np.ndarray],
    near: Locality,
) -> dict[str, np.ndarray]:
    own = labels[: request.count]
    columns = np.sort(np.unique(own, return_index=True)[1])[:SHOWN]  # one of each class
    return {
        "method": np.array(request.methods),
        "labels": own,
        "tokens": np.stack([each.tokens for each in samples]).astype(np.int32),
        "steps": np.stack([each.steps for each in samples]),
        "bits": np.stack(bits),
        "kept": np.stack([accepted_share(each, models.target.config.shape) for each in samples]),
        "shown": columns,
        "images": np.stack([np.rint(255 * each[columns, 0].numpy()).astype(np.uint8) for each in images]),
        "offsets": near.offsets,
        "locality": near.tv,
        "locality_error": near.error,
    }


def _locality(near: Locality) -> dict[str, Any]:
    values = {name: getattr(near, name).tolist() for name in ("offsets", "tv", "error")}
    return values | {"images": near.images, "places": near.places}


def _estimate(found: Estimate) -> dict[str, float]:
    return {"mean": found.mean, "error": found.error}


def _nothing(address: str) -> bytes:
    raise ValueError(f"{address}: is not downloaded here")
