"""Steps and log densities of Gaussian kernels for a batch of tokens.

Arrays have the batch last, so that the innermost loop runs over neighbours in memory and is compiled to vector
instructions: ``[d, W]`` has room for W tokens, of which the first ``count`` are in use.
Sums go in the order of the reference form where matrices are diagonal; so tokens are equal to the last bit there, where
standard deviations are fixed.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from simlab.continuous.compiled.models import CompiledModel
from simlab.exponential_compiled import make_exponential

_LARGEST = 700.0
_exponential = make_exponential(14)


@njit(inline="always", error_model="numpy")
def exponential(x: float) -> float:
    """exp(x), \\|x\\| cut at 700."""
    return _exponential(min(max(x, -_LARGEST), _LARGEST))


@njit(inline="always", error_model="numpy")
def log_range(x: float, width: float, range_slope: float, range_bias: float) -> float:
    """The logarithm of a learned standard deviation above its lower bound."""
    return width / (1.0 + exponential(-(range_slope * x + range_bias)))


@njit(nogil=True, cache=True, error_model="numpy")
def _add_times(matrices: np.ndarray, j: int, t: int, vectors: np.ndarray, count: int, out: np.ndarray) -> None:
    """``out`` += ``matrices[j, t]``, dense, times each vector; four columns at a time: less is read and written."""
    size = matrices.shape[3]
    for i in range(size):
        for k in range(0, size - 3, 4):
            a, b, c, d = (
                matrices[j, t, i, k],
                matrices[j, t, i, k + 1],
                matrices[j, t, i, k + 2],
                matrices[j, t, i, k + 3],
            )
            for w in range(count):
                out[i, w] = (
                    out[i, w]
                    + a * vectors[k, w]
                    + b * vectors[k + 1, w]
                    + c * vectors[k + 2, w]
                    + d * vectors[k + 3, w]
                )
        for k in range(size - size % 4, size):
            number = matrices[j, t, i, k]
            for w in range(count):
                out[i, w] += number * vectors[k, w]


@njit(nogil=True, cache=True, error_model="numpy")
def condition_part(model: CompiledModel, j: int, t: int, c: np.ndarray, count: int, out: np.ndarray) -> None:
    """``out`` = B c + o: what map t makes of conditions alone."""
    diagonal = model.condition_gain.shape[3] == 1
    for i in range(out.shape[0]):
        condition_gain, offset = model.condition_gain[j, t, i, 0] if diagonal else 0.0, model.offset[j, t, i]
        for w in range(count):
            out[i, w] = condition_gain * c[i, w] + offset
    if not diagonal:
        _add_times(model.condition_gain, j, t, c, count, out)


@njit(nogil=True, cache=True, error_model="numpy")
def mean(model: CompiledModel, j: int, t: int, x: np.ndarray, c: np.ndarray, count: int, out: np.ndarray) -> None:
    """``out`` = A x + B c + o; it is not ``x``."""
    condition_part(model, j, t, c, count, out)
    if model.slope.shape[3] > 1:
        _add_times(model.slope, j, t, x, count, out)
        return
    for i in range(out.shape[0]):
        slope = model.slope[j, t, i, 0]
        for w in range(count):
            out[i, w] += slope * x[i, w]


@njit(nogil=True, cache=True, error_model="numpy")
def advance(
    model: CompiledModel,
    j: int,
    t: int,
    c: np.ndarray,
    noise: np.ndarray,
    strength: float,
    count: int,
    x: np.ndarray,
    volume: np.ndarray,
    spare: np.ndarray,
) -> None:
    """``x`` takes the step of map t, with noise of ``strength`` 1 or 0.

    To ``volume[W]`` is added what a learned range adds to log |det L|.
    """
    if model.slope.shape[3] > 1:
        mean(model, j, t, x, c, count, spare)
        if strength > 0:
            _add_times(model.factor, j, t, noise, count, spare)
        for i in range(x.shape[0]):
            for w in range(count):
                x[i, w] = spare[i, w]
        return
    for i in range(x.shape[0]):
        slope, condition_gain, offset = model.slope[j, t, i, 0], model.condition_gain[j, t, i, 0], model.offset[j, t, i]
        factor = strength * model.factor[j, t, i, 0]
        if 0 <= t < model.range_width.shape[1]:
            width, range_slope, range_bias = (
                model.range_width[j, t, i],
                model.range_slope[j, t, i],
                model.range_bias[j, t, i],
            )
            for w in range(count):  # two loops: a processor has not enough registers for one
                spare[i, w] = log_range(x[i, w], width, range_slope, range_bias)
            for w in range(count):
                above = spare[i, w]
                volume[w] += above
                x[i, w] = (
                    slope * x[i, w] + (condition_gain * c[i, w] + offset) + factor * exponential(above) * noise[i, w]
                )
        else:
            for w in range(count):
                x[i, w] = slope * x[i, w] + (condition_gain * c[i, w] + offset) + factor * noise[i, w]


@njit(nogil=True, cache=True, error_model="numpy")
def add_density(
    model: CompiledModel,
    j: int,
    t: int,
    to: np.ndarray,
    x: np.ndarray,
    c: np.ndarray,
    count: int,
    sharpness: float,
    out: np.ndarray,
    spare: np.ndarray,
    row: np.ndarray,
) -> None:
    """``out[W]`` += the log density of map t from ``x`` to ``to``, squared distances times ``sharpness``.

    Up to d/2 log 2 pi, as :meth:`simlab.continuous.models.protocol.Kernels.log_density_of`.
    """
    volume = model.volume[j, t]
    for w in range(count):
        out[w] -= volume
    mean(model, j, t, x, c, count, spare)
    for i in range(to.shape[0]):
        for w in range(count):
            spare[i, w] = to[i, w] - spare[i, w]
    for i in range(to.shape[0]):
        if model.slope.shape[3] > 1:
            for w in range(count):
                row[w] = 0.0
            for k in range(to.shape[0]):
                number = model.inverse[j, t, i, k]
                for w in range(count):
                    row[w] += number * spare[k, w]
            for w in range(count):
                out[w] -= 0.5 * sharpness * (row[w] * row[w])
        elif 0 <= t < model.range_width.shape[1]:
            inverse = model.inverse[j, t, i, 0]
            width, range_slope, range_bias = (
                model.range_width[j, t, i],
                model.range_slope[j, t, i],
                model.range_bias[j, t, i],
            )
            for w in range(count):
                row[w] = log_range(x[i, w], width, range_slope, range_bias)
            for w in range(count):
                away = spare[i, w] * inverse * exponential(-row[w])
                out[w] -= row[w] + 0.5 * sharpness * (away * away)
        else:
            inverse = model.inverse[j, t, i, 0]
            for w in range(count):
                away = spare[i, w] * inverse
                out[w] -= 0.5 * sharpness * (away * away)
