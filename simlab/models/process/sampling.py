"""From logits to the rows that are sampled from, in the order real samplers keep.

    guidance on raw logits, grammar mask, temperature, top-k, softmax, top-p, all in float32 or better

It is what :mod:`simlab.processes.processed` does to pmfs; here logits are at hand, and what depends on the position in
the image is looked up for every position of a window, not for the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from simlab.arrays import Constant
from simlab.checks import check_at_least, check_number
from simlab.models.architectures.transformer import at_least_single
from simlab.processes import processors


@dataclass(frozen=True)
class Sampling:
    """How rows are made of logits.

    Parameters
    ----------
    guidance
        A scale, or one for each position; 1 is none.
    temperature
        At least 0; 0 puts all mass on the largest logit.
    top_k
        How many tokens are kept, at least 1; all, unless given.
    top_p
        The mass that is kept, above 0 and at most 1.
    grammar
        ``bool[N, V]``, the tokens allowed at each position.

    Raises
    ------
    ValueError
        For a value outside its range, or a position at which no token is allowed.
    """

    guidance: float | Sequence[float] = 1.0
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    grammar: Any = None
    _scales: Constant = field(init=False, repr=False, compare=False)
    _allowed: Constant | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        scales = np.atleast_1d(np.asarray(self.guidance, dtype=np.float64))
        for scale in scales:
            check_number("guidance", float(scale))
        check_number("temperature", self.temperature)
        if self.top_k is not None:
            check_at_least("top_k", self.top_k, 1)
        if self.top_p is not None:
            check_number("top_p", self.top_p, 0, 1)
            if self.top_p == 0:
                raise ValueError("top_p is 0; expected a mass above 0 and at most 1")
        object.__setattr__(self, "_scales", Constant(scales))
        allowed = None if self.grammar is None else np.asarray(self.grammar)
        if allowed is not None and (allowed.ndim != 2 or allowed.dtype != bool or not allowed.any(axis=1).all()):
            raise ValueError(
                f"grammar has shape {allowed.shape} and dtype {allowed.dtype}; expected bool [N, V] with a token "
                "allowed at every position"
            )
        object.__setattr__(self, "_allowed", None if allowed is None else Constant(allowed))

    @property
    def guided(self) -> bool:
        """Whether rows without the condition are needed."""
        return bool((self._scales.values != 1).any())

    def check(self, length: int, vocabulary: int) -> None:
        """Raise unless this fits the sequences of a model.

        Parameters
        ----------
        length, vocabulary
            N and V.

        Raises
        ------
        ValueError
            If there are neither one scale nor N, or the grammar is not ``[N, V]``.
        """
        if len(self._scales.values) not in (1, length):
            raise ValueError(f"guidance has {len(self._scales.values)} scales; expected one, or {length}")
        if self._allowed is not None and self._allowed.values.shape != (length, vocabulary):
            raise ValueError(f"grammar has shape {self._allowed.values.shape}; expected {(length, vocabulary)}")

    def rows(self, logits: Tensor, position: Tensor) -> Tensor:
        """The pmfs that are sampled from.

        Parameters
        ----------
        logits
            ``float[B, M, V]``; with guidance ``float[2B, M, V]``, the conditional ones first.
        position
            ``int[B, M]``, of the rows in the sequence.

        Returns
        -------
        torch.Tensor
            ``float[B, M, V]`` in float32 or better.
        """
        logits = at_least_single(logits)
        if self.guided:
            conditional, free = logits.chunk(2)
            scale = self._at(self._scales, position).to(logits.dtype)[..., None]
            logits = free + scale * (conditional - free)
        if self._allowed is not None:
            logits = logits.masked_fill(~self._at(self._allowed, position), -torch.inf)
        if self.temperature == 0:
            return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
        if self.temperature != 1:
            logits = logits / self.temperature
        if self.top_k is not None:
            least = logits.topk(min(self.top_k, logits.shape[-1]), dim=-1).values[..., -1:]
            logits = logits.masked_fill(logits < least, -torch.inf)
        rows = logits.softmax(-1)
        if self.top_p is not None:
            rows = processors.top_p(rows, self.top_p).to(rows.dtype)
        return rows

    def _at(self, table: Constant, position: Tensor) -> Tensor:
        """What the table says of each position; one row is for all."""
        values: Tensor = table.beside(position)
        return values[position.clamp(0, len(values) - 1)]
