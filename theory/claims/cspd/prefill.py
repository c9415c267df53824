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
from simlab.continuous.compiled import simulate
from simlab.continuous.decoders import Decoded, Outcome, Truncating
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.diffusion import ddpm_chain
from simlab.continuous.models.sequences import Tokens
from simlab.continuous.rules import LastStep
from simlab.randomness import Tape
from simlab.statistics import ProportionTest
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.evidence import rejects_mutants, require
from theory.claims.format import fmt, fmt_row, numbers
from theory.continuous.positions import fading, mean_after, rates
from theory.published.ledger import Ledger, Row, published

CLAIMS = Claims("cspd")
FALSE_ALARMS, SEQUENCES = 1e-6, 10_000
INFLEXION = erfc(sqrt(1 / 2))  # 2 Phi(-1), the acceptance from which a fading mismatch brings ever less
PERCENT, LENGTHS = ("0", "5", "15"), ("4", "8", "16", "32")  # pre-filled, and gamma, in Table 5
Rates = list[Fraction]

CLAIMS.summary(
    "cspd.prefill",
    "3.2, Table 5",
    "Pre-filling tokens of the target raises acceptance, with diminishing returns, at no cost in latency.",
    [
        "cspd.prefill.raises",
        "cspd.prefill.raises-any",
        "cspd.prefill.diminishing",
        "cspd.prefill.diminishing-any",
        "cspd.prefill.no-cost",
        "cspd.prefill.no-cost-any",
    ],
)


def unit(covariance: np.ndarray) -> Chain:
    """One step: x_0 = c + e."""
    return affine_chain(1, slope=0.0, sd=np.sqrt(covariance), condition_gain=1.0)


def model(length: int, ar_coefficient: float = 0.0, level: float = 0.0, first: float = 0.0) -> Tokens:
    """Tokens of one step: x_n = level + ar_coefficient x_{n-1} + e_n."""
    return Tokens(unit, np.ones(1), length, np.asarray(ar_coefficient), np.asarray(level), np.asarray(first))


def rising(seed: int, count: int, concave: bool) -> list[Rates]:
    """Rates of 2 to 9 positions that do not fall; if ``concave``, that rise by less and less."""
    random, found = Random(seed), []
    for k in range(count):
        rises = [Fraction(random.randint(0, 9)) for _ in range(2 + k % 8)]
        rises = [rises[0], *sorted(rises[1:], reverse=True)] if concave else rises
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


def run(target: Tokens, draft: Tokens, gamma: int, prefill: int, seed: int) -> Decoded:
    return simulate(Truncating(gamma, prefill), target, draft, LastStep(), Tape(seed, SEQUENCES))


def kept_at(made: Decoded, position: int) -> tuple[int, int]:
    """How many drafts at ``position`` were accepted, and how many judged."""
    return int((made.outcome[:, position] == Outcome.ACCEPTED).sum()), int(made.verified[:, position].sum())


def rate_off(target: Tokens, draft: Tokens, expected: list[float], seed: int) -> float:
    """By how many powers of ten accepted drafts are below the level, at the worst of the positions of one block."""
    made = run(target, draft, target.length, 0, seed)
    p_values = []
    for n, rate in enumerate(expected):
        accepted, verified = kept_at(made, n)
        p_values.append(float(ProportionTest(min(rate, 1.0)).p_value(accepted, verified)))
    return max(0.0, float(np.log10(FALSE_ALARMS / (3 * len(p_values)))) - float(np.log10(max(min(p_values), 1e-300))))


# Acceptance ----------------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "cspd.prefill.raises",
    "3.2",
    "Pre-filling tokens of the target raises the acceptance of the others.",
    assumptions=[
        "acceptance does not fall along the sequence, as in the paper's Figure 9",
        "it is the mean over the positions that are drafted",
    ],
    simulates="continuous tokens",
)
def raises(seed: int) -> Finding:
    """A mean grows, or stays, if the least of its terms is left out; and by (mean of the others - the first) times
    1/N for the first token.

    A class token of its own for each model, which a shared prefix makes up for, is such a mismatch: with conditions
    that differ by delta rho^n and equal models, the gap of the last kernels at position n is g delta rho^n with aligned
    noise, whatever the prefix. So alpha_n = 2 Phi(-g delta rho^n / (2 s)), which rises.
    """
    tried = rising(seed, 300, concave=False)

    def deviation(cases: list[Rates]) -> Fraction:
        """The largest fall of the mean rate by one more pre-filled token."""
        return max(Fraction(0), *(-gain for row in cases for gain in gains(row)))

    fall = deviation(tried)
    chain = ddpm_chain(np.ones(1), np.array([0.9, 0.5, 0.1]), exact_start=True)
    models = {
        "aligned": fading(chain, 3.0, 0.9, 64),
        "not aligned": fading(chain, 3.0, 0.9, 64, aligned=False),
    }
    require(all(min(gains(row)) > 0 for row in models.values()), "a fading mismatch does not raise acceptance")
    summary = "; ".join(
        f"{name}: {fmt(row[0])} at the first token, {fmt(mean_after(row, 0))} in the mean, then "
        + ", ".join(f"{fmt(mean_after(row, n))} with {n}" for n in (3, 10))
        + " pre-filled"
        for name, row in models.items()
    )
    return Finding(
        "holds-under-assumptions" if fall == 0 else "refuted",
        [
            Evidence("identity", f"{len(tried)} rows of rates that do not fall, in rationals: the mean never falls"),
            Evidence(
                "exact-small-scale",
                f"64 tokens, three denoising steps, conditions of two equal models 3 x 0.9^n apart: {summary}",
                numbers(rates={name: row[:12] for name, row in models.items()}),
            ),
            seen_at_positions(seed),
            rejects_mutants({"rates that fall": [row[::-1] for row in tried]}, deviation, "the mean rate"),
        ],
    )


