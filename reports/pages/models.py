"""The page on real models: the results of ``simlab compare``, beside the papers' numbers.

What ``simlab replay`` and ``simlab model device`` have saved beside it appears if it is there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.data.documents import COMPARISON, DEVICE, MAP, REPLAY
from reports.data.measured import COMMAND as MEASURED_COMMAND
from reports.data.measured import Measured
from reports.data.models import RECORD_COMMAND, Compared
from reports.figures import models as figures
from reports.figures import payoff as payoff_figures
from reports.pages import device_tables, models_tables, payoff_tables, published_comparison
from reports.pages.elements import Picture, captioned, images, texts
from reports.site.gallery import Draw
from reports.site.html import Entries, template
from theory.published.ledger import Ledger, published

FILE = "models.html"
MANY = 16  # images at once, at which it is asked what the best method brings


def page(
    found: Compared,
    replay: dict[str, Any] | None,
    device: dict[str, Any] | None,
    payoff: dict[str, Any] | None,
    measured: Measured,
    entries: Entries,
    draw: Draw,
) -> str:
    """The page as HTML; what a command did not measure is None, and ``measured`` comes along."""
    text, ledger = texts()["models"], published()
    payoff = payoff or measured.maps.get("map")
    drafts = {row["method"]: row["nodes"] for row in found.methods}
    orders = published_comparison.orders(found.compression, drafts, ledger)
    return template("models.html").render(
        heading="Real models",
        lead=[text["lead"].strip()],
        beside=text["beside"].strip(),
        facts=facts(found.document),
        files=found.document["model"]["sha256"],
        measures=found.document["measures"],
        pictures=pictures(found, replay, ledger, text["pictures"]) | payoff_pictures(payoff, text["payoff"]),
        sentences=models_tables.sentences(found),
        calls=models_tables.calls(found),
        speed=models_tables.speed(found),
        time=models_tables.time(found),
        quality=models_tables.quality(found),
        tests=models_tables.tests(found),
        orders=published_comparison.table(orders) if orders else None,
        summary=published_comparison.summary(orders),
        replayed=replay,
        rules=None if replay is None else models_tables.replayed(replay),
        device=device_tables.devices([*([device] if device else []), *measured.devices.values()], ledger),
        comparisons=[models_tables.elsewhere(own) for own in measured.comparisons.values() if own != found.document],
        pays=payoff_tables.pays(payoff),
        more=device_tables.more(measured, payoff),
        commands={
            "compare": COMPARISON.command, "record": RECORD_COMMAND, "replay": REPLAY.command,
            "device": DEVICE.command, "measured": MEASURED_COMMAND, "map": MAP.command,
        },
        draw=draw,
        entries=entries,
        here=FILE,
    )  # fmt: skip


def facts(document: dict[str, Any]) -> list[tuple[str, str]]:
    """What was run, a line a fact."""
    sampling, (rows, columns) = document["sampling"], document["shape"]
    said = [f"{name.replace('_', '-')} {value:g}" for name, value in sampling.items() if value is not None]
    said += [f"no {name.replace('_', '-')}" for name, value in sampling.items() if value is None]
    threads = f", threads: {document['threads']}" if document["device"] == "CPU" else ""
    return [
        ("model", f"{document['model']['name']}: {rows} x {columns} tokens out of {document['vocabulary']}"),
        ("device", f"{document['device']}{threads}"),
        ("sampling", ", ".join(said)),
        ("images", f"{images(document)}, with the same labels and random numbers; seed {document['seed']}"),
        ("clock", document["clock"]),
        ("memory", document["memory"]),
        ("versions", ", ".join(f"{name} {version}" for name, version in document["versions"].items())),
    ]


def pictures(
    found: Compared, replay: dict[str, Any] | None, ledger: Ledger, captions: list[dict[str, str]]
) -> dict[str, Picture]:
    """The figures for which there are numbers, by name, with their texts."""
    rows, arrays = found.methods, found.arrays
    names, drafting = [row["method"] for row in rows], np.flatnonzero(arrays["kept"].any(axis=(1, 2)))
    labels = [found.document["classes"][label] for label in arrays["labels"][arrays["shown"]]]
    methods = published_comparison.PRINTED_AS
    printed = {name: [float(row.value) for row in published_comparison.printed(ledger, name)] for name in methods}
    curve = arrays["offsets"], arrays["locality"], arrays["locality_error"], found.document["shape"][1]
    drawn = {
        "grid": figures.grid(names, arrays["images"], labels),
        "compression": figures.compression(rows),
        "distribution": figures.distribution(rows),
        "locality": figures.locality(*curve),
        "trade": figures.trade(rows),
    }
    if rows[0]["timing"]:  # a first table has none
        drawn |= {"speed": figures.speed(rows), "parts": figures.parts(rows)}
    if any(printed.get(name) for name in names):
        drawn["beside"] = figures.beside(rows, printed)
    if len(drafting):
        drawn["acceptance"] = figures.acceptance([names[k] for k in drafting], arrays["kept"][drafting])
    if replay is not None:
        drawn["replay"] = figures.replayed(replay["rules"])
    return captioned(drawn, captions, "models")


def payoff_pictures(payoff: dict[str, Any] | None, captions: list[dict[str, str]]) -> dict[str, Picture]:
    """The figures on where methods pay, where that was measured."""
    if payoff is None:
        return {}
    drawn = {
        "pays-cost": payoff_figures.cost(payoff["costs"]["target"]),
        "pays-most": payoff_figures.possible(payoff["predicted"], payoff["measured"], MANY),
        "pays": payoff_figures.speedups(payoff["predicted"], payoff["measured"]),
        "pays-map": payoff_figures.regions(payoff["predicted"], payoff["measured"]),
    }
    return captioned(drawn, captions, "models")
