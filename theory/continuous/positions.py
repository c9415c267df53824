"""Acceptance along a sequence of continuous tokens, and the effect of pre-filling its first tokens.

The rule of the last step accepts a draft as far as the last kernels of target and draft overlap, so that acceptance is
a function of the gap between their means. That is normal: it depends on the conditions, hence on the token before, and
on noise that is not shared. Costs are those of CSpD, eq. 51: a block costs one call of the target and gamma of the
draft, c each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from simlab.checks import check_at_least, check_number
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.sequences import Tokens, check_pair
from theory.continuous.gaussian_overlap import acceptance_over_gap, last_step_acceptance
from theory.continuous.joint_gaussian import last_means, last_sd
from theory.continuous.sequences import autoregressive


def rates(target: Tokens, draft: Tokens, aligned: bool = True) -> list[float]:
    """The acceptance of the last step's rule at each position, given a prefix that follows the target.

    ``target``, ``draft``: models of tokens of one number. ``aligned``: whether the noise is shared, else independent.
    Raises ``ValueError`` for more numbers, a learned range, and models that do not go together.
    """
    check_pair(target, draft)
    if target.dimension != 1:
        raise ValueError(f"tokens have dimension {target.dimension}; expected 1: acceptance by quadrature on the line")
    law = autoregressive(target)
    found = []
    for n in range(target.length):
        if n == 0:
            conditions = target.condition(target.first[None])[0], draft.condition(draft.first[None])[0]
            found.append(last_step_acceptance(target.chain, draft.chain, conditions, aligned))
            continue
        mean, variance = law.token(n - 1)
        (at, own), (moved, _) = (
            last_means(target.chain, draft.chain, (target.condition(x)[0], draft.condition(x)[0]), aligned).gap
            for x in (mean[None], mean[None] + 1)
        )
        spread = own[0, 0] + (moved - at)[0] ** 2 * variance[0, 0]
        found.append(
            acceptance_over_gap(float(at[0]), float(np.sqrt(spread)), 0.0, *map(last_sd, (target.chain, draft.chain)))
        )
    return found


def fading(chain: Chain, gap: float, memory: float, length: int, aligned: bool = True) -> list[float]:
    """The acceptance of drafts at each position if the conditions of two equal models differ by ``gap * memory^n``.

    ``chain``: of both models, of one dimension. ``memory``: the share that is left after each position, in [0, 1].
    ``length``: N, at least 1. ``aligned``: whether the noise is shared, else independent. Raises ``ValueError`` for
    others, and for a learned range.

    Such is a class token that each model has its own of, and that a prefix they share makes up for ever more of; CSpD,
    section 3.2. The prefix enters both alike, so that rates do not depend on it, and drafts are accepted independently.
    """
    check_at_least("length", length, 1)
    check_number("memory", memory, most=1)
    zero = np.zeros(1)
    return [last_step_acceptance(chain, chain, (zero, zero + gap * memory**n), aligned) for n in range(length)]


def mean_after(rates: Sequence[Any], prefill: int) -> Any:
    """The mean of the rates behind the first ``prefill``, 0 to N - 1 positions that are not drafted.

    Rates are floats or ``Fraction``, and so is the mean.
    """
    return sum(rates[prefill:]) / (len(rates) - prefill)


def block_tokens(rates: Sequence[Any], start: int, gamma: int) -> Any:
    """Mean tokens of a block, 1 + a + a a' + ..., none of them behind the end of the sequence.

    ``rates``: of N positions. ``start``: where it starts, 0 to N - 1. ``gamma``: the draft length. Rates are floats or
    ``Fraction``, and so is the mean.
    """
    total = reached = rates[start] * 0 + 1
    for rate in rates[start : min(start + gamma, len(rates) - 1)]:  # what the last one lets follow is not there
        reached = reached * rate
        total = total + reached
    return total


def costs(rates: Sequence[Any], gamma: int, c: Any) -> list[Any]:
    """Mean cost, in calls of the target, from each position to the end, where blocks are cut at the first rejection.

    ``rates``: of N positions, at which drafts are accepted independently; floats or ``Fraction``. ``gamma``: the draft
    length; raises ``ValueError`` below 1. ``c``: cost of a draft in calls of the target; CSpD, equation 51. Returns
    N + 1 costs, the last one 0, exact for fractions: ``prefill`` tokens cost ``prefill + costs[prefill]``.
    """
    check_at_least("gamma", gamma, 1)
    end = len(rates)
    left = [c * 0] * (end + 1)
    for start in range(end - 1, -1, -1):
        left[start] = 1 + gamma * c
        reach = rates[start] * 0 + 1
        for j in range(min(gamma, end - start)):
            left[start] += reach * (1 - rates[start + j]) * left[start + j + 1]
            reach *= rates[start + j]
        if start + gamma < end:
            left[start] += reach * left[start + gamma + 1]
    return left
