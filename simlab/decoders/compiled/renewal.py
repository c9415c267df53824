"""How drafts behind a rejection are renewed, compiled: :mod:`simlab.decoders.renewal`, and what SJD++ and SJD-VP do.

A renewal is a record, and :func:`renewed` does what its type says. Which, is known when a kernel is compiled: a kernel
for one of them holds no other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from simlab.arrays_compiled import copy, total
from simlab.decoders.base import Decoder
from simlab.decoders.renewal import CONTINUED
from simlab.decoders.sjd import Sjd
from simlab.decoders.sjd_ac import SjdAc
from simlab.decoders.sjd_block import SjdBlock
from simlab.decoders.sjd_pac import SjdPac
from simlab.decoders.sjd_pp import SjdPp
from simlab.decoders.sjd_vp import SjdVp
from simlab.randomness.inverse_cdf_compiled import inverse_cdf
from simlab.rules.compiled.base import CompiledRule, by_type
from simlab.rules.compiled.dispatch import accept, redraw, step

DRAWN = -1  # a token that does not stay but is drawn from its row


class Verified(NamedTuple):
    """They are verified, too: kept, or replaced from the residual. The row of this call is declared for them."""

    first: int  # from this many positions behind the committed ones on; those before are drawn again


class Relabelled(Verified):
    """The same; the law of what stands there is declared."""


class Stale(Verified):
    """The same; for one that is kept, what was declared before is declared again."""


class Kept(Verified):
    """They stay as they are, and so does what is declared for them."""


class Reused(NamedTuple):
    """Kept where p exceeds ``tau`` times q, or else drawn again. The row of this call is declared for them."""

    tau: float


class ReusedByLaw(Reused):
    """The same; the row that they follow is declared."""


class Rising(NamedTuple):
    """Drawn from [p + strength (p - q)]+. The row of this call is declared for them."""

    strength: float


class RisingByLaw(Rising):
    """The same; the row that they are drawn from is declared."""


Renewal = Verified | Reused | Rising


def renewal_of(decoder: Sjd) -> Renewal:
    """The renewal of any of SJD's decoders; ``fresh`` and ``gumbel`` verify drafts from behind the window on."""
    match decoder:
        case SjdPp():
            return (ReusedByLaw if decoder.declared == "drawn" else Reused)(float(decoder.tau))
        case SjdVp():
            return (RisingByLaw if decoder.declared == "drawn" else Rising)(float(decoder.strength))
        case SjdAc(relabel="law"):
            return Relabelled(verified_from(decoder))
    of_name = {"maximal-reference": Stale, "kept": Kept}
    return of_name.get(decoder.renewal, Verified)(verified_from(decoder))


def declares_wide(decoder: Decoder) -> bool:
    """Whether the rows that a decoder declares are float64, whatever those of the process are."""
    if not isinstance(decoder, Sjd):
        return False
    return isinstance(decoder, SjdBlock) or isinstance(renewal_of(decoder), Relabelled | ReusedByLaw)


def verified_from(decoder: Sjd) -> int:
    """How many positions behind the committed ones are drawn again, before drafts are verified or stay."""
    if decoder.renewal not in CONTINUED:
        return decoder.window + 1
    return decoder.draft_tree().depth if isinstance(decoder, SjdPac) and decoder.kept == "dropped" else 0


class Drafts(NamedTuple):
    """The window of a sequence that has been verified."""

    p: np.ndarray  # [W + 1, V]: the rows of this call
    q: np.ndarray  # [W, V]: declared for the drafts
    x: np.ndarray  # int64[W]
    coins: np.ndarray  # [W]
    noise: np.ndarray  # [2 W + 1]: of their positions
    begin: int  # the first that is behind the committed ones


Renewed = tuple[np.ndarray, np.ndarray]  # int64[W + 1], the tokens that stay, or DRAWN; [W + 1, V], what is declared


@njit(nogil=True, cache=True)
def _verified(renewal: Verified, rule: CompiledRule, drafts: Drafts) -> Renewed:
    p, q, x, coins, noise, begin = drafts
    stay = np.full(len(p), DRAWN)
    for j in range(begin + renewal.first, len(x)):
        stay[j] = x[j] if coins[j] < accept(rule, p[j], q[j], x[j]) else redraw(rule, p[j], q[j], x[j], noise[j])
    return stay, p


