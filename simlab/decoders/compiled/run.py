"""Run compiled decoders: many sequences, in batches that fit the cache, over several threads.

Numba is loaded with the first sequence.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from array_api_compat import is_torch_array

from simlab.checks import check_at_least
from simlab.decoders import Decoder
from simlab.decoders.run import check_faults, check_given
from simlab.processes import Process
from simlab.randomness import Tape
from simlab.randomness.tape import check_tape
from simlab.rules import Rule

if TYPE_CHECKING:
    from simlab.decoders.compiled.base import Kernel

BATCH_BYTES = 1 << 23  # what the rows of a batch may take: more would leave the cache, fewer leave work to Python
LARGEST_BATCH = 1024  # sequences

Watch = Callable[[np.ndarray, Any, np.ndarray, np.ndarray], None]


class Simulation(NamedTuple):
    """Finished sequences with the counts of their calls."""

    tokens: np.ndarray  # int[B, N]
    steps: np.ndarray  # int[B]: calls of the target
    accepted: np.ndarray  # int[B, S]: drafts accepted by each call, 0 after the last
    committed: np.ndarray  # int[B, S]: tokens added by each call, 0 after the last


def simulate(
    decoder: Decoder,
    process: Process,
    rule: Rule,
    tape: Tape,
    draft: Process | None = None,
    threads: int = 1,
    watch: Watch | None = None,
) -> Simulation:
    """Decode one sequence a replicate of ``tape``: the tokens and steps of :func:`simlab.decoders.run`, compiled.

    A decoder or a rule that has no compiled form is run in its reference form.

    Parameters
    ----------
    decoder, process, rule, tape, draft
        As in :func:`simlab.decoders.run`. Sequences leave a process with a memory when they are over, so that one
        of a model serves once.
    threads
        Batches decoded at once, >= 1; neither batches nor threads change a token.
    watch
        ``watch(sequences, before, accepted, committed)`` is called after every step of a batch: which sequences took
        it, the state they were in before, the drafts each has accepted, those behind the end of the sequence included,
        and the tokens added to each.

    Raises
    ------
    ValueError
        For a process whose rows are neither NumPy floats nor those of torch on a CPU, and as
        :func:`simlab.decoders.run` does.
    RuntimeError
        If a process could not go on with a sequence.
    """
    from simlab.decoders.compiled.kernels import kernel_of

    check_given(decoder, process, rule, draft)
    check_tape(tape)
    check_at_least("threads", threads, 1)
    whole = is_torch_array(process.uniform)  # a batch that a model with a memory was made for is not divided
    process, draft = _arrays("process", process), None if draft is None else _arrays("draft", draft)
    kernel = kernel_of(decoder, process, rule, draft)

    batches = [np.arange(len(tape.replicates))] if whole else _batches(kernel, len(tape.replicates), threads)
    if threads == 1:
        return _joined([_decoded(kernel, tape, batch, watch) for batch in batches])
    with ThreadPoolExecutor(threads) as pool:
        return _joined(list(pool.map(lambda batch: _decoded(kernel, tape, batch, watch), batches)))


def has_kernel(decoder: Decoder, rule: Rule) -> bool:
    """Whether a decoder and a rule have a compiled form."""
    from simlab.decoders.compiled.kernels import KERNELS
    from simlab.rules.compiled.dispatch import COMPILERS

    return type(decoder) in KERNELS and type(rule) in COMPILERS


def _arrays(what: str, process: Process) -> Process:
    """``process`` with rows as kernels read them."""
    halves = process.uniform.dtype.itemsize < 4  # NumPy has not all of these
    if is_torch_array(process.uniform) and process.uniform.device.type == "cpu" and not halves:
        from simlab.decoders.compiled.tensors import Tensors

        process = Tensors(process)
    rows = process.uniform
    if not isinstance(rows, np.ndarray) or rows.dtype not in (np.float32, np.float64):
        raise ValueError(
            f"{what} gives rows of {rows.dtype}; expected NumPy rows, or torch's on a CPU, of float32 or float64"
        )
    return process


def _batches(kernel: Kernel, count: int, threads: int) -> list[np.ndarray]:
    """The sequences 0 to ``count`` in batches whose rows stay in the cache, of one size, as many for each thread."""
    row = kernel.vocabulary * kernel.process.uniform.itemsize
    fits = max(1, min(BATCH_BYTES // (kernel.rows * row), LARGEST_BATCH))
    rounds = -(-count // (fits * threads))
    return np.array_split(np.arange(count), min(rounds * threads, count))


def _decoded(kernel: Kernel, tape: Tape, batch: np.ndarray, watch: Watch | None) -> Simulation:
    """The sequences ``batch`` of the tape; those that are over leave the batch."""
    from simlab.randomness.tape_compiled import Uniforms

    tokens = np.empty((len(batch), kernel.end), np.int64)
    accepted: list[np.ndarray] = []
    committed: list[np.ndarray] = []
    rows = np.arange(len(batch))  # those that are not over
    state = kernel.start(Uniforms.of_tape(tape, batch, 0), len(batch))
    while len(rows):
        length, before = state.length.copy(), None if watch is None else _copied(state)
        found = kernel.step(state, Uniforms.of_tape(tape, batch[rows], len(committed) + 1))
        check_faults(kernel.process, kernel.draft)
        added = state.length - length
        if watch is not None:
            watch(batch[rows], before, found, added)
        committed.append(_spread(added, rows, len(batch)))
        accepted.append(_spread(np.minimum(found, added), rows, len(batch)))

        over = kernel.process.over(state.tokens, state.length)
        if over.any():
            tokens[rows[over]] = kernel.process.closed(state.tokens[over, : kernel.end])
            stay = staying(over)
            rows, state = rows[stay], kept(state, stay)
            for process in (kernel.process, kernel.draft):
                if process is not None:
                    process.keep(stay.tolist())
    steps = np.stack(committed, axis=1)
    return Simulation(tokens, (steps > 0).sum(axis=1), np.stack(accepted, axis=1), steps)


def _spread(values: np.ndarray, rows: np.ndarray, size: int) -> np.ndarray:
    """``values`` at ``rows`` of ``size``, 0 elsewhere."""
    found = np.zeros(size, np.int64)
    found[rows] = values
    return found


def _copied(state: Any) -> Any:
    """A state that stays as it is: kernels change theirs in place."""
    return type(state)(*(array.copy() for array in state))


def staying(over: np.ndarray) -> np.ndarray:
    """``int[n]``: the sequences that are not ``over[B]``, the last of them in the places of those that are."""
    stay, count = np.flatnonzero(~over), int((~over).sum())
    rows = np.arange(count)
    rows[over[:count]] = stay[stay >= count]
    return rows


def kept(state: Any, rows: np.ndarray) -> Any:
    """The sequences ``rows`` of a state, as :func:`staying` has them, in its own memory."""
    for array in state:
        for to in np.flatnonzero(rows != np.arange(len(rows))):
            array[to] = array[rows[to]]
    return first(state, len(rows))


def first(state: Any, count: int) -> Any:
    """The first ``count`` sequences of a state, in its own memory."""
    return type(state)(*(array[:count] for array in state))


def _joined(parts: list[Simulation]) -> Simulation:
    """Batches one after the other, calls filled up with 0 to the longest."""
    tokens, steps, *counts = zip(*parts, strict=True)
    longest = max(part.committed.shape[1] for part in parts)
    filled = ([np.pad(calls, ((0, 0), (0, longest - calls.shape[1]))) for calls in each] for each in counts)
    return Simulation(*map(np.concatenate, (tokens, steps, *filled)))
