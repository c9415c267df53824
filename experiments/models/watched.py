"""Runs of a model that are watched: every call's window of drafts, as it is before it is verified.

A decoder and a rule that have compiled forms are run by these where the model is on a CPU, all others in their
reference form: equal windows, equal tokens. Sequences that are over are in no window.

* Of a tree the window is the chain, the first candidate of each position. What other candidates are verified against
  are residuals, which are not the model's but the rule's.
* Adaptive continuation verifies the same rows once more behind the rejection; they are seen once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from experiments.models.discrete.kind import Discrete
from experiments.models.discrete.methods import Method
from simlab.arrays import grid
from simlab.checks import on_host
from simlab.decoders import Info, Sjd, SpeculativeDecoder, run
from simlab.decoders.compiled import has_kernel, simulate
from simlab.models.process.sampling import Sampling
from simlab.processes import Process
from simlab.processes.wrapped import Wrapped
from simlab.randomness import Tape


class Windows(NamedTuple):
    """What one call of the target verifies: n windows of W drafts."""

    sequences: np.ndarray  # int[n]: of the batch
    start: np.ndarray  # int[n]: position of the first draft
    drafts: np.ndarray  # int[n, W]: behind the end of the sequence they are none
    p: Tensor  # [n, W + 1, V]: the target's rows
    q: Tensor  # [n, W, V]: declared for the drafts
    accepted: np.ndarray  # int[n]
    committed: np.ndarray  # int[n]


Look = Callable[[Windows], None]


def watch(models: Discrete, method: Method, labels: np.ndarray, sampling: Sampling, tape: Tape, look: Look) -> None:
    """Draw an image of each of ``labels[B]``, and ``look`` at what is verified in each call.

    Raises ``ValueError`` for a method that verifies no drafts.
    """
    target, draft = models.processes(method.drafter, labels, sampling)
    watch_run(method.decoder, target, method.rule, tape, draft, look)


def watch_run(decoder: Any, target: Process, rule: Any, tape: Tape, draft: Process | None, look: Look) -> None:
    """Run a decoder to its end, and ``look`` at what is verified in each call."""
    if not isinstance(decoder, Sjd | SpeculativeDecoder):
        raise ValueError(f"{type(decoder).__name__} verifies no drafts; expected a method that does, such as sjd")
    heard, drafts = Recalled(target), None if draft is None else Recalled(draft)

    def seen(sequences: np.ndarray, rows: Any, before: Any, accepted: Any, committed: Any) -> None:
        """Look at the ``rows`` of the last call."""
        call, declared = heard.taken(), torch.as_tensor(before.q) if drafts is None else drafts.taken().rows
        start, width = call.start[rows], declared.shape[1]
        position = grid(start, width).clamp(max=call.tokens.shape[1] - 1)
        tokens = call.tokens[rows].take_along_dim(position, dim=1)
        p, q = call.rows[rows, : width + 1], declared[rows]
        counts = on_host(accepted[rows]), on_host(committed[rows])
        look(Windows(sequences, on_host(start), on_host(tokens), p, q, *counts))

    def compiled(sequences: np.ndarray, before: Any, accepted: np.ndarray, committed: np.ndarray) -> None:
        inside = np.minimum(accepted, committed)  # the sequence ends there
        seen(sequences, slice(None), before, inside, committed)

    def reference(before: Any, after: Any, info: Info) -> None:
        going = ~target.over(before.tokens, before.length)
        seen(np.flatnonzero(on_host(going)), going, before, info.accepted, info.committed)

    if target.uniform.device.type == "cpu" and has_kernel(decoder, rule):
        simulate(decoder, heard, rule, tape, drafts, watch=compiled)
    else:
        run(decoder, heard, rule, tape, drafts, reference)


class Call(NamedTuple):
    """What a process was asked, and its answer."""

    tokens: Tensor  # int[B, T]: of the last call, the drafts of the chain among them
    start: Tensor  # int[B]
    rows: Tensor  # [B, M, V]: of all calls since, the chain's first


class Recalled(Wrapped):
    """A process that keeps its calls until they are taken."""

    def __init__(self, process: Process) -> None:
        super().__init__(process)
        self._calls: list[Call] = []

    def taken(self) -> Call:
        """The calls since the last time, as one."""
        calls, self._calls = self._calls, []
        return calls[-1]._replace(rows=torch.cat([call.rows for call in calls], dim=1))

    def forward(self, tokens: Tensor, start: Tensor, count: int) -> Tensor:
        return self._kept(tokens, start, super().forward(tokens, start, count))

    def forward_tree(self, tokens: Tensor, start: Tensor, nodes: Tensor, paths: Tensor) -> Tensor:
        return self._kept(tokens, start, super().forward_tree(tokens, start, nodes, paths))

    def _kept(self, tokens: Tensor, start: Tensor, rows: Tensor) -> Tensor:
        # compiled decoders change their tokens in place
        self._calls.append(Call(tokens.clone(), start.clone(), rows))
        return rows
