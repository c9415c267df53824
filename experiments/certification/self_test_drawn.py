"""The part of ``simlab certify --self-test`` that is drawn: wrong implementations by design, and correct ones.

A wrong one is a fault behind a gate under a contract (:mod:`simlab.mutants.gated`), drawn by a seed from those whose
deviation is at least 0.02 in a shape of the bands; the battery does not know which. By itself, with a journal beside
its table, so that it goes on where it was stopped::

    python -m experiments.certification.self_test_drawn --count 60 --budget 20 --out out/selftest-drawn
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from scipy.stats import binomtest

from experiments.certification.self_test_rows import Row, Rows, Tell
from experiments.journal import Journal
from experiments.options import option, out_option, run_module, seed_option
from experiments.results import versions, write_json
from experiments.terminal import UsageError
from simlab.certify import certify
from simlab.certify.certificate import battery_of
from simlab.mutants.gated.base import Fault
from simlab.mutants.gated.contracts import CONTRACTS, implementation
from simlab.mutants.gated.correct import CORRECT
from simlab.mutants.gated.deviations import ENOUGH, deviation
from simlab.mutants.gated.gates import FAMILIES, GATES, Gate, drawn_shapes
from simlab.registry import meant

FOUND = ("lossy", "breaks")
TARGET = 0.99  # the share of wrong ones that has to be found, gates of a single shape apart
SHAPES = 4000  # of the bands: those of a region in which a gate is looked for
AXES = {"V": "V", "gamma": "gamma", "batch": "batch", "K": "gamma", "length": "gamma", "nodes": "gamma"}

UNTOLD: Row = {  # of what raised
    **{"verdict": "raised", "found": False, "by": "", "case": "", "calls": 0, "to_finding": None, "region": None},
}


class WrongOne(NamedTuple):
    """One that was drawn; the names of its pieces."""

    contract: str
    fault: str
    gate: str


# What is drawn -----------------------------------------------------------------------------------------------------


@cache
def drawn(number: int, seed: int, contracts: tuple[str, ...] = tuple(CONTRACTS)) -> WrongOne:
    """Wrong one ``number`` of a seed: of any contract, a family of gates, its parameters, and a fault."""
    rng = np.random.default_rng([seed, number])
    while True:
        contract = CONTRACTS[contracts[int(rng.integers(len(contracts)))]]
        family = FAMILIES[int(rng.integers(len(FAMILIES)))]
        gates = list(family.gates())
        gate = gates[int(rng.integers(len(gates)))]
        names = [name for name, fault in contract.faults.items() if contract.fits(fault, gate)]
        if names:
            one = WrongOne(contract.name, names[int(rng.integers(len(names)))], gate.name)
            if deviation(one.fault, gate, contract.name).tv >= ENOUGH:
                return one


# Rows --------------------------------------------------------------------------------------------------------------


def wrong_row(number: int, seed: int, budget: float, processes: int, contracts: tuple[str, ...]) -> Row:
    """What a certificate says of a wrong one."""
    one = drawn(number, seed, contracts)
    gate, off = GATES[one.gate], deviation(one.fault, GATES[one.gate], one.contract)
    told = _certified(implementation(one.fault, gate, one.contract), one.contract, budget, number, processes)
    return {
        **one._asdict(),
        "battery": battery_of(one.contract),
        "family": gate.family,
        "single": gate.single,
        "measure": gate.measure,
        "number": CONTRACTS[one.contract].faults[one.fault].number,
        "deviation": off.tv,
        "exact": off.exact,
        "shape": dict(off.shape),
        **told,
        "reached": _reached(told["region"], gate, CONTRACTS[one.contract].faults[one.fault]),
    }


def right_row(contract: str, name: str, run: int, seed: int, budget: float, processes: int) -> Row:
    """What a certificate says of a correct one."""
    told = _certified(CORRECT[contract][name], contract, budget, seed + run, processes)
    return {"contract": contract, "name": name, "run": run, **told}


def _certified(function: Callable[..., Any], contract: str, budget: float, seed: int, processes: int) -> Row:
    """What a certificate says; what the certifier itself raises ends no self-test."""
    start = time.perf_counter()
    try:
        found = certify(function, contract, budget=budget, seed=seed, processes=processes, explain=False)
    except Exception:
        return UNTOLD | {"seconds": time.perf_counter() - start, "summary": traceback.format_exc()}
    return {
        "verdict": found.verdict,
        "found": found.verdict in FOUND,
        "by": found.failure.kind if found.failure else "",
        "case": found.failure.case if found.failure else "",
        "calls": found.calls,
        "to_finding": found.seconds_to_finding,
        "seconds": time.perf_counter() - start,
        "summary": found.summary,
        "region": found.shapes.region if found.shapes else None,
    }


def _reached(region: Mapping[str, int] | None, gate: Gate, fault: Fault) -> float:
    """The part of shapes, of the region that a certificate names, in which the gate opens on the fault."""
    if region is None:
        return 0.0
    most = {AXES[name]: size for name, size in region.items()}
    shapes = drawn_shapes(SHAPES, 0, tuple(most))
    within = [shape for shape in shapes if all(shape[name] <= size for name, size in most.items())]
    inside = [gate.reachable(shape) and shape["V"] >= fault.least for shape in within]
    return float(np.mean(inside)) if inside else 0.0


# What is found -----------------------------------------------------------------------------------------------------


def wilson(found: int, count: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    if not count:
        return 0.0, 1.0
    low, high = binomtest(found, count).proportion_ci(0.95, method="wilson")
    return float(low), float(high)


def share_of(rows: Iterable[Row]) -> Row:
    """How many were found, and the interval of the share."""
    those = list(rows)
    found = sum(row["found"] for row in those)
    low, high = wilson(found, len(those))
    return {
        "count": len(those),
        "found": found,
        "share": found / len(those) if those else None,
        "low": low,
        "high": high,
    }


def shares_by(rows: Sequence[Row], name: str) -> dict[str, Row]:
    """The same for every value of a column, the worst first."""
    values = {value: share_of(row for row in rows if row[name] == value) for value in sorted({r[name] for r in rows})}
    return dict(sorted(values.items(), key=lambda one: (one[1]["share"], -one[1]["count"])))


def summary(wrong: Sequence[Row], right: Sequence[Row]) -> Row:
    """The table of a drawn self-test."""
    many = [row for row in wrong if not row["single"]]
    alarms = [row for row in right if row["found"] or row["verdict"] == "raised"]
    return {
        "all": share_of(many),
        "single": share_of(row for row in wrong if row["single"]),
        "by_fault": shares_by(many, "fault"),
        "by_gate": shares_by(many, "family"),
        "by_contract": shares_by(many, "contract"),
        "missed": [row for row in wrong if not row["found"]],
        "lossless_in_region": [row for row in wrong if row["verdict"] == "lossless" and row["reached"]],
        "right": {"runs": len(right), "alarms": len(alarms), "at_most": wilson(len(alarms), len(right))[1]},
        "false_alarms": alarms,
        "wrong": list(wrong),
    }


def passed(table: Row) -> bool:
    """Whether as many were found as have to be, and nothing correct was rejected."""
    share = table["all"]["share"]
    return not table["false_alarms"] and not table["lossless_in_region"] and (share is None or share >= TARGET)


def table_lines(table: Row) -> list[str]:
    """The table in lines."""
    lines = [f"{_share(table['all'])} wrong ones by design found"]
    if table["single"]["count"]:
        lines.append(f"{_share(table['single'])} with a gate of a single shape among many")
    for title in ("by_contract", "by_gate", "by_fault"):
        worse = {name: row for name, row in table[title].items() if row["found"] < row["count"]}
        lines += [f"  {title.replace('_', ' ')}: {_share(row)}  {name}" for name, row in worse.items()]
    for row in table["missed"]:
        where = ", ".join(f"{name} = {size}" for name, size in row["shape"].items())
        inside = f", in its region: {row['reached']:.0%} of shapes" if row["verdict"] == "lossless" else ""
        lines.append(
            f"  {row['verdict']}: {row['fault']} / {row['gate']} / {row['contract']}; TV {row['deviation']:.3f} "
            f"at {where}{inside}{' (a single shape)' if row['single'] else ''}"
        )
    right = table["right"]
    lines.append(
        f"{right['alarms']} false alarms in {right['runs']} runs of correct ones (at most {right['at_most']:.2g})"
    )
    lines += [
        f"  {row['verdict']}: {row['name']} / {row['contract']}: {row['summary']}" for row in table["false_alarms"]
    ]
    return lines


def _share(row: Row) -> str:
    return f"{row['found']} of {row['count']} ({row['low']:.1%} to {row['high']:.1%})"


# By itself ---------------------------------------------------------------------------------------------------------


def drawn_self_test(
    out: Path,
    numbers: Sequence[int],
    budget: float,
    seed: int = 0,
    runs: int = 1,
    processes: int = 1,
    contracts: tuple[str, ...] = tuple(CONTRACTS),
    tell: Tell = lambda name, done: None,
) -> Row:
    """Certify wrong ones by their numbers, and every correct one ``runs`` times, and save ``drawn.json``.

    Returns the table (:func:`summary`).

    Parameters
    ----------
    out
        The folder of ``drawn.json``, and of ``drawn.jsonl``, which has the rows so far.
    numbers, seed
        Which are drawn, and by which seed. The table is of these alone.
    budget
        Seconds of each certificate.
    runs
        How often each correct one is certified, with seeds of their own; 0 leaves them out.
    processes
        How many call a function at a time.
    contracts
        From which is drawn.
    tell
        Called before each certificate, with its name and how many rows there are.
    """
    asked = {"drawn self-test": 1, "seed": seed, "budget": budget, "contracts": list(contracts), "versions": versions()}
    rows = Rows(Journal(out / "drawn.jsonl", asked), tell)
    table = {"versions": versions()} | drawn_table(seed, numbers, budget, runs, budget, processes, contracts, rows)
    write_json(out / "drawn.json", table)
    return table


def drawn_table(
    seed: int,
    numbers: Sequence[int],
    budget: float,
    runs: int,
    run_budget: float,
    processes: int,
    contracts: tuple[str, ...],
    rows: Rows,
) -> Row:
    """The table of wrong ones by their numbers, and ``runs`` of each correct one; found once.

    Those whose gate is a single shape come last: they take the whole budget, mostly for nothing.
    """

    def find(number: int) -> Row:
        return rows.drawn(("wrong", number), partial(wrong_row, number, seed, budget, processes, contracts))

    def last(number: int) -> bool:
        return not rows.has_drawn(("wrong", number)) and GATES[drawn(number, seed, contracts).gate].single

    first = {number: find(number) for number in numbers if not last(number)}
    wrong = [first.get(number) or find(number) for number in numbers]
    right = [
        rows.drawn(("right", contract, name, run), partial(right_row, contract, name, run, seed, run_budget, processes))
        for run in range(runs)
        for contract in contracts
        for name in CORRECT[contract]
    ]
    return {"seed": seed, "budget": budget, "contracts": list(contracts)} | summary(wrong, right)


def _print_progress(name: str, done: int) -> None:
    print(f"{done:>5}  {name}")


def self_test_drawn_command(
    out: Annotated[Path, out_option()] = Path("out/selftest-drawn"),
    count: Annotated[int, option("wrong ones", "N", min=0)] = 24,
    runs: Annotated[int, option("runs of each correct one", "N", min=0)] = 0,
    budget: Annotated[float, option("seconds of each certificate", "S")] = 10.0,
    seed: Annotated[int, seed_option("of what is drawn")] = 0,
    processes: Annotated[int, option("that call a function", "N", min=0)] = 1,
    contract: Annotated[list[str] | None, option("repeatable (default: all)", "NAME")] = None,
    number: Annotated[list[int] | None, option("of a wrong one, in place of --count; repeatable", "N", min=0)] = None,
) -> int:
    """Wrong implementations by design, and correct ones, drawn by a seed; 0 if as many as have to be are found."""
    for name in contract or []:
        if name not in CONTRACTS:
            raise UsageError(f"--contract {name}: {meant(name, CONTRACTS)}expected one of {', '.join(CONTRACTS)}")
    contracts = tuple(contract or CONTRACTS)
    try:
        numbers = sorted(set(number or range(count)))
        table = drawn_self_test(out, numbers, budget, seed, runs, processes, contracts, _print_progress)
    except ValueError as error:
        raise UsageError(str(error)) from None
    print("\n".join(table_lines(table)))
    return 0 if passed(table) else 1


if __name__ == "__main__":
    sys.exit(run_module(self_test_drawn_command))
