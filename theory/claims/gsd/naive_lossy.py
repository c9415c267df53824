"""Claims of GSD about what it is compared with: the naive lossy rules, LANTERN, and how differences add up to TV."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

from simlab.rules import Addition, Amplify, Grouped, Lantern, Rule, Speculative
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.evidence import described, example, holds_if, identity, rejects_mutants, require
from theory.claims.format import fmt, fmt_row, numbers
from theory.claims.gsd.acceptance import LABELS, PAIR, weights
from theory.claims.proven import over_more_tokens, proven
from theory.claims.sources import derived, said
from theory.distances import tv
from theory.exact import acceptance, step_law
from theory.example_processes import point_mass, random_row
from theory.published.ledger import Ledger, published
from theory.search import Pmf

CLAIMS = Claims("gsd")

# Against the naive lossy rules ---------------------------------------------------------------------------------

EXPLODE = (
    "5.1",
    "naive lossy methods suffer from drastic degradation due to bias or exploding behavior when q(x) becomes small, as "
    "they only increase the numerator",
)
PARETO = "5.1, Fig. 10", "our method achieves a superior Pareto front compared to naive lossy SD methods"

CLAIMS.summary(
    "gsd.naive-lossy",
    said(
        "5.1, Fig. 10",
        f"{PARETO[1]} ... {EXPLODE[1]}",
        "formalised",
        "Quality is what the paper prints: FID and CLIP score. Distances between laws are other measures, judged "
        "apart.",
    ),
    r"In Table 1 each row of amplify, with ratio $k p/q$, or addition, with ratio $(p + \epsilon)/q$, with a number of "
    r"calls between those of two rows of GSD scores worse than the line between the two; addition accepts every draft "
    r"with $q(x) \le \epsilon$, whatever $p(x)$ is.",
    ["gsd.naive-lossy.printed", "gsd.naive-lossy.explode", "gsd.naive-lossy.tv", "gsd.naive-lossy.empirical"],
)

SCORES = (("PartiPrompts", "CLIP"), ("MS-COCO-2017", "CLIP"), ("MS-COCO-2017", "FID"))


class Point(NamedTuple):
    """A row of Table 1: its calls, and a score of which more is better."""

    name: str
    calls: Fraction
    score: Fraction


def points(ledger: Ledger, dataset: str, score: str, methods: tuple[str, ...]) -> list[Point]:
    """The rows of GSD's Table 1 of these methods, by calls."""
    found = []
    for method in methods:
        for row in ledger.select(paper="gsd", table="1", dataset=dataset, method=method, metric="nfe"):
            beside = ledger.beside(row, score)
            if beside:
                sign = -1 if score == "FID" else 1
                found.append(Point(row.setting, Fraction(row.value), sign * Fraction(beside.value)))
    return sorted(found, key=lambda point: point.calls)


def on_front(ledger: Ledger) -> list[str]:
    """Naive rows that are no worse than GSD's front at their number of calls: better than a row of GSD with fewer calls
    or than the line between the rows on either side."""
    found = []
    for dataset, score in SCORES:
        front = points(ledger, dataset, score, ("gsd",))
        for point in points(ledger, dataset, score, ("amplify", "addition")):
            beats = any(point.calls <= other.calls and point.score >= other.score for other in front)
            for low, high in pairwise(front):
                if low.calls <= point.calls <= high.calls:
                    share = (point.calls - low.calls) / (high.calls - low.calls)
                    beats |= point.score >= low.score + share * (high.score - low.score)
            if beats:
                found.append(f"{point.name}, {score}")
    return found


