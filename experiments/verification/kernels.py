"""Compile kernels once, before worker processes need them."""

from __future__ import annotations

import numpy as np

from simlab import continuous
from simlab.continuous.compiled import simulate as simulate_continuous
from simlab.decoders import Autoregressive, Block, Jacobi, Sjd, SjdPac, SpeculativeDecoder
from simlab.decoders.compiled import simulate
from simlab.processes import make_process
from simlab.randomness import Tape
from simlab.rules import Lantern, Speculative
from simlab.rules.compiled import compiled_step

DECODERS = (Sjd(2), SjdPac(2, candidates=2, depth=1), Jacobi(2), SpeculativeDecoder(2), Block(2), Autoregressive())


def compile_discrete() -> None:
    """Run every kernel of discrete tokens on something small; Numba caches what it compiles beside the files."""
    pair = make_process("local", vocabulary=16, shape=(2, 8), entropy=2.0, jitter=0.1)
    for decoder in DECODERS:
        simulate(decoder, pair.target, Speculative(), Tape(0, 1), pair.draft if decoder.needs_draft else None)
    compiled_step(Lantern([[1], [0]]), np.array([0.5, 0.5]), np.array([0.25, 0.75]))


def compile_continuous() -> None:
    """Run every kernel of continuous tokens on something small."""
    chains = continuous.affine(2, sd=0.5), continuous.affine(2, sd=0.7)
    for each in (continuous.Truncating(2), continuous.InPlace(2)):
        simulate_continuous(each, *chains, continuous.make_rule("last-step"), Tape(0, 1))
