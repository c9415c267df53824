"""Claims of CSpD about the bias of the two-path ratio to first order, and about what bounds it (A.1.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf, pi, sqrt

import numpy as np
import scipy

from simlab.continuous import affine_chain
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.trajectories import TrajectoryPair
from simlab.continuous.rules import Path
from theory.claims.base import Claims, Finding
from theory.claims.cspd.assumed import ALL_SHARED
from theory.claims.cspd.ratios import FULL, mean_ratio
from theory.claims.evidence import (
    counterexample,
    example,
    holds_if,
    identity,
    largest,
    refuted_if,
    rejects_mutants,
    require,
)
from theory.claims.format import fmt, numbers
from theory.claims.sources import said
from theory.continuous.example_processes import UNCONDITIONAL
from theory.continuous.paths import Coupling, independent_noise, random_chains, under
from theory.continuous.quadrature import normal_pdf

CLAIMS = Claims("cspd")
SP, SQ = 0.1, 0.2  # of the example: the deviation of x_1
NEARBY = (1e-3, 1e-4)  # how far drafts are from their targets where the first order is looked at


def spread_root(height: float) -> float:
    """E sqrt(height^2 + x^2 + y^2) for two standard normals: h + sqrt(pi / 2) exp(h^2 / 2) erfc(h / sqrt 2)."""
    return height + sqrt(pi / 2) * float(scipy.special.erfcx(height / sqrt(2)))


def bounds(target: float, draft: float) -> tuple[float, float]:
    """Eqs. 15 and 21 for x_1 = s e, with s = ``target`` and ``draft``, between x_2 and x_0 from N(0, 1) for both
    models.

    With x_1^q = sq e and x_1^p = sp e, q-means of (p / q) f are p-means of f: e is (sp / sq) z for a standard normal z
    there, the gradient of log p has the length sqrt(x_2^2 + x_0^2 + z^2 / sp^2), and ||Yp - Yq|| = |sq - sp| |e|.
    """

    def mean(weight: Callable[[float], float]) -> float:
        def share(z: float) -> float:
            return weight(z) * spread_root(z / target) * float(normal_pdf(z))

        return 2 * float(scipy.integrate.quad(share, 0, 12)[0])

    gap = abs(draft - target)
    return gap * target / draft * mean(lambda z: z), gap * mean(lambda z: 1.0)


def near(target: Chain, draft: Chain, delta: float) -> Chain:
    """The draft whose means and factors are ``delta`` of the way from the target's to those of ``draft``."""
    names = ("slope", "condition_gain", "offset", "factor")
    return replace(target, **{n: (1 - delta) * getattr(target, n) + delta * getattr(draft, n) for n in names})


def shared_end(pair: TrajectoryPair) -> np.ndarray:
    """Yp - Yq ``[T + 1, B, d]``; both end in the draft."""
    away = pair.target.states - pair.draft.states
    return np.concatenate([np.zeros_like(away[:1]), away[1:]])


def first_order(coupling: Coupling, away: Callable[[TrajectoryPair], np.ndarray]) -> float:
    """E_q[grad p(Yq)' (Yp - Yq) / q(Yq)], the means of what is quadratic in the noise by those of exponentials."""

    def along(pair: TrajectoryPair) -> np.ndarray:
        """grad log p(Yq)' (Yp - Yq): differences of a quadratic are exact."""
        step, model = away(pair), pair.target
        ends = [under(model.chain, model.condition, pair.draft.states + sign * step) for sign in (1, -1)]
        return (ends[0] - ends[1]) / 2

    def mean(sign: int) -> float:
        return coupling.quadratic(lambda pair: Path().log_draft_ratio(pair) + sign * along(pair)).mean_exp

    return (mean(1) - mean(-1)) / 2  # up to the third order in Yp - Yq


EXAMPLE = "d = 1, T = 2, x_2, x_1, x_0 independent, all N(0, 1) but x_1"


