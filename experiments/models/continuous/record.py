"""Record what a run verifies: (means, deviations, states, coin, decision) of every draft; and replay rules on it.

Format and reader are in :mod:`experiments.models.continuous.recording`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from experiments.models.continuous.methods import Method
from experiments.models.continuous.session import Models, Notify, Settings, draw
from simlab.continuous.decoders import Verified
from simlab.continuous.models.trajectories import Trajectory
from simlab.continuous.tape import coins
from simlab.randomness import Purpose


def record(
    models: Models,
    method: Method,
    labels: np.ndarray,
    settings: Settings,
    batch: int,
    notify: Notify = lambda done: None,
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays by name and a manifest, of an image of each of ``labels[n]``.

    Raises ``ValueError`` for a method that verifies no drafts.
    """
    if method.rule is None:
        raise ValueError(f"{method.name} verifies no drafts; expected a method that does, such as last-step")
    parts: list[dict[str, np.ndarray]] = []
    length = models.pair.length

    def watch(verified: Verified) -> None:
        inside = np.flatnonzero(verified.position < length)
        pair, tape, position = verified.pair.only(inside), verified.tape.subset(inside), verified.position[inside]
        flat = {
            "replicate": tape.replicates.astype(np.int64),
            "position": position,
            "place": verified.place[inside],
            "coin": coins(tape, position, Purpose.ACCEPT),
            "accepted": verified.accepted[inside],
        }
        own = {f"{side}_{name}": values for side, of in pair._asdict().items() for name, values in _laid(of).items()}
        crossed = _laid(pair.target.through(pair.draft.states))
        parts.append(flat | own | {f"crossed_{name}": crossed[name] for name in ("means", "sds")})

    draw(models, method, labels, settings, batch, notify=notify, watch=watch)
    if not parts:
        raise ValueError("no draft was verified; expected a prefill below the number of tokens")
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    manifest = {
        "method": method.name,
        "rule": method.rule.name,
        "aligned": method.rule.aligned,
        "gamma": method.gamma,
        "noisy_end": settings.of(method).noisy_end,
        "seed": settings.seed,
        "labels": labels.tolist(),
        "settings": settings.record(),
        "shape": list(models.shape),
        "torch": torch.__version__,
    }
    return arrays, manifest


def _laid(of: Trajectory) -> dict[str, np.ndarray]:
    """States ``[m, T + 1, d]`` and kernels ``[m, T, d]`` of trajectories."""
    kernels = [of.kernel(t) for t in range(1, of.chain.steps + 1)]
    sds = [np.broadcast_to(kernel.root, kernel.mean.shape) for kernel in kernels]
    return {
        "states": np.moveaxis(of.states, 0, 1),
        "means": np.stack([kernel.mean for kernel in kernels], axis=1),
        "sds": np.stack(sds, axis=1),
    }
