"""Speculative decoding: a draft process proposes gamma tokens, one call of the target verifies them.

Leviathan et al., "Fast inference from transformers via speculative decoding", arXiv 2211.17192, Algorithm 1; GSD,
Algorithm 1, omits the bonus token that follows when all drafts are accepted.
"""

from __future__ import annotations

from dataclasses import dataclass

from simlab.arrays import Array, grid, namespace, slots, splice
from simlab.checks import check_at_least
from simlab.decoders.drafted import Drafted, SpeculativeState
from simlab.processes import Process
from simlab.randomness import Purpose, Randomness, Run
from simlab.rules import Rule


@dataclass(frozen=True)
class SpeculativeDecoder(Drafted):
    """``gamma`` tokens drafted one after the other, verified in one call, and one more from the target.

    Attributes
    ----------
    gamma
        The draft length, >= 1.

    Raises
    ------
    ValueError
        For a ``gamma`` that is no whole number >= 1.

    References
    ----------
    Leviathan et al., arXiv 2211.17192, Algorithm 1.
    """

    gamma: int

    def __post_init__(self) -> None:
        check_at_least("gamma", self.gamma, 1)

    @property
    def longest(self) -> int:
        return self.gamma

    def speculate(
        self, state: SpeculativeState, process: Process, rule: Rule, randomness: Randomness, draft: Process
    ) -> tuple[Array, Array]:
        tokens, length = state

        # draft gamma tokens, each given those before it
        rows = []
        for j in range(self.gamma):
            row = draft.forward(tokens, length + j, 1)
            rows.append(self.declared_q(row, tokens, length + j))
            tokens = splice(tokens, length + j, randomness.draw(row, length + j, Purpose.DRAFT))
        xp = namespace(rows[0])
        q = xp.concat(rows, axis=1)

        # verify them in one call of the target
        x = slots(tokens, grid(length, self.gamma))
        p = process.forward(tokens, length, self.gamma + 1)
        accepted, next_pmf = self.verify(rule, p, q, x, randomness, length)

        # commit the accepted drafts and the token after them
        last = randomness.draw(next_pmf[:, None], length + accepted, Purpose.TARGET)
        return splice(tokens, length + accepted, last), accepted

    def choices(self) -> list[Run]:
        """A draw and a coin for each draft, and the draw of the token after them."""
        return [
            Run(Purpose.DRAFT, 0, 0, self.gamma),
            Run(Purpose.ACCEPT, 0, 0, self.gamma),
            Run(Purpose.TARGET, 0, 0, self.gamma + 1),
        ]

    def declared_q(self, row: Array, tokens: Array, position: Array) -> Array:
        """The q ``[B, 1, V]`` declared for the draft at ``position[B]``: the ``row`` it is drawn from."""
        return row
