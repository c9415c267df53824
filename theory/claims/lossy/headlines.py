"""What a reader asks about the lossy rules first."""

from __future__ import annotations

from theory.claims.headlines import Headline

HEADLINES = (
    Headline(
        "cactus.budget",
        r"Bound: the row that Cactus makes for a drafted token keeps to a KL budget controlled by $\delta$.",
        "holds",
        r"The divergence grows with $\delta$ from 0, and is at most twice that.",
        r"It is not within $\delta$ itself for every row, as the budget is solved to second order: 9/10 is raised to 1 "
        r"at $\delta$ = 1/18, where the divergence is 0.105. It is where p(x) is raised to 1 - p(x) at most "
        "(cactus.budget.mended).",
    ),
    Headline(
        "cactus.emitted",
        "Bound: Cactus controls the divergence of what it emits.",
        "holds",
        r"The TV of what is emitted grows with $\delta$ from 0, and is at most $\sqrt{2 n \delta}$ where the draft has "
        "more than the target of $n$ tokens.",
        r"No multiple of $\delta$ bounds it for all rows: every token that can be drafted is raised on its own budget, "
        "and the raises add up; over 32 tokens q is emitted at log 2, 43 budgets, and over more at any multiple.",
    ),
    Headline(
        "ensemble.frontier",
        "Bound: verifying against a mixture of target and draft is the best trade of acceptance for TV.",
        "holds",
        "It emits the mixture and gains the TV that it spends, which no rule with one draft exceeds.",
        "So do amplify, addition, optimal-lossy and Cactus (cactus.frontier); in other distances it is not the best.",
    ),
    Headline(
        "cascade.law",
        "Mechanism: a cascade decided token by token is decoded by speculative execution.",
        "holds",
        "Lossless verification against the cascade's law emits it, and accepts at least what deferring token by token "
        "does.",
    ),
    Headline(
        "mars-reference.unrelaxed",
        "Losslessness: the published code of MARS is lossless where it does not relax.",
        "refuted",
        "Children are the draft model's likeliest tokens and are scored as if drawn from it: the third token of three "
        "is accepted with 2/5 where the target has 1/5.",
        "Scored with q = 1, as EAGLE-2 does, it is lossless.",
    ),
)
