"""Record the rows (p, q, x) of a real run, for replay under other rules.

Recorded is the window of a call of the target, as the decoder has it before it verifies: for every draft x in it the
row p of the target after the drafts before it, the row q that the decoder *declares* for it, and where it stands:
image, call, place in the window, position in the sequence. So also behind the first rejection, where a scan does not
look any more but another rule might. Drafts past the end of a sequence are none and left out.

* Of a tree it is the chain, the first candidate of each position. What other candidates are verified against are
  residuals, which are not the model's but the rule's.
* Adaptive continuation verifies the same rows once more behind the rejection; they are recorded once. What it declares
  afterwards is the q of the next call.
* Decoders that verify no drafts (``ar``, ``jacobi``) leave nothing to record.

Of each image as many calls are recorded as asked for: with N calls, the first that begins in each N-th of the sequence.

Their format on disk is that of :mod:`experiments.models.recording`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from experiments.models.methods import Method
from experiments.models.recording import Packed, Recorded
from experiments.models.session import Models, Notify, processes, sampling_record
from simlab.arrays import grid
from simlab.decoders import Decoder, Info, Sjd, SpeculativeDecoder, run
from simlab.models.process.sampling import Sampling
from simlab.processes import Process
from simlab.randomness import Tape


def record(
    models: Models,
    method: Method,
    labels: np.ndarray,
    seed: int,
    sampling: Sampling,
    batch: int,
    calls: int,
    notify: Notify = lambda done: None,
) -> dict[str, np.ndarray]:
    """What to write of up to ``calls`` calls for an image of each of ``labels[n]``: arrays by name.

    Raises ``ValueError`` for a method that verifies no drafts.
    """
    packed = Packed()
    for begin in range(0, len(labels), batch):
        own = labels[begin : begin + batch]
        target, draft = processes(models, method.drafter, own, sampling)
        tape = Tape(seed, range(begin, begin + len(own)))
        record_run(method.decoder, target, method.rule, tape, draft, calls, packed)
        notify(begin + len(own))
    manifest = {
        "method": method.name,
        "settings": method.settings,
        "lossless": method.lossless,
        "seed": seed,
        "labels": labels.tolist(),
        "sampling": sampling_record(sampling),
        "calls": calls,
        "shape": list(target.shape),
        "torch": torch.__version__,
    }
    return packed.arrays(manifest, models.codebook)


def record_run(
    decoder: Decoder, target: Process, rule: Any, tape: Tape, draft: Process | None, calls: int, packed: Packed
) -> None:
    """Run a decoder to the end and add what it verifies to ``packed``."""
    if not isinstance(decoder, Sjd | SpeculativeDecoder):
        raise ValueError(f"{type(decoder).__name__} verifies no drafts; expected a method that does, such as sjd")
    heard, drafts = RecordingProcess(target), None if draft is None else RecordingProcess(draft)
    due = np.zeros(len(tape.replicates))  # the position from which on the next call is recorded
    call = 0

    def watch(before: Any, after: Any, info: Info) -> None:
        nonlocal call
        call += 1
        start = before.length.cpu().numpy()
        over = target.over(before.tokens, before.length).cpu().numpy()
        chosen = np.flatnonzero(~over & (start >= due))
        seen, declared = heard.taken(), before.q if drafts is None else drafts.taken().rows
        part = target.length / calls
        due[chosen] = (np.floor(start[chosen] / part) + 1) * part
        if len(chosen):
            _add(packed, seen, declared, chosen, tape.replicates, call, info.accepted.cpu().numpy(), target.length)

    run(decoder, heard, rule, tape, drafts, watch)


def _add(
    packed: Packed,
    seen: ModelCall,
    declared: Tensor,
    chosen: np.ndarray,
    images: np.ndarray,
    call: int,
    accepted: np.ndarray,
    length: int,
) -> None:
    """Add the windows of the ``chosen`` sequences of a batch."""
    which, width = torch.as_tensor(chosen, device=declared.device), declared.shape[1]
    p, q = (rows[which][:, :width].double().cpu().numpy() for rows in (seen.rows, declared))
    position = grid(seen.start[which], width)
    tokens = seen.tokens[which].take_along_dim(position.clamp(max=seen.tokens.shape[1] - 1), dim=1).cpu().numpy()
    position = position.cpu().numpy()
    inside = position < length
    place = np.broadcast_to(np.arange(width), position.shape)
    image, verified = (np.broadcast_to(of[chosen][:, None], position.shape) for of in (images, accepted))
    called = np.full(position.shape, call)
    packed.add(Recorded(*(of[inside] for of in (p, q, image, called, place, position, tokens, verified))))


class ModelCall(NamedTuple):
    """What a process was asked, and its answer."""

    tokens: Tensor  # int[B, T]: of the last call, the drafts of the chain among them
    start: Tensor  # int[B]
    rows: Tensor  # [B, M, V]: of all calls since, the chain's first


class RecordingProcess(Process):
    """A process that records its calls until they are taken."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.vocabulary, self.length, self.shape = process.vocabulary, process.length, process.shape
        self.uniform = process.uniform
        self._calls: list[ModelCall] = []

    def taken(self) -> ModelCall:
        """The calls since the last time, as one."""
        calls, self._calls = self._calls, []
        return calls[-1]._replace(rows=torch.cat([call.rows for call in calls], dim=1))

    def _rows(self, tokens: Tensor, start: Tensor, count: int) -> Tensor:
        raise NotImplementedError("every call goes to the process itself")

    def over(self, tokens: Tensor, length: Tensor) -> Tensor:
        return self.process.over(tokens, length)

    def closed(self, tokens: Tensor) -> Tensor:
        return self.process.closed(tokens)

    def forward(self, tokens: Tensor, start: Tensor, count: int) -> Tensor:
        self._calls.append(ModelCall(tokens, start, self.process.forward(tokens, start, count)))
        return self._calls[-1].rows

    def forward_tree(self, tokens: Tensor, start: Tensor, nodes: Tensor, paths: Tensor) -> Tensor:
        self._calls.append(ModelCall(tokens, start, self.process.forward_tree(tokens, start, nodes, paths)))
        return self._calls[-1].rows
