"""What the page on real models says of where methods pay."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from reports.figures.payoff import called
from reports.pages.elements import Table


class Pays(NamedTuple):
    """Where methods pay, in words and as a table."""

    machine: str
    said: str
    chosen: Table


def pays(found: dict[str, Any] | None) -> Pays | None:
    """None where nothing was measured."""
    if found is None:
        return None
    guidance = found["sampling"]["guidance"]
    guided = f"guidance {guidance:g}" if guidance != 1 else "no guidance"
    machine = f"{found['device']}, threads: {found['threads']}; {guided}; {found['clock']}; torch "
    return Pays(machine + found["costs"]["versions"]["torch"], _said(found), chosen(found))


def _said(found: dict[str, Any]) -> str:
    """How good predictions are, and how good the choice."""
    off = [entry["measured"] / entry["predicted"] for entry in found["measured"] if entry["rows"] > 1]
    worst = max(entry["of_best"] for entry in found["auto"])
    return (
        f"{len(off)} speedups were measured: they are {np.median(off):.2f} of the predicted ones in the median, from "
        f"{min(off):.2f} to {max(off):.2f}. What auto takes needs at most {worst:.2f} times the seconds of the fastest "
        "method that was measured."
    )


def chosen(found: dict[str, Any]) -> Table:
    """What auto takes at each batch, and the fastest that was measured."""
    records = []
    for entry in found["auto"]:
        own = [each for each in found["measured"] if each["batch"] == entry["batch"]]
        best = max(own, key=lambda each: each["measured"])
        taken = next(each for each in own if (each["method"], each["settings"]) == (entry["method"], entry["settings"]))
        records.append(
            {
                "auto takes": called(entry),
                "fastest measured": called(best),
                "images at once": str(entry["batch"]),
                "predicted": f"{entry['predicted']:.2f} \u00d7",
                "measured": f"{taken['measured']:.2f} \u00d7",
                "the fastest": f"{best['measured']:.2f} \u00d7",
                "seconds over": f"{entry['of_best']:.2f}",
            }
        )
    note = (
        "Speedups over ar at the same batch: predicted and measured of what auto takes, measured of the fastest. The "
        "last column: seconds of what auto takes over those of the fastest."
    )
    return Table.of("What auto takes", records, note, words=2)
