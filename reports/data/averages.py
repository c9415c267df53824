"""Averages of a saved sweep: tokens a call, standard errors between images, paired differences.

Step compression is one of two ratios, and the papers do not say which: the mean over images of tokens/calls, or all
tokens over all calls, the *pooled* ratio, in which images that take many calls count for more. Both are given.

What is independent is the image. Where a process has one image only, as any without a parameter ``image`` or ``seed``
has, it is the sequence. Standard errors are between those. All decoders see the same images with the same
random numbers, so differences are taken image by image.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

KINDS = ("process", "decoder", "rule")
SAMPLES = ("process.image", "process.seed")  # parameters by which a process is one of many of its kind


class Unsuitable(ValueError):
    """A table that does not have what a figure shows; names what is missing."""


def need(table: pd.DataFrame, *columns: str) -> None:
    """Raise :class:`Unsuitable` unless the table has all ``columns``."""
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise Unsuitable(f"the table has no column {', '.join(missing)}")


def rows_of(table: pd.DataFrame, name: str, **values: object) -> pd.DataFrame:
    """The rows with these values, where ``__`` stands for a dot.

    Raises :class:`Unsuitable`, naming them by ``name``, where there are none.
    """
    chosen = pd.Series(True, index=table.index)
    for key, value in values.items():
        column = key.replace("__", ".")
        need(table, column)
        chosen &= table[column].isin(value if isinstance(value, list | tuple) else [value]).fillna(False).astype(bool)
    if not chosen.any():
        raise Unsuitable(f"the table has no rows of {name}")
    return table[chosen]


def parameter(table: pd.DataFrame, column: str) -> pd.Series:
    """The parameter ``column``, nothing where there is none."""
    return table[column] if column in table.columns else pd.Series(pd.NA, index=table.index, dtype="object")


def units(table: pd.DataFrame) -> pd.Series:
    """The name of the independent unit that each row belongs to: its image, or where its process has only one its
    sequence."""
    several = _several(table)
    found = table["seed"].astype(str) + "/" + table["replicate"].astype(str)
    if len(several.columns):
        images = table[list(several)].astype(str).where(several, "").agg("/".join, axis=1)
        found = images.where(several.any(axis=1), found)
    return found


def unit_name(table: pd.DataFrame) -> str:
    """What the independent units are."""
    return "images" if _several(table).to_numpy().any() else "sequences"


def _several(table: pd.DataFrame) -> pd.DataFrame:
    """Of each row and each parameter that numbers samples: whether its process has several of these."""
    names = [name for name in SAMPLES if name in table.columns and table[name].nunique() > 1]
    own = [name for name in table.columns if name.partition(".")[0] == "process" and name not in SAMPLES]
    process = table.groupby(own, dropna=False, sort=False).ngroup() if own else pd.Series(0, index=table.index)
    found = {name: (table[name].groupby(process).transform("nunique") > 1) & table[name].notna() for name in names}
    return pd.DataFrame(found, index=table.index)


def counted_units(table: pd.DataFrame) -> str:
    """How many independent units each setting has, in words."""
    settings = [name for name in table.columns if name.partition(".")[0] in KINDS and name not in SAMPLES]
    groups = table.assign(unit=units(table)).groupby(settings, dropna=False, sort=False)
    counts = sorted(set(groups["unit"].nunique()))
    each = sorted(set(groups.size() // groups["unit"].nunique()))
    text = f"{_span(counts)} {unit_name(table)} a setting"
    return text + (f", {_span(each)} sequences each" if unit_name(table) == "images" and each[-1] > 1 else "")


def _span(counts: list[int]) -> str:
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def averages(table: pd.DataFrame, keys: Sequence[str], values: Sequence[str] = ()) -> pd.DataFrame:
    """One row for each setting, a combination of ``keys``, in the order they come in.

    ``units``, ``sequences``; ``mean`` of tokens/calls and its standard ``error``; ``pooled`` and
    ``pooled_error``; and for each of ``values`` its mean under its own
    name and ``NAME_error``. Errors are NaN where there is one unit.
    """
    need(table, *keys, *values)
    per = _per_unit(table, keys, values)
    rows = []
    for setting, part in per.groupby(list(keys), sort=False, dropna=False):
        pooled, spread = ratio(part["tokens"].to_numpy(dtype=float), part["steps"].to_numpy(dtype=float))
        found: dict[str, Any] = {
            "units": len(part),
            "sequences": part["sequences"].sum(),
            "mean": part["compression"].mean(),
        }
        found |= {"error": part["compression"].sem(), "pooled": pooled, "pooled_error": spread}
        for value in values:
            found |= {value: part[value].mean(), f"{value}_error": part[value].sem()}
        rows.append(_setting(keys, setting) | found)
    return pd.DataFrame(rows)


def gains(table: pd.DataFrame, keys: Sequence[str], against: pd.DataFrame) -> pd.DataFrame:
    """``gain`` and ``gain_error`` of each setting over ``against``, the rows of one setting, image by image.

    Of the mean of tokens/calls. Raises :class:`Unsuitable` where the two were not simulated on the same images.
    """
    base = _per_unit(against, []).set_index("unit")["compression"]
    rows = []
    for setting, part in _per_unit(table, keys).groupby(list(keys), sort=False, dropna=False):
        own = part.set_index("unit")["compression"]
        if set(own.index) != set(base.index):
            raise Unsuitable("the settings to be compared are not of the same images")
        difference = own - base.loc[own.index]
        rows.append(_setting(keys, setting) | {"gain": difference.mean(), "gain_error": difference.sem()})
    return pd.DataFrame(rows)


def lengths(table: pd.DataFrame, keys: Sequence[str], bins: Sequence[int] | None = None) -> pd.DataFrame:
    """How many tokens calls commit, a row for each setting and count ``tokens`` from 1, or bin that begins there.

    ``share`` of the calls, and ``extra``, the share in the tokens beyond the first of each call, which is all that a
    speedup consists of (SJD-PAC, Fig. 1); with standard errors between units. ``bins`` are the least counts of each,
    rising from 1; without them every count is one.
    """
    need(table, "lengths", *keys)
    parts = []
    for setting, part in _settings(table, keys):
        calls = _counts(part)
        beyond = calls * np.arange(calls.shape[1])
        firsts = [first for first in bins or range(1, calls.shape[1] + 1) if first <= calls.shape[1]]
        calls, beyond = (np.add.reduceat(each, np.array(firsts) - 1, axis=1) for each in (calls, beyond))
        own = pd.DataFrame({"tokens": firsts})
        own["share"], own["share_error"] = _shares(calls)
        own["extra"], own["extra_error"] = _shares(beyond)
        parts.append(own.assign(**_setting(keys, setting)))
    return pd.concat(parts, ignore_index=True)


def profiles(table: pd.DataFrame, keys: Sequence[str], column: str, first: int) -> pd.DataFrame:
    """Means of lists, place by place: ``place`` from ``first`` on, ``value`` and ``error`` between units, NaN aside.

    A list that is shorter than others says nothing about the places it does not have.
    """
    need(table, column, *keys)
    parts = []
    for setting, part in _settings(table, keys):
        longest = max(map(len, part[column]))
        padded = [
            np.pad(np.asarray(v, dtype=float), (0, longest - len(v)), constant_values=np.nan) for v in part[column]
        ]
        per = pd.DataFrame(np.reshape(padded, (len(part), longest))).groupby(part["unit"].to_numpy()).mean()
        own = pd.DataFrame({"place": np.arange(first, first + longest), "value": per.mean(), "error": per.sem()})
        parts.append(own.assign(**_setting(keys, setting)))
    return pd.concat(parts, ignore_index=True)


def _counts(part: pd.DataFrame) -> np.ndarray:
    """``[units, tokens]``: how many calls of each unit committed 1, 2, 3, ... tokens."""
    longest = max(map(len, part["lengths"]))
    padded = [np.pad(np.asarray(each, dtype=float), (0, longest - len(each))) for each in part["lengths"]]
    return pd.DataFrame(np.stack(padded)).groupby(part["unit"].to_numpy()).sum().to_numpy()


def ratio(over: np.ndarray, under: np.ndarray) -> tuple[float, float]:
    """Sum over sum of pairs of numbers, one of each unit, or mean over mean; and its standard error, NaN of one pair.

    Cochran, Sampling Techniques, section 6.3.
    """
    found, n = over.sum() / under.sum(), len(over)
    return found, np.sqrt(((over - found * under) ** 2).sum() / (n - 1) / n) / under.mean() if n > 1 else np.nan


def _shares(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The share of each column in ``counts[units, columns]``, and its standard error; 0 where there is nothing."""
    total = counts.sum(axis=1)
    if total.sum() == 0:
        return np.zeros(counts.shape[1]), np.zeros(counts.shape[1])
    found = [ratio(column, total) for column in counts.T]
    return np.array([share for share, _ in found]), np.array([error for _, error in found])