@njit(nogil=True, cache=True)
def _relabelled(renewal: Verified, rule: CompiledRule, drafts: Drafts) -> Renewed:
    p, q, x, _, _, begin = drafts
    stay, declared = _verified(renewal, rule, drafts)[0], _from(begin, p, np.empty(p.shape))
    for j in range(begin + renewal.first, len(x)):
        copy(step(rule, p[j], q[j])[1], declared[j])
    return stay, declared


@njit(nogil=True, cache=True)
def _stale(renewal: Verified, rule: CompiledRule, drafts: Drafts) -> Renewed:
    p, q, x, coins, noise, begin = drafts
    stay, declared = np.full(len(p), DRAWN), _from(begin, p, np.empty_like(p))
    for j in range(begin + renewal.first, len(x)):
        if coins[j] < accept(rule, p[j], q[j], x[j]):
            stay[j] = x[j]
            copy(q[j], declared[j])
        else:
            stay[j] = redraw(rule, p[j], q[j], x[j], noise[j])
    return stay, declared


@njit(nogil=True, cache=True)
def _kept(renewal: Kept, rule: CompiledRule, drafts: Drafts) -> Renewed:
    p, q, x, _, _, begin = drafts
    stay, declared = np.full(len(p), DRAWN), _from(begin, p, np.empty(p.shape, q.dtype))
    for j in range(begin + renewal.first, len(x)):
        stay[j] = x[j]
        copy(q[j], declared[j])
    return stay, declared


@njit(nogil=True, cache=True)
def _reused(renewal: Reused, rule: CompiledRule, drafts: Drafts) -> Renewed:
    p, q, x, _, _, begin = drafts
    stay = np.full(len(p), DRAWN)
    for j in range(begin, len(x)):
        if np.float64(p[j, x[j]]) > renewal.tau * np.float64(q[j, x[j]]):
            stay[j] = x[j]
    return stay, p


@njit(nogil=True, cache=True)
def _reused_by_law(renewal: Reused, rule: CompiledRule, drafts: Drafts) -> Renewed:
    p, q, x, _, _, begin = drafts
    stay, declared = _reused(renewal, rule, drafts)[0], _from(begin, p, np.empty(p.shape))
    for j in range(begin, len(x)):
        liked = p[j].astype(np.float64) > renewal.tau * q[j].astype(np.float64)
        declared[j] = np.where(liked, q[j], 0.0) + p[j] * total(np.where(liked, 0.0, q[j]))
    return stay, declared


@njit(nogil=True, cache=True)
def _rising(renewal: Rising, rule: CompiledRule, drafts: Drafts) -> Renewed:
    return _rising_by_law(renewal, rule, drafts)[0], drafts.p


@njit(nogil=True, cache=True)
def _rising_by_law(renewal: Rising, rule: CompiledRule, drafts: Drafts) -> Renewed:
    p, q, x, _, noise, begin = drafts
    stay, declared = np.full(len(p), DRAWN), _from(begin, p, np.empty_like(p))
    for j in range(begin, len(x)):
        copy(_beyond(renewal.strength, p[j], q[j]), declared[j])
        stay[j] = inverse_cdf(declared[j], noise[j])
    return stay, declared


@njit(inline="always")
def _from(begin: int, p: np.ndarray, to: np.ndarray) -> np.ndarray:
    """``to``, with the rows ``p`` from ``begin`` on."""
    for j in range(begin, len(p)):
        copy(p[j], to[j])
    return to


@njit(nogil=True, cache=True)
def _beyond(strength: float, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """``float64[V]``: the row that goes on from q to p and further, in the arithmetic of the rows."""
    further = p + p.dtype.type(strength) * (p - q)
    weights = np.where(further > 0, further, 0).astype(np.float64)
    mass = total(weights)
    row: np.ndarray = weights / mass if mass > 0 else p.astype(np.float64)
    return row


renewed = by_type(
    {
        Verified: _verified,
        Relabelled: _relabelled,
        Stale: _stale,
        Kept: _kept,
        Reused: _reused,
        ReusedByLaw: _reused_by_law,
        Rising: _rising,
        RisingByLaw: _rising_by_law,
    }
)
