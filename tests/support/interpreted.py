"""Triton's interpreter, without what it does over and over.

It prepares the language anew whenever a kernel calls a function. Once for the functions of a module is enough: what it
would replace is replaced already. That takes a third of the time.
"""

from __future__ import annotations

from typing import Any

from triton.runtime import interpreter


def prepare_once() -> None:
    """From now on kernels, and the first call of a function of each module, prepare the language."""
    prepared: set[str] = set()

    def call(function: Any, *given: Any, **named: Any) -> Any:
        if function.fn.__module__ not in prepared:
            prepared.add(function.fn.__module__)
            interpreter._patch_lang(function.fn)
        return function.rewrite()(*given, **named)

    interpreter.InterpretedFunction.__call__ = call
