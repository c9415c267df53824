"""Claims about the law of what CSpD emits: Algorithm 1, the rules it could have, and its published code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import erf, inf, log, sqrt

import numpy as np

from simlab.continuous import affine_chain
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.diffusion import noiseless_end
from simlab.continuous.rules import LastStep, Marginal, ReferenceCode, Rule, VarianceProduct
from simlab.continuous.rules.base import TrajectoryPair
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.evidence import rejects_mutants, require
from theory.claims.format import numbers
from theory.continuous.example_processes import UNCONDITIONAL, mismatches
from theory.continuous.gaussian_overlap import last_step_acceptance
from theory.continuous.joint_gaussian import log_sigma
from theory.continuous.line import (
    Distances,
    Given,
    Law,
    distances,
    emitted,
    from_target,
    given_states,
    marginal_tv,
    tv_from_target,
)
from theory.continuous.two_path import two_path_law

CLAIMS = Claims("cspd")
LOSSLESS = 1e-6  # the TV that quadrature may leave where a rule is lossless
ROUGH = {"gaps": 48, "points": 120}  # nodes enough for 1e-8 where the law is the target's

CLAIMS.summary(
    "cspd.output-law",
    "abstract, 4.2, Algorithm 1",
    "The output distribution is maintained: the token emitted by Algorithm 1 follows the target's marginal.",
    (
        "cspd.output-law.algorithm-1",
        "cspd.output-law.fixed-variances",
        "cspd.output-law.two-path",
        "cspd.output-law.reference",
        "cspd.output-law.last-step",
        "cspd.output-law.marginal",
        "cspd.output-law.many-dimensions",
    ),
)


def phi(x: float) -> float:
    """The standard normal distribution function."""
    return 0.5 * (1 + erf(x / sqrt(2)))


def by_hand(sigma: float, gap: float) -> dict[str, float]:
    """Algorithm 1 where the last kernels are N(gap, 1) and N(0, 1) and depend on no state, in terms of Phi alone.

    rho(x) = sigma exp(gap x - gap^2 / 2) passes 1 at x* = gap / 2 - log(sigma) / gap. Proposals are taken without end.
    """
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


def summary(law: Law, far: Distances) -> str:
    """A law and its distances in words."""
    return (
        f"TV {far.tv:.4f} (error {far.tv_error:.0e}), KS {far.ks:.4f} ({far.ks_error:.0e}), "
        f"W1 {far.w1:.4f} ({far.w1_error:.0e}), acceptance {law.acceptance:.4f}"
    )


def require_precise(law: Law, far: Distances) -> None:
    """Raise unless the mass is whole and the errors are a tenth of what they belong to at most."""
    require(abs(law.mass - 1) < 1e-8, f"the law has mass {law.mass}; expected 1 to 1e-8")
    for value, error in ((far.tv, far.tv_error), (far.ks, far.ks_error), (far.w1, far.w1_error)):
        require(error < 0.1 * value, f"a distance of {value:.3g} has the error {error:.2g}")


@CLAIMS.claim(
    "cspd.output-law.algorithm-1",
    "Algorithm 1, eqs. 9 and 13",
    "With Sigma in acceptance and in the threshold, the emitted token follows the target's marginal.",
)
def algorithm_1(seed: int) -> Finding:
    """Given both trajectories down to x_1 the emitted density is min(q, Sigma p) + (1 - alpha) [Sigma p - q]+ / Z'.

    With Sigma > 1 the first part alone exceeds p where Sigma p <= q; nothing is taken back. In the limit every draft is
    accepted, and the token follows the draft. With Sigma < 1 too little is accepted where Sigma p <= q, and what is
    rejected goes where Sigma p > q. Only with Sigma = 1 (or with p = q and Sigma >= 1) is what is left just what is
    missing.
    """
    hand = by_hand(2.0, 1.0)
    gone = hand["below_edge"] - hand["target_below_edge"]
    evidence = [
        Evidence(
            "counterexample",
            "T = 2, one dimension: the last kernels are N(1, 1) for the target and N(0, 1) for the draft whatever x_1 "
            "is, and the draft's other variance is 4 times the target's, so Sigma = 2. The ratio passes 1 at "
            f"x* = 1/2 - log 2 = {hand['edge']:.4f}; below it 2 p < q, only drafts come out there, and with twice the "
            f"target's mass: {hand['below_edge']:.4f} for {hand['target_below_edge']:.4f}. TV is at least {gone:.4f}",
            numbers(parameters=hand, sigma=2, target="N(1, 1)", draft="N(0, 1)", tv_at_least=gone),
        )
    ]
    for name, draft, more in (
        ("Sigma = 1.73: the draft has more noise", affine_chain(4, 0.8, 0.6), inf),
        ("Sigma = 0.73: the draft has less noise", affine_chain(4, 0.8, 0.45), 1000),
    ):
        target = affine_chain(4, 0.8, 0.5)
        for aligned in (True, False):
            law, far = distances(target, draft, UNCONDITIONAL, VarianceProduct(aligned), more)
            require_precise(law, far)
            how = "shared noise" if aligned else "independent noise"
            evidence.append(
                Evidence(
                    "example",
                    f"{name}, T = 4, {how}, "
                    + (f"at most {more} proposals: " if more < inf else "any number of proposals: ")
                    + f"{summary(law, far)}, unfinished {law.unfinished:.1e}",
                    numbers(
                        sigma=float(np.exp(log_sigma(target, draft))),
                        sd_target=0.5,
                        sd_draft=float(draft.factor[0, 0]),
                        slope=0.8,
                        steps=4,
                        acceptance=law.acceptance,
                        **far._asdict(),
                    ),
                )
            )
            again = distances(target, draft, UNCONDITIONAL, LastStep(aligned), more)[1]
            require(again.tv < 0.1 * far.tv, "without Sigma the law is as far off")
    evidence.append(
        Evidence(
            "identity",
            "the same quadrature with Sigma left out, on the same pairs, gives the target: the product of variances is "
            "the one term that biases the law",
        )
    )
    return Finding("refuted", evidence)


@CLAIMS.claim(
    "cspd.output-law.fixed-variances",
    "Algorithm 1, eq. 8",
    "Algorithm 1 is lossless for models whose kernels have the same variances for t >= 2, as with a fixed schedule.",
    assumptions=(
        "prod det S_t^q = prod det S_t^p over t >= 2, along the trajectories that are sampled",
        "the last step adds noise with a density",
        "proposals are not bounded",
        "where all drafts of a block are accepted, one more token is drawn from the target",
    ),
    stated=False,
)
def fixed_variances(seed: int) -> Finding:
    """Then Sigma = 1, and the rule is that of the last step, which is lossless (``cspd.output-law.last-step``).

    Models with a learned range of variances, such as those the paper runs, do not meet the assumption.
    """
    target, far = affine_chain(5, 0.8, 0.5), []
    for slope in (0.6, 0.8, 1.0):
        for gap in (0.0, 0.2, 1.0):
            draft = affine_chain(5, slope, [0.7, 0.5, 0.5, 0.5, 0.5], gap)
            far.append(off(target, draft, UNCONDITIONAL, VarianceProduct()))
    require(max(far) < LOSSLESS, f"a pair is off by {max(far)}")
    wide = affine_chain(5, 0.8, [0.5, 0.51, 0.5, 0.5, 0.5])
    return Finding(
        "holds-under-assumptions",
        [
            Evidence("identity", f"{len(far)} pairs with Sigma = 1, by quadrature: the largest TV is {max(far):.1e}"),
            rejects_mutants(
                {"one variance of four 4 % larger": wide},
                lambda d: excess(off(target, d, UNCONDITIONAL, VarianceProduct())),
                "the law",
            ),
        ],
    )


@CLAIMS.claim(
    "cspd.output-law.two-path",
    "eq. 4",
    "The ratio p(Y_p) / q(Y_q) of two trajectories that share x_0 alone preserves the law, also without alignment.",
)
def two_path(seed: int) -> Finding:
    """Without shared noise the weight before the last step is Sigma exp((|e_q|^2 - |e_p|^2) / 2).

    It is random, says nothing about x, and biases as Sigma does, also where Sigma = 1 and only
    means differ.
    """
    target, draft = affine_chain(4, 0.8, 0.5), affine_chain(4, 0.8, 0.5, 0.3)
    law, rough = (two_path_law(target, draft, UNCONDITIONAL, 1000, nodes, 10 * nodes) for nodes in (48, 24))
    far = from_target(law, rough, target, UNCONDITIONAL)
    require_precise(law, far)
    own = off(target, draft, UNCONDITIONAL, LastStep(aligned=False))
    require(own < LOSSLESS, f"the last step alone is off by {own}")
    return Finding(
        "refuted",
        [
            Evidence(
                "counterexample",
                "T = 4, x_(t-1) = 0.8 x_t + 0.5 e, the draft's with 0.3 added, so Sigma = 1, noise not shared, at most "
                f"1000 proposals: {summary(law, far)}, unfinished {law.unfinished:.3f}. The last step alone, on the "
                f"same noise: TV {own:.1e}",
                numbers(steps=4, slope=0.8, sd=0.5, gap=0.3, unfinished=law.unfinished, **far._asdict()),
            ),
        ],
    )


@CLAIMS.claim(
    "cspd.output-law.reference",
    "reference code",
    "What the published code does to one token preserves the law of the target, whose last step adds no noise.",
    stated=False,
)
def reference(seed: int) -> Finding:
    """Distances divided by 42^2 accept nearly every draft wherever volumes agree, so the token follows the draft.

    Where they do not, 1 / Sigma biases as Sigma does, the other way; and a token that is zero after 100 proposals is an
    atom that no law of the target has. What is proposed has noise that the target's own last step has not.
    """
    evidence = []
    target = noiseless_end(affine_chain(4, 0.8, 0.5))
    for name, plain in (
        ("the draft's means 0.3 higher each step", affine_chain(4, 0.8, 0.5, 0.3)),
        ("the draft has more noise, Sigma = 1.73", affine_chain(4, 0.8, 0.6)),
        ("the draft has less noise, Sigma = 0.73", affine_chain(4, 0.8, 0.45)),
    ):
        law, far = distances(target, noiseless_end(plain), UNCONDITIONAL, ReferenceCode(), 100, gaps=336, points=1000)
        require_precise(law, far)
        evidence.append(
            Evidence(
                "counterexample",
                f"T = 4, x_(t-1) = 0.8 x_t + 0.5 e, {name}: {summary(law, far)}, zero for want of proposals "
                f"{law.unfinished:.4f}",
                numbers(
                    steps=4, slope=0.8, sd=0.5, unfinished=law.unfinished, acceptance=law.acceptance, **far._asdict()
                ),
            )
        )
    return Finding("refuted", evidence)


@CLAIMS.claim(
    "cspd.output-law.last-step",
    "Algorithm 1 without Sigma",
    "The ratio of the last step alone is lossless, at one proposal a token, with noise shared step by step or not.",
    assumptions=(
        "the draft's noise of the last step is independent of the target's trajectory down to x_1, as where noise is "
        "shared step by step, or not at all",
        "the last step of both models adds noise with a density",
        "proposals are not bounded",
    ),
    stated=False,
)
def last_step(seed: int) -> Finding:
    """Given both trajectories down to x_1 the draft is a draw from q(. | x_1^q), by the first assumption.

    So the emitted density is min(q, p) + [p - q]+ = p(. | x_1^p): the factor (1 - alpha) / Z is 1, since alpha + Z = 1.
    x_1^p is distributed as without a draft, so the token follows the target's marginal. Nothing else is required of the
    joint law of the two trajectories, so alignment is free to choose. A rejection has probability Z and takes 1 / Z
    proposals: at most one a token in the mean.

    Without the first assumption it fails: let x_1^p be the draft's own last noise e, q = N(0, 1) and p = N(x_1, 1).
    Then x_0 = e = x_1^p, rho = exp(e^2 / 2) >= 1, and every draft is accepted: variance 1 for the target's 2.
    """
    cases = [(case, LastStep(aligned)) for case in mismatches() for aligned in (True, False)]
    found = [given_states(case.target, case.draft, case.given, rule, gaps=48) for case, rule in cases]
    whole = [off(case.target, case.draft, case.given, rule) for case, rule in cases[::12]]
    masses, trials = [abs(one.mass - 1) for one in found], [one.trials for one in found]
    require(max(masses) < 1e-8, f"a mass is off by {max(masses)}")
    far = [one.tv for one in found]
    require(max(far + whole) < LOSSLESS, f"a pair is off by {max(far + whole)}")
    marginals = max(one.target_off for one in found)
    require(marginals < 1e-12, f"the target's own token is off by {marginals}")
    require(max(trials) < 1 + 1e-9, f"a token takes {max(trials)} proposals in the mean")
    target, draft = affine_chain(4, 0.8, 0.5), affine_chain(4, 0.8, 0.6, 0.1)
    return Finding(
        "holds-under-assumptions",
        [
            Evidence(
                "identity",
                f"by quadrature, {len(far) // 2} mismatches, aligned and not: given both trajectories, the emitted "
                f"token follows p(. | x_1^p) to a TV of {max(far):.1e} in the mean, which bounds that of its law; "
                f"masses are 1 to {max(masses):.1e}, and proposals a token at most {max(trials):.9f} in the mean. "
                f"{len(whole)} of these laws integrated in full: the largest TV is {max(whole):.1e}",
            ),
            rejects_mutants(WRONG, lambda rule: excess(off(target, draft, UNCONDITIONAL, rule)), "the law"),
        ],
    )


@CLAIMS.claim(
    "cspd.output-law.marginal",
    "3.1, eq. 14",
    "Speculative sampling with the marginal densities p(x_0) / q(x_0) is lossless, and accepts the most.",
    assumptions=("both tokens have densities, and they are known", "proposals are not bounded"),
    stated=False,
)
def marginal(seed: int) -> Finding:
    """It is the base rule, for densities: min(q, p) + [p - q]+ = p.

    No rule that emits p from one draft accepts more than int min(p, q). The last step accepts the mean of that over
    trajectories, which is never more: the overlap of mixtures is at least the mixture of overlaps.
    """
    far, lost = [], []
    for case in mismatches():
        law, best = marginal_tv(case.target, case.draft, case.given, Marginal())
        far.append(law)
        lost.append(best - max(last_step_acceptance(case.target, case.draft, case.given, a) for a in (True, False)))
    require(max(far) < LOSSLESS, f"a pair is off by {max(far)}")
    require(min(lost) > -1e-6, f"the last step accepts {-min(lost)} more than the marginals overlap")
    return Finding(
        "holds-under-assumptions",
        [
            Evidence("identity", f"by quadrature, {len(far)} mismatches: the largest TV is {max(far):.1e}"),
            Evidence(
                "example",
                f"on the same pairs the last step accepts {min(lost):.3f} to {max(lost):.3f} less than the marginals "
                "would: the price of not knowing them",
            ),
        ],
    )


# What the checks are made of -------------------------------------------------------------------------------------


def off(target: Chain, draft: Chain, given: Given, rule: Rule) -> float:
    """That of a rule, with any number of proposals."""
    return tv_from_target(emitted(target, draft, given, rule, **ROUGH), target, given)


def excess(value: float) -> float:
    """``value`` if it is more than a lossless rule may leave, else 0."""
    return value if value > LOSSLESS else 0.0


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
