"""What LANTERN claims first, and what a reader takes home."""

from __future__ import annotations

from theory.claims.headlines import Headline, Result

HEADLINES = (
    Headline(
        "lantern.relaxation",
        "Mechanism: counting the mass of near tokens for a draft raises its accept probability",
        "holds",
        "The neighbourhood holds the draft itself, so no token is accepted less often than by the lossless rule.",
    ),
    Headline(
        "lantern.conditional-bound",
        r"Bound: the target that a drafted token is compared with stays within TV $\delta$",
        "holds",
        r"A neighbour joins only while the mass moved is below $\delta$, and that mass is the TV.",
    ),
    Headline(
        "lantern.output-bound",
        "Bound: the deviation of what is generated remains controlled",
        "holds",
        r"The TV of one emitted token grows with $\delta$ from 0, and is below $n \delta$ if $n$ tokens can be "
        "drafted; that of a sequence of $N$ tokens is at most the sum of $N$ such terms.",
        r"No smaller multiple of $\delta$ bounds one token for all rows: it is 38 $\delta$ with 40 such tokens of "
        r"1,000, and 99 $\delta$ with 100 of 10,000. The optimal lossy rule keeps to $\delta$ and accepts the most "
        "that is possible within it.",
    ),
    Headline(
        "lantern.neighbours",
        "Mechanism: nearest neighbours accept more than random ones",
        "not-refuted",
        r"It is so at $\delta = 0.2$ in the printed table and on a simulated codebook of 4,096 tokens, where near "
        "tokens are alike by construction.",
        "It is no law of the rule: the mass of a neighbour decides, not its distance. With more neighbours on that "
        "codebook random ones have the higher mean in five of eight settings, by up to 0.018, and beyond three "
        r"standard errors in one, by 0.002: flat rows, deterministic candidates and $\delta = 0.05$ "
        "(lantern.neighbours.empirical).",
    ),
    Headline(
        "lantern.speed",
        "Speed: speedups 1.75 and 1.76 times those of plain speculative decoding, greedy and sampled",
        "holds",
        "The printed speedups have these quotients; the times themselves are not measured here.",
        "They come with an FID that is 2.15 and 3.54 higher by the tables; the text has 2.16 and 3.53, and 1.65 for "
        "the speedup of 1.64.",
    ),
    Headline(
        "lantern-reference.dynamic",
        "Published code: the dynamic tree of EAGLE-2, which the paper uses, follows the rule of the paper",
        "refuted",
        "After a rejection it takes the $k + 1$ nearest tokens out of the target row, if any has joined.",
        r"Setting the row to zero on the neighbours that joined alone, with $<$ for $\le$, gives the paper's rule.",
    ),
)

TAKE_HOME = (
    Result(
        "lantern.frontier",
        "LANTERN is not lossless, but on the frontier of lossy rules",
        "The acceptance it gains over the lossless rule is exactly the TV it spends, for all rows, neighbours and "
        "bounds; no rule of one draft gains more for its TV. What neighbours decide is which tokens gain, and how "
        "much.",
    ),
)
