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
from simlab.processes.wrapped import Recalled
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
        calls = heard.taken()
        given = torch.cat([call.rows for call in calls], dim=1)  # the chain's first
        declared = before.q if drafts is None else torch.cat([call.rows for call in drafts.taken()], dim=1)
        declared = torch.as_tensor(declared)
        start, width = calls[-1].start[rows], declared.shape[1]
        position = grid(start, width).clamp(max=target.length - 1)
        tokens = calls[-1].tokens[rows].take_along_dim(position, dim=1)
        p, q = given[rows, : width + 1], declared[rows]
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
