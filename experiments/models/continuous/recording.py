"""What a run of networks verified, on disk: trajectories and kernels of both models, and what was decided.

A recording is one ``.npz`` without pickles. Of every draft that was verified, ``[m]``:

``replicate``, ``position``, ``place``
    The image, the token in its order, and the draft in its block.
``coin``, ``accepted``
    The uniform that decided, and the decision.
``{target,draft}_{states,means,sds}``
    ``[m, T + 1, d]`` and ``[m, T, d]``: x_t at index t and kernel t at index t - 1, each at its own trajectory. The
    noise of step t is (x_{t-1} - mean) / sd.
``crossed_means``, ``crossed_sds``
    ``[m, T, d]``: the target's kernels at the draft's states, which the path ratio asks for.

Rules see a recording as they see a network (:class:`Recorded`), so that they are judged without one. Needs no torch.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from experiments.results import write_arrays
from simlab.continuous.models.gaussians import DIAGONAL, Layout
from simlab.continuous.models.protocol import Kernel, Kernels
from simlab.continuous.models.trajectories import Trajectory, TrajectoryPair

VERSION = 1
FLAT = "replicate", "position", "place", "coin", "accepted"
SIDES = tuple(f"{side}_{part}" for side in ("target", "draft") for part in ("states", "means", "sds"))
NAMES = (*FLAT, *SIDES, "crossed_means", "crossed_sds")


class Recorded(Kernels):
    """The kernels of one model in a recording: at its own trajectories, and the target's at the draft's too.

    Conditions are numbers of verified drafts.
    """

    def __init__(self, arrays: dict[str, np.ndarray], side: str, noisy_end: bool) -> None:
        self.noisy_end = noisy_end
        self._crossed = arrays["draft_states"], arrays["crossed_means"], arrays["crossed_sds"]
        self._own = tuple(arrays[f"{side}_{part}"] for part in ("states", "means", "sds"))
        self._places = (self._own, self._crossed) if side == "target" else (self._own,)
        _, self.steps, self.dimension = self._own[1].shape

    @property
    def layout(self) -> Layout:
        return DIAGONAL

    def initial(self, c: np.ndarray) -> Kernel:
        return Kernel(np.zeros((len(c), self.dimension)), np.ones(self.dimension))

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

    def check_start(self) -> None:
        """Nothing: N(0, I) has a density."""

    def trajectory(self) -> Trajectory:
        """The trajectories of all verified drafts."""
        states, means, sds = self._own
        kernels = tuple(Kernel(means[:, t], sds[:, t]) for t in range(self.steps))
        return Trajectory(self, np.arange(len(states)), np.moveaxis(states, 1, 0), kernels)


class Recording:
    """A recording that was read: ``manifest``, arrays by name, and both trajectories of every draft."""

    def __init__(self, path: Path) -> None:
        try:
            with np.load(path, allow_pickle=False) as saved:
                found = dict(saved)
            self.manifest: dict[str, Any] = json.loads(str(found.pop("manifest")))
        except FileNotFoundError:
            raise ValueError(f"{path}: there is no such file; expected a recording") from None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path}: {error}; expected a recording, as simlab record writes") from None
        if self.manifest.get("continuous") != VERSION or set(NAMES) - found.keys():
            raise ValueError(f"{path}: is no recording of continuous tokens; expected what simlab record writes")
        self.arrays = found
        noisy_end = bool(self.manifest["noisy_end"])
        self.target, self.draft = (Recorded(found, side, noisy_end) for side in ("target", "draft"))
        self.pair = TrajectoryPair(self.target.trajectory(), self.draft.trajectory())

    def __len__(self) -> int:
        return len(self.arrays["coin"])


def is_recording(path: Path) -> bool:
    """Whether a file is a recording of continuous tokens, rather than of rows."""
    try:
        with np.load(path, allow_pickle=False) as saved:
            return "crossed_means" in saved.files
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        return False


def write_recording(path: Path, arrays: dict[str, np.ndarray], manifest: dict[str, Any]) -> None:
    """Write a recording, whole or not at all."""
    write_arrays(path, arrays | {"manifest": np.array(json.dumps(manifest | {"continuous": VERSION}))})
