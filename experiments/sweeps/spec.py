"""The spec of a sweep: a TOML file that names processes, decoders, rules and seeds, and what to record.

Every process goes with every decoder, every rule and every seed. A complete example::

    name = "window"
    title = "Calls against the window of speculative Jacobi decoding"
    seeds = [1, 2]                # of the tapes; replicates with the same number share their random numbers
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
    replicates of image k have the numbers from k times ``replicates`` on, so that no two images share their random
    numbers.
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

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import product
from math import isfinite, prod
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from experiments.results import canonical
from experiments.sweeps.recorders import RECORDERS
from experiments.validation import expectation
from simlab.registry import meant

MOST_SEED = (1 << 63) - 1  # what a column of whole numbers holds
MOST_REPLICATES = 1 << 32  # what a tape can number
MOST_VALUES = 1_000_000  # of a range
MOST_POINTS = 10_000  # of a grid
KINDS = ("process", "decoder", "rule")
RANGE = re.compile(r"(\d{1,9})\.\.(\d{1,9})")

T = TypeVar("T")


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

    def summary(self, without: tuple[str, ...] = ()) -> str:
        """The label and what varies, but for the parameters ``without``."""
        varying = (f"{name}={_short(value)}" for name, value in self.point.items() if name not in without)
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
        written = self.written | {"seeds": list(seeds)}
        return replace(self, seeds=tuple(_validated(written).seeds), written=written)


def summaries(entries: Sequence[Entry], without: tuple[str, ...] = ()) -> list[str]:
    """A summary of each entry; those that would read the same also say in which parameters they differ."""
    plain = [entry.summary(without) for entry in entries]
    written = [{"name": entry.name, **entry.parameters} for entry in entries]
    told = []
    for summary, own in zip(plain, written, strict=True):
        alike = [other for text, other in zip(plain, written, strict=True) if text == summary]
        differing = [
            name
            for name, value in own.items()
            if name not in without and any(other.get(name) != value for other in alike)
        ]
        told.append(" ".join([summary, *(f"{name}={_short(own[name])}" for name in differing)]))
    return told


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else canonical(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def read_spec(path: Path) -> Spec:
    """The spec in a file; raises ``ValueError`` where it cannot be read or is no spec, naming file and key."""
    try:
        text = path.read_text(encoding="utf-8-sig")  # editors of Windows put a mark at the beginning
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
    except RecursionError:
        raise ValueError(f"{what}: is nested too deeply; expected tables of a few levels") from None
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None


def _spec(written: dict[str, Any]) -> Spec:
    file = _validated(written)
    return Spec(
        name=file.name,
        title=file.title,
        seeds=tuple(file.seeds),
        replicates=file.replicates,
        record=tuple(name for name in RECORDERS if name == "steps" or name in file.record),
        chunk=file.chunk,
        processes=_entries("process", file.process),
        decoders=_entries("decoder", file.decoder),
        rules=_entries("rule", file.rule),
        written=written,
    )


# The file ----------------------------------------------------------------------------------------------------------
# Validators raise what was expected; :func:`_message` adds the key and the value.


def _list_of_range(value: Any) -> Any:
    """``value``, where a range is the list it stands for."""
    found = RANGE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return value
    first, last = int(found[1]), int(found[2])
    if last - first >= MOST_VALUES:
        raise ValueError(f"a range of at most {MOST_VALUES:,} values")
    return list(range(first, last + 1))


def _text(value: str) -> str:
    if not value.strip():
        raise ValueError("text")
    return value


def _folder_name(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", _text(value)):
        raise ValueError("letters, digits, '-', '_' and '.', fit for a folder")
    return value


def _recorder(value: str) -> str:
    if value not in RECORDERS:
        raise ValueError(f"one of {', '.join(RECORDERS)}")
    return value


def _distinct(values: list[T]) -> list[T]:
    if len(set(values)) < len(values):
        raise ValueError("no value more than once")
    return values


def _plain(value: Any) -> Any:
    """Refuse what TOML can express and a spec cannot: dates and times, infinity, NaN."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            _plain(inner)
    elif not isinstance(value, str | bool | int | float) or (isinstance(value, float) and not isfinite(value)):
        raise ValueError("text, true or false, finite numbers, and lists and tables of these")
    return value


Text = Annotated[str, AfterValidator(_text)]
Plain = Annotated[Any, AfterValidator(_plain)]
Seeds = Annotated[
    list[Annotated[int, Field(ge=0, le=MOST_SEED)]],
    BeforeValidator(_list_of_range),
    Field(min_length=1),
    AfterValidator(_distinct),
]


class EntryTable(BaseModel):
    """One ``[[process]]``, ``[[decoder]]`` or ``[[rule]]`` of a file; all keys but these are parameters."""

    model_config = ConfigDict(strict=True, extra="allow")
    __pydantic_extra__: dict[str, Plain]

    name: Text
    label: Text | None = None
    grid: dict[str, Plain] = {}


