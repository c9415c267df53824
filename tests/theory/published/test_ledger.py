"""The ledger of published numbers: read strictly, rows found by what they say, and intervals that have every result."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction as F
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theory.published.ledger import COLUMNS, FILE, PAPERS, Interval, Ledger, published, read

pytestmark = pytest.mark.exact

HEADER = ",".join(COLUMNS)
LINE = "gsd,1,PartiPrompts,Lumina-mGPT,,gsd,G=50;L=16,speedup,4.65,"


def written(folder: Path, *lines: str) -> Path:
    path = folder / "results.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_the_file_is_read_whole() -> None:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    assert len(published().rows) == len(lines) - 1
    assert {row.paper for row in published()} == set(PAPERS)
    for row in published():
        paper, table, *_, value, std = lines[row.line - 1].split(",")
        assert (row.paper, row.table, row.value) == (paper, table, Decimal(value))
        assert row.std == (Decimal(std) if std else None)


def test_what_a_line_says(tmp_path: Path) -> None:
    (row,) = read(written(tmp_path, HEADER, LINE)).rows
    assert row.params == {"G": "50", "L": "16"}
    assert (row.line, row.metric, row.value, row.std, row.decimals) == (2, "speedup", Decimal("4.65"), None, 2)
    assert row.place == "GSD Table 1"
    assert row.setting == "PartiPrompts, Lumina-mGPT, gsd, G=50, L=16"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([HEADER + ",notes", LINE + ","], "columns .*notes; expected paper"),
        (["", LINE], "has the columns ; expected"),
        ([HEADER, LINE + ",more"], "line 2 .* 11 fields; expected 10"),
        ([HEADER, LINE.replace("4.65", "nan")], "line 2 has the value 'nan'; expected a finite decimal"),
        ([HEADER, LINE.replace("4.65", "4_6")], "'4_6'"),
        ([HEADER, LINE.replace("4.65", "٤")], "expected a finite decimal"),
        ([HEADER, LINE + "-0.1"], "std -0.1; expected a number >= 0"),
        ([HEADER, LINE.replace("gsd,1", "medusa,1")], "paper 'medusa'; expected one of"),
        ([HEADER, LINE.replace("speedup", "")], "line 2 has no metric"),
        ([HEADER, LINE, LINE.replace("4.65", "4.66")], "line 3 gives the number of line 2 again"),
        ([HEADER, LINE.replace("gsd,G", '"gsd"x,G')], "cannot be read"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, lines: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read(written(tmp_path, *lines))


def test_digits_that_the_file_lost_are_given_back() -> None:
    ledger = published()
    fast = ledger.one({"epsilon": "0.3"}, paper="gsd", dataset="PartiPrompts", metric="speedup")
    assert (str(fast.value), fast.printed) == ("4.5", "4.50")
    assert fast.interval == Interval(F("4.495"), F("4.505"))
    calls = ledger.select(paper="gsd", table="1", metric="nfe", dataset="PartiPrompts")
    assert [row.printed for row in calls[:4]] == ["2392", "2300.0", "1035.3", "705.13"]
    assert calls[0].interval == Interval(F("2391.5"), F("2392.5"))


def test_digits_that_were_cut_off_lie_further_from_zero_only() -> None:
    ledger = published()
    fast = ledger.one({"epsilon": "0.3"}, paper="gsd", dataset="PartiPrompts", metric="speedup")
    below = ledger.one(paper="sjd", table="11", method="ar")  # -4.8950
    assert below.interval == Interval(F("-4.89505"), F("-4.89495"))
    assert [fast.prints(Decimal(n)) for n in ("4.494", "4.495", "4.5", "4.505", "4.509")] == [False, *[True] * 3, False]
    fast, below = Ledger([fast, below]).cut()
    assert fast.interval == Interval(F("4.5"), F("4.51"))
    assert below.interval == Interval(F("-4.8951"), F("-4.8950"))
    assert [fast.prints(Decimal(n)) for n in ("4.499", "4.5", "4.509", "4.51")] == [False, True, True, False]
    assert [below.prints(Decimal(n)) for n in ("-4.89499", "-4.895", "-4.89509")] == [False, True, True]


def test_rows_are_found_by_columns_and_parameters() -> None:
    ledger = published()
    row = ledger.one({"metric": "l2", "delta": "0.2"}, paper="lantern", metric="FID")
    assert ledger.beside(row, "CLIP") == ledger.one({"metric": "l2", "delta": "0.2"}, paper="lantern", metric="CLIP")
    assert ledger.beside(row, "IS") is None
    with pytest.raises(ValueError, match="expected one"):
        ledger.one(paper="gsd")
    with pytest.raises(ValueError, match="no column tabel"):
        ledger.select(tabel="1")


def test_an_altered_copy_differs_in_the_lines_named_only() -> None:
    ledger, line = published(), published().rows[40].line
    copy = ledger.altered({line: 2.3456})
    assert [row.line for row, other in zip(ledger, copy, strict=True) if row != other] == [line]
    assert copy.rows[40].value == Decimal("2.35")
    assert published().rows[40].value != Decimal("2.35")


numbers = st.fractions(min_value=F(1, 100), max_value=100, max_denominator=1000)
intervals = st.tuples(numbers, numbers).map(lambda ends: Interval(min(ends), max(ends)))


@given(intervals, intervals, st.fractions(0, 1), st.fractions(0, 1))
def test_an_interval_has_every_result(one: Interval, other: Interval, s: F, t: F) -> None:
    a, b = one.low + s * (one.high - one.low), other.low + t * (other.high - other.low)
    for result, value in ((one + other, a + b), (one - other, a - b), (one / other, a / b)):
        assert result.low <= value <= result.high
    assert (one + other).high == one.high + other.high
    assert (one / other).low == one.low / other.high
    assert one.meets(other) == other.meets(one) == (not one.exceeds(other) and not other.exceeds(one))


def test_only_positive_numbers_are_divided() -> None:
    with pytest.raises(ValueError, match="expected positive numbers"):
        Interval(F(1), F(2)) / Interval(F(0), F(1))
