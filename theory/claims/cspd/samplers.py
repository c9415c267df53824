"""Claims of CSpD about samplers: where a trajectory has a density that factorises (App. E.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import log

import numpy as np

from simlab.continuous.models.chains import Chain
from simlab.continuous.models.diffusion import ddim_chain, schedule
from simlab.continuous.models.gaussians import DENSE, HALF_LOG_TURN
from simlab.continuous.rules import LastStep, Marginal, Path, Rule, TwoPath, VarianceProduct
from simlab.continuous.rules.base import Trajectory, TrajectoryPair, log_acceptance, proposal_acceptance
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.evidence import rejects_mutants, require
from theory.claims.format import fmt, numbers
from theory.continuous.gaussian_overlap import acceptance_rates
from theory.continuous.paths import Coupling, log_path, under

CLAIMS = Claims("cspd")
NEAR = 1e-8
ETAS = (0.25, 0.5, 1.0)

CLAIMS.summary(
    "cspd.samplers",
    "App. E.2, eq. 53",
    "The density factorisation p(x_T) prod p(x_{t-1} | x_t) is valid for any sampler, DDIM and rectified flow "
    "included.",
    ["cspd.samplers.stochastic", "cspd.samplers.deterministic", "cspd.samplers.marginal"],
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
    zeros = np.zeros((steps, 1))
    return Chain((1 - velocity / steps)[:, None], zeros, zeros, zeros, np.ones(1))


def refused(rule: Rule, target: Chain, draft: Chain) -> bool:
    """Whether the rule says that a density is lacking."""
    try:
        rule.check(target, draft)
    except ValueError as error:
        require("density" in str(error), f"refused for another reason: {error}")
        return True
    return False


@CLAIMS.claim(
    "cspd.samplers.stochastic",
    "App. E.2, eq. 53",
    "DDIM with eta > 0: trajectories have the density p(x_T) prod p(x_{t-1} | x_t).",
    assumptions=["every step adds noise in every direction, the last too"],
)
def stochastic(seed: int) -> Finding:
    """A Markov chain whose kernels have densities has the product as its density, by induction over steps; DDIM's
    kernels are normal with the covariance sigma_t^2 I. But eq. 16 of DDIM makes sigma_1 = 0 whatever eta is, as DDPM's
    betatilde_1 is: samplers either raise it, or x_0 is a point given x_1, and the last factor, the one that decides in
    eq. 9, does not exist. And the smaller eta is the farther apart trajectories are: KL(q||p) grows like 1 / eta^2.
    """
    random = np.random.default_rng(seed)
    abar = schedule("linear", steps=5)
    data = [(m @ m.T + 0.1 * np.eye(2)) for m in random.normal(size=(2, 2, 2))]
    given = (random.normal(size=2), random.normal(size=2))
    pairs = {eta: [ddim_chain(c, abar, eta) for c in data] for eta in ETAS}
    printed = all(refused(LastStep(), *pair) for pair in pairs.values())
    chains = {eta: [noisy(chain) for chain in pair] for eta, pair in pairs.items()}
    couplings = {eta: Coupling(pair[0], pair[1], given) for eta, pair in chains.items()}
    require(not any(refused(Path(), *pair) for pair in chains.values()), "a chain with densities is refused")

    def deviation(log_density: Callable[[Trajectory], np.ndarray]) -> float:
        """Of a product of kernels, from the joint normal density of all states."""
        worst = 0.0
        for coupling in couplings.values():
            noise = random.normal(size=(5, coupling.size))
            mean, matrix = coupling.linear(_states)
            away = DENSE.whitened(matrix, _states(coupling.trajectories(noise)) - mean)  # square: all noise enters
            joint = -0.5 * np.sum(away**2, axis=1) - DENSE.log_volume(matrix) - coupling.size * HALF_LOG_TURN
            worst = max(worst, float(np.abs(joint - log_density(coupling.trajectories(noise).draft)).max()))
        return worst if worst > NEAR else 0.0

    means = [coupling.quadratic(Path().log_draft_ratio).mean_exp for coupling in couplings.values()]
    divergence = [-coupling.quadratic(Path().log_draft_ratio).mean for coupling in couplings.values()]
    holds = deviation(log_path) == 0 and max(abs(mean - 1) for mean in means) < NEAR and printed
    return Finding(
        "holds-under-assumptions" if holds else "refuted",
        [
            Evidence(
                "identity",
                "eta = 1/4, 1/2, 1, dense data, 5 steps, noise at the end: the product is the joint normal density "
                f"of all states within {NEAR}, and the mean of p(Y) / q(Y) is 1",
            ),
            Evidence("example", "with sigma_1 = 0, as DDIM's eq. 16 has it for every eta, the last step is refused"),
            Evidence(
                "example",
                f"KL(q||p) of trajectories at these eta: {', '.join(map(fmt, divergence))}",
                numbers(eta=ETAS, divergence=divergence),
            ),
            rejects_mutants(
                {
                    "without the start": lambda model: log_path(model) - _start(model),
                    "without the last step": lambda model: log_path(model) - model.log_step(1),
                    "kernels of the other model": lambda model: _crossed(model, chains),
                },
                deviation,
                "the factorisation",
            ),
        ],
    )


def _states(drawn: TrajectoryPair) -> np.ndarray:
    """``[B, d (T + 1)]``: the draft's trajectory."""
    return np.concatenate(list(drawn.draft.states), axis=1)


