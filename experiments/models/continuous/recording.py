"""Recorded drafts of continuous tokens: trajectories and kernels of both models, and what was decided.

Of every draft that was verified, ``[m]``:

``replicate``, ``position``, ``place``
    The image, the token in its order, and the draft in its block.
``coin``, ``accepted``
    The uniform that decided, and the decision.
``{target,draft}_{states,means,sds}``
    ``[m, T + 1, d]`` and ``[m, T, d]``: x_t at index t and kernel t at index t - 1, each at its own trajectory. The
    noise of step t is (x_{t-1} - mean) / sd.
``crossed_means``, ``crossed_sds``
    ``[m, T, d]``: the target's kernels at the draft's states, which the path ratio asks for.

Rules see a recording as they see a network (:class:`Recorded`), so that they are judged without one. A rule has the
probability min(1, rho) of accepting a draft, computed and not sampled; ``acceptance`` is its mean with an error over
images, and ``decisions`` the share of recorded decisions that the rule takes on the recorded coins. Trajectories share
their noise or do not, as the recorded rule had it, and every rule is put through those. A recording has the drafts of a
block up to the first that was rejected in the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.models.recording import WRONG, Recording, RecordingError, Replayed, wrong
from simlab.continuous.models.protocol import FromNoise, Kernel
from simlab.continuous.models.trajectories import Trajectory, TrajectoryPair
from simlab.continuous.rules import RULES, make_rule
from simlab.continuous.rules.base import Rule, log_acceptance
from simlab.statistics import clustered

KIND, VERSION = "continuous", 1
FLAT = "replicate", "position", "place", "coin", "accepted"
SIDES = tuple(f"{side}_{part}" for side in ("target", "draft") for part in ("states", "means", "sds"))
NAMES = (*FLAT, *SIDES, "crossed_means", "crossed_sds")
DESCRIBED = "method", "labels", "aligned", "noisy_end"


class Recorded(FromNoise):
    """The kernels of one model in a recording: at its own trajectories, and the target's at the draft's too.

    Conditions are numbers of verified drafts.
    """

    def __init__(self, arrays: dict[str, np.ndarray], side: str, noisy_end: bool) -> None:
        self.noisy_end = noisy_end
        self._crossed = arrays["draft_states"], arrays["crossed_means"], arrays["crossed_sds"]
        self._own = tuple(arrays[f"{side}_{part}"] for part in ("states", "means", "sds"))
        self._places = (self._own, self._crossed) if side == "target" else (self._own,)
        _, self.steps, self.dimension = self._own[1].shape

    def kernel(self, t: int, x: np.ndarray, c: np.ndarray) -> Kernel:
        for states, means, sds in self._places:
            if np.array_equal(states[c, t], x):
                return Kernel(means[c, t - 1], sds[c, t - 1])
        raise ValueError(f"the recording has no kernel {t} at these states; expected those of its trajectories")

    def adds_noise(self, t: int) -> bool:
        return (t > 1 or self.noisy_end) and bool(self._own[2][:, t - 1].any())

    def undo(self, t: int, to: np.ndarray, c: np.ndarray, near: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        raise ValueError(f"the recording has no way back through step {t}; expected its trajectories to do")

    def check_one_to_one(self) -> None:
        if self.last_noise > 1:
            raise ValueError("the recording has no network to walk back through; expected a last step that adds noise")

    def check_density(self, first: int, last: int) -> None:
        still = (self._own[2][:, first - 1 : last] == 0).any(axis=(0, 2))
        if still.any():
            raise ValueError(f"kernel {first + int(still.argmax())} of {self.steps} adds no noise; expected a density")

    def trajectory(self) -> Trajectory:
        """The trajectories of all verified drafts."""
        states, means, sds = self._own
        kernels = tuple(Kernel(means[:, t], sds[:, t]) for t in range(self.steps))
        return Trajectory(self, np.arange(len(states)), np.moveaxis(states, 1, 0), kernels)


class Trajectories(Recording):
    """Recorded drafts that were read: arrays by name, and both trajectories of every one."""

    holds = "kernels"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        if self.manifest.get(KIND) != VERSION:
            version = self.manifest.get(KIND)
            raise RecordingError(f"{path}: is of version {version!r} of continuous tokens; expected {VERSION}")
        self._check_holds(NAMES, DESCRIBED)
        try:
            with self._file as saved:
                self.arrays = dict(saved)
            self._check()
            noisy_end = bool(self.manifest["noisy_end"])
            self.target, self.draft = (Recorded(self.arrays, side, noisy_end) for side in ("target", "draft"))
            self.pair = TrajectoryPair(self.target.trajectory(), self.draft.trajectory())
        except WRONG as error:
            raise wrong(path, error) from None

    def _check(self) -> None:
        """Raise :class:`RecordingError` unless all arrays are of as many drafts, steps and numbers."""
        count, steps, size = self.arrays["target_means"].shape
        for name in NAMES:
            values, shape = self.arrays[name], (count,) if name in FLAT else (count, steps, size)
            shape = (count, steps + 1, size) if name.endswith("states") else shape
            kinds = {"accepted": "b", "coin": "f"}.get(name, "iu" if name in FLAT else "f")
            if values.shape != shape or values.dtype.kind not in kinds:
                raise RecordingError(f"{self.path}: {name} is {values.dtype} {values.shape}; expected {kinds} {shape}")
            if not np.isfinite(values).all() or (name.endswith("sds") and (values < 0).any()):
                raise RecordingError(f"{self.path}: {name} holds what is no number, or below 0; expected numbers")
        if not count or not isinstance(self.manifest["labels"], list):
            raise RecordingError(f"{self.path}: has {count} drafts, or no labels; expected those of a run")

    def __len__(self) -> int:
        return len(self.arrays["coin"])

    def told(self) -> str:
        """How many drafts, and how many of them were accepted."""
        images, accepted = len(self.manifest["labels"]), float(self.arrays["accepted"].mean())
        return f"{self.manifest['method']}  {len(self):,} drafts of {images} images, {accepted:.1%} accepted"

    def replayed(self, names: Sequence[str] = ()) -> Replayed:
        """A line a rule, of all drafts; ``refused`` says why a rule has no ratio there, and is None where it has."""
        rules = [make_rule(name, aligned=self.manifest["aligned"]) for name in names or RULES]
        return Replayed({"drafts": len(self)}, [self._line(rule) for rule in rules])

    def _line(self, rule: Rule) -> dict[str, Any]:
        empty = dict.fromkeys(("acceptance", "error", "decisions"))
        try:
            rule.check(self.target, self.draft)
            rates = np.exp(log_acceptance(rule.log_draft_ratio(self.pair)))
        except ValueError as error:
            return {"rule": rule.name, **empty, "refused": str(error)}
        found = clustered(self.arrays["replicate"], rates)
        return {
            "rule": rule.name,
            "acceptance": found.mean,
            "error": found.error if found.n > 1 else None,
            "decisions": float(((self.arrays["coin"] < rates) == self.arrays["accepted"]).mean()),
            "refused": None,
        }
