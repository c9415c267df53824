"""Every decoder x rule pair on a real model pair: scikit-learn's digits.

Sequences are drawn on the tape, but nothing that can be computed is counted. For each draft a decoder looks at,
the rows p and q it was judged by give the *exact* probability of keeping a draft there, the exact law of the
token that comes out, and so the exact TV, KL and Wasserstein-1 (over grey levels) of that law to p; averages
of these conditional expectations have far less spread than counts. Each of these laws is conditional on the past
of a decoder's run, so by the chain rule, and because KL is convex, the expected sum of KL over a sequence bounds
the KL of the whole sequence law from the target's. So does the sum of TV for TV. Means over sequences estimate
these expectations. A sum of Wasserstein-1 bounds nothing; it says what single tokens add up to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from simlab.arrays import Array, slots
from simlab.decoders import Decoder, Info, make_decoder, run
from simlab.processes.digits import DigitsPair
from simlab.randomness import Tape
from simlab.rules import Rule, codebook_neighbours, make_rule
from theory.distances import kl, tv, wasserstein1_line
from theory.exact import acceptance, step_law
from theory.pareto_frontier import nearest_envelope

WINDOW, GAMMA = 8, 4
LEVELS = np.arange(17)  # grey levels: the ground metric is their difference
DISTANCES = abs(LEVELS[:, None] - LEVELS)

DECODERS: dict[str, Decoder] = {
    "autoregressive": make_decoder("autoregressive"),
    "jacobi, fresh noise": make_decoder("jacobi", window=WINDOW, noise="fresh"),
    "jacobi, fixed noise": make_decoder("jacobi", window=WINDOW, noise="fixed"),
    "speculative": make_decoder("speculative", gamma=GAMMA),
    "block verification": make_decoder("block", gamma=GAMMA),
    **{
        f"sjd, {initial}": make_decoder("sjd", window=WINDOW, initial=initial)
        for initial in ("random", "repeat-left", "repeat-above", "sample-left", "sample-above")
    },
}
MAPPED = "sjd, repeat-above"  # whose contexts the frontier is computed on
RULELESS = ("autoregressive", "jacobi, fresh noise", "jacobi, fixed noise", "block verification")

_groups = (LEVELS + 1) // 2  # 0 alone, then 1-2, 3-4, ..., 15-16
_dynamic = {"size": 5, "max_gap": 0.15, "max_distance": 4, "distances": DISTANCES}
_near = codebook_neighbours(LEVELS[:, None], 4)  # the nearest grey levels: two below and two above, inside the range
RULES: dict[str, Rule] = {
    "speculative": make_rule("speculative"),
    "amplify, k = 2": make_rule("amplify", k=2),
    "addition, ε = 0.1": make_rule("addition", epsilon=0.1),
    "grouped": make_rule("grouped", labels=_groups),
    "grouped, group residual": make_rule("grouped-group-residual", labels=_groups),
    **{f"dynamic, {w}": make_rule("dynamic-grouped", window=w, **_dynamic) for w in ("printed", "clamped", "centred")},
    "lantern, δ = 0.2": make_rule("lantern", neighbours=_near, delta=0.2),
    "typical, ε = 0.09": make_rule("typical"),
    "optimal-lossy, TV = 0.1": make_rule("optimal-lossy", tv=0.1),
}

# The same rules over a range of their parameter, for the map of acceptance against distortion.
SWEEPS: dict[str, list[tuple[float, Rule]]] = {
    "amplify": [(k, make_rule("amplify", k=k)) for k in (1.1, 1.25, 1.5, 2, 3, 5)],
    "addition": [(e, make_rule("addition", epsilon=e)) for e in (0.01, 0.03, 0.06, 0.1, 0.2, 0.3)],
    "grouped": [(g, make_rule("grouped", labels=(LEVELS + g - 1) // g)) for g in (2, 3, 4, 6, 8, 16)],
    "grouped, group residual": [
        (g, make_rule("grouped-group-residual", labels=(LEVELS + g - 1) // g)) for g in (2, 3, 4, 6, 8, 16)
    ],
    "dynamic, centred": [
        (g, make_rule("dynamic-grouped", **{**_dynamic, "size": g, "window": "centred"})) for g in (2, 4, 6, 8, 12, 16)
    ],
    "dynamic, printed": [
        (g, make_rule("dynamic-grouped", **{**_dynamic, "size": g, "window": "printed"})) for g in (2, 4, 6, 8, 12, 16)
    ],
    "lantern": [(d, make_rule("lantern", neighbours=_near, delta=d)) for d in (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)],
    "lantern-multiplicative": [
        (k, make_rule("lantern-multiplicative", neighbours=_near, factor=k)) for k in (1.5, 2, 3, 5, 10)
    ],
    # Medusa couples its two thresholds like this; its own value is 0.09
    "typical": [(e, make_rule("typical", epsilon=e, delta=e**0.5)) for e in (0.003, 0.01, 0.03, 0.09, 0.3)],
    "optimal-lossy": [(t, make_rule("optimal-lossy", tv=t)) for t in (0.02, 0.05, 0.1, 0.2, 0.3)],
}


class _Recorder(Rule):
    """A rule that remembers the rows it was last asked about."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.rows: tuple[Array, Array] | None = None

    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        self.rows = p, q
        return self.rule.accept_rows(p, q, x)

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        return self.rule.weights_rows(p, q, x)


