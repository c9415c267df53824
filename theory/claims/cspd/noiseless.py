"""Claims about samplers that add no noise at their end, as MAR's: which rules keep the target's law, and at what price.

Results of ours: CSpD and its published code take the last kernel's density where no noise is drawn with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice, pairwise, product
from typing import Any

import numpy as np

from simlab.continuous import affine_chain
from simlab.continuous.compiled import simulate
from simlab.continuous.decoders import InPlace, Truncating
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.diffusion import ddim_chain, noiseless_end, schedule
from simlab.continuous.models.merged import EndMap, end_map, merged, without_end
from simlab.continuous.models.sequences import Tokens
from simlab.continuous.rules import LastNoise, LastStep, Rule, TargetEnd
from simlab.mutants.continuous import DraftEnd, DraftState, Uncut, UnusedVariance, WalkedByTheDraft, WithoutVolume
from simlab.randomness import Tape
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.cspd.assumed import LAST_NOISE, UNBOUNDED
from theory.claims.cspd.output import DRAFT, LOSSLESS, ROUGH, TARGET, WRONG, excess
from theory.claims.cspd.sequences import FALSE_ALARMS, SEQUENCES, beyond, finished
from theory.claims.evidence import example, holds_if, identity, over, rejects_mutants, require, simulation, small_scale
from theory.claims.format import fmt, numbers
from theory.claims.sources import derived
from theory.continuous.cell_tests import even, sequence_p
from theory.continuous.example_processes import UNCONDITIONAL, Mismatch, mismatches
from theory.continuous.gaussian_overlap import last_step_acceptance
from theory.continuous.joint_gaussian import Given
from theory.continuous.line import Law, emitted, tv_from_target
from theory.continuous.sequences import SequenceLaw, autoregressive, in_place, kl

CLAIMS = Claims("cspd")

CELLS = 64  # that a token may fall into
NEAR = 1e-9  # of rates
NOISE_BEFORE_THE_END = (
    "noise before the end: the last step that adds noise, $k$, is one for both models, and adds Gaussian noise of full "
    "rank in both"
)
INDEPENDENT = (
    "independent noise of step k: the draft's noise of step $k$ is independent of both trajectories down to $x_k$, as "
    "it is where noise is shared step by step, and where it is not shared"
)
ONE_TO_ONE = (
    r"one-to-one means: the mean $f_t$ of each step after step $k$ is a one-to-one and differentiable function of the "
    r"state with a determinant $\det f_t'$ that is nowhere 0, in both models"
)
INDEPENDENT_UP_TO_K = (
    "independent noise up to step k: for each $k$ the noise of steps $k$ to 1, the draft's as the target's, is "
    "independent of both trajectories down to $x_k$, as it is where noise is shared step by step, and where it is not "
    "shared"
)
NO_NOISE_AT_THE_END = (
    "Section 3 and App. E.2, for samplers without noise at the end",
    "MAR's published sampler adds no noise at t = 0, and k = 2; DDIM with eta = 0 adds none at all.",
)


def pairs() -> list[Mismatch]:
    """Mismatches on the line without noise at their end, whose last means differ, by slope and by offset."""
    wide = Mismatch("T = 4, all differs", affine_chain(4, 0.8, 0.5), affine_chain(4, 0.6, 0.6, 0.3), UNCONDITIONAL)
    noisy = [wide, *islice(mismatches(), 0, None, 11)]
    found = [each._replace(target=noiseless_end(each.target), draft=noiseless_end(each.draft)) for each in noisy]
    abar = schedule("linear", 1000, 5)
    for eta, spread in product((0.0, 0.7), (0.6, 1.5)):
        target, draft = (ddim_chain(np.array([c]), abar, eta) for c in (1.0, spread))
        found.append(Mismatch(f"DDIM, eta = {eta}", target, draft, (np.zeros(1), np.full(1, 0.2))))
    return found


def moved(law: Law, end: EndMap, condition: np.ndarray) -> Law:
    """The law of E x + G c + h, on the line."""
    slope, shift = float(end.slope[0]), float(end.condition_gain[0] * condition[0] + end.offset[0])
    x, density = slope * law.x + shift, law.density / abs(slope)
    return law._replace(x=x, density=density) if slope > 0 else law._replace(x=x[::-1], density=density[::-1])


def one_token(chain: Chain, c: np.ndarray) -> Tokens:
    """Sequences of one token, under a condition."""
    return Tokens(lambda _: chain, np.ones(1), level=c)


def alarm(rule: Rule, case: Mismatch, seed: int, tests: int) -> float:
    """By how many powers of ten tokens of the decoder itself are below the level, in cells of the target's law."""
    models = one_token(case.target, case.given[0]), one_token(case.draft, case.given[1])
    tokens = finished(Truncating(1).run(*models, rule, Tape(seed, SEQUENCES)).tokens)
    return beyond(sequence_p(autoregressive(models[0]), tokens, CELLS), tests)


