"""Real models beside the papers: printed numbers of methods of the same name, and whether their order agrees.

Printed numbers are of other and far larger models, so only orders and ratios compare. A ratio here is that of mean
tokens a call; its standard error is taken image by image, as both methods draw the same labels with the same random
numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from reports.data.averages import ratio
from reports.pages.elements import Table
from theory.published.ledger import Ledger, Row

STARTS = "sjd-repeat-left", "sjd-repeat-above", "sjd-sample-left", "sjd-sample-above"  # of SJD, from neighbours
PRINTED_AS = {  # methods here, and what papers call them
    "ar": ("ar",),
    "jacobi": ("jacobi",),
    "eagle": ("eagle", "eagle-2"),
    "sjd": ("sjd",),
    **dict.fromkeys(STARTS, ("sjd-isp",)),
    "sjd-pd": ("sjd+pd",),
    "sjd-pac": ("sjd+pd+ac", "sjd-pac"),
    "gsd": ("gsd",),
    "lantern": ("lantern",),
}
PRINTED_IN = {"sjd": "12345", "sjd-pac": "12", "gsd": "1"}  # tables of papers
TABLES = {(paper, table): "step_compression" for paper, tables in PRINTED_IN.items() for table in tables}
TABLES["lantern", "3"] = "mean_accepted_length"  # of ar it is 1
GREEDY = {"temperature": "0"}  # no sampling: not compared
ORDERS = (  # the first is faster
    ("jacobi", "ar"),
    ("eagle", "ar"),
    ("sjd", "jacobi"),
    *((start, "sjd") for start in STARTS),
    ("sjd-ac", "sjd"),
    ("sjd-pd", "sjd"),
    ("sjd-pac", "sjd-pd"),
    ("sjd-pac", "sjd-ac"),
    ("sjd-pac", "sjd"),
    ("eagle", "sjd"),
    ("sjd-pac", "eagle"),
    ("gsd", "sjd"),
    ("sjd-pac", "gsd"),
    ("lantern", "eagle"),
)
SURE = 3  # standard errors of a ratio from 1
SAME, REVERSED, OPEN = "yes", "no, the reverse", "not distinguished"


class Found(NamedTuple):
    """An order, as it is printed and as it is here."""

    faster: str
    slower: str
    printed: list[tuple[float, str]]  # ratios, and where they are printed
    drafts: tuple[int, int]  # a call, here
    ratio: float
    error: float

    @property
    def verdict(self) -> str:
        """Whether the first is faster here."""
        if self.ratio > 1 + SURE * self.error:
            return SAME
        return REVERSED if self.ratio < 1 - SURE * self.error else OPEN  # of one image the error is no number


def printed(ledger: Ledger, method: str) -> list[Row]:
    """Tokens a call that are printed of a method."""
    return [
        row
        for row in ledger
        if row.method in PRINTED_AS.get(method, ())
        and TABLES.get((row.paper, row.table)) == row.metric
        and not GREEDY.items() <= row.params.items()
    ]


def ratios(ledger: Ledger, faster: str, slower: str) -> list[tuple[float, str]]:
    """Printed ratios of two methods in one table, for one model, data and what else is said of both."""
    return [
        (float(one.value / other.value), one.place)
        for one in printed(ledger, faster)
        for other in printed(ledger, slower)
        if (one.paper, one.table, one.dataset, one.target) == (other.paper, other.table, other.dataset, other.target)
        and all(one.params[name] == other.params[name] for name in one.params.keys() & other.params.keys())
    ]


def orders(compression: Mapping[str, np.ndarray], nodes: Mapping[str, int], ledger: Ledger) -> list[Found]:
    """All orders of methods that are there, from tokens a call of every image ``[n]`` and drafts a call."""
    return [
        Found(
            faster,
            slower,
            ratios(ledger, faster, slower),
            (nodes[faster], nodes[slower]),
            *ratio(compression[faster], compression[slower]),
        )
        for faster, slower in ORDERS
        if {faster, slower} <= compression.keys()
    ]


def table(found: list[Found]) -> Table:
    """The orders as a table."""
    records = [
        {
            "order": f"{each.faster} > {each.slower}",
            **dict(zip(("printed in", "printed ratio"), _format(each.printed), strict=True)),
            "ratio here": f"{each.ratio:.3f} ± {each.error:.3f}",
            "drafts here": "{} : {}".format(*each.drafts),
            "so here?": each.verdict,
        }
        for each in found
    ]
    note = (
        f"Ratios of tokens a call, ± one standard error; from {SURE} of them on a ratio counts as another than 1. "
        "Drafts: that a call sees at most. sjd-isp stands beside every start from neighbours: SJD's tables do not say "
        "which it is."
    )
    return Table.of("Orders", records, note, words=2)


def _format(printed: list[tuple[float, str]]) -> tuple[str, str]:
    """Where ratios are printed, and what they span."""
    if not printed:
        return "not printed", "–"
    low, high = (f"{end([value for value, _ in printed]):.3f}" for end in (min, max))
    return ", ".join(dict.fromkeys(where for _, where in printed)), low if low == high else f"{low} to {high}"


def summary(found: list[Found]) -> str:
    """How many of the printed orders are the same here, in words, and which are not."""
    known = [each for each in found if each.printed]
    same = [each for each in known if each.verdict == SAME]
    said = f"Of {len(known)} printed orders {len(same)} are the same here."
    for verdict, text in ((REVERSED, "Reversed"), (OPEN, "Not distinguished")):
        own = [f"{each.faster} > {each.slower} ({each.ratio:.2f})" for each in known if each.verdict == verdict]
        said += f" {text}: {', '.join(own)}." if own else ""
    return said
