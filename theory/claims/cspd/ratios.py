"""Claims of CSpD about the ratio: what it collapses to under shared noise, and what it is in the mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from math import inf, pi, sqrt

import numpy as np

from simlab.continuous.models.chains import Chain
from simlab.continuous.models.diffusion import ddim_chain, ddpm_chain, learned_range, schedule, tempered
from simlab.continuous.rules import LastStep, Path, ReferenceCode, Rule, TwoPath, VarianceProduct
from simlab.continuous.rules.base import Trajectory, TrajectoryPair
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.evidence import rejects_mutants, require
from theory.claims.format import fmt, numbers
from theory.continuous.joint_gaussian import log_sigma
from theory.continuous.paths import Coupling, independent_noise, on_the_line, random_chains

CLAIMS = Claims("cspd")
NEAR = 1e-8  # of log ratios that are sums of up to 13,000 squares, and of means that are near 1

Given = tuple[np.ndarray, np.ndarray]


# Eqs. 7 to 9 ---------------------------------------------------------------------------------------------------


def many_chains(seed: int) -> list[tuple[Chain, Chain, Given]]:
    """Random pairs, pairs of DDPM chains of all variances, tempered ones and ones with a learned range; one is "
    "large."""
    found = random_chains(seed, 20)
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
    "eqs. 7 to 9, 47 and 48",
    "Under shared noise p(Yp) / q(Yq) collapses to p(x_0 | x_1^p) / q(x_0 | x_1^q) times Sigma, the product over t >= "
    "2 of sqrt(det Sq) / sqrt(det Sp).",
    assumptions=[
        "x_T is shared and has the same density under both models",
        "each kernel t >= 2 has a density, and its density is that of what it draws",
    ],
)
def ratio_collapse(seed: int) -> Finding:
    """A kernel that draws m + L e has the covariance S = L L', and its density at the draw is exp(-(Le)' S^-1 (Le) / 2)
    / sqrt(det 2 pi S) = exp(-e'e / 2) / ((2 pi)^(d/2) |det L|), as L' (L L')^-1 L = I for every root L, symmetric or
    not, and wherever m and L come from. So with the same e the exponentials cancel (eqs. 6 and 46 print them without
    their sign) and |det Lq| / |det Lp| is left. If both models scale their noise by one temperature that their
    densities do not know, e'e is scaled in both and cancels too. The x_0 of the last step is the draft's, so its
    kernels stay.

    Products of densities leave the range of floats long before T = 100 at d = 64; sums of logarithms do not.
    """
    for a, b, c, x, y in product((1, 3), (-2, 5), (1, 2), (-1, 2), (1, 3)):
        require(_distance(a, b, c, x, y) == x * x + y * y, "a root does not carry the noise to its own length")
    tried = many_chains(seed)
    random = np.random.default_rng(seed)

    def log_ratios(variant: Callable[[Chain, Chain, Given], Coupling], collapsed: Rule, full: Rule) -> float:
        """The largest difference of the two log ratios at trajectories sampled in a variant of what is assumed."""
        worst = 0.0
        for case in tried:
            coupling = variant(*case)
            pair = coupling.trajectories(random.normal(size=(8, coupling.size)))
            worst = max(worst, float(np.abs(full.log_draft_ratio(pair) - collapsed.log_draft_ratio(pair)).max()))
        return worst if worst > NEAR else 0.0

    short, full = VarianceProduct(), TwoPath(aligned=True)
    worst = log_ratios(Coupling, short, full)
    wide = tried[-1]
    pair = Coupling(*wide).trajectories(random.normal(size=(1, 64 * 101)))
    logs = [sum(float(model.log_step(t)[0]) for t in range(2, 101)) for model in pair]
    with np.errstate(over="ignore", under="ignore"):
        lost = [np.exp(value) for value in (*logs, log_sigma(*wide[:2]))]
    require(all(value in (0, inf) for value in lost), "the large example is within the range of floats")
    for rule in (short, full):
        require(
            _refused(rule, ddim_chain(np.ones(1), schedule("linear", steps=3), 0.0)), "a kernel without density passes"
        )
    wrong = {
        "independent noise": lambda: log_ratios(independent_noise, short, full),
        "another law of x_T": lambda: log_ratios(_other_start, short, full),
        "the product inverted": lambda: log_ratios(Coupling, ReferenceCode(sharpness=1.0), full),
        "no product": lambda: log_ratios(Coupling, LastStep(), full),
    }
    return Finding(
        "holds-under-assumptions" if worst == 0 else "refuted",
        [
            Evidence(
                "identity",
                f"{len(tried)} pairs of chains: diagonal, dense with triangular roots, DDPM of three variances, "
                f"tempered, with a learned range: the sum of all log densities is the short form within {NEAR}; the "
                "distance of L e is that of e in rationals",
            ),
            Evidence(
                "example",
                f"d = 64, T = 100: the log densities down to x_1 are {fmt(logs[0])} and {fmt(logs[1])}, log Sigma "
                f"is {fmt(logs[0] - logs[1])}; as densities they leave the range of floats",
                numbers(log_p=logs[0], log_q=logs[1], log_sigma=log_sigma(*wide[:2])),
            ),
            Evidence("example", "DDIM with eta = 0 has no densities: both rules refuse it with a ValueError"),
            rejects_mutants(wrong, lambda variant: variant(), "the collapse of the ratio"),
        ],
    )


