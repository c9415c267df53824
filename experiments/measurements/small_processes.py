"""Curves on processes small enough to enumerate: step distributions, and distortion against length."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from simlab.decoders import Decoder, make_decoder
from simlab.processes import TableProcess
from simlab.rules import Rule, make_rule
from theory.distances import aligned, tv
from theory.exact import deviation, sequence_law, target_law
from theory.example_processes import random_process, sticky_process

LENGTH = 6
STAY = Fraction(4, 5)

DECODERS: dict[str, Decoder] = {
    "autoregressive": make_decoder("autoregressive"),
    "jacobi, fresh noise, W = 3": make_decoder("jacobi", window=3, noise="fresh"),
    "jacobi, fixed noise, W = 3": make_decoder("jacobi", window=3, noise="fixed"),
    "sjd without refinement, W = 3": make_decoder("sjd-unrefined", window=3),
    "sjd reference code, W = 3 + 1": make_decoder("sjd-reference", window=4),
    "sjd, W = 1": make_decoder("sjd", window=1),
    "sjd, W = 3, no bonus": make_decoder("sjd", window=3, bonus=False),
    "sjd, W = 3": make_decoder("sjd", window=3),
    "sjd, W = 3, repeat-left": make_decoder("sjd", window=3, initial="repeat-left"),
    "sjd, W = 3, sample-left": make_decoder("sjd", window=3, initial="sample-left"),
    "sjd, W = 6": make_decoder("sjd", window=6),
}

RULES: dict[str, Rule] = {
    "speculative": make_rule("speculative"),
    "amplify, k = 2": make_rule("amplify", k=2),
    "addition, ε = 0.1": make_rule("addition", epsilon=0.1),
    "grouped": make_rule("grouped", labels=[0, 0, 1]),
    "grouped, group residual": make_rule("grouped-group-residual", labels=[0, 0, 1]),
    "dynamic, centred": make_rule("dynamic-grouped", size=3, max_gap=0.15, window="centred"),
    "lantern, δ = 0.3": make_rule("lantern", neighbours=[[1, 2], [0, 2], [1, 0]], delta=0.3, bound="tv"),
    "optimal-lossy, 0.1": make_rule("optimal-lossy", tv=0.1),
    "typical, ε = 0.09": make_rule("typical", epsilon=0.09),
}

# The decoders of SJD-PAC over a window of 4: (decoder, the reading of the paper, kind, parameters).
PAC_WINDOW = 4
COMB: dict[str, Any] = {"candidates": 2, "depth": 2, "tree": "comb"}
FULL: dict[str, Any] = {"candidates": 2, "depth": 2, "tree": "full"}
Case = tuple[str, str, str, dict[str, Any]]
PAC: list[Case] = [
    ("sjd", "", "sjd", {}),
    ("sjd-ac", "", "sjd-ac", {}),
    ("sjd-pd, K = 2, D = 2, comb", "", "sjd-pd", COMB),
    ("sjd-pac, K = 2, D = 1", "", "sjd-pac", {**COMB, "depth": 1}),
    ("sjd-pac, K = 2, D = 1", "kept dropped", "sjd-pac", {**COMB, "depth": 1, "kept": "dropped"}),
    ("sjd-pac, K = 2, D = 2, comb", "", "sjd-pac", COMB),
    ("sjd-pac, K = 2, D = 2, comb", "no bonus", "sjd-pac", {**COMB, "bonus": False}),
    ("sjd-pac, K = 3, D = 2, comb", "", "sjd-pac", {**COMB, "candidates": 3}),
    ("sjd-pd, K = 2, D = 2, full", "", "sjd-pd", FULL),
    ("sjd-pac, K = 2, D = 2, full", "", "sjd-pac", FULL),
    ("sjd-pac, K = 2, D = 2, full", "shared", "sjd-pac", {**FULL, "shared": True}),
]
# Full trees have too many outcomes to enumerate where every token is possible.
PAC_PROCESSES: dict[str, tuple[TableProcess, list[Case]]] = {
    "tokens that repeat with probability 4/5": (
        sticky_process(STAY, 3, 5),
        [c for c in PAC if c[3].get("tree") != "full" and c[3].get("depth") != 1],
    ),
    "a random process with zeros": (random_process(6, 3, 5, zeros=0.6), PAC),
}


def step_distributions() -> pd.DataFrame:
    """Exact law of the number of calls for six tokens that repeat with probability 4/5, V = 2: decoder, steps."""
    process = sticky_process(STAY, 2, LENGTH)
    return pd.DataFrame(
        {"decoder": name, "steps": steps, "probability": float(mass)}
        for name, decoder in DECODERS.items()
        for steps, mass in sorted(sequence_law(decoder, process, RULES["speculative"])[1].items())
    )


def compounding(seed: int) -> pd.DataFrame:
    """TV between the law of a sequence and the target's: decoder, rule, length; V = 3.

    Everything that can happen is enumerated, with weights in floating point.
    """
    rows = []
    for length in range(1, 6):
        # rows without zeros, of which the shorter processes see the beginning
        target, draft = (floating(random_process(seed + k, 3, length, zeros=0)) for k in (0, 1))
        for name, decoder in (
            ("speculative, gamma = 2", make_decoder("speculative", gamma=2)),
            ("sjd, W = 2", make_decoder("sjd", window=2)),
        ):
            for label, rule in RULES.items():
                off = deviation(decoder, target, rule, draft if decoder.needs_draft else None)
                rows.append({"decoder": name, "rule": label, "length": length, "tv": float(off)})
    return pd.DataFrame(rows)


def pac_steps(name: str) -> pd.DataFrame:
    """The law of the number of calls of SJD-PAC's decoders in ``PAC_PROCESSES[name]``, V = 3, with the lossless rule.

    Everything that can happen is enumerated; its weights are floating point, because trees over rationals take minutes.
    Returns world, decoder, reading, steps, probability, and off: the TV of the law of sequences to the target's.
    """
    table, cases = PAC_PROCESSES[name]
    process, rows = floating(table), []
    for label, reading, kind, parameters in cases:
        decoder = make_decoder(kind, window=PAC_WINDOW, **parameters)
        law, steps = sequence_law(decoder, process, RULES["speculative"])
        off = float(tv(*aligned(law, target_law(process))))
        named = {"world": name, "decoder": label, "reading": reading, "off": off}
        rows += [{**named, "steps": count, "probability": float(mass)} for count, mass in sorted(steps.items())]
    return pd.DataFrame(rows)


def floating(process: TableProcess) -> TableProcess:
    """``process`` in floating point."""
    return TableProcess(
        process.vocabulary, process.length, lambda prefix: list(process.row(prefix).astype(np.float64)), process.shape
    )
