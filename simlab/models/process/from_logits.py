"""Any function that gives logits as a process: slow, and enough to begin with.

The function sees whole sequences in every call, so nothing has to be said of keys, values, positions or masks::

    process = FromLogits(lambda tokens, given: my_model(given, tokens), shape=(8, 8), given=labels)
    run(make_decoder("sjd-ac", window=16), process, make_rule("speculative"), Tape(seed=0, replicates=len(labels)))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from simlab.arrays import grid, slots
from simlab.checks import check_at_least, check_shape
from simlab.models.architectures.transformer import at_least_single
from simlab.models.process.cached import NOT_NUMBERS
from simlab.models.process.sampling import Sampling
from simlab.models.process.uncached import check_own, check_shares
from simlab.processes import Process

Logits = Callable[[Tensor, Any], Tensor]


class FromLogits(Process):
    """Sequences of a function of whole sequences, one for each condition; every call computes all of them again.

    Raises ``ValueError`` for a shape below 1, guidance without ``null``, a sampling that does not fit, or logits of
    another shape.

    A call is as long as the whole sequence, so no method saves time here; what it takes in calls is the same as with
    a key-value cache (:class:`~simlab.models.process.cached.Cached`).

    Parameters
    ----------
    logits
        ``logits(tokens, given)`` takes ``int64[B, n]``, 0 <= n < N, and the conditions ``[B, ...]``, and returns
        ``float[B, n + 1, V]``: row j says what follows the first j tokens.
    shape
        (rows, columns) of tokens; N = rows * columns.
    given
        ``[B, ...]``, conditions as a tensor; ``None`` for a model without.
    null
        ``[B, ...]``, as many of no condition, which guidance starts from.
    sampling
        How rows are made of logits; a plain softmax, unless given.

    Attributes
    ----------
    calls
        How often the function was called.
    """

    def __init__(
        self,
        logits: Logits,
        shape: tuple[int, int],
        given: Tensor | None = None,
        null: Tensor | None = None,
        sampling: Sampling | None = None,
    ) -> None:
        self.logits, self.sampling, self.calls = logits, sampling or Sampling(), 0
        rows, columns = check_shape(shape)
        self.shape, self.length = (rows, columns), rows * columns
        self.given, self._copies = given, 2 if self.sampling.guided else 1
        if self.sampling.guided:
            if given is None or null is None:
                raise ValueError("null is None; expected what stands for no condition: guidance starts from it")
            self.given = torch.cat([given, null])
        self._all = list(range(0 if given is None else len(given)))
        self._kept = self._all
        nothing = torch.zeros(1, 0, dtype=torch.int64)
        first = self._called(nothing if given is None else nothing.to(given.device).expand(len(given), 0))
        self.vocabulary = check_at_least("vocabulary", first.shape[-1], 1)
        self.sampling.check(self.length, self.vocabulary)
        self.uniform = torch.full_like(at_least_single(first[0, 0]), 1 / self.vocabulary)
        self.calls = 0

    def keep(self, rows: Sequence[int]) -> None:
        """Only these sequences go on, with their conditions; once none does, all are there for others."""
        if self._all:
            check_own(rows, len(self._kept))
        self._kept = [self._kept[row] for row in rows] if self._all and len(rows) else self._all

    def _rows(self, tokens: Tensor, start: Tensor, count: int) -> Tensor:
        position = grid(start, count)
        found = self._called(tokens[:, : self.length - 1])
        seen = position.clamp(0, found.shape[1] - 1)
        rows = self.sampling.rows(slots(found, seen.repeat(len(found) // len(seen), 1)), position)
        if not rows.isfinite().all():
            raise RuntimeError(NOT_NUMBERS)
        return rows

    @torch.no_grad()
    def _called(self, tokens: Tensor) -> Tensor:
        """The logits of all positions, with guidance those behind no condition after the others."""
        self.calls += 1
        tokens = tokens.repeat(self._copies, 1)
        given = self.given
        if given is not None:
            places = torch.tensor([len(self._all) * half + row for half in range(self._copies) for row in self._kept])
            check_shares(len(tokens) // self._copies, len(self._kept))
            given = given[places.to(given.device)].repeat_interleave(len(tokens) // len(places), dim=0)
        found = torch.as_tensor(self.logits(tokens, given))
        wanted = len(tokens), tokens.shape[1] + 1
        if found.ndim != 3 or tuple(found.shape[:2]) != wanted or not found.is_floating_point():
            raise ValueError(
                f"logits of tokens {tuple(tokens.shape)} are {found.dtype} {tuple(found.shape)}; expected floats "
                f"[{wanted[0]}, {wanted[1]}, V], a row before every token and one behind the last"
            )
        return found