def _distance(a: int, b: int, c: int, x: int, y: int) -> Fraction:
    """(L e)' (L L')^-1 (L e) for L = (a, 0; b, c) and e = (x, y), the inverse by its adjugate."""
    first, second = a * x, b * x + c * y
    s11, s12, s22 = a * a, a * b, b * b + c * c
    return Fraction(s22 * first**2 - 2 * s12 * first * second + s11 * second**2, s11 * s22 - s12**2)


def _refused(rule: Rule, chain: Chain) -> bool:
    try:
        rule.check(chain, chain)
    except ValueError as error:
        return "density" in str(error)
    return False


def _other_start(target: Chain, draft: Chain, given: Given) -> Coupling:
    return Coupling(target, replace(draft, start_factor=draft.start_factor * 1.5), given)


# Means ---------------------------------------------------------------------------------------------------------

CLAIMS.summary(
    "cspd.path-ratio",
    "A.1.2",
    "E_q[p(Y) / q(Y)] = 1; the two-path ratio is biased; the bias, and the bound on it, is smaller with alignment.",
    [
        "cspd.path-ratio.unbiased",
        "cspd.path-ratio.two-path",
        "cspd.path-ratio.alignment",
        "cspd.path-ratio.eq-15-first-order",
        "cspd.path-ratio.bound",
        "cspd.path-ratio.last-step",
    ],
)


def mean_ratio(rule: Rule, coupling: Coupling) -> float:
    """E rho of a draft, inf where it diverges."""
    return coupling.quadratic(rule.log_draft_ratio).mean_exp


def _off(found: float, aim: float) -> float:
    """The relative difference of two means; 0 where that is within the precision of the computation."""
    gap = abs(found - aim) / aim
    return gap if gap > NEAR else 0.0


@CLAIMS.claim(
    "cspd.path-ratio.unbiased",
    "A.1.2",
    "E_q[p(Y) / q(Y)] = 1 over trajectories Y of the draft.",
    assumptions=["every kernel of both models has a density, x_T included, and the draft's is positive everywhere"],
)
def unbiased(seed: int) -> Finding:
    """The integral of q p / q is that of p over where q > 0: everywhere, as normal kernels with noise in all directions
    are positive. Without noise there is no ratio (cspd.samplers.deterministic). The log ratio is a quadratic in the
    noise of the draft, so its mean is computed in closed form from the rule itself. That the mean is 1 says little of
    what is seen: the mean log ratio is -KL(q || p), and 1 is made up of rare large values.
    """
    tried = random_chains(seed, 24)
    worst = max(_off(mean_ratio(Path(), Coupling(*case)), 1) for case in tried)
    divergence = [-Coupling(*case).quadratic(Path().log_draft_ratio).mean for case in tried]

    def backwards(pair: TrajectoryPair) -> np.ndarray:
        return -Path().log_draft_ratio(pair)

    wrong: dict[str, Callable[[Chain, Chain, Given], float]] = {
        "trajectories of the target": lambda p, q, c: Coupling(q, p, c[::-1]).quadratic(backwards).mean_exp,
        "q(Y) / p(Y)": lambda p, q, c: Coupling(p, q, c).quadratic(backwards).mean_exp,
        "the two-path ratio": lambda p, q, c: mean_ratio(TwoPath(aligned=True), Coupling(p, q, c)),
    }
    return Finding(
        "holds-under-assumptions" if worst == 0 else "refuted",
        [
            Evidence(
                "identity",
                f"the Gaussian integral is 1 within {NEAR} for {len(tried)} random pairs of chains, of KL(q || p) from "
                f"{fmt(min(divergence))} to {fmt(max(divergence))}",
            ),
            rejects_mutants(
                wrong, lambda mean: max(_off(mean(*case), 1) for case in tried), "the mean of the path ratio"
            ),
        ],
    )


