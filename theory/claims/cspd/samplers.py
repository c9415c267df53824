"""Claims of CSpD about samplers: where a trajectory has a density that factorises (App. E.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import log

import numpy as np

from simlab.continuous import affine_chain
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.diffusion import ddim_chain, schedule
from simlab.continuous.models.gaussians import DENSE, HALF_LOG_TURN
from simlab.continuous.models.trajectories import Trajectory, TrajectoryPair
from simlab.continuous.rules import Marginal, Path
from theory.claims.base import Claims, Finding
from theory.claims.cspd.assumed import UNBOUNDED
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
from theory.claims.sources import derived, said
from theory.continuous.gaussian_overlap import acceptance_rates
from theory.continuous.paths import Coupling, log_path, under
from theory.continuous.quadrature import normal_pdf
from theory.continuous.rejection_cost import emitted_mass

CLAIMS = Claims("cspd")
NEAR = 1e-8
ETAS = (0.25, 0.5, 1.0)

ONE_TO_ONE = (
    r"one to one: $x_T \to x_0$ is one to one and differentiable in both models, with a determinant that is known and "
    "nowhere 0"
)
STEPS_WITH_A_PDF = said(
    "App. E.2, eq. 53",
    "Let the PDF of initial noise be p(x_T), and let the PDF for each sampling step be p(x_{t-1}|x_t, c_{other}) ... "
    "The final output PDF is then determined as the cumulative product of all intermediate PDFs ... This expression is "
    "valid across all diffusion models, regardless of specific samplers or diffusion processes like DDIM, Rectified "
    "Flow, etc.",
    "formalised",
    "That each step has a PDF is read as the condition that it follows, and the law of a step as one given $x_t$ "
    r"alone. DDIM has such steps with $\eta > 0$, but for its last.",
)


def noisy(chain: Chain) -> Chain:
    """``chain`` whose last step adds as much noise as the one before: DDIM, eq. 10, adds some there too."""
    return replace(chain, factor=np.concatenate([chain.factor[1:2], chain.factor[1:]]))


def flow(variance: float, steps: int) -> Chain:
    """Euler's steps along the rectified flow between N(0, variance) at time 0 and N(0, 1) at time 1, on the line.

    x_s = (1 - s) x_0 + s e has the velocity E(e - x_0 | x_s) = (s - (1 - s) C) / ((1 - s)^2 C + s^2) x_s.
    """
    times = np.arange(1, steps + 1) / steps
    velocity = (times - (1 - times) * variance) / ((1 - times) ** 2 * variance + times**2)
    return affine_chain(steps, 1 - velocity / steps, 0.0)


@CLAIMS.claim(
    "cspd.samplers.stochastic",
    STEPS_WITH_A_PDF,
    r"For every sampler whose initial noise and steps have PDFs, as DDIM with $\eta > 0$ and noise in the last step, "
    r"trajectories have the density $p(x_T) \prod_{t=1}^T p(x_{t-1} | x_t)$.",
    assumptions=[
        "densities in all steps: $x_T$ has a density, and given $x_t$ alone $x_{t-1}$ has one for each $t$, the last "
        "step included",
    ],
)
def stochastic(seed: int) -> Finding:
    r"""With "densities in all steps" a trajectory is a Markov chain, and the product of the densities of its kernels is
    its own, by induction over steps. DDIM's kernels are normal with covariance $\sigma_t^2 I$.

    Eq. 16 of the DDIM paper makes $\sigma_1 = 0$ whatever $\eta$ is, as DDPM's $\tilde\beta_1$ is. Samplers either
    raise it, or $x_0$ is a point given $x_1$, and the last factor, the one that decides in eq. 9, does not exist. The
    smaller $\eta$ is, the farther apart trajectories are: $KL(q || p)$ grows like $1 / \eta^2$.

    Not for every $\eta$ as printed: the variance of a step is $\eta^2 (1 - \bar\alpha_{t-1}) / (1 - \bar\alpha_t) \cdot
    (1 - \bar\alpha_t / \bar\alpha_{t-1})$, which is 0 at every step for $\eta = 0$, the sampler that is usually called
    DDIM. Appendix E.2 says that the formulas apply, and not at which $\eta$ its Table 7 was made. A variance that is
    predicted and not drawn with gives a ratio too, of another sampler.
    """
    random = np.random.default_rng(seed)
    abar = schedule("linear", steps=5)
    data = [(m @ m.T + 0.1 * np.eye(2)) for m in random.normal(size=(2, 2, 2))]
    given = (random.normal(size=2), random.normal(size=2))
    pairs = {eta: [ddim_chain(c, abar, eta) for c in data] for eta in ETAS}
    printed = all(missing(chain) for pair in pairs.values() for chain in pair)
    chains = {eta: [noisy(chain) for chain in pair] for eta, pair in pairs.items()}
    couplings = {eta: Coupling(pair[0], pair[1], given) for eta, pair in chains.items()}
    require(not any(missing(chain) for pair in chains.values() for chain in pair), "a density is missing")

    def deviation(log_density: Callable[[Trajectory], np.ndarray]) -> float:
        """Of a product of kernels, from the joint normal density of all states."""
        gaps = []
        for coupling in couplings.values():
            pair, (mean, matrix) = coupling.sampled(random, 5), coupling.linear(_states)
            away = DENSE.whitened(matrix, _states(pair) - mean)  # square: all noise enters
            joint = -0.5 * np.sum(away**2, axis=1) - DENSE.log_volume(matrix) - coupling.size * HALF_LOG_TURN
            gaps.append(joint - log_density(pair.draft))
        return largest(gaps, NEAR)

    means = [coupling.quadratic(Path().log_draft_ratio).mean_exp for coupling in couplings.values()]
    divergence = [-coupling.quadratic(Path().log_draft_ratio).mean for coupling in couplings.values()]
    holds = deviation(log_path) == 0 and np.abs(np.subtract(means, 1)).max() < NEAR and printed
    cosine = {eta: ddim_chain([1.0], schedule("cosine", steps=100), eta) for eta in (0.0, 0.5, 1.0)}
    noiseless = {f"{eta:g}": _noiseless(chain) for eta, chain in cosine.items()}
    require(min(noiseless.values()) > 0 == _noiseless(noisy(cosine[1.0])), f"steps without noise are {noiseless}")
    return holds_if(
        holds,
        identity(
            "eta = 1/4, 1/2, 1, dense data, 5 steps, noise at the end: the product is the joint normal density "
            f"of all states within {NEAR}, and the mean of p(Y) / q(Y) is 1; with sigma_1 = 0, as DDIM's eq. 16 has it "
            "for every eta, the covariance of a trajectory is singular",
        ),
        identity(f"KL(q||p) of trajectories at these eta: {', '.join(map(fmt, divergence))}"),
        example(
            "not for every eta as printed: steps without noise of 100, by eta: "
            + ", ".join(f"{eta}: {count}" for eta, count in noiseless.items()),
            numbers(noiseless=noiseless),
        ),
        rejects_mutants(
            {
                "without the start": lambda model: (
                    log_path(model) - model.chain.log_start(model.states[-1], model.condition)
                ),
                "without the last step": lambda model: log_path(model) - model.log_step(1),
                "kernels of the other model": lambda model: _crossed(model, chains),
            },
            deviation,
            "the factorisation",
        ),
    )


def _noiseless(chain: Chain) -> int:
    """How many steps add no noise."""
    return int((chain.factor == 0).sum())


def _states(drawn: TrajectoryPair) -> np.ndarray:
    """``[B, d (T + 1)]``: the draft's trajectory."""
    return np.concatenate(list(drawn.draft.states), axis=1)