@CLAIMS.claim(
    "gsd.naive-lossy.printed",
    said(
        *PARETO,
        "formalised",
        "The front is that of the rows that Table 1 prints; of Fig. 10 no numbers are printed. Nor is it printed that "
        "the front lies on the line between two of them, or what the error of a score is.",
    ),
    r"In Table 1 no row of amplify or addition has both at most as many calls and at least as good a CLIP score or FID "
    r"as a row of GSD, and each with a number of calls between those of two rows of GSD scores worse than the line "
    r"between the two.",
)
def naive_lossy_printed(seed: int) -> Finding:
    """A statement about printed numbers, which are compared as they stand: every row of amplify and addition with every
    row of GSD, for each of the three scores of the table.
    """
    ledger = published()
    better = ledger.one({"epsilon": "0.3"}, paper="gsd", dataset="MS-COCO-2017", method="addition", metric="FID")
    fewer = ledger.one({"k": "2"}, paper="gsd", dataset="PartiPrompts", method="amplify", metric="CLIP")
    above = on_front(ledger)
    compared = sum(len(points(ledger, *each, ("amplify", "addition"))) for each in SCORES)
    rows: dict[str, Any] = {}
    for name in ("gsd", "addition", "amplify"):
        found = points(ledger, "MS-COCO-2017", "FID", (name,))
        rows |= {f"{name}_calls": [row.calls for row in found], f"{name}_fid": [-row.score for row in found]}
    return holds_if(
        not above,
        example(
            f"{compared} scores of naive rows, {len(above)} on or above GSD's front. On MS-COCO addition with "
            "epsilon = 0.3 takes 661.66 calls at FID 40.20, GSD with G = 25 takes 674.04 at 33.55",
            numbers(compared=compared, above=len(above), **rows),
        ),
        rejects_mutants(
            {
                "FID 30 for addition at epsilon = 0.3": ledger.altered({better.line: 30.0}),
                "CLIP score 32.1 for amplify at k = 2": ledger.altered({fewer.line: 32.1}),
            },
            lambda other: len(on_front(other)),
            "the front",
        ),
    )


@CLAIMS.claim(
    "gsd.naive-lossy.tv",
    derived("on 5.1", "The paper measures FID and CLIP score, not TV, which does not know which tokens look alike."),
    r"Whenever amplify with $k \ge 1$ or addition accepts as much as GSD over a partition fixed before the draft is "
    r"drawn, its one-step law is at most as far from $p$ in TV.",
)
def naive_lossy_tv(seed: int) -> Finding:
    r"""What a rule accepts is part of what it emits: $q a \le \mathrm{law}$ and $q a \le q$, so its acceptance is at
    most $\sum \min(q, \mathrm{law}) \le \alpha_{SD} + \mathrm{TV}(\mathrm{law}, p)$: no rule gains more acceptance than
    it spends TV. Amplify with $k \ge 1$ and addition accept with $a \ge \min(1, p/q)$: tokens with $q \le p$ are all
    accepted and get at most $p - q$ from the residual, so the law exceeds $p$ only where $q > p$, by $q a - p$; they
    spend exactly what they gain. GSD accepts some tokens less often than the lossless rule, and spends at least that.
    """
    k, epsilon = Fraction(5, 4), Fraction(1, 12)
    same = {acceptance(rule, *PAIR) for rule in (Grouped(LABELS), Amplify(k), Addition(epsilon))}
    require(len(same) == 1, "the three rules of the example do not accept as much")
    spent = {
        "tv_amplify": _spent(Amplify(k), *PAIR),
        "tv_addition": _spent(Addition(epsilon), *PAIR),
    }
    return holds_if(
        proven("gsd.naive-lossy.tv"),  # for more tokens by leviathan.frontier
        over_more_tokens("gsd.naive-lossy.tv", seed),
        example(
            f"p = (1/3, 1/3, 1/3), q = (1/4, 1/2, 1/4): amplify with k = 5/4, addition with epsilon = 1/12 and groups "
            f"of tokens 0, 1 and of token 2 all accept 11/12, at TV {fmt(spent['tv_amplify'])}, "
            f"{fmt(spent['tv_addition'])} and {fmt(_spent(Grouped(LABELS), *PAIR))}",
            described("grouped", {"labels": LABELS}, *PAIR, k=k, epsilon=epsilon, **spent),
        ),
    )


def _spent(rule: Rule, p: Any, q: Any) -> Any:
    return tv(step_law(rule, p, q), p)


def _spread(k: int, m: int) -> tuple[Pmf, Pmf]:
    """p uniform over k m tokens, and q over m of them."""
    return weights(*[1] * (k * m)), weights(*[1] * m, *[0] * (k * m - m))


# Where q(x) is small --------------------------------------------------------------------------------------------

