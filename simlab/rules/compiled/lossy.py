"""Rules of one target and one draft row, compiled: all but the lossless one, groups and LANTERN.

Most decide by a number or two that are of the whole row, which :func:`row_level` takes once for all tokens.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from simlab import rules
from simlab.arrays_compiled import total
from simlab.rules.compiled.base import (
    ADDITION,
    AMPLIFY,
    CACTUS,
    CASCADE,
    FUZZY,
    LENIENCE,
    MARS,
    MARS_REFERENCE,
    MEDUSA_REFERENCE,
    MIXTURE,
    OPTIMAL_LOSSY,
    SAMPLER_MATCH,
    TRUNCATION,
    TYPICAL,
    CompiledRule,
    Compilers,
    over,
    ratio,
    record,
)
from simlab.rules.fuzzy import BEYOND, DIVERGENCES
from simlab.rules.lenience import RESIDUALS as LENIENT
from simlab.rules.mars import NO_MASS
from simlab.rules.medusa_reference import LITTLE
from simlab.rules.medusa_reference import RESIDUALS as AFTER_MEDUSA
from simlab.rules.truncation import RESIDUALS as CUT

TV, JS, KL = (list(DIVERGENCES).index(name) for name in ("tv", "js", "kl"))
TO_P = BEYOND.index("target")  # fuzzy: what draws from p beyond the threshold
OWN = LENIENT.index("lenient")
UNCUT = CUT.index("target")
LIKELIEST = AFTER_MEDUSA.index("likeliest")


COMPILERS: Compilers = {
    rules.Amplify: lambda rule: record(AMPLIFY, rule.k),
    rules.Addition: lambda rule: record(ADDITION, rule.epsilon),
    rules.OptimalLossy: lambda rule: record(OPTIMAL_LOSSY, rule.tv),
    rules.Typical: lambda rule: record(TYPICAL, rule.epsilon, rule.delta),
    rules.Mixture: lambda rule: record(MIXTURE, rule.weight),
    rules.Lenience: lambda rule: record(LENIENCE, rule.factor, first=LENIENT.index(rule.redrawn)),
    rules.Cactus: lambda rule: record(CACTUS, rule.delta),
    rules.Truncation: lambda rule: record(TRUNCATION, rule.threshold, first=CUT.index(rule.redrawn)),
    rules.Cascade: lambda rule: record(CASCADE, rule.threshold),
    rules.Fuzzy: lambda rule: record(
        FUZZY, rule.threshold, first=list(DIVERGENCES).index(rule.divergence), second=BEYOND.index(rule.beyond)
    ),
    rules.Mars: lambda rule: record(MARS, rule.normaliser, rule.threshold),
    rules.MarsReference: lambda rule: record(MARS_REFERENCE, rule.normaliser, rule.threshold),
    rules.MedusaReference: lambda rule: record(
        MEDUSA_REFERENCE, rule.epsilon, rule.delta, first=AFTER_MEDUSA.index(rule.redrawn)
    ),
    rules.SamplerMatch: lambda rule: record(SAMPLER_MATCH),
}


class Level(NamedTuple):
    """What acceptance depends on beside p(x) and q(x), a row."""

    # the least mass that is accepted; of optimal-lossy the share of q; of fuzzy and MARS 1 where the row is near or
    # relaxed, else 0
    number: float
    deferred: float  # of a cascade: q off the tokens that are likely
    best: int  # of MARS: the likeliest token
    second: int  # and the next


@njit(nogil=True, cache=True)
def row_level(rule: CompiledRule, p: np.ndarray, q: np.ndarray) -> Level:
    """The level of one row; zeros for a rule that needs none."""
    if rule.kind == OPTIMAL_LOSSY:
        return Level(min(1.0, over(rule.a, total(np.abs(p.astype(np.float64) - q)) / 2.0)), 0.0, 0, 0)
    if rule.kind == TRUNCATION:
        return Level(rule.a * np.float64(np.max(p)), 0.0, 0, 0)
    if rule.kind == CASCADE:
        least, off = rule.a * np.float64(np.max(p)), q.astype(np.float64)
        for y in range(len(p)):
            if np.float64(p[y]) >= least:
                off[y] = 0.0
        return Level(least, total(off), 0, 0)
    if rule.kind == TYPICAL or rule.kind == MEDUSA_REFERENCE:
        inner, little = np.zeros(len(p)), LITTLE if rule.kind == MEDUSA_REFERENCE else 0.0
        for y in range(len(p)):
            mass = np.float64(p[y])
            if mass > 0 or little > 0:
                inner[y] = mass * np.log(mass + little)
        return Level(min(max(rule.b * np.exp(total(inner)), 0.0), rule.a), 0.0, 0, 0)
    if rule.kind == FUZZY:
        apart = _divergence(rule.first, p.astype(np.float64), q.astype(np.float64))
        return Level(1.0 if apart <= rule.a else 0.0, 0.0, 0, 0)
    if rule.kind == MARS or rule.kind == MARS_REFERENCE:
        best, others = int(np.argmax(p)), p.astype(np.float64)
        others[best] = -1.0
        second = int(np.argmax(others))
        z1, z2 = _logit(rule, np.float64(p[best])), _logit(rule, others[second])
        bound = rule.b * z1
        relaxed = z2 < bound if z1 < 0 else z2 > bound
        return Level(1.0 if relaxed else 0.0, 0.0, best, second)
    return Level(0.0, 0.0, 0, 0)


@njit(nogil=True, cache=True)
def accept_at(rule: CompiledRule, level: Level, target: float, draft: float, x: int) -> float:
    """The probability of accepting x, of mass ``target`` in p and ``draft`` > 0 in q."""
    if rule.kind == AMPLIFY:
        return ratio(rule.a * target, draft)
    if rule.kind == ADDITION:
        return ratio(target + rule.a, draft)
    if rule.kind == OPTIMAL_LOSSY:
        return ratio(target + level.number * (draft - target), draft)
    if rule.kind == MIXTURE:
        return ratio(draft + rule.a * (target - draft), draft)
    if rule.kind == LENIENCE:
        scaled = rule.a * draft  # of the smallest numbers it may be 0
        return ratio(target, scaled) if scaled > 0 else 0.0
    if rule.kind == CACTUS:
        return ratio(_raised(rule.a, target), draft)
    if rule.kind == TRUNCATION:
        return 1.0 if target >= level.number else 0.0
    if rule.kind == SAMPLER_MATCH:
        return target
    if rule.kind == CASCADE:
        return ratio((draft if target >= level.number else 0.0) + target * level.deferred, draft)
    if rule.kind == TYPICAL or rule.kind == MEDUSA_REFERENCE:
        return 1.0 if target > level.number else 0.0
    if rule.kind == FUZZY:
        if level.number > 0:
            return 1.0
        return 0.0 if rule.second == TO_P else ratio(target, draft)
    if level.number > 0 and (x == level.best or x == level.second):
        return 1.0
    return 0.0 if level.number > 0 and rule.kind == MARS_REFERENCE else ratio(target, draft)


@njit(nogil=True, cache=True)
def lossy_weights(rule: CompiledRule, p: np.ndarray, q: np.ndarray, x: int) -> np.ndarray:
    """``float64[V]``: the residual before it is scaled, as :meth:`simlab.rules.Rule.weights_rows`; it may be empty."""
    level, found, drafts = row_level(rule, p, q), p.astype(np.float64), q.astype(np.float64)
    if rule.kind == MARS_REFERENCE:
        if level.number == 0:
            found[x] = max(found[x] - drafts[x], 0.0)
        return found
    if rule.kind == SAMPLER_MATCH:
        found[x] = 0.0
        return found / total(found) if np.any(found > 0) else found
    if rule.kind == MEDUSA_REFERENCE and rule.first == LIKELIEST:
        best = int(np.argmax(p))
        found[:] = 0.0
        found[best] = 1.0
        return found
    if rule.kind == MEDUSA_REFERENCE or rule.kind == TRUNCATION:
        for y in range(len(p)):
            if found[y] < level.number and (rule.kind == MEDUSA_REFERENCE or rule.first != UNCUT):
                found[y] = 0.0
        return found
    if rule.kind == TYPICAL or (rule.kind == FUZZY and rule.second == TO_P):
        return found
    if rule.kind == LENIENCE and rule.first == OWN:
        drafts *= rule.a
    elif rule.kind == CACTUS:
        own = found[x]
        raised = _raised(rule.a, own)
        found *= (1.0 - raised) / (1.0 - own if own < 1 else 1.0)
        found[x] = raised
    elif rule.kind == CASCADE:
        for y in range(len(p)):
            found[y] = (drafts[y] if found[y] >= level.number else 0.0) + found[y] * level.deferred
    return np.maximum(found - drafts, 0.0)


@njit(nogil=True, cache=True)
def _raised(delta: float, own: float) -> float:
    """:meth:`simlab.rules.Cactus.raised`."""
    rest = 1.0 - own if own < 1 else 0.0
    found: float = own + np.sqrt(2 * delta * own * rest)
    return found if found < 1 else 1.0


@njit(nogil=True, cache=True)
def _logit(rule: CompiledRule, mass: float) -> float:
    return (np.log(mass) if mass > 0 else NO_MASS) + rule.a


@njit(nogil=True, cache=True)
def _divergence(kind: int, p: np.ndarray, q: np.ndarray) -> float:
    """Those of :mod:`simlab.rules.fuzzy`, in their order."""
    if kind == TV:
        return total(np.abs(p - q)) / 2.0
    if kind == KL:
        return _kl(p, q)
    both = p + q
    return (_kl(2.0 * p, both) + _kl(2.0 * q, both)) / 4.0


@njit(nogil=True, cache=True)
def _kl(p: np.ndarray, q: np.ndarray) -> float:
    terms = np.zeros(len(p))
    for y in range(len(p)):
        if p[y] > 0:
            terms[y] = p[y] * np.log(p[y] / q[y]) if q[y] > 0 else np.inf
    return total(terms)