def _crossed(model: Trajectory, chains: dict[float, list[Chain]]) -> np.ndarray:
    """The density of a draft's trajectory under the target of the same eta."""
    target = next(pair[0] for pair in chains.values() if pair[1] is model.chain)
    return under(target, model.condition, model.states)


@CLAIMS.claim(
    "cspd.samplers",
    replace(
        STEPS_WITH_A_PDF,
        relation="stronger",
        note="The sentence that each step has a PDF comes first, and with it eq. 53 is the chain rule "
        "(cspd.samplers.stochastic). Here it is left out, as “regardless of specific samplers” does; rectified flow is "
        "read as it is mostly sampled, by steps along an ordinary differential equation. The published code of xAR, "
        "the one flow that the paper decodes, adds noise in all steps but the last. Of kernels in place of PDFs, the "
        "product is the law of a trajectory for every sampler; the paper's algorithm divides PDFs.",
    ),
    r"For every sampler, rectified flow by Euler's method included, trajectories have a density $p(x_T) "
    r"\prod_{t=1}^T p(x_{t-1} | x_t)$.",
)
def deterministic(seed: int) -> Finding:
    r"""A step that adds no noise leads to a point: its kernel has no density, and neither has a trajectory, whose $T +
    1$ states all follow from $x_T$, so that it lies on a set of volume 0: the covariance of $(x_T, ..., x_0)$ has rank
    $d$ instead of $(T + 1) d$.

    With $x_0 = x_1$ for the target and $2 x_1$ for the draft, trajectories of the two lie on two lines that have one
    point in common: the laws of trajectories exclude each other, and any exact verification of trajectories accepts
    none, while the tokens, $N(0, 1)$ and $N(0, 4)$, overlap. Shared noise does not help: $p(x_0 | x_1)$ at the draft's
    $x_0$ is 0. What can be verified is the density of the token itself (``cspd.samplers.marginal``).
    """
    abar = schedule("linear", steps=4)
    pairs = {
        "lines": [affine_chain(1, a, 0.0) for a in (1.0, 2.0)],
        "ddim": [ddim_chain(np.array([variance]), abar, 0.0) for variance in (0.5, 1.5)],
        "flow": [flow(variance, 4) for variance in (0.5, 1.5)],
    }
    lost = {name: [missing(chain) for chain in pair] for name, pair in pairs.items()}
    noise = noisy(ddim_chain(np.ones(1), abar, 0.5))
    require(missing(noise) == 0, "the check misses dimensions where all steps add noise")
    both = np.array([[1.0, slope] for slope in (1.0, 2.0)])  # directions of (x_1, x_0) on the two lines
    apart = int(np.linalg.matrix_rank(both)) == 2  # they meet in 0 alone
    rates = {name: float(acceptance_rates(0.0, 0.0, *map(_deviation, pair)).acceptance) for name, pair in pairs.items()}
    return refuted_if(
        apart and all(map(all, lost.values())),
        counterexample(
            "4 steps for N(0, 1/2) and N(0, 3/2), Euler along a rectified flow, and DDIM with eta = 0 (DDPM's linear "
            "schedule): the five states of a trajectory span one dimension, so that there is no density, where "
            f"tokens could be accepted with probability {fmt(rates['flow'])} and {fmt(rates['ddim'])}",
            numbers(
                steps=4,
                variance_p=0.5,
                variance_q=1.5,
                abar=abar,
                rank_ddim=5 - lost["ddim"][0],
                rank_flow=5 - lost["flow"][0],
                ddim=rates["ddim"],
                flow=rates["flow"],
            ),
        ),
        counterexample(
            "d = 1, T = 1, x_1 from N(0, 1), x_0 = x_1 (target) or 2 x_1 (draft): (x_1, x_0) lies on one of two lines "
            "that meet in 0 alone, so that of trajectories none can be accepted; of tokens "
            f"{fmt(rates['lines'])}, as N(0, 1) and N(0, 4) overlap",
            numbers(slope_p=1, slope_q=2, acceptance_paths=0, acceptance_tokens=rates["lines"]),
        ),
    )