EXPLODING = (  # one set of readings for every entry with the word
    r"Exploding is read in one way of all rules: a ratio that exceeds every bound as $q(x)$ alone falls to 0, whatever "
    r"$p(x)$ is. Addition explodes, and LANTERN where a neighbour with mass joins; the lossless rule and amplify do "
    r"not (only where $p(x) > 0$), nor GSD where another token of the group $C$ can be drafted. But a ratio above 1 "
    r"counts as 1. Read as certain acceptance at a small $q(x)$, whatever $p(x)$ is, the answers are the same but for "
    r"GSD: it explodes where $q(x) \le p(C \setminus \{x\}) - q(C \setminus \{x\})$ (last example)."
)
LISTS, DELTA = ((1, 2), (0, 2), (1, 0)), Fraction(1, 5)  # neighbours of three tokens, and LANTERN's bound


def gathered(p: Pmf) -> list[Fraction]:
    """m(x), the mass of the neighbours that join x: with q(x) = 1 LANTERN accepts x with p(x) + m(x)."""
    return [Lantern(LISTS, DELTA).accept(p, point_mass(x, len(p)), x)[()] - p[x] for x in range(len(p))]


def small_q() -> Evidence:
    """The ratio of a token with p = 0, and whether it is accepted, as its q alone falls."""
    p, epsilon, parts = weights(0, 1, 9), Fraction(1, 10), (100, 1000, 10000)
    rows = [(Fraction(1, n), Fraction(9, 100), Fraction(91, 100) - Fraction(1, n)) for n in parts]
    added = gathered(p)[0]
    ratios = {
        "the lossless rule": (Speculative(), [p[0] / q[0] for q in rows]),
        "amplify with k = 2": (Amplify(2), [2 * p[0] / q[0] for q in rows]),
        "addition with epsilon = 0.1": (Addition(epsilon), [(p[0] + epsilon) / q[0] for q in rows]),
        "LANTERN with the other tokens as neighbours and delta = 0.2": (
            Lantern(LISTS, DELTA),
            [(p[0] + added) / q[0] for q in rows],
        ),
        "GSD with groups of tokens 0, 1 and of token 2": (
            Grouped(LABELS),
            [(p[0] + p[1]) / (q[0] + q[1]) for q in rows],
        ),
    }
    accepted = {
        name: {(rule.accept(p, q, 0)[()], min(Fraction(1), ratio)) for q, ratio in zip(rows, found, strict=True)}
        for name, (rule, found) in ratios.items()
    }
    require(
        [*accepted.values()] == [{(0, 0)}] * 2 + [{(1, 1)}] * 3, f"token 0 is accepted otherwise than said: {accepted}"
    )
    return example(
        f"p = {fmt_row(p)}, q(0) = 1/100, 1/1000, 1/10000, q(1) = 9/100: the ratio of token 0 is "
        + "; ".join(f"{', '.join(map(fmt, found))} for {name}" for name, (_, found) in ratios.items())
        + ". The first two never accept it, the others always do",
        numbers(p=p, drafted=[q[0] for q in rows], ratios={name: found for name, (_, found) in ratios.items()}),
    )


