"""The report: one self-contained HTML page, made from the files of ``simlab verify``."""

from __future__ import annotations

import signal
import tomllib
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from experiments.interrupts import held_interrupts, waiting
from reports.data.files import Unreadable, read_json
from reports.pages import claims as claim_pages
from reports.pages import published as published_page
from reports.signals import ends_whole
from reports.site.gallery import Draw, inline
from reports.site.html import remove, save, template
from theory.papers import PAPERS
from theory.proofs.support import MEANING
from theory.words import index

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SOURCE, FILE, INDEX = "verdicts.json", "report.html", "index.html"
COMMAND = "simlab verify"
BESIDE = ("continuous", "draft-length")  # pages of tables that `simlab verify` makes
VERDICT_NAMES = {
    "holds": "proven, and the implementation checked against the proof",
    "holds-under-assumptions": "proven under the assumptions named",
    "refuted": "a counterexample is given",
    "not-refuted": "searched without finding a violation",
    "not-decided": "needs something this run does not do, or a check failed",
}
KINDS = {
    "stated": "What the papers state",
    "stronger or weaker": "Stronger or weaker statements",
    "published code": "What published code does",
    "ours": "Results of ours",
}


@dataclass(frozen=True)
class Report:
    """The report, drawn and not yet written."""

    verdicts: dict[str, Any]
    text: str

    def save(self, out: Path) -> Path:
        """Write ``report.html`` to ``out``, a page a claim under ``claims``, and one of printed numbers."""
        _write_claims(out, self.verdicts)
        return save(out / FILE, self.text)


def build(out: Path) -> Path:
    """Write the report and the pages that belong to it beside the results in ``out``; raises as :func:`report`."""
    found = _verdicts(out)
    # the report alone takes as long as what is beside it
    with ProcessPoolExecutor(1, get_context("spawn"), initializer=ends_whole) as pool:
        try:
            with waiting(signal.SIGTERM), held_interrupts():  # one that loses who starts it prints a traceback
                beside = pool.submit(_write_beside, out, found)
            text = report(out).text
            beside.result()
        except BaseException:
            for process in active_children():
                process.terminate()
            raise
    return save(out / FILE, text)


def _write_beside(out: Path, found: dict[str, Any]) -> None:
    """Write a page a claim, one of printed numbers, and those of the tables of this run."""
    _write_claims(out, found)
    stale = are_stale(out)
    entries = [("Claims", FILE), ("Printed numbers", published_page.FILE)]
    for beside in BESIDE:
        if not stale and any(out.glob(f"{beside}-*.parquet")):  # what draws figures is loaded where there are some
            from reports.pages import tables

            tables.build(tables.PAGES[beside], out, found["claims"], entries)
        else:
            remove(out / f"{beside}.html")


def are_stale(out: Path) -> bool:
    """Whether the tables of ``simlab verify`` in ``out`` are of an earlier run than its verdicts: it measured nothing.

    Tables without verdicts, or beside a manifest that cannot be read, are not known to be.
    """
    try:
        return (out / SOURCE).exists() and not read_json(out / "manifest.json", COMMAND)["measured"]
    except (FileNotFoundError, Unreadable, KeyError):
        return False


def _write_claims(out: Path, found: dict[str, Any]) -> None:
    claim_pages.build(out, found, papers(found["claims"]))
    published_page.build(out, found)


def _verdicts(out: Path) -> dict[str, Any]:
    """What ``verdicts.json`` holds, if it is one of today's."""
    found: dict[str, Any] = read_json(out / SOURCE, COMMAND)
    if not isinstance(found.get("claims"), list):
        raise Unreadable(f"{out / SOURCE} cannot be read: it has no claims; run `{COMMAND}` again")
    if "headlines" not in found:
        raise Unreadable(f"{out / SOURCE} is of an earlier version of simlab; run `{COMMAND}` again")
    return found


def report(out: Path, draw: Draw = inline, indexed: bool = False) -> Report:
    """The report on the results in ``out``; ``draw`` puts figures on it.

    It leads to the index of the site if there is one, or will be: ``indexed``. Raises ``FileNotFoundError`` where
    results are missing, and :class:`~reports.data.files.Unreadable` where one cannot be read.
    """
    found, manifest = _verdicts(out), read_json(out / "manifest.json", COMMAND)
    figures: dict[str, Markup] = {}  # by name: the story takes its pictures from those that are drawn

    def kept(name: str, figure: Figure, title: str) -> Markup:
        return figures.setdefault(name, draw(name, figure, title))

    text = template("report.html").render(
        verdicts=found,
        manifest=manifest,
        counts=counts(found["claims"]),
        meaning=VERDICT_NAMES,
        rests=rests(found["claims"]),
        rests_meaning=MEANING,
        kinds=KINDS,
        papers=papers(found["claims"]),
        story=story(found),
        about=introductions(),
        measured=_measured(out, kept) if manifest["measured"] else None,
        figures=figures,
        index=index(found["claims"], found["headlines"], found["results"]),
        home=INDEX if indexed or (out / INDEX).exists() else "",
    )
    return Report(found, text)


@cache
def introductions() -> dict[str, dict[str, str]]:
    """What each paper does, what to do instead, and a figure of it, by the id of the paper."""
    return tomllib.loads((files("reports") / "templates" / "papers.toml").read_text(encoding="utf-8"))


def story(verdicts: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Each paper that has headlines here: what it is, what it does, its headlines, and what to do instead."""
    lines = {key: [line for line in verdicts["headlines"] if line["paper"] == key] for key in introductions()}
    return {key: asdict(PAPERS[key]) | introductions()[key] | {"lines": lines[key]} for key in lines if lines[key]}


def counts(claims: Sequence[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """How many verdicts of each there are: on what papers state, on other statements, on code, and of ours."""
    groups = {name: [claim["verdict"] for claim in claims if claim["kind"] == kind] for kind, name in KINDS.items()}
    return {name: {v: found.count(v) for v in VERDICT_NAMES} for name, found in groups.items() if found}


def rests(claims: Sequence[dict[str, Any]]) -> dict[str, int]:
    """How many of the claims that hold rest on what, the strongest first."""
    found = [claim.get("rests_on", "") for claim in claims]
    return {name: found.count(name) for name in MEANING if name in found}


def papers(claims: list[dict[str, Any]]) -> dict[str, str]:
    """The papers that have claims here, and what to call them; one that has no title here goes by its id."""
    there = dict.fromkeys(claim["paper"] for claim in claims)
    known = [paper for paper in PAPERS if paper in there]
    return {paper: PAPERS[paper].name for paper in known} | {paper: paper for paper in there if paper not in PAPERS}


def _measured(out: Path, draw: Draw) -> dict[str, Any]:
    """Tables and figures of the measurements; what draws them is loaded only where there are some."""
    from reports.pages.report_measured import measured

    return measured(out, draw)
