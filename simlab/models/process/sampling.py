"""From logits to the rows that are sampled from, in the order real samplers keep.

    guidance on raw logits, grammar mask, temperature, top-k, softmax, top-p, all in float32 or better

It is what :mod:`simlab.processes.processed` does to pmfs; here logits are at hand, and what depends on the position in
the image is looked up for every position of a window, not for the first.

On a CPU rows are written by their compiled form (:mod:`simlab.models.process.sampling_compiled`), for the reference
decoders and the compiled ones alike; elsewhere by torch. Both keep the same tokens of the same logits, and differ by
the rounding of an exponential.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import _get_current_dispatch_mode

from simlab.arrays import Constant
from simlab.checks import check_at_least, check_number
from simlab.models.architectures.transformer import at_least_single
from simlab.models.process.grammar import Grammar, as_grammar
from simlab.processes import processors

_BITS = {np.float32: np.int32, np.float64: np.int64}


def _as_scales(guidance: Any) -> np.ndarray:
    """One scale, or one for each position: ``float64[1]`` or ``[N]``."""
    try:
        scales = np.atleast_1d(np.asarray(guidance, dtype=np.float64))
    except (TypeError, ValueError, OverflowError):
        scales = np.empty(0)
    if isinstance(guidance, str) or scales.ndim != 1 or not len(scales):
        raise ValueError(f"guidance is {guidance!r}; expected a scale, or one for each position")
    return scales


@dataclass(frozen=True)
class Sampling:
    """How rows are made of logits.

    Parameters
    ----------
    guidance
        A scale, or one for each position; 1 is none.
    temperature
        At least 0; 0 puts all mass on the largest logit. What is above 0 is at least 1e-30.
    top_k
        How many tokens are kept, at least 1; all, unless given.
    top_p
        The mass that is kept, above 0 and at most 1, which keeps all.
    grammar
        The tokens allowed at each position: ``bool[N, V]``, or a
        :class:`~simlab.models.process.grammar.Grammar`, which is small.

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
    _allowed: Constant | None = field(init=False, repr=False, compare=False)  # bool[R, V]
    _tables: dict[type, tuple[Any, ...]] = field(init=False, repr=False, compare=False, default_factory=dict)
    _which: Constant | None = field(init=False, repr=False, compare=False)  # int[N]: the row of a position

    def __post_init__(self) -> None:
        scales = _as_scales(self.guidance)
        for scale in scales:
            check_number("guidance", float(scale))
        check_number("temperature", self.temperature)
        if 0 < self.temperature < processors.COLDEST:
            raise ValueError(f"temperature is {self.temperature}; expected 0, or at least {processors.COLDEST:g}")
        if self.top_k is not None:
            check_at_least("top_k", self.top_k, 1)
        if self.top_p is not None:
            check_number("top_p", self.top_p, 0, 1)
            if self.top_p == 0:
                raise ValueError("top_p is 0; expected a mass above 0 and at most 1")
        object.__setattr__(self, "_scales", Constant(scales))
        grammar = None if self.grammar is None else as_grammar(self.grammar)
        object.__setattr__(self, "grammar", grammar)  # the table that was given may be large
        object.__setattr__(self, "_allowed", None if grammar is None else Constant(grammar.rows))
        object.__setattr__(self, "_which", None if grammar is None else Constant(grammar.of))

    @cached_property
    def guided(self) -> bool:
        """Whether rows without the condition are needed."""
        return bool((self._scales.values != 1).any())

    @cached_property
    def _mass(self) -> float | None:
        """The mass of top-p; none for 1, which a row reaches only up to rounding."""
        return None if self.top_p is None or self.top_p == 1 else float(self.top_p)

    def _temperature(self, most: float) -> float:
        """As near as logits have it whose largest number is ``most``: an infinite one makes NaN of masked tokens."""
        return min(float(self.temperature), most)

    def check(self, length: int, vocabulary: int) -> None:
        """Raise unless this fits the sequences of a model.

        ``length``, ``vocabulary``: N and V. Raises ``ValueError`` if there are neither one scale nor N, or the grammar
        is not ``[N, V]``.
        """
        if len(self._scales.values) not in (1, length):
            raise ValueError(f"guidance has {len(self._scales.values)} scales; expected one, or {length}")
        if self.grammar is not None and self.grammar.shape != (length, vocabulary):
            raise ValueError(f"grammar has shape {self.grammar.shape}; expected {(length, vocabulary)}")

    def rows(self, logits: Tensor, position: Tensor) -> Tensor:
        """The pmfs that are sampled from.

        ``logits``: ``float[B, M, V]``; with guidance ``float[2B, M, V]``, the conditional ones first. ``position``:
        ``int[B, M]``, of the rows in the sequence. Returns ``float[B, M, V]`` in float32 or better; NaN where the
        largest logit is no number.
        """
        logits = at_least_single(logits)
        if not _on_host(logits):
            return self.rows_by_torch(logits, position)
        rows = logits.new_empty(len(logits) // (2 if self.guided else 1), *logits.shape[1:])
        self.write(logits.numpy(), position.numpy(), rows.numpy())
        return rows

    def write(self, logits: np.ndarray, position: np.ndarray, rows: np.ndarray) -> None:
        """Write the pmfs that are sampled from, compiled; any number of threads may do so at once.

        ``logits``, ``position``: as :meth:`rows` takes them, ``float32`` or ``float64``. ``rows``: ``float[B, M, V]``,
        contiguous and of the type of the logits: what is written.
        """
        from simlab.models.process.sampling_compiled import write_rows  # Numba is loaded with the first row

        size, kind = rows.shape[-1], rows.dtype.type
        whole, given = rows.reshape(-1, size), logits.reshape(-1, size)
        if kind not in self._tables:
            scales = np.minimum(self._scales.values, np.finfo(kind).max).astype(kind)
            self._tables[kind] = scales, *_plain(self.grammar, size), kind(self._temperature(float(np.finfo(kind).max)))
        scales, allowed, which, temperature = self._tables[kind]
        write_rows(
            position.reshape(-1),
            given[: len(whole)],
            given[len(whole) :],
            scales,
            allowed,
            which,
            temperature,
            min(self.top_k or size, size),
            self._mass or 0.0,
            whole,
            whole.view(_BITS[kind]),
        )

    def rows_by_torch(self, logits: Tensor, position: Tensor) -> Tensor:
        """:meth:`rows` in operations of torch, on any device and with no value read back."""
        if self.guided:
            conditional, free = logits.chunk(2)
            scale = _at(self._scales.beside(position), position).to(logits.dtype)[..., None]
            logits = free + scale * (conditional - free)
        if self._allowed is not None and self._which is not None:
            allowed = self._allowed.beside(position)[_at(self._which.beside(position), position)]
            logits = logits.masked_fill(~allowed, -torch.inf)
        if self.temperature == 0:
            nothing = logits.amax(-1, keepdim=True) * 0  # but NaN of what is no number
            return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0) + nothing
        if self.temperature != 1:
            logits = logits / self._temperature(torch.finfo(logits.dtype).max)
        kept = logits.shape[-1] if self.top_k is None else min(self.top_k, logits.shape[-1])
        if kept < logits.shape[-1]:
            least = logits.topk(kept, dim=-1, sorted=False).values.amin(-1, keepdim=True)
            logits = logits.masked_fill(logits < least, -torch.inf)
        rows = logits.softmax(-1)
        if self._mass is not None:
            rows = processors.likeliest(rows, rows.topk(kept, dim=-1).values, self._mass).to(rows.dtype)
        return rows


def _on_host(values: Tensor) -> bool:
    """Whether the compiled form takes these numbers: on a CPU, unless torch's operations are recorded or traced."""
    recorded = torch.compiler.is_compiling() or _get_current_dispatch_mode() is not None or values.requires_grad
    return values.device.type == "cpu" and not recorded


def _plain(grammar: Grammar | None, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The arrays of a grammar; empty ones without one."""
    if grammar is None:
        return np.empty((0, size), dtype=bool), np.empty(0, dtype=np.int64)
    return grammar.rows, grammar.of


def _at(table: Any, position: Any) -> Any:
    """What the table says of each position; one entry is for all."""
    return table[position.clip(0, len(table) - 1)]