@CLAIMS.claim(
    "gsd.naive-lossy.explode",
    said(
        *EXPLODE,
        "formalised",
        "Degradation is read as TV of the one-step law, and the largest possible one is given; that of GSD is 1 "
        "(gsd.avoids-explosion). What amplify has is the bias, the same at any $q(x)$. " + EXPLODING,
    ),
    r"For every whole $k \ge 2$ and every $\eta > 0$ there are $p$ and $q$ with $q(x) \le \eta$ for every token at "
    r"which amplify accepts every draft and its one-step law is at TV $1 - 1/k$ from $p$; for no $p$ and $q$ is it "
    r"farther. Addition's ratio is at least $\epsilon/q(x)$ whatever $p(x)$ is; if $q(x) \le \epsilon$ for every "
    r"token it accepts every draft, so that its one-step law is $q$: for $p$ a point mass and $q$ uniform over "
    r"$V \ge 1/\epsilon$ tokens at TV $1 - 1/V$ from $p$.",
)
def explode_amplify(seed: int) -> Finding:
    r"""Let $p$ be uniform over $k m$ tokens and $q$ over $m \ge 1/\eta$ of them. Then $k p = q$ where a draft can be:
    all are accepted, the law is $q$, and $\mathrm{TV}(q, p) = 1 - 1/k$. That does not need a small $q(x)$: with $m = 1$
    and $q(x) = 1$ it is as much. It is never more: amplify emits no token more than $k$ times as often as $p$ does,
    since a token with $q > p$ is accepted with mass $\min(q, k p)$ and gets nothing from the residual, and one with $q
    \le p$ ends at $p$ or below. So for every set $A$ of tokens $\mathrm{law}(A) - p(A) \le \min(1, k p(A)) - p(A) \le
    1 - 1/k$.

    For addition $(p(x) + \epsilon)/q(x) \ge \epsilon/q(x) \ge 1$ for every token, so nothing is rejected and the law is
    $q$. Speculative Jacobi decoding, on which GSD is built, starts new drafts uniform: where they are scored with the
    uniform row and $V \ge 1/\epsilon$, addition accepts them all. Its published code scores them as point masses, with
    $q(x) = 1$.

    A single token gains no more than what its draft probability exceeds its target probability by, $\mathrm{law}(x) -
    p(x) \le \max(0, q(x) - p(x)) \le q(x)$, however large its ratio: both rules accept with $a \ge \min(1, p/q)$, so
    that they reject at most what the lossless rule does, and the residual gives $x$ at most $\max(0, p(x) - q(x))$. The
    harm of a small $q(x)$ is in many tokens that have one.
    """
    p, q, rule = weights(1, *[0] * 9), weights(*[1] * 10), Addition(Fraction(1, 10))
    sizes = (10, 100, 1000)
    gained = [step_law(rule, weights(0, 1), weights(1, n - 1))[0] for n in sizes]
    require(_spent(rule, p, q) == tv(p, q) == Fraction(9, 10), "addition does not emit the draft's law")
    require(gained == [Fraction(1, n) for n in sizes], "a token gains another amount than its draft probability")
    for k in (2, 3, 5, 8):
        found = [(acceptance(Amplify(k), *rows), _spent(Amplify(k), *rows)) for rows in (_spread(k, 1), _spread(k, 3))]
        require(set(found) == {(1, 1 - Fraction(1, k))}, f"amplify with k = {k} accepts, at a TV of: {found}")
    k = 4
    far = {m: _spent(Amplify(k), *_spread(k, m)) for m in (1, 10)}
    large = tv(weights(*[1] * 400), weights(*[1] * 100, *[0] * 300))
    return holds_if(
        proven("gsd.naive-lossy.explode") and set(far.values()) | {large} == {1 - Fraction(1, k)},
        over_more_tokens("gsd.naive-lossy.explode", seed),
        example(
            f"p uniform over 40 tokens, q over 10 of them, k = 4: q(x) = 1/10, all drafts are accepted, TV "
            f"{fmt(far[10])}; the same for 400 and 100 tokens, where q(x) = 1/100, and for 4 and one, where it is 1",
            numbers(
                k=k,
                tokens=40,
                drafted=10,
                acceptance=acceptance(Amplify(k), *_spread(k, 10)),
                tv=far[10],
                tv_400=large,
            ),
        ),
        example(
            f"ten tokens, q = 1/10 for each, p a point mass, epsilon = 0.1: addition accepts "
            f"{fmt(acceptance(rule, p, q))}, TV {fmt(_spent(rule, p, q))}; amplify is exact on the same rows",
            described("addition", {"epsilon": Fraction(1, 10)}, p, q, tv_amplify=_spent(Amplify(2), p, q)),
        ),
        example(
            "p = (0, 1), addition with epsilon = 0.1: at q(0) = 1/10, 1/100, 1/1000 token 0 comes out with probability "
            f"{', '.join(map(fmt, gained))}"
        ),
        small_q(),
    )


