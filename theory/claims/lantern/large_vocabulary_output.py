"""Claims of LANTERN over thousands of tokens about what comes out: of a step, and of sequences."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np

from simlab.arrays import total_variation
from simlab.processes import make_process
from simlab.randomness import Tape
from simlab.rules import Lantern, codebook_neighbours
from simlab.statistics import MeanTest
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.evidence import control, counterexample, refuted_if, rejects_mutants, require, search
from theory.claims.format import numbers
from theory.claims.lantern.large_vocabulary import (
    CANDIDATES,
    CONTEXTS,
    COUNTS,
    DELTAS,
    NAMES,
    SHARE,
    TEMPERATURES,
    VOCABULARY,
    candidates,
    neighbours,
    shortest,
)
from theory.claims.lantern.output import OF_EMITTED
from theory.contexts import Contexts, likeliest, means, visited
from theory.exact.sequence_tv import distance, follow, laws_of

CLAIMS = Claims("lantern")


@CLAIMS.claim(
    "lantern.output-bound.scale",
    OF_EMITTED,
    r"On the simulated codebook process, the law of one emitted token is within TV $\delta$ of the target's row, in "
    r"the mean over contexts, with $|V| = 4096$ and candidates sampled from the draft; or, with $|V| = 256$ and "
    r"deterministic candidates, sequences of 64 tokens are within TV $\delta$ of the target's.",
    simulates="neighbours over a codebook",
)
def output_scale(seed: int) -> Finding:
    r"""The bound is on the target that one drafted token is compared with. Where rows are flat, $q(x)$ is far below
    $\delta$ for every $x$, so neighbours of mass $q(x) - p(x)$ are all it takes to accept $x$ surely, and what comes
    out is the draft's law. A deterministic candidate is another matter: all that is emitted too often is that
    candidate, by less than $\delta$ (lantern.gain).

    But each step gives its candidate up to $\delta$ more than the target does. Over many tokens that can be told apart,
    since the candidate is known: the laws of sequences have less and less in common. The TV is estimated from sequences
    with its confidence interval; the lossless rule on the same process is off by 0.
    """
    near = {k: shortest(neighbours()["l2"], k) for k in COUNTS}
    found = {
        (rows, candidate): _spent(candidates(rows, seed)[candidate], near[COUNTS[0]], DELTAS[0])
        for rows, candidate in product(TEMPERATURES, CANDIDATES)
    }

    def beyond(case: tuple[str, int, float]) -> float:
        """The most that a single context is off beyond delta."""
        candidate, k, delta = case
        return max(_spent(candidates(rows, seed)[candidate], near[k], delta).max() - delta for rows in TEMPERATURES)

    require(
        max(beyond(("likeliest", k, d)) for k in COUNTS for d in DELTAS) < 0,
        "a deterministic candidate is off by delta",
    )
    flat, draft = found["flat", "sampled"], candidates("flat", seed)["sampled"]
    accepted = means(draft, Lantern(near[COUNTS[0]], DELTAS[0])).acceptance
    beyond_delta, long = output_long(seed)
    return refuted_if(
        flat.mean() > DELTAS[0] and beyond_delta,
        counterexample(
            f"V = {VOCABULARY}, flat rows, k = {COUNTS[0]}, delta = {DELTAS[0]}, the smallest of Table 2: "
            f"acceptance {accepted:.4f}, TV {flat.mean():.4f} in the mean of {CONTEXTS} contexts, {flat.min():.4f} to "
            f"{flat.max():.4f}; TV(p, q) is {1 - draft.lossless:.4f}",
            numbers(
                "lantern",
                {"neighbours": "l2", "k": COUNTS[0], "delta": DELTAS[0]},
                acceptance=accepted,
                tv=flat.mean(),
                deviation=flat.std(),
            ),
        ),
        search(
            "mean TV at the same k and delta: "
            + "; ".join(f"{rows} rows, {NAMES[candidate]} {tv.mean():.4f}" for (rows, candidate), tv in found.items())
            + ". Deterministic candidates stay within delta in every context, at every k and delta of Table 2",
        ),
        rejects_mutants({"sampled candidates": ("sampled", COUNTS[0], DELTAS[0])}, beyond, "the bound"),
        *long,
    )


def _spent(contexts: Contexts, near: np.ndarray, delta: float) -> np.ndarray:
    """TV of each context."""
    return np.asarray(total_variation(laws_of(Lantern(near, delta))(*contexts), contexts.p))


SEQUENCE: dict[str, Any] = {"vocabulary": 256, "length": 64, "clusters": 32, "temperature": 0.2, "draft_noise": 0.3}
LENGTHS = (1, 4, 16, 64)
SEQUENCES, FALSE_ALARMS = 500, 1e-6


def output_long(seed: int) -> tuple[bool, list[Evidence]]:
    """Whether sequences of deterministic candidates are surely beyond delta, and how far each length is off."""
    process = make_process("codebook", **SEQUENCE)
    assert process.draft is not None, "it has one"
    assert process.codebook is not None, "and a codebook"
    near, delta = codebook_neighbours(process.codebook, round(SHARE * SEQUENCE["vocabulary"])), DELTAS[0]
    level = FALSE_ALARMS / (3 * 2 * len(LENGTHS))
    found = {}
    for name, most, count in (("relaxed", delta, SEQUENCES), ("lossless", 0.0, SEQUENCES // 10)):
        laws = partial(_deterministic_laws, Lantern(near, most))
        followed = follow(process.target, process.draft, laws, Tape(seed, count))
        found[name] = {n: distance(followed, n, 1 - level) for n in LENGTHS}
    values = found["relaxed"]
    require(found["lossless"][LENGTHS[-1]].estimate < 1e-9, "sequences of the lossless rule are off")
    one = visited(process, 64, seed)
    step = _spent(likeliest(one), near, delta)
    require(step.max() < delta, "a step is off by delta")
    return values[LENGTHS[-1]].least > delta, [
        counterexample(
            f"codebook process, V = 256, {near.shape[1]} nearest neighbours, delta = {delta}, every token verified "
            f"against the draft's likeliest: one step is off by {step.mean():.4f} (at most {step.max():.4f} in "
            f"{len(step)} contexts), the first n tokens by "
            + ", ".join(f"{d.estimate:.3f} ({d.least:.3f} to {d.most:.3f}) at n = {n}" for n, d in values.items())
            + f". {MeanTest(0.5, 0, 1).stated(SEQUENCES, level)}",
            numbers("lantern", SEQUENCE, delta=delta, tv={str(n): d.estimate for n, d in values.items()}),
        ),
        control("with delta = 0 sequences are off by 0"),
    ]


def _deterministic_laws(rule: Lantern, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The laws of a step for rows ``[B, V]``, the candidate being the draft's likeliest token."""
    return laws_of(rule)(*likeliest(Contexts(p, q)))
