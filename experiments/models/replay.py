"""Put rules through a recording of either kind of token, without a model: what they would do where a run has been.

Rows are what :mod:`experiments.models.discrete.replay` computes laws of; of trajectories
:mod:`experiments.models.continuous.recording` has the acceptance. Needs no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.models.continuous.recording import KIND, Trajectories
from experiments.models.discrete import replay as rows_replay
from experiments.models.discrete.recording import Rows
from experiments.models.recording import Notify, Replayed, opened


def read_recording(path: Path) -> Rows | Trajectories:
    """The recording in a file. Raises :class:`~experiments.models.recording.RecordingError` for what is none."""
    file, manifest = opened(path)
    file.close()
    return Trajectories(path) if KIND in manifest else Rows(path)


def replay(recording: Rows | Trajectories, names: Sequence[str], rows: int | None, notify: Notify) -> Replayed:
    """What all rules do with it, or those of some ``names``; of at most ``rows`` drafts where laws are computed.

    Raises ``ValueError`` for an unknown rule, or one that a recording has not all for.
    """
    if isinstance(recording, Trajectories):
        return recording.replayed(names)
    return rows_replay.replayed(recording, names, rows, notify)
