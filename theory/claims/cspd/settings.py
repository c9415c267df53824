"""Claims of CSpD about what temperature and guidance do to acceptance (appendices G.3 and G.4)."""

from __future__ import annotations

from itertools import pairwise, product

from simlab.continuous import affine_chain
from simlab.continuous.models.diffusion import guided, tempered
from theory.claims.base import Claims, Finding
from theory.claims.cspd.assumed import ALL_SHARED
from theory.claims.evidence import example, holds_if, identity, rejects_mutants
from theory.claims.format import fmt_row, numbers
from theory.claims.sources import said
from theory.continuous.example_processes import UNCONDITIONAL
from theory.continuous.gaussian_overlap import last_step_acceptance

CLAIMS = Claims("cspd")
STEPS, SLOPE, SD = 4, 0.8, 0.5
TEMPERATURES, SCALES = (0.5, 0.8, 1.0, 1.5, 3.0), (1.0, 1.5, 2.0, 3.0, 5.0)

ONE_SLOPE = (
    "one slope: the means of all denoising steps are affine in the state, with one slope and one standard deviation a "
    "step for all models, $s$ in the last"
)


def not_falling(rates: list[float]) -> float:
    """1 if the rates do not fall, each below the one before."""
    return float(not all(later < earlier for earlier, later in pairwise(rates)))


@CLAIMS.claim(
    "cspd.temperature",
    said(
        "App. G.3",
        "a lower temperature may result in a sharper distribution, while a higher temperature may lead to a flatter "
        "distribution. The ratio p(x)/q(x) can be influenced based on this.",
        "stronger",
        "The sentence names no direction; the temperature is that of MAR's sampler, which scales the noise of all "
        "steps. Figure 10c is not printed as numbers.",
    ),
    r"With noise scaled by a temperature $\tau$ in every step of both models, the ratio of the last step accepts $2 "
    r"\Phi(-|g| / (2 \tau s))$ of all drafts, $g$ the gap of the last means: where $g \ne 0$, more at every higher "
    "temperature.",
    assumptions=(ALL_SHARED, ONE_SLOPE),
)
def temperature(seed: int) -> Finding:
    r"""By "all noise shared" and "one slope" the noise cancels from the gap $g$ of the last means, at every
    temperature. Given the trajectories down to $x_1$ the last steps are two normal laws with standard deviation $\tau
    s$ whose means are $g$ apart, and a draft is accepted with their overlap, $2 \Phi(-|g| / (2 \tau s))$. Where
    $g \ne 0$ it rises with $\tau$, from 0 to 1.
    """

    def rates(gap: float) -> list[float]:
        """By temperature, for a draft whose means are ``gap`` higher in each step."""
        models = affine_chain(STEPS, SLOPE, SD), affine_chain(STEPS, SLOPE, SD, gap)
        warmed = [[tempered(model, tau) for model in models] for tau in TEMPERATURES]
        return [last_step_acceptance(target, draft, UNCONDITIONAL, True) for target, draft in warmed]

    found = {gap: rates(gap) for gap in (0.05, 0.1, 0.3)}
    return holds_if(
        max(not_falling(row[::-1]) for row in found.values()) == 0,
        identity(f"drafts whose means are 0.05, 0.1 and 0.3 higher in {STEPS} steps, {len(TEMPERATURES)} temperatures"),
        example(
            f"x_(t-1) = 0.8 x_t + 0.5 tau e, {STEPS} steps, the draft's with 0.1 added: rates {fmt_row(found[0.1])} at "
            f"tau = {fmt_row(TEMPERATURES)}",
            numbers(steps=STEPS, slope=SLOPE, sd=SD, gap=0.1, temperature=TEMPERATURES, acceptance=found[0.1]),
        ),
        rejects_mutants(
            {"temperatures in the opposite order": found[0.1][::-1], "no mismatch": rates(0.0)},
            lambda row: not_falling(row[::-1]),
            "rising rates",
        ),
    )


@CLAIMS.claim(
    "cspd.guidance",
    said(
        "App. G.4",
        "As the CFG scale increases, there is an overall trend of decreasing acceptance rates.",
        "formalised",
        "The scale is $w$ in means $m_u + w (m_c - m_u)$, 1 without guidance. Figure 10d is not printed as numbers.",
    ),
    r"Let $g_c$ and $g_u$ be the gaps of the last means of the two models with and without the condition. At guidance "
    r"scale $w$ the ratio of the last step accepts $2 \Phi(-|g_u + w (g_c - g_u)| / (2 s))$ of all drafts, and that "
    r"falls as $w \ge 1$ grows.",
    assumptions=(
        ALL_SHARED,
        ONE_SLOPE,
        r"widening gap: $g_c \cdot (g_c - g_u) > 0$, as where the models differ more with the condition than without",
    ),
)
def guidance(seed: int) -> Finding:
    r"""By "one slope" guided means have the slope of the others, and what is added to them is affine in $w$. By "all
    noise shared" the noise cancels from the gap of the last means, which is therefore $g(w) = g_u + w (g_c - g_u)$. A
    draft is accepted with the overlap of two normal laws with standard deviation $s$ whose means are $|g(w)|$ apart.
    The derivative of $|g(w)|^2$ is $2 g(w) \cdot (g_c - g_u)$, which rises with $w$, and at $w = 1$ is positive by
    "widening gap". So $|g(w)|$ rises for $w \ge 1$, and the acceptance falls.

    Without it the acceptance can rise: if the models differ without the condition more than with it, the gap first
    shrinks.
    """

    def rates(conditional: float, unconditional: float) -> list[float]:
        """By scale, for a draft whose means are so much higher in each step, with the condition and without."""
        given, free = affine_chain(STEPS, SLOPE, SD, 0.2), affine_chain(STEPS, SLOPE, SD)
        others = affine_chain(STEPS, SLOPE, SD, 0.2 + conditional), affine_chain(STEPS, SLOPE, SD, unconditional)
        return [last_step_acceptance(guided(given, free, w), guided(*others, w), UNCONDITIONAL, True) for w in SCALES]

    tried = [(c, u) for c, u in product((-0.2, -0.05, 0.05, 0.2), (-0.1, 0.0, 0.1)) if c * (c - u) > 0]
    found = rates(0.1, 0.05)
    return holds_if(
        max(not_falling(rates(*gaps)) for gaps in tried) == 0,
        identity(f"{len(tried)} pairs of mismatches with and without the condition, at {len(SCALES)} scales"),
        example(
            "x_(t-1) = 0.8 x_t + 0.5 e, 0.2 added with the condition; the draft has 0.1 more with it and 0.05 more "
            f"without: rates {fmt_row(found)} at w = {fmt_row(SCALES)}",
            numbers(
                steps=STEPS, slope=SLOPE, sd=SD, conditional=0.1, unconditional=0.05, scale=SCALES, acceptance=found
            ),
        ),
        rejects_mutants({"a mismatch that is less with the condition": rates(0.1, 0.15)}, not_falling, "falling rates"),
    )
