"""``simlab claims``: list the claims with their verdicts, find those that answer a question, or explain one."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from textwrap import indent, wrap
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.cli.verify import COLOURS, check_papers, read_decided
from experiments.options import option, out_option
from experiments.terminal import UsageError, error_output, output, plain_math, plain_table, print_text, wrong_usage

if TYPE_CHECKING:
    from rich.text import Text

    from theory.claims import Claim

UNKNOWN = "-"
ID = re.compile(r"[a-z][\w-]*\.[\w.-]+")
LEAST = 0.25  # of the best answer's score, as in the report: what has less has little to do with a question
FOUND, LINES = 10, 3  # claims that answer a question, of which the first mostly does, and lines of each
SAYS = {
    "paper": "what the paper states",
    "code": "what published code does",
    "derived": "not quoted from a paper; derived here",
}


def claims_command(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID|WORDS", help="the claim to explain, or what to look for", show_default=False),
    ] = None,
    paper: Annotated[list[str] | None, option("list only this paper's claims (repeatable)", "PAPER")] = None,
    out: Annotated[Path, out_option("where simlab verify has left its verdicts")] = Path("out"),
) -> int:
    """List the claims, with the verdicts that simlab verify has left, find some, or explain one.

    WORDS are a question or a few words, as "is sjd lossless": the claims that answer it are listed, the best first. An
    ID is explained: its statement, assumptions and argument. In a terminal a statement of the list is cut to a line,
    and one that answers to three. In a file or a pipe each line is whole: the claim, its verdict, where the statement
    stands, and the statement, with tabs in between.
    """
    from theory.claims import CLAIMS, find

    saved = out / "verdicts.json"
    decided = read_decided("--out", saved) if saved.exists() else {}
    verdicts = {id: verdict for id, (verdict, _) in decided.items()}
    check_papers(paper or [])
    question = " ".join(words or [])
    if ID.fullmatch(question):
        with wrong_usage():
            claim = find(question)
        _explain(claim, verdicts, decided.get(claim.id, ("", ""))[1])
        return 0
    among = [claim.id for claim in CLAIMS.values() if not paper or claim.paper in paper]
    listed = [CLAIMS[id] for id in (_answers(question, among) if question else among)]
    if not listed:
        whose = f" of {' or '.join(paper)}" if paper else ""
        raise UsageError(f"no claim{whose} has to do with {question!r}; expected other words, or none to list all")
    _list(listed[:FOUND] if question else listed, verdicts, LINES if question else 1)
    if len(listed) > FOUND and question:
        print_text(error_output(), f"the first {FOUND} of {len(listed)} claims that have to do with it", "dim")
    return 0


def _answers(question: str, among: Collection[str]) -> list[str]:
    """Those of ``among`` that answer a question, as the report lists them, the best first; words that no claim has are
    told.
    """
    from theory.claims.registry import by_words
    from theory.words import alike, found, spelled, words

    index = by_words()
    scores = found(index, question)
    for word in dict.fromkeys(words(spelled(index, question)) if scores else []):
        near = [other for other in alike(index, word) if not other.startswith(word)]
        if word not in index["weights"] and (near or not alike(index, word)):
            instead = f"; {near[0]!r} is looked for" if near else ""
            print_text(error_output(), f"no claim has {word!r}{instead}", "dim")
    own = [(id, score) for id, score in scores if id in among]
    return [id for id, score in own if score >= LEAST * own[0][1]]


def _verdict(verdicts: dict[str, str], id: str) -> Text:
    from rich.text import Text

    verdict = verdicts.get(id, UNKNOWN)
    return Text(verdict, style=COLOURS.get(verdict, "dim"))


def _list(claims: Sequence[Claim], verdicts: dict[str, str], lines: int) -> None:
    console = output()
    stated = [" ".join(plain_math(claim.statement if lines == 1 else _said(claim)).split()) for claim in claims]
    if not console.is_terminal:
        for claim, statement in zip(claims, stated, strict=True):
            print(claim.id, verdicts.get(claim.id, UNKNOWN), claim.source.where, statement, sep="\t")
        return
    if lines == 1:
        rows = [(claim.id, _verdict(verdicts, claim.id), told) for claim, told in zip(claims, stated, strict=True)]
        console.print(plain_table(console, ("claim", "verdict", "statement"), rows), highlight=False)
    for claim, statement in () if lines == 1 else zip(claims, stated, strict=True):
        console.print(claim.id, _verdict(verdicts, claim.id), highlight=False)
        cut = wrap(statement, console.width - 2, max_lines=lines, placeholder=" …")
        print_text(console, indent("\n".join(cut), "  "))
    if not verdicts:
        print_text(console, "No verdicts yet: simlab verify decides all, simlab verify --claim ID one.", "dim")


def _said(claim: Claim) -> str:
    """The statement of a claim, behind the title of a result of ours that it is."""
    from theory.claims import TAKE_HOME

    title = next((f"{result.title}. " for result in TAKE_HOME if result.claim == claim.id), "")
    return title + claim.statement


def _explain(claim: Claim, verdicts: dict[str, str], evidence: str) -> None:
    from rich.padding import Padding
    from rich.text import Text

    console, source = output(), claim.source
    verdict = [_verdict(verdicts, claim.id)] if claim.id in verdicts else []
    console.print(Text(claim.id, style="bold"), f"({claim.paper}, {source.where})", *verdict, highlight=False)
    if source.quote:
        quoted = f"“{source.quote}”" if source.origin == "paper" else source.quote
        console.print(Padding(Text(quoted, style="italic"), (1, 0, 0, 2)))
    print_text(console, f"\n{plain_math(claim.statement)}")
    if evidence:
        print_text(console, "\nevidence", "bold")
        print_text(console, f"  {plain_math(evidence)}")
    print_text(
        console, f"\n{SAYS[source.origin]}{'' if source.origin == 'derived' else f': {source.relation}'}.", "dim"
    )
    if source.note:
        print_text(console, plain_math(source.note), "dim")
    if claim.assumptions:
        print_text(console, "\nassumptions", "bold")
        for line in claim.assumptions:
            print_text(console, f"  {plain_math(line)}")
    if claim.parts:
        print_text(console, "\nparts", "bold")
        width = max(map(len, claim.parts))
        for part in claim.parts:
            console.print(f"  {part:<{width}} ", _verdict(verdicts, part), highlight=False)
    _print_proofs(claim, verdicts.get(claim.id, "holds"))
    if claim.proof:
        print_text(console, "\nargument", "bold")
        console.print(Padding(Text(plain_math(claim.proof)), (0, 0, 0, 2)))
    print_text(console, f"\nsimlab verify --claim {claim.id}    decides it and writes the evidence")


def _print_proofs(claim: Claim, verdict: str) -> None:
    """The proofs by solvers that a claim has, or why one that holds has none."""
    from theory.proofs.reasons import reason
    from theory.proofs.support import badge, kept_of

    console = output()
    entries = kept_of(claim.id).values()
    if entries:
        print_text(console, "\nproof", "bold")
    for entry in sorted(entries, key=lambda entry: not entry["lemma"]):
        print_text(console, f"  {badge(entry)}: {entry['statement']}")
        if entry["lemma"]:
            print_text(console, f"  lemma: {entry['lemma']}", "dim")
    if not entries and verdict.startswith("holds") and reason(claim):
        print_text(console, f"\nno proof by solvers: {reason(claim)}", "dim")
