"""Claims about CSpD's resampling: the residual, the threshold that is easy to compute, and whether its loop ends."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice, pairwise, product
from math import exp, log

import numpy as np
from scipy.integrate import quad
from scipy.stats import norm

from simlab.continuous import affine
from simlab.continuous.rules import LastStep, VarianceProduct
from simlab.continuous.rules.base import take
from theory.claims.base import Claims, Evidence, Finding, caught, numbers, require
from theory.continuous.kernels_apart import shares
from theory.continuous.line import emitted
from theory.continuous.trials import bounded
from theory.continuous.worlds import NOWHERE, mismatches

CLAIMS = Claims("cspd")


# The residual ------------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "cspd.residual",
    "eqs. 10 to 12, A.3",
    "Proposals from p taken with probability max(0, p - q) / p follow the residual [p - q]+ / Z, M = 1 / Z.",
)
def residual(seed: int) -> Finding:
    """p(y) max(0, p(y) - q(y)) / p(y) = [p(y) - q(y)]+, whose integral is Z: what is taken follows [p - q]+ / Z.

    A proposal is taken with probability Z, and trials are geometric with mean 1 / Z = M. M = 1 / Z is a bound, since
    [p - q]+ <= p, and the least one just where q / p comes arbitrarily near 0. Z > 0 unless p = q, and then nothing is
    rejected.
    """
    checked = 0
    for p, q in product(list(_pmfs(3, 6)), repeat=2):
        z = sum(_positive(p, q))
        if z == 0:
            continue
        taken = [x * (max(x - y, Fraction(0)) / x if x else 0) for x, y in zip(p, q, strict=True)]
        require(
            [t / z for t in taken] == [r / z for r in _positive(p, q)], f"what is taken is not the residual: {p}, {q}"
        )
        require(sum(taken) == z, f"a proposal is taken with {sum(taken)}, not Z = {z}")
        checked += 1
    apart = []
    for gap, sp, sq in product((0.0, 0.1, 1.0, 4.0), (0.5, 1.0, 2.0), (0.5, 1.0, 2.0)):
        y = np.linspace(-12, 16, 4001)
        logs = norm.logpdf(y, gap, sp), norm.logpdf(y, 0, sq)
        found, expected = np.exp(logs[0]) * take(logs[0] - logs[1]), np.maximum(np.exp(logs[0]) - np.exp(logs[1]), 0)
        apart.append(float(np.abs(found - expected).max()))
    require(max(apart) < 1e-12, f"the rule's threshold leaves [p - q]+ by {max(apart)}")
    p, q = (Fraction(1, 2), Fraction(1, 2)), (Fraction(3, 4), Fraction(1, 4))
    wrong = {
        "(p - q) / q": lambda x, y: max(x - y, Fraction(0)) / y,
        "1 - q": lambda x, y: 1 - y,
        "always": lambda x, y: Fraction(1),
    }
    wide = (Fraction(1, 6), Fraction(1, 3), Fraction(1, 2)), (Fraction(2, 3), Fraction(1, 6), Fraction(1, 6))

    def differs(threshold: object) -> Fraction:
        found = [x * threshold(x, y) for x, y in zip(*wide, strict=True)]  # type: ignore[operator]
        expected = _positive(*wide)
        return sum((abs(a / sum(found) - b / sum(expected)) for a, b in zip(found, expected, strict=True)), Fraction(0))

    return Finding(
        "holds",
        [
            Evidence("enumeration", f"{checked} pairs of pmfs over 3 outcomes with denominator 6, exactly"),
            Evidence(
                "identity",
                f"the rule's own threshold on {len(apart)} pairs of normal densities: p times it is [p - q]+ to "
                f"{max(apart):.0e} at every point",
            ),
            Evidence(
                "example",
                "p = (1/2, 1/2), q = (3/4, 1/4): Z = 1/4 and M = 4, but p' = (0, 1) is at most 2 p, so half the "
                "proposals would do: 1 / Z is a bound, not the least",
                numbers(p=p, q=q, z=sum(_positive(p, q)), bound=4, least=2),
            ),
            caught(wrong, differs, "the threshold"),
        ],
    )


def _pmfs(size: int, denominator: int) -> list[tuple[Fraction, ...]]:
    counts = product(range(denominator + 1), repeat=size)
    return [tuple(Fraction(c, denominator) for c in each) for each in counts if sum(each) == denominator]


def _positive(p: tuple[Fraction, ...], q: tuple[Fraction, ...]) -> list[Fraction]:
    return [max(x - y, Fraction(0)) for x, y in zip(p, q, strict=True)]


# The threshold ------------------------------------------------------------------------------------------------------

CLAIMS.summary(
    "cspd.corollary-1",
    "Corollary 1, eqs. 13 and 50",
    "Proposals from the last step taken by the threshold with Sigma are samples equivalent to those of p'(Y).",
    ("cspd.corollary-1.paths", "cspd.corollary-1.one-step", "cspd.corollary-1.given-states"),
)


@CLAIMS.claim(
    "cspd.corollary-1.paths",
    "Corollary 1",
    "The tokens so taken follow the x_0-marginal of p'(Y) = [p(Y) - q(Y)]+ / Z.",
)
def paths(seed: int) -> Finding:
    """x_T^p to x_1^p stay as they are, distributed as p given a rejection; under p'(Y) they follow a residual too.

    And where Sigma p <= q everywhere the threshold is 0, though p'(Y) exists.
    """

    # p'(x_0) for x_1 ~ N(0, 1) against N(0, 4), and x_0 = x_1 + N(0, 1/4), by one integral over x_1
    def rest(x: float) -> float:
        return float(quad(lambda s: max(norm.pdf(s) - norm.pdf(s, 0, 2), 0) * norm.pdf(x, s, 0.5), -1.4, 1.4)[0])

    z = quad(lambda s: max(norm.pdf(s) - norm.pdf(s, 0, 2), 0), -1.4, 1.4)[0]
    x = np.linspace(-9, 9, 181)
    residual_density = np.array([rest(v) for v in x]) / z

    law = _after_rejection(1.0, 2.0, 0.5, x)
    tv = 0.5 * float(np.abs(law - residual_density).sum() * (x[1] - x[0]))
    require(tv > 0.01, f"the two laws are {tv} apart")
    return Finding(
        "refuted",
        [
            Evidence(
                "counterexample",
                "T = 2, and the last step draws from N(0, 1) in both models, whatever x_1 is; x_1 is N(0, 4) for the "
                "target and N(0, 1) for the draft. Then Sigma = 1/2, and max(0, p/2 - q) is 0 at every x_0: no "
                "sample at all. Yet p'(Y) exists, with Z = TV(N(0, 4), N(0, 1)), and its x_0 follows N(0, 1)",
                numbers(sigma=0.5, threshold=0, z=2 * (norm.cdf(_even(2.0)) - norm.cdf(_even(2.0) / 2))),
            ),
            Evidence(
                "counterexample",
                "T = 2, x_1 is N(0, 1) for the target and N(0, 4) for the draft (one noise for both), and x_0 = x_1 + "
                f"N(0, 1/4): Sigma = 2. What the threshold takes and the x_0 of p'(Y) are {tv:.3f} apart in TV",
                numbers(sigma=2, sd_target=1, sd_draft=2, last_sd=0.5, tv=tv),
            ),
        ],
    )


def _even(ratio: float) -> float:
    """Where N(0, 1) and N(0, ratio^2) have the same density."""
    return float(np.sqrt(2 * log(ratio) / (1 - ratio**-2)))


def _after_rejection(own: float, others: float, last: float, x: np.ndarray) -> np.ndarray:
    """The density at ``x`` of what eq. 13 takes, for x_1^p = own e, x_1^q = others e and x_0 = x_1 + last N(0, 1)."""
    e, chance = np.polynomial.hermite_e.hermegauss(120)
    chance = chance / chance.sum()
    sigma = others / own
    gap = (own - others) * e
    share = shares(gap, log(sigma), last, last)
    lost = chance * (1 - share.kept)
    log_ratio = log(sigma) + norm.logpdf(x[:, None], own * e, last) - norm.logpdf(x[:, None], others * e, last)
    return (norm.pdf(x[:, None], own * e, last) * take(np.asarray(log_ratio)) / share.taken) @ lost / lost.sum()


@CLAIMS.claim(
    "cspd.corollary-1.one-step",
    "Corollary 1",
    "With a single denoising step from a shared x_T the two are the same.",
    assumptions=("T = 1", "x_T has one law in both models, and is shared"),
    stated=False,
)
def one_step(seed: int) -> Finding:
    """Then Sigma = 1, and p(Y) - q(Y) = p(x_1) (p(x_0 | x_1) - q(x_0 | x_1)).

    A rejection at x_1 has probability Z(x_1), so x_1 given a rejection has the density p(x_1) Z(x_1) / Z, and x_0 then
    follows [p - q]+ / Z(x_1): together [p(Y) - q(Y)]+ / Z.
    """
    rows, kernels = _pmfs(2, 4), _pmfs(2, 3)
    checked, shifted = 0, Fraction(0)
    for start in rows:
        for p0, p1, q0, q1 in product(kernels, repeat=4):
            p, q = (p0, p1), (q0, q1)
            by_path = [[start[s] * r for r in _positive(p[s], q[s])] for s in (0, 1)]
            z = [sum(_positive(p[s], q[s])) for s in (0, 1)]
            by_step = [[start[s] * z[s] * r / z[s] if z[s] else z[s] for r in _positive(p[s], q[s])] for s in (0, 1)]
            require(by_path == by_step, f"they differ for {start}, {p}, {q}")
            checked += 1
            kept = [[start[s] * r for r in _positive(p[s], q[s])] for s in (0, 1)]
            always = [[start[s] * sum(map(sum, kept)) * x for x in p[s]] for s in (0, 1)]
            shifted = max(shifted, abs(kept[0][0] - always[0][0]))
    require(shifted > 0, "the check does not see proposals that are always taken")
    return Finding(
        "holds-under-assumptions",
        [
            Evidence("enumeration", f"{checked} pairs of kernels over two states, exactly"),
            Evidence("control", f"proposals that are always taken deviate by up to {float(shifted):.3f}"),
        ],
    )


@CLAIMS.claim(
    "cspd.corollary-1.given-states",
    "eq. 13 without Sigma",
    "The threshold without Sigma samples the residual of the last step given both states x_1, which is what a lossless "
    "rule needs.",
    stated=False,
)
def given_states(seed: int) -> Finding:
    """max(0, p(x_0 | x_1^p) - q(x_0 | x_1^q)) / p(x_0 | x_1^p) is that of ``cspd.residual`` for these densities.

    With the ratio of the same densities for acceptance the emitted token follows p(x_0 | x_1^p)
    (``cspd.output-law.last-step``).
    """
    gaps = np.linspace(-6, 6, 241)
    worst = 0.0
    for sp, sq in product((0.5, 1.0, 2.0), repeat=2):
        share = shares(gaps, 0.0, sp, sq)
        worst = max(worst, float(np.abs(share.kept + share.taken - 1).max()))
    require(worst < 1e-12, f"alpha + Z misses 1 by {worst}")
    off = shares(gaps, log(1.1))
    missing = float(np.abs(off.kept + off.taken - 1).max())
    require(missing > 1e-3, "the check does not see a Sigma of 1.1")
    return Finding(
        "holds",
        [
            Evidence("identity", f"alpha + Z = 1 to {worst:.0e} on 2169 pairs of normals: what is missing is taken"),
            Evidence("control", f"with Sigma = 1.1 the sum misses 1 by up to {missing:.3f}"),
        ],
    )


# Termination --------------------------------------------------------------------------------------------------------

CLAIMS.summary(
    "cspd.termination",
    "Algorithm 1",
    "The repeat-until loop of Algorithm 1 ends with probability one.",
    ("cspd.termination.printed", "cspd.termination.large-sigma", "cspd.termination.without-sigma"),
)


@CLAIMS.claim("cspd.termination.printed", "Algorithm 1", "The loop as printed ends, whatever the two models are.")
def printed(seed: int) -> Finding:
    """A proposal is taken with probability Z' = int [p - q / Sigma]+, which is 0 where Sigma p <= q everywhere.

    A draft is rejected there with probability 1 - Sigma. And where the last variances agree and Sigma < 1, Z' > 0 for
    every gap d other than 0, but Z' falls like exp(-(log Sigma)^2 s^2 / (2 d^2)) as d falls: the mean of 1 / Z' over a
    gap with a density near 0 is infinite, so the mean number of proposals is too, though the loop ends.
    """
    target, draft = affine(4, 0.8, 0.5), affine(4, 0.8, [0.5, 0.45, 0.45, 0.45])
    limits = (10, 100, 1000, 10**4, 10**6)
    laws = {limit: emitted(target, draft, NOWHERE, VarianceProduct(), limit, gaps=336) for limit in limits}
    growth = [laws[limit].trials for limit in limits]
    require(all(b > 1.5 * a for a, b in pairwise(growth)), f"the mean settles: {growth}")
    hard = shares(np.array([0.0]), log(0.5))
    require(float(hard.taken[0]) == 0 and abs(float(hard.kept[0]) - 0.5) < 1e-12, "the example ends after all")
    return Finding(
        "refuted",
        [
            Evidence(
                "counterexample",
                "T = 2; the last step draws from N(0, 1) in both models, whatever x_1 is; x_1 has twice the sd for "
                "the target, so Sigma = 1/2. A draft is kept with probability 1/2; if not, max(0, p/2 - p) = 0 for any "
                "proposal: half of all tokens are never made",
                numbers(sigma=0.5, acceptance=0.5, taken=0, never_ends=0.5),
            ),
            Evidence(
                "example",
                "T = 4, last kernels of the same variance, Sigma = 0.73: mean proposals a token, by how many are "
                "allowed: "
                + ", ".join(
                    f"{limit:,}: {law.trials:.3g} ({law.unfinished:.3f} unfinished)" for limit, law in laws.items()
                )
                + ": the loop ends, and its mean does not exist",
                numbers(limits=limits, trials=growth, unfinished=[law.unfinished for law in laws.values()]),
            ),
        ],
    )


@CLAIMS.claim(
    "cspd.termination.large-sigma",
    "Algorithm 1",
    "With Sigma > 1 the loop ends, after at most Sigma / (Sigma - 1) proposals in the mean.",
    assumptions=("Sigma > 1 for the trajectories that were walked",),
    stated=False,
)
def large_sigma(seed: int) -> Finding:
    """int [p - q / Sigma]+ >= int (p - q / Sigma) = 1 - 1 / Sigma > 0."""
    gaps = np.linspace(-8, 8, 321)
    least = {}
    for sigma in (1.01, 1.5, 4.0, exp(400)):
        sds = product((0.5, 1.0, 2.0), repeat=2)
        worst = min(float(shares(gaps, log(sigma), *each).taken.min()) for each in sds)
        least[f"{sigma:.4g}"] = worst
        require(worst >= 1 - 1 / sigma - 1e-12, f"Sigma = {sigma}: a proposal is taken with {worst} only")
    below = float(shares(gaps, log(0.9), 0.5, 1.0).taken.min())
    low = float(shares(gaps, log(0.4), 0.5, 1.0).taken.min())
    require(low == 0 < below, "the check does not see where Sigma p is below q")
    return Finding(
        "holds-under-assumptions",
        [
            Evidence(
                "identity",
                "least probability that a proposal is taken, 2889 pairs of normals, by Sigma: "
                + ", ".join(f"{k}: {v:.4f}" for k, v in least.items()),
            ),
            Evidence("control", f"the same with Sigma = 0.4 and a wider draft: {low}"),
        ],
    )


@CLAIMS.claim(
    "cspd.termination.without-sigma",
    "Algorithm 1 without Sigma",
    "Without Sigma the loop ends with probability one, after one proposal a token in the mean at most.",
    stated=False,
)
def without_sigma(seed: int) -> Finding:
    """A draft is rejected with probability Z and a proposal taken with the same Z: if there is a rejection, Z > 0.

    Proposals a token: Z * 1 / Z = 1 where the two last kernels differ, 0 where they do not. A bound of n proposals
    leaves Z (1 - Z)^n unfinished, at most 1 / (e n) and a little.
    """
    trials, worst = [], 0.0
    for case in islice(mismatches(), 0, None, 4):
        trials.append(emitted(case.target, case.draft, case.given, LastStep(), gaps=48, points=60).trials)
    z = np.geomspace(1e-8, 1, 4001)
    for limit in (10, 100, 1000):
        left = float((z * bounded(z, limit).unfinished).max())
        worst = max(worst, left * limit)
        require(left <= 1 / (exp(1) * limit) * (1 + 1 / limit), f"{left} are unfinished after {limit}")
    require(max(trials) < 1 + 1e-9, f"a token takes {max(trials)} proposals")
    target, draft = affine(4, 0.8, 0.5), affine(4, 0.8, [0.5, 0.45, 0.45, 0.45])
    return Finding(
        "holds",
        [
            Evidence(
                "identity",
                f"proposals a token in the mean over {len(trials)} mismatches, by quadrature: up to {max(trials):.9f}; "
                f"a bound of n proposals leaves at most {worst:.3f} / n unfinished",
            ),
            caught(
                {"Sigma = 0.73 kept": VarianceProduct()},
                lambda rule: max(emitted(target, draft, NOWHERE, rule, 10**4, gaps=84, points=60).trials - 1, 0),
                "proposals a token",
            ),
        ],
    )