@CLAIMS.claim(
    "gsd.avoids-explosion",
    said(
        "5.1",
        "In contrast, our method increases both p and q in an unbiased manner, effectively avoiding such issues",
        "formalised",
        f"The issue of a small $q(x)$; bias is gsd.unbiased. {EXPLODING} That GSD avoids this as well, or that no rows "
        "of small $q(x)$ are accepted whole, far from $p$, as gsd.naive-lossy.explode finds them for the naive rules, "
        "is stronger, and false.",
    ),
    r"For every $p$, $q$ and group $C$ that holds the draft $x$ and another token that can be drafted, GSD's ratio is "
    r"at most $1/q(C \setminus \{x\})$ however small $q(x)$ is, while, as $q(x)$ alone falls to 0, addition's, and "
    r"LANTERN's where a neighbour with mass joins, exceed every bound whatever $p(x)$ is, and amplify's and the "
    r"lossless rule's where $p(x) > 0$.",
)
def avoids_explosion(seed: int) -> Finding:
    r"""$p(C)/q(C) \le 1/q(C) \le 1/q(C \setminus \{x\})$, in which $q(x)$ does not occur; the others are at least
    $\epsilon/q(x)$, $m(x)/q(x)$ with $m(x)$ the mass of the neighbours, $k p(x)/q(x)$ and $p(x)/q(x)$.

    A bounded ratio can be above 1. With $R = C \setminus \{x\}$ it is at least $p(R)/(q(x) + q(R))$, whatever $p(x)$
    is: once $q(x) \le p(R) - q(R)$ the draft is accepted surely, as by addition and LANTERN. Those accept it surely on
    all rows with a small enough $q(x)$, GSD only where the others of its group have more target mass than draft mass.

    Where all of a group can hardly be drafted, $q(C)$ is small as $q(x)$ is, and GSD's ratio grows as theirs do, also
    of a token with $p(x) = 0$. With $p$ and $q$ uniform over two halves of the vocabulary, and groups of one token from
    either half, every draft is accepted however small $q(x)$ is, and the law has nothing in common with $p$.
    """
    random, epsilon = Random(seed), Fraction(1, 10)
    rows = [(random_row(random, 3), random_row(random, 3), Fraction(1, 10**n)) for n in range(1, 5) for _ in range(6)]
    pairs = [(p, (eta, *((1 - eta) * m / (1 - q[0]) for m in q[1:]))) for p, q, eta in rows if q[0] < 1 and q[1] > 0]
    ratios: dict[str, Callable[[Pmf, Pmf], Fraction]] = {
        "amplify": lambda p, q: 2 * p[0] / q[0],
        "addition": lambda p, q: (p[0] + epsilon) / q[0],
        "LANTERN, token 1 a neighbour": lambda p, q: (p[0] + p[1]) / q[0],
        "the lossless rule": lambda p, q: p[0] / q[0],
    }

    def beyond(ratio: Callable[[Pmf, Pmf], Fraction]) -> Fraction:
        """The most that the ratio of token 0 exceeds the bound, tokens 0 and 1 being its group; or 0."""
        return max(Fraction(0), *(ratio(p, q) - 1 / q[1] for p, q in pairs))

    p, q = weights(0, 1, 1), weights(1, 0, 99)
    half, pairing = [1] * 100, Grouped([*range(100)] * 2)
    wide = weights(*half, *[0] * 100), weights(*[0] * 100, *half)
    accepted, ratio = acceptance(pairing, *wide), (p[0] + p[1]) / (q[0] + q[1])
    law = step_law(Grouped(LABELS), p, q)
    require(accepted == tv(wide[1], wide[0]) == 1 and law[0] == q[0], "small q(x) is not accepted whole")
    return holds_if(
        beyond(lambda p, q: (p[0] + p[1]) / (q[0] + q[1])) == 0,
        identity(
            f"{len(pairs)} random pairs over three tokens, q(0) = 1/10 to 1/10,000, tokens 0 and 1 in a group: the "
            "ratio of token 0 is at most 1/q(1)"
        ),
        example(
            f"not for a group that is hardly drafted: p = {fmt_row(p)}, q = {fmt_row(q)}, groups of tokens 0, 1 and of "
            f"token 2: token 0 has p = 0 and the ratio {fmt(ratio)}, and comes out with {fmt(law[0])}",
            described("grouped", {"labels": LABELS}, p, q, ratio=ratio),
        ),
        example(
            "200 tokens, p uniform over one half, q over the other, so that q(x) = 1/100, groups of one token from "
            f"either half: acceptance {fmt(accepted)}, TV {fmt(tv(wide[1], wide[0]))}",
            numbers(tokens=200, drafted=100, acceptance=accepted, tv=tv(wide[1], wide[0])),
        ),
        small_q(),
        rejects_mutants(ratios, beyond, "the bound"),
    )


