"""The models that come with simlab: images of clothing, 28 x 28, as 14 x 14 tokens out of 256.

Trained on Fashion-MNIST by ``simlab model train``; each file says with what command, data and result. A folder of files
trained anew takes their place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from simlab.models.architectures.classifier import Classifier, ClassifierConfig
from simlab.models.architectures.eagle import Head
from simlab.models.architectures.tokenizer import Tokenizer, TokenizerConfig
from simlab.models.architectures.transformer import Config, Transformer
from simlab.models.checkpoints import (
    CheckpointError,
    Model,
    check_shapes,
    fill,
    first_line,
    read_description,
    read_weights,
    shapes_of,
)

SHIPPED = Path(__file__).parents[1] / "weights"
WIDEST = 1024  # tokens a side, of which no tensor of a file tells: a table of positions is made for all of them
CLASSES = ("t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle-boot")


def load_tokenizer(folder: Path = SHIPPED, device: torch.device | str = "cpu") -> Tokenizer:
    """The tokenizer of a folder.

    ``folder``: where ``tokenizer.safetensors`` is; by default the models that come with simlab. ``device``: where the
    weights go. Returns a Tokenizer in evaluation mode, its weights frozen. Raises ``CheckpointError`` if the file is
    missing or broken, describes another model, or was built on another one than stands beside it.
    """
    return load_model(folder, "tokenizer", lambda sizes: Tokenizer(TokenizerConfig(**sizes)), device)


def load_classifier(folder: Path = SHIPPED, device: torch.device | str = "cpu") -> Classifier:
    """The classifier of ``classifier.safetensors``, as :func:`load_tokenizer` loads."""
    return load_model(folder, "classifier", lambda sizes: Classifier(ClassifierConfig(**sizes)), device)


def load_target(folder: Path = SHIPPED, device: torch.device | str = "cpu") -> Transformer:
    """The target of ``target.safetensors``, as :func:`load_tokenizer` loads."""
    return load_model(folder, "target", lambda sizes: Transformer(Config(**sizes)), device)


def load_draft(folder: Path = SHIPPED, device: torch.device | str = "cpu") -> Transformer:
    """The draft model of ``draft.safetensors``, as :func:`load_tokenizer` loads."""
    return load_model(folder, "draft", lambda sizes: Transformer(Config(**sizes)), device)


def load_head(folder: Path = SHIPPED, device: torch.device | str = "cpu") -> Head:
    """The EAGLE-style head of ``head.safetensors``, as :func:`load_tokenizer` loads."""
    return load_model(folder, "head", lambda sizes: Head(Config(**sizes)), device)


def _check_built_on(folder: Path, path: Path, built_on: dict[str, str]) -> None:
    """Raise :class:`CheckpointError` where a model stands beside another than the one it was built on."""
    if not isinstance(built_on, dict):
        raise CheckpointError(f"{path}: built_on is a {type(built_on).__name__}; expected sha256 by names")
    for need, wanted in built_on.items():
        beside = folder / f"{need}.safetensors"
        if beside.is_file() and hashlib.sha256(beside.read_bytes()).hexdigest() != wanted:
            raise CheckpointError(f"{path}: was built on another {need} than {beside}; expected sha256 {wanted}")


def _check_stored(path: Path, sizes: dict[str, Any], weights: dict[str, torch.Tensor]) -> None:
    """Raise :class:`CheckpointError` for more layers or blocks than there are tensors, images that are too large, and
    numbers of another type than checkpoints are written in: bytes that are read as another type are numbers, too."""
    for name, size in sizes.items():
        if name.endswith(("layers", "blocks")) and isinstance(size, int) and size > len(weights):
            raise CheckpointError(f"{path}: {name} is {size}; expected at most {len(weights)}, the tensors of the file")
    shape = sizes.get("shape")
    if isinstance(shape, list) and any(isinstance(side, int) and side > WIDEST for side in shape):
        raise CheckpointError(f"{path}: shape is {shape}; expected at most {WIDEST} tokens a side")
    for name, tensor in weights.items():
        if tensor.is_floating_point() and tensor.dtype != torch.float16:
            raise CheckpointError(f"{path}: {name} is of {tensor.dtype}; expected torch.float16")


def load_model(
    folder: Path, kind: str, make: Callable[[dict[str, Any]], Model], device: torch.device | str = "cpu"
) -> Model:
    """The model of ``<kind>.safetensors`` that ``make`` builds from its sizes, as :func:`load_tokenizer` loads."""
    path = folder / f"{kind}.safetensors"
    sizes, record = read_description(path, kind)
    _check_built_on(folder, path, record.get("built_on", {}))
    weights = read_weights(path)
    _check_stored(path, sizes, weights)
    try:
        shapes = shapes_of(lambda: make(sizes))
    except (TypeError, ValueError, RuntimeError) as error:  # the last for more numbers than can be
        raise CheckpointError(f"{path}: {first_line(error)}; expected the sizes of a {kind}") from None
    check_shapes(weights, shapes, path, f"a {kind}")
    model = make(sizes)
    fill(model, weights, path)
    return model.eval().requires_grad_(False).to(device)
