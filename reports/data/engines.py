"""Certificates of engines that come along, ``experiments/engines/certificates``, and what could not be tried.

``python -m reports.data.engines`` prints the short table, which the README has.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from reports.data.files import read_json
from simlab.certify.certificate import battery_of

FOLDER = Path(__file__).parents[2] / "experiments" / "engines" / "certificates"
COMMAND = "python -m experiments.engines.record"
TRIED = "tried.toml"  # engine: what was tried, and why there is no certificate
KEYS = {
    *("name", "engine", "about", "since", "verdict", "meaning", "summary", "lines", "failure", "acceptance"),
    *("command", "contract"),
}
BESIDE = ("numpy", "torch", "triton")  # what an engine is certified beside
FINDINGS = ("lossy", "breaks")
SERVER = "completions"  # the contract of servers
PAGES = Path("engines")  # in the folder of the documentation: a page a finding
NAMED = re.compile(r"^Certificates: (.+?)\. ", re.M)


class Engines(NamedTuple):
    """Certificates, with what they are about; and reasons by engine for those that there is none of."""

    certificates: list[dict[str, Any]]
    tried: dict[str, str]


def read_engines(folder: Path = FOLDER) -> Engines:
    """All that comes along; raises :class:`~reports.data.files.Unreadable` for a file that is no such certificate."""
    paths = sorted(folder.glob("*.json"), key=lambda path: path.stem)
    tried = folder / TRIED
    return Engines(
        [read_json(path, COMMAND, KEYS) for path in paths],
        dict(tomllib.loads(tried.read_text(encoding="utf-8"))) if tried.exists() else {},
    )


class Row(NamedTuple):
    """What a table says of one certificate."""

    name: str
    engine: str
    about: str
    verdict: str
    region: str
    tv: str
    since: str


def in_order(found: Engines) -> list[dict[str, Any]]:
    """Findings first, then by name."""
    return sorted(found.certificates, key=lambda one: (one["verdict"] not in FINDINGS, one["name"]))


def row(certificate: dict[str, Any]) -> Row:
    """What a table says of one."""
    return Row(
        certificate["name"],
        ", ".join(f"{name} {version}" for name, version in certificate["engine"].items() if name not in BESIDE),
        re.sub(r" Of \S+ \S+\.$", "", certificate["about"]).removesuffix("."),
        _verdict(certificate),
        _region(certificate),
        _distance(certificate),
        certificate["since"],
    )


def rows(found: Engines) -> list[Row]:
    """A row a certificate, findings first."""
    return [row(one) for one in in_order(found)]


def _verdict(certificate: dict[str, Any]) -> str:
    """With an edge beside it, and the battery where it is not today's; since the second a finding stands of any."""
    told = [str(certificate["verdict"])]
    finding, number = certificate["verdict"] in FINDINGS, certificate.get("battery", 1)
    told += ["with an edge"] if certificate.get("edge") and not finding else []
    today = number == battery_of(certificate["contract"]) or (finding and number > 1)
    return ", ".join(told) + ("" if today else f" (battery {number})")


def _region(certificate: dict[str, Any]) -> str:
    """Up to which sizes shapes were seen; of a finding, where it is smallest."""
    if certificate["failure"]:
        return str(certificate["failure"]["case"])
    if certificate["contract"] == SERVER:
        return str(certificate["signature"])
    shapes = certificate.get("shapes")
    if not shapes or not shapes["region"]:
        return "its fixed cases"
    return ", ".join(f"{axis} up to {most:,}" for axis, most in shapes["region"].items())


def _distance(certificate: dict[str, Any]) -> str:
    """TV in the case that fails, or the bound in the principal cases."""
    failure = certificate["failure"]
    if failure:
        off = failure["tv_measured"] if failure["tv_exact"] is None else failure["tv_exact"]
        return "–" if off is None else f"{off:.2g}"
    bounds = [line["tv_at_most"] for line in certificate["lines"] if line["principal"] and line["calls"]]
    return f"at most {max(bounds):.2g}" if bounds else "–"


def finding_pages(docs: Path) -> dict[str, str]:
    """The page of each certificate that has one: its name without ``.md``."""
    return {
        name.strip("`"): path.stem
        for path in sorted((docs / PAGES).glob("*.md"))
        for named in NAMED.findall(path.read_text(encoding="utf-8"))
        for name in named.split(", ")
    }


def markdown(found: Engines, pages: dict[str, str], place: str) -> str:
    """The table of all; findings lead to their pages, which are at ``place``."""
    lines = ["| certificate | of | verdict | TV | region, or case | since | what was called |", "|---" * 7 + "|"]
    for row in rows(found):
        name = f"[`{row.name}`]({place}{pages[row.name]}.md)" if row.name in pages else f"`{row.name}`"
        cells = (name, row.engine, row.verdict, row.tv, row.region, row.since, row.about)
        lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def short(found: Engines, pages: dict[str, str], place: str) -> str:
    """A line a page of findings, and how many certificates there are of what."""
    told = rows(found)
    packages = {row.engine.split()[0] for row in told}
    passed = sum(row.verdict.startswith("lossless") for row in told)
    failed = [row for row in told if row.name in pages]
    open_ones = len(told) - passed - len(failed)
    lines = [
        f"{len(told)} certificates of {len(packages)} packages and repositories: "
        f"{passed} `lossless`, {len(failed)} `lossy` or `breaks`, {open_ones} `inconclusive` so far.",
        "",
        "| finding | of | verdict | TV | since |",
        "|---" * 5 + "|",
    ]
    for page in dict.fromkeys(pages[row.name] for row in failed):
        of = [row for row in failed if pages[row.name] == page]
        columns = zip(*((row.engine, f"`{row.verdict}`", row.tv, row.since) for row in of), strict=True)
        cells = [f"[{page}]({place}{page}.md)", *(", ".join(dict.fromkeys(column)) for column in columns)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(short(read_engines(), finding_pages(FOLDER.parents[2] / "docs"), "docs/engines/"), end="")
