"""Speculative Jacobi decoding.

Teng et al., "Accelerating auto-regressive text-to-image generation with training-free speculative Jacobi
decoding", sections 4.1 and 4.2; GSD, Algorithms 4 and 5, is the same loop with another rule.

The target is its own draft: the drafts of a window were drawn from the rows of the *previous* call, and those
rows are their declared q. New positions start as ``initial`` says, each with the q that belongs to it:

=================  =====================================  ==============================================
initial            token of a new position                declared q
=================  =====================================  ==============================================
``random``         uniform                                the uniform row
``repeat-left``    the token to the left                  a point mass on it
``repeat-above``   the token above                        a point mass on it
``sample-left``    drawn from the row of the left token   that row
``sample-above``   drawn from the row of the token above  that row
=================  =====================================  ==============================================

At an edge of the grid, and before the first call, there is no neighbour: the token is uniform.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from simlab.arrays import Array, grid, indices, namespace, one_hot, slots, splice
from simlab.checks import check_at_least, check_choice, check_flag
from simlab.decoders.base import Decoder, Info, advance
from simlab.decoders.initial import INITIALS, Initial, source
from simlab.processes import Process
from simlab.randomness import Purpose, Randomness
from simlab.rules import Rule


class SjdState(NamedTuple):
    tokens: Array  # int[B, N+W+1]: committed, then the W drafts of the window
    length: Array  # int[B]
    q: Array  # [B, W, V]: the pmf each draft was drawn from
    past: Array  # [B, H, V]: target rows of the last H committed positions, where `sample-above` needs them


class Known(NamedTuple):
    """Rows ``[B, K, V]`` of the positions from ``start[B]`` on."""

    rows: Array
    start: Array

    def at(self, position: Array) -> Array:
        """The rows of the positions ``[B, M]``; any row where the position is outside."""
        index = position - self.start[:, None]
        return slots(self.rows, namespace(index).clip(index, 0, self.rows.shape[1] - 1))


class Verified(NamedTuple):
    """What one call of the target has decided about the window."""

    tokens: Array  # int[B, N+W+1]: the kept drafts written down
    p: Array  # [B, W+1, V]: the target's rows given the drafts of the window, and the row after them
    count: Array  # int[B]: drafts kept
    after: Array  # [B, V]: the pmf of the token after them
    spare: Array  # bool[B]: nothing was rejected, so that token is a bonus


class Tail(NamedTuple):
    """Where the tokens that stay in the window come from."""

    drawn: Known  # the pmfs they are drawn from
    declared: Known  # the q that is declared for them


@dataclass(frozen=True)
class Sjd(Decoder[SjdState]):
    """Speculative Jacobi decoding over a window of ``window`` drafts.

    With ``bonus`` a window that is kept whole is followed by a token drawn from the row after it, which the
    same call has computed; without it, as the paper states the loop, by a new draft.
    """

    window: int
    initial: Initial = "random"
    bonus: bool = True

    def __post_init__(self) -> None:
        check_at_least("window", self.window, 1)
        check_choice("initial", self.initial, INITIALS)
        check_flag("bonus", self.bonus)

    def init(self, process: Process, randomness: Randomness, batch: int) -> SjdState:
        tokens = process.buffer(batch, process.length + self.window + 1)
        length = tokens[:, 0]
        # before the first call every position is new, and no row is known
        uniform = namespace(tokens).broadcast_to(
            process.uniform, (batch, 1 + self._memory(process), process.vocabulary)
        )
        known = Known(uniform, length)
        tokens, q = self._fill(
            process, randomness, tokens, length, length, length, known, Tail(known, known), uniform[:, 0]
        )
        return SjdState(tokens, length, q[:, : self.window], uniform[:, 1:])

    def step(
        self, state: SjdState, process: Process, rule: Rule, randomness: Randomness, draft: Process | None = None
    ) -> tuple[SjdState, Info]:
        length, memory = state.length, state.past.shape[1]
        xp = namespace(state.q)

        # one call of the target for the whole window, and the scan to the first rejection
        seen = self._look(state, process, rule, randomness)
        drawn = xp.astype(~seen.spare | self.bonus, length.dtype)
        start, fresh = length + seen.count + drawn, self._fresh(length, seen.count, drawn)

        # the token after the kept drafts, then the rest of the window again from this call's rows
        known = Known(xp.concat([state.past, seen.p], axis=1), length - memory)
        tail = self._tail(state, seen, rule, randomness, start)
        tokens, q = self._fill(
            process, randomness, seen.tokens, length + seen.count, start, fresh, known, tail, seen.after
        )

        past = known.at(grid(start - memory, memory))
        q = slots(q, grid(drawn, self.window))
        length, info = advance(process, length, seen.count, drawn)
        return SjdState(tokens, length, q, past), info

    def _look(self, state: SjdState, process: Process, rule: Rule, randomness: Randomness) -> Verified:
        """Verify the window: one chain of drafts."""
        tokens, length, q, _ = state
        p = process.forward(tokens, length, self.window + 1)
        x = slots(tokens, grid(length, self.window))
        count, after = self.verify(rule, p, q, x, randomness, length)
        return Verified(tokens, p, count, after, count == self.window)

    def _tail(self, state: SjdState, seen: Verified, rule: Rule, randomness: Randomness, start: Array) -> Tail:
        """Where the window's tokens from position ``start[B]`` on come from: drawn from this call's rows."""
        rows = Known(seen.p, state.length)
        return Tail(rows, rows)

    def _fresh(self, length: Array, count: Array, drawn: Array) -> Array:
        """The first position that has no row yet: past the window, and past the bonus token if there is one."""
        whole = namespace(count).astype(count == self.window, count.dtype)
        return length + self.window + whole * drawn

    def _fill(
        self,
        process: Process,
        randomness: Randomness,
        tokens: Array,
        first: Array,
        start: Array,
        fresh: Array,
        known: Known,
        tail: Tail,
        after: Array,
    ) -> tuple[Array, Array]:
        """Draw ``window + 1`` tokens from position ``first`` on; return the buffer, and the q declared for each.

        A token before ``start`` is to be committed and follows ``after[B, V]``; the window begins at ``start``. Its
        tokens follow the ``tail``, and from position ``fresh`` on they are new, and ``initial`` says what they follow:
        the uniform row, or rows that are ``known``. Past the window there is nothing but token 0.
        """
        xp = namespace(after)
        position, fresh = grid(first, self.window + 1), fresh[:, None]
        origin = source(self.initial, position, fresh, process.shape[1])
        committed = position < start[:, None]
        inside = (position < start[:, None] + self.window) & (position < process.length)
        new = inside & (position >= fresh)

        copied = new & (origin != position) & self.initial.startswith("repeat")
        sampled = new & (origin < fresh) & self.initial.startswith("sample")
        nothing = one_hot(indices(1, position), after)  # a point mass on token 0, which is drawn without chance

        def rows(old: Known) -> Array:
            found = xp.where(committed[..., None], after[:, None], old.at(position))
            found = xp.where(new[..., None], process.uniform, found)
            found = xp.where(sampled[..., None], known.at(origin), found)
            return xp.where((inside & ~copied)[..., None], found, nothing)

        drawn = randomness.draw(self._drawn_from(rows(tail.drawn), new), first, Purpose.TARGET)
        tokens = splice(tokens, first, drawn)
        values = slots(tokens, xp.clip(xp.where(copied, origin, position), 0, tokens.shape[1] - 1))
        declared = self._declared(process, rows(tail.declared), values, new, copied)
        return splice(tokens, first, values), declared

    def _drawn_from(self, rows: Array, new: Array) -> Array:
        """The pmfs ``[B, M, V]`` that tokens are drawn from."""
        return rows

    def _declared(self, process: Process, rows: Array, values: Array, new: Array, copied: Array) -> Array:
        """The q ``[B, M, V]`` of the tokens ``values[B, M]``: a point mass where one was copied."""
        return namespace(rows).where(copied[..., None], one_hot(values, rows), rows)

    def _memory(self, process: Process) -> int:
        """How many committed rows a new position may look back on."""
        return max(0, process.shape[1] - self.window) if self.initial == "sample-above" else 0
