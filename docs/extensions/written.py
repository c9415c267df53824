"""Pages that are written from the code and saved verdicts: findings, papers, commands, methods, studies, figures, cite.

They are written to ``docs/written`` before Sphinx reads its sources, and the report's own pages are copied beside the
site once it is built.
"""

from __future__ import annotations

import html
import inspect
import json
import re
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jupytext
import typer
from nbformat.v4 import new_code_cell
from sphinx.application import Sphinx

from experiments.cli.main import app as commands
from experiments.sweeps import spec
from reports.data.engines import finding_pages, markdown, read_engines
from reports.pages.claims import NOTEBOOKS
from reports.pages.report import KINDS
from simlab.continuous import RULES as CONTINUOUS_RULES
from simlab.decoders import DECODERS
from simlab.rules import RULES
from theory.claims import CLAIMS, HEADLINES, TAKE_HOME
from theory.papers import PAPERS

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "written"
RESULTS = ROOT / "out"
NEEDED = "verdicts.json"
MAIN = "experiments.cli.main"
FIRST_CELL = """\
# Where simlab is not installed, as on Colab: take away the "# " below. URL is the address that one clones from.
# %pip install --quiet "simlab[lab] @ git+URL"\
"""
NOTEBOOK = re.compile(r'href="[./]*notebooks/(\w+)\.py"')
UP = "{up}"  # stands for the way from a page to the root of the site


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write_pages)
    app.connect("source-read", lead_to_pages)
    app.connect("html-page-context", unname_folded)
    app.connect("build-finished", copy_report)
    app.connect("build-finished", offer_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def unname_folded(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Folded cells of notebooks are called what they show: the label that myst-nb gives them says something else."""
    if "body" in context:
        context["body"] = context["body"].replace(' aria-label="Toggle hidden content"', "")


def write_pages(app: Sphinx) -> None:
    """Write every page anew; Sphinx reads only those whose text has changed."""
    pages = {
        "findings.md": findings(),
        "commands.md": command_reference(),
        "methods.md": methods(),
        "studies.md": studies(),
        **gallery(),
        "engines.txt": markdown(
            read_engines(), finding_pages(ROOT / "docs"), "engines/"
        ),  # included, no page of its own
        "cite.md": cite(app.config.release),
    }
    found = verdicts()
    pages |= {f"papers/{paper}.md": paper_page(paper, found) for paper in PAPERS}
    pages["papers/index.md"] = paper_index(found)
    for name, text in pages.items():
        path, text = PAGES / name, text.replace(UP, "../" * (1 + name.count("/")))
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for old in set(PAGES.rglob("*.md")) - {PAGES / name for name in pages}:
        old.unlink()
    copy_notebooks()


def lead_to_pages(app: Sphinx, page: str, text: list[str]) -> None:
    """Links that lead to files where the repository is read lead to pages here, and programs are files to save."""
    text[0] = re.sub(r"\]\((\.\./)((?:\.\./)*)simlab/certify/README\.md", r"](\2certify.md", text[0])
    text[0] = re.sub(r"\]\((\.\./[^)]+\.py)\)", r"](path:\1)", text[0])


def copy_notebooks() -> None:
    """Sphinx reads only what lies below its folder."""
    folder = PAGES / "notebooks"
    folder.mkdir(exist_ok=True)
    for path in (ROOT / "notebooks").glob("*.py"):
        copy = folder / path.name
        if not copy.exists() or copy.read_bytes() != path.read_bytes():
            shutil.copyfile(path, copy)


def copy_report(app: Sphinx, exception: Exception | None) -> None:
    """The report as `simlab verify` and `simlab report` drew it, under ``report/``."""
    if exception is None and app.builder.format == "html":
        target = Path(app.outdir) / "report"
        shutil.rmtree(target, ignore_errors=True)
        ignored = shutil.ignore_patterns("*.parquet", "*.npz", "runs", "*.safetensors")
        shutil.copytree(RESULTS, target, ignore=ignored)
        for page in target.rglob("*.html"):
            up = "../" * len(page.relative_to(app.outdir).parent.parts)
            text = page.read_text(encoding="utf-8")
            page.write_text(NOTEBOOK.sub(rf'href="{up}written/notebooks/\1.html"', text), encoding="utf-8")


def offer_notebooks(app: Sphinx, exception: Exception | None) -> None:
    """Every notebook as a file to open elsewhere, under ``notebooks/``; its first cell says how to install simlab."""
    if exception is None and app.builder.format == "html":
        folder = Path(app.outdir) / "notebooks"
        folder.mkdir(exist_ok=True)
        for path in (ROOT / "notebooks").glob("*.py"):
            notebook = jupytext.read(path)
            notebook.cells.insert(0, new_code_cell(FIRST_CELL))
            jupytext.write(notebook, folder / f"{path.stem}.ipynb")


def verdicts() -> dict[str, dict[str, Any]]:
    """The verdicts of the last `simlab verify`, by id."""
    path = RESULTS / NEEDED
    if not path.is_file():
        sys.exit(f"{path}: there is no such file; run make verify first")
    return {entry["id"]: entry for entry in json.loads(path.read_text(encoding="utf-8"))["claims"]}


# Findings and papers -------------------------------------------------------------------------------------------


def findings() -> str:
    """The headline claims of all papers, and results of ours."""
    parts = ["# Findings\n", "What a reader asks about each paper first. The verdict links to its evidence.\n"]
    for paper, about in PAPERS.items():
        parts += headlines(paper, about.name, "##")
    return "\n".join(parts)


def headlines(paper: str, title: str, level: str) -> list[str]:
    asked = [each for each in HEADLINES if CLAIMS[each.claim].paper == paper]
    taken = [each for each in TAKE_HOME if CLAIMS[each.claim].paper == paper]
    parts = [f"{level} {title}\n"] if asked or taken else []
    if asked:
        rows = [(each.says, badge(each.verdict, each.claim), f"{each.why} {each.mend}".strip()) for each in asked]
        parts.append(table(("headline", "verdict", "why"), rows))
    parts += [f"**{each.title}.** {each.text} ({link(each.claim)})\n" for each in taken]
    return parts


def paper_index(found: Mapping[str, dict[str, Any]]) -> str:
    """Every paper, and how many of its claims have which verdict."""
    names = sorted({entry["verdict"] for entry in found.values()})
    rows = []
    for paper, about in PAPERS.items():
        counts = [sum(e["verdict"] == name for e in found.values() if e["paper"] == paper) for name in names]
        rows.append((f"[{about.name}]({paper}.md)", *(str(count or "") for count in counts)))
    pages = "\n".join(PAPERS)
    return "\n".join(
        [
            "# Papers\n",
            "Methods, claims and verdicts, paper by paper.\n",
            table(("paper", *names), rows),
            f"```{{toctree}}\n:hidden:\n\n{pages}\n```\n",
        ]
    )


def paper_page(paper: str, found: Mapping[str, dict[str, Any]]) -> str:
    """One paper: what to ask first, what to take home, every claim."""
    about = PAPERS[paper]
    parts = headlines(paper, about.name, "#") or [f"# {about.name}\n"]
    if about.arxiv:
        parts.append(f"The paper: [arXiv {about.arxiv}](https://arxiv.org/abs/{about.arxiv}).\n")
    if paper in NOTEBOOKS:
        parts.append(f"A proof that one runs, and what breaks it: [the notebook](../notebooks/{NOTEBOOKS[paper]}).\n")
    for kind, title in KINDS.items():
        rows = [
            (link(id), claim.statement, claim.source.where, badge(found[id]["verdict"], id))
            for id, claim in CLAIMS.items()
            if claim.paper == paper and claim.source.kind == kind and id in found
        ]
        if rows:
            parts += [f"## {title}\n", table(("claim", "statement", "where", "verdict"), rows)]
    return "\n".join(parts)


def link(id: str) -> str:
    """The page of a claim. A page of this site knows by ``UP`` where its root is."""
    return f'<a href="{UP}report/claims/{id}.html"><code>{id}</code></a>'


def badge(verdict: str, id: str) -> str:
    return f'<a class="verdict {verdict}" href="{UP}report/claims/{id}.html">{verdict}</a>'


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *([cell(each) for each in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def cell(text: str) -> str:
    """Text of one line; bars would end a cell."""
    return " ".join(text.split()).replace("|", "\\|")


# Commands ------------------------------------------------------------------------------------------------------


def command_reference() -> str:
    """Every command with its arguments and options, from the parser."""
    parts = ["# Commands\n", prose(inspect.getdoc(sys.modules[MAIN]) or "")]
    for name, command in each_command(typer.main.get_command(commands), "simlab"):
        parts += [f"## {name}\n", prose(inspect.cleandoc(command.help or ""))]
        rows = [
            (
                ", ".join(f"`{each}`" for each in spelled(command, parameter)),
                prose(parameter.help or ""),
                default(parameter),
            )
            for parameter in command.params
            if parameter.name != "help"
        ]
        parts.append(table(("argument", "what it is", "default"), rows) if rows else "")
    return "\n".join(parts)


def each_command(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every command of a group by what is typed for it, those of the groups in it too."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from each_command(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def spelled(command: Any, parameter: Any) -> list[str]:
    if parameter.param_type_name == "argument":
        return [parameter.metavar or parameter.name.upper()]
    words = parameter.metavar or ("" if parameter.is_flag else kind(command, parameter))
    return [f"{each} {words}".strip() for each in (*parameter.opts, *parameter.secondary_opts)]


def kind(command: Any, parameter: Any) -> str:
    """What an option takes, where it has no name of its own: some releases of Typer ask where it is used."""
    found = parameter.display_type
    return str(found(typer.Context(command)) if callable(found) else found)


def default(parameter: Any) -> str:
    value = parameter.default
    if value in (None, False, (), []) or callable(value) or "sentinel" in repr(value).lower():
        return ""
    return f"`{value}`"


ROLE = re.compile(r":\w+:`~?(?:[\w.]*\.)?(\w+)`")  # of what a docstring refers to, its own name


def prose(text: str) -> str:
    """Text of a docstring or a help as Markdown."""
    return ROLE.sub(r"`\1`", text).replace("``", "`").replace("<", "&lt;").replace("*", "\\*") + "\n"


# Methods and studies -------------------------------------------------------------------------------------------


def methods() -> str:
    """Rules and decoders by name, with the first sentences of what they are."""
    parts = ["# Rules and decoders by name\n"]
    kinds: list[tuple[str, str, Mapping[str, Callable[..., Any]]]] = [
        ("Rules", "make_rule", RULES),
        ("Decoders", "make_decoder", DECODERS),
        ("Rules of continuous tokens", "continuous.make_rule", CONTINUOUS_RULES),
    ]
    for title, maker, registry in kinds:
        parts += [f"## {title}\n", f"Made by `{maker}(name, **parameters)`.\n"]
        rows = [(f"`{name}`", f"`{parameters(made)}`", first_sentence(made)) for name, made in registry.items()]
        parts.append(table(("name", "parameters", "what it is"), rows))
    return "\n".join(parts)


def parameters(made: Callable[..., Any]) -> str:
    given = inspect.signature(made).parameters.values()
    shown = [
        each.name if each.default is each.empty else f"{each.name}={each.default!r}"
        for each in given
        if each.kind is not each.VAR_KEYWORD and not each.name.startswith("_")
    ]
    return ", ".join(shown) or "none"


def first_sentence(made: Callable[..., Any]) -> str:
    text = inspect.getdoc(made) or inspect.getdoc(sys.modules[made.__module__]) or ""
    return prose(text.split("\n\n")[0]).strip()


def studies() -> str:
    """The keys of a study's file, and the studies that come along."""
    found = sorted((ROOT / "experiments" / "specs").glob("*.toml"))
    rows = [(f"`{path.stem}`", tomllib.loads(path.read_text(encoding="utf-8"))["title"]) for path in found]
    return "\n".join(
        [
            "# Studies\n",
            "```{eval-rst}\n" + (inspect.getdoc(spec) or "") + "\n```\n",
            "## Those that come along\n",
            table(("name", "question"), rows),
        ]
    )


# How to cite ---------------------------------------------------------------------------------------------------


def cite(version: str) -> str:
    """How to cite the software and a verdict, of this version."""
    (headline, *_) = (each for each in HEADLINES if each.verdict == "refuted")
    return "\n".join(
        [
            "# How to cite\n",
            f"Cite the software with the version you used (`simlab --version`; these pages are of {version}), and the "
            "papers whose claims you use. A verdict is cited by its id and version; ids do not change:\n",
            f"> `{headline.claim}`: {headline.says} ({headline.verdict}; simlab {version})\n",
            "```bibtex",
            "@software{simlab,",
            "  author  = {{The simlab developers}},",
            "  title   = {simlab},",
            f"  version = {{{version}}},",
            "}",
            "```\n",
            "The same for programs:\n",
            "```{literalinclude} ../../CITATION.cff\n:language: yaml\n```\n",
        ]
    )


# Figures -------------------------------------------------------------------------------------------------------

FIGURE = re.compile(r"<figure>(.*?)<figcaption>(.*?)</figcaption></figure>", re.S)
COMMANDS = {"report.html": "simlab verify", "continuous.html": "simlab verify", "published.html": "simlab verify"}


def gallery() -> dict[str, str]:
    """Every figure of the report's pages, a page for each of these, with its caption and the command that makes it."""
    pages = {}
    for path in sorted(RESULTS.glob("*.html")):
        text = path.read_text(encoding="utf-8")
        if found := FIGURE.findall(text):
            page = f'<a href="{UP}report/{path.name}">On its page</a>'
            figures = [
                f"{shown(*each, path.name)}\n{page}. Made by `{COMMANDS.get(path.name, 'simlab report')}`.\n"
                for each in found
            ]
            pages[f"gallery/{path.stem}.md"] = "\n".join([f"# {title(text)}\n", *figures])
    names = "\n".join(name.removesuffix(".md") for name in pages)
    lead = "# Figures\n\nDrawn from saved results; each page has its figures as PDF.\n"
    return pages | {"gallery.md": f"{lead}\n```{{toctree}}\n{names}\n```\n"}


def title(page: str) -> str:
    return html.unescape(page.partition("<title>")[2].partition("</title>")[0])


def shown(drawing: str, caption: str, page: str) -> str:
    """A figure of the report, without the link to its PDF; its links lead to places of ``page``."""
    drawing, caption = (each.replace('href="#', f'href="{UP}report/{page}#') for each in (drawing, caption))
    drawing = re.sub(r'<p class="file">.*?</p>', "", drawing, flags=re.S)
    return f'```{{raw}} html\n<figure class="drawn">{drawing}<figcaption>{caption}</figcaption></figure>\n```\n'
