"""The rule ``reflection`` compiled: a rejected draft's last noise, reflected, makes the token in its place."""

from __future__ import annotations

import numpy as np
from numba import njit

from simlab.continuous.compiled.batched_ops import mean
from simlab.continuous.compiled.constants import FIRST, OWN
from simlab.continuous.compiled.models import CompiledModel
from simlab.continuous.compiled.trajectories import Scratch


@njit(nogil=True, cache=True, error_model="numpy")
def reflect(
    target: CompiledModel,
    j: int,
    draft: CompiledModel,
    left: int,
    count: int,
    waiting: np.ndarray,
    x: np.ndarray,
    states: tuple[np.ndarray, np.ndarray],
    conditions: tuple[np.ndarray, np.ndarray],
    scratch: Scratch,
    token: np.ndarray,
) -> None:
    """Into ``token[d, W]`` what replaces the drafts ``x[d, W]`` of the ``left`` tokens ``waiting``.

    ``states`` and ``conditions`` are x_1 and what it is made under, ``[d, W]`` of the target and of the draft.
    """
    own, apart, buffer = scratch.spare, scratch.old, scratch.noise
    mean(target, j, FIRST, states[0], conditions[0], count, own)
    mean(draft, OWN, FIRST, states[1], conditions[1], count, apart)
    size = own.shape[0]
    noise = token
    for k in range(left):
        w = waiting[k]
        for i in range(size):
            noise[i, w] = x[i, w] - apart[i, w]
            apart[i, w] -= own[i, w]
        _whiten(target, j, noise, w, buffer)
        _whiten(target, j, apart, w, buffer)
        along = length = 0.0
        for i in range(size):
            along += apart[i, w] * noise[i, w]
            length += apart[i, w] * apart[i, w]
        share = along / length
        for i in range(size):
            noise[i, w] = noise[i, w] - 2 * apart[i, w] * share
        _colour(target, j, noise, w, buffer)
        for i in range(size):
            token[i, w] = own[i, w] + noise[i, w]


@njit(nogil=True, cache=True, error_model="numpy")
def _whiten(model: CompiledModel, j: int, x: np.ndarray, w: int, buffer: np.ndarray) -> None:
    """Column ``w`` of ``x`` takes the inverse of the last root."""
    size = x.shape[0]
    if model.slope.shape[3] == 1:
        for i in range(size):
            x[i, w] /= model.factor[j, FIRST, i, 0]
        return
    _times(model.inverse, j, x, w, buffer)


@njit(nogil=True, cache=True, error_model="numpy")
def _colour(model: CompiledModel, j: int, x: np.ndarray, w: int, buffer: np.ndarray) -> None:
    """Column ``w`` of ``x`` takes the last root."""
    if model.slope.shape[3] == 1:
        for i in range(x.shape[0]):
            x[i, w] *= model.factor[j, FIRST, i, 0]
        return
    _times(model.factor, j, x, w, buffer)


@njit(nogil=True, cache=True, error_model="numpy")
def _times(matrices: np.ndarray, j: int, x: np.ndarray, w: int, buffer: np.ndarray) -> None:
    """Column ``w`` of ``x`` takes the dense matrix ``matrices[j, FIRST]``."""
    size = x.shape[0]
    for i in range(size):
        buffer[i, w] = 0.0
        for k in range(size):
            buffer[i, w] += matrices[j, FIRST, i, k] * x[k, w]
    for i in range(size):
        x[i, w] = buffer[i, w]
