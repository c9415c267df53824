"""Results of ours about the base rule to take home."""

from __future__ import annotations

from theory.claims.headlines import Headline, Result

HEADLINES = (
    Headline(
        "leviathan.lossless",
        "Losslessness: speculative decoding recovers the distribution of the target.",
        "holds",
        "An accepted draft and a token from the residual have together exactly the mass that the target gives them.",
    ),
    Headline(
        "leviathan.acceptance",
        "Bound: the acceptance rate is 1 - TV of draft and target.",
        "holds",
        "Draft and coin leave min(p, q) of each token, and the sum of minima is 1 - TV.",
    ),
    Headline(
        "leviathan.expected-tokens",
        "Speed: tokens a block and speedup follow from acceptance rate, draft length and cost ratio.",
        "holds-under-assumptions",
        "With i.i.d. acceptance a block yields the geometric sum of the formula.",
        "A mean rate over easy and hard positions does not make the formula right.",
    ),
)

TAKE_HOME = (
    Result(
        "leviathan.frontier",
        "Acceptance gained is distribution spent: the best that a lossy rule can do",
        "A rule with one draft accepts at most 1 - TV(p, q) plus the TV between what it emits and the target. Raising "
        "p/q by a factor or an addend reaches this bound, so no lossy rule buys more acceptance for its TV.",
    ),
    Result(
        "leviathan.cost-of-rows",
        "A method pays while rows are free",
        "Tokens a step are worth what they promise only where a call costs the same for one row and for many. A method "
        "with r rows and C tokens a step is between C/r and C times as fast as plain decoding, drafting aside, where "
        "rows more never make a call cheaper, nor the rows dearer; where every row costs the same, none with one "
        "candidate or many is faster, however good its drafts.",
    ),
)
