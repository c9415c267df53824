"""The kernels of :mod:`simlab.processes.digits_network`: the pmfs of a window of positions."""

from __future__ import annotations

import numpy as np
from numba import njit

from simlab.processes.digits_network import AROUND, FLOOR, LENGTH, NEAREST, SHAPE, Network
from simlab.processes.rows_compiled import FEWEST, exponential

_AROUND, _NEAREST = np.array(AROUND), np.array(NEAREST)


@njit(nogil=True, cache=True)
def window(network: Network, tokens: np.ndarray, start: np.ndarray, rows: np.ndarray) -> None:
    """Write the pmfs ``rows[B, M, V]`` from ``start[B]`` on, given ``tokens[B, 65]``; none past the end."""
    seen = np.empty(network.where.shape[1])
    for b in range(len(tokens)):
        seen[:] = 0
        _see(network, tokens[b], 0, min(start[b], LENGTH), seen)
        for m in range(min(rows.shape[1], LENGTH - start[b])):
            _row(network, tokens[b], start[b] + m, seen, rows[b, m])
            _see(network, tokens[b], start[b] + m, start[b] + m + 1, seen)


@njit(inline="always")
def _see(network: Network, tokens: np.ndarray, start: int, stop: int, seen: np.ndarray) -> None:
    """Add the pixels from ``start`` to ``stop`` to what is seen of the image."""
    for position in range(start, stop):
        _add(tokens[position], network.image[position], seen)


@njit(nogil=True, cache=True)
def _row(network: Network, tokens: np.ndarray, position: int, seen: np.ndarray, row: np.ndarray) -> None:
    """Write the pmf at ``position``; ``seen[H]`` is what the image before it adds to the first layer."""
    first = seen + network.where[position]
    for k in range(len(_AROUND)):
        _add(max(_level(tokens, position, _AROUND[k]), 0), network.around[k], first)
    for k in range(len(_NEAREST)):
        level = _level(tokens, position, _NEAREST[k])
        _add(level >= 0, network.nearest[k, level], first)
    second, scores = network.bias.copy(), network.last_bias.copy()
    _layer(first, network.weights, second)
    _layer(second, network.last_weights, scores)
    total, top = 0.0, scores.max()
    for v in range(len(row)):
        row[v] = exponential(max(scores[v] - top, FEWEST))
        total += row[v]
    for v in range(len(row)):
        row[v] = (1 - FLOOR) * row[v] / total + FLOOR / len(row)


@njit(inline="always")
def _level(tokens: np.ndarray, position: int, offset: np.ndarray) -> int:
    """The grey level at a (row, column) ``offset`` from ``position``, -1 outside the image."""
    row, column = position // SHAPE[1] + offset[0], position % SHAPE[1] + offset[1]
    inside = row >= 0 and 0 <= column < SHAPE[1]
    return tokens[row * SHAPE[1] + column] if inside else -1


@njit(inline="always")
def _add(factor: float, row: np.ndarray, to: np.ndarray) -> None:
    """``to += factor * row``, and nothing for 0."""
    if factor != 0:
        for i in range(len(to)):
            to[i] += factor * row[i]


@njit(inline="always")
def _layer(values: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
    """``out += max(values, 0) @ weights``."""
    for i in range(len(values)):
        _add(max(values[i], 0.0), weights[i], out)
