"""mlx-lm: its loop ``speculative_generate_step``, on models whose rows are given.

``simlab certify experiments.engines.mlx_lm:decode --contract decode`` certifies it, on a CPU where mlx has no other
device. Both models draw with ``mx.random.categorical``, seeded by the generator.
"""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np
from mlx_lm.generate import speculative_generate_step

from simlab.arrays import Array
from simlab.certify.adapters.tables import Model, drafted, ended

GAMMA = 2


class TokenCache:
    """A cache that keeps the tokens themselves, and can be cut as the package's caches can."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.state: list[Any] = []

    def is_trimmable(self) -> bool:
        return True

    def trim(self, count: int) -> int:
        """Without the last ``count`` tokens."""
        del self.tokens[len(self.tokens) - count :]
        return count


class Rows:
    """A model whose row after a prefix is given; token 0 stands before every sequence."""

    def __init__(self, pmf: Model) -> None:
        self.pmf = pmf

    def make_cache(self) -> list[TokenCache]:
        """As the package asks its models."""
        return [TokenCache()]

    def __call__(self, tokens: Any, cache: list[TokenCache]) -> Any:
        """Logits ``[1, n, V]``."""
        rows: list[Array] = []
        for token in tokens[0].tolist():
            cache[0].tokens.append(token)
            rows.append(self.pmf(tuple(cache[0].tokens[1:])))
        with np.errstate(divide="ignore"):
            return mx.array(np.log(rows).astype(np.float32))[None]


def decode(model: Model, length: int, rng: np.random.Generator, eos: int | None = None) -> list[int]:
    """The contract ``decode``."""
    mx.random.seed(int(rng.integers(1 << 62)))
    steps = speculative_generate_step(
        mx.array([0]),
        Rows(model),
        Rows(drafted(model)),
        num_draft_tokens=GAMMA,
        max_tokens=length,
        sampler=mx.random.categorical,
    )
    found: list[int] = []
    for token, *_ in steps:
        found.append(int(token))
        if token == eos:
            break
    return ended(found, eos)
