"""Claims about CSpD's pre-filling: what tokens of the target at the start do to acceptance, and what they cost."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import atan, erfc, exp, pi, sqrt
from random import Random
from typing import Any

import numpy as np
import scipy

from simlab.continuous import affine_chain
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.diffusion import ddpm_chain
from simlab.continuous.models.sequences import Tokens
from simlab.decoders import SpeculativeDecoder
from simlab.processes import TableProcess
from simlab.rules import Speculative
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.evidence import example, holds_if, rejects_mutants, require, small_scale
from theory.claims.format import fmt, fmt_row, numbers
from theory.claims.proven import proven
from theory.claims.sources import said
from theory.continuous.gaussian_overlap import two_phi
from theory.continuous.positions import fading, mean_after, rates
from theory.draft_length import prefilled_counts
from theory.published.ledger import Ledger, Row, published

CLAIMS = Claims("cspd")
INFLEXION = erfc(sqrt(1 / 2))  # 2 Phi(-1), the acceptance from which a fading mismatch brings ever less
PERCENT, LENGTHS = ("0", "5", "15"), ("4", "8", "16", "32")  # pre-filled, and gamma, in Table 5
Rates = list[Fraction]

CLAIMS.summary(
    "cspd.prefill",
    said(
        "3.2; 4.3, Table 5",
        "we propose pre-filling a portion (e.g., 5%) of tokens from the target model to ensure a consistent prefix. "
        "This does not increase inference latency ... Furthermore, pre-filling improves the overall acceptance rate. "
        "... As the pre-filling ratio increases, the advantages conferred by this approach exhibit diminishing "
        "returns.",
        "formalised",
        "the acceptance rate is the mean over the positions that are drafted, latency is counted in calls",
    ),
    r"Let two models be equal but for conditions whose difference fades along the sequence, share their noise, have "
    "one standard deviation in the last step, and be verified by the ratio of that step. Then pre-filling tokens of "
    "the target raises the mean acceptance of drafts at the other positions, by no more for every further token where "
    r"rates are concave, which in this model is from an acceptance of $2 \Phi(-1) = 0.317$ on, while section 3.2 "
    "starts at 5 %; and it does not raise the mean cost of a sequence where a block would not have paid and drafts are "
    "accepted independently of each other.",
    [
        "cspd.prefill.raises",
        "cspd.prefill.diminishing",
        "cspd.prefill.no-cost",
    ],
)


def unit(covariance: np.ndarray) -> Chain:
    """One step: x_0 = c + e."""
    return affine_chain(1, slope=0.0, sd=np.sqrt(covariance), condition_gain=1.0)


def model(length: int, ar_coefficient: float = 0.0, level: float = 0.0, first: float = 0.0) -> Tokens:
    """Tokens of one step: x_n = level + ar_coefficient x_{n-1} + e_n."""
    return Tokens(unit, np.ones(1), length, ar_coefficient, level, first)


def rising(seed: int, count: int) -> list[Rates]:
    """Rates of 2 to 9 positions that do not fall."""
    random, found = Random(seed), []
    for k in range(count):
        rises = [Fraction(random.randint(0, 9)) for _ in range(2 + k % 8)]
        whole = sum(rises, start=Fraction(random.randint(1, 4)))
        found.append([sum(rises[: n + 1], start=Fraction(0)) / whole for n in range(len(rises))])
    return found


def gains(row: list[Any]) -> list[Any]:
    """What each further pre-filled token adds to the mean rate of the others."""
    means = [mean_after(row, prefill) for prefill in range(len(row))]
    return [after - before for before, after in pairwise(means)]


def table(ledger: Ledger, gamma: str, metric: str) -> list[Row]:
    """A row of Table 5: what is printed at 0, 5 and 15 % of pre-filled tokens."""
    return [
        ledger.one({"gamma": gamma, "prefill_percent": share}, paper="cspd", table="5", metric=metric)
        for share in PERCENT
    ]


def falling(ledger: Ledger, metric: str, share: str) -> list[str]:
    """The gammas of Table 5 at which a share of pre-filled tokens prints less than none, by more than rounding."""
    rows = {gamma: dict(zip(PERCENT, table(ledger, gamma, metric), strict=True)) for gamma in LENGTHS}
    return [gamma for gamma, row in rows.items() if row["0"].interval.exceeds(row[share].interval)]


# Acceptance ----------------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "cspd.prefill.raises",
    said(
        "3.2",
        "This stems from the different draft and target prefix embeddings ... As the AR steps increase, the inputs of "
        "the two models gradually converge, thereby improving consistency between their outputs and finally raising "
        "the α. ... Furthermore, pre-filling improves the overall acceptance rate.",
        "formalised",
        "Inputs that converge are read as conditions whose difference fades at a constant rate. It is the rate as a "
        "whole that rises; that a draft is accepted more often at the place where it stands, as “to ensure a "
        "consistent prefix” would have it, is stronger, and false: the last example.",
    ),
    r"If the conditions of two models that are otherwise equal differ by $\delta \rho^n$ at position $n$, with $\delta "
    r"\neq 0$ and $0 < \rho < 1$, then every further pre-filled token raises the mean acceptance of the drafts at the "
    r"positions that are left.",
    assumptions=[
        r"fading mismatch: the conditions of the two models differ by $\delta \rho^n$ at position $n$, with $\delta "
        r"\neq 0$ and $0 < \rho < 1$, whatever the prefix",
        "affine steps: the mean of each denoising step is affine in its state and in the condition, and its "
        "covariance is fixed, the same in both",
        "shared noise: both models denoise a token on the same noise",
        r"last step: a draft is accepted with probability $\min(1, p(x \mid x_1^p) / q(x \mid x_1^q))$, the ratio of "
        r"the last denoising step, and that step has one standard deviation $s$ in both models",
    ],
)
def raises(seed: int) -> Finding:
    r"""With affine steps and shared noise the noise cancels from the gap of the means of the last kernels: at position
    $n$, under a fading mismatch, it is $g \delta \rho^n$, where $g \neq 0$ is how much of a difference of conditions
    arrives there. So by the ratio of the last step a draft is accepted with probability $\alpha_n = 2 \Phi(-|g \delta|
    \rho^n / (2 s))$, whatever the prefix, and this rises with $n$.

    Let $k$ tokens be pre-filled of $N$, and one more. The mean over the positions from $k$ to $N - 1$ gives way to that
    without $\alpha_k$, which is the least of its terms. The difference is $1 / (N - k)$ times the new mean less
    $\alpha_k$: above 0.

    What rises is the mean, since the positions that are drafted with least success are left out; a position that is
    drafted either way has the same acceptance with a lossless rule. For then the tokens before position $n$ follow the
    target's law whether they are drafted and verified or pre-filled. A draft at $n$ is accepted with a probability
    $a(x_{<n})$ that its prefix decides, and $\mathbb{E}[a(X_{<n})]$ is over the same law of prefixes either way. With a
    rule that does not keep the law, prefixes can differ, and this need not be so. A fair coin at every position is
    drafted as a sure 0 first and then with probability 3/4 for 0: drafts are accepted with probability 1/2 at the first
    position and 3/4 at the others, pre-filled or not.

    Not for every target and draft: let $x_0 = e_0$, and let the target go on with $x_1 = x_0 + e_1$, the draft with
    $x_1 = -x_0 + e_1$. The first draft is always accepted. At the second the means are $2 x_0$ apart, so with an
    independent normal $z$ it is accepted with probability $2 P(z < -|x_0|) = 1/2$. The mean rate is 3/4, and 1/2 if the
    first token is pre-filled. Models that differ in level have the same rate everywhere: nothing is gained.
    """
    chain = ddpm_chain(np.ones(1), np.array([0.9, 0.5, 0.1]), exact_start=True)
    gap, memory, length = 1.24, 0.9, 64
    row = fading(chain, gap, memory, length)
    tried = [fading(chain, by, rate, 12) for by in (0.1, 1.0, 8.0) for rate in (0.3, 0.9, 0.99)] + [row]

    def deviation(cases: list[list[float]]) -> float:
        """The largest fall of the mean rate by one more pre-filled token."""
        return float(np.max([0.0, *(-gain for case in cases for gain in gains(case))]))

    reach = -2 * float(scipy.stats.norm.ppf(row[0] / 2)) / gap  # of a difference of conditions, in sds of the last step
    closed = [float(two_phi(reach * gap * memory**n)) for n in range(length)]
    require(np.abs(np.subtract(row, closed)).max() < 1e-9, "rates are not what the proof says")
    means = [mean_after(row, prefill) for prefill in (0, 3, 10)]
    return holds_if(
        deviation(tried) == 0,
        small_scale(f"{len(tried)} pairs of models, three denoising steps: the mean rises with every token pre-filled"),
        example(
            f"64 tokens, conditions of two equal models 1.24 x 0.9^n apart, of which {reach:.3f} standard deviations "
            f"of the last step arrive: {fmt(row[0])} at the first token; means {fmt(means[0])} over all positions, "
            f"{fmt(means[1])} with 3 and {fmt(means[2])} with 10 pre-filled",
            numbers(gap=gap, memory=memory, length=length, reach=reach, rates=row[:12], means=means),
        ),
        *lowered(),
        rejects_mutants({"a mismatch that grows": [case[::-1] for case in tried]}, deviation, "the mean rate"),
        *at_their_place(),
    )


def lowered() -> list[Evidence]:
    """Models of which the mean acceptance does not rise with pre-filling, and what Table 5 prints."""
    pair = model(2, 1.0), model(2, -1.0)
    row, by_hand = rates(*pair), [1.0, 0.5]
    halves = rates(model(2, 0.5), model(2, -0.5))[1]
    require(np.abs(np.subtract(row, by_hand)).max() < 1e-9, "not what it is by hand")
    require(abs(halves - 2 * atan(2) / pi) < 1e-9, "not what the arctangent says")
    level = rates(model(4, 0.5), model(4, 0.5, level=1.0))
    require(np.abs(gains(level)).max() < 1e-12, "a constant mismatch changes along the sequence")
    require(gains(row)[0] < 0, "the mean does not fall")

    ledger = published()
    none, some, more = table(ledger, "8", "alpha")
    altered = falling(ledger.altered({some.line: float(more.value)}), "alpha", "5")
    require(falling(ledger, "alpha", "5") == ["8"] and not altered, "Table 5 is read wrongly")
    return [
        example(
            f"not for every target and draft: two tokens; x_1 = x_0 + e in the target, x_1 = -x_0 + e in the draft: "
            f"rates {fmt_row(row)}, mean {fmt(mean_after(row, 0))}, and {fmt(mean_after(row, 1))} with the first token "
            "pre-filled",
            numbers(carry=1, draft_carry=-1, rates=row, mean=mean_after(row, 0), mean_prefilled=mean_after(row, 1)),
        ),
        example(
            f"models that differ in level by a standard deviation: {fmt(level[0])} everywhere, nothing is gained",
            numbers(rates=level),
        ),
        example(
            f"CSpD's Table 5 prints, for gamma = 8, alpha = {none.printed} without pre-filling, {some.printed} at "
            f"5 % and {more.printed} at 15 %: a fall no rounding explains. At the other gamma it does not fall",
            numbers(alpha=[row.printed for row in (none, some, more)]),
        ),
    ]


def at_their_place() -> list[Evidence]:
    """Drafts behind a pre-filled token are accepted as they are at their place without it.

    Raises
    ------
    CheckFailed
        If they are not, or if their mean does not rise.
    """
    gamma, positions = 2, 3

    length = positions + gamma + 1

    def at(least: int) -> list[Any]:
        """Acceptance by position of the drafts that the decoder verifies, with ``least`` tokens pre-filled."""
        coin = TableProcess(2, length, lambda prefix: [Fraction(1, 2)] * 2)
        guess = TableProcess(2, length, lambda prefix: [Fraction(3, 4), Fraction(1, 4)] if prefix else [1, 0])
        found = prefilled_counts(SpeculativeDecoder(gamma), gamma, coin, guess, Speculative(), least)
        return [x / y for x, y in zip(found.accepted, found.verified, strict=True)]

    without, behind = at(0), at(1)
    mean, mean_behind = sum(without) / len(without), sum(behind) / len(behind)

    def differs(rows: tuple[list[Any], list[Any]]) -> Any:
        return max(abs(x - y) for x, y in zip(*rows, strict=True))

    require(mean_behind > mean, "the mean does not rise")
    require(differs((without[1:], behind)) == 0, "a draft at its place is accepted otherwise")
    return [
        example(
            f"no draft is accepted more at its place: three fair coins, drafted as a sure 0 first, then with "
            f"probability 3/4 for 0, gamma = 2: acceptance {fmt_row(without)} by position, and {fmt_row(behind)} "
            f"behind one pre-filled token; the mean over what is drafted rises from {fmt(mean)} to "
            f"{fmt(mean_behind)}",
            numbers(gamma=gamma, rates=without, rates_prefilled=behind, mean=mean, mean_prefilled=mean_behind),
        ),
        rejects_mutants({"positions that are off by one": (without[:2], behind)}, differs, "positions"),
    ]


@CLAIMS.claim(
    "cspd.prefill.printed",
    said(
        "4.3, Table 5",
        "Pre-filling can compensate for the low acceptance rates observed during the initial stages of autoregressive "
        "sampling and enhance the overall acceptance rate, as shown in Table 5.",
        "formalised",
        "The overall acceptance rate of Table 5: that pre-filling can enhance it is read as at some share of tokens in "
        "every row, and at each share in the mean over the rows. At each share in every row is stronger, and false at "
        "the 5 % that 3.2 names: the last example.",
    ),
    "In every row of CSpD's Table 5 the acceptance rate printed at 15 % of pre-filled tokens is above that at none, "
    "and in the mean over the rows those at 5 % and at 15 % are.",
)
def rises_in_table(seed: int) -> Finding:
    """By the numbers as they are printed. At 5 % the rate of gamma = 8 falls, by more than rounding explains."""

    def lower(ledger: Ledger) -> int:
        """How many of the printed comparisons are the other way round, or equal."""
        rows = [[Fraction(row.printed) for row in table(ledger, gamma, "alpha")] for gamma in LENGTHS]
        none, some, more = (sum(column) for column in zip(*rows, strict=True))
        return sum(row[2] <= row[0] for row in rows) + (some <= none) + (more <= none)

    ledger = published()
    told = {gamma: [row.printed for row in table(ledger, gamma, "alpha")] for gamma in LENGTHS}
    require(falling(ledger, "alpha", "5") == ["8"], "at 5 % other rates fall than that of gamma = 8")
    return holds_if(
        lower(ledger) == 0,
        example(
            "rates at 0, 5 and 15 %: " + "; ".join(f"gamma {gamma}: {', '.join(row)}" for gamma, row in told.items()),
            numbers(alpha=told),
        ),
        example(f"at 5 % not in every row: {' for '.join(told['8'][1::-1])} at gamma = 8, a fall no rounding explains"),
        rejects_mutants({"the columns exchanged": exchanged(ledger)}, lower, "Table 5"),
    )


def exchanged(ledger: Ledger) -> Ledger:
    """With the rates of no pre-filled tokens and of 15 % in each other's place."""
    rows = [table(ledger, gamma, "alpha") for gamma in LENGTHS]
    pairs = [(here, there) for row in rows for here, there in ((row[0], row[2]), (row[2], row[0]))]
    return ledger.altered({here.line: float(there.value) for here, there in pairs})


