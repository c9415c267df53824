"""Run a decoder on a tape until every sequence is complete."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from simlab.arrays import Array, is_exact, namespace
from simlab.decoders.base import Decoder, Info
from simlab.processes import Process
from simlab.randomness import Tape
from simlab.randomness.tape import check_tape
from simlab.rules import Rule


class Run(NamedTuple):
    """Finished sequences and the calls of the target each has taken.

    Attributes
    ----------
    tokens
        ``int[B, N]``.
    steps
        ``int[B]``: calls of the target.
    """

    tokens: Array  # int[B, N]
    steps: Array  # int[B]: calls of the target


def run(
    decoder: Decoder,
    process: Process,
    rule: Rule,
    tape: Tape,
    draft: Process | None = None,
    watch: Callable[[Any, Any, Info], None] | None = None,
) -> Run:
    """Decode one sequence a replicate of ``tape``.

    Parameters
    ----------
    decoder
        The decoding loop.
    process
        The target.
    rule
        The verification rule.
    tape
        The random numbers; its replicates are the batch.
    draft
        The draft process, where the decoder needs one.
    watch
        ``watch(before, after, info)`` is called after every step with the states around it.

    Returns
    -------
    Run
        The tokens ``int[B, N]`` and the steps ``int[B]``.

    Raises
    ------
    ValueError
        If the decoder needs a draft process and has none, or has one it cannot use, and for the name or the class of a
        decoder, process or rule, a pair of processes, or a seed, in the place of one.
    Faulty
        If a process could not go on with a sequence, as a model whose rows hold NaN; the others are finished.
    """
    check_given(decoder, process, rule, draft)
    check_tape(tape)
    state = decoder.init(process, tape.at(0), len(tape.replicates))
    steps = state.length * 0
    iteration = 0
    xp = namespace(steps)
    while bool(xp.any(going := ~process.over(state.tokens, state.length))):
        iteration += 1
        steps = steps + xp.astype(going, steps.dtype)
        before = state
        state, info = decoder.step(state, process, rule, tape.at(iteration), draft)
        if watch is not None:
            watch(before, state, info)
    return checked(Run(process.closed(state.tokens[:, : process.length]), steps), process, draft)


class Faulty(RuntimeError):
    """Sequences could not go on.

    Attributes
    ----------
    faults
        Why, by their rows.
    run
        All sequences, of which the others are finished; None where those were not waited for.
    """

    def __init__(self, faults: dict[int, str], run: Run | None = None) -> None:
        super().__init__("; ".join(f"sequence {row}: {why}" for row, why in faults.items()))
        self.faults, self.run = faults, run


def checked(run: Run, *processes: Process | None) -> Run:
    """``run``; raise :class:`Faulty` if one of the processes could not go on with a sequence of it."""
    if faults := _faults(*processes):
        raise Faulty(faults, run)
    return run


def check_faults(*processes: Process | None) -> None:
    """Raise :class:`Faulty` if one of the processes cannot go on with a sequence."""
    if faults := _faults(*processes):
        raise Faulty(faults)


def _faults(*processes: Process | None) -> dict[int, str]:
    """Why sequences cannot go on, by their rows; of two reasons that of the first process."""
    return {b: why for process in reversed(processes) if process is not None for b, why in process.faults().items()}


def check_given(decoder: Decoder, process: Process, rule: Rule, draft: Process | None) -> None:
    """Check what :func:`run` is given: that each is what it stands for, and the draft as :func:`check_draft` does.

    Raises ``ValueError`` for a name, a class or a pair of processes in the place of a decoder, a process or a rule.
    """
    check_made("decoder", decoder, Decoder, "make_decoder gives")
    check_made("process", process, Process, "make_process(...).target is")
    check_rule(rule)
    if draft is not None:
        check_made("draft", draft, Process, "make_process(...).draft is")
    check_draft(decoder, process, draft)


def check_rule(rule: Any) -> None:
    """Raise ``ValueError`` for anything but a rule, such as the name of one."""
    check_made("rule", rule, Rule, "make_rule gives")


def check_made(name: str, value: Any, kind: type, example: str) -> None:
    """Raise ``ValueError`` unless ``value`` is a ``kind``, and say by ``example`` where one comes from."""
    if isinstance(value, kind):
        return
    given = f"a {type(value).__name__}"  # by its type alone: a pair of processes prints whole tables
    if value is None or isinstance(value, str):
        given = repr(value)
    elif isinstance(value, type):
        given = f"the class {value.__name__}"
    raise ValueError(f"{name} is {given}; expected a {kind.__name__}, as {example}")


def check_draft(decoder: Decoder, process: Process, draft: Process | None) -> None:
    """Check that ``draft`` is there just where it is needed, over the same sequences.

    Raises ``ValueError`` for a draft that is missing or not needed, of another vocabulary or length, or exact where the
    target is not.
    """
    name = type(decoder).__name__
    if decoder.needs_draft and draft is None:
        raise ValueError(f"draft is None; expected a draft process: {name} needs one")
    if draft is None:
        return
    if not decoder.needs_draft:
        raise ValueError(f"a draft process was given; expected none: {name} drafts by itself")
    sizes = (process.vocabulary, process.length), (draft.vocabulary, draft.length)
    if sizes[0] != sizes[1]:
        raise ValueError(f"draft has (vocabulary, length) {sizes[1]}; expected the target's {sizes[0]}")
    if is_exact(process.uniform) != is_exact(draft.uniform):
        raise ValueError("one of target and draft is exact and the other floating point; expected the same of both")
