"""Claims about SJD as its published reference code runs it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from simlab.decoders import Sjd, make_decoder
from theory import controls
from theory.claims.base import Claims, Evidence, Finding, caught, needed, numbers, require, shown
from theory.claims.sjd import LOSSLESS, deviation, steps_of, two_tokens, worlds
from theory.distances import tv
from theory.exact import sequence_law, step_law, target_law
from theory.search import pairs, searched, smallest_violation
from theory.worlds import random_world

CLAIMS = Claims("sjd")


@CLAIMS.claim(
    "sjd-reference.lossless",
    "reference code",
    "The reference loop (one committed token and W - 1 drafts, a bonus token, new drafts uniform and scored as "
    "point masses) has the autoregressive law.",
)
def reference_lossless(seed: int) -> Finding:
    """A token that was drawn before anything to its left of this call is a known value: a point mass describes it
    given that value, as the uniform row does before it is known. The proof of sjd.theorem-1 goes through for
    either. It costs speed: a new draft is kept with p(x), not min(1, V p(x)).
    """
    tried = [(make_decoder("sjd-reference", window=w), world) for world in worlds(seed) for w in (2, 3)]
    worst = max(deviation(*case) for case in tried)
    processes = [random_world(seed + k, 3, 4, zeros=0) for k in range(3)]
    found = steps_of({"uniform q": Sjd(3), "point mass": make_decoder("sjd-reference", window=4)}, processes)
    some = worlds(seed, small=True)
    return Finding(
        "holds" if worst == 0 else "refuted",
        [
            Evidence(
                "enumeration",
                f"the sequence law equals the target's in rationals for {len(tried)} pairs of process and "
                f"decoder; largest TV {shown(worst)}",
            ),
            caught(
                {"tail drawn again, q stale": controls.TailStale(2)},
                lambda d: max(deviation(d, world) for world in some),
                "the reference loop",
            ),
            Evidence("exact-small-scale", f"exact mean steps for 4 tokens, V = 3, three drafts and a bonus: {found}"),
        ],
    )


@CLAIMS.claim(
    "sjd-reference.residual",
    "reference code",
    "Passing the residual through the logits processors again does no harm.",
    assumptions=["temperature 1, no top-p"],
)
def reference_residual(seed: int) -> Finding:
    """At temperature 1 a residual of filtered rows has no mass outside the filter, so top-k, which keeps the k
    largest, finds at most k tokens and keeps them all. At another temperature the residual is sharpened a
    second time, and the output law is not p.
    """
    topk = smallest_violation(pairs, _changed_by_topk, seed)
    p, q = needed(
        smallest_violation(pairs, lambda e: tv(step_law(controls.ResidualTempered(), *e), e[0]) > 0, seed),
        "squaring the residual does not change the law",
    )
    law = step_law(controls.ResidualTempered(), p, q)
    return Finding(
        "holds-under-assumptions" if topk is None else "refuted",
        [
            Evidence("search", f"top-k of a residual of top-k filtered rows changes nothing: {searched()}"),
            Evidence(
                "example",
                f"at temperature 1/2, applied to p, to q and again to the residual, {len(p)} tokens: law "
                f"({', '.join(map(shown, law))}) where the target has ({', '.join(map(shown, p))})",
                numbers(p=p, q=q, temperature=0.5, law=law, tv=tv(law, p)),
            ),
        ],
    )


def _changed_by_topk(e: tuple[Any, Any]) -> bool:
    """Whether top-2 (ties kept) of the residual of top-2 filtered rows differs from the residual."""
    p, q = (_top(np.array(r, dtype=object), 2) for r in e)
    residual = LOSSLESS.residual(p, q, np.int64(0))
    support = int((p > 0).sum())
    return bool((_top(residual, support) != residual).any())


def _top(row: np.ndarray, k: int) -> np.ndarray:
    """The k largest entries (ties kept), renormalised."""
    kept = row * (row >= np.sort(row)[-min(k, len(row))])
    return kept / kept.sum()


@CLAIMS.claim(
    "sjd-reference.greedy",
    "reference code",
    "Drafting by argmax while scoring with the softmax row leaves the sampled law unchanged.",
)
def reference_greedy(seed: int) -> Finding:
    """The draft is a point mass, so keeping it with min(1, p(x)/q(x)) instead of p(x) keeps it too often whenever
    q(x) < 1.
    """
    broken = controls.GreedyDrafts(2)
    found = smallest_violation(pairs, lambda e: deviation(broken, two_tokens(*e)) > 0, seed, levels=((2, 1), (2, 4)))
    if found is None:
        return Finding("not-refuted", [Evidence("search", searched(((2, 1), (2, 4))))])
    world = two_tokens(*found)
    right = deviation(Sjd(2), world)
    require(right == 0, "SJD itself deviates on the counterexample")
    law = sequence_law(broken, world, LOSSLESS)[0]
    return Finding(
        "refuted",
        [
            Evidence(
                "counterexample",
                f"two tokens, window 2: the law of the sequence is off by TV {shown(deviation(broken, world))}; "
                f"SJD with drawn drafts is exact there",
                numbers(
                    p={"": found[0], "0": found[1], "1": found[1][::-1]},
                    q={"new draft": (Fraction(1, 2),) * 2, "0": found[1], "1": found[1][::-1]},
                    window=2,
                    law=law,
                    target=target_law(world),
                ),
            )
        ],
    )
