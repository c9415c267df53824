"""How a call is handed over, and how its tokens are read back: all that a contract is beside what it is asked.

Coins are asked of the generator of a call, so that what enumerates a verifier that draws for itself enumerates an
operator as well: :class:`~simlab.certify.contracts.scripted.Scripted` gives them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.arrays import SINGLE, Arrays
from simlab.certify.contracts.base import Broken, as_emitted
from simlab.certify.contracts.blocks import Tokens
from simlab.certify.contracts.scripted import Scripted
from simlab.messages import shown

Generator = np.random.Generator
Arguments = dict[str, Any]
Rows = tuple[Tokens, ...]
HandOver = Callable[[Arrays, Array, Array, Array, Generator], Arguments]
ReadBack = Callable[[Any, int, tuple[int, ...]], Rows]
DRAWN = (  # arguments that are drawn anew in every call
    *("rng", "uniforms", "uniform", "exponential", "gumbel", "uniform_samples", "uniform_probs", "bonus_token_ids"),
    "uniform_samples_for_final_sampling",
)


# How tokens are read back --------------------------------------------------------------------------------------


def one_row(answer: Any, vocabulary: int, widths: tuple[int, ...]) -> Rows:
    """Tokens of one sequence, and nothing behind them."""
    return (as_emitted(answer, vocabulary, widths[0]),)


def padded_row(answer: Any, vocabulary: int, widths: tuple[int, ...]) -> Rows:
    """Tokens of one sequence, and -1 behind them, as engines write."""
    return one_row(unpadded(answer), vocabulary, widths)


def whole_row(answer: Any, vocabulary: int, widths: tuple[int, ...]) -> Rows:
    """All tokens of one sequence."""
    return (as_emitted(answer, vocabulary, widths[0], widths[0]),)


def as_rows(answer: Any, vocabulary: int, widths: tuple[int, ...]) -> Rows:
    """The tokens of each sequence; raises :class:`Broken` unless these are 1 to ``widths[b]``, and then only -1."""
    rows = answer.tolist() if hasattr(answer, "tolist") else answer
    if not isinstance(rows, list | tuple) or len(rows) != len(widths):
        raise Broken(f"returns {shown(answer)}; expected {len(widths)} rows of tokens, one for each sequence")
    return tuple(_row(rows[b], b, vocabulary, width, max(widths)) for b, width in enumerate(widths))


def rows_first(answer: Any, vocabulary: int, widths: tuple[int, ...]) -> Rows:
    """The same, alone or first of a tuple: FlashInfer counts tokens as well."""
    return as_rows(answer[0] if isinstance(answer, tuple) else answer, vocabulary, widths)


def _row(row: Any, b: int, vocabulary: int, width: int, most: int) -> Tokens:
    values = row.tolist() if hasattr(row, "tolist") else row
    if not isinstance(values, list | tuple):
        raise Broken(f"returns {shown(row)} for sequence {b}; expected a row of tokens")
    if len(values) > most:
        raise Broken(f"returns a row of {len(values)} for sequence {b}; expected at most {most}")
    emitted = list(values)
    while emitted and emitted[-1] == -1:
        emitted.pop()
    try:
        return as_emitted(emitted, vocabulary, width)
    except Broken as broken:
        raise Broken(f"{broken}, for sequence {b}") from None


def unpadded(answer: Any) -> Any:
    """Tokens without the -1 that engines write behind them."""
    values = answer.tolist() if hasattr(answer, "tolist") else answer
    while isinstance(values, list | tuple) and len(values) == 1 and isinstance(values[0], list | tuple):
        values = values[0]
    if not isinstance(values, list | tuple):
        return answer
    kept = [token.item() if hasattr(token, "item") else token for token in values]
    while kept and kept[-1] == -1:
        kept.pop()
    return kept


# How a call is handed over -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """A call ``name(...) -> tokens`` for blocks."""

    name: str  # of the contract
    # makes them, in their order, of p [gamma + 1, V], q [gamma, V], drafts [gamma] and a generator; of several
    # sequences p [B, gmax + 1, V], q [B, gmax, V] and drafts [B, gmax], -1 behind a gamma
    arguments: HandOver
    read: ReadBack = padded_row  # the tokens of each sequence in an answer
    written: str = ""  # the arguments in a program, where one can be written
    # single, ragged: whether it takes one block, and, of several, whether these may have different gammas
    single: bool = True
    ragged: bool = True
    # coins, noisy: whether it is given its coins, and noise among them; otherwise it draws for itself
    coins: bool = True
    noisy: bool = False
    scored: bool = True  # whether it is given q; without, a draft counts as the only one there could be
    more: tuple[str, ...] = ()  # names of what is passed behind these arguments

    @cached_property
    def given(self) -> tuple[str, ...]:
        """Names of the arguments."""
        rng, batch = np.random.default_rng(0), () if self.single else (1,)
        p, q, drafts = np.ones((*batch, 2, 1)), np.ones((*batch, 1, 1)), np.zeros((*batch, 1), np.int64)
        return (*self.arguments(SINGLE, p, q, drafts, rng), *self.more)

    @property
    def signature(self) -> str:
        """The call in words."""
        return f"{self.name}({', '.join(self.given)}) -> tokens"


def race(rng: Generator, arrays: Arrays, rows: int, size: int) -> Array:
    """Uniforms ``[rows, size]`` of which the noise of rows is made, in its precision."""
    if isinstance(rng, Scripted):
        return np.stack([rng.race(size) for _ in range(rows)])
    return rng.random((rows, size), arrays.noise)
