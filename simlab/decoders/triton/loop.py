"""Run fused decoders: the tokens and steps of :func:`simlab.decoders.run`."""

from __future__ import annotations

import torch

from simlab.decoders.base import Decoder
from simlab.decoders.run import Run
from simlab.decoders.triton.fused import Fused
from simlab.processes import Process
from simlab.randomness import Tape
from simlab.rules import Rule

NO_MASS = "a row of the model has no mass; expected logits that are numbers"


def run(decoder: Decoder, process: Process, rule: Rule, tape: Tape, draft: Process | None = None) -> Run:
    """Decode one sequence a replicate of ``tape``, as :func:`simlab.decoders.run`.

    The host reads the device once a step. Raises ``ValueError`` as :class:`~simlab.decoders.triton.Fused` does, and
    ``RuntimeError`` for rows without mass, as of a model whose logits are not numbers.
    """
    fused = Fused(decoder, process, rule, len(tape.replicates), draft)
    state = fused.start(tape)
    steps = torch.zeros_like(state.length)
    while True:
        going = ~process.over(state.tokens, state.length)
        some, broken = torch.stack([going.any(), state.report[3].any()]).tolist()
        if broken:
            raise RuntimeError(NO_MASS)
        if not some:
            return Run(process.closed(state.tokens[:, : process.length]), steps)
        steps += going
        state = fused.step(state)
