"""Choose the lossless method and window that are fastest on this machine, by prediction: ``--method auto``.

    speedup = tokens a step x t(B) / (t(B x rows) + drafting)         (leviathan.cost-of-rows.speedup)

What a call costs is measured once a machine and model, in a second or two, and kept in a folder of the user; what a
step commits comes with the models, or is measured on a few images and kept beside it. Which method is fastest depends
on the machine and on how many images are drawn at once, so tokens drawn by ``auto`` do too; every one follows the
target's law whatever is chosen. To draw the same tokens again, name the method that it says it took.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import platformdirs

from experiments.models import compression, curve
from experiments.models.compression import Candidate, Compression, named
from experiments.models.curve import Curve, Notify
from experiments.models.discrete.kind import Discrete, sampling_record
from experiments.results import write_json
from simlab.models.process.sampling import Sampling
from theory.cost_of_rows import speedup_by_rows

MARGIN = 1.1  # what a method takes beside its calls is not predicted: with less in hand plain decoding may be faster
CACHE = "SIMLAB_CACHE"  # names another folder


class Predicted(NamedTuple):
    """What is predicted of one candidate at a batch."""

    step: Compression
    call: float  # what its call of the target costs, in calls for one row a sequence
    drafting: float  # the same for its drafts
    speedup: float


class Choice(NamedTuple):
    """A method, and why it is this one; what is predicted of all, here and of one image at a time; and where what calls
    cost is written, if it is."""

    best: Predicted
    reason: str
    cost: Curve
    here: tuple[Predicted, ...]
    alone: tuple[Predicted, ...]
    costs: Path | None = None

    @property
    def offer(self) -> str:
        """What the fastest method that drafts gives, whether or not it is the one that is taken."""
        here, alone = fastest(self.here), fastest(self.alone)
        return (
            f"the fastest that drafts: {_name(here)} here, {here.speedup:.2f}x; one image at a time {_name(alone)}, "
            f"{alone.speedup:.2f}x"
        )

    @property
    def candidate(self) -> Candidate:
        return self.best.step.candidate


def predict(step: Compression, cost: Curve, batch: int) -> Predicted:
    """How many times as fast as plain decoding a candidate is at a batch."""
    one = cost.call(batch, 1)
    drafting = cost.drafts(step.drafter, batch, step.drafts)
    speedup = speedup_by_rows(
        max(step.tokens, 1.0), step.rows, batch, lambda rows: cost.call(batch, rows / batch), drafting
    )
    return Predicted(step, cost.call(batch, step.rows) / one, drafting / one, float(speedup))


def fastest(predicted: Sequence[Predicted]) -> Predicted:
    """The fastest that drafts."""
    return max((each for each in predicted if each.step.candidate.method != "ar"), key=lambda each: each.speedup)


def choose(steps: Sequence[Compression], cost: Curve, batch: int) -> Choice:
    """The candidate that is predicted to be fastest; plain decoding unless another is faster by ``MARGIN``."""
    predicted, alone = (tuple(predict(step, cost, images) for step in steps) for images in (batch, 1))
    plain = next((each for each in predicted if each.step.candidate.method == "ar"), None)
    other = fastest(predicted)
    best = plain if plain is not None and other.speedup < MARGIN * plain.speedup else other
    return Choice(best, _reason(best, other, batch), cost, predicted, alone)


def _reason(best: Predicted, other: Predicted, batch: int) -> str:
    """Why: what the best method that drafts would cost and give."""
    images = "1 image" if batch == 1 else f"{batch} images"
    drafts = f" and drafting {other.drafting:.2f}x" if other.drafting else ""
    what = f"{other.step.rows} rows a call" if best is other else f"the {other.step.rows} rows of {_name(other)}"
    short = f", not {MARGIN:g}x" if best is not other and other.speedup > 1 else ""
    return (
        f"{_name(best)}: at {images} at once {what} cost {other.call:.2f}x a single row's call{drafts} "
        f"and give {other.step.tokens:.2f} tokens: {other.speedup:.2f}x{short}"
    )


def _name(predicted: Predicted) -> str:
    return named(predicted.step.candidate)


# What is measured once --------------------------------------------------------------------------------------------


def choice(
    models: Discrete,
    sampling: Sampling,
    batch: int,
    cost: Path | None = None,
    notify: Notify = lambda what: None,
) -> Choice:
    """Choose for a model on its device, from a file of costs or from what is known of the machine, or measured now.

    Raises ``ValueError`` for a file that holds something else, or the costs of another model.
    """
    costs = _of_file(cost, models) if cost else None  # before anything is measured
    steps, where = known_steps(models, sampling, notify), cost
    if costs is None:
        costs, where = _known_costs(models, sampling, batch, max(step.tokens for step in steps), notify)
    found = choose(steps, curve.curve_of(costs), batch)
    busy = "; what calls cost was timed on a busy machine" if curve.disturbed(costs) else ""
    away = _timed_elsewhere(costs, curve.identity(models, sampling)) + _committed_elsewhere(models, sampling)
    return found._replace(reason=found.reason + busy + away, costs=where)


def folder() -> Path:
    """Where measurements of this machine are kept: a folder of the user, where the system has such folders."""
    if os.environ.get(CACHE):
        return Path(os.environ[CACHE])
    return platformdirs.user_cache_path("simlab", appauthor=False)


def curve_file(models: Discrete, sampling: Sampling) -> Path:
    """Where the cost of calls is kept."""
    return _file("curve", curve.identity(models, sampling))


def known_steps(models: Discrete, sampling: Sampling, notify: Notify = lambda what: None) -> list[Compression]:
    """The step compression that comes with the models, at any sampling, or that of a few images, measured once."""
    return compression.of_sampling(_known_steps(models, sampling, notify), sampling)


def _known_steps(models: Discrete, sampling: Sampling, notify: Notify) -> dict[str, Any]:
    known, own = compression.shipped(), compression.identity(models)
    if known["model"] == own:
        return known
    path = _file("compression", {**own, **sampling_record(sampling)})
    kept = _kept(path, lambda document: compression.of_sampling(document, sampling))
    if kept is None:
        asked = compression.possible(models, compression.few_candidates())
        kept = compression.measure(models, [sampling], asked, compression.FEW, notify=notify)
        _keep(path, kept)
    return kept


def _committed_elsewhere(models: Discrete, sampling: Sampling) -> str:
    """At which sampling the step compression that comes with the models was measured, where that is another."""
    known = compression.shipped()
    if known["model"] != compression.identity(models):
        return ""
    own, at = sampling_record(sampling), compression.nearest(known, sampling)["sampling"]
    if at == own:
        return ""
    return f"; tokens a step are those at {_sampled(at)}, this is at {_sampled(own)}"


def _sampled(record: dict[str, Any]) -> str:
    """A sampling in words."""
    return ", ".join(f"{name.replace('_', '-')} {value}" for name, value in record.items() if value is not None)


def _timed_elsewhere(costs: dict[str, Any], own: dict[str, Any]) -> str:
    """What calls were timed with, where a file of costs says that it was something else."""
    named = {name: costs.get(name, own[name]) for name in ("device", "processor", "threads")}
    told = [f"{name} {value}" for name, value in named.items() if value != own[name]]
    if costs.get("rows_of", own["rows_of"]) != own["rows_of"]:
        made = [name.replace("_", "-") for name, used in costs["rows_of"].items() if used]
        told.append(f"rows by {' and '.join(made) or 'no guidance and no filter'}")
    return f"; not as here, calls were timed with {', '.join(told)}" if told else ""


def _of_file(path: Path, models: Discrete) -> dict[str, Any]:
    """The costs in a file; raises ``ValueError`` where they are none, or of other models than these."""
    document = _read(path)
    try:
        curve.curve_of(document)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    for kind, known in {"target": document.get("model"), **document.get("drafters", {})}.items():
        own = models.fingerprint(kind) if kind in ("target", *models.drafters) else known
        if known not in (None, own):
            raise ValueError(
                f"{path}: the costs are of another {kind}, {str(known)[:12]}...; expected those of {str(own)[:12]}..., "
                f"which {curve.COMMAND} measures with the same --models"
            )
    return document


def _known_costs(
    models: Discrete, sampling: Sampling, batch: int, most: float, notify: Notify
) -> tuple[dict[str, Any], Path | None]:
    """The cost of calls at a batch and for one image, and at others that were measured before; and where it is kept."""
    path = curve_file(models, sampling)
    kept = _kept(path, curve.curve_of)
    there = {entry["batch"] for entry in kept["target"]} if kept else set()
    if missing := [each for each in dict.fromkeys((batch, 1)) if each not in there]:
        now = curve.measure(models, sampling, missing, most, notify)
        joined = now if kept is None else _joined(kept, now)
        if curve.disturbed(now):
            return joined, None  # not kept: the next time may be quieter
        return joined, path if _keep(path, joined) else None
    assert kept is not None
    return kept, path


def _joined(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Both measurements of one machine."""
    drafting = {name: one["drafting"][name] + other["drafting"][name] for name in one["drafting"]}
    whole = {"target": one["target"] + other["target"], "drafting": drafting}
    return one | whole | {"core": min(each.get("core", 1.0) for each in (one, other))}


def _file(kind: str, identity: dict[str, Any]) -> Path:
    key = sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    return folder() / f"{kind}-{key[:16]}.json"


def _kept(path: Path, check: Callable[[dict[str, Any]], object]) -> dict[str, Any] | None:
    """What was kept, unless it cannot be read: then it is measured again."""
    try:
        document = _read(path)
        check(document)
    except ValueError:
        return None
    return document


def _keep(path: Path, document: dict[str, Any]) -> bool:
    """Keep it, and say whether it is; where that cannot be, it is measured again the next time."""
    try:
        write_json(path, document)
    except OSError:
        return False
    return True


def _read(path: Path) -> dict[str, Any]:
    """A document; raises ``ValueError`` where there is none."""
    try:
        document = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}; expected a file") from None
    except (ValueError, RecursionError):
        raise ValueError(f"{path} is no JSON; expected a file that simlab model device wrote") from None
    if not isinstance(document, dict):
        raise ValueError(f"{path} holds no document; expected a file that simlab model device wrote")
    return document
