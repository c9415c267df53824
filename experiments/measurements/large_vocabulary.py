"""Lossy rules over vocabularies of thousands, on processes over a codebook: tables to draw from.

Each function returns a tidy frame. Acceptance and TV are exact for each context, and means over one set of contexts, so
that rows can be compared; Wasserstein-1 over the codebook is exact up to ``EXACT`` tokens, and lies between ``least``
and ``most`` beyond (:mod:`theory.wasserstein`). Only :func:`compounding` and :func:`simulated_blocks` sample,
with intervals of guaranteed coverage. Nothing here is part of ``simlab verify``; the seconds stand for one core.

====================  =============================================  ==================================================
``naive``             GSD and LANTERN, and amplify and addition      V = 1024: 40 s; 4096: 12 minutes; 16384: 6 minutes
                      that accept as much
``neighbours``        LANTERN over k, delta and measure              V = 1024: 1 s; 4096: 3 s; 16384: 25 s
``compounding``       TV of sequences by their length                V = 1024: 45 s
``blocks``            tokens a block against the formula, exactly    V = 1024: 20 s
``simulated_blocks``  the same on a grid, by sampling                V = 1024, 4096 sequences: 10 minutes
====================  =============================================  ==================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from simlab.arrays import total_variation
from simlab.checks import check_at_least
from simlab.decoders import SpeculativeDecoder
from simlab.decoders.compiled import simulate
from simlab.processes import Pair, make_process
from simlab.randomness import Tape
from simlab.rules import (
    Addition,
    Amplify,
    DynamicGrouped,
    Grouped,
    Lantern,
    Rule,
    Speculative,
    codebook_distances,
    codebook_neighbours,
)
from simlab.rules.compiled import compiled_step
from theory.acceptance import expected_tokens
from theory.contexts import Contexts, addition_to, amplify_to, entropies, likeliest, means, visited
from theory.exact.block_lengths import blocks_of, blocks_sampled
from theory.exact.sequence_tv import Laws, directed, distance, follow, laws_of
from theory.wasserstein import Cells, cells, wasserstein1_exact, wasserstein1_least, wasserstein1_most

EXACT = 4096  # tokens
LANDMARKS, CELL = 500, 16  # of the lower bound; tokens in a cell of the upper one
TEMPERATURES = {"flat": 0.2, "peaked": 0.05, "sharp": 0.02}
SIZES, MAX_GAP, MAX_DISTANCE = (3, 10, 25, 50, 100), 0.15, 0.5  # of GSD
COUNTS, DELTAS = (100, 300, 1000), (0.05, 0.1, 0.2, 0.4)  # of LANTERN
MEASURES = ("l2", "cosine", "random")
GAMMAS = (4, 8, 16, 32)

Row = dict[str, Any]


def codebook_process(vocabulary: int, rows: str, length: int = 64) -> tuple[Pair, np.ndarray]:
    """A process whose rows are as flat as ``rows`` says, one of ``TEMPERATURES``, and its codebook ``[V, d]``."""
    pair = make_process("codebook", vocabulary=vocabulary, length=length, temperature=TEMPERATURES[rows])
    assert pair.codebook is not None, "it has one"
    return pair, pair.codebook


class Ruler(NamedTuple):
    """What distances over one codebook are measured with."""

    codebook: np.ndarray
    within: Cells

    @classmethod
    def over(cls, codebook: np.ndarray) -> Ruler:
        return cls(codebook, cells(codebook, max(1, len(codebook) // CELL)))

    def measured(self, law: np.ndarray, p: np.ndarray) -> dict[str, float]:
        """Wasserstein-1, NaN where it is too large to solve, and what it lies between."""
        small = len(p) <= EXACT
        return {
            "tv": float(total_variation(law, p)),
            "least": wasserstein1_least(law, p, self.codebook, LANDMARKS),
            "wasserstein": wasserstein1_exact(law, p, self.codebook) if small else np.nan,
            "most": wasserstein1_most(law, p, self.codebook, self.within),
        }

    def means(self, contexts: Contexts, rule: Rule) -> dict[str, float]:
        """Of acceptance and of all distances."""
        found = []
        for p, q in zip(*contexts, strict=True):
            step = compiled_step(rule, p, q)
            found.append({"acceptance": float(step.acceptance), **self.measured(step.law, p)})
        return {name: float(np.mean([each[name] for each in found])) for name in found[0]}


# Against the naive rules ----------------------------------------------------------------------------------------


def naive(
    vocabulary: int = 1024, contexts: int = 24, seed: int = 0, rows: Sequence[str] = tuple(TEMPERATURES)
) -> pd.DataFrame:
    """Each rule, and the naive ones whose mean acceptance over the same contexts is the same.

    Columns: vocabulary, rows, entropy (bits), lossless, beside (the rule compared with), rule, parameter, acceptance,
    tv, least, wasserstein, most. Raises ``ValueError`` for a vocabulary below 128 or fewer than one context.
    """
    check_at_least("vocabulary", vocabulary, 128)
    table = []
    for kind in rows:
        pair, codebook = codebook_process(vocabulary, kind)
        found, ruler = visited(pair, contexts, seed), Ruler.over(codebook)
        common: Row = {
            "vocabulary": vocabulary,
            "rows": kind,
            "entropy": float(entropies(found).mean()),
            "lossless": found.lossless,
        }
        for beside, parameter, rule in _lossy(codebook, ruler):
            own = ruler.means(found, rule)
            k, epsilon = (solve(found, own["acceptance"]) for solve in (amplify_to, addition_to))
            table.append({**common, "beside": beside, "rule": beside, "parameter": parameter, **own})
            for name, value, other in (("amplify", k, Amplify(k)), ("addition", epsilon, Addition(epsilon))):
                same = ruler.means(found, other)
                table.append({**common, "beside": beside, "rule": name, "parameter": value, **same})
    return pd.DataFrame(table)


def _lossy(codebook: np.ndarray, ruler: Ruler) -> Iterator[tuple[str, float, Rule]]:
    """What naive rules are compared with: name, parameter, rule."""
    yield "clusters", float(CELL), Grouped(ruler.within.labels)
    distances = codebook_distances(codebook)
    for size in SIZES:
        yield f"windows, G = {size}", float(size), DynamicGrouped(size, MAX_GAP, MAX_DISTANCE, distances)
    near = codebook_neighbours(codebook, len(codebook) // 16)
    for delta in DELTAS[:2]:
        yield f"lantern, delta = {delta}", delta, Lantern(near, delta)


# LANTERN --------------------------------------------------------------------------------------------------------


def neighbours(
    vocabulary: int = 4096,
    contexts: int = 24,
    seed: int = 0,
    rows: Sequence[str] = tuple(TEMPERATURES),
    distances: bool = False,
) -> pd.DataFrame:
    """LANTERN over k, delta and measure, for sampled candidates and for the draft's likeliest token.

    Columns: vocabulary, rows, entropy, candidate, lossless, measure, k, delta, acceptance, tv, and with ``distances``
    least, wasserstein, most. Only k below the vocabulary are taken; raises ``ValueError`` where none is.
    """
    check_at_least("vocabulary", vocabulary, COUNTS[0] + 1)
    table = []
    for kind in rows:
        pair, codebook = codebook_process(vocabulary, kind)
        found = visited(pair, contexts, seed)
        ruler = Ruler.over(codebook) if distances else None
        counts = [k for k in COUNTS if k < vocabulary]
        for measure in MEASURES:
            near = codebook_neighbours(codebook, counts[-1], measure)
            for candidate, each in (("sampled", found), ("likeliest", likeliest(found))):
                common: Row = {"vocabulary": vocabulary, "rows": kind, "entropy": float(entropies(found).mean())}
                common |= {"candidate": candidate, "lossless": each.lossless, "measure": measure}
                for k, delta in product(counts, DELTAS):
                    rule = Lantern(near[:, :k], delta)
                    own = _means(each, rule) if ruler is None else ruler.means(each, rule)
                    table.append({**common, "k": k, "delta": delta, **own})
    return pd.DataFrame(table)


def _means(contexts: Contexts, rule: Rule) -> dict[str, float]:
    found = means(contexts, rule)
    return {"acceptance": found.acceptance, "tv": found.tv}


# Sequences ------------------------------------------------------------------------------------------------------


def compounding(
    vocabulary: int = 1024, length: int = 256, sequences: int = 1000, seed: int = 0, confidence: float = 1 - 1e-6
) -> pd.DataFrame:
    """TV of the first n tokens, n a power of 4 and the length, where every token is a verified draft.

    Clusters of GSD and LANTERN, and amplify at the mean acceptance of the clusters. Columns: vocabulary, rule, n,
    sequences, confidence (of each interval), least, estimate, most; coupled and summed, upper bounds; directed, a lower
    bound from how likely the target finds the sequences.
    """
    pair, codebook = codebook_process(vocabulary, "flat", length)
    assert pair.draft is not None, "it has one"
    contexts = visited(pair, 64, seed)
    relaxed = Lantern(codebook_neighbours(codebook, vocabulary // 16), 0.05)
    clusters = Grouped(cells(codebook, vocabulary // 4).labels)
    k = amplify_to(contexts, means(contexts, clusters).acceptance)
    laws: dict[str, Laws] = {
        "clusters of 4": laws_of(clusters),
        f"amplify, k = {k:.4f}": laws_of(Amplify(k)),
        "lantern, delta = 0.05, likeliest candidate": partial(_sure, relaxed),
        "lantern, delta = 0.05, sampled candidate": laws_of(relaxed),
    }
    honest = follow(pair.target, pair.draft, laws_of(Speculative()), Tape(seed, sequences))
    lengths = sorted({length, *(4**j for j in range(12) if 4**j < length)})
    table = []
    for rule, law in laws.items():
        # other numbers than the target's own sequences have: a bound from both must not share them
        found = follow(pair.target, pair.draft, law, Tape(seed + 1, sequences))
        for n in lengths:
            row: Row = {
                "vocabulary": vocabulary,
                "rule": rule,
                "n": n,
                "sequences": sequences,
                "confidence": confidence,
            }
            apart = distance(found, n, confidence)
            table.append({**row, **apart._asdict(), "directed": directed(honest, found, n, confidence)})
    return pd.DataFrame(table)


def _sure(rule: Lantern, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    return laws_of(rule)(*likeliest(Contexts(p, q)))


# Blocks ---------------------------------------------------------------------------------------------------------

LOCAL: dict[str, Any] = {
    "dimension": 16,
    "entropy": 5.0,
    "coupling": 0.7,
    "locality": 0.3,
    "smoothness": 3.0,
    "draft_noise": 0.2,
}


def blocks(vocabulary: int = 1024, length: int = 128, gammas: Sequence[int] = GAMMAS) -> pd.DataFrame:
    """Mean tokens a block against the formula, exactly, on processes that see the place and the last token.

    Columns: vocabulary, process, heterogeneity, gamma, tokens, by_look, formula_by_look, by_position,
    formula_by_position, steps.
    """
    pairs: dict[tuple[str, float], Pair] = {
        ("local", h): make_process(
            "local", vocabulary=vocabulary, shape=(1, length), radius=1, floor=0.0, heterogeneity=h, **LOCAL
        )
        for h in (0.0, 0.5, 1.0, 1.5, 2.0)
    }
    pairs["codebook", np.nan] = make_process("codebook", vocabulary=vocabulary, length=length, order=1)
    pairs["markov", np.nan] = make_process("markov", vocabulary=vocabulary, length=length, contexts=vocabulary)
    table = []
    for (process, heterogeneity), pair in pairs.items():
        assert pair.draft is not None, "these processes have one"
        for gamma, found in blocks_of(pair.target, pair.draft, gammas).items():
            row: Row = {"vocabulary": vocabulary, "process": process, "heterogeneity": heterogeneity, "gamma": gamma}
            rates = {"by_look": found.verified_rate, "by_position": found.by_position}
            formulas = {f"formula_{name}": float(expected_tokens(rate, gamma)) for name, rate in rates.items()}
            table.append({**row, "tokens": found.tokens, **rates, **formulas, "steps": found.steps})
    return pd.DataFrame(table)


def simulated_blocks(
    vocabulary: int = 1024,
    shape: tuple[int, int] = (16, 16),
    sequences: int = 4096,
    seed: int = 0,
    gammas: Sequence[int] = GAMMAS,
    confidence: float = 1 - 1e-6,
) -> pd.DataFrame:
    """The same by sampling, on a grid with a long range, for even and uneven regions.

    Columns: vocabulary, heterogeneity, gamma, sequences, confidence, and tokens, by_look and formula_by_look, each with
    ``_least`` and ``_most``: all of one row hold together with the confidence.
    """
    table = []
    for heterogeneity, gamma in product((0.0, 1.0, 2.0), gammas):
        pair = make_process("local", vocabulary=vocabulary, shape=shape, heterogeneity=heterogeneity, **LOCAL)
        run = simulate(SpeculativeDecoder(gamma), pair.target, Speculative(), Tape(seed, sequences), pair.draft)
        found = blocks_sampled(run, gamma, confidence)
        row: Row = {"vocabulary": vocabulary, "heterogeneity": heterogeneity, "gamma": gamma}
        row |= {"sequences": sequences, "confidence": confidence}
        values = {"tokens": found.tokens, "by_look": found.verified_rate, "formula_by_look": found.formula}
        for name, value in values.items():
            row |= {name: value.estimate, f"{name}_least": value.least, f"{name}_most": value.most}
        table.append(row)
    return pd.DataFrame(table)
