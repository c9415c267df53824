"""Claims about SJD as its published reference code runs it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from simlab import mutants
from simlab.decoders import Sjd, make_decoder
from theory.claims.base import Claims, Finding
from theory.claims.evidence import (
    control,
    counterexample,
    enumeration,
    example,
    holds_if,
    holds_under_assumptions_if,
    rejects_mutants,
    require,
    require_found,
    search,
    small_scale,
)
from theory.claims.format import fmt, fmt_row, numbers
from theory.claims.sjd.losslessness import LOSSLESS, deviation, random_tables, two_tokens
from theory.claims.sjd.speed import steps_of
from theory.distances import tv
from theory.exact import sequence_law, step_law, target_law
from theory.example_processes import random_process
from theory.search import Pmf, pairs, searched, smallest_violation

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
    either. It costs speed: a new draft is accepted with p(x), not min(1, V p(x)).
    """
    tried = [(make_decoder("sjd-reference", window=w), process) for process in random_tables(seed) for w in (2, 3)]
    worst = max(deviation(*case) for case in tried)
    processes = [random_process(seed + k, 3, 4, zeros=0) for k in range(3)]
    found = steps_of({"uniform q": Sjd(3), "point mass": make_decoder("sjd-reference", window=4)}, processes)
    some = random_tables(seed, small=True)
    return holds_if(
        worst == 0,
        enumeration(
            f"the sequence law equals the target's in rationals for {len(tried)} pairs of process and "
            f"decoder; largest TV {fmt(worst)}",
        ),
        rejects_mutants(
            {"tail drawn again, q stale": mutants.ReferenceTailStale(2)},
            lambda d: max(deviation(d, process) for process in some),
            "the reference loop",
        ),
        small_scale(f"exact mean steps for 4 tokens, V = 3, three drafts and a bonus: {found}"),
    )


K = 2  # of top-k, at vocabularies of 2 to 5 tokens


@CLAIMS.claim(
    "sjd-reference.residual",
    "reference code",
    "Passing the residual through the logits processors again does no harm.",
    assumptions=["temperature 1, no top-p", "no tie at the k-th place of the target's row"],
)
def reference_residual(seed: int) -> Finding:
    """At temperature 1 a residual of a top-k filtered row has no mass outside the filter. Without a tie at the k-th
    place the filter leaves at most k tokens, so the k largest of the residual are all of it. With a tie it leaves
    more, and filtering the residual drops the least of them. At another temperature the residual is sharpened a
    second time. In both cases the output law is not p.
    """

    def changed(again: int) -> Callable[[tuple[Pmf, Pmf]], bool]:
        return lambda e: not _tied(e[0], K) and _changed_by_topk(e, K, again)

    untied = smallest_violation(pairs, changed(K), seed)
    require_found(
        smallest_violation(pairs, changed(K - 1), seed), "the search does not find that a smaller k drops tokens"
    )
    tied = require_found(
        smallest_violation(pairs, lambda e: _changed_by_topk(e, K, K), seed), "the search does not find what a tie does"
    )
    p, q = require_found(
        smallest_violation(pairs, lambda e: tv(step_law(mutants.ResidualTempered(), *e), e[0]) > 0, seed),
        "squaring the residual does not change the law",
    )
    law = step_law(mutants.ResidualTempered(), p, q)
    return holds_under_assumptions_if(
        untied is None,
        search(f"top-{K} of the residual of a top-{K} filtered row changes nothing: {searched()}"),
        control(f"the same search finds that top-{K - 1} of that residual changes it"),
        example(
            f"with a tie at place {K}, p = {fmt_row(tied[0])} and q = {fmt_row(tied[1])} before the filter: "
            f"top-{K} of the residual changes it",
            numbers(p=tied[0], q=tied[1], k=K),
        ),
        example(
            f"at temperature 1/2, applied to p, to q and again to the residual, {len(p)} tokens: law "
            f"{fmt_row(law)} where the target has {fmt_row(p)}",
            numbers(p=p, q=q, temperature=0.5, law=law, tv=tv(law, p)),
        ),
    )


def _tied(row: Pmf, k: int) -> bool:
    """Whether tokens tie for the k-th place."""
    falling = sorted(row, reverse=True)
    return len(row) > k and falling[k - 1] == falling[k]


def _changed_by_topk(e: tuple[Pmf, Pmf], k: int, again: int) -> bool:
    """Whether top-``again`` of the residual of top-k filtered rows differs from that residual."""
    p, q = (_top(np.array(row, dtype=object), k) for row in e)
    residual = LOSSLESS.residual(p, q, np.int64(0))
    return bool((_top(residual, again) != residual).any())


def _top(row: np.ndarray, k: int) -> np.ndarray:
    """The k largest entries (ties included), renormalised."""
    top = row * (row >= np.sort(row)[-min(k, len(row))])
    return top / top.sum()


@CLAIMS.claim(
    "sjd-reference.greedy",
    "reference code",
    "Drafting by argmax while scoring with the softmax row leaves the sampled law unchanged.",
)
def reference_greedy(seed: int) -> Finding:
    """The draft is a point mass, so accepting it with min(1, p(x)/q(x)) instead of p(x) accepts it too often whenever
    q(x) < 1.
    """
    broken = mutants.GreedyDrafts(2)
    found = smallest_violation(pairs, lambda e: deviation(broken, two_tokens(*e)) > 0, seed, levels=((2, 1), (2, 4)))
    if found is None:
        return Finding("not-refuted", [search(searched(((2, 1), (2, 4))))])
    process = two_tokens(*found)
    right = deviation(Sjd(2), process)
    require(right == 0, "SJD itself deviates on the counterexample")
    law = sequence_law(broken, process, LOSSLESS)[0]
    return Finding(
        "refuted",
        [
            counterexample(
                f"two tokens, window 2: the law of the sequence is off by TV {fmt(deviation(broken, process))}; "
                f"SJD with drawn drafts is exact there",
                numbers(
                    p={"": found[0], "0": found[1], "1": found[1][::-1]},
                    q={"new draft": (Fraction(1, 2),) * 2, "0": found[1], "1": found[1][::-1]},
                    window=2,
                    law=law,
                    target=target_law(process),
                ),
            )
        ],
    )
