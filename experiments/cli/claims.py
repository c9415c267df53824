"""``simlab claims``: list the claims, or explain one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from experiments.cli.terminal import UsageError, output, plain_table, print_text

if TYPE_CHECKING:
    from theory.claims import Claim


def claims_command(
    id: Annotated[str | None, typer.Argument(metavar="ID", help="the claim to explain", show_default=False)] = None,
) -> int:
    """List the claims, or explain one."""
    from theory.claims import CLAIMS, find

    if id is None:
        console = output()
        rows = [(claim.id, claim.where, claim.statement) for claim in CLAIMS.values()]
        console.print(plain_table(console, ("claim", "where", "statement"), rows), highlight=False)
        return 0
    try:
        claim = find(id)
    except ValueError as error:
        raise UsageError(str(error)) from None
    _explain(claim, part=any(id in other.parts for other in CLAIMS.values()))
    return 0


def _explain(claim: Claim, part: bool) -> None:
    from rich.padding import Padding
    from rich.text import Text

    console = output()
    console.print(Text(claim.id, style="bold"), f"({claim.paper}, {claim.where})", highlight=False)
    console.print(f"\n{claim.statement}", highlight=False, markup=False)
    if not claim.stated:
        counts = "it does not count towards the claim it is part of." if part else "no paper states it."
        console.print(f"A reading or an addition of ours: {counts}")
    for title, lines in (("assumptions", claim.assumptions), ("parts", claim.parts)):
        if lines:
            print_text(console, f"\n{title}", "bold")
            console.print("\n".join(f"  {line}" for line in lines), highlight=False, markup=False)
    if claim.proof:
        print_text(console, "\nargument", "bold")
        console.print(Padding(Text(claim.proof), (0, 0, 0, 2)))
    print_text(console, f"\nsimlab verify --claim {claim.id}    decides it and writes the evidence")
