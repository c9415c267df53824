"""What engines do with logits before a token is drawn: a temperature, top-k and top-p, in turn or jointly."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from simlab.arrays import Array
from simlab.processes.processors import tempered, top_k, top_p


class Settings(NamedTuple):
    """How rows become what is drawn from: a temperature above 0, how many tokens are kept, and what mass of them."""

    temperature: float = 1.0
    top_k: int = 1 << 30
    top_p: float = 1.0


def softmax(logits: Array) -> Array:
    """Rows of logits ``[..., V]``, -inf where there is no mass, as rows of probabilities in float64."""
    wide = logits.astype(np.float64)
    masses = np.exp(wide - wide.max(axis=-1, keepdims=True))
    return np.asarray(masses / masses.sum(axis=-1, keepdims=True))


def bfloat16(values: Array) -> Array:
    """float64 ``[...]`` rounded to bfloat16, to nearest with ties to even, by way of float32."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    bits += 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))
    return (bits & np.uint64(0xFFFF0000)).astype(np.uint32).view(np.float32).astype(np.float64)


def in_turn(rows: Array, settings: Settings) -> Array:
    """Top-p of what top-k has left of rows ``[..., V]`` at the temperature."""
    return _by_mass(_by_count(_warm(rows, settings), settings), settings)


def jointly(rows: Array, settings: Settings) -> Array:
    """What both top-k and top-p keep of the same rows ``[..., V]`` at the temperature."""
    warm = _warm(rows, settings)
    kept = np.where((_by_count(warm, settings) > 0) & (_by_mass(warm, settings) > 0), warm, 0)
    return np.asarray(kept / kept.sum(axis=-1, keepdims=True))


# What is off is left out: it would take as long as what is on.


def _warm(rows: Array, settings: Settings) -> Array:
    return rows if settings.temperature == 1 else tempered(rows, settings.temperature)


def _by_count(rows: Array, settings: Settings) -> Array:
    return rows if settings.top_k >= rows.shape[-1] else top_k(rows, settings.top_k)


def _by_mass(rows: Array, settings: Settings) -> Array:
    return rows if settings.top_p == 1 else top_p(rows, settings.top_p)


FILTERS: dict[str, Callable[[Array, Settings], Array]] = {"chain_logits": in_turn, "chain_logits_joint": jointly}
