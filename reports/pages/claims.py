"""The pages of single claims, linked to and from the report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from reports.site.html import remove, save, template

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = {
    "leviathan": "base_rule.py",
    "gsd": "gsd.py",
    "sjd": "sjd.py",
    "lantern": "lantern.py",
    "sjd-pac": "sjd_pac.py",
    "cspd": "cspd.py",
    "baselines": "sjd_pac.py",  # block verification, several candidates; the lossy optimum is in lantern.py
}


def build(out: Path, verdicts: dict[str, Any], papers: dict[str, str]) -> None:
    """Write ``claims/<id>.html`` for every claim; pages of earlier runs whose claims are not among these go away."""
    folder, draw = out / "claims", template("claim.html").render
    entries = {claim["id"]: claim for claim in verdicts["claims"]}
    for id, claim in entries.items():
        page = draw(
            claim=claim,
            seed=verdicts["seed"],
            simlab=verdicts["simlab"],
            failed=verdicts["failed"].get(id),
            paper=papers[claim["paper"]],
            parents=[other for other in entries.values() if id in other["parts"]],
            parts=[entries[part] for part in claim["parts"] if part in entries],
            notebook=notebook(claim["paper"], folder),
            program=_program(folder / f"{id}.py"),
        )
        save(folder / f"{id}.html", page)
    for path in folder.glob("*.html"):
        if path.stem not in entries:
            remove(path)


def _program(path: Path) -> str:
    """The text of a claim's witness, which `simlab verify` wrote beside its page; empty where it has none."""
    return path.read_text(encoding="utf-8") if path.exists() else ""


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
