"""The rows (p, q, x) of a run over discrete tokens.

Recorded is the window of a call of the target, as the decoder has it before it verifies: for every draft x in it the
row p of the target after the drafts before it, the row q that the decoder *declares* for it, and where it stands:
image, call, place in the window, position in the sequence. So also behind the first rejection, where a scan does not
look any more but another rule might. Drafts past the end of a sequence are none and left out.

Which window that is, of a tree and with adaptive continuation too, says :mod:`experiments.models.watched`. Decoders
that verify no drafts (``ar``, ``jacobi``) leave nothing to record.

Of each image as many calls are recorded as asked for: with N calls, the first that begins in each N-th of the sequence.

Their format on disk is that of :mod:`experiments.models.discrete.recording`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments.models.discrete.kind import Discrete, sampling_record
from experiments.models.discrete.methods import Method
from experiments.models.discrete.recording import Packed, Recorded
from experiments.models.record import Recorder
from experiments.models.watched import Windows, watch
from simlab.models.process.sampling import Sampling
from simlab.randomness import Tape

CALLS = 8  # of an image, where nobody says how many


class OfRows(Recorder):
    """The rows of a method's windows, of up to ``calls`` calls an image."""

    def __init__(self, models: Discrete, method: Method, sampling: Sampling, calls: int | None) -> None:
        self.models, self.method, self.sampling, self.calls = models, method, sampling, calls or CALLS
        self.packed = Packed()

    def draw(self, labels: np.ndarray, seed: int, first: int) -> None:
        images = range(first, first + len(labels))
        spread = Spread(self.packed, images, self.calls, self.models.target.config.length)
        watch(self.models, self.method, labels, self.sampling, Tape(seed, images), spread)

    def arrays(self, manifest: dict[str, Any]) -> dict[str, np.ndarray]:
        own = {
            "settings": self.method.settings,
            "lossless": self.method.lossless,
            "sampling": sampling_record(self.sampling),
            "calls": self.calls,
        }
        return self.packed.arrays(manifest | own, self.models.codebook)


class Spread:
    """Adds windows of ``images[B]`` to ``packed``: of each the first that begins in each ``calls``-th of its sequence,
    ``length`` tokens."""

    def __init__(self, packed: Packed, images: Sequence[int], calls: int, length: int) -> None:
        self.packed, self.images = packed, np.asarray(images)
        self.calls, self.length = min(calls, length), length
        self.due = np.zeros(len(self.images), dtype=np.int64)  # the part from which on the next window is recorded
        self.call = 0

    def __call__(self, seen: Windows) -> None:
        """Add those that are due of the windows of the next call."""
        self.call += 1
        part = seen.start * self.calls // self.length
        which = np.flatnonzero(part >= self.due[seen.sequences])
        if not len(which):
            return
        rows, start = seen.sequences[which], seen.start[which]
        self.due[rows] = part[which] + 1

        width = seen.q.shape[1]
        p, q = (values[which, :width].double().cpu().numpy() for values in (seen.p, seen.q))
        place = np.broadcast_to(np.arange(width), (len(which), width))
        position = start[:, None] + place
        inside = position < self.length
        call, whole = np.full(len(which), self.call), (self.images[rows], seen.accepted[which])
        image, verified, call = (np.broadcast_to(of[:, None], place.shape) for of in (*whole, call))
        parts = p, q, image, call, place, position, seen.drafts[which], verified
        self.packed.add(Recorded(*(of[inside] for of in parts)))
