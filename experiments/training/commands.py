"""The models that ``simlab model train`` trains, and what each is trained from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from experiments.results import device_name, sha256, versions, write
from experiments.training.autoencoder import AutoencoderTask, autoencoder_metrics, laws_of
from experiments.training.classifier import ClassifierTask, classifier_metrics
from experiments.training.data import load_fashion
from experiments.training.head import HeadTask, head_metrics
from experiments.training.loop import Plan, Task, train
from experiments.training.mar import MarTask, mar_metrics
from experiments.training.tokenizer import TokenizerTask, as_images, tokenizer_metrics, tokens_of
from experiments.training.transformers import TransformerTask, transformer_metrics
from simlab.continuous.networks.autoencoder import AutoencoderConfig
from simlab.continuous.networks.fashion import load_autoencoder
from simlab.continuous.networks.mar.trunk import MarConfig
from simlab.models.adapters.fashion import CLASSES, load_target, load_tokenizer
from simlab.models.architectures.classifier import ClassifierConfig
from simlab.models.architectures.tokenizer import TokenizerConfig
from simlab.models.architectures.transformer import Config
from simlab.models.checkpoints import CheckpointError, packed

PLANS = {
    "tokenizer": Plan(steps=1200, batch=128, rate=2e-3, decay=0.0, seed=0),
    "classifier": Plan(steps=700, batch=128, rate=1e-3, decay=0.05, seed=0),
    "target": Plan(steps=1500, batch=64, rate=1.5e-3, decay=0.05, seed=0),
    "draft": Plan(steps=900, batch=64, rate=3e-3, decay=0.05, seed=0),
    "head": Plan(steps=400, batch=64, rate=1.5e-3, decay=0.05, seed=0),
    "continuous-autoencoder": Plan(steps=1200, batch=64, rate=3e-3, decay=0.0, seed=0),
    "continuous-target": Plan(steps=3000, batch=64, rate=2e-3, decay=0.02, seed=0),
    "continuous-draft": Plan(steps=2500, batch=64, rate=3e-3, decay=0.02, seed=0),
}
SIZES = {"target": (6, 160, 4), "draft": (2, 64, 2)}  # layers, dim, heads
CONTINUOUS = {
    "continuous-target": {
        "dim": 96, "heads": 4, "encoder_layers": 2, "decoder_layers": 3, "head_width": 160, "head_layers": 3
    },
    "continuous-draft": {
        "dim": 48, "heads": 2, "encoder_layers": 0, "decoder_layers": 1, "head_width": 96, "head_layers": 1
    },
}  # fmt: skip
BUFFER = 4  # copies of the class
NEEDS = {
    "tokenizer": (),
    "classifier": (),
    "target": ("tokenizer",),
    "draft": ("tokenizer",),
    "head": ("tokenizer", "target"),
    "continuous-autoencoder": (),
    "continuous-target": ("continuous-autoencoder",),
    "continuous-draft": ("continuous-autoencoder",),
}
MULTIPLE = 32  # that the width of a feed-forward layer is rounded up to


@dataclass(frozen=True)
class Request:
    """What a training is to do."""

    model: str
    out: Path
    plan: Plan
    data: Path | None
    device: torch.device
    command: str
    size: tuple[int, int, int] | None = None  # of a transformer: layers, dim, heads


class Side(NamedTuple):
    """One side of the data, where models are trained."""

    images: Tensor  # float32[n, 1, side, side], from 0 to 1
    labels: Tensor  # int64[n]


Notify = Callable[[int, str], None]
Made = tuple[Task, Callable[[], dict[str, float]]]  # what is to be trained, and its metrics once it is


def train_model(request: Request, notify: Notify) -> dict[str, Any]:
    """Train one model, write its checkpoint, and return the record that it holds.

    Raises ``ValueError`` where the data or a model it builds on is missing or wrong.
    """
    size = " ".join(map(str, request.size)) if request.size else None
    if request.size and (request.model not in SIZES or min(request.size) < 1):
        raise ValueError(f"--size {size}: expected numbers of at least 1, and {' or '.join(SIZES)} to train")
    needs = {need: request.out / f"{need}.safetensors" for need in NEEDS[request.model]}
    for path in needs.values():  # before anything is fetched
        if not path.is_file():
            raise ValueError(f"{path}: there is no such file; expected the model that {request.model} builds on")
    data = load_fashion(request.data)
    learned, held_out = (
        Side(as_images(part.pixels).to(request.device), torch.from_numpy(part.labels).to(request.device))
        for part in (data.train, data.held_out)
    )
    task, metrics = TRAININGS[request.model](request, learned, held_out)
    needed = {need: sha256(path) for need, path in needs.items()}
    built_on = {"data": data.sha256} | needed | ({"size": size} if size else {})
    trained = train(task, request.plan, state(request), request.device, notify, built_on)
    record = {
        "command": request.command,
        "seconds": round(trained.seconds, 1),
        "device": device_name(request.device),
        "threads": torch.get_num_threads(),
        "versions": {**versions(), "torch": torch.__version__},
        "plan": vars(request.plan),
        "legs": trained.legs,
        "parameters": sum(weights.numel() for weights in task.model.parameters()),
        "data_sha256": data.sha256,
        "built_on": needed,
        "metrics": metrics(),
    }
    try:
        content = packed(task.model.cpu(), request.model, record)
    except CheckpointError as error:  # a step too large can be the last
        raise ValueError(f"{error}: try a lower rate") from None
    write(request.out / f"{request.model}.safetensors", lambda temporary: temporary.write_bytes(content))
    state(request).unlink(missing_ok=True)
    return record


def state(request: Request) -> Path:
    """Where an unfinished training saves its state."""
    return request.out / f"{request.model}.state"


def _tokenizer(request: Request, learned: Side, held_out: Side) -> Made:
    task = TokenizerTask(learned.images, TokenizerConfig(), request.plan.seed)
    return task, partial(tokenizer_metrics, task.model, held_out.images)


def _classifier(request: Request, learned: Side, held_out: Side) -> Made:
    task = ClassifierTask(*learned, ClassifierConfig(), request.plan.seed)
    return task, partial(classifier_metrics, task.model, *held_out)


def _transformer(request: Request, learned: Side, held_out: Side) -> Made:
    tokenizer = load_tokenizer(request.out, request.device)
    _check_side(request, "tokenizer", tokenizer.config.side, learned)
    tokens, others = (tokens_of(tokenizer, side.images) for side in (learned, held_out))
    layers, dim, heads = request.size or SIZES[request.model]
    config = Config(
        layers, dim, heads, tokenizer.config.codes, tokenizer.config.shape, classes=len(CLASSES), multiple=MULTIPLE
    )
    task = TransformerTask(tokens, learned.labels, config, request.plan.seed)
    return task, partial(transformer_metrics, task.model, others, held_out.labels)


def _head(request: Request, learned: Side, held_out: Side) -> Made:
    tokenizer, target = load_tokenizer(request.out, request.device), load_target(request.out, request.device)
    _check_side(request, "tokenizer", tokenizer.config.side, learned)
    tokens, others = (tokens_of(tokenizer, side.images) for side in (learned, held_out))
    task = HeadTask(target, tokens, learned.labels, request.plan.seed)
    return task, partial(head_metrics, task.model, target, others, held_out.labels)


def _autoencoder(request: Request, learned: Side, held_out: Side) -> Made:
    task = AutoencoderTask(learned.images, AutoencoderConfig(), request.plan.seed, request.plan.steps)
    return task, partial(autoencoder_metrics, task.model, held_out.images, request.plan.seed)


def _mar(request: Request, learned: Side, held_out: Side) -> Made:
    autoencoder = load_autoencoder(request.out, request.device)
    _check_side(request, "continuous-autoencoder", autoencoder.config.side, learned)
    laws, others = (laws_of(autoencoder, side.images) for side in (learned, held_out))
    shape, dim, sizes = autoencoder.config.shape, autoencoder.config.dim, CONTINUOUS[request.model]
    config = MarConfig(shape, dim, **sizes, buffer=BUFFER, classes=len(CLASSES))
    task = MarTask(laws, learned.labels, config, request.plan.seed)
    return task, partial(mar_metrics, task.model, others, held_out.labels, request.plan.seed)


def _check_side(request: Request, need: str, side: int, data: Side) -> None:
    """Raise ``ValueError`` unless what is needed is for images as large as those of the data."""
    own = data.images.shape[-1]
    if side != own:
        path = request.out / f"{need}.safetensors"
        raise ValueError(f"{path}: is for {side} pixels a side; expected {own}, as the data has")


TRAININGS: dict[str, Callable[[Request, Side, Side], Made]] = {
    "tokenizer": _tokenizer,
    "classifier": _classifier,
    "target": _transformer,
    "draft": _transformer,
    "head": _head,
    "continuous-autoencoder": _autoencoder,
    "continuous-target": _mar,
    "continuous-draft": _mar,
}


def plan_for(model: str, **changed: Any) -> Plan:
    """The plan a model is trained by, with what is given instead of what is usual."""
    return replace(PLANS[model], **{name: value for name, value in changed.items() if value is not None})
