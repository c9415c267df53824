"""Of the report: tables and figures of what ``simlab verify`` measured on real and on exact models."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
    """Tables of the measurements; figures go to ``draw`` by their names."""
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
    steps = [(str(name), part) for name, part in _named(table("pac-steps")).groupby("world", sort=False)]
    runs, lengths = table("digits-pac"), table("digits-lengths")
    initials = [(str(name), part) for name, part in runs.groupby("initial", sort=False)]
    contexts = {"rows over a codebook": codebook, "digits": points} | _recorded()
    figures = {
        "digits-map": (acceptance_maps.digits_map(points, bound), "acceptance against distortion on digits"),
        "rules-map": (acceptance_maps.rules_map(contexts), "acceptance of all rules against TV, KL and Wasserstein-1"),
        "codebook-map": (
            acceptance_maps.codebook_map(codebook, table("codebook-frontier")),
            "acceptance against distortion over a codebook",
        ),
        "candidates": (
            acceptance_maps.candidates_map(table("codebook-candidates")),
            "acceptance of several candidates",
        ),
        "cells": (all_rows(), "cells of all rows over three tokens, and the law in each"),
        "steps": (small_processes.steps(table("steps")), "exact step distributions"),
        **{
            f"pac-steps-{k}": (small_processes.steps(part), f"steps of {name}")
            for k, (name, part) in enumerate(steps, 1)
        },
        "digits-lengths": (digits.lengths(lengths, runs, initials[0][0]), "tokens committed by a call"),
        "compounding": (small_processes.compounding(table("compounding")), "TV of sequences against length"),
        "digits-compounding": (
            digits.compounding(table("digits-compounding"), COMPARED),
            "distortion along a sequence of digits",
        ),
        "digits-samples": (digits.grid(methods), "samples of each method"),
    }
    for name, (figure, title) in figures.items():
        draw(name, figure, title)
    return {
        "quality": table("digits-quality").to_dict("records")[0],
        "decoders": _parts(pairs.groupby("decoder", sort=False)),
        "mapped": mapped,
        "lossless": points["lossless"].iloc[0],
        "codebook": {
            "lossless": codebook["lossless"].iloc[0],
            "rows": codebook.assign(gained=codebook["acceptance"] - codebook["lossless"]).to_dict("records"),
        },
        "pac_steps": [name for name, _ in steps],
        "pac": {"initials": _parts(initials), "sequences": int(runs["sequences"].iloc[0])},
    }


def _parts(groups: Iterable[tuple[Any, pd.DataFrame]]) -> list[dict[str, Any]]:
    """The parts of a table, each with its name and its rows."""
    return [{"name": name, "rows": part.to_dict("records")} for name, part in groups]


def _named(steps: pd.DataFrame) -> pd.DataFrame:
    """The step distributions, readings named beside their decoder."""
    return steps.assign(
        decoder=steps["decoder"].where(steps["reading"] == "", steps["decoder"] + ", " + steps["reading"])
    )


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
