"""Pydantic's validation errors as messages for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

EXPECTED = {
    "bool_type": "true or false",
    "dict_type": "a table",
    "float_parsing": "a number",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "list_type": "a list",
    "string_type": "text",
    "too_short": "a list of at least one value",
}
BOUNDS = {"greater_than_equal": ("ge", ">="), "less_than_equal": ("le", "<=")}


def expectation(error: Mapping[str, Any]) -> str:
    """What was expected instead of the input of ``error``, one of ``ValidationError.errors()``."""
    kind, context = error["type"], error.get("ctx", {})
    if kind in BOUNDS:
        name, sign = BOUNDS[kind]
        number = "a whole number" if isinstance(context[name], int) else "a number"
        return f"{number} {sign} {context[name]}"
    return EXPECTED.get(kind) or str(error["msg"]).removeprefix("Value error, ")
