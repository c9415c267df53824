"""Run a decoder whose step is recorded once and replayed: what a CUDA device is given is then one launch a step.

A recorded step does the same operations on the same memory every time. So all that a step changes has *buffers* of its
own, which it ends with writing to: the state of the decoder, the iteration, which counts on the device so that every
replay tosses new coins, and what a process keeps from one call to the next (:class:`BufferedStep`). The host reads one
number a step, whether all sequences are over.

Nothing here needs a device but :func:`record`: a buffered step that is called gives the tokens of
:func:`simlab.decoders.run`, and so does one that is recorded by other means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from simlab.arrays import indices
from simlab.decoders.base import Decoder, Info
from simlab.decoders.run import Run, check_given, checked
from simlab.processes import Process
from simlab.randomness import Tape
from simlab.rules import Rule

FIRST = 2  # steps that are not recorded: in them tables are copied, and what processes keep gets its room

Step = Callable[[], object]
Recorder = Callable[[Step, torch.device], Step]


class CannotRecord(RuntimeError):
    """A step that cannot be recorded; says why."""


class BufferedStep:
    """A step of a decoder as a function without arguments and results: all it changes is in buffers.

    ``decoder``, ``process``, ``rule``, ``tape``, ``draft``: as in :func:`simlab.decoders.run`, over torch tensors.
    """

    def __init__(
        self, decoder: Decoder, process: Process, rule: Rule, tape: Tape, draft: Process | None = None
    ) -> None:
        self._decoder, self._process, self._rule, self._tape, self._draft = decoder, process, rule, tape, draft
        first = decoder.init(process, tape.at(0), len(tape.replicates))
        self.state = type(first)(*(part.clone() for part in first))
        self.iteration = indices(1, self.state.length) + 1  # int64[1]: of the next step
        self.going = ~process.over(self.state.tokens, self.state.length)  # bool[B]: the sequences that are not over
        self.steps = torch.zeros_like(self.state.length)  # int64[B]: calls of the target
        self.info = Info(torch.zeros_like(self.steps), torch.zeros_like(self.steps))  # of the last step
        self.recordable = True  # what processes keep has to stay where it is, until a step cannot be recorded
        self._taken = 0

    def __call__(self) -> None:
        before = self._kept()
        try:
            state, info = self._decoder.step(
                self.state, self._process, self._rule, self._tape.at(self.iteration), self._draft
            )
            self._carry(before)
        except BaseException:
            for owner, name, value in before:
                setattr(owner, name, value)
            raise
        self.steps += self.going
        self.state = type(state)(*map(_written, self.state, state))
        self.info = Info(*map(_written, self.info, info))
        self.iteration += 1
        self.going.copy_(~self._process.over(self.state.tokens, self.state.length))
        self._taken += 1

    def _kept(self) -> list[Kept]:
        """What the processes have in tensors."""
        return [*_kept(self._process), *_kept(self._draft)]

    def _carry(self, before: list[Kept]) -> None:
        """What a process has made anew in this step goes where it was kept before, once all has its room."""
        after = self._kept()
        if self._taken < FIRST or not self.recordable:
            buffers = {part.data_ptr() for part in self.state}
            for owner, name, value in after:
                setattr(owner, name, _apart(value, buffers))
            return
        if [(id(owner), name) for owner, name, _ in before] != [(id(owner), name) for owner, name, _ in after]:
            raise CannotRecord("the process keeps other attributes than before the step; expected the same")
        for (owner, name, value), (*_, now) in zip(before, after, strict=True):
            if now is not value:
                _copy(value, now, f"{type(owner).__name__}.{name}")
                setattr(owner, name, value)


def run(
    decoder: Decoder,
    process: Process,
    rule: Rule,
    tape: Tape,
    draft: Process | None = None,
    watch: Callable[[Any, Any, Info], None] | None = None,
    recorder: Recorder | None = None,
    told: Callable[[str], None] = lambda why: None,
) -> Run:
    """Decode one sequence a replicate of ``tape``: the tokens and steps of :func:`simlab.decoders.run`.

    Takes, returns and raises what that does, over torch tensors. ``watch(state, state, info)`` is called after every
    step, with the buffers of the state, which the next step changes, and an ``info`` that stays as it is. ``recorder``
    records a step; :func:`record`, unless given. ``told`` is called with the reason where a step cannot be recorded:
    then every step is launched operation by operation.
    """
    check_given(decoder, process, rule, draft)
    step = BufferedStep(decoder, process, rule, tape, draft)
    forward: Step = step
    taken = 0
    while bool(step.going.any()):
        if taken == FIRST:
            try:
                forward = (recorder or record)(step, step.going.device)
            except CannotRecord as error:
                step.recordable = False
                told(str(error))
        forward()
        taken += 1
        if watch is not None:
            watch(step.state, step.state, Info(*(part.clone() for part in step.info)))
    return checked(Run(process.closed(step.state.tokens[:, : process.length]), step.steps), process, draft)


def record(step: Step, device: torch.device) -> Step:
    """Record what a step launches on a CUDA device, without doing it.

    ``step``: a step that has been called before, so that all it needs is there. ``device``: where it runs. Returns what
    does it again, on the same memory. Raises ``CannotRecord`` where the device is none of CUDA, or the step waits for
    the host.
    """
    if device.type != "cuda":
        raise CannotRecord(f"a step on {device} cannot be recorded; expected a CUDA device")
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.device(device), torch.cuda.graph(graph):
            step()
    except RuntimeError as error:
        raise CannotRecord(f"a step cannot be recorded: {str(error).strip().partition(chr(10))[0]}") from error
    return graph.replay


def _written(buffer: Tensor, new: Tensor) -> Tensor:
    """The buffer with what is new in it; room of its own for what the first step makes of another type."""
    return buffer.copy_(new) if buffer.dtype == new.dtype else new.clone()


# What a process keeps -------------------------------------------------------------------------------------------


class Kept(NamedTuple):
    """An attribute of a process: a tensor, or a tuple with some."""

    owner: Any
    name: str
    value: Any


def _kept(process: Any) -> Iterator[Kept]:
    """What a process, and every process it is made of, has in tensors."""
    for name, value in vars(process).items() if process is not None else ():
        if isinstance(value, Process):
            yield from _kept(value)
        elif isinstance(value, Tensor) or (hasattr(value, "_fields") and any(isinstance(x, Tensor) for x in value)):
            yield Kept(process, name, value)


def _copy(buffer: Any, new: Any, name: str) -> None:
    """Write what is new to where it was before."""
    if isinstance(buffer, Tensor) and isinstance(new, Tensor) and buffer.shape == new.shape:
        buffer.copy_(new)
    elif type(buffer) is type(new) and isinstance(buffer, tuple):
        for one, other in zip(buffer, new, strict=True):
            if one is not other:
                _copy(one, other, name)
    else:
        raise CannotRecord(f"{name} is not what it was before the step; expected tensors of the same shape")


def _apart(value: Any, buffers: set[int]) -> Any:
    """``value`` with copies of the tensors that are buffers of the state, which will change."""
    if isinstance(value, Tensor):
        return value.clone() if value.data_ptr() in buffers else value
    return type(value)(*(_apart(part, buffers) if isinstance(part, Tensor) else part for part in value))