class SpecFile(BaseModel):
    """The keys of a file."""

    model_config = ConfigDict(strict=True, extra="forbid")

    name: Annotated[str, AfterValidator(_folder_name)]
    title: Text
    seeds: Seeds
    replicates: int = Field(ge=1, le=MOST_REPLICATES)
    record: Annotated[list[Annotated[str, AfterValidator(_recorder)]], AfterValidator(_distinct)] = []
    chunk: int | None = Field(default=None, ge=1)
    process: list[EntryTable] = Field(min_length=1)
    decoder: list[EntryTable] = Field(min_length=1)
    rule: list[EntryTable] = Field(min_length=1)


def _validated(written: dict[str, Any]) -> SpecFile:
    try:
        return SpecFile.model_validate(written)
    except ValidationError as error:
        unknown_first = sorted(error.errors(), key=lambda found: found["type"] != "extra_forbidden")
        raise ValueError(_message(unknown_first[0], written)) from None


def _message(error: Mapping[str, Any], written: dict[str, Any]) -> str:
    """An error of pydantic with the place in the file, the key, the value and what was expected."""
    where, (key, *rest) = "", error["loc"]
    if key in KINDS and len(rest) > 1:
        kind, (number, key, *rest) = key, rest
        name = written[kind][number].get("name")
        where = f"[[{kind}]] {number + 1}{'' if key == 'name' else f' ({name})'}: "
    if error["type"] == "missing":
        return f"{where}the key {key!r} is missing" + (f"; expected [[{key}]]" if key in KINDS else "")
    if error["type"] == "extra_forbidden":
        return f"unknown key {key!r}; {meant(key, SpecFile.model_fields)}{KEYS_EXPECTED}"
    expected = f"tables, each under [[{key}]]" if not where and key in KINDS else expectation(error)
    verb = "holds" if rest and isinstance(rest[-1], int) else "is"
    dotted = ".".join([key, *(part for part in rest if isinstance(part, str))])
    return f"{where}{dotted} {verb} {error['input']!r}; expected {expected}"


KEYS_EXPECTED = f"expected keys: {', '.join(SpecFile.model_fields)}"


# Grids -------------------------------------------------------------------------------------------------------------


def _entries(kind: str, tables: list[EntryTable]) -> tuple[Entry, ...]:
    """The entries of all tables of a kind, which must differ."""
    entries: dict[str, Entry] = {}
    for number, table in enumerate(tables, 1):
        for entry in _points(kind, table, f"[[{kind}]] {number} ({table.name})"):
            if entry.text in entries:
                raise ValueError(f"{entry.where}: is the same as {entries[entry.text].where}: {entry.text}")
            entries[entry.text] = entry
    return tuple(entries.values())


def _points(kind: str, table: EntryTable, where: str) -> Iterator[Entry]:
    """The entries of one table: one for each point of its grid."""
    axes = list(_axes(table.grid, where))
    if (points := prod(len(values) for _, values in axes)) > MOST_POINTS:
        raise ValueError(f"{where}: the grid has {points:,} points; expected at most {MOST_POINTS:,}")
    for point in product(*(values for _, values in axes)):
        parameters = deepcopy(table.__pydantic_extra__)
        for (path, _), value in zip(axes, point, strict=True):
            _put(parameters, path, deepcopy(value), where)
        varying = {".".join(path): value for (path, _), value in zip(axes, point, strict=True)}
        yield Entry(kind, table.name, table.label or table.name, parameters, varying, where)


def _axes(grid: dict[str, Any], where: str, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    """The parameters that vary, each by its path through the tables, and their values."""
    for key, given in grid.items():
        path = *above, key
        dotted = f"grid.{'.'.join(path)}"
        try:
            values = _list_of_range(given)
        except ValueError as error:
            raise ValueError(f"{where}: {dotted} is {given!r}; expected {error}") from None
        if path[0] in EntryTable.model_fields:
            raise ValueError(f"{where}: {dotted} is not allowed; expected parameters under grid")
        if isinstance(values, dict) and values:
            yield from _axes(values, where, path)
        elif not isinstance(values, list) or not values:
            raise ValueError(f"{where}: {dotted} is {given!r}; expected a list of at least one value")
        else:
            yield path, values


def _put(parameters: dict[str, Any], path: tuple[str, ...], value: Any, where: str) -> None:
    """Write ``value`` at ``path``, where nothing may stand yet."""
    *above, last = path
    for key in above:
        parameters = parameters.setdefault(key, {})
        if not isinstance(parameters, dict):
            raise ValueError(f"{where}: {key} is {parameters!r}; expected a table of parameters")
    if last in parameters:
        raise ValueError(f"{where}: {'.'.join(path)} is fixed and under grid; expected one of the two")
    parameters[last] = value
