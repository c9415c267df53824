"""Claims about CSpD for tokens whose law is a Gaussian mixture (appendix E.1), and about aligning them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from simlab.continuous.models.mixtures import Components, Densities, Mixture, Ratio, WeightedComponents
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.evidence import example, holds_if, over, rejects_mutants, require, small_scale
from theory.claims.format import fmt, numbers
from theory.claims.proven import proven
from theory.claims.sources import derived, said
from theory.continuous.mixture_law import emitted, matched, overlap

CLAIMS = Claims("cspd")
EXACT = 1e-9  # a TV below this is 0, up to the error of the quadrature


def line(weights: list, means: list, sds: list) -> Mixture:
    """A mixture on the line."""
    return Mixture(np.log(np.array(weights, float)), np.array(means, float)[:, None], np.array(sds, float)[:, None])


MODES: dict[str, Any] = {"weights": [0.5, 0.5], "means": [-2, 2], "sd": 0.5}
MODES |= {"draft_weights": [0.4, 0.6], "draft_means": [-1.8, 2.2]}


def bimodal() -> tuple[Mixture, Mixture]:
    """A target of two modes, and a draft that knows them roughly."""
    weights, means, sd, draft_weights, draft_means = MODES.values()
    return line(weights, means, [sd, sd]), line(draft_weights, draft_means, [sd, sd])


def off(ratio: Ratio) -> float:
    """The TV from the target of what a ratio emits on the line; 0 up to the error of the quadrature."""
    return over(emitted(*bimodal(), ratio).tv, EXACT)


# The claims --------------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "cspd.mixtures",
    said(
        "App. E.1, eq. 52",
        "[Our] method is compatible with GMMs by computing p(x), q(x), and p'(x).",
        "formalised",
        "Compatible is read as lossless.",
    ),
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
        proven("cspd.mixtures") and off(Densities()) == 0 and abs(law.acceptance - rates["itself"]) < EXACT,
        example(
            f"two modes at -2 and 2 (sd 1/2), a draft with weights 0.4 and 0.6 and modes at -1.8 and 2.2: "
            f"{fmt(rates['itself'])} of drafts are accepted; {fmt(rates['a normal draft'])} of a normal draft with "
            "the same mean and variance, which draws between the modes. Were both normal, with the variances they "
            f"have, it would be {fmt(rates['normal laws for both'])}: of another target",
            numbers(
                **MODES,
                acceptance=rates["itself"],
                acceptance_normal_draft=rates["a normal draft"],
                acceptance_both_normal=rates["normal laws for both"],
            ),
        ),
        rejects_mutants({"components weighted": WeightedComponents()}, off, "the law"),
    )


@CLAIMS.claim(
    "cspd.mixtures.aligned-components",
    derived("App. E.1", "What the noise shared by two mixtures can be: the paper does not align them."),
    r"If one uniform number chooses the components $i$ and $j$ of target and draft, the ratio of their two densities "
    r"$p_i(x) / q_j(x)$, without weights, is lossless, and it accepts at most as many drafts as the ratio of the "
    r"mixtures. The ratio with their weights, $\pi_i p_i(x) / (\rho_j q_j(x))$, is biased in general.",
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
        off(Components()) == 0 and rate < overlap(target, draft),
        example(
            "modes at -2 and 2 (sd 1/2) with weights 1/2 each, a draft with modes at -1.8 and 2.2 and weights 0.4 and "
            f"0.6: {fmt(rate)} of drafts are accepted, {fmt(overlap(target, draft))} by mixtures",
            numbers(**MODES, acceptance_components=rate, acceptance_densities=overlap(target, draft)),
        ),
        *with_weights(),
    )


def with_weights() -> list[Evidence]:
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
        rejects_mutants({"components weighted": WeightedComponents()}, off, "the law"),
    ]
