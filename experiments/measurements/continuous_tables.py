"""CSpD's Tables 1 and 4 to 7, Figures 8 and 9, beside predictions of processes: a row for each printed number.

``meets`` says how far the two agree: ``number`` if they are at most 0.05 apart, ``shape`` if they are not but the
column falls as it does in print, else ``no``; and ``fitted`` where a free number was chosen for this very row, or, in
Table 4, one for all rows. Errors are standard errors of independent drafts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf, sqrt
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.stats import norm

from simlab.continuous import InPlace, Pair, Truncating
from simlab.continuous.compiled import simulate
from simlab.continuous.rules import LastStep, TwoPath
from simlab.randomness import Tape
from theory.continuous.isotropic import isotropic_acceptance
from theory.continuous.joint_gaussian import last_means
from theory.continuous.tables import DIMENSION, GAMMAS, NEEDED, even_pair, fitted, overlap, rates, separation
from theory.published.ledger import Ledger, Row, published

CLOSE = 0.05  # what "number" allows
TOKENS, START, LEVEL = 256, 0.05, 0.34  # of an image, and the acceptance at its first token and in the end
AR_COEFFICIENT = 0.15  # of a token on the one before, where blocks are replaced in place
SEQUENCES, LENGTH = 400, 64

Record = dict[str, Any]


def tables(seed: int = 0) -> pd.DataFrame:
    """All rows: table, setting, quantity, printed, found, error, process, meets."""
    ledger = published()
    parts = (_distances(ledger), _prefill(ledger), _ratios(ledger, seed), _lengths(ledger, seed))
    return pd.DataFrame([record for part in parts for record in part])


def _record(row: Row, found: float, process: str, meets: str | None = None, error: float = 0.0) -> Record:
    printed = float(row.value)
    close = "number" if abs(found - printed) <= CLOSE else "no"
    setting = ", ".join(f"{name} = {value}" for name, value in row.params.items() if name in ("gamma", "align"))
    percent = row.params.get("prefill_percent")
    return {
        "table": f"Table {row.table}",
        "setting": setting + (f", prefill {percent} %" if percent else "") or row.method,
        "quantity": row.metric,
        "printed": printed,
        "found": found,
        "error": error,
        "process": process,
        "meets": meets or close,
    }


def _distances(ledger: Ledger) -> Iterator[Record]:
    """Table 4: rates from the distances beside them, by one standard deviation for all."""
    table = rates(ledger)
    fit = fitted(overlap, table)
    for row, found in zip(table, fit.predicted, strict=True):
        process = f"gaps as long as printed, last sd {fit.sd:.2f} in all rows"
        yield _record(row.alpha, float(found), process, "fitted") | {"setting": _aligned(row.gamma, row.aligned)}


def _aligned(gamma: str, aligned: bool) -> str:
    return f"gamma = {gamma}, " + ("shared noise" if aligned else "own noise")


def _prefill(ledger: Ledger) -> Iterator[Record]:
    """Table 5 and Figure 9: a gap that fades from the first token on, fitted to the rate without prefill."""
    ends = [-2 * float(norm.ppf(value / 2)) for value in (START, LEVEL)]  # gaps, in units of the last sd

    def mean_rate(memory: float, skipped: int) -> float:
        gap = ends[1] + (ends[0] - ends[1]) * memory ** np.arange(skipped, TOKENS)
        return float(2 * norm.cdf(-gap / 2).mean())

    for gamma in GAMMAS:
        rows = {
            percent: ledger.one({"gamma": gamma, "prefill_percent": percent}, paper="cspd", table="5", metric="alpha")
            for percent in ("0", "5", "15")
        }
        memory = float(brentq(lambda m, goal=float(rows["0"].value): mean_rate(m, 0) - goal, 0.0, 0.999))
        for percent, row in rows.items():
            found = mean_rate(memory, round(TOKENS * int(percent) / 100))
            process = f"a gap that fades by {memory:.3f} a token, from acceptance {START} to {LEVEL}"
            yield _record(row, found, process, "fitted" if percent == "0" else None)


def _ratios(ledger: Ledger, seed: int) -> Iterator[Record]:
    """Table 6: one pair of T = 100 and d = 16 with the distances of Table 4 at gamma = 4, Sigma = 1."""
    first = {row.aligned: float(row.distance.value) for row in rates(ledger)[:2]}
    pair = even_pair(NEEDED, first[True], first[False])
    process = "T = 100, d = 16, wrong by the same in every step, distances of Table 4"
    nothing = (np.zeros(DIMENSION), np.zeros(DIMENSION))
    mean, covariance = last_means(pair.target.chain, pair.draft.chain, nothing, True).gap
    aligned = isotropic_acceptance(DIMENSION, sqrt(mean @ mean), float(covariance[0, 0]), NEEDED)
    apart = separation(pair)
    count = 20_000
    share = simulate(Truncating(1, limit=1), *pair, TwoPath(), Tape(seed, count)).acceptance
    found = {
        ("path_ratio", "alpha"): (float(2 * norm.cdf(-apart / 2)), 0.0, None),
        ("two_path_aligned", "alpha"): (aligned, 0.0, "fitted"),
        ("two_path_unaligned", "alpha"): (share, sqrt(share * (1 - share) / count), None),
        ("path_ratio", "mean_likelihood_ratio"): (1.0, 0.0, "no"),
        ("two_path_aligned", "mean_likelihood_ratio"): (1.0, 0.0, "no"),
        ("two_path_unaligned", "mean_likelihood_ratio"): (inf, 0.0, "no"),
    }
    for (method, metric), (value, error, meets) in found.items():
        row = ledger.one(paper="cspd", table="6", method=method, metric=metric)
        yield _record(row, value, process, meets, error) | {"setting": method.replace("_", " ")}


def _lengths(ledger: Ledger, seed: int) -> Iterator[Record]:
    """Tables 1 and 7, Figure 8: the pair of Table 6 in sequences, cut at rejections and replaced in place."""
    first = {row.aligned: float(row.distance.value) for row in rates(ledger)[:2]}
    alone = even_pair(NEEDED, first[True], first[False])
    pair = Pair(*(replace(model, length=LENGTH, ar_coefficient=AR_COEFFICIENT) for model in alone))
    for kind, how in ((Truncating, "cut at the first rejection"), (InPlace, "replaced in place")):
        found = [_rate(kind(int(gamma)), pair, seed) for gamma in GAMMAS]
        (first_rate, first_error), (last_rate, last_error) = found[0], found[-1]
        falls = first_rate - last_rate > 5 * sqrt(first_error**2 + last_error**2)  # as all printed columns do
        process = f"the pair of Table 6, each token {AR_COEFFICIENT} of the one before, blocks {how}"
        for gamma, (rate, error) in zip(GAMMAS, found, strict=True):
            for table in ("1", "7"):
                row = ledger.one({"gamma": gamma}, paper="cspd", table=table, target="MAR-H", metric="alpha")
                record = _record(row, rate, process, error=error) | {"setting": f"gamma = {gamma}, {how}"}
                yield record | ({"meets": "shape"} if falls and record["meets"] == "no" else {})


def _rate(decoder: Truncating | InPlace, pair: Pair, seed: int) -> tuple[float, float]:
    """The acceptance of verified drafts, and its standard error."""
    decoded = simulate(decoder, *pair, LastStep(), Tape(seed, SEQUENCES))
    share = decoded.acceptance
    return share, sqrt(share * (1 - share) / int(decoded.verified.sum()))
