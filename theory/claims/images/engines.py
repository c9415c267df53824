"""What engines do: drafts that have to equal a sample of the target, and drafts that are drawn from another row."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from simlab.processes.filters import bfloat16, softmax
from simlab.rules import SamplerMatch, Speculative
from theory.claims.base import Claims, Finding
from theory.claims.evidence import counterexample, example, holds_if, refuted_if, rejects_mutants
from theory.claims.format import fmt, fmt_row, numbers
from theory.claims.lossy.truncation import PAIR
from theory.claims.proven import over_more_tokens, proven
from theory.claims.sources import derived, said
from theory.distances import tv
from theory.exact import acceptance, step_law

CLAIMS = Claims("images")

# Sampler match -------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "sampler-match.law",
    said(
        "ml-explore/mlx-lm, pull request 1709",
        "This is correct, but at temperature > 0 it rejects many drafts that classic speculative sampling would accept",
        "formalised",
        "It is of speculative_generate_step, which llama.cpp's common_sampler_sample_and_accept_n is another form of. "
        "Correct is read as lossless, for drafts from any row.",
    ),
    r"For every $p$ and $r$, a draft from $r$ that is accepted if it equals a token drawn from $p$, which is emitted "
    r"either way, leaves $p$ as the law of what is emitted, whatever is declared for the draft, and is accepted with "
    r"probability $\sum_x r(x) p(x)$, which is at most the $1 - \mathrm{TV}(p, r)$ of speculative sampling.",
)
def sampler_match(seed: int) -> Finding:
    r"""The token that is emitted is the one drawn from $p$, with noise that the draft has no part in; so it follows $p$
    given the draft too, and nothing is asked of $r$, or of what is declared. Both agree with probability $\sum_x r(x)
    p(x)$, and $r(x) p(x) \le \min(r(x), p(x))$, with equality where one of both is 0 or 1. What follows a mismatch has
    to be drawn with noise that was not used for the drafts.
    """
    p, q = PAIR
    return holds_if(
        proven("sampler-match.law"),
        over_more_tokens("sampler-match.law", seed),
        example(
            f"p = {fmt_row(p)}, q = {fmt_row(q)}: {fmt(acceptance(SamplerMatch(), p, q))} are accepted, by speculative "
            f"sampling {fmt(acceptance(Speculative(), p, q))}; a deterministic draft, the likeliest token of p, is "
            f"accepted with {fmt(max(p))}"
        ),
    )


@CLAIMS.claim(
    "sampler-match.biased",
    said(
        "ml-explore/mlx-swift-lm, pull request 459",
        "That rule is correct for greedy decoding, but at `temperature > 0` it does not preserve the target "
        "distribution: ... accepts with probability `Σ p(x)q(x)`, and the tokens that survive are biased toward the "
        "modes both models agree on.",
        "formalised",
        "The rule is that of the iterator for MTP, which at commit 14414441fa44 (MTPSpeculativeTokenIterator.swift, "
        "lines 504 to 529) emits the target's sample at each position, and goes on while it is the draft. In the "
        "sentence's favour, one pair of rows would do.",
    ),
    r"There are $p$ and $q$ for which emitting a token drawn from $p$, and going on to the next draft if it equals one "
    r"drawn from $q$, emits another law than $p$.",
)
def sampler_match_biased(seed: int) -> Finding:
    r"""For all rows $p$ is emitted (sampler-match.law). The second half of the sentence is true: given that the draft
    was accepted, the token follows $p q / \sum p q$. A token that was not accepted is emitted as well, and has what is
    missing.
    """
    p, q = PAIR
    survive = tuple(a * b / acceptance(SamplerMatch(), p, q) for a, b in zip(p, q, strict=True))
    law = step_law(SamplerMatch(), p, q)
    return refuted_if(
        proven("sampler-match.biased") and tv(law, p) == 0,
        counterexample(
            f"p = {fmt_row(p)}, q = {fmt_row(q)}: accepted tokens follow {fmt_row(survive)}, and what is emitted is "
            f"{fmt_row(law)}",
            numbers(p=p, q=q, accepted=survive, law=law, tv=tv(law, p)),
        ),
    )


# Drafts that are drawn from another row than is declared -----------------------------------------------------------


@CLAIMS.claim(
    "declared-draft.law",
    said(
        "deepseek-ai/DeepSpec, issue 31",
        "If the sample is drawn from `r` but the algorithm computes acceptance as if it came from `p`, the final "
        "marginal distribution is generally biased.",
        "stronger",
        "The sentence calls the declared row p. It does not say by how much, and for which rows not at all.",
    ),
    r"For every $p$, $q$ and $r$, and every rule that emits $p$ for drafts from $q$, drafts from $r$ that are declared "
    r"as $q$ make it emit a law within $\mathrm{TV}(r, q)$ of $p$; speculative sampling reaches that where $p = q$, "
    r"and then emits $r$.",
)
def declared_draft(seed: int) -> Finding:
    r"""What a rule emits for a draft $x$ is a row $K_x$ that $p$ and the declared $q$ decide. So $q$ becomes $\sum_x
    q(x) K_x = p$ and $r$ becomes $\sum_x r(x) K_x$, and their TV is half of $\sum_y |\sum_x (r(x) - q(x)) K_x(y)| \le
    \sum_x |r(x) - q(x)|$. Where $p = q$ every draft is accepted. Over several tokens the TVs add up along the path,
    each in the mean over what was emitted before it.
    """
    p, q = PAIR
    moved = q[0], q[1] * Fraction(5, 6), q[2] + q[1] / 6
    law, rule = step_law(Speculative(), p, q, drawn=moved), Speculative()
    return holds_if(
        proven("declared-draft.law"),
        over_more_tokens("declared-draft.law", seed),
        example(
            f"p = {fmt_row(p)}, q = {fmt_row(q)}, r = {fmt_row(moved)}: emits {fmt_row(law)}, at TV {fmt(tv(law, p))} "
            f"of {fmt(tv(moved, q))}; {fmt(acceptance(rule, p, q, drawn=moved))} are accepted, {fmt(1 - tv(p, q))} of "
            "drafts from q"
        ),
    )


TOKENS, ROWS, SEED = 16_384, 8, 1  # V, how many rows, and of which generator
SCALES, SHIFTS, TEMPERATURES = (2, 4), (0, 20), (1.0, 0.8, 0.7)


def by_row(scale: float, shift: float, temperature: float, rounded: bool = True) -> np.ndarray:
    """TV(r, q) ``[ROWS]``: r from logits divided, and a softmax rounded, in bfloat16, q in float32 of those logits."""
    normal = np.random.default_rng(SEED).standard_normal((ROWS, TOKENS))
    logits = bfloat16(normal * scale + shift).astype(np.float32)
    scaled = logits / np.float32(temperature)
    masses = softmax(bfloat16(scaled) if rounded else scaled)
    masses = bfloat16(masses) if rounded else masses
    drawn = masses / masses.sum(axis=-1, keepdims=True)
    apart: np.ndarray = np.abs(drawn - softmax(scaled)).sum(axis=-1) / 2
    return apart


def rounding(scale: float, shift: float, temperature: float, rounded: bool = True) -> float:
    """The mean of the rows."""
    return float(by_row(scale, shift, temperature, rounded).mean())


@CLAIMS.claim(
    "declared-draft.bfloat16",
    derived(
        "drafts drawn from bfloat16 rows, and declared in float32",
        "What deepseek-ai/DeepSpec, commit afdfa7c9382a, does: sample_tokens draws, logits_to_probs declares.",
    ),
    "In the mean over eight rows of 16,384 Gaussian logits in bfloat16, those of seed 1 of NumPy's generator, of "
    "standard deviation 2 and mean 0 or 20, drafts from logits that are divided by the temperature 7/10 and from "
    "probabilities that are rounded, both in bfloat16, are at a TV from the float32 row of the drafts that is more "
    "than 4 times as large at mean 20 as at mean 0, and at both more than 5 times as large as at temperature 1, at "
    "mean 0 of which it is below 1/1000.",
)
def in_bfloat16(seed: int) -> Finding:
    """Computed for these rows; single ones have other quotients (second example). At temperature 1 the division is
    exact, and only probabilities are rounded, each by at most 2^-9 of itself. Otherwise the scaled logits are rounded
    as well, to multiples of 2^-5 below 8 and of 2^-3 from 16 on, so that the error depends on a shift of all logits,
    which no probability depends on. This TV bounds that of what is emitted (declared-draft.law), and is reached where
    the target has the float32 row.
    """
    found = {(mean, t): rounding(2, mean, t) for mean in SHIFTS for t in (1.0, 0.7)}
    told = ", ".join(
        f"{rounding(scale, mean, t):.1e} (standard deviation {scale}, mean {mean}, temperature {t:g})"
        for scale in SCALES
        for mean in SHIFTS
        for t in TEMPERATURES
    )
    each = by_row(2, 20, 0.7) / by_row(2, 0, 0.7)
    plain = {(mean, t): rounding(2, mean, t, rounded=False) for mean in SHIFTS for t in (1.0, 0.7)}
    return holds_if(
        larger(found) == 0,
        example(f"mean TV of {ROWS} rows: {told}"),
        example(
            f"the quotient of mean 20 and mean 0, at temperature 0.7, is {found[20, 0.7] / found[0, 0.7]:.2f} of the "
            f"means, and {each.min():.2f} to {each.max():.2f} row by row"
        ),
        rejects_mutants({"nothing is rounded": plain}, larger, "the size of the error"),
    )


def larger(found: dict[tuple[int, float], float]) -> int:
    """How many of the inequalities of the claim are false."""
    unshifted, shifted = found[0, 0.7], found[20, 0.7]
    stated = (
        shifted > 4 * unshifted,
        unshifted > 5 * found[0, 1.0],
        shifted > 5 * found[20, 1.0],
        0 < found[0, 1.0] < 1e-3,
    )
    return sum(not each for each in stated)