@CLAIMS.claim(
    "cspd.path-ratio.two-path",
    "A.1.2",
    "The two-path ratio is biased: its mean is not 1.",
    assumptions=["noise is not shared and T >= 2, or the product Sigma of the variances is not 1"],
)
def two_path(seed: int) -> Finding:
    """Given both trajectories down to x_1 the last factor has mean 1: the integral of q(x | x_1^q) p(x | x_1^p) / q(x |
    x_1^q). Shared noise leaves Sigma of the others, so E = Sigma exactly (its mean, where variances follow the state):
    no bias at all where Sigma = 1. With independent noise each step t >= 2 leaves sqrt(det Sq / det Sp) exp((|eq|^2 -
    |ep|^2) / 2), and E exp(eq^2 / 2) is the integral of a constant: E is infinite. Of it |eq| <= r in each dimension
    gives sqrt(det Sq / det Sp) (r / sqrt(pi))^d: in every dimension a mean of exp(-ep^2 / 2) of 1 / sqrt(2), times 2 r
    / sqrt(2 pi). So means over samples, such as those of Table 6, do not converge there. With T = 1 it is the noise of
    x_T that does this, if it is not shared.
    """
    tried = random_chains(seed, 24)
    aligned = TwoPath(aligned=True)

    def deviation(rule: Rule, sign: int = 1) -> float:
        return max(
            _off(mean_ratio(rule, Coupling(*case)), float(np.exp(sign * log_sigma(*case[:2])))) for case in tried
        )

    several = [case for case in tried if case[0].steps > 1]
    endless = all(
        mean_ratio(aligned, independent_noise(*case, start)) == inf for case in several for start in (True, False)
    )
    same = [mean_ratio(aligned, Coupling(p, replace(q, factor=p.factor), c)) for p, q, c in tried]
    p, q = on_the_line((1, 1), (1, 1)), on_the_line((1, 1), (1, 2))
    ratio = independent_noise(p, q, (np.zeros(1), np.zeros(1))).quadratic(aligned.log_draft_ratio)
    acceptance_rates = [
        ratio.given(2, value).mean_exp * np.exp(-(value**2) / 2) / sqrt(2 * pi) for value in (0, 1, -3, 6)
    ]
    level = 2 / (2 * sqrt(pi))  # Sigma = 2
    require(max(abs(share - level) for share in acceptance_rates) < NEAR, "contributions are not what the proof says")
    biased = deviation(aligned) == 0 and endless and all(_off(value, 1) == 0 for value in same)
    return Finding(
        "holds-under-assumptions" if biased else "refuted",
        [
            Evidence(
                "identity",
                f"shared noise: E = Sigma within {NEAR} on {len(tried)} random pairs, and 1 if their variances are "
                f"made equal; independent noise: infinite on all {len(several)} of more than one step, x_T shared "
                "or not",
            ),
            Evidence(
                "example",
                "d = 1, T = 2, Sigma = 2: every value of the draft's e_2 contributes the same density "
                f"1 / sqrt(pi) = {fmt(level)}, so |e_2| <= r gives {fmt(2 * level)} r",
                numbers(densities=acceptance_rates, at=(0, 1, -3, 6), level=level),
            ),
            rejects_mutants(
                {
                    "the last step alone": lambda: deviation(LastStep()),
                    "the product inverted": lambda: deviation(aligned, sign=-1),
                },
                lambda variant: variant(),
                "the mean of the two-path ratio",
            ),
        ],
    )


