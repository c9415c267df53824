"""``simlab certify``: certify a verifier, drafter or decoder of the user's own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from experiments.certification.effort import Effort
from experiments.options import file_option, given_of, option, out_option, with_records
from experiments.terminal import (
    UsageError,
    advancing,
    advancing_apart,
    check_copy,
    check_writable,
    drawn,
    output,
    plain_table,
    print_text,
    where,
    wrong_usage,
)

if TYPE_CHECKING:
    from rich.console import Console

    from experiments.certification.gates import GateFiles
    from experiments.certification.request import Request
    from experiments.certification.servers import ServerRequest

COLOURS = {"lossless": "green", "lossy": "red", "breaks": "red", "inconclusive": "yellow"}
SUBJECT, SHAPES, INSTEAD = "What is certified", "Shapes", "Instead of certifying"  # sections of the help
STATUS = {"lossless": 0, "lossy": 1, "breaks": 1, "inconclusive": 3}
WORST = 5  # lines that are printed; the page has all
REASONS = 3  # why shapes were left out; the page has all
MOST_OUTCOMES = 16  # that are printed; the page has more
WRITTEN = "certificate.json", "certificate.html", "reproduce.py", "completions.jsonl"  # to --out


def _server(metavar: str, text: str) -> Any:
    """An option of ``--url``."""
    return typer.Option(metavar=metavar or None, help=text, show_default=False)


@dataclass(frozen=True)
class Served:
    """What is asked of servers; None is the usual."""

    section: ClassVar[str] = "With --url"
    reference: Annotated[str | None, _server("URL", "the same server without speculation")] = None
    prompt: Annotated[list[str] | None, _server("TEXT", "what is asked; several times (default: four texts)")] = None
    tokens: Annotated[int | None, _server("N", "tokens of a completion (default: 4)")] = None
    temperature: Annotated[float | None, _server("T", "of both (default: 1)")] = None
    top_k: Annotated[int | None, _server("K", "of both (default: 0, all)")] = None
    top_p: Annotated[float | None, _server("P", "of both (default: 1)")] = None
    min_p: Annotated[float | None, _server("P", "of both (default: 0)")] = None
    stream: Annotated[bool | None, _server("", "read the answers as streams of events")] = None
    model: Annotated[str | None, _server("NAME", "what an OpenAI-compatible server is asked for")] = None
    concurrency: Annotated[int | None, _server("N", "requests to --url at a time (default: 8)")] = None
    reference_concurrency: Annotated[int | None, _server("N", "requests to --reference at a time (default: 1)")] = None
    requests: Annotated[int | None, _server("N", "most requests to both (default: 100000)")] = None
    rate: Annotated[float | None, _server("R", "most requests a second to either (default: 1000)")] = None
    logprobs: Annotated[bool | None, _server("", "note where what both tell of them differs")] = None

    @property
    def given(self) -> dict[str, Any]:
        """What was given, as a request names it."""
        found = given_of(self)
        prompts = found.pop("prompt", None)
        return found | ({"prompts": tuple(prompts)} if prompts else {})


@with_records
def certify_command(
    effort: Effort,
    served: Served,
    spec: Annotated[str | None, typer.Argument(metavar="SPEC", help="what to certify", show_default=False)] = None,
    command: Annotated[
        str | None, option("certify a process: any language", "LINE", "--command", section=SUBJECT)
    ] = None,
    checkout: Annotated[
        Path | None, option("the repository of published code (--list)", "DIR", "--checkout", section=SUBJECT)
    ] = None,
    url: Annotated[str | None, option("certify a server with speculation", "URL", "--url", section=SUBJECT)] = None,
    contract: Annotated[
        str | None, option("how it is called (default: verify, or the adapter's)", "NAME", section=SUBJECT)
    ] = None,
    arrays: Annotated[
        str | None,
        option("for operators that take coins: numpy, torch or cuda, as torch.bfloat16", "KIND", section=SUBJECT),
    ] = None,
    shape: Annotated[
        list[str] | None,
        option("yours, as V=151936,gamma=4..8, or a preset (--list); repeatable", "TEXT", section=SHAPES),
    ] = None,
    at_most: Annotated[
        str | None, option("the largest shapes that it takes, as V=65536,gamma=16", "TEXT", section=SHAPES)
    ] = None,
    strict: Annotated[
        bool, option("fail for what shows only where a coin is 0 or the last below 1", name="--strict", section=SHAPES)
    ] = False,
    calls: Annotated[
        int | None, option("calls of each case instead of a budget: repeatable", "N", section=Effort.section)
    ] = None,
    processes: Annotated[
        int | None, option("that call it; 0: this one (default: 2; of a --command 1)", "N", section=Effort.section)
    ] = None,
    copy: Annotated[Path | None, file_option("--json", "write certificate.json here as well")] = None,
    junit: Annotated[Path | None, file_option("--junit", "write JUnit XML here")] = None,
    sarif: Annotated[Path | None, file_option("--sarif", "write SARIF here")] = None,
    baseline: Annotated[
        Path | None, file_option("--baseline", "an earlier certificate.json: only what is new fails")
    ] = None,
    out: Annotated[Path, out_option()] = Path("out/certify"),
    listing: Annotated[
        bool, option("list contracts, adapters and presets of shapes", name="--list", section=INSTEAD)
    ] = False,
    self_test: Annotated[
        bool, option("certify known bugs and correct verifiers instead", name="--self-test", section=INSTEAD)
    ] = False,
    quick: Annotated[
        bool, option("with --self-test: only to see whether it runs", name="--quick", section=INSTEAD)
    ] = False,
) -> int:
    """Certify a verifier, drafter or decoder of your own.

    Calls it on a battery of cases and compares its output law with the target's: no deviation found (lossless), a
    deviation reduced to the smallest case and explained (lossy), or a failure (breaks). Writes certificate.json,
    certificate.html and, where there is one, a program that reproduces the failure.

    Exit status: 0 lossless, 1 lossy or breaks, 2 wrong usage, 3 inconclusive: nothing was found, but the budget was too
    small for the TV asked for. SPEC is module:function, path/to/file.py:function, or a name of --list: an
    adapter, or code of a repository in --checkout.
    The documentation (make docs, or docs/ of simlab's repository) has a guide to all of it, to --command and to --url.
    """
    if (spec is not None) + (command is not None) + (url is not None) + listing + self_test != 1:
        raise UsageError("certify: expected a SPEC, --command, --url, --list or --self-test, and only one of them")
    if quick and not self_test:
        raise UsageError("certify: --quick belongs to --self-test")
    own: dict[str, Any] = {"shape": shape or None, "at-most": at_most, "strict": strict or None, "contract": contract}
    own |= {"arrays": arrays, "calls": calls, "processes": processes}
    given = _first_given(own)
    if given and (listing or self_test or url is not None):
        raise UsageError(f"certify: --{given} belongs to a SPEC or --command")
    if at_most == "":
        raise UsageError("certify: --at-most is ''; expected sizes such as V=65536,gamma=16")
    beside = _first_given({"junit": junit, "sarif": sarif, "baseline": baseline, "json": copy if listing else None})
    if beside and (listing or self_test):
        raise UsageError(f"certify: --{beside} belongs to a certificate")
    if checkout is not None and spec is None:
        raise UsageError("certify: --checkout belongs to a SPEC")
    if listing:
        return _list()
    if self_test:
        from experiments.certification.self_test import selftest_command

        return selftest_command(out, copy, effort.seed, quick)

    from experiments.certification.gates import GateFiles, read_baseline
    from experiments.certification.request import Request

    asked = served.given
    if asked and url is None:
        flag = "prompt" if "prompts" in asked else next(iter(asked)).replace("_", "-")
        raise UsageError(f"certify: --{flag} belongs to --url")
    named = command if spec is None else spec
    with wrong_usage():
        files = GateFiles(copy, junit, sarif, read_baseline(baseline) if baseline else None)
        if url is not None:
            from experiments.certification.servers import ServerRequest

            return _certify_server(ServerRequest(url, **effort.effort, **asked), out, files)
        assert named is not None
        request = Request(
            spec=named,
            contract=contract,
            calls=calls,
            processes=processes,
            arrays=arrays,
            shapes=tuple(shape or ()),
            at_most=at_most or "",
            strict=strict,
            process=spec is None,
            checkout=checkout,
            **effort.effort,
        )
    return _certify(request, out, files)


def _first_given(options: dict[str, Any]) -> str | None:
    """The first of these options that was given."""
    return next((name for name, value in options.items() if value is not None), None)


def _certify(request: Request, out: Path, files: GateFiles) -> int:
    from experiments.apart import Unfit
    from experiments.certification.certified import certified
    from experiments.certification.request import save_certificate

    shown, out, files = out, out.absolute(), files.absolute()  # whatever becomes of the current folder
    total = None if request.calls else ceil(request.budget)  # of calls no end is known
    try:
        with advancing_apart(partial(_check_files, out, files), total) as (found, tell):

            def advance(what: str, share: float) -> None:
                tell(description=what, completed=0 if total is None else int(share * total))

            document = certified(request, out, found, advance)
    except Unfit as error:
        raise UsageError(str(error)) from None
    save_certificate(document, out, files.copy)
    return _show(document, shown, files)


def _certify_server(request: ServerRequest, out: Path, files: GateFiles) -> int:
    from experiments.certification.request import save_certificate
    from experiments.certification.servers import certified_server, finished

    _check_files(out, files)
    with advancing("asking", ceil(request.budget)) as tell, wrong_usage():
        document = certified_server(request, out, lambda share: tell(completed=int(share * request.budget)))
    save_certificate(document, out, files.copy)
    finished(out)
    return _show(document, out, files)


def _check_files(out: Path, files: GateFiles) -> None:
    """Raise :class:`UsageError` where something that is asked for cannot be written, or would be written over."""
    check_writable("--out", out)
    taken = {(out / name).resolve(): f"--out {out}" for name in WRITTEN}
    for name, path in files.written.items():
        check_copy(name, path)
        place = path.resolve()
        if place in taken and not (name == "--json" and place == (out / WRITTEN[0]).resolve()):  # which is the same
            raise UsageError(f"certify: {name} {path} is written by {taken[place]} too; expected another file")
        taken[place] = f"{name} {path}"


def _show(document: dict[str, Any], out: Path, files: GateFiles) -> int:
    """Print a certificate, write what else is asked for, and draw the page; returns the exit status."""
    from experiments.certification.request import program

    files.save(document)
    console = output()
    _print(console, document)
    complete = drawn(out, "certify")
    if not complete:
        print_text(console, "the page could not be drawn; the certificate is saved", "bold red")
    written = {"certificate": out / "certificate.json", "page": out / "certificate.html"}
    if program(document):
        written["reproduce"] = out / "reproduce.py"
    print_text(console, f"\n{where(**written)}")
    status = STATUS[document["verdict"]]
    if status and files.known(document):
        print_text(console, "\nnothing new against the baseline")
        status = 0
    return status or (0 if complete else 1)


def _list() -> int:
    """Print the contracts, adapters, published code, and the presets of shapes."""
    from simlab.certify import CONTRACTS
    from simlab.certify.adapters import ADAPTERS
    from simlab.certify.adapters.checkouts.registry import PUBLISHED
    from simlab.certify.shapes.ranges import PRESETS

    console = output()
    width = max(map(len, CONTRACTS)) + 2
    for contract in CONTRACTS.values():  # whole, however long
        print_text(console, f"{contract.name:<{width}}{contract.signature}")
    console.print()
    rows = [(one.name, one.contract, "CUDA" if one.needs_cuda else "CPU", one.about) for one in ADAPTERS.values()]
    console.print(plain_table(console, ("adapter", "contract", "runs on", "what it is"), rows))
    console.print()
    rows = [(one.name, one.contract, one.repository, one.about) for one in PUBLISHED.values()]
    console.print(plain_table(console, ("with --checkout", "contract", "of the repository", "what it is"), rows))
    console.print()
    width = max(map(len, PRESETS)) + 2
    print_text(console, "presets of --shape, of which a contract takes the sizes that it has", "bold")
    for name, preset in PRESETS.items():
        print_text(console, f"{name:<{width}}{preset}; {preset.source}")
    return 0


# What is printed -----------------------------------------------------------------------------------------------


def _print(console: Console, document: dict[str, Any]) -> None:
    from rich.text import Text

    from experiments.certification.certificate_format import clauses, edge_line

    verdict = document["verdict"]
    console.print(Text.assemble((verdict, f"bold {COLOURS[verdict]}"), f": {document['meaning']}"))
    shapes, edge = document.get("shapes"), document.get("edge")
    if shapes:
        _print_own(console, shapes)
    for clause in clauses(document):
        print_text(console, clause)
    if document["failure"]:
        _print_failure(console, document["failure"])
    if document.get("again"):
        print_text(console, f"\nto see it again: {document['again']}")
    if shapes and any(cell["outcomes"] for cell in shapes["cells"]):
        _print_maps(console, shapes)
    if edge and not document["failure"]:
        console.print()
        console.print(Text.assemble(("edge: ", "yellow"), edge_line(edge)), soft_wrap=True)
    if any(line["calls"] for line in document["lines"]):
        console.print()
        _print_lines(console, document)
    console.print()
    if document["acceptance"]:
        print_text(console, f"acceptance: {document['acceptance']['told']}")
    print_text(console, f"exact laws: {document['exact']}")
    print_text(console, f"forced coins: {document['forced']}")
    for note in document["notes"]:
        console.print(Text.assemble(("note: ", "cyan"), note), soft_wrap=True)


def _print_own(console: Console, shapes: dict[str, Any]) -> None:
    """What was asked for, a line each."""
    from rich.text import Text

    from experiments.certification.certificate_format import own_shape_line

    for one in shapes["own"]:
        colour = "green" if one["seen"] else "yellow"
        console.print(Text.assemble((one["name"], f"bold {colour}"), f": {own_shape_line(one)}"), soft_wrap=True)


def _print_maps(console: Console, shapes: dict[str, Any]) -> None:
    """Where it looked: a table for V by each other axis, and what was left out."""
    from experiments.certification.certificate_format import left_out, maps, seen

    for one in maps(shapes):
        rows = [(row, *map(seen, cells)) for row, cells in zip(one.rows, one.cells, strict=True)]
        console.print()
        console.print(plain_table(console, (f"V by {one.axis}", *one.columns), rows))
    print_text(
        console,
        "The smallest TV that would have been seen. In brackets: too little for the verdict; a dot: not looked at.",
        "dim",
    )
    reasons = left_out(shapes)
    for reason in reasons[:REASONS]:
        print_text(console, f"left out: {reason}")
    if len(reasons) > REASONS:
        print_text(console, f"left out: {len(reasons) - REASONS} more, which the page names")


def _print_failure(console: Console, failure: dict[str, Any]) -> None:
    from experiments.certification.certificate_format import format_value, most_off

    print_text(console, f"\nfails: {failure['case']}", "bold")
    for name, value in failure["arguments"].items():
        print_text(console, f"  {name} = {format_value(value)}")
    rows = most_off(failure["outcomes"], MOST_OUTCOMES)
    if rows:
        names = [name for name in ("target", "measured", "exact") if rows[0][name] is not None]
        cells = [(f"  {row['outcome']}", *(f"{row[name]:.6g}" for name in names)) for row in rows]
        console.print()
        console.print(plain_table(console, ("  tokens", *names), cells))
    if failure["diagnosis"]:
        print_text(console, f"\n{failure['diagnosis']}", "bold")


def _print_lines(console: Console, document: dict[str, Any]) -> None:
    from rich.text import Text

    from experiments.certification.certificate_format import named, outcome

    colours = {"fails": "red", "ok": "green"}
    rows = []
    worst = sorted(document["lines"], key=lambda line: (not line["fails"], -line["tv_at_most"]))[:WORST]
    for line in worst:
        result = outcome(line, document["epsilon"])
        rows.append(
            (
                named(line),
                f"{line['calls']}",
                f"{line['tv_at_most']:.4f}",
                "–" if line["detectable"] is None else f"{line['detectable']:.4f}",
                Text(result, style=colours.get(result, "yellow")),
            )
        )
    console.print(plain_table(console, ("case", "calls", "TV at most", "detects", ""), rows))
    print_text(
        console,
        f"The {len(worst)} worst of {len(document['lines'])} lines. TV at most: of what is counted, in all cases "
        f"together, at confidence {document['confidence']:g}. "
        "detects: the smallest TV that would have failed with probability 0.999",
        "dim",
    )
