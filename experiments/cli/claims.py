"""``simlab claims``: list the claims with their verdicts, find those that answer a question, or explain one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.cli.options import option, out_option
from experiments.cli.terminal import UsageError, output, plain_math, plain_table, print_text
from experiments.cli.verify import COLOURS, check_papers, read_verdicts

if TYPE_CHECKING:
    from rich.text import Text

    from theory.claims import Claim

UNKNOWN = "-"
ID = re.compile(r"[a-z][\w-]*\.[\w.-]+")
FOUND = 10  # claims that answer a question, of which the first mostly does
SAYS = {
    "paper": "what the paper states",
    "code": "what published code does",
    "derived": "a result of ours, which no paper states",
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
    ID is explained: its statement, assumptions and argument. In a terminal statements are cut to a line. In a file or a
    pipe each line is whole: the claim, its verdict, where the statement stands, and the statement, with tabs in
    between.
    """
    from theory.claims import CLAIMS, asked, find

    saved = out / "verdicts.json"
    verdicts = read_verdicts("--out", saved) if saved.exists() else {}
    check_papers(paper or [])
    question = " ".join(words or [])
    if ID.fullmatch(question):
        try:
            _explain(find(question), verdicts)
        except ValueError as error:
            raise UsageError(str(error)) from None
        return 0
    listed = [CLAIMS[id] for id in (asked(question) if question else CLAIMS)]
    listed = [claim for claim in listed if not paper or claim.paper in paper]
    if not listed:
        raise UsageError(f"no claim has to do with {question!r}; expected other words, or none to list all")
    _list(listed[:FOUND] if question else listed, verdicts)
    return 0


def _verdict(verdicts: dict[str, str], id: str) -> Text:
    from rich.text import Text

    verdict = verdicts.get(id, UNKNOWN)
    return Text(verdict, style=COLOURS.get(verdict, "dim"))


def _list(claims: Sequence[Claim], verdicts: dict[str, str]) -> None:
    console = output()
    if not console.is_terminal:
        for claim in claims:
            statement = " ".join(plain_math(claim.statement).split())
            print(claim.id, verdicts.get(claim.id, UNKNOWN), claim.source.where, statement, sep="\t")
        return
    rows = [(claim.id, _verdict(verdicts, claim.id), plain_math(claim.statement)) for claim in claims]
    console.print(plain_table(console, ("claim", "verdict", "statement"), rows), highlight=False)
    if not verdicts:
        print_text(console, "No verdicts yet: simlab verify decides all, simlab verify --claim ID one.", "dim")


def _explain(claim: Claim, verdicts: dict[str, str]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    console, source = output(), claim.source
    verdict = [_verdict(verdicts, claim.id)] if claim.id in verdicts else []
    console.print(Text(claim.id, style="bold"), f"({claim.paper}, {source.where})", *verdict, highlight=False)
    if source.quote:
        quoted = f"“{source.quote}”" if source.origin == "paper" else source.quote
        console.print(Padding(Text(quoted, style="italic"), (1, 0, 0, 2)))
    print_text(console, f"\n{plain_math(claim.statement)}")
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
