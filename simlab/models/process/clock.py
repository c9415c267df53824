"""Parts of a step, so that whoever measures can tell where its time goes.

What works in a step opens the part that it does with ``clock.during(part)``. Parts may lie within each other: time
belongs to the innermost that is open, but all within drafting to that, so that all parts together are the whole.
Outside of measurements the clock is ``UNTIMED``, which does nothing.

=============== ======================================================================================================
part            what belongs to it
=============== ======================================================================================================
``model``       from tokens to logits: the network, its keys and values written
``sampling``    from logits to rows: guidance, grammar, temperature, top-k, top-p, softmax
``cache``       what the cache does around a call: checks, slots, masks, what is remembered, accepted paths
``drafting``    a draft model or head, all of it; decoders that draft from the target's rows have none
``verification`` all else: acceptance, residuals, coins, and drafts that a decoder makes of the target's own rows
=============== ======================================================================================================
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Literal, Protocol

Part = Literal["model", "sampling", "cache", "drafting", "verification"]


class Clock(Protocol):
    """Whatever takes the time of parts."""

    def during(self, part: Part) -> AbstractContextManager[None]:
        """A context: time within it belongs to ``part``, but for parts opened inside."""


class _Untimed:
    """No time is taken."""

    _untimed = nullcontext()

    def during(self, part: Part) -> AbstractContextManager[None]:
        return self._untimed


UNTIMED: Clock = _Untimed()


class Drafting:
    """A ``clock`` to which all that a draft model does is drafting."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def during(self, part: Part) -> AbstractContextManager[None]:
        return self.clock.during("drafting")
