"""Exact curves on worlds small enough to enumerate: step distributions, and distortion against length."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd

from simlab.decoders import Decoder, make_decoder
from simlab.processes import TableProcess
from simlab.rules import Rule, make_rule
from theory.distances import aligned, tv
from theory.exact import sequence_law, target_law
from theory.worlds import random_world, sticky_world

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
}


def step_distributions() -> pd.DataFrame:
    """Exact law of the number of calls for six tokens that repeat with probability 4/5, V = 2: decoder, steps."""
    world = sticky_world(STAY, 2, LENGTH)
    return pd.DataFrame(
        {"decoder": name, "steps": steps, "probability": float(mass)}
        for name, decoder in DECODERS.items()
        for steps, mass in sorted(sequence_law(decoder, world, RULES["speculative"])[1].items())
    )


def compounding(seed: int) -> pd.DataFrame:
    """Exact TV between the law of a sequence and the target's: decoder, rule, length; V = 3."""
    rows = []
    for length in range(1, 6):
        # rows without zeros, of which the shorter worlds see the beginning
        target, draft = (random_world(seed + k, 3, length, zeros=0) for k in (0, 1))
        for name, decoder in (
            ("speculative, gamma = 2", make_decoder("speculative", gamma=2)),
            ("sjd, W = 2", make_decoder("sjd", window=2)),
        ):
            for label, rule in RULES.items():
                off = _off(decoder, target, rule, draft if decoder.needs_draft else None)
                rows.append({"decoder": name, "rule": label, "length": length, "tv": float(off)})
    return pd.DataFrame(rows)


def _off(decoder: Decoder, target: TableProcess, rule: Rule, draft: TableProcess | None) -> Fraction:
    law, _ = sequence_law(decoder, target, rule, draft)
    return Fraction(tv(*aligned(law, target_law(target))))
