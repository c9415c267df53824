"""Tables on the pages of studies, each a pure function of the table of a sweep and of the printed numbers."""

from __future__ import annotations

from typing import Any

import pandas as pd

from reports.data.averages import KINDS, SAMPLES, averages, gains, need, rows_of
from reports.figures import lossy_rules, sjd_pac
from reports.figures.lossy_rules import COSTS
from reports.figures.plot_style import LOSSLESS
from reports.pages.elements import Table
from reports.site.html import number, with_error
from theory.published.ledger import Ledger

BOTH = "mean: of each sequence's tokens/calls; pooled: all tokens over all calls; ± one standard error"
PAIRED = "differences are taken image by image"


def settings(table: pd.DataFrame) -> Table:
    """Every configuration of a sweep, whatever it is: what varies, and tokens a call both ways."""
    varying = varied(table)
    found = averages(table, [*(f"{kind}.label" for kind in KINDS), *varying])
    rows = []
    for row in records(found):
        text = ", ".join(f"{name.partition('.')[2]} = {cell_text(row[name])}" for name in varying if _there(row[name]))
        labels = [str(row[f"{kind}.label"]) for kind in KINDS]
        rows.append([*labels, text, str(row["sequences"]), *_both(row)])
    columns = ["process", "decoder", "rule", "what varies", "sequences", "tokens per call, mean", "pooled"]
    return Table("All settings", columns, rows, f"{BOTH}.", words=4)


def varied(table: pd.DataFrame) -> list[str]:
    """The parameters that are not the same in all rows that have them, but for those that number samples."""
    names = [name for name in table.columns if name.partition(".")[0] in KINDS and "." in name]
    rest = [name for name in names if not name.endswith(".label") and name not in SAMPLES]
    return [name for name in rest if table[name].nunique() > 1]


def likelihoods(table: pd.DataFrame, ledger: Ledger) -> Table:
    """SJD, Table 11: how likely the tokens are under the target."""
    need(table, "loglik_mean", "loglik_std", "decoder.label")
    found = averages(table, ["decoder.label"], ["loglik_mean", "loglik_std"])
    rows = [
        [
            f"simulated, {row['decoder.label']}",
            *(with_error(row[name], row[f"{name}_error"]) for name in ("loglik_mean", "loglik_std")),
        ]
        for row in records(found)
    ]
    for method in ("ar", "sjd"):
        printed = ledger.one(paper="sjd", table="11", method=method)
        rows.append([f"printed: Lumina-mGPT, {method}", printed.printed, str(printed.std)])
    return Table(
        "Log probability of a token, nats",
        ["", "mean", "standard deviation"],
        rows,
        "± one standard error, between images. Mean and spread were fixed beforehand, by the entropy and the "
        "heterogeneity of the process, from what SJD prints in Table 11.",
    )


def ablation(table: pd.DataFrame, ledger: Ledger) -> Table:
    """SJD-PAC, Table 2, printed beside simulated."""
    rows = [
        [
            f"{sjd_pac.NAMES[row['decoder']]}, L = {row['size']}",
            str(row["status"]),
            number(row["printed"], 2),
            *_both(row),
            signed(row["gain"], row["gain_error"]) if row["gain"] else "",
        ]
        for row in records(sjd_pac.ablation_numbers(table, ledger))
    ]
    columns = ["decoder", "the simulated value is", "printed", "mean", "pooled", "over SJD, L = 32"]
    return Table("The numbers", columns, rows, f"{BOTH}; {PAIRED}.", words=2)


def tree(table: pd.DataFrame, ledger: Ledger) -> Table:
    """SJD-PAC, Table 3, printed beside simulated."""
    found = sjd_pac.tree_numbers(table, ledger)
    best = float(found.loc[found["status"] == "fitted", "printed"].iloc[0])
    rows = [
        [
            f"K = {row['K']}, D = {row['D']}",
            str(row["status"]),
            number(row["printed"], 2),
            *_both(row),
            "" if row["status"] == "fitted" else f"{row['printed'] - best:+.2f}",
            "" if row["status"] == "fitted" else signed(row["gain"], row["gain_error"]),
        ]
        for row in records(found)
    ]
    columns = [
        "tree",
        "the simulated value is",
        "printed",
        "mean",
        "pooled",
        "printed, over 4, 3",
        "simulated, over 4, 3",
    ]
    return Table("The numbers", columns, rows, f"{BOTH}; {PAIRED}.", words=2)


def readings(table: pd.DataFrame, ledger: Ledger) -> Table:
    """The readings of SJD-PAC."""
    rows = [
        [
            str(row["decoder.label"]),
            *(str(row[f"decoder.{name}"]) for name in ("window", "candidates", "depth")),
            *_both(row),
            signed(row["gain"], row["gain_error"]) if row["gain"] else "",
        ]
        for row in records(sjd_pac.readings_numbers(table))
    ]
    columns = ["reading", "chain", "K", "D", "mean", "pooled", "over the first"]
    return Table("The numbers", columns, rows, f"{BOTH}; {PAIRED}.")


def trades(table: pd.DataFrame, ledger: Ledger) -> Table:
    """What rules gain over the lossless one and what they cost, for each process and decoder."""
    varying = [name for name in varied(table) if name.startswith("rule.")]
    rows = []
    for labels, part in table.groupby(["process.label", "decoder.label"], sort=False):
        own = [name for name in varying if part[name].notna().any()]
        keys = ["rule", "rule.label", *own]
        found = lossy_rules.traded(part, keys)
        need(part, "distortion_exact")
        bound = "" if part["distortion_exact"].all() else "≤ "
        faster = gains(part, keys, rows_of(part, "the lossless rule", rule=LOSSLESS))
        for row, gain in zip(records(found), records(faster), strict=True):
            text = ", ".join(f"{name.partition('.')[2]} = {cell_text(row[name])}" for name in own if _there(row[name]))
            lossless = row["rule"] == LOSSLESS
            rows.append(
                [
                    *map(str, labels),
                    f"{row['rule.label']} {text}".strip(),
                    *_both(row),
                    "" if lossless else signed(gain["gain"], gain["gain_error"]),
                    *(f"{row[name]:.3f}" for name in lossy_rules.ACCEPTANCE),
                    *(with_error(row[cost], row[f"{cost}_error"]) for cost in COSTS),
                ]
            )
            if not lossless:
                rows[-1][-2:] = [bound + cost for cost in rows[-1][-2:]]
    columns = ["process", "decoder", "rule", "mean", "pooled", "gained", "acceptance", "lossless there", "TV", "W1"]
    same = [k for k in range(2) if len({row[k] for row in rows}) == 1]
    columns, *rows = ([cell for k, cell in enumerate(row) if k not in same] for row in (columns, *rows))
    note = (
        f"{BOTH}. gained: tokens per call over the lossless rule; {PAIRED}. lossless there: what the lossless rule "
        "would accept of the same drafts. TV and Wasserstein-1 (W1, over the codebook): of the law of a committed "
        "token from the target's row; ≤: an upper bound, where there are several candidates."
    )
    return Table("The numbers", columns, rows, note, words=3 - len(same))


def _both(row: dict[str, Any]) -> list[str]:
    return [with_error(row["mean"], row["error"]), with_error(row["pooled"], row["pooled_error"])]


def signed(value: float, error: float, digits: int = 3) -> str:
    """A difference and its standard error, to read."""
    return ("+" if value >= 0 else "") + with_error(value, error, digits)


def cell_text(value: Any) -> str:
    """A value of a table, to read."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _there(value: Any) -> bool:
    return not (value is None or value is pd.NA or value != value)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame."""
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]
