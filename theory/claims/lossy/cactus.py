"""Claims about Cactus: the budget of the row made for a drafted token, and the law that is emitted.

The paper (Hao and Mou, arXiv 2604.04987) calls the target q; here it is p. Of the paper the abstract was read, of the
published code all.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np

from simlab.rules import Addition, Cactus, Fuzzy, Rule
from theory.acceptance import frontier
from theory.claims.base import Claims, Finding
from theory.claims.evidence import described, example, holds_if, identity, over, rejects_mutants, require
from theory.claims.format import fmt, fmt_row, numbers
from theory.claims.leviathan.speculative_rule import random_pairs
from theory.claims.proven import proven
from theory.claims.sources import derived, said
from theory.distances import kl, tv
from theory.exact import acceptance, step_law
from theory.search import Pmf

CLAIMS = Claims("lossy")
ROUNDING = 1e-12  # of a divergence
NINE_TENTHS: Pmf = (Fraction(9, 10), Fraction(1, 10))
BUDGET = Fraction(1, 18)  # at which 9/10 is raised to 1


def raised_row(p: Pmf, x: int, delta: Fraction) -> Pmf:
    """h, the row made for a draft x."""
    own = Cactus(delta).raised(np.array([p[x]], dtype=object))[0]
    return tuple(own if y == x else mass * (1 - own) / (1 - p[x]) for y, mass in enumerate(p))


MASSES = [Fraction(k, 20) for k in range(1, 20)]
BUDGETS = [Fraction(1, d) for d in (200, 50, 18, 5, 2, 1)]
Raised = Callable[[Pmf, int, Fraction], Pmf]


def excess(raised: Raised, share: Callable[[Fraction, Fraction], Fraction]) -> float:
    """The most by which KL(h, p) is above ``share(p(x), h(x))`` times delta, over masses and budgets, or 0."""
    found: list[float] = []
    for own in MASSES:
        p = (own, 1 - own)
        for delta in BUDGETS:
            row = raised(p, 0, delta)
            found.append(float(kl(row, p)) - float(share(own, row[0]) * delta))
    return over(float(np.max(found)), ROUNDING)


def falls(raised: Raised) -> float:
    """The most that KL(h, p) falls by from one budget to the next, from 0 on, and what it is at 0."""
    found = [
        [float(kl(raised((own, 1 - own), 0, delta), (own, 1 - own))) for delta in (Fraction(0), *BUDGETS)]
        for own in MASSES
    ]
    gaps = [gap for row in found for gap in (row[0], *(less - more for less, more in pairwise(row)))]
    return over(float(np.max(gaps)), ROUNDING)


@CLAIMS.claim(
    "cactus.budget",
    said(
        "README of the published code, commit 3b01b816d18b",
        "subject to a KL-divergence budget controlled by `delta`. ... | `--delta` | Divergence budget. Controls the "
        "trade-off between acceptance rate and distribution fidelity. `delta=0` recovers standard speculative "
        "sampling; larger values accept more aggressively.",
        "weaker",
        "Controlled is read as of cactus.emitted: a bound in delta that vanishes with it. The second sentence calls "
        "delta the budget; that the divergence is within delta nats is more, and false (example), though the README's "
        "own numbers, .35 raised to .66, fit it: 0.198 nats at delta = 0.211.",
    ),
    r"For every $p$, token $x$ with $p(x) < 1$ and $\delta \ge 0$, the row $h$ with $h(x) = \min(1, p(x) + \sqrt{2 "
    r"\delta p(x) (1 - p(x))})$ and $h(y) = p(y) (1 - h(x))/(1 - p(x))$ elsewhere has a $\mathrm{KL}(h, p)$ that is 0 "
    r"at $\delta = 0$, does not fall as $\delta$ grows, and is at most $2 \delta$.",
)
def budget(seed: int) -> Finding:
    r"""Away from $x$ the two rows are in proportion, so $\mathrm{KL}(h, p)$ is that of two coins, $h(x)$ against
    $p(x)$, which grows with $h(x) \ge p(x)$, and $h(x)$ with $\delta$. It is at most $(1 + p(x)) \delta$
    (cactus.budget.mended).

    It is not at most $\delta$ for every row. The root solves the second-order expansion of the divergence around
    $p(x)$, whose next term has the sign of $2 p(x) - 1$: above 1/2 the divergence is larger. At $p(x) = 9/10$ and
    $\delta = 1/18$, $h(x) = 1$ and $\mathrm{KL}(h, p) = \log(10/9)$.
    """
    row = raised_row(NINE_TENTHS, 0, BUDGET)
    nats = float(kl(row, NINE_TENTHS))
    require(nats > BUDGET, "the divergence is within delta")

    def off(raised: Raised) -> float:
        return max(excess(raised, lambda own, high: Fraction(2)), falls(raised))

    return holds_if(
        off(raised_row) == 0,
        identity(
            f"both on {len(MASSES)} masses from 1/20 to 19/20 and {len(BUDGETS)} budgets from 1/200 to 1 nat, and 0"
        ),
        example(
            f"not within delta itself: p(x) = 9/10, delta = 1/18: h(x) = {fmt(row[0])}, and KL(h, p) = {fmt(nats)} "
            f"nats, of {fmt(float(BUDGET))}",
            numbers("cactus", {"delta": BUDGET}, p=NINE_TENTHS, h=row, kl=nats),
        ),
        rejects_mutants(
            {
                "four times delta": lambda p, x, delta: raised_row(p, x, 4 * delta),
                "delta exchanged for 1 / delta": lambda p, x, delta: raised_row(p, x, 1 / delta if delta else delta),
            },
            off,
            "the bound and the order",
        ),
    )


@CLAIMS.claim(
    "cactus.budget.mended",
    derived("after the published code of Cactus, solve_constraint"),
    r"For every $p$, token $x$ with $p(x) < 1$ and $\delta \ge 0$, the row $h$ with $h(x) = \min(1, p(x) + \sqrt{2 "
    r"\delta p(x) (1 - p(x))})$ and $h(y) = p(y) (1 - h(x))/(1 - p(x))$ elsewhere has $\mathrm{KL}(h, p) \le (1 + "
    r"p(x)) \delta$, and $\mathrm{KL}(h, p) \le \delta$ if $h(x) \le 1 - p(x)$.",
)
def budget_mended(seed: int) -> Finding:
    r"""Let $a = p(x)$, $t = h(x) - a \le 1 - a$, so $t^2 \le 2 \delta a (1 - a)$. The divergence is that of two coins,
    and its second derivative in $h(x)$ is $1/(h(x) (1 - h(x)))$: $\mathrm{KL}(h, p) = \int_0^t (t - s) (1/(a + s) +
    1/(1 - a - s)) ds$. The first part is at most $t^2/(2 a)$. In the second $(t - s)/(1 - a - s)$ falls in $s$, as $t
    \le 1 - a$, so it is at most $t^2/(1 - a)$. Together $\mathrm{KL}(h, p) \le t^2 (1 + a)/(2 a (1 - a)) \le (1 + a)
    \delta$.

    If $a + t \le 1 - a$, then $(a + s) (1 - a - s) \ge a (1 - a)$ for all $s \le t$, so $\mathrm{KL}(h, p) \le t^2/(2 a
    (1 - a)) \le \delta$.
    """

    def off(raised: Raised) -> float:
        return excess(raised, lambda own, high: Fraction(1) if high <= 1 - own else 1 + own)

    return holds_if(
        off(raised_row) == 0,
        identity(
            f"both bounds on {len(MASSES)} masses from 1/20 to 19/20 and {len(BUDGETS)} budgets from 1/200 to 1 nat"
        ),
        rejects_mutants(
            {"delta doubled": lambda p, x, delta: raised_row(p, x, 2 * delta)}, off, "the bound of the divergence"
        ),
    )


@CLAIMS.claim(
    "cactus.emitted",
    said(
        "abstract",
        "we propose Cactus (constrained acceptance speculative sampling), a method that guarantees controlled "
        "divergence from the verifier distribution and increasing acceptance rates.",
        "formalised",
        "Controlled is read as: delta sets how far the law that one step emits may be from the target's, down to none, "
        "by a bound in delta and the number of tokens that the draft has more of. It is the weaker reading, which "
        "addition meets as well; the sentence names no bound of what is emitted, and one in delta alone, for all rows, "
        "is stronger. LANTERN's word is read so too (lantern.output-bound).",
    ),
    r"For every $p$ and $q$, the law $r$ that one step of Cactus emits is $p$ at $\delta = 0$, its TV to $p$ does not "
    r"fall as $\delta$ grows, and with $n$ the number of tokens with $q(x) > p(x)$, $\mathrm{TV}(r, p) \le \sqrt{2 n "
    r"\delta}$ and $\mathrm{KL}(r, p) \le \sqrt{2 n \delta} + 2 n \delta$; it accepts $1 - \mathrm{TV}(p, q) + "
    r"\mathrm{TV}(r, p)$, that TV more than the lossless rule.",
)
def emitted(seed: int) -> Finding:
    r"""Where $q > p$ a token is emitted with $\min(q(x), h(x))$ (cactus.law), elsewhere with at most $p(x)$
    (cactus.frontier). So $\mathrm{TV}(r, p) = \sum_{q > p} \min(q(x), h(x)) - p(x)$, which is 0 at $\delta = 0$ and
    does not fall as $\delta$ grows, and with it acceptance, which is $\mathrm{TV}(r, p)$ more than the lossless
    rule's (cactus.frontier).
    As $h(x) - p(x) \le \sqrt{2 \delta p(x) (1 - p(x))}$, it is at most $\sqrt{2 \delta} \sum_{q > p} \sqrt{p(x)} \le
    \sqrt{2 n \delta}$, by Cauchy and Schwarz. And $\mathrm{KL}(r, p) \le \sum_x (r(x) - p(x))^2/p(x)$, where each of
    the $n$ terms with $q > p$ is at most $2 \delta$ and the others, with $0 \le r \le p$, are at most $p(x) - r(x)$,
    which sum to the TV.

    No multiple of $\delta$ bounds it for all rows. The budget is that of one drafted token's row; every token that can
    be drafted is raised, each at the cost of all others, and the raises add up in what is emitted. Over $2 n$ tokens
    let $p$ be uniform and $q$ uniform on the first $n$. At $\delta = 1/(4 n - 2)$ each of these is raised from $1/(2
    n)$ to $1/n$, so every draft is accepted and $q$ is emitted: $\mathrm{KL}(q, p) = \log 2$ for every $n$, which is
    $(4 n - 2) \log 2$ times $\delta$. At $n = 16$ it is 43 times $\delta$.
    """
    tried, budgets = random_pairs(seed, 30), (Fraction(0), Fraction(1, 200), Fraction(1, 18), Fraction(1, 3))

    def excess(make: Callable[[Fraction], Rule]) -> float:
        """The most by which one of the five is violated."""
        found = []
        for p, q in tried:
            laws = [step_law(make(delta), p, q) for delta in budgets]
            far = [tv(law, p) for law in laws]
            found += [float(far[0]), *(float(less - more) for less, more in pairwise(far))]
            kept = [acceptance(make(delta), p, q) for delta in budgets]
            found += [abs(float(own - frontier(p, q, apart))) for own, apart in zip(kept, far, strict=True)]
            raised = sum(b > a for a, b in zip(p, q, strict=True))
            for law, apart, delta in zip(laws, far, budgets, strict=True):
                most = float(2 * raised * delta)
                found += [float(apart) - most**0.5, float(kl(law, p)) - most**0.5 - most]
        return over(float(np.max(found)), ROUNDING)

    half = 16
    p = (Fraction(1, 2 * half),) * (2 * half)
    q = (Fraction(1, half),) * half + (Fraction(0),) * half
    delta = Fraction(1, 4 * half - 2)
    far = float(kl(step_law(Cactus(delta), p, q), p))
    return holds_if(
        excess(Cactus) == 0,
        identity(f"all five on {len(tried)} pairs over 2 to 6 tokens and {len(budgets)} budgets from 0 to 1/3 nat"),
        example(
            f"{2 * half} tokens, p uniform, q uniform on half of them, delta = {fmt(delta)}: all are accepted, q is "
            f"emitted, and its divergence is log 2, {far / delta:.1f} delta",
            described("cactus", {"delta": delta}, p, q, kl=far, over_delta=far / delta),
        ),
        rejects_mutants(
            {
                "sixteen times delta": lambda delta: Cactus(16 * delta),
                "addition": lambda delta: Addition(delta + 1),
                "all rejected": lambda delta: Fuzzy(0, "tv"),
            },
            excess,
            "the bounds",
        ),
    )


@CLAIMS.claim(
    "cactus.law",
    derived("after the published code of Cactus"),
    r"For every $p$, $q$ and $\delta \ge 0$, one step of Cactus emits a token $x$ with $q(x) > p(x)$ with probability "
    r"$\min(q(x), h(x))$, where $h(x) = \min(1, p(x) + \sqrt{2 \delta p(x) (1 - p(x))})$.",
)
def law(seed: int) -> Finding:
    r"""The draft $x$ is accepted with probability $\min(q(x), h(x))$ in all. Another draft $y$ that is rejected is
    replaced from $[h_y - q]^+$, where $h_y(x) = p(x) (1 - h(y))/(1 - p(y)) \le p(x) < q(x)$, and $x$ itself from $h(x)
    - q(x) < 0$: so $x$ is never drawn in place of a rejected token.
    """
    p, q = (Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 10), Fraction(9, 10))
    law = step_law(Cactus(Fraction(1, 50)), p, q)
    return holds_if(
        proven("cactus.law"),
        example(f"p = {fmt_row(p)}, q = {fmt_row(q)}, delta = 1/50: emits {fmt_row(law)}"),
    )


@CLAIMS.claim(
    "cactus.frontier",
    derived("after the published code of Cactus"),
    r"For every $p$, $q$ and $\delta \ge 0$, one step of Cactus accepts $\alpha + \mathrm{TV}(r, p)$, with $\alpha = "
    r"1 - \mathrm{TV}(p, q)$ and $r$ the law that it emits: the most that a rule with one draft from $q$ accepts at "
    r"that TV.",
)
def on_the_frontier(seed: int) -> Finding:
    r"""A token with $q(x) > p(x)$ is emitted with $\min(q(x), h(x)) \ge p(x)$ (cactus.law), where the lossless rule
    emits $p(x)$: what is gained in acceptance is the sum of these excesses. It is the TV if no other token is emitted
    with more than its target mass. Let $R = \sum_x [q(x) - h(x)]^+$ be what is rejected. A rejected $x$ is replaced
    from $[h_x - q]^+$, whose sum is $\sum_y [q(y) - h_x(y)]^+ \ge R$, since $h_x(x) = h(x)$ and $h_x(y) \le p(y) \le
    h(y)$ elsewhere. So a token $y$ with $q(y) \le p(y)$, where $h_x(y) \le p(y)$, is emitted with at most $q(y) +
    \sum_x [q(x) - h(x)]^+ (p(y) - q(y))/R = p(y)$. The bound is that of leviathan.frontier.
    """
    tried, budgets = random_pairs(seed, 30), (Fraction(1, 50), Fraction(1, 3))
    off = [
        acceptance(rule, p, q) - frontier(p, q, tv(step_law(rule, p, q), p))
        for p, q in tried
        for rule in map(Cactus, budgets)
    ]
    return holds_if(
        proven("cactus.frontier") and not any(off),
        identity(
            f"beyond the proof: equal in rationals on {len(tried)} pairs over 2 to 6 tokens with zeros and "
            f"{len(budgets)} budgets"
        ),
    )
