"""Speculative decoding of images, 2024 to 2026: one table of all methods, exact on small processes and measured.

    python -m experiments.measurements.image_methods COMPARISON COSTS PARTLY BESIDE DENOISING OUT PAGE

writes ``OUT`` from exact laws, from what ``simlab compare`` and :mod:`experiments.models.partly_verified` have
measured of the trained pair, and from what its calls cost, as ``simlab model device --map`` writes it; and the tables
of the page, in Markdown, from that. No token is drawn. ``--steps`` names folders of ``simlab compare``, one for each
number of drafts a call: ``BESIDE``, the calls of each image by ``sjd-ac`` and by blocks, is written from them first.
``--timed`` is a comparison of fewer images on an idle machine: its times are put in the place of those of COMPARISON.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction as F
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, get_args

import numpy as np
import typer

from experiments.options import option, run_module
from experiments.results import write_json, write_text
from experiments.terminal import UsageError
from simlab.decoders import (
    Block,
    Decoder,
    Sjd,
    Sjd2,
    SjdAc,
    SjdBlock,
    SjdBlockTree,
    SjdPac,
    SjdPp,
    SjdPv,
    SjdVp,
    SpeculativeDecoder,
)
from simlab.decoders.initial import Initial
from simlab.decoders.local import Local
from simlab.decoders.phrase import Phrase
from simlab.rules import Grouped, Lantern, Mixture, Rule, SamplerMatch, Speculative
from simlab.statistics import estimate
from theory.claims.hierarchical.hierarchical import THIRDS, accepted, off, same_rows
from theory.claims.images.diffusions import accepted_steps
from theory.claims.images.engines import rounding
from theory.claims.images.jacobi import BEFORE, NOW, reused, rising
from theory.claims.images.relaxed import LEAVES, local_tv, pooled
from theory.claims.lossy.truncation import PAIR
from theory.continuous.quadrature import normal_pdf, panels
from theory.continuous.rejection_cost import emitted_mass
from theory.distances import aligned, tv
from theory.exact import acceptance, mean, sequence_law, step_law, target_law
from theory.example_processes import random_process, sticky_process

TEXTS = Path(__file__).with_suffix(".toml")
BATCHES = 1, 16
TOLD = 4  # errors: chance makes so much of none of 15 differences but in one method of a thousand
ROUNDED_AT = 0.7  # the temperature of drafts in bfloat16
LOSSLESS = Speculative()
P, Q = PAIR
HALF = F(1, 2)
NEAR: list[list[int]] = [[1, 2], [2, 0], [1, 0]]
CHAIN = "chain"
WORLDS = {  # of which the first has five tokens that stay with 4/5
    CHAIN: sticky_process(F(4, 5), 2, 5),
    "grid, random": random_process(3, 2, 6, (2, 3), 0.0),
}


# Exact numbers ----------------------------------------------------------------------------------------------------


def three(value: Any) -> str:
    return f"{float(value):.3f}"


@cache
def laws(decoder: Decoder, world: str = CHAIN) -> tuple[Mapping[Any, Any], Mapping[int, Any]]:
    """Of finished sequences and of steps, enumerated once for all numbers that are of them."""
    return sequence_law(decoder, WORLDS[world], LOSSLESS)


def chain_numbers(decoder: Decoder) -> tuple[F, F]:
    """Tokens a call on the chain, and the TV of sequences."""
    (law, steps), chain = laws(decoder), WORLDS[CHAIN]
    return F(chain.length / mean(steps)), F(tv(*aligned(law, target_law(chain))))


def on_chain(decoder: Decoder) -> str:
    tokens, apart = chain_numbers(decoder)
    return f"{three(tokens)} on the chain, TV {three(apart) if apart else 0}"


def on_pair(rule: Rule, q: Any = Q) -> str:
    return f"{three(acceptance(rule, P, q))} on the pair, TV {three(tv(step_law(rule, P, q), P))}"


def of_two(decoder: Decoder) -> str:
    case = same_rows(*THIRDS, 2)
    return f"{three(accepted(decoder, case))} of two, TV {three(off(decoder, case))}"


def cascade() -> str:
    law, accepts = pooled(P, (2, 1), {2: (2, 1), 1: (1, 2)})
    return f"{three(accepts)} on the pair with two candidates, TV {three(tv(law, P))}"


def predicted_row() -> str:
    drawn = rising(NOW, BEFORE)
    return f"TV {three(tv(step_law(LOSSLESS, NOW, NOW, drawn=drawn), NOW))} for rows (1/2, 1/2), then twice (1/4, 3/4)"


EXACT: dict[str, Callable[[], str]] = {  # of a method, its numbers on small processes
    "block verification in a window, coupled": lambda: on_chain(SjdBlock(4)),
    "block verification in a window, coupled, with siblings": lambda: (
        f"{on_chain(SjdBlockTree(3, candidates=2))}, with three drafts and a sibling"
    ),
    "SJD-PAC": lambda: f"{on_chain(SjdPac(3, candidates=2, depth=1))}, with three drafts and a sibling",
    "SCD, maximal or Gumbel; adaptive continuation": lambda: on_chain(Sjd(4, renewal="maximal")),
    "SCD, published rows": lambda: on_chain(Sjd(4, renewal="maximal-reference")),
    "SJD": lambda: on_chain(Sjd(4)),
    "SJD++, mended": lambda: on_chain(SjdPp(4)),
    "SJD++, the newest row declared": lambda: on_chain(SjdPp(4, declared="newest")),
    "SJD-VP, its row declared": lambda: on_chain(SjdVp(4, strength=HALF)),
    "SJD-VP, the newest row declared": lambda: (
        f"{on_chain(SjdVp(4, strength=HALF, declared='newest'))}; {predicted_row()}"
    ),
    "SJD-PV, a rejected phrase discarded": lambda: f"{on_chain(SjdPv(4))}; {of_two(Phrase(2))}",
    "SJD-PV, a rejected phrase shortened as in SJD-SV": lambda: (
        f"{on_chain(SjdPv(4, failing='shorten'))}; {of_two(Phrase(2, failing='shorten'))}"
    ),
    "SJD2, no noise accepted": lambda: on_chain(Sjd2(4)),
    "SJD2, noise accepted": lambda: on_chain(Sjd2(4, criterion="noisy")),
    "GSD": lambda: f"{on_pair(Grouped((0, 1, 0)))}, first and third grouped",
    "LANTERN": lambda: f"{on_pair(Lantern(NEAR, F(2, 5)))} at delta 2/5, all tokens near",
    "speculative decoding": lambda: of_two(SpeculativeDecoder(2)),
    "block verification": lambda: of_two(Block(2)),
    "sampler match (llama.cpp, mlx-lm)": lambda: on_pair(SamplerMatch()),
    "VVS, a skipped token": lambda: (
        f"{on_pair(Mixture(0), LEAVES)}; drawn from the draft, as `skipping` does, {on_pair(Mixture(0))}"
    ),
    "MuLo-SD, locality alone": lambda: (
        f"TV {three(local_tv(Local(3, reach=1), 3))} with one neighbour redrawn, still above {three(F(3, 40))} with "
        "more, unless all are redrawn"
    ),
    "CASCADE, given sets": cascade,
    "speculative sampling of diffusions": lambda: f"{three(accepted_steps(1.0, 1.0)[0])} of two",
    "block verification of diffusions": lambda: f"{three(accepted_steps(1.0, 1.0)[1])} of two",
    "drafts of another row than declared": lambda: (
        f"TV {three(rounding(2, 20, ROUNDED_AT))} a row of 16,384 tokens in bfloat16 at temperature {ROUNDED_AT}, "
        "logits around 20"
    ),
}


# The figure: acceptance gained against TV spent -------------------------------------------------------------------


def points() -> list[dict[str, Any]]:
    """Of every lossy method that has one draft or a window: what it gains and what it spends.

    ``draft``: of one draft, acceptance beyond the most that is lossless, and TV. ``chain``: tokens a call, and TV.
    """
    newest, predicted = reused(NOW, BEFORE, HALF), rising(NOW, BEFORE)
    law, accepts = pooled(P, (2, 1), {2: (2, 1), 1: (1, 2)})
    case = same_rows(*THIRDS, 2)
    block = accepted(Block(2), case)
    drafts = {
        "GSD": by_rule(Grouped((0, 1, 0))),
        "LANTERN": by_rule(Lantern(NEAR, F(2, 5))),
        # all is accepted where the row is the same again
        "SJD++, the newest row declared": (tv(newest, NOW), tv(newest, NOW)),
        "SJD-VP, the newest row declared": (tv(predicted, NOW), tv(predicted, NOW)),
        "SCD, published rows": (scd_accepts() - 1, F(1, 8)),
        "SJD-PV, a rejected phrase discarded": ((accepted(Phrase(2), case) - block) / 2, off(Phrase(2), case)),
        "SJD-PV, a rejected phrase shortened as in SJD-SV": (
            (accepted(Phrase(2, failing="shorten"), case) - block) / 2,
            off(Phrase(2, failing="shorten"), case),
        ),
        "MuLo-SD, locality alone": (F(1, 12), local_tv(Local(3, reach=1), 3)),  # with 1/4 one of three drafts stays
        "VVS, a skipped token": (tv(P, LEAVES), tv(P, LEAVES)),  # a draft from u is always accepted
        "CASCADE, given sets": (accepts - P[1] - P[2], tv(law, P)),
        "CSpD, Algorithm 1": by_variances(2),
        "drafts of another row than declared": by_another_row((Q[0], Q[1] * F(5, 6), Q[2] + Q[1] / 6)),
    }
    chains: dict[str, Decoder] = {
        "SJD": Sjd(4),
        "SCD, maximal or Gumbel; adaptive continuation": Sjd(4, renewal="maximal"),
        "block verification in a window, coupled": SjdBlock(4),
        "SCD, published rows": Sjd(4, renewal="maximal-reference"),
        "SJD++, the newest row declared": SjdPp(4, declared="newest"),
        "SJD-VP, the newest row declared": SjdVp(4, strength=HALF, declared="newest"),
        "SJD-PV, a rejected phrase discarded": SjdPv(4),
        "SJD-PV, a rejected phrase shortened as in SJD-SV": SjdPv(4, failing="shorten"),
        "SJD2, no noise accepted": Sjd2(4),
        "SJD2, noise accepted": Sjd2(4, criterion="noisy"),
    }
    found = [
        {"of": "draft", "method": name, "tv": float(spent), "gained": float(gained)}
        for name, (gained, spent) in drafts.items()
    ]
    for name, decoder in chains.items():
        tokens, apart = chain_numbers(decoder)
        found.append({"of": "chain", "method": name, "tv": float(apart), "gained": float(tokens)})
    return found


def by_rule(rule: Rule) -> tuple[F, F]:
    """What a rule gains and spends on the pair."""
    return acceptance(rule, P, Q) - 1 + tv(P, Q), tv(step_law(rule, P, Q), P)


def by_another_row(r: Any) -> tuple[F, F]:
    """The same of the lossless rule for drafts from r that are declared as q."""
    return acceptance(LOSSLESS, P, Q, drawn=r) - 1 + tv(P, r), tv(step_law(LOSSLESS, P, Q, drawn=r), P)


def by_variances(product: float) -> tuple[float, float]:
    """The same of Algorithm 1 of CSpD where last steps are N(1, 1) and N(0, 1), by quadrature, to four digits."""
    x, width = panels(np.linspace(-9, 10, 401))
    p, q = normal_pdf(x, 1.0) * width, normal_pdf(x) * width
    found = emitted_mass(p, q, np.log(product * p / q))
    return round(found.acceptance - float(np.minimum(q, p).sum()), 4), round(float(tv(found.mass, p)), 4)


def scd_accepts() -> F:
    """How often SCD's published rows accept a draft at its second visit, with one row twice behind a uniform one."""
    kept = [min(p, q) for p, q in zip(NOW, BEFORE, strict=True)]
    again = sum((mass * min(F(1), p / q) for mass, p, q in zip(kept, NOW, BEFORE, strict=True)), F(0))
    return again + 1 - sum(kept)  # what was redrawn is declared as it is