def judged(off: float, rules: tuple[Rule, ...], seed: int, seen: Evidence, wrong: Mapping[str, Rule]) -> Finding:
    """The finding on a law of the token: that of :func:`pairs` is ``off`` by quadrature, and the decoder's own tokens,
    with shared and with independent noise, are tested on every third pair, those of ``wrong`` rules on the first.
    """
    tried, tests = pairs(), len(rules) * len(pairs()[::3])
    return holds_if(
        off == 0 and max(alarm(rule, case, seed, tests) for rule in rules for case in tried[::3]) == 0,
        identity(
            f"by quadrature, {len(tried)} pairs on the line, k = 2 and k = T + 1: no law of the token is more than "
            f"{LOSSLESS} off"
        ),
        simulation(
            "the decoder itself, with shared and with independent noise, follows the target's law "
            f"({even(1, CELLS).stated(SEQUENCES, FALSE_ALARMS / tests)})"
        ),
        seen,
        rejects_mutants(wrong, lambda rule: alarm(rule, tried[0], seed, 1), "tokens of the decoder"),
    )


# A token --------------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "cspd.noiseless.target-end",
    derived(*NO_NOISE_AT_THE_END),
    "For samplers that add no noise after step $k$, accepting the draft's $x_{k-1}$ by $p(x_{k-1} | x_k^p) / q(x_{k-1} "
    "| x_k^q)$, drawing a rejected one anew, and applying the target's means to what is accepted or drawn, gives a "
    "token the law of the target's token, whatever those means are.",
    assumptions=(NOISE_BEFORE_THE_END, INDEPENDENT, UNBOUNDED),
)
def target_end(seed: int) -> Finding:
    r"""By "noise before the end" steps $T$ to $k$ are a chain whose last step adds noise, and $x_{k-1}$ is its token.
    By "independent noise of step k" the draft's is a draw from $q(. | x_k^q)$ given both trajectories down to $x_k$.
    It is accepted with mass $\min(p, q)$, and by "unbounded proposals" replaced by a draw from $[p - q]_+ / Z$ else:
    what comes out follows $p(. | x_k^p)$, and so the target's $p(x_{k-1})$, as for ``cspd.output-law.last-step``. The
    target's own token is $f(x_{k-1})$, with $f$ the means of its steps $k - 1$ to 1 in turn, and so is the emitted one:
    the same function of a state of the same law.

    The draft's means enter nowhere. If they end what is accepted in place of the target's, the token follows the law of
    another function of $x_{k-1}$; if $x_k^p$ is the draft's $x_k^q$, what comes out follows $\int p(. | x_k) q(x_k)$;
    and a ratio of step 1, by a variance that no noise is drawn with, compares densities that no token follows.
    """

    def deviation(ending: Callable[[Chain, Chain], Chain]) -> float:
        """The TV from the target's token of what is emitted where the means of one of the two end it; the largest."""
        found = []
        for _, target, draft, given in pairs():
            law = emitted(without_end(target), without_end(draft), given, LastStep(), **ROUGH)
            found.append(tv_from_target(moved(law, end_map(ending(target, draft)), given[0]), target, given))
        return excess(float(np.max(found)))

    return judged(
        deviation(lambda target, draft: target),
        (TargetEnd(), TargetEnd(aligned=False)),
        seed,
        rejects_mutants({"the draft's means at the end": lambda target, draft: draft}, deviation, "the law"),
        {
            "the draft's means at the end": DraftEnd(),
            "x_k of the draft for the target": DraftState(),
            "the variance of step 1, which no noise is drawn with": UnusedVariance(),
        },
    )


