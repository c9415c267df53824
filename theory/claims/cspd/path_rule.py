"""CSpD's rule of whole trajectories: the ratio of eq. 2 with the residual of eq. 5."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from simlab.continuous import affine_chain
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.trajectories import Trajectory, TrajectoryPair
from simlab.continuous.rules import LastStep, Path, Rule
from simlab.rules import Speculative
from theory.acceptance import alpha
from theory.claims.base import Claims, Finding
from theory.claims.cspd.assumed import UNBOUNDED
from theory.claims.evidence import example, holds_if, identity, over, rejects_mutants
from theory.claims.format import fmt, numbers
from theory.claims.sources import said
from theory.continuous.paths import log_path
from theory.continuous.rejection_cost import emitted_mass
from theory.distances import tv
from theory.exact import step_law

CLAIMS = Claims("cspd")
Model = tuple[Fraction, Fraction, Fraction]  # the mass of x_1 = 1, and of x_0 = 1 given x_1 = 0 and given 1
Row = tuple[Fraction, ...]


def trajectories(model: Model) -> Row:
    """The masses of the trajectories (x_1, x_0), in the order 00, 01, 10, 11."""
    start, *last = model
    return tuple(a * b for a, one in zip((1 - start, start), last, strict=True) for b in (1 - one, one))


def grid(target: Chain, draft: Chain, rule: Rule) -> float:
    """For chains of one step on the line: how far the law of (x_1, x_0) is from the target's."""
    axis = np.linspace(-8, 8, 241)
    states = np.stack(np.meshgrid(axis, axis, indexing="ij"))[::-1].reshape(2, -1, 1)  # [x_0, x_1]
    area, none = (axis[1] - axis[0]) ** 2, np.zeros((len(axis) ** 2, 1))
    pair = TrajectoryPair(Trajectory(target, none, states), Trajectory(draft, none, states))
    p, q = (np.exp(log_path(model)) * area for model in pair)
    return 0.5 * float(np.abs(emitted_mass(p, q, rule.log_ratio(pair, states)).mass - p).sum())


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
    target = affine_chain(1, 0.8, 0.5)
    draft = replace(affine_chain(1, 0.6, 0.6, 0.3), start_factor=np.array([1.2]))  # another law of x_1

    def apart(rule: Rule) -> float:
        """The law of trajectories from the target's, on a grid; 0 within the error of the grid."""
        return over(grid(target, draft, rule), 1e-4)

    p, q = (Fraction(1, 2), Fraction(1, 4), Fraction(3, 4)), (Fraction(3, 4), Fraction(3, 4), Fraction(1, 2))
    rows = [trajectories(model) for model in (p, q)]
    tokens = [(row[0] + row[2], row[1] + row[3]) for row in rows]
    accepts, alone = alpha(*rows), alpha(*tokens)
    law = step_law(Speculative(), *rows)
    return holds_if(
        apart(Path()) == 0 and tv(law, rows[0]) == 0,
        identity("the rule that is simulated, T = 1 on the line, on a grid of x_1 and x_0: TV below 1e-4"),
        example(
            f"x_1 and x_0 are 0 or 1; of trajectories {fmt(accepts)} are accepted, of tokens, were their marginals "
            f"known, {fmt(alone)}; the law of (x_1, x_0), in the order 00, 01, 10, 11, is the target's",
            numbers(p=p, q=q, acceptance=accepts, acceptance_marginal=alone, law=law),
        ),
        rejects_mutants({"1 % too large": _TooLarge(), "the last step alone": LastStep()}, apart, "the rule on a grid"),
    )


class _TooLarge(Path):
    """The path ratio, 1 % too large."""

    def log_ratio(self, pair: TrajectoryPair, candidate: np.ndarray) -> np.ndarray:
        return super().log_ratio(pair, candidate) + 0.01
