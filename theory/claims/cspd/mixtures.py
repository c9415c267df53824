"""Claims about CSpD for tokens whose law is a Gaussian mixture (appendix E.1), and about aligning them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import scipy

from simlab.continuous.models.mixtures import (
    Chosen,
    Components,
    Densities,
    Mixture,
    Ratio,
    WeightedComponents,
    speculate,
)
from simlab.randomness import Tape
from simlab.statistics import GTest
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.evidence import rejects_mutants, require
from theory.claims.format import fmt, numbers
from theory.continuous.mixture_law import emitted, matched, overlap

CLAIMS = Claims("cspd")
FALSE_ALARMS, TOKENS, CELLS = 1e-6, 20_000, 16
EXACT = 1e-9  # a TV below this is 0, up to the error of the quadrature
LINES = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [-0.8, 0.6]])  # along which tokens of two numbers are looked at

CLAIMS.summary(
    "cspd.mixtures",
    "App. E.1",
    "The method extends to Gaussian mixtures.",
    ["cspd.mixtures.densities", "cspd.mixtures.aligned-components", "cspd.mixtures.aligned-weights"],
)


def line(weights: list, means: list, sds: list) -> Mixture:
    """A mixture on the line."""
    return Mixture(np.log(np.array(weights, float)), np.array(means, float)[:, None], np.array(sds, float)[:, None])


def mismatched(seed: int, count: int = 150) -> list[tuple[Mixture, Mixture]]:
    """Pairs on the line, of one to four components each, near each other and far apart."""
    random = np.random.default_rng(seed)

    def one() -> Mixture:
        size = random.integers(1, 5)
        weights, means = random.dirichlet(np.ones(size)), random.uniform(-4, 4, size)
        return line(list(weights), list(means), list(np.exp(random.uniform(np.log(0.2), np.log(2), size))))

    found = []
    for k in range(count):
        target = one()
        near = Mixture(target.log_weights, target.means + random.normal(0, 0.3, target.means.shape), target.roots * 1.1)
        found.append((target, near if k % 3 == 0 else one()))
    return found


def bimodal() -> tuple[Mixture, Mixture]:
    """A target of two modes, and a draft that knows them roughly."""
    return line([0.5, 0.5], [-2, 2], [0.5, 0.5]), line([0.4, 0.6], [-1.8, 2.2], [0.5, 0.5])


def in_the_plane() -> tuple[Mixture, Mixture]:
    """Dense covariances and three components each, of which the draft has one in the wrong place."""
    means = np.array([[-1.5, 0.0], [1.5, 0.5], [0.0, 2.0]])
    roots = np.array([[[0.8, 0.0], [0.3, 0.5]], [[0.5, 0.2], [-0.2, 0.7]], [[0.4, 0.0], [0.0, 0.4]]])
    moved = means + np.array([[0.2, 0.0], [0.0, 0.3], [0.8, -0.5]])
    return Mixture(np.log([0.5, 0.3, 0.2]), means, roots), Mixture(np.log([0.3, 0.3, 0.4]), moved, roots * 1.2)


def off(ratio: Ratio, pairs: list[tuple[Mixture, Mixture]]) -> float:
    """The largest TV between what is emitted and the target, in excess of the error of the quadrature."""
    return max(0.0, max(emitted(p, q, ratio).tv for p, q in pairs) - EXACT)


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
    return max(0.0, float(np.log10(FALSE_ALARMS / len(LINES))) - float(np.log10(max(min(found), 1e-300))))


def even() -> GTest:
    """The test of a number that is even on [0, 1]."""
    return GTest(np.full(CELLS, 1 / CELLS))


def simulated_in_the_plane(ratio: Ratio, seed: int) -> Evidence:
    """The same in runs of two dimensions; raises ``CheckFailed`` if they do not follow the target."""
    require(alarm(ratio, seed) == 0, f"tokens in the plane do not follow the target under {ratio.name}")
    return Evidence(
        "simulation",
        f"three dense components in the plane, along {len(LINES)} lines "
        f"({even().stated(TOKENS, FALSE_ALARMS / len(LINES))} along one, of cells)",
    )


# Wrong variants ----------------------------------------------------------------------------------------------------


class UpsideDown(Densities):
    """q / p."""

    def log_ratio(self, target: Mixture, draft: Mixture, chosen: Chosen, x: np.ndarray) -> np.ndarray:
        return -super().log_ratio(target, draft, chosen, x)


class Matched(Densities):
    """A normal density with the target's mean and variance for the target's."""

    def log_ratio(self, target: Mixture, draft: Mixture, chosen: Chosen, x: np.ndarray) -> np.ndarray:
        return super().log_ratio(matched(target), draft, chosen, x)


class Unweighted(Densities):
    """All components of the target alike."""

    def log_ratio(self, target: Mixture, draft: Mixture, chosen: Chosen, x: np.ndarray) -> np.ndarray:
        count = len(target.log_weights)
        alike = Mixture(np.full(count, -np.log(count)), target.means, target.roots)
        return super().log_ratio(alike, draft, chosen, x)


# The claims --------------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "cspd.mixtures.densities",
    "App. E.1, eq. 52",
    "With p(x) and q(x) in closed form, accepting with min(1, p/q) and sampling the residual by acceptance-rejection "
    "emits tokens that follow the target's mixture.",
)
def densities(seed: int) -> Finding:
    """The proof for densities is that for pmfs. A draft is accepted at x with density q min(1, p/q) = min(p, q). It is
    rejected with probability 1 - int min(p, q) = int [p - q]+ = Z. If Z > 0, a proposal from p is taken at y with
    density p max(0, 1 - q/p) = [p - q]+, so that the one that is taken follows [p - q]+ / Z, after 1 / Z proposals in
    the mean. So what is emitted has the density min(p, q) + [p - q]+ = p. Nothing was used but that p and q are
    densities that can be evaluated and sampled: a mixture's are.

    If Z = 0 nothing is rejected. Acceptance is int min(p, q) = 1 - TV(p, q), and a token takes Z / Z = 1 proposal in
    the mean, or none where p = q. A bound on proposals leaves a token without one with probability Z (1 - Z)^n.
    """
    pairs = mismatched(seed)
    laws = [emitted(p, q, Densities()) for p, q in pairs]
    worst, mass = max(law.tv for law in laws), max(abs(float(law.weight @ law.target) - 1) for law in laws)
    accepted = max(abs(law.acceptance - overlap(p, q)) for law, (p, q) in zip(laws, pairs, strict=True))
    trials = max(abs(law.trials - 1) for law in laws)
    target, draft = bimodal()
    rates = {
        "itself": overlap(target, draft),
        "a normal draft": overlap(target, matched(draft)),
        "normal laws for both": overlap(matched(target), matched(draft)),
    }
    require(mass < 1e-8, "the quadrature misses mass")
    wrong: dict[str, Ratio] = {
        "ratio upside down": UpsideDown(),
        "a normal density for the target's": Matched(),
        "weights left out": Unweighted(),
    }
    return Finding(
        "holds" if max(worst, accepted) < EXACT and trials < 1e-6 else "refuted",
        [
            Evidence(
                "identity",
                f"law of the emitted token by quadrature, {len(pairs)} mismatched pairs of one to four components on "
                f"the line: largest TV from the target {worst:.1g}, masses within {mass:.1g}, acceptance within "
                f"{accepted:.1g} of int min(p, q), one proposal a token within {trials:.1g}",
            ),
            simulated_in_the_plane(Densities(), seed),
            Evidence(
                "example",
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
            rejects_mutants(wrong, lambda ratio: off(ratio, pairs), "the law of the token"),
            rejects_mutants(
                {"components weighted": WeightedComponents()}, lambda ratio: alarm(ratio, seed), "tokens of runs"
            ),
        ],
    )


@CLAIMS.claim(
    "cspd.mixtures.aligned-components",
    "derived here (after 3.2)",
    "Aligned: one coin chooses the components of target and draft. The ratio of the densities of these two components, "
    "without their weights, is lossless; it accepts at most as many drafts as the ratio of the mixtures.",
    stated=False,
)
def aligned_components(seed: int) -> Finding:
    """The argument of the rule of the last step, with components in place of trajectories. Given the coin u, the draft
    follows q_j and proposals p_i, with i and j chosen by u. That is speculative sampling from q_j to p_i, so the token
    follows p_i. The coin is even on [0, 1] whatever is drafted, so i has the weights of the target, and over u the
    token follows sum pi_i p_i = p. The coupling of i and j does not enter; it only says how often they belong together.

    Drafts are accepted with probability sum_ij w_ij int min(p_i, q_j), where w has the weights of both as its margins.
    A minimum of sums is at least the sum of minima, so this is at most int min(p, q).
    """
    pairs = mismatched(seed)
    laws = [emitted(p, q, Components()) for p, q in pairs]
    worst = max(law.tv for law in laws)
    slack = [overlap(p, q) - law.acceptance for law, (p, q) in zip(laws, pairs, strict=True)]
    target, draft = bimodal()
    rate = emitted(target, draft, Components()).acceptance
    return Finding(
        "holds" if worst < EXACT and min(slack) > -EXACT else "refuted",
        [
            Evidence(
                "identity",
                f"law of the emitted token by quadrature, {len(pairs)} pairs on the line: largest TV {worst:.1g}; "
                f"acceptance is below int min(p, q) by {min(slack):.1g} to {max(slack):.2f}",
            ),
            simulated_in_the_plane(Components(), seed),
            Evidence(
                "example",
                f"two modes as above: {fmt(rate)} of drafts are accepted, {fmt(overlap(target, draft))} by mixtures",
                numbers(acceptance_components=rate, acceptance_densities=overlap(target, draft)),
            ),
            rejects_mutants(
                {"with the weights": WeightedComponents()}, lambda ratio: off(ratio, pairs), "the law of the token"
            ),
        ],
    )


@CLAIMS.claim(
    "cspd.mixtures.aligned-weights",
    "derived here (after eqs. 4 and 9)",
    "Aligned as before, the ratio of the densities of component and token together, pi_i p_i / (pi_j q_j), is "
    "lossless.",
    stated=False,
)
def aligned_weights(seed: int) -> Finding:
    """It is CSpD's two-path ratio for mixtures, and biased for the same reason: given the coin, the weights are a
    factor that says nothing about x.

    Smallest case: both have the same two components, too far apart to overlap, with weights 1/2, 1/2 in the target and
    3/4, 1/4 in the draft. For u < 1/2 both choose the first, and rho = (1/2) / (3/4) = 2/3 everywhere: a third of the
    drafts is rejected, and no proposal is ever taken, as 1 - 1/rho < 0. For u from 1/2 to 3/4 the target has the
    second and the draft the first: rejected, and replaced by the second. Above, both have the second and rho = 2:
    accepted. So the first component comes out with probability 1/3, the second with 1/2, and 1/6 of all tokens never
    end.
    """
    far = 30
    target, draft = line([0.5, 0.5], [0, far], [1, 1]), line([0.75, 0.25], [0, far], [1, 1])
    law = emitted(target, draft, WeightedComponents())
    by_hand = [Fraction(1, 3), Fraction(1, 2), Fraction(1, 6)]
    first = float(law.weight @ (law.density * (law.x < far / 2)))
    found = [first, law.mass - law.unfinished - first, law.unfinished]
    require(max(abs(a - float(b)) for a, b in zip(found, by_hand, strict=True)) < 1e-9, "not what it is by hand")
    other = emitted(*bimodal(), WeightedComponents())
    count, limit = 6000, 50
    run = speculate(target, draft, WeightedComponents(), Tape(seed, count), np.zeros(count, np.int64), limit)
    sorts = np.where(run.found, (run.tokens[:, 0] > far / 2).astype(int), 2)
    test = GTest([float(m) for m in by_hand])
    require(float(test.p_value(np.bincount(sorts, minlength=3))) > FALSE_ALARMS, "runs do not follow the law by hand")
    even_run = speculate(target, draft, Components(), Tape(seed, count), np.zeros(count, np.int64), limit)
    return Finding(
        "refuted" if law.tv > EXACT else "not-refuted",
        [
            Evidence(
                "counterexample",
                "the same two components, far apart; weights 1/2, 1/2 in the target and 3/4, 1/4 in the draft: the "
                f"first comes out with probability {by_hand[0]} for 1/2, and {by_hand[2]} of all tokens never end; TV "
                f"{fmt(law.tv)}",
                numbers(
                    weights=[Fraction(1, 2), Fraction(1, 2)],
                    draft_weights=[Fraction(3, 4), Fraction(1, 4)],
                    law=by_hand[:2],
                    unfinished=by_hand[2],
                    tv=law.tv,
                ),
            ),
            Evidence(
                "exact-small-scale",
                f"the two modes of above, where everything ends: TV {fmt(other.tv)} from the target, and "
                f"{other.trials:.2f} proposals a token",
            ),
            Evidence(
                "simulation",
                f"first, second and unfinished after {limit} proposals as by hand ({test.stated(count, FALSE_ALARMS)})",
            ),
            rejects_mutants(
                {"without the weights": np.bincount((even_run.tokens[:, 0] > far / 2).astype(int), minlength=3)},
                lambda counts: float(test.p_value(counts)) < FALSE_ALARMS,
                "runs of the smallest case",
            ),
        ],
    )
