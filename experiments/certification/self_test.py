"""``simlab certify --self-test``: run the certifier on every known bug, on drawn ones and on correct implementations.

A bug is certified as it is, and again with its chance hidden, so that nothing but sampling can find it; that at
budgets of 1, 10 and 60 seconds until it is found. Where its law is known, the power of the case that shows it best is
computed, and confirmed over many seeds. Correct implementations are run shortly, many times: none may be rejected.
Wrong ones by design are drawn, and certified as anybody's code is (:mod:`experiments.certification.self_test_drawn`).

selftest.jsonl  while it goes on, which takes hours: the rows so far, so that an interrupted command goes on from there
selftest.json   the whole table, and selftest.html its page
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from rich.text import Text

from experiments.certification import self_test_drawn
from experiments.certification.self_test_known import (
    bug_row,
    confirmed_row,
    pass_row,
    process_row,
    processes,
    server_row,
    short_row,
    toys,
)
from experiments.certification.self_test_rows import Row, Rows
from experiments.journal import Journal
from experiments.results import versions, write_json
from experiments.terminal import (
    UsageError,
    check_copy,
    check_writable,
    drawn,
    output,
    plain_table,
    print_text,
    progress_bar,
    where,
)
from simlab.certify.certificate import battery_of
from simlab.certify.registry import CONTRACTS
from simlab.mutants.catalogue import bugs, correct

BUDGETS = (1.0, 10.0, 60.0)
SEEDS = 50  # for the power
RUNS = 100  # short runs of each correct implementation
FAST = 5_000  # calls up to which power is confirmed
DRAWN, FEW_DRAWN = 2000, 12  # wrong ones by design, and in a quick self-test
DRAWN_SECONDS, FEW_SECONDS = 60.0, 5.0  # of their certificates
DRAWN_RUNS, RUN_SECONDS = 16, 2.0  # certificates of each correct one, of so many seconds: 2,080 together
JOURNAL = "selftest.jsonl"


def selftest(seed: int, quick: bool, rows: Rows) -> dict[str, Any]:
    """The whole table. ``quick`` takes the first budget, and a twentieth of seeds and runs."""
    budgets, seeds, runs = (BUDGETS[:1], SEEDS // 20, RUNS // 20) if quick else (BUDGETS, SEEDS, RUNS)
    passes = {
        contract: rows.row("passes", contract, find=partial(pass_row, contract, seed, budgets[-1]))
        for contract in CONTRACTS
    }
    found = [rows.row("bugs", bug.contract, bug.name, find=partial(bug_row, bug, seed, budgets)) for bug in bugs()]
    few = [(number, row) for number, row in enumerate(found) if (row["calls_for_power"] or FAST + 1) <= FAST]
    confirmations = rows.side_by_side(
        {("confirmed", row["contract"], row["name"]): partial(confirmed_row, n, row, seed, seeds) for n, row in few}
    )
    alarms = rows.side_by_side(
        {
            ("correct", one.contract, one.name): partial(short_row, number, seed, runs)
            for number, one in enumerate(correct())
        }
    )
    sampled = {(row["contract"], row["name"]) for row in found if any(row["sampled"].values())}
    return {
        "simlab": versions()["simlab"],
        "seed": seed,
        "versions": versions(),
        "batteries": {name: battery_of(name) for name in CONTRACTS},
        "passes": list(passes.values()),
        "bugs": [
            row
            | {
                # the case is called that often where nothing is wrong, so that the power is there at this budget
                "calls_in_a_pass": passes[row["contract"]]["calls"].get(row["case"]),
                "confirmed": confirmations.get(("confirmed", row["contract"], row["name"])),
            }
            for row in found
        ],
        "correct": list(alarms.values()),
        "processes": [
            rows.row("processes", one.contract, one.name, find=partial(process_row, one, seed, wrong))
            for one, wrong in processes(quick, sampled)
        ],
        "servers": [
            rows.row("servers", name, find=partial(server_row, name, toy, seed, wrong, quick))
            for name, toy, wrong in toys()
        ],
        "drawn": drawn_table(seed, quick, rows),
    }


def drawn_table(seed: int, quick: bool, rows: Rows) -> Row:
    """What is found of wrong ones by design, and false alarms of correct ones."""
    count, budget, runs = (FEW_DRAWN, FEW_SECONDS, 0) if quick else (DRAWN, DRAWN_SECONDS, DRAWN_RUNS)
    contracts = tuple(name for name in self_test_drawn.CONTRACTS if name in CONTRACTS)
    return self_test_drawn.drawn_table(seed, range(count), budget, runs, RUN_SECONDS, 2, contracts, rows)


# What is printed -----------------------------------------------------------------------------------------------


def selftest_command(out: Path, copy: Path | None, seed: int, quick: bool) -> int:
    """Run it, print and save the table; 0 if every bug was found and no correct implementation was rejected."""
    check_writable("--out", out)
    if copy:
        check_copy("--json", copy)
    try:
        journal = Journal(out / JOURNAL, {"simlab self-test": 2, "seed": seed, "quick": quick, "versions": versions()})
    except ValueError as error:
        raise UsageError(str(error)) from None
    with progress_bar() as progress:
        bar = progress.add_task("starting", total=_count(quick))
        found = Rows(journal, lambda name, done: progress.update(bar, description=name, completed=done))
        document = selftest(seed, quick, found)
    missed = [row["name"] for row in document["bugs"] if row["by"] == "not found"]
    rejected = [row["name"] for row in document["correct"] if row["false_alarms"] or row["fault"]]
    served = [*document["processes"], *document["servers"]]
    seen = ("lossy", "breaks")
    missed += [row["name"] for row in document["processes"] if row["wrong"] and row["verdict"] not in seen]
    missed += [row["name"] for row in document["servers"] if row["wrong"] and row["verdict"] != "lossy" and not quick]
    rejected += [row["name"] for row in served if not row["wrong"] and row["verdict"] in seen]
    rejected += [row["name"] for row in document["drawn"]["false_alarms"]]
    document |= {"missed": missed, "rejected": rejected}
    (out / "selftest.html").unlink(missing_ok=True)  # none of an earlier self-test is left beside this one
    for path in filter(None, (out / "selftest.json", copy)):
        write_json(path, document)
    journal.close()
    console = output()
    budgets = list(document["bugs"][0]["sampled"])
    names = ("contract", "no.", "found by", *(f"{b} s" for b in budgets), "calls", "for power", "named", "bug")
    console.print(plain_table(console, names, [tuple(_bug_cells(row)) for row in document["bugs"]]))
    names = ("contract", "runs", "false alarms", "correct implementation")
    rows = [(r["contract"], str(r["runs"]), str(r["false_alarms"]), r["name"]) for r in document["correct"]]
    console.print(plain_table(console, names, rows))
    rows = [(row["verdict"], f"{row['calls']:,}", f"{row['seconds']:.1f}", row["name"]) for row in served]
    console.print(plain_table(console, ("verdict", "calls", "seconds", "process or server"), rows))
    wrong = len(document["bugs"]) + sum(row["wrong"] for row in served)
    console.print(
        f"{wrong - len(missed)} of {wrong} bugs found, "
        f"{len(rejected)} of {len(document['correct']) + len(served) - sum(row['wrong'] for row in served)} "
        "correct implementations rejected"
    )
    for line in self_test_drawn.table_lines(document["drawn"]):
        print_text(console, line)
    complete = drawn(out, "selftest")
    if not complete:
        console.print("the page could not be drawn; the table is saved", style="bold red")
    print_text(console, where(table=out / "selftest.json", page=out / "selftest.html"))
    found_enough = quick or self_test_drawn.passed(document["drawn"])
    return 1 if missed or rejected or not found_enough or not complete else 0


def _count(quick: bool) -> int:
    """How many rows there are at most."""
    served = processes(quick, {(bug.contract, bug.name) for bug in bugs()})
    by_design = FEW_DRAWN if quick else DRAWN + DRAWN_RUNS * sum(map(len, self_test_drawn.CORRECT.values()))
    return len(CONTRACTS) + 2 * len(bugs()) + len(correct()) + len(served) + len(toys()) + by_design


def _bug_cells(row: dict[str, Any]) -> Iterator[str | Text]:
    yield row["contract"]
    yield row["mutant"]
    yield Text(row["by"], style="red" if row["by"] == "not found" else "")
    yield from ("yes" if seen else "no" for seen in row["sampled"].values())
    yield f"{row['sampled_calls']:,}" if row["sampled_calls"] is not None else "-"
    confirmed = row["confirmed"]
    seen = f" ({confirmed['found']}/{confirmed['seeds']})" if confirmed else ""
    yield f"{row['calls_for_power']:,}{seen}" if row["calls_for_power"] else "-"
    yield "yes" if row["named"] or row["sampled_named"] else "no"
    yield row["name"]