class Contexts(NamedTuple):
    """The drafts a run looked at: where, and by which rows."""

    sequence: np.ndarray  # int[K]
    position: np.ndarray  # int[K]
    p: np.ndarray  # [K, V]
    q: np.ndarray  # [K, V]


class Measured(NamedTuple):
    """What :func:`measure` returns for one decoder."""

    pairs: list[dict[str, Any]]  # one row a rule
    compounding: pd.DataFrame  # rule, position, cumulative TV, KL and Wasserstein-1
    map: pd.DataFrame  # rule, parameter: acceptance and distortion, all on one set of contexts
    frontier: pd.DataFrame  # gained, wasserstein: the least there is on these contexts; empty but for `MAPPED`
    samples: dict[str, np.ndarray]  # rule -> uint8[sequences, 64]


def decode(decoder: Decoder, rule: Rule, pair: DigitsPair, tape: Tape) -> tuple[Any, Contexts]:
    """Run a decoder to the end and keep the rows of every draft it looked at."""
    recorder, found = _Recorder(rule), []

    def watch(before: Any, after: Any, info: Info) -> None:
        if recorder.rows is None:
            return
        p, q = recorder.rows
        place = np.arange(p.shape[1])
        # a draft is looked at if all before it were kept, up to the end of the sequence
        looked = (place <= info.accepted[:, None]) & (before.length[:, None] + place < pair.target.length)
        b, j = np.nonzero(looked)
        found.append(Contexts(b, before.length[b] + j, p[b, j], q[b, j]))

    draft = pair.draft if decoder.needs_draft else None
    done = run(decoder, pair.target, recorder, tape, draft, watch)
    if not found:
        empty = np.empty((0, pair.target.vocabulary))
        return done, Contexts(np.empty(0, np.int64), np.empty(0, np.int64), empty, empty)
    return done, Contexts(*(np.concatenate(field) for field in zip(*found, strict=True)))


def measure(name: str, pair: DigitsPair, seed: int, sequences: int) -> Measured:
    """All rules with the decoder ``name``, ``sequences`` sequences each, all from one tape."""
    decoder = DECODERS[name]
    rules = {"(none)": RULES["speculative"]} if name in RULELESS else RULES
    pairs, curves, samples = [], [], {}
    bank: Contexts | None = None
    for label, rule in rules.items():
        done, contexts = decode(decoder, rule, pair, Tape(seed, sequences))
        local = _local(rule, contexts)
        pairs.append({"decoder": name, "rule": label, **_summary(done, local, contexts, pair)})
        curves.append(_compounding(local, contexts, sequences, pair.target.length).assign(decoder=name, rule=label))
        samples[label] = done.tokens.astype(np.uint8)
        if label == "speculative":
            bank = contexts
    mapped = None if bank is None else _thinned(bank)
    frontier = _frontier(mapped).assign(decoder=name) if mapped and name == MAPPED else pd.DataFrame()
    return Measured(pairs, pd.concat(curves), _map(name, mapped), frontier, samples)