# Diminishing returns -------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "cspd.prefill.diminishing",
    said(
        "4.3, Table 5",
        "As the pre-filling ratio increases, the advantages conferred by this approach exhibit diminishing returns.",
        "formalised",
        "The advantage is the rise of the mean acceptance by one more token. Table 5 is the last example: at gamma = 8 "
        "it has the reverse.",
    ),
    "Every further pre-filled token raises the mean acceptance of the drafts at the other positions by no more than "
    "the token before it did.",
    assumptions=[r"concave rates: the acceptance $\alpha_n$ at position $n$ is concave in $n$"],
)
def diminishing(seed: int) -> Finding:
    r"""Number positions from the end: $b_1, b_2, ...$, with means $A_L$ of the first $L$, and $d_k = b_{k+1} - b_k$.
    Then $A_{L+1} - A_L = (b_{L+1} - A_L) / (L + 1) = \sum_{k \le L} k d_k / (L (L + 1))$, half a weighted mean of
    $d_1$ to $d_L$. With concave rates $d$ does not rise, so that the weighted mean does not rise with $L$. So $A$ is
    concave (Ozeki), and leaving out one position after the other from the front gains less each time.

    For a mismatch that fades, $\alpha_n = 2 \Phi(-u)$ with $u = u_0 \rho^n$. Its second derivative in $n$ is $2 \log^2
    \rho \cdot u \phi(u) (u^2 - 1)$: rates are concave from where $u \le 1$, that is, from where $\alpha_n \ge 2
    \Phi(-1) = 0.317$.

    Where rates are not concave it can be otherwise, for a mismatch that fades as well. Three tokens whose means are 8,
    2 and 1/2 standard deviations apart, a quarter each time, have rates $2 \Phi(-4)$, $2 \Phi(-1)$ and $2 \Phi(-1/4)$:
    drafts that are hopeless now, and still so after one more token, are worth the less to leave out the more of them
    are left.
    """

    step = 1e-3

    def bent(u: float) -> float:
        """The second difference of alpha where the gap is 2 u deviations, in steps of rho = exp(-step)."""
        before, here, after = (float(two_phi(2 * u * exp(-k * step))) for k in (-1, 0, 1))
        return (after - 2 * here + before) / step**2

    turn = scipy.optimize.brentq(bent, 0.3, 3.0)
    require(abs(turn - 1) < 1e-5 and bent(0.9) < 0 < bent(1.1), "alpha does not turn where the proof says")
    chain = unit(np.ones(1))
    near, far = (fading(chain, 2 * u, 0.9, 40) for u in (1.0, 1.96))
    peaks = [int(np.argmax(gains(row))) for row in (near, far)]
    require(peaks[0] == 0 < peaks[1], "gains do not turn as rates do")
    three, by_hand = fading(chain, 8.0, 0.25, 3), [float(two_phi(2 * u)) for u in (4, 1, 0.25)]
    require(np.abs(np.subtract(three, by_hand)).max() < 1e-9, "not what it is by hand")
    require(gains(three)[1] > gains(three)[0], "the second of three tokens gains no more than the first")
    return holds_if(
        proven("cspd.prefill.diminishing"),
        example(
            f"a mismatch that fades by 0.9 a token, 40 tokens: from a first rate of {fmt(near[0])}, where alpha "
            f"begins to be concave, gains fall from the start, {fmt_row(gains(near)[:3])}; from "
            f"{fmt(far[0])}, as low as the paper reports, the largest is that of token {peaks[1] + 1}: "
            f"{fmt(gains(far)[0])} for the first, {fmt(gains(far)[peaks[1]])} then",
            numbers(memory=0.9, length=40, first_gap=3.92, turning_rate=INFLEXION, rates=far[:8], gains=gains(far)[:8]),
        ),
        example(
            f"not for rates that are not concave: three tokens at {fmt_row(three)}: the first that is pre-filled adds "
            f"{fmt(gains(three)[0])} to the mean, the second {fmt(gains(three)[1])}",
            numbers(gaps=[8, 2, 0.5], rates=three, gains=gains(three)),
        ),
        *per_percent(),
    )


