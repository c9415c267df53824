"""Claims of CSpD about the distance and the correlation of two trajectories, of one step and of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from simlab.continuous import affine_chain
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.diffusion import ddpm_chain, schedule
from simlab.continuous.models.gaussians import root_of
from simlab.continuous.models.trajectories import TrajectoryPair
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.evidence import example, holds_if, identity, largest, over, rejects_mutants, require, search
from theory.claims.format import fmt, numbers
from theory.claims.sources import derived, said
from theory.continuous.example_processes import UNCONDITIONAL
from theory.continuous.joint_gaussian import joint_states
from theory.continuous.paths import Case, Coupling, independent_noise, mean_norm, random_chains

CLAIMS = Claims("cspd")
Root = tuple[tuple[Any, Any], tuple[Any, Any]]  # a root of a covariance, 2 x 2
NEAR = 1e-9  # float64 against float64, for numbers of order 10

COMMUTING = r"commuting covariances: $\Sigma_t^q \Sigma_t^p = \Sigma_t^p \Sigma_t^q$, as for diagonal ones"
SYMMETRIC = "symmetric roots: the noise is multiplied with the symmetric root of the covariance"
GIVEN = r"given means: $\mu_t^q$ and $\mu_t^p$ are fixed numbers, not random"
FIXED = "state-free kernels: slopes and covariances do not depend on the state"

# One step, in rationals ----------------------------------------------------------------------------------------


def exact(root: Root) -> np.ndarray:
    """A root in rationals, ``object[2, 2]``."""
    return np.array([[Fraction(v) for v in row] for row in root], dtype=object)


def reduction(target: np.ndarray, draft: np.ndarray) -> Fraction:
    """E||x^q - x^p||^2 with independent noise minus that with shared noise, from roots and the same means.

    Independent: the squares of all entries, tr(Lq Lq') + tr(Lp Lp'); shared: the squares of those of Lq - Lp.
    """
    own = sum((target**2 + draft**2).ravel())
    shared = sum(((draft - target) ** 2).ravel())
    return Fraction(own - shared)


def turned(first: Any, second: Any) -> np.ndarray:
    """A symmetric matrix with these eigenvalues, and the eigenvectors (3, 4) / 5 and (-4, 3) / 5."""
    turn = exact(((Fraction(3, 5), Fraction(-4, 5)), (Fraction(4, 5), Fraction(3, 5))))
    return turn @ diagonal(first, second) @ turn.T


def diagonal(first: Any, second: Any) -> np.ndarray:
    return exact(((first, 0), (0, second)))


@CLAIMS.claim(
    "cspd.theorem-1",
    said(
        "Theorem 1; eqs. 30 to 45",
        "Setting ε_t^p = ε_t^q in reparameterization reduces the expected distance E[||x_{t-1}^q − x_{t-1}^p||²] "
        "between x_{t-1}^p and x_{t-1}^q by 2 · tr[√(Σ_t^q Σ_t^p)]",
        "formalised",
        "read for one step whose means and covariances are given; the paper does not name the covariances, and those "
        "of DDPM, which it uses, are diagonal and so commute",
    ),
    r"For given means and covariances with $\Sigma_t^q \Sigma_t^p = \Sigma_t^p \Sigma_t^q$, setting "
    r"$\varepsilon_t^p = \varepsilon_t^q$ lowers $\mathbb{E}|x_{t-1}^q - x_{t-1}^p|^2$ by "
    r"$2\,\mathrm{tr}\sqrt{\Sigma_t^q \Sigma_t^p}$.",
    assumptions=[COMMUTING, SYMMETRIC, GIVEN],
)
def commuting(seed: int) -> Finding:
    r"""Write $x_{t-1}^q - x_{t-1}^p = m + L_q \varepsilon^q - L_p \varepsilon^p$. By "given means" $m$ is fixed, so the
    second moment is $|m|^2 + \mathrm{tr}\,\Sigma^q + \mathrm{tr}\,\Sigma^p - 2\,\mathbb{E}(L_q \varepsilon^q)^T (L_p
    \varepsilon^p)$. The last mean is 0 for independent noise and $\mathrm{tr}(L_q^T L_p)$ for shared noise, so sharing
    the noise lowers the distance by $2\,\mathrm{tr}(L_q^T L_p)$. By "symmetric roots" and "commuting covariances" $L_q$
    and $L_p$ are diagonal in one basis with no negative eigenvalue, so $L_q^T L_p$ is symmetric, has no negative
    eigenvalue, and its square is $\Sigma^q \Sigma^p$: it is $\sqrt{\Sigma^q \Sigma^p}$. (The sentence after eq. 9
    prints $2\,\mathrm{tr}(\Sigma_t^q \Sigma_t^p)$, without the root.)

    Not for every two covariances: eq. 43 replaces $\sqrt{\Sigma^p}\sqrt{\Sigma^q}$ by $\sqrt{\Sigma^p \Sigma^q}$. With
    symmetric roots $A$, $B$ the distance falls by $2\,\mathrm{tr}(A B)$. $\Sigma^q \Sigma^p$ is similar to $A \Sigma^q
    A$, so the trace of its root is that of $(A B B A)^{1/2}$: the sum of the singular values of $B A$, never below
    $\mathrm{tr}(A B)$, and equal only if the covariances commute. So the printed value is too large exactly where they
    do not.

    Nor for every two models along whole trajectories, whose means are slopes times states that share their noise too
    (of exact denoisers see ``cspd.theorem-1.corrected``). With $x_1 = \varepsilon_2$, $x_0^p = a x_1^p + \varepsilon_1$
    and $x_0^q = b x_1^q + \varepsilon_1$ the second moment at $x_0$ falls from $a^2 + b^2 + 2$ to $(a - b)^2$, by $2 +
    2 a b$: by 4 for $a = b = 1$, and by $-6$ for $a = 2$, $b = -2$.
    """
    sizes = [(Fraction(a, b), Fraction(c, b)) for a in (1, 2, 5) for b in (1, 3) for c in (1, 4)]
    pairs = [(make(*one), make(*other)) for make in (diagonal, turned) for one in sizes for other in sizes]
    kernels = _one_step_chains(seed)

    def deviation(predicted: Callable[[np.ndarray, np.ndarray], Any]) -> float:
        """Of a formula in the two roots, from what the moments say: rationals, then the joint law of chains."""
        exactly = max(abs(reduction(p, q) - predicted(p, q)) for p, q in pairs)
        return float(max(exactly, largest((_lowered(*chains)[0] - predicted(p, q) for p, q, chains in kernels), NEAR)))

    worst = deviation(lambda p, q: 2 * np.trace(q @ p))
    require(all((p @ q == q @ p).all() and ((q @ p) @ (q @ p) == q @ q @ p @ p).all() for p, q in pairs), "no root")
    wrong: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
        "2 tr(Sq Sp), as after eq. 9": lambda p, q: 2 * np.trace(q @ q @ p @ p),
        "tr sqrt(Sq Sp)": lambda p, q: np.trace(q @ p),
        "noise that is not shared": lambda p, q: 0,
    }
    p, q = turned(3, 1), turned(2, 5)
    a, b = diagonal(5, 1), exact(((2, 3), (3, 6)))
    product = b @ b @ a @ a
    root = (product + 15 * diagonal(1, 1)) / Fraction(20)
    require((root @ root == product).all(), "that is no root of the product")
    true, printed = reduction(a, b), 2 * np.trace(root)
    excess = _excess(seed)
    require(true < printed and excess[0] > 0, "covariances that do not commute lose nothing")
    (opposite, one, _), (same, other, _) = (
        _lowered(affine_chain(2, (s, 0), (1, 1)), affine_chain(2, (r, 0), (1, 1))) for s, r in ((2, -2), (1, 1))
    )
    require(one == other == 2 and opposite < 0 and same > 2 + NEAR, "two steps lower the distance like one")
    return holds_if(
        worst == 0,
        identity(
            f"equal in rationals on {len(pairs)} pairs of 2 x 2 covariances, diagonal and turned by a common "
            f"rotation; and in the joint law of {len(kernels)} pairs of kernels in 2 to 4 dimensions, within {NEAR}",
        ),
        example(
            f"covariances of eigenvalues 9, 1 (target) and 4, 25 (draft) along (3, 4) / 5 and (-4, 3) / 5: the "
            f"distance falls by {reduction(p, q)}",
            numbers(Sp=p @ p, Sq=q @ q, reduction=reduction(p, q)),
        ),
        example(
            "not for every two covariances: Sp = diag(25, 1), Sq = (13, 24; 24, 45), the squares of diag(5, 1) and (2, "
            f"3; 3, 6): the distance falls by {true}, not by {printed}; ((Sq Sp) + 15 I) / 20 is the root of the "
            f"product, of trace {printed / 2}",
            numbers(Sp=a @ a, Sq=b @ b, reduction=true, printed=printed, root_of_product=root, root_p=a, root_q=b),
        ),
        search(
            f"200 random pairs in 3 dimensions: what is printed exceeds the reduction by {fmt(2 * excess[0])} to "
            f"{fmt(2 * excess[1])}, never the other way"
        ),
        example(
            "not for every two models along their trajectories: d = 1, T = 2, unit variances, last slopes 2 and -2: at "
            f"x_0 sharing the noise lowers the distance by {opposite:g}, from 10 to 16, where 2 is printed; with "
            f"slopes 1 and 1 it lowers it by {same:g}",
            numbers(slope_p=2, slope_q=-2, variance=1, reduction=opposite, printed=2, same_slopes=same),
        ),
        rejects_mutants(wrong, deviation, "Theorem 1"),
    )


def _one_step_chains(seed: int) -> list[tuple[np.ndarray, np.ndarray, tuple[Chain, Chain]]]:
    """Symmetric roots of commuting covariances, and chains of one step that have them."""
    random = np.random.default_rng(seed)
    found = []
    for d in (2, 3, 4):
        turn = np.linalg.qr(random.normal(size=(d, d)))[0]
        p, q = (turn * random.uniform(0.3, 2, d) @ turn.T for _ in range(2))
        flat = np.zeros((1, d, d))
        chains = [
            Chain(flat, flat, random.normal(size=(1, d)), root_of(root @ root)[None], np.eye(d)) for root in (p, q)
        ]
        found.append((p, q, (chains[0], chains[1])))
    return found


def _lowered(target: Chain, draft: Chain, given: tuple[np.ndarray, np.ndarray] | None = None) -> list[float]:
    """How much sharing the noise of the steps lowers E||x_t^q - x_t^p||^2, t at index t; x_T is shared both times."""
    nowhere = np.zeros(target.dimension)
    laws = [joint_states(target, draft, given or (nowhere, nowhere), a, start_shared=True) for a in (False, True)]
    return [own.distance - shared.distance for own, shared in zip(*laws, strict=True)]


def _excess(seed: int) -> tuple[float, float]:
    """By how much 200 random pairs have tr sqrt(Sq Sp) above the trace of the product of the roots: least and most."""
    random = np.random.default_rng(seed)
    pairs = ((root_of(m @ m.T) for m in random.normal(size=(2, 3, 3))) for _ in range(200))
    excess = [float(np.linalg.norm(q @ p, "nuc") - np.trace(q @ p)) for p, q in pairs]
    return min(excess), max(excess)


# Several steps, any roots --------------------------------------------------------------------------------------


def predicted(target: Chain, draft: Chain, carried: bool = True, transposed: bool = True) -> list[float]:
    """2 sum_s tr((P_s Lp_s)' Q_s Lq_s), s > t, for each state t; the last two make it wrong in one way each."""
    dense = target.layout.dense
    found = []
    for t in range(target.steps + 1):
        after = [np.eye(target.dimension)] * 2  # what the noise of step s is multiplied with on the way to x_t
        total = 0.0
        for s in range(t + 1, target.steps + 1):
            left, right = (m @ dense(c.factor[s - 1]) for m, c in zip(after, (target, draft), strict=True))
            total += 2 * float(np.trace((left.T if transposed else left) @ right))
            after = [m @ dense(c.slope[s - 1]) * carried for m, c in zip(after, (target, draft), strict=True)]
        found.append(total)
    return found


@CLAIMS.claim(
    "cspd.theorem-1.corrected",
    derived("Theorem 1 for whole trajectories", "with any roots $L L^T$ of covariances and over any number of steps"),
    r"With $P_s$, $Q_s$ the products of the slopes of target and draft from step $s - 1$ down to $t + 1$, sharing the "
    r"noise lowers $\mathbb{E}|x_t^q - x_t^p|^2$ by $2 \sum_{s > t} \mathrm{tr}((P_s L_s^p)^T Q_s L_s^q)$. Between "
    r"exact DDPM chains of normal data, of one schedule and with symmetric roots, it never raises it; with triangular "
    "roots it can, in a single step.",
    assumptions=[FIXED],
)
def corrected(seed: int) -> Finding:
    r"""By "state-free kernels" $x_t$ is affine in the noise, that of step $s$ entering with $P_s L_s^p$. So $x_t^q -
    x_t^p$ is a fixed vector plus noise, and independent and shared noise differ by twice the covariances
    $\mathbb{E}(P_s L_s^p \varepsilon_s)^T (Q_s L_s^q \varepsilon_s)$, a sum over the steps, as the noise of different
    steps is independent. One step with symmetric roots gives $2\,\mathrm{tr}(\sqrt{\Sigma^q}\sqrt{\Sigma^p})$. With
    exact posteriors of $N(c, C)$ all slopes and symmetric roots of one model are functions of its $C$ with no negative
    eigenvalue, so each $P_s L_s^p$ is symmetric and has none, each $Q_s L_s^q$ too, and the trace of the product of two
    such matrices is $\ge 0$, whether or not they commute.

    With other roots one step may lose. Every root is $\Sigma^{1/2} U$ with $U$ orthogonal, so that $\mathrm{tr}(L_q^T
    L_p)$ is that of $U_q^T \sqrt{\Sigma^q} \sqrt{\Sigma^p} U_p$. It lies between minus and plus the sum $n$ of the
    singular values of $\sqrt{\Sigma^q}\sqrt{\Sigma^p}$ and takes both values: the printed $2\,\mathrm{tr}\sqrt{\Sigma^q
    \Sigma^p} = 2 n$ is the most that any choice of roots gains, and $-2 n$ the worst. Symmetric roots $A$, $B$ never do
    harm: $\mathrm{tr}(B A) = |B^{1/2} A^{1/2}|_F^2 \ge 0$.
    """
    tried = random_chains(seed, 40)

    def deviation(formula: Callable[[Chain, Chain], list[float]]) -> float:
        both = (zip(_lowered(*case), formula(*case[:2]), strict=True) for case in tried)
        return largest((a - b for gaps in both for a, b in gaps), NEAR)

    random = np.random.default_rng(seed)
    least = np.inf
    for steps in (1, 2, 5, 20):
        abar = schedule("linear", steps=steps)
        for _ in range(5):
            p, q = (ddpm_chain(m @ m.T + 0.05 * np.eye(3), abar) for m in random.normal(size=(2, 3, 3)))
            least = min(least, *_lowered(p, q)[:-1])
    worst = deviation(predicted)
    slopes, sds = {"p": (0.5, 0.8, 1.0), "q": (-0.4, 0.9, 0.6)}, {"p": (0.5, 1.0, 0.7), "q": (0.8, 0.6, 1.1)}
    line = _lowered(affine_chain(3, slopes["p"], sds["p"]), affine_chain(3, slopes["q"], sds["q"]))[:-1]
    return holds_if(
        worst == 0 and least > 0,
        identity(
            f"equal within {NEAR} at every state of {len(tried)} random pairs of chains, 1 to 3 dimensions, 1 to 4 "
            "steps, diagonal, and dense with triangular roots",
        ),
        identity(
            "exact posteriors of 20 pairs of dense covariances that do not commute, 1 to 20 steps: at every "
            f"state the distance falls, at least by {fmt(least)}",
        ),
        example(
            "d = 1, T = 3, slopes .5, .8, 1 and -.4, .9, .6 from the last step on, deviations .5, 1, .7 and .8, .6, "
            f"1.1: at x_0, x_1, x_2 the distance falls by {', '.join(map(fmt, line))}",
            numbers(slopes=slopes, deviations=sds, reduction=line),
        ),
        *any_root(seed),
        rejects_mutants(
            {
                "only the noise of the step itself": lambda p, q: predicted(p, q, carried=False),
                "tr(Lp Lq) for tr(Lp' Lq)": lambda p, q: predicted(p, q, transposed=False),
            },
            deviation,
            "the reduction over several steps",
        ),
    )


# Whole trajectories --------------------------------------------------------------------------------------------


def distances(coupling: Coupling, first: int = 1, shared_end: bool = True) -> tuple[float, float]:
    """E||Yp - Yq||, and the root of the sum of E||x_t^q - x_t^p||^2 from t = ``first`` on."""
    d = coupling.target.dimension

    def gaps(pair: TrajectoryPair) -> np.ndarray:
        gap = pair.target.states - pair.draft.states
        if shared_end:
            gap[0] = 0
        return np.concatenate(list(gap), axis=1)

    mean, matrix = coupling.linear(gaps)
    moments = mean**2 + np.sum(matrix**2, axis=1)
    return mean_norm(mean, matrix @ matrix.T), float(np.sqrt(moments[first * d :].sum()))


def any_root(seed: int) -> list[Evidence]:
    """What roots that are not symmetric gain and lose in a single step."""
    p, q = exact(((1, 0), (-2, 1))), exact(((1, 0), (2, 1)))
    found = reduction(p, q)
    random = np.random.default_rng(seed)
    outside, least = 0.0, 0.0
    for _ in range(200):
        a, b = random.normal(size=(2, 3, 3))
        left, sizes, right = np.linalg.svd(root_of(b @ b.T) @ root_of(a @ a.T))
        bound = sizes.sum()
        outside = max(outside, abs(np.trace(b.T @ a)) - bound)
        best = np.trace((root_of(b @ b.T) @ left).T @ (root_of(a @ a.T) @ right.T))
        outside = max(outside, abs(best - bound) - NEAR)
        least = min(least, np.trace(root_of(b @ b.T) @ root_of(a @ a.T)))
    require(outside <= NEAR and found < 0 <= least, "a pair of roots lies outside of the bounds")
    return [
        example(
            "the triangular roots Lp = (1, 0; -2, 1) and Lq = (1, 0; 2, 1) of (1, -2; -2, 5) and (1, 2; 2, 5): "
            f"with independent noise E||x^q - x^p||^2 is 12, with shared noise it is {12 - found}",
            numbers(Lp=p, Lq=q, reduction=found, independent=Fraction(12), shared=12 - found),
        ),
        search(
            "200 random pairs in 3 dimensions: tr(Lq' Lp) is within the sum of singular values of the symmetric "
            "roots' product, roots turned by its singular vectors reach it, and symmetric roots never go below 0",
        ),
    ]


@CLAIMS.claim(
    "cspd.trajectory-distance",
    said(
        "A.1.2, eq. 19",
        "The distance over the entire trajectory satisfies: ... E[||Y_p − Y_q||] ≤ √(∑_{t=1}^T E||x_t^q − x_t^p||²)",
        "as stated",
        "the trajectories share x_0, as eq. 4 has it: with an x_0 each, the sum would have to start at t = 0",
    ),
    r"For every two trajectories with $x_0^p = x_0^q$, $\mathbb{E}|Y_p - Y_q| \le \sqrt{\sum_{t=1}^T "
    r"\mathbb{E}|x_t^q - x_t^p|^2}$.",
)
def trajectory_distance(seed: int) -> Finding:
    r"""$|Y_p - Y_q|^2$ is the sum over $t$ of $|x_t^q - x_t^p|^2$, in which $t = 0$ adds nothing as $x_0$ is shared.
    The root is concave, so the mean of a root is at most the root of the mean (Jensen), with equality only if $|Y_p -
    Y_q|$ is constant.
    """
    near = (affine_chain(2), affine_chain(2, 1, (1, 0.9)), UNCONDITIONAL)
    tried = [near, *random_chains(seed, 11)]
    cases = [
        coupling
        for case in tried
        for coupling in (Coupling(*case), independent_noise(*case), independent_noise(*case, start_shared=False))
    ]
    found = [distances(coupling) for coupling in cases]
    ratios = [left / right for left, right in found if right > 0]

    def excess(variant: Callable[[Coupling], tuple[float, float]]) -> float:
        """By how much a variant of the inequality fails somewhere."""
        return over(float(np.max([left - right for left, right in map(variant, cases)])), NEAR)

    def without_root(coupling: Coupling) -> tuple[float, float]:
        left, right = distances(coupling)
        return left, right**2

    wrong: dict[str, Callable[[Coupling], tuple[float, float]]] = {
        "an x_0 each, and the sum from t = 1": partial(distances, shared_end=False),
        "the sum from t = 2": partial(distances, first=2),
        "the sum without its root": without_root,
    }
    left, right = found[0]
    return holds_if(
        excess(distances) == 0,
        identity(
            f"{len(cases)} random pairs of trajectories, aligned or not, 1 to 3 dimensions and 1 to 4 steps: the "
            f"left side, one integral of a known function, is {fmt(min(ratios))} to {fmt(max(ratios))} of the right",
        ),
        example(
            "d = 1, T = 2, shared noise, x_1 = x_2 + e (target) or x_2 + 0.9 e (draft): the left side is 0.1 E|e|, the "
            "right side 0.1",
            numbers(sd_p=1, sd_q=0.9, left=left, right=right),
        ),
        rejects_mutants(wrong, excess, "the distance of trajectories"),
    )


# Correlation ---------------------------------------------------------------------------------------------------


def correlations(covariance: np.ndarray) -> np.ndarray:
    """``[d]``: of each coordinate of two vectors, from their joint covariance ``[2 d, 2 d]``."""
    d = len(covariance) // 2
    sizes = np.sqrt(np.diag(covariance))
    found: np.ndarray = np.diag(covariance[:d, d:]) / (sizes[:d] * sizes[d:])
    return found


@CLAIMS.claim(
    "cspd.correlation",
    said(
        "A.1.1",
        "our analysis shows that the correlation of p and q becomes 1",
        "formalised",
        "read for a coordinate of the two states after one step from given states, as Theorem 1 is proven",
    ),
    r"Given $x_t^p$ and $x_t^q$, with $\varepsilon_t^p = \varepsilon_t^q$ and diagonal covariances, each coordinate of "
    r"$x_{t-1}^p$ has correlation 1 with the same coordinate of $x_{t-1}^q$.",
    assumptions=[
        "known states: $x_t^p$ and $x_t^q$ are given, and with them both means and covariances",
        "diagonal roots: noise is multiplied with positive standard deviations, coordinate by coordinate",
    ],
)
def correlation_of_a_step(seed: int) -> Finding:
    r"""For "known states" the means are numbers, and for "diagonal roots" coordinate $i$ of each sample is its mean
    plus a positive multiple of the same $\varepsilon_{t,i}$. Two increasing affine functions of one variable have
    correlation 1. It does not depend on how far apart the means are, so by itself it does not make $p(x_0) / q(x_0)$
    large.

    Not for every two whole trajectories: with affine means in one dimension $x_0$ is a number plus $\sum_t a_t
    \varepsilon_t$ for the target and $\sum_t b_t \varepsilon_t$ for the draft, and their correlation is the cosine of
    the angle between $a$ and $b$. Let $x_1 = \varepsilon_2$ for both and $x_0 = c x_1 + \varepsilon_1$ with $c = 1$ for
    the target. For a draft of $c = 1/2$ it is $3 / \sqrt{10}$, and for $c = -2$ it is $-1 / \sqrt{10}$.
    """
    cases = random_chains(seed, 24)
    diagonal = [case for case in cases if case[0].slope.ndim == 2]

    def deviation(tried: list[Case], aligned: bool = True, further: int = 0) -> float:
        """How far correlations are from 1 after the first step from a known x_T, or after some more."""
        gaps = []
        for p, q, given in (case for case in tried if case[0].steps > further):
            target, draft = (replace(chain, start_factor=0 * chain.start_factor) for chain in (p, q))
            law = joint_states(target, draft, given, aligned)[target.steps - 1 - further]
            gaps.append(correlations(law.covariance) - 1)
        return largest(gaps, NEAR)

    whole = []
    for slope in (0.5, -2):
        target, draft = (affine_chain(2, (each, 0), (1, 1)) for each in (1, slope))
        law = joint_states(target, draft, UNCONDITIONAL, aligned=True)[0]
        whole.append(float(correlations(law.covariance)[0]))
    require(np.max(whole) < 1 - NEAR, "whole trajectories have correlation 1 too")
    return holds_if(
        deviation(diagonal) == 0,
        identity(f"1 within {NEAR} in the joint law of a step for {len(diagonal)} random pairs of diagonal kernels"),
        example(
            "not for every two trajectories: d = 1, T = 2, x_1 = e_2 for both models, then x_0 = c x_1 + e_1 with c = "
            f"1 (target) and 1/2 (draft): the correlation is 3 / sqrt(10) = {fmt(whole[0])}; with c = -2 it is "
            f"{fmt(whole[1])}",
            numbers(slope_p=1, slopes_q=[0.5, -2], correlation=whole),
        ),
        rejects_mutants(
            {
                "independent noise": lambda: deviation(diagonal, aligned=False),
                "triangular roots": lambda: deviation(cases),
                "a state two steps on": lambda: deviation(diagonal, further=1),
            },
            lambda variant: variant(),
            "the correlation",
        ),
    )
