"""Claims about CSpD for tokens whose law is a Gaussian mixture (appendix E.1), and about aligning them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import scipy

from simlab.continuous.models.mixtures import Components, Densities, Mixture, Ratio, WeightedComponents, speculate
from simlab.randomness import Tape
from simlab.statistics import GTest
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.evidence import example, holds_if, powers_below, rejects_mutants, require, simulation, small_scale
from theory.claims.format import fmt, numbers
from theory.claims.proven import proven
from theory.claims.sources import derived, said
from theory.continuous.mixture_law import emitted, matched, overlap

CLAIMS = Claims("cspd")
FALSE_ALARMS, TOKENS, CELLS = 1e-6, 10_000, 16
EXACT = 1e-9  # a TV below this is 0, up to the error of the quadrature
LINES = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [-0.8, 0.6]])  # along which tokens of two numbers are looked at

COMPATIBLE = said(
    "App. E.1, eq. 52",
    "[Our] method is compatible with GMMs by computing p(x), q(x), and p'(x).",
    "formalised",
    "Compatible is read as lossless.",
)


def line(weights: list, means: list, sds: list) -> Mixture:
    """A mixture on the line."""
    return Mixture(np.log(np.array(weights, float)), np.array(means, float)[:, None], np.array(sds, float)[:, None])


def bimodal() -> tuple[Mixture, Mixture]:
    """A target of two modes, and a draft that knows them roughly."""
    return line([0.5, 0.5], [-2, 2], [0.5, 0.5]), line([0.4, 0.6], [-1.8, 2.2], [0.5, 0.5])


def in_the_plane() -> tuple[Mixture, Mixture]:
    """Dense covariances and three components each, of which the draft has one in the wrong place."""
    means = np.array([[-1.5, 0.0], [1.5, 0.5], [0.0, 2.0]])
    roots = np.array([[[0.8, 0.0], [0.3, 0.5]], [[0.5, 0.2], [-0.2, 0.7]], [[0.4, 0.0], [0.0, 0.4]]])
    moved = means + np.array([[0.2, 0.0], [0.0, 0.3], [0.8, -0.5]])
    return Mixture(np.log([0.5, 0.3, 0.2]), means, roots), Mixture(np.log([0.3, 0.3, 0.4]), moved, roots * 1.2)


def alarm(ratio: Ratio, seed: int) -> float:
    """By how many powers of ten the tokens of a run in the plane are below the level, along the worst of four lines."""
    target, draft = in_the_plane()
    made = speculate(target, draft, ratio, Tape(seed, TOKENS), np.zeros(TOKENS, np.int64))
    require(bool(made.found.all()), "a token was not finished: proposals ran out")
    found = []
    for along in LINES:
        sds = np.linalg.norm(np.einsum("kij,i->kj", target.roots, along), axis=1)
        below = scipy.stats.norm.cdf((made.tokens @ along)[:, None], target.means @ along, sds) @ target.weights
        counts = np.bincount(np.minimum((below * CELLS).astype(int), CELLS - 1), minlength=CELLS)
        found.append(float(even().p_value(counts)))
    return powers_below(min(found), FALSE_ALARMS / len(LINES))


def even() -> GTest:
    """The test of a number that is even on [0, 1]."""
    return GTest(np.full(CELLS, 1 / CELLS))


def simulated_in_the_plane(ratio: Ratio, seed: int) -> Evidence:
    """The same in runs of two dimensions; raises ``CheckFailed`` if they do not follow the target."""
    require(alarm(ratio, seed) == 0, f"tokens in the plane do not follow the target under {ratio.name}")
    return simulation(
        f"three dense components in the plane, along {len(LINES)} lines "
        f"({even().stated(TOKENS, FALSE_ALARMS / len(LINES))} along one, of cells)",
    )


# The claims --------------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "cspd.mixtures",
    COMPATIBLE,
    r"For Gaussian mixtures $p$ and $q$, accepting a draft with probability $\min(1, p(x) / q(x))$ and drawing from "
    r"$p'(x) = [p - q]_+ / Z$ by acceptance-rejection sampling after a rejection emits $x \sim p$; acceptance is $1 - "
    r"TV(p, q)$.",
)
def densities(seed: int) -> Finding:
    r"""A draft is accepted at $x$ with density $q \min(1, p/q) = \min(p, q)$. It is rejected with probability $1 - \int
    \min(p, q) = \int [p - q]_+ = Z$. If $Z > 0$, a proposal from $p$ is accepted at $y$ with density $p \max(0, 1 -
    q/p) = [p - q]_+$, so that the one that is accepted follows $[p - q]_+ / Z$, after $1 / Z$ proposals in the mean: at
    most one a token. So what is emitted has the density $\min(p, q) + [p - q]_+ = p$. Nothing was used but that $p$ and
    $q$ are densities that can be evaluated and sampled; those of mixtures are. If $Z = 0$ nothing is rejected.
    """
    target, draft = bimodal()
    law = emitted(target, draft, Densities())
    rates = {
        "itself": overlap(target, draft),
        "a normal draft": overlap(target, matched(draft)),
        "normal laws for both": overlap(matched(target), matched(draft)),
    }
    return holds_if(
        proven("cspd.mixtures") and max(law.tv, abs(law.acceptance - rates["itself"])) < EXACT,
        simulated_in_the_plane(Densities(), seed),
        example(
            f"two modes at -2 and 2 (sd 1/2), a draft with weights 0.4 and 0.6 and modes at -1.8 and 2.2: "
            f"{fmt(rates['itself'])} of drafts are accepted; {fmt(rates['a normal draft'])} of a normal draft with "
            "the same mean and variance, which draws between the modes. Were both normal, with the variances they "
            f"have, it would be {fmt(rates['normal laws for both'])}: of another target",
            numbers(
                weights=[0.5, 0.5],
                means=[-2, 2],
                sd=0.5,
                draft_weights=[0.4, 0.6],
                draft_means=[-1.8, 2.2],
                acceptance=rates["itself"],
                acceptance_normal_draft=rates["a normal draft"],
                acceptance_both_normal=rates["normal laws for both"],
            ),
        ),
        rejects_mutants(
            {"components weighted": WeightedComponents()}, lambda ratio: alarm(ratio, seed), "tokens of runs"
        ),
    )


@CLAIMS.claim(
    "cspd.mixtures.aligned-components",
    derived("App. E.1", "What the noise shared by two mixtures can be: the paper does not align them."),
    r"If one uniform number chooses the components $i$ and $j$ of target and draft, the ratio of their two densities "
    r"$p_i(x) / q_j(x)$, without weights, is lossless, and it accepts at most as many drafts as the ratio of the "
    r"mixtures. The ratio with their weights, $\pi_i p_i(x) / (\rho_j q_j(x))$, is biased.",
)
def aligned_components(seed: int) -> Finding:
    r"""Given the uniform number $u$, the draft follows $q_j$ and proposals $p_i$, with $i$ and $j$ chosen by $u$. That
    is speculative sampling from $q_j$ to $p_i$, so the token follows $p_i$. Whatever is drafted, $i$ has the weights of
    the target, and over $u$ the token follows $\sum_i \pi_i p_i = p$. How $i$ and $j$ are coupled does not enter.

    Drafts are accepted with probability $\sum_{ij} w_{ij} \int \min(p_i, q_j)$, where $w$ has the weights of both as
    its margins. A minimum of sums is at least the sum of minima, so this is at most $\int \min(p, q)$.

    Given $u$ the weights are a factor that says nothing about $x$, as $\Sigma$ is for trajectories. Let two components
    be far apart, with weights $\pi = (1/2, 1/2)$ and $\rho = (3/4, 1/4)$. For $u < 1/2$ both models choose the first
    component, and the ratio is $(1/2) / (3/4) = 2/3$ everywhere: a third of the drafts is rejected, and no proposal is
    ever accepted, as $1 - 3/2 < 0$. For $u$ from $1/2$ to $3/4$ the target has the second component and the draft the
    first: rejected, and replaced by the second. Above, both have the second and the ratio is 2: accepted. So the first
    component comes out with probability $1/2 \cdot 2/3 = 1/3$, the second with $1/4 + 1/4 = 1/2$, and $1/6$ is never
    made.
    """
    target, draft = bimodal()
    law = emitted(target, draft, Components())
    rate = law.acceptance
    return holds_if(
        proven("cspd.mixtures.aligned-components") and law.tv < EXACT and rate < overlap(target, draft),
        simulated_in_the_plane(Components(), seed),
        example(
            "modes at -2 and 2 (sd 1/2) with weights 1/2 each, a draft with modes at -1.8 and 2.2 and weights 0.4 and "
            f"0.6: {fmt(rate)} of drafts are accepted, {fmt(overlap(target, draft))} by mixtures",
            numbers(
                weights=[0.5, 0.5],
                means=[-2, 2],
                sd=0.5,
                draft_weights=[0.4, 0.6],
                draft_means=[-1.8, 2.2],
                acceptance_components=rate,
                acceptance_densities=overlap(target, draft),
            ),
        ),
        *with_weights(seed),
    )


def with_weights(seed: int) -> list[Evidence]:
    """What the ratio with weights emits; raises ``CheckFailed`` if it is not what the argument says."""
    far = 30
    target, draft = line([0.5, 0.5], [0, far], [1, 1]), line([0.75, 0.25], [0, far], [1, 1])
    law = emitted(target, draft, WeightedComponents())
    by_hand = [Fraction(1, 3), Fraction(1, 2), Fraction(1, 6)]
    first = float(law.weight @ (law.density * (law.x < far / 2)))
    found = [first, law.mass - law.unfinished - first, law.unfinished]
    require(max(abs(a - float(b)) for a, b in zip(found, by_hand, strict=True)) < EXACT < law.tv, f"the law is {found}")
    other = emitted(*bimodal(), WeightedComponents())
    return [
        example(
            "with weights: two components far apart, 1/2 and 1/2 in the target, 3/4 and 1/4 in the draft: the first "
            f"comes out with probability {by_hand[0]}, the second with {by_hand[1]}, and {by_hand[2]} of all tokens "
            f"never end; TV {fmt(law.tv)}",
            numbers(
                weights=[Fraction(1, 2), Fraction(1, 2)],
                draft_weights=[Fraction(3, 4), Fraction(1, 4)],
                law=by_hand[:2],
                unfinished=by_hand[2],
                tv=Fraction(1, 6),
            ),
        ),
        small_scale(
            "with weights, modes at -2 and 2, a draft with modes at -1.8 and 2.2 and weights 0.4 and 0.6, where "
            f"everything ends: TV {fmt(other.tv)} from the target, and {other.trials:.2f} proposals a token",
        ),
        rejects_mutants(
            {"components weighted": WeightedComponents()}, lambda ratio: alarm(ratio, seed), "tokens of runs"
        ),
    ]
