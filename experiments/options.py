"""How options of commands are spelled, records of those that belong together, and what is told of wrong ones."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

from experiments.terminal import UsageError
from experiments.validation import expectation
from simlab.registry import meant

MOST_SEED = (1 << 32) - 1
FILES = "Files"  # a section of the help


class Sections(TyperCommand):
    """A command whose help has its options by subject: by their panels, which typer keeps for Rich alone."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        found: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(ctx):
            usual = "Arguments" if each.param_type_name == "argument" else "Options"
            if record := each.get_help_record(ctx):
                found.setdefault(getattr(each, "rich_help_panel", None) or usual, []).append(record)
        for heading in sorted(found, key=lambda heading: heading == "Options"):  # --help is the last
            with formatter.section(heading):
                formatter.write_dl(found[heading])


def option(help: str, metavar: str | None = None, name: str = "", section: str | None = None, **more: Any) -> Any:
    """An option with its help, called as its parameter is unless it has a ``name``, in a section of the help."""
    return typer.Option(*filter(None, [name]), metavar=metavar, help=help, rich_help_panel=section, **more)


def seed_option(help: str) -> Any:
    """``--seed``, with what it is the seed of."""
    return typer.Option("--seed", metavar="N", min=0, max=MOST_SEED, help=help)


def count_option(name: str, help: str, section: str | None = None) -> Any:
    """A number of things, at least one."""
    return typer.Option(name, metavar="N", min=1, help=help, rich_help_panel=section)


def out_option(help: str = "where to write") -> Any:
    """``--out``, a folder."""
    return typer.Option("--out", metavar="DIR", help=help, rich_help_panel=FILES)


def file_option(name: str, help: str) -> Any:
    """A file to be written."""
    return typer.Option(name, metavar="FILE", help=help, rich_help_panel=FILES)


def with_records(command: Callable[..., int]) -> Callable[..., int]:
    """``command`` as typer takes it: a parameter that is a record, a dataclass of options, is one option a field.

    They are one section of the help, which the record names.
    """
    types = get_type_hints(command, include_extras=True)
    records: dict[str, Any] = {name: kind for name, kind in types.items() if is_dataclass(kind)}
    options = [each for name, each in signature(command).parameters.items() if name not in records]
    spelled = [each.replace(annotation=types[each.name], kind=Parameter.KEYWORD_ONLY) for each in options]
    for record in records.values():
        hints = get_type_hints(record, include_extras=True)
        spelled += [
            Parameter(
                each.name,
                Parameter.KEYWORD_ONLY,
                default=each.default,
                annotation=_in_section(hints[each.name], record.section),
            )
            for each in fields(record)
        ]

    @wraps(command)
    def called(**given: Any) -> int:
        made = {
            name: record(**{each.name: given.pop(each.name) for each in fields(record)})
            for name, record in records.items()
        }
        return command(**given, **made)

    called.__signature__ = signature(command).replace(parameters=spelled)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in spelled} | {"return": int}
    return called


def _in_section(hint: Any, section: str) -> Any:
    """The annotation of an option, with its section of the help."""
    option = copy(hint.__metadata__[0])
    option.rich_help_panel = section
    return Annotated[hint.__origin__, option]


def given_of(record: Any) -> dict[str, Any]:
    """The fields of a record that were given, by their names."""
    values = {each.name: getattr(record, each.name) for each in fields(record)}
    return {name: value for name, value in values.items() if value is not None}


# Programs ----------------------------------------------------------------------------------------------------------

SHOWN: Any = {  # how help is printed
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
    "context_settings": {"max_content_width": 120, "help_option_names": ["-h", "--help"]},
}


def run_module(command: Callable[..., int], arguments: Sequence[str] | None = None) -> int:
    """The exit status of a command that is a module of its own, ``python -m module``; 2 for wrong usage, which is told.

    ``arguments``: those of the process by default.
    """
    main = sys.modules["__main__"].__spec__
    name = command.__module__ if command.__module__ != "__main__" or main is None else main.name
    app = typer.Typer(add_completion=False, **SHOWN)
    app.command()(command)
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        with typer.main.get_command(app).make_context(f"python -m {name}", given) as context:
            status: int = context.command.invoke(context)
            return status
    except typer.Exit as done:
        return done.exit_code
    except (UsageError, typer.TyperException) as error:
        print(f"{name}: {told(error)}", file=sys.stderr)
        return 2


def told(error: Exception) -> str:
    """The error of a parameter as "--option value: expected ..."; any other as it is."""
    if not isinstance(error, typer.BadParameter):
        return error.format_message() if isinstance(error, typer.TyperException) else str(error)
    name = error.param.opts[0] if error.param is not None else ""
    if not isinstance(error.__cause__, ValueError):
        return error.format_message()
    found = error.__cause__.errors()[0]  # type: ignore[attr-defined]
    _, _, choices = str(found["msg"]).partition(" is not one of ")
    if choices:
        known = re.findall(r"'([^']*)'", choices)
        return f"{name} {found['input']}: {meant(found['input'], known)}expected one of {', '.join(map(repr, known))}"
    return f"{name} {found['input']}: expected {expectation(found)}"
