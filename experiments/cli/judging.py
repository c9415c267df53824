"""``simlab prove --judge``: judge a verification rule of the user's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.terminal import (
    advancing_apart,
    drawn,
    output,
    plain_table,
    print_text,
    where,
    wrong_usage,
)

if TYPE_CHECKING:
    from rich.console import Console

COLOURS = {"lossless": "green", "lossy": "yellow", "breaks": "red", "passes": "green", "note": "cyan", "fails": "red"}


def judged(
    spec: str, name: str, settings: Mapping[str, Any], out: Path, seed: int, check: Callable[[], None]
) -> tuple[int, str]:
    """Judge a rule of the user's own, print what is found, and write judge.json and judge.html.

    Checks that the rule satisfies the contract, computes its output law, its acceptance and what that costs beside the
    rules known here, and searches for inputs where it goes wrong.

    Returns 0, or 1 if the rule breaks its contract or the page could not be drawn; and the verdict. Raises
    :class:`UsageError` if there is no such rule.

    ``spec``: where the rule is, ``name``: what it is called, ``settings``: what it is made with. ``seed``: of random
    rows and searches. ``check`` is called once there is a rule, before anything is judged.
    """
    from experiments.judging.judge import PARTS, judge_apart
    from experiments.judging.load_object import as_rule, load_rule
    from experiments.judging.measures import codebook
    from experiments.judging.proving import subject_of
    from theory.judge.user_rule import UserRule

    def load() -> UserRule:
        if not settings:
            return load_rule(spec, partial(codebook, seed))
        made = subject_of(spec, settings)
        rule = made if isinstance(made, UserRule) else as_rule(made, name, partial(codebook, seed))
        return UserRule(rule.functions)  # which takes floats too, unlike one on unknown numbers

    with wrong_usage(), advancing_apart(check, len(PARTS)) as (found, tell):

        def advance(name: str, done: int, total: int) -> None:
            tell(description=name, completed=done, total=total)

        document = judge_apart(load, name, seed, out, found, advance)
    console = output()
    _print(console, document, out)
    complete = drawn(out, "judge")
    if not complete:
        print_text(console, "the page could not be drawn; the results are saved", "bold red")
    print_text(console, where(verdict=out / "judge.json", page=out / "judge.html"))
    return 0 if complete and document["verdict"] != "breaks" else 1, str(document["verdict"])


def _print(console: Console, document: dict[str, Any], out: Path) -> None:
    import pandas as pd
    from rich.text import Text

    verdict = document["verdict"]
    console.print(Text.assemble((verdict, f"bold {COLOURS[verdict]}"), f": {document['meaning']}"))
    print_text(console, document["summary"])
    checks = document["contract"]
    rows = [(c["statement"], Text(c["outcome"], style=COLOURS[c["outcome"]]), c["message"] or "") for c in checks]
    _section(console, ("contract", "", ""), rows)
    if verdict == "breaks":
        return
    rows = [
        (search["looked_for"], Text("found" if search["found"] else "not found"), _example(search))
        for search in document["searches"]
    ]
    _section(console, ("searches", "", "smallest input"), rows)
    console.print(Text(f"\n{document['behaves_like']['told']}"))
    names = (
        "K candidates in turn", "accepted", "lossless in turn", "lossless optimum", "TV spent", "frontier at that TV"
    )  # fmt: skip
    keys = ("acceptance", "lossless", "optimum", "tv", "frontier")
    _section(
        console, names, [(str(k["candidates"]), *(f"{k[key]:.3f}" for key in keys)) for k in document["candidates"]]
    )
    table = pd.read_parquet(out / "judge-map.parquet").query("nearest").sort_values("acceptance", kind="stable")
    _section(
        console,
        (f"on {document['map']['contexts']} contexts", "", "acceptance", "gained", "TV", "W1", "least W1"),
        [_map_row(row) for row in table.to_dict("records")],
    )
    console.print("each rule with the parameter that accepts most nearly as often; all are on the page\n", style="dim")


def _section(console: Console, names: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    console.print()
    console.print(plain_table(console, names, rows))


def _example(search: dict[str, Any]) -> str:
    """The smallest input that a search has found, and what the rule does there."""
    if not search["found"]:
        return str(search["summary"])
    found = search["example"] | search["example"].get("exact", {})
    rows = (f"{name} = ({', '.join(map(_short, found[name]))})" for name in ("p", "q", "law"))
    return ", ".join(rows) + f", acceptance {_short(found['acceptance'])}, TV {_short(found['tv'])}"


def _short(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def _map_row(row: dict[Any, Any]) -> tuple[Any, ...]:
    from rich.text import Text

    numbers = (row[name] for name in ("acceptance", "gained", "tv", "wasserstein", "least_wasserstein"))
    cells = (row["family"], row["parameter"], *(f"{number:.3f}" for number in numbers))
    return tuple(Text(cell, style="bold" if row["own"] else "") for cell in cells)
