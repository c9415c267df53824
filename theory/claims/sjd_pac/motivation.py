"""Why SJD-PAC does what it does: entropy, the chance of drawing a token again, and what EAGLE gains."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import sqrt
from random import Random

import numpy as np

from simlab.decoders import SjdAc, run
from simlab.randomness import Tape
from simlab.statistics import Estimate, estimate
from theory.acceptance import alpha
from theory.claims.base import Claims, Finding, Verdict
from theory.claims.evidence import counterexample, example, holds_if, identity, refuted_if, rejects_mutants
from theory.claims.format import fmt, fmt_row, numbers
from theory.claims.published.comparisons import Comparison, judged
from theory.claims.sjd_pac.speed import ALARMS, SIMULATES
from theory.claims.sources import said
from theory.example_processes import random_row
from theory.image_process import LOSSLESS, STAND_IN, image
from theory.published.ledger import Ledger, published

CLAIMS = Claims("sjd-pac")
Row = Sequence[Fraction]

# Drawing a token again, and retaining it ---------------------------------------------------------------------------

RARE, OFTEN = 0.01, 0.7  # what the paper says of either
WHOLE = 6  # images
RATES = (
    "Given the high entropy of image distributions, this resampling probability is negligible [< 0.01]. ... "
    "achieving a retention probability [> 0.7]"
)

CLAIMS.summary(
    "pac.match-rate",
    said(
        "4.2",
        RATES,
        "formalised",
        "The paper names the numbers < 0.01 and > 0.7, and not the positions they are over: read as what is typical, "
        f"the median over positions. {STAND_IN}",
    ),
    "On the simulated image-like process, at the median position of the window behind the first rejection, a token "
    "drawn anew is the old one with probability below 0.01, and verification retains it with probability above 0.7.",
    ["pac.match-rate.resampling", "pac.match-rate.retention", "pac.match-rate.first-draft"],
)


@CLAIMS.claim(
    "pac.match-rate.resampling",
    said(
        "4.2",
        "Given the high entropy of image distributions, this resampling probability is negligible [< 0.01]",
        "formalised",
        f"The median over positions is read for the paper's < 0.01; the mean is larger. {STAND_IN}",
    ),
    r"On the simulated image-like process, at the median position of the window behind the first rejection, two tokens "
    r"drawn independently from the rows $p'$ and $p$ of successive calls are equal with probability "
    r"$\sum_x p'(x) p(x) < 0.01$.",
    simulates=SIMULATES,
)
def resampling(seed: int) -> Finding:
    r"""Nothing is proven. The probability $\sum_x p'(x) p(x)$ is computed from the rows, one median an image. Its mean
    is dominated by the few positions whose rows are peaked: by Jensen it is at least $e^{-H}$ for the mean entropy
    $H$ of rows that do not change, and far more where entropies differ.
    """
    found = rows_of_calls(seed)
    return _typical(found["again"], -RARE, found)


@CLAIMS.claim(
    "pac.match-rate.retention",
    said(
        "4.2",
        "AC effectively exploits the asymptotic behavior observed in Fig. 4 to maximize token retention, achieving a "
        "retention probability [> 0.7]",
        "formalised",
        f"The median over positions is read for the paper's > 0.7. {STAND_IN}",
    ),
    r"On the simulated image-like process, at the median position of the window behind the first rejection, adaptive "
    r"continuation retains the token with probability $1 - \mathrm{TV}(p', p) > 0.7$.",
    simulates=SIMULATES,
)
def retained(seed: int) -> Finding:
    r"""Nothing is proven. The probability $1 - \mathrm{TV}(p', p)$ is computed from the rows of successive calls, one
    median an image.
    """
    found = rows_of_calls(seed)
    return _typical(found["kept"], OFTEN, found)


def _typical(medians: Estimate, bound: float, found: dict[str, Estimate]) -> Finding:
    """Whether ``medians`` are surely above ``bound``, or below its size where it is negative."""

    def side(value: Estimate) -> int:
        low, high = value.interval(1 - ALARMS)
        above = int(low > abs(bound)) - int(high < abs(bound))
        return above if bound > 0 else -above

    verdicts: dict[int, Verdict] = {1: "not-refuted", 0: "not-decided", -1: "refuted"}
    wrong = "kept" if bound < 0 else "again"
    return Finding(
        verdicts[side(medians)],
        [
            counterexample(
                f"image-like process, sjd-ac with L = 16: retained at the median position {found['kept']}, on average "
                f"{found['kept, mean']}; drawn again at the median position {found['again']}, on average "
                f"{found['again, mean']}; false alarms {ALARMS:g}",
                numbers(medians=medians.mean, error=medians.error, images=medians.n),
            ),
            rejects_mutants({"one taken for the other": found[wrong]}, lambda e: side(e) != 1, "the median"),
        ],
    )


@cache
def rows_of_calls(seed: int) -> dict[str, Estimate]:
    """How often a token behind the first rejection is drawn again and retained: medians and means, over images.

    From the rows of successive calls of ``sjd-ac``; positions that have had no row before are left out.
    """
    found: dict[str, list[float]] = {name: [] for name in ("kept", "kept, mean", "again", "again, mean")}
    for number in range(WHOLE):
        target = image(number).target
        pairs: list[tuple[np.ndarray, np.ndarray]] = []

        def watch(before, after, info, pairs=pairs, target=target):  # type: ignore[no-untyped-def]
            moved = int(after.length[0] - before.length[0])
            old, new = before.q[0, moved:], after.q[0, : before.q.shape[1] - moved]
            inside = np.arange(len(old)) + after.length[0] < target.length
            pairs.append((old[inside & (np.ptp(old, axis=1) > 0)], new[inside & (np.ptp(old, axis=1) > 0)]))

        run(SjdAc(16), target, LOSSLESS, Tape(seed, [number]), watch=watch)
        old, new = (np.concatenate(rows) for rows in zip(*pairs, strict=True))
        for name, values in (("kept", np.minimum(old, new).sum(axis=1)), ("again", (old * new).sum(axis=1))):
            found[name].append(float(np.median(values)))
            found[f"{name}, mean"].append(float(values.mean()))
    return {name: estimate(values) for name, values in found.items()}


@CLAIMS.claim(
    "pac.match-rate.first-draft",
    said(
        "4.2",
        "Given the high entropy of image distributions, this resampling probability is negligible [< 0.01]",
        "stronger",
        "The paper does not say that the bound of 0.01 holds for the first draft of a window, whose row is stale "
        "least. SJD's Table 1 averages the step compression over images; it is read as that of all tokens and calls "
        "together.",
    ),
    "In Jacobi decoding of Lumina-mGPT with sampling, for which SJD prints 1.04 tokens a call, a draft that is "
    "compared with a new draw matches it with probability below 0.01.",
)
def first_draft(seed: int) -> Finding:
    r"""A call compares drafts from the left with new draws, up to the first that differs, and commits all of these
    draws. So $N$ tokens take at most $N$ comparisons, and all but one a call match: with $C$ tokens a call the share
    that matches is at least $1 - 1/C$. Printed is $C = 1.04$, so at least $1 - 1/1.035 = 3.4\%$ match. If one token in
    49, the end of a row of 48, always matched, at least 1.4 % of the others would.
    """
    row = published().one(paper="sjd", table="1", method="jacobi", metric="step_compression")

    def above(compression: float, sure: float = 0.0) -> float:
        """By how much the share that matches is above 0.01 at least, where a share ``sure`` of tokens always does."""
        return ((1 - 1 / compression) - sure) / (1 - sure) - RARE

    least = float(row.interval.low)
    return refuted_if(
        above(least) > 0 and above(least, 1 / 49) > 0,
        counterexample(
            f"{row.printed} tokens a call are printed of Jacobi decoding on Lumina-mGPT: at least "
            f"{above(least) + RARE:.1%} of the drafts compared match, and {above(least, 1 / 49) + RARE:.1%} without "
            f"the ends of rows",
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
    )


# Entropy -----------------------------------------------------------------------------------------------------------

CLAIMS.summary(
    "pac.entropy",
    said(
        "1",
        "Intuitively, this means many tokens are nearly equally plausible, making it difficult for a draft model to "
        "accurately anticipate the target model's predictions.",
        "formalised",
        "Read for candidates that are fixed before the target draws. That image models behave so in their complex "
        "regions is a matter of measurement.",
    ),
    "A candidate fixed beforehand is the token that a lossless method emits with a probability that is bounded by the "
    "entropy of the target's row, and the bound falls as the entropy rises.",
    ["pac.entropy.candidates", "pac.entropy.sampled"],
)


@CLAIMS.claim(
    "pac.entropy.candidates",
    said(
        "1",
        "Intuitively, this means many tokens are nearly equally plausible, making it difficult for a draft model to "
        "accurately anticipate the target model's predictions.",
        "formalised",
        "anticipate: one of K deterministic candidates, as EAGLE-2's tree has, is the token that is emitted",
    ),
    r"A lossless method accepts one of $K$ deterministic candidates with probability at most $\sqrt{K} "
    r"\exp(-H_2(p)/2)$, where $H_2(p) = -\ln \sum_x p(x)^2$ is the order-2 Rényi entropy of the target's row.",
)
def candidates(seed: int) -> Finding:
    r"""If a candidate from the set $S$ is accepted the token emitted is in $S$. The method is lossless, so this has
    probability at most $p(S)$, whatever $S$ is. By Cauchy and Schwarz
    $p(S)^2 \le K \sum_{x \in S} p(x)^2 \le K \exp(-H_2(p))$. Where the $K$ candidates are all that $p$ can draw, and
    equally probable, there is equality.
    """
    random = Random(seed)
    tried = [random_row(random, 2 + k % 5) for k in range(100)]

    def beyond(power: int) -> float:
        """The most that ``p(S)^2`` exceeds ``K^power`` times the sum of squares, over rows and sets."""
        return max(
            float(sum(chosen) ** 2 - Fraction(k) ** power * sum(x * x for x in p))
            for p in tried
            for k in range(1, len(p) + 1)
            for chosen in combinations(p, k)
        )

    p = tuple(Fraction(x, 10) for x in (4, 3, 2, 1))
    shown = {k: (sum(p[:k]), sqrt(k * sum(x * x for x in p))) for k in (1, 2)}
    return holds_if(
        beyond(1) <= 0,
        identity(
            f"on {len(tried)} rows and all sets of candidates: p(S)^2 is never above K times the sum of squares "
            f"(largest difference {beyond(1):.3g})"
        ),
        example(
            f"p = {fmt_row(p)}: "
            + "; ".join(f"K = {k}: at best {fmt(best)}, at most {fmt(most)}" for k, (best, most) in shown.items()),
            numbers(p=p, best=[best for best, _ in shown.values()], bound=[most for _, most in shown.values()]),
        ),
        rejects_mutants({"without the factor K": 0}, lambda power: max(0.0, beyond(power)), "the bound"),
    )


@CLAIMS.claim(
    "pac.entropy.sampled",
    said(
        "1",
        "In LLMs, high sampling temperatures increase output entropy and significantly degrade the SD acceptance rate",
        "stronger",
        "The paper reports what was measured on language models, not a law for all rows. For sampled drafts acceptance "
        "is 1 - TV(p, q), which entropy does not determine; SJD (5.4) finds its step compression stable across the "
        "randomness of sampling.",
    ),
    "For every pair of target and draft rows, raising the sampling temperature of both lowers the probability that the "
    "lossless rule accepts a sampled draft.",
)
def sampled(seed: int) -> Finding:
    r"""At temperature $T$ the rows are proportional to $p^{1/T}$ and $q^{1/T}$. As $T$ grows both tend to the uniform
    row on their supports. With full support $\mathrm{TV}$ tends to 0 then, and acceptance $1 - \mathrm{TV}$ to 1. So
    temperature raises acceptance in the end, for every pair with full support; it can lower it in between.
    """
    p, q = (Fraction(2, 3), Fraction(1, 3)), (Fraction(1, 3), Fraction(2, 3))

    def gain(pair: tuple[Row, Row]) -> Fraction:
        """Acceptance at T = 1 less that at T = 1/2."""
        one, other = pair
        return Fraction(alpha(one, other) - alpha(_squared(one), _squared(other)))

    certain = (Fraction(1), Fraction(0))
    return refuted_if(
        gain((p, q)) > 0,
        counterexample(
            f"p = {fmt_row(p)}, q = {fmt_row(q)} at T = 1 accept {fmt(alpha(p, q))}; at T = 1/2 they are "
            f"{fmt_row(_squared(p))} and {fmt_row(_squared(q))} and accept {fmt(alpha(_squared(p), _squared(q)))}",
            numbers(p=p, q=q, acceptance=alpha(p, q), acceptance_colder=alpha(_squared(p), _squared(q))),
        ),
        rejects_mutants(
            {"p = q": (p, p), "point masses apart": (certain, certain[::-1])}, lambda c: not gain(c) > 0, "the gain"
        ),
    )


def _squared(row: Row) -> tuple[Fraction, ...]:
    """The row at temperature 1/2."""
    return tuple(x * x / sum(y * y for y in row) for x in row)


# EAGLE -------------------------------------------------------------------------------------------------------------

NEGLIGIBLE = (
    "For instance, EAGLE ..., despite its success in accelerating Large Language Models (LLMs), yields negligible "
    "speedups for T2I models"
)

CLAIMS.summary(
    "pac.eagle",
    said(
        "1",
        NEGLIGIBLE,
        "formalised",
        "Judged for the measurements that the sentence cites, LANTERN's of EAGLE-2 on LlamaGen; negligible is read as "
        "less than the speedup of SJD, which the same section calls modest. That it is so in the paper's own Table 1 "
        "is a stronger statement (pac.eagle.table-1).",
    ),
    "The speedups of EAGLE on a text-to-image model that are printed in the paper cited are negligible: less than any "
    "that SJD-PAC prints of SJD.",
    ["pac.eagle.cited", "pac.eagle.table-1"],
)


@CLAIMS.claim(
    "pac.eagle.cited",
    said("1", NEGLIGIBLE, "formalised", "For the paper that is cited; negligible is read as less than SJD's least."),
    "The speedups that LANTERN prints for EAGLE-2 on LlamaGen, 1.28 with greedy decoding and 0.93 with sampling, are "
    "less than any that SJD-PAC prints of SJD.",
)
def cited(seed: int) -> Finding:
    """A comparison of printed numbers: those of LANTERN's Table 3 with the least speedup of SJD in Table 1, both within
    rounding.
    """
    greedy = published().one({"temperature": "0"}, paper="lantern", method="eagle-2", metric="speedup")
    return judged(
        _cited,
        ("speedups of EAGLE-2 in LANTERN", "are below all of SJD", "are not"),
        {"2.28 printed with greedy decoding": published().altered({greedy.line: 2.28})},
    )


def _cited(ledger: Ledger) -> list[Comparison]:
    slowest = min(ledger.select(paper="sjd-pac", table="1", method="sjd", metric="speedup"), key=lambda row: row.value)
    return [
        Comparison(
            f"{row.place}: {row.setting}",
            (row, slowest),
            {"eagle": row.printed, "sjd": slowest.printed},
            f"{row.printed} of EAGLE-2, {row.setting}, against {slowest.printed} of SJD",
            slowest.interval.exceeds(row.interval),
        )
        for row in ledger.select(paper="lantern", method="eagle-2", metric="speedup")
    ]


@CLAIMS.claim(
    "pac.eagle.table-1",
    said(
        "1",
        NEGLIGIBLE,
        "stronger",
        "The sentence cites LANTERN, which measured LlamaGen; Table 1 has EAGLE-2 on Lumina-mGPT, adapted from "
        "LANTERN's code. Negligible is read as less than SJD's speedup beside it.",
    ),
    "On each benchmark of Table 1 the end-to-end speedup of EAGLE on Lumina-mGPT is less than that of SJD.",
)
def table_1(seed: int) -> Finding:
    """A comparison of printed numbers, row beside row, within rounding. On PartiPrompts EAGLE has 2.01 and SJD 2.13; on
    MS-COCO it is 2.10 and 2.05.
    """
    row = _eagle(published())[0].rows[0]
    return judged(
        _eagle,
        ("speedups of EAGLE in Table 1", "are below that of SJD", "are not"),
        {"1.10 printed on MS-COCO": published().altered({row.line: 1.10})},
    )


def _eagle(ledger: Ledger) -> list[Comparison]:
    found = []
    for row in ledger.select(paper="sjd-pac", table="1", method="eagle", metric="speedup"):
        beside = ledger.one(
            paper="sjd-pac", table="1", dataset=row.dataset, target=row.target, method="sjd", metric="speedup"
        )
        found.append(
            Comparison(
                f"{row.place}: {row.dataset}",
                (row, beside),
                {"eagle": row.printed, "sjd": beside.printed},
                f"{row.dataset}: {row.printed} of EAGLE, {beside.printed} of SJD",
                not row.interval.exceeds(beside.interval),
            )
        )
    return found
