"""Every decoder x rule pair on a real model pair: scikit-learn's digits.

Sequences are sampled, but what can be computed is not counted. For each draft that is verified, the rows p and q it is
judged by give the *exact* probability of accepting a draft there, the exact law of the token that comes out, and so the
exact TV, KL and Wasserstein-1 (over grey levels) of that law to p; averages of these conditional expectations have far
less spread than counts. Each of these laws is conditional on the past of a decoder's run, so by the chain rule, and
because KL is convex, the expected sum of KL over a sequence bounds the KL of the whole sequence law from the target's.
So does the sum of TV for TV. Means over sequences estimate these expectations. A sum of Wasserstein-1 bounds nothing;
it says what single tokens add up to.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from experiments.measurements.codebook import WITHOUT_TABLES, swept
from simlab.arrays import at
from simlab.decoders import Decoder, make_decoder
from simlab.decoders.compiled import Simulation, simulate
from simlab.processes.digits import DigitsPair
from simlab.processes.wrapped import Recalled
from simlab.randomness import Tape
from simlab.rules import Rule, codebook_neighbours, make_rule
from theory.distances import kl, tv, wasserstein1_line
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
MAPPED = "sjd, repeat-above"  # whose contexts the map and the frontier are computed on
MOST_MAPPED = 1500  # contexts
RULELESS = ("autoregressive", "jacobi, fresh noise", "jacobi, fixed noise", "block verification")

_groups = (LEVELS + 1) // 2  # 0 alone, then 1-2, 3-4, ..., 15-16
_dynamic: dict[str, Any] = {"max_gap": 0.15, "max_distance": 4, "distances": DISTANCES}
_near = codebook_neighbours(LEVELS[:, None], 4)  # the nearest grey levels: two below and two above, inside the range
RULES: dict[str, Rule] = {
    "speculative": make_rule("speculative"),
    "amplify, k = 2": make_rule("amplify", k=2),
    "addition, ε = 0.1": make_rule("addition", epsilon=0.1),
    "grouped": make_rule("grouped", labels=_groups),
    "grouped, group residual": make_rule("grouped-group-residual", labels=_groups),
    **{
        f"dynamic, {window}": make_rule("dynamic-grouped", size=5, window=window, **_dynamic)
        for window in ("printed", "clamped", "centred")
    },
    "lantern, δ = 0.2": make_rule("lantern", neighbours=_near, delta=0.2),
    "typical, ε = 0.09": make_rule("typical"),
    "optimal-lossy, TV = 0.1": make_rule("optimal-lossy", tv=0.1),
}

# The same rules over a range of their parameter, for the map of acceptance against distortion.
SWEEPS: dict[str, list[tuple[float, Rule]]] = {
    "amplify": swept("amplify", "k", (1.1, 1.25, 1.5, 2, 3, 5)),
    "addition": swept("addition", "epsilon", (0.01, 0.03, 0.06, 0.1, 0.2, 0.3)),
    "grouped": [(g, make_rule("grouped", labels=(LEVELS + g - 1) // g)) for g in (2, 3, 4, 6, 8, 16)],
    "grouped, group residual": [
        (g, make_rule("grouped-group-residual", labels=(LEVELS + g - 1) // g)) for g in (2, 3, 4, 6, 8, 16)
    ],
    "dynamic, centred": swept("dynamic-grouped", "size", (2, 4, 6, 8, 12, 16), window="centred", **_dynamic),
    "dynamic, printed": swept("dynamic-grouped", "size", (2, 4, 6, 8, 12, 16), window="printed", **_dynamic),
    "lantern": swept("lantern", "delta", (0.02, 0.05, 0.1, 0.2, 0.4, 0.8), neighbours=_near),
    "lantern-multiplicative": swept("lantern-multiplicative", "factor", (1.5, 2, 3, 5, 10), neighbours=_near),
    # Medusa couples its two thresholds like this; its own value is 0.09
    "typical": [(e, make_rule("typical", epsilon=e, delta=e**0.5)) for e in (0.003, 0.01, 0.03, 0.09, 0.3)],
    "optimal-lossy": swept("optimal-lossy", "tv", (0.02, 0.05, 0.1, 0.2, 0.3)),
    **{name: swept(name, key, values, **more) for name, (key, values, more) in WITHOUT_TABLES.items()},
}


EXPECTED = ["acceptance", "lossless", "tv", "kl", "wasserstein"]  # what is computed at each context


class Contexts(NamedTuple):
    """The drafts a run has verified: where, and by which rows."""

    sequence: np.ndarray  # int[K]
    position: np.ndarray  # int[K]
    p: np.ndarray  # [K, V]
    q: np.ndarray  # [K, V]


NO_CONTEXTS = Contexts(*(np.empty(0, np.int64) for _ in range(2)), *(np.empty((0, len(LEVELS))) for _ in range(2)))


class Measured(NamedTuple):
    """What :func:`measure` returns for one decoder."""

    pairs: list[dict[str, Any]]  # one row a rule
    compounding: pd.DataFrame  # rule, position, cumulative TV, KL and Wasserstein-1
    map: pd.DataFrame  # rule, parameter: acceptance and distortion, all on one set of contexts; only for `MAPPED`
    frontier: pd.DataFrame  # gained, wasserstein: the least there is on these contexts; only for `MAPPED`
    samples: dict[str, np.ndarray]  # rule -> uint8[sequences, 64]


def measure(name: str, pair: DigitsPair, seed: int, sequences: int) -> Measured:
    """Measure all rules with the decoder ``name``: ``sequences`` sequences each, all from one tape."""
    decoder, tape = DECODERS[name], Tape(seed, sequences)
    if name in RULELESS:
        draft = pair.draft if decoder.needs_draft else None
        runs = {"(none)": (simulate(decoder, pair.target, RULES["speculative"], tape, draft), NO_CONTEXTS)}
    else:
        runs = {label: decode(decoder, rule, pair, tape) for label, rule in RULES.items()}
    pairs, curves = [], []
    for label, (done, contexts) in runs.items():
        exact = _expectations(RULES.get(label, RULES["speculative"]), contexts)
        named = {"decoder": name, "rule": label}
        pairs.append({**named, **_summary(done, exact, contexts, pair)})
        curves.append(_compounding(exact, contexts, sequences, pair.target.length).assign(**named))
    mapped = _thinned(runs["speculative"][1]) if name == MAPPED else None
    return Measured(
        pairs,
        pd.concat(curves),
        pd.DataFrame() if mapped is None else _map(mapped).assign(decoder=name),
        pd.DataFrame() if mapped is None else _frontier(mapped).assign(decoder=name),
        {label: done.tokens.astype(np.uint8) for label, (done, _) in runs.items()},
    )


# Decoding ----------------------------------------------------------------------------------------------------------


def decode(decoder: Decoder, rule: Rule, pair: DigitsPair, tape: Tape) -> tuple[Simulation, Contexts]:
    """Sequences by a decoder that verifies its drafts by ``rule``, and the rows that each draft was verified by."""
    target, draft = Recalled(pair.target), Recalled(pair.draft)
    found = []

    def watch(sequences: np.ndarray, before: Any, accepted: np.ndarray, committed: np.ndarray) -> None:
        p, q = _rows(target), _rows(draft) if decoder.needs_draft else before.q
        place = np.arange(q.shape[1])
        # a draft is verified if all before it were accepted, up to the end of the sequence
        verified = (place <= accepted[:, None]) & (before.length[:, None] + place < pair.target.length)
        b, j = np.nonzero(verified)
        found.append(Contexts(sequences[b], before.length[b] + j, p[b, j], q[b, j]))

    done = simulate(decoder, target, rule, tape, draft if decoder.needs_draft else None, watch=watch)
    return done, Contexts(*(np.concatenate(field) for field in zip(*found, strict=True)))


def _rows(process: Recalled) -> np.ndarray:
    """``[B, M, V]``: the rows of its calls since the last time, side by side."""
    return np.concatenate([call.rows for call in process.taken()], axis=1)


# Measuring ---------------------------------------------------------------------------------------------------------


def _expectations(rule: Rule, contexts: Contexts) -> pd.DataFrame:
    """Exact conditional expectations at each context: how probable acceptance is, and what is emitted."""
    p, q = contexts.p, contexts.q
    if not len(p):
        return pd.DataFrame(columns=EXPECTED, dtype=np.float64)
    accepted, law = rule.step_rows(p, q)
    values = accepted, 1 - tv(p, q), tv(law, p), kl(law, p), wasserstein1_line(law, p, LEVELS)
    return pd.DataFrame(dict(zip(EXPECTED, values, strict=True)))


def _summary(done: Simulation, exact: pd.DataFrame, contexts: Contexts, pair: DigitsPair) -> dict[str, float]:
    """Means with their standard errors; ``bits`` is -log2 p of the samples under the target, per pixel."""
    count = len(done.tokens)
    rows = pair.target.forward(done.tokens, np.zeros(count, np.int64), pair.target.length)
    values = {
        "steps": done.steps,
        "compression": pair.target.length / done.steps,
        "bits": -np.log2(at(rows, done.tokens)).mean(axis=1),
    }
    summary = {"sequences": float(count)}
    for name, value in values.items():
        summary |= {name: float(value.mean()), f"{name}_se": float(value.std(ddof=1) / np.sqrt(count))}
    return summary | _pooled(exact, contexts.sequence, count)


def _pooled(exact: pd.DataFrame, sequence: np.ndarray, count: int) -> dict[str, float]:
    """The mean of every column over all contexts, with its standard error from whole sequences; NaN without contexts.

    Contexts of one sequence are not independent, sequences are: the mean is a ratio of two sums over sequences,
    and its error is that of the residuals of these.
    """
    verified = np.bincount(sequence, minlength=count)
    pooled: dict[str, float] = {}
    for name in map(str, exact):
        sums = np.bincount(sequence, weights=exact[name], minlength=count)
        mean = sums.sum() / verified.sum() if len(exact) else np.nan
        error = np.sqrt(((sums - mean * verified) ** 2).sum() / (count * (count - 1)))
        pooled |= {name: float(mean), f"{name}_se": float(error / verified.mean()) if len(exact) else np.nan}
    return pooled


def _compounding(exact: pd.DataFrame, contexts: Contexts, sequences: int, length: int) -> pd.DataFrame:
    """Mean over sequences of the distortion of all tokens up to each position; a token no rule judged adds 0."""
    names = ["tv", "kl", "wasserstein"]
    at_position = exact[names].groupby(contexts.position).sum().reindex(range(length), fill_value=0.0) / sequences
    return at_position.cumsum().rename_axis("position").reset_index()


def _thinned(contexts: Contexts) -> Contexts:
    """At most ``MOST_MAPPED`` of the contexts, evenly spread."""
    every = slice(None, None, -(-len(contexts.p) // MOST_MAPPED))
    return Contexts(*(field[every] for field in contexts))


def _map(contexts: Contexts) -> pd.DataFrame:
    """Acceptance against distortion of every rule on the same contexts.

    One set of contexts for all rules: averages over different trajectories are not comparable.
    """
    named = [(label, np.nan, rule) for label, rule in RULES.items()]
    swept = [(label, parameter, rule) for label, points in SWEEPS.items() for parameter, rule in points]
    return pd.DataFrame(
        {"rule": label, "parameter": parameter, **_expectations(rule, contexts).mean().to_dict()}
        for label, parameter, rule in named + swept
    )


def _frontier(contexts: Contexts) -> pd.DataFrame:
    """The least mean Wasserstein-1 of any rule with one candidate, for each mean acceptance it gains."""
    bound = nearest_envelope(contexts.p, contexts.q, DISTANCES, prices=len(LEVELS))
    gained = np.linspace(0, bound.most, 61)
    return pd.DataFrame({"gained": gained, "wasserstein": bound.least(gained)})
