"""Claims about GSD as its published reference code runs it."""

from __future__ import annotations

from fractions import Fraction

from simlab.rules import Speculative, make_rule
from theory.acceptance import alpha
from theory.claims.base import Claims, Finding
from theory.claims.evidence import counterexample, described, refuted_if, require, search
from theory.claims.format import fmt
from theory.exact import acceptance, step_law
from theory.search import pairs, searched, smallest_violation

CLAIMS = Claims("gsd")


@CLAIMS.claim(
    "gsd-reference.acceptance",
    "reference code",
    "With the reference code's groups (7 ranks below, 6 above, plain ratio at the low end) alpha_GSD >= alpha_SD.",
)
def reference_acceptance(seed: int) -> Finding:
    """As for Algorithm 3: windows around the drafted token overlap. Scaled down to one rank below and one above,
    the same rule has a counterexample on a few tokens; at its own size it has one with one token more than the
    window.
    """
    parameters = {"below": 1, "above": 1}
    found = smallest_violation(
        pairs, lambda e: acceptance(make_rule("gsd-reference", **parameters), *e) < alpha(*e), seed
    )
    # at its own size: q piles mass on one token of the window of a token with p >= q
    p = tuple(Fraction(k + 1, 120) for k in range(15))
    q = tuple(Fraction(8 if x == 7 else 112 if x == 13 else 0, 120) for x in range(15))
    full = make_rule("gsd-reference")
    drop = acceptance(full, p, q) < alpha(p, q)
    evidence = []
    if found is not None:
        evidence.append(
            counterexample(
                f"one rank below and one above, {len(found[0])} tokens: acceptance "
                f"{fmt(acceptance(make_rule('gsd-reference', **parameters), *found))} against "
                f"{fmt(alpha(*found))}",
                described("gsd-reference", parameters, *found),
            )
        )
    if drop:
        evidence.append(
            counterexample(
                f"at its own size, 15 tokens: acceptance {fmt(acceptance(full, p, q))} against {fmt(alpha(p, q))}",
                described("gsd-reference", {"below": 7, "above": 6}, p, q),
            )
        )
    if not evidence:
        evidence.append(search(searched()))
    return Finding("refuted" if found is not None or drop else "not-refuted", evidence)


@CLAIMS.claim(
    "gsd-reference.support", "reference code", "The reference code never emits a token of target probability 0."
)
def reference_support(seed: int) -> Finding:
    """Only the seven lowest ranks fall back to the plain ratio. A top-k filtered row has thousands of tokens of
    probability 0; the last of them in sorting order share their window with tokens that have some.
    """
    p = (*[Fraction(0)] * 8, *[Fraction(1, 10)] * 10)
    q = (*[Fraction(0)] * 7, Fraction(1, 2), *[Fraction(0)] * 9, Fraction(1, 2))
    parameters = {"below": 7, "above": 6, "max_gap": 0.15}
    law = step_law(make_rule("gsd-reference", **parameters), p, q)
    require(step_law(Speculative(), p, q)[7] == 0, "speculative sampling emitted a token of target probability 0")
    return refuted_if(
        law[7] > 0,
        counterexample(
            f"eight tokens of probability 0 and ten of 1/10: the eighth is emitted with probability {fmt(law[7])}",
            described("gsd-reference", parameters, p, q),
        ),
    )
