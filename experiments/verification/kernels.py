"""Compile the kernels of discrete decoders once, before worker processes start."""

from __future__ import annotations

from simlab.decoders import Autoregressive, Block, Jacobi, Sjd, SjdPac, SpeculativeDecoder
from simlab.decoders.compiled import simulate
from simlab.processes import make_process
from simlab.randomness import Tape
from simlab.rules import Speculative

DECODERS = (Sjd(2), SjdPac(2, candidates=2, depth=1), Jacobi(2), SpeculativeDecoder(2), Block(2), Autoregressive())


def compile_kernels() -> None:
    """Decode an image of 16 tokens with every kernel; Numba caches what it compiles on disk, beside the files."""
    pair = make_process("local", vocabulary=16, shape=(2, 8), entropy=2.0, jitter=0.1)
    for decoder in DECODERS:
        simulate(decoder, pair.target, Speculative(), Tape(0, 1), pair.draft if decoder.needs_draft else None)