# Combinations -----------------------------------------------------------------------------------------------------

BESIDE = "sjd-ac", "sjd-block", "sjd-block-tree"  # compared image by image
COMBINED: dict[str, Callable[[Initial], Decoder]] = {  # of four drafts a call
    "SJD": lambda initial: Sjd(4, initial),
    "`sjd-ac`": lambda initial: SjdAc(4, initial),
    "`sjd-pp`, kept": lambda initial: SjdPp(4, initial, tau=0),
    "block, fresh": lambda initial: SjdBlock(4, initial, renewal="fresh"),
    "`sjd-block`": lambda initial: SjdBlock(4, initial),
    "block, kept": lambda initial: SjdBlock(4, initial, renewal="kept"),
    "`sjd-block-tree`": lambda initial: SjdBlockTree(3, initial, candidates=2),
    "`sjd-pac`": lambda initial: SjdPac(3, initial, candidates=2, depth=1),
}


def combinations() -> list[dict[str, Any]]:
    """Exact tokens a call of lossless combinations, on a chain and on a grid of two rows."""
    found = []
    for name, process in WORLDS.items():
        for initial in get_args(Initial):
            if process.shape[0] > 1 or "above" not in initial:
                steps = [laws(make(initial), name)[1] for make in COMBINED.values()]
                tokens = [float(process.length / mean(each)) for each in steps]
                found.append({"process": name, "initial": initial, "tokens": tokens})
    return found


