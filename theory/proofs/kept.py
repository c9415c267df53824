"""What came out of the proofs, kept with a hash of the code that was run.

A kept entry counts while the code that it ran is the same: a proof of other code is made again when it is asked for.
That code is the module that lists the proof, and all that it imports, directly or not, name by name: of a package only
the module that a name comes from. So a new rule, which no proof imports, leaves all of them as they are. Comments,
docstrings and the layout do not count.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from time import process_time
from typing import Any

from theory.failures import CheckFailed

ROOT = Path(__file__).resolve().parents[2]
KEPT = Path(__file__).with_name("kept.json")
SOLVERS = ("z3-solver",)  # that made it; cvc5 is added where it has answered the same questions

Entry = dict[str, Any]

__all__ = ["KEPT", "code_hash", "entry_of", "is_fresh", "kept_entries", "made", "sources"]


# The code ------------------------------------------------------------------------------------------------------


@cache
def code_hash(module: str) -> str:
    """The hash of the code that the proofs listed in a module run."""
    digest = sha256()
    for path in sources(module):
        digest.update(f"{path.relative_to(ROOT).as_posix()} {_syntax(path)}\n".encode())
    return digest.hexdigest()


def sources(module: str) -> list[Path]:
    """The files of a module and of all that it imports.

    Compiled forms are none of them: they take no exact arrays. Nor are registries, the dictionaries of a package that
    list everything by name: what a proof names in its text, it imports as well.
    """
    found, waiting = set[Path](), [_file(module)]
    while waiting:
        path = waiting.pop()
        if (
            path is not None
            and path not in found
            and not any("compiled" in part for part in path.relative_to(ROOT).parts)
        ):
            found.add(path)
            waiting += _imported(_tree(path))
    return sorted(found)


def _imported(tree: ast.Module) -> Iterator[Path | None]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (_definer(str(node.module), alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (_file(alias.name) for alias in node.names)


def _definer(module: str, name: str) -> Path | None:
    """The file that a name comes from; None for what a package itself lists, and for other projects."""
    path = _file(module)
    if path is None or path.name != "__init__.py":
        return path
    for node in _tree(path).body:
        if isinstance(node, ast.ImportFrom) and any(alias.name == name for alias in node.names):
            return _definer(str(node.module), name)
    return _file(f"{module}.{name}")


def _file(module: str) -> Path | None:
    path = ROOT.joinpath(*module.split("."))
    return next((each for each in (path.with_suffix(".py"), path / "__init__.py") if each.is_file()), None)


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _syntax(path: Path) -> str:
    return _as_text(_tree(path))


def _as_text(node: Any) -> str:
    """A syntax tree as text, the same in every version of Python, without docstrings."""
    if isinstance(node, list):
        return f"[{','.join(_as_text(each) for each in node if not _is_docstring(each))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = ((name, value) for name, value in ast.iter_fields(node) if value is not None and value != [])
    return f"{type(node).__name__}({','.join(f'{name}={_as_text(value)}' for name, value in fields)})"


def _is_docstring(node: Any) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


# What is kept --------------------------------------------------------------------------------------------------


@cache
def kept_entries() -> dict[str, Entry]:
    """What is kept, by the name of the proof."""
    if not KEPT.exists():
        return {}
    found: dict[str, Entry] = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


def is_fresh(entry: Entry | None) -> bool:
    """Whether a kept entry is of the code that is there."""
    return entry is not None and entry["code"] == code_hash(entry["listed"])


@cache
def entry_of(name: str) -> Entry:
    """What came out of a proof: what is kept, or, where the code is another by now, what comes out today.

    Raises
    ------
    CheckFailed
        If it is not proven any more, or a wrong variant is.
    """
    kept = kept_entries().get(name)
    return kept if kept is not None and is_fresh(kept) else made(name)[0]


def made(name: str) -> tuple[Entry, list[Any]]:
    """Make a proof and refute its wrong variants.

    Parameters
    ----------
    name
        Of a proof in :mod:`theory.proofs.catalogue`.

    Returns
    -------
    tuple
        What to keep, and the answers of the proof itself.

    Raises
    ------
    CheckFailed
        If something is not proven, or a wrong variant is not refuted.
    """
    from theory.proofs.catalogue import LISTED, PROOFS
    from theory.symbolic.smtlib import questions

    proof, begin = PROOFS[name], process_time()
    answers = [ask() for ask in proof.questions]
    for answer in answers:
        if answer.outcome != "proven":
            raise CheckFailed(f"the proof {name} does not go through: {answer}")
    seconds, refuted = process_time() - begin, {}
    for told, ask in proof.wrong.items():
        found = ask()
        if found.outcome != "counterexample":
            raise CheckFailed(f"the proof {name} does not see: {told} ({found})")
        refuted[told] = {each: " ".join(map(str, row)) for each, row in found.rows.items()}
    entry = {
        "statement": proof.statement,
        "lemma": proof.lemma,
        "claims": list(proof.claims),
        "outcome": "proven",
        "sizes": {
            rows: list(dict.fromkeys(answer.size for answer in answers if answer.assumed == rows))
            for rows in dict.fromkeys(answer.assumed for answer in answers)
        },
        "of": [each for each in dict.fromkeys(answer.subject for answer in answers) if each not in ("rows", "numbers")],
        "cells": sum(answer.cells for answer in answers),
        "questions": sum(1 for answer in answers for space in answer.spaces for _ in questions(space)),
        "refuted": refuted,
        "seconds": round(seconds, 2),
        "solvers": {each: version(each) for each in SOLVERS},
        "listed": LISTED[name],
        "code": code_hash(LISTED[name]),
    }
    return entry, answers
