"""Compare methods for continuous tokens on one pair: acceptance, cost, quality, and whether they follow the target.

Image i of every method is replicate i of the tape, i < n. What they are tested against, drawn by the target alone and
with the same last step (with noise or without), are replicates n to 2n - 1. Four tests, as in
:mod:`experiments.models.quality`, whose cells and levels these are:

``ranks``
    Given its own trajectory down to x_1, the target's token is normal; so the ranks under that law of where a method's
    tokens are on the line through both models' means are uniform and independent, if it keeps it. A rule by a wrong
    ratio of these two densities moves tokens on that line. Sharpest, and for rules of the last step alone.
``tokens``
    The first principal component of an image's tokens, of both samples together, in cells.
``features``, ``accuracy``
    What simlab's classifier sees.

Images are kept in pieces of ``CHUNK`` as they are finished: a comparison that was stopped goes on with the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from scipy.special import ndtr

from experiments.bench.machine import facts
from experiments.models.compare import held_out_features
from experiments.models.continuous.methods import AR, Method, make_method
from experiments.models.continuous.session import Models, Samples, Settings, draw, pair_for, pictures
from experiments.models.curve import clock_of
from experiments.models.kept import Arrays, Kept
from experiments.models.likelihood import Classified, classified
from experiments.models.quality import CELLS, FALSE_ALARMS, cells, frechet, in_cells, in_clusters, stated, summary
from experiments.models.session import labels_for
from experiments.results import versions
from experiments.training.commands import device_name, sha256
from simlab.continuous import Outcome
from simlab.continuous.decoders import Verified, autoregressive
from simlab.models.adapters.fashion import CLASSES
from simlab.randomness import Tape
from simlab.statistics import GTest, TwoSampleG, estimate

CHUNK = 100  # images of a piece
ROUNDS = 3  # that are timed, after one that is not
SHOWN = 10  # images of each method in the grid
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
TESTS = ("ranks", "tokens", "features", "accuracy")
DEPENDS = "model", "settings", "gamma", "prefill", "n", "batch", "seed", "device", "threads", "versions"

MEASURES = {
    "acceptance": "accepted drafts by verified ones; its error over images",
    "steps": "calls of the target an image",
    "proposals": "made for a rejected draft; exhausted are those of which none was taken",
    "log_sigma": "of the product of variances that Algorithm 1 multiplies the ratio by; 0 is no bias",
    "gap": "between the last means of target and draft, in the target's standard deviations, over all dimensions",
    "speedup": "seconds of the target alone over those of the method in the same round, which draws the same labels",
    "predicted": "eq. 51 at the measured acceptance and the measured cost of a draft's token by one of the target",
    "accuracy": "share of images that simlab's classifier takes for what their label says",
    "frechet_to_ar": "Frechet distance on features of simlab's classifier to images of the target with other numbers",
    "frechet_to_held_out": "the same to as many held-out images",
}

Notify = Callable[[str], None]


@dataclass(frozen=True)
class Request:
    """What is to be compared."""

    methods: tuple[str, ...]
    count: int
    batch: int
    timing: int  # images at a time
    gamma: int
    prefill: int
    settings: Settings
    data: Path | None


class VerifiedDrafts(NamedTuple):
    """Verified drafts ``[m]`` of one method, whose tokens are at ``position`` of the image ``replicate``."""

    replicate: np.ndarray
    position: np.ndarray
    mean: np.ndarray  # float64[m, d]: of the target's last kernel
    sd: np.ndarray
    away: np.ndarray  # float64[m, d]: of that mean from the draft's, in the target's deviations
    log_sigma: np.ndarray


class Drawn(NamedTuple):
    """Images of one method, and what is said of them."""

    samples: Samples
    classes: Classified
    shown: np.ndarray  # uint8[n, side, side]
    ranks: np.ndarray  # int64[CELLS]
    gap: np.ndarray  # float64[m]
    log_sigma: np.ndarray


class Outcomes(NamedTuple):
    """What :func:`compare` finds: a document, and what is too large for it."""

    document: dict[str, Any]
    arrays: dict[str, np.ndarray]


def compare(models: Models, request: Request, notify: Notify, folder: Path) -> Outcomes:
    """Run and measure every method; finished pieces are kept in ``folder`` until the last is there.

    Raises ``ValueError`` for an unknown method, or one that does not go with the settings.
    """
    methods = [_method(request, name) for name in request.methods]
    level = FALSE_ALARMS / (len(methods) * len(TESTS))
    held_out = held_out_features(models, request)  # type: ignore[arg-type]  # asked for what both kinds have
    head = _head(models, request, level)
    kept = Kept(folder, {name: head[name] for name in DEPENDS})
    run = partial(_images, models, request, kept, notify)
    drawn = [run(method, 0) for method in methods]
    ends = {method.noisy_end for method in methods}
    references = {end: run(Method(AR, noisy_end=end), request.count) for end in ends}
    notify("time")
    times = kept.piece({"timing": list(request.methods), "at": request.timing}, partial(_times, models, request))
    shape, rows = models.shape, []
    for method, own in zip(methods, drawn, strict=True):
        reference = references[method.noisy_end]
        rows.append(
            _described(method)
            | _counted(own, shape)
            | {"quality": _quality(own, reference, held_out)}
            | {"checks": _checks(method, own, reference, level)}
            | {"timing": _timing(method, own, times, request)}
        )
    document = head | {"methods": rows}
    return Outcomes(document, _arrays(request, methods, drawn, shape))


def table(document: dict[str, Any]) -> pd.DataFrame:
    """A row a method: all single numbers of a document."""
    frame = pd.json_normalize(document["methods"], sep=".")
    return frame[[name for name in frame.columns if not frame[name].map(lambda value: isinstance(value, list)).any()]]


# Images -----------------------------------------------------------------------------------------------------------


def _method(request: Request, name: str) -> Method:
    """The target alone ends as most others do, with noise."""
    made = make_method(name, request.gamma, request.prefill)
    return replace(made, noisy_end=True) if made.noisy_end is None else made


def _images(models: Models, request: Request, kept: Kept, notify: Notify, method: Method, first: int) -> Drawn:
    parts = []
    for begin in range(first, first + request.count, CHUNK):
        many = min(CHUNK, first + request.count - begin)
        known = {"method": method.name, "end": method.noisy_end, "first": begin, "count": many}
        notify(f"{method.name}, image {begin - first}")
        parts.append(kept.piece(known, partial(_chunk, models, request, method, begin, many)))
    names = [name for name in parts[0] if name != "ranks"]
    whole = {name: np.concatenate([part[name] for part in parts]) for name in names}
    samples = Samples(*(whole[name] for name in Samples._fields))
    classes = Classified(*(whole[name] for name in Classified._fields))
    ranks = np.sum([part["ranks"] for part in parts], axis=0)
    return Drawn(samples, classes, whole["shown"], ranks, whole["gap"], whole["log_sigma"])


def _chunk(models: Models, request: Request, method: Method, first: int, count: int) -> Arrays:
    labels = labels_for(request.settings.seed, first + count)[first:]
    events: list[VerifiedDrafts] = []
    length = models.pair.length

    def watch(verified: Verified) -> None:
        inside = np.flatnonzero(verified.position < length)
        pair, last = verified.pair.only(inside), verified.pair.target.chain.layout
        own, other = pair.target.kernel(1), pair.draft.kernel(1)
        away = last.whitened(own.root, own.mean - other.mean)
        place = verified.tape.replicates[inside], verified.position[inside]
        events.append(
            VerifiedDrafts(*place, own.mean, np.broadcast_to(own.root, own.mean.shape), away, pair.log_sigma())
        )

    samples = draw(models, method, labels, request.settings, request.batch, first, watch=watch)
    images = pictures(models, samples)
    classes = classified(models, labels, torch.from_numpy(images)[:, None], request.batch)  # type: ignore[arg-type]
    shown = np.rint(255 * images[: max(0, SHOWN - first % request.count)]).astype(np.uint8)
    found = VerifiedDrafts(*(np.concatenate(values) for values in zip(*events, strict=True))) if events else None
    ranks = np.zeros(CELLS, np.int64)
    if found is not None and method.of_last_step:
        tokens = samples.tokens[found.replicate.astype(np.int64) - first, found.position]
        along = ((tokens - found.mean) / found.sd * found.away).sum(axis=1) / _lengths(found.away)
        shares = ndtr(along[np.isfinite(along)])
        ranks = np.bincount((shares * CELLS).astype(np.int64).clip(0, CELLS - 1).ravel(), minlength=CELLS)
    empty = np.zeros(0)
    rest = (
        {"gap": empty, "log_sigma": empty}
        if found is None
        else {"gap": _lengths(found.away), "log_sigma": found.log_sigma}
    )
    return {**samples._asdict(), **classes._asdict(), "shown": shown, "ranks": ranks, **rest}


def _lengths(vectors: np.ndarray) -> np.ndarray:
    return np.sqrt(np.square(vectors).sum(axis=1))


# Measures ---------------------------------------------------------------------------------------------------------


def _counted(own: Drawn, shape: tuple[int, int]) -> dict[str, Any]:
    samples = own.samples
    accepted, verified = samples.outcome == Outcome.ACCEPTED, _verified(samples)
    exhausted = samples.outcome == Outcome.EXHAUSTED
    rejected = int((verified & ~accepted).sum())
    some = verified.any(axis=1)
    shares = accepted[some].sum(axis=1) / verified[some].sum(axis=1)
    return {
        "acceptance": {
            "mean": float(accepted.sum() / verified.sum()) if some.any() else None,
            "error": estimate(shares).error if len(shares) > 1 else None,
        },
        "by_position": _shares(accepted.sum(axis=0), verified.sum(axis=0)),
        "by_place": _shares(*_by_place(samples, shape)),
        "steps": {"mean": float(samples.calls.mean()), "error": estimate(samples.calls).error},
        "proposals": {
            "mean": float(samples.trials.sum() / rejected) if rejected else None,
            "exhausted": int(exhausted.sum()),
            "rejected": rejected,
        },
        "log_sigma": _quantiles(own.log_sigma),
        "gap": _quantiles(own.gap),
    }


def _verified(samples: Samples) -> np.ndarray:
    return (samples.outcome != Outcome.TARGET) & (samples.outcome != Outcome.MISSING)


def _by_place(samples: Samples, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """``int64[rows * columns]``: accepted and verified drafts of each place of the image."""
    verified, size = _verified(samples), shape[0] * shape[1]
    counted = [
        np.bincount(samples.places[chosen], minlength=size)
        for chosen in (verified & (samples.outcome == Outcome.ACCEPTED), verified)
    ]
    return counted[0], counted[1]


def _shares(some: np.ndarray, of: np.ndarray) -> list[float | None]:
    return [float(one / all) if all else None for one, all in zip(some, of, strict=True)]


def _quantiles(values: np.ndarray) -> dict[str, Any] | None:
    if not len(values):
        return None
    found = np.quantile(values, QUANTILES)
    return {
        "n": len(values),
        "mean": float(values.mean()),
        "quantiles": dict(zip(map(str, QUANTILES), found.tolist(), strict=True)),
    }


def _quality(own: Drawn, reference: Drawn, held_out: np.ndarray | None) -> dict[str, Any]:
    accuracy = estimate(own.classes.right)
    return {
        "accuracy": accuracy.mean,
        "accuracy_error": accuracy.error,
        "frechet_to_ar": frechet(own.classes.features, reference.classes.features),
        "frechet_to_held_out": None if held_out is None else frechet(own.classes.features, held_out),
    }


def _checks(method: Method, own: Drawn, reference: Drawn, level: float) -> dict[str, dict[str, Any]]:
    """By test: its p-value, whether that is above ``level``, and the smallest deviation it detects."""
    n, numbers = len(own.samples.tokens), int(own.ranks.sum())
    two, half = TwoSampleG(cells(n)), TwoSampleG(2)
    p_values = {
        "tokens": two.p_value(*in_cells(*_principal(own.samples, reference.samples))),
        "features": two.p_value(*in_clusters(own.classes.features, reference.classes.features)),
        "accuracy": half.p_value(*(np.bincount(side.classes.right, minlength=2) for side in (own, reference))),
    }
    if method.of_last_step and numbers:
        p_values["ranks"] = GTest(dict.fromkeys(range(CELLS), 1 / CELLS)).p_value(own.ranks)
    says = stated(n, max(numbers, 1), level)
    says["tokens"] = says["likelihood"]
    return {name: summary(p_values[name], *says[name]) for name in TESTS if name in p_values}


def _principal(first: Samples, second: Samples) -> tuple[np.ndarray, np.ndarray]:
    """``[n]`` and ``[m]``: the first principal component of the tokens of both, in raster order."""
    sides = []
    for samples in (first, second):
        raster = np.take_along_axis(samples.tokens, np.argsort(samples.places, axis=1)[..., None], 1)
        sides.append(np.nan_to_num(raster).reshape(len(raster), -1))
    together = np.concatenate(sides)
    together = together - together.mean(axis=0)
    along = np.linalg.eigh(together.T @ together)[1][:, -1]
    found = together @ along
    return found[: len(sides[0])], found[len(sides[0]) :]


# Time -------------------------------------------------------------------------------------------------------------


def _times(models: Models, request: Request) -> Arrays:
    """``float64[ROUNDS]`` seconds of every method, and of the draft model and the target alone."""
    methods = [_method(request, name) for name in request.methods]
    clock, _ = clock_of(models.device)
    taken: dict[str, list[float]] = {name: [] for name in ("target", "draft", *request.methods)}
    for number in range(ROUNDS + 1):
        first = number * request.timing
        labels = labels_for(request.settings.seed, first + request.timing)[first:]

        def timed(name: str, run: Callable[[], object]) -> None:
            begun = clock()
            run()
            taken[name].append(clock() - begun)

        replicates = first + np.arange(request.timing)
        pair, _ = pair_for(models, labels, replicates, request.settings, request.settings.sampler)
        tape = Tape(request.settings.seed, replicates.tolist())
        timed("target", partial(autoregressive, pair.target, tape))
        timed("draft", partial(autoregressive, pair.draft, tape))
        for method in methods:
            run = partial(draw, models, method, labels, request.settings, request.timing, first)
            timed(method.name, run)
    return {name: np.array(seconds[1:]) for name, seconds in taken.items()}


def _timing(method: Method, own: Drawn, times: Arrays, request: Request) -> dict[str, Any]:
    ratio = estimate(times["target"] / times[method.name])
    cost = float(times["draft"].sum() / times["target"].sum())
    samples = own.samples
    verified = _verified(samples)
    rate = (samples.outcome == Outcome.ACCEPTED).sum() / max(int(verified.sum()), 1)
    block = sum(float(rate) ** k for k in range(method.gamma + 1))
    return {
        "batch": request.timing,
        "seconds": float(times[method.name].mean() / request.timing),
        "speedup": ratio.mean,
        "speedup_error": ratio.error,
        "cost": cost,
        "predicted": block / (method.gamma * cost + 1),
    }


# The document -----------------------------------------------------------------------------------------------------


def _described(method: Method) -> dict[str, Any]:
    return {
        "method": method.name,
        "decoder": None if method.decoder is None else type(method.decoder).__name__,
        "rule": None if method.rule is None else method.rule.name,
        "lossless": method.lossless,
        "noisy_end": method.noisy_end,
        "gamma": method.gamma,
    }


def _head(models: Models, request: Request, level: float) -> dict[str, Any]:
    kinds = "continuous-autoencoder", "continuous-target", "continuous-draft"
    return {
        "model": {
            "name": "fashion-continuous",
            "sha256": {kind: sha256(models.folder / f"{kind}.safetensors") for kind in kinds},
        },
        "shape": list(models.shape),
        "dimension": models.pair.target.config.token_dim,
        "classes": list(CLASSES),
        "settings": request.settings.record(),
        "gamma": request.gamma,
        "prefill": request.prefill,
        "n": request.count,
        "batch": request.batch,
        "seed": request.settings.seed,
        "device": device_name(models.device),
        "threads": torch.get_num_threads(),
        "machine": facts(),
        "clock": clock_of(models.device)[1],
        "versions": {**versions(), "torch": torch.__version__},
        "measures": MEASURES,
        "testing": {
            "against": f"{request.count} images of the target alone with other random numbers",
            "false_alarms": FALSE_ALARMS,
            "level": level,
        },
    }


def _arrays(
    request: Request, methods: Sequence[Method], drawn: Sequence[Drawn], shape: tuple[int, int]
) -> dict[str, np.ndarray]:
    maps = []
    for own in drawn:
        accepted, verified = _by_place(own.samples, shape)
        maps.append((accepted / np.maximum(verified, 1)).reshape(shape))
    few = min(SHOWN, request.count)
    return {
        "method": np.array([method.name for method in methods]),
        "labels": labels_for(request.settings.seed, request.count),
        "calls": np.stack([own.samples.calls for own in drawn]),
        "accepted": np.stack(maps),
        "images": np.stack([own.shown[:few] for own in drawn]),
    }
