"""Requests decoded by fused kernels in one batch, on a CUDA device.

The host reads the device once a step, all that it wants to know at once, and once more when a sequence is over.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from simlab.decoders.triton import Fused
from simlab.decoders.triton.loop import NO_MASS
from simlab.models.engine.requests import Request
from simlab.models.engine.running import Running
from simlab.models.process.cached import Cached, fault


class FusedRows(Running):
    """A running batch of fused kernels."""

    def prepare(self, request: Request) -> None:
        self.fused = Fused(request.decoder, self.target, request.rule, self.room, self.draft)
        self.state = self.fused.empty()
        self.over: list[int] = []  # what the host has read of the last step
        self.faults: dict[int, str] = {}

    def begin(self, requests: Sequence[Request]) -> None:
        places = range(len(self.rows) - len(requests), len(self.rows))
        seeds, replicates = zip(*((request.seed, request.replicate) for request in requests), strict=True)
        self.fused.restart(self.state, places, seeds, replicates)

    def step(self) -> int:
        self.state = self.fused.step(self.state, len(self.rows))
        accepted, committed = self._read()
        for row, of_draft, of_all in zip(self.rows, accepted, committed, strict=True):
            row.accepted.append(of_draft)
            row.committed.append(of_all)
        return sum(committed)

    @property
    def some_over(self) -> bool:
        return any(self.over) or bool(self.faults)

    def stopped(self) -> tuple[np.ndarray, dict[int, str]]:
        return np.array(self.over, dtype=bool), self.faults

    def tokens_so_far(self) -> tuple[np.ndarray, list[int]]:
        count = len(self.rows)
        tokens, length = (part[:count].cpu() for part in (self.state.tokens, self.state.length))
        return tokens[:, : self.target.length].numpy(), length.tolist()

    def closed(self, rows: list[int]) -> np.ndarray:
        found: np.ndarray = self.target.closed(self.state.tokens[rows, : self.target.length]).cpu().numpy()
        return found

    def keep(self, stay: np.ndarray) -> None:
        self.state = self.fused.keep(self.state, stay.tolist())

    def _read(self) -> tuple[list[int], list[int]]:
        """The one read of a step: the drafts accepted, the tokens committed, who is over, and what went wrong."""
        count, state = len(self.rows), self.state
        _, accepted, committed, empty = state.report[:, :count]
        over = self.target.over(state.tokens[:count], state.length[:count])
        statuses = [process.status for process in (self.target, self.draft) if isinstance(process, Cached)]
        first, second, without, self.over, *marks = torch.stack([accepted, committed, empty, over, *statuses]).tolist()
        self.faults = {b: NO_MASS for b, flag in enumerate(without) if flag}
        for status in marks:
            self.faults |= {b: fault(mark) for b, mark in enumerate(status) if mark}
        return first, second
