"""The results as a typeset article: theorems with proofs, counterexamples, tables of verdicts, figures, references.

And as a poster, of A0: what each paper does, a figure, verdicts, what to do instead.

A pure function of what ``simlab verify`` leaves. The source is LaTeX; where ``pdflatex`` is installed, it is set too.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Collection
from functools import cache, partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from pylatexenc.latexencode import UnicodeToLatexEncoder

from experiments.results import write
from reports.pages.report import VERDICT_NAMES, counts, introductions, report, rests, story
from reports.site.gallery import FOLDER, Gallery
from reports.site.html import save
from theory.proofs.support import MEANING

SOURCES = {"simlab.tex": "article.tex", "poster.tex": "poster.tex"}  # of which templates
TIMES = 2  # that LaTeX reads a source, until references are right
HOLDS = ("holds", "holds-under-assumptions")
FORBIDDEN = re.compile(
    r"\\(?:input|include|write|openout|read|openin|immediate|catcode|csname)(?![a-zA-Z])"
)  # in a formula


def build(out: Path) -> Path:
    """Write the article on the results in ``out``, and the poster, to ``out/paper``, and return their folder.

    Raises ``FileNotFoundError`` where results are missing, and :class:`~reports.data.files.Unreadable` where one
    cannot be read.
    """
    gallery, folder = Gallery(), out / "paper"
    verdicts = report(out, gallery.on()).verdicts
    for name in SOURCES:
        save(folder / name, source(verdicts, gallery.files, name))
    for name in {paper["figure"] for paper in introductions().values()} & gallery.files.keys():
        write(folder / FOLDER / f"{name}.pdf", partial(Path.write_bytes, data=gallery.files[name][".pdf"]))
    return folder


def typeset(path: Path) -> Path | None:
    """Set the source at ``path`` as PDF; None where there is no LaTeX.

    Raises ``ValueError`` with what LaTeX says where it cannot set it.
    """
    command = shutil.which("pdflatex")
    if command is None:
        return None
    for _ in range(TIMES):
        asked = [command, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", path.name]
        ran = subprocess.run(asked, cwd=path.parent, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if ran.returncode:
            said = ran.stdout.decode(errors="replace").splitlines()
            wrong = next((number for number, line in enumerate(said) if line.startswith("!")), max(0, len(said) - 3))
            raise ValueError(f"{path} cannot be set: " + " ".join(said[wrong : wrong + 3]))
    return path.with_suffix(".pdf")


def source(verdicts: dict[str, Any], figures: Collection[str], name: str = "simlab.tex") -> str:
    """One of the sources as LaTeX; ``figures`` are the names of those that lie beside it."""
    claims = {claim["id"]: claim for claim in verdicts["claims"]}
    sections = {key: paper | _theorems(key, paper["lines"], verdicts, claims) for key, paper in story(verdicts).items()}
    return (
        _environment()
        .get_template(SOURCES[name])
        .render(
            verdicts=verdicts,
            sections=sections,
            claims=claims,
            figures=figures,
            counts=counts(verdicts["claims"]),
            meaning=VERDICT_NAMES,
            rests=rests(verdicts["claims"]),
            rests_meaning=MEANING,
        )
    )


def _theorems(
    paper: str, table: list[dict[str, Any]], verdicts: dict[str, Any], claims: dict[str, dict[str, Any]]
) -> dict[str, list[dict[str, Any]]]:
    """What is proven of a paper, what is refuted, and results of ours: each claim once."""
    news = [result | claims[result["claim"]] for result in verdicts["results"] if result["claim"] in claims]
    ours = [result for result in news if result["paper"] == paper]
    told = {result["id"] for result in ours}
    known = [claims[line["claim"]] | line for line in table if line["claim"] in claims and line["claim"] not in told]
    return {
        "theorems": [claim for claim in known if claim["verdict"] in HOLDS],
        "refuted": [claim | {"counterexample": found} for claim in known if (found := _counterexample(claim))],
        "results": ours,
    }


def _counterexample(claim: dict[str, Any]) -> str:
    """The first counterexample of a refuted claim; empty for others."""
    found = [each["summary"] for each in claim["evidence"] if each["kind"] == "counterexample"]
    return found[0] if claim["verdict"] == "refuted" and found else ""


# LaTeX ---------------------------------------------------------------------------------------------------------------


@cache
def _environment() -> Environment:
    """Where templates come from: what is put into one is said with ``latex``, and nothing may be missing."""
    environment = Environment(
        loader=PackageLoader("reports"),
        undefined=StrictUndefined,
        block_start_string=r"\BLOCK{",
        block_end_string="}",
        variable_start_string=r"\VAR{",
        variable_end_string="}",
        comment_start_string=r"\#{",
        comment_end_string="}",
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"latex": latex, "id": identifier}
    return environment


@cache
def _encoder() -> UnicodeToLatexEncoder:
    return UnicodeToLatexEncoder(unknown_char_policy="fail")


def latex(text: str) -> str:
    """``text`` for LaTeX, with the formulas between its dollar signs as they are, and its paragraphs apart.

    Raises ``ValueError`` for a character that LaTeX has no name for, or a formula that would do more than be set.
    """
    pieces = text.split("$")
    if len(pieces) % 2 == 0:
        raise ValueError(f"{text!r}: expected dollar signs in pairs")
    return "".join(_formula(piece) if number % 2 else _words(piece) for number, piece in enumerate(pieces))


def identifier(id: str) -> str:
    """The id of a claim, which may be broken behind its dots."""
    return r"\texttt{" + _words(id).replace(".", r".\allowbreak ").replace("-", r"-\allowbreak ") + "}"


def _formula(formula: str) -> str:
    if found := FORBIDDEN.search(formula):
        raise ValueError(f"the formula {formula!r} has {found[0]}; expected what sets mathematics alone")
    return f"${formula}$"


def _words(text: str) -> str:
    quoted = re.split(r'"([^"]*)"', text)
    return "".join(
        f"``{encoded}''" if number % 2 else encoded
        for number, encoded in enumerate(map(_encoder().unicode_to_latex, quoted))
    )
