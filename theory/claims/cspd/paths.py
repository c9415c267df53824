"""Claims of CSpD about the distance of two trajectories: Theorem 1, and whole trajectories."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from simlab.continuous.models.chains import Chain
from simlab.continuous.models.diffusion import ddpm_chain, schedule
from simlab.continuous.models.gaussians import root_of
from simlab.continuous.rules.base import TrajectoryPair
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.evidence import rejects_mutants, require
from theory.claims.format import fmt, numbers
from theory.continuous.joint_gaussian import joint_states
from theory.continuous.paths import Coupling, independent_noise, mean_norm, on_the_line, random_chains

CLAIMS = Claims("cspd")
Root = tuple[tuple[Any, Any], tuple[Any, Any]]  # a root of a covariance, 2 x 2
NEAR = 1e-9  # float64 against float64, for numbers of order 10

CLAIMS.summary(
    "cspd.theorem-1",
    "Theorem 1; eqs. 30 to 45",
    "Sharing the noise lowers E||x^q - x^p||^2 by 2 tr sqrt(Sq Sp): diagonal, commuting and non-commuting covariances, "
    "one step and several.",
    [
        "cspd.theorem-1.commuting",
        "cspd.theorem-1.non-commuting",
        "cspd.theorem-1.several-steps",
        "cspd.theorem-1.any-root",
        "cspd.theorem-1.corrected",
    ],
)


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
    return turn @ exact(((first, 0), (0, second))) @ turn.T


@CLAIMS.claim(
    "cspd.theorem-1.commuting",
    "Theorem 1; eqs. 30 to 45",
    "One step with given means: sharing the noise lowers E||x^q - x^p||^2 by 2 tr sqrt(Sq Sp), where Sq and Sp "
    "commute, as diagonal ones do.",
    assumptions=["Sq and Sp commute", "both roots are the symmetric ones", "the means are given, not drawn"],
)
def commuting(seed: int) -> Finding:
    """x^q - x^p = m + Lq eq - Lp ep with m fixed and mean-zero noise, so the second moment is |m|^2 + tr Sq + tr Sp - 2
    E (Lq eq)'(Lp ep). Independent noise makes the last term 0, shared noise E e'Lq'Lp e = tr(Lq' Lp). So the reduction
    is 2 tr(Lq' Lp). Symmetric roots of commuting covariances commute and are diagonal in the same basis, so Lq Lp is
    symmetric with eigenvalues >= 0 and its square is Sq Sp: it is sqrt(Sq Sp). (The sentence after eq. 9 prints 2 tr(Sq
    Sp), without the root.)
    """
    sizes = [(Fraction(a, b), Fraction(c, b)) for a in (1, 2, 5) for b in (1, 3) for c in (1, 4)]
    pairs = [(make(*one), make(*other)) for make in (_diagonal, turned) for one in sizes for other in sizes]
    kernels = _one_step_chains(seed)

    def deviation(predicted: Callable[[np.ndarray, np.ndarray], Any]) -> float:
        """Of a formula in the two roots, from what the moments say: rationals, then the joint law of chains."""
        worst = max(abs(reduction(p, q) - predicted(p, q)) for p, q in pairs)
        for p, q, chains in kernels:
            found = _lowered(*chains)[0]
            gap = abs(found - predicted(p, q))
            worst = max(worst, gap if gap > NEAR else 0)
        return float(worst)

    worst = deviation(lambda p, q: 2 * np.trace(q @ p))
    require(all((p @ q == q @ p).all() and ((q @ p) @ (q @ p) == q @ q @ p @ p).all() for p, q in pairs), "no root")
    wrong: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
        "2 tr(Sq Sp), as after eq. 9": lambda p, q: 2 * np.trace(q @ q @ p @ p),
        "tr sqrt(Sq Sp)": lambda p, q: np.trace(q @ p),
        "noise that is not shared": lambda p, q: 0,
    }
    return Finding(
        "holds-under-assumptions" if worst == 0 else "refuted",
        [
            Evidence(
                "identity",
                f"equal in rationals on {len(pairs)} pairs of 2 x 2 covariances, diagonal and turned by a common "
                f"rotation; and in the joint law of {len(kernels)} pairs of kernels in 2 to 4 dimensions, within "
                f"{NEAR}",
            ),
            rejects_mutants(wrong, deviation, "Theorem 1"),
        ],
    )


def _diagonal(first: Any, second: Any) -> np.ndarray:
    return exact(((first, 0), (0, second)))


def _one_step_chains(seed: int) -> list[tuple[np.ndarray, np.ndarray, tuple[Chain, Chain]]]:
    """Symmetric roots of commuting covariances, and chains of one step that have them."""
    random = np.random.default_rng(seed)
    found = []
    for d in (2, 3, 4):
        turn = np.linalg.qr(random.normal(size=(d, d)))[0]
        p, q = (turn * random.uniform(0.3, 2, d) @ turn.T for _ in range(2))
        chains = [_one_step(root_of(root @ root), random.normal(size=d)) for root in (p, q)]
        found.append((p, q, (chains[0], chains[1])))
    return found


def _one_step(root: np.ndarray, mean: np.ndarray) -> Chain:
    nothing = np.zeros((1, *root.shape))
    return Chain(nothing, nothing, mean[None], root[None], np.eye(len(root)))


def _lowered(target: Chain, draft: Chain, given: tuple[np.ndarray, np.ndarray] | None = None) -> list[float]:
    """How much sharing the noise of the steps lowers E||x_t^q - x_t^p||^2, t at index t; x_T is shared both times."""
    nowhere = np.zeros(target.dimension)
    laws = [joint_states(target, draft, given or (nowhere, nowhere), a, start_shared=True) for a in (False, True)]
    return [own.distance - shared.distance for own, shared in zip(*laws, strict=True)]


@CLAIMS.claim(
    "cspd.theorem-1.non-commuting",
    "Theorem 1; eqs. 43 and 45",
    "The same where Sq and Sp do not commute: sharing the noise lowers E||x^q - x^p||^2 by 2 tr sqrt(Sq Sp).",
)
def non_commuting(seed: int) -> Finding:
    """Eq. 43 replaces sqrt(Sp) sqrt(Sq) by sqrt(Sp Sq). With symmetric roots A and B the reduction is 2 tr(A B). Sq Sp
    is similar to A Sq A, so the trace of its root is that of (A B B A)^1/2: the sum of the singular values of B A,
    never below tr(A B), and equal only if A B is symmetric, that is, if they commute. So the theorem promises too much
    exactly where covariances do not commute. For 2 x 2, with A = diag(a, b) and B = (c, d; d, e), the sum of the
    singular values is the root of tr(A B)^2 + d^2 (a - b)^2. DDPM's variances are diagonal: there the theorem holds.
    """
    a, b = exact(((5, 0), (0, 1))), exact(((2, 3), (3, 6)))
    product = b @ b @ a @ a
    root = (product + 15 * exact(((1, 0), (0, 1)))) / Fraction(20)
    require((root @ root == product).all(), "that is no root of the product")
    true, printed = reduction(a, b), 2 * np.trace(root)

    random = np.random.default_rng(seed)
    excess = []
    for _ in range(200):
        p, q = (root_of(m @ m.T) for m in random.normal(size=(2, 3, 3)))
        excess.append(float(np.linalg.norm(q @ p, "nuc") - np.trace(q @ p)))
    require(min(excess) > 0, "the reduction is above what the theorem says")
    together = float(np.linalg.norm((turned(2, 3) @ turned(1, 5)).astype(float), "nuc")) - 17
    require(abs(together) < NEAR, "the two differ where covariances commute")
    return Finding(
        "refuted" if true != printed else "not-refuted",
        [
            Evidence(
                "counterexample",
                "Sp = diag(25, 1), Sq = (13, 24; 24, 45), the squares of diag(5, 1) and (2, 3; 3, 6): the distance "
                f"falls by {true}, not by {printed}; ((Sq Sp) + 15 I) / 20 is the root of the product, of trace "
                f"{printed / 2}",
                numbers(Sp=a @ a, Sq=b @ b, reduction=true, printed=printed, root_of_product=root, root_p=a, root_q=b),
            ),
            Evidence(
                "search",
                f"200 random pairs in 3 dimensions: what is printed exceeds the reduction by {fmt(2 * min(excess))} "
                f"to {fmt(2 * max(excess))}, never the other way; where they commute by 0 up to {NEAR}",
            ),
        ],
    )


@CLAIMS.claim(
    "cspd.theorem-1.any-root",
    "eqs. 30 and 38, read for any root",
    "Whatever roots of the covariances make the samples, sharing the noise does not drive them apart.",
    stated=False,
)
def any_root(seed: int) -> Finding:
    """x = m + L e has covariance L L' for any root L, and the reduction is 2 tr(Lq' Lp), which may be negative. Every
    root is S^1/2 U with U orthogonal, so the trace is that of Uq' Sq^1/2 Sp^1/2 Up, which lies between minus and plus
    the sum n of the singular values of Sq^1/2 Sp^1/2 and takes both values: the printed 2 tr sqrt(Sq Sp) = 2 n is the
    most that any choice of roots gains, and -2 n the worst. Symmetric roots A, B never do harm: tr(B A) = ||B^1/2
    A^1/2||^2 >= 0, in the Frobenius norm.
    """
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
    require(outside <= NEAR and least >= 0, "a pair of roots lies outside of the bounds")
    return Finding(
        "refuted" if found < 0 else "not-refuted",
        [
            Evidence(
                "counterexample",
                "the triangular roots Lp = (1, 0; -2, 1) and Lq = (1, 0; 2, 1) of (1, -2; -2, 5) and (1, 2; 2, 5): "
                f"with independent noise E||x^q - x^p||^2 is 12, with shared noise it is {12 - found}",
                numbers(Lp=p, Lq=q, reduction=found, independent=Fraction(12), shared=12 - found),
            ),
            Evidence(
                "search",
                "200 random pairs in 3 dimensions: tr(Lq' Lp) is within the sum of singular values of the symmetric "
                "roots' product, roots turned by its singular vectors reach it, and symmetric roots never go below 0",
            ),
        ],
    )


# Several steps -------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "cspd.theorem-1.several-steps",
    "3.2, after eq. 9; A.2",
    "Along trajectories too sharing the noise lowers E||x_{t-1}^q - x_{t-1}^p||^2 at each step by 2 tr sqrt(Sq_t "
    "Sp_t), and so throughout the denoising process.",
)
def several_steps(seed: int) -> Finding:
    """The theorem takes the means as given, but in a walk they are slopes times states that share their noise too. With
    x_1 = e_2 for both models and x_0 = a x_1 + e_1, b x_1 + e_1, everything of variance 1, the second moment at x_0 is
    a^2 + b^2 + 2 with independent noise and (a - b)^2 with shared noise: a reduction of 2 + 2 a b. It is 2 only if one
    slope is 0, more if both point the same way, and negative for a = 2, b = -2: 10 becomes 16.
    """
    unit = (1, 1)
    (opposite, first, _), (same, other, _) = (
        _lowered(on_the_line((a, 0), unit), on_the_line((b, 0), unit)) for a, b in ((2, -2), (1, 1))
    )
    require(first == other == 2, "the first step is not that of the theorem")
    return Finding(
        "refuted" if opposite < 0 and same != 2 else "not-refuted",
        [
            Evidence(
                "counterexample",
                f"d = 1, T = 2, unit variances, last slopes 2 and -2: at x_0 sharing the noise lowers the distance by "
                f"{opposite:g}, from 10 to 16, where 2 is printed; with slopes 1 and 1 it lowers it by {same:g}",
                numbers(slope_p=2, slope_q=-2, variance=1, reduction=opposite, printed=2, same_slopes=same),
            )
        ],
    )


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
    "not in the paper",
    "With any roots and over any number of steps, sharing the noise lowers E||x_t^q - x_t^p||^2 by "
    "2 sum_{s > t} tr((P_s Lp_s)' Q_s Lq_s), with P_s, Q_s the products of the slopes from step s - 1 down to t + 1; "
    "between exact DDPM chains of normal data it never raises it.",
    stated=False,
    assumptions=["slopes and covariances do not depend on the state"],
)
def corrected(seed: int) -> Finding:
    """x_t is affine in the noise, the noise of step s entering with P_s Lp_s, so x_t^q - x_t^p is a fixed vector plus
    the noise; independent and shared noise differ by twice the covariances E(P_s Lp_s e)'(Q_s Lq_s e), a sum over the
    steps as noises of different steps are independent. One step with symmetric roots gives 2 tr(sqrt(Sq) sqrt(Sp)).
    With exact posteriors of N(c, C) all slopes and symmetric roots of one model are functions of its C with eigenvalues
    >= 0, so each P_s Lp_s is symmetric and has no negative eigenvalue, each Q_s Lq_s too, and the trace of the product
    of two such matrices is >= 0, whether or not they commute.
    """
    tried = random_chains(seed, 40)

    def deviation(formula: Callable[[Chain, Chain], list[float]]) -> float:
        gaps = [
            abs(a - b)
            for target, draft, given in tried
            for a, b in zip(_lowered(target, draft, given), formula(target, draft), strict=True)
        ]
        return max(gap if gap > NEAR else 0.0 for gap in gaps)

    random = np.random.default_rng(seed)
    least = np.inf
    for steps in (1, 2, 5, 20):
        abar = schedule("linear", steps=steps)
        for _ in range(5):
            p, q = (ddpm_chain(m @ m.T + 0.05 * np.eye(3), abar) for m in random.normal(size=(2, 3, 3)))
            least = min(least, *_lowered(p, q)[:-1])
    worst = deviation(predicted)
    return Finding(
        "holds-under-assumptions" if worst == 0 and least > 0 else "refuted",
        [
            Evidence(
                "identity",
                f"equal within {NEAR} at every state of {len(tried)} random pairs of chains, 1 to 3 dimensions, 1 to 4 "
                "steps, diagonal, and dense with triangular roots",
            ),
            Evidence(
                "example",
                "exact posteriors of 20 pairs of dense covariances that do not commute, 1 to 20 steps: at every "
                f"state the distance falls, at least by {fmt(least)}",
            ),
            rejects_mutants(
                {
                    "only the noise of the step itself": lambda p, q: predicted(p, q, carried=False),
                    "tr(Lp Lq) for tr(Lp' Lq)": lambda p, q: predicted(p, q, transposed=False),
                },
                deviation,
                "the reduction over several steps",
            ),
        ],
    )


# Whole trajectories --------------------------------------------------------------------------------------------


def distances(coupling: Coupling, first: int, shared_end: bool) -> tuple[float, float]:
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


@CLAIMS.claim(
    "cspd.trajectory-distance",
    "A.1.2, eq. 19",
    "E||Yp - Yq|| <= sqrt(sum_{t=1}^T E||x_t^q - x_t^p||^2), for trajectories that share x_0, as those of eq. 4 do.",
)
def trajectory_distance(seed: int) -> Finding:
    """||Yp - Yq||^2 is the sum over t of ||x_t^q - x_t^p||^2, in which t = 0 adds nothing as x_0 is shared (else the
    sum starts there). The root is concave, so the mean of a root is at most the root of the mean (Jensen); equal only
    if ||Yp - Yq|| is constant. Eq. 20 then sums distances of x_{t-1}, which counts that of an x_0 which is shared; it
    takes the means as given (see cspd.theorem-1.several-steps).
    """
    near = (on_the_line((1, 1), (1, 1)), on_the_line((1, 1), (1, 0.9)), (np.zeros(1), np.zeros(1)))
    tried = [near, *random_chains(seed, 23)]
    cases = [
        coupling
        for case in tried
        for coupling in (Coupling(*case), independent_noise(*case), independent_noise(*case, start_shared=False))
    ]
    found = [distances(coupling, 1, True) for coupling in cases]
    over = max(left - right for left, right in found)
    ratios = [left / right for left, right in found if right > 0]

    def excess(variant: Callable[[Coupling], tuple[float, float]]) -> float:
        """By how much a variant of the inequality fails somewhere."""
        worst = max(left - right for left, right in map(variant, cases))
        return worst if worst > NEAR else 0.0

    wrong: dict[str, Callable[[Coupling], tuple[float, float]]] = {
        "an x_0 each, and the sum from t = 1": lambda coupling: distances(coupling, 1, False),
        "the sum from t = 2": lambda coupling: distances(coupling, 2, True),
        "the sum without its root": lambda coupling: (
            distances(coupling, 1, True)[0],
            distances(coupling, 1, True)[1] ** 2,
        ),
    }
    return Finding(
        "holds" if over <= NEAR else "refuted",
        [
            Evidence(
                "identity",
                f"{len(cases)} random pairs of trajectories, aligned or not, 1 to 3 dimensions and 1 to 4 steps: the "
                f"left side, one integral of a known function, is {fmt(min(ratios))} to {fmt(max(ratios))} of "
                "the right",
                numbers(least=min(ratios), most=max(ratios)),
            ),
            rejects_mutants(wrong, excess, "the distance of trajectories"),
        ],
    )
