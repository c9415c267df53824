"""Certificates for merge gates: JUnit XML, SARIF, and what is new against an earlier certificate.

A *finding* is a certificate whose verdict is ``lossy`` or ``breaks``. It is that of a baseline if it is of the same
kind of the same subject and contract, shows at the same coins, and is explained by the same bug; without a known bug,
if it is in the same case.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from experiments.certification.certificate_format import edge_line, named, outcome, own_shape_line
from experiments.results import write_json, write_text

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"lossy": "error", "breaks": "error", "inconclusive": "warning", "edge": "note"}
MEANINGS = {
    "lossy": "What comes out does not follow the target's law.",
    "breaks": "A valid case was not answered validly.",
    "inconclusive": "Nothing was found, but the budget was too small for the precision that was asked for.",
    "edge": "What shows only where a coin is exactly 0 or the largest float below 1; no part of the verdict.",
}

NO_CHARACTERS = re.compile("[\ud800-\udfff\ufffe\uffff]")  # that XML has not, beside controls

# JUnit ---------------------------------------------------------------------------------------------------------


def junit(certificate: dict[str, Any]) -> str:
    """JUnit XML: a test for the verdict, and one for every line that was called.

    ``certificate``: the content of certificate.json. Returns a document with one suite. A finding is a failure
    (``breaks`` an error); what was called too rarely is skipped.
    """
    verdict, spec = certificate["verdict"], _plain(certificate["subject"])
    suite = ElementTree.Element("testsuite", name=f"simlab certify {spec}", time=f"{certificate['seconds']:.3f}")
    first = ElementTree.SubElement(suite, "testcase", classname=spec, name=f"{certificate['contract']} is lossless")
    kind = {"lossy": "failure", "breaks": "error", "inconclusive": "skipped"}.get(verdict)
    if kind:
        told = ElementTree.SubElement(first, kind, message=_plain(certificate["summary"]))
        if kind != "skipped":
            told.set("type", verdict)
            told.text = _plain(explained(certificate))
    beside = aside(certificate)
    if beside:
        ElementTree.SubElement(first, "system-out").text = _plain("\n".join(beside))
    for line in certificate["lines"]:
        test = ElementTree.SubElement(suite, "testcase", classname=spec, name=_plain(named(line)))
        found = outcome(line, certificate["epsilon"])
        if found == "fails":
            ElementTree.SubElement(test, "failure", message="what is counted does not follow the target", type="law")
        elif found != "ok":
            ElementTree.SubElement(test, "skipped", message=f"{found}: TV at most {line['tv_at_most']:.3g}")
    for name, many in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(many, f"{len(suite.findall(f'.//{name}'))}")
    suite.set("tests", f"{len(suite)}")
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def aside(certificate: dict[str, Any]) -> list[str]:
    """What stands beside the verdict, a line each: shapes that were asked for, and what shows at the ends of coins."""
    shapes, edge = certificate.get("shapes"), _edge(certificate)
    own = [f"{one['name']}: {own_shape_line(one)}" for one in shapes["own"]] if shapes else []
    return [*own, f"edge: {edge_line(edge)}"] if edge else own


def _edge(certificate: dict[str, Any]) -> dict[str, Any] | None:
    """What shows at the ends of coins, unless it is the failure."""
    edge: dict[str, Any] | None = certificate.get("edge")
    return edge if edge != certificate["failure"] else None


def explained(certificate: dict[str, Any]) -> str:
    """A finding in lines of text: the smallest case, what explains it, and the program that shows it."""
    failure, again = certificate["failure"], certificate.get("again") or certificate["command"]
    lines = [failure["told"], *(f"{name} = {value}" for name, value in failure["arguments"].items())]
    return "\n".join(filter(None, [*lines, failure["diagnosis"], failure["script"], f"again: {again}"]))


def _plain(text: str) -> str:
    """Without characters that XML has not."""
    return "".join(one for one in text if one in "\t\n" or (ord(one) >= 32 and not NO_CHARACTERS.match(one)))


# SARIF ---------------------------------------------------------------------------------------------------------


def sarif(certificate: dict[str, Any]) -> dict[str, Any]:
    """SARIF 2.1.0 with at most one result, and a note of what shows at the ends of coins, placed at the function.

    ``certificate``: the content of certificate.json. Returns a dict to be written as JSON. The fingerprint of a finding
    is that by which a baseline knows it.
    """
    verdict = certificate["verdict"]
    rules = [{"id": name, "shortDescription": {"text": text}} for name, text in MEANINGS.items()]
    results: list[dict[str, Any]] = []
    if verdict in LEVELS:
        found: dict[str, Any] = {
            "ruleId": verdict,
            "level": LEVELS[verdict],
            "message": {"text": certificate["summary"]},
        }
        found["locations"] = [_location(certificate["subject"])]
        if certificate["failure"]:
            digest = hashlib.sha256(json.dumps(identity(certificate)).encode()).hexdigest()
            found["partialFingerprints"] = {"finding/v1": digest}
        results.append(found)
    edge = _edge(certificate)
    if edge:
        note = {"ruleId": "edge", "level": LEVELS["edge"], "message": {"text": edge_line(edge)}}
        results.append(note | {"locations": [_location(certificate["subject"])]})
    driver = {"name": "simlab certify", "version": certificate["simlab"], "rules": rules}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _location(spec: str) -> dict[str, Any]:
    """The file and line of ``path/to/file.py:function`` or ``module:function``, as far as they are known."""
    where, _, name = spec.rpartition(":")
    path = Path(where if where.endswith(".py") else f"{where.replace('.', '/')}.py")
    logical = {"logicalLocations": [{"fullyQualifiedName": spec}]}
    if not path.is_file():
        return logical
    uri = quote(path.as_posix()) if not path.is_absolute() else path.as_uri()
    return logical | {
        "physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": _line(path, name)}}
    }


def _line(path: Path, name: str) -> int:
    try:
        body = ast.parse(path.read_text(encoding="utf-8")).body
    except (SyntaxError, ValueError):
        return 1
    defined = (ast.FunctionDef, ast.ClassDef)
    return next((one.lineno for one in body if isinstance(one, defined) and one.name == name.partition(".")[0]), 1)


# Against a baseline --------------------------------------------------------------------------------------------


# what certificates are compared by
OF_CERTIFICATE = {"subject": str, "contract": str, "verdict": str}
OF_FAILURE = {"kind": str, "case": str, "at_the_ends": bool, "known": list}


def read_baseline(path: Path) -> dict[str, Any]:
    """An earlier certificate.json; raises ``ValueError`` where ``path`` holds none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"--baseline {path} cannot be read: {error}") from None
    if not _has(found, OF_CERTIFICATE) or not (found.get("failure") is None or _has(found["failure"], OF_FAILURE)):
        raise ValueError(f"--baseline {path} is no certificate; expected what --json wrote")
    return dict(found)


