"""Claims of CSpD about log ratios: how much the two-path ratio gains on the path ratio (A.1.3)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np

from simlab.continuous import affine_chain
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.trajectories import TrajectoryPair
from simlab.continuous.rules import Path
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.cspd.ratios import FULL, mean_ratio
from theory.claims.evidence import example, holds_if, largest, rejects_mutants, require
from theory.claims.evidence import identity as checked
from theory.claims.format import fmt, numbers
from theory.claims.sources import said
from theory.continuous.example_processes import UNCONDITIONAL
from theory.continuous.joint_gaussian import last_means
from theory.continuous.paths import Coupling, independent_noise, log_path, random_chains, under

CLAIMS = Claims("cspd")
NEAR = 1e-8


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
    target = coupling.target
    base = coupling.quadratic(lambda pair: under(target, coupling.given[0], pair.draft.states)).mean
    return Logs(
        coupling.quadratic(lambda pair: log_path(pair.target, pair.draft.states[0])).mean - base,
        coupling.quadratic(lambda pair: log_path(pair.target)).mean - base,
        coupling.quadratic(lambda pair: log_path(pair.draft)).mean - base,
        _wider(coupling),
    )


def _wider(coupling: Coupling) -> float:
    """H(q) - H(p)."""
    return _log_volume(coupling.draft) - _log_volume(coupling.target)


def _log_volume(chain: Chain) -> float:
    """The entropy of a trajectory, up to what both models share: log |det F| and all log |det L_t|."""
    volumes = [chain.layout.log_volume(root) for root in (chain.start_factor, *chain.factor)]
    return float(sum(volumes))


def _near(found: float, value: Fraction | float) -> float:
    """``found``, which must be ``value``."""
    require(abs(found - float(value)) < NEAR, f"{found} is not {value}")
    return found


WIDER = affine_chain(2, (2, 0), (1, 1)), affine_chain(2, (2, 0), (1, 2))
NARROWER = affine_chain(1, 0, 1), affine_chain(1, 0, 0.5)
WIDER_IS = "d = 1, T = 2, shared noise, x_1 = e_2 (target) or 2 e_2 (draft), then x_0 = 2 x_1 + e_1"

# With an x_0 each, as eq. 24 has it ----------------------------------------------------------------------------


OWN_END = "each with an $x_0$ of its own, as eq. 24 has it and eq. 4 does not"


@CLAIMS.claim(
    "cspd.log-ratio.own-end",
    said(
        "A.1.3, eqs. 24 to 26",
        "E[log p(Y_p)] = E_{Y∼p}[log p(Y)] = −H(p) ... Substituting into Δl yields: ... D_{KL}(q||p) + [H(q) − H(p)]",
        "as stated",
        f"the trajectories are {OWN_END}",
    ),
    r"If $Y_p$ is a trajectory of $p$ down to an $x_0$ of its own, $\Delta l = \mathbb{E}\log p(Y_p) - \mathbb{E}\log "
    r"p(Y_q)$ equals $D_{KL}(q | p) + H(q) - H(p)$.",
)
def own_end(seed: int) -> Finding:
    r"""$\mathbb{E}\log p(Y_p) = -H(p)$ whatever $Y_p$ has to do with $Y_q$, and $\mathbb{E}\log p(Y_q) =
    \mathbb{E}\log q(Y_q) - D_{KL}(q | p) = -H(q) - D_{KL}(q | p)$. So $\Delta l$ does not depend on whether the noise
    is shared.
    """
    tried = [way(*case) for case in random_chains(seed, 12) for way in (Coupling, independent_noise)]
    found = list(map(logs, tried))

    def deviation(gap: Callable[[Logs], float]) -> float:
        return largest(map(gap, found), NEAR)

    wrong: dict[str, Callable[[Logs], float]] = {
        "x_0 shared": lambda value: value.shared_end - value.printed,
        "without entropies": lambda value: value.own_end - value.divergence,
        "entropies exchanged": lambda value: value.own_end - value.divergence + value.entropies,
    }
    pair = logs(Coupling(*WIDER, UNCONDITIONAL))
    return holds_if(
        deviation(lambda value: value.own_end - value.printed) == 0,
        checked(f"equal within {NEAR} on {len(tried)} random pairs, with shared noise and without"),
        example(
            f"{WIDER_IS}: Delta l = {fmt(pair.own_end)}, of which KL(q||p) is {fmt(pair.divergence)}",
            numbers(
                sd_p=1, sd_q=2, last_slope=2, delta=pair.own_end, divergence=pair.divergence, entropies=pair.entropies
            ),
        ),
        rejects_mutants(wrong, deviation, "the mean log ratio"),
    )


@CLAIMS.claim(
    "cspd.log-ratio.own-end-sign",
    said(
        "A.1.3, eq. 27",
        "Therefore, we assume the draft model’s entropy H(q) is larger than the target model’s entropy H(p). We have: "
        "... ≥ 0.",
        "formalised",
        f"The trajectories are read {OWN_END}. Of the ratio of eq. 4, with which drafts are verified and whose "
        "trajectories share $x_0$, this is stronger than what A.1.3 derives: the last three examples.",
    ),
    r"If $Y_p$ is a trajectory of $p$ down to an $x_0$ of its own and $H(q) \ge H(p)$, then $\Delta l = "
    r"\mathbb{E}\log p(Y_p) - \mathbb{E}\log p(Y_q) \ge 0$.",
    assumptions=[r"wider draft: the entropy of the draft's trajectories is no less than the target's"],
)
def own_end_sign(seed: int) -> Finding:
    r"""By cspd.log-ratio.own-end $\Delta l = D_{KL}(q | p) + H(q) - H(p)$. The divergence is never negative (Jensen),
    and for a "wider draft" neither is the rest. The assumption is needed: for $p = N(0, 1)$ and $q = N(0, s^2)$ the
    mean of $\log p$ is $-1/2$ under $p$ and $-s^2 / 2$ under $q$, up to the same constant, so that $\Delta l = (s^2 -
    1) / 2 < 0$ for $s < 1$. A draft that stays nearer to the mode has the higher density under the target, and it has
    the smaller entropy.

    With the $x_0$ of eq. 4, which is the draft's, eqs. 26 and 27 are not so for every two models, nor is what is said
    of the mean (cspd.log-ratio.higher-mean).

    Eq. 26. Eq. 24 takes $Y_p$ for a trajectory of $p$. With the draft's $x_0$ it is none. With $T = 1$
    and a shared $x_1$ the two trajectories are the same, and $\Delta l = 0$, while eq. 26 says $m^2 / 2$ for two unit
    normals $m$ apart. What is true: against a trajectory of $p$ only $\log p(x_0 | x_1^p)$ differs. At the target's own
    $x_0$ its exponent has the mean $-d / 2$, at the draft's $-\mathbb{E} m^2 / 2$, with $m^2 = (x_0 - \mu_1^p)^T
    (\Sigma_1^p)^{-1} (x_0 - \mu_1^p)$. So $\Delta l = D_{KL}(q | p) + H(q) - H(p) - (\mathbb{E} m^2 - d) / 2$. Here the
    coupling enters: $\mathbb{E} m^2 = \mathrm{tr}\,(\Sigma_1^p)^{-1} (g g^T + G + \Sigma_1^q)$, with $g$ and $G$ the
    mean and covariance of the gap of the two last means, and alignment changes $G$ alone. In one dimension, with slopes
    of one sign, it makes $G$ smaller and so $\Delta l$ larger.

    Eq. 27. Let $x_1 = s \varepsilon_2$ with shared noise, $s = 1$ (target) and 2 (draft), and $x_0 = 2 x_1 +
    \varepsilon_1$ for both: $H(q) - H(p) = \log 2$. Down to $x_1$ the target's own trajectory gains $\mathbb{E}((2
    \varepsilon)^2 - \varepsilon^2) / 2 = 3/2$ on the draft's. But the shared $x_0$ lies at $2 (2 \varepsilon_2) +
    \varepsilon_1$ and is compared with the mean $2 \varepsilon_2$: that costs $\mathbb{E}(2 \varepsilon_2)^2 / 2 = 2$.
    So $\Delta l = -1/2$.
    """
    found = [logs(Coupling(*case)) for case in random_chains(seed, 30)]
    wider, others = ([v for v in found if (v.entropies >= 0) == which] for which in (True, False))
    narrow = logs(Coupling(*NARROWER, UNCONDITIONAL))
    _near(narrow.own_end, Fraction(-3, 8))

    def below(tried: list[Logs], times: float = 0.0) -> float:
        """By how much Delta l falls below a multiple of the divergence somewhere."""
        return float(np.max([0.0, *(times * value.divergence - value.own_end for value in tried)]))

    return holds_if(
        below(wider) == 0,
        checked(
            f"{len(wider)} random pairs with H(q) >= H(p): Delta l is at least {fmt(min(v.own_end for v in wider))}"
        ),
        example(
            "not where H(q) < H(p): d = 1, T = 1, x_0 from N(0, 1) (target) or N(0, 1/4) (draft): Delta l = -3/8",
            numbers(sd_p=1, sd_q=Fraction(1, 2), delta=Fraction(-3, 8), entropies=narrow.entropies),
        ),
        rejects_mutants(
            {
                "at least twice KL(q||p)": lambda: below(wider, times=2),
                "H(q) < H(p)": lambda: below([*others, narrow]),
            },
            lambda variant: variant(),
            "the sign of Delta l",
        ),
        *with_shared_end(),
        *corrected_difference(seed),
    )


# With the x_0 of eq. 4 -----------------------------------------------------------------------------------------


def with_shared_end() -> list[Evidence]:
    """Models of which eqs. 26, 27 are not so if the trajectories share $x_0$; raises ``CheckFailed`` where they are."""
    found = logs(Coupling(affine_chain(1, 0, 1, 2), affine_chain(1, 0, 1), UNCONDITIONAL))
    one = affine_chain(2)
    same = logs(independent_noise(one, one, UNCONDITIONAL))
    gaps = [_near(found.shared_end, 0) - _near(found.printed, 2), _near(same.shared_end, -1) - _near(same.printed, 0)]

    wide, own = logs(Coupling(*WIDER, UNCONDITIONAL)), logs(independent_noise(*WIDER, UNCONDITIONAL))
    negative = _near(wide.shared_end, Fraction(-1, 2))
    require(wide.entropies > 0, "what the paper assumes is not so")
    require(largest(gaps, NEAR) > 0 > negative, "eqs. 26 and 27 are so with a shared x_0")
    return [
        example(
            "not with a shared x_0, eq. 26: d = 1, T = 1, x_1 shared, x_0 from N(2, 1) (target) or N(0, 1) (draft): "
            "Yp = Yq, so Delta l = 0, where eq. 26 says 2",
            numbers(
                steps=1, slopes=[0], sd_p=[1], sd_q=[1], mean_p=2, mean_q=0, delta=Fraction(0), printed=Fraction(2)
            ),
        ),
        example(
            "not with a shared x_0, eq. 26: d = 1, T = 2, target and draft the same, x_1 = x_2 + e_2, x_0 = x_1 + e_1, "
            "e_2 not shared: Delta l = -1, where eq. 26 says 0",
            numbers(slopes=(1, 1), deviations=(1, 1), delta=Fraction(-1), printed=Fraction(0)),
        ),
        example(
            "not with a shared x_0, eq. 27: d = 1, T = 2, x_1 = e_2 (target) or 2 e_2 (draft), then x_0 = 2 x_1 + e_1: "
            f"Delta l is -1/2 with shared noise and {fmt(own.shared_end)} without, H(q) - H(p) = log 2, and eq. 26 "
            f"says {fmt(wide.printed)}",
            numbers(
                delta_aligned=Fraction(-1, 2),
                delta_own=own.shared_end,
                entropies=wide.entropies,
                divergence=wide.divergence,
                last_slope=2,
                sd_p=1,
                sd_q=2,
            ),
        ),
    ]


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


def corrected_difference(seed: int) -> list[Evidence]:
    """Delta l as the argument has it; raises ``CheckFailed`` where the log densities have another mean."""
    ways = (Coupling, True), (partial(independent_noise, start_shared=False), False)
    tried = [(way(*case), aligned) for case in random_chains(seed, 12) for way, aligned in ways]
    found = [(logs(coupling), coupling, aligned) for coupling, aligned in tried]

    def deviation(correction: Callable[[Coupling, bool], float]) -> float:
        off = (v.shared_end - v.printed + correction(coupling, aligned) for v, coupling, aligned in found)
        return largest(off, NEAR)

    require(deviation(missed) == 0, "the mean log ratio with a shared x_0 is not the corrected one")
    return [
        checked(
            f"with the correction (E m^2 - d) / 2 eq. 26 is met within {NEAR} on {len(tried)} random pairs, with all "
            "noise shared and with none",
        ),
        rejects_mutants(
            {
                "eq. 26": lambda coupling, aligned: 0.0,
                "noise taken for shared": lambda coupling, aligned: missed(coupling, True),
                "without the draft's last noise": lambda coupling, aligned: missed(coupling, aligned, False),
            },
            deviation,
            "the mean log ratio with a shared x_0",
        ),
    ]


@CLAIMS.claim(
    "cspd.log-ratio.higher-mean",
    said(
        "A.1.3, after eq. 27",
        "This implies that our method increases the expected log-ratio, ... which subsequently leads to a higher "
        "expectation of the ratio, E[R̃].",
        "formalised",
        f"The trajectories are read {OWN_END}; what leads to the higher mean is $H(q) > H(p)$, which A.1.3 assumes. Of "
        "the ratio of eq. 4, with which drafts are verified and whose trajectories share $x_0$, this is stronger than "
        "what A.1.3 derives, and false: the second example. A larger mean of the logarithm alone leads to it in "
        "neither reading.",
    ),
    r"If $Y_p$ is a trajectory of $p$ down to an $x_0$ of its own and $H(q) > H(p)$, then $\mathbb{E}[p(Y_p) / "
    r"q(Y_q)]$ exceeds $\mathbb{E}[p(Y_q) / q(Y_q)]$.",
    assumptions=[r"larger entropy: $H(q) > H(p)$, of trajectories, and both are finite"],
)
def higher_mean(seed: int) -> Finding:
    r"""Whatever $Y_p$ has to do with $Y_q$, $\mathbb{E}\log p(Y_p) = -H(p)$ and $\mathbb{E}\log q(Y_q) = -H(q)$. So the
    logarithm of the ratio has the mean $H(q) - H(p)$, and the ratio a mean of at least $e^{H(q) - H(p)}$ (Jensen), for
    a "larger entropy" more than 1, and so more than the mean of the path ratio, the mass that $p$ has where $q > 0$.
    With shared noise and covariances that do not depend on the state the ratio is $e^{H(q) - H(p)}$ itself. A larger
    mean of the logarithm would not do: for $p = N(0, 1)$ and $q = N(3, 1/4)$, $\Delta l = 33/8$, and the ratio is 1/2.

    With the $x_0$ of eq. 4, which is the draft's, the mean with shared noise is $\Sigma$ (cspd.path-ratio.two-path),
    which knows of no means, nor of the last step. Let $x_1 = 2 \varepsilon_2$ (target) or $2 + \varepsilon_2$ (draft),
    and $x_0 = \varepsilon_1$ or $4 \varepsilon_1$: $\Sigma = 1/2$, $H(q) - H(p) = \log 2$, and $\Delta l = -1/2 +
    \mathbb{E}(2 + \varepsilon)^2 / 8 = 1/8$. Where covariances do not depend on the state and $x_T$ is the same for
    both models, $H$ is the entropy of $x_T$ plus $\frac{1}{2} \log |\Sigma_t|$ and a constant for each step. So the
    mean is $e^{H(q) - H(p)} \sqrt{|\Sigma_1^p| / |\Sigma_1^q|}$: if the last covariances are equal, it is the higher
    one exactly where $H(q) > H(p)$. Where they depend on the state $\Sigma$ is random, and its mean no less than the
    exponential of the mean of its logarithm: so the mean is at least what is said.
    """
    tried = [way(*case) for case in random_chains(seed, 16) for way in (Coupling, independent_noise)]
    wider, others = ([each for each in tried if (_wider(each) > 0) == which] for which in (True, False))
    shared_end = Coupling(affine_chain(2, 0, (1, 2)), affine_chain(2, 0, (4, 1), (0, 2)), UNCONDITIONAL)

    def lower(couplings: list[Coupling], shared: bool = False) -> int:
        """How many ratios have no higher mean than the path ratio."""
        return sum(not own_ratio(each, shared) > mean_ratio(Path(), each) + NEAR for each in couplings)

    rising, mean, path = logs(shared_end), mean_ratio(FULL, shared_end), mean_ratio(Path(), shared_end)
    for value, by_hand in ((rising.shared_end, Fraction(1, 8)), (mean, Fraction(1, 2)), (path, Fraction(1))):
        _near(value, by_hand)
    require(min(rising.entropies, rising.own_end) > 0, "what the paper assumes is not so")
    narrow = Coupling(affine_chain(1, 0, 1), affine_chain(1, 0, 0.5, 3), UNCONDITIONAL)
    _near(logs(narrow).own_end, Fraction(33, 8))
    _near(own_ratio(narrow), Fraction(1, 2))
    return holds_if(
        lower([*wider, shared_end]) == 0,
        checked(
            f"{len(wider)} random pairs with H(q) > H(p), with shared noise and without: the mean of the ratio exceeds "
            f"that of the path ratio, 1, by at least {fmt(min(own_ratio(each) for each in wider) - 1)}"
        ),
        *of_own_ends(seed),
        example(
            "not with a shared x_0: d = 1, T = 2, shared noise, x_1 = 2 e_2 (target) or 2 + e_2 (draft), x_0 = e_1 or "
            f"4 e_1: Delta l = 1/8 (and {fmt(rising.own_end)} with an x_0 each), H(q) - H(p) = log 2, but the mean of "
            "the two-path ratio is 1/2 and that of the path ratio 1",
            numbers(delta=Fraction(1, 8), mean_two_path=Fraction(1, 2), mean_path=Fraction(1), own=rising.own_end),
        ),
        *corrected_mean(seed),
        rejects_mutants(
            {
                "H(q) < H(p)": lambda: lower([each for each in others if not each.own]),
                "x_0 shared": lambda: lower([shared_end], shared=True),
            },
            lambda variant: variant(),
            "the mean of the ratio",
        ),
    )


def own_ratio(coupling: Coupling, shared: bool = False) -> float:
    """The mean of p(Yp) / q(Yq), with an x_0 each, or with the draft's for both."""

    def log_ratio(pair: TrajectoryPair) -> np.ndarray:
        return log_path(pair.target, pair.draft.states[0] if shared else None) - log_path(pair.draft)

    return coupling.quadratic(log_ratio).mean_exp


