"""The battery of operators that are given logits: every setting, with rows that are clear of ties."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np

from simlab.arrays import Array
from simlab.certify.battery.blocks import at_both_ends, by_end
from simlab.certify.contracts.arrays import Arrays
from simlab.certify.contracts.blocks import Block, scaled
from simlab.certify.contracts.events import in_turn, joint
from simlab.certify.contracts.layouts import Layout
from simlab.certify.contracts.logits import CLEAR, EVERY, LogitsCase
from simlab.processes.filters import FILTERS, Settings

PRINCIPAL = (
    "V = 3, gamma = 1, temperature 1, top-k all, top-p 1",
    "V = 4, gamma = 1, temperature 0.5, top-k 3, top-p 0.9",
)


@cache
def cases(layout: Layout, arrays: Arrays) -> tuple[LogitsCase, ...]:
    """Every setting on three tokens, on four, and on two drafts; and a few tokens of many."""
    found = []
    for settings in EVERY:
        for size, gamma in ((3, 1), (4, 1), (3, 2)):
            found.append(_small(layout, arrays, settings, _clear(size, gamma, settings)))
    found += (_at_both_ends(layout, arrays, size) for size in (65, 1 << 15))
    few = found[0]
    found.append(replace(few, name="two calls in turn", events=in_turn(few.events[0]), small=False))
    return tuple(found)


def both_ends(layout: Layout, arrays: Arrays) -> tuple[LogitsCase, ...]:
    """A mass of a billionth, drafted for certain."""
    raw = Block.of_rows(np.array([[1e-9, 1 - 1e-9], [0.5, 0.5]]), np.array([[1.0, 0.0]]))
    return (replace(_small(layout, arrays, EVERY[0], raw), name="a mass of 1e-9", both_ends=True),)


def simplest(layout: Layout, arrays: Arrays) -> Iterator[LogitsCase]:
    """Two tokens with a temperature, then three with all settings."""
    for settings in EVERY[:3]:
        raw = Block.of_rows(np.array([[0.4, 0.6], [0.7, 0.3]]), np.array([[0.75, 0.25]]))
        yield _small(layout, arrays, settings, raw)
    for settings in EVERY:
        yield _small(layout, arrays, settings, _clear(3, 1, settings))
        yield _small(layout, arrays, settings, _clear(4, 1, settings))


def _small(layout: Layout, arrays: Arrays, settings: Settings, raw: Block) -> LogitsCase:
    filtered = FILTERS[layout.name]
    block = Block(
        tuple(filtered(table, settings) for table in raw.p),
        tuple(filtered(table, settings) for table in raw.q),
        raw.order,
    )
    top_k = "all" if settings.top_k > block.vocabulary else settings.top_k
    about = f"temperature {settings.temperature:g}, top-k {top_k}, top-p {settings.top_p:g}"
    told = f"V = {block.vocabulary}, gamma = {block.gamma}, {about}"
    events = (joint(block).of(block),)
    few = block.gamma == 1  # filters take time
    return LogitsCase(told, (block,), events, True, few, layout=layout, arrays=arrays, raw=raw, settings=settings)


def _at_both_ends(layout: Layout, arrays: Arrays, size: int) -> LogitsCase:
    """One draft of four tokens that come in pairs: of each pair p likes one, and q the other."""
    p, q = at_both_ends(size, 3 / 8, 1 / 8, 1 / 8, 3 / 8), at_both_ends(size, 1 / 8, 3 / 8, 3 / 8, 1 / 8)
    block = Block.of_rows(np.stack([p, q]), q[None])
    name, events = f"V = {size}, gamma = 1, four tokens at both ends", (by_end(size).of(block),)
    return LogitsCase(name, (block,), events, layout=layout, arrays=arrays, raw=block)


@cache
def _clear(size: int, gamma: int, settings: Settings) -> Block:
    """Random rows whose masses, and their sums where they are cut, are clear of each other."""
    rng = np.random.default_rng([8, size, gamma, round(100 * settings.top_p)])
    rows: list[Array] = []
    while len(rows) < 2 * gamma + 1:
        row = scaled(rng.dirichlet(np.ones(size)) + 0.05)
        if _is_clear(row, settings):
            rows.append(row)
    return Block.of_rows(np.array(rows[: gamma + 1]), np.array(rows[gamma + 1 :]))


def _is_clear(row: Array, settings: Settings) -> bool:
    """Whether no filter is at a tie, in whichever order they are applied; and with one, that the order matters."""
    falling = -np.sort(-scaled(row ** (1 / settings.temperature)))
    cut = scaled(falling[: settings.top_k])
    whole, left = falling.cumsum()[:-1], cut.cumsum()[:-1]
    apart = abs(np.concatenate([whole, left]) - settings.top_p) > CLEAR
    differs = (left < settings.top_p).sum() != (whole < settings.top_p).sum()
    matters = settings.top_k > len(row) or settings.top_p in (0.9, 1.0) or differs
    return bool((-np.diff(falling) > CLEAR).all() and apart.all() and matters)
