"""The output law of a rule for a token on the line, by quadrature: density, acceptance and cost.

Given both trajectories down to x_1, the last kernels are normal with means mu_p and mu_q, and the rule does with a
draft from one and proposals from the other what its two functions say: it emits min(q, rho q) + (1 - alpha) p take / Z.
That is integrated panel by panel, cut where the ratio passes 1, so that nothing is smoothed over. The means are jointly
normal (:mod:`theory.continuous.joint_gaussian`): over mu_q given the gap mu_p - mu_q the convolution is a normal
density, and over the gap it is one integral more. Masses come out to 1e-8 or better, or, for biased rules where mu_q
all but follows from the gap, to 1e-4; what is left is measured by doing everything twice, the second time with fewer
nodes.

Proposals may be bounded: what they leave unfinished is mass of its own.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from simlab.checks import check_number
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.trajectories import Trajectory, TrajectoryPair
from simlab.continuous.rules import LastStep, Reflection, TwoPath
from simlab.continuous.rules.base import Rule, log_acceptance, proposal_acceptance
from theory.continuous.gaussian_overlap import touching
from theory.continuous.joint_gaussian import Given, Joint, check_line, last_means, last_sd
from theory.continuous.quadrature import normal_pdf, panels
from theory.continuous.rejection_cost import emitted_mass, of_a_token

REACH = 9.0  # standard deviations that are integrated over: 1e-18 is beyond
GAPS, POINTS, MOST = 168, 600, 20_000  # nodes over the gap, and points the density is given at
NARROW = 0.05  # of the gap's standard deviation: kernels below it have panels of their own
CLOSE = 0.125 * 2.0 ** np.arange(9)  # of a kernel's standard deviation: where these meet
NEGLIGIBLE = 1e-19  # mass that a density is computed without
_CUTS = np.array([-REACH, -6, -4, -2.5, -1.2, 0, 1.2, 2.5, 4, 6, REACH])
_ORDER = 12  # nodes a panel


class Cells(NamedTuple):
    """What is emitted given the gap, for M gaps, at K places y relative to mu_q."""

    place: np.ndarray  # [M, K]
    mass: np.ndarray  # [M, K]
    target: np.ndarray  # [M, K]: the mass of p(. | x_1^p)
    acceptance: np.ndarray  # [M]: alpha
    proposal_acceptance: np.ndarray  # [M]: Z
    trials: np.ndarray  # [M]: proposals a token in the mean
    unfinished: np.ndarray  # [M]: the probability that they run out


class Law(NamedTuple):
    """The law of an emitted token: a density, beside it what is left unfinished."""

    x: np.ndarray  # [N], evenly spaced
    density: np.ndarray  # [N]
    acceptance: float
    trials: float  # proposals a token in the mean
    unfinished: float

    @property
    def mass(self) -> float:
        """All of it: 1, up to the error of the quadrature."""
        return float(self.density.sum() * (self.x[1] - self.x[0])) + self.unfinished

    def moments(self) -> tuple[float, float]:
        """Mean and variance of what is emitted."""
        weight = self.density / self.density.sum()
        mean = float(weight @ self.x)
        return mean, float(weight @ (self.x - mean) ** 2)


class Distances(NamedTuple):
    """How far a law is from another, each with the error of the quadrature.

    Total variation counts what is left unfinished; Kolmogorov's and Wasserstein's distances are of finished tokens.
    """

    tv: float
    ks: float
    w1: float
    tv_error: float
    ks_error: float
    w1_error: float


def emitted(
    target: Chain, draft: Chain, given: Given, rule: Rule, limit: float = inf, gaps: int = GAPS, points: int = POINTS
) -> Law:
    """The law of the token that ``rule`` emits, for chains of one dimension.

    Parameters
    ----------
    target, draft
        Chains of one dimension and as many steps.
    given
        Their conditions, ``[1]`` each.
    rule
        ``last-step``, ``variance-product`` or ``cspd-reference``: its ratio is that of the last step, up to what does
        not depend on the states.
    limit
        Proposals a token at most, at least 1.
    gaps, points
        Nodes over the gap of the last means, and points the density is given at.

    Returns
    -------
    Law
        A density, and what is left unfinished.

    Raises
    ------
    ValueError
        If the rule is another, chains have more dimensions or different steps, the ratio does not exist, ``limit`` is
        below 1, or the nodes are too few for the law that is asked for.
    """
    sds = _checked(target, draft, rule)
    joint = last_means(target, draft, given, rule.aligned)
    between = _split(joint)
    nodes, weights = _over_gap(between.gap, gaps, sds, _edges(target, draft, given, rule, between.gap))
    found = cells(target, draft, given, rule, nodes, limit)
    wide = np.sqrt(np.diag(joint.covariance)) + np.array(sds)
    low, high = float((joint.mean - 1.3 * REACH * wide).min()), float((joint.mean + 1.3 * REACH * wide).max())
    narrow = float(np.sqrt(joint.covariance[0, 0] + sds[0] ** 2))  # the target's token, to be resolved
    x = np.linspace(low, high, max(points, int(4 * (high - low) / narrow)))
    if between.left > 0.5 * min(sds) or not draft.noisy_end:
        if (high - low) / (0.8 * MOST) > between.left:
            raise ValueError(
                "the draft is mu_q itself, which all but follows from the gap; expected a last step with noise, or "
                "models whose means differ by more than a factor"
            )
        x = np.linspace(low, high, max(len(x), int((high - low) / (0.8 * between.left))))
        density = _convolved(x, between, nodes, weights, found)
    else:
        density = _pointwise(x, between, nodes, weights, found, (target, draft, given, rule))
    law = Law(x, density, *(float(weights @ column) for column in (found.acceptance, found.trials, found.unfinished)))
    if abs(law.mass - 1) > 1e-4:
        raise ValueError(
            f"{len(nodes)} nodes over the gap give a law of mass {law.mass:.8f}; expected 1: ask for more gaps"
        )
    return law


class GivenStates(NamedTuple):
    """What is emitted given both trajectories down to x_1, in the mean over them."""

    tv: float  # from p(. | x_1^p); at least the total variation of the token's law from the target's marginal
    mass: float
    trials: float  # proposals a token in the mean
    unfinished: float
    target_off: float  # how far mean and variance of the token that p(. | x_1^p) makes are from the target's marginal


def given_states(
    target: Chain, draft: Chain, given: Given, rule: Rule, limit: float = inf, gaps: int = GAPS
) -> GivenStates:
    """What ``rule`` emits given both trajectories down to x_1, against p(. | x_1^p): a bound without a convolution.

    Parameters
    ----------
    target, draft, given, rule, limit, gaps
        As for :func:`emitted`.

    Returns
    -------
    GivenStates
        Means over the trajectories.

    Raises
    ------
    ValueError
        As :func:`emitted` does.

    Notes
    -----
    Total variation is convex, so the mean over trajectories bounds that of the law.
    """
    sds = _checked(target, draft, rule)
    joint = last_means(target, draft, given, rule.aligned)
    gap = _split(joint).gap
    nodes, weights = _over_gap(gap, gaps, sds, _edges(target, draft, given, rule, gap))
    found = cells(target, draft, given, rule, nodes, limit)
    law, last = target.marginal(given[0][None]), sds[0] * target.noisy_end
    off = abs(law.mean[0, 0] - joint.mean[0]), abs(law.covariance[0, 0] - joint.covariance[0, 0] - last**2)
    return GivenStates(
        0.5 * float(weights @ (np.abs(found.mass - found.target).sum(axis=1) + found.unfinished)),
        float(weights @ (found.mass.sum(axis=1) + found.unfinished)),
        float(weights @ found.trials),
        float(weights @ found.unfinished),
        float(max(off)),
    )


def _checked(target: Chain, draft: Chain, rule: Rule) -> tuple[float, float]:
    """The standard deviations of both last kernels; raises ``ValueError`` where the rule has no law on the line."""
    sds = last_sd(target), last_sd(draft)
    _check_rule(rule)
    if not isinstance(rule, LastStep) or isinstance(rule, TwoPath):
        raise ValueError(f"{rule.name} depends on more than the last step; expected a rule of the last step's ratio")
    if isinstance(rule, Reflection):
        raise ValueError(
            f"{rule.name} makes one proposal for a rejected draft, which is always taken; expected a rule whose "
            "proposals are drawn until one is taken: its law is that of last-step"
        )
    rule.check(target, draft)
    return sds


def _check_rule(rule: Rule) -> None:
    if not isinstance(rule, Rule):
        raise ValueError(f"rule is {rule!r}; expected a Rule, as simlab.continuous.make_rule gives")


def _convolved(x: np.ndarray, between: Between, nodes: np.ndarray, weights: np.ndarray, found: Cells) -> np.ndarray:
    """The density where mu_q, given the gap, is spread as widely as the kernels: its law smooths all edges."""
    density = np.zeros(len(x))
    for node, weight, place, mass in zip(nodes, weights, found.place, found.mass, strict=True):
        some = weight * mass > NEGLIGIBLE
        if some.any():
            centre = between.mu_q(node) + place[some]
            ends = centre.min() - REACH * between.left, centre.max() + REACH * between.left
            near = slice(*np.searchsorted(x, ends))
            density[near] += weight * (np.exp(-0.5 * ((x[near, None] - centre) / between.left) ** 2) @ mass[some])
    return density / (between.left * np.sqrt(2 * np.pi))


def _pointwise(
    x: np.ndarray,
    between: Between,
    nodes: np.ndarray,
    weights: np.ndarray,
    found: Cells,
    case: tuple[Chain, Chain, Given, Rule],
) -> np.ndarray:
    """The density where mu_q all but follows from the gap, as for T = 1: what is emitted, at each point."""
    target, draft, given, rule = case
    spread, chances = np.polynomial.hermite_e.hermegauss(12 if between.left > 0 else 1)
    chances = chances / chances.sum()
    density = np.zeros(len(x))
    again = np.where(found.proposal_acceptance > 0, found.trials, 0)  # proposals none of which is taken emit nothing
    for node, weight, trials in zip(nodes, weights, again, strict=True):
        y = x - (between.mu_q(node) + between.left * spread[:, None])
        pair = _pair_with_gap(target, draft, given, np.full(y.size, node))
        ratio = rule.log_ratio(pair, y.reshape(1, -1, 1) + _zero(draft, given)).reshape(y.shape)
        drafted = _log_draft_ratio(rule, pair, y.reshape(1, -1, 1) + _zero(draft, given)).reshape(y.shape)
        accepted = normal_pdf(y, 0, last_sd(draft)) * np.exp(log_acceptance(drafted))
        density += weight * (
            chances @ (accepted + trials * normal_pdf(y, node, last_sd(target)) * proposal_acceptance(ratio))
        )
    return density


def cells(target: Chain, draft: Chain, given: Given, rule: Rule, gaps: np.ndarray, limit: float = inf) -> Cells:
    """What is emitted for each of the gaps between the means of the last kernels, with mu_q at 0.

    Parameters
    ----------
    target, draft, given, rule, limit
        As for :func:`emitted`.
    gaps
        mu_p - mu_q, ``float[M]``.

    Returns
    -------
    Cells
        Masses at K places for each gap.

    Raises
    ------
    ValueError
        If ``limit`` is below 1, or the target's last kernel does not look at x_1 and the gap is another.
    """
    check_number("limit", 1.0 if limit == inf else limit, 1)
    sds = last_sd(target), last_sd(draft)
    place, weight = panels(_ends(gaps, sds, _crossings(target, draft, given, rule, gaps)), _ORDER)
    pair = _pair_with_gap(target, draft, given, np.repeat(gaps, place.shape[1]))
    candidate = (place.reshape(1, -1, 1)) + _zero(draft, given)
    log_ratio = rule.log_ratio(pair, candidate).reshape(place.shape)
    p = normal_pdf(place, gaps[:, None], sds[0]) * weight
    if draft.noisy_end:
        drafted = normal_pdf(place, 0, sds[1]) * weight
        log_draft_ratio = _log_draft_ratio(rule, pair, candidate).reshape(place.shape)
    else:  # the draft is mu_q itself
        place, p, log_ratio = (np.pad(v, ((0, 0), (0, 1))) for v in (place, p, log_ratio))
        drafted = np.zeros_like(p)
        drafted[:, -1] = 1
        log_draft_ratio = np.repeat(
            rule.log_draft_ratio(_pair_with_gap(target, draft, given, gaps))[:, None], p.shape[1], 1
        )
    accepted = drafted * np.exp(log_acceptance(log_draft_ratio))
    taken = p * proposal_acceptance(log_ratio)
    alpha, z = accepted.sum(axis=1), taken.sum(axis=1)
    cost = of_a_token(alpha, z, limit)  # a mass that is out of reach counts as none
    mass = accepted + np.where(z > 0, cost.trials, 0)[:, None] * taken
    return Cells(place, mass, p, alpha, z, cost.trials, cost.unfinished)


def marginal_tv(target: Chain, draft: Chain, given: Given, rule: Rule) -> tuple[float, float]:
    """TV between the token under a rule of marginal densities and the target's token, and the acceptance.

    Parameters
    ----------
    target, draft
        Chains of one dimension.
    given
        Their conditions, ``[1]`` each.
    rule
        A rule whose ratio is of marginal densities.

    Returns
    -------
    tuple of float
        TV and acceptance.

    Raises
    ------
    ValueError
        If the ratio does not exist for these chains, or is of other states than the token, or a chain has more
        dimensions.
    """
    check_line(target, draft)
    _check_rule(rule)
    rule.check(target, draft)
    laws = [chain.marginal(c[None]) for chain, c in zip((target, draft), given, strict=True)]
    means = [float(law.mean[0, 0]) for law in laws]
    sds = float(np.sqrt(laws[0].covariance[0, 0])), float(np.sqrt(laws[1].covariance[0, 0]))

    def log_ratio(x: np.ndarray) -> np.ndarray:
        states = x.reshape(1, -1, 1)
        conditions = (np.broadcast_to(c, (states.shape[1], 1)) for c in given)
        pair = TrajectoryPair(
            *(Trajectory(chain, c, states) for chain, c in zip((target, draft), conditions, strict=True))
        )
        try:
            return rule.log_ratio(pair, states)
        except IndexError:  # there are no states before the token
            message = f"{rule.name} looks at more than the token; expected a rule of marginal densities"
            raise ValueError(message) from None

    gap = np.array([means[0] - means[1]])
    unit = max(sds)
    roots = _roots(log_ratio(means[1] + unit * np.array([-1.0, 0, 1]))[None], unit)
    place, weight = panels(_ends(gap, sds, roots), _ORDER)
    p, q = normal_pdf(place[0], gap[0], sds[0]) * weight[0], normal_pdf(place[0], 0, sds[1]) * weight[0]
    found = emitted_mass(p, q, log_ratio(means[1] + place[0]))
    return 0.5 * float(np.abs(found.mass - p).sum()), found.acceptance


def target_law(target: Chain, condition: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The density of the target's token.

    Parameters
    ----------
    target
        A chain of one dimension.
    condition
        Its condition, ``[1]``.
    x
        Where, ``float[N]``.

    Returns
    -------
    numpy.ndarray
        ``float64[N]``.

    Raises
    ------
    ValueError
        If it has more dimensions.
    """
    check_line(target)
    law = target.marginal(condition[None])
    return normal_pdf(x, law.mean[0, 0], np.sqrt(law.covariance[0, 0]))


