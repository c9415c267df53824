"""The page on real models: drawn from what ``simlab compare`` has written, beside the papers' numbers.

What ``simlab replay`` and ``simlab device`` have left beside it is shown where it is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reports.data.models import COMMAND, RECORD, REPLAYED, Compared
from reports.figures import models as models_figures
from reports.pages import device_tables as models_device
from reports.pages import models_tables
from reports.pages import published_comparison as models_beside
from reports.pages.published_comparison import PRINTED_AS
from reports.pages.studies import texts
from reports.pages.study import Picture
from reports.site.gallery import Draw
from reports.site.html import template
from theory.published.ledger import Ledger, published

FILE = "models.html"


def page(
    found: Compared,
    replay: dict[str, Any] | None,
    device: dict[str, Any] | None,
    entries: Sequence[tuple[str, str]],
    draw: Draw,
    mark: str,
) -> str:
    """The page as HTML; ``replay`` and ``device`` are None where nothing was measured."""
    told, ledger = texts()["models"], published()
    drafts = {row["method"]: row["nodes"] for row in found.methods}
    ordered = models_beside.orders(found.compression, drafts, ledger)
    shown = {each.name.removeprefix("models-"): each for each in pictures(found, replay, ledger, told["pictures"])}
    return template("models.html").render(
        lead=told["lead"].strip(),
        beside=told["beside"].strip(),
        facts=facts(found.document),
        files=found.document["model"]["sha256"],
        measures=found.document["measures"],
        pictures=shown,
        drawings={name: draw(each.name, each.figure, each.heading) for name, each in shown.items()},
        said=models_tables.said(found),
        calls=models_tables.calls(found),
        time=models_tables.time(found),
        quality=models_tables.quality(found),
        tests=models_tables.tests(found),
        orders=models_beside.sheet(ordered) if ordered else None,
        summary=models_beside.summary(ordered),
        replayed=replay,
        rules=None if replay is None else models_tables.replayed(replay),
        device=models_device.told(device, ledger),
        commands={"compare": COMMAND, "record": RECORD, "replay": REPLAYED, "device": models_device.COMMAND},
        entries=entries,
        here=FILE,
        mark=mark,
    )


def facts(document: dict[str, Any]) -> list[tuple[str, str]]:
    """What was run, a line a fact."""
    sampling, (rows, columns) = document["sampling"], document["shape"]
    told = [f"{name.replace('_', '-')} {value:g}" for name, value in sampling.items() if value is not None]
    told += [f"no {name.replace('_', '-')}" for name, value in sampling.items() if value is None]
    threads = f", threads: {document['threads']}" if document["device"] == "CPU" else ""
    return [
        ("model", f"{document['model']['name']}: {rows} x {columns} tokens out of {document['vocabulary']}"),
        ("device", f"{document['device']}{threads}"),
        ("sampling", ", ".join(told)),
        ("images", f"{document['n']} of each method, with the same labels and random numbers; seed {document['seed']}"),
        ("memory", document["memory"]),
        ("versions", ", ".join(f"{name} {version}" for name, version in document["versions"].items())),
    ]


def pictures(
    found: Compared, replay: dict[str, Any] | None, ledger: Ledger, told: list[dict[str, str]]
) -> list[Picture]:
    """The figures there is something for, with what ``told`` says of them."""
    rows, arrays = found.methods, found.arrays
    names, drafting = [row["method"] for row in rows], np.flatnonzero(arrays["kept"].any(axis=(1, 2)))
    labels = [found.document["classes"][label] for label in arrays["labels"][arrays["shown"]]]
    printed = {name: [float(row.value) for row in models_beside.printed(ledger, name)] for name in PRINTED_AS}
    curve = arrays["offsets"], arrays["locality"], arrays["locality_error"], found.document["shape"][1]
    drawn = {
        "grid": models_figures.grid(names, arrays["images"], labels),
        "compression": models_figures.compression(rows),
        "distribution": models_figures.distribution(rows),
        "locality": models_figures.locality(*curve),
        "trade": models_figures.trade(rows),
    }
    if any(printed.get(name) for name in names):
        drawn["beside"] = models_figures.beside(rows, printed)
    if len(drafting):
        own = [names[k] for k in drafting]
        drawn["acceptance"] = models_figures.acceptance(own, arrays["kept"][drafting])
    if replay is not None:
        drawn["replay"] = models_figures.replayed(replay["rules"])
    return [
        Picture(
            f"models-{text['name']}",
            text["heading"],
            drawn[text["name"]],
            text["caption"].strip(),
            text.get("counterpart", ""),
        )
        for text in told
        if text["name"] in drawn
    ]
