"""What is taken from a published file, which is changed in nothing else.

Such code often needs a library at one old version, or does not compile where tabs and spaces are mixed. So only the
definitions that verify are taken from the file, tabs written as four spaces, and what they need is given to them.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TAB = 4  # columns


def definitions(path: Path, names: tuple[str, ...], given: Mapping[str, Any]) -> dict[str, Any]:
    """The functions and classes called ``names`` of a file, which see ``given``; raises ``ValueError`` if one is not
    there."""
    tree = ast.parse(path.read_text(encoding="utf-8").expandtabs(TAB))
    kept = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in names]
    if missing := set(names) - {node.name for node in kept}:
        raise ValueError(f"{path} has no {', '.join(sorted(missing))}; expected {', '.join(names)}")
    namespace: dict[str, Any] = dict(given)
    future = ast.parse("from __future__ import annotations").body  # their annotations are not looked up
    exec(compile(ast.Module([*future, *kept], []), str(path), "exec"), namespace)
    return namespace
