"""Claims about what GSD emits: the law of tokens, of groups and of sequences, and tokens that the target excludes.

And what its printed form of SJD emits.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp, lgamma, log
from typing import Any

import numpy as np

from simlab.decoders import Sjd
from simlab.mutants.decoders import TailRelabelled
from simlab.rules import Addition, Amplify, Grouped, Rule, Speculative, make_rule
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.evidence import (
    control,
    counterexample,
    described,
    example,
    holds_if,
    identity,
    refuted_if,
    rejects_mutants,
    require,
)
from theory.claims.format import fmt, fmt_row, numbers
from theory.claims.gsd.acceptance import LABELS, MAX_GAP, PAIR, group_masses, mean_ratio, weights
from theory.claims.proven import over_more_tokens, proven
from theory.claims.sjd.losslessness import deviation, on_two_tokens, two_tokens
from theory.claims.sources import derived, said
from theory.distances import kl, tv
from theory.exact import acceptance, step_law
from theory.search import Pmf

CLAIMS = Claims("gsd")
FIXED = "fixed partition: the groups are a partition that is fixed before the draft is drawn"

# Unbiased ------------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "gsd.unbiased",
    said(
        "5.1",
        "our method increases both p and q in an unbiased manner",
        "formalised",
        "“Unbiased” is taken to be about the ratio that tests a draft, before it is capped at 1, over the partitions "
        "of section 4: the sentence names no clusters. It stands beside Table 1, which is of the windows of Algorithm "
        "3; over these it is not so, and that the output follows the target is more than the sentence says "
        "(examples). How it goes on is gsd.avoids-explosion.",
    ),
    r"For every $p$ and every $q$ of full support, $\mathbb{E}_q[p'(C(x))/q'(C(x))] = 1 = \mathbb{E}_q[p(x)/q(x)]$, "
    r"while amplify's ratio $k p(x)/q(x)$ has the mean $k$ and addition's $(p(x) + \epsilon)/q(x)$ over $V$ tokens the "
    r"mean $1 + \epsilon V$.",
    assumptions=[FIXED],
)
def unbiased_ratio(seed: int) -> Finding:
    r"""$\sum_{x \in C} q(x)\, p'(C)/q'(C) = p'(C)$, and the masses of the groups of a fixed partition sum to 1; single
    tokens are groups of one. Where $q > 0$ everywhere, $\sum_x q(x)\, k p(x)/q(x) = k$ and $\sum_x q(x) (p(x) +
    \epsilon)/q(x) = 1 + \epsilon V$.

    Not for every window, as Algorithm 3 has them in place of a partition: the mean is $\sum_y p(y) \sum_{x: y \in C_x}
    q(x)/q'(C_x)$, and a token counts in the windows of all its neighbours, with weights that need not sum to 1. It can
    be above 1 and below it.

    Nor is the law of what is emitted the target's, of which the sentence does not speak. One step emits $y$ with
    probability $q(y) \min(1, p'(C)/q'(C)) + \mathrm{TV}(p', q')\, [p - q]_+(y)$: within a group tokens are accepted in
    proportion to $q$, not to $p$. Nor that of groups: one is accepted with mass $\min(p', q')$, and the residual over
    tokens hands out the rest in proportion to the sums of $\max(0, p - q)$, which need not be in proportion to
    $\max(0, p' - q')$ where a group holds both a token with $p > q$ and a token with $p < q$.
    """
    k, epsilon = Fraction(2), Fraction(1, 10)

    p, q = (np.array(side, dtype=object) for side in PAIR)
    means = {
        "group": mean_ratio(*PAIR, LABELS),
        "token": mean_ratio(*PAIR, (0, 1, 2)),
        "amplify": (q * (k * p / q)).sum(),
        "addition": (q * ((p + epsilon) / q)).sum(),
    }
    return holds_if(
        proven("gsd.unbiased") and [*means.values()] == [1, 1, k, 1 + 3 * epsilon],
        example(
            "p = (1/3, 1/3, 1/3), q = (1/4, 1/2, 1/4), groups of tokens 0, 1 and of token 2, k = 2, epsilon = 0.1: "
            "means " + ", ".join(f"{fmt(value)} of {name}" for name, value in means.items()),
            numbers(p=PAIR[0], q=PAIR[1], labels=list(LABELS), k=k, epsilon=epsilon, **means),
        ),
        *biased_windows(),
        *biased_laws(),
    )


def biased_windows() -> list[Evidence]:
    """Windows of ranks, filtered as in section 5, over which the mean ratio is not 1."""

    def mean_of(p: Pmf, q: Pmf, half: int) -> Fraction:
        """Tokens are in the order of p; windows of ``half`` ranks on either side, less what is too much likelier."""
        found = Fraction(0)
        for x, mass in enumerate(q):
            ranks = range(max(0, x - half), min(len(p), x + half + 1))
            near = [y for y in ranks if abs(p[y] - p[x]) <= MAX_GAP]
            found += mass * sum(p[y] for y in near) / sum(q[y] for y in near)
        return found

    p = weights(0, 1, 2, 4)
    drafts = weights(1, 1, 2, 4), weights(2, 1, 1, 4)
    above, below = (mean_of(p, q, 1) for q in drafts)
    require(below < 1 < above and all(mean_of(p, q, 0) == 1 for q in drafts), f"means are {above} and {below}")
    return [
        example(
            f"not for every window: G = 3, on both sides, delta = 0.15, p = {fmt_row(p)}, q = {fmt_row(q)}: the mean "
            f"is {fmt(value)} = {float(value):.4f}",
            numbers(size=3, max_gap=MAX_GAP, p=p, q=q, mean=value),
        )
        for q, value in zip(drafts, (above, below), strict=True)
    ]


def _by_group(rule: str) -> dict[str, Any]:
    """What a rule does at p = (0, 1/2, 1/2), q = (1, 0, 0) with the groups 0, 0, 1, and the laws of groups."""
    p, q = weights(0, 1, 1), weights(1, 0, 0)
    law = step_law(make_rule(rule, labels=LABELS), p, q)
    masses = {"group_law": group_masses(law, LABELS), "group_target": group_masses(p, LABELS)}
    return described(rule, {"labels": LABELS}, p, q, **masses)


def biased_laws() -> list[Evidence]:
    """Rows for which neither the tokens emitted nor their groups follow the target."""
    p, q, labels = weights(0, 1), weights(1, 0), (0, 0)
    law = step_law(Grouped(labels), p, q)
    require(tv(step_law(Speculative(), p, q), p) == 0 < tv(law, p), f"the law of tokens is {law}")
    grouped, mended = map(_by_group, ("grouped", "grouped-group-residual"))
    right = [each["exact"]["group_law"] == each["exact"]["group_target"] for each in (grouped, mended)]
    require(right == [False, True], "the law of groups is as with a residual over groups")
    return [
        example(
            f"not for every p and q do tokens follow p: p = (0, 1), q = (1, 0), one group: their law is {fmt_row(law)}",
            described("grouped", {"labels": labels}, p, q),
        ),
        example(
            "nor groups p': p = (0, 1/2, 1/2), q = (1, 0, 0), groups of tokens 0, 1 and of token 2: their law is "
            f"({', '.join(grouped['exact']['group_law'])}) where the target has "
            f"({', '.join(grouped['exact']['group_target'])})",
            grouped,
        ),
    ]


@CLAIMS.claim(
    "gsd.unbiased.group-residual",
    derived("on 5.1", "The paper keeps the residual of the lossless rule; this one, exact for groups, is not in it."),
    r"With a residual that draws a group from $[p' - q']_+$ and a token in it in proportion to $p$, the group of the "
    r"token emitted follows $p'$, for every $p$, $q$ and every partition fixed before the draft is drawn.",
)
def unbiased_group_residual(seed: int) -> Finding:
    r"""This is speculative sampling of the group: a draft's group follows $q'$, is accepted with $\min(1, p'/q')$, and
    is replaced by one from $[p' - q']_+$. So the group follows $p'$ exactly. The token within it does not follow $p$:
    accepted tokens follow $q$ within their group.
    """
    numbers_of = _by_group("grouped-group-residual")
    return holds_if(
        proven("gsd.unbiased.group-residual"),
        over_more_tokens("gsd.unbiased.group-residual", seed),
        example(
            "p = (0, 1/2, 1/2), q = (1, 0, 0), groups of tokens 0, 1 and of token 2: groups come out with "
            f"({', '.join(numbers_of['exact']['group_law'])}) as in the target, tokens with "
            f"({', '.join(numbers_of['exact']['law'])})",
            numbers_of,
        ),
    )


# Tokens that the target excludes --------------------------------------------------------------------------------

NOT_SAID = "The paper does not speak of tokens of target probability 0; top-k sampling makes most tokens such."


def emits_impossible(rule: Rule, p: Any, q: Any) -> Any:
    """The probability, of each pair of rows ``[..., V]``, that a token of target probability 0 comes out."""
    law, p = step_law(rule, p, q), np.array(p, dtype=object)
    return (law * (p == 0)).sum(axis=-1)


@CLAIMS.claim(
    "gsd.support",
    derived("on eq. 4, 4.1 and Algorithm 3", NOT_SAID),
    r"GSD emits no token $x$ with $p(x) = 0$: over a partition fixed before the draft is drawn, and over the ranks "
    r"$r - \lfloor G/2 \rfloor$ to $r + \lfloor G/2 \rfloor$ around the rank $r$ of the drafted token by $p$, or to "
    r"$r + \lfloor G/2 \rfloor - 1$, cut at the ends of the list and filtered by $\delta = 0.15$.",
)
def support_partition(seed: int) -> Finding:
    r"""A draft $x$ with $p(x) = 0$ is accepted with the ratio of its group's masses: it comes out with probability
    $q(x) \min(1, p'(C(x))/q'(C(x)))$, which is positive as soon as another token of the group has $p > 0$. So it is
    with windows: upwards from $G = 2$ on, or from $G = 4$ on where it is half-open as the slice of Algorithm 3. The
    filter $|p(y) - p(x)| \le \delta$ lets in neighbours of small positive probability, which is what an image model's
    rows are made of.
    """
    row = weights(0, 1, 6), weights(1, 0, 0)
    text = "p = (0, 1/7, 6/7), q = (1, 0, 0), delta = 0.15"
    cases = {
        "p = (0, 1), q = (1, 0), one group": ("grouped", {"labels": (0, 0)}, weights(0, 1), weights(1, 0)),
        f"{text}, centred, G = 3": ("dynamic-grouped", windowed("centred", 3), *row),
        f"{text}, half-open, G = 4": ("dynamic-grouped", windowed("clamped", 4), *row),
    }
    leaks = {text: emits_impossible(make_rule(name, **given), p, q) for text, (name, given, p, q) in cases.items()}
    for _, _, p, q in cases.values():
        require(emits_impossible(Speculative(), p, q) == 0, f"the lossless rule emits what p excludes: {p}, {q}")
    return refuted_if(
        min(leaks.values()) > 0,
        *(
            counterexample(
                f"{text}: a token of target probability 0 comes out with probability {fmt(leaks[text])}",
                described(*case),
            )
            for text, case in cases.items()
        ),
        control("the same check finds that the lossless rule emits no such token"),
    )


def windowed(window: str, size: int) -> dict[str, Any]:
    return {"size": size, "max_gap": MAX_GAP, "max_distance": None, "distances": None, "window": window}


@CLAIMS.claim(
    "gsd.support.printed",
    derived("on Algorithm 3", NOT_SAID),
    r"With the group of the token at place $i$ of the list sorted by $p$ read as the Python slice from "
    r"$i - \lfloor G/2 \rfloor$ to $i + \lfloor G/2 \rfloor$, $i$ being the first place of its probability, GSD emits "
    r"no token $x$ with $p(x) = 0$.",
    assumptions=[r"wide vocabulary: $V \ge 2 \lfloor G/2 \rfloor$"],
)
def support_printed(seed: int) -> Finding:
    r"""Tokens of probability 0 are first in the sorted list, and all of them are found at $i = 0$. Their slice, from
    $-\lfloor G/2 \rfloor$ to $\lfloor G/2 \rfloor$, starts $V - \lfloor G/2 \rfloor$ places from the front and is
    empty in a wide vocabulary: they are always rejected, and the residual $[p - q]_+$ has no mass where $p$ has
    none. In a smaller vocabulary the slice is not empty.
    """
    p, q, size = weights(0, 1, 1, 1, 1, 1, 1, 1), weights(1, 0, 0, 1, 0, 0, 0, 0), 10
    parameters = windowed("printed", size)
    leak = emits_impossible(make_rule("dynamic-grouped", **parameters), p, q)
    require(leak > 0, "the check does not see the leak of a vocabulary smaller than assumed")
    return holds_if(
        proven("gsd.support.printed"),
        over_more_tokens("gsd.support.printed", seed),
        example(
            f"without the assumption, V = 8 and G = 10: p = (0, 1/7, ..., 1/7), q = 1/2 on tokens 0 and 3: token 0 "
            f"comes out with probability {fmt(leak)}",
            described("dynamic-grouped", parameters, p, q),
        ),
    )


# Sequences ------------------------------------------------------------------------------------------------------

LENGTHS = (1, 4, 16, 64)


@CLAIMS.claim(
    "gsd.compounding",
    derived("on 5.1", "The paper measures the quality of whole images, not the TV of sequences."),
    r"If given every prefix the one-step law of a rule is within TV $d$ and Kullback-Leibler divergence $K$, in nats, "
    r"of the target's, $n$ tokens that are verified drafts are within TV $\min(1 - (1 - d)^n, \sqrt{n K / 2})$ of the "
    r"target's.",
)
def compounding(seed: int) -> Finding:
    r"""Couple the two sequences token by token, as well as can be given equal prefixes: they part at a step with
    probability at most $d$, so that after $n$ tokens they are equal with probability at least $(1 - d)^n$. And by the
    chain rule the divergence of $n$ tokens is the sum of the mean divergences of the steps, at most $n K$; Pinsker's
    inequality is $\mathrm{TV} \le \sqrt{nK/2}$.
    """
    p, k, epsilon = PAIR[0], Fraction(5, 4), Fraction(1, 12)
    rules: dict[str, Rule] = {"GSD": Grouped(LABELS), "amplify": Amplify(k), "addition": Addition(epsilon)}
    laws = {name: step_law(rule, *PAIR) for name, rule in rules.items()}
    exact = {name: {n: _tv_of_sequences(law, p, n) for n in LENGTHS} for name, law in laws.items()}

    def excess(share: float) -> float:
        """Most that TV is above either bound, with ``share`` of d and of K."""
        parts = {name: (share * float(tv(law, p)), share * float(kl(law, p))) for name, law in laws.items()}
        return max(
            exact[name][n] - bound
            for name, (d, divergence) in parts.items()
            for n in LENGTHS
            for bound in (1 - (1 - d) ** n, (n * divergence / 2) ** 0.5)
        )

    grown = {name: values[LENGTHS[-1]] / values[1] for name, values in exact.items()}
    require(len({fmt(acceptance(rule, *PAIR)) for rule in rules.values()}) == 1, "the rules do not accept as much")
    return holds_if(
        excess(1.0) <= 1e-12,
        identity(
            f"p = (1/3, 1/3, 1/3), q = (1/4, 1/2, 1/4) at every position, rules that accept 11/12: both bounds hold at "
            f"n = {', '.join(map(str, LENGTHS))}"
        ),
        example(
            "TV of n tokens: "
            + "; ".join(
                f"{name} {', '.join(f'{value:.4f}' for value in values.values())}" for name, values in exact.items()
            )
            + f" at n = {', '.join(map(str, LENGTHS))}: from 1 to {LENGTHS[-1]} tokens it grows "
            + " and ".join(f"{value:.1f}" for value in grown.values())
            + " times",
            numbers(
                p=p,
                q=PAIR[1],
                labels=list(LABELS),
                k=k,
                epsilon=epsilon,
                lengths=list(LENGTHS),
                tv_grouped=list(exact["GSD"].values()),
                tv_amplify=list(exact["amplify"].values()),
                tv_addition=list(exact["addition"].values()),
                divergence_grouped=float(kl(laws["GSD"], p)),
            ),
        ),
        rejects_mutants({"half of d and of K": 0.5}, excess, "the bounds"),
    )


def _tv_of_sequences(law: Any, p: Pmf, n: int) -> float:
    """TV of n independent tokens: both laws of sequences are constant given how often each of three tokens occurs."""
    one, other = ([log(x) for x in row] for row in (law, p))
    spent = 0.0
    for a in range(n + 1):
        for b in range(n + 1 - a):
            counts = a, b, n - a - b
            ways = lgamma(n + 1) - sum(lgamma(c + 1) for c in counts)
            each = (exp(ways + sum(c * x for c, x in zip(counts, row, strict=True))) for row in (one, other))
            spent += abs(next(each) - next(each)) / 2
    return spent


# SJD as it is printed ------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "gsd.sjd-printed",
    said(
        "2.3 and Algorithm 4",
        "the correctness of the output distribution is ensured regardless of the choice of q",
        "stronger",
        "True of speculative sampling, of which it is said, as the reason why SJD, “provided in Algorithm 4”, may "
        "draft with earlier rows. The last line but one of its loop, which Algorithm 5 prints as well, keeps the "
        "drafts behind a rejection, and takes the rows of this call for their q. The paper does not say that the line "
        "is to be taken to the letter: SJD draws them again from those rows (sjd.theorem-1), as the published code of "
        "GSD does; then nothing is lost.",
    ),
    r"For every target and window, Algorithm 4 emits sequences with the target's law, $\hat X_{0:L-k} \leftarrow "
    r"\hat X_{k:L}$ and $q_{0:L-k} \leftarrow p_{k:L}$ being carried out as printed.",
)
def sjd_printed(seed: int) -> Finding:
    r"""Every $q$ is as good as another, but the draft has to follow it. A draft that is kept was drawn from its old
    row, and is now scored as if drawn from the row of this call. Let there be two tokens and two drafts, at first drawn
    uniformly. If the first one is rejected the second stays: it is uniform, and is accepted with $\min(1, p/q)$, where
    $q$ is the target's row after the rejected token, and $p$ that after the token that replaces it.
    """
    row = weights(1, 2)
    process, printed = two_tokens(row, row), TailRelabelled(2)
    off = deviation(printed, process)
    require(deviation(Sjd(2), process) == 0, "SJD does not have the target's law")
    return refuted_if(
        off > 0,
        counterexample(
            f"two tokens, two drafts, the first row (1/3, 2/3), the next one (1/3, 2/3) after token 0 and (2/3, 1/3) "
            f"after token 1: the law of both tokens is off by TV {fmt(off)}",
            on_two_tokens(printed, row, row, window=2),
        ),
        control("the same check finds that the drafts drawn again from the rows of the call have the target's law"),
    )
