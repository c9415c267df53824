"""Claims about CSpD's resampling: the residual, the threshold that is easy to compute, and whether the loop ends."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice, pairwise, product
from math import exp, log

import numpy as np
import scipy

from simlab.continuous import affine_chain
from simlab.continuous.rules import LastStep, Rule, VarianceProduct
from simlab.continuous.rules.base import proposal_acceptance
from theory.claims.base import Claims, Finding
from theory.claims.cspd.assumed import INDEPENDENT_LAST_NOISE, LAST_NOISE, SOMEWHERE_ABOVE, UNBOUNDED
from theory.claims.evidence import (
    counterexample,
    example,
    holds_if,
    identity,
    refuted_if,
    rejects_mutants,
    require,
    small_scale,
)
from theory.claims.format import fmt, numbers
from theory.claims.proven import proven
from theory.claims.sources import derived, said
from theory.continuous.example_processes import UNCONDITIONAL, mismatches
from theory.continuous.gaussian_overlap import acceptance_rates
from theory.continuous.line import given_states
from theory.continuous.quadrature import normal_pdf, panels
from theory.continuous.rejection_cost import bounded

CLAIMS = Claims("cspd")

# The residual ------------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "cspd.residual",
    said(
        "3.3, eqs. 10 to 12",
        "M is set to 1/Z considering that ... Equation 12 gives the analytic expression of α_s without calculating Z.",
        "formalised",
        "That $1/Z$ is also the mean number of proposals is added.",
    ),
    r"For every $p \ne q$, a proposal $Y \sim p$ that is accepted with probability $\max(0, p(Y) - q(Y)) / p(Y)$ "
    r"follows the residual $p'(Y) = [p(Y) - q(Y)]_+ / Z$, and it takes $M = 1/Z$ proposals in the mean.",
)
def residual(seed: int) -> Finding:
    r"""$p(y) \max(0, p(y) - q(y)) / p(y) = [p(y) - q(y)]_+$, whose integral is $Z$: a proposal is accepted with
    probability $Z$, and one that is accepted follows $[p - q]_+ / Z$. The number of proposals is geometric with mean $1
    / Z = M$. Since $[p - q]_+ \le p$, $M p \ge p'$; $M$ is the least such bound just where $q / p$ comes arbitrarily
    near 0. $Z > 0$ unless $p = q$, and then nothing is rejected.
    """
    apart, y = [], np.linspace(-12, 16, 4001)
    for gap, sp, sq in product((0.0, 0.1, 1.0, 4.0), (0.5, 1.0, 2.0), (0.5, 1.0, 2.0)):
        log_p, log_q = scipy.stats.norm.logpdf(y, gap, sp), scipy.stats.norm.logpdf(y, 0, sq)
        found = np.exp(log_p) * proposal_acceptance(log_p - log_q)
        apart.append(float(np.abs(found - np.maximum(np.exp(log_p) - np.exp(log_q), 0)).max()))
    require(np.max(apart) < 1e-12, f"the rule's threshold leaves [p - q]+ by {max(apart)}")
    p, q = (Fraction(1, 2), Fraction(1, 2)), (Fraction(3, 4), Fraction(1, 4))
    rest = [max(x - y, Fraction(0)) for x, y in zip(p, q, strict=True)]
    z = sum(rest, Fraction(0))
    law = [mass / z for mass in rest]
    return holds_if(
        proven("cspd.residual"),
        identity(
            f"the rule's own threshold on {len(apart)} pairs of normal densities: p times it is [p - q]+ to "
            f"{max(apart):.0e} at every point",
        ),
        example(
            "p = (1/2, 1/2), q = (3/4, 1/4): Z = 1/4 and M = 4, but p' = (0, 1) is at most 2 p, so half the "
            "proposals would do: 1 / Z is a bound, not the least",
            numbers(p=p, q=q, z=z, residual=law, bound=1 / z, least=max(x / y for x, y in zip(law, p, strict=True))),
        ),
    )


# The threshold ------------------------------------------------------------------------------------------------------


COROLLARY = (
    "We can compute α_s by gathering Σ and sampling x_0 from the Gaussian distribution, thereby completing the "
    "acceptance-rejection sampling to obtain samples equivalent to those derived from sampling p'(Y)."
)


@CLAIMS.claim(
    "cspd.corollary-1",
    said(
        "Corollary 1, eq. 50",
        COROLLARY,
        "formalised",
        "$p'(Y)$ is read as in eq. 50, with the densities of two trajectories that share $x_0$ and whose other states "
        "are given; read of eq. 5's residual of one trajectory it is cspd.corollary-1.paths.",
    ),
    r"Given both trajectories down to $x_1$, tokens drawn from $p(x_0 | x_1^p)$ and accepted with the threshold of eq. "
    r"13 have the density $\max(0, p(Y_p) - q(Y_q)) / Z'$ in $x_0$, $Z'$ its integral over $x_0$.",
    assumptions=(SOMEWHERE_ABOVE, UNBOUNDED),
)
def two_path(seed: int) -> Finding:
    r"""As functions of $x_0$ the two densities of eq. 9 are $c \Sigma p(x_0 | x_1^p)$ and $c q(x_0 | x_1^q)$ with one
    factor $c$. A proposal is accepted with density $p \max(0, \Sigma p - q) / (\Sigma p) = [\Sigma p - q]_+ / \Sigma$.
    By "somewhere above" the integral of that is positive, and by "unbounded proposals" one is accepted in the end,
    which has that density up to its integral.

    Without "somewhere above" no proposal is ever accepted (``cspd.termination``).

    With a single denoising step from an $x_1$ that both trajectories share, tokens follow $p'(Y) = [p(Y) - q(Y)]_+ / Z$
    as eq. 5 defines it too, of the laws of one trajectory: $\Sigma = 1$ and $p(Y) - q(Y) = p(x_1) (p(x_0 | x_1) - q(x_0
    | x_1))$. A rejection at $x_1$ has probability $Z(x_1)$, so $x_1$ given a rejection has the density $p(x_1) Z(x_1) /
    Z$, and $x_0$ then follows $[p - q]_+ / Z(x_1)$: together $[p(Y) - q(Y)]_+ / Z$.

    A lossless rule accepts a proposal just as often as a draft is rejected. Let $\alpha = \int \min(q, \Sigma p)$ and
    $Z' = \int [p - q / \Sigma]_+$. Since $\min(q, \Sigma p) + [\Sigma p - q]_+ = \Sigma p$, $\alpha + \Sigma Z' =
    \Sigma$. For $\Sigma = 1$ that is $Z' = 1 - \alpha$; for $\Sigma \ne 1$, $Z' = 1 - \alpha / \Sigma$ differs from $1
    - \alpha$, since $\alpha > 0$ for normal densities.
    """
    exact = acceptance_rates(1.0, 0.0)
    agree = abs(float(exact.acceptance + exact.proposal_acceptance) - 1) < 1e-12
    share = acceptance_rates(1.0, log(2.0))
    return holds_if(
        proven("cspd.corollary-1") and agree,
        example(
            "last steps N(1, 1) (target) and N(0, 1) (draft), Sigma = 2: a proposal is accepted with probability "
            f"{fmt(share.proposal_acceptance)}, while a draft is rejected with {fmt(1 - share.acceptance)}; the two "
            "agree, as a lossless rule has them, only for Sigma = 1",
            numbers(sigma=2, gap=1, taken=share.proposal_acceptance, rejected=1 - share.acceptance),
        ),
    )


@CLAIMS.claim(
    "cspd.corollary-1.paths",
    said(
        "Corollary 1, eqs. 5 and 13",
        COROLLARY,
        "stronger",
        "$p'(Y)$ by its definition, eq. 5, of the laws of one trajectory $Y = x_{0:T}$. The proof of the corollary "
        "puts two trajectories in its place (cspd.corollary-1), and eq. 49 integrates over the token alone.",
    ),
    r"After a rejection, drawing $x_0 \sim p(x_0 | x_1^p)$ until the threshold of eq. 13 accepts it samples $x_0$ of "
    r"$p'(Y) = [p(Y) - q(Y)]_+ / Z$, the residual of the laws of one trajectory $Y = x_{0:T}$ of either model.",
)
def of_one_trajectory(seed: int) -> Finding:
    r"""After a rejection Algorithm 1 keeps $x_T^p$ to $x_1^p$ as they are, distributed as under $p$ given a rejection;
    under $p'(Y)$ they follow a residual of their own. And where $\Sigma p \le q$ everywhere the threshold is 0, though
    $p'(Y)$ exists. With a single denoising step from an $x_1$ that both trajectories share it is so
    (``cspd.corollary-1``).
    """
    # p'(x_0) for x_1 ~ N(0, 1) against N(0, 4), and x_0 = x_1 + N(0, 1/4), by one integral over x_1
    x = np.linspace(-9, 9, 181)
    even = float(np.sqrt(2 * log(2) / (1 - 2**-2)))  # where N(0, 1) and N(0, 4) have the same density
    s, weight = panels(even * np.linspace(-1, 1, 5))
    mass = weight * (normal_pdf(s) - normal_pdf(s, 0, 2))
    residual_density = normal_pdf(x[:, None], s, 0.5) @ mass / mass.sum()

    law = _after_rejection(1.0, 2.0, 0.5, x)
    tv = 0.5 * float(np.abs(law - residual_density).sum() * (x[1] - x[0]))
    z = 2 * (scipy.stats.norm.cdf(even) - scipy.stats.norm.cdf(even / 2))
    taken = float(acceptance_rates(0.0, log(0.5)).proposal_acceptance)
    return refuted_if(
        tv > 0.01 and taken == 0 < z,
        counterexample(
            "T = 2, and the last step draws from N(0, 1) in both models, whatever x_1 is; x_1 is N(0, 4) for the "
            "target and N(0, 1) for the draft. Then Sigma = 1/2, and max(0, p/2 - q) is 0 at every x_0: no token is "
            "ever accepted. Yet p'(Y) exists, with Z = TV(N(0, 4), N(0, 1)), and its x_0 follows N(0, 1)",
            numbers(sigma=0.5, taken=taken, z=z),
        ),
        counterexample(
            "where tokens are accepted: T = 2, x_1 is N(0, 1) for the target and N(0, 4) for the draft (shared noise), "
            "and x_0 = x_1 + N(0, 1/4): Sigma = 2. What the threshold accepts and the x_0 of p'(Y) are "
            f"{tv:.3f} apart in TV",
            numbers(sigma=2, sd_target=1, sd_draft=2, last_sd=0.5, tv=tv),
        ),
    )


def _after_rejection(own: float, others: float, last: float, x: np.ndarray) -> np.ndarray:
    """The density at ``x`` of what eq. 13 takes, for x_1^p = own e, x_1^q = others e and x_0 = x_1 + last N(0, 1)."""
    e, chance = np.polynomial.hermite_e.hermegauss(120)
    chance = chance / chance.sum()
    sigma = others / own
    gap = (own - others) * e
    share = acceptance_rates(gap, log(sigma), last, last)
    lost = chance * (1 - share.acceptance)
    p, q = (scipy.stats.norm(scale * e, last) for scale in (own, others))
    log_ratio = log(sigma) + p.logpdf(x[:, None]) - q.logpdf(x[:, None])
    return p.pdf(x[:, None]) * proposal_acceptance(log_ratio) / share.proposal_acceptance @ lost / lost.sum()


# Whether the loop ends ---------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "cspd.termination",
    derived(
        "Algorithm 1, eq. 13",
        "The paper says nothing of whether the loop ends; G.2 reports that it takes few proposals.",
    ),
    r"The repeat-until loop of Algorithm 1, with $\Sigma$ in the acceptance ratio and in the threshold, ends with "
    "probability one for every target and draft.",
)
def loop(seed: int) -> Finding:
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
        laws.append(given_states(*pair, UNCONDITIONAL, rule, 10**4, gaps=84))
        return float(np.max([0.0, *(law.trials - 1 - 1e-9 for law in laws)]))

    z = np.geomspace(1e-8, 1, 4001)
    limits = (10, 100, 1000)
    left = [float((z * bounded(z, limit).unfinished).max()) for limit in limits]
    short = all(value <= 1 / (exp(1) * n) for value, n in zip(left, limits, strict=True))
    worst = [1 / (n + 1) * (n / (n + 1)) ** n for n in limits]
    require(np.abs(np.divide(left, worst) - 1).max() < 1e-4, "the most that is left is elsewhere")
    return holds_if(
        more_than_one(LastStep()) == 0 and short,
        identity(f"proposals a token in the mean over {len(cases) + 1} mismatches, by quadrature: at most one"),
        example(
            "the most that is left after 10, 100 and 1000 proposals, over all Z: " + ", ".join(map(fmt, worst)),
            numbers(proposals=limits, unfinished_at_most=worst),
        ),
        rejects_mutants({"with Sigma": VarianceProduct()}, more_than_one, "proposals a token"),
    )
