"""The reflection-maximal coupling as a rule for continuous tokens: a rejected draft's own noise makes the token."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from simlab.continuous.models.chains import Chain
from simlab.continuous.models.gaussians import root_of
from simlab.continuous.models.trajectories import Trajectory, TrajectoryPair
from simlab.continuous.rules import Reflection
from simlab.continuous.rules.base import log_acceptance
from simlab.randomness import Tape
from theory.claims.base import Claims, Finding
from theory.claims.cspd.assumed import INDEPENDENT_LAST_NOISE, LAST_NOISE
from theory.claims.evidence import holds_if, identity, largest, rejects_mutants
from theory.claims.sources import derived
from theory.continuous.gaussian_overlap import two_phi
from theory.continuous.quadrature import normal_pdf, panels

CLAIMS = Claims("cspd")
NEAR = 1e-9
POINTS = 40
ONE_COVARIANCE = "one covariance: given both trajectories down to $x_1$, both last kernels have the covariance $L L'$"
GAPS = (0.01, 0.5, 1.0, 3.0, 8.0)  # |D|


def pair(covariance: np.ndarray, gap: np.ndarray, noise: np.ndarray) -> TrajectoryPair:
    """Drafts m_q + L z for ``noise`` z, in one step: both chains have this covariance and means ``gap`` apart."""
    root = root_of(covariance)
    zero = np.zeros_like(root)
    models = []
    for mean in (0 * gap, gap):
        chain = Chain(zero[None], zero[None], mean[None], root[None], zero)
        count, size = noise.shape
        states = np.stack([mean + chain.layout.times(root, noise), np.zeros((count, size))])
        models.append(Trajectory(chain, np.zeros((count, size)), states))
    return TrajectoryPair(*models)


def cases() -> list[tuple[np.ndarray, np.ndarray]]:
    """Covariances, isotropic, diagonal and dense, in 2 to 8 dimensions, and gaps between means."""
    random = np.random.default_rng(7)
    found = []
    for size, scale in product((2, 3, 8), (0.3, 2.0)):
        mixing = random.normal(size=(size, size))
        for covariance in (np.full(size, 0.7), np.linspace(0.2, 1.5, size), mixing @ mixing.T + 0.1 * np.eye(size)):
            found.append((covariance, scale * random.normal(size=size)))
    return found


def off(rule: Reflection) -> float:
    """The most that a rejected draft's map is away from one that makes [p - q]+ of [q - p]+; 0 within ``NEAR``.

    It takes densities q, p at the draft to p, q at the token, and keeps volumes.
    """
    tape, gaps = Tape(0, POINTS), []
    for covariance, gap in cases():
        size = len(gap)
        noise = np.random.default_rng(1).normal(size=(POINTS, size))
        given = pair(covariance, gap, noise)
        drafts, places = given.draft.states[0], np.zeros(POINTS, np.int64)
        token = rule.propose(given, tape, places, np.ones_like(places))[0]
        for one, other in ((given.target, given.draft), (given.draft, given.target)):
            gaps.append(one.log_step(1, token) - other.log_step(1, drafts))
        corners = pair(covariance, gap, np.concatenate([np.zeros((1, size)), np.eye(size)]) + 1)
        images = rule.propose(corners, Tape(0, size + 1), np.zeros(size + 1, np.int64), np.ones(size + 1, np.int64))[0]
        before, after = (np.abs(np.linalg.det(x[1:] - x[0])) for x in (corners.draft.states[0], images))
        gaps.append(after / before - 1)
    return largest(gaps, NEAR)


def accepted(gap: float) -> float:
    """The share of drafts that are kept where last kernels are N(0, 1) and N(``gap``, 1), by quadrature."""
    edges = np.sort(np.append(np.linspace(-9, 9, 37), -gap / 2))  # at the kink too
    z, weights = panels(edges)
    given = pair(np.ones(1), np.array([gap]), z[:, None])
    return float(weights @ (normal_pdf(z) * np.exp(log_acceptance(Reflection().log_draft_ratio(given)))))


@dataclass(frozen=True)
class Reused(Reflection):
    """The noise as it was, around the target's mean."""

    def propose(self, pair: TrajectoryPair, tape: Tape, position: np.ndarray, trial: np.ndarray) -> np.ndarray:
        return (pair.draft.states[0] - pair.draft.kernel(1).mean + pair.target.kernel(1).mean)[None]


