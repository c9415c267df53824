"""Claims about CSpD's resampling: whether its loop ends, and after how many proposals."""

from __future__ import annotations

from itertools import islice, pairwise, product
from math import exp, log

import numpy as np

from simlab.continuous import affine_chain
from simlab.continuous.rules import LastStep, VarianceProduct
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.evidence import rejects_mutants, require
from theory.claims.format import numbers
from theory.continuous.example_processes import UNCONDITIONAL, mismatches
from theory.continuous.gaussian_overlap import acceptance_rates
from theory.continuous.line import given_states
from theory.continuous.rejection_cost import bounded

CLAIMS = Claims("cspd")

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
    target, draft = affine_chain(4, 0.8, 0.5), affine_chain(4, 0.8, [0.5, 0.45, 0.45, 0.45])
    limits = (10, 100, 1000, 10**4, 10**6)
    laws = {limit: given_states(target, draft, UNCONDITIONAL, VarianceProduct(), limit, gaps=336) for limit in limits}
    growth = [laws[limit].trials for limit in limits]
    require(all(b > 1.5 * a for a, b in pairwise(growth)), f"the mean settles: {growth}")
    hard = acceptance_rates(np.array([0.0]), log(0.5))
    require(
        float(hard.proposal_acceptance[0]) == 0 and abs(float(hard.acceptance[0]) - 0.5) < 1e-12,
        "the example ends after all",
    )
    return Finding(
        "refuted",
        [
            Evidence(
                "counterexample",
                "T = 2; the last step draws from N(0, 1) in both models, whatever x_1 is; x_1 has twice the sd for "
                "the target, so Sigma = 1/2. A draft is accepted with probability 1/2; if not, max(0, p/2 - p) = 0 for "
                "any proposal: half of all tokens are never made",
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
    assumptions=("Sigma > 1 for the trajectories that were sampled",),
    stated=False,
)
def large_sigma(seed: int) -> Finding:
    """int [p - q / Sigma]+ >= int (p - q / Sigma) = 1 - 1 / Sigma > 0."""
    gaps = np.linspace(-8, 8, 321)
    least = {}
    for sigma in (1.01, 1.5, 4.0, exp(400)):
        sds = product((0.5, 1.0, 2.0), repeat=2)
        worst = min(float(acceptance_rates(gaps, log(sigma), *each).proposal_acceptance.min()) for each in sds)
        least[f"{sigma:.4g}"] = worst
        require(worst >= 1 - 1 / sigma - 1e-12, f"Sigma = {sigma}: a proposal is taken with {worst} only")
    below = float(acceptance_rates(gaps, log(0.9), 0.5, 1.0).proposal_acceptance.min())
    low = float(acceptance_rates(gaps, log(0.4), 0.5, 1.0).proposal_acceptance.min())
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
    "Without Sigma, and with noise shared step by step at most, the loop ends with probability one, after one proposal "
    "a token in the mean at most.",
    stated=False,
)
def without_sigma(seed: int) -> Finding:
    """Given both trajectories down to x_1, of which the draft's last noise is independent, a draft is rejected with
    probability Z and a proposal taken with the same Z: if there is a rejection, Z > 0.

    Proposals a token: Z * 1 / Z = 1 where the two last kernels differ, 0 where they do not. A bound of n proposals
    leaves Z (1 - Z)^n unfinished, at most 1 / (e n) and a little.
    """
    trials, worst = [], 0.0
    for case in islice(mismatches(), 0, None, 4):
        trials.append(given_states(case.target, case.draft, case.given, LastStep(), gaps=48).trials)
    z = np.geomspace(1e-8, 1, 4001)
    for limit in (10, 100, 1000):
        left = float((z * bounded(z, limit).unfinished).max())
        worst = max(worst, left * limit)
        require(left <= 1 / (exp(1) * limit) * (1 + 1 / limit), f"{left} are unfinished after {limit}")
    require(max(trials) < 1 + 1e-9, f"a token takes {max(trials)} proposals")
    target, draft = affine_chain(4, 0.8, 0.5), affine_chain(4, 0.8, [0.5, 0.45, 0.45, 0.45])
    return Finding(
        "holds",
        [
            Evidence(
                "identity",
                f"proposals a token in the mean over {len(trials)} mismatches, by quadrature: up to {max(trials):.9f}; "
                f"a bound of n proposals leaves at most {worst:.3f} / n unfinished",
            ),
            rejects_mutants(
                {"with Sigma = 0.73": VarianceProduct()},
                lambda rule: max(given_states(target, draft, UNCONDITIONAL, rule, 10**4, gaps=84).trials - 1, 0),
                "proposals a token",
            ),
        ],
    )
