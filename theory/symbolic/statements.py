"""Statements about a rule, a verifier or a decoder, as a person writes them.

``lossless``
    what is emitted follows p;
``frontier``
    of a rule: none accepts more at the TV that this one spends, ``accepts == alpha + tv``;
``accepts >= speculative``, ``tv <= 1/10``, ``accepts == 1 - tv``, ...
    a comparison of numbers, divided by numbers alone, and of

    ============  =========================================================================================
    ``accepts``   how often a draft, or one of several candidates, is accepted; of a decoder how many drafts
                  its first step accepts in the mean
    ``calls``     of a decoder, how many steps a sequence takes in the mean
    ``tv``        TV between the target and what is emitted
    ``alpha``     1 - TV(p, q), what speculative sampling accepts
    *a name*      the acceptance of the rule of that name, made without settings; beside a decoder what is asked
                  of it, ``accepts`` or ``calls``, of the decoder of that name, with the same window or draft
                  length and defaults else
    ============  =========================================================================================
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

LOSSLESS, FRONTIER = "lossless", "frontier"
LONGEST = 500  # characters of a statement
OF_ROWS = "accepts", "tv", "alpha"  # what is known of a rule and of a verifier
OF_SEQUENCES = "accepts", "calls", "tv"  # and of a decoder
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
ALLOWED = (
    *(*OPERATIONS, *COMPARISONS, ast.USub, ast.Load),
    *(ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare),
)

__all__ = ["FRONTIER", "LOSSLESS", "OF_ROWS", "OF_SEQUENCES", "Statement", "read_statement"]


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


def read_statement(text: str, others: tuple[str, ...] = (), own: tuple[str, ...] = OF_ROWS) -> Statement:
    """A statement from text.

    Parameters
    ----------
    text
        As a person writes it.
    others
        Names of rules or decoders; they may hold hyphens.
    own
        What else is known of the subject.

    Returns
    -------
    Statement
        It.

    Raises
    ------
    ValueError
        If it is no comparison of numbers and these names, saying what would be.
    """
    if len(text) > LONGEST:
        raise ValueError(f"that has {len(text)} characters; expected at most {LONGEST}")
    written = {LOSSLESS: "tv == 0", FRONTIER: "accepts == alpha + tv"}.get(text.strip(), text.strip())
    for name in sorted(others, key=len, reverse=True):
        written = written.replace(name, name.replace("-", "_"))
    names = {name.replace("-", "_"): name for name in (*own, *others)}
    frontier = "frontier, " if own == OF_ROWS else ""
    known = f"expected lossless, {frontier}or a comparison of numbers and {', '.join(names.values())}"
    try:
        tree = ast.parse(written, mode="eval").body
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"that is {text!r}; {known}") from None
    if not isinstance(tree, ast.Compare):
        raise ValueError(f"that is {text!r}; {known}")
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) if name in names:
                found.append(names[name])
                node.id = names[name]
            case ast.Name(id=name):
                raise ValueError(f"that is {text!r}: {name} is not known; {known}")
            case ast.Constant(value=value) if type(value) not in (int, float) or value == inf:
                raise ValueError(f"that is {text!r}: {value!r} is no number; {known}")
            case ast.Constant(value=float()):
                digits = ast.get_source_segment(written, node) or ""
                node.value = Fraction(digits.replace("_", ""))  # type: ignore[assignment]  # all of them
            case ast.BinOp(op=ast.Div(), right=right) if not _is_divisor(right):
                raise ValueError(f"that is {text!r}: {ast.unparse(right)} may be 0, or is; {known}")
            case ast.Compare() if node is not tree:
                raise ValueError(f"that is {text!r}: it compares twice; {known}")
            case _ if type(node) not in ALLOWED:
                raise ValueError(f"that is {text!r}; {known}")
    return Statement(text.strip(), tuple(dict.fromkeys(found)), tree)


def _is_divisor(node: ast.expr) -> bool:
    """Whether it is a number that is not 0, or such a one less than 0."""
    if isinstance(node, ast.UnaryOp):
        return _is_divisor(node.operand)
    return isinstance(node, ast.Constant) and bool(node.value)


def _number(node: ast.expr, value: Callable[[str], Any]) -> Any:
    match node:
        case ast.Name(id=name):
            return value(name)
        case ast.Constant(value=constant):
            return Fraction(constant)  # type: ignore[arg-type]  # an int, or a Fraction by now
        case ast.UnaryOp(operand=operand):
            return -_number(operand, value)
        case ast.BinOp(left=left, op=op, right=right):
            return OPERATIONS[type(op)](_number(left, value), _number(right, value))
    raise AssertionError(node)
