"""GSD's claims: the verdict of each is another one where the data that it is computed on are."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from simlab.rules import Speculative
from theory.claims import CLAIMS
from theory.claims.gsd import acceptance, enumerated, naive_lossy, output, reference_code
from theory.published.ledger import published

pytestmark = pytest.mark.exact


def verdict(id: str) -> str:
    decide = CLAIMS[id].decide
    assert decide is not None
    return decide(3).verdict


def test_small_rows_and_partitions_are_complete() -> None:
    assert set(enumerated.rows(2, 2)) == {(F(x, 6), F(6 - x, 6)) for x in (0, 2, 3, 4, 6)}
    assert len(enumerated.rows(2, 2)) == 5
    assert [len(enumerated.partitions(n)) for n in (1, 2, 3, 4)] == [1, 2, 5, 15]  # Bell's numbers
    assert enumerated.partitions(3) == [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2)]
    both = enumerated.positive(enumerated.pairs(2, 2))
    assert both.p.shape == (15, 2)
    assert (both.q > 0).all()
    assert (enumerated.group_masses(both.p, (0, 0)) == 1).all()


def test_naive_rows_above_the_front_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdict("gsd.naive-lossy.printed") == "holds"
    ledger = published()
    assert len(naive_lossy.points(ledger, "MS-COCO-2017", "FID", ("gsd",))) == 3
    between = ledger.one({"epsilon": "0.1"}, paper="gsd", dataset="MS-COCO-2017", method="addition", metric="FID")
    for fid, above in ((31.7, 0), (31.6, 1)):  # the line between 701.35 calls, FID 33.12, and 925.89, 31.50
        assert len(naive_lossy.on_front(ledger.altered({between.line: fid}))) == above
    monkeypatch.setattr(naive_lossy, "published", lambda: ledger.altered({between.line: 30.0}))
    assert verdict("gsd.naive-lossy.printed") == "refuted"


@pytest.mark.parametrize("id", ["gsd.dynamic.centred", "gsd.dynamic.clamped", "gsd.dynamic.printed"])
def test_windows_that_lose_nothing_would_not_refute(id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdict(id) == "refuted"
    made = acceptance.window_rule
    monkeypatch.setattr(acceptance, "window_rule", lambda *given: (Speculative(), made(*given)[1]))
    assert verdict(id) == "not-refuted"


@pytest.mark.parametrize("id", ["gsd-reference.acceptance", "gsd-reference.support"])
def test_groups_of_one_token_would_not_refute(id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdict(id) == "refuted"
    monkeypatch.setattr(reference_code, "RULE", {"below": 0, "above": 0, "max_gap": 0.15})
    assert verdict(id) == "not-refuted"


def test_the_mean_ratio_of_a_partition_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdict("gsd.unbiased.ratio") == "holds"
    assert verdict("gsd.expected-ratio.uncapped") == "refuted"
    mean = acceptance.mean_ratio
    for module in (acceptance, output):
        monkeypatch.setattr(module, "mean_ratio", lambda *given: mean(*given) + F(1, 10))
    assert verdict("gsd.unbiased.ratio") == "refuted"
    assert verdict("gsd.expected-ratio.uncapped") == "not-refuted"


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
