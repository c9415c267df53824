"""A step of a window as wide as papers have it, on rows that are there: the compiled form against the reference form.

V = 16384 and 64 drafts, one sequence, float32, one core. Both forms are driven through the same process of torch, whose
rows lie in memory: every position has two, of which calls take the one and the other in turn, so that about half of all
drafts are rejected. What is measured is all that an accelerator's host or a laptop adds to a model's call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.bench.benchmark import Contender, Results, race, ratio
from simlab.decoders import Decoder, make_decoder
from simlab.decoders.compiled.kernels import KERNELS
from simlab.processes import Process
from simlab.randomness import Tape
from simlab.randomness.tape_compiled import Uniforms
from simlab.rules import Speculative
from simlab.rules.compiled.dispatch import compiled

if TYPE_CHECKING:
    from torch import Tensor

NAME = "steps"
VOCABULARY, NODES, SHAPE = 16384, 64, (32, 32)
KERNEL, REFERENCE = "kernel", "reference form in torch"
WANTED = 100.0  # times as fast as the reference form
DECODERS: dict[str, Decoder] = {
    "sjd": make_decoder("sjd", window=NODES),
    "sjd-ac": make_decoder("sjd-ac", window=NODES),
    "sjd-pac": make_decoder("sjd-pac", window=NODES - 9, candidates=4, depth=3),  # a comb of as many nodes
}


class Ready(Process):
    """Rows that lie in memory, ``float[2, n, V]``: those of a position from one side or the other, in turn."""

    def __init__(self, rows: Tensor) -> None:
        self.rows, self.calls = rows, 0
        self.vocabulary, self.shape = rows.shape[-1], SHAPE
        self.length = SHAPE[0] * SHAPE[1]
        self.uniform = rows.new_full((self.vocabulary,), 1 / self.vocabulary)

    def forward(self, tokens: Tensor, start: Tensor, count: int) -> Any:
        self.calls += 1
        return self.rows[self.calls % 2, None, :count]

    def forward_tree(self, tokens: Tensor, start: Tensor, nodes: Tensor, paths: Tensor) -> Any:
        return self.forward(tokens, start, len(paths) + 1)

    def _rows(self, tokens: Tensor, start: Tensor, count: int) -> Any:
        raise NotImplementedError("forward has the rows")


def steps(quick: bool, watch: Callable[[str], None]) -> Results:
    """Steps a second of both forms."""
    results = Results()
    try:
        import torch
    except ImportError:
        results.notes.append(f"{NAME} left out: torch is not installed")
        return results
    vocabulary = 1024 if quick else VOCABULARY
    drawn = np.random.Generator(np.random.Philox(vocabulary)).standard_exponential((2, NODES + 1, vocabulary))
    rows = torch.from_numpy((drawn / drawn.sum(-1, keepdims=True)).astype(np.float32))
    with one_thread(), torch.no_grad():
        for name, decoder in DECODERS.items():
            what = f"{name}, {NODES} drafts, V = {vocabulary}, ready rows"
            watch(f"{NAME}: {what}")
            both = [
                Contender(KERNEL, kernel_steps(decoder, Ready(rows)), {"steps": 1.0}),
                Contender(REFERENCE, reference_steps(decoder, Ready(rows)), {"steps": 1.0}),
            ]
            times = race(NAME, what, both, 0.2 if quick else 8)
            results.add(times, ratio(times, KERNEL, REFERENCE, "steps", None if quick else WANTED))
    return results


def kernel_steps(decoder: Decoder, process: Process) -> Callable[[], Any]:
    """A call takes a step of the compiled form and returns its state; a sequence that is nearly over begins again."""
    from simlab.decoders.compiled.tensors import Tensors

    kernel = KERNELS[type(decoder)](decoder, Tensors(process), compiled(Speculative()), None)
    uniforms = Uniforms.of_tape(Tape(0, 1), np.arange(1), 0)
    state = kernel.start(uniforms, 1)

    def step() -> Any:
        if state.length[0] + 2 * NODES > kernel.end:
            state.length[:] = 0
        uniforms.advance()
        kernel.step(state, uniforms)
        return state

    return step


def reference_steps(decoder: Decoder, process: Process) -> Callable[[], Any]:
    """The same of the reference form."""
    from simlab.arrays import indices

    rule, tape, iteration = Speculative(), Tape(0, 1), 0
    state = decoder.init(process, tape.at(0), 1)

    def step() -> Any:
        nonlocal state, iteration
        if int(state.length[0]) + 2 * NODES > process.length:
            state = state._replace(length=indices(1, state.length))
        iteration += 1
        state, _ = decoder.step(state, process, rule, tape.at(iteration), None)
        return state

    return step


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch computes on one core meanwhile."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