@dataclass(frozen=True)
class Along(Reflection):
    """Reflected along another axis: that of the means themselves, or the first; or by half as much."""

    axis: str = "means"

    def propose(self, pair: TrajectoryPair, tape: Tape, position: np.ndarray, trial: np.ndarray) -> np.ndarray:
        target, draft = pair.target.kernel(1), pair.draft.kernel(1)
        layout = pair.target.chain.layout
        noise = layout.whitened(target.root, pair.draft.states[0] - draft.mean)
        apart = draft.mean - target.mean if self.axis == "means" else layout.whitened(target.root, draft.mean)
        if self.axis == "first":
            apart = np.eye(1, noise.shape[1]) + 0 * noise
        axis = apart / np.linalg.norm(apart, axis=1, keepdims=True)
        share = 1 if self.axis == "half" else 2
        along = np.sum(axis * noise, axis=1, keepdims=True)
        return pair.target.chain.drawn(target, noise - share * axis * along)[None]


WRONG: dict[str, Reflection] = {
    "noise reused as it is": Reused(),
    "along the difference of means, not whitened": Along(axis="means"),
    "along the first axis": Along(axis="first"),
    "by half as much": Along(axis="half"),
}


@CLAIMS.claim(
    "cspd.reflection",
    derived(
        "Reflection-maximal coupling, arXiv 2501.05370",
        "What speculative sampling of diffusion models does at a rejection, here for the last step of a token.",
    ),
    "Accepting a draft $x = m_q + L z$ by the ratio of the last step and else emitting $m_p + L (z - 2 e (e^T z))$, "
    "with $e = D / |D|$ and $D = L^{-1} (m_q - m_p)$, is lossless and draws nothing: the token follows the target's "
    r"law, and given the trajectories down to $x_1$ a draft is accepted with probability $2 \Phi(-|D| / 2)$, which no "
    "rule exceeds whose token has the law of the target's last step given them.",
    assumptions=(LAST_NOISE, INDEPENDENT_LAST_NOISE, ONE_COVARIANCE),
)
def reflection(seed: int) -> Finding:
    r"""By "noise in the last step" both last kernels have densities, given both trajectories down to $x_1$; by "one
    covariance" they are those of $m_p + L z$ and $m_q + L z$ for one standard normal $z$, which by "independent last
    noise" the draft's is. The ratio at the draft is $\varphi(z + D) / \varphi(z)$, so a rejected $z$ has the density
    $[\varphi(z) - \varphi(z + D)]_+$. The reflection $R$ keeps volumes and lengths, is its own inverse and takes $D$ to
    $-D$: $z' = R z$ has the density $[\varphi(z') - \varphi(z' - D)]_+$. With $y = m_p + L z'$ that is $[p(y) -
    q(y)]_+$, since $y - m_q = L (z' - D)$: what the density of kept drafts, $\min(p, q)$, is short of $p$. So the token
    follows $p(. | x_1^p)$, and $x_1^p$ is distributed as without a draft. Only the part of $z$ along $e$ decides:
    drafts are kept with probability $\int \min(\varphi(s), \varphi(s + |D|)) ds = 2 \Phi(-|D| / 2)$, which is 1 - TV:
    no two variables with these laws are equal more often. A rule that is lossless in the mean over trajectories alone
    can keep more: of two equal models without shared noise the ratio of marginals keeps every draft.
    """
    kept = float(np.max([abs(accepted(gap) - two_phi(gap)) for gap in GAPS]))
    return holds_if(
        off(Reflection()) == 0 and kept < NEAR,
        identity(
            f"isotropic, diagonal and dense covariances in 2, 3 and 8 dimensions, {len(cases())} of them with "
            f"{POINTS} drafts each: the token of a rejected draft has p and q for the draft's q and p, and volumes "
            f"stay, to {NEAR:g}"
        ),
        identity(
            f"by quadrature, |D| from {GAPS[0]} to {GAPS[-1]}: the share of kept drafts is 2 Phi(-|D| / 2) to "
            f"{NEAR:g}; at |D| = 1 it is {accepted(1.0):.6f}"
        ),
        rejects_mutants(WRONG, off, "densities and volumes"),
    )
