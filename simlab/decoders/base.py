"""The interface of a decoder, and the parts decoders share.

A decoder is a pair of functions, ``init -> State`` and ``step(State) -> (State, Info)``, pure and generic over
process and rule, for a batch of sequences that advance at different speeds. One step is one call of the target;
``init`` calls no model. A state is everything the next step may depend on, so two sequences in equal states have equal
futures: that is what lets :mod:`theory.exact` merge them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from simlab.arrays import Array, indices, namespace, one_hot, slot
from simlab.decoders.tree import NONE
from simlab.processes import Process
from simlab.randomness import Choices, Purpose, Randomness, Run
from simlab.rules import Rule

State = TypeVar("State", bound=Any)  # a NamedTuple of arrays with the batch first, `tokens` and `length` among them


class Info(NamedTuple):
    """Counts of one step, for sequences that were not over.

    Attributes
    ----------
    accepted
        ``int[B]``: drafts accepted.
    committed
        ``int[B]``: tokens added to the sequence.
    """

    accepted: Array  # drafts accepted
    committed: Array  # tokens added to the sequence


class Decoder(ABC, Generic[State]):
    """A decoding loop. ``tokens[b, :length[b]]`` of a state is committed, what follows is draft.

    Attributes
    ----------
    needs_draft
        Whether :meth:`step` takes a draft process.
    """

    needs_draft: ClassVar[bool] = False

    @property
    def lossless(self) -> bool:
        """Whether it is proven to be with a lossless rule (:mod:`theory.claims`)."""
        return True

    @abstractmethod
    def init(self, process: Process, randomness: Randomness, batch: int) -> State:
        """The state before the first step; calls no model.

        Parameters
        ----------
        process
            The target.
        randomness
            Where random choices of the start come from.
        batch
            B, the number of sequences.
        """

    @abstractmethod
    def step(
        self, state: State, process: Process, rule: Rule, randomness: Randomness, draft: Process | None = None
    ) -> tuple[State, Info]:
        """One call of the target; commits at least one token to every sequence that is not over.

        Returns the next state, and the :class:`Info` of the step.

        Parameters
        ----------
        state
            What :meth:`init` or the last step returned.
        process
            The target.
        rule
            The verification rule; some decoders do not use it.
        randomness
            The random choices of this iteration.
        draft
            The draft process, where ``needs_draft``.
        """

    def choices(self) -> list[Run]:
        """The random choices that a step may make, as far as they are known before it."""
        return []

    @cached_property
    def _choices(self) -> Choices:
        return Choices(self.choices())

    def verify(
        self, rule: Rule, p: Array, q: Array, x: Array, randomness: Randomness, position: Array
    ) -> tuple[Array, Array]:
        """Verify drafts from the left up to the first rejection.

        Returns how many drafts are accepted, ``int[B]``, and weights ``float[B, V]`` of the token after them: the
        residual of the rejected draft, or the last row of p, the bonus, if none was. See Leviathan et al., arXiv
        2211.17192, Algorithm 1.

        Parameters
        ----------
        rule
            The verification rule.
        p
            ``float[B, W+1, V]``: the target's rows of the drafts, and one more.
        q
            ``float[B, W, V]``: the rows declared for the drafts.
        x
            ``int[B, W]``: the drafts.
        randomness
            Where the coins come from.
        position
            ``int[B]``: the position of the first draft.
        """
        accepted = randomness.accept_prefix(self.chances(rule, p[:, :-1], q, x), position)
        return accepted, row_after(rule, p, q, x, accepted)

    def chances(self, rule: Rule, p: Array, q: Array, x: Array) -> Array:
        """``float[B, W]``: how likely each draft ``x[B, W]`` is accepted, given its rows p and q ``[B, W, V]``."""
        return rule.accept_rows(p, q, x)


def row_after(rule: Rule, p: Array, q: Array, x: Array, accepted: Array) -> Array:
    """``float[B, V]``: weights of the token after ``accepted[B]`` drafts, ``p``, ``q`` and ``x`` as for ``verify``.

    The residual of the draft that is rejected; the last row of p if none is.
    """
    xp, width = namespace(p), x.shape[1]
    last = xp.clip(accepted, 0, width - 1)
    residual = rule.weights_rows(slot(p, last), slot(q, last), slot(x, last))
    return xp.where((accepted < width)[:, None], residual, p[:, width])


def advance(process: Process, length: Array, accepted: Array, drawn: Array | int = 1) -> tuple[Array, Info]:
    """The new committed length ``int[B]``, cut at the end of the sequence, and the counts of the step.

    ``length``: ``int[B]``, committed before. ``accepted``: ``int[B]``, drafts accepted. ``drawn``: tokens drawn after
    them, one number or ``int[B]``.
    """
    xp = namespace(length)
    longer = xp.clip(length + accepted + drawn, 0, process.length)
    committed = longer - length
    return longer, Info(xp.where(accepted < committed, accepted, committed), committed)


def drafts_of(pmf: Array, position: Array, randomness: Randomness, lanes: tuple[int, ...]) -> Array:
    """``int[B, P]``: a draft from each row of ``pmf[B, P, V]`` with its lane of P, NONE where nothing is left of it."""
    xp = namespace(pmf)
    possible = xp.any(pmf > 0, axis=2)
    nothing = one_hot(indices(1, position), pmf)
    found = randomness.draw(xp.where(possible[..., None], pmf, nothing), position, Purpose.DRAFT, lanes)
    return xp.where(possible, found, NONE)
