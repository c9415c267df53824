"""Trajectories of a run over continuous tokens: (means, deviations, states, coin, decision) of every verified draft.

Their format on disk is that of :mod:`experiments.models.continuous.recording`.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from experiments.models.continuous.kind import Continuous, Settings
from experiments.models.continuous.methods import Method
from experiments.models.continuous.recording import KIND, VERSION
from experiments.models.record import Recorder
from simlab.continuous.decoders import Verified
from simlab.continuous.models.trajectories import Trajectory
from simlab.continuous.tape import coins
from simlab.randomness import Purpose


class OfTrajectories(Recorder):
    """Every draft that a method verifies."""

    def __init__(self, models: Continuous, method: Method, sampling: Settings) -> None:
        if method.rule is None:
            raise ValueError(f"{method.name} verifies no drafts; expected a method that does, such as last-step")
        self.models, self.method, self.rule, self.sampling = models, method, method.rule, sampling
        self.parts: list[dict[str, np.ndarray]] = []

    def draw(self, labels: np.ndarray, seed: int, first: int) -> None:
        self.models.draw(self.method, labels, seed, self.sampling, len(labels), first, watch=self.keep)

    def keep(self, verified: Verified) -> None:
        """Add drafts that were verified together, but those behind the end of their sequence."""
        inside = np.flatnonzero(verified.position < self.models.pair.length)
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
        self.parts.append(flat | own | {f"crossed_{name}": crossed[name] for name in ("means", "sds")})

    def arrays(self, manifest: dict[str, Any]) -> dict[str, np.ndarray]:
        if not self.parts:
            raise ValueError("no draft was verified; expected a prefill below the number of tokens")
        own = {
            KIND: VERSION,
            "rule": self.rule.name,
            "aligned": self.rule.aligned,
            "gamma": self.method.gamma,
            "noisy_end": self.sampling.of(self.method).noisy_end,
            "settings": self.sampling.record(),
        }
        arrays = {name: np.concatenate([part[name] for part in self.parts]) for name in self.parts[0]}
        return arrays | {"manifest": np.array(json.dumps(manifest | own))}


def _laid(of: Trajectory) -> dict[str, np.ndarray]:
    """States ``[m, T + 1, d]`` and kernels ``[m, T, d]`` of trajectories."""
    kernels = [of.kernel(t) for t in range(1, of.chain.steps + 1)]
    sds = [np.broadcast_to(kernel.root, kernel.mean.shape) for kernel in kernels]
    return {
        "states": np.moveaxis(of.states, 0, 1),
        "means": np.stack([kernel.mean for kernel in kernels], axis=1),
        "sds": np.stack(sds, axis=1),
    }