# LANTERN --------------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "gsd.drawbacks",
    said(
        "6",
        "Critically, since it increases only the numerator, it shares the same drawbacks as naive lossy methods—bias "
        "and the exploding problem",
        "formalised",
        f"“It” is LANTERN. Bias is taken as that of the mean ratio. {EXPLODING} The sentence ends with “achieving only "
        "a 1.6× speed-up”: LANTERN prints 1.64 for sampling, as GSD measures, and 2.25 for greedy decoding.",
    ),
    r"LANTERN's ratio $(p(x) + m(x))/q(x)$, $m(x)$ being the mass of the neighbours that join $x$, has under a draft "
    r"of full support the mean $1 + \sum_x m(x) \ge 1$; it is at least $m(x)/q(x)$ whatever $p(x)$ is, so that a draft "
    r"with $q(x) \le m(x)$ is accepted with probability 1; and as with amplify and addition the acceptance gained over "
    r"the lossless rule equals the TV of the one-step law to $p$.",
)
def drawbacks(seed: int) -> Finding:
    r"""$\sum_x q(x)\, (p(x) + m(x))/q(x) = 1 + \sum_x m(x)$, where amplify has $k$ and addition $1 + \epsilon V$; GSD
    over a partition has 1, since its denominator grows as well. The ratio is at least $m(x)/q(x)$, which passes 1 as
    $q(x)$ falls below $m(x)$, as addition's does below $\epsilon$. For the last: a token with $q > p$ is accepted with
    mass at least $p$ and is in no residual, so it is emitted too often by what is accepted more. The others are
    accepted whole, and a rejected $x$ is replaced by them in proportion to at most $\max(0, p - q)$: its residual has
    the mass of $\max(0, q - p_A)$, which is at least $\sum_z \max(0, q(z) - p(z) - m(z))$, all that is rejected. So
    they get at most $p - q$ more, and TV is what was accepted more.
    """
    rule = Lantern(LISTS, DELTA)
    p, q = weights(0, 1, 9), weights(1, 9, 90)
    moved = gathered(p)
    mean = sum((p[x] + moved[x]) / q[x] * q[x] for x in range(3))
    law = step_law(rule, p, q)
    return holds_if(
        proven("gsd.drawbacks") and mean == 1 + sum(moved) and rule.accept(p, q, 0) == 1 and p[0] == 0,
        example(
            f"p = (0, 1/10, 9/10), q = (1/100, 9/100, 9/10), neighbours the other tokens, delta = 0.2: token 0 has p = "
            f"0 and the ratio {fmt(moved[0] / q[0])}; the mean ratio is {fmt(mean)}; token 0 comes out with "
            f"probability {fmt(law[0])}",
            described(
                "lantern",
                {"neighbours": [list(row) for row in LISTS], "delta": DELTA, "bound": "tv"},
                p,
                q,
                joined=moved,
                mean_ratio=mean,
            ),
        ),
        small_q(),
    )


