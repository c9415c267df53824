"""What a reader asks about SJD first, and results of ours to take home."""

from __future__ import annotations

from theory.claims.headlines import Headline, Result

HEADLINES = (
    Headline(
        "sjd.theorem-1",
        "Losslessness: each sampled token follows the target, and so do finished sequences.",
        "holds",
        "A draft follows the row that is declared as its q, whatever is drawn to its left in the meantime, so each "
        "position is one step of speculative sampling.",
    ),
    Headline(
        "sjd.independence",
        "Mechanism: given the last call, a draft is independent of the tokens that will stand to its left.",
        "holds-under-assumptions",
        "Tokens of a call are drawn with independent uniform numbers, from the call's own rows or the uniform one.",
        "Drafts copied, or drawn from a neighbour's row, may depend on these tokens, and need the row they follow "
        "declared as q; one uniform number for a whole call breaks the law.",
    ),
    Headline(
        "sjd.worst-case",
        "Bound: decoding never takes more calls than autoregression.",
        "holds",
        "Every call commits at least one token.",
    ),
    Headline(
        "sjd.refinement",
        "Mechanism: the acceleration comes from drawing unaccepted tokens again.",
        "not-refuted",
        "New drafts at random, scored as in the published code, are accepted with probability 1/V whatever the target; "
        "repeated ones hardly ever on the simulated image-like process.",
        "It is a matter of the target: where tokens repeat with probability 0.9, repeated drafts commit 8.33 tokens a "
        "call without any refinement (sjd.refinement.sticky).",
    ),
    Headline(
        "sjd.window",
        "Speed: the acceleration is almost at its maximum from 16 inputs a call on.",
        "not-refuted",
        "On the simulated image-like process 16 inputs commit at least nine tenths of what 32 do.",
    ),
)

TAKE_HOME = (
    Result(
        "sjd.refinement.sticky",
        "Repetition needs no refinement",
        "Where a token repeats with probability s, W repeated drafts without refinement commit (1 - s^(W+1))/(1 - s) "
        "tokens a call. Whether refinement is what accelerates depends on the target, and not on the algorithm alone.",
    ),
)
