"""Loops that proofs alone ask about: as a paper prints them or its code runs them, with what a statement leaves open,
or with what an outcome does not tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from simlab.arrays import Array, grid, one_hot, slots
from simlab.decoders import Decoder, Info, Sjd
from simlab.decoders.base import advance
from simlab.decoders.sjd import SjdState
from simlab.decoders.sjd_reference import PointMassSjd
from simlab.processes import Process
from simlab.randomness import Purpose, Randomness
from simlab.rules import Rule

__all__ = ["AnyInitial", "Continuation", "RowBehind", "WithInputs"]


class RowBehind(PointMassSjd):
    """SJD's published loop: a draft from the row behind the window after a rejection, others as in the class above."""

    def first_new(self, length: Array, accepted: Array, drawn: Array) -> Array:
        return length + self.window + 1


class AnyInitial(Sjd):
    """SJD whose new drafts are drawn from any rows, another for any tokens before them: those of the draft model.

    Before the first call, where there is none, they are uniform.
    """

    needs_draft = True

    def step(
        self, state: SjdState, process: Process, rule: Rule, randomness: Randomness, draft: Process | None = None
    ) -> tuple[SjdState, Info]:
        assert draft is not None
        after, info = super().step(state, process, rule, randomness)
        tokens, q, each = after.tokens.copy(), after.q.copy(), np.arange(len(after.tokens))
        for j in range(self.window):
            place = after.length + j
            new = (place >= state.length + self.window) & (place < process.length)
            stays = one_hot(np.where(new, 0, tokens[each, place]), q)
            rows = np.where(new[:, None], draft.forward(tokens, place, 1)[:, 0], stays)
            tokens[each, place] = randomness.draw(rows[:, None], place, Purpose.DRAFT)[:, 0]
            q[:, j] = self.declared_new(np.where(new[:, None], rows, q[:, j]), q[:, j])
        return after._replace(tokens=tokens, q=q), info

    def declared_new(self, rows: Array, uniform: Array) -> Array:
        """The q ``[B, V]`` declared for new drafts drawn from ``rows``, which stood at ``uniform`` rows before."""
        return rows


@dataclass(frozen=True)
class WithInputs(Decoder[Any]):
    """A decoder whose steps tell their inputs, as one number, in the place of how many drafts they accept."""

    decoder: Decoder

    def init(self, process: Process, randomness: Randomness, batch: int) -> Any:
        return self.decoder.init(process, randomness, batch)

    def step(
        self, state: Any, process: Process, rule: Rule, randomness: Randomness, draft: Process | None = None
    ) -> tuple[Any, Info]:
        after, info = self.decoder.step(state, process, rule, randomness, draft)
        width = state.q.shape[1]
        inputs = slots(state.tokens, grid(state.length, width))
        return after, info._replace(accepted=np.ravel_multi_index((*inputs.T,), (process.vocabulary,) * width))


@dataclass(frozen=True)
class Continuation(Decoder[SjdState]):
    """Adaptive continuation line by line: SJD-PAC, Algorithm 1, lines 1 to 16.

    Nothing of ``Sjd``, of its renewals or of a rule is used. What the lines leave open is as in ``Sjd``: new drafts are
    uniform, and where nothing is rejected a ``bonus`` token follows, or a new draft.
    """

    window: int
    bonus: bool = True

    def init(self, process: Process, randomness: Randomness, batch: int) -> SjdState:
        tokens = process.buffer(batch, process.length + self.window + 1)
        q, past = (np.broadcast_to(process.uniform, (batch, n, process.vocabulary)) for n in (self.window, 0))
        state = SjdState(tokens, tokens[:, 0], q, past, np.zeros((batch, self.window, 0), dtype=np.int64))
        return self._filled(state, process, randomness, tokens[:, 0])

    def step(
        self, state: SjdState, process: Process, rule: Rule, randomness: Randomness, draft: Process | None = None
    ) -> tuple[SjdState, Info]:
        x, length, q = state.tokens.copy(), state.length, state.q
        each = np.arange(len(x))
        p = process.forward(x, length, self.window + 1)  # line 2
        first = np.full(len(x), self.window)  # line 4, with L where the algorithm has -1
        for i in range(self.window):  # line 5
            place = length + i
            drafts = x[each, place]
            ratios = [[min(1, p[b, i, t] / q[b, i, t])] for b, t in enumerate(drafts)]  # lines 6 to 8
            kept = randomness.accept(np.array(ratios, dtype=p.dtype), place)[:, 0]
            stays = one_hot(drafts, p)
            pmf = [stays[b] if kept[b] else _positive(p[b, i] - q[b, i]) for b in each]  # lines 9 and 11
            x[each, place] = randomness.draw(np.stack(pmf)[:, None], place, Purpose.TARGET)[:, 0]
            first = np.where(~kept & (first == self.window), i, first)  # lines 12 to 14

        behind, whole = length + self.window, first == self.window
        bonus = whole & self.bonus
        pmf = np.where(bonus[:, None], p[:, self.window], one_hot(0 * behind, p))
        x[each, behind] = randomness.draw(pmf[:, None], behind, Purpose.TARGET)[:, 0]
        start, info = advance(process, length, first, (~whole | bonus).astype(length.dtype))
        own = (start - length)[:, None] + np.arange(self.window)
        rows = p[each[:, None], np.clip(own, 0, self.window)]
        return self._filled(state._replace(tokens=x, length=start, q=rows), process, randomness, behind + bonus), info

    def _filled(self, state: SjdState, process: Process, randomness: Randomness, new: Array) -> SjdState:
        """The window behind the committed tokens, with uniform drafts from position ``new[B]`` on."""
        x, each, declared = state.tokens.copy(), np.arange(len(new)), []
        for j in range(self.window):
            place = state.length + j
            old = place < new
            stays = one_hot(np.where(old, x[each, place], 0), process.uniform)
            pmf = np.where((old | (place >= process.length))[:, None], stays, process.uniform)
            x[each, place] = randomness.draw(pmf[:, None], place, Purpose.TARGET)[:, 0]  # type: ignore[call-overload]
            declared.append(np.where(old[:, None], state.q[:, j], pmf))
        return state._replace(tokens=x, q=np.stack(declared, axis=1))


def _positive(row: Array) -> Array:
    """max(row, 0)."""
    return np.array([max(mass, 0) for mass in row], dtype=row.dtype)
