"""The report: one self-contained HTML page, made from the files of ``simlab verify``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reports.data.files import Unreadable, read_json, read_table
from reports.data.measured import read_measured
from reports.data.models import replayed_points
from reports.figures import acceptance_maps, digits, small_processes
from reports.figures.plot_style import use_style
from reports.pages import claims as claim_pages
from reports.pages import continuous as continuous_page
from reports.pages import draft_length as draft_length_page
from reports.pages import published as published_page
from reports.site.gallery import Draw, inline
from reports.site.html import save, template

SOURCE, FILE, INDEX = "verdicts.json", "report.html", "index.html"
COMMAND = "simlab verify"
VERDICT_NAMES = {
    "holds": "proven, and the implementation checked against the proof",
    "holds-under-assumptions": "proven under the assumptions named",
    "refuted": "a counterexample is given",
    "not-refuted": "searched without finding a violation",
    "not-decided": "needs something this run does not do, or a check failed",
}
PAPERS = {
    "leviathan": "Base rule",
    "gsd": "Grouped speculative decoding (GSD)",
    "sjd": "Speculative Jacobi decoding (SJD)",
    "lantern": "LANTERN",
    "sjd-pac": "SJD-PAC",
    "scd": "Speculative coupled decoding (SCD)",
    "baselines": "Samplers and baselines",
    "lossy": "Lossy rules of later methods",
    "cspd": "Continuous speculative decoding (CSpD)",
    "hierarchical": "Hierarchical speculative decoding (HSD)",
    "traversal": "Traversal verification of trees",
    "candidates": "Several candidates for one position, and dynamic trees",
    "published": "Published numbers against each other",
}
KINDS = {
    "stated": "What the papers state",
    "stronger or weaker": "Stronger or weaker statements",
    "published code": "What published code does",
    "ours": "Results of ours",
}
COMPARED = ("speculative", "sjd, repeat-above")


@dataclass(frozen=True)
class Report:
    """The report, drawn and not yet written."""

    verdicts: dict[str, Any]
    text: str

    def save(self, out: Path) -> Path:
        """Write ``report.html`` to ``out``, a page a claim under ``claims``, and one of printed numbers."""
        claim_pages.build(out, self.verdicts, papers(self.verdicts["claims"]))
        published_page.build(out, self.verdicts)
        return save(out / FILE, self.text)


def build(out: Path) -> Path:
    """Write the report and the pages that belong to it beside the results in ``out``; raises as :func:`report`."""
    drawn = report(out)
    path = drawn.save(out)
    entries = [("Claims", FILE), ("Printed numbers", published_page.FILE)]
    for beside in (continuous_page, draft_length_page):
        beside.build(out, drawn.verdicts["claims"], entries)
    return path


def report(out: Path, draw: Draw = inline, indexed: bool = False) -> Report:
    """The report on the results in ``out``; ``draw`` puts figures on it.

    It leads to the index of the site if there is one, or will be: ``indexed``. Raises ``FileNotFoundError`` where
    results are missing, and :class:`~reports.data.files.Unreadable` where one cannot be read.
    """
    found, manifest = (read_json(out / name, COMMAND) for name in (SOURCE, "manifest.json"))
    if not isinstance(found.get("claims"), list):
        raise Unreadable(f"{out / SOURCE} cannot be read: it has no claims; run `{COMMAND}` again")
    if "headlines" not in found:
        raise Unreadable(f"{out / SOURCE} is of an earlier version of simlab; run `{COMMAND}` again")
    text = template("report.html").render(
        verdicts=found,
        manifest=manifest,
        counts=counts(found["claims"]),
        meaning=VERDICT_NAMES,
        kinds=KINDS,
        papers=papers(found["claims"]),
        measured=_measured(out, draw) if manifest["measured"] else None,
        home=INDEX if indexed or (out / INDEX).exists() else "",
    )
    return Report(found, text)


def counts(claims: Sequence[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """How many verdicts of each there are: on what papers state, on other statements, on code, and of ours."""
    groups = {name: [claim["verdict"] for claim in claims if claim["kind"] == kind] for kind, name in KINDS.items()}
    return {name: {v: found.count(v) for v in VERDICT_NAMES} for name, found in groups.items() if found}


def papers(claims: list[dict[str, Any]]) -> dict[str, str]:
    """The papers that have claims here, and what to call them; one that has no title here goes by its id."""
    there = dict.fromkeys(claim["paper"] for claim in claims)
    known = [paper for paper in PAPERS if paper in there]
    return {paper: PAPERS.get(paper, paper) for paper in [*known, *(p for p in there if p not in PAPERS)]}


def _measured(out: Path, draw: Draw) -> dict[str, Any]:
    """Tables and figures of the measurements."""
    use_style()
    table: Callable[[str], pd.DataFrame] = lambda name: read_table(out / f"{name}.parquet", COMMAND)  # noqa: E731
    measured, bound, codebook = table("digits"), table("digits-frontier"), table("codebook-map")
    mapped = bound["decoder"].iloc[0]  # the decoder whose contexts the frontier was computed on
    points = table("digits-map").query("decoder == @mapped")
    with np.load(out / "digits-samples.npz", allow_pickle=False) as archive:
        samples = {name: archive[name] for name in archive.files}
    methods = {"held-out data": samples["data"]} | {
        name.replace(" | (none)", "").replace(" | ", " × "): grid
        for name, grid in samples.items()
        if name.endswith("(none)") or name == "speculative | speculative" or name.startswith(f"{mapped} |")
    }
    return {
        "quality": table("digits-quality").to_dict("records")[0],
        "decoders": [
            {"name": name, "rows": part.to_dict("records")} for name, part in measured.groupby("decoder", sort=False)
        ],
        "mapped": mapped,
        "lossless": points["lossless"].iloc[0],
        "frontier": draw(
            "digits-map", acceptance_maps.digits_map(points, bound), "acceptance against distortion on digits"
        ),
        "rules": draw(
            "rules-map",
            acceptance_maps.rules_map({"rows over a codebook": codebook, "digits": points} | _recorded()),
            "acceptance of all rules against TV, KL and Wasserstein-1",
        ),
        "codebook": _codebook(codebook, table("codebook-frontier"), draw),
        "candidates": draw(
            "candidates",
            acceptance_maps.candidates_map(table("codebook-candidates")),
            "acceptance of several candidates",
        ),
        "steps": draw("steps", small_processes.steps(table("steps")), "exact step distributions"),
        "pac_steps": _pac_steps(table("pac-steps"), draw),
        "pac": _pac(table("digits-pac"), table("digits-lengths"), draw),
        "compounding": draw(
            "compounding", small_processes.compounding(table("compounding")), "TV of sequences against length"
        ),
        "digits_compounding": draw(
            "digits-compounding",
            digits.compounding(table("digits-compounding"), COMPARED),
            "distortion along a sequence of digits",
        ),
        "grid": draw("digits-samples", digits.grid(methods), "samples of each method"),
    }


def _recorded() -> dict[str, pd.DataFrame]:
    """The contexts of a recorded run that comes along, by what they are."""
    replays = list(read_measured().replays.values())[:1]
    return {f"image models, {each['recording']['method']}": replayed_points(each) for each in replays}


def _codebook(points: pd.DataFrame, frontier: pd.DataFrame, draw: Draw) -> dict[str, Any]:
    """The map over a codebook, and the table behind it with the least distance for each gain."""
    gained = points["acceptance"] - points["lossless"]
    rows = points.assign(gained=gained)
    return {
        "map": draw(
            "codebook-map",
            acceptance_maps.codebook_map(points, frontier),
            "acceptance against distortion over a codebook",
        ),
        "lossless": points["lossless"].iloc[0],
        "rows": rows.to_dict("records"),
    }


def _pac_steps(table: pd.DataFrame, draw: Draw) -> list[dict[str, Any]]:
    """The step distributions of each process, readings named beside their decoder."""
    named = table["decoder"].where(table["reading"] == "", table["decoder"] + ", " + table["reading"])
    table = table.assign(decoder=named)
    return [
        {"process": name, "figure": draw(f"pac-steps-{number}", small_processes.steps(part), f"steps of {name}")}
        for number, (name, part) in enumerate(table.groupby("world", sort=False), 1)
    ]


def _pac(runs: pd.DataFrame, lengths: pd.DataFrame, draw: Draw) -> dict[str, Any]:
    """SJD-PAC on digits: the figure of the first initialisation, and the table of all."""
    groups = [(str(name), part) for name, part in runs.groupby("initial", sort=False)]
    first = groups[0][0]
    return {
        "initial": first,
        "sequences": int(runs["sequences"].iloc[0]),
        "initials": [{"name": name, "rows": part.to_dict("records")} for name, part in groups],
        "figure": draw("digits-lengths", digits.lengths(lengths, runs, first), "tokens committed by a call"),
    }
