"""What a sweep is, written down: a TOML file that names processes, decoders, rules and seeds, and what to record.

Every process goes with every decoder, every rule and every seed. A complete example::

    name = "window"
    title = "Calls against the window of speculative Jacobi decoding"
    seeds = [1, 2]                # of the tapes; replicates with the same number share their chance
    replicates = 6                # sequences for each seed
    record = ["lengths", "loglik"]

    [[process]]
    name = "codebook"
    vocabulary = 24
    length = 16
    clusters = 6

    [[decoder]]
    name = "sjd"
    grid.window = [2, 4]          # what varies: one decoder for each value
    initial = "random"            # what does not

    [[decoder]]
    name = "speculative"          # drafts with the process's own draft
    label = "with a draft model"
    gamma = 3

    [[rule]]
    name = "speculative"

    [[rule]]
    name = "lantern"
    neighbours = { count = 4, measure = "l2" }
    grid.delta = [0.1, 0.2]

Keys of the file
    ``name``, ``title``: text; results go to a folder of this name. ``seeds``: whole numbers from 0 to 2^63 - 1, in a
    list or as a range with both ends, ``"1..8"``. ``replicates``: how many sequences, at least 1. ``record``: names
    from :mod:`experiments.sweeps.recorders`; ``steps`` is always recorded. ``chunk``: the most replicates that are
    computed in one go, which changes no result; otherwise what the size of the process makes of it.
Keys of ``[[process]]``, ``[[decoder]]`` and ``[[rule]]``
    ``name``: what :func:`~simlab.processes.make_process`, :func:`~simlab.decoders.make_decoder` and
    :func:`~simlab.rules.make_rule` know it by. ``label``: what a figure calls it; the name otherwise. ``grid``: lists
    or ranges of values for the parameters that vary; all combinations are taken, the last varies fastest. Every other
    key is a parameter. Tables may be written in parts: ``neighbours.measure = "l2"`` goes with
    ``grid.neighbours.count = [4, 8]``.
Images
    A process with a parameter ``image`` is one of many samples of the same model: ``grid.image = "0..47"``. The
    replicates of image k have the numbers from k times ``replicates`` on, so that no two images share their chance.
Processors
    A process may have ``processors = { temperature = 1, top_k = 100, top_p = 0.9 }``, through which the rows of target
    and draft pass (:class:`~simlab.processes.Processed`).
Tables over a codebook
    Rules need tables that nobody wants to type. Where the process has a codebook they are made from it:
    ``neighbours = { count = 100, measure = "l2" }``, ``labels = { groups = 64 }``, ``distances = "codebook"``; see
    :mod:`experiments.sweeps.tables`.

Every error is a ``ValueError`` that names the file and the key.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import product
from math import isfinite
from pathlib import Path
from typing import Any

from experiments.sweeps.recorders import RECORDERS
from simlab.checks import check_at_least

MOST_SEED = (1 << 63) - 1  # what a column of whole numbers holds
MOST_REPLICATES = 1 << 32  # what a tape can number
KEYS = ("name", "title", "seeds", "replicates", "record", "chunk", "process", "decoder", "rule")
OPTIONAL = ("record", "chunk")
KINDS = ("process", "decoder", "rule")
RANGE = re.compile(r"(\d{1,9})\.\.(\d{1,9})")
RESERVED = ("name", "label", "grid")  # keys of an entry that are no parameters


@dataclass(frozen=True)
class Entry:
    """One process, decoder or rule: a name and parameters, as they were written."""

    kind: str
    name: str
    label: str
    parameters: dict[str, Any]
    point: dict[str, Any]  # those of them that stood under ``grid``, by their dotted names
    where: str  # for messages

    @property
    def text(self) -> str:
        """What the entry is, in one canonical line; the label and the place in the file are not part of it."""
        return canonical({"name": self.name, **self.parameters})

    @property
    def told(self) -> str:
        """The label and what varies, to read."""
        return self.told_without()

    def told_without(self, *names: str) -> str:
        """The same but for some of what varies."""
        varying = (f"{name}={_short(value)}" for name, value in self.point.items() if name not in names)
        return " ".join([self.label, *varying])


@dataclass(frozen=True)
class Spec:
    """A checked spec. Whether its entries can be made is found out by :func:`experiments.sweeps.cells.cells`."""

    name: str
    title: str
    seeds: tuple[int, ...]
    replicates: int
    record: tuple[str, ...]
    chunk: int | None
    processes: tuple[Entry, ...]
    decoders: tuple[Entry, ...]
    rules: tuple[Entry, ...]
    written: dict[str, Any]  # the file as it stands

    def with_seeds(self, seeds: list[int]) -> Spec:
        """The same with other seeds; raises ``ValueError`` as for those in a file."""
        return replace(self, seeds=_seeds(seeds), written=self.written | {"seeds": list(seeds)})


def canonical(value: Any) -> str:
    """``value`` as the one line of JSON there is for it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else canonical(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def read_spec(path: Path) -> Spec:
    """The spec in a file; raises ``ValueError`` where it cannot be read or is no spec, naming file and key."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path}: is no text in UTF-8; expected a TOML file") from None
    return parse_spec(text, str(path))


def parse_spec(text: str, what: str) -> Spec:
    """The spec that ``text`` holds; ``what`` names it in messages."""
    try:
        return _spec(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{what}: is no TOML: {error}") from None
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None


def _spec(written: dict[str, Any]) -> Spec:
    _check_keys(written)
    _check_plain(written, "")
    return Spec(
        name=_file_name(written["name"]),
        title=_text("title", written["title"]),
        seeds=_seeds(written["seeds"]),
        replicates=_replicates(written["replicates"]),
        record=_record(written.get("record", [])),
        chunk=check_at_least("chunk", written["chunk"], 1) if "chunk" in written else None,
        processes=_entries("process", written["process"]),
        decoders=_entries("decoder", written["decoder"]),
        rules=_entries("rule", written["rule"]),
        written=written,
    )


def _check_keys(written: Mapping[str, Any]) -> None:
    for key in written:
        if key not in KEYS:
            raise ValueError(f"unknown key {key!r}; expected {', '.join(KEYS)}")
    for key in KEYS:
        if key not in written and key not in OPTIONAL:
            raise ValueError(f"the key {key!r} is missing" + (f"; expected [[{key}]]" if key in KINDS else ""))


def _check_plain(value: Any, key: str) -> None:
    """Raise ``ValueError`` for what TOML can say and a spec cannot: dates and times, infinity, NaN."""
    if isinstance(value, dict):
        for name, inner in value.items():
            _check_plain(inner, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for number, inner in enumerate(value, 1):
            _check_plain(inner, f"[[{key}]] {number}" if key in KINDS else key)
    elif not isinstance(value, str | bool | int | float) or (isinstance(value, float) and not isfinite(value)):
        raise ValueError(f"{key} is {value}; expected text, true or false, or a finite number")


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{key} is {value!r}; expected text")
    return value


def _file_name(value: Any) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", _text("name", value)):
        raise ValueError(f"name is {value!r}; expected letters, digits, '-', '_' and '.', fit for a folder")
    return str(value)


def _listed(value: Any) -> Any:
    """``value``, where a range is the list it stands for."""
    found = RANGE.fullmatch(value) if isinstance(value, str) else None
    return list(range(int(found[1]), int(found[2]) + 1)) if found else value


def _seeds(value: Any) -> tuple[int, ...]:
    value = _listed(value)
    if not isinstance(value, list) or not value:
        raise ValueError(f"seeds is {value!r}; expected a list of at least one whole number, or a range")
    for seed in value:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= MOST_SEED:
            raise ValueError(f"seeds holds {seed!r}; expected whole numbers from 0 to 2^63 - 1")
    return tuple(_once("seeds", value))


def _replicates(value: Any) -> int:
    if check_at_least("replicates", value, 1) > MOST_REPLICATES:
        raise ValueError(f"replicates is {value}; expected at most 2^32")
    return int(value)


def _record(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError(f"record is {value!r}; expected a list of {', '.join(RECORDERS)}")
    for name in value:
        if name not in RECORDERS:
            raise ValueError(f"record holds the unknown recorder {name!r}; expected {', '.join(RECORDERS)}")
    chosen = _once("record", value)
    return tuple(name for name in RECORDERS if name == "steps" or name in chosen)


def _once(key: str, values: list[Any]) -> list[Any]:
    for value in values:
        if values.count(value) > 1:
            raise ValueError(f"{key} holds {value!r} more than once")
    return values


def _entries(kind: str, written: Any) -> tuple[Entry, ...]:
    if not isinstance(written, list) or not all(isinstance(table, dict) for table in written):
        raise ValueError(f"{kind} is {written!r}; expected tables, each under [[{kind}]]")
    if not written:
        raise ValueError(f"{kind} is empty; expected at least one [[{kind}]]")
    entries: dict[str, Entry] = {}
    for number, table in enumerate(written, 1):
        for entry in _points(kind, table, f"[[{kind}]] {number}"):
            if entry.text in entries:
                raise ValueError(f"{entry.where}: is the same as {entries[entry.text].where}: {entry.text}")
            entries[entry.text] = entry
    return tuple(entries.values())


def _points(kind: str, table: dict[str, Any], where: str) -> Iterator[Entry]:
    """The entries of one table: one for each point of its grid."""
    if "name" not in table:
        raise ValueError(f"{where}: the key 'name' is missing")
    name = _text(f"{where}: name", table["name"])
    label = _text(f"{where}: label", table.get("label", name))
    where = f"{where} ({name})"
    fixed = {key: value for key, value in table.items() if key not in RESERVED}
    axes = list(_axes(table.get("grid", {}), where, ()))
    for point in product(*(values for _, values in axes)):
        parameters, told = deepcopy(fixed), {}
        for (path, _), value in zip(axes, point, strict=True):
            _put(parameters, path, deepcopy(value), where)
            told[".".join(path)] = value
        yield Entry(kind, name, label, parameters, told, where)


def _axes(grid: Any, where: str, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    """The parameters that vary, each by its path through the tables, and their values."""
    for key, given in _table("grid", grid, where).items():
        values = _listed(given)
        path = (*above, key)
        shown = f"grid.{'.'.join(path)}"
        if path[0] in RESERVED:
            raise ValueError(f"{where}: {shown} is not allowed; expected parameters under grid")
        if isinstance(values, dict):
            yield from _axes(values, where, path)
        elif not isinstance(values, list) or not values:
            raise ValueError(f"{where}: {shown} is {given!r}; expected a list of at least one value")
        else:
            yield path, values


def _table(key: str, value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{where}: {key} is {value!r}; expected a table of parameters")
    return value


def _put(parameters: dict[str, Any], path: tuple[str, ...], value: Any, where: str) -> None:
    """Write ``value`` at ``path``, where nothing may stand yet."""
    *above, last = path
    for key in above:
        parameters = _table(key, parameters.setdefault(key, {}), where)
    if last in parameters:
        raise ValueError(f"{where}: {'.'.join(path)} is fixed and under grid; expected one of the two")
    parameters[last] = value
