"""What a reader asks about GSD first, and results of ours to take home."""

from __future__ import annotations

from theory.claims.headlines import Headline, Result

HEADLINES = (
    Headline(
        "gsd.theorem-1",
        "Bound: accepting groups of tokens never accepts less than speculative sampling, for any partition.",
        "holds",
        "Over a partition the acceptance rate is 1 - TV of the group masses, and summing rows never raises TV.",
    ),
    Headline(
        "gsd.dynamic",
        "Bound: the guarantee carries over to the dynamic groups of Algorithm 3.",
        "refuted",
        "A window around the drafted token is another group for every token, so windows overlap: four tokens of "
        "different probabilities, G = 3 and the paper's thresholds accept 59/140 where speculative sampling accepts "
        "3/7.",
        "Cut the sorted list into consecutive runs of G ranks, a partition made from p alone (gsd.dynamic.partition).",
    ),
    Headline(
        "gsd.speed",
        "Speed: however a partition is formed, drafts are accepted at least as often at equal rows.",
        "holds",
        "Over a partition acceptance at equal rows never falls, which is Theorem 1, and with it calls do not rise "
        "where the rows of a position do not depend on the tokens before it; in every printed table they fall.",
        "Not with the windows of Algorithm 3, which are no partition: acceptance can fall at equal rows (gsd.dynamic). "
        "And it is no law of whole sequences for every target and draft: other tokens come out and lead to other "
        "contexts, so that five tokens can take 4 calls of the target instead of 3.",
    ),
    Headline(
        "gsd.accumulation",
        "Mechanism: small differences of single tokens accumulate to a large TV, more so over a large support.",
        "holds",
        "At a largest difference e near-uniform rows over V tokens reach TV e V/2, while rows that share a token of "
        "probability c stay at or below 1 - c.",
        "With relative differences fixed, V does not matter: rows within r/V of each other have TV r/2 at most.",
    ),
    Headline(
        "gsd.unbiased",
        "Mechanism: raising numerator and denominator together is unbiased, raising the numerator alone is not.",
        "holds-under-assumptions",
        "Over a partition the mean of the group ratio is 1, as that of p/q; amplify's is k and addition's 1 + epsilon "
        "V.",
        "Not over Algorithm 3's windows, where with the paper's delta it can be 29/28 or 83/84. It says nothing of the "
        "output's law, which in general is neither p by token nor p' by group; a residual over groups restores the "
        "second (gsd.unbiased.group-residual).",
    ),
    Headline(
        "gsd.naive-lossy",
        "Quality: at equal speed GSD keeps more image quality than amplify and addition.",
        "holds",
        "In Table 1 no row of amplify or addition is as good as a row of GSD in both calls and score, FID or CLIP, and "
        "the five with calls between those of two rows of GSD score worse than the line between the two.",
        "The other three have fewer calls than any row of GSD, so that none is printed at their speed. TV does not "
        "explain it: at equal acceptance both naive rules are at least as near to the target as GSD over a partition "
        "(gsd.naive-lossy.tv).",
    ),
)

TAKE_HOME = (
    Result(
        "gsd.naive-lossy.tv",
        "Nothing beats amplify in TV",
        "At equal acceptance a token of amplify or addition is at most as far from the target in TV as one of GSD over "
        "any partition, since no rule gains more acceptance than it spends TV and they spend just that. So what "
        "grouping wins in image quality is not a smaller TV: TV does not know which tokens look alike.",
    ),
    Result(
        "gsd.unbiased.group-residual",
        "GSD is not lossless: the law of its tokens is not the target's, but that of their groups can be exact",
        "Over a partition, draw the replacement's group from what the draft lacks by group, then the token in "
        "proportion to p within it: the group that comes out follows the target exactly, at GSD's acceptance rate. "
        "Only the choice within a group is then left to the draft.",
    ),
)
