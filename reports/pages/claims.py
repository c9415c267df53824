"""The pages of single claims, linked to and from the report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from reports.site.html import remove, save, template
from theory.papers import PAPERS

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = {
    "leviathan": "base_rule.py",
    "gsd": "gsd.py",
    "sjd": "sjd.py",
    "lantern": "lantern.py",
    "sjd-pac": "sjd_pac.py",
    "cspd": "cspd.py",
}
COLOURS = {  # of badges; white letters are readable on each
    "holds": "#18794e",
    "holds-under-assumptions": "#0b6e8a",
    "refuted": "#b3261e",
    "not-refuted": "#8a6100",
    "not-decided": "#5a6673",
}


def build(out: Path, verdicts: dict[str, Any], papers: dict[str, str]) -> None:
    """Write ``claims/<id>.html`` and a badge ``claims/<id>.svg`` for every claim.

    The addresses of entries that moved lead to where they are. Pages of earlier runs whose claims are not among these
    go away.
    """
    folder, draw, badge = out / "claims", template("claim.html").render, template("badge.svg").render
    entries = {claim["id"]: claim for claim in verdicts["claims"]}
    ids = list(entries)
    for id, before, after in zip(ids, [None, *ids], [*ids[1:], None], strict=False):
        claim, program = entries[id], folder / f"{id}.py"  # its witness, which `simlab verify` wrote there
        page = draw(
            claim=claim,
            seed=verdicts["seed"],
            simlab=verdicts["simlab"],
            failed=verdicts["failed"].get(id),
            paper=papers[claim["paper"]],
            arxiv=PAPERS[claim["paper"]].arxiv if claim["paper"] in PAPERS else "",
            before=before,
            after=after,
            parents=[other for other in entries.values() if id in other["parts"]],
            parts=[entries[part] for part in claim["parts"] if part in entries],
            notebook=notebook(claim["paper"], folder),
            program=program.read_text(encoding="utf-8") if claim.get("witness") and program.exists() else "",
        )
        save(folder / f"{id}.html", page)
        save(folder / f"{id}.svg", badge(id=id, verdict=claim["verdict"], colour=COLOURS[claim["verdict"]]))
    moved = {id: entries[now] for id, now in verdicts.get("moved", {}).items() if now in entries}
    for id, claim in moved.items():
        save(folder / f"{id}.html", template("moved.html").render(id=id, claim=claim))
        save(folder / f"{id}.svg", badge(id=id, verdict=claim["verdict"], colour=COLOURS[claim["verdict"]]))
    for path in folder.glob("*.html"):
        if path.stem not in entries.keys() | moved:
            remove(path)
            if not path.exists():
                path.with_suffix(".svg").unlink(missing_ok=True)


def notebook(paper: str, folder: Path, root: Path = ROOT) -> dict[str, str | None] | None:
    """The notebook that tells of ``paper``: its path to read, and where to find it from ``folder`` if it is there.

    Only a page inside the checkout ``root`` gets a link: anywhere else it would lead nowhere.
    """
    if paper not in NOTEBOOKS:
        return None
    path, folder = root / "notebooks" / NOTEBOOKS[paper], folder.resolve()
    near = path.exists() and folder.is_relative_to(root)
    link = Path(os.path.relpath(path, folder)).as_posix() if near else None
    return {"path": f"notebooks/{path.name}", "link": link}
