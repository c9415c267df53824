"""Decoders compiled: many sequences at once, the very tokens of the reference form on the same tape."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from simlab.chance import Tape
from simlab.decoders import Decoder, run
from simlab.processes import Process
from simlab.rules import Rule


class Simulation(NamedTuple):
    """Finished sequences and what they took."""

    tokens: np.ndarray  # int[B, N]
    steps: np.ndarray  # int[B]: calls of the target
    accepted: np.ndarray  # int[B, S]: drafts kept by each call, 0 after the last
    committed: np.ndarray  # int[B, S]: tokens added by each call, 0 after the last


def simulate(
    decoder: Decoder, process: Process, rule: Rule, tape: Tape, draft: Process | None = None, threads: int = 1
) -> Simulation:
    """Decode one sequence a replicate of ``tape``."""
    infos: list[Any] = []
    done = run(decoder, process, rule, tape, draft, lambda before, after, info: infos.append(info))
    accepted, committed = (np.stack([i[k] for i in infos], axis=1) for k in range(2))
    return Simulation(np.asarray(done.tokens), np.asarray(done.steps), accepted, committed)