@CLAIMS.claim(
    "cspd.path-ratio.eq-15-first-order",
    said(
        "A.1.2, eq. 15",
        "We perform a first-order Taylor expansion of p(Y_p) at Y_q. ... The magnitude of B is: ... |B| ≈ |E_q ... ≤",
        "formalised",
        "a statement to first order, as the paper calls it, in how far the draft is from the target. It goes on “the "
        "bound of the bias B is proportional to E[||Y_p − Y_q||]”, which eq. 15 is for multiples of one difference; of "
        "two drafts with the same mean distance it can have two values (last example)",
    ),
    r"To first order in the distance $\delta$ of the draft's means and covariances from the target's, the bias $B = "
    r"\mathbb{E}[p(Y_p) / q(Y_q)] - 1$ is at most $\mathbb{E}_q[\frac{|\nabla p(Y_q)|}{q(Y_q)} |Y_p - Y_q|]$.",
    assumptions=[
        ALL_SHARED,
        "affine means: means are affine in the state, and covariances are fixed and have full rank",
    ],
)
def eq_15_first_order(seed: int) -> Finding:
    r"""Given the draft's trajectory $y$, that of the target with "all noise shared", ending in the draft's $x_0$, is $y
    + \delta V(y) + O(\delta^2)$, with $V$ affine for "affine means". So $B = \int p(y + \delta V(y)) \, dy - 1 = \delta
    \int \nabla p^T V + O(\delta^2)$, the remainder bounded by second derivatives of a normal density. That is
    $\mathbb{E}_q[\nabla p^T (Y_p - Y_q) / q]$, and by Cauchy and Schwarz at most the mean of the lengths. Without
    shared noise $Y_p$ does not come near $Y_q$, and nothing is small.

    By hand: let $x_2$, $x_1$, $x_0$ be independent, $x_2$ and $x_0$ standard normal, $x_1$ of deviation $s_p$ and $s_q
    > s_p$. Then $B = s_q / s_p - 1$, and eq. 15 is $(1 - s_p / s_q) s_p \mathbb{E}|z| \sqrt{V + z^2 / s_p^2}$, with a
    standard normal $z$ and $V = x_2^2 + x_0^2$: at least $(1 - s_p / s_q) \mathbb{E} z^2$, so at least $s_p / s_q$ of
    $B$, and that tends to 1.
    """
    tried = [case for case in random_chains(seed, 12) if case[0].steps > 1]

    def left(away: Callable[[TrajectoryPair], np.ndarray], delta: float) -> float:
        """What the bias is beside its first order, over delta; the largest."""
        found = []
        for p, q, (given, other) in tried:
            coupling = Coupling(p, near(p, q, delta), (given, given + delta * (other - given)))
            found.append(abs(mean_ratio(FULL, coupling) - 1 - first_order(coupling, away)) / delta)
        return float(np.max(found))

    def stays(away: Callable[[TrajectoryPair], np.ndarray]) -> float:
        """What is left for a tenth of the distance, over what is left; 0 where that is about a tenth as well."""
        far, close = (left(away, delta) for delta in NEARBY)
        return 0.0 if close <= 0.2 * far else close / far

    ratios = {d: bounds(SP, (1 + d) * SP)[0] / d for d in (0.1, 0.01, 0.001)}
    require(all(ratio >= 1 / (1 + d) for d, ratio in ratios.items()), "by hand it is more")
    step = 0.001  # by which x_1 of the draft has another deviation, or another mean
    product, plain = bounds(SP, SP + step)
    shares = product / (step * sqrt(2 / pi)), plain / step  # in E|Yp - Yq|, which is step E|z|, or step
    require(shares[0] > 1.5 * shares[1], "one mean distance has one bound")
    return holds_if(
        stays(shared_end) == 0,
        identity(
            f"{len(tried)} random pairs of 2 to 4 steps, diagonal and dense: what the bias is beside E_q[grad p' "
            f"(Yp - Yq) / q] is at most {fmt(left(shared_end, NEARBY[0]))} of delta at delta = {NEARBY[0]}, "
            f"{fmt(left(shared_end, NEARBY[1]))} at {NEARBY[1]}: of second order",
        ),
        example(
            f"{EXAMPLE}, of deviation sp = 1/10 and (1 + delta) sp: eq. 15 over the bias is "
            + ", ".join(f"{fmt(v)} for delta = {d}" for d, v in ratios.items()),
            numbers(sd_p=SP, delta=list(ratios), ratio=list(ratios.values())),
        ),
        example(
            f"{EXAMPLE}, of deviation 1/10: eq. 15 over E|Yp - Yq| is {fmt(shares[0])} if the draft's deviation is "
            f"{step} larger, and {fmt(shares[1])} if its mean is",
            numbers(sd_p=SP, step=step, shares=shares),
        ),
        rejects_mutants(
            {
                "Yp - Yq inverted": lambda pair: -shared_end(pair),
                "each with an x_0 of its own": lambda pair: pair.target.states - pair.draft.states,
            },
            stays,
            "the bias to first order",
        ),
    )