# The document and the page ----------------------------------------------------------------------------------------


def document(compared: dict[str, Any], costs: dict[str, Any], partly: dict[str, Any]) -> dict[str, Any]:
    """What is written: a row of the table for each method, and the points of the figure."""
    measured = {row["method"]: of_pair(row, costs) for row in compared["methods"]} | beside_comparison(partly)
    rows = [
        {name: row.get(name, "") for name in WORDS}
        | {"exact": EXACT.get(row["method"], str)(), "measured": measured.get(row.get("compared"))}
        for row in tomllib.loads(TEXTS.read_text("utf-8"))["method"]
    ]
    rows.sort(key=lambda row: -((row["measured"] or {}).get("tokens") or 0))
    filled = [cells(row) for row in rows]
    columns = [k for k in range(len(HEAD)) if any(line[k] for line in filled)]
    rows = [row | {"cells": [line[k] for k in columns]} for row, line in zip(rows, filled, strict=True)]
    return {
        "n": compared["n"],
        "device": compared["device"],
        "versions": compared["versions"],
        "columns": [HEAD[k] for k in columns],
        "rows": rows,
        "points": points(),
        "combinations": combinations(),
    }


def with_times(compared: dict[str, Any], timed: dict[str, Any]) -> dict[str, Any]:
    """A comparison with the times of another one of the same methods, and with what machine those are of."""
    timing = {row["method"]: row["timing"] for row in timed["methods"]}
    methods = [row | {"timing": timing[row["method"]]} for row in compared["methods"]]
    return compared | {
        "methods": methods,
        "timed": {name: timed[name] for name in ("n", "machine", "clock", "threads")},
    }


