"""Claims of CSpD about the ratio: what it collapses to under shared noise, and what it is in the mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import inf, pi, sqrt

import numpy as np

from simlab.continuous import affine_chain
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.diffusion import ddpm_chain, learned_range, schedule, tempered
from simlab.continuous.models.trajectories import Trajectory, TrajectoryPair
from simlab.continuous.rules import LastStep, Path, ReferenceCode, Rule, TwoPath, VarianceProduct
from theory.claims.base import Claims, Evidence, Finding
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
from theory.claims.proven import proven
from theory.claims.sources import said
from theory.continuous.example_processes import UNCONDITIONAL
from theory.continuous.joint_gaussian import Given, log_sigma
from theory.continuous.paths import Case, Coupling, independent_noise, random_chains
from theory.continuous.quadrature import normal_pdf
from theory.continuous.rejection_cost import emitted_mass

CLAIMS = Claims("cspd")
NEAR = 1e-8  # of log ratios that are sums of up to 13,000 squares, and of means that are near 1

COMMON_START = "common start: $x_T$ is the same for both models and has the same density under both"

# Eqs. 7 to 9 ---------------------------------------------------------------------------------------------------


def many_chains(seed: int) -> list[Case]:
    """Random pairs, DDPM chains of all variances, tempered ones, ones with a learned range; one is large."""
    found = random_chains(seed, 14)
    random = np.random.default_rng(seed)
    abar = schedule("linear", steps=6)
    for variance, temperature in product(("exact", "posterior", "upper"), (1.0, 0.7)):
        p, q = (tempered(ddpm_chain(random.uniform(0.1, 2, 2), abar, variance), temperature) for _ in range(2))
        found.append((p, q, (random.normal(size=2), random.normal(size=2))))
        learned = [learned_range(chain, abar, random.normal(size=2), random.normal()) for chain in (p, q)]
        found.append((learned[0], learned[1], found[-1][2]))
    abar = schedule("linear", steps=100)
    p, q = (ddpm_chain(np.full(64, size), abar) for size in (0.5, 2.0))
    found.append((replace(p, factor=p.factor / 1.5), q, (np.zeros(64), np.ones(64))))
    return found


@CLAIMS.claim(
    "cspd.ratio-collapse",
    said(
        "3.2, eqs. 7 to 9; eqs. 47, 48",
        "Substituting Σ into Equation 4 makes (assuming p(x_T^p) = q(x_T^q))",
        "as stated",
        "eqs. 6 and 46 print the exponential without its minus sign, which cancels",
    ),
    r"With $\varepsilon_t^p = \varepsilon_t^q$ for $t \ge 2$, $\frac{p(Y_p)}{q(Y_q)} = \Sigma \cdot \frac{p(x_0 | "
    r"x_1^p)}{q(x_0 | x_1^q)}$ with $\Sigma = \prod_{t=2}^T \sqrt{|\Sigma_t^q|} / \sqrt{|\Sigma_t^p|}$.",
    assumptions=[
        COMMON_START,
        "own density: each kernel down to $x_1$ has a density, and it is that of what the kernel draws",
    ],
)
def ratio_collapse(seed: int) -> Finding:
    r"""A kernel that draws $\mu + L \varepsilon$ has the covariance $S = L L^T$. For its "own density" at the draw the
    exponent is $-(L \varepsilon)^T S^{-1} (L \varepsilon) / 2 = -\varepsilon^T \varepsilon / 2$, as $L^T (L L^T)^{-1} L
    = I$ for every root $L$, symmetric or not, and wherever $\mu$ and $L$ come from. So with the same $\varepsilon$ the
    exponentials cancel and $|\mathrm{det}\,L^q| / |\mathrm{det}\,L^p|$ is left of each step $t \ge 2$; of $x_T$ nothing
    is, by "common start". The $x_0$ of the last step is the draft's, so its two densities stay. The same holds if both
    models scale their noise by one temperature that their densities do not know: $\varepsilon^T \varepsilon$ is scaled
    in both and cancels too.
    """
    for a, b, c, x, y in product((1, 3), (-2, 5), (1, 2), (-1, 2), (1, 3)):
        require(_distance(a, b, c, x, y) == x * x + y * y, "a root does not carry the noise to its own length")
    tried = many_chains(seed)

    def log_ratios(variant: Callable[[Chain, Chain, Given], Coupling], collapsed: Rule) -> float:
        """The largest difference of the two log ratios at trajectories sampled in a variant of what is assumed."""
        random = np.random.default_rng(seed)
        pairs = (variant(*case).sampled(random, 8) for case in tried)
        return largest((full.log_draft_ratio(pair) - collapsed.log_draft_ratio(pair) for pair in pairs), NEAR)

    short, full = VarianceProduct(), TwoPath(aligned=True)
    wrong = {
        "independent noise": (independent_noise, short),
        "another law of x_T": (
            lambda p, q, given: Coupling(p, replace(q, start_factor=q.start_factor * 1.5), given),
            short,
        ),
        "the product inverted": (Coupling, ReferenceCode(sharpness=1.0)),
        "no product": (Coupling, LastStep()),
    }
    slope, sd = {"p": (0.8, 0.9, 1.0), "q": (0.7, 1.0, 0.9)}, {"p": (0.5, 0.6, 0.8), "q": (0.5, 0.9, 0.6)}
    p, q = affine_chain(3, slope["p"], sd["p"], (0.3, 0, 0)), affine_chain(3, slope["q"], sd["q"])
    noise = (0.4, -1.1, 0.7, 0.2)  # of x_3, then of the steps to x_2, x_1 and the draft's x_0
    pair = Coupling(p, q, UNCONDITIONAL).trajectories(np.array([[noise[0], *noise[:0:-1]]]))
    found = float(full.log_draft_ratio(pair)[0])
    return holds_if(
        log_ratios(Coupling, short) == 0,
        identity(
            f"{len(tried)} pairs of chains: diagonal, dense with triangular roots, DDPM of three variances, "
            f"tempered, with a learned range: the sum of all log densities is the short form within {NEAR}; the "
            "distance of L e is that of e in rationals",
        ),
        example(
            "d = 1, T = 3, slopes .8, .9, 1 (target) and .7, 1, .9 (draft) from the last step on, deviations .5, .6, "
            ".8 "
            f"and .5, .9, .6, the target's last mean .3 higher, noise {noise} from x_3 on: log Sigma is "
            f"{fmt(log_sigma(p, q))} and the log ratio {fmt(found)}",
            numbers(
                slope=slope,
                sd=sd,
                last_offset={"p": 0.3, "q": 0.0},
                noise=noise,
                log_sigma=log_sigma(p, q),
                log_ratio=found,
            ),
        ),
        rejects_mutants(wrong, lambda variant: log_ratios(*variant), "the collapse of the ratio"),
    )


def _distance(a: int, b: int, c: int, x: int, y: int) -> Fraction:
    """(L e)' (L L')^-1 (L e) for L = (a, 0; b, c) and e = (x, y), the inverse by its adjugate."""
    first, second = a * x, b * x + c * y
    s11, s12, s22 = a * a, a * b, b * b + c * c
    return Fraction(s22 * first**2 - 2 * s12 * first * second + s11 * second**2, s11 * s22 - s12**2)


# Means ---------------------------------------------------------------------------------------------------------

CLAIMS.summary(
    "cspd.path-ratio",
    said(
        "A.1.2",
        "The path space ratio R = p(Y)/q(Y), where Y = Y_q, should be an unbiased estimator of p(Y) ... R̃ is a biased "
        "estimator; its expectation under q is not equal to 1. ... yields the final first-order error bound ... the "
        "bias |B_{align}| is typically smaller than |B|",
        "formalised",
        "four statements in one; the last of them on what bounds the bias, eq. 21",
    ),
    r"The path ratio has mean 1, the two-path ratio has another mean, which is nearer to 1 with shared noise, and "
    r"eq. 21 bounds the distance from 1 to first order.",
    [
        "cspd.path-ratio.unbiased",
        "cspd.path-ratio.two-path",
        "cspd.path-ratio.eq-15-first-order",
        "cspd.path-ratio.bound",
    ],
)


FULL = TwoPath(aligned=True)


def mean_ratio(rule: Rule, coupling: Coupling) -> float:
    """E rho of a draft, inf where it diverges."""
    return coupling.quadratic(rule.log_draft_ratio).mean_exp


def _off(found: float, aim: float) -> float:
    """The relative difference of two means; 0 where that is within the precision of the computation."""
    return largest([(found - aim) / aim], NEAR)


DENSE = "full noise: every kernel adds noise in all directions, and $x_T$ is normal with full covariance"


@CLAIMS.claim(
    "cspd.path-ratio.unbiased",
    said(
        "A.1.2",
        "The path space ratio R = p(Y)/q(Y), where Y = Y_q, should be an unbiased estimator of p(Y) ... that is: ... = "
        "1.",
        "as stated",
        r"What this is to ensure is cspd.unbiased-suffices. Of the ratio of the last step, eq. 9 without $\Sigma$, it "
        "is so as well: argument.",
    ),
    r"Over trajectories $Y$ of the draft, $\mathbb{E}_q[p(Y) / q(Y)] = 1$.",
    assumptions=[DENSE],
)
def unbiased(seed: int) -> Finding:
    r"""The integral of $q \cdot p / q$ is that of $p$ over where $q > 0$. By "full noise" that is everywhere, as all
    densities exist and are positive. (Without noise there is no ratio.) That the mean is 1 says little of what is
    seen: the mean of $\log p(Y) / q(Y)$ is $-D_{KL}(q | p)$, and 1 is made up of rare large values.

    The ratio of the last step, $p(x_0 | x_1^p) / q(x_0 | x_1^q)$, has mean 1 too, with shared noise and with
    independent noise, as long as the draft's last noise is independent of both states: then the draft follows $q(x |
    x_1^q)$ given both, and the integral of $q(x | x_1^q) \, p(x | x_1^p) / q(x | x_1^q)$ is that of $p(x | x_1^p)$,
    which is 1. Shared otherwise it fails. Let $T = 2$, and the target make its $x_1$ of the draft's last noise
    $\varepsilon$, with $q = N(0, 1)$ and $p = N(x_1, 1)$ in the last step. Then $x_0 = x_1 = \varepsilon$ and the ratio
    is $\exp(\varepsilon^2 / 2) \ge 1$: every draft is accepted, what is emitted has variance 1 and not 2, and the mean
    of the ratio is infinite.
    """
    slope, sd = {"p": (0.8, 0.9), "q": (0.7, 1.0)}, {"p": (0.5, 0.8), "q": (0.6, 0.9)}
    p, q = affine_chain(2, slope["p"], sd["p"], (0.3, 0)), affine_chain(2, slope["q"], sd["q"])
    ratio = Coupling(p, q, UNCONDITIONAL).quadratic(Path().log_draft_ratio)
    return holds_if(
        proven("cspd.path-ratio.unbiased") and _off(ratio.mean_exp, 1) == 0,
        example(
            "d = 1, T = 2, slopes .8, .9 (target) and .7, 1 (draft) from the last step on, deviations .5, .8 and .6, "
            ".9, "
            f"the target's last mean .3 higher: the mean of the ratio is 1, that of its logarithm {fmt(ratio.mean)}",
            numbers(slope=slope, sd=sd, last_offset={"p": 0.3, "q": 0.0}, mean=ratio.mean_exp, mean_log=ratio.mean),
        ),
        one_step_late(),
    )


@CLAIMS.claim(
    "cspd.unbiased-suffices",
    said(
        "A.1.2",
        "The path space ratio R = p(Y)/q(Y), where Y = Y_q, should be an unbiased estimator of p(Y) to ensure that the "
        "sampling method preserves the target distribution ... R̃ is a biased estimator; its expectation under q is not "
        "equal to 1.",
        "stronger",
        "The sentence speaks of $R = p(Y) / q(Y)$, with which the law is preserved (cspd.path-rule). Here the mean of "
        r"1 is what ensures it, of any ratio, as A.1.2 goes on to judge $\tilde R$ by its mean.",
    ),
    r"For every target $p$, draft $q$ and ratio $R$ with $\mathbb{E}_q[R] = 1$, accepting drafts with probability "
    r"$\min(1, R)$, and else proposals from $p$ with probability $\max(0, 1 - 1 / R)$, preserves the target law $p$.",
)
def unbiased_suffices(seed: int) -> Finding:
    r"""$\mathbb{E}_q[R] = 1$ says no more than that $R q$ integrates to 1. $R = 1$ has it, accepts every draft, and
    emits $q$. What preserves the law is $R q = p$ at every point. Nor is a mean of 1 needed: for $p = q$ the ratio $R =
    2$ accepts every draft and emits $p$. $\tilde R$ itself can have the mean 1 and lose a quarter of all tokens
    (cspd.proved.bias).
    """
    shift = 1.0  # p = N(1, 1), q = N(0, 1)
    x = np.linspace(-9, 10, 3801)
    dx = x[1] - x[0]
    p, q = (normal_pdf(x, m) for m in (shift, 0.0))

    def off(ratio: np.ndarray, p: np.ndarray = p) -> float:
        return float(np.abs(emitted_mass(p * dx, q * dx, np.log(ratio)).mass / dx - p).sum() * dx / 2)

    constant = np.ones_like(x)
    mean, apart = float((q * constant).sum() * dx), off(constant)
    require(off(p / q) < NEAR and off(2 * constant, q) < NEAR, "the ratio of the densities does not preserve the law")
    return refuted_if(
        abs(mean - 1) < NEAR < apart,
        counterexample(
            "p = N(1, 1), q = N(0, 1) and R = 1: the mean is 1, every draft is accepted, and what is emitted is q, at "
            f"a total variation distance of {fmt(apart)} from p",
            numbers(mean_p=shift, mean_q=0, sd=1, ratio=1, mean_of_ratio=mean, tv=apart),
        ),
        identity("the same sums with R = p / q give p, and with p = q and R = 2, of mean 2, they give p as well"),
    )


@CLAIMS.claim(
    "cspd.path-ratio.two-path",
    said(
        "A.1.2",
        "R̃ is a biased estimator; its expectation under q is not equal to 1. ... the bias |B_{align}| is typically "
        "smaller than |B|, thereby supporting a more accurate approximation",
        "formalised",
        "with shared noise and $\\Sigma = 1$ it is unbiased, which the first assumption excludes; “typically” is read "
        "as: for every two models of at least two steps",
    ),
    r"The two-path ratio does not have mean 1: with shared noise $\mathbb{E}[p(Y_p) / q(Y_q)] = \Sigma$, and with "
    r"independent noise it is infinite for $T \ge 2$, so that its bias is the smaller one with shared noise.",
    assumptions=[
        r"unequal volumes: where noise is shared, $\Sigma = \prod_{t=2}^T \sqrt{|\Sigma_t^q|} / \sqrt{|\Sigma_t^p|}$ "
        r"is not 1 and does not depend on the states",
        DENSE,
    ],
)
def two_path(seed: int) -> Finding:
    r"""By "full noise" all densities exist and are positive. Given both trajectories down to $x_1$ the last factor has
    mean 1: the integral of $q(x | x_1^q) \, p(x | x_1^p) / q(x | x_1^q)$. Shared noise leaves $\Sigma$ of the other
    factors, so the mean is exactly $\Sigma$, for "unequal volumes" not 1. With independent noise each step $t \ge 2$
    leaves $\sqrt{|\Sigma_t^q| / |\Sigma_t^p|} \exp((|\varepsilon_t^q|^2 - |\varepsilon_t^p|^2) / 2)$, and
    $\mathbb{E}\exp(\varepsilon^2 / 2)$ is the integral of a constant: infinite. So averages over samples do not
    converge there, and it is for this reason only that the bias is smaller with shared noise: distances of the two
    trajectories do not enter, and $|\Sigma - 1|$, a product over $T - 1$ steps and $d$ dimensions, has no bound. With
    $T = 1$ and a shared $x_T$ both biases are 0.
    """
    tried = random_chains(seed, 16)

    def deviation(rule: Rule, sign: int = 1) -> float:
        return max(
            _off(mean_ratio(rule, Coupling(*case)), float(np.exp(sign * log_sigma(*case[:2])))) for case in tried
        )

    several = [case for case in tried if case[0].steps > 1]
    endless = all(  # x_T shared or not
        mean_ratio(FULL, independent_noise(*case, start)) == inf for case in several for start in (True, False)
    )
    single = [mean_ratio(FULL, independent_noise(*case)) for case in tried if case[0].steps == 1]
    require(all(_off(mean, 1) == 0 for mean in single), "one step is biased")
    same = [mean_ratio(FULL, Coupling(p, replace(q, factor=p.factor), c)) for p, q, c in tried]
    p, q = affine_chain(2), affine_chain(2, 1, (1, 2))
    ratio = independent_noise(p, q, UNCONDITIONAL).quadratic(FULL.log_draft_ratio)
    densities = [ratio.given(2, value).mean_exp * np.exp(-(value**2) / 2) / sqrt(2 * pi) for value in (0, 1, -3, 6)]
    level = 2 / (2 * sqrt(pi))  # Sigma = 2
    require(np.abs(np.subtract(densities, level)).max() < NEAR, "contributions are not what the proof says")
    mean = mean_ratio(FULL, Coupling(p, q, UNCONDITIONAL))
    return holds_if(
        deviation(FULL) == 0 and endless and all(_off(value, 1) == 0 for value in same),
        identity(
            f"shared noise: E = Sigma within {NEAR} on {len(tried)} random pairs, and 1 if their variances are "
            f"made equal; independent noise: infinite on all {len(several)} of more than one step, x_T shared "
            "or not",
        ),
        example(
            f"d = 1, T = 2, slopes 1, deviations 1, but x_1 of the draft with 2: with shared noise the mean is Sigma = "
            f"{fmt(mean)}; with independent noise every value of the draft's e_2 contributes the same density 1 / "
            f"sqrt(pi) = {fmt(level)}, so |e_2| <= r gives {fmt(2 * level)} r",
            numbers(sd_p=(1, 1), sd_q=(1, 2), mean=mean, densities=densities, at=(0, 1, -3, 6)),
        ),
        rejects_mutants(
            {
                "the last step alone": lambda: deviation(LastStep()),
                "the product inverted": lambda: deviation(FULL, sign=-1),
            },
            lambda variant: variant(),
            "the mean of the two-path ratio",
        ),
    )


def one_step_late() -> Evidence:
    """Noise that is shared so that the last step's ratio does not have mean 1; raises ``CheckFailed`` if it has."""
    p, q = affine_chain(2, (1, 0), (1, 1)), affine_chain(2, 0, (1, 1))
    late = Late(p, q, UNCONDITIONAL)
    hand = late.quadratic(LastStep().log_draft_ratio)
    least = np.linalg.eigvalsh(hand.curvature)[0]  # no linear term: log rho is at least 0 where no curvature is below
    require(
        abs(hand.constant) < NEAR > np.abs(hand.linear).max() and least > -NEAR and hand.mean_exp == inf,
        "noise shared one step late is not what it is by hand",
    )
    variances = [float(chain.marginal(np.zeros((1, 1))).covariance[0, 0]) for chain in (p, q)]
    require(np.abs(np.subtract(variances[:2], (2, 1))).max() < NEAR, "variances are not what they are by hand")
    shared = [mean_ratio(LastStep(), way(p, q, UNCONDITIONAL)) for way in (Coupling, independent_noise)]
    require(all(_off(mean, 1) == 0 for mean in shared), f"the ratio of the last step has the means {shared}")
    return example(
        "the ratio of the last step, T = 2, the target's x_1 is the draft's last noise e, x_0 from N(0, 1) by the "
        "draft and N(x_1, 1) by the target: log rho = e^2 / 2 >= 0, so every draft is accepted and tokens have "
        f"variance {fmt(variances[1])}, not {fmt(variances[0])}; E rho is infinite, and 1 with noise shared step by "
        "step or not"
    )


class Late(Coupling):
    """Walks on which the target takes at step t >= 2 the draft's noise of step t - 1: for x_1 that of the draft's x_0.

    It is standard normal and independent from step to step all the same; x_T is shared.
    """

    def trajectories(self, noise: np.ndarray) -> TrajectoryPair:
        """The two trajectories for each row of ``noise[B, n]``."""
        target, draft = super().trajectories(noise)
        parts = noise.reshape(len(noise), -1, self.target.dimension)
        states = self.target.trajectory(target.condition, lambda t: parts[:, t - 1 if t > 1 else t])
        return TrajectoryPair(Trajectory(self.target, target.condition, states), draft)