def per_percent() -> list[Evidence]:
    """What a percent of pre-filled tokens adds to the rates of Table 5, up to 5 % and from there to 15 %."""

    def turns(ledger: Ledger) -> dict[str, list[str]]:
        """The gammas at which the second gain is below the first, and above it, by more than rounding."""
        found: dict[str, list[str]] = {"below": [], "above": []}
        for gamma in LENGTHS:
            none, some, more = (row.interval for row in table(ledger, gamma, "alpha"))
            # (some - none) / 5 against (more - some) / 10: of 3 some, the common term, one value
            low, high = 3 * some.low - 2 * none.high - more.high, 3 * some.high - 2 * none.low - more.low
            found["below"] += [gamma] * (low > 0)
            found["above"] += [gamma] * (high < 0)
        return found

    ledger = published()
    even = ledger.altered({row.line: 0.3 for gamma in LENGTHS for row in table(ledger, gamma, "alpha")})
    require(turns(ledger) == {"below": ["32"], "above": ["8"]}, f"Table 5 has {turns(ledger)}")
    rows = {gamma: [row.printed for row in table(ledger, gamma, "alpha")] for gamma in LENGTHS}
    return [
        example(
            "Table 5, rates at 0, 5 and 15 %: "
            + "; ".join(f"gamma {gamma}: {', '.join(row)}" for gamma, row in rows.items())
            + ". The gain of a percent falls beyond rounding from the first 5 % to the other 10 at gamma = 32, and "
            "rises at gamma = 8; at 4 and 16 rounding leaves it open",
            numbers(alpha=rows),
        ),
        rejects_mutants({"one rate everywhere": even}, lambda ledger: turns(ledger) != turns(published()), "Table 5"),
    ]
