"""What is compared of methods over discrete tokens: calls, likelihood, distortion of a token, locality, time by part.

Time is taken in runs of its own (:mod:`experiments.models.timing`). All calls but those of ``ar`` and of draft models
ask for as many rows (:mod:`experiments.models.discrete.methods`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from experiments.kept import Arrays, Kept
from experiments.models import curve
from experiments.models.choice import predict
from experiments.models.compare import Comparison, Notify, estimate_record, sizes
from experiments.models.compression import Candidate, Compression
from experiments.models.discrete.kind import Discrete, Samples, sampling_record
from experiments.models.discrete.methods import NODES, Method, make_method, rows, with_drafts
from experiments.models.distortion import contexts, distortion
from experiments.models.likelihood import Classified, Likelihood, likelihood
from experiments.models.locality import Locality, locality
from experiments.models.quality import TESTS, Sample, checks, measures, rank_distance
from experiments.models.session import labels_for
from experiments.models.timing import ROUNDS, timing
from simlab.decoders import nodes, verifies
from simlab.rules import codebook_distances
from simlab.statistics import estimate

CONTEXT_IMAGES = 32  # at most, for distortion and for locality
SHOWN = 12  # images of each method in the grid, at most

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
    "ranks": "of tokens under the target's rows, from uniform: a TV of tokens to their rows that is at least so large",
    "kept": "share of images whose token at a place is an accepted draft",
}


class Drawn(NamedTuple):
    """Images of one method, and what models say of them."""

    samples: Samples
    sample: Sample
    shown: np.ndarray  # uint8[shown, side, side]
    distortion: dict[str, float] | None


class OfCodes(Comparison):
    """What is measured of discrete tokens."""

    models: Discrete
    measures, target = MEASURES, "ar"

    @cached_property
    def ar(self) -> Method:
        return make_method("ar", self.models.codebook)

    @property
    def tests(self) -> int:
        return len(TESTS) * sum(method.lossless for method in self.methods)

    def method(self, name: str) -> Method:
        drafts = self.request.settings.get("drafts")
        codebook = self.models.codebook
        return make_method(name, codebook) if drafts is None else with_drafts(name, codebook, drafts)

    def reference(self, method: Method) -> Method:
        return self.ar

    def known(self, method: Method) -> dict[str, Any]:
        return {"method": method.name, "settings": method.settings}

    def shown(self, labels: np.ndarray) -> np.ndarray:
        """The first image of each class."""
        return np.sort(np.unique(labels, return_index=True)[1])[:SHOWN]

    def images(self, method: Method, labels: np.ndarray, first: int) -> tuple[Samples, Arrays]:
        models, request = self.models, self.request
        samples = models.draw(method, labels, request.seed, request.sampling, request.batch, first)
        found = likelihood(models, labels, samples.tokens, request.sampling, request.batch)
        few = labels[: 0 if method.lossless else max(0, CONTEXT_IMAGES - first)]
        return samples, {
            **found._asdict(),
            "contexts": contexts(models, method, few, request.seed, request.sampling, first),
        }

    def drawn(self, arrays: Arrays) -> Drawn:
        samples = Samples(*(arrays[name] for name in Samples._fields))
        found = Likelihood(*(arrays[name] for name in Likelihood._fields))
        classes = Classified(*(arrays[name] for name in Classified._fields))
        return Drawn(samples, Sample(found, classes), arrays["shown"], distortion(arrays["contexts"]))

    def row(
        self, method: Method, own: Drawn, reference: Drawn, level: float, held_out: np.ndarray | None
    ) -> dict[str, Any]:
        return {
            "method": method.name,
            "decoder": method.decoder_name,
            "rule": method.rule_name if verifies(method.decoder) else None,
            "drafter": method.drafter,
            "lossless": method.lossless,
            "nodes": nodes(method.decoder),
            "rows": rows(method.decoder),
            "settings": method.settings,
            **counted(own.samples),
            "quality": measures(own.sample, reference.sample, held_out),
            "distortion": own.distortion,
            "ranks": rank_distance(own.sample.likelihood, self.request.seed),
            "checks": checks(own.sample, reference.sample, level, self.request.seed) if method.lossless else None,
        }

    def timed(self, batch: int, notify: Notify) -> dict[str, Any]:
        labels = labels_for(self.request.seed, ROUNDS * batch)
        return timing(self.models, self.methods, labels, self.request.seed, self.request.sampling, notify)

    def timing(self, method: Method, own: Drawn, times: Sequence[dict[str, Any]], beside: dict[str, Any]) -> Any:
        entries = [each[method.name] for each in times]
        return [entry | predicted(method, own.samples, beside["costs"], entry["batch"]) for entry in entries]

    def head(self) -> dict[str, Any]:
        away = codebook_distances(self.models.codebook)
        np.fill_diagonal(away, np.inf)
        cuda = self.models.device.type == "cuda"
        return {
            "vocabulary": self.models.target.config.vocabulary,
            "sampling": sampling_record(self.request.sampling),
            "drafts": self.request.settings.get("drafts", NODES),
            "memory": "torch.cuda.max_memory_allocated" if cuda else "not measured on a CPU",
            "nearest_codes": float(away.min(axis=1).mean()),
        }

    def arrays(self, drawn: Sequence[Drawn]) -> Arrays:
        samples = [own.samples for own in drawn]
        return {
            "tokens": np.stack([each.tokens for each in samples]).astype(np.int32),
            "steps": np.stack([each.steps for each in samples]),
            "bits": np.stack([own.sample.bits for own in drawn]),
            "kept": np.stack([accepted_share(each, self.models.shape) for each in samples]),
            "shown": self.shown(labels_for(self.request.seed, len(samples[0].tokens))),
        }

    def beside(
        self, kept: Kept, reference: Drawn, batches: Sequence[int], notify: Notify
    ) -> tuple[dict[str, Any], Arrays]:
        """Locality of the target, and where times are taken what its calls and drafts cost at the batches of all."""
        notify("locality")
        few = reference.samples.tokens[:CONTEXT_IMAGES]
        for n in sizes(self.request.count):  # of rounds that are not told of again
            kept.claim({"locality": min(n, CONTEXT_IMAGES)})
        arrays = kept.piece({"locality": len(few)}, partial(self._near, few))
        document: dict[str, Any] = {"locality": {name: arrays[name].tolist() for name in Locality._fields}}
        if batches:
            notify("cost of calls")
            measured = partial(curve.measure, self.models, self.request.sampling, self.request.timing)
            document["costs"] = kept.document({"costs": list(self.request.timing)}, measured)
        return document, {"offsets": arrays["offsets"], "locality": arrays["tv"], "locality_error": arrays["error"]}

    def _near(self, tokens: np.ndarray) -> Arrays:
        request = self.request
        labels = labels_for(request.seed, request.count + len(tokens))[request.count :]
        found = locality(self.models, labels, tokens, request.seed, request.sampling)
        return {name: np.asarray(value) for name, value in found._asdict().items()}


def counted(samples: Samples) -> dict[str, Any]:
    """Steps, step compression, and what calls added."""
    length = samples.tokens.shape[1]
    added = samples.committed[samples.committed > 0]
    return {
        "steps": estimate_record(estimate(samples.steps)),
        "compression": estimate_record(estimate(length / samples.steps))
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