def _start(model: Trajectory) -> np.ndarray:
    return model.chain.log_start(model.states[-1], model.condition)


def _crossed(model: Trajectory, chains: dict[float, list[Chain]]) -> np.ndarray:
    """The density of a draft's trajectory under the target of the same eta."""
    target = next(pair[0] for pair in chains.values() if pair[1] is model.chain)
    return under(target, model.condition, model.states)


@CLAIMS.claim(
    "cspd.samplers.deterministic",
    "App. E.2, eq. 53",
    "Samplers that add no noise, DDIM with eta = 0 and rectified flow: trajectories have the density p(x_T) prod "
    "p(x_{t-1} | x_t), by which they can be verified.",
)
def deterministic(seed: int) -> Finding:
    """A step that adds no noise leads to a point: its kernel has no density, and neither has a trajectory, which lies
    on a set of volume 0. With x_0 = a x_1 for the target and b x_1 for the draft, a != b, trajectories of the two lie
    on two lines that have one point in common. Their laws exclude each other, so any exact verification of trajectories
    accepts none; the token itself has normal laws that overlap. Shared noise does not help: p(x_0 | x_1) at the draft's
    x_0 is 0.
    """
    hand = [Chain([[a]], [[0.0]], [[0.0]], [[0.0]], [1.0]) for a in (1.0, 2.0)]  # type: ignore[arg-type]
    drawn = Coupling(hand[0], hand[1], (np.zeros(1), np.zeros(1))).trajectories(
        np.random.default_rng(seed).normal(size=(1000, 2))
    )
    own = hand[0].mean(1, drawn.draft.states[1], drawn.draft.condition)
    on_both = int((own == drawn.draft.states[0]).sum())
    abar = schedule("linear", steps=4)
    pairs = {
        "x_0 = x_1 and 2 x_1": (hand[0], hand[1]),
        "DDIM": (ddim_chain(np.array([0.5]), abar, 0.0), ddim_chain(np.array([1.5]), abar, 0.0)),
        "rectified flow": (flow(0.5, 4), flow(1.5, 4)),
    }
    by_density: list[Rule] = [Path(), TwoPath(aligned=True), VarianceProduct(), LastStep()]
    lacking = all(refused(rule, *pair) for rule in by_density for pair in pairs.values())
    rates = {name: float(acceptance_rates(0.0, 0.0, *map(_deviation, pair)).acceptance) for name, pair in pairs.items()}
    require(not any(refused(Marginal(), *pair) for pair in pairs.values()), "the marginal rule is refused")
    with_noise = noisy(ddim_chain(np.ones(1), abar, 0.5))
    require(not any(refused(rule, with_noise, with_noise) for rule in by_density), "chains with densities are refused")
    return Finding(
        "refuted" if lacking and on_both == 0 else "not-refuted",
        [
            Evidence(
                "counterexample",
                "d = 1, T = 1, x_1 from N(0, 1), x_0 = x_1 (target) or 2 x_1 (draft): of trajectories none can be "
                f"accepted, of tokens {fmt(rates['x_0 = x_1 and 2 x_1'])}, as N(0, 1) and N(0, 4) overlap",
                numbers(slope_p=1, slope_q=2, acceptance_paths=0, acceptance_tokens=rates["x_0 = x_1 and 2 x_1"]),
            ),
            Evidence(
                "counterexample",
                "4 steps for N(0, 1/2) and N(0, 3/2), DDIM with eta = 0 and Euler along a rectified flow: every rule "
                "of path densities is refused with a ValueError, where tokens could be accepted with probability "
                f"{fmt(rates['DDIM'])} and {fmt(rates['rectified flow'])}",
                numbers(steps=4, variance_p=0.5, variance_q=1.5, ddim=rates["DDIM"], flow=rates["rectified flow"]),
            ),
        ],
    )


