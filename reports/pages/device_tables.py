"""Tables of the time of a decoding step on devices (``simlab model device``), beside SJD-PAC's Table 4."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from reports.data.measured import Measured
from reports.pages import continuous_models, payoff_tables
from reports.pages.elements import Table
from reports.site.html import number
from theory.published.ledger import Ledger, Row

Entry = dict[str, Any]


class Devices(NamedTuple):
    """What a step costs on devices, as tables."""

    told: list[str]  # of each, what it is and what was measured with what
    cuda: bool  # whether one of them is a CUDA device
    breakdown: Table
    verification: Table | None
    missing: list[str]  # what was not measured, and why


def devices(found: Sequence[Entry], ledger: Ledger) -> Devices:
    """The tables of documents; printed numbers alone where there are none."""
    found = _told_apart(found)
    verified = any(document["verification"] for document in found)
    return Devices(
        [_device_text(document) for document in found],
        any(not document["device"].startswith("CPU") for document in found),
        breakdown(found, ledger),
        verification(found) if verified else None,
        list(dict.fromkeys(text for document in found for text in _missing(document))),
    )


def _told_apart(found: Sequence[Entry]) -> list[Entry]:
    """The same, with a number behind the name of a device that an earlier document is of too."""
    seen, named = Counter[str](), list[Entry]()
    for document in found:
        seen[document["device"]] += 1
        count = seen[document["device"]]
        named.append(document | {"device": f"{document['device']} ({count})"} if count > 1 else document)
    return named


def more(measured: Measured, shown: Entry | None) -> list[Table]:
    """All else that devices have measured, but for the map that is ``shown``: comparisons of continuous tokens, where
    methods pay, certificates, and what became of days."""
    tables = [
        continuous_models.methods(own["methods"], f"Continuous tokens, {name}") for name, own in measured.pairs.items()
    ]
    maps = {name: own for name, own in measured.maps.items() if own is not shown}
    tables += [replace(payoff_tables.chosen(own), heading=f"What auto takes, {name}") for name, own in maps.items()]
    if measured.certificates:
        told = [
            (name, *(own[key] for key in ("subject", "contract", "verdict", "summary")))
            for name, own in measured.certificates.items()
        ]
        tables.append(Table("Certified on devices", ("file", "subject", "contract", "verdict", ""), told, words=5))
    for day in measured.days.values():
        steps = [
            {
                "step": name,
                "": step["state"],
                "said last": step["said"][-1] if step["said"] else "",
                "seconds": number(step["seconds"], 0),
            }
            for name, step in day["steps"].items()
        ]
        tables.append(Table.of(f"A day on {day['name']}", steps, words=3))
    return tables


def breakdown(found: Sequence[Entry], ledger: Ledger) -> Table:
    """The parts of a step: milliseconds as printed, and of every model on every device."""

    def printed(metric: str, method: str = "sjd-pac") -> str:
        row: Row = ledger.one(paper="sjd-pac", table="4", method=method, metric=metric)
        return row.printed

    models = {
        f"{name}, {document['device']}": parts | {"window": parts.get(f"forward_{document['window']}", {})}
        for document in found
        for name, parts in document["breakdown"].items()
        if "not_measured" not in parts
    }
    windows = {f"{document['window']}" for document in found} | {"64"}
    parts: list[tuple[str, str, tuple[str, ...]]] = [
        ("model, 1 token", printed("model_forward_ms", "ar"), ("forward_1",)),
        ("model, a window", printed("model_forward_ms"), ("window",)),
        ("from logits to rows", "–", ("sampling",)),
        ("verification and drafting", printed("tree_verification_and_generation_ms"), ("verification",)),
        ("cache: slots, masks, accepted path", printed("kv_cache_update_ms"), ("parts", "cache")),
        ("cache: a copy of all, which is not done", "–", ("cache", "copy_of_all")),
        ("other", printed("other_ms"), ()),
        ("whole step", "–", ("step",)),
        ("whole step, recorded as a graph", "–", ("step_graph",)),
    ]
    rows = [[name, number, *(_at(own, path) for own in models.values())] for name, number, path in parts]
    rows = [row for row in rows if set(row[1:]) != {"–"}]
    columns = ["part, ms", "printed, Lumina-mGPT (SJD-PAC Table 4)", *models]
    note = "Medians of single calls, by the clock; in brackets between two events on the device." if models else ""
    if len(windows) > 1:
        note += " A window has 64 tokens in print" + "".join(
            f", {document['window']} on {document['device']}" for document in found
        )
        note += "."
    return Table("Parts of a step", columns, rows, note.strip())


def verification(found: Sequence[Entry]) -> Table:
    """A step over rows that are ready, in the ways there are to run it."""
    ways = _ways(found)
    records = [
        {
            "decoder": entry["decoder"],
            "device": document["device"],
            "V": f"{entry['vocabulary']:,}",
            "drafts": str(entry["nodes"]),
            **{f"{way}, ms": _ms(entry.get(way, {})) for way in ways},
            "operations": str(entry["operations"]),
            "host reads": str(entry["host_reads"]),
        }
        for document in found
        for entry in document["verification"]
    ]
    return Table.of("Verification", records, words=2)


def _device_text(document: Entry) -> str:
    """What the device is, and what was measured with what."""
    versions = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    small = " Small sizes: these numbers only show that everything runs." if document["small"] else ""
    return f"{document['device']}; {versions}.{small}"


def _ways(found: Sequence[Entry]) -> list[str]:
    """The ways to run a step that there are entries of."""
    entries = [entry for document in found for entry in document["verification"]]
    return list(dict.fromkeys(way for entry in entries for way, took in entry.items() if isinstance(took, Mapping)))


def _missing(document: Entry) -> list[str]:
    """What was not measured on a device, and why."""
    parts = [(name, own["not_measured"]) for name, own in document["breakdown"].items() if "not_measured" in own]
    parts += [
        (way, entry[way]["not_measured"])
        for way in _ways([document])
        for entry in document["verification"]
        if "not_measured" in entry.get(way, {})
    ]
    return [f"{name}: {reason} ({document['device']})" for name, reason in parts]


def _at(parts: Entry, path: tuple[str, ...]) -> str:
    """The time of the part at ``path``; a dash where there is none."""
    for name in path:
        parts = parts.get(name, {})
    return _ms(parts) if path else "–"


def _ms(entry: Entry) -> str:
    if "ms" not in entry:
        return "–"
    return f"{entry['ms']:.3f}" + (f" ({entry['device_ms']:.3f})" if "device_ms" in entry else "")
