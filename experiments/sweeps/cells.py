"""The cells of a sweep: independent units of work of a few seconds each.

A cell is one process, decoder, rule and seed, and a range of replicates. What it is, is its content; its key is a hash
of that and of the format, so a result on disk is known for what it is whatever spec it was computed for. A tape numbers
its replicates, so how they are cut into cells changes no result. All arithmetic runs on one thread: matrix products
round differently on more. Between machines with other processors the last bits of a *fitted* process may differ.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from experiments.results import canonical
from experiments.sweeps.recorders import Sample, recorded
from experiments.sweeps.spec import MOST_REPLICATES, Entry, Spec
from experiments.sweeps.tables import TABLES, Table, tables
from simlab.decoders import Decoder, make_decoder, nodes
from simlab.decoders.compiled import simulate
from simlab.decoders.run import check_draft
from simlab.processes import Pair, make_process
from simlab.randomness import Tape
from simlab.rules import Rule, make_rule

FORMAT = 1  # of the files; another number, and nothing computed before is taken up
WORK = 1 << 25  # probabilities in the rows of a cell's sequences, each taken once
MOST = 1024  # replicates of a cell, however small the process
FIRST = 4  # cells of each configuration in the first table: fewer say nothing of their spread
MOST_CELLS = 1_000_000  # of a study: each is a file
MOST_TOKENS = 1 << 20  # of a sequence
MOST_DRAFTS = 1 << 16  # of a step: a row of V numbers for each
LENGTHS, DRAFTS = ("length", "rows", "columns"), ("window", "gamma", "total", "depth", "candidates")
IMAGE = "image"  # the parameter by which a process is one of several samples of the same model


@dataclass(frozen=True)
class Cell:
    """One unit of work."""

    process: Entry
    decoder: Entry
    rule: Entry
    seed: int
    first: int  # replicates first, ..., stop - 1
    stop: int
    record: tuple[str, ...]
    work: int  # how much there is to do, in arbitrary units

    @property
    def content(self) -> dict[str, Any]:
        """All that the result depends on."""
        entries = {entry.kind: json.loads(entry.text) for entry in (self.process, self.decoder, self.rule)}
        return entries | {"seed": self.seed, "replicates": [self.first, self.stop], "record": list(self.record)}

    @property
    def key(self) -> str:
        """32 hexadecimal digits: the name of the cell's file."""
        return hashlib.sha256(f"{FORMAT} {canonical(self.content)}".encode()).hexdigest()[:32]

    @property
    def summary(self) -> str:
        """The cell in words."""
        entries = " x ".join(entry.summary() for entry in (self.process, self.decoder, self.rule))
        return f"{entries}, seed {self.seed}, replicates {self.first} to {self.stop - 1}"


def in_working_order(cells: Iterable[Cell]) -> list[Cell]:
    """Together what needs the same model, then the same tables over its codebook, the same rule, the same image."""

    def shared(cell: Cell) -> tuple[str, ...]:
        over_codebook = {key: value for key, value in cell.rule.parameters.items() if key in TABLES}
        return model(cell.process), canonical(over_codebook), cell.rule.text, cell.process.text

    return sorted(cells, key=shared)


