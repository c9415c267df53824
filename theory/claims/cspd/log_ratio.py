"""Claims of CSpD about log ratios: how much the two-path ratio gains on the path ratio (A.1.3)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np

from simlab.continuous.models.chains import Chain
from simlab.continuous.rules import Path, TwoPath
from simlab.continuous.rules.base import TrajectoryPair
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.evidence import rejects_mutants, require
from theory.claims.format import fmt, numbers
from theory.continuous.example_processes import UNCONDITIONAL
from theory.continuous.joint_gaussian import last_means
from theory.continuous.paths import Coupling, independent_noise, log_path, on_the_line, random_chains, under

CLAIMS = Claims("cspd")
NEAR = 1e-8

CLAIMS.summary(
    "cspd.log-ratio",
    "A.1.3, eqs. 22 to 27",
    "Delta l = E log(p(Yp) / q(Yq)) - E log(p(Yq) / q(Yq)) is KL(q||p) + H(q) - H(p); it is >= 0; and so the mean "
    "ratio is higher.",
    [
        "cspd.log-ratio.identity",
        "cspd.log-ratio.sign",
        "cspd.log-ratio.higher-mean",
        "cspd.log-ratio.own-end",
        "cspd.log-ratio.own-end-sign",
        "cspd.log-ratio.unassumed",
        "cspd.log-ratio.shared-end",
    ],
)


class Logs(NamedTuple):
    """Means of log densities of whole trajectories, KL(q||p), and H(q) - H(p)."""

    shared_end: float  # Delta l with the draft's x_0 at the end of Yp, as eq. 4 defines it
    own_end: float  # Delta l with the x_0 that the target itself draws
    divergence: float
    entropies: float

    @property
    def printed(self) -> float:
        """Eq. 26."""
        return self.divergence + self.entropies


def logs(coupling: Coupling) -> Logs:
    """From the log densities themselves, which are quadratics in the noise; entropies from the determinants."""
    target, draft = coupling.target, coupling.draft

    def under_target(pair: TrajectoryPair) -> np.ndarray:
        return under(target, coupling.given[0], pair.draft.states)

    base = coupling.quadratic(under_target).mean
    return Logs(
        coupling.quadratic(lambda pair: log_path(pair.target, pair.draft.states[0])).mean - base,
        coupling.quadratic(lambda pair: log_path(pair.target)).mean - base,
        coupling.quadratic(lambda pair: log_path(pair.draft)).mean - base,
        _log_volume(draft) - _log_volume(target),
    )


def _log_volume(chain: Chain) -> float:
    """The entropy of a trajectory, up to what both models share: log |det F| and all log |det L_t|."""
    volumes = [chain.layout.log_volume(root) for root in (chain.start_factor, *chain.factor)]
    return float(sum(volumes))


def _near(found: float, value: Fraction | float) -> float:
    """``found``, which must be ``value``."""
    require(abs(found - float(value)) < NEAR, f"{found} is not {value}")
    return found


def _worst(gaps: list[float]) -> float:
    worst = max(map(abs, gaps))
    return worst if worst > NEAR else 0.0


# As printed, with the Yp of eq. 4 ------------------------------------------------------------------------------


@CLAIMS.claim(
    "cspd.log-ratio.identity",
    "A.1.3, eq. 26; Yp as in eq. 4",
    "Delta l = KL(q||p) + H(q) - H(p), for trajectories that share x_0.",
)
def identity(seed: int) -> Finding:
    """Eq. 24 takes Yp for a trajectory of p. By eq. 4 its x_0 is the draft's, so it is none. With T = 1 and a shared
    x_1 the two trajectories are the same, and Delta l = 0, while eq. 26 says m^2 / 2 for two unit normals m apart. What
    is true is in cspd.log-ratio.own-end and cspd.log-ratio.shared-end.
    """
    found = logs(Coupling(on_the_line((0,), (1,), (2,)), on_the_line((0,), (1,)), UNCONDITIONAL))
    one = on_the_line((1, 1), (1, 1))
    same = logs(independent_noise(one, one, UNCONDITIONAL))
    gaps = [_near(found.shared_end, 0) - _near(found.printed, 2), _near(same.shared_end, -1) - _near(same.printed, 0)]
    return Finding(
        "refuted" if _worst(gaps) > 0 else "not-refuted",
        [
            Evidence(
                "counterexample",
                "d = 1, T = 1, x_1 shared, x_0 from N(2, 1) (target) or N(0, 1) (draft): Yp = Yq, so Delta l = 0, "
                "where eq. 26 says 2",
                numbers(mean_p=2, mean_q=0, delta=Fraction(0), printed=Fraction(2)),
            ),
            Evidence(
                "counterexample",
                "d = 1, T = 2, target and draft the same, x_1 = x_2 + e_2, x_0 = x_1 + e_1, e_2 not shared: Delta l = "
                "-1, where eq. 26 says 0",
                numbers(slopes=(1, 1), deviations=(1, 1), delta=Fraction(-1), printed=Fraction(0)),
            ),
        ],
    )


@CLAIMS.claim(
    "cspd.log-ratio.sign",
    "A.1.3, eq. 27; Yp as in eq. 4",
    "Where H(q) >= H(p), Delta l >= 0, for trajectories that share x_0.",
)
def sign(seed: int) -> Finding:
    """Let x_1 = s e with shared noise, s = 1 (target) and 2 (draft), and x_0 = 2 x_1 + e_1 for both: H(q) - H(p) = log
    2. Down to x_1 the target's own trajectory gains E((2 e)^2 - e^2) / 2 = 3/2 on the draft's. But the shared x_0 lies
    at 2 (2 e) + e_1 and is compared from 2 e: that costs E(2 e)^2 / 2 = 2. Delta l = -1/2.
    """
    p, q = (on_the_line((2, 0), (1, s)) for s in (1, 2))
    aligned, own = logs(Coupling(p, q, UNCONDITIONAL)), logs(independent_noise(p, q, UNCONDITIONAL))
    delta = _near(aligned.shared_end, Fraction(-1, 2))
    require(aligned.entropies > 0, "the draft's entropy is not the larger")
    return Finding(
        "refuted" if delta < 0 else "not-refuted",
        [
            Evidence(
                "counterexample",
                "d = 1, T = 2, x_1 = e_2 (target) or 2 e_2 (draft), then x_0 = 2 x_1 + e_1: Delta l is -1/2 with "
                f"shared noise and {fmt(own.shared_end)} without, H(q) - H(p) = log 2, and eq. 26 says "
                f"{fmt(aligned.printed)}",
                numbers(
                    delta_aligned=Fraction(-1, 2),
                    delta_own=own.shared_end,
                    entropies=aligned.entropies,
                    divergence=aligned.divergence,
                    last_slope=2,
                    sd_p=1,
                    sd_q=2,
                ),
            )
        ],
    )


@CLAIMS.claim(
    "cspd.log-ratio.higher-mean",
    "A.1.3, after eq. 27",
    "A larger mean log ratio leads to a higher mean ratio: where Delta l > 0, E[p(Yp) / q(Yq)] exceeds E[p(Y) / q(Y)].",
)
def higher_mean(seed: int) -> Finding:
    """The mean of p(Y) / q(Y) is 1 always, that of the two-path ratio with shared noise is Sigma (cspd.path-ratio),
    which knows of no means. Let x_1 = 2 e (target) or 2 + e (draft), and x_0 = e_1 or 4 e_1: Sigma = 1/2, H(q) - H(p) =
    log 2, and Delta l = -1/2 + E(2 + e)^2 / 8 = 1/8.
    """
    p, q = on_the_line((0, 0), (1, 2)), on_the_line((0, 0), (4, 1), (0, 2))
    coupling = Coupling(p, q, UNCONDITIONAL)
    found = logs(coupling)
    delta, mean = found.shared_end, coupling.quadratic(TwoPath(aligned=True).log_draft_ratio).mean_exp
    path = coupling.quadratic(Path().log_draft_ratio).mean_exp
    for value, by_hand in ((delta, Fraction(1, 8)), (mean, Fraction(1, 2)), (path, Fraction(1))):
        _near(value, by_hand)
    require(found.entropies > 0 and found.own_end > 0, "what the paper assumes is not so")
    return Finding(
        "refuted" if delta > 0 and mean < path else "not-refuted",
        [
            Evidence(
                "counterexample",
                "d = 1, T = 2, shared noise, x_1 = 2 e_2 (target) or 2 + e_2 (draft), x_0 = e_1 or 4 e_1: Delta l = "
                f"1/8 (and {fmt(found.own_end)} with an x_0 each), H(q) - H(p) = log 2, but the mean of the "
                "two-path ratio is 1/2 and that of the path ratio 1",
                numbers(delta=Fraction(1, 8), mean_two_path=Fraction(1, 2), mean_path=Fraction(1), own=found.own_end),
            )
        ],
    )


# What is true --------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "cspd.log-ratio.own-end",
    "A.1.3, eq. 26, read with an x_0 each",
    "Where Yp is a trajectory of p to its end, Delta l = KL(q||p) + H(q) - H(p).",
    stated=False,
)
def own_end(seed: int) -> Finding:
    """E log p(Yp) = -H(p) whatever Yp has to do with Yq, and E log p(Yq) = E log q(Yq) - KL(q||p) = -H(q) - KL(q||p).
    So Delta l does not depend on the noise being shared.
    """
    tried = [way(*case) for case in random_chains(seed, 20) for way in (Coupling, independent_noise)]
    found = list(map(logs, tried))
    worst = _worst([value.own_end - value.printed for value in found])
    wrong: dict[str, Callable[[Logs], float]] = {
        "x_0 shared": lambda value: value.shared_end - value.printed,
        "without entropies": lambda value: value.own_end - value.divergence,
        "entropies exchanged": lambda value: value.own_end - value.divergence + value.entropies,
    }
    return Finding(
        "holds" if worst == 0 else "refuted",
        [
            Evidence("identity", f"equal within {NEAR} on {len(tried)} random pairs, with shared noise and without"),
            rejects_mutants(wrong, lambda gap: _worst(list(map(gap, found))), "the mean log ratio"),
        ],
    )


@CLAIMS.claim(
    "cspd.log-ratio.own-end-sign",
    "A.1.3, eq. 27, read with an x_0 each",
    "Where Yp is a trajectory of p to its end and H(q) >= H(p), Delta l >= 0.",
    assumptions=["H(q) >= H(p)"],
    stated=False,
)
def own_end_sign(seed: int) -> Finding:
    """KL(q||p) >= 0 by Jensen, and the rest is assumed."""
    found = [logs(Coupling(*case)) for case in random_chains(seed, 60)]
    more = [value.own_end for value in found if value.entropies >= 0]
    least = min(more)

    def below(offset: float) -> float:
        return max(0.0, max(offset * value.divergence - value.own_end for value in found if value.entropies >= 0))

    return Finding(
        "holds-under-assumptions" if least >= 0 else "refuted",
        [
            Evidence("identity", f"{len(more)} random pairs with H(q) >= H(p): Delta l is at least {fmt(least)}"),
            rejects_mutants({"at least twice KL(q||p)": 2.0}, below, "the sign of Delta l"),
        ],
    )


@CLAIMS.claim(
    "cspd.log-ratio.unassumed",
    "A.1.3, eq. 27, without its assumption",
    "Where Yp is a trajectory of p to its end, Delta l >= 0, also if the draft has the smaller entropy.",
    stated=False,
)
def unassumed(seed: int) -> Finding:
    """For p = N(0, 1) and q = N(0, s^2) E log p is -1/2 under p and -s^2 / 2 under q, up to the same constant. So Delta
    l is (s^2 - 1) / 2 < 0 for s < 1: a draft that stays nearer to the mode has the higher density under the target.
    """
    found = logs(Coupling(on_the_line((0,), (1,)), on_the_line((0,), (0.5,)), UNCONDITIONAL))
    delta = _near(found.own_end, Fraction(-3, 8))
    return Finding(
        "refuted" if delta < 0 else "not-refuted",
        [
            Evidence(
                "counterexample",
                "d = 1, T = 1, x_0 from N(0, 1) (target) or N(0, 1/4) (draft): Delta l = -3/8",
                numbers(sd_p=1, sd_q=Fraction(1, 2), delta=Fraction(-3, 8), entropies=found.entropies),
            )
        ],
    )


def missed(coupling: Coupling, aligned: bool, draft_noise: bool = True) -> float:
    """(E m^2 - d) / 2, m the distance of the draft's x_0 from where the target's last kernel goes, in its own roots.

    The joint law of the two last means says how far they are apart; the draft's last noise adds to that.
    """
    target, draft = coupling.target, coupling.draft
    dense, size = target.layout.dense, target.dimension
    mean, spread = last_means(target, draft, coupling.given, aligned).gap
    last = dense(draft.factor[0]) * draft_noise
    parts = np.column_stack([mean, last])
    inverse = np.linalg.inv(dense(target.factor[0]))
    whole = np.trace(inverse @ spread @ inverse.T) + np.sum((inverse @ parts) ** 2)
    return (float(whole) - size) / 2


@CLAIMS.claim(
    "cspd.log-ratio.shared-end",
    "not in the paper",
    "For trajectories that share x_0, Delta l = KL(q||p) + H(q) - H(p) - (E m^2 - d) / 2, m the distance of the draft "
    "from the mean of the target's last kernel in units of its covariance: m^2 = |Lp_1^-1 (x_0 - mu_1^p(x_1^p))|^2.",
    stated=False,
)
def shared_end(seed: int) -> Finding:
    """Against a trajectory of p only log p(x_0 | x_1^p) differs. At the target's own x_0 its exponent has the mean -d /
    2, at the draft's -E m^2 / 2. Here the coupling enters: E m^2 = tr Sp_1^-1 (g g' + G + Sq_1), with g and G the mean
    and covariance of the gap of the two last means, and alignment changes G alone. On the line, with slopes of one
    sign, it makes G smaller and so Delta l larger.
    """
    cases = random_chains(seed, 20)
    tried = [
        (way(*case), way is Coupling)
        for case in cases
        for way in (Coupling, partial(independent_noise, start_shared=False))
    ]
    found = [(logs(coupling), coupling, aligned) for coupling, aligned in tried]

    def deviation(correction: Callable[[Coupling, bool], float]) -> float:
        return _worst([v.shared_end - v.printed + correction(coupling, aligned) for v, coupling, aligned in found])

    worst = deviation(missed)
    wrong: dict[str, Callable[[Coupling, bool], float]] = {
        "eq. 26": lambda coupling, aligned: 0.0,
        "noise taken for shared": lambda coupling, aligned: missed(coupling, True),
        "without the draft's last noise": lambda coupling, aligned: missed(coupling, aligned, draft_noise=False),
    }
    return Finding(
        "holds" if worst == 0 else "refuted",
        [
            Evidence(
                "identity",
                f"the log densities and the joint law of the last means agree within {NEAR} on {len(tried)} random "
                "pairs, with all noise shared and with none",
            ),
            rejects_mutants(wrong, deviation, "the mean log ratio with a shared x_0"),
        ],
    )
