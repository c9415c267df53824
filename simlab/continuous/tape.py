"""Where the random numbers of continuous tokens stand on the tape.

Key = the seed, and counter = (replicate, iteration, position and trial, purpose, denoising step and pair of
dimensions). Trial 0 is the trajectory itself, or the coin of the draft; proposals for a rejected token are trials 1, 2,
... Step 0 is the noise that a trajectory starts from, step t that of the kernel from x_t to x_{t-1}.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simlab.checks import check_at_least
from simlab.continuous.normals import box_muller
from simlab.randomness import Purpose, Tape
from simlab.randomness.philox import MASK, mantissa, philox4x32
from simlab.randomness.tape import check_tape

STEPS, PAIRS, TRIALS, POSITIONS = 1 << 16, 1 << 8, 1 << 16, 1 << 16  # what a counter has room for


def normals(
    tape: Tape, position: np.ndarray, purpose: Purpose, step: Any, trial: int | np.ndarray, size: int
) -> np.ndarray:
    """``float64[B, size]``: the normals of one step of the trajectories at ``position[B]``.

    Those of many steps in one go, ``step[S]``, are ``float64[S, B, size]``.
    """
    pair = np.arange((size + 1) // 2)
    place = (position | (trial << 16))[:, None] + 0 * pair
    kind = ((int(purpose) << 24) | (np.asarray(step)[..., None, None] << 8) | pair) + 0 * place
    replicate = tape.replicates[:, None] + 0 * place
    w0, w1, w2, w3 = philox4x32(replicate, 0 * place + tape.iteration, place, kind, tape.seed & MASK, tape.seed >> 32)
    drawn = np.stack(box_muller(mantissa(w0, w1), mantissa(w2, w3)), axis=-1)
    return drawn.reshape(*kind.shape[:-1], -1)[..., :size]


def all_normals(
    tape: Tape, position: np.ndarray, purpose: Purpose, steps: int, trial: int | np.ndarray, size: int
) -> Callable[[int], np.ndarray]:
    """From a step of ``steps``, 0 for the start, to its normals ``float64[B, size]``, all of them drawn at once."""
    drawn = normals(tape, position, purpose, np.arange(steps + 1), trial, size)
    return drawn.__getitem__


def coins(tape: Tape, position: np.ndarray, purpose: Purpose, trial: int | np.ndarray = 0) -> np.ndarray:
    """``float64[B]`` in [0, 1): a coin for the token at ``position[B]``."""
    return tape.uniform((position | (trial << 16))[:, None], purpose)[:, 0]


def check_room(steps: int, dimension: int, length: int, limit: int) -> None:
    """Raise ``ValueError`` where a run would need more numbers than a counter tells apart."""
    for name, value, room in (
        ("steps", steps, STEPS - 1),
        ("dimension", dimension, 2 * PAIRS),
        ("length", length, POSITIONS - 1),
        ("limit", limit, TRIALS - 1),
    ):
        if check_at_least(name, value, 1) > room:
            raise ValueError(f"{name} is {value}; expected at most {room}: the tape has no more numbers")


def check_positions(tape: Tape, position: Any) -> None:
    """Raise ``ValueError`` unless ``position`` is ``[B]``, one for each sequence of ``tape``, with numbers for all."""
    check_tape(tape)
    count = len(tape.replicates)
    if not isinstance(position, np.ndarray) or position.dtype.kind not in "iu" or position.shape != (count,):
        raise ValueError(f"position is {position!r}; expected an array of {count} whole numbers, as many as sequences")
    outside = (position < 0) | (position >= POSITIONS)
    if outside.any():
        raise ValueError(
            f"position holds {position[outside][0]}; expected 0 to {POSITIONS - 1}: the tape has no more numbers"
        )
