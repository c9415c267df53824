"""Assertions of a notebook report, and the cell goes on to its table and its figure.

A notebook asserts what its text says. Whoever changes a parameter to see what happens would meet an ``AssertionError``
without a message before anything is drawn. A report goes to stderr, which the tests and the documentation take for a
failure: unchanged notebooks have nothing to report.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from copy import deepcopy
from reprlib import repr as short

from IPython import get_ipython

REPORT = "_differs_from_the_text"
LONGEST = 160  # characters of an assertion that are shown


def report_assertions() -> None:
    """From the next cell on, an assertion that fails says so and what it found, and the cell goes on."""
    shell = get_ipython()
    if not any(isinstance(each, Reporting) for each in shell.ast_transformers):
        shell.ast_transformers.append(Reporting())
    shell.push({REPORT: differs}, interactive=False)


class Reporting(ast.NodeTransformer):
    """``assert test`` becomes ``if not test: differs(...)``."""

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        found = node.test.left if isinstance(node.test, ast.Compare) else node.test
        shown = ast.Lambda(ast.arguments([], [], None, [], [], None, []), deepcopy(found))
        report = ast.Call(ast.Name(REPORT, ast.Load()), [ast.Constant(ast.unparse(node.test)), shown], [])
        instead = ast.If(ast.UnaryOp(ast.Not(), node.test), [ast.Expr(report)], [])
        return ast.fix_missing_locations(ast.copy_location(instead, node))


def differs(test: str, found: Callable[[], object]) -> None:
    """Say which assertion failed, and what its left side is."""
    test = test if len(test) <= LONGEST else test[: LONGEST - 3] + "..."
    print(f"Other than the text says: {test}\n    found: {short(found())}", file=sys.stderr)
