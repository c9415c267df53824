"""Training the target and its draft: next-token prediction, with or without the class."""

from __future__ import annotations

from math import log

import torch
from torch import Tensor
from torch.nn import functional

from experiments.training.loop import CHUNK, HELD_OUT, Task, some_dropped
from simlab.models.architectures.transformer import Config, Transformer


class TransformerTask(Task):
    """Images as tokens ``int[n, N]`` with their classes ``int[n]``."""

    model: Transformer

    def __init__(self, tokens: Tensor, labels: Tensor, config: Config, seed: int) -> None:
        self.model = Transformer(config)
        self.model.initialise(torch.Generator().manual_seed(seed))
        self.model.to(tokens.device)
        self.tokens, self.labels, self.examples = tokens, labels, len(tokens)

    def loss(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        tokens, labels = self.tokens[rows], some_dropped(self.labels[rows], self.model.config.classes, generator)
        logits = self.model(labels, tokens[:, :-1])
        return functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())


@torch.no_grad()
def transformer_metrics(model: Transformer, tokens: Tensor, labels: Tensor) -> dict[str, float]:
    """Bits a token of images that were held out, with their class and without."""
    tokens, labels = tokens[:HELD_OUT], labels[:HELD_OUT]
    nothing = torch.full_like(labels, model.config.classes)
    return {
        "bits_per_token": _bits(model, tokens, labels),
        "bits_per_token_no_class": _bits(model, tokens, nothing),
        "images": float(len(tokens)),
    }


def _bits(model: Transformer, tokens: Tensor, labels: Tensor) -> float:
    nats = 0.0
    for given, part in zip(labels.split(CHUNK), tokens.split(CHUNK), strict=True):
        logits = model.forward(given, part[:, :-1])  # not compiled: that would take longer than it saves
        nats += float(functional.cross_entropy(logits.flatten(0, 1), part.flatten(), reduction="sum"))
    return nats / tokens.numel() / log(2)
