"""What a reader asks about the lossy rules first."""

from __future__ import annotations

from theory.claims.headlines import Headline

HEADLINES = (
    Headline(
        "cactus.budget.mended",
        r"Bound: the row that Cactus makes for a drafted token is within (1 + p(x)) $\delta$ of the target in KL "
        r"divergence, and within $\delta$ where p(x) is raised to 1 - p(x) at most.",
        "holds",
        "The budget is solved to second order around p(x), and the next term has the sign of 2 p(x) - 1.",
        r"It is not within $\delta$ itself for every row, which the README calls the budget: 9/10 is raised to 1 at "
        r"$\delta$ = 1/18, where the divergence is 0.105 (cactus.budget).",
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
        "So do amplify, addition, optimal-lossy and Cactus (cactus.frontier); in KL divergence amplify can be nearer "
        "to the target at equal acceptance and TV.",
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
        "Children are the draft model's likeliest tokens and are scored as if drawn from it: with p = q = (2/3, 1/3) "
        "the first token is always accepted, where the target has 2/3.",
        "Scored with q = 1, as EAGLE-2 does, it is lossless.",
    ),
)