def of_pair(own: dict[str, Any], costs: dict[str, Any]) -> dict[str, Any]:
    """Tokens a call and their error, speedups predicted and timed, and the TV of tokens at least."""
    from experiments.models.choice import predict  # loads torch
    from experiments.models.compression import Candidate, Compression
    from experiments.models.curve import curve_of

    drafts, tokens = own["nodes"] if own["drafter"] else 0, own["compression"]["pooled"]
    step = Compression(Candidate(own["method"], {}), own["drafter"], own["rows"], drafts, tokens, 0)
    return {
        "tokens": own["compression"]["mean"],
        "error": own["compression"]["error"],
        "rows": own["rows"],
        "speedup": {str(batch): predict(step, curve_of(costs), batch).speedup for batch in BATCHES},
        "timed": {str(each["batch"]): [each["speedup"], each["speedup_error"]] for each in own["timing"]},
        "tv": ranks(own["ranks"]),
        "distortion": own["distortion"] and {name: own["distortion"][name] for name in ("tv", "tv_error")},
    }


def ranks(found: dict[str, Any]) -> dict[str, Any]:
    """What ranks show of the TV of tokens, and whether that is more than chance makes of a lossless method."""
    return found | {"told": found["at_least"] > TOLD * found["error"]}


def beside_comparison(partly: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The same of what no comparison runs: a token and its neighbours drawn again, and drafts of rounded rows."""
    near = partly["neighbourhoods"][-1]
    rounded = next(each for each in partly["rounded"] if each["temperature"] == ROUNDED_AT)
    drawn = {name: near[name] for name in ("tokens", "error", "rows")}
    nothing: dict[str, Any] = {"speedup": {}, "timed": {}}
    return {
        "neighbourhoods": drawn | nothing | {"tv": ranks(near["ranks"]), "distortion": None},
        "rounded": nothing | {"tokens": None, "distortion": {name: rounded[name] for name in ("tv", "tv_error")}},
    }


WORDS = "method", "here", "lossless", "follows", "training", "read", "departs", "entry", "sentence"
HEAD = (
    "method", "here", "follows the target", "exact, small", "tokens a call", "speedup of a CPU, 1 and 16 images",
    "timed, 1 and 16 images", "TV of a token", "training", "read", "code departs", "entry",
)  # fmt: skip


def cells(row: dict[str, Any]) -> list[str]:
    """A line of the table."""
    own = row["measured"] or {}
    tokens = f"{own['tokens']:.2f} ± {own['error']:.2f}" if own.get("tokens") else ""
    predicted = " and ".join(f"{value:.2f}" for value in own.get("speedup", {}).values())
    timed = " and ".join(f"{value:.2f} ± {error:.2f}" for value, error in own.get("timed", {}).values())
    far = "0" if row["lossless"] and own else spent(own) if own else ""
    return [
        row["method"], row["here"], row["follows"], row["exact"], tokens, predicted, timed, far, row["training"],
        row["read"], row["departs"], row["entry"],
    ]  # fmt: skip


def spent(own: dict[str, Any]) -> str:
    """The TV of a token: exact in the contexts of a run where it is, else what ranks show of it, if anything."""
    if own["distortion"]:
        return f"{own['distortion']['tv']:.3f} ± {own['distortion']['tv_error']:.3f}"
    if not own["tv"]["told"]:
        return "not told from 0"
    return f"at least {own['tv']['at_least']:.3f} ± {own['tv']['error']:.3f}"


def table(found: dict[str, Any]) -> str:
    """The table as Markdown; a column that no method fills is left out."""
    return _markdown([found["columns"], *(row["cells"] for row in found["rows"])])


def sentences(rows: list[dict[str, Any]]) -> str:
    """What to take home, as Markdown."""
    return _markdown([["method", "one sentence"], *([row["method"], row["sentence"]] for row in rows)])


def _markdown(lines: list[list[str]]) -> str:
    head, *rows = ("| " + " | ".join(line) + " |" for line in lines)
    return "\n".join([head, "|" + "---|" * len(lines[0]), *rows]) + "\n"


def combined(rows: list[dict[str, Any]]) -> str:
    """What combinations give, as Markdown."""
    head = ["process", "first drafts", *COMBINED]
    return _markdown([head, *([row["process"], row["initial"], *map(three, row["tokens"])] for row in rows)])


def steps_of(folders: Sequence[Path]) -> dict[str, Any]:
    """Calls of the target for each image, by drafts a call and method, as comparisons have kept them."""
    found: dict[str, Any] = {"methods": list(BESIDE), "steps": {}}
    for folder in folders:
        compared = json.loads((folder / "compare.json").read_text("utf-8"))
        with np.load(folder / "compare.npz") as kept:
            by_method = dict(zip(kept["method"].tolist(), kept["steps"].tolist(), strict=True))
        found["steps"][str(compared["drafts"])] = {name: by_method[name] for name in BESIDE}
        found["tokens"] = compared["shape"][0] * compared["shape"][1]
    return found


def beside(found: dict[str, Any]) -> str:
    """Methods on the same images with the same random numbers, as Markdown, and what each has beyond the one before;
    ``steps`` of each image by its name."""
    names = found["methods"]
    lines = [
        ["drafts a call", "images", *(f"`{name}`" for name in names), *(f"beyond `{name}`" for name in names[:-1])]
    ]
    for drafts, steps in found["steps"].items():
        tokens = [found["tokens"] / np.array(steps[name]) for name in names]
        numbers = [estimate(each) for each in (*tokens, *(after - before for before, after in pairwise(tokens)))]
        lines.append([drafts, str(len(tokens[0])), *(f"{each.mean:.2f} ± {each.error:.2f}" for each in numbers)])
    return _markdown(lines)


def denoised(found: dict[str, Any]) -> str:
    """Calls of the head for the denoising steps of a token, as Markdown."""
    each = {(row["gamma"], row["draft"], row["verified"]): row for row in found["rows"]}
    lines = [["drafts a call", "draft", "step by step", "accepted", "as a block", "accepted"]]
    for gamma, draft in dict.fromkeys((gamma, draft) for gamma, draft, _ in each):
        both = [each[gamma, draft, verified] for verified in ("step by step", "as a block")]
        told = [f"{row['calls']:.2f} ± {row['error']:.2f}|{row['acceptance']:.3f}" for row in both]
        lines.append([str(gamma), draft, *(cell for text in told for cell in text.split("|"))])
    return _markdown(lines)


def with_tables(page: str, *tables: str) -> str:
    """The page with its tables, in turn, replaced."""
    place = 0
    for new in tables:
        start = page.index("\n|", place) + 1
        page = page[:start] + new + page[page.index("\n\n", start) + 1 :]
        place = start + len(new)
    return page


def image_methods_command(
    comparison: Path,
    costs: Path,
    partly: Path,
    beside_file: Annotated[Path, typer.Argument(metavar="BESIDE")],
    denoising: Path,
    out: Path,
    page: Path,
    steps: Annotated[list[Path] | None, option("a comparison for BESIDE (repeatable)", "FOLDER", "--steps")] = None,
    timed: Annotated[Path | None, option("the one whose times count", "COMPARISON", "--timed")] = None,
) -> int:
    """Write OUT, and the tables of PAGE from it."""
    compared, own_costs, in_part, denoised_steps = (
        json.loads(path.read_text("utf-8")) for path in (comparison, costs, partly, denoising)
    )
    both = steps_of(steps) if steps else json.loads(beside_file.read_text("utf-8"))
    if timed:
        times = json.loads(timed.read_text("utf-8"))
        if missing := {row["method"] for row in compared["methods"]} - {row["method"] for row in times["methods"]}:
            raise UsageError(f"--timed: has no {', '.join(sorted(missing))}; expected every method of COMPARISON")
        compared = with_times(compared, times)
        write_json(comparison, compared)
    if steps:
        write_json(beside_file, both)
    found = document(compared, own_costs["costs"], in_part)
    write_json(out, found)
    tables = (
        table(found),
        sentences(found["rows"]),
        combined(found["combinations"]),
        beside(both),
        denoised(denoised_steps),
    )
    write_text(page, with_tables(page.read_text("utf-8"), *tables))
    return 0


if __name__ == "__main__":
    sys.exit(run_module(image_methods_command))
