"""Training the EAGLE-style head: the target's next feature, and the next token given it.

Li et al., "EAGLE: speculative sampling requires rethinking feature uncertainty", ICML 2024: a smooth L1 loss between
features, and a cross entropy between what the target's output layer makes of them, a tenth of it for the first.
"""

from __future__ import annotations

from math import log

import torch
from torch import Tensor
from torch.nn import functional

from experiments.training.loop import CHUNK, HELD_OUT, Task
from simlab.models.architectures.eagle import Head
from simlab.models.architectures.transformer import Transformer

OF_FEATURES = 1.0
OF_TOKENS = 0.1  # as in the paper
NOISE = 0.1  # half width of the uniform noise on features: predicted ones will not be exact


class HeadTask(Task):
    """Images as tokens ``int[n, N]`` with their classes ``int[n]``, and the target the head belongs to."""

    model: Head

    def __init__(self, target: Transformer, tokens: Tensor, labels: Tensor, seed: int) -> None:
        self.target = target.requires_grad_(False)
        self.model = Head(target.config)
        self.model.initialise(torch.Generator().manual_seed(seed))
        self.model.to(tokens.device)
        self.tokens, self.labels, self.examples = tokens, labels, len(tokens)

    def loss(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        tokens, labels = self.tokens[rows], self.labels[rows]
        with torch.no_grad():
            wanted = self.target.whole(labels, tokens[:, :-1])
        noise = (torch.rand(wanted.shape, generator=generator, device=wanted.device) * 2 - 1) * NOISE
        made = self.model(self.target, labels, tokens[:, :-1], wanted + noise)
        like = functional.log_softmax(self.target.logits(made), -1)
        rows_wanted = functional.softmax(self.target.logits(wanted), -1)
        crossed = -(rows_wanted * like).sum(-1).mean()
        return OF_FEATURES * functional.smooth_l1_loss(made, wanted) + OF_TOKENS * crossed


@torch.no_grad()
def head_metrics(model: Head, target: Transformer, tokens: Tensor, labels: Tensor) -> dict[str, float]:
    """Bits a held-out token given the target's own features, and how much of the target's row the head's overlaps."""
    tokens, labels = tokens[:HELD_OUT], labels[:HELD_OUT]
    nats, overlap = 0.0, 0.0
    for given, part in zip(labels.split(CHUNK), tokens.split(CHUNK), strict=True):
        features = target.whole(given, part[:, :-1])
        logits = target.logits(model.forward(target, given, part[:, :-1], features))
        nats += float(functional.cross_entropy(logits.flatten(0, 1), part.flatten(), reduction="sum"))
        overlap += float(torch.minimum(logits.softmax(-1), target.logits(features).softmax(-1)).sum())
    count = tokens.numel()
    return {"bits_per_token": nats / count / log(2), "overlap": overlap / count, "images": float(len(tokens))}
