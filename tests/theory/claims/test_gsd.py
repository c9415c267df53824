"""GSD's claims: the verdict of each is another one where the data that it is computed on are."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from simlab.rules import Speculative
from theory.claims import CLAIMS, CheckFailed
from theory.claims.gsd import acceptance, naive_lossy, output, reference_code
from theory.published.ledger import published

pytestmark = pytest.mark.exact


def verdict(id: str) -> str:
    decide = CLAIMS[id].decide
    assert decide is not None
    return decide(3).verdict


def test_naive_rows_above_the_front_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdict("gsd.naive-lossy.printed") == "holds"
    ledger = published()
    assert len(naive_lossy.points(ledger, "MS-COCO-2017", "FID", ("gsd",))) == 3
    between = ledger.one({"epsilon": "0.1"}, paper="gsd", dataset="MS-COCO-2017", method="addition", metric="FID")
    for fid, above in ((31.7, 0), (31.6, 1)):  # the line between 701.35 calls, FID 33.12, and 925.89, 31.50
        assert len(naive_lossy.on_front(ledger.altered({between.line: fid}))) == above
    monkeypatch.setattr(naive_lossy, "published", lambda: ledger.altered({between.line: 30.0}))
    assert verdict("gsd.naive-lossy.printed") == "refuted"


@pytest.mark.parametrize("mended", ["centred", "clamped"])
def test_windows_that_lose_nothing_would_not_refute(mended: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = acceptance.window_rule

    def some_mended(window: str, *given: Any) -> tuple[Any, Any]:
        rule, parameters = made(window, *given)
        return (Speculative() if window == mended else rule), parameters

    monkeypatch.setattr(acceptance, "window_rule", some_mended)
    assert verdict("gsd.dynamic.centred") == "not-refuted"


@pytest.mark.parametrize("id", ["gsd-reference.acceptance", "gsd-reference.support"])
def test_groups_of_one_token_would_not_refute(id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdict(id) == "refuted"
    monkeypatch.setattr(reference_code, "RULE", {"below": 0, "above": 0, "max_gap": 0.15})
    assert verdict(id) == "not-refuted"


def test_the_mean_ratio_of_a_partition_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdict("gsd.unbiased") == "holds"
    mean = acceptance.mean_ratio
    for module in (acceptance, output):
        monkeypatch.setattr(module, "mean_ratio", lambda *given: mean(*given) + F(1, 10))
    assert verdict("gsd.unbiased") == "refuted"
    with pytest.raises(CheckFailed, match="the mean difference of the ratios is positive"):
        verdict("gsd.expected-ratio.capped")


def test_sequences_farther_than_the_bounds_would_refute(monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdict("gsd.compounding") == "holds"
    spent = output._tv_of_sequences

    def more(*given: Any) -> float:
        return spent(*given) * 1.2

    monkeypatch.setattr(output, "_tv_of_sequences", more)
    assert verdict("gsd.compounding") == "refuted"


def test_sequences_of_a_few_tokens_by_enumeration() -> None:
    law, p = (F(19, 72), F(32, 72), F(21, 72)), (F(1, 3),) * 3
    one, other = (np.array(row, dtype=float) for row in (law, p))
    pair = abs(np.multiply.outer(one, one) - np.multiply.outer(other, other)).sum() / 2
    assert output._tv_of_sequences(law, p, 2) == pytest.approx(pair)
