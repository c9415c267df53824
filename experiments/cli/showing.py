"""``simlab prove --at``: what a rule does to one pair of rows."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from experiments.terminal import output, plain_table, print_text, wrong_usage

if TYPE_CHECKING:
    from experiments.apart import Link

WIDTH = 30  # of the longest bar
ROUNDING = 1e-12  # a TV between floats that is none

Rows = tuple[list[Any], list[Any]]


def show(rule: str, p: str, q: str, given: dict[str, Any], limit: float) -> int:
    """Print what a rule does to one target row and one draft row; exact, in fractions where the rows are.

    What comes out, how often a draft is accepted, how far that is from p, and the most that any rule accepts at this
    distance. A rule that asks for neighbours takes the nearest by number, unless they are given. Raises
    :class:`UsageError` for rows that are none, or a rule that there is not, or one that takes over ``limit`` seconds.
    """
    from experiments.judging.load_object import rule_of
    from theory.acceptance import alpha, frontier
    from theory.distances import tv
    from theory.exact import acceptance, step_law

    with wrong_usage():
        rows: Rows = read_row("P", p), read_row("Q", q)
        if ":" in rule or rule.endswith(".py"):
            rows, emitted, accepted = _of_a_user(rule, given, rows, limit)
        else:
            made = rule_of(rule, given, len(rows[0]))
            emitted, accepted = list(step_law(made, *rows)), acceptance(made, *rows)
        spent, kept = tv(rows[0], emitted), alpha(*rows)
        most = frontier(*rows, spent)
    console = output()
    longest, rounding = max(map(float, emitted)), 0 if isinstance(spent, Fraction) else ROUNDING
    table = [
        (str(x), number_text(rows[0][x]), number_text(rows[1][x]), number_text(mass), bar(float(mass) / longest))
        for x, mass in enumerate(emitted)
    ]
    console.print(plain_table(console, ("token", "p", "q", "emitted", ""), table), highlight=False)
    for name, value, meaning in (
        ("accepts", accepted, f"of drafts; speculative sampling accepts 1 - TV(p, q) = {number_text(kept)}"),
        ("TV", spent, f"of what is emitted from p{': lossless here' if spent <= rounding else ''}"),
        ("frontier", most, "of drafts is the most that any rule accepts at this TV"),
    ):
        print_text(console, f"{name:9}{number_text(value)} {meaning}")
    return 0


def read_row(name: str, text: str) -> list[Fraction | float]:
    """Probabilities from text; fractions unless one has a decimal point."""
    read: Any = float if "." in text or "e" in text else Fraction
    try:
        return [read(each) for each in text.split(",")]
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{name} {text}: expected probabilities such as 1/3,1/3,1/3 or 0.2,0.8") from None


def _of_a_user(spec: str, given: dict[str, Any], rows: Rows, limit: float) -> tuple[Rows, list[Any], Any]:
    """What the rule that a module or a file has does at two rows: the rows in numbers that it answers, the law of what
    is emitted, and how often a draft is accepted.

    Somebody else has written it, so that it is run in a process that may be lost. Raises ``ValueError`` for what is no
    rule, and for one that is lost there.
    """
    from experiments.apart import Lost, Unfit, answer_apart
    from experiments.judging.proving import subject_of
    from theory.judge.user_rule import Broken, last_line

    def work(link: Link) -> list[list[Any]]:
        try:
            with link.importing():
                subject = subject_of(spec, given)
            link.tell()
            with link.asking(limit):
                found = _step(spec, subject, rows)
        except (ValueError, Broken) as error:
            raise Unfit(str(error)) from None
        except Exception as error:
            raise Unfit(f"{spec} raises {last_line(error)}") from None
        return [[str(value) if isinstance(value, Fraction) else float(value) for value in part] for part in found]

    answer, imported = answer_apart(work, lambda: None, lambda: None)
    if isinstance(answer, Lost):
        late = f"took longer than --limit {limit:g} s at these rows" if imported else answer.message
        raise ValueError(f"{spec} {late if answer.kind == 'hangs' else answer.message}; expected a rule that answers")
    p, q, emitted, accepted = ([Fraction(v) if isinstance(v, str) else v for v in part] for part in answer)
    return (p, q), emitted, accepted[0]


def _step(spec: str, subject: Any, rows: Rows) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """Both rows, the law and how often a draft is accepted, of what ``simlab prove`` takes for a subject."""
    from experiments.judging.at_numbers import of_size
    from simlab.rules import Rule
    from theory.exact import acceptance, step_law
    from theory.judge.on_unknowns import RuleOnUnknowns
    from theory.judge.user_rule import Inexact, UserRule

    made = of_size(subject, len(rows[0]))
    made = UserRule(made.functions) if isinstance(made, RuleOnUnknowns) else made
    if not isinstance(made, Rule):
        raise ValueError(f"{spec}: expected a rule")
    try:
        emitted = step_law(made, *rows)
    except Inexact:  # rows of fractions, answered with floats
        rows = list(map(float, rows[0])), list(map(float, rows[1]))
        emitted = step_law(made, *rows)
    return *rows, list(emitted), [acceptance(made, *rows)]


def number_text(value: Any) -> str:
    """A number as it is, a long fraction as a decimal."""
    exact = isinstance(value, Fraction) and value.denominator < 10_000
    return str(value) if exact else f"{float(value):.4f}"


def bar(share: float) -> str:
    """A bar of blocks, as long as ``share`` says."""
    eighths = round(8 * WIDTH * share)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
