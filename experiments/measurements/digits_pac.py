"""SJD-PAC's decoders on digits: number of calls, and tokens committed a call.

Every decoder runs with the lossless rule from one tape, so all emit the target's law and differ in calls alone. Windows
are compared in two ways: with a chain of 16 and as many other candidates as the tree has, and with a *budget* of 16
nodes a call, where a candidate more is a shorter chain. A call commits one token where the first draft is rejected;
how often it does is what SJD-PAC sets out to change (Fig. 1a there).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from simlab.decoders import Decoder, make_decoder
from simlab.decoders.compiled import simulate
from simlab.decoders.tree import make_tree
from simlab.processes.digits import DigitsPair
from simlab.randomness import Tape
from simlab.rules import make_rule

SEQUENCES = 40  # as many as tell apart what the page compares; the other decoders of digits are run on more
WINDOW = BUDGET = 16
CANDIDATES, DEPTHS = (2, 4, 8), (1, 2, 3)
MOST_NODES = 110  # of a tree that is measured: 8 candidates a node and depth 3 would have 597
INITIALS = ("random", "repeat-above")


@dataclass(frozen=True)
class Case:
    """A decoder to measure, and how a reader would tell it from the others."""

    name: str
    decoder: Decoder
    window: int
    nodes: int
    candidates: int = 1
    depth: int = 0
    tree: str = ""
    reading: str = ""
    limited: str = "window"  # what is fixed: the window or the budget


class Measured(NamedTuple):
    """What :func:`measure` returns for one initialisation."""

    runs: pd.DataFrame  # one row a case: calls, tokens a call, the share of calls that commit one token
    lengths: pd.DataFrame  # name, reading, ..., tokens: the share of calls that commit that many


def cases(initial: str) -> Iterator[Case]:
    """The decoders that are measured; with ``random`` all of them, a few with another initialisation."""
    for kind in ("sjd", "sjd-ac"):
        yield Case(kind, make_decoder(kind, window=WINDOW, initial=initial), WINDOW, WINDOW)
    if initial != "random":
        for kind, candidates in (("sjd-pd", 4), ("sjd-pac", 2), ("sjd-pac", 4), ("sjd-pac", 8)):
            yield _tree(kind, initial, candidates, 3, "comb")
        return
    for depth in DEPTHS:
        yield _tree("sjd-pd", initial, 4, depth, "comb")
    for shape in ("comb", "full"):
        for candidates in CANDIDATES:
            for depth in DEPTHS:
                if shape == "full" and depth == 1:
                    continue  # the same tree as the comb's
                if make_tree(shape, WINDOW, candidates, depth).nodes <= MOST_NODES:
                    yield _tree("sjd-pac", initial, candidates, depth, shape)
                window = BUDGET - (make_tree(shape, WINDOW, candidates, depth).nodes - WINDOW)
                if window > depth:
                    yield _tree("sjd-pac", initial, candidates, depth, shape, window=window)
    yield _tree("sjd-pac", initial, 4, 2, "comb", "kept dropped", kept="dropped")
    yield _tree("sjd-pac", initial, 4, 2, "comb", "no bonus", bonus=False)
    yield _tree("sjd-pac", initial, 4, 2, "full", "shared", shared=True)
    yield _tree("sjd-pac", initial, 4, 2, "full", "no bonus", bonus=False)


def _tree(
    kind: str,
    initial: str,
    candidates: int,
    depth: int,
    shape: str,
    reading: str = "",
    window: int = WINDOW,
    **parameters: Any,
) -> Case:
    limited = "window" if window == WINDOW else "budget"
    budget = {"budget": BUDGET} if limited == "budget" else {}
    decoder = make_decoder(
        kind,
        window=window,
        initial=initial,
        candidates=candidates,
        depth=depth,
        tree=shape,
        **budget,
        **parameters,
    )
    nodes = make_tree(shape, window, candidates, depth).nodes
    return Case(kind, decoder, window, nodes, candidates, depth, shape, reading, limited)


def measure(initial: str, pair: DigitsPair, seed: int, sequences: int) -> Measured:
    """All cases with one initialisation, ``sequences`` sequences each, all from one tape."""
    runs, lengths = [], []
    for case in cases(initial):
        steps, committed = decode(case.decoder, pair, Tape(seed, sequences))
        named = {"decoder": case.name, "initial": initial} | {
            field: getattr(case, field)
            for field in ("reading", "limited", "window", "nodes", "candidates", "depth", "tree")
        }
        compression = pair.target.length / steps
        shares = _shares(committed)
        runs.append({**named, "sequences": sequences, **_mean("steps", steps), **_mean("compression", compression)})
        runs[-1] |= {"one": shares["share"].iloc[0], "one_se": shares["share_se"].iloc[0]}
        lengths.append(shares.assign(**named))
    return Measured(pd.DataFrame(runs), pd.concat(lengths))


def decode(decoder: Decoder, pair: DigitsPair, tape: Tape) -> tuple[np.ndarray, np.ndarray]:
    """The calls each sequence took, ``[B]``, and how often a call committed 1, 2, ... tokens to it, ``[B, most]``."""
    done = simulate(decoder, pair.target, make_rule("speculative"), tape)
    lengths = range(1, done.committed.max() + 1)
    return done.steps, np.stack([(done.committed == length).sum(axis=1) for length in lengths], axis=1)


def _mean(name: str, values: np.ndarray) -> dict[str, float]:
    return {name: float(values.mean()), f"{name}_se": float(values.std(ddof=1) / np.sqrt(len(values)))}


def _shares(counts: np.ndarray) -> pd.DataFrame:
    """The share of all calls that commit each number of tokens, with standard errors from whole sequences.

    Calls of one sequence are not independent: a share is the ratio of two sums over sequences.
    """
    calls, size = counts.sum(axis=1, keepdims=True), len(counts)
    share = counts.sum(axis=0) / calls.sum()
    error = np.sqrt(((counts - share * calls) ** 2).sum(axis=0) / (size * (size - 1))) / calls.mean()
    return pd.DataFrame({"tokens": np.arange(1, counts.shape[1] + 1), "share": share, "share_se": error})
