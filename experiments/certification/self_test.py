"""``simlab certify --self-test``: run the certifier on every known bug, on drawn ones and on correct implementations.

A bug is certified as it is, and again with its chance hidden, so that nothing but sampling can find it; that at
budgets of 1, 10 and 60 seconds until it is found. Where its law is known, the power of the case that shows it best is
computed, and confirmed over many seeds. Correct implementations are run shortly, many times: none may be rejected.
Wrong ones by design are drawn, and certified as anybody's code is (:mod:`experiments.certification.self_test_drawn`).

selftest.jsonl  while it goes on, which takes hours: the rows so far, so that an interrupted command goes on from there
selftest.json   the whole table, and selftest.html its page
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text

from experiments.certification import self_test_drawn
from experiments.certification.self_test_processes import process_row, processes
from experiments.certification.self_test_servers import server_row, toys
from experiments.cli.terminal import (
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
from experiments.journal import Journal
from experiments.results import versions, write_json
from simlab.certify import Certificate, certify
from simlab.certify.contracts.base import Case, Function
from simlab.certify.contracts.registry import CONTRACTS, OPERATORS
from simlab.certify.engine.evidence import FALSE_ALARMS, Evidence, calls_needed, divergence
from simlab.certify.engine.periodic import Periodic
from simlab.certify.engine.tasks import Sample
from simlab.mutants.catalogue import Implementation, bugs, correct
from simlab.statistics import Sequential, proportion_interval

BUDGETS = (1.0, 10.0, 60.0)
SEEDS = 50  # for the power
RUNS = 1000  # short runs of each correct implementation
SHORT, SHORTEST = 32, 4  # calls of a case in a short run, of one that is cheap and of one that is not
CHEAP = 300e-6  # seconds of a call
FAST = 5_000  # calls up to which power is confirmed
OPEN = 10.0  # seconds for a bug as it is; enumeration and coins at their ends take less
POWER = 0.999
DRAWN, FEW_DRAWN = 2000, 12  # wrong ones by design, and in a quick self-test
DRAWN_SECONDS, FEW_SECONDS = 60.0, 5.0  # of their certificates
DRAWN_RUNS = 20  # of each correct one of ten kinds
JOURNAL = "selftest.jsonl"

Row = dict[str, Any]
Tell = Callable[[str, int], None]  # what is found now, and how many rows are there


class Rows:
    """Rows by table, contract and name, each found once: those of an interrupted command are in its journal."""

    def __init__(self, journal: Journal, tell: Tell) -> None:
        self.journal, self.tell = journal, tell
        self.found: dict[tuple[str, ...], Row] = {tuple(names): row for names, row in journal.earlier}

    def add(self, names: tuple[str, ...], row: Row) -> None:
        self.found[names] = row
        self.journal.add([names, row])

    def row(self, *names: str, find: Callable[[], Row]) -> Row:
        """The row of that name, which is found now if it is not there."""
        if names not in self.found:
            self.tell(names[-1], len(self.found))
            self.add(names, find())
        return self.found[names]

    def drawn(self, names: tuple[Any, ...], find: Callable[[], Row]) -> Row:
        """The row of one that is drawn."""
        return self.row("drawn", *map(str, names), find=find)

    def side_by_side(self, tasks: dict[tuple[str, ...], Callable[[], Row]]) -> dict[tuple[str, ...], Row]:
        """The rows of these names, found two at a time, in processes that may start others."""
        with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
            at_work = {pool.submit(find): names for names, find in tasks.items() if names not in self.found}
            try:
                for done in as_completed(at_work):
                    self.tell(at_work[done][-1], len(self.found))
                    self.add(at_work[done], done.result())
            finally:
                pool.shutdown(cancel_futures=True)  # after an interrupt, no others begin
        return {names: self.found[names] for names in tasks}


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
            ("correct", one.contract, one.name): partial(_correct_row, number, seed, runs)
            for number, one in enumerate(correct())
        }
    )
    sampled = {(row["contract"], row["name"]) for row in found if any(row["sampled"].values())}
    return {
        "simlab": versions()["simlab"],
        "seed": seed,
        "versions": versions(),
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
    """What is found of wrong ones by design, and false alarms of ten kinds of correct ones."""
    count, budget, runs = (FEW_DRAWN, FEW_SECONDS, 0) if quick else (DRAWN, DRAWN_SECONDS, DRAWN_RUNS)
    contracts = tuple(name for name in self_test_drawn.CONTRACTS if name in CONTRACTS)
    return self_test_drawn.drawn_table(seed, count, budget, runs, 2, contracts, rows.drawn)


def pass_row(contract: str, seed: int, budget: float) -> Row:
    """The certificate of a fast correct implementation, and how often each of its cases was called."""
    those = [one for one in correct() if one.contract == contract]
    fast = next((one for one in those if one.name == "all coins and residuals at once"), those[0])
    passed = certify(fast.make(), contract, budget=budget, seed=seed)
    detectable = max(line.detectable for line in passed.lines)
    return {
        "contract": contract,
        "name": fast.name,
        "verdict": passed.verdict,
        "seconds": passed.seconds,
        "tv_at_most": max(line.tv_at_most for line in passed.lines),
        "detectable": detectable if isfinite(detectable) else None,  # JSON has no infinity: so few calls show nothing
        "calls": {line.case: line.calls for line in passed.lines},
    }


# Bugs ----------------------------------------------------------------------------------------------------------


def bug_row(bug: Implementation, seed: int, budgets: Sequence[float]) -> Row:
    """What the certifier says of one bug."""
    open_one = certify(bug.make(), bug.contract, budget=OPEN, seed=seed)
    sampled, budget = _hidden_run(bug, seed, budgets)
    case, needed = _best_case(bug)
    return {
        "contract": bug.contract,
        "mutant": bug.mutant,
        "name": bug.name,
        "verdict": open_one.verdict,
        "by": _by(open_one),
        "seconds": open_one.seconds_to_finding,
        "diagnosis": open_one.failure.diagnosis if open_one.failure else "",
        "named": _names(open_one, bug),
        "sampled": {f"{b:g}": budget is not None and budget <= b for b in budgets},
        "sampled_calls": sampled.calls_to_finding,
        "sampled_seconds": sampled.seconds_to_finding,
        "sampled_diagnosis": sampled.failure.diagnosis if sampled.failure else "",
        "sampled_named": _names(sampled, bug),
        "case": None if case is None else CONTRACTS[bug.contract].cases()[case].name,
        "calls_for_power": needed,
    }


def _hidden_run(bug: Implementation, seed: int, budgets: Sequence[float]) -> tuple[Certificate, float | None]:
    """The first budget at which sampling alone finds it; ``None`` if none does."""
    for budget in budgets:
        found = certify(hidden(bug.make(), bug.contract), bug.contract, budget=budget, seed=seed)
        if found.failure:
            return found, budget
    return found, None


class Hidden:
    """A callable whose chance cannot be given: it asks for a whole number first, which no uniform answers."""

    def __init__(self, function: Function) -> None:
        self.function = function

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        rng = next(argument for argument in arguments if isinstance(argument, np.random.Generator))
        rng.integers(2)
        return self.function(*arguments, **named)


class Turned:
    """An operator whose coins cannot be given: all of them are moved on by a number that is another in every call.

    They are as uniform as before, and as independent of each other.
    """

    def __init__(self, function: Function, names: Sequence[str]) -> None:
        self.function, self.names = function, names
        self.rng = np.random.default_rng(0)

    def __call__(self, *arguments: Any) -> Any:
        by = float(self.rng.random(dtype=np.float32))
        return self.function(*(self._turned(name, one, by) for name, one in zip(self.names, arguments, strict=True)))

    def _turned(self, name: str, values: Any, by: float) -> Any:
        if name.startswith("uniform"):
            return ((values.astype(np.float64) + by) % 1).astype(values.dtype)
        if name not in ("exponential", "gumbel"):
            return values
        noise = values.astype(np.float64) if name == "exponential" else np.exp(-values.astype(np.float64))
        turned = -np.log1p(-np.clip((-np.expm1(-noise) + by) % 1, 2.0**-25, 1 - 2.0**-25))
        return (turned if name == "exponential" else -np.log(turned)).astype(values.dtype)


def hidden(function: Function, contract: str) -> Function:
    """A callable that only sampling can find anything of."""
    if contract not in OPERATORS:
        return Hidden(function)
    signature = CONTRACTS[contract].signature
    return Turned(function, signature.partition("(")[2].partition(")")[0].split(", "))


def _by(found: Certificate) -> str:
    """Which step found it."""
    failure = found.failure
    if failure is None:
        return "not found"
    if failure.kind == "law":
        return "enumeration" if found.calls == 0 else "sampling"
    return "coins at their ends" if failure.kind == "edge" or "uniforms" in failure.arguments else "first calls"


def _names(found: Certificate, bug: Implementation) -> bool:
    return found.failure is not None and bug.name in found.failure.known


def _best_case(bug: Implementation) -> tuple[int | None, int | None]:
    """The case that shows a bug with fewest calls, and how many surely do."""
    cases = CONTRACTS[bug.contract].cases()
    laws = [(i, case.known_laws.get(bug.name)) for i, case in enumerate(cases)]
    seen = [(divergence(law, cases[i].events[0].law), i, law) for i, law in laws if law is not None]
    if not seen:
        return None, None
    _, best, law = max(seen, key=lambda one: one[0])
    return best, calls_needed(cases[best], law, Evidence(cases).level, POWER)


def confirmed_row(number: int, row: Row, seed: int, seeds: int) -> Row:
    """In how many of so many runs, of the calls that promise the power, bug ``number`` is found."""
    return {"seeds": seeds, "found": confirmed(bugs()[number], row["case"], row["calls_for_power"], seed, seeds)}


def confirmed(bug: Implementation, name: str, calls: int, seed: int, seeds: int) -> int:
    """In how many of so many runs of one case with so many calls the alarm is raised."""
    cases = CONTRACTS[bug.contract].cases()
    case = next(i for i, one in enumerate(cases) if one.name == name)
    level = Evidence(cases).level
    function, found = bug.make(), 0
    for number in range(seeds):
        evidence = Evidence([cases[case]])
        counted = _counted(cases[case], function, seed, case, number, calls)
        evidence.add_counts(0, counted, calls)
        found += bool(evidence.tests[0][0].highest >= -np.log(level))
    return found


def _counted(case: Case, function: Function, seed: int, i: int, number: int, calls: int) -> tuple[np.ndarray, ...]:
    with np.errstate(all="ignore"):
        return Sample(i, number, calls).run(case, function, seed).counts


# Correct implementations ---------------------------------------------------------------------------------------


def _correct_row(number: int, seed: int, runs: int) -> Row:
    return correct_row(correct()[number], seed, runs)


def correct_row(trap: Implementation, seed: int, runs: int) -> Row:
    """How many of the short runs of a correct implementation raise an alarm."""
    cases = CONTRACTS[trap.contract].cases()
    level = Evidence(cases).level
    function, rejected, calls = trap.make(), np.zeros(runs, bool), 0
    for i, case in enumerate(cases):
        start = time.perf_counter()
        _counted(case, function, seed, i, 1 << 20, 4)
        size = SHORT if (time.perf_counter() - start) / 4 < CHEAP else SHORTEST
        tables = [_counted(case, function, seed, i, number, size) for number in range(runs)]
        calls += size
        for k, test in enumerate(Evidence([case]).tests[0]):
            rejected |= alarms(test, np.array([counts[k] for counts in tables]), level)
    _, high = proportion_interval(int(rejected.sum()), runs, POWER)
    opened = certify(trap.make(), trap.contract, calls=SHORTEST, seed=seed, processes=1)
    return {
        "contract": trap.contract,
        "name": trap.name,
        "enumerated": opened.exact,
        "forced": opened.forced,
        "fault": opened.summary if opened.failure else None,
        "runs": runs,
        "calls_a_run": calls,
        "false_alarms": int(rejected.sum()),
        "rate_at_most": high,
        "stated": FALSE_ALARMS,
    }


def alarms(test: Sequential | Periodic, counts: np.ndarray, level: float) -> np.ndarray:
    """Which rows of counts ``[runs, events]`` raise an alarm."""
    if isinstance(test, Periodic):
        return np.array([test.update(row).highest >= -np.log(level) for row in counts])
    return np.asarray(test.update(counts).highest >= -np.log(level))


# What is printed -----------------------------------------------------------------------------------------------


def selftest_command(out: Path, copy: Path | None, seed: int, quick: bool) -> int:
    """Run it, print and save the table; 0 if every bug was found and no correct implementation was rejected."""
    check_writable("--out", out)
    if copy:
        check_copy("--json", copy)
    try:
        journal = Journal(out / JOURNAL, {"simlab self-test": 1, "seed": seed, "quick": quick, "versions": versions()})
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
