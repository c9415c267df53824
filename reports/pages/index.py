"""The index of a site: counted verdicts, studies, missing results and the commands that make them, links."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reports.data.documents import COMPARISON
from reports.pages import (
    benchmarks,
    certificate,
    continuous_models,
    engines,
    image_methods,
    judge,
    models,
    published,
    report,
    self_test,
    tables,
)
from reports.pages.study import Study
from reports.site.html import Entries, template

FILE = report.INDEX
HEADLINE = "ablation"  # the study that sets most printed numbers beside predictions
CERTIFIED, JUDGED = "certify", "judge"  # folders that simlab certify and simlab prove --judge write to
OWN = (
    *(page.file for page in tables.PAGES.values()),
    models.FILE,
    continuous_models.FILE,
    engines.FILE,
    image_methods.FILE,
    benchmarks.FILE,
)  # pages beside the report


class Missing(NamedTuple):
    """A study that is not on the site."""

    name: str
    title: str
    state: str
    command: str


def page(
    verdicts: Sequence[dict[str, Any]] | None,
    studies: Sequence[Study],
    missing: Sequence[Missing],
    problems: Sequence[str],
    entries: Entries,
    others: Entries,
    figures: Sequence[str],
) -> str:
    """The page as HTML; ``verdicts`` is None where no claims were decided."""
    paths = [path for _, path in entries]
    return template("index.html").render(
        entries=entries,
        here=FILE,
        problems=problems,
        verdicts=report.counts(verdicts or ()),
        meaning=report.VERDICT_NAMES,
        rests=report.rests(verdicts or ()),
        rests_meaning=report.MEANING,
        printed=published.FILE in paths,
        verify=report.COMMAND,
        studies=[
            {
                "name": study.run.name,
                "title": study.run.title,
                "path": study.path,
                "counterparts": "; ".join(filter(None, (each.counterpart for each in study.pictures))),
                "sequences": len(study.run.table),
            }
            for study in studies
        ],
        missing=missing,
        compare="" if models.FILE in paths else COMPARISON.command,
        headline=_headline(studies),
        others=others,
        figures=figures,
    )


def _headline(studies: Sequence[Study]) -> dict[str, Any] | None:
    """The table that sets most printed numbers beside predictions, and the page it is from."""
    for study in studies:
        if study.run.name == HEADLINE and not study.note:
            return {"table": study.tables[0], "path": study.path, "title": study.run.title}
    return None


def others(out: Path, entries: Entries, drawn: Collection[str]) -> Entries:
    """Links to what is no claim and no study; ``drawn`` are the paths of pages drawn now."""
    named = {
        f"{CERTIFIED}/{certificate.FILE}": "A certificate",
        f"{CERTIFIED}/{self_test.FILE}": "What the certifier finds",
    }
    judged = f"{JUDGED}/{judge.FILE}"
    return [
        *(entry for entry in entries if entry[1] in OWN),
        *((text, path) for path, text in named.items() if path in drawn),
        *([("A judged rule", judged)] if (out / judged).exists() else []),
    ]
