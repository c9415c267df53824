"""A small classifier of the same images; its features are what the Frechet distance of samples is measured in."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from simlab.checks import check_at_least


@dataclass(frozen=True)
class ClassifierConfig:
    """Sizes: ``side`` pixels a side, a multiple of 4; ``features`` numbers an image before the last layer."""

    side: int = 28
    width: int = 32
    features: int = 64
    classes: int = 10

    def __post_init__(self) -> None:
        for name in ("side", "width", "features", "classes"):
            check_at_least(name, getattr(self, name), 1)


class Classifier(nn.Module):
    """Images ``[B, 1, side, side]`` from 0 to 1, to features and classes."""

    def __init__(self, config: ClassifierConfig) -> None:
        super().__init__()
        self.config = config
        width = config.width
        self.body = nn.Sequential(
            *(nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.SiLU()),
            *(nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.BatchNorm2d(2 * width), nn.SiLU()),
            *(nn.Conv2d(2 * width, 2 * width, 3, padding=1), nn.BatchNorm2d(2 * width), nn.SiLU()),
            *(nn.Conv2d(2 * width, 4 * width, 3, stride=2, padding=1), nn.BatchNorm2d(4 * width), nn.SiLU()),
            nn.Flatten(),
            nn.Linear(4 * width * (-(-config.side // 4)) ** 2, config.features),
            nn.SiLU(),
        )
        self.head = nn.Linear(config.features, config.classes)

    def features(self, images: Tensor) -> Tensor:
        """``[B, features]``."""
        seen: Tensor = self.body(images)
        return seen

    def forward(self, images: Tensor) -> Tensor:
        """Logits ``[B, classes]``."""
        scores: Tensor = self.head(self.features(images))
        return scores
