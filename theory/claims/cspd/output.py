"""Claims about the law of what CSpD emits: Algorithm 1, the rules it could have, and its published code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from math import inf, log
from typing import Any

import numpy as np
import scipy

from simlab.continuous import affine_chain
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.diffusion import noiseless_end
from simlab.continuous.models.trajectories import TrajectoryPair
from simlab.continuous.rules import LastStep, Marginal, ReferenceCode, Rule, VarianceProduct
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.cspd.assumed import CODE, INDEPENDENT_LAST_NOISE, KNOWN_DENSITIES, LAST_NOISE, UNBOUNDED
from theory.claims.evidence import (
    counterexample,
    example,
    first,
    holds_if,
    identity,
    over,
    refuted_if,
    rejects_mutants,
    require,
    small_scale,
)
from theory.claims.format import fmt, numbers
from theory.claims.proven import proven
from theory.claims.sources import derived, said
from theory.continuous.example_processes import UNCONDITIONAL, mismatches
from theory.continuous.gaussian_overlap import last_step_acceptance
from theory.continuous.joint_gaussian import Given, log_sigma
from theory.continuous.line import emitted, given_states, marginal_tv, tv_from_target
from theory.continuous.two_path import two_path_law

CLAIMS = Claims("cspd")
LOSSLESS = 1e-6  # the TV that quadrature may leave where a rule is lossless
TARGET, DRAFT = affine_chain(4, 0.8, 0.5), affine_chain(4, 0.8, 0.6, 0.1)  # of most examples, and of some
TOLD: dict[str, Any] = {"steps": 4, "slope": 0.8, "sd_target": 0.5}
ROUGH = {"gaps": 48, "points": 120}  # nodes enough for 1e-8 where the law is the target's


def by_hand(sigma: float, gap: float) -> dict[str, Any]:
    """Algorithm 1 where the last kernels are N(gap, 1) and N(0, 1) and depend on no state, in terms of Phi alone.

    rho(x) = sigma exp(gap x - gap^2 / 2) passes 1 at x* = gap / 2 - log(sigma) / gap. Proposals are drawn without end.
    """
    phi = scipy.special.ndtr  # the standard normal distribution function
    edge = gap / 2 - log(sigma) / gap
    accepted = sigma * phi(edge - gap) + 1 - phi(edge)
    taken = 1 - phi(edge - gap) - (1 - phi(edge)) / sigma
    low = sigma * phi(edge - gap)  # emitted below x*: only accepted drafts
    return {
        "edge": edge,
        "acceptance": accepted,
        "taken": taken,
        "below_edge": low,
        "target_below_edge": phi(edge - gap),
    }


SIGMA = r"$\Sigma = \prod_{t \ge 2} \sqrt{|\Sigma_t^q|} / \prod_{t \ge 2} \sqrt{|\Sigma_t^p|}$"


@CLAIMS.claim(
    "cspd.output-law",
    said(
        "5; Algorithm 1",
        "Extensive experiments show that our algorithm achieves over 2× speedup while maintaining the output "
        "distribution.",
        "stronger",
        "The sentence reports experiments, which measure FID and IS (Table 3); sections 3.1 and A.1.2 call the ratio "
        "a practical approximation and biased. Equality in law is more than it says. That theory proves that quality "
        "is maintained is said elsewhere (cspd.proved.bias, cspd.proved).",
    ),
    f"Algorithm 1, whose acceptance ratio and threshold contain {SIGMA}, is lossless: the emitted token has the law of "
    "the target's token wherever all denoising steps add Gaussian noise of full rank.",
)
def algorithm_1(seed: int) -> Finding:
    r"""Given both trajectories down to $x_1$, the emitted density is $\min(q, \Sigma p) + (1 - \alpha) [\Sigma p - q]_+
    / Z'$, with $p$ and $q$ the densities of the two last steps and $Z'$ the mass of $[\Sigma p - q]_+$.

    Take $T = 2$ on the line, last steps $N(1, 1)$ for the target and $N(0, 1)$ for the draft whatever $x_1$ is, and a
    draft whose other variance is 4 times the target's, so that $\Sigma = 2$. Then $2 p(x) < q(x)$ below $x^* = 1/2 -
    \log 2$. Tokens below $x^*$ are accepted drafts only, with density $2 p(x)$: twice the target's mass.

    With $\Sigma > 1$ the first part alone exceeds $p$ wherever $\Sigma p \le q$, and nothing is taken back; for $\Sigma
    \to \infty$ every draft is accepted. With $\Sigma < 1$ too little is accepted there. With $\Sigma = 1$ it is the
    ratio of the last step, which is lossless (cspd.output-law.last-step).

    Without shared noise the ratio of two trajectories (eq. 4) is $W p(x_0 | x_1^p) / q(x_0 | x_1^q)$ with $\log W =
    \log \Sigma + (|e_q|^2 - |e_p|^2) / 2$, where $e_p$ and $e_q$ are the two noises before the last step. $W$ says
    nothing about $x_0$ and biases the law as $\Sigma$ does, also where $\Sigma = 1$. Let the two models be the same,
    with $T = 2$ on the line, and $x_0$ independent of $x_1$. Then $|e_q|^2 / 2$ and $|e_p|^2 / 2$, of two normals each,
    are exponential with mean 1, and the ratio is $W = e^L$ everywhere, $L$ their difference. Where $L < 0$ a draft is
    rejected with probability $1 - e^L$, and no proposal is ever accepted, as $\max(0, 1 - 1/W) = 0$. So a token is
    never made with probability $\frac{1}{2} \int_0^\infty e^{-l} (1 - e^{-l}) dl = 1/4$.
    """
    sigma, gap = 2.0, 1.0
    hand = by_hand(sigma, gap)
    excess_mass = hand["below_edge"] - hand["target_below_edge"]
    evidence = [
        counterexample(
            f"T = 2, last steps N(1, 1) (target) and N(0, 1) (draft), Sigma = 2: below x* = {hand['edge']:.4f} tokens "
            f"come out with probability {hand['below_edge']:.4f}, for the target's {hand['target_below_edge']:.4f}, so "
            f"TV is at least {excess_mass:.4f}",
            numbers(sigma=sigma, gap=gap, tv_at_least=excess_mass, **hand),
        )
    ]
    violated = [excess_mass > 0]
    # with Sigma < 1 the mean number of proposals is infinite
    for name, sd, limit in (("the draft has more noise", 0.6, inf), ("less noise", 0.45, 1000)):
        draft = affine_chain(4, 0.8, sd)
        sigma = float(np.exp(log_sigma(TARGET, draft)))
        law = emitted(TARGET, draft, UNCONDITIONAL, VarianceProduct(), limit, gaps=84, points=300)
        tv, exact = tv_from_target(law, TARGET, UNCONDITIONAL), off(TARGET, draft, UNCONDITIONAL, LastStep())
        require(excess(exact) == 0, f"without Sigma the law is off by {exact}")
        violated.append(excess(tv) > 0)
        evidence.append(
            counterexample(
                f"T = 4, x_(t-1) = 0.8 x_t + 0.5 e (target), {name}, Sigma = {sigma:.2f}, shared noise, {limit} "
                f"proposals at most: TV {fmt(tv)}, acceptance {fmt(law.acceptance)}, unfinished {fmt(law.unfinished)}; "
                f"with Sigma left out {exact:.0e}",
                numbers(
                    **TOLD,
                    sd_draft=sd,
                    proposals=None if limit == inf else limit,
                    sigma=sigma,
                    acceptance=law.acceptance,
                    unfinished=law.unfinished,
                    tv=tv,
                ),
            )
        )
    return refuted_if(all(violated), *evidence, independent_paths())


def independent_paths() -> Evidence:
    """What the ratio of two trajectories emits where they share no noise but $x_0$."""
    same = affine_chain(2, [0.0, 1.0], 1.0)
    never = two_path_law(same, same, UNCONDITIONAL, 10**6, 24, 100).unfinished
    require(abs(never - 1 / 4) < 0.01, f"{never} of tokens are unfinished; by hand a quarter")
    draft = affine_chain(4, 0.8, 0.5, 0.3)
    fine, rough = (two_path_law(TARGET, draft, UNCONDITIONAL, 1000, nodes, 10 * nodes) for nodes in (24, 16))
    tv, error = tv_from_target(fine, TARGET, UNCONDITIONAL), tv_from_target(rough, TARGET, UNCONDITIONAL)
    alone = off(TARGET, draft, UNCONDITIONAL, LastStep(aligned=False))
    require(excess(alone) == 0 and tv > 2 * abs(tv - error), "the law is not off, or that of the last step is")
    return small_scale(
        "without shared noise it is off at Sigma = 1 as well. The same model twice, T = 2, x_1 and x_0 independent: a "
        "token is never made with probability 1/4. T = 4, x_(t-1) = 0.8 x_t + 0.5 e, the draft's with 0.3 added, at "
        f"most 1000 proposals: TV {tv:.2f} ({error:.2f} with fewer nodes), unfinished {fine.unfinished:.3f}; the last "
        f"step's ratio alone on the same noise: {alone:.0e}"
    )


@CLAIMS.claim(
    "cspd.output-law.reference",
    CODE.function(
        "spec_decode/spec_decode_runner.py",
        "DistributionProcessor",
        "fixed_term is the product over t >= 2 of the target's standard deviations over the draft's, 1 / Sigma. "
        "judge_accept multiplies by it the ratio of last-step densities whose Mahalanobis distances are divided by "
        "42^2; sample_distribution accepts proposals, at most 100, with the ratio whose distances are not, and leaves "
        "zeros after that. p_sample_with_noise adds no noise in the last step, so that a draft is a mean. The code is "
        "that of the first version of the paper, and makes no statement on its law.",
        "ours",
    ),
    "A token verified by the published code has the law of a token of the target's own sampler, whose last step adds "
    "no noise.",
)
def reference(seed: int) -> Finding:
    r"""With Mahalanobis distances divided by $42^2$ the acceptance ratio is nearly the ratio of volumes wherever these
    agree, so that nearly every draft is accepted and the token follows the draft. Where volumes do not agree, $1 /
    \Sigma$ biases as $\Sigma$ does, the other way round. A token that is zero after 100 proposals is an atom that the
    target's law does not have, and proposals have noise that the target's own last step does not have.
    """
    evidence, violated = [], []
    target = noiseless_end(TARGET)
    for name, sd, gap in (
        ("the draft's means 0.3 higher each step", 0.5, 0.3),
        ("the draft has more noise, Sigma = 1.73", 0.6, 0.0),
    ):
        draft = noiseless_end(affine_chain(4, 0.8, sd, gap))
        law = emitted(target, draft, UNCONDITIONAL, ReferenceCode(), 100, gaps=336, points=1000)
        tv = tv_from_target(law, target, UNCONDITIONAL)
        violated.append(tv > 100 * LOSSLESS)
        evidence.append(
            counterexample(
                f"T = 4, x_(t-1) = 0.8 x_t + 0.5 e, {name}: TV {fmt(tv)}, acceptance {fmt(law.acceptance)}, zero for "
                f"want of proposals {fmt(law.unfinished)}",
                numbers(**TOLD, sd_draft=sd, gap=gap, unfinished=law.unfinished, acceptance=law.acceptance, tv=tv),
            )
        )
    return refuted_if(all(violated), *evidence)


@CLAIMS.claim(
    "cspd.output-law.last-step",
    derived(
        "Algorithm 1 without eq. 8",
        r"The smallest change to Algorithm 1 that makes it exact, and none where $\Sigma = 1$. MAR's diffusion head "
        r"learns its variances within a range, in its published code, so that $\Sigma$ is not 1. xAR's published code "
        "(OliverRensu/xAR, commit 121e9c93df32, models/sampler.py) draws its flow by Euler-Maruyama steps, whose noise "
        r"$\sqrt{2 t |dt|}$ no model learns: with the same steps in both, $\Sigma = 1$. As in MAR its last step adds "
        "none (cspd.noiseless.target-end, cspd.noiseless.last-noise). Which sampler the paper takes for xAR it does "
        "not say.",
    ),
    r"Algorithm 1 with the ratio of the last step alone, $p(x_0 | x_1^p) / q(x_0 | x_1^q)$, is lossless: the emitted "
    "token has the law of the target's token, whether noise is shared step by step or not, after at most one proposal "
    "in the mean.",
    assumptions=(LAST_NOISE, INDEPENDENT_LAST_NOISE, UNBOUNDED),
)
def last_step(seed: int) -> Finding:
    r"""Given both trajectories down to $x_1$, by "independent last noise" the draft is a draw from $q(x_0 | x_1^q)$,
    and by "noise in the last step" both last steps have densities. What is done with it is speculative sampling:
    accepted drafts have the density $\min(q, p)$, and by "unbounded proposals" each of the others, which have
    probability $Z = 1 - \int \min(q, p) = \int [p - q]_+$, is replaced by a draw from $[p - q]_+ / Z$. Together that is
    $p(x_0 | x_1^p)$. The state $x_1^p$ is distributed as without a draft, so that the token has the target's law. A
    rejection takes $1 / Z$ proposals in the mean: at most one a token. Where $\Sigma = 1$ this is Algorithm 1 as it is
    printed.

    The joint law of the two trajectories enters nowhere else, so that alignment may be chosen freely. Without
    "independent last noise" it fails: let $x_1^p = e$ be the draft's own last noise, $q = N(0, 1)$ and $p = N(x_1^p,
    1)$. Then the draft is $x_0 = e$ and its ratio $\exp(e^2 / 2) \ge 1$: every draft is accepted, with variance 1 for
    the target's 2.
    """
    cases = [(case, LastStep(aligned)) for case in islice(mismatches(), 0, None, 3) for aligned in (True, False)]
    found = [given_states(case.target, case.draft, case.given, rule, gaps=48) for case, rule in cases]
    whole = [(case.target, case.draft, case.given, rule) for case, rule in cases[::12]]
    start = affine_chain(5, 0.8, 0.5)
    of_one_volume = [
        affine_chain(5, slope, [0.7, 0.5, 0.5, 0.5, 0.5], gap) for slope in (0.6, 0.8, 1.0) for gap in (0.0, 0.2, 1.0)
    ]
    masses = np.max([abs(one.mass - 1) for one in found])
    require(masses < 1e-8, f"a mass is off by {masses}")
    marginals = np.max([one.target_off for one in found])
    require(marginals < 1e-12, f"the target's own token is off by {marginals}")
    apart, trials = np.max([one.tv for one in found]), np.max([one.trials for one in found])
    whole += [(start, draft, UNCONDITIONAL, VarianceProduct()) for draft in of_one_volume]
    exact = apart < LOSSLESS and first(excess(off(*each)) for each in whole) == 0
    rates = {aligned: last_step_acceptance(TARGET, DRAFT, UNCONDITIONAL, aligned) for aligned in (True, False)}
    return holds_if(
        bool(exact and trials < 1 + 1e-9),
        identity(
            f"by quadrature, {len(found)} mismatches, half of them aligned: given both trajectories, the emitted token "
            f"follows p(. | x_1^p) to a TV of {apart:.0e} in the mean, which bounds that of its "
            f"law; proposals a token are at most {trials:.9f} in the mean. {len(whole)} of these laws integrated in "
            f"full are less than {LOSSLESS} off, {len(of_one_volume)} of Algorithm 1 at Sigma = 1 among them",
        ),
        example(
            "T = 4, x_(t-1) = 0.8 x_t + 0.5 e (target) and 0.8 x_t + 0.1 + 0.6 e (draft), where Algorithm 1 has Sigma "
            f"= 1.73: {fmt(rates[True])} of drafts are accepted with shared noise, {fmt(rates[False])} without, and "
            "the law is the target's either way",
            numbers(
                **TOLD,
                sd_draft=0.6,
                gap=0.1,
                acceptance_shared=rates[True],
                acceptance_independent=rates[False],
                tv=0.0,
            ),
        ),
        rejects_mutants(WRONG, lambda rule: excess(off(TARGET, DRAFT, UNCONDITIONAL, rule)), "the law"),
        rejects_mutants(
            {"one variance of four 4 % larger": affine_chain(5, 0.8, [0.5, 0.51, 0.5, 0.5, 0.5])},
            lambda draft: excess(off(start, draft, UNCONDITIONAL, VarianceProduct())),
            "the law at Sigma = 1",
        ),
    )


@CLAIMS.claim(
    "cspd.output-law.marginal",
    said(
        "A.1.1",
        "The objective of p(x) is to maintain the marginal distribution, while p(Y) aims to maintain the "
        "probability of the denoising trajectory itself. Both methods are effective",
        "formalised",
        "This is the first of the two; the second is cspd.path-rule. Effective is read as lossless.",
    ),
    r"Accepting a draft $x \sim q$ with probability $\min(1, p(x)/q(x))$, $p$ and $q$ the marginal densities of the "
    r"token, and replacing a rejected one by a draw from $[p - q]_+ / Z$, emits $x \sim p$.",
    assumptions=(KNOWN_DENSITIES, UNBOUNDED),
)
def marginal(seed: int) -> Finding:
    r"""By "known densities" the ratio can be computed. Accepted drafts have the density $\min(q, p)$; a rejection has
    probability $Z = \int [p - q]_+$ and by "unbounded proposals" ends in a draw from $[p - q]_+ / Z$. Together:
    $\min(q, p) + [p - q]_+ = p$.

    No rule that emits $p$ from one draft accepts more than $\int \min(p, q)$. The ratio of the last step accepts the
    mean of that over trajectories, which is never more, since the overlap of mixtures is at least the mixture of
    overlaps.
    """
    cases = list(islice(mismatches(), 0, None, 3))
    lost = [
        marginal_tv(case.target, case.draft, case.given, Marginal())[1]
        - last_step_acceptance(case.target, case.draft, case.given, True)
        for case in cases
    ]
    apart, rate = marginal_tv(TARGET, DRAFT, UNCONDITIONAL, Marginal())
    return holds_if(
        proven("cspd.output-law.marginal") and excess(apart) == 0 and min(lost) > -1e-6,
        identity(
            f"by quadrature, {len(cases)} mismatches: the last step accepts {min(lost):.3f} to {max(lost):.3f} less, "
            "the price of not knowing the marginals"
        ),
        example(
            "T = 4, x_(t-1) = 0.8 x_t + 0.5 e (target) and 0.8 x_t + 0.1 + 0.6 e (draft): of drafts "
            f"{fmt(rate)} are accepted",
            numbers(**TOLD, sd_draft=0.6, gap=0.1, acceptance=rate),
        ),
    )


# What the checks are made of -------------------------------------------------------------------------------------


def off(target: Chain, draft: Chain, given: Given, rule: Rule) -> float:
    """The TV of what a rule emits, with any number of proposals, from the target's law."""
    return tv_from_target(emitted(target, draft, given, rule, **ROUGH), target, given)


def excess(value: float) -> float:
    """``value`` if it is more than a lossless rule may leave, else 0."""
    return over(value, LOSSLESS)


@dataclass(frozen=True)
class _Slack(LastStep):
    """The last step with a ratio that is wrong by ``wrong``."""

    wrong: Callable[[np.ndarray], np.ndarray] = lambda ratio: ratio

    def log_ratio(self, pair: TrajectoryPair, candidate: np.ndarray) -> np.ndarray:
        return self.wrong(super().log_ratio(pair, candidate))


WRONG: dict[str, Rule] = {
    "with Sigma": VarianceProduct(),
    "ratio 1 % too large": _Slack(wrong=lambda ratio: ratio + 0.01),
    "root of the ratio": _Slack(wrong=lambda ratio: ratio / 2),
    "distances divided by 42^2": _Slack(wrong=lambda ratio: ratio / 42**2),
}
