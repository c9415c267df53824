"""How claims about printed numbers are judged: comparisons row by row, and the same on altered copies of the ledger.

A comparison is of intervals (:class:`theory.published.ledger.Interval`), so numbers differ only where no rounding can
make them agree. The arithmetic is the evidence: every row concerned, what is printed there, and what follows from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from theory.claims.base import Evidence, Finding
from theory.claims.evidence import control, require
from theory.claims.format import numbers
from theory.published.ledger import Ledger, Row, published


@dataclass(frozen=True)
class Comparison:
    """One comparison: the rows and what follows from them by name, whether they agree, and rows that go unnamed."""

    label: str
    named: Mapping[str, Any]
    agrees: bool
    beside: Sequence[Row] = ()

    @property
    def rows(self) -> list[Row]:
        """The rows that it is of."""
        return [*(value for value in self.named.values() if isinstance(value, Row)), *self.beside]

    @property
    def numbers(self) -> dict[str, str]:
        """What is compared, in text: of rows what is printed."""
        return {k: value.printed if isinstance(value, Row) else str(value) for k, value in self.named.items()}

    @property
    def says(self) -> str:
        """The numbers in a sentence."""
        return f"{self.label}, " + "; ".join(f"{name}: {value}" for name, value in self.numbers.items())


Check = Callable[[Ledger], Iterable[Comparison]]
Words = tuple[str, str, str]  # what is compared, what those that agree do, what the others do


def judged(check: Check, words: Words, altered: Mapping[str, Ledger], more: Sequence[Evidence] = ()) -> Finding:
    """``refuted`` if some comparison does not agree, else ``holds``; with the rows and the numbers of each.

    Raises ``CheckFailed`` if there is nothing to compare, or if ``check`` answers the same on a copy of the ledger
    that was altered so that the answer is another.
    """
    what, fit, miss = words
    compared = list(check(published()))
    require(bool(compared), f"there are no {what} to compare")
    off = _off(compared)
    chosen = off or compared
    summary = f"{len(chosen)} of {len(compared)} {what} {miss if off else fit}. {chosen[0].says}"
    if off:
        summary += f". If digits were cut off, not rounded, it would be {len(_off(check(published().cut())))}"
    evidence = [_evidence(summary, chosen, "counterexample" if off else "example")]
    if off and len(off) < len(compared):
        rest = [comparison for comparison in compared if comparison.agrees]
        evidence.append(_evidence(f"{len(rest)} of {len(compared)} {what} {fit}", rest, "example"))
    return Finding("refuted" if off else "holds", [*evidence, *more, turned(check, altered)])


def together(first: Finding, *others: Finding) -> Finding:
    """What several comparisons find of one statement: refuted if one of them is, else as the first is."""
    verdict = "refuted" if any(each.verdict == "refuted" for each in (first, *others)) else first.verdict
    return Finding(verdict, [piece for each in (first, *others) for piece in each.evidence])


def undecided(found: Finding) -> Finding:
    """The finding where rows that do not agree say nothing against a statement about what is not printed."""
    return Finding("not-decided" if found.verdict == "refuted" else found.verdict, found.evidence)


def not_so(where: str, stronger: Finding) -> Sequence[Evidence]:
    """The evidence that refutes a stronger statement; raises ``CheckFailed`` where it is not refuted."""
    require(stronger.verdict == "refuted", f"it is so {where}")
    first, *others = stronger.evidence
    return [replace(first, summary=f"not {where}: {first.summary}"), *others]


def turned(check: Check, altered: Mapping[str, Ledger]) -> Evidence:
    """The check run on altered copies of the ledger: on each it must give the other answer."""
    answer = bool(_off(check(published())))
    missed = [name for name, ledger in altered.items() if bool(_off(check(ledger))) == answer]
    require(bool(altered) and not missed, f"the comparison does not notice: {', '.join(missed) or 'nothing altered'}")
    return control(
        "the same comparison, on copies of the ledger that are altered, gives the other answer for each: "
        + "; ".join(altered)
    )


def _evidence(summary: str, compared: Sequence[Comparison], kind: Literal["counterexample", "example"]) -> Evidence:
    """The comparisons as evidence: a row of numbers for each, and the lines of the file it is about."""
    require(len({c.label for c in compared}) == len(compared), "two comparisons have one name")
    rows = {c.label: {**c.numbers, "lines": sorted({row.line for row in c.rows})} for c in compared}
    return Evidence(kind, summary, numbers(parameters=rows))


def _off(compared: Iterable[Comparison]) -> list[Comparison]:
    return [comparison for comparison in compared if not comparison.agrees]