def _per_unit(table: pd.DataFrame, keys: Sequence[str], values: Sequence[str] = ()) -> pd.DataFrame:
    """Means of the sequences of each setting and unit; ``tokens`` and ``steps`` are sums."""
    wanted = {"compression": "mean", "tokens": "sum", "steps": "sum", "replicate": "size"}
    wanted |= dict.fromkeys(values, "mean")
    parts = [part for _, part in _settings(table, keys)]
    grouped = pd.concat(parts).groupby([*keys, "unit"], sort=False, dropna=False)
    return grouped.agg(wanted).rename(columns={"replicate": "sequences"}).reset_index()


def _settings(table: pd.DataFrame, keys: Sequence[str]) -> Iterator[tuple[Any, pd.DataFrame]]:
    """The rows of each setting, with the ``unit`` of each.

    Raises :class:`Unsuitable` where one would mix what was not asked for: rows of several processes, decoders or rules.
    """
    named = table.assign(unit=units(table))
    for setting, part in named.groupby(list(keys), sort=False, dropna=False) if keys else [((), named)]:
        for name in (name for name in table.columns if name.partition(".")[0] in KINDS and name not in SAMPLES):
            mixed = part[name].astype(str).unique()
            if len(mixed) > 1:
                raise Unsuitable(f"the table has several of {name} where the figure has one: {', '.join(mixed)}")
        yield setting, part


def _setting(keys: Sequence[str], setting: Any) -> dict[str, Any]:
    return dict(zip(keys, setting if isinstance(setting, tuple) else (setting,), strict=True))