@CLAIMS.claim(
    "cspd.noiseless.last-noise",
    derived(*NO_NOISE_AT_THE_END),
    "For samplers that add no noise after step $k$, verifying the draft's $x_0$ by the ratio of its densities given "
    r"$x_k$, which change of variables gives as $p(x_{k-1} | x_k) / \prod_{t < k} |\det f_t'|$ with $x_0$ walked back "
    "through each model's means $f_t$, gives a token the law of the target's token and leaves accepted drafts as they "
    "are.",
    assumptions=(NOISE_BEFORE_THE_END, INDEPENDENT, ONE_TO_ONE, UNBOUNDED),
)
def last_noise(seed: int) -> Finding:
    r"""By "noise before the end" and "one-to-one means" $x_0$ has, given $x_k$, the density that the statement says.
    Take steps $k$ to 1 as one, of that density: the draft's is a draw from it by "independent noise of step k", and
    what is done with it is speculative sampling. By "unbounded proposals" the emitted token follows $p(x_0 | x_k^p)$,
    and, as $x_k^p$ is distributed as without a draft, the target's law. An accepted token is the draft's $x_0$.

    Where no step adds noise, $k = T + 1$: nothing is before $x_T$, the ratio is that of the densities of the token, and
    the rule is that of marginals. The determinants are part of the density: without them a target whose means contract
    more than the draft's is short of drafts.
    """

    def deviation(rule: Rule) -> float:
        """The TV from the target's token of what a rule emits for chains of merged steps; the largest."""
        laws = ((emitted(merged(p), merged(q), given, rule, **ROUGH), p, given) for _, p, q, given in pairs())
        return excess(float(np.max([tv_from_target(*each) for each in laws])))

    return judged(
        deviation(LastStep()),
        (LastNoise(), LastNoise(aligned=False)),
        seed,
        rejects_mutants({"ratio 1 % too large": WRONG["ratio 1 % too large"]}, deviation, "the law"),
        {"without the determinants": WithoutVolume(), "walked back by the draft's means": WalkedByTheDraft()},
    )


@CLAIMS.claim(
    "cspd.noiseless.merging",
    derived("Algorithm 1, A.1.1", "Between the ratio of the last step and that of marginals."),
    r"Verifying the token by $p(x_0 | x_k^p) / q(x_0 | x_k^q)$, with steps 1 to $k$ taken as one, accepts drafts more "
    r"often the larger $k$ is, or as often, from the ratio of the last step at $k = 1$ to that of marginals at $k = "
    "T + 1$.",
    assumptions=(LAST_NOISE, INDEPENDENT_UP_TO_K),
)
def merging(seed: int) -> Finding:
    r"""By "noise in the last step" all these densities exist. By "independent noise up to step k", given $x_k^p$ and
    $x_k^q$, each model's $x_{k-1}$ follows its own kernel: $p(x_0 | x_k^p)$ is the mean of $p(x_0 | x_{k-1}^p)$ over
    $x_{k-1}^p$, and $q(x_0 | x_k^q)$ that of $q(x_0 | x_{k-1}^q)$ over $x_{k-1}^q$, whatever their joint law is.
    $\min$ is concave, so that the minimum of two means is at least the mean of the minimum: $\int \min(p(x |
    x_k^p), q(x | x_k^q)) dx \ge E \int \min(p(x | x_{k-1}^p), q(x | x_{k-1}^q)) dx$. The draft follows $q(x | x_k^q)$
    given both states, so that both sides are acceptances, and their means over $x_k^p$ and $x_k^q$ are in the same
    order.

    Without the second assumption it fails: let $T = 2$, let $x_1^p = e$ be the draft's own last noise, $q = N(0, 1)$
    and $p = N(x_1^p, 1)$ in the last step. At $k = 1$ the ratio is $\exp(e^2 / 2) \ge 1$ and every draft is accepted,
    at $k = 2$ and 3 $\int \min(N(0, 2), N(0, 1)) = 0.834$ are. Nor is it enough that the draft's noise is independent.
    Let $T = 2$ and both last steps be $N(x_1, 1)$, let $x_1^q = x_2^q$, and let $x_1^p$ be noise of the target's that
    is independent of its $x_2^p$, but is the draft's $x_2^q$: every draft is accepted at $k = 1$ and 3, and at $k = 2$
    $E \int \min(N(0, 2), N(x_2^q, 1)) = 0.694$ are.

    So a step without noise is better merged than given up: with less and less noise in the last step its ratio accepts
    ever less, and in the limit nothing, while the merged one tends to what ``last-noise`` accepts.
    """
    cases = list(islice(mismatches(), 0, None, 5))

    def ladder(target: Chain, draft: Chain, given: Given) -> list[float]:
        chains = [(first_merged(target, k), first_merged(draft, k)) for k in range(1, target.steps + 2)]
        return [last_step_acceptance(p, q, given, True) for p, q in chains]

    def falls(rates: Callable[[Chain, Chain, Given], list[float]]) -> float:
        """By how much acceptance falls from one k to the next, at most; 0 where it does not."""
        found = [rates(case.target, case.draft, case.given) for case in cases]
        return over(float(np.max([a - b for one in found for a, b in pairwise(one)])), NEAR)

    models = [(merged(noiseless_end(TARGET)), merged(noiseless_end(DRAFT)))]
    models += [(quieter(TARGET, by), quieter(DRAFT, by)) for by in (1, 0.1, 0.01)]
    ends = [last_step_acceptance(*pair, UNCONDITIONAL, True) for pair in models]
    return holds_if(
        falls(ladder) == 0,
        identity(
            f"{len(cases)} pairs on the line, by quadrature: acceptance does not fall by more than {NEAR} anywhere"
        ),
        small_scale(
            "T = 4, x_(t-1) = 0.8 x_t + 0.5 e (target) and 0.8 x_t + 0.1 + 0.6 e (draft), shared noise: acceptance for "
            f"k = 1 to 5 is {', '.join(map(fmt, ladder(TARGET, DRAFT, UNCONDITIONAL)))}. Without noise in the last "
            f"step last-noise accepts {fmt(ends[0])}; the ratio of a last step with all, a tenth and a hundredth of "
            f"its noise accepts {', '.join(map(fmt, ends[1:]))}"
        ),
        rejects_mutants(
            {
                "noise of merged steps left out": lambda p, q, given: [
                    last_step_acceptance(forgetful(p, k), forgetful(q, k), given, True) for k in range(1, p.steps + 1)
                ]
            },
            falls,
            "acceptance",
        ),
    )


