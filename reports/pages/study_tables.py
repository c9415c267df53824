"""Tables on the pages of studies, each a pure function of the table of a sweep and of the printed numbers."""

from __future__ import annotations

from typing import Any

import pandas as pd

from reports.data.averages import KINDS, SAMPLES, averages, gains, need, rows_of
from reports.figures import lossy_rules, sjd_pac
from reports.figures.plot_style import LOSSLESS
from reports.pages.elements import Table
from reports.site.html import number, with_error
from theory.published.ledger import Ledger

BOTH = "mean: of each sequence's tokens/calls; pooled: all tokens over all calls; ± one standard error"
PAIRED = "differences are taken image by image"
SPENT = {"TV": "distortion_tv", "W1": "distortion_w1"}


def settings(table: pd.DataFrame) -> Table:
    """Every configuration of a sweep, whatever it is: what varies, and tokens a call both ways."""
    varying = varied(table)
    found = averages(table, [*(f"{kind}.label" for kind in KINDS), *varying])
    rows = [
        {kind: str(row[f"{kind}.label"]) for kind in KINDS}
        | {"what varies": _varying(row, varying), "sequences": str(row["sequences"])}
        | _both(row, "tokens per call, mean")
        for row in records(found)
    ]
    return Table.of("All settings", rows, f"{BOTH}.", words=4)


def varied(table: pd.DataFrame) -> list[str]:
    """The parameters that are not the same in all rows that have them, but for those that number samples; and, of
    settings that would read the same without, those by which they differ, a name or a parameter that some have."""
    names = [name for name in table.columns if name.partition(".")[0] in KINDS and name not in SAMPLES]
    labels = [name for name in names if name.endswith(".label")]
    rest = [name for name in names if name not in labels]
    found = {name for name in rest if "." in name and table[name].nunique() > 1}
    alike = table[names].drop_duplicates().groupby([*labels, *(name for name in rest if name in found)], dropna=False)
    return [name for name in rest if name in found or (alike[name].nunique(dropna=False) > 1).any()]


def likelihoods(table: pd.DataFrame, ledger: Ledger) -> Table:
    """SJD, Table 11: how likely the tokens are under the target."""
    need(table, "loglik_mean", "loglik_std", "decoder.label")
    found = averages(table, ["decoder.label"], ["loglik_mean", "loglik_std"])
    rows = [
        {
            "": f"simulated, {row['decoder.label']}",
            "mean": with_error(row["loglik_mean"], row["loglik_mean_error"]),
            "standard deviation": with_error(row["loglik_std"], row["loglik_std_error"]),
        }
        for row in records(found)
    ]
    for method in ("ar", "sjd"):
        row = ledger.one(paper="sjd", table="11", method=method)
        rows.append({"": f"printed: Lumina-mGPT, {method}", "mean": row.printed, "standard deviation": str(row.std)})
    return Table.of(
        "Log probability of a token, nats",
        rows,
        "± one standard error, between images. Mean and spread were fixed beforehand, by the entropy and the "
        "heterogeneity of the process, from what SJD prints in Table 11.",
    )


def ablation(table: pd.DataFrame, ledger: Ledger) -> Table:
    """SJD-PAC, Table 2, printed beside simulated."""
    rows = [
        {
            "decoder": f"{sjd_pac.NAMES[row['decoder']]}, L = {row['size']}",
            "the simulated value is": str(row["status"]),
            "printed": number(row["printed"], 2),
            **_both(row),
            "over SJD, L = 32": signed(row["gain"], row["gain_error"]) if row["gain"] else "",
        }
        for row in records(sjd_pac.ablation_numbers(table, ledger))
    ]
    return Table.of("The numbers", rows, f"{BOTH}; {PAIRED}.", words=2)


def tree(table: pd.DataFrame, ledger: Ledger) -> Table:
    """SJD-PAC, Table 3, printed beside simulated."""
    found = sjd_pac.tree_numbers(table, ledger)
    best = float(found.loc[found["status"] == "fitted", "printed"].iloc[0])
    rows = [
        {
            "tree": f"K = {row['K']}, D = {row['D']}",
            "the simulated value is": str(row["status"]),
            "printed": number(row["printed"], 2),
            **_both(row),
            "printed, over 4, 3": "" if row["status"] == "fitted" else f"{row['printed'] - best:+.2f}",
            "simulated, over 4, 3": "" if row["status"] == "fitted" else signed(row["gain"], row["gain_error"]),
        }
        for row in records(found)
    ]
    return Table.of("The numbers", rows, f"{BOTH}; {PAIRED}.", words=2)


