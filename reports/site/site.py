"""The whole site from saved results: claims, printed numbers, a page a study, large vocabularies, continuous tokens,
real models, benchmarks, what was certified, an index, figures as PDF.

Nothing is simulated. A result that is not there is named on the index with the command that makes it; one that is there
but cannot be read is named with its file, and the rest is drawn without it. Every file is written whole or not at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from experiments.results import write
from reports.data import models as models_saved
from reports.data.averages import told_units
from reports.data.runs import Run, Unreadable, command, find, read, shipped
from reports.figures import basic as figures
from reports.pages import bench as bench_page
from reports.pages import certificate as certify_page
from reports.pages import continuous as continuous_page
from reports.pages import large_vocabulary as large_page
from reports.pages import models as models_page
from reports.pages import published as published_page
from reports.pages import report as page
from reports.pages import self_test as certify_selftest_page
from reports.pages.report import INDEX
from reports.pages.studies import STUDIES, content
from reports.pages.study import Content
from reports.site.gallery import Draw, Gallery
from reports.site.html import template
from theory.published.ledger import published

FOLDER = "studies"
MARK = '<meta name="generator" content="simlab site">'  # by which pages of earlier runs are known again
HEADLINE = "ablation"
CERTIFIED = "certify"  # the folder that simlab certify writes to
# Pages beside the report, if there is anything for them
OWN = (large_page.FILE, continuous_page.FILE, models_page.FILE, bench_page.FILE)
RUNS = ("runs", "sweeps")  # folders beside the other results where runs are looked for

Read = TypeVar("Read")
Entries = list[tuple[str, str]]  # of the navigation: what they are called, and where they are


class Missing(NamedTuple):
    """A study that is not on the site."""

    name: str
    title: str
    state: str
    command: str


class Study(NamedTuple):
    """A study that is on the site."""

    run: Run
    content: Content
    note: str  # why figures of its own are missing
    path: str


@dataclass
class Site:
    """What a build has drawn, and what it could not draw."""

    index: Path
    pages: list[str] = field(default_factory=list)  # by their paths in the folder
    missing: list[Missing] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)  # results that cannot be read
    notes: list[str] = field(default_factory=list)


def build(out: Path, folders: Iterable[Path] = ()) -> Site:
    """Draw the site of the results in ``out`` and of the runs in ``folders``, or in ``out/runs`` and ``out/sweeps``.

    Raises ``FileNotFoundError`` where there is nothing to draw, and ``OSError`` where a file cannot be written.
    """
    figures.style()
    site, gallery = Site(out / INDEX), Gallery()
    studies = _studies(find(folders or [out / name for name in RUNS]), site, out)
    report = _report(out, gallery.on(), site)
    bench, large = _tried(bench_page.read, out, site), _tried(large_page.tables, out, site)
    continuous, models = _tried(continuous_page.tables, out, site), _tried(models_saved.read, out, site)
    certified = _certified(out, site)
    if not (studies or report or bench or large or continuous or models or certified or site.problems):
        raise FileNotFoundError(2, "there are no results of simlab verify, run, compare, bench or certify", str(out))
    verdicts = report.verdicts["claims"] if report else []
    printed = any(claim["paper"] == published_page.PAPER for claim in verdicts)
    entries: Entries = [("Index", INDEX)]
    entries += [("Claims", page.FILE)] if report else []
    entries += [("Printed numbers", published_page.FILE)] if printed else []
    entries += [(study.run.name, study.path) for study in studies]
    entries += [("Large vocabularies", large_page.FILE)] if large else []
    entries += [("Continuous tokens", continuous_page.FILE)] if continuous else []
    entries += [("Real models", models_page.FILE)] if models else []
    entries += [("Benchmarks", bench_page.FILE)] if bench else []
    files = certified | {study.path: _study_page(study, entries, gallery.on("../")) for study in studies}
    if large:
        files[large_page.FILE] = large_page.page(large, entries, gallery.on(), MARK)
    if continuous:
        files[continuous_page.FILE] = continuous_page.page(continuous, verdicts, entries, gallery.on(), MARK)
    if models:
        replay, device = _tried(models_saved.read_replay, out, site), _tried(models_saved.read_device, out, site)
        files[models_page.FILE] = models_page.page(models, replay, device, entries, gallery.on(), MARK)
    if bench:
        files[bench_page.FILE] = bench_page.page(bench, entries, gallery.on(), MARK)
    files[INDEX] = _index(out, site, report, studies, entries, files.keys(), gallery)
    if report:
        site.pages.append(report.save(out).name)
    for path, text in files.items():
        write(out / path, partial(Path.write_text, data=text, encoding="utf-8"))
    gallery.write(out)
    _tidy(out, set(files))
    site.pages += sorted(files)
    return site


def _studies(folders: list[Path], site: Site, out: Path) -> list[Study]:
    """The runs in ``folders`` that can be drawn; the others, and those that nobody has run, are told of."""
    found: dict[str, Run] = {}
    absent: dict[str, Missing] = {}
    titles = shipped()
    for folder in folders:
        try:
            run = read(folder)
        except FileNotFoundError:
            name = folder.resolve().name
            title, spec = titles.get(name, ""), name if name in titles else "SPEC"
            absent.setdefault(name, Missing(name, title, "not finished", command(spec, folder)))
        except Unreadable as error:
            site.problems.append(str(error))
            name = folder.resolve().name
            absent.setdefault(name, Missing(name, titles.get(name, ""), "cannot be read", command(name, folder)))
        else:
            if run.name in found:
                site.notes.append(f"{run.name} is drawn from {found[run.name].folder}, not from {folder}")
            found.setdefault(run.name, run)
    for name, title in titles.items():
        absent.setdefault(name, Missing(name, title, "not there", command(name, out / RUNS[0] / name)))
    site.missing = [absent[name] for name in sorted(absent, key=_order) if name not in found]
    ledger = published()
    return [Study(found[name], *content(found[name], ledger), _path(name)) for name in sorted(found, key=_order)]


def _order(name: str) -> tuple[int, str]:
    """Studies that have figures of their own first, in the order they are written down."""
    known = list(STUDIES)
    return (known.index(name) if name in known else len(known), name)


def _path(name: str) -> str:
    return f"{FOLDER}/{re.sub(r'[^A-Za-z0-9_-]+', '-', name)}.html"


def _tried(reading: Callable[[Path], Read], out: Path, site: Site) -> Read | None:
    """What ``reading`` finds in ``out``; nothing, and a problem, where that cannot be read."""
    try:
        return reading(out)
    except Unreadable as error:
        site.problems.append(str(error))
        return None


def _certified(out: Path, site: Site) -> dict[str, str]:
    """The pages of what ``simlab certify`` left, by their paths; none, and a problem, where that cannot be read."""
    pages = {}
    for drawer in (certify_page, certify_selftest_page):
        try:
            pages[f"{CERTIFIED}/{drawer.FILE}"] = drawer.page(drawer.read(out / CERTIFIED))
        except FileNotFoundError:
            continue
        except Unreadable as error:
            site.problems.append(str(error))
    return pages


def _report(out: Path, draw: Draw, site: Site) -> page.Report | None:
    """The report on what ``simlab verify`` left; nothing, and a problem, where that is not whole."""
    if not (out / page.SOURCE).exists():
        return None
    try:
        return page.report(out, draw, indexed=True)
    except FileNotFoundError as error:
        site.problems.append(f"{error.filename} is missing; `{page.COMMAND}` makes all results of the report")
    except Unreadable as error:
        site.problems.append(str(error))
    return None


def _study_page(study: Study, entries: Entries, draw: Draw) -> str:
    run = study.run
    return template("study.html").render(
        run=run,
        content=study.content,
        note=study.note,
        told=told_units(run.table),
        drawings={each.name: draw(each.name, each.figure, each.heading) for each in study.content.pictures},
        entries=entries,
        here=study.path,
        command=run.again,
        folder=run.folder.as_posix(),
        written=json.dumps(run.spec, indent=1, ensure_ascii=False),
        mark=MARK,
    )


def _index(
    out: Path,
    site: Site,
    report: page.Report | None,
    studies: list[Study],
    entries: Entries,
    drawn: Collection[str],
    gallery: Gallery,
) -> str:
    verdicts = [claim["verdict"] for claim in report.verdicts["claims"]] if report else []
    return template("index.html").render(
        entries=entries,
        problems=site.problems,
        verdicts={name: verdicts.count(name) for name in page.VERDICT_NAMES} if report else {},
        printed=any(path == published_page.FILE for _, path in entries),
        verify=page.COMMAND,
        studies=[
            {
                "name": study.run.name,
                "title": study.run.title,
                "path": study.path,
                "counterparts": "; ".join(filter(None, (each.counterpart for each in study.content.pictures))),
                "sequences": len(study.run.table),
            }
            for study in studies
        ],
        missing=site.missing,
        compare="" if any(path == models_page.FILE for _, path in entries) else models_saved.COMMAND,
        headline=_headline(studies),
        others=_others(out, entries, drawn),
        figures=sorted(gallery.files),
        mark=MARK,
    )


def _headline(studies: list[Study]) -> dict[str, Any] | None:
    """The table that sets most printed numbers beside predictions, and the page it is from."""
    for study in studies:
        if study.run.name == HEADLINE and not study.note:
            return {"sheet": study.content.sheets[0], "path": study.path, "title": study.run.title}
    return None


def _others(out: Path, entries: Entries, drawn: Collection[str]) -> Entries:
    """What the index has links to that is no claim and no study; ``drawn`` are the paths of pages drawn now."""
    found = [entry for entry in entries if entry[1] in OWN]
    told = {
        f"{CERTIFIED}/{certify_page.FILE}": "A certificate",
        f"{CERTIFIED}/{certify_selftest_page.FILE}": "What the certifier finds",
    }
    found += [(text, path) for path, text in told.items() if path in drawn]
    judged = Path("judge/judge.html")
    return [*found, *([("A judged rule", judged.as_posix())] if (out / judged).exists() else [])]


def _tidy(out: Path, files: set[str]) -> None:
    """Pages that earlier builds have left and that are not drawn any more go away."""
    for path in [*(out / name for name in OWN), *(out / FOLDER).glob("*.html")]:
        name = path.relative_to(out).as_posix()
        if name not in files and path.exists() and MARK in path.read_text(encoding="utf-8", errors="replace"):
            path.unlink()
