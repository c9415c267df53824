"""The exact rule and its kin in up to 64 dimensions and 100 steps: sampled, since no law can be enumerated there."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from simlab.continuous import Outcome, Pair, Truncating, affine, ddim, ddpm, schedule
from simlab.continuous.compiled import simulate
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.diffusion import guided, learned_range, tempered
from simlab.continuous.rules import LastStep, Marginal, Path, Rule, VarianceProduct
from simlab.randomness import Tape
from simlab.statistics import TwoSampleG
from theory.claims.base import Claims, Finding
from theory.claims.evidence import not_refuted_if, powers_below, rejects_mutants, simulation
from theory.claims.sources import derived
from theory.continuous.joint_gaussian import log_sigma
from theory.continuous.projection_tests import projected

CLAIMS = Claims("cspd")
LEVEL = 1e-6
COUNT = 20_000  # tokens, where they are cheap
CELLS = 32  # of a comparison of two samples: octants, by four shells


class Case(NamedTuple):
    """Two models whose law is sampled, what is special about them, and how many tokens decide."""

    label: str
    pair: Pair
    rules: tuple[Rule, ...]
    tokens: int = COUNT


def cases() -> list[Case]:
    """Pairs whose token is normal: diagonal and dense, respaced, DDIM, warm and guided; the draft has other means."""
    every: tuple[Rule, ...] = (LastStep(), LastStep(aligned=False), Marginal(), Path())

    def exact_and_upper(dimension: int, steps: int, level: float = 0.1, correlation: float | None = None) -> Pair:
        """A target of exact posteriors, and a draft with DDPM's upper variances."""
        model = partial(ddpm, dimension, schedule("cosine", steps=steps), 0.5, correlation)
        return Pair(model(), model("upper", level=level))

    long, implicit = partial(affine, 100, 16, 0.9), partial(ddim, 2, schedule("cosine", steps=30), 0.5, 0.3)
    shifted = exact_and_upper(8, 15, level=0.02)
    return [
        Case("d = 16, T = 100", Pair(long(0.2), long(0.22, 0.005)), every, COUNT // 4),
        Case("d = 4, T = 20 of 1000", exact_and_upper(4, 20), every),
        Case("d = 64, T = 10, dense", exact_and_upper(64, 10, correlation=0.5), every[:2], COUNT // 4),
        Case("d = 2, DDIM", Pair(implicit(0.5), implicit(0.7, level=0.1)), every[:3]),
        Case("d = 8, warm and guided", Pair(*(model.modified(warm_and_guided) for model in shifted)), every),
    ]


def warm_and_guided(chain: Chain) -> Chain:
    """``chain`` at a temperature of 0.9, with classifier-free guidance of scale 2."""
    return tempered(guided(chain, chain, 2.0), 0.9)


def learned() -> Pair:
    """Models whose variances follow the state, so that Sigma is random and no law is known."""
    abar = schedule("cosine", steps=4)
    target, draft = ddpm(3, abar), ddpm(3, abar, level=0.5)
    ranges = [partial(learned_range, abar=abar, slope=0.5, bias=bias) for bias in (-3.0, 3.0)]
    return Pair(target.modified(ranges[0]), draft.modified(ranges[1]))


def first_tokens(pair: Pair, rule: Rule, seed: int, count: int, prefill: int = 0) -> np.ndarray:
    """``float64[count, d]``: tokens verified by ``rule``, those finished; the target's own with ``prefill`` 1."""
    decoded = simulate(Truncating(1, prefill, limit=5000), *pair, rule, Tape(seed, count))
    return decoded.tokens[decoded.outcome[:, 0] != Outcome.EXHAUSTED, 0]


def beside_own(pair: Pair, rule: Rule, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Counts ``[CELLS]`` of the target's own tokens and of those ``rule`` emits, in three dimensions."""
    own, emitted = first_tokens(pair, rule, seed + 1, COUNT, prefill=1), first_tokens(pair, rule, seed, COUNT)
    octant = np.array([1, 2, 4])

    def counts(tokens: np.ndarray) -> np.ndarray:
        shell = np.minimum((np.linalg.norm(tokens, axis=1) / 0.7).astype(int), 3)
        return np.bincount(((tokens > 0) @ octant) * 4 + shell, minlength=CELLS)

    return counts(own), counts(emitted)


@CLAIMS.claim(
    "cspd.output-law.many-dimensions",
    derived("Algorithm 1 without eq. 8, eqs. 2 and 14", "A check of what was built; the proofs know no dimension."),
    "On six simulated pairs of Gaussian denoising chains, of 2 to 64 dimensions and 4 to 100 steps, diagonal and "
    "dense, guided, DDIM, and with variances that depend on the state, tokens verified by the ratio of the last step, "
    "of the marginals or of whole trajectories follow the target's law.",
    simulates="continuous tokens",
)
def many_dimensions(seed: int) -> Finding:
    """The proofs of ``cspd.output-law.last-step``, ``cspd.output-law.marginal`` and ``cspd.path-rule`` do not depend on
    the dimension. What is simulated here is compared with the target's normal law along 24 directions, or with tokens
    of the target's own where that law is not known.
    """
    sizes, sliced = [], []

    def beyond(case: Case, rule: Rule) -> float:
        """By how many powers of ten the tokens are below the level; 0 where they follow the target."""
        target, tokens = case.pair.target, first_tokens(case.pair, rule, seed, case.tokens)
        found = projected(tokens, target.chain.marginal(target.condition(target.first[None])), LEVEL)
        sizes.append(found.detectable)
        sliced.append(found.sliced)
        return powers_below(found.p_value, LEVEL)

    def beyond_own(rule: Rule) -> float:
        """The same for models whose variances follow the state."""
        return powers_below(float(two.p_value(*beside_own(learned(), rule, seed))), LEVEL)

    two, tried = TwoSampleG(CELLS), cases()
    far = [beyond(case, rule) for case in tried for rule in case.rules] + [beyond_own(LastStep())]
    shown = f"a distance of {min(sizes):.3f} to {max(sizes):.3f} along a direction is detected with probability 0.999"
    summary = f"{max(sliced):.3f}"  # of lossless rules; the controls come after
    return not_refuted_if(
        max(far) == 0,
        simulation(
            f"{len(far) - 1} rules and pairs, {COUNT // 4} to {COUNT} tokens each, Kolmogorov's test on 24 "
            f"projections, false alarms {LEVEL} each: {sum(value > 0 for value in far)} rejected; {shown}; sliced "
            f"Wasserstein-1 at most {summary}, what samples of this size have. Variances that follow the state, "
            f"against {COUNT} tokens of the target's own, by octants and distance from 0: {two.stated(COUNT, LEVEL)}",
        ),
        rejects_mutants(
            {f"with Sigma, {case.label}": case for case in tried if log_sigma(*(m.chain for m in case.pair)) != 0},
            lambda case: beyond(case, VarianceProduct()),
            "projections, in powers of ten",
        ),
        rejects_mutants(
            {"with Sigma": VarianceProduct()}, beyond_own, "variances that follow the state, in powers of ten"
        ),
    )
