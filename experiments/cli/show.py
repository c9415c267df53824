"""``simlab show``: what a rule does to one pair of rows."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from experiments.cli.options import Settings
from experiments.cli.terminal import UsageError, output, plain_table, print_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simlab.rules import Rule

WIDTH = 30  # of the longest bar
NEAR = 2  # neighbours of a token, where a rule asks for some and none are given

Rows = tuple[list[Any], list[Any]]
Row = Annotated[str, typer.Argument(help="probabilities of tokens, as 1/3,1/3,1/3 or 0.2,0.8", show_default=False)]


def show_command(
    p: Row,
    q: Row,
    rule: Annotated[str, typer.Option("--rule", metavar="NAME", help="which rule, or file.py:NAME")] = "speculative",
    settings: Settings = None,
) -> int:
    """Show what a rule does to one target row p and one draft row q.

    Prints what comes out, how often a draft is accepted, how far that is from p, and the most that any rule accepts
    at this distance: exact, in fractions where the rows are.
    A rule of your own is named as simlab prove takes it: --rule my_rule.py:Mine.
    A rule that asks for neighbours takes the nearest by number, unless --set neighbours='[[1], [0]]' says others.
    """
    from theory.acceptance import alpha, frontier
    from theory.distances import tv
    from theory.exact import acceptance, step_law

    try:
        given = {name: read_value(value) for name, value in map(read_setting, settings or [])}
        rows: Rows = read_row("P", p), read_row("Q", q)
        if ":" in rule or rule.endswith(".py"):
            made, rows = _of_a_user(rule, given, rows)
        else:
            made = make(rule, given, len(rows[0]))
        emitted, accepted = step_law(made, *rows), acceptance(made, *rows)
        spent, kept = tv(rows[0], emitted), alpha(*rows)
        most = frontier(*rows, spent)
    except ValueError as error:
        raise UsageError(str(error)) from None
    console = output()
    longest = max(map(float, emitted))
    table = [
        (str(x), told(rows[0][x]), told(rows[1][x]), told(mass), bar(float(mass) / longest))
        for x, mass in enumerate(emitted)
    ]
    console.print(plain_table(console, ("token", "p", "q", "emitted", ""), table), highlight=False)
    for name, value, meaning in (
        ("accepts", accepted, f"of drafts; speculative sampling accepts 1 - TV(p, q) = {told(kept)}"),
        ("TV", spent, "of what is emitted from p" if spent else "of what is emitted from p: lossless here"),
        ("frontier", most, "of drafts is the most that any rule accepts at this TV"),
    ):
        print_text(console, f"{name:9}{told(value)} {meaning}")
    return 0


def read_row(name: str, text: str) -> list[Fraction | float]:
    """Probabilities from text; fractions unless one has a decimal point."""
    read: Any = float if "." in text or "e" in text else Fraction
    try:
        return [read(each) for each in text.split(",")]
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{name} {text}: expected probabilities such as 1/3,1/3,1/3 or 0.2,0.8") from None


def read_setting(text: str) -> tuple[str, str]:
    """A parameter's name and value from ``name=value``."""
    name, sign, value = text.partition("=")
    if not (name and sign):
        raise ValueError(f"--set {text}: expected KEY=VALUE")
    return name, value


def read_value(text: str) -> Any:
    """A parameter's value: a fraction, JSON, numbers with commas between them, or a word."""
    if "," in text and not text.startswith("["):
        return [read_value(each) for each in text.split(",")]
    if "/" in text:
        try:
            return Fraction(text)
        except (ValueError, ZeroDivisionError):
            return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def make(name: str, given: dict[str, Any], size: int) -> Rule:
    """The rule ``name``; where it asks for neighbours that are not given, those next in number."""
    from simlab.rules import RULES, codebook_neighbours, make_rule

    if name in RULES and "neighbours" not in given and "neighbours" in RULES[name].__init__.__code__.co_varnames:
        line: Sequence[Any] = [[float(x)] for x in range(size)]
        given = given | {"neighbours": codebook_neighbours(line, count=min(NEAR, size - 1))}
    return make_rule(name, **given)


def _of_a_user(spec: str, given: dict[str, Any], rows: Rows) -> tuple[Rule, Rows]:
    """The rule that a module or a file has, as ``simlab prove`` takes it, and the rows in numbers that it answers."""
    from experiments.judging.proving import subject_of
    from simlab.rules import Rule
    from theory.exact import step_law
    from theory.judge.on_unknowns import RuleOnUnknowns
    from theory.judge.user_rule import Broken, Inexact, UserRule

    subject = subject_of(spec, given)
    made = UserRule(subject.functions) if isinstance(subject, RuleOnUnknowns) else subject
    if not isinstance(made, Rule):
        raise ValueError(f"--rule {spec}: expected a rule")
    try:
        step_law(made, *rows)
    except Inexact:  # rows of fractions, answered with floats
        return made, (list(map(float, rows[0])), list(map(float, rows[1])))
    except Broken as broken:
        raise ValueError(str(broken)) from broken
    return made, rows


def told(value: Any) -> str:
    """A number as it is, a long fraction as a decimal."""
    exact = isinstance(value, Fraction) and value.denominator < 10_000
    return str(value) if exact else f"{float(value):.4f}"


def bar(share: float) -> str:
    """A bar of blocks, as long as ``share`` says."""
    eighths = round(8 * WIDTH * share)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
