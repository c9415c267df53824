"""Training the classifier: the class of an image."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from experiments.training.loop import CHUNK, Task
from simlab.models.architectures.classifier import Classifier, ClassifierConfig


class ClassifierTask(Task):
    """Images ``float[n, 1, side, side]`` with their classes ``int[n]``."""

    model: Classifier

    def __init__(self, images: Tensor, labels: Tensor, config: ClassifierConfig, seed: int) -> None:
        torch.manual_seed(seed)
        self.model = Classifier(config).to(images.device)
        self.images, self.labels, self.examples = images, labels, len(images)

    def loss(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        return functional.cross_entropy(self.model(self.images[rows]).float(), self.labels[rows])


@torch.no_grad()
def classifier_metrics(model: Classifier, images: Tensor, labels: Tensor) -> dict[str, float]:
    """The share of images whose class is found."""
    found = torch.cat([model(part).argmax(-1) for part in images.split(CHUNK)])
    return {"accuracy": float((found == labels).float().mean())}