def _local(rule: Rule, contexts: Contexts) -> pd.DataFrame:
    """Exact conditional expectations at each context: what the rule keeps there and what comes out."""
    p, q = contexts.p, contexts.q
    law = step_law(rule, p, q) if len(p) else p
    exact: dict[str, Callable[[], Any]] = {
        "acceptance": lambda: acceptance(rule, p, q),
        "lossless": lambda: 1 - tv(p, q),
        "tv": lambda: tv(law, p),
        "kl": lambda: kl(law, p),
        "wasserstein": lambda: wasserstein1_line(law, p, LEVELS),
    }
    return pd.DataFrame({name: value() if len(p) else np.empty(0) for name, value in exact.items()})


def _summary(done: Any, local: pd.DataFrame, contexts: Contexts, pair: DigitsPair) -> dict[str, float]:
    """Means with their standard errors; ``bits`` is what the target pays for the samples, per pixel."""
    count = len(done.tokens)
    rows = pair.target.forward(done.tokens, np.zeros(count, np.int64), pair.target.length)
    bits = -np.log2(slots(rows.reshape(-1, rows.shape[-1]), done.tokens.reshape(-1, 1))).reshape(count, -1).mean(axis=1)
    compression = pair.target.length / done.steps
    values = {"steps": done.steps, "compression": compression, "bits": bits}
    summary = {"sequences": float(count)}
    for name, value in values.items():
        summary |= {name: float(value.mean()), f"{name}_se": float(value.std(ddof=1) / np.sqrt(count))}
    return summary | _pooled(local, contexts.sequence, count)


def _pooled(local: pd.DataFrame, sequence: np.ndarray, count: int) -> dict[str, float]:
    """The mean of every column over all contexts, with its standard error from whole sequences.

    Contexts of one sequence are not independent, sequences are: the mean is a ratio of two sums over sequences,
    and its error is that of the residuals of these.
    """
    looks = np.bincount(sequence, minlength=count)
    pooled: dict[str, float] = {}
    for name in map(str, local):
        sums = np.bincount(sequence, weights=local[name], minlength=count)
        mean = sums.sum() / looks.sum() if len(local) else np.nan
        error = (
            np.sqrt(((sums - mean * looks) ** 2).sum() / (count * (count - 1))) / looks.mean() if len(local) else np.nan
        )
        pooled |= {name: float(mean), f"{name}_se": float(error)}
    return pooled


def _compounding(local: pd.DataFrame, contexts: Contexts, sequences: int, length: int) -> pd.DataFrame:
    """Mean over sequences of the distortion of all tokens up to each position; a token no rule judged adds 0."""
    names = ["tv", "kl", "wasserstein"]
    at_position = local[names].groupby(contexts.position).sum().reindex(range(length), fill_value=0.0) / sequences
    return at_position.cumsum().rename_axis("position").reset_index()


def _thinned(bank: Contexts) -> Contexts:
    """Evenly spread contexts of the lossless run, at most 1500 of them."""
    every = slice(None, None, -(-len(bank.p) // 1500))
    return Contexts(*(field[every] for field in bank))


def _map(name: str, contexts: Contexts | None) -> pd.DataFrame:
    """Acceptance against distortion of every rule on the same contexts.

    One set of contexts for all rules: averages over different trajectories are not comparable.
    """
    if contexts is None:
        return pd.DataFrame()
    named = [(label, np.nan, rule) for label, rule in RULES.items()]
    swept = [(label, parameter, rule) for label, points in SWEEPS.items() for parameter, rule in points]
    rows = [
        {"decoder": name, "rule": label, "parameter": parameter, **_local(rule, contexts).mean().to_dict()}
        for label, parameter, rule in named + swept
    ]
    return pd.DataFrame(rows)


def _frontier(contexts: Contexts) -> pd.DataFrame:
    """The least mean Wasserstein-1 of any rule with one candidate, for each mean acceptance it gains."""
    bound = nearest_envelope(contexts.p, contexts.q, DISTANCES, prices=len(LEVELS))
    gained = np.linspace(0, bound.most, 61)
    return pd.DataFrame({"gained": gained, "wasserstein": bound.least(gained)})
