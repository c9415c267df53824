"""What is compared of methods over continuous tokens: acceptance, proposals, gaps between kernels, time.

What a method is tested against the target alone draws with the same last step, with noise or without. Four tests, as in
:mod:`experiments.models.quality`, whose cells and levels these are:

``ranks``
    Given its own trajectory down to x_1, the target's token is normal; so the ranks under that law of where a method's
    tokens are on the line through both models' means are uniform and independent, if it keeps it. A rule by a wrong
    ratio of these two densities moves tokens on that line. Sharpest, and for rules of the last step alone.
``tokens``
    The first principal component of an image's tokens, of both samples together, in cells.
``features``, ``accuracy``
    What simlab's classifier sees.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from experiments.kept import Arrays
from experiments.models.compare import Comparison, Notify, estimate_record
from experiments.models.continuous.kind import Continuous, Samples
from experiments.models.continuous.methods import AR, Method
from experiments.models.curve import clock_of
from experiments.models.likelihood import Classified
from experiments.models.quality import CELLS, TESTS, in_even_cells, of_classes, tested
from experiments.models.session import labels_for
from experiments.models.timing import rounds, speedup
from simlab.continuous.decoders import Verified, autoregressive
from simlab.randomness import Tape
from simlab.statistics import clustered, estimate
from theory.acceptance import speedup as eq_51

NONE = {"mean": None, "error": None}  # of no drafts
SHOWN = 10  # images of each method in the grid
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)

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


class OfVectors(Comparison):
    """What is measured of continuous tokens."""

    models: Continuous
    measures, target = MEASURES, "the target alone"

    @property
    def tests(self) -> int:
        return len(TESTS) * len(self.methods)

    def method(self, name: str) -> Method:
        """The target alone ends as most others do, with noise."""
        made = self.models.method(name, self.request.settings)
        return replace(made, noisy_end=True) if made.noisy_end is None else made

    def reference(self, method: Method) -> Method:
        return Method(AR, noisy_end=method.noisy_end)

    def known(self, method: Method) -> dict[str, Any]:
        return {"method": method.name, "end": method.noisy_end}

    def shown(self, labels: np.ndarray) -> np.ndarray:
        return np.arange(min(SHOWN, len(labels)))

    def images(self, method: Method, labels: np.ndarray, first: int) -> tuple[Samples, Arrays]:
        request, events = self.request, list[VerifiedDrafts]()

        def watch(verified: Verified) -> None:
            events.append(verified_drafts(verified, self.models.pair.length))

        samples = self.models.draw(method, labels, request.seed, request.sampling, request.batch, first, watch=watch)
        if not events:
            empty = np.zeros(0)
            return samples, {"ranks": np.zeros((1, CELLS), np.int64), "gap": empty, "log_sigma": empty}
        found = VerifiedDrafts(*(np.concatenate(values) for values in zip(*events, strict=True)))
        counts = rank_counts(samples, found, first) if method.of_last_step else np.zeros(CELLS, np.int64)
        return samples, {"ranks": counts[None], "gap": np.linalg.norm(found.away, axis=1), "log_sigma": found.log_sigma}

    def drawn(self, arrays: Arrays) -> Drawn:
        return Drawn(
            Samples(*(arrays[name] for name in Samples._fields)),
            Classified(*(arrays[name] for name in Classified._fields)),
            arrays["shown"],
            arrays["ranks"].sum(axis=0),
            arrays["gap"],
            arrays["log_sigma"],
        )

    def row(
        self, method: Method, own: Drawn, reference: Drawn, level: float, held_out: np.ndarray | None
    ) -> dict[str, Any]:
        ranks = own.ranks if method.of_last_step and own.ranks.any() else None
        along = _principal(own.samples, reference.samples)
        return {
            "method": method.name,
            "decoder": None if method.decoder is None else type(method.decoder).__name__,
            "rule": None if method.rule is None else method.rule.name,
            "lossless": method.lossless,
            "noisy_end": method.noisy_end,
            "gamma": method.gamma,
            **counted(own, self.models.shape),
            "quality": of_classes(own.classes, reference.classes, held_out),
            "checks": tested(ranks, "tokens", along, (own.classes, reference.classes), level),
        }

    def timed(self, batch: int, notify: Notify) -> dict[str, Any]:
        """Seconds of every method, and of the target and the draft alone, which draw the same images."""
        models, request = self.models, self.request
        clock, _ = clock_of(models.device)

        def seconds(run: Callable[[], object]) -> float:
            begun = clock()
            run()
            return clock() - begun

        def alone(name: str, first: int) -> float:
            labels, numbers = labels_for(request.seed, first + batch)[first:], first + np.arange(batch)
            pair, _ = models.processes(labels, numbers, request.seed, request.sampling, request.sampling.sampler)
            return seconds(partial(autoregressive, getattr(pair, name), Tape(request.seed, numbers.tolist())))

        def drawn(method: Method, first: int) -> float:
            labels = labels_for(request.seed, first + batch)[first:]
            return seconds(partial(models.draw, method, labels, request.seed, request.sampling, batch, first))

        runs = {name: partial(alone, name) for name in ("target", "draft")}
        runs |= {method.name: partial(drawn, method) for method in self.methods}
        found = rounds(runs, batch, notify)
        return {"batch": batch, "seconds": {name: [each[name] for each in found] for name in runs}}

    def timing(self, method: Method, own: Drawn, times: Sequence[dict[str, Any]], beside: dict[str, Any]) -> Any:
        rate = float(own.samples.accepted.sum() / max(int(own.samples.verified.sum()), 1))
        entries = []
        for found in times:
            seconds = found["seconds"]
            cost = sum(seconds["draft"]) / sum(seconds["target"])
            entry = {
                "batch": found["batch"],
                "seconds": float(np.mean(seconds[method.name])) / found["batch"],
                **speedup(seconds["target"], seconds[method.name]),
                "cost": cost,
                "predicted": float(eq_51(rate, method.gamma, cost)),
            }
            entries.append(entry)
        return entries

    def head(self) -> dict[str, Any]:
        return {
            "dimension": self.models.pair.target.config.token_dim,
            "settings": self.request.sampling.record(),
            **self.request.settings,
        }

    def arrays(self, drawn: Sequence[Drawn]) -> Arrays:
        shape = self.models.shape
        places = [_by_place(own.samples, shape) for own in drawn]
        return {
            "calls": np.stack([own.samples.calls for own in drawn]),
            "accepted": np.stack([(yes / np.maximum(of, 1)).reshape(shape) for yes, of in places]),
        }


def verified_drafts(verified: Verified, length: int) -> VerifiedDrafts:
    """What is told of drafts that were verified together, but of those behind the end of their sequence."""
    inside = np.flatnonzero(verified.position < length)
    pair, last = verified.pair.only(inside), verified.pair.target.chain.layout
    own, other = pair.target.kernel(1), pair.draft.kernel(1)
    with np.errstate(divide="ignore", invalid="ignore"):  # by deviations that are 0
        away, sigma = last.whitened(own.root, own.mean - other.mean), pair.log_sigma()
    place = verified.tape.replicates[inside], verified.position[inside]
    return VerifiedDrafts(*place, own.mean, np.broadcast_to(own.root, own.mean.shape), away, sigma)


def rank_counts(samples: Samples, found: VerifiedDrafts, first: int) -> np.ndarray:
    """``int64[CELLS]``: how many tokens have a rank in each cell, along the line through both means."""
    tokens = samples.tokens[found.replicate.astype(np.int64) - first, found.position]
    along = ((tokens - found.mean) / found.sd * found.away).sum(axis=1) / np.linalg.norm(found.away, axis=1)
    return in_even_cells(ndtr(along[np.isfinite(along)]))


def counted(own: Drawn, shape: tuple[int, int]) -> dict[str, Any]:
    """What became of drafts, and how many calls and proposals that took."""
    samples = own.samples
    accepted, verified = samples.accepted, samples.verified
    rejected = int((verified & ~accepted).sum())
    some = bool(verified.any())
    return {
        "acceptance": estimate_record(clustered(np.nonzero(verified)[0], accepted[verified])) if some else NONE,
        "by_position": _shares(accepted.sum(axis=0), verified.sum(axis=0)),
        "by_place": _shares(*_by_place(samples, shape)),
        "steps": estimate_record(estimate(samples.calls)),
        "proposals": {
            "mean": float(samples.trials.sum() / rejected) if rejected else None,
            "exhausted": int(samples.exhausted.sum()),
            "rejected": rejected,
        },
        "log_sigma": _quantiles(own.log_sigma),
        "gap": _quantiles(own.gap),
    }


def _by_place(samples: Samples, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """``int64[rows * columns]``: accepted and verified drafts of each place of the image."""
    accepted, verified = (
        np.bincount(samples.places[chosen], minlength=shape[0] * shape[1])
        for chosen in (samples.accepted, samples.verified)
    )
    return accepted, verified


def _shares(some: np.ndarray, of: np.ndarray) -> list[float | None]:
    return [float(one / all) if all else None for one, all in zip(some, of, strict=True)]


def _quantiles(values: np.ndarray) -> dict[str, Any] | None:
    if not len(values) or not np.isfinite(values).all():  # as of deviations that are 0
        return None
    found = np.quantile(values, QUANTILES)
    return {
        "n": len(values),
        "mean": float(values.mean()),
        "quantiles": dict(zip(map(str, QUANTILES), found.tolist(), strict=True)),
    }


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