def missing(chain: Chain) -> int:
    """By how much the rank of the covariance of a trajectory falls short of its dimensions; 0 if it has a density."""
    one = (np.zeros(chain.dimension), np.zeros(chain.dimension))
    _, matrix = Coupling(chain, chain, one).linear(_states)
    return len(matrix) - int(np.linalg.matrix_rank(matrix))


def _deviation(chain: Chain) -> float:
    return float(np.sqrt(chain.marginal(np.zeros((1, 1))).covariance[0, 0]))


@CLAIMS.claim(
    "cspd.samplers.marginal",
    derived("App. E.2", "What the method can use in place of the density of a trajectory."),
    r"Without noise the density of the token itself, by change of variables from $x_T$, can be verified: the marginal "
    r"rule is lossless for DDIM with $\eta = 0$ and for rectified flow.",
    assumptions=[ONE_TO_ONE, UNBOUNDED],
)
def marginal(seed: int) -> Finding:
    r"""By "one to one" $x_0 = f(x_T)$ has the density $N(f^{-1}(x_0)) / |\det f'|$. The rule is speculative sampling
    for the densities $p$ and $q$ of tokens: a draft is accepted with mass $\min(p, q)$, a rejection has probability $Z
    = \int [p - q]_+$ and by "unbounded proposals" is replaced by a draw from $[p - q]_+ / Z$. Together that is $p$. For
    these chains $f$ is affine; for a network $f'$ is the product of the Jacobians of $T$ steps, and $f^{-1}$ a walk
    back.
    """
    abar = schedule("linear", steps=4)
    pairs = [
        (ddim_chain(np.array([a]), abar, 0.0), ddim_chain(np.array([b]), abar, 0.0))
        for a, b in ((0.5, 2.0), (2.0, 0.5), (1.0, 1.3))
    ]
    pairs += [(flow(a, 4), flow(b, 4)) for a, b in ((0.5, 2.0), (2.0, 0.7))]
    given = (np.array([0.4]), np.array([-0.3]))
    x, dx = np.linspace(-16, 16, 40_001, retstep=True)

    def deviation(shift: float = 0.0) -> float:
        """Of the emitted density, with log ratios off by ``shift``, from what change of variables says; the largest."""
        gaps = []
        for target, draft in pairs:
            models = [
                Trajectory(chain, np.full((len(x), 1), c[0]), np.zeros((chain.steps + 1, len(x), 1)))
                for chain, c in zip((target, draft), given, strict=True)
            ]
            log_ratio = Marginal().log_ratio(TrajectoryPair(*models), x[None, :, None]) + shift
            p, q = (_changed(chain, c, x) * dx for chain, c in zip((target, draft), given, strict=True))
            gaps.append((emitted_mass(p, q, log_ratio).mass - p) / dx)
        return largest(gaps, 1e-6)  # of the grid at the two places where the densities cross

    return holds_if(
        deviation() == 0,
        identity(
            f"{len(pairs)} pairs of noiseless samplers, 4 steps: the emitted density, integrated on {len(x)} "
            "points, is the target's by change of variables within 1e-6 everywhere",
        ),
        rejects_mutants({"a ratio 10 % too large": log(1.1)}, deviation, "the emitted density"),
    )


def _changed(chain: Chain, condition: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The density of x_0 at ``x[N]`` by change of variables, walking back through all steps."""
    scale, back = 1.0, x[:, None]
    for t in range(1, chain.steps + 1):
        slope = chain.slope[t - 1]
        back = (back - chain.condition_gain[t - 1] * condition - chain.offset[t - 1]) / slope
        scale *= float(slope[0])
    return normal_pdf(back[:, 0]) / abs(scale)
