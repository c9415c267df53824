"""Rows p and q of the contexts that a target visits, and a rule's mean acceptance and distortion over them.

Means over one fixed set of contexts can be compared: two runs with other rules would visit other contexts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy

from simlab.arrays import total, total_variation
from simlab.checks import check_at_least
from simlab.decoders import Autoregressive
from simlab.decoders.compiled import simulate
from simlab.processes import Pair
from simlab.randomness import Tape
from simlab.rules import Addition, Amplify, Rule, Speculative
from simlab.rules.compiled import compiled_step

__all__ = ["Contexts", "Means", "addition_to", "amplify_to", "entropies", "likeliest", "means", "visited"]

ROUNDING = 1e-12  # by which acceptance may miss what is asked for
DistanceOf = Callable[[np.ndarray, np.ndarray], float]  # from rows [V]


class Contexts(NamedTuple):
    """Rows of a target and its draft."""

    p: np.ndarray  # float64[n, V]
    q: np.ndarray  # float64[n, V]

    @property
    def lossless(self) -> float:
        """The mean acceptance of the lossless rule."""
        return float(np.minimum(self.p, self.q).sum(axis=1).mean())


def visited(pair: Pair, count: int, seed: int, sequences: int = 8) -> Contexts:
    """So many contexts, spread evenly over places of ``sequences`` that the target draws itself; ``seed``: of the tape.

    Raises ``ValueError`` if the pair has no draft, ``count`` or ``sequences`` is below 1, or the sequences have fewer
    places than are asked for.
    """
    if pair.draft is None:
        raise ValueError("the pair has no draft; expected a target and a draft")
    places = -(-check_at_least("count", count, 1) // check_at_least("sequences", sequences, 1))
    if places > pair.target.length:
        raise ValueError(f"count is {count}; expected at most {sequences * pair.target.length}, the tokens there are")
    tokens = simulate(Autoregressive(), pair.target, Speculative(), Tape(seed, sequences)).tokens
    p, q = (
        np.concatenate(
            [
                process.forward(tokens, np.full(sequences, (2 * k + 1) * pair.target.length // (2 * places)), 1)[:, 0]
                for k in range(places)
            ]
        )[:count]
        for process in (pair.target, pair.draft)
    )
    return Contexts(p, q)


def likeliest(contexts: Contexts) -> Contexts:
    """The same contexts where the draft's likeliest token is the candidate, surely, and scored so: q is one-hot."""
    q = np.zeros_like(contexts.q)
    q[np.arange(len(q)), contexts.q.argmax(axis=1)] = 1
    return contexts._replace(q=q)


def entropies(contexts: Contexts) -> np.ndarray:
    """The entropy of each of the target's rows in bits, ``float64[n]``."""
    return scipy.special.entr(contexts.p).sum(axis=1) / np.log(2)


class Means(NamedTuple):
    """What a rule comes to over contexts."""

    acceptance: float
    tv: float
    wasserstein: float  # NaN where no distance was asked for


def means(contexts: Contexts, rule: Rule, distance: DistanceOf | None = None) -> Means:
    """Mean acceptance, TV and ``distance`` of a rule, which has a compiled form, over contexts.

    ``distance``: from the law emitted and the target row, ``[V]`` each, to a number.
    """
    found = []
    for p, q in zip(*contexts, strict=True):
        step = compiled_step(rule, p, q)
        moved = np.nan if distance is None else distance(step.law, p)
        found.append((step.acceptance, total_variation(step.law, p), moved))
    return Means(*np.mean(found, axis=0).tolist())


# Naive rules that accept as much ---------------------------------------------------------------------------------


def amplify_to(contexts: Contexts, acceptance: float) -> float:
    """The factor, at least 1, at which amplify accepts as much in the mean as is asked for.

    Raises ``ValueError`` if that is less than the lossless rule accepts, or more than amplify can.
    """
    return 1 + _parameter(lambda more: _accepted(contexts, Amplify(1 + more)), acceptance)


def addition_to(contexts: Contexts, acceptance: float) -> float:
    """The addend, at least 0, at which addition accepts so much; raises as :func:`amplify_to` does."""
    return _parameter(lambda epsilon: _accepted(contexts, Addition(epsilon)), acceptance)


def _accepted(contexts: Contexts, rule: Rule) -> float:
    """The mean acceptance of ``rule``."""
    return float(total(contexts.q * rule.accept_each(*contexts)).mean())


def _parameter(accepted: Callable[[float], float], wanted: float) -> float:
    """Where ``accepted``, which rises, is ``wanted``."""

    def excess(parameter: float) -> float:
        return accepted(parameter) - wanted

    high = 1.0
    while excess(high) < -ROUNDING and high < 1e9:
        high *= 8
    least, most = excess(0.0) + wanted, excess(high) + wanted
    if not least - ROUNDING <= wanted <= most + ROUNDING:
        raise ValueError(f"acceptance is {wanted!r}; expected {least:.6g} to {most:.6g}, what the rule can accept")
    if excess(0.0) >= -ROUNDING:
        return 0.0
    return float(scipy.optimize.brentq(lambda parameter: excess(parameter) + ROUNDING, 0, high, xtol=1e-15))
