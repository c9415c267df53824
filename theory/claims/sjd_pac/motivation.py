"""Why SJD-PAC does what it does: entropy, the chance of drawing a token again, and more candidates."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import sqrt

import numpy as np

from simlab.decoders import SjdAc, run
from simlab.processes.processors import tempered
from simlab.randomness import Tape
from simlab.rules import Speculative
from simlab.statistics import Estimate, estimate
from theory.acceptance import alpha
from theory.candidates import candidates_law
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.evidence import (
    counterexample,
    example,
    holds_if,
    judged,
    not_refuted_if,
    refuted_if,
    rejects_mutants,
    require,
    side,
)
from theory.claims.format import fmt, fmt_row, numbers
from theory.claims.proven import proven
from theory.claims.sjd.speeds import ERRORS
from theory.claims.sjd_pac import figures
from theory.claims.sjd_pac.speed import ALARMS, SIMULATES, printed_row
from theory.claims.sources import said
from theory.image_process import LOSSLESS, STAND_IN, image
from theory.published.ledger import published

CLAIMS = Claims("sjd-pac")
HALF = Fraction(1, 2)

# Drawing a token again, and retaining it ---------------------------------------------------------------------------

RARE, OFTEN = 0.01, 0.7  # what the paper says of either
WHOLE = 6  # images
BUDGET = 64  # the paper's L
FITTED = (
    "The process was fitted to the tokens a call of the full method, to which retained tokens lead: this is a check of "
    f"it, and no prediction. {STAND_IN}"
)

CLAIMS.summary(
    "pac.match-rate",
    said(
        "4.2",
        "Given the high entropy of image distributions, this resampling probability is negligible [< 0.01]. ... "
        "achieving a retention probability [> 0.7]",
        "formalised",
        "The paper names the numbers < 0.01 and > 0.7, and neither the positions they are over nor whether they are "
        "means. Read in its favour as what is typical, the median over positions; the means are about 0.06 and 0.71. "
        f"{FITTED}",
    ),
    "On the simulated image-like process with a window of 64 drafts, at the median position behind the first "
    "rejection, a token drawn anew is the old one with probability below 0.01, and verification retains it with "
    "probability above 0.7.",
    ["pac.match-rate.resampling", "pac.match-rate.retention"],
)


@CLAIMS.claim(
    "pac.match-rate.resampling",
    said(
        "4.2",
        "Given the high entropy of image distributions, this resampling probability is negligible [< 0.01]",
        "formalised",
        "The paper does not say whether it means the median over positions or the mean. Read in its favour as the "
        "median; the mean is about 0.06. That the bound holds in the mean over the drafts that Jacobi decoding "
        "compares is stronger, and false of what SJD prints of it. SJD's Table 1 averages the step "
        f"compression over images; it is read as that of all tokens and calls together. {FITTED}",
    ),
    r"On the simulated image-like process with a window of 64 drafts, at the median position behind the first "
    r"rejection, two tokens drawn independently from the rows $p'$ and $p$ of successive calls are equal with "
    r"probability $\sum_x p'(x) p(x) < 0.01$.",
    simulates=SIMULATES,
)
def resampling(seed: int) -> Finding:
    r"""Nothing is proven. The probability $\sum_x p'(x) p(x)$ is computed from the rows, one median an image. Its mean
    is dominated by the few positions whose rows are peaked: by Jensen it is at least $e^{-H}$ for the mean entropy
    $H$ of rows that do not change, and far more where entropies differ.

    Not in the mean over the drafts that Jacobi decoding compares, on Lumina-mGPT itself. Jacobi decoding compares
    drafts from the left with new draws, up to the first that differs, and commits all of these draws. So $N$ tokens
    take at most $N$ comparisons, and all but one a call match: with $C$ tokens a call the share that matches is at
    least $1 - 1/C$. SJD prints $C = 1.04$, so at least $1 - 1/1.035 = 3.4\%$ match. If one token in 49, the end of a
    row of 48, always matched, at least 1.4 % of the others would. How many of these are the first of their window is
    not said: matches may come in runs.
    """
    found = rows_of_calls(seed)
    return _typical(found["again"], -RARE, found, *compared_drafts())


@CLAIMS.claim(
    "pac.match-rate.retention",
    said(
        "4.2",
        "AC effectively exploits the asymptotic behavior observed in Fig. 4 to maximize token retention, achieving a "
        "retention probability [> 0.7]",
        "formalised",
        "The paper does not say whether it means the median over positions or the mean. Read in its favour as the "
        f"median; the mean is about 0.71, and not surely above. {FITTED}",
    ),
    r"On the simulated image-like process with a window of 64 drafts, at the median position behind the first "
    r"rejection, adaptive continuation retains the token with probability $1 - \mathrm{TV}(p', p) > 0.7$.",
    simulates=SIMULATES,
)
def retained(seed: int) -> Finding:
    r"""Nothing is proven. The probability $1 - \mathrm{TV}(p', p)$ is computed from the rows of successive calls, one
    median an image. On average over positions it is 0.71, and with a window of 16 drafts 0.68: positions whose rows
    change altogether count there with all they lose.
    """
    found = rows_of_calls(seed)
    return _typical(found["kept"], OFTEN, found)


def _typical(medians: Estimate, bound: float, found: dict[str, Estimate], *more: Evidence) -> Finding:
    """Whether ``medians`` are surely above ``bound``, or below its size where it is negative."""

    def beyond(value: Estimate) -> int:
        above = side(value.interval(1 - ALARMS), abs(bound))
        return above if bound > 0 else -above

    wrong = "kept" if bound < 0 else "again"
    return judged(
        beyond(medians),
        counterexample(
            f"image-like process, sjd-ac with L = {BUDGET}: retained at the median position {found['kept']}, on "
            f"average {found['kept, mean']}; drawn again at the median position {found['again']}, on average "
            f"{found['again, mean']}; {ERRORS}; false alarms {ALARMS:g}",
            numbers(medians=medians.mean, error=medians.error, images=medians.n),
        ),
        rejects_mutants({"one taken for the other": found[wrong]}, lambda e: beyond(e) != 1, "the median"),
        *more,
    )


@cache
def rows_of_calls(seed: int) -> dict[str, Estimate]:
    """How often a token behind the first rejection is drawn again and retained: medians and means, over images.

    From the rows of successive calls of ``sjd-ac``; positions that have had no row before are left out.
    """
    found: dict[str, list[float]] = {name: [] for name in ("kept", "kept, mean", "again", "again, mean")}
    for number in range(WHOLE):
        target = image(number).target
        calls: dict[str, list[np.ndarray]] = {"kept": [], "again": []}

        def watch(before, after, info, calls=calls, target=target):  # type: ignore[no-untyped-def]
            moved = int(after.length[0] - before.length[0])
            old, new = before.q[0, moved:], after.q[0, : before.q.shape[1] - moved]
            known = (np.arange(len(old)) + after.length[0] < target.length) & (np.ptp(old, axis=1) > 0)
            old, new = old[known], new[known]
            calls["kept"].append(np.minimum(old, new).sum(axis=1))
            calls["again"].append((old * new).sum(axis=1))

        run(SjdAc(BUDGET), target, LOSSLESS, Tape(seed, [number]), watch=watch)
        for name, values in ((name, np.concatenate(each)) for name, each in calls.items()):
            found[name].append(float(np.median(values)))
            found[f"{name}, mean"].append(float(values.mean()))
    return {name: estimate(values) for name, values in found.items()}


def compared_drafts() -> list[Evidence]:
    """How often the drafts that Jacobi decoding compares match, by what SJD prints of it.

    Raises
    ------
    CheckFailed
        If that may be below 0.01.
    """
    row = published().one(paper="sjd", table="1", method="jacobi", metric="step_compression")

    def above(compression: float, sure: float = 0.0) -> float:
        """By how much the share that matches is above 0.01 at least, where a share ``sure`` of tokens always does."""
        return ((1 - 1 / compression) - sure) / (1 - sure) - RARE

    least = float(row.interval.low)
    require(above(least) > 0 and above(least, 1 / 49) > 0, "compared drafts may match with probability below 0.01")
    return [
        example(
            f"not of all that are compared: {row.printed} tokens a call are printed of Jacobi decoding on Lumina-mGPT: "
            f"at least {above(least) + RARE:.1%} of the drafts compared match, and {above(least, 1 / 49) + RARE:.1%} "
            f"without the ends of rows",
            numbers(
                tokens_a_call=float(row.value),
                matches=above(float(row.value)) + RARE,
                least=above(least) + RARE,
                least_without_ends=above(least, 1 / 49) + RARE,
            ),
        ),
        rejects_mutants(
            {"1.01 printed": 1.01, "1.00 printed": 1.0}, lambda c: not above(c) > 0, "the share that matches"
        ),
    ]


# Entropy -----------------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "pac.entropy.candidates",
    said(
        "1",
        "Intuitively, this means many tokens are nearly equally plausible, making it difficult for a draft model to "
        "accurately anticipate the target model's predictions.",
        "formalised",
        "anticipate: one of K deterministic candidates, as EAGLE-2's tree has, is the token that is emitted. That "
        "image models behave so in their complex regions is a matter of measurement.",
    ),
    r"A lossless method accepts one of $K$ deterministic candidates with probability at most $\sqrt{K} "
    r"\exp(-H_2(p)/2)$, where $H_2(p) = -\ln \sum_x p(x)^2$ is the order-2 Rényi entropy of the target's row.",
)
def candidates(seed: int) -> Finding:
    r"""If a candidate from the set $S$ is accepted the token emitted is in $S$. The method is lossless, so this has
    probability at most $p(S)$, whatever $S$ is. By Cauchy and Schwarz
    $p(S)^2 \le K \sum_{x \in S} p(x)^2 \le K \exp(-H_2(p))$. Where the $K$ candidates are all that $p$ can draw, and
    equally probable, there is equality.

    Not for every sampled draft does more entropy mean less acceptance, as the paper reports of language models at high
    temperatures. Acceptance is $1 - \mathrm{TV}(p, q)$ then, which entropy does not determine. At temperature $T$ the
    rows are proportional to $p^{1/T}$ and $q^{1/T}$, and as $T$ grows both tend to the uniform row on their supports:
    with full support acceptance tends to 1, and can fall in between.
    """
    one, other = (Fraction(2, 3), Fraction(1, 3)), (Fraction(1, 3), Fraction(2, 3))
    colder = [tempered(np.array(row, dtype=object), HALF) for row in (one, other)]
    warm, cold = alpha(one, other), alpha(*colder)
    require(warm > cold, "a higher temperature accepts less")
    p = tuple(Fraction(x, 10) for x in (4, 3, 2, 1))
    shown = {k: (sum(p[:k]), sqrt(k * sum(x * x for x in p))) for k in (1, 2)}
    return holds_if(
        proven("pac.entropy.candidates") and all(best <= most for best, most in shown.values()),
        example(
            f"p = {fmt_row(p)}: "
            + "; ".join(f"K = {k}: at best {fmt(best)}, at most {fmt(most)}" for k, (best, most) in shown.items()),
            numbers(p=p, best=[best for best, _ in shown.values()], bound=[most for _, most in shown.values()]),
        ),
        example(
            f"not for every sampled draft: p = {fmt_row(one)}, q = {fmt_row(other)} at T = 1 accept {fmt(warm)}; at T "
            f"= 1/2 they are {fmt_row(colder[0])} and {fmt_row(colder[1])} and accept {fmt(cold)}",
            numbers(p=one, q=other, acceptance=warm, acceptance_colder=cold),
        ),
    )


# Calls that commit a single token ----------------------------------------------------------------------------------

MOST = 33  # tokens that a call with 32 drafts can commit, the one after them included


@CLAIMS.claim(
    "pac.single-token",
    said(
        "1; Fig. 1a",
        "In nearly 50% of forward passes, SJD accepts only a single token.",
        "formalised",
        "The paper shows it in a figure, and does not name the model, the prompts and the window: read is the first "
        "row of its Table 2. The image-like process was fitted to it, and cannot show it.",
    ),
    "In SJD with a window of 32 on Lumina-mGPT, for which SJD-PAC prints 2.31 tokens a call, nearly half of the calls "
    "commit a single token.",
)
def single_token(seed: int) -> Finding:
    r"""What is printed of this row does not decide it. Let a call commit from 1 to $n$ tokens and $m$ in the mean. If a
    share $s$ of calls commits one token, the others commit between 2 and $n$ each, so that $s + 2 (1 - s) \le m \le s +
    n (1 - s)$: $s$ is at least $2 - m$ and at most $(n - m) / (n - 1)$, and both can be. For $m = 2.31$ and $n = 33$
    that is from 0 to 96 %.

    The published code redraws Fig. 1a from shares of 15 lengths, by which 47.8 % of the calls commit a single token. So
    the figure shows what the sentence says. Which run it is of nothing says: its calls commit 2.40 tokens in the mean,
    and 2.19 if what the others commit follows Fig. 1b, which contradicts Fig. 1a (pac.long-calls).
    """
    row = printed_row("2", "sjd", L=32)

    def shares(mean: Fraction) -> tuple[Fraction, Fraction]:
        """The least and the largest share of calls with one token."""
        return max(Fraction(0), 2 - mean), (MOST - mean) / (MOST - 1)

    def excluded(mean: Fraction) -> Fraction:
        """How far one half is off these shares."""
        least, most = shares(mean)
        return max(Fraction(0), least - HALF, HALF - most)

    mean = Fraction(row.printed)
    least, most = shares(mean)
    others = (mean - least) / (1 - least)
    drawn = sum(map(figures.above, range(1, len(figures.SHARES))))
    return Finding(
        "not-decided" if excluded(mean) == 0 else "refuted",
        [
            counterexample(
                f"{row.printed} tokens a call are printed: no call with a single token and {float(others):.2f} a call, "
                f"or {float(most):.1%} with a single token and the others with {MOST}, have that mean",
                numbers(tokens_a_call=mean, least=least, most=most),
            ),
            example(
                f"{figures.DRAWN} shares of {' '.join(f'{share:g}' for share in figures.SHARES)} for 1 to 15 tokens a "
                f"call, which add up to {sum(figures.SHARES):.3f}: scaled to 1, {1 - figures.above(1):.1%} with a "
                f"single token and {1 + drawn:.2f} tokens a call",
                numbers(shares=figures.SHARES, single=1 - figures.above(1), tokens_a_call=1 + drawn),
            ),
            rejects_mutants(
                {"1.04 printed, as of Jacobi decoding": Fraction("1.04"), "20 printed": Fraction(20)},
                excluded,
                "the share",
            ),
        ],
    )


READ = 0.005  # how far off a share of Fig. 1a may be that is written with two digits
HIGHLY_LIKELY = 2 / 3


@CLAIMS.claim(
    "pac.single-token.cascade",
    said(
        "4.1",
        "When used as the draft in the next iteration ..., the tokens ... are highly likely to be rejected "
        "immediately at [i + 1], leading to a cascading spike of single-token acceptances.",
        "stronger",
        "Highly likely is read as 2/3 at least, from which on assessments that calibrate such words call something "
        "likely. The paper itself puts the spike at nearly one half, so that this is more than it says; more likely "
        "than not is not decided. The token at i + 1 is the first draft of the next call, and is rejected if that call "
        "commits a single token, which section 1 says of nearly 50 % of calls. Judged are the paper's own numbers, "
        "those of Fig. 1a as the published code redraws it. Whether drafts behind a rejection are rejected more often "
        "than others, as a cascade would have it, is printed nowhere, and what a model would show is not judged.",
    ),
    "By the shares of calls from which the published code redraws SJD-PAC's Fig. 1a, a call of SJD that follows a "
    "rejection rejects its first draft with a probability of at least 2/3.",
)
def cascade(seed: int) -> Finding:
    r"""Let $s$ be the share of calls that commit a single token, and $f$ that of calls that follow no rejection: the
    first of an image, and those behind a window that was accepted whole. The others are $1 - f$, and at most $s$ of all
    calls are such and reject their first draft: the probability is at most $s / (1 - f)$, and two thirds only if
    $f \ge 1 - 3s/2$. For $s = 0.49$ as it is written, read as at most 0.495, that is a quarter of all calls. Those
    with 15 tokens, the longest of the figure, are 0.1 %, and the first call is one of hundreds. By these numbers the
    probability is 0.498 at most; whether it is above one half they cannot tell, as they are read off a figure.
    """
    first = Fraction(1, 200)  # of 1,000 tokens, the smallest image of SJD's section 5.4, with less than 5 a call

    def needed(shares: Sequence[float]) -> float:
        """The part of calls that would have to follow no rejection."""
        return 1 - (shares[0] + READ) / HIGHLY_LIKELY

    def likely(shares: Sequence[float]) -> float:
        """By how much calls that follow no rejection may be more than they must be."""
        return max(0.0, shares[-1] + READ / 10 + float(first) - needed(shares))

    single, *_, longest = figures.SHARES
    return refuted_if(
        likely(figures.SHARES) == 0,
        counterexample(
            f"{figures.DRAWN} a share of {single:g} for a single token, {1 - figures.above(1):.1%} if shares are "
            f"scaled to 1: for 2/3, {needed(figures.SHARES):.0%} of the calls would have to follow no rejection. Those "
            f"with 15 tokens, the longest, are {longest:.1%}, first calls at most {float(first):.1%}",
            numbers(
                single=single,
                scaled=1 - figures.above(1),
                needed=needed(figures.SHARES),
                longest=longest,
                first=first,
            ),
        ),
        rejects_mutants(
            {
                "a share of 0.70": (0.7, *figures.SHARES[1:]),
                "every third call the longest": (*figures.SHARES[:-1], 1 / 3),
            },
            likely,
            "two thirds",
        ),
    )


LONG, HALF_OF_GAINS, QUARTER = 3, 0.5, 0.25


@CLAIMS.claim(
    "pac.long-calls",
    said(
        "1, Fig. 1b",
        "The average [~2x] speedup is thus disproportionately driven by a small fraction of steps that successfully "
        "accept numerous tokens in a single pass.",
        "formalised",
        "Numerous is read as more than three tokens, a small fraction as less than a quarter of the calls, driven as "
        f"more than half of the tokens beyond one a call. {figures.DRAWN} the numbers that are judged, of Fig. 1a and "
        "of Fig. 1b. They are the authors', and contradict each other: calls with more than five tokens give 41 % of "
        "the gain by 1a, and 24 % by 1b, or 26 % of its sum. It is found that either shows what the sentence says, and "
        "no more.",
    ),
    "In the numbers from which the published code redraws SJD-PAC's Fig. 1, the calls of SJD that commit more than "
    "three tokens are less than a quarter of all, and give more than half of the tokens beyond one a call.",
)
def long_calls(seed: int) -> Finding:
    """A comparison of printed numbers. A call with $k$ tokens gives $k - 1$ beyond one, so that wherever lengths differ
    long calls give more than their share of them: what the figure adds is how much. By Fig. 1a it is 69 %. By Fig. 1b
    it is 54 %, and 59 % of its sum, which is 0.913. Both are more than half, and the difference is more than rounding:
    by these numbers the two figures are not of the same calls.
    """

    def off(found: tuple[float, float]) -> float:
        """By how much the share of long calls is above a quarter, or what they give below a half."""
        few, much = found
        return max(0.0, few - QUARTER, HALF_OF_GAINS - much)

    few, much, shown = figures.above(LONG), figures.gained(LONG), sum(figures.GAINS[LONG:])
    even = [1] * len(figures.SHARES)
    return not_refuted_if(
        off((few, min(much, shown))) == 0,
        counterexample(
            f"calls with more than {LONG} tokens: {few:.1%} of all; of the tokens beyond one a call they give "
            f"{much:.1%} by Fig. 1a, and {shown:.1%} by Fig. 1b",
            numbers(calls=few, by_lengths=much, by_contributions=shown),
        ),
        rejects_mutants(
            {
                "1 to 15 tokens alike": (figures.above(LONG, even), figures.gained(LONG, even)),
                "more than 5 tokens by Fig. 1a": (figures.above(5), figures.gained(5)),
            },
            off,
            "what long calls give",
        ),
    )


# More candidates ---------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "pac.drafting",
    said(
        "4.1",
        "By providing [K] diverse options at the critical, post-rejection local boundary, PD increases the likelihood "
        "that at least one path will remain valid, directly mitigating the single-token acceptance spike.",
        "formalised",
        "Of proactive drafting, PD. Judged at the position behind the rejection, where a call commits one token if no "
        "path is valid. How often that is with one draft is pac.single-token.",
    ),
    r"For every target row $p$ and draft row $q$, one of $K \ge 2$ candidates drawn without replacement from $q$ and "
    r"verified in turn is accepted with at least the probability $1 - \mathrm{TV}(p, q)$ of a single draft, and with "
    r"more if $p(x) > q(x) > 0$ for some $x$.",
)
def drafting(seed: int) -> Finding:
    r"""The first candidate is drawn and verified as a single draft is. If it is rejected, it is a $c$ with
    $q(c) > p(c)$, and the second may be accepted besides: it is drawn from $q$ without $c$ and verified against the
    residual, in proportion to $\max(0, p - q)$. A token $x$ with $p(x) > q(x) > 0$ is another one than $c$ and has mass
    in both, and where there is such a token $p \ne q$, so that rejections do happen. Further candidates add to it.
    Where $q$ has no mass on what $p$ has more of, no sibling helps.
    """
    p, q = (Fraction(1, 2), Fraction(1, 2)), (Fraction(3, 4), Fraction(1, 4))
    return holds_if(
        proven("pac.drafting"),
        example(
            f"p = {fmt_row(p)}, q = {fmt_row(q)}: a single draft is accepted with {fmt(alpha(p, q))}, one of two "
            f"candidates with {fmt(Fraction(candidates_law(Speculative(), p, q, 2)[1]))}"
        ),
    )
