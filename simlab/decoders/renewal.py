"""How the drafts behind the first rejection are renewed for the next call of a window.

A draft that follows the row declared for it is accepted by the lossless rule in the next call with probability 1 - TV
of its row now and its row then, however it was drawn. What the renewal changes is how often the token stays the same,
and with it the rows to its right:

=====================  ======================================================  =============================
renewal                token                                                   declared q
=====================  ======================================================  =============================
``fresh``              a new draw from the row p of this call                  p
``maximal``            verified too: kept, or replaced from the residual       p
``maximal-reference``  the same                                                p; q again for one that is kept
``kept``               the one that stands there                               q again
``gumbel``             the winner for p of a race whose times belong to the    p
                       position, not to the call
=====================  ======================================================  =============================

``maximal`` and ``gumbel`` are the couplings of Speculative Coupled Decoding (arXiv 2510.24211), and ``maximal`` is the
adaptive continuation of SJD-PAC as well: two names of one decoder. ``maximal-reference`` is what
code published for it does, which is biased: a draft that was verified and kept has no longer the law of its old row.
With ``kept`` it has, since nobody has looked at the draft; it is the reuse of SJD++ at a threshold of 0, but for drafts
that p excludes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

from simlab.arrays import Array, full, indices, namespace, one_hot
from simlab.randomness import Purpose, Randomness
from simlab.rules import Rule

Renewal = Literal["fresh", "maximal", "maximal-reference", "kept", "gumbel"]
RENEWALS: tuple[str, ...] = get_args(Renewal)
CONTINUED = "maximal", "maximal-reference", "kept"  # those that go on with the drafts behind a rejection


class Renewals(NamedTuple):
    """The renewals that a decoder has."""

    names: tuple[str, ...] = RENEWALS
    why: str = ""  # what keeps it from the others, for whoever asks for one

    def check(self, renewal: str) -> None:
        """Raise ``ValueError`` unless the renewal is one of them."""
        if renewal not in self.names:
            expected = f"one of {', '.join(self.names)}" if len(self.names) > 1 else repr(self.names[0])
            raise ValueError(f"renewal is {renewal!r}; expected {expected}{self.why and f': {self.why}'}")


class Drafts(NamedTuple):
    """The drafts of a window when it has been verified up to the first rejection."""

    p: Array  # [B, W, V]: their rows in this call
    q: Array  # [B, W, V]: those declared for them
    x: Array  # int[B, W]
    behind: Array  # bool[B, W]: behind the committed tokens, so that nobody has looked at their coins
    position: Array  # int[B]: of the first


Pmfs = tuple[Array, Array]  # [B, W, V]: what the drafts are drawn from, and what is declared for them


def fresh(drafts: Drafts, rule: Rule, randomness: Randomness) -> Pmfs:
    """A new draw from the row of this call."""
    return drafts.p, drafts.p


def maximal(drafts: Drafts, rule: Rule, randomness: Randomness, lane: int = 0) -> Pmfs:
    """The verification goes on; whatever stands there afterwards has the law of the row of this call."""
    return _verified(drafts, rule, randomness, lane)[0], drafts.p


def maximal_by_law(drafts: Drafts, rule: Rule, randomness: Randomness) -> Pmfs:
    """The same for a lossy rule, whose one-step law is another than its row."""
    law = namespace(drafts.p).where(drafts.behind[..., None], rule.law_rows(drafts.p, drafts.q), drafts.p)
    return _verified(drafts, rule, randomness)[0], law


def maximal_reference(drafts: Drafts, rule: Rule, randomness: Randomness) -> Pmfs:
    """The same as published code does it: a draft that is kept keeps its old row."""
    drawn, kept = _verified(drafts, rule, randomness)
    return drawn, namespace(drawn).where(kept[..., None], drafts.q, drafts.p)


def _verified(drafts: Drafts, rule: Rule, randomness: Randomness, lane: int = 0) -> tuple[Array, Array]:
    """What the drafts behind the committed tokens are drawn from once they are verified, and which of them are kept."""
    p, q, x, behind, position = drafts
    xp = namespace(p)
    # a position has one coin a call: the scan to the first rejection has not used those behind it
    probability = xp.where(behind, rule.accept_rows(p, q, x), full((1,), 1, p))
    accepted = randomness.accept(probability, position, lane)
    drawn = xp.where(accepted[..., None], one_hot(x, p), rule.weights_rows(p, q, x))
    return xp.where(behind[..., None], drawn, p), behind & accepted


def kept(drafts: Drafts, rule: Rule, randomness: Randomness) -> Pmfs:
    """What stands there, and what is declared for it."""
    xp, there = namespace(drafts.p), drafts.behind[..., None]
    return xp.where(there, one_hot(drafts.x, drafts.p), drafts.p), xp.where(there, drafts.q, drafts.p)


RENEWED: dict[str, Callable[[Drafts, Rule, Randomness], Pmfs]] = {
    "fresh": fresh,
    "maximal": maximal,
    "maximal-reference": maximal_reference,
    "kept": kept,
    "gumbel": fresh,  # the same rows; what differs is the noise the tokens are drawn with
}


def draw_by_position(
    randomness: Randomness, rows: Array, first: Array, committed: Array, known: Array
) -> tuple[Array, Array]:
    """A token ``int[B, M]`` from each of ``rows[B, M, V]``: drafts with the noise of their position.

    One that is ``committed[B, M]`` has randomness of its own. ``known[B, M, K]`` is what earlier draws have told about
    the noise of each position, and is returned with what these tell.
    """
    xp = namespace(rows)
    nothing = one_hot(indices(1, first), rows)  # a point mass, which tells nothing
    decided = randomness.draw(xp.where(committed[..., None], rows, nothing), first, Purpose.TARGET)
    drafted, known = randomness.draw_raced(xp.where(committed[..., None], nothing, rows), first, known)
    return xp.where(committed, decided, drafted), known