# Sequences ------------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "cspd.noiseless.cut",
    derived(*NO_NOISE_AT_THE_END),
    "With the rule that ends accepted states by the target's means, a decoder whose target looks at the drafts of its "
    "block gives sequences the target's law if it cuts a block at the first token that is not the draft, at an "
    "accepted one as at a rejected one, and in general not if it goes on after every accepted draft; with one whose "
    "target looks at the tokens before the block alone, no block has to be cut for each token to have the law that the "
    "target predicts for it.",
    assumptions=(NOISE_BEFORE_THE_END, INDEPENDENT, UNBOUNDED),
    simulates="continuous tokens",
)
def cut_blocks(seed: int) -> Finding:
    r"""Given the tokens before it and both trajectories down to $x_k$, a token follows $p(. | x_k^p)$ (by "noise before
    the end", "independent noise of step k" and "unbounded proposals", as for a single token): the draft's own prefix
    decides what $q$ is, and the ratio is taken with that $q$, but the law does not depend on it. What it does depend on
    is the condition of the target. If the target looked at drafts, its condition is that of the emitted prefix as long
    as those are what was emitted; whether the next position is verified or left for another call depends on what was
    drawn up to this token, of which later noise is independent, so that each position, when it is made, has the
    target's law given those before it. If it looked at the tokens before the block alone, every condition is right from
    the start.

    Where last means differ almost surely, a call of a target that looks at drafts commits one token with this rule:
    there is nothing to gain, however many drafts are accepted. A rule that leaves accepted drafts as they are
    (``cspd.noiseless.last-noise``) has the same law without that price.

    Going on after accepted drafts loses the law. Let all kernels but the last means agree, so that every draft is
    accepted: $x_1$ is standard normal, and $x_0 = x_1$ (target) or $x_1 / 2$ (draft), plus half the token before. The
    first token emitted is $x_1$, but the target looked at the draft, $x_1 / 2$: the second is $e + x_1 / 4$ in place of
    $e + x_1 / 2$. So the covariance of the two tokens is $1/4$ for the target's $1/2$, and the variance of the second
    $1 + 1/16$ for $1 + 1/4$.
    """
    target, draft = (sequence_model(*each) for each in ((0.8, 1.0, 0.2, 0.5), (0.6, 1.3, 0.0, -0.5)))
    laws: dict[Truncating | InPlace, SequenceLaw] = {
        Truncating(3): autoregressive(target),
        InPlace(2): in_place(target, 2),
    }
    rules = (TargetEnd(), TargetEnd(aligned=False), LastNoise())
    tests = len(laws) * len(rules)

    def deviation(tokens: np.ndarray, law: SequenceLaw) -> float:
        return beyond(sequence_p(law, finished(tokens)), tests)

    tape = Tape(seed, SEQUENCES)
    runs = [(simulate(decoder, target, draft, rule, tape), law) for decoder, law in laws.items() for rule in rules]
    calls = [float(made.calls.mean()) for made, _ in runs[:3]]
    return holds_if(
        max(deviation(made.tokens, law) for made, law in runs) == 0 and calls[0] == target.length,
        simulation(
            f"{target.length} tokens, T = 2, kernels and last means of the two models differ: all {tests} runs, cut at "
            "the first token that is another (gamma = 3) and in place (gamma = 2), follow the law in closed form "
            f"({even(target.length).stated(SEQUENCES, FALSE_ALARMS / tests)}, of cells). Cut blocks take {calls[0]:g} "
            f"calls a sequence with target-end, and {calls[2]:.2f} with last-noise"
        ),
        *uncut(seed),
        rejects_mutants(
            {"going on after every accepted draft": Uncut(3).run(target, draft, TargetEnd(), tape).tokens},
            lambda tokens: deviation(tokens, laws[Truncating(3)]),
            "sequences",
        ),
    )