def of_own_ends(seed: int) -> list[Evidence]:
    """The ratio with an $x_0$ each is one number; raises ``CheckFailed`` where it is another than entropies say."""
    tried = random_chains(seed, 16)

    def deviation(way: Callable[..., Coupling] = Coupling, shared_end: bool = False) -> float:
        """Of the ratio at trajectories that are sampled, from the exponential of the entropies."""
        random, gaps = np.random.default_rng(seed), []
        for case in tried:
            coupling = way(*case)
            pair = coupling.sampled(random, 8)
            own = log_path(pair.target, pair.draft.states[0]) if shared_end else log_path(pair.target)
            gaps += list(own - log_path(pair.draft) - _wider(coupling))
        return largest(gaps, NEAR)

    require(deviation() == 0, "the ratio with an x_0 each is not what entropies say")
    pair = Coupling(*WIDER, UNCONDITIONAL)
    ratio, path = own_ratio(pair), mean_ratio(Path(), pair)
    return [
        checked(
            f"with shared noise the ratio is one number within {NEAR} at eight trajectories each of {len(tried)} "
            "random pairs, diagonal and dense"
        ),
        example(
            f"{WIDER_IS}, an x_0 each: the ratio is {fmt(ratio)}, the mean of the path ratio {fmt(path)}",
            numbers(sd_p=1, sd_q=2, last_slope=2, ratio=ratio, mean_path=path),
        ),
        rejects_mutants(
            {
                "x_0 shared": lambda: deviation(shared_end=True),
                "independent noise": lambda: deviation(way=independent_noise),
            },
            lambda variant: variant(),
            "the ratio with an x_0 each",
        ),
    ]


def corrected_mean(seed: int) -> list[Evidence]:
    """The mean of the two-path ratio in terms of entropies; raises ``CheckFailed`` where it is another."""
    tried = random_chains(seed, 16)

    def deviation(last: float = 1.0, way: Callable[..., Coupling] = Coupling) -> float:
        """Of the mean of the ratio, relative, with ``last`` times the last step's share."""
        gaps = []
        for p, q, given in tried:
            ends = [float(chain.layout.log_volume(chain.factor[0])) for chain in (p, q)]
            predicted = np.exp(_wider(Coupling(p, q, given)) + last * (ends[0] - ends[1]))
            gaps.append(mean_ratio(FULL, way(p, q, given)) / predicted - 1)
        return largest(gaps, NEAR)

    require(deviation() == 0, "the mean of the ratio is not what entropies say")
    return [
        checked(f"with a shared x_0 the mean is what entropies say within {NEAR} on {len(tried)} random pairs"),
        rejects_mutants(
            {
                "without the last covariances": lambda: deviation(last=0),
                "independent noise": lambda: deviation(way=independent_noise),
            },
            lambda variant: variant(),
            "the mean of the ratio with a shared x_0",
        ),
    ]
