"""Witnesses: standalone programs that recompute the numbers of an entry of ``verdicts.json`` in a way of their own.

What refutes a sentence of a paper or published code has one, and headlines whose own examples show numbers that solvers
have not proven. That of claim
``gsd.speed`` is ``theory/claims/gsd/witnesses/gsd.speed.py``. Its docstring says how it derives the numbers;
``recompute(examples)`` takes the entry's (counter)examples, of which it may use the inputs, and returns for each the
numbers it found, under the entry's names. It asserts what makes the example one. It imports the standard library, NumPy
and SciPy, and nothing else but ``_shared``, the parts that several witnesses of its folder have in common.
``TOLERANCE`` in it, a number or numbers by name, is how far the two may differ, relative to the larger of 1 and the
entry's number; it is 1e-9 where the witness does not say.

:func:`program` puts the entry in front of it, what it takes of ``_shared`` in the place of the import, and the
comparison behind it, so that what is written runs anywhere.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

SHARED = "_shared"
EXAMPLES = ("counterexample", "example")

PROGRAM = '''"""{id}: {verdict}.

{statement}

{how}

Needs Python and NumPy, some of these programs SciPy. Prints what it finds beside the entry; status 1 if they differ.
"""

import json

ENTRY = json.loads(r"""{examples}""")

{body}

# The comparison ------------------------------------------------------------------------------------------------


def compare(name, found, entry, tolerance):
    """Whether what was found is what the entry says, to the tolerance; prints both."""
    if isinstance(found, dict):
        return all([compare(f"{{name}} {{key}}", found[key], entry[key], tolerance) for key in found])
    if isinstance(found, (list, tuple)):
        each = [compare(f"{{name}} {{k}}", one, two, tolerance) for k, (one, two) in enumerate(zip(found, entry))]
        return len(found) == len(entry) and all(each)
    if isinstance(found, str) or isinstance(entry, (str, bool)) or entry is None:
        same = found == entry
    else:
        same = abs(float(found) - entry) <= tolerance * max(1.0, abs(entry))
    plain = found if isinstance(found, (str, bool)) or found is None else float(found)
    print(f"{{name}}: {{plain}}, the entry: {{entry}}")
    return bool(same)


if __name__ == "__main__":
    tolerances = globals().get("TOLERANCE", 1e-9)
    same = True
    for number, (found, entry) in enumerate(zip(recompute(ENTRY), ENTRY, strict=True), 1):
        for key, value in found.items():
            tolerance = tolerances.get(key, 1e-9) if isinstance(tolerances, dict) else tolerances
            same &= compare(f"{{number}}: {{key}}", value, entry[key], tolerance)
    print("all as the entry says" if same else "NOT what the entry says")
    raise SystemExit(not same)
'''


def sources() -> dict[str, Path]:
    """The witnesses by the id of their claim."""
    found = sorted(Path(__file__).parent.glob("*/witnesses/*.py"))
    return {path.stem: path for path in found if path.stem != SHARED}


def standalone(path: Path) -> str:
    """The text of a witness, with the definitions that it imports from ``_shared`` written out."""
    text = path.read_text("utf-8")
    imported = re.search(rf"^from {SHARED} import (\([^)]*\)|.*)\n", text, re.MULTILINE)
    if imported is None:
        return text
    wanted = re.findall(r"\w+", imported[1])
    parts = definitions(path.with_name(f"{SHARED}.py").read_text("utf-8"), wanted)
    return text[: imported.start()] + parts + text[imported.end() :]


def definitions(text: str, wanted: Sequence[str]) -> str:
    """What the module ``text`` defines as ``wanted``, and what that needs, imports too, in the order of the module."""
    named: dict[str, ast.stmt] = {}
    for node in ast.parse(text).body:
        bound = [alias.asname or alias.name for alias in getattr(node, "names", [])]
        targets = (leaf for target in getattr(node, "targets", []) for leaf in ast.walk(target))
        bound += [leaf.id for leaf in targets if isinstance(leaf, ast.Name)]
        named |= dict.fromkeys(bound or [getattr(node, "name", "")], node)
    needed, waiting = set[str](), list(wanted)
    while waiting:
        name = waiting.pop()
        needed.add(name)
        used = {leaf.id for leaf in ast.walk(named[name]) if isinstance(leaf, ast.Name)}
        waiting += used & named.keys() - needed
    nodes = dict.fromkeys(node for name, node in named.items() if name in needed)
    pieces = [ast.get_source_segment(text, node) or "" for node in nodes]
    return "\n\n".join(pieces) + "\n\n"


def examples(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The numbers of the (counter)examples of an entry of ``verdicts.json``, in their order."""
    return [piece[kind] for piece in entry["evidence"] for kind in EXAMPLES if kind in piece]


def program(entry: Mapping[str, Any], source: str) -> str:
    """The program that recomputes ``entry`` by the witness whose text is ``source``."""
    _, how, body = source.split('"""', 2)
    return PROGRAM.format(
        id=entry["id"],
        verdict=entry["verdict"],
        statement=fill(entry["statement"].replace("\\", "\\\\").replace('"""', "'''"), 110),
        how=how.strip(),
        examples=json.dumps(examples(entry), indent=1),
        body=body.strip(),
    )


def programs(entries: list[dict[str, Any]]) -> dict[str, str]:
    """The programs of all entries that have one, by the id of their claim."""
    found = sources()
    return {e["id"]: program(e, standalone(found[e["id"]])) for e in entries if has_program(e)}


def has_program(entry: Mapping[str, Any]) -> bool:
    """Whether an entry has a program: a witness, and examples for it to recompute."""
    return entry["id"] in sources() and bool(examples(entry))
