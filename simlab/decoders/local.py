"""Local verification: a rejected draft is redrawn with its neighbours, and the rest of the block stays.

MuLo-SD, arXiv 2601.05149, corrects drafts "by focusing on spatial neighborhoods rather than raster-scan resampling
after the first rejection"; of it only the abstract could be read, and notes by others. There a draft is accepted by a
threshold on the target's mass around it; here by any rule, so that what is lost by locality alone is seen:

1. gamma drafts are verified in one call, each given the drafts to its left, all with coins of their own;
2. all positions within ``reach`` rows and columns of a rejected one, and not before the first rejection, are redrawn
   in raster order given what then stands to their left, the first rejected one from its residual;
3. the whole block is committed.

Drafts outside the neighbourhoods were verified given tokens that are no longer there, so this is biased. ``redraw`` is
``fresh``, a draw from the target's row, or ``coupled``: what verification has put there stays with min(1, p'(x)/p(x)),
p the row it was verified with and p' its row now, and is else replaced from [p' - p]+.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from simlab.arrays import Array, grid, how_many_first, namespace, one_hot, slots, splice
from simlab.checks import check_at_least, check_choice
from simlab.decoders.base import Info, advance
from simlab.decoders.speculative import SpeculativeDecoder, SpeculativeState
from simlab.processes import Process
from simlab.randomness import Purpose, Randomness, Run
from simlab.rules import Rule, Speculative

Redraw = Literal["fresh", "coupled"]
LOSSLESS = Speculative()


@dataclass(frozen=True)
class Local(SpeculativeDecoder):
    """``gamma`` drafts verified one by one, of which only neighbourhoods of rejected ones are redrawn.

    Raises ``ValueError`` for a ``gamma`` or a ``reach`` that is no whole number, or too small, or another ``redraw``.

    A step calls the target for the block, and once more for each position of it, which stands for as many calls as
    there are neighbourhoods one after the other.
    """

    reach: int = 0  # how many rows and columns away from a rejected draft others are redrawn
    redraw: Redraw = "fresh"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("reach", self.reach, 0)
        check_choice("redraw", self.redraw, get_args(Redraw))

    @property
    def lossless(self) -> bool:
        return self.gamma == 1

    def step(
        self,
        state: SpeculativeState,
        process: Process,
        rule: Rule,
        randomness: Randomness,
        draft: Process | None = None,
    ) -> tuple[SpeculativeState, Info]:
        if draft is None:
            raise ValueError("draft is None; expected a draft process: local verification needs one")
        tokens, length = state
        position = grid(length, self.gamma)
        rows = []
        for j in range(self.gamma):
            rows.append(draft.forward(tokens, length + j, 1))
            tokens = splice(tokens, length + j, randomness.draw(rows[-1], length + j, Purpose.DRAFT))
        xp = namespace(rows[0])
        q = xp.concat(rows, axis=1)

        # one call for the block, and a coin for each draft: each then follows p given the drafts to its left
        x, p = slots(tokens, position), process.forward(tokens, length, self.gamma)
        accepted = randomness.accept(rule.accept_rows(p, q, x), length)
        first = how_many_first(accepted)
        verified = xp.where(accepted[..., None], one_hot(x, p), rule.weights_rows(p, q, x))
        verified = randomness.draw(verified, length, Purpose.TARGET)
        again = self.near(process, position, ~accepted) & (position > (length + first)[:, None])

        # neighbourhoods in raster order, given what stands to the left by then
        for j in range(self.gamma):
            row, was, here = process.forward(tokens, length + j, 1)[:, 0], p[:, j], length + j
            token, stays, drawn = verified[:, j], ~again[:, j], row
            if self.redraw == "coupled":
                coin = randomness.accept(LOSSLESS.accept_rows(row, was, token)[:, None], here, lane=1)[:, 0]
                stays, drawn = stays | coin, LOSSLESS.weights_rows(row, was, token)
            drawn = xp.where(stays[:, None], one_hot(token, row), drawn)
            tokens = splice(tokens, here, randomness.draw(drawn[:, None], here, Purpose.TARGET, lane=1))
        length, info = advance(process, length, first, self.gamma - first)
        return SpeculativeState(tokens, length), info

    def near(self, process: Process, position: Array, rejected: Array) -> Array:
        """``bool[B, gamma]``: whether a position is in the neighbourhood of a rejected one."""
        columns = process.shape[1]
        row, column = position // columns, position % columns
        apart = [abs(place[:, :, None] - place[:, None]) <= self.reach for place in (row, column)]
        return namespace(position).any(apart[0] & apart[1] & rejected[:, None], axis=2)

    def choices(self) -> list[Run]:
        """None are known before a step."""
        return []
