"""The contract of a decoder, and the parts decoders share.

A decoder is ``init -> State`` and ``step(State) -> (State, Info)``, pure, generic over process and rule, over
a batch of sequences that advance at different speeds. One step is one call of the target; ``init`` calls no
model. A state is everything the next step may depend on, so two sequences in equal states have equal futures:
that is what lets :mod:`theory.exact` merge them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from simlab.arrays import Array, namespace, number, slot
from simlab.processes import Process
from simlab.randomness import Randomness
from simlab.rules import Rule

State = TypeVar("State", bound=Any)  # a NamedTuple of arrays with the batch first, `tokens` and `length` among them


class Info(NamedTuple):
    """What one step did, ``[B]`` each, for sequences that were not over."""

    accepted: Array  # drafts kept
    committed: Array  # tokens added to the sequence


class Decoder(ABC, Generic[State]):
    """A decoding loop. ``tokens[b, :length[b]]`` of a state is committed, what follows is draft."""

    needs_draft: ClassVar[bool] = False

    @abstractmethod
    def init(self, process: Process, randomness: Randomness, batch: int) -> State:
        """The state before the first step; calls no model."""

    @abstractmethod
    def step(
        self, state: State, process: Process, rule: Rule, randomness: Randomness, draft: Process | None = None
    ) -> tuple[State, Info]:
        """One call of the target; commits at least one token to every sequence that is not over."""

    def verify(
        self,
        rule: Rule,
        p: Array,
        q: Array,
        x: Array,
        randomness: Randomness,
        position: Array,
        among: Array | None = None,
    ) -> tuple[Array, Array]:
        """Scan drafts to the first rejection.

        ``p[B, W+1, V]`` and ``q[B, W, V]`` are the rows of the drafts ``x[B, W]``, with one more row of p.
        Returns how many drafts are kept, ``[B]``, and weights ``[B, V]`` of the token after them: the
        residual of the rejected draft, or the last row of p, the bonus, if none was (Leviathan et al.,
        Algorithm 1). Where ``among[B]`` is false nothing is kept, and no coin tossed.
        """
        xp, width = namespace(p), x.shape[1]
        probability = rule.accept_rows(p[:, :width], q, x)
        if among is not None:
            probability = xp.where(among[:, None], probability, number(0, p))
        count = randomness.accept_prefix(probability, position)
        last = xp.clip(count, 0, width - 1)
        residual = rule.weights_rows(slot(p, last), slot(q, last), slot(x, last))
        return count, xp.where((count < width)[:, None], residual, p[:, width])


def advance(process: Process, length: Array, accepted: Array, drawn: Array | int = 1) -> tuple[Array, Info]:
    """The new committed length, cut at the end of the sequence, and what it amounts to."""
    xp = namespace(length)
    longer = xp.clip(length + accepted + drawn, 0, process.length)
    committed = longer - length
    return longer, Info(xp.where(accepted < committed, accepted, committed), committed)
