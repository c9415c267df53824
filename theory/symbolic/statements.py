"""Statements about a rule or a decoder, as a person writes them.

``lossless``
    what is emitted follows p;
``frontier``
    no rule accepts more at the TV that this one spends: ``accepts == alpha + tv``;
``accepts >= speculative``, ``tv <= 1/10``, ``accepts == 1 - tv``, ...
    a comparison of numbers and of

    ============  =========================================================================================
    ``accepts``   how often a draft is accepted, or how many drafts of a step in the mean
    ``tv``        TV between p and what is emitted
    ``alpha``     1 - TV(p, q), what speculative sampling accepts
    *a rule*      the acceptance of the rule of that name, made without settings; for a decoder, the drafts that
                  the decoder of that name and length accepts
    ============  =========================================================================================
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

LOSSLESS, FRONTIER = "lossless", "frontier"
OWN = "accepts", "tv", "alpha"
OPERATIONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
COMPARISONS: dict[type, Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}

__all__ = ["FRONTIER", "LOSSLESS", "Statement", "read_statement"]


@dataclass(frozen=True)
class Statement:
    """A statement that has been read.

    Attributes
    ----------
    text
        As it was written.
    names
        What it is about, besides numbers.
    """

    text: str
    names: tuple[str, ...]
    _tree: ast.Compare

    def holds(self, value: Callable[[str], Any]) -> bool:
        """Whether it is true, with a number ``value(name)`` for each name."""
        terms = [_number(term, value) for term in (self._tree.left, *self._tree.comparators)]
        pairs = zip(self._tree.ops, terms, terms[1:], strict=False)
        return all(COMPARISONS[type(op)](one, other) for op, one, other in pairs)


def read_statement(text: str, others: tuple[str, ...] = ()) -> Statement:
    """A statement from text.

    Parameters
    ----------
    text
        As a person writes it.
    others
        Names besides ``accepts``, ``tv`` and ``alpha``; they may hold hyphens.

    Returns
    -------
    Statement
        It.

    Raises
    ------
    ValueError
        If it is no comparison of numbers and these names, saying what would be.
    """
    written = {LOSSLESS: "tv == 0", FRONTIER: "accepts == alpha + tv"}.get(text.strip(), text)
    for name in sorted(others, key=len, reverse=True):
        written = written.replace(name, name.replace("-", "_"))
    names = {name.replace("-", "_"): name for name in (*OWN, *others)}
    known = f"expected lossless, frontier, or a comparison of numbers and {', '.join(names.values())}"
    try:
        tree = ast.parse(written, mode="eval").body
    except SyntaxError:
        raise ValueError(f"that is {text!r}; {known}") from None
    if not isinstance(tree, ast.Compare):
        raise ValueError(f"that is {text!r}; {known}")
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if node.id not in names:
                raise ValueError(f"that is {text!r}: {node.id} is not known; {known}")
            found.append(names[node.id])
            node.id = names[node.id]
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, bool) or not isinstance(node.value, int | float):
                raise ValueError(f"that is {text!r}: {node.value!r} is no number; {known}")
        elif type(node) not in (*OPERATIONS, *COMPARISONS, ast.BinOp, ast.UnaryOp, ast.USub, ast.Compare, ast.Load):
            raise ValueError(f"that is {text!r}; {known}")
    return Statement(text.strip(), tuple(dict.fromkeys(found)), tree)


def _number(node: ast.expr, value: Callable[[str], Any]) -> Any:
    match node:
        case ast.Name(id=name):
            return value(name)
        case ast.Constant(value=constant):
            return Fraction(str(constant))
        case ast.UnaryOp(operand=operand):
            return -_number(operand, value)
        case ast.BinOp(left=left, op=op, right=right):
            return OPERATIONS[type(op)](_number(left, value), _number(right, value))
    raise AssertionError(node)
