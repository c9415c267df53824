"""Claims of "Grouped Speculative Decoding for Autoregressive Image Generation" (GSD) about acceptance and speed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from random import Random
from typing import Any

from simlab import mutants
from simlab.decoders import Decoder, SpeculativeDecoder
from simlab.processes import TableProcess
from simlab.rules import Amplify, Grouped, Rule, Speculative, make_rule
from theory.acceptance import alpha
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.evidence import (
    control,
    counterexample,
    described,
    enumeration,
    example,
    holds_if,
    identity,
    refuted_if,
    rejects_mutants,
    require,
)
from theory.claims.format import fmt, fmt_row, numbers
from theory.claims.proven import over_more_tokens, proven
from theory.claims.sources import said
from theory.exact import acceptance, block_law, mean, sequence_law
from theory.example_processes import random_row
from theory.search import Pmf

CLAIMS = Claims("gsd")

PAIR = (Fraction(1, 3),) * 3, (Fraction(1, 4), Fraction(1, 2), Fraction(1, 4))  # the example with groups 0, 0, 1
LABELS = (0, 0, 1)


def weights(*parts: int) -> Pmf:
    """The pmf with these weights."""
    return tuple(Fraction(part, sum(parts)) for part in parts)


# Theorem 1 -----------------------------------------------------------------------------------------------------

THEOREM = (
    "Theorem 1",
    "for any choice of (p, q, C), the acceptance rate of GSD is bounded below by the acceptance rate of standard SD, "
    "meaning that α_GSD ≥ α_SD",
)


@CLAIMS.claim(
    "gsd.theorem-1",
    said(*THEOREM, "formalised", "The disjoint clusters are a partition that is fixed before the draft is drawn."),
    r"For every $p$, $q$ and every partition fixed before the draft is drawn, with group masses $p'$ and $q'$, "
    r"$\alpha_{GSD} = 1 - \mathrm{TV}(p', q') \ge 1 - \mathrm{TV}(p, q) = \alpha_{SD}$, with equality exactly if no "
    r"group holds both a token with $p > q$ and a token with $p < q$.",
)
def theorem_1(seed: int) -> Finding:
    r"""Summing $q(x) \min(1, p'(C)/q'(C))$ over the tokens of a group $C$ gives $\min(p'(C), q'(C))$, so
    $\alpha_{GSD} = \sum_C \min(p', q') = 1 - \mathrm{TV}(p', q')$. Within a group
    $|p' - q'| \le \sum_{x \in C} |p(x) - q(x)|$, and so $\mathrm{TV}(p', q') \le \mathrm{TV}(p, q)$. The groups must
    be a partition that does not depend on the drafted token: only then do the sums close.

    The theorem does not say when the inequality is strict; its proof sketch begins with >. The two are equal exactly if
    $|\sum_{x \in C} (p - q)(x)| = \sum_{x \in C} |p - q|(x)$ in every group $C$, and a sum of numbers is as large as
    the sum of their sizes exactly if no two of them have opposite signs.
    """
    accepted = acceptance(Grouped(LABELS), *PAIR)
    gained = [acceptance(Grouped(labels), *PAIR) - alpha(*PAIR) for labels in ((0, 1, 0), LABELS)]
    return holds_if(
        proven("gsd.theorem-1") and gained[0] == 0 < gained[1],
        over_more_tokens("gsd.theorem-1", seed),
        example(
            f"p = (1/3, 1/3, 1/3), q = (1/4, 1/2, 1/4), groups of tokens 0, 1 and of token 2: acceptance "
            f"{fmt(accepted)} against {fmt(alpha(*PAIR))}",
            described("grouped", {"labels": LABELS}, *PAIR),
        ),
        example(
            "tokens 0 and 2 have p > q, and grouping them gains nothing; grouping 0 with 1, where p < q, gains 1/12"
        ),
    )


@CLAIMS.claim(
    "gsd.expected-ratio.capped",
    said(
        "4, Fig. 7",
        "most tokens have greater acceptance probability in cluster level and mean difference is actually positive "
        "value, validating our theoretical result",
        "formalised",
        "The ratios are capped at 1, as acceptance probabilities are, of which the text speaks; the figure prints them "
        "without min(1, .). What was measured on images is not judged.",
    ),
    r"For every $p$, $q$ and every partition fixed before the draft is drawn, $\mathbb{E}_q[\min(1, "
    r"p'(C(x))/q'(C(x))) - \min(1, p(x)/q(x))] = \mathrm{TV}(p, q) - \mathrm{TV}(p', q') \ge 0$, with equality "
    r"exactly if no group holds both a token with $p > q$ and a token with $p < q$.",
)
def capped(seed: int) -> Finding:
    r"""The mean is $\alpha_{GSD} - \alpha_{SD}$, which is $\mathrm{TV}(p, q) - \mathrm{TV}(p', q') \ge 0$ by Theorem 1.
    Equality is that of gsd.theorem-1. For single tokens the difference can be negative: a token with $p \ge q$ in a
    group with $p' < q'$ has ratio 1 of its own and less in its group.

    Not for every such partition is the mean difference of the ratios themselves positive, which the figure prints: over
    a partition, and $q$ of full support, it is 0 (gsd.unbiased). So a positive mean does not follow from Theorem
    1, nor does it support it. Where $q$ has no full support, as under top-k sampling, the mean is the mass that $p$ has
    on tokens with $q = 0$ in groups with $q' > 0$; where groups overlap, as those of Algorithm 3 do, it can have either
    sign.
    """
    each = [Grouped(LABELS).accept(*PAIR, x) - Speculative().accept(*PAIR, x) for x in range(3)]
    mean_gain = sum(m * gap for m, gap in zip(PAIR[1], each, strict=True))
    rows, labels = (weights(1, 0), weights(1, 1)), (0, 0)
    difference = mean_ratio(*rows, labels) - 1
    accepted = acceptance(Grouped(labels), *rows)
    require(accepted > alpha(*rows) and difference <= 0, "the mean difference of the ratios is positive")
    return holds_if(
        proven("gsd.expected-ratio.capped") and min(each) < 0 < mean_gain,
        over_more_tokens("gsd.expected-ratio.capped", seed),
        example(
            f"p = (1/3, 1/3, 1/3), q = (1/4, 1/2, 1/4), groups of tokens 0, 1 and of token 2: the differences are "
            f"{', '.join(map(fmt, each))}, their mean {fmt(mean_gain)}",
            numbers(p=PAIR[0], q=PAIR[1], labels=list(LABELS), differences=each, mean=mean_gain),
        ),
        example(
            "not for every partition without the cap: p = (1, 0), q = (1/2, 1/2), one group: acceptance rises from "
            f"{fmt(alpha(*rows))} to {fmt(accepted)}, and the mean difference of the ratios is {fmt(difference)}",
            numbers(
                p=rows[0],
                q=rows[1],
                labels=list(labels),
                mean_difference=difference,
                acceptance=accepted,
                acceptance_speculative=alpha(*rows),
            ),
        ),
    )


def group_masses(row: Sequence[Fraction], labels: tuple[int, ...]) -> list[Fraction]:
    """The mass of each group, by their labels 0, 1, ..."""
    return [sum((m for m, g in zip(row, labels, strict=True) if g == k), Fraction(0)) for k in range(max(labels) + 1)]


def mean_ratio(p: Pmf, q: Pmf, labels: tuple[int, ...]) -> Fraction:
    """The mean over drafts of p'/q'; q has full support."""
    target, draft = group_masses(p, labels), group_masses(q, labels)
    return sum((mass * target[k] / draft[k] for mass, k in zip(q, labels, strict=True)), Fraction(0))


# Speed ---------------------------------------------------------------------------------------------------------


def by_position(rows: Sequence[Pmf]) -> TableProcess:
    """A process whose rows depend on the position alone."""
    return TableProcess(len(rows[0]), len(rows), lambda prefix: rows[len(prefix)])


@CLAIMS.claim(
    "gsd.speed",
    said(
        "4.1",
        "The key takeaway from Theorem 1 is that GSD improves or at least preserves decoding speed regardless of how "
        "clusters are formed.",
        "formalised",
        "Speed is read as what Theorem 1, “Lower Bound on GSD Accept Rate”, bounds: acceptance at equal rows, and what "
        "follows from it for the calls of a sequence; clusters as a partition, of which Theorem 1 speaks. With the "
        "windows of Algorithm 3, which are none, acceptance can fall at equal rows (gsd.dynamic). Calls of whole "
        "sequences for every target and draft are a stronger reading, which is false: other tokens come out, and other "
        "rows after them.",
    ),
    r"For every $p$, $q$ and every partition fixed before the draft is drawn, the grouped rule accepts a draft at "
    r"least as often as the lossless rule; and where the rows of each position do not depend on the tokens before it, "
    r"a sequence takes on average no more calls of the target with it.",
)
def speed(seed: int) -> Finding:
    r"""The first is Theorem 1 (gsd.theorem-1). For the second let each position have a mark, accepted or not, with the
    probability that its rows give: no position is verified twice, so that a sequence looks at each mark once at most. A
    block that starts at $i$ ends behind the first position from $i$ on that is marked rejected, or behind $\gamma$
    accepted ones, and the bonus token if there is one. That end is no earlier for a larger $i$, nor where a mark turns
    from rejected to accepted. So with more marks accepted, which the two rules' marks can be coupled to be, each block
    ends no earlier, and there are no more of them.

    Where rows depend on tokens it need not be so. If the tokens that the grouped rule prefers lead to contexts where
    draft and target disagree across groups, every later position is rejected, and decoding takes more calls than with
    the lossless rule. It is so within one block already: both rules may accept equally many first drafts, but not the
    same ones, and the second draft can be good after those of the one and bad after those of the other.
    """
    length, gamma = 5, 2
    # the draft says 1 where the target says 0; after a 1 they disagree across groups for good
    p = TableProcess(3, length, lambda prefix: [1, 0, 0])
    q = TableProcess(3, length, lambda prefix: [0, 1, 0] if not prefix else [1, 0, 0] if prefix[0] == 0 else [0, 0, 1])

    def steps(decoder: Decoder, rule: Rule, p: TableProcess = p, q: TableProcess = q) -> Any:
        return mean(sequence_law(decoder, p, rule, q)[1])

    half = Fraction(1, 2)
    block_p = TableProcess(3, 3, lambda prefix: [half, 0, half] if not prefix else [1, 0, 0])
    block_q = TableProcess(
        3, 3, lambda prefix: [half, half, 0] if not prefix else [0, 0, 1] if prefix[0] == 1 else [1, 0, 0]
    )

    def tokens(rule: Rule) -> Any:
        return sum(len(each) * mass for each, mass in block_law(decoders[0], block_p, rule, block_q).items())

    decoders = SpeculativeDecoder(gamma), mutants.BonusOmitted(gamma)
    lossless, grouped = ([steps(decoder, rule) for decoder in decoders] for rule in (Speculative(), Grouped(LABELS)))
    require(min(grouped) > max(lossless), "the example takes no more calls")
    require(tokens(Grouped(LABELS)) < tokens(Speculative()), "the block yields as many tokens")

    random = Random(seed)
    tables = [[[random_row(random, 3) for _ in range(3)] for _ in range(2)] for _ in range(3)]
    apart = [tuple(map(by_position, both)) for both in tables]
    least = [[steps(decoder, Speculative(), *pair) for pair in apart] for decoder in decoders]

    def more(rule: Rule) -> Any:
        """The most calls that a rule takes more than the lossless one, or drafts that it accepts less."""
        found = [
            steps(decoder, rule, *pair) - few
            for decoder, of in zip(decoders, least, strict=True)
            for pair, few in zip(apart, of, strict=True)
        ]
        rows = [pair for both in tables for pair in zip(*both, strict=True)]
        return max(0, *found, *(lost(rule, *pair) for pair in rows))

    partitions = [(0, 1, 2), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 0, 0)]
    return holds_if(
        not any(more(Grouped(labels)) for labels in partitions),
        enumeration(
            f"{len(apart)} random pairs of processes of three tokens whose rows depend on the position alone, all "
            f"{len(partitions)} partitions of three tokens, with a bonus token and without"
        ),
        example(
            "not for whole sequences of every target and draft: five tokens, two drafts a block, tokens 0, 1 in one "
            f"group: the lossless rule takes {fmt(lossless[1])} calls, GSD {fmt(grouped[1])}, as printed or with a "
            "bonus token after a block that is accepted whole. The first draft, 1 for 0, is accepted for its group, "
            "and after it every draft is rejected",
            numbers(
                "grouped",
                {"labels": LABELS},
                gamma=gamma,
                length=length,
                p={"any prefix": [1, 0, 0]},
                q={"": [0, 1, 0], "0 ...": [1, 0, 0], "1 ...": [0, 0, 1]},
                steps=grouped[1],
                steps_speculative=lossless[1],
                steps_with_bonus=grouped[0],
                steps_speculative_with_bonus=lossless[0],
            ),
        ),
        example(
            f"nor for one block of two drafts from one context, the same groups: both rules accept half of the first "
            f"drafts, the lossless one 0 alone, GSD 0 and 1 alike; after a 1 the second draft is rejected. The "
            f"lossless rule yields {fmt(tokens(Speculative()))} tokens in the mean, GSD "
            f"{fmt(tokens(Grouped(LABELS)))}",
            numbers(
                "grouped",
                {"labels": LABELS},
                gamma=gamma,
                p={"": [half, 0, half], "0": [1, 0, 0], "1": [1, 0, 0]},
                q={"": [half, half, 0], "0": [1, 0, 0], "1": [0, 0, 1]},
                tokens=tokens(Grouped(LABELS)),
                tokens_speculative=tokens(Speculative()),
            ),
        ),
        rejects_mutants({"amplify with k = 1/2": Amplify(half)}, more, "acceptance and calls"),
    )


# What a lossless rule accepts -----------------------------------------------------------------------------------


@CLAIMS.claim(
    "gsd.single-token",
    said(
        "abstract",
        "However, traditional SD methods are designed to accept only a single most-likely token, which fails to "
        "leverage this difference, leading to excessive false-negative rejections.",
        "weaker",
        "What is judged is what a draft is tested by: its own two probabilities, without those of tokens that are "
        "alike, which clusters count. The sentence to the letter, that no draft but a likeliest token is accepted, is "
        "true at temperature 0 and false at temperature 1, at which the paper measures (example). Whether rejections "
        "are excessive is not judged.",
    ),
    r"For every $p$, $q$ and draft $x$ speculative sampling accepts $x$ with a probability that $p(x)$ and $q(x)$ "
    "alone decide, whatever other tokens have.",
)
def single_token(seed: int) -> Finding:
    r"""It is $\min(1, p(x)/q(x))$, in which no other token occurs; GSD's ratio has the masses of all that are in the
    group of $x$.

    It is 0 only where $p(x) = 0$, so that not the likeliest token alone is accepted. Of $p = (2, 1)/3$ and $q = (1,
    2)/3$ token 1 is accepted with 1/2: as often as it may come out. In rows in which many tokens are equally likely all
    of them are accepted, where the draft has that row as well.
    """
    random = Random(seed)
    pairs = [(random_row(random, 3), random_row(random, 3)) for _ in range(20)]

    def depends(rule: Rule) -> Any:
        """The most by which the acceptance of token 0 changes where tokens 1 and 2 change places."""
        other = [rule.accept(p[:1] + p[:0:-1], q[:1] + q[:0:-1], 0)[()] for p, q in pairs]
        return max(abs(rule.accept(*pair, 0)[()] - found) for pair, found in zip(pairs, other, strict=True))

    p, q = (Fraction(2, 3), Fraction(1, 3)), (Fraction(1, 3), Fraction(2, 3))
    other = Speculative().accept(p, q, 1)[()]
    at_zero = (Fraction(1), Fraction(0))
    require(Speculative().accept(at_zero, q, 1)[()] == 0, "at temperature 0 another token is accepted")
    require(other > 0, "no token but the likeliest is accepted")
    return holds_if(
        depends(Speculative()) == 0,
        identity(f"{len(pairs)} random pairs over three tokens: acceptance of one is as it was where others change"),
        example(
            f"not the likeliest alone: p = {fmt_row(p)}, q = {fmt_row(q)}: token 1, the less likely one, is accepted "
            f"with probability {fmt(other)}, and {fmt(q[1] * other)} of all drafts are accepted as token 1, as many as "
            "token 0; at temperature 0, p = (1, 0), it is rejected",
            numbers("speculative", p=p, q=q, x=1, accepted=other, share=q[1] * other, share_likeliest=q[0]),
        ),
        rejects_mutants({"groups of tokens 0, 1 and of token 2": Grouped(LABELS)}, depends, "what others have"),
    )


# Algorithm 3 ---------------------------------------------------------------------------------------------------

DYNAMIC = (
    "4.1",
    "even if the clustering function dynamically changes at each decoding step t, GSD still guarantees a higher "
    "acceptance rate than standard SD",
)

CLAIMS.summary(
    "gsd.dynamic",
    said(
        *DYNAMIC,
        "formalised",
        "“Higher” is read as at least as high. The sentence closes the description of Algorithm 3 and is judged for "
        "its groups; for partitions that change from step to step it is true (gsd.dynamic.partition).",
    ),
    r"For every $p$ and $q$, $\alpha_{GSD} \ge \alpha_{SD}$ with the groups of Algorithm 3: the tokens nearest in rank "
    r"by $p$ to the drafted token, filtered by $d$ and $\delta$.",
    [
        "gsd.dynamic.centred",
        "gsd.dynamic.partition",
        "gsd.dynamic.scale",
    ],
)

MAX_GAP, MAX_DISTANCE = 0.15, 0.5  # delta and d of the paper
OVERLAPPING = weights(0, 1, 2, 4), weights(1, 3, 2, 0)  # where windows lose; no fewer tokens do


def window_rule(window: str, size: int, vocabulary: int) -> tuple[Rule, dict[str, Any]]:
    """Algorithm 3 with the paper's filters over tokens on a line 1/4 apart, and its parameters."""
    parameters = {
        "size": size,
        "max_gap": MAX_GAP,
        "max_distance": MAX_DISTANCE,
        "distances": [[abs(x - y) / 4 for y in range(vocabulary)] for x in range(vocabulary)],
        "window": window,
    }
    return make_rule("dynamic-grouped", **parameters), parameters