@CLAIMS.claim(
    "cspd.path-ratio.alignment",
    "A.1.2, after eq. 21",
    "The bias is smaller with alignment.",
    assumptions=["T >= 2", "fixed variances, or a learned range, of which Sigma has a finite mean"],
)
def alignment(seed: int) -> Finding:
    """|Sigma - 1| is finite and the bias without alignment is not (cspd.path-ratio.two-path). It holds for this reason
    only: no distance of trajectories enters, and |Sigma - 1| may be as large as one likes, as Sigma is a product over T
    - 1 steps and d dimensions. With T = 1 and a shared x_T both are 0.
    """
    tried = [case for case in random_chains(seed, 30) if case[0].steps > 1]

    def bias(coupling: Coupling) -> float:
        return abs(mean_ratio(TwoPath(aligned=True), coupling) - 1)

    def excess(first: Callable[..., Coupling], second: Callable[..., Coupling]) -> float:
        return max(bias(first(*case)) - bias(second(*case)) for case in tried)

    largest = max(bias(Coupling(*case)) for case in tried)
    return Finding(
        "holds-under-assumptions" if excess(Coupling, independent_noise) < 0 else "refuted",
        [
            Evidence(
                "identity",
                f"{len(tried)} random pairs of 2 to 4 steps: at most {fmt(largest)} with alignment, infinite without",
            ),
            rejects_mutants(
                {"the two exchanged": (independent_noise, Coupling)}, lambda both: excess(*both), "the two biases"
            ),
        ],
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


@CLAIMS.claim(
    "cspd.path-ratio.last-step",
    "not in the paper",
    "Without Sigma the ratio of the last step, p(x_0 | x_1^p) / q(x_0 | x_1^q), has mean 1, aligned or not.",
    assumptions=[
        "noise is shared step by step at most: the draft's last noise e_1 is independent of the target's states down "
        "to x_1",
        "the last step of both models adds noise, and its density is that of what it draws",
    ],
    stated=False,
)
def last_step(seed: int) -> Finding:
    """If e_1 is independent of both x_1^p and x_1^q then given the two the draft follows q(. | x_1^q), and the integral
    of q(x | x_1^q) p(x | x_1^p) / q(x | x_1^q) is that of p(x | x_1^p), 1. So dropping Sigma makes the mean 1, aligned
    or not: alignment shares e_t at step t alone.

    Shared otherwise it fails. Let T = 2, and the target make its x_1 of the draft's last noise e, with q = N(0, 1) and
    p = N(x_1, 1) at the last step. Then x_0 = x_1 = e and rho = exp(e^2 / 2) >= 1: every draft is accepted, so that
    what comes out has variance 1 and not 2, and E rho is the integral of a constant.
    """
    tried = random_chains(seed, 20)
    ways: list[Callable[..., Coupling]] = [Coupling, independent_noise, partial(independent_noise, start_shared=False)]

    def deviation(rule: Rule, ways: list[Callable[..., Coupling]] = ways) -> float:
        return max(_off(mean_ratio(rule, way(*case)), 1) for case in tried for way in ways)

    worst = deviation(LastStep())
    wrong = {"with Sigma": VarianceProduct(), "all steps": TwoPath(), "Sigma inverted": ReferenceCode(sharpness=1.0)}
    p, q = on_the_line((1, 0), (1, 1)), on_the_line((0, 0), (1, 1))
    hand = Late(p, q, (np.zeros(1), np.zeros(1))).quadratic(LastStep().log_draft_ratio)
    least = np.linalg.eigvalsh(hand.curvature)[0]  # no linear term: log rho is at least 0 where no curvature is below
    require(
        abs(hand.constant) < NEAR > np.abs(hand.linear).max() and least > -NEAR and hand.mean_exp == inf,
        "noise shared one step late is not what it is by hand",
    )
    variances = [float(chain.marginal(np.zeros((1, 1))).covariance[0, 0]) for chain in (p, q)]
    require(max(abs(variances[0] - 2), abs(variances[1] - 1)) < NEAR, "variances are not what they are by hand")
    return Finding(
        "holds-under-assumptions" if worst == 0 else "refuted",
        [
            Evidence(
                "identity",
                f"1 within {NEAR} on {len(tried)} random pairs, with shared noise, independent noise, own x_T",
            ),
            Evidence(
                "example",
                "T = 2, the target's x_1 is the draft's last noise e, x_0 from N(0, 1) by the draft and N(x_1, 1) by "
                "the target: log rho = e^2 / 2 >= 0, so every draft is accepted and tokens have variance "
                f"{fmt(variances[1])}, not {fmt(variances[0])}; E rho is infinite",
                numbers(variance_target=variances[0], variance_emitted=variances[1], curvature=hand.curvature),
            ),
            rejects_mutants(
                {name: (rule, ways) for name, rule in wrong.items()}
                | {"noise shared one step late": (LastStep(), [Late])},
                lambda given: deviation(*given),
                "the mean of the last step's ratio",
            ),
        ],
    )
