"""What CSpD's acceptance rates at several draft lengths say of the models, whatever these are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from simlab.decoders import SpeculativeDecoder
from simlab.processes import TableProcess
from simlab.rules import Speculative
from theory.acceptance import expected_tokens
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.evidence import (
    control,
    counterexample,
    enumeration,
    example,
    holds_if,
    refuted_if,
    rejects_mutants,
    require,
)
from theory.claims.format import fmt, numbers
from theory.claims.proven import proven
from theory.claims.sources import derived, said
from theory.draft_length import (
    Bounds,
    Column,
    Counts,
    columns,
    counts,
    in_place_rates,
    mean_of_first,
    share_bounds,
    verified_bounds,
)
from theory.exact.block_lengths import Rated, two_regions
from theory.published.ledger import Ledger, published

CLAIMS = Claims("cspd")
MAIN, OTHERS = ("1", "2"), ("4", "5", "7")  # tables that print rates for several draft lengths
POSITIONS = 4  # counted in enumerations

LOSSLESS = "lossless: whatever was decided before it, a committed token follows the target's law given its prefix"
POOLED = "pooled counts: accepted and verified drafts are summed over sequences, and drafts behind the end left out"

# The bounds --------------------------------------------------------------------------------------------------------


Rows = Callable[[tuple[int, ...]], Sequence[Any]]  # the row of tokens 0 and 1 after each prefix


def counted(target: Rows, draft: Rows, gamma: int, positions: int) -> Counts:
    """The counts of a pair of models over their first positions, by following every branch of the decoder."""
    process, drafts = (TableProcess(2, positions + gamma + 1, rows) for rows in (target, draft))
    return counts(SpeculativeDecoder(gamma), gamma, process, drafts, Speculative())


def sharp(gamma: int, accepts: str) -> Counts:
    """Of a target that always says 0, and a draft that says it where ``accepts``, repeated four times, has a 1."""

    def says(prefix: tuple[int, ...]) -> list[int]:
        return [1, 0] if accepts[len(prefix) % len(accepts)] == "1" else [0, 1]

    return counted(lambda prefix: [1, 0], says, gamma, 4 * len(accepts))


LAZY = {"": (2, 2), "0": (3, 1), "1": (1, 3)}  # quarters of tokens 0 and 1 after the last one: the target
GUESS = {"": (1, 3), "0": (2, 2), "1": (4, 0)}  # ... and the draft


def chained(rows: dict[str, tuple[int, int]]) -> Rows:
    """Rows by the last token."""
    return lambda prefix: [Fraction(x, 4) for x in rows["".join(map(str, prefix[-1:]))]]


@CLAIMS.claim(
    "cspd.draft-length.bounds",
    derived(
        "Tables 1 and 2, Figure 8",
        "It takes nothing of CSpD; the bounds are sharp for every rational rate. Section 4.3 explains falling rates by "
        "“greater deviations from the target model’s distribution” of longer drafts. Where decoding is lossless and "
        "blocks are cut there are none: a draft is verified behind accepted ones alone. Where drafts are verified "
        "without each other, as by the published code, there can be (cspd.draft-length.in-place).",
    ),
    r"Let $\bar a$ be the probability that a draft is accepted, averaged over the positions of a sequence of the "
    r"target. It does not depend on the draft length $\gamma$, and if $\alpha$ is the share of verified drafts that "
    r"are accepted at $\gamma$, then $\alpha / (1 + \alpha / \gamma) \le \bar a \le "
    r"(\alpha + \alpha / \gamma) / (1 + \alpha / \gamma)$.",
    assumptions=[
        LOSSLESS,
        "own prefix: a draft is accepted with a probability that depends on what was decided before it through its "
        "prefix alone",
        "truncation: a block ends with its first rejected draft, or with a token of the target's own, which is not "
        r"verified, behind $\gamma$ accepted drafts",
        POOLED,
    ],
)
def bounds_of_the_mean(seed: int) -> Finding:
    r"""Let $a(x_{<n})$ be the probability that a draft at position $n$ behind the prefix $x_{<n}$ is accepted, and $X$
    a sequence of the target, of $N$ tokens: $N \bar a = \sum_n \mathbb{E}[a(X_{<n})]$. As decoding is lossless, the
    committed sequence is such an $X$ at every $\gamma$, so that $\bar a$ is a number of the two models alone.

    By truncation every position of the sequence holds a verified draft, accepted or replaced, or a token of the
    target's own. Let $v_n$ be 1 in the first case and 0 in the second, $V = \mathbb{E} \sum_n v_n$ and $B = N - V$ the
    mean numbers of both. As a draft is judged by its own prefix, a verified one at $n$ is accepted with probability
    $a(X_{<n})$ whatever made $v_n = 1$, so that $K = \mathbb{E} \sum_n v_n a(X_{<n})$ drafts are accepted in the mean,
    and with pooled counts $\alpha = K / V$. Therefore $N \bar a = K + \mathbb{E} \sum_n (1 - v_n) a(X_{<n})$, where the
    second term is between 0 and $B$: $K / (V + B) \le \bar a \le (K + B) / (V + B)$.

    By truncation again, $\gamma$ accepted drafts of its own stand before each token of the target's: $\gamma B \le K =
    \alpha V$. The lower bound falls with $B$ and the upper one rises, as $K \le V$; at $B = \alpha V / \gamma$ they are
    the two that are stated.

    They are sharp. Let $\gamma$ positions where drafts are always accepted be followed by one where they never are
    (lower) or always are (upper), and put in between, as often as $\alpha$ demands, positions where they never are. A
    block always begins where such a stretch does.
    """
    low, high = sharp(2, "110"), sharp(2, "1110")
    attained = [(found.rate, found.mean, *verified_bounds(found.rate, 2)) for found in (low, high)]
    require(attained[0][1] == attained[0][2] and attained[1][1] == attained[1][3], "the bounds are not attained")
    chain = {gamma: counted(chained(LAZY), chained(GUESS), gamma, POSITIONS) for gamma in (1, 2, 3)}
    within = [low <= one.mean <= high for g, one in chain.items() for low, high in [verified_bounds(one.rate, g)]]
    require(len({found.mean for found in chain.values()}) == 1, "the mean depends on gamma")
    return holds_if(
        proven("cspd.draft-length.bounds") and all(within),
        example(
            "two tokens; quarters after the last one: target 3, 1 after 0 and 1, 3 after 1, draft 2, 2 and 4, 0, at "
            f"first 2, 2 and 1, 3; over {POSITIONS} positions the mean is {fmt(chain[1].mean)} at every gamma, the "
            "rates of verified drafts are "
            + ", ".join(f"{fmt(found.rate)} at {gamma}" for gamma, found in chain.items()),
            numbers(
                target=LAZY,
                draft=GUESS,
                positions=POSITIONS,
                mean=chain[1].mean,
                rates={gamma: found.rate for gamma, found in chain.items()},
            ),
        ),
        *(
            example(
                f"gamma = 2, drafts always (1) or never (0) accepted by position, {accepts} repeated: rate "
                f"{fmt(rate)}, mean {fmt(mean)}, bounds {fmt(least)} and {fmt(most)}: the {which} is attained",
                numbers(pattern=accepts, gamma=2, rate=rate, mean=mean, bounds=[least, most]),
            )
            for accepts, which, (rate, mean, least, most) in zip(
                ("110", "1110"), ("lower", "upper"), attained, strict=True
            )
        ),
    )


# Printed rates -----------------------------------------------------------------------------------------------------


READINGS: dict[str, tuple[Bounds, Fraction]] = {  # of a rate, each with a mean whose rates are allowed
    "verified drafts": (verified_bounds, Fraction(1, 4)),
    "all drafts": (share_bounds, Fraction(1, 2)),
}


def judged(of: str, bounds: Bounds, even: Fraction) -> tuple[bool, list[Evidence]]:
    """Whether some column of Tables 1 and 2 is not allowed, and all columns."""
    ledger = published()
    main, others = columns(ledger, *MAIN), columns(ledger, *OTHERS)
    apart = [column for column in main if column.apart(bounds) > 0]

    def kept(table: Ledger) -> int:
        """How many columns have rates that some mean acceptance allows together."""
        return sum(column.apart(bounds) == 0 for column in columns(table, *MAIN))

    constant = ledger.altered(
        {
            row.line: even if bounds is verified_bounds else (even / (1 - even)) / gamma
            for column in main
            for row, gamma in zip(column.rows, column.gammas, strict=True)
        }
    )
    return bool(apart), [
        *(counterexample(*_column(column, of, bounds)) for column in apart),
        *(example(*_column(column, of, bounds)) for column in (*(c for c in main if c not in apart), *others)),
        rejects_mutants({f"the rates of a mean of {fmt(even)} in all columns": constant}, kept, "what is allowed"),
    ]


def _column(column: Column, of: str, bounds: Bounds) -> tuple[str, dict[str, Any]]:
    """One column: what each rate says of the mean, and how far two of them are apart."""
    means = {gamma: [each.low, each.high] for gamma, each in zip(column.gammas, column.means(bounds), strict=True)}
    off = column.least_off(bounds)
    told = (
        f"no mean is in all: some rate would have to be off by {off:.3f} beyond rounding" if off else "a mean is in all"
    )
    summary = f"{column.name}, of {of}: " + "; ".join(
        f"{row.printed} at gamma {gamma} asks for a mean of {float(low):.3f} to {float(high):.3f}"
        for row, (gamma, (low, high)) in zip(column.rows, means.items(), strict=True)
    )
    found = numbers(
        column=column.name,
        of=of,
        printed={g: row.printed for g, row in zip(means, column.rows, strict=True)},
        means=means,
        off=off,
    )
    found.pop("exact")
    return f"{summary}: {told}", found


@CLAIMS.claim(
    "cspd.draft-length",
    said(
        "Tables 1 and 2",
        "Results of speedup ratio and acceptance rate α on MAR and xAR under different draft lengths and batch sizes.",
        "ours",
        "The paper reports rates that it measured, and that is not in doubt. Here they are held against its other "
        "sentences, that the output distribution is maintained and that a block ends at its first rejection, with the "
        "rate read as in eq. 51, of the drafts that are verified, and read of all drafts, those behind a rejection "
        "included. The paper prints no error of a rate.",
    ),
    r"For each model and resolution of Tables 1 and 2 there is one pair of a target and a draft for which lossless "
    r"decoding, in blocks of $\gamma$ drafts that are cut at the first rejection, accepts drafts at the rates printed "
    r"for $\gamma = 4, 8, 16, 32$, to rounding: of the drafts that it verifies, or of all in long sequences.",
)
def printed(seed: int) -> Finding:
    r"""By `cspd.draft-length.bounds` a rate $\alpha$ of verified drafts at $\gamma$ allows only means from
    $\alpha / (1 + \alpha / \gamma)$ to $(\alpha + \alpha / \gamma) / (1 + \alpha / \gamma)$, for the same mean
    $\bar a$ at every $\gamma$. Both bounds rise with $\alpha$, so that a printed rate, with half a unit of its last
    digit to either side, allows an interval. Longer drafts can change the rate by the positions at which a token of the
    target's own falls, a share of at most $\alpha / (\gamma + \alpha)$, and by no more. Where two intervals of a
    column do not meet, no pair has both rates.

    Positions that are pre-filled are left out of all counts. Where no token of the target's own follows $\gamma$
    accepted drafts, as Algorithm 1 leaves open, $B = 0$, and every rate is $\bar a$ itself. With a rule that does not
    keep the law, prefixes can differ from one $\gamma$ to another, and then nothing of this follows.

    Rates that are averaged image by image are bounded too, if less closely: for each image $K + B \le N$ parts as
    above, and the mean of $\alpha / (1 + \alpha / \gamma)$ is at least $\gamma / (\gamma + 1)$ times that of
    $\alpha$, the mean of the upper bound, which is concave, at most its value at the mean. With these at $\gamma = 4$
    and 32 all four columns of Tables 1 and 2 are apart as well.

    Averaged over blocks instead, each with the share of its verified drafts that are accepted, $n / (n + 1)$ where $n$
    are and the next one is not, rates at $\gamma = 4$ and 32 are possible in every column: an image whose drafts are
    all accepted has ever fewer blocks among the others, the longer they are (example).

    Read of all drafts, let $s$ be the share that is accepted. In long sequences, without the last block, a block
    commits $1 + \gamma s$ tokens in the mean, so that there are $C = N / (1 + \gamma s)$ blocks: $R$ that end with a
    rejection and $B$ that end with a token of the target's own. There is one mean $\bar a$ for all $\gamma$ as before,
    and $R = \mathbb{E} \sum_n v_n (1 - a(X_{<n}))$ is at most $N (1 - \bar a)$ and at least that less $B$. So $N (1 -
    \bar a) \le R + B = C$, which is $\bar a \ge \gamma s / (1 + \gamma s)$. And $N \ge (\gamma + 1) B + R$ gives $C \le
    (N + \gamma R) / (\gamma + 1) \le (N + \gamma N (1 - \bar a)) / (\gamma + 1)$, which is $\bar a \le (\gamma + 1) s /
    (1 + \gamma s)$. Shares fall faster with $\gamma$ than rates of verified drafts: a share of 0.19 at $\gamma = 32$
    means 7 tokens a block, and so few rejections that at $\gamma = 4$ more than half of all drafts are accepted. With
    $N$ tokens the end moves these bounds by at most $(\gamma + 1) / (\gamma N)$.
    """
    for column in columns(published(), *MAIN):
        first, last = (column.rows[k].interval for k in (0, -1))
        least = first.low * Fraction(4, 5)
        require(least > verified_bounds(last.high, 32)[1], f"{column.name} is not apart image by image")
    worst = outside(lambda blocks, gamma: (blocks.tokens - 1) / gamma)
    require(worst == 0, f"shares in the long run are outside the bounds by {worst}")
    apart, evidence = zip(*(judged(of, bounds, even) for of, (bounds, even) in READINGS.items()), strict=True)
    return refuted_if(
        all(apart),
        *(piece for reading in evidence for piece in reading),
        by_block(),
        LONG_RUN,
        rejects_mutants({"rates of verified drafts": lambda blocks, _: blocks.verified_rate}, outside, "shares"),
    )


ALL = Fraction(1)  # accepted always
KINDS = {  # of images, in long sequences: how often drafts are accepted, and their share of the images
    "Table 1, MAR-H, resolution 256": [("0.2986", "0.6020"), (ALL, "0.3980")],
    "Table 1, xAR-H, resolution 256": [("0.3327", "0.5305"), (ALL, "0.4695")],
    "Table 2, Harmon-1.5B, resolution 256": [("0.25", "0.2165"), ("0.26", "0.2760"), (ALL, "0.5075")],
    "Table 2, Harmon-1.5B, resolution 512": [("0.1690", "0.3396"), (ALL, "0.6604")],
}


def block_rate(kinds: Any, gamma: int) -> Fraction:
    """The mean over blocks of the share of verified drafts that are accepted, of images of these kinds."""
    blocks = accepted = Fraction(0)
    for rate, share in (map(Fraction, kind) for kind in kinds):
        weight = share / Fraction(expected_tokens(rate, gamma))
        cut = sum((Fraction(n, n + 1) * rate**n * (1 - rate) for n in range(gamma)), Fraction(0))
        blocks, accepted = blocks + weight, accepted + weight * (cut + rate**gamma)
    return accepted / blocks


def by_block() -> Evidence:
    """Rates averaged over blocks that are those printed; raises ``CheckFailed`` where they are not."""
    found = {}
    for column in columns(published(), *MAIN):
        rates = [block_rate(KINDS[column.name], gamma) for gamma in column.gammas]
        for rate, row in zip((rates[0], rates[-1]), (column.rows[0], column.rows[-1]), strict=True):
            require(row.prints(Decimal(float(rate))), f"{column.name}: {float(rate)} is not {row.printed}")
        found[column.name] = [*map(float, rates)], [row.printed for row in column.rows]
    return example(
        "averaged over blocks, two kinds of images, whose drafts are accepted always or at one rate, have the printed "
        "rates at gamma 4 and 32, and three kinds all four of Harmon at 256: "
        + "; ".join(
            f"{name}: " + ", ".join(f"{rate:.3f} for {row}" for rate, row in zip(*each, strict=True))
            for name, each in found.items()
        ),
        numbers(kinds=KINDS, rates={name: rates for name, (rates, _) in found.items()}),
    )


LONG_RUN = enumeration(
    "two kinds of positions, easy and hard ones, that follow each other as a chain: 48 cases in the long run, in "
    "rationals, gamma = 1 to 4: the mean is never outside the bounds"
)


def outside(share: Callable[[Rated, int], Fraction]) -> Fraction:
    """How far the mean acceptance is outside the bounds that ``share`` gives, at most, in the long run."""
    worst, thirds = Fraction(0), [Fraction(k, 3) for k in range(4)]
    for easy, hard, stay, gamma in product(thirds, thirds, (Fraction(1, 2), Fraction(9, 10)), (1, 2, 3, 4)):
        if easy > hard:
            blocks = two_regions(easy, hard, stay, gamma)
            low, high = share_bounds(share(blocks, gamma), gamma)
            worst = max(worst, low - blocks.rate, blocks.rate - high)
    return worst


# Readings that would do --------------------------------------------------------------------------------------------

VOCABULARY, NEAR = 256, 0.04
PAIRS = {  # of the two numbers of the pair, by the column that they come nearest to
    "Table 1, MAR-H, resolution 256": ("0.31", "0.968"),
    "Table 1, xAR-H, resolution 256": ("0.36", "0.956"),
    "Table 2, Harmon-1.5B, resolution 256": ("0.33", "0.944"),
    "Table 2, Harmon-1.5B, resolution 512": ("0.49", "0.808"),
}


def in_place_enumerated(agree: Fraction, copy: Fraction, vocabulary: int, offsets: int) -> list[Any]:
    """The same as :func:`~theory.draft_length.in_place_rates`, by following all blocks of drafts."""
    tokens = range(vocabulary)
    row = np.array([[copy * (x == y) + (1 - copy) / vocabulary for y in tokens] for x in tokens], dtype=object)
    alone = stands = np.array([Fraction(int(x == 0)) for x in tokens])  # on what target and draft stand, token 0 seen
    found = []
    for _ in range(offsets):
        alone = alone @ row  # the tokens between are summed out
        found.append(sum(stands[x] * min(alone[y], agree * row[x, y]) for x in tokens for y in tokens))
        stands = stands @ row
    return found


@CLAIMS.claim(
    "cspd.draft-length.in-place",
    derived(
        "Tables 1 and 2, the published code",
        "the published code verifies a block against the verified prefix alone and replaces rejected tokens in place",
    ),
    r"If each draft of a block is verified given the tokens before the block alone, and replaced in place where it is "
    r"rejected, there is for each column of Tables 1 and 2 a pair of a target and a draft with acceptance rates within "
    r"0.04 of those printed for $\gamma = 4, 8, 16, 32$.",
)
def in_place(seed: int) -> Finding:
    r"""Then all $\gamma$ drafts of a block are verified, so that the two readings of the rate agree, and with $a_j$ the
    acceptance at place $j$ of a block the rate is $(1 / \gamma) \sum_{j < \gamma} a_j$. It falls with $\gamma$
    where $a_j$ falls with $j$, as it does when the target, which does not see the drafts, knows ever less of them.

    An example, whose two numbers are fitted to the four rates of a column, by which 0.04 is met and not predicted: a
    token of the target is the one before with probability $\rho$, else uniform; the draft does the same from its own
    last token, and marks its token, as the target never does, with probability $1 - \kappa$. Up to terms
    of order $1/V$, $a_j = \kappa (1 - \rho) + \rho^j \min(\rho^{j+1}, \kappa \rho)$: new tokens overlap in $\kappa (1 -
    \rho)$, and the last token seen has come through to the draft with probability $\rho^j$.
    """
    small = Fraction(1, 3), Fraction(4, 5), 3, 4

    def differs(agree: Fraction) -> Any:
        closed = in_place_rates(agree, *small[1:])
        return max(abs(x - y) for x, y in zip(closed, in_place_enumerated(*small), strict=True))

    require(differs(small[0]) == 0, "the closed form is not what the blocks give")
    found = {}
    for column in columns(published(), *MAIN):
        agree, copy = map(float, PAIRS[column.name])
        rates = mean_of_first(in_place_rates(agree, copy, VOCABULARY, max(column.gammas)), column.gammas)
        found[column.name] = column, agree, copy, rates

    def far(table: dict[str, Any]) -> float:
        return max(
            max(abs(rate - float(row.value)) for rate, row in zip(rates, column.rows, strict=True)) - NEAR
            for column, _, _, rates in table.values()
        )

    wrong = {name: (column, agree, copy, rates[::-1]) for name, (column, agree, copy, rates) in found.items()}
    require(far(wrong) > 0, "rates in the wrong order are near too")
    return holds_if(
        far(found) <= 0,
        *(
            example(
                f"{name}: copy {copy:g}, agree {agree:g}, {VOCABULARY} tokens: "
                + ", ".join(
                    f"{rate:.3f} for {row.printed} at gamma {row.params['gamma']}"
                    for rate, row in zip(rates, column.rows, strict=True)
                ),
                numbers(agree=agree, copy=copy, vocabulary=VOCABULARY, gammas=column.gammas, rates=rates),
            )
            for name, (column, agree, copy, rates) in found.items()
        ),
        control("the same distance refuses the rates in the wrong order"),
        rejects_mutants({"a draft that agrees half as often": small[0] / 2}, differs, "the closed form"),
    )
