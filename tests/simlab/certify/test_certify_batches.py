"""The contract of batches: how rows are read, and what is no row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simlab.certify import certify
from simlab.certify.contracts.base import Broken
from simlab.certify.contracts.layouts import as_rows
from simlab.mutants.gated.chains import excess
from simlab.randomness.coins import SampledCoins

pytestmark = pytest.mark.exact


def test_padding_taken_for_a_token_breaks():
    """-1 indexes the last token: q holds nothing there, so it is kept, and written."""

    def verify(p: Any, q: Any, drafts: Any, rng: np.random.Generator) -> Any:
        rows = []
        for b, row in enumerate(drafts.tolist()):
            kept = 0
            while kept < len(row) and rng.random() * q[b, kept, row[kept]] <= p[b, kept, row[kept]]:
                kept += 1
            end = p[b, kept] if kept == len(row) else excess(p[b, kept], q[b, kept])
            rows.append([*row[:kept], SampledCoins(rng).draw(end)])
        return rows

    found = certify(verify, "verify_batch", calls=64, processes=0)
    assert found.verdict == "breaks"
    assert "sequence" in found.summary


def test_rows_are_read_as_arrays_lists_and_without_padding():
    wanted = ((1,), (0, 1, 1))
    for answer in (
        [[1, -1, -1], [0, 1, 1]],
        np.array([[1, -1, -1], [0, 1, 1]]),
        [[1], (0, 1, 1)],
        [np.array([1]), [0, 1, 1]],
    ):
        assert as_rows(answer, 2, (2, 3)) == wanted


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([[1]], "expected 2 rows"),
        (3, "expected 2 rows"),
        ([1, 0], "expected a row of tokens"),
        ([[1], [-1, 1, 0]], "returns token -1"),
        ([[-1, -1, -1], [0, -1, -1]], "returns 0 tokens"),
        ([[0, 1, 1], [0, 1, 1]], "returns 3 tokens"),
        ([[0, -1, -1, -1], [0, 1, 1]], "a row of 4"),
        ([[2, -1, -1], [0, 1, 1]], "returns token 2"),
        ([[0.5], [0]], "whole numbers"),
    ],
)
def test_malformed_rows_are_told(answer, message):
    with pytest.raises(Broken, match=message):
        as_rows(answer, 2, (2, 3))
