"""CSpD's rule of whole trajectories: the ratio of eq. 2 with the residual of eq. 5."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np

from simlab.continuous import affine_chain
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.trajectories import Trajectory, TrajectoryPair
from simlab.continuous.rules import LastStep, Path, Rule
from simlab.continuous.rules.base import log_acceptance, proposal_acceptance
from theory.claims.base import Claims, Finding
from theory.claims.cspd.assumed import UNBOUNDED
from theory.claims.evidence import (
    enumeration,
    example,
    first,
    holds_under_assumptions_if,
    identity,
    over,
    rejects_mutants,
)
from theory.claims.format import fmt, numbers
from theory.claims.sources import said
from theory.continuous.paths import log_path

CLAIMS = Claims("cspd")
ZERO, ONE = Fraction(0), Fraction(1)

Model = tuple[Fraction, Fraction, Fraction]  # the mass of x_1 = 1, and of x_0 = 1 given x_1 = 0 and given 1
TRAJECTORIES = ((0, 0), (0, 1), (1, 0), (1, 1))
Ratio = Callable[[Model, Model, int, int], Fraction]


def mass(model: Model, x1: int, x0: int) -> Fraction:
    """Of the trajectory (x_1, x_0), both 0 or 1."""
    start = model[0] if x1 else ONE - model[0]
    return start * (model[1 + x1] if x0 else ONE - model[1 + x1])


def path_ratio(p: Model, q: Model, x1: int, x0: int) -> Fraction:
    """Eq. 2."""
    return mass(p, x1, x0) / mass(q, x1, x0)


def emitted(p: Model, q: Model, ratio: Ratio) -> dict[tuple[int, int], Fraction]:
    """The law of the trajectory that is emitted, with proposals from ``p`` until one is accepted."""
    accepted = {y: mass(q, *y) * min(ONE, ratio(p, q, *y)) for y in TRAJECTORIES}
    taken = {y: mass(p, *y) * max(ZERO, 1 - 1 / r) if (r := ratio(p, q, *y)) else ZERO for y in TRAJECTORIES}
    rest, z = 1 - sum(accepted.values()), sum(taken.values())
    return {y: accepted[y] + (rest * taken[y] / z if z else ZERO) for y in TRAJECTORIES}


def grid(target: Chain, draft: Chain, rule: Rule, points: int = 241) -> float:
    """For chains of one step on the line: how far the law of (x_1, x_0) is from the target's."""
    axis = np.linspace(-8, 8, points)
    states = np.stack(np.meshgrid(axis, axis, indexing="ij"))[::-1].reshape(2, -1, 1)  # [x_0, x_1]
    area, none = (axis[1] - axis[0]) ** 2, np.zeros((points**2, 1))
    pair = TrajectoryPair(Trajectory(target, none, states), Trajectory(draft, none, states))
    p, q = (np.exp(log_path(model)) * area for model in pair)
    ratio = rule.log_ratio(pair, states)
    accepted, taken = q * np.exp(log_acceptance(ratio)), p * proposal_acceptance(ratio)
    law = accepted + (1 - accepted.sum()) * taken / taken.sum()
    return 0.5 * float(np.abs(law - p).sum())


@CLAIMS.claim(
    "cspd.path-rule",
    said(
        "A.1.1, eqs. 2, 5, 12",
        "The objective of p(x) is to maintain the marginal distribution, while p(Y) aims to maintain the "
        "probability of the denoising trajectory itself. Both methods are effective",
        "formalised",
        "This is the second of the two, with the residual of eq. 5; the first is cspd.output-law.marginal. Effective "
        "is read as lossless; the paper leaves it for its low acceptance.",
    ),
    r"Accepting a trajectory $Y = x_{0:T} \sim q$ with probability $\min(1, p(Y) / q(Y))$, and replacing a rejected "
    r"one by a trajectory of $p$ that is accepted with probability $\max(0, p(Y) - q(Y)) / p(Y)$, emits $Y \sim p$; so "
    "the token $x_0$ has the law of the target's token.",
    assumptions=(
        "densities of trajectories: every denoising step of both models, and $x_T$, has a density",
        UNBOUNDED,
    ),
)
def path_rule(seed: int) -> Finding:
    r"""By "densities of trajectories" $p(Y)$ and $q(Y)$ are products of the densities of $x_T$ and of all steps.
    Accepted trajectories have the density $\min(p(Y), q(Y))$. A rejection has probability $Z = \int [p - q]_+$; by
    "unbounded proposals" it ends in a trajectory from $[p - q]_+ / Z$ (``cspd.residual``). Together that is $p(Y)$,
    whose marginal at $x_0$ is the law of the target's token.

    The price is acceptance, $1 - TV$ of the laws of trajectories, which is at most $1 - TV$ of the laws of tokens.
    """
    shares = [Fraction(k, 4) for k in (1, 2, 3)]
    models = list(product(shares, shares, shares))
    pairs = list(product(models, models[::5]))

    def deviation(ratio: Ratio) -> Fraction:
        """Of the law of a trajectory from the target's; the first."""
        return first(max(abs(one - mass(p, *y)) for y, one in emitted(p, q, ratio).items()) for p, q in pairs if p != q)

    target = affine_chain(1, 0.8, 0.5)
    draft = replace(affine_chain(1, 0.6, 0.6, 0.3), start_factor=np.array([1.2]))  # another law of x_1

    def apart(rule: Rule) -> float:
        """The same for the rule that is simulated, on a grid; 0 within the error of the grid."""
        return over(grid(target, draft, rule), 1e-4)

    p, q = (Fraction(1, 2), Fraction(1, 4), Fraction(3, 4)), (Fraction(3, 4), Fraction(3, 4), Fraction(1, 2))
    accepts = sum(min(mass(p, *y), mass(q, *y)) for y in TRAJECTORIES)
    tokens = [[sum(mass(m, x1, x0) for x1 in (0, 1)) for x0 in (0, 1)] for m in (p, q)]
    alone = sum(min(each) for each in zip(*tokens, strict=True))
    law = emitted(p, q, path_ratio)
    return holds_under_assumptions_if(
        deviation(path_ratio) == 0 and apart(Path()) == 0,
        enumeration(
            f"{len(pairs)} pairs of models of two steps with two states each, in rationals: every trajectory is "
            "emitted with the target's probability"
        ),
        identity("the rule that is simulated, T = 1 on the line, on a grid of x_1 and x_0: TV below 1e-4"),
        example(
            f"x_1 and x_0 are 0 or 1; of trajectories {fmt(accepts)} are accepted, of tokens, were their marginals "
            f"known, {fmt(alone)}; the law of (x_1, x_0), in the order 00, 01, 10, 11, is the target's",
            numbers(p=p, q=q, acceptance=accepts, acceptance_marginal=alone, law=list(law.values())),
        ),
        rejects_mutants(
            {
                "the last step alone": lambda p, q, x1, x0: path_ratio((p[0], *p[1:]), (p[0], *q[1:]), x1, x0),
                "the ratio of x_1 alone": lambda p, q, x1, x0: path_ratio(p, (q[0], *p[1:]), x1, x0),
                "half the ratio": lambda p, q, x1, x0: path_ratio(p, q, x1, x0) / 2,
            },
            deviation,
            "the law of trajectories",
        ),
        rejects_mutants({"1 % too large": _TooLarge(), "the last step alone": LastStep()}, apart, "the rule on a grid"),
    )


class _TooLarge(Path):
    """The path ratio, 1 % too large."""

    def log_ratio(self, pair: TrajectoryPair, candidate: np.ndarray) -> np.ndarray:
        return super().log_ratio(pair, candidate) + 0.01
