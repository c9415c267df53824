"""What is asked of an engine, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from simlab.decoders import Decoder
from simlab.decoders.run import check_made, check_rule
from simlab.models.architectures.backbone import place_of
from simlab.models.process.sampling import Sampling
from simlab.randomness import Tape
from simlab.rules import Rule

CANCELLED, LACKING = "cancelled", "out of memory"

Cancelled = Callable[[int], bool]  # asked with the index of a request before each of its steps
Written = Callable[[np.ndarray], bool]
Notify = Callable[[int], None]  # told how many tokens all requests have by now


def never(index: int) -> bool:
    """Nothing is cancelled; who is given it need not ask."""
    return False


@dataclass(frozen=True)
class Request:
    """One image.

    Raises ``ValueError`` for a seed or a replicate that a :class:`~simlab.randomness.Tape` does not have, and for the
    name or the class of a decoder or a rule in the place of one.

    Parameters
    ----------
    given
        The condition as the model takes it, for this image alone: the number of a class, ids ``[T]``, or vectors
        ``[T, dim]``.
    decoder, rule
        How it is decoded.
    seed, replicate
        Its own random numbers: the same request has the same tokens, whatever is decoded beside it, unless a row that
        is rounded otherwise in a batch of another size just tips a decision.
    sampling
        How its rows are made of logits.
    visible
        ``bool[T]``: the positions of the condition that are not padding; all, unless given.
    written
        Told after each step all tokens there are by then, ``int64[n]``; true ends the sequence there. Where memory did
        not suffice it is told from the beginning again.
    """

    given: Any
    decoder: Decoder
    rule: Rule
    seed: int = 0
    replicate: int = 0
    sampling: Sampling = field(default_factory=Sampling)
    visible: Any = None
    written: Written | None = None

    def __post_init__(self) -> None:
        check_made("decoder", self.decoder, Decoder, "make_decoder gives")
        check_rule(self.rule)
        Tape(self.seed, [self.replicate])  # says what is wrong with them


class Result(NamedTuple):
    """What became of one request.

    Attributes
    ----------
    index
        Which request, in the order they were given.
    tokens
        ``int64[N]``, of which those behind the end of a sequence that ended before are of no meaning; None with an
        ``error``.
    steps
        Calls of the target.
    accepted, committed
        ``int64[steps]``: drafts accepted and tokens added by each call.
    error
        Why there are no tokens; None where there are.
    """

    index: int  # type: ignore[assignment]  # not the method of tuples
    tokens: np.ndarray | None
    steps: int
    accepted: np.ndarray
    committed: np.ndarray
    error: str | None


def failed(index: int, error: str, accepted: Iterable[int] = (), committed: Iterable[int] = ()) -> Result:
    """A request that has no tokens, after the calls that it had."""
    first, second = (np.array([*values], dtype=np.int64) for values in (accepted, committed))
    return Result(index, None, len(first), first, second, error)


class Numbered(NamedTuple):
    """A request and its number."""

    number: int
    request: Request


def grouped(asked: Iterable[Numbered], shared: Callable[[Request], Any]) -> list[list[Numbered]]:
    """Requests that have in common what is ``shared``, in their order."""
    groups: dict[Any, list[Numbered]] = {}
    for each in asked:
        groups.setdefault(shared(each.request), []).append(each)
    return list(groups.values())


def method_of(request: Request) -> Any:
    """What requests have to have in common to share a call: decoder and rule, and whether they are guided."""
    return request.decoder, id(request.rule), request.sampling.guided


def conditions(model: Any, requests: Iterable[Request]) -> Tensor:
    """The conditions of requests ``[B, ...]``, where the model is.

    Raises ``ValueError`` for a class that the model does not have: a device would end the process over it.
    """
    given = torch.stack([torch.as_tensor(request.given) for request in requests])
    classes = getattr(model.config, "classes", None)  # and one that stands for none behind them
    for number in given.tolist() if classes is not None and given.ndim == 1 else []:
        if not 0 <= number <= classes:
            raise ValueError(f"given is {number}; expected the number of a class, 0 to {classes}")
    return given.to(place_of(model))


def visible_of(model: Any, requests: Sequence[Request], always: bool = False) -> Tensor | None:
    """``bool[B, T]``: what is not padding; None where nothing is, unless ``always``."""
    if not always and all(request.visible is None for request in requests):
        return None
    every = torch.ones(model.config.prefix, dtype=torch.bool)
    flags = [every if request.visible is None else torch.as_tensor(request.visible) for request in requests]
    return torch.stack(flags).to(place_of(model))


def ended(requests: Iterable[Request], tokens: np.ndarray, length: Iterable[int]) -> list[bool]:
    """Which of the sequences ``tokens[B, T]``, so long by now, end there, as their requests say."""
    rows = zip(requests, tokens, length, strict=True)
    return [request.written is not None and bool(request.written(own[:count])) for request, own, count in rows]


def out_of_memory(error: Exception) -> str | None:
    """What to say of an error that means too little memory; None of any other."""
    lacking = isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in str(error)
    return f"{LACKING}: {str(error).partition(chr(10))[0] or 'none is left'}" if lacking else None


def lacks_memory(result: Result) -> bool:
    """Whether a request failed because there was too little memory."""
    return result.error is not None and result.error.startswith(LACKING)