def lost(rule: Rule, p: Pmf, q: Pmf) -> Any:
    """What ``rule`` accepts less than the lossless rule."""
    return alpha(p, q) - acceptance(rule, p, q)


@CLAIMS.claim(
    "gsd.dynamic.centred",
    said(
        *DYNAMIC,
        "formalised",
        "The groups are read from the text: the tokens nearest in rank, on both sides, with the thresholds of section "
        "5. Read from Algorithm 3 they are its half-open slice, “C_idxs ← p_sort_idx[idx − G//2 : idx + G//2]”, cut "
        "at the ends of the list. The paper does not say how the slice meets the ends: that it is taken as Python "
        "takes it, which counts from the end where it starts before the list, is stronger, and false as well: "
        "the example.",
    ),
    r"For every $p$ and $q$, $\alpha_{GSD} \ge \alpha_{SD}$ when the group of the token of rank $r$ is the ranks "
    r"$r - \lfloor G/2 \rfloor$ to $r + \lfloor G/2 \rfloor$ of the list sorted by $p$, or to $r + \lfloor G/2 "
    r"\rfloor - 1$, less the tokens whose probability differs by more than $\delta = 0.15$ or whose embedding is "
    r"farther than $d = 0.5$.",
)
def centred(seed: int) -> Finding:
    r"""Around every drafted token there is another group, so the groups overlap and the sums of Theorem 1 do not close:
    where $q$ exceeds $p$ on a token, this is charged to its neighbours as well. Here all ranks differ in probability,
    and no window is cut but at the ends of the list and by $\delta$: $p = (0, 1, 2, 4)/7$ and $q = (1, 3, 2, 0)/6$.
    Ranks 0 to 2 see the ratios $(1/7)/(4/6)$, $(3/7)/1$ and, without rank 3 since $2/7 > \delta$, $(3/7)/(5/6)$:
    acceptance is $1/6 \cdot 3/14 + 1/2 \cdot 3/7 + 1/3 \cdot 18/35 = 59/140$, and the lossless rule's is
    $1/7 + 2/7 = 3/7$.

    Half-open with $G = 3$, a group is the drafted token and the one below it. Let $p = (1, 2, 4)/7$ and $q = (1/2, 1/2,
    0)$. Token 0 is alone, with ratio $(1/7)/(1/2)$; token 1 shares its group with it and has $(3/7)/1$. Acceptance is
    $1/7 + 1/2 \cdot 3/7 = 5/14$; the lossless rule's is $1/7 + 2/7 = 3/7$.

    As Python takes the slice, nor does it hold the token at place $i$ for every $V$, $G$ and $i$. For $i < \lfloor G/2
    \rfloor$ the start is negative; it then counts from the end, and the slice is empty or holds other tokens unless
    $\lfloor G/2 \rfloor$ reaches round the whole list. $G = 1$ is empty everywhere. Read so, the $\lfloor G/2 \rfloor$
    least likely tokens are rejected even where $p = q$, in a vocabulary of at least $2 \lfloor G/2 \rfloor$ tokens;
    pseudo-code need not be meant so, and the published code falls back to $p/q$ where the slice is empty.
    """
    cases = {"centred": OVERLAPPING, "clamped": (weights(1, 2, 4), weights(1, 1, 0))}
    rules = {window: window_rule(window, 3, len(p)) for window, (p, _) in cases.items()}
    for p, q in cases.values():
        runs = tuple(x // 3 for x in range(len(p)))  # ranks are numbered as tokens
        require(lost(Grouped(runs), p, q) <= 0, "runs of ranks, which are a partition, accept less too")
    return refuted_if(
        all(lost(rules[window][0], *pair) > 0 for window, pair in cases.items()),
        *(
            counterexample(
                f"p = {fmt_row(p)}, q = {fmt_row(q)}, {name}, G = 3, delta = 0.15, d = 0.5, tokens on a line 1/4 "
                f"apart: acceptance {fmt(acceptance(rule, p, q))} = {float(acceptance(rule, p, q)):.4f} against "
                f"{fmt(alpha(p, q))} = {float(alpha(p, q)):.4f} for the lossless rule",
                described("dynamic-grouped", parameters, p, q),
            )
            for name, (p, q), (rule, parameters) in zip(
                ("windows on both sides", "half-open windows"), cases.values(), rules.values(), strict=True
            )
        ),
        as_python(),
        control("runs of three ranks, a partition, lose nothing on the same pairs"),
        control("a window that is cut at the ends of the list and holds its upper end never lacks its own token"),
    )


def as_python() -> Evidence:
    """Algorithm 3's slice as Python takes it: a token that is not in its own group, and how many there are.

    Raises
    ------
    CheckFailed
        If there is none, if the count finds one in a window that holds its token, or if the rule has another slice.
    """
    most = 12

    def missing(held: Callable[[int, int, int], list[int]]) -> int:
        """Over V, G up to 12, the places that are not in their own group."""
        cases = ((v, g, i) for v in range(2, most + 1) for g in range(1, most + 1) for i in range(v))
        return sum(i not in held(v, g, i) for v, g, i in cases)

    found = missing(lambda v, g, i: list(range(v))[i - g // 2 : i + g // 2])
    clipped = missing(lambda v, g, i: list(range(v))[max(0, i - g // 2) : i + g // 2 + 1])
    require(found > clipped == 0, "the slice holds its token, or the check misses it in a window that does")
    p = weights(1, 2)
    parameters = {"size": 3, "max_gap": None, "max_distance": None, "distances": None, "window": "printed"}
    read = make_rule("dynamic-grouped", **parameters), window_rule("printed", 3, 2)[0]
    kept = {acceptance(rule, p, p) for rule in read}
    require(kept == {p[1]}, "the rule has another slice, or the filters of section 5 change what it accepts")
    total = sum(most * v for v in range(2, most + 1))
    return example(
        f"as Python takes the slice, with two tokens and G = 3 the less likely one has place 0 and the slice [-1 : 1] "
        f"is empty, so a draft with p = q is rejected, acceptance {fmt(p[1])} for 1 of the lossless rule; over V, G up "
        f"to {most} the token is missing from its own group in {found} of {total} cases, {found / total:.0%}",
        described("dynamic-grouped", parameters, p, p, x=0, missing=found, cases=total),
    )


RANKS = "partition: the groups of a step are a partition that is made from $p$ alone, before the draft is looked at"


@CLAIMS.claim(
    "gsd.dynamic.partition",
    said(*DYNAMIC, "formalised", "“Higher” is read as at least as high, and “clustering function” as a partition."),
    r"For every $p$ and $q$, $\alpha_{GSD} \ge \alpha_{SD}$ at every step, with partitions that change from step to "
    r"step.",
    assumptions=[RANKS],
)
def dynamic_partition(seed: int) -> Finding:
    r"""Theorem 1 speaks of one step. Under the assumption partition the groups of a step, for instance consecutive runs
    of $G$ ranks of the list sorted by $p$, are fixed before the draft is verified, and the theorem applies to each step
    as it stands.
    """
    (p, q), labels = OVERLAPPING, (0, 0, 1, 1)
    return holds_if(
        proven("gsd.dynamic.partition"),
        example(
            f"on the pair of gsd.dynamic.centred runs of two ranks accept "
            f"{fmt(acceptance(Grouped(labels), p, q))} against {fmt(alpha(p, q))}",
            described("grouped", {"labels": labels}, p, q),
        ),
    )
