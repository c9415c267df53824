"""Tiny untrained models in the files that come with simlab, for tests of commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

from simlab.models.architectures.classifier import Classifier, ClassifierConfig
from simlab.models.architectures.eagle import Head
from simlab.models.architectures.tokenizer import Tokenizer, TokenizerConfig
from simlab.models.architectures.transformer import Config, Transformer
from simlab.models.checkpoints import packed

SIDE, CODES, CLASSES = 8, 80, 10


def write_models(folder: Path, codes: int = CODES, spread: float = 0.3) -> None:
    """One file of each kind; ``spread`` is how large the weights are, and so how sharp the rows."""
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    sizes: dict[str, Any] = {"vocabulary": codes, "shape": (SIDE // 2, SIDE // 2), "classes": CLASSES, "multiple": 8}
    target, draft = Transformer(Config(2, 16, 2, **sizes)), Transformer(Config(1, 8, 1, **sizes))
    head, tokenizer = Head(target.config), Tokenizer(TokenizerConfig(SIDE, codes, 4, 8, 1))
    models: dict[str, nn.Module] = {"target": target, "draft": draft, "head": head, "tokenizer": tokenizer}
    models["classifier"] = Classifier(ClassifierConfig(SIDE, 4, 6, CLASSES))
    tokenizer.codebook.normal_(generator=generator)
    for network in (target, draft, head):
        network.initialise(generator)
        for weights in network.parameters():
            if weights.ndim > 1:
                weights.data.normal_(0.0, spread, generator=generator)
    folder.mkdir(parents=True, exist_ok=True)
    for kind, model in models.items():
        (folder / f"{kind}.safetensors").write_bytes(packed(model, kind, {"metrics": {}}))
