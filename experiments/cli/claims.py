"""``simlab claims``: list the claims, or explain one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from experiments.cli.terminal import UsageError, output, plain_math, plain_table, print_text

if TYPE_CHECKING:
    from theory.claims import Claim

SAYS = {
    "paper": "what the paper states",
    "code": "what published code does",
    "derived": "a result of ours, which no paper states",
}


def claims_command(
    id: Annotated[str | None, typer.Argument(metavar="ID", help="the claim to explain", show_default=False)] = None,
) -> int:
    """List the claims, or explain one."""
    from theory.claims import CLAIMS, find

    if id is None:
        console = output()
        rows = [(claim.id, claim.source.where, claim.statement) for claim in CLAIMS.values()]
        console.print(plain_table(console, ("claim", "where", "statement"), rows), highlight=False)
        return 0
    try:
        claim = find(id)
    except ValueError as error:
        raise UsageError(str(error)) from None
    _explain(claim)
    return 0


def _explain(claim: Claim) -> None:
    from rich.padding import Padding
    from rich.text import Text

    console, source = output(), claim.source
    console.print(Text(claim.id, style="bold"), f"({claim.paper}, {source.where})", highlight=False)
    if source.quote:
        quoted = f"“{source.quote}”" if source.origin == "paper" else source.quote
        console.print(Padding(Text(quoted, style="italic"), (1, 0, 0, 2)))
    print_text(console, f"\n{plain_math(claim.statement)}")
    print_text(
        console, f"\n{SAYS[source.origin]}{'' if source.origin == 'derived' else f': {source.relation}'}.", "dim"
    )
    if source.note:
        print_text(console, plain_math(source.note), "dim")
    for title, lines in (("assumptions", claim.assumptions), ("parts", claim.parts)):
        if lines:
            print_text(console, f"\n{title}", "bold")
            for line in lines:
                print_text(console, f"  {plain_math(line)}")
    if claim.proof:
        print_text(console, "\nargument", "bold")
        console.print(Padding(Text(plain_math(claim.proof)), (0, 0, 0, 2)))
    print_text(console, f"\nsimlab verify --claim {claim.id}    decides it and writes the evidence")
