"""``simlab prove``: prove a statement about a rule or a decoder for all rows, or find rows where it fails."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated, Any

import typer

from experiments.cli.options import Settings, exact_settings
from experiments.options import count_option, file_option, option, seed_option
from experiments.terminal import (
    UsageError,
    advancing,
    advancing_apart,
    check_copy,
    check_writable,
    output,
    print_text,
    where,
    wrong_usage,
)

if TYPE_CHECKING:
    from rich.console import Console

STATUS = {"proven": 0, "counterexample": 1, "unknown": 3}
COLOURS = {"proven": "green", "counterexample": "red", "unknown": "yellow"}
WORDS = {"proven": "proven", "counterexample": "refuted", "unknown": "unknown"}
NEEDED = re.compile(r"needs the parameter '(\w+)'")
SIZE = re.compile(r"(?:V=)?(\d+)")
WRITTEN = re.compile(r"answer\.json|check\.py|proof-\d+\.smt2|judge.*\.(json|html|parquet)")
MOST_SIZE = 8
LONGEST = 300  # letters of a reason
SECOND = 20.0  # seconds that the second solver is given


def prove_command(
    subject: Annotated[
        str | None, typer.Argument(metavar="SUBJECT", help="file.py:NAME, module:NAME or a name known here")
    ] = None,
    that: Annotated[str, option("lossless, frontier or a comparison", "STATEMENT", "--that")] = "lossless",
    decoder: Annotated[str | None, option("a decoder, instead", "NAME", "--decoder")] = None,
    rule: Annotated[str | None, option("that the decoder verifies by", "NAME", "--rule")] = None,
    settings: Settings = None,
    size: Annotated[
        list[str] | None, option("tokens (repeatable) [default: 2 and 3; of decoders 2]", "V=N", "--size")
    ] = None,
    length: Annotated[int | None, count_option("--length", "of a decoder's sequences [default: 3]")] = None,
    count: Annotated[int | None, count_option("--count", "of a verifier's candidates [default: 2]")] = None,
    positive: Annotated[bool, option("only rows without zeros", name="--positive")] = False,
    limit: Annotated[float, option("when to give up", "SECONDS", "--limit", min=0.1)] = 300.0,
    out: Annotated[Path | None, option("where to write [default: out/proofs/NAME]", "DIR", "--out")] = None,
    copy: Annotated[Path | None, file_option("--json", "write answer.json here as well")] = None,
    judge: Annotated[bool, option("judge a rule of your own as well: judge.json, judge.html", name="--judge")] = False,
    seed: Annotated[int | None, seed_option("of random rows and searches of --judge [default: 0]")] = None,
    at: Annotated[
        tuple[str, str] | None, option("only show what a rule does at two rows, as 1/3,2/3 0.5,0.5", "P Q", "--at")
    ] = None,
) -> int:
    """Prove a statement for all rows, or find rows at which it fails.

    Asks whether a rule, a decoder or a verifier is lossless, or what --that says: "accepts >= speculative",
    "tv <= 1/10", frontier; of a decoder also "calls <= sjd", mean steps of whole sequences. Exit status 0: proven,
    and cvc5, where it is installed, contradicts it in nothing; 1: refuted, with the simplest rows that were found, or
    judged lossy; 3: unknown. --at P Q shows what a rule does to one target row and one draft row instead: what comes
    out, how often a draft is accepted, how far that is from p, and the most that any rule accepts at this distance.

    A rule of your own is accept(p, q, x), the probability of accepting x, and residual(p, q, x), the pmf to draw from
    once x is rejected; p and q are arrays [V], x is a token. NAME is an object with these two methods, a class or
    function without arguments that makes one, a function of the argument codebook that makes one for any table
    [V, dimensions], or a pair of functions; without it the module's own accept and residual are taken. It may also be
    a rule, a decoder or a verifier of simlab, or a class of one. It is run on numbers that are not known, so that it
    has to be exact: no floats.
    """
    if (subject is None) == (decoder is None):
        raise UsageError("expected one of SUBJECT and --decoder NAME")
    spec = subject or decoder or ""
    if judge and (decoder or not _is_file(spec)):
        raise UsageError(f"--judge is for a rule of your own, as file.py:NAME; not for {spec}")
    with wrong_usage():
        sizes = list(dict.fromkeys(map(_size, size or [])))
        given = exact_settings(settings)
    if seed is not None and not judge and at is None:
        raise UsageError(f"--seed {seed}: is of --judge; expected --judge as well, or no --seed")
    numbers = {name: one for name, one in (("length", length), ("count", count)) if one is not None}
    if judge and (numbers or rule):
        name = next(iter(numbers), "rule")
        raise UsageError(f"--{name}: is not of a rule; expected none beside --judge")
    if at is not None:
        if subject is None or judge:
            raise UsageError("--at is for a rule; expected SUBJECT, and no --judge")
        if out or copy or rule or size or positive or numbers or seed is not None or that != "lossless":
            others = "--out, --json, --rule, --size, --length, --count, --seed, --positive and a statement"
            raise UsageError(f"--at only shows what a rule does; expected none of {others}")
        from experiments.cli.showing import show

        return show(subject, *at, given, limit)

    from experiments.judging.proving import prove_apart, write_unknown
    from experiments.results import write_json

    shown = out or Path("out/proofs") / _folder(spec)
    folder, copy = shown.absolute(), copy and copy.absolute()  # whatever becomes of the current folder
    status, lossy = 0, False
    own = _shown_by(spec, settings or [])
    place = copy and copy.resolve()
    if place and place.parent == folder.resolve() and WRITTEN.fullmatch(place.name):
        raise UsageError(f"--json {copy}: has the name of a file that is written there; expected another")

    def check() -> None:
        check_writable("--out", folder)
        if copy:
            check_copy("--json", copy)

    def unknown(why: str) -> None:
        answer = write_unknown(spec, that, why, folder)
        if copy:
            write_json(copy, answer)

    if judge:
        from experiments.cli.judging import judged

        def begin() -> None:
            check()
            unknown("it is judged first")

        status, verdict = judged(spec, own, given, folder, seed or 0, begin)
        if verdict == "breaks":  # there is no rule to prove anything of
            unknown("it breaks the contract of a rule: judge.json says how")
            return status
        lossy = verdict == "lossy" and that == "lossless"  # at rows of another size than what is proven, perhaps

    try:
        with advancing_apart(check) as (found, tell):
            answer = prove_apart(
                spec,
                that,
                folder,
                settings=given,
                kind="decoder" if decoder else "",
                rule=rule,
                sizes=sizes,
                **numbers,
                zeros=not positive,
                limit=limit,
                seed=seed or 0,  # as it is judged
                found=found,
                progress=lambda cells: tell(description=f"{cells:,} cells", completed=cells),
            )
    except ValueError as error:
        if not judge:
            raise UsageError(NEEDED.sub(r"\g<0>: --set \1=...", str(error))) from None
        print_text(output(), f"judged, but not proven: {error}")  # such as a file that is gone by now
        unknown(str(error))
        return status or STATUS["unknown"]
    told = ""
    if answer["outcome"] == "proven":
        answer, told = _second_solver(answer, folder, shown, limit)
    if copy:
        write_json(copy, answer)
    console = output()
    _print(console, answer, "" if decoder or answer["size"].startswith("K = ") else own)
    if told:
        print_text(console, told)
    if answer["outcome"] == "proven" and not (decoder or size):
        print_text(console, "what shows with more tokens only was not looked at: --size V=4 does")
    print_text(console, where(answer=shown / "answer.json", checker=shown / "check.py"))
    return status or STATUS[answer["outcome"]] or int(lossy)


def _second_solver(answer: dict[str, Any], folder: Path, shown: Path, seconds: float) -> tuple[dict[str, Any], str]:
    """Ask cvc5 what z3 was asked, where it is installed: the answer, unknown if it says otherwise, and what is told."""
    from experiments.judging.proving import take_back
    from theory.failures import CheckFailed
    from theory.proofs.making import second_solver_agrees

    asked = [folder / name for name in answer["files"]]
    count = len(asked)
    files = f"{count} file{'s' if count != 1 else ''}"
    told = f"{files} for other solvers: pip install cvc5 z3-solver; python {quote(str(shown / 'check.py'))}"
    if find_spec("cvc5"):
        try:
            with advancing("cvc5 is asked as well"):
                agrees = second_solver_agrees(folder / "check.py", asked, min(seconds, SECOND))
            told = (
                f"cvc5 agrees with z3 on every question of {files}; check.py asks both again"
                if agrees
                else "cvc5 could not answer every question in time, and contradicts z3 in none; check.py says which"
            )
        except CheckFailed as error:
            return take_back(answer, f"z3 proves it, and cvc5 contradicts, so it is not proven: {error}", folder), ""
    return answer, told


def _print(console: Console, answer: dict[str, Any], show: str) -> None:
    from rich.text import Text

    outcome, word = answer["outcome"], WORDS[answer["outcome"]]
    of = f"{answer['subject']}, {answer['size']}: {answer['statement']}"
    told = f"for all {answer['assumed']}, {of} ({answer['cells']:,} cells)" if outcome == "proven" else of
    console.print(Text.assemble((word, f"bold {COLOURS[outcome]}"), f" {told}"), soft_wrap=True, highlight=False)
    if answer["why"]:
        print_text(console, shorten(answer["why"], LONGEST, placeholder=" … (all of it is in answer.json)"))
    if outcome == "counterexample" and "IndexError" in answer["why"]:
        print_text(console, "accept and residual are called with p [V], q [V] and a token x, in this turn")
    rows, values = answer["rows"], answer["values"]
    width = max(map(len, rows), default=0)
    for name, row in rows.items():
        print_text(console, f"{name:{width}} = ({', '.join(row)})")
    if isinstance(values.get("law"), list):
        print_text(console, f"{'law':{width}} = ({', '.join(values['law'])})")
    if numbers := [f"{name} {value}" for name, value in values.items() if isinstance(value, str)]:
        print_text(console, ", ".join(numbers))
    if worst := answer.get("worst"):
        print_text(
            console, f"sequence {worst['sequence']} has probability {worst['law']}; its target {worst['target']}"
        )
    if "ZeroDivision" in answer["why"] or "divides by 0" in answer["why"]:
        print_text(console, "--positive leaves rows with zeros out")
    if show and {"p", "q"} <= rows.keys():
        print_text(console, f"simlab prove {show} --at {','.join(rows['p'])} {','.join(rows['q'])}")


def _shown_by(spec: str, settings: list[str]) -> str:
    """The arguments that name the same rule."""
    return " ".join([quote(spec), *(f"--set {quote(setting)}" for setting in settings)])


def _is_file(spec: str) -> bool:
    """Whether it names something of the user's own."""
    from simlab.candidates import VERIFIERS
    from simlab.decoders import DECODERS
    from simlab.rules import RULES

    return spec not in {*RULES, *DECODERS, *VERIFIERS}


def _size(text: str) -> int:
    found = SIZE.fullmatch(text)
    if found is None or not 2 <= int(found[1]) <= MOST_SIZE:
        raise ValueError(f"--size {text}: expected V=N, a whole number from 2 to {MOST_SIZE}")
    return int(found[1])


def _folder(spec: str) -> str:
    where, _, name = spec.rpartition(":") if ":" in spec else (spec, "", "")
    parts = Path(where).stem if where.endswith(".py") else where, name
    return re.sub(r"[^\w.-]+", "-", ".".join(filter(None, parts))).strip(".") or "answer"
