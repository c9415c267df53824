"""Claims about CSpD's resampling: whether its loop ends, and after how many proposals."""

from __future__ import annotations

from itertools import islice, pairwise
from math import exp, log

import numpy as np

from simlab.continuous import affine_chain
from simlab.continuous.rules import LastStep, Rule, VarianceProduct
from theory.claims.base import Claims, Finding
from theory.claims.cspd.assumed import INDEPENDENT_LAST_NOISE, LAST_NOISE
from theory.claims.evidence import (
    counterexample,
    example,
    holds_under_assumptions_if,
    identity,
    refuted_if,
    rejects_mutants,
    require,
    small_scale,
)
from theory.claims.format import fmt, numbers
from theory.claims.sources import derived
from theory.continuous.example_processes import UNCONDITIONAL, mismatches
from theory.continuous.gaussian_overlap import acceptance_rates
from theory.continuous.line import given_states
from theory.continuous.rejection_cost import bounded

CLAIMS = Claims("cspd")


@CLAIMS.claim(
    "cspd.termination",
    derived(
        "Algorithm 1, eq. 13",
        "The paper says nothing of whether the loop ends; G.2 reports that it takes few proposals.",
    ),
    r"The repeat-until loop of Algorithm 1, with $\Sigma$ in the acceptance ratio and in the threshold, ends with "
    "probability one for every target and draft.",
)
def printed(seed: int) -> Finding:
    r"""A proposal is accepted with probability $Z' = \int [p - q / \Sigma]_+$, which is 0 where $\Sigma p \le q$
    everywhere. Let both last steps be $N(0, 1)$ whatever $x_1$ is, and the target's variance of $x_1$ 4 times the
    draft's: $\Sigma = 1/2$. A draft is accepted with probability $1/2$, and if it is not, $\max(0, p/2 - p) = 0$ at
    every proposal: half of all tokens are never made.

    Where the last variances agree and $\Sigma < 1$, $Z' > 0$ for every gap $d \ne 0$ between the last means, but it
    falls like $\exp(-(\log \Sigma)^2 s^2 / (2 d^2))$ as $d \to 0$. So the mean of $1 / Z'$ over a gap with a density
    near 0 is infinite: the loop ends, and the mean number of proposals does not exist. Where $\Sigma > 1$ it ends after
    at most $\Sigma / (\Sigma - 1)$ proposals in the mean, since $Z' \ge \int (p - q / \Sigma) = 1 - 1 / \Sigma$.
    """
    target, draft = affine_chain(4, 0.8, 0.5), affine_chain(4, 0.8, [0.5, 0.45, 0.45, 0.45])
    limits = (10, 100, 1000, 10**4, 10**6)
    laws = {limit: given_states(target, draft, UNCONDITIONAL, VarianceProduct(), limit, gaps=336) for limit in limits}
    growth = [laws[limit].trials for limit in limits]
    require(all(b > 1.5 * a for a, b in pairwise(growth)), f"the mean settles: {growth}")

    def endless(sigma: float) -> float:
        """The probability that the loop never ends, where both last steps are N(0, 1)."""
        share = acceptance_rates(0.0, log(sigma))
        return float(1 - share.acceptance) * (float(share.proposal_acceptance) == 0)

    few = float(acceptance_rates(0.1, log(1.5)).proposal_acceptance)
    require(1 / few <= 3, "with a large Sigma it takes more proposals than the proof allows")
    return refuted_if(
        endless(0.5) > 0 and endless(1.0) == 0,
        counterexample(
            "T = 2; the last step draws from N(0, 1) in both models, whatever x_1 is; x_1 has twice the standard "
            "deviation for the target, so Sigma = 1/2. A draft is accepted with probability 1/2; if not, max(0, p/2 - "
            "p) = 0 for any proposal: half of all tokens are never made. With Sigma = 1 none is lost",
            numbers(
                sigma=0.5,
                acceptance=1 - endless(0.5),
                taken=float(acceptance_rates(0.0, log(0.5)).proposal_acceptance),
                never_ends=endless(0.5),
            ),
        ),
        small_scale(
            "T = 4, last steps of the same variance, Sigma = 0.73: mean proposals a token, by how many are allowed: "
            + ", ".join(f"{limit:,}: {law.trials:.3g} ({law.unfinished:.3f} unfinished)" for limit, law in laws.items())
        ),
        example(
            f"where Sigma > 1 it ends: last steps N(1/10, 1) and N(0, 1), Sigma = 1.5, {fmt(1 / few)} proposals in the "
            "mean, of 3 at most",
        ),
    )


@CLAIMS.claim(
    "cspd.termination.without-sigma",
    derived("Algorithm 1 without eq. 8"),
    r"Without $\Sigma$ in ratio and threshold, the loop of Algorithm 1 ends with probability one, after at most one "
    "proposal a token in the mean; where $n$ proposals are allowed, a token is left without an accepted one with "
    "probability at most $1 / (e n)$.",
    assumptions=(LAST_NOISE, INDEPENDENT_LAST_NOISE),
)
def without_sigma(seed: int) -> Finding:
    r"""Given both trajectories down to $x_1$, by "independent last noise" and "noise in the last step" a draft is
    rejected with probability $Z = \int [p - q]_+$, and a proposal accepted with the same $Z$: if there is a rejection,
    $Z > 0$. Proposals a token: $Z \cdot 1 / Z = 1$ in the mean where the two last steps differ, 0 where they do not.
    After $n$ proposals $Z (1 - Z)^n$ is left, most of all at $Z = 1 / (n + 1)$: there it is $(1 - 1 / (n + 1))^{n + 1}
    / n \le 1 / (e n)$.
    """
    cases = list(islice(mismatches(), 0, None, 6))
    pair = affine_chain(4, 0.8, 0.5), affine_chain(4, 0.8, [0.5, 0.45, 0.45, 0.45])

    def more_than_one(rule: Rule) -> float:
        """By how much the proposals a token exceed one in the mean, of at most ten thousand."""
        laws = [given_states(case.target, case.draft, case.given, rule, 10**4, gaps=48) for case in cases]
        most = max(law.trials for law in [*laws, given_states(*pair, UNCONDITIONAL, rule, 10**4, gaps=84)])
        return max(0.0, most - 1 - 1e-9)

    z = np.geomspace(1e-8, 1, 4001)
    limits = (10, 100, 1000)
    left = [float((z * bounded(z, limit).unfinished).max()) for limit in limits]
    short = all(value <= 1 / (exp(1) * n) for value, n in zip(left, limits, strict=True))
    worst = [1 / (n + 1) * (n / (n + 1)) ** n for n in limits]
    require(max(abs(a - b) / b for a, b in zip(left, worst, strict=True)) < 1e-4, "the most that is left is elsewhere")
    return holds_under_assumptions_if(
        more_than_one(LastStep()) == 0 and short,
        identity(f"proposals a token in the mean over {len(cases) + 1} mismatches, by quadrature: at most one"),
        example(
            "the most that is left after 10, 100 and 1000 proposals, over all Z: " + ", ".join(map(fmt, worst)),
            numbers(proposals=limits, unfinished_at_most=worst),
        ),
        rejects_mutants({"with Sigma": VarianceProduct()}, more_than_one, "proposals a token"),
    )
