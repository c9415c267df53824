"""Acceptance of several candidates for one position, verified in turn, beside the optimum.

On rows over a small codebook (:func:`theory.example_processes.codebook_pairs`), exactly in each context: how often one
of K candidates is accepted and how far the emitted token's law is from p; the most a lossless method can accept, an
optimal transport between p and the law of the candidates' set (:mod:`theory.candidates`). What is saved are means over
the contexts, and for each the most any method can accept in the mean that spends as much TV in the mean: since the
bound optimum + TV holds in every context, it holds for means, however a method shares its TV out.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from simlab.rules import Rule, codebook_neighbours, make_rule
from theory.candidates import candidate_sets, candidates_law, optimal_acceptance
from theory.distances import tv
from theory.example_processes import codebook_pairs

VOCABULARY = 7  # candidates are enumerated in every order
CONTEXTS = 12
MOST = 4


def rules(codebook: np.ndarray) -> dict[str, Rule]:
    """The rules that are compared; groups and neighbours are those of the codebook."""
    from sklearn.cluster import KMeans  # takes a second to load

    groups = KMeans(3, n_init=4, random_state=0).fit_predict(codebook)
    near = codebook_neighbours(codebook, 3)
    return {
        "speculative": make_rule("speculative"),
        "optimal-lossy, 0.1": make_rule("optimal-lossy", tv=0.1),
        "amplify, k = 1.5": make_rule("amplify", k=1.5),
        "grouped": make_rule("grouped", labels=groups.tolist()),
        "lantern, δ = 0.2": make_rule("lantern", neighbours=near, delta=0.2, bound="tv"),
    }


def measure(seed: int, contexts: int) -> pd.DataFrame:
    """Means over ``contexts`` pairs: rule, candidates, acceptance, tv, optimum, frontier."""
    pairs = codebook_pairs(seed, contexts, vocabulary=VOCABULARY)
    compared, rows = rules(pairs.codebook), []
    for count in range(1, MOST + 1):
        sets = [candidate_sets(q, count) for q in pairs.q]
        best = [optimal_acceptance(p, s) for p, s in zip(pairs.p, sets, strict=True)]
        for name, rule in compared.items():
            found = []
            for p, q, optimum in zip(pairs.p, pairs.q, best, strict=True):
                law, accepted = candidates_law(rule, p, q, count)
                found.append((float(accepted), float(tv(law, p)), float(optimum)))
            acceptance, spent, most = np.mean(found, axis=0)
            means = {"acceptance": acceptance, "tv": spent, "optimum": most, "frontier": min(1.0, most + spent)}
            rows.append({"rule": name, "candidates": count, **means})
    return pd.DataFrame(rows)
