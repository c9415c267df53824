"""Claims about maximal coupling as the code published for SCD runs it on Lumina-mGPT and Janus-Pro."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from simlab.decoders.sjd_reference import PointMassSjd
from simlab.rules import Speculative
from theory.claims.base import Claims, Finding
from theory.claims.evidence import control, counterexample, refuted_if, require
from theory.claims.format import fmt, numbers
from theory.claims.sjd.losslessness import deviation
from theory.claims.sources import Repository
from theory.exact import mean, sequence_law, target_law
from theory.example_processes import sticky_process

CLAIMS = Claims("scd")
CODE = Repository("junhyukso/SCD", "7322379df906785094bd35aa2006791ba9acc8b0")
FILE, FUNCTION = "lumina1/scheduler/jacobi_iteration_lumina_mgpt_SCDMC.py", "SpeculativeSampler.__call__"
COMPUTES = (
    "Verifies all drafts of the window, each with its own coin; one that is accepted stays with the row it was drawn "
    "from in the call before (`resampled_target_scores = draft_prob`), one that is rejected is drawn from the "
    "residual, with the row of this call. New drafts are uniform and declared as point masses. The function in "
    "janus_pro/scheduler/jacobi_iteration_lumina_mgpt.py handles rows alike."
)
STAY, LENGTH, WINDOW = Fraction(2, 3), 3, 3
WORLD = "first token 1/2, 1/2, then the last one again with 2/3; three tokens, three drafts"


def told(renewal: Any, stay: Fraction = STAY) -> dict[str, Any]:
    """What a renewal does on the chain of the examples."""
    decoder, chain = PointMassSjd(WINDOW, renewal=renewal), sticky_process(stay, 2, LENGTH)
    law, steps = sequence_law(decoder, chain, Speculative())
    return {"law": law, "tv": deviation(decoder, chain), "calls": mean(steps)}


@CLAIMS.claim(
    "scd-reference.lossless",
    CODE.function(FILE, FUNCTION, COMPUTES),
    "Speculative Jacobi decoding emits exactly the target's autoregressive law when drafts behind a rejection are "
    "verified too, those accepted stay with the row of the call before, and those rejected are drawn from the residual "
    "with the row of this call.",
)
def reference_lossless(seed: int) -> Finding:
    r"""A draft that was accepted once has the law $\min(p, q)/(1 - \mathrm{TV})$ and no longer $q$, and one from the
    residual has $[p - q]_+/\mathrm{TV}$ and no longer $p$; what is declared for them is $q$ and $p$. At one slot that
    has $q = (1/2, 1/2)$ and then $p = (1/4, 3/4)$ twice, the token is 0 with probability $1/4$ after the first visit,
    declared with $q(0) = 1/2$, and 1 with $1/2$ and $1/4$, declared with $q$ and $p$; the second visit accepts a 0
    with $1/2$, so that $1/8$ is left of its $1/4$. In SJD, which stops at the first rejection, nothing behind it stays,
    and the same line is harmless.
    """
    found, right = told("maximal-reference"), told("maximal")
    require(right["tv"] == 0, "the row of this call for every draft is not lossless either")
    return refuted_if(
        found["tv"] > 0,
        counterexample(
            f"{WORLD}: TV {fmt(found['tv'])} from the target's law",
            numbers(
                stay=STAY,
                law=found["law"],
                target=target_law(sticky_process(STAY, 2, LENGTH)),
                tv=found["tv"],
            ),
        ),
        control("the same check finds no difference where the row of this call is declared for every draft"),
    )


@CLAIMS.claim(
    "scd-reference.calls",
    CODE.function(FILE, FUNCTION, COMPUTES, "ours"),
    "For every process and window, drafts behind a rejection that are verified too, and stay with the row of the call "
    "before if they are accepted, need no more calls on average than speculative Jacobi decoding.",
)
def reference_calls(seed: int) -> Finding:
    """A draft that stays with its old row is held against it again, and may be rejected for the very difference that it
    was accepted in spite of. Where every row is (1/2, 1/2) that costs 1/8 of a call. The right rows cost nothing there.
    """
    half = Fraction(1, 2)
    found, plain, right = (told(renewal, half) for renewal in ("maximal-reference", "fresh", "maximal"))
    require(right["calls"] <= plain["calls"], "the row of this call for every draft costs calls, too")
    return refuted_if(
        found["calls"] > plain["calls"],
        counterexample(
            f"every row (1/2, 1/2), three tokens, three drafts: {fmt(found['calls'])} calls on average against "
            f"{fmt(plain['calls'])} of SJD and {fmt(right['calls'])} with the row of this call",
            numbers(stay=half, calls=found["calls"], sjd=plain["calls"], right=right["calls"]),
        ),
        control("the same check finds no more calls than SJD's where the row of this call is declared for every draft"),
    )
