"""Claims about CSpD's resampling: the residual, and the threshold that is easy to compute."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import log

import numpy as np
import scipy

from simlab.continuous.rules.base import proposal_acceptance
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.cspd.assumed import SOMEWHERE_ABOVE, UNBOUNDED
from theory.claims.evidence import example, holds_if, holds_under_assumptions_if, identity, require
from theory.claims.format import fmt, numbers
from theory.claims.proven import proven
from theory.claims.sources import said
from theory.continuous.gaussian_overlap import acceptance_rates
from theory.continuous.quadrature import normal_pdf, panels

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
    apart = []
    for gap, sp, sq in product((0.0, 0.1, 1.0, 4.0), (0.5, 1.0, 2.0), (0.5, 1.0, 2.0)):
        y = np.linspace(-12, 16, 4001)
        logs = scipy.stats.norm.logpdf(y, gap, sp), scipy.stats.norm.logpdf(y, 0, sq)
        found, expected = (
            np.exp(logs[0]) * proposal_acceptance(logs[0] - logs[1]),
            np.maximum(np.exp(logs[0]) - np.exp(logs[1]), 0),
        )
        apart.append(float(np.abs(found - expected).max()))
    require(max(apart) < 1e-12, f"the rule's threshold leaves [p - q]+ by {max(apart)}")
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

EQUIVALENT = (
    "We can compute α_s by gathering Σ and sampling x_0 from the Gaussian distribution, thereby completing the "
    "acceptance-rejection sampling to obtain samples equivalent to those derived from sampling p'(Y)."
)


@CLAIMS.claim(
    "cspd.corollary-1",
    said(
        "Corollary 1, eq. 50",
        EQUIVALENT,
        "formalised",
        "$p'(Y)$ is read as in eq. 50, with the densities of two trajectories that share $x_0$ and whose other states "
        "are given. Read of eq. 5's residual of one trajectory it is not so, but for a single step: examples.",
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

    Not for every two models does the token follow $p'(Y) = [p(Y) - q(Y)]_+ / Z$ as eq. 5 defines it, of the laws of one
    trajectory. After a rejection Algorithm 1 keeps $x_T^p$ to $x_1^p$ as they are, distributed as under $p$ given a
    rejection; under that $p'(Y)$ they follow a residual of their own. And where $\Sigma p \le q$ everywhere the
    threshold is 0, though $p'(Y)$ exists. With a single denoising step from an $x_1$ that both trajectories share it
    does: $\Sigma = 1$ and $p(Y) - q(Y) = p(x_1) (p(x_0 | x_1) - q(x_0 | x_1))$. A rejection at $x_1$ has probability
    $Z(x_1)$, so $x_1$ given a rejection has the density $p(x_1) Z(x_1) / Z$, and $x_0$ then follows $[p - q]_+ /
    Z(x_1)$: together $[p(Y) - q(Y)]_+ / Z$.

    A lossless rule accepts a proposal just as often as a draft is rejected. Let $\alpha = \int \min(q, \Sigma p)$ and
    $Z' = \int [p - q / \Sigma]_+$. Since $\min(q, \Sigma p) + [\Sigma p - q]_+ = \Sigma p$, $\alpha + \Sigma Z' =
    \Sigma$. For $\Sigma = 1$ that is $Z' = 1 - \alpha$; for $\Sigma \ne 1$, $Z' = 1 - \alpha / \Sigma$ differs from $1
    - \alpha$, since $\alpha > 0$ for normal densities.
    """
    exact = acceptance_rates(1.0, 0.0)
    agree = abs(float(exact.acceptance + exact.proposal_acceptance) - 1) < 1e-12
    share = acceptance_rates(1.0, log(2.0))
    return holds_under_assumptions_if(
        proven("cspd.corollary-1") and agree,
        example(
            "last steps N(1, 1) (target) and N(0, 1) (draft), Sigma = 2: a proposal is accepted with probability "
            f"{fmt(share.proposal_acceptance)}, while a draft is rejected with {fmt(1 - share.acceptance)}; the two "
            "agree, as a lossless rule has them, only for Sigma = 1",
            numbers(sigma=2, gap=1, taken=share.proposal_acceptance, rejected=1 - share.acceptance),
        ),
        *other_residuals(),
    )


def other_residuals() -> list[Evidence]:
    """Where what the threshold accepts is not x_0 of eq. 5's residual of the laws of one trajectory."""

    # p'(x_0) for x_1 ~ N(0, 1) against N(0, 4), and x_0 = x_1 + N(0, 1/4), by one integral over x_1
    x = np.linspace(-9, 9, 181)
    s, weight = panels(_even(2.0) * np.linspace(-1, 1, 5))
    mass = weight * (normal_pdf(s) - normal_pdf(s, 0, 2))
    residual_density = normal_pdf(x[:, None], s, 0.5) @ mass / mass.sum()

    law = _after_rejection(1.0, 2.0, 0.5, x)
    tv = 0.5 * float(np.abs(law - residual_density).sum() * (x[1] - x[0]))
    z = 2 * (scipy.stats.norm.cdf(_even(2.0)) - scipy.stats.norm.cdf(_even(2.0) / 2))
    taken = float(acceptance_rates(0.0, log(0.5)).proposal_acceptance)
    require(tv > 0.01 and taken == 0 < z, "the threshold accepts what eq. 5 asks for")
    return [
        example(
            "not for every two models with p'(Y) of eq. 5: T = 2, and the last step draws from N(0, 1) in both models, "
            "whatever x_1 is; x_1 is N(0, 4) for the target and N(0, 1) for the draft. Then Sigma = 1/2, and max(0, "
            "p/2 - q) is 0 at every x_0: no token is ever accepted. Yet p'(Y) exists, with Z = TV(N(0, 4), N(0, 1)), "
            "and its x_0 follows N(0, 1)",
            numbers(sigma=0.5, taken=taken, z=z),
        ),
        example(
            "nor where tokens are accepted: T = 2, x_1 is N(0, 1) for the target and N(0, 4) for the draft (shared "
            f"noise), and x_0 = x_1 + N(0, 1/4): Sigma = 2. What the threshold accepts and the x_0 of p'(Y) of eq. 5 "
            f"are {tv:.3f} apart in TV",
            numbers(sigma=2, sd_target=1, sd_draft=2, last_sd=0.5, tv=tv),
        ),
    ]


def _even(ratio: float) -> float:
    """Where N(0, 1) and N(0, ratio^2) have the same density."""
    return float(np.sqrt(2 * log(ratio) / (1 - ratio**-2)))


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