def _has(found: Any, kinds: Mapping[str, type]) -> bool:
    return isinstance(found, dict) and all(isinstance(found.get(name), kind) for name, kind in kinds.items())


def identity(certificate: dict[str, Any]) -> list[Any]:
    """What makes a finding the same as an earlier one."""
    failure = certificate["failure"]
    what = sorted(failure["known"])[:1] or [failure["case"]]
    return [certificate["contract"], failure["kind"], failure["at_the_ends"], *what]


def is_new(certificate: dict[str, Any], baseline: dict[str, Any]) -> bool:
    """Whether a certificate says anything worse than an earlier one.

    ``certificate``, ``baseline``: the content of certificate.json, now and then. Returns True for a finding that was
    not there, for an inconclusive one where nothing was open before, and if the subjects or contracts differ.
    """
    if certificate["contract"] != baseline["contract"] or _subject(certificate) != _subject(baseline):
        return True
    if not certificate["failure"]:
        return bool(certificate["verdict"] == "inconclusive" and baseline["verdict"] == "lossless")
    if not baseline["failure"]:
        return True
    both = set(certificate["failure"]["known"]) & set(baseline["failure"]["known"])
    ours, theirs = identity(certificate), identity(baseline)
    return ours[:3] != theirs[:3] if both else ours != theirs


def _subject(certificate: dict[str, Any]) -> str:
    """What was certified; ``path/to/file.py:function`` as ``path.to.file:function``, which may be the same."""
    where, _, name = certificate["subject"].rpartition(":")
    if not where.endswith(".py"):
        return str(certificate["subject"])
    return f"{os.path.relpath(where).removesuffix('.py').replace(os.sep, '.')}:{name}"


@dataclass(frozen=True)
class GateFiles:
    """What is written beside the certificate, and what it is compared with."""

    copy: Path | None = None
    junit: Path | None = None
    sarif: Path | None = None
    baseline: dict[str, Any] | None = None

    @property
    def written(self) -> dict[str, Path]:
        """Files by the options that name them."""
        files = {"--json": self.copy, "--junit": self.junit, "--sarif": self.sarif}
        return {option: path for option, path in files.items() if path}

    def absolute(self) -> GateFiles:
        """The same wherever the current folder is."""
        return replace(
            self,
            copy=self.copy and self.copy.absolute(),
            junit=self.junit and self.junit.absolute(),
            sarif=self.sarif and self.sarif.absolute(),
        )

    def save(self, certificate: dict[str, Any]) -> None:
        """Write JUnit XML and SARIF where they are asked for."""
        if self.junit:
            write_text(self.junit, junit(certificate))
        if self.sarif:
            write_json(self.sarif, sarif(certificate))

    def known(self, certificate: dict[str, Any]) -> bool:
        """Whether there is a baseline against which nothing is new."""
        return self.baseline is not None and not is_new(certificate, self.baseline)
