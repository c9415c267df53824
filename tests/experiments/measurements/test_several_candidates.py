"""What rules keep of several candidates over a codebook, against the optimum and the frontier."""

from __future__ import annotations

import pandas as pd
import pytest

from experiments.measurements import candidates
from theory.acceptance import alpha
from theory.exact import acceptance
from theory.example_processes import codebook_pairs

pytestmark = pytest.mark.exact

SEED, CONTEXTS = 4, 3


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return candidates.measure(SEED, CONTEXTS)


def test_no_rule_keeps_more_than_its_frontier_nor_the_lossless_one_than_the_optimum(
    table: pd.DataFrame,
) -> None:
    assert (table["acceptance"] <= table["frontier"] + 1e-9).all()
    lossless = table[table["rule"] == "speculative"]
    assert lossless["tv"].max() < 1e-12
    assert (lossless["acceptance"] <= lossless["optimum"] + 1e-12).all()
    assert (lossless["acceptance"] < lossless["optimum"] - 1e-4).any(), "the optimum is never out of reach"
    assert (table[table["rule"] != "speculative"]["tv"] > 1e-3).all()


def test_one_candidate_is_what_the_rule_accepts(table: pd.DataFrame) -> None:
    pairs = codebook_pairs(SEED, CONTEXTS, vocabulary=candidates.VOCABULARY)
    one = table[table["candidates"] == 1].set_index("rule")
    assert one["optimum"].iloc[0] == pytest.approx(alpha(pairs.p, pairs.q).mean())
    for name, rule in candidates.rules(pairs.codebook).items():
        assert one["acceptance"][name] == pytest.approx(acceptance(rule, pairs.p, pairs.q).mean())


def test_more_candidates_are_kept_more_often(table: pd.DataFrame) -> None:
    for _, part in table.groupby("rule"):
        assert part.sort_values("candidates")["acceptance"].is_monotonic_increasing
