"""Speculative Jacobi decoding (SJD): Jacobi iteration over a window of drafts, verified as in speculative decoding.

Teng et al., "Accelerating auto-regressive text-to-image generation with training-free speculative Jacobi
decoding", sections 4.1 and 4.2; GSD, Algorithm 5, is the same loop with another rule, but prints, as its Algorithm 4,
that drafts behind a rejection stay while the rows of this call become their q, which is biased. In each step

1. one call of the target computes the rows p of all W drafts x of the window;
2. the drafts are verified from the left, with the pmfs they were drawn from as q, up to the first rejection;
3. the accepted drafts and the token after them, from the residual, are committed;
4. the other drafts are drawn again from the rows of this call, and new ones fill the window up.

How they are drawn again is the ``renewal`` (:mod:`simlab.decoders.renewal`): ``fresh`` is SJD, ``maximal`` and
``gumbel`` are its successors that keep more of them.

The target is its own draft: q is a row of the *previous* call. New positions start as ``initial`` says, each with the q
that belongs to it:

=================  =====================================  ==============================================
initial            token of a new position                declared q
=================  =====================================  ==============================================
``random``         uniform                                the uniform row
``repeat-left``    the token to the left                  a point mass on it
``repeat-above``   the token above                        a point mass on it
``sample-left``    drawn from the row of the left token   that row
``sample-above``   drawn from the row of the token above  that row
=================  =====================================  ==============================================

At an edge of the grid there is no neighbour: the token is uniform. Where a whole line, or column, is new, as before the
first call, its first token is: ``repeat`` copies it, with a point mass for each copy, and ``sample`` draws all alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from simlab.arrays import Array, device, grid, indices, namespace, one_hot, slots, splice
from simlab.checks import check_at_least, check_choice, check_flag
from simlab.decoders.base import Decoder, Info, advance
from simlab.decoders.initial import INITIALS, Initial, source
from simlab.decoders.renewal import RENEWED, Drafts, Renewal, Renewals, draw_by_position
from simlab.processes import Process
from simlab.randomness import Purpose, Randomness, Run
from simlab.rules import Rule


class SjdState(NamedTuple):
    tokens: Array  # int[B, N+W+1]: committed, then the W drafts of the window
    length: Array  # int[B]
    q: Array  # [B, W, V]: the pmf each draft was drawn from
    past: Array  # [B, H, V]: target rows of the last H committed positions, where `sample-above` needs them
    known: Array  # [B, W, K]: what drafts have told about noise that each position keeps, where `renewal` keeps any


class PositionRows(NamedTuple):
    """The pmfs ``rows[B, K, V]``, or whatever there is, of K consecutive positions, from ``start[B]`` on."""

    rows: Array
    start: Array

    def at(self, position: Array) -> Array:
        """The rows of the positions ``[B, M]``; any row where the position is outside."""
        index = position - self.start[:, None]
        return slots(self.rows, namespace(index).clip(index, 0, self.rows.shape[1] - 1))


class VerifiedWindow(NamedTuple):
    """The outcome of verifying the drafts of a window in one call of the target."""

    tokens: Array  # int[B, N+W+1]: with the accepted drafts in place
    p: Array  # [B, W+1, V]: the target's rows given the drafts of the window, and the row after them
    accepted: Array  # int[B]: how many drafts are
    next_pmf: Array  # [B, V]: of the token after them
    bonus: Array  # bool[B]: no draft was rejected, so that token is a bonus


class DraftTail(NamedTuple):
    """The pmfs of the drafts behind the committed tokens, which stay in the window."""

    drawn: PositionRows  # the pmfs they are drawn from
    declared: PositionRows  # the q that is declared for them


@dataclass(frozen=True)
class Sjd(Decoder[SjdState]):
    """Speculative Jacobi decoding over a window of ``window`` drafts.

    Attributes
    ----------
    window
        W, the drafts verified in one call, >= 1.
    initial
        How new drafts start, one of ``INITIALS``.
    bonus
        Whether a window accepted as a whole is followed by a token drawn from the row after it, which the same call has
        computed; without it, as the paper states the loop, by a new draft.
    renewal
        How drafts behind a rejection are renewed, one of ``renewals``: those that the decoder has.

    Raises
    ------
    ValueError
        For a window below 1, another initialisation or renewal, or a ``bonus`` that is no bool.
    """

    renewals: ClassVar[Renewals] = Renewals()

    window: int
    initial: Initial = "random"
    bonus: bool = True
    renewal: Renewal = field(default="fresh", kw_only=True)

    def __post_init__(self) -> None:
        check_at_least("window", self.window, 1)
        check_choice("initial", self.initial, INITIALS)
        check_flag("bonus", self.bonus)
        self.renewals.check(self.renewal)

    @property
    def lossless(self) -> bool:
        return self.renewal != "maximal-reference"

    def init(self, process: Process, randomness: Randomness, batch: int) -> SjdState:
        tokens = process.buffer(batch, process.length + self.window + 1)
        length = tokens[:, 0]
        # before the first call every position is new, and no row is known
        rows = (batch, 1 + self.past_rows(process), process.vocabulary)
        uniform = namespace(tokens).broadcast_to(process.uniform, rows)
        known = PositionRows(uniform, length)
        tail = DraftTail(known, known)
        unseen = self.unseen(process, randomness, length, self.window + 1)
        tokens, q, seen = self.draft_window(
            process, randomness, tokens, length, length, length, uniform[:, 0], tail, known, unseen
        )
        width = self.window
        return SjdState(tokens, length, q[:, :width], uniform[:, 1:], seen[:, :width])

    def step(
        self, state: SjdState, process: Process, rule: Rule, randomness: Randomness, draft: Process | None = None
    ) -> tuple[SjdState, Info]:
        length, past_rows = state.length, state.past.shape[1]
        xp = namespace(state.q)
        randomness = randomness.ahead(length, self._choices)

        # one call of the target for the whole window, and the scan to the first rejection
        verified = self.verify_window(state, process, rule, randomness)
        drawn = xp.astype(~verified.bonus | self.bonus, length.dtype)  # tokens committed besides the accepted drafts
        start = length + verified.accepted + drawn
        new = self.first_new(length, verified.accepted, drawn)

        # the token after the accepted drafts, then the rest of the window again from this call's rows
        known = PositionRows(xp.concat([state.past, verified.p], axis=1), length - past_rows)
        tail = self.draft_tail(state, verified, rule, randomness, start)
        first = length + verified.accepted
        unseen = self.unseen(process, randomness, length, self.window + 1)
        noise = PositionRows(xp.concat([state.known, unseen], axis=1), length).at(grid(first, self.window + 1))
        tokens, q, seen = self.draft_window(
            process, randomness, verified.tokens, first, start, new, verified.next_pmf, tail, known, noise
        )

        past = known.at(grid(start - past_rows, past_rows))
        window = grid(drawn, self.window)
        length, info = advance(process, length, verified.accepted, drawn)
        return SjdState(tokens, length, slots(q, window), past, slots(seen, window)), info

    def choices(self) -> list[Run]:
        """A coin a draft, and a draw wherever the new window may be."""
        return [Run(Purpose.ACCEPT, 0, 0, self.window), Run(Purpose.TARGET, 0, 0, 2 * self.window + 1)]

    def verify_window(self, state: SjdState, process: Process, rule: Rule, randomness: Randomness) -> VerifiedWindow:
        """Verify the window's chain of drafts in one call of the target."""
        tokens, length, q = state.tokens, state.length, state.q
        p = process.forward(tokens, length, self.window + 1)
        x = slots(tokens, grid(length, self.window))
        accepted, next_pmf = self.verify(rule, p, q, x, randomness, length)
        return VerifiedWindow(tokens, p, accepted, next_pmf, accepted == self.window)

    def draft_tail(
        self, state: SjdState, verified: VerifiedWindow, rule: Rule, randomness: Randomness, start: Array
    ) -> DraftTail:
        """The pmfs of the drafts from position ``start[B]`` on, as ``renewal`` says."""
        xp, width, position = namespace(verified.p), self.window, grid(state.length, self.window)
        x, behind = slots(state.tokens, position), self.continued(position, start)
        drafts = Drafts(verified.p[:, :width], state.q, x, behind, state.length)
        drawn, declared = self.renew(drafts, rule, randomness)
        last = verified.p[:, width:]  # the row after the window has had no draft yet
        return DraftTail(
            PositionRows(xp.concat([drawn, last], axis=1), state.length),
            PositionRows(xp.concat([declared, last], axis=1), state.length),
        )

    def renew(self, drafts: Drafts, rule: Rule, randomness: Randomness) -> tuple[Array, Array]:
        """What the drafts behind a rejection are drawn from, and what is declared for them, ``[B, W, V]``."""
        return RENEWED[self.renewal](drafts, rule, randomness)

    def continued(self, position: Array, start: Array) -> Array:
        """``bool[B, W]``: the positions whose drafts may be verified further: all that stay in the window."""
        return position >= start[:, None]

    def unseen(self, process: Process, randomness: Randomness, like: Array, count: int) -> Array:
        """``[B, count, K]``: what is known of noise that positions keep, before any draft; nothing where none is."""
        if self.renewal == "gumbel":
            return randomness.unseen(len(like), count, process.uniform)
        return namespace(like).zeros((len(like), count, 0), dtype=like.dtype, device=device(like))

    def first_new(self, length: Array, accepted: Array, drawn: Array) -> Array:
        """``int[B]``: the first position without a row: past the window, and past the bonus token if there is one."""
        whole = namespace(accepted).astype(accepted == self.window, accepted.dtype)
        return length + self.window + whole * drawn

    def draft_window(
        self,
        process: Process,
        randomness: Randomness,
        tokens: Array,
        first: Array,
        start: Array,
        new: Array,
        next_pmf: Array,
        tail: DraftTail,
        known: PositionRows,
        noise: Array,
    ) -> tuple[Array, Array, Array]:
        """Draw the ``window + 1`` tokens from position ``first[B]`` on, the committed one and the next window.

        A token before ``start[B]`` is committed and drawn from ``next_pmf[B, V]``. The window begins at ``start``: its
        drafts follow ``tail``, and those from position ``new[B]`` on start as ``initial`` says, from the uniform row or
        from ``known`` rows. Past the window and the end of the sequence stands token 0. ``noise[B, W+1, K]`` is what is
        known of the noise that each position keeps. Returns the buffer, the q ``[B, W+1, V]`` declared for each token,
        and what is known of the noise after it.
        """
        xp = namespace(next_pmf)
        position, new = grid(first, self.window + 1), new[:, None]
        origin = source(self.initial, position, new, process.shape[1])
        committed = position < start[:, None]
        inside = (position < start[:, None] + self.window) & (position < process.length)
        initialised = inside & (position >= new)

        copied = initialised & (origin != position) & self.initial.startswith("repeat")
        sampled = initialised & (origin < new) & self.initial.startswith("sample")
        nothing = one_hot(indices(1, position), next_pmf)  # a point mass on token 0, drawn with probability 1

        def pmfs(drafts: PositionRows) -> Array:
            rows = xp.where(committed[..., None], next_pmf[:, None], drafts.at(position))
            rows = xp.where(initialised[..., None], process.uniform, rows)
            rows = xp.where(sampled[..., None], known.at(origin), rows)
            return xp.where((inside & ~copied)[..., None], rows, nothing)

        rows = self.sampling_pmfs(pmfs(tail.drawn), initialised)
        drawn, noise = self.draw(randomness, rows, first, committed, initialised, noise)
        tokens = splice(tokens, first, drawn)
        values = slots(tokens, xp.clip(xp.where(copied, origin, position), 0, tokens.shape[1] - 1))
        declared = self.declared_q(process, pmfs(tail.declared), values, initialised, copied)
        return splice(tokens, first, values), declared, noise

    def draw(
        self, randomness: Randomness, rows: Array, first: Array, committed: Array, new: Array, noise: Array
    ) -> tuple[Array, Array]:
        """A token from each of ``rows[B, M, V]``, and what is known after it of the ``noise`` that positions keep."""
        if self.renewal == "gumbel":
            return draw_by_position(randomness, rows, first, committed, noise)
        return randomness.draw(rows, first, Purpose.TARGET), noise

    def sampling_pmfs(self, rows: Array, new: Array) -> Array:
        """The pmfs ``[B, M, V]`` that tokens are drawn from: ``rows``. ``new[B, M]`` marks initialised drafts."""
        return rows

    def declared_q(self, process: Process, rows: Array, values: Array, new: Array, copied: Array) -> Array:
        """The q ``[B, M, V]`` declared for the tokens ``values[B, M]``: a point mass where one was copied."""
        return namespace(rows).where(copied[..., None], one_hot(values, rows), rows)

    def past_rows(self, process: Process) -> int:
        """How many rows of committed positions new drafts may be drawn from."""
        return max(0, process.shape[1] - self.window) if self.initial == "sample-above" else 0
