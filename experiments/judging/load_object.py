"""Load a rule or function by name: ``module:name``, ``path/to/file.py:name`` or a module alone.

A rule is an object with ``accept`` and ``residual``, a pair of functions, or a module that has both. A class or a
function makes one: without arguments, or from a ``codebook`` of the vocabulary, for rules that group tokens.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from simlab.arrays import Array
from simlab.registry import meant
from simlab.rules import RULES, Rule, codebook_neighbours, make_rule
from theory.judge.user_rule import Functions, UserRule, last_line

EXPECTED = (
    "expected an object with methods accept(p, q, x) and residual(p, q, x), a class or function that makes one "
    "without arguments or from a codebook, a pair of functions, or a module with both"
)

NEAR = 2  # neighbours of a token, where a rule asks for some and none are given


def load_rule(spec: str, codebook: Callable[[int], Array]) -> UserRule:
    """The rule that ``spec`` names; ``codebook`` gives the vectors of a vocabulary to a rule made from them.

    Raises ``ValueError`` where there is no such module, name or rule, naming what was given and what was expected.
    """
    return as_rule(load_object(spec), spec, codebook)


def rule_of(name: str, given: dict[str, Any], size: int) -> Rule:
    """The rule known here as ``name``; where it asks for neighbours that are not given, those next in number."""
    if name in RULES and "neighbours" not in given and "neighbours" in RULES[name].__init__.__code__.co_varnames:
        if size < 2:
            raise ValueError(f"rule {name!r} asks for neighbours, and rows have {size} token; expected two at least")
        line: Sequence[Any] = [[float(x)] for x in range(size)]
        given = given | {"neighbours": codebook_neighbours(line, count=min(NEAR, size - 1))}
    return make_rule(name, **given)


def load_object(spec: str, known: Iterable[str] = ()) -> Any:
    """Whatever ``module:name`` or ``path/to/file.py:name`` names; without a name, the module.

    Raises ``ValueError`` where there is no such module or name, or the module cannot be imported. ``known`` are names
    that may be meant by one of no module.
    """
    where, name = (spec, "") if spec.endswith(".py") or ":" not in spec else spec.rsplit(":", 1)
    if not where:
        raise ValueError(f"{spec!r} names no module; expected module:name or path/to/file.py:name")
    module = _file(Path(where)) if where.endswith(".py") else _module(where, known)
    return _named(module, name, where) if name else module


def _module(name: str, known: Iterable[str]) -> ModuleType:
    _look_first_in(Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            near = meant(name, known)
            raise ValueError(
                (no_python(name) or f"there is no module {name!r} in {Path.cwd()} or where Python looks")
                + f"; {near}expected module:name or path/to/file.py:name"
            ) from None
        raise _failed(name, error) from error
    except (Exception, SystemExit) as error:
        raise _failed(name, error) from error


def no_python(name: str) -> str:
    """What to say of a name that is a file's, and no Python file's; nothing of others."""
    return f"the file {name} is there, but is no Python file" if Path(name).is_file() else ""


def _file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ValueError(f"there is no file {str(path)!r}; expected path/to/file.py:name or module:name")
    _look_first_in(path.resolve().parent)
    name = f"_user_{path.stem}"  # its own name, whatever else is called so
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None, f"{path} ends in .py"
    assert spec.loader is not None, f"{path} ends in .py"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up there
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise _failed(str(path), error) from error
    return module


def _look_first_in(folder: Path) -> None:
    if sys.path[:1] != [str(folder)]:
        sys.path.insert(0, str(folder))
    importlib.invalidate_caches()


def _failed(what: str, error: BaseException) -> ValueError:
    return ValueError(f"{what} cannot be imported: {last_line(error)}")


def _named(module: ModuleType, name: str, where: str) -> Any:
    value: Any = module
    for part in name.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            public = [known for known in vars(module) if not known.startswith("_") and _may_be(vars(module)[known])]
            has = f"; it has {', '.join(public[:8])}{', …' * (len(public) > 8)}" if public else ""
            raise ValueError(f"{where} has no {name!r}{has}") from None
    return value


def _may_be(value: Any) -> bool:
    return callable(value) or _functions(value) is not None


def as_rule(value: Any, spec: str, codebook: Callable[[int], Array]) -> UserRule:
    """The rule that ``value``, which its user calls ``spec``, is or makes; ``ValueError`` where it is none."""
    functions = None if isinstance(value, type) else _functions(value)
    if functions is not None:
        return _always(functions)
    if isinstance(value, ModuleType) or not callable(value):
        raise ValueError(f"{spec} is {_what(value)}; {EXPECTED}")
    asks = needed(value)
    if asks == ["codebook"]:
        of = cache(lambda vocabulary: _made(spec, value, codebook(vocabulary).copy()))
        _tried(spec, lambda: of(4))
        return UserRule(of)
    if asks:
        raise ValueError(f"{spec} needs {', '.join(asks)}; {EXPECTED}")
    return _always(_tried(spec, lambda: _made(spec, value)))


def _always(functions: Functions) -> UserRule:
    return UserRule(lambda vocabulary: functions)


class _NoRule(ValueError):
    """What was made is no rule."""


def _tried(spec: str, make: Callable[[], Functions]) -> Functions:
    try:
        return make()
    except _NoRule:
        raise
    except (Exception, SystemExit) as error:
        raise ValueError(f"{spec}, called to make a rule, raises {last_line(error)}; {EXPECTED}") from error


def _made(spec: str, make: Callable[..., Any], *given: Any) -> Functions:
    made = make(*given)
    functions = _functions(made)
    if functions is None:
        raise _NoRule(f"{spec} makes {_what(made)}; {EXPECTED}")
    return functions


def _functions(value: Any) -> Functions | None:
    """The two functions of a rule, where there are two."""
    if isinstance(value, tuple):
        return Functions(*value) if len(value) == 2 and all(map(callable, value)) else None
    accept, residual = (getattr(value, name, None) for name in Functions._fields)
    return Functions(accept, residual) if callable(accept) and callable(residual) else None


def needed(make: Callable[..., Any]) -> list[str]:
    """The arguments that ``make`` cannot do without."""
    try:
        parameters = inspect.signature(make).parameters.values()
    except (TypeError, ValueError):  # some of C
        return []
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in parameters if p.default is p.empty and p.kind not in variable]


def _what(value: Any) -> str:
    if isinstance(value, ModuleType):
        lacks = [name for name in Functions._fields if not callable(getattr(value, name, None))]
        return f"a module without {' and '.join(lacks)}"
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