def _deviation(chain: Chain) -> float:
    return float(np.sqrt(chain.marginal(np.zeros((1, 1))).covariance[0, 0]))


@CLAIMS.claim(
    "cspd.samplers.marginal",
    "not in the paper",
    "Without noise the density of the token itself, by change of variables from x_T, can be verified: the marginal "
    "rule is lossless for DDIM with eta = 0 and for rectified flow.",
    assumptions=["x_T -> x_0 is one to one, with a known determinant"],
    stated=False,
)
def marginal(seed: int) -> Finding:
    """x_0 = f(x_T) has the density N(f^-1(x_0)) / |det f'|. The rule is speculative sampling for the densities p and q
    of tokens: a draft is accepted with mass min(p, q), a rejection has probability Z = int [p - q]+ and is replaced by
    a proposal from p taken with [p - q]+ / p, so from [p - q]+ / Z. Together that is p. For these chains f is affine;
    for a network f' is the product of the Jacobians of T steps, and f^-1 a walk back.
    """
    abar = schedule("linear", steps=4)
    pairs = [
        (ddim_chain(np.array([a]), abar, 0.0), ddim_chain(np.array([b]), abar, 0.0))
        for a, b in ((0.5, 2.0), (2.0, 0.5), (1.0, 1.3))
    ]
    pairs += [(flow(a, 4), flow(b, 4)) for a, b in ((0.5, 2.0), (2.0, 0.7))]
    given = (np.array([0.4]), np.array([-0.3]))
    x = np.linspace(-16, 16, 40_001)

    def deviation(shift: float = 0.0) -> float:
        """Of the emitted density, with log ratios off by ``shift``, from what change of variables says; the largest."""
        worst = 0.0
        for target, draft in pairs:
            models = [
                Trajectory(chain, np.full((len(x), 1), c[0]), np.zeros((chain.steps + 1, len(x), 1)))
                for chain, c in zip((target, draft), given, strict=True)
            ]
            log_ratio = Marginal().log_ratio(TrajectoryPair(*models), x[None, :, None]) + shift
            p, q = (_changed(chain, c, x) for chain, c in zip((target, draft), given, strict=True))
            accepted = q * np.exp(log_acceptance(log_ratio))
            proposed = p * proposal_acceptance(log_ratio)
            rejected = 1 - accepted.sum() * (x[1] - x[0])
            taken = proposed.sum() * (x[1] - x[0])
            worst = max(worst, float(np.abs(accepted + rejected * proposed / taken - p).max()))
        return worst if worst > 1e-6 else 0.0  # of the grid at the two places where the densities cross

    return Finding(
        "holds-under-assumptions" if deviation() == 0 else "refuted",
        [
            Evidence(
                "identity",
                f"{len(pairs)} pairs of noiseless samplers, 4 steps: the emitted density, integrated on {len(x)} "
                "points, is the target's by change of variables within 1e-6 everywhere",
            ),
            rejects_mutants({"a ratio 10 % too large": log(1.1)}, deviation, "the emitted density"),
        ],
    )


def _changed(chain: Chain, condition: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The density of x_0 at ``x[N]`` by change of variables, walking back through all steps."""
    scale, back = 1.0, x[:, None]
    for t in range(1, chain.steps + 1):
        slope = chain.slope[t - 1]
        back = (back - chain.condition_gain[t - 1] * condition - chain.offset[t - 1]) / slope
        scale *= float(slope[0])
    return np.exp(-0.5 * back[:, 0] ** 2 - HALF_LOG_TURN) / abs(scale)