def uncut(seed: int) -> list[Evidence]:
    """Blocks that go on after accepted drafts, and what two tokens lose."""
    carry, slope = 0.5, 0.5
    right = np.array([[1.0, carry], [carry, 1 + carry**2]])
    wrong = np.array([[1.0, carry * slope], [carry * slope, 1 + (carry * slope) ** 2]])
    laws = [SequenceLaw(np.zeros((2, 1)), covariance) for covariance in (right, wrong)]
    target, draft = (sequence_model(0.0, last, 0.0, 0.0, 2, carry) for last in (1.0, slope))
    tokens = Uncut(2).run(target, draft, TargetEnd(), Tape(seed, SEQUENCES)).tokens
    seen = [beyond(sequence_p(law, tokens), 1) for law in laws]
    require(seen[1] == 0 < seen[0], "the decoder that goes on does not follow the law of the proof, or the target's")
    return [
        example(
            "going on, T = 2, all drafts accepted, last means x_1 (target) and x_1 / 2 (draft) plus half the token "
            f"before: the covariance of the two tokens is {fmt(wrong[0, 1])} for the target's {fmt(right[0, 1])}; "
            f"KL(target || emitted) = {fmt(kl(*laws))}",
            numbers(
                carry=carry, slope=slope, covariance_target=right, covariance_emitted=wrong, kl_target_emitted=kl(*laws)
            ),
        ),
        simulation(
            "the decoder itself, going on after accepted drafts, follows that law and not the target's "
            f"({even(2).stated(SEQUENCES, FALSE_ALARMS)}, of cells)"
        ),
    ]


# What the checks are made of --------------------------------------------------------------------------------------


def sequence_model(
    slope: float, last: float, level: float, first: float, length: int = 3, carry: float = 0.7
) -> Tokens:
    """Tokens x_0 = ``last`` x_1 + c, x_1 of variance 1: a chain that ends in N(c, last^2), and adds no noise there."""
    chain = noiseless_end(affine_chain(2, (last, slope), (1, np.sqrt(1 - slope**2)), condition_gain=(1, 0)))
    return Tokens(partial(_scaled, chain, last), np.array([last**2]), length, carry, level, first)


def _scaled(chain: Chain, last: float, covariance: np.ndarray) -> Chain:
    """The chain with its last mean scaled to a variance."""
    scale = np.sqrt(covariance) / last
    return replace(chain, slope=np.concatenate([chain.slope[:1] * scale, chain.slope[1:]]))


def first_merged(chain: Chain, k: int) -> Chain:
    """A chain on the line with its steps 1 to k as one, their noise included; with k = T + 1 one step is left."""
    if k > chain.steps:
        law = chain.marginal(np.zeros((1, 1)))
        gain = chain.marginal(np.ones((1, 1))).mean - law.mean
        return Chain(np.zeros((1, 1)), gain, law.mean, np.sqrt(law.covariance), np.zeros(1))
    slope, gain, offset, variance = np.ones(1), np.zeros(1), np.zeros(1), np.zeros(1)
    for t in range(1, k + 1):
        gain, offset = gain + slope * chain.condition_gain[t - 1], offset + slope * chain.offset[t - 1]
        variance, slope = variance + (slope * chain.factor[t - 1]) ** 2, slope * chain.slope[t - 1]
    last = {"slope": slope, "condition_gain": gain, "offset": offset, "factor": np.sqrt(variance)}
    changed: Any = {name: np.concatenate([one[None], getattr(chain, name)[k:]]) for name, one in last.items()}
    return replace(chain, **changed)


def quieter(chain: Chain, share: float) -> Chain:
    """A chain with a share of the noise of its last step."""
    return replace(chain, factor=np.concatenate([share * chain.factor[:1], chain.factor[1:]]))


def forgetful(chain: Chain, k: int) -> Chain:
    """The same with the noise of step 1 alone."""
    found = first_merged(chain, k)
    return replace(found, factor=np.concatenate([chain.factor[:1], found.factor[1:]]))
