"""Of the report: tables and figures of what ``simlab verify`` measured on real and on exact models."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reports.data.files import read_table
from reports.data.measured import read_measured
from reports.data.triangle import cut
from reports.figures import acceptance_maps, cells, digits, small_processes
from reports.figures.plot_style import LOSSLESS, use_style
from reports.site.gallery import Draw
from simlab.rules import make_rule

COMPARED = ("speculative", "sjd, repeat-above")
MADE_BY = "simlab verify"
MAPPED = {"dynamic-grouped": "dynamic, centred", "grouped-group-residual": "grouped, group residual"}  # rules, on maps
UNMAPPED = "gsd-reference", "lantern-greedy"  # at one setting, and not of a family that is there


def measured(out: Path, draw: Draw) -> dict[str, Any]:
    """Tables and figures of the measurements."""
    use_style()
    table: Callable[[str], pd.DataFrame] = lambda name: read_table(out / f"{name}.parquet", MADE_BY)  # noqa: E731
    pairs, bound, codebook = table("digits"), table("digits-frontier"), table("codebook-map")
    mapped = bound["decoder"].iloc[0]  # the decoder whose contexts the frontier was computed on
    points = table("digits-map").query("decoder == @mapped")
    with np.load(out / "digits-samples.npz", allow_pickle=False) as archive:
        samples = {name: archive[name] for name in archive.files}
    methods = {"held-out data": samples["data"]} | {
        name.replace(" | (none)", "").replace(" | ", " × "): grid
        for name, grid in samples.items()
        if name.endswith("(none)") or name == "speculative | speculative" or name.startswith(f"{mapped} |")
    }
    return {
        "quality": table("digits-quality").to_dict("records")[0],
        "decoders": [
            {"name": name, "rows": part.to_dict("records")} for name, part in pairs.groupby("decoder", sort=False)
        ],
        "mapped": mapped,
        "lossless": points["lossless"].iloc[0],
        "frontier": draw(
            "digits-map", acceptance_maps.digits_map(points, bound), "acceptance against distortion on digits"
        ),
        "rules": draw(
            "rules-map",
            acceptance_maps.rules_map({"rows over a codebook": codebook, "digits": points} | _recorded()),
            "acceptance of all rules against TV, KL and Wasserstein-1",
        ),
        "codebook": _codebook(codebook, table("codebook-frontier"), draw),
        "candidates": draw(
            "candidates",
            acceptance_maps.candidates_map(table("codebook-candidates")),
            "acceptance of several candidates",
        ),
        "cells": draw("cells", all_rows(), "cells of all rows over three tokens, and the law in each"),
        "steps": draw("steps", small_processes.steps(table("steps")), "exact step distributions"),
        "pac_steps": _pac_steps(table("pac-steps"), draw),
        "pac": _pac(table("digits-pac"), table("digits-lengths"), draw),
        "compounding": draw(
            "compounding", small_processes.compounding(table("compounding")), "TV of sequences against length"
        ),
        "digits_compounding": draw(
            "digits-compounding",
            digits.compounding(table("digits-compounding"), COMPARED),
            "distortion along a sequence of digits",
        ),
        "grid": draw("digits-samples", digits.grid(methods), "samples of each method"),
    }


def all_rows() -> Figure:
    """The cells of all target rows over three tokens, for a rule that is lossless in all and one that is not."""
    draft = Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)
    rules = {
        "Speculative sampling: the law is p in every cell": make_rule("speculative"),
        "Tokens 0 and 1 in one group: it is not p where hatched": make_rule("grouped", labels=[0, 0, 1]),
    }
    return cells.triangles([(title, cut(rule, draft)) for title, rule in rules.items()], draft)


def _recorded() -> dict[str, pd.DataFrame]:
    """The contexts of a recorded run that comes along, by what they are."""
    replays = list(read_measured().replays.values())[:1]
    return {f"image models, {each['recording']['method']}": replayed_points(each) for each in replays}


def replayed_points(document: dict[str, Any]) -> pd.DataFrame:
    """The rules of a replay as the maps have them: ``rule, parameter, acceptance, lossless, tv, kl, wasserstein``.

    ``parameter`` counts the settings of a rule in their order, and is NaN for the lossless rule.
    """
    found = pd.DataFrame(document["rules"])
    found = found[~found["rule"].isin(UNMAPPED)]
    lossless = found["rule"] == LOSSLESS
    columns = ["acceptance", "tv", "kl", "wasserstein"]
    return (
        found[columns]
        .astype(float)
        .assign(
            rule=found["rule"].replace(MAPPED),
            parameter=found.groupby("rule").cumcount().where(~lossless),
            lossless=float(found.loc[lossless, "acceptance"].iloc[0]),
        )
    )


def _codebook(points: pd.DataFrame, frontier: pd.DataFrame, draw: Draw) -> dict[str, Any]:
    """The map over a codebook, and the table behind it with the least distance for each gain."""
    gained = points["acceptance"] - points["lossless"]
    rows = points.assign(gained=gained)
    return {
        "map": draw(
            "codebook-map",
            acceptance_maps.codebook_map(points, frontier),
            "acceptance against distortion over a codebook",
        ),
        "lossless": points["lossless"].iloc[0],
        "rows": rows.to_dict("records"),
    }


def _pac_steps(table: pd.DataFrame, draw: Draw) -> list[dict[str, Any]]:
    """The step distributions of each process, readings named beside their decoder."""
    named = table["decoder"].where(table["reading"] == "", table["decoder"] + ", " + table["reading"])
    table = table.assign(decoder=named)
    return [
        {"process": name, "figure": draw(f"pac-steps-{number}", small_processes.steps(part), f"steps of {name}")}
        for number, (name, part) in enumerate(table.groupby("world", sort=False), 1)
    ]


def _pac(runs: pd.DataFrame, lengths: pd.DataFrame, draw: Draw) -> dict[str, Any]:
    """SJD-PAC on digits: the figure of the first initialisation, and the table of all."""
    groups = [(str(name), part) for name, part in runs.groupby("initial", sort=False)]
    first = groups[0][0]
    return {
        "initial": first,
        "sequences": int(runs["sequences"].iloc[0]),
        "initials": [{"name": name, "rows": part.to_dict("records")} for name, part in groups],
        "figure": draw("digits-lengths", digits.lengths(lengths, runs, first), "tokens committed by a call"),
    }
