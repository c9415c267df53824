"""Claims about GSD as its published reference code runs it."""

from __future__ import annotations

from typing import Any

from simlab.rules import Rule, Speculative, make_rule
from theory.acceptance import alpha
from theory.claims.base import Claims, Finding
from theory.claims.evidence import control, counterexample, described, refuted_if, require
from theory.claims.format import fmt, fmt_row
from theory.claims.gsd.acceptance import lost, weights
from theory.claims.gsd.output import emits_impossible
from theory.claims.sources import Repository
from theory.exact import acceptance

CLAIMS = Claims("gsd")
CODE = Repository("junhyukso/GSD", "4216c7c2bd5d04be12410adb07143af4cd7f7b88")
FILE, FUNCTION = "scheduler/jacobi_iteration_lumina_mgpt.py", "SpeculativeSampler.__call__"
COMPUTES = (
    "Sorts the target's processed logits ascending and takes 14 ranks around the draft, 7 below, itself and 6 above, "
    "whatever G; keeps those whose probability is within 0.15 and, if the ids of all of them are at most 10000, whose "
    "input embedding is within squared L2 distance 0.5; accepts with min(1, p'/q'), or with min(1, p/q) where the "
    "slice is empty, as it is for the 7 lowest ranks; after a rejection draws from [p - q]+, passed through the logit "
    "processors again."
)
RULE = {"below": 7, "above": 6, "max_gap": 0.15}
GROUP = (
    r"the group of the token of rank $r$ by $p$ is the ranks $r - 7$ to $r + 6$ less those whose probability differs "
    r"by 0.15 or more and, if all ids among them are at most 10000, those whose embedding is at squared distance 0.5 "
    r"or more, and drafts of rank below 7 are accepted with $\min(1, p/q)$"
)


def embedded(size: int) -> dict[str, Any]:
    """The rule with its filter by embedding, of tokens on a line 1/20 apart."""
    squared = [[(x - y) ** 2 / 400 for y in range(size)] for x in range(size)]
    return {**RULE, "max_distance": 0.5, "distances": squared}


@CLAIMS.claim(
    "gsd-reference.acceptance",
    CODE.function(FILE, FUNCTION, f"{COMPUTES} The guarantee is that of the paper's section 4.1."),
    rf"For every $p$, $q$ and embedding, $\alpha_{{GSD}} \ge \alpha_{{SD}}$ when {GROUP}.",
)
def reference_acceptance(seed: int) -> Finding:
    r"""As in Algorithm 3, windows around the drafted token overlap: what $q$ has too much of on one token is charged to
    those that have it in their windows. Let $p = (1, 2, 3, 5)/11$ and $q = (1, 2, 1, 0)/4$ on the four likeliest of 14
    tokens, and both 0 on the others. Their windows hold the tokens that are next to them in rank, but for $5/11$, which
    is too far from all, and all embeddings are near enough: their ratios are $(3/11)/(3/4)$, $6/11$ and $(5/11)/(3/4)$.
    Acceptance is $1/11 + 3/11 + 5/33 = 17/33$, the lossless rule's $1/11 + 2/11 + 1/4 = 23/44$. Nothing depends on the
    order of equal probabilities, and of fewer tokens the slice of the code is not empty for the 7 lowest ranks: a
    negative start counts from the end.
    """
    rule: Rule = make_rule("gsd-reference", **embedded(14))
    p, q = weights(*[0] * 10, 1, 2, 3, 5), weights(*[0] * 10, 1, 2, 1, 0)
    require(lost(Speculative(), p, q) == 0, "the lossless rule accepts less than itself")
    return refuted_if(
        lost(rule, p, q) > 0,
        counterexample(
            f"14 tokens on a line 1/20 apart, the likeliest p = {fmt_row(p[10:])}, q = {fmt_row(q[10:])}, the others "
            f"0: acceptance {fmt(acceptance(rule, p, q))} against {fmt(alpha(p, q))} for the lossless rule",
            described("gsd-reference", embedded(14), p, q),
        ),
        control("the same check finds that the lossless rule accepts no less than itself"),
    )


@CLAIMS.claim(
    "gsd-reference.support",
    CODE.function(FILE, FUNCTION, f"{COMPUTES} Nothing in it excludes tokens of probability 0.", "ours"),
    rf"When {GROUP}, no token $x$ with $p(x) = 0$ is emitted.",
)
def reference_support(seed: int) -> Finding:
    """Only the seven lowest ranks are accepted with the plain ratio. A top-k filtered row has thousands of tokens of
    probability 0; the last of them in sorting order share their window with tokens that have some.
    """
    p, q = weights(*[0] * 8, 1, 6), weights(*[0] * 7, 1, 0, 0)
    leak = emits_impossible(make_rule("gsd-reference", **embedded(10)), p, q)
    require(emits_impossible(Speculative(), p, q) == 0, "the lossless rule emits what the target excludes")
    return refuted_if(
        leak > 0,
        counterexample(
            f"eight tokens of probability 0, one of 1/7 and one of 6/7, on a line 1/20 apart: the eighth is emitted "
            f"with probability {fmt(leak)}",
            described("gsd-reference", embedded(10), p, q),
        ),
        control("the same check finds that the lossless rule emits no such token"),
    )