def seen_at_positions(seed: int) -> Evidence:
    """Kept drafts of the decoder at each position; raises ``CheckFailed`` if rates are not those computed."""
    target = model(3, 0.5)
    drafts = {"first token": model(3, 0.5, first=3.0), "level": model(3, 0.5, level=0.8)}
    found = {name: rates(target, draft) for name, draft in drafts.items()}
    pair = model(2, 1.0), model(2, -1.0)
    require(
        not any(rate_off(target, drafts[name], row, seed) for name, row in found.items())
        and not rate_off(*pair, rates(*pair), seed),
        "the decoder does not accept drafts at the rates computed",
    )
    control = rejects_mutants(
        {"a rate 0.05 higher at each place": 0.05},
        lambda more: rate_off(target, drafts["level"], [rate + more for rate in found["level"]], seed),
        "rates of runs",
    )
    stated = ProportionTest(found["level"][0]).stated(SEQUENCES, FALSE_ALARMS / 9)
    return Evidence(
        "simulation",
        "the decoder accepts drafts at the rates computed: models that differ in the first token alone "
        f"{fmt_row(found['first token'])}, in level {fmt_row(found['level'])}, in what they carry on "
        f"{fmt_row(rates(*pair))} ({stated}, at the first place). {control.summary}",
    )


@CLAIMS.claim(
    "cspd.prefill.raises-any",
    "3.2 without its premise",
    "Whatever the models, pre-filling raises acceptance, or leaves it.",
    stated=False,
)
def raises_any(seed: int) -> Finding:
    """Two tokens, x_0 = e_0; the target goes on with x_1 = x_0 + e_1, the draft with x_1 = -x_0 + e_1. The first draft
    is always accepted. At the second the means are 2 x_0 apart, so with a normal z that is independent it is accepted
    with probability 2 P(z < -|x_0|) = P(|z| > |x_0|) = 1/2. The mean rate is 3/4, and 1/2 if the first token is
    pre-filled. In general the second is accepted with probability 2 arctan(2 s / (|phi_p - phi_q| sd x_0)) / pi.

    Models that differ in level have the same rate everywhere: nothing is gained.
    """
    pair = model(2, 1.0), model(2, -1.0)
    row, by_hand = rates(*pair), [1.0, 0.5]
    halves = rates(model(2, 0.5), model(2, -0.5))[1]
    require(max(abs(a - b) for a, b in zip(row, by_hand, strict=True)) < 1e-9, "not what it is by hand")
    require(abs(halves - 2 * atan(2) / pi) < 1e-9, "not what the arctangent says")
    level = rates(model(4, 0.5), model(4, 0.5, level=1.0))
    require(max(map(abs, gains(level))) < 1e-12, "a constant mismatch changes along the sequence")

    def printed(ledger: Ledger) -> list[str]:
        """The settings of Table 5 where 5 % pre-filled are printed with less acceptance than none, beyond rounding."""
        alphas = {gamma: table(ledger, gamma, "alpha") for gamma in LENGTHS}
        return [gamma for gamma, (none, some, _) in alphas.items() if none.interval.exceeds(some.interval)]

    ledger = published()
    falls = printed(ledger)
    none, some, more = table(ledger, "8", "alpha")
    require(falls == ["8"] and not printed(ledger.altered({some.line: float(more.value)})), "Table 5 is read wrongly")
    return Finding(
        "refuted" if gains(row)[0] < 0 else "not-refuted",
        [
            Evidence(
                "counterexample",
                f"two tokens; x_1 = x_0 + e in the target, x_1 = -x_0 + e in the draft: rates {fmt_row(row)}, mean "
                f"{fmt(mean_after(row, 0))}, and {fmt(mean_after(row, 1))} with the first token pre-filled",
                numbers(carry=1, draft_carry=-1, rates=row, mean=mean_after(row, 0), mean_prefilled=mean_after(row, 1)),
            ),
            Evidence(
                "example",
                f"models that differ in level by a standard deviation: {fmt(level[0])} everywhere, nothing is gained",
                numbers(rates=level),
            ),
            Evidence(
                "example",
                f"CSpD's Table 5 prints, for gamma = 8, alpha = {none.printed} without pre-filling, {some.printed} at "
                f"5 % and {more.printed} at 15 %: a fall no rounding explains. At the other gamma it does not fall",
                numbers(
                    alpha=[row.printed for row in (none, some, more)], lines=[row.line for row in (none, some, more)]
                ),
            ),
        ],
    )