@CLAIMS.claim(
    "cspd.path-ratio.bound",
    said(
        "A.1.2, eq. 21",
        "Substituting into B yields the final first-order error bound: ... |B_{align}| ≤",
        "as stated",
        "to first order, as the sentence says: in the limit of drafts that tend to their target",
    ),
    r"To first order in the distance of the draft's means and covariances from the target's, the bias $B_{align} = "
    r"\mathbb{E}[p(Y_p) / q(Y_q)] - 1$ with shared noise is at most $\mathbb{E}_q[\frac{|\nabla p(Y_q)|}{q(Y_q)} D]$, "
    r"$D^2 = \sum_{t=1}^T |\mu_t^q - \mu_t^p|^2 + \mathrm{tr}[\Sigma_t^p + \Sigma_t^q - 2\sqrt{\Sigma_t^p "
    r"\Sigma_t^q}]$.",
)
def bound(seed: int) -> Finding:
    r"""Eq. 21 replaces the mean of the product of $|\nabla p| / q$ and $|Y_p - Y_q|$ by that of $|\nabla p| / q$ times
    the root of the mean of $|Y_p - Y_q|^2$. The two factors are large together, so this is no upper bound. In the
    example of cspd.path-ratio.eq-15-first-order it is $(s_q - s_p) \mathbb{E}\sqrt{V + z^2 / s_p^2}$, below $(s_q -
    s_p) (\sqrt{2 / \pi} / s_p + \sqrt{\pi / 2})$, and the bias is $(s_q - s_p) / s_p$. Their ratio does not depend on
    $s_q$: for $s_p = 1/10$ it is below 0.93 however near the draft is. With the root of $\mathbb{E}(|\nabla p| / q)^2$
    in place of the mean eq. 21 would follow from eq. 15 (Cauchy and Schwarz).
    """
    delta = 0.001
    p, q, nearer = (affine_chain(2, 0, (1, s)) for s in (SP, SQ, (1 + delta) * SP))
    bias, small = (mean_ratio(FULL, Coupling(p, draft, UNCONDITIONAL)) - 1 for draft in (q, nearer))
    (_, far), (_, close) = bounds(SP, SQ), bounds(SP, (1 + delta) * SP)
    require(far < (SQ - SP) * (sqrt(2 / pi) / SP + sqrt(pi / 2)), "by hand it is less")
    require(abs(far / bias - close / small) < 1e-6, "the ratio depends on the draft")
    endless = mean_ratio(FULL, independent_noise(p, q, UNCONDITIONAL))
    unaligned = far / (SQ - SP) * sqrt(SP**2 + SQ**2 + 2)
    require(endless == inf, "the bias without shared noise is finite")
    return refuted_if(
        close < 0.99 * small,
        counterexample(
            f"{EXAMPLE}, of deviation 1/10 (target) and {1 + delta} / 10 (draft): with shared noise the bias is "
            f"{fmt(small)}, the right side of eq. 21 {fmt(close)}, {close / small:.4f} of it; for deviation 1/5 it is "
            f"{far / bias:.4f} of it too",
            numbers(sd_p=SP, sd_q=[(1 + delta) * SP, SQ], bias=[small, bias], eq_21=[close, far]),
        ),
        example(
            "for 1/5 without shared noise the bias is infinite and the right side of eq. 20, "
            f"{fmt(unaligned)}, is not: nothing is small there, so there is no first order",
            numbers(sd_p=SP, sd_q=SQ, eq_20=unaligned),
        ),
    )


