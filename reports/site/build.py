"""The whole site from saved results: claims, printed numbers, a page a study, large vocabularies, continuous tokens,
real models, benchmarks, what was certified, an index, figures as PDF.

Nothing is simulated. A result that is not there is named on the index with the command that makes it; one that is there
but cannot be read is named with its file, and the rest is drawn without it. Every file is written whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from reports.data import models as saved_models
from reports.data.documents import BENCHMARKS, CERTIFICATE, DEVICE, MAP, SELF_TEST
from reports.data.engines import read_engines
from reports.data.files import Unreadable
from reports.data.measured import Measured, read_measured
from reports.data.models import Compared
from reports.data.sweeps import KEPT, Run, command, find, read, shipped
from reports.figures.plot_style import use_style
from reports.pages import (
    benchmarks,
    certificate,
    continuous_models,
    engines,
    image_methods,
    index,
    models,
    published,
    report,
    self_test,
    tables,
)
from reports.pages.index import Missing
from reports.pages.study import FOLDER, Study, order, study
from reports.pages.study import page as study_page
from reports.site.gallery import Draw, Gallery
from reports.site.html import Entries, remove, save
from theory.published import ledger

RUNS = ("runs", "sweeps")  # folders beside the other results where runs are looked for

Read = TypeVar("Read")


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
    use_style()
    site, gallery = Site(out / index.FILE), Gallery()
    claims = _report(out, gallery.on(), site)
    kept = find([KEPT]) if claims else []  # beside claims, the runs that come along
    folders = list(folders)
    site.notes += [
        f"{folder} has no runs; expected folders that simlab run wrote" for folder in folders if not find([folder])
    ]
    studies = _studies(find(folders or [out / name for name in RUNS]), kept, site, out)
    bench, own = _tried(BENCHMARKS.there, out, site), _tried(saved_models.read, out, site)
    stale = report.BESIDE if report.are_stale(out) else ()
    saved = {page: _tried(page.saved.read, out, site) for page in tables.PAGES.values() if page.name not in stale}
    measured_tables = {page: found for page, found in saved.items() if found}
    compared, pair = own, _tried(saved_models.read_pair, out, site)
    certified = _certified(out, site)
    found = (studies, claims, bench, measured_tables, compared, pair, certified, site.problems)
    if not any(found):
        raise FileNotFoundError(2, "there are no results of simlab verify, run, compare, bench or certify", str(out))
    others = _tried(lambda _: read_engines(), out, site)
    images = None
    if claims:  # beside them, the comparisons that come along
        images = _tried(lambda _: image_methods.read(), out, site)
        compared = compared or _tried(lambda _: saved_models.kept(), out, site)
        pair = pair or _tried(lambda _: saved_models.kept_pair(), out, site)
    verdicts = claims.verdicts["claims"] if claims else []
    printed = any(claim["paper"] == published.PAPER for claim in verdicts)
    entries: list[tuple[str, str]] = []  # of all that is linked from every page, in this order
    draw = gallery.on()
    pages: list[tuple[Any, str, str, Callable[[Any], str] | None]] = [  # what it is of, what it is called, its file
        (True, "Index", index.FILE, None),
        (claims, "Claims", report.FILE, None),
        (printed, "Printed numbers", published.FILE, None),
        *(
            (each, each.run.name, each.path, lambda one: study_page(one, entries, gallery.on("../")))
            for each in studies
        ),
        *(
            (own, page.title, page.file, lambda one, page=page: page.html(one, verdicts, entries, draw))
            for page, own in measured_tables.items()
        ),
        (compared, "Real models", models.FILE, lambda one: _models_page(one, one is own, out, site, entries, draw)),
        (pair, continuous_models.TITLE, continuous_models.FILE, lambda one: continuous_models.page(one, entries, draw)),
        (images, image_methods.TITLE, image_methods.FILE, lambda one: image_methods.page(one, entries, draw)),
        (others, engines.TITLE, engines.FILE, lambda one: engines.page(one, entries)),
        (bench, "Benchmarks", benchmarks.FILE, lambda one: benchmarks.page(one, entries, draw)),
    ]
    pages = [page for page in pages if page[0]]
    entries += [(title, file) for _, title, file, _ in pages]
    files = certified | {file: made(of) for of, _, file, made in pages if made}
    files[index.FILE] = index.page(
        verdicts if claims else None,
        studies,
        site.missing,
        site.problems,
        entries,
        index.others(out, entries, files.keys()),
        sorted(gallery.files),
    )
    if claims:
        site.pages.append(claims.save(out).name)
    for path, text in files.items():
        save(out / path, text)
    gallery.write(out)
    for old in [*(out / name for name in index.OWN), *(out / FOLDER).glob("*.html")]:
        if old.relative_to(out).as_posix() not in files:
            remove(old)
    site.pages += sorted(files)
    return site


def _studies(folders: list[Path], kept: list[Path], site: Site, out: Path) -> list[Study]:
    """The studies of the runs in ``folders`` that can be drawn, and of ``kept`` ones in their absence.

    Others, and those that nobody has run, are missing.
    """
    found: dict[str, Run] = {}
    absent: dict[str, Missing] = {}
    titles = shipped()
    for folder in [*folders, *kept]:
        try:
            run = read(folder)
        except (FileNotFoundError, Unreadable) as error:
            name, damaged = folder.resolve().name, isinstance(error, Unreadable)
            site.problems += [str(error)] if damaged else []
            state, spec = "cannot be read" if damaged else "not finished", name if name in titles else "SPEC"
            absent.setdefault(name, Missing(name, titles.get(name, ""), state, command(spec, folder)))
        else:
            if run.name in found and folder not in kept:
                site.notes.append(f"{run.name} is drawn from {found[run.name].folder}, not from {folder}")
            found.setdefault(run.name, run)
    for name, title in titles.items():
        absent.setdefault(name, Missing(name, title, "not there", command(name, out / RUNS[0] / name)))
    site.missing = [absent[name] for name in sorted(absent, key=order) if name not in found]
    printed = ledger.published()
    return [study(found[name], printed) for name in sorted(found, key=order)]


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
    for page, document in ((certificate, CERTIFICATE), (self_test, SELF_TEST)):
        if found := _tried(document.there, out / index.CERTIFIED, site):
            pages[f"{index.CERTIFIED}/{page.FILE}"] = page.page(found)
    return pages


def _models_page(compared: Compared, own: bool, out: Path, site: Site, entries: Entries, draw: Draw) -> str:
    """The page on real models; beside a comparison of one's ``own`` there is no replay that comes along."""
    replay = _tried(saved_models.read_replay, out, site)
    device, payoff = (_tried(document.there, out, site) for document in (DEVICE, MAP))
    measured = _tried(lambda _: read_measured(), out, site) or Measured({}, {}, {}, {}, {}, {}, {})
    replay = replay or (None if own else next(iter(measured.replays.values()), None))
    return models.page(compared, replay, device, payoff, measured, entries, draw)


def _report(out: Path, draw: Draw, site: Site) -> report.Report | None:
    """The report on what ``simlab verify`` left; nothing, and a problem, where results are missing or unreadable."""
    if not (out / report.SOURCE).exists():
        return None
    try:
        return report.report(out, draw, indexed=True)
    except FileNotFoundError as error:
        site.problems.append(f"{error.filename} is missing; `{report.COMMAND}` makes all results of the report")
    except Unreadable as error:
        site.problems.append(str(error))
    return None
