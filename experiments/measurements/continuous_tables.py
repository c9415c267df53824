"""CSpD's Tables 4 to 6 and Figure 9, beside predictions of processes: a row for each printed number.

``meets`` says how far the two agree: ``number`` if they are at most 0.05 apart, else ``no``; and ``fitted`` where a
free number was chosen for this very row, or, in Table 4, one for all rows. Errors are standard errors of independent
drafts.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, sqrt
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.stats import norm

from simlab.continuous import Pair, Truncating
from simlab.continuous.compiled import simulate
from simlab.continuous.rules import Path, TwoPath
from simlab.randomness import Tape
from theory.continuous.tables import ALIGNED_RATE, GAMMAS, SIGMA, fitted, pair_of_tables, parts, rates
from theory.published.ledger import Ledger, Row, published

CLOSE = 0.05  # what "number" allows
TOKENS, START, LEVEL = 256, 0.05, 0.34  # of an image, and the acceptance at its first token and in the end

Record = dict[str, Any]


def tables(seed: int = 0) -> pd.DataFrame:
    """All rows: table, setting, quantity, printed, found, error, process, meets."""
    ledger = published()
    made = (_distances(ledger), _prefill(ledger), _ratios(ledger, seed))
    return pd.DataFrame([record for part in made for record in part])


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
    """Table 4: rates from the distances of tokens beside them, by one standard deviation for all."""
    table = rates(ledger)
    fit = fitted(table)
    for row, found in zip(table, fit.predicted, strict=True):
        process = f"gaps of one length, tokens as far apart as printed, last sd {fit.sd:.2f} in all rows"
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


def _together(ledger: Ledger) -> Pair:
    """A pair with the distances of Table 4 at gamma = 4, and the rates of Table 6."""
    distance = {row.aligned: float(row.distance.value) for row in rates(ledger)[:2]}
    return pair_of_tables(parts(distance[True], distance[False], ALIGNED_RATE))


def _ratios(ledger: Ledger, seed: int) -> Iterator[Record]:
    """Table 6: one pair of d = 16 with the distances of Table 4 at gamma = 4."""
    pair, count = _together(ledger), 20_000
    process = (
        "T = 3, d = 16, distances of tokens of Table 4, a last step that turns the noise, a first one that is lost"
    )

    def accepted(rule: Path | TwoPath) -> tuple[float, float, str | None]:
        share = simulate(Truncating(1, limit=1), *pair, rule, Tape(seed, count)).acceptance
        return share, sqrt(share * (1 - share) / count), None

    found = {
        ("path_ratio", "alpha"): accepted(Path()),
        ("two_path_aligned", "alpha"): (ALIGNED_RATE, 0.0, "fitted"),
        ("two_path_unaligned", "alpha"): accepted(TwoPath()),
        ("path_ratio", "mean_likelihood_ratio"): (1.0, 0.0, "no"),
        ("two_path_aligned", "mean_likelihood_ratio"): (SIGMA, 0.0, "fitted"),
        ("two_path_unaligned", "mean_likelihood_ratio"): (inf, 0.0, "no"),
    }
    for (method, metric), (value, error, meets) in found.items():
        row = ledger.one(paper="cspd", table="6", method=method, metric=metric)
        yield _record(row, value, process, meets, error) | {"setting": method.replace("_", " ")}