def rounds(cells: Iterable[Cell]) -> list[int]:
    """The round of each cell, from 0: ``FIRST`` of each configuration, then as many as there are before, until all are
    there. Images, seeds and replicates of one process, decoder and rule are a configuration."""
    seen: Counter[tuple[str, ...]] = Counter()
    found = []
    for own in map(configuration, cells):
        found.append((seen[own] // FIRST).bit_length())
        seen[own] += 1
    return found


def configuration(cell: Cell) -> tuple[str, ...]:
    """What a cell has in common with those of other images, seeds and replicates."""
    return model(cell.process), cell.decoder.text, cell.rule.text


def model(process: Entry) -> str:
    """What is the same for all images of a process."""
    return canonical({"name": process.name} | {k: v for k, v in process.parameters.items() if k != IMAGE})


class Size(NamedTuple):
    """What the cells need to know of a process."""

    vocabulary: int
    length: int


def cells(spec: Spec) -> list[Cell]:
    """All cells, in the order of the table: process, decoder, rule, seed, replicates.

    Everything is made once, so that what cannot be made is found before anything runs: raises ``ValueError`` naming
    the entry and the parameter.
    """
    decoders = [_decoder(entry) for entry in spec.decoders]
    rules = [_rule_of_two(entry) for entry in spec.rules]
    found: list[Cell] = []
    for process in spec.processes:
        size = _checked(process, spec, decoders, rules)
        chunk, configurations = _chunk(spec, size), len(spec.decoders) * len(spec.rules) * len(spec.seeds)
        count = len(found) + configurations * -(-spec.replicates // chunk)
        if count > MOST_CELLS:
            raise ValueError(
                f"{process.where}: {spec.replicates:,} replicates, {chunk:,} a cell, come to {count:,} cells with "
                f"those before; expected at most {MOST_CELLS:,}: fewer replicates, seeds, decoders or rules"
            )
        found += [
            Cell(process, decoder, rule, seed, first, stop, spec.record, (stop - first) * size.length * size.vocabulary)
            for decoder in spec.decoders
            for rule in spec.rules
            for seed in spec.seeds
            for first, stop in _ranges(spec, process, size)
        ]
    return found


def compute(cell: Cell) -> pd.DataFrame:
    """Simulate a cell: a row for each replicate, with its number and what the recorders say."""
    pair = _pair(cell.process.text)
    decoder = _decoder(cell.decoder)
    rule = _rule(cell.rule.text, Codebook.of(pair.codebook))
    tape = Tape(cell.seed, range(cell.first, cell.stop))
    simulation = simulate(decoder, pair.target, rule, tape, pair.draft if decoder.needs_draft else None)
    sample = Sample(simulation, pair, decoder, rule, tape)
    return pd.DataFrame({"replicate": tape.replicates, **recorded(cell.record, sample)})


def _ranges(spec: Spec, process: Entry, size: Size) -> Iterator[tuple[int, int]]:
    """The replicates ``first, ..., stop - 1`` of each cell; no two images of a process share a number."""
    chunk = _chunk(spec, size)
    start = process.parameters.get(IMAGE, 0) * spec.replicates
    stop = start + spec.replicates
    if stop > MOST_REPLICATES:
        raise ValueError(f"{process.where}: image x replicates comes to {stop}; expected at most 2^32")
    for first in range(start, stop, chunk):
        yield first, min(first + chunk, stop)


def _chunk(spec: Spec, size: Size) -> int:
    """How many replicates are a cell."""
    return spec.chunk or max(1, min(MOST, WORK // (size.length * size.vocabulary)))


# Making ------------------------------------------------------------------------------------------------------------


# A process may take seconds to make or to fit, a table over a large codebook half a minute. Cells that share one are
# computed one after the other, so a worker caches only the last.


@lru_cache(maxsize=1)
def _pair(text: str) -> Pair:
    """The process whose entry has this text."""
    return make_process(**json.loads(text))


@dataclass(frozen=True)
class Codebook:
    """The vectors ``[V, dimensions]`` behind their hash: many processes may have the same."""

    digest: str
    vectors: np.ndarray | None = field(compare=False, repr=False)

    @classmethod
    def of(cls, vectors: np.ndarray | None) -> Codebook:
        """``vectors`` with their hash."""
        return cls("" if vectors is None else hashlib.sha256(vectors.tobytes()).hexdigest(), vectors)


@lru_cache(maxsize=1)
def _rule(text: str, codebook: Codebook) -> Rule:
    """The rule whose entry has this text, with its tables over the codebook."""
    parameters = json.loads(text)
    return make_rule(**parameters | {key: _made(table, codebook) for key, table in tables(parameters).items()})


@lru_cache(maxsize=1)
def _made(table: Table, codebook: Codebook) -> np.ndarray:
    """The table over the codebook."""
    assert codebook.vectors is not None, "looked at before anything runs"
    return table.of(codebook.vectors)


def _decoder(entry: Entry) -> Decoder:
    with _of(entry):
        _bounded(entry, DRAFTS, MOST_DRAFTS)
        decoder = make_decoder(entry.name, **entry.parameters)
        if nodes(decoder) > MOST_DRAFTS:
            raise ValueError(f"a call has more than {MOST_DRAFTS:,} drafts; expected at most so many: a smaller tree")
        return decoder


def _rule_of_two(entry: Entry) -> Rule:
    """The rule with the smallest tables there are, which says whether its other parameters will do."""
    with _of(entry):
        smallest = {key: table.smallest for key, table in tables(entry.parameters).items()}
        return make_rule(entry.name, **entry.parameters | smallest)


# Checking ----------------------------------------------------------------------------------------------------------


@contextmanager
def _of(entry: Entry) -> Iterator[None]:
    """Errors say which entry they are of."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise ValueError(f"{entry.where}: {error}") from None
    except OverflowError as error:
        raise ValueError(f"{entry.where}: {error}; expected smaller numbers") from None
    except MemoryError as error:
        raise ValueError(f"{entry.where}: {error}; expected sizes that fit the memory") from None


def _checked(process: Entry, spec: Spec, decoders: list[Decoder], rules: list[Rule]) -> Size:
    """The size of the process, once it is known that every decoder and rule goes with it."""
    with _of(process):
        _bounded(process, LENGTHS, MOST_TOKENS)
        pair = _pair(process.text)
        if pair.target.length > MOST_TOKENS:
            raise ValueError(f"sequences have {pair.target.length:,} tokens; expected at most {MOST_TOKENS:,}")
    for entry, decoder in zip(spec.decoders, decoders, strict=True):
        with _of(entry):
            check_draft(decoder, pair.target, pair.draft if decoder.needs_draft else None)
    for entry, rule in zip(spec.rules, rules, strict=True):
        with _of(entry):
            _check_rule(entry, rule, pair, process)
    return Size(pair.target.vocabulary, pair.target.length)


def _bounded(entry: Entry, names: Iterable[str], most: int) -> None:
    """Raise ``ValueError`` for a whole number of an entry that no machine computes with."""
    for name in names:
        value = entry.parameters.get(name)
        if isinstance(value, int) and value > most:
            raise ValueError(f"{name} is {value}; expected at most {most:,}")


def _check_rule(entry: Entry, rule: Rule, pair: Pair, process: Entry) -> None:
    found = tables(entry.parameters)
    for key, table in found.items():
        if pair.codebook is None:
            raise ValueError(f"{key} is made from a codebook; {process.where} has none")
        try:
            table.check(pair.target.vocabulary)
        except ValueError as error:
            raise ValueError(f"{key}: {error}") from None
    if not found:  # what was written out must fit the vocabulary
        rule.accept_rows(pair.target.uniform, pair.target.uniform, pair.target.buffer(1, 1)[0, 0])