def readings(table: pd.DataFrame, ledger: Ledger) -> Table:
    """The readings of SJD-PAC."""
    rows = [
        {
            "reading": str(row["decoder.label"]),
            "chain": str(row["decoder.window"]),
            "K": str(row["decoder.candidates"]),
            "D": str(row["decoder.depth"]),
            **_both(row),
            "over the first": signed(row["gain"], row["gain_error"]) if row["gain"] else "",
        }
        for row in records(sjd_pac.readings_numbers(table))
    ]
    return Table.of("The numbers", rows, f"{BOTH}; {PAIRED}.")


def trades(table: pd.DataFrame, ledger: Ledger) -> Table:
    """What rules gain over the lossless one and what they cost, for each process and decoder."""
    several = varied(table)
    varying = [name for name in several if name.startswith("rule.")]
    above = [name for name in several if name.partition(".")[0] != "rule"]
    rows: list[dict[str, str]] = []
    for setting, part in table.groupby(["process.label", "decoder.label", *above], sort=False, dropna=False):
        where = dict(zip(("process.label", "decoder.label", *above), setting, strict=True))
        own = [name for name in varying if part[name].notna().any()]
        keys = ["rule", "rule.label", *own]
        found = lossy_rules.traded(part, keys)
        need(part, "distortion_exact")
        bound = "" if part["distortion_exact"].all() else "≤ "
        faster = gains(part, keys, rows_of(part, "the lossless rule", rule=LOSSLESS))
        for row, gain in zip(records(found), records(faster), strict=True):
            lossless = row["rule"] == LOSSLESS
            spent = {name: with_error(row[cost], row[f"{cost}_error"]) for name, cost in SPENT.items()}
            rows.append(
                {kind: _of_kind(where, kind, above) for kind in ("process", "decoder")}
                | {"rule": f"{row['rule.label']} {_varying(row, own)}".strip()}
                | _both(row)
                | {"gained": "" if lossless else signed(gain["gain"], gain["gain_error"])}
                | {"acceptance": f"{row['acceptance']:.3f}", "lossless there": f"{row['acceptance_lossless']:.3f}"}
                | {name: text if lossless else bound + text for name, text in spent.items()}
            )
    same = [name for name in ("process", "decoder") if len({row[name] for row in rows}) == 1]
    rows = [{name: cell for name, cell in row.items() if name not in same} for row in rows]
    note = (
        f"{BOTH}. gained: tokens per call over the lossless rule; {PAIRED}. lossless there: what the lossless rule "
        "would accept of the same drafts. TV and Wasserstein-1 (W1, over the codebook): of the law of a committed "
        "token from the target's row; ≤: an upper bound, where there are several candidates."
    )
    return Table.of("The numbers", rows, note, words=3 - len(same))


def _both(row: dict[str, Any], mean: str = "mean") -> dict[str, str]:
    return {mean: with_error(row["mean"], row["error"]), "pooled": with_error(row["pooled"], row["pooled_error"])}


def _of_kind(row: dict[str, Any], kind: str, names: list[str]) -> str:
    """The label of a process or a decoder, and those of its parameters that have these names."""
    own = [name for name in names if name.partition(".")[0] == kind]
    return f"{row[f'{kind}.label']} {_varying(row, own)}".strip()


def _varying(row: dict[str, Any], names: list[str]) -> str:
    """The parameters of a row that it has, of those with these names."""
    return ", ".join(
        f"{name.partition('.')[2] or 'name'} = {cell_text(row[name])}" for name in names if pd.notna(row[name])
    )


def signed(value: float, error: float) -> str:
    """A difference and its standard error, to read."""
    return ("+" if value >= 0 else "") + with_error(value, error)


def cell_text(value: Any) -> str:
    """A value of a table, to read; a dash where there is none."""
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame."""
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]