@CLAIMS.claim(
    "cspd.path-ratio.determined",
    said(
        "A.1.2, after eq. 21",
        "The error bound shows that the squared drift difference ... and the covariance term ... together determine "
        "the expected bias incurred by approximating p(Y)/q(Y).",
        "stronger",
        "Determine is read to the letter: beside the target nothing else does, not even the sign. That both bound it, "
        "so that it tends to 0 with them, is less, and true.",
    ),
    r"With shared noise, and of one target, drafts with the same $|\mu_t^q - \mu_t^p|^2$ and the same "
    r"$\mathrm{tr}[\Sigma_t^p + \Sigma_t^q - 2\sqrt{\Sigma_t^p \Sigma_t^q}]$ in every step have biases "
    r"$\mathbb{E}[p(Y_p) / q(Y_q)] - 1$ of one size.",
)
def determined(seed: int) -> Finding:
    r"""The bias is $\Sigma - 1$ (cspd.path-ratio.two-path), a quotient of volumes. The covariance term does not tell a
    draft that is wider than the target from one that is narrower by as much: of deviations 1 and 3 beside 2 it is 1
    both times. Over two steps $\Sigma$ is $9/4$, $1/4$ or $3/4$. And the drift has no part in it: where covariances are
    equal the bias is 0, however far apart the means are.
    """
    sd, drafts = (1, 2, 2), ((1, 3, 3), (1, 1, 1), (1, 3, 1))
    terms = {tuple((one - other) ** 2 for one, other in zip(sd, draft, strict=True)) for draft in drafts}
    target = affine_chain(3, 0, sd)
    biases = [mean_ratio(FULL, Coupling(target, affine_chain(3, 0, draft), UNCONDITIONAL)) - 1 for draft in drafts]
    by_hand = [draft[1] * draft[2] / 4 - 1 for draft in drafts]
    gaps = (0, 1, 10)
    shifted = [affine_chain(2, 1, 1, (0, gap)) for gap in gaps]
    still = [mean_ratio(FULL, Coupling(shifted[0], draft, UNCONDITIONAL)) - 1 for draft in shifted]
    off = largest([np.subtract(biases, by_hand), still], 1e-8)
    require(len(terms) == 1 and off == 0, f"the biases are {biases} and {still}")
    return refuted_if(
        len(set(map(abs, by_hand))) == len(drafts),
        counterexample(
            "d = 1, T = 3, x_2, x_1, x_0 independent, of deviations 2, 2, 1 in the target and 3, 3, 1 or 1, 1, 1 or "
            f"1, 3, 1 in the draft, all means 0: the covariance terms are 1, 1, 0 each time, the biases "
            f"{', '.join(map(fmt, by_hand))}",
            numbers(sd_p=sd, sd_q=drafts, bias=by_hand),
        ),
        counterexample(
            "d = 1, T = 2, x_1 = e_2 (target) or g + e_2 (draft), x_0 = x_1 + e_1: the bias is 0 for g = "
            f"{', '.join(map(str, gaps))}",
            numbers(gaps=gaps, bias=[0] * len(gaps)),
        ),
    )