# Accumulation --------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "gsd.accumulation",
    said(
        "3.2, Fig. 6",
        "regions with higher confidence (e.g., faces) exhibit relatively low TV values ... the accumulation of subtle "
        "differences between distributions p and q significantly increases total variation, ultimately lowering the "
        "acceptance rate ... This problem becomes more pronounced when the support is larger.",
        "formalised",
        "“Subtle” is read as a bound $e$ on the difference of every single token, fixed as $V$ grows, confidence as "
        "one token to which both rows give at least $c$. With differences in proportion to the $1/V$ that a token has, "
        "at most $r/V$, TV is at most $r/2$ and the support does nothing (last example). The toy example of Fig. 6 is "
        "one pair of each kind; what such pairs can reach is given. What was measured on images is not judged.",
    ),
    r"Over $V$ tokens, rows that differ by at most $e \le 2/V$ on every token have $\mathrm{TV} \le e \lfloor V/2 "
    r"\rfloor$, and near-uniform rows, within $e/2$ of $1/V$ on every token, reach it; rows that both give one token "
    r"at least $c$ have $\mathrm{TV} \le 1 - c$ whatever $V$ is, while there are rows over an even $V$ with no "
    r"probability above $2/V$ and TV 1.",
)
def accumulation(seed: int) -> Finding:
    r"""TV is the sum of the positive differences and also that of the negative ones. One of the two kinds has at most
    $\lfloor V/2 \rfloor$ tokens, so $\mathrm{TV} \le e \lfloor V/2 \rfloor$. A near-uniform pair reaches it: add $e/2$
    to half of the tokens and take it from the other half in one row, the other way round in the other; these are pmfs
    for $e \le 2/V$. Rows that differ on $m$ tokens only are limited to $e \lfloor m/2 \rfloor$. With $e = r/V$ the
    bound is at most $r/2$ for every $V$.

    $\mathrm{TV} = 1 - \sum_x \min(p, q)(x)$, and a shared token alone has $\min(p, q) \ge c$. The bound is reached by
    rows that share nothing else. Rows that are uniform over two halves of the vocabulary have no token in common.

    That of two pairs with one largest difference the near-uniform one has the larger TV, as in the toy example of Fig.
    6, is no rule: what counts is on how many tokens rows differ, not how flat they are. The third example is a
    near-uniform pair that differs on two tokens, and a pair with 9/10 on one token that differs on all others but one.
    """
    e = Fraction(1, 100)
    reached = {v: tv(*_alternating(v, e)) for v in (2, 3, 10, 11, 50, 99, 100, 200)}
    return holds_if(
        proven("gsd.accumulation") and all(value == e * (v // 2) for v, value in reached.items()),
        example(
            "at e = 0.01, near-uniform pairs over V tokens: "
            + ", ".join(f"V = {v}: TV = {fmt(value)}" for v, value in reached.items()),
            numbers(e=e, tokens=list(reached), tv=list(reached.values())),
        ),
        *concentrated(),
    )


def _alternating(size: int, e: Fraction) -> tuple[Pmf, Pmf]:
    """A near-uniform pair that differs by e on an even number of tokens, up and down in turn."""
    return _tilted(weights(*[1] * size), range(size - size % 2), e)


def concentrated() -> list[Evidence]:
    """What rows that share a token reach, and pairs in the other order than those of Fig. 6."""
    reached = weights(9, 1, 0), weights(9, 0, 1)
    spread = weights(*[1] * 50, *[0] * 50), weights(*[0] * 50, *[1] * 50)
    size, e = 100, Fraction(1, 1000)
    flat = _tilted(weights(*[1] * size), range(2), e)
    peaked = _tilted((Fraction(9, 10), *[Fraction(1, 10 * (size - 1))] * (size - 1)), range(1, size - 1), e)
    relative = {v: tv(*_alternating(v, Fraction(1, 2 * v))) for v in (2, 10, 100, 1000)}
    require(set(relative.values()) == {Fraction(1, 4)}, "TV depends on V where differences are in proportion to 1/V")
    largest = [max(abs(x - y) for x, y in zip(*pair, strict=True)) for pair in (flat, peaked)]
    require(largest == [e, e] and min(map(min, (*flat, *peaked))) >= 0, "the two pairs do not differ by e")
    require(tv(*flat) < tv(*peaked), "the near-uniform pair has the larger TV")
    require(tv(*reached) == Fraction(1, 10) and tv(*spread) == 1, "TV is not what it is by hand")
    return [
        example(
            f"p = (9/10, 1/10, 0), q = (9/10, 0, 1/10): TV {fmt(tv(*reached))}; p uniform over one half of 100 tokens, "
            f"q over the other: no probability above 1/50, TV {fmt(tv(*spread))}",
            numbers(
                p=reached[0], q=reached[1], tv=tv(*reached), tokens=100, largest=max(spread[0]), tv_spread=tv(*spread)
            ),
        ),
        example(
            f"100 tokens, largest difference 1/1000: a near-uniform pair that differs on two tokens has TV "
            f"{fmt(tv(*flat))}, a pair with 9/10 on one token that differs on 98 others {fmt(tv(*peaked))}",
            numbers(tokens=size, e=e, top=Fraction(9, 10), tv_flat=tv(*flat), tv_peaked=tv(*peaked)),
        ),
        example(
            f"near-uniform pairs that differ by 1/(2V) on every token: TV {fmt(relative[2])} for V = "
            + ", ".join(map(str, relative)),
            numbers(tokens=list(relative), tv_relative=list(relative.values())),
        ),
    ]


def _tilted(row: Pmf, tokens: range, e: Fraction) -> tuple[Pmf, Pmf]:
    """``row`` with e/2 added to every second of ``tokens`` and taken from the others, and the other way round."""
    p, q = list(row), list(row)
    for k, x in enumerate(tokens):
        p[x] += (-1) ** k * e / 2
        q[x] -= (-1) ** k * e / 2
    return tuple(p), tuple(q)
