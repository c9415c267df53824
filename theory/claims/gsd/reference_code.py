"""Claims about GSD as its published reference code runs it."""

from __future__ import annotations

from fractions import Fraction

from simlab.rules import Rule, Speculative, make_rule
from theory.acceptance import alpha
from theory.claims.base import Claims, Finding
from theory.claims.evidence import control, counterexample, described, refuted_if, require
from theory.claims.format import fmt
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


@CLAIMS.claim(
    "gsd-reference.acceptance",
    CODE.function(FILE, FUNCTION, f"{COMPUTES} The guarantee is that of the paper's section 4.1."),
    r"For every $p$ and $q$, $\alpha_{GSD} \ge \alpha_{SD}$ when the group of the token of rank $r$ by $p$ is the "
    r"ranks $r - 7$ to $r + 6$ less those whose probability differs by 0.15 or more, and drafts of rank below 7 are "
    r"accepted with $\min(1, p/q)$.",
)
def reference_acceptance(seed: int) -> Finding:
    r"""As in Algorithm 3, windows around the drafted token overlap, and the plain ratio at the low end adds to it: what
    $q$ has too much of on rank 6 is rejected there as by the lossless rule, and charged to ranks 7 and up once more.
    With $p = 0$ on ranks 0 to 6 and $1/8$ on ranks 7 to 14, $q = 1/2$ on rank 6 and $1/8$ on ranks 7 to 10, the window
    of rank 7 is the ranks 0 to 13, with masses $7/8$ and 1; the other windows have all of $p$. Acceptance is $(7/8 + 1
    + 1 + 1)/8 = 31/64$, the lossless rule's $4/8$. The second example has no two equal probabilities, so that nothing
    depends on the order of equal ones.
    """
    rule: Rule = make_rule("gsd-reference", **RULE)
    ties = weights(*[0] * 7, *[1] * 8), weights(*[0] * 6, 4, *[1] * 4, *[0] * 4)
    ascending = weights(*range(1, 16)), weights(*[0] * 6, 43, *range(8, 15), 0)
    pairs = {"seven zeros and eight of 1/8": ties, "15 different probabilities, k/120": ascending}
    require(
        all(lost(Speculative(), *pair) == 0 for pair in pairs.values()), "the lossless rule accepts less than itself"
    )
    return refuted_if(
        any(lost(rule, *pair) > 0 for pair in pairs.values()),
        *(
            counterexample(
                f"15 tokens, {name}: acceptance {fmt(acceptance(rule, *pair))} against {fmt(alpha(*pair))} for the "
                "lossless rule",
                described("gsd-reference", RULE, *pair),
            )
            for name, pair in pairs.items()
        ),
        control("the same check finds that the lossless rule accepts no less than itself"),
    )


@CLAIMS.claim(
    "gsd-reference.support",
    CODE.function(FILE, FUNCTION, f"{COMPUTES} Nothing in it excludes tokens of probability 0.", "ours"),
    r"When the group of the token of rank $r$ by $p$ is the ranks $r - 7$ to $r + 6$ less those whose probability "
    r"differs by 0.15 or more, and drafts of rank below 7 are accepted with $\min(1, p/q)$, no token $x$ with $p(x) = "
    r"0$ is emitted.",
)
def reference_support(seed: int) -> Finding:
    """Only the seven lowest ranks are accepted with the plain ratio. A top-k filtered row has thousands of tokens of
    probability 0; the last of them in sorting order share their window with tokens that have some.
    """
    p, q = weights(*[0] * 8, 1, 6), weights(*[0] * 7, 1, 0, 0)
    leak = emits_impossible(make_rule("gsd-reference", **RULE), p, q)
    require(emits_impossible(Speculative(), p, q) == Fraction(0), "the lossless rule emits what the target excludes")
    return refuted_if(
        leak > 0,
        counterexample(
            f"eight tokens of probability 0, one of 1/7 and one of 6/7: the eighth is emitted with probability "
            f"{fmt(leak)}",
            described("gsd-reference", RULE, p, q),
        ),
        control("the same check finds that the lossless rule emits no such token"),
    )