# Diminishing returns -------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "cspd.prefill.diminishing",
    "4.3, Table 5",
    "Every further pre-filled token raises the acceptance of the others by less.",
    assumptions=["along the sequence acceptance rises by less and less, so that alpha_n is concave"],
)
def diminishing(seed: int) -> Finding:
    """Number positions from the end: b_1, b_2, ..., with means A_L of the first L, and d_k = b_{k+1} - b_k. Then
    A_{L+1} - A_L = (b_{L+1} - A_L) / (L + 1) = sum_{k <= L} k d_k / (L (L + 1)), half a weighted mean of d_1 to d_L. If
    b is concave, d does not rise, so that the weighted mean does not rise with L. So A is concave (Ozeki), and leaving
    out one position after the other from the front gains less each time.

    For a mismatch that fades, alpha = 2 Phi(-u) with u = u_0 rho^n. With L = -log rho its second derivative in n is
    2 L^2 u phi(u) (u^2 - 1): alpha_n is concave from where u <= 1, that is, from where alpha >= 2 Phi(-1) = 0.317.
    """
    tried = rising(seed, 300, concave=True)

    def growth(cases: list[Rates]) -> Fraction:
        """By how much a gain is above the one before, at most."""
        found = [after - before for row in cases for before, after in pairwise(gains(row))]
        return max(Fraction(0), *found)

    most = growth(tried)

    def bent(u: float, step: float = 1e-3) -> float:
        """The second difference of alpha where the gap is 2 u deviations, in steps of rho = exp(-step)."""
        before, here, after = (float(2 * scipy.stats.norm.cdf(-u * exp(-k * step))) for k in (-1, 0, 1))
        return (after - 2 * here + before) / step**2

    turn = scipy.optimize.brentq(bent, 0.3, 3.0)
    require(abs(turn - 1) < 1e-5 and bent(0.9) < 0 < bent(1.1), "alpha does not turn where the proof says")
    chain = unit(np.ones(1))
    near, far = (fading(chain, 2 * u, 0.9, 40) for u in (1.0, 1.96))
    peaks = [int(np.argmax(gains(row))) for row in (near, far)]
    require(peaks[0] == 0 < peaks[1], "gains do not turn as rates do")
    return Finding(
        "holds-under-assumptions" if most == 0 else "refuted",
        [
            Evidence("identity", f"{len(tried)} concave rows of rates, in rationals: no gain is above the one before"),
            Evidence(
                "exact-small-scale",
                f"a mismatch that fades by 0.9 a token, 40 tokens: from a first rate of {fmt(near[0])}, where alpha "
                f"begins to be concave, gains fall from the start, {fmt_row(gains(near)[:3])}; from "
                f"{fmt(far[0])}, as low as the paper reports, the largest is that of token {peaks[1] + 1}: "
                f"{fmt(gains(far)[0])} for the first, {fmt(gains(far)[peaks[1]])} then",
                numbers(turning_rate=INFLEXION, rates=far[:8], gains=gains(far)[:8]),
            ),
            rejects_mutants({"convex rows": [row_of_squares(n) for n in range(3, 7)]}, growth, "the gains"),
        ],
    )


def row_of_squares(length: int) -> Rates:
    """Rates that rise by more and more."""
    return [Fraction(n * n, length * length) for n in range(length)]


@CLAIMS.claim(
    "cspd.prefill.diminishing-any",
    "4.3 without its premise",
    "Whenever the mismatch fades along the sequence, returns diminish from the first token on.",
    stated=False,
)
def diminishing_any(seed: int) -> Finding:
    """Three tokens, and means that are 8, 2 and 1/2 standard deviations apart, a quarter each time: rates 2 Phi(-4),
    2 Phi(-1) and 2 Phi(-1/4). Drafts that are hopeless now, and still so after one more token, are worth the less to
    leave out the more of them are left.
    """
    row = fading(unit(np.ones(1)), 8.0, 0.25, 3)
    by_hand = [float(2 * scipy.stats.norm.cdf(-u)) for u in (4, 1, 0.25)]
    require(max(abs(a - b) for a, b in zip(row, by_hand, strict=True)) < 1e-9, "not what it is by hand")
    first, second = gains(row)
    return Finding(
        "refuted" if second > first else "not-refuted",
        [
            Evidence(
                "counterexample",
                f"three tokens at rates {fmt_row(row)}: the first that is pre-filled adds {fmt(first)} to the "
                f"mean, the second {fmt(second)}",
                numbers(gaps=[8, 2, 0.5], rates=row, gains=[first, second]),
            )
        ],
    )
