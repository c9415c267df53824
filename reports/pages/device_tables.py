"""Tables of the time of a decoding step on a device (``simlab device``), beside SJD-PAC's Table 4."""

from __future__ import annotations

from typing import Any, NamedTuple

from reports.pages.elements import Table
from theory.published.ledger import Ledger, Row

WAYS = ("eager", "graph", "compiled")

Entry = dict[str, Any]


class Device(NamedTuple):
    """What a step costs on a device, as tables."""

    title: str  # the device, and what it was measured with
    cuda: bool
    small: bool
    breakdown: Table
    verification: Table | None
    missing: list[str]  # what was not measured, and why


def device(found: Entry | None, ledger: Ledger) -> Device:
    """The tables of a document; printed numbers alone where there is none."""
    if found is None:
        return Device("", False, False, breakdown({}, 64, ledger), None, [])
    models = {name: parts for name, parts in found["breakdown"].items() if "not_measured" not in parts}
    absent = [f"{name}: {parts['not_measured']}" for name, parts in found["breakdown"].items() if name not in models]
    absent += [
        f"{way}: {reason}"
        for way in WAYS
        for reason in dict.fromkeys(entry[way].get("not_measured") for entry in found["verification"])
        if reason
    ]
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    return Device(
        f"{found['device']}; {versions}",
        not found["device"].startswith("CPU"),
        found["small"],
        breakdown(models, found["window"], ledger),
        verification(found["verification"]),
        absent,
    )


def breakdown(models: dict[str, Entry], window: int, ledger: Ledger) -> Table:
    """The parts of a step: milliseconds as printed, and of every model."""

    def printed(metric: str, method: str = "sjd-pac") -> str:
        row: Row = ledger.one(paper="sjd-pac", table="4", method=method, metric=metric)
        return row.printed

    parts = [
        ("model, 1 token", printed("model_forward_ms", "ar"), ("forward_1",)),
        (f"model, {window} tokens", printed("model_forward_ms") if window == 64 else "–", (f"forward_{window}",)),
        ("from logits to rows", "–", ("sampling",)),
        ("verification and drafting", printed("tree_verification_and_generation_ms"), ("verification",)),
        ("cache: window written", "–", ("cache", "write")),
        ("cache: accepted path moved", printed("kv_cache_update_ms"), ("cache", "move")),
        ("cache: a copy of all, which is not done", "–", ("cache", "copy_of_all")),
        ("other", printed("other_ms"), ()),
        ("whole step", "–", ("step",)),
    ]
    rows = [[name, number, *(_at(own, path) for own in models.values())] for name, number, path in parts]
    rows = [row for row in rows if set(row[1:]) != {"–"}]
    columns = ["part, ms", "printed, Lumina-mGPT (SJD-PAC Table 4)", *models]
    note = "Medians of single calls, by the clock; in brackets between two events on the device." if models else ""
    return Table("Parts of a step", columns, rows, note)


def verification(entries: list[Entry]) -> Table:
    """A step over rows that are ready, in the ways there are to run it."""
    rows = [
        [
            entry["decoder"],
            f"{entry['vocabulary']:,}",
            str(entry["nodes"]),
            *(_ms(entry[way]) for way in WAYS),
            *(str(entry[name]) for name in ("operations", "host_reads")),
        ]
        for entry in entries
    ]
    columns = ["decoder", "V", "drafts", "eager, ms", "as a graph, ms", "compiled, ms", "operations", "host reads"]
    return Table("Verification", columns, rows)


def _at(parts: Entry, path: tuple[str, ...]) -> str:
    """The time of the part at ``path``; a dash where there is none."""
    for name in path:
        parts = parts.get(name, {})
    return _ms(parts) if path else "–"


def _ms(entry: Entry) -> str:
    if "ms" not in entry:
        return "–"
    return f"{entry['ms']:.3f}" + (f" ({entry['device_ms']:.3f})" if "device_ms" in entry else "")
