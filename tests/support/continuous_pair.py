"""A small pair of continuous tokens that nobody has trained, in files as the shipped ones are."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from simlab.continuous.networks.autoencoder import Autoencoder, AutoencoderConfig
from simlab.continuous.networks.mar.trunk import Mar, MarConfig
from simlab.models.checkpoints import packed

DIM = 4  # numbers of a token


def write_pair(folder: Path, side: int = 28) -> Path:
    """The three checkpoints, of images of ``side`` pixels; target and draft differ by their weights and sizes."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(2)
    autoencoder = Autoencoder(AutoencoderConfig(side, DIM, 8))
    _drawn(autoencoder, generator, 0.3)
    autoencoder.spread.fill_(1.0)
    _write(folder, "continuous-autoencoder", autoencoder)
    for kind, width in (("continuous-target", 16), ("continuous-draft", 8)):
        model = Mar(MarConfig(autoencoder.config.shape, DIM, width, 2, 1, 1, width, 1, buffer=2, classes=10))
        model.initialise(generator)
        _drawn(model.head.final_layer, generator, 0.01)  # so that drafts are accepted now and then
        _write(folder, kind, model)
    return folder


def _drawn(module: nn.Module, generator: torch.Generator, spread: float) -> None:
    with torch.no_grad():
        for weights in module.parameters():
            weights.normal_(0.0, spread, generator=generator)


def _write(folder: Path, kind: str, model: nn.Module) -> None:
    (folder / f"{kind}.safetensors").write_bytes(packed(model, kind, {"metrics": {}}))
