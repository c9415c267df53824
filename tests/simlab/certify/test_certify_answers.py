"""What is read from an answer, and what is none: tokens, rows of a batch, and padding taken for a token."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simlab.certify import certify
from simlab.certify.contracts.base import Broken, as_emitted
from simlab.certify.contracts.layouts import as_rows
from simlab.mutants.gated.base import excess
from simlab.randomness.coins import SampledCoins

pytestmark = pytest.mark.exact


def test_tokens_and_rows_are_read_from_what_people_return() -> None:
    for answer, tokens in (
        ([1, 0], (1, 0)),
        (np.array([2]), (2,)),
        ((np.int64(1),), (1,)),
        (np.array([[1, 2]]), (1, 2)),
        (np.int64(2), (2,)),
    ):
        assert as_emitted(answer, 3, 2) == tokens
    padded = [[1, -1, -1], [0, 1, 1]]
    for rows in (padded, np.array(padded), [[1], (0, 1, 1)], [np.array([1]), [0, 1, 1]]):
        assert as_rows(rows, 2, (2, 3)) == ((1,), (0, 1, 1))


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        *((answer, "expected tokens") for answer in (None, [0.5], [float("nan")], [True], "01", [[0], [1]])),
        ([], "returns 0 tokens"),
        ([0, 1, 2], "returns 3 tokens"),
        ([3], "returns token 3; expected 0 to 2"),
        ([-1], "returns token -1"),
    ],
)
def test_what_is_no_token_is_told(answer: object, told: str) -> None:
    with pytest.raises(Broken, match=told):
        as_emitted(answer, 3, 2)


@pytest.mark.parametrize(
    ("answer", "told"),
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
def test_malformed_rows_are_told(answer: Any, told: str) -> None:
    with pytest.raises(Broken, match=told):
        as_rows(answer, 2, (2, 3))


def test_padding_taken_for_a_token_breaks() -> None:
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