def distances(
    target: Chain, draft: Chain, given: Given, rule: Rule, limit: float = inf, gaps: int = GAPS, points: int = POINTS
) -> tuple[Law, Distances]:
    """The law a rule emits, and how far it is from the target's.

    Parameters
    ----------
    target, draft, given, rule, limit, gaps, points
        As for :func:`emitted`.

    Returns
    -------
    law
        As :func:`emitted` gives it.
    distances
        With errors, from half as many nodes.

    Raises
    ------
    ValueError
        As :func:`emitted` does.
    """
    fine = emitted(target, draft, given, rule, limit, gaps, points)
    rough = emitted(target, draft, given, rule, limit, gaps // 2, points // 2)
    values, others = (_apart(law, target_law(target, given[0], law.x)) for law in (fine, rough))
    return fine, Distances(*values, *(abs(a - b) for a, b in zip(values, others, strict=True)))


def tv_from_target(law: Law, target: Chain, given: Given) -> float:
    """The total variation of a law from the target's, what is unfinished included.

    Parameters
    ----------
    law
        As :func:`emitted` gives it.
    target, given
        The target, and the conditions ``[1]`` of target and draft.

    Returns
    -------
    float
        0 to 1, up to the error of the quadrature.
    """
    return _apart(law, target_law(target, given[0], law.x))[0]


def _apart(law: Law, density: np.ndarray) -> tuple[float, float, float]:
    width = law.x[1] - law.x[0]
    tv = 0.5 * float(np.abs(law.density - density).sum() * width + law.unfinished)
    finished = law.density / (law.density.sum() * width)
    gap = np.cumsum(finished - density) * width
    return tv, float(np.abs(gap).max()), float(np.abs(gap).sum() * width)


# Parts of it ---------------------------------------------------------------------------------------------------------


class Between(NamedTuple):
    """The gap of the last means, N(m, sd^2), and mu_q given it: what it moves by, its mean, and its own sd."""

    gap: tuple[float, float]
    share: float
    middle: float
    left: float

    def mu_q(self, gap: float) -> float:
        """The mean of mu_q given the gap."""
        return self.middle + self.share * (gap - self.gap[0])


def _split(joint: Joint) -> Between:
    mean, covariance = joint.gap
    variance = float(covariance[0, 0])
    across = float(joint.covariance[1, 0] - joint.covariance[1, 1])  # of mu_q with the gap
    own = float(joint.covariance[1, 1])
    if variance <= 1e-14 * max(own, float(joint.covariance[0, 0])):
        variance, share = 0.0, 0.0
    else:
        share = across / variance
    left = own - share * across
    if left <= 1e-12 * own:
        left = 0.0
    return Between((float(mean[0]), float(np.sqrt(variance))), share, float(joint.mean[1]), float(np.sqrt(left)))


def _edges(target: Chain, draft: Chain, given: Given, rule: Rule, gap: tuple[float, float]) -> np.ndarray:
    """``[M]``: the gaps from which the ratio passes 1 anywhere; none where it does at every gap."""
    if gap[1] == 0:
        return np.zeros(0)
    pair = _pair_with_gap(target, draft, given, np.zeros(1))
    sp, sq = last_sd(target), last_sd(draft)
    log_weight = float(rule.log_ratio(pair, pair.draft.states[:1])[0]) + np.log(sp / sq)
    return touching(log_weight, sp, sq)


def _over_gap(
    gap: tuple[float, float], count: int, sds: tuple[float, float], edges: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights over the gap, in panels that meet at ``edges`` and at 0, where acceptance has an edge.

    Around 0 they are closer, as far as the kernels reach too where ``sds`` are small.
    """
    mean, sd = gap
    if sd == 0:
        return np.array([mean]), np.ones(1)
    low, high = mean - REACH * sd, mean + REACH * sd
    ends = np.linspace(low, high, max(count // _ORDER, 2) + 1)
    if low < 0 < high:
        near = sd * np.geomspace(1e-2, 1, 4)
        if max(sds) < NARROW * sd:
            near = np.concatenate([near, max(sds) * CLOSE])
        ends = np.unique(np.concatenate([ends, [0.0], *([s] for s in (*near, *-near) if low < s < high)]))
    if len(edges):
        ends = np.unique(np.concatenate([ends, edges[(low < edges) & (edges < high)]]))
    nodes, weights = panels(ends, _ORDER)
    return nodes, weights * normal_pdf(nodes, mean, sd)


def _crossings(target: Chain, draft: Chain, given: Given, rule: Rule, gaps: np.ndarray) -> np.ndarray:
    """``[M, C]``: where log rho, a parabola in y, is 0; of drafts too, where theirs is another. NaN where it is not."""
    at = np.array([-1.0, 0.0, 1.0]) * max(last_sd(target), last_sd(draft))
    pair = _pair_with_gap(target, draft, given, np.repeat(gaps, 3))
    candidate = np.tile(at, len(gaps))[None, :, None] + _zero(draft, given)
    values = [rule.log_ratio(pair, candidate)]
    if draft.noisy_end and type(rule).log_draft_ratio is not Rule.log_draft_ratio:
        values.append(_log_draft_ratio(rule, pair, candidate))
    return np.concatenate([_roots(value.reshape(-1, 3), float(at[2])) for value in values], axis=1)


def _log_draft_ratio(rule: Rule, pair: TrajectoryPair, candidate: np.ndarray) -> np.ndarray:
    """``[B]``: log rho that drafts are verified by, where their x_0 is that of ``candidate[1, B, 1]``."""
    states = np.concatenate([candidate, pair.draft.states[1:]])
    return rule.log_draft_ratio(TrajectoryPair(pair.target, pair.draft.through(states)))


def _roots(value: np.ndarray, unit: float) -> np.ndarray:
    """``[M, 2]``: the roots of the parabolas with ``value[M, 3]`` at -unit, 0 and unit; NaN where there is none."""
    square = (value[:, 2] - 2 * value[:, 1] + value[:, 0]) / (2 * unit**2)
    slope = (value[:, 2] - value[:, 0]) / (2 * unit)
    square = np.where(np.abs(square) * unit**2 < 1e-12 * np.abs(value).max(axis=1), 0, square)
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(slope**2 - 4 * square * value[:, 1])
        bulk = -0.5 * (slope + np.copysign(root, slope))  # without cancellation
        return np.stack([bulk / square, value[:, 1] / bulk], axis=1)


def _ends(gaps: np.ndarray, sds: tuple[float, float], crossings: np.ndarray) -> np.ndarray:
    """``[M, K]``: ends of panels at both means, some deviations from them, and the crossings."""
    ends = np.concatenate(
        [gaps[:, None] + sds[0] * _CUTS, np.broadcast_to(sds[1] * _CUTS, (len(gaps), len(_CUTS)))], axis=1
    )
    low, high = ends.min(axis=1, keepdims=True), ends.max(axis=1, keepdims=True)
    inside = np.where(np.isfinite(crossings), np.clip(crossings, low, high), low)
    return np.sort(np.concatenate([ends, inside], axis=1), axis=1)


def _zero(draft: Chain, given: Given) -> float:
    """Where mu_q is put."""
    return float(draft.mean(1, np.zeros((1, 1)), given[1][None])[0, 0])


def _pair_with_gap(target: Chain, draft: Chain, given: Given, gaps: np.ndarray) -> TrajectoryPair:
    """Two trajectories whose last kernels are ``gaps[B]`` apart: the draft's from x_1 = 0."""
    own = np.broadcast_to(given[0], (len(gaps), 1)), np.broadcast_to(given[1], (len(gaps), 1))
    zero = np.zeros((len(gaps), 1))
    goal = gaps[:, None] + _zero(draft, given)
    slope = float(target.layout.dense(target.slope[0])[0, 0])
    rest = target.mean(1, zero, own[0])
    if slope == 0 and not np.allclose(rest, goal, rtol=1e-12, atol=1e-12):
        raise ValueError("the target's last kernel does not look at x_1; expected the one gap there can be")
    states = np.zeros((target.steps + 1, len(gaps), 1))
    sample_trajectory = states.copy()
    sample_trajectory[1] = (goal - rest) / (slope or 1.0)
    states[0] = _zero(draft, given)
    return TrajectoryPair(Trajectory(target, own[0], sample_trajectory), Trajectory(draft, own[1], states))
