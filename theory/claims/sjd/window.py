"""Claims of SJD about the size of the window (Fig. 8)."""

from __future__ import annotations

from simlab.decoders import Sjd
from theory.claims.base import Claims, Finding
from theory.claims.evidence import rejects_mutants, simulation
from theory.claims.sjd.speeds import (
    PROCESS,
    SIMULATES,
    STATED,
    TENTH,
    added,
    autoregression,
    drafts,
    judged,
    speeds_of,
    summary,
)
from theory.claims.sources import said
from theory.image_process import compare

CLAIMS = Claims("sjd")


@CLAIMS.claim(
    "sjd.window",
    said(
        "5.4, Fig. 8",
        "The results show that our acceleration ratio reaches almost the maximum when the number of input tokens is "
        "greater than or equal to 16 tokens.",
        "formalised",
        "Almost the maximum is read as 90 % of what 32 inputs give, the largest window of Table 9; its windows are 1, "
        "4, 16 and 32. The process was fitted to the step compression 2.31 at 32 inputs, not to how it depends on "
        f"them. {PROCESS}",
    ),
    "On the simulated image-like process, SJD with 16 inputs a call commits at least 90 % of the tokens a call that it "
    "commits with 32.",
    simulates=SIMULATES,
)
def window(seed: int) -> Finding:
    """With one input a call SJD is autoregression: one token a call. The others are simulated on the same images. That
    32 inputs add less than a tenth to 16 is judged by Student's interval of the paired differences.
    """
    found = speeds_of({f"W = {w}": Sjd(drafts(w)) for w in (4, 16, 32)}, seed)
    widest = found["W = 32"]
    found = {"W = 1": autoregression(widest.tokens)} | found

    def unsaturated(name: str) -> float:
        """By how much more than a tenth 32 inputs may add."""
        return max(0.0, added(widest, found[name])[1] - TENTH)

    return judged(
        unsaturated("W = 16"),
        added(widest, found["W = 16"])[0] > TENTH,
        simulation(
            f"tokens a call: {summary(found)}; W = 32 against 16: {compare(widest, found['W = 16'])}, at most "
            f"{added(widest, found['W = 16'])[1]:+.1%}; {STATED}"
        ),
        rejects_mutants({"W = 1": "W = 1", "W = 4": "W = 4"}, unsaturated, "saturation"),
    )
