"""Record what a run of a model verifies, for replay under other rules.

What is kept of a draft, and its format on disk, are the kind of token's: rows of discrete tokens
(:mod:`experiments.models.discrete.record`), trajectories of continuous ones
(:mod:`experiments.models.continuous.record`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch

from experiments.models.session import Notify, ignore


class Recorder(ABC):
    """Drafts of a ``method``, as they are verified."""

    models: Any  # of its kind
    method: Any

    @abstractmethod
    def draw(self, labels: np.ndarray, seed: int, first: int) -> None:
        """Draw an image of each of ``labels[B]`` at once, and keep what is verified; the first is replicate ``first``.

        Raises ``ValueError`` for a method that verifies no drafts.
        """

    @abstractmethod
    def arrays(self, manifest: dict[str, Any]) -> dict[str, np.ndarray]:
        """What is written: all that was kept by name, and the ``manifest`` of the run with what the kind says of it."""


def record(
    recorder: Recorder, labels: np.ndarray, seed: int, batch: int, notify: Notify = ignore
) -> dict[str, np.ndarray]:
    """What to write of an image of each of ``labels[n]``, ``batch`` at a time.

    Raises ``ValueError`` for a method that verifies no drafts.
    """
    for begin in range(0, len(labels), batch):
        own = labels[begin : begin + batch]
        recorder.draw(own, seed, begin)
        notify(begin + len(own))
    manifest = {
        "method": recorder.method.name,
        "seed": seed,
        "labels": labels.tolist(),
        "shape": list(recorder.models.shape),
        "torch": torch.__version__,
    }
    return recorder.arrays(manifest)
