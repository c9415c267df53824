"""Trajectories of a batch of tokens, with the log densities that rules need."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from simlab.continuous.compiled.batched_ops import add_density, advance
from simlab.continuous.compiled.constants import EXTRA, FIRST, LAST_NOISE, START, START_NOISE
from simlab.continuous.compiled.draws import TapePlaces, fill_normals
from simlab.continuous.compiled.models import CompiledModel


class Scratch(NamedTuple):
    """Buffers for intermediate values."""

    noise: np.ndarray  # [E, W]: E is d, or one more to be even
    spare: np.ndarray  # [d, W]
    old: np.ndarray  # [d, W]
    row: np.ndarray  # [W]


@njit(nogil=True, cache=True, error_model="numpy")
def trajectory(
    model: CompiledModel,
    j: int,
    c: np.ndarray,
    count: int,
    places: TapePlaces,
    purpose: int,
    with_start: bool,
    x: np.ndarray,
    before: np.ndarray,
    upper: np.ndarray,
    scratch: Scratch,
) -> None:
    """A trajectory for each token, under the conditions ``c``: x_0 into ``x`` and x_1 into ``before``.

    Into ``upper[W]`` the log of the product of sqrt(det S_t), t >= 2; with the start and all noise down to x_1 besides
    if ``with_start``: minus the log density of the trajectory down to x_1.
    """
    steps = model.slope.shape[1] - EXTRA
    _start(model, j, c, count, places, purpose, x, scratch)
    fixed = 0.0
    for w in range(count):
        upper[w] = 0.0
    if with_start:
        fixed += model.volume[j, START]
        _add_squares(scratch.noise, x.shape[0], count, upper)
    for t in range(steps, 1, -1):
        fill_normals(scratch.noise, places, count, purpose, t + model.shift[j])
        advance(model, j, t - 1, c, scratch.noise, 1.0, count, x, upper, scratch.spare)
        fixed += model.volume[j, t - 1]
        if with_start:
            _add_squares(scratch.noise, x.shape[0], count, upper)
    for w in range(count):
        upper[w] += fixed
    copy(x, count, before)
    fill_normals(scratch.noise, places, count, purpose, LAST_NOISE + model.shift[j])
    advance(model, j, FIRST, c, scratch.noise, model.end[j], count, x, scratch.row, scratch.spare)


@njit(nogil=True, cache=True, error_model="numpy")
def trajectory_under_both(
    model: CompiledModel,
    j: int,
    c: np.ndarray,
    other: CompiledModel,
    k: int,
    under: np.ndarray,
    count: int,
    places: TapePlaces,
    purpose: int,
    x: np.ndarray,
    own: np.ndarray,
    others: np.ndarray,
    scratch: Scratch,
) -> None:
    """A trajectory of ``model`` for each token under ``c``: x_0, and its log density ``own[W]``.

    ``others[W]`` is its log density for chain k of the ``other`` model, under the conditions ``under``.
    """
    for w in range(count):
        own[w] = 0.0
        others[w] = 0.0
    _start(model, j, c, count, places, purpose, x, scratch)
    fixed = model.volume[j, START]
    _add_squares(scratch.noise, x.shape[0], count, own)
    add_density(other, k, START, x, x, under, count, 1.0, others, scratch.spare, scratch.row)
    for t in range(model.slope.shape[1] - EXTRA, 0, -1):
        fill_normals(scratch.noise, places, count, purpose, t + model.shift[j])
        copy(x, count, scratch.old)
        advance(model, j, t - 1, c, scratch.noise, 1.0, count, x, own, scratch.spare)
        fixed += model.volume[j, t - 1]
        _add_squares(scratch.noise, x.shape[0], count, own)
        add_density(other, k, t - 1, x, scratch.old, under, count, 1.0, others, scratch.spare, scratch.row)
    for w in range(count):
        own[w] = -(own[w] + fixed)


@njit(nogil=True, cache=True, error_model="numpy")
def _start(
    model: CompiledModel,
    j: int,
    c: np.ndarray,
    count: int,
    places: TapePlaces,
    purpose: int,
    x: np.ndarray,
    scratch: Scratch,
) -> None:
    """x_T into ``x``; its noise is left in ``scratch``."""
    for i in range(x.shape[0]):
        for w in range(count):
            x[i, w] = 0.0  # the map of the start has no slope
    fill_normals(scratch.noise, places, count, purpose, START_NOISE)
    advance(model, j, START, c, scratch.noise, 1.0, count, x, scratch.row, scratch.spare)


@njit(nogil=True, cache=True, error_model="numpy")
def _add_squares(noise: np.ndarray, size: int, count: int, out: np.ndarray) -> None:
    """Half the squared length of the noise, added to ``out[W]``."""
    for i in range(size):
        for w in range(count):
            out[w] += 0.5 * (noise[i, w] * noise[i, w])


@njit(nogil=True, cache=True)
def copy(values: np.ndarray, count: int, to: np.ndarray) -> None:
    """Copy the first ``count`` columns of ``values[d, W]`` to ``to``."""
    for i in range(values.shape[0]):
        for w in range(count):
            to[i, w] = values[i, w]
