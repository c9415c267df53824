"""The page on a pair of continuous tokens: the results of ``simlab compare --model fashion-continuous``."""

from __future__ import annotations

from typing import Any

from reports.data.models import Compared
from reports.figures import continuous_models as figures
from reports.figures.models import acceptance, grid
from reports.pages.elements import Table, captioned, images, texts
from reports.site.gallery import Draw
from reports.site.html import Entries, number, template

FILE, TITLE = "continuous-models.html", "A pair of continuous tokens"


def page(found: Compared, entries: Entries, draw: Draw) -> str:
    """The page as HTML."""
    text, document, arrays = texts()["continuous_models"], found.document, found.arrays
    rows = document["methods"]
    names = [row["method"] for row in rows]
    labels = [document["classes"][label] for label in arrays["labels"][: arrays["images"].shape[1]]]
    drafting = [k for k, row in enumerate(rows) if row["acceptance"]["mean"] is not None]
    drawn = {"grid": grid(names, arrays["images"], labels), "acceptance": figures.acceptance(rows)}
    if drafting:
        drawn["maps"] = acceptance([names[k] for k in drafting], arrays["accepted"][drafting], "accepted share")
    return template("tables.html").render(
        heading=TITLE,
        lead=[text["lead"].strip(), said(document)],
        pictures=list(captioned(drawn, text["pictures"], "continuous-models").values()),
        tables=[methods(rows), told_apart_table(rows)],
        draw=draw,
        entries=entries,
        here=FILE,
    )


def said(document: dict[str, Any]) -> str:
    """How the images were drawn."""
    own = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in document["settings"].items())
    return (
        f"{images(document)}, {document['shape'][0]} x {document['shape'][1]} tokens of "
        f"{document['dimension']} numbers, on {document['device']}, seed {document['seed']}; blocks of "
        f"{document['gamma']} drafts behind {document['prefill']} tokens of the target; {own}."
    )


def methods(rows: list[dict[str, Any]], heading: str = "Methods") -> Table:
    """What each method costs and gives."""
    timed = {"seconds": "seconds", "speedup": "speedup", "eq. 51": "predicted"}
    records = [
        {
            "method": row["method"],
            "lossless": "yes" if row["lossless"] else "no",
            "last step": "noise" if row["noisy_end"] else "no noise",
            "accepted": number(row["acceptance"]["mean"], 3),
            "calls": number(row["steps"]["mean"], 1),
            "proposals a rejection": number(row["proposals"]["mean"], 2),
            "never taken": str(row["proposals"]["exhausted"]),
            **{
                f"{what}, batch {entry['batch']}": number(entry[key], 2)
                for entry in row["timing"]
                for what, key in timed.items()
            },
            "accuracy": number(row["quality"]["accuracy"], 3),
            "Frechet": number(row["quality"]["frechet_to_ar"], 3),
            "log Sigma, mean": number(row["log_sigma"] and row["log_sigma"]["mean"], 3),
            "gap, median": number(row["gap"] and row["gap"]["quantiles"]["0.5"], 2),
        }
        for row in rows
    ]
    return Table.of(heading, records, words=3)


def told_apart_table(rows: list[dict[str, Any]]) -> Table:
    """Whether images can be told from the target's own, and which deviation would have been."""
    records = [
        {
            "method": row["method"],
            "test": name,
            "told": "no" if check["passes"] else "yes",
            "p-value": f"{check['p_value']:.2g}",
            "n": f"{check['n']:,}",
            "surely told": "nothing" if check["detects"] is None else f"TV {check['detects']:.3f}",
        }
        for row in rows
        for name, check in row["checks"].items()
    ]
    return Table.of("Told from the target", records, words=3)
