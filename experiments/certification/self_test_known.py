"""Rows of the self-test for known implementations: as functions, as processes (``--command``), as servers (``--url``).

A bug is certified as it is, and again with its chance hidden, so that nothing but sampling can find it. Correct
implementations are run shortly, many times.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from experiments.certification.known_process import known
from experiments.certification.self_test_rows import Row
from experiments.certification.servers import ServerRequest, certified_server
from simlab.certify import Certificate, certify
from simlab.certify.contracts.base import Case, Function
from simlab.certify.engine.evidence import FALSE_ALARMS, Evidence, calls_needed, divergence
from simlab.certify.engine.periodic import Periodic
from simlab.certify.engine.tasks import Sample
from simlab.certify.processes.command import Command
from simlab.certify.registry import CONTRACTS, OPERATORS
from simlab.certify.servers.toy import CORRECT, WRONG, Server, Toy
from simlab.mutants.catalogue import Implementation, bugs, correct
from simlab.statistics import Sequential, proportion_interval

SHORT, SHORTEST = 32, 4  # calls of a case in a short run, of one that is cheap and of one that is not
CHEAP = 300e-6  # seconds of a call
OPEN = 10.0  # seconds for a bug as it is; enumeration and coins at their ends take less
POWER = 0.999
SERVED = 180.0  # seconds for a bug as a process or a server; it ends when it is found
CALLS = 50  # of each case, for a correct process
CORRECTLY = 20.0  # seconds for a correct server
ROOT = Path(__file__).parents[2]


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
    """What the certifier says of one bug; what shows at the ends of coins alone counts, as with ``--strict``."""
    open_one = certify(bug.make(), bug.contract, budget=OPEN, seed=seed, strict=True)
    sampled, budget = _hidden_run(bug, seed, budgets)
    case, needed = _best_case(bug)
    return {
        "contract": bug.contract,
        "mutant": bug.mutant,
        "name": bug.name,
        "verdict": open_one.verdict,
        "by": _by(open_one if open_one.failure else sampled),
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


def short_row(number: int, seed: int, runs: int) -> Row:
    """The row of correct implementation ``number``."""
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


# Processes -----------------------------------------------------------------------------------------------------


def processes(quick: bool, sampled: set[tuple[str, str]]) -> list[tuple[Implementation, bool]]:
    """Which are started as a command, and whether they are wrong.

    A process of ``verify`` draws for itself: what of its bugs cannot be ``sampled``, only forced, is left out.
    ``quick`` takes every tenth.
    """
    wrong = [bug for bug in known(True) if bug.contract != "verify" or (bug.contract, bug.name) in sampled]
    step = 10 if quick else 1
    return [(one, True) for one in wrong[::step]] + [(one, False) for one in known(False)[::step]]


def process_row(made: Implementation, seed: int, wrong: bool) -> dict[str, Any]:
    """The verdict on one of them, and whether it is called by its name; of wrong ones as with ``--strict``."""
    words = [sys.executable, "-m", "experiments.certification.known_process", made.contract, made.name]
    asked: dict[str, Any] = {"budget": SERVED, "strict": True} if wrong else {"calls": CALLS}
    found = certify(Command(words, made.contract, ROOT, seed), made.contract, seed=seed, processes=1, **asked)
    return {
        "name": made.name,
        "contract": made.contract,
        "mutant": made.mutant,
        "wrong": wrong,
        "verdict": found.verdict,
        "named": found.failure is not None and made.name in found.failure.known,
        "diagnosis": found.failure.diagnosis if found.failure else "",
        "calls": found.calls,
        "seconds": found.seconds_to_finding or found.seconds,
        "summary": found.summary,
    }


# Servers -------------------------------------------------------------------------------------------------------


def toys() -> list[tuple[str, Toy, bool]]:
    """Each with its name, and whether it is wrong."""
    return [(name, toy, True) for name, toy in WRONG.items()] + [(name, toy, False) for name, toy in CORRECT.items()]


def server_row(name: str, toy: Toy, seed: int, wrong: bool, quick: bool) -> dict[str, Any]:
    """The verdict on one toy against the correct one without speculation, and after how many requests and seconds.

    ``quick`` takes a tenth of the seconds: what is weaker than most is not found in them.
    """
    budget = (SERVED if wrong else CORRECTLY) * (0.1 if quick else 1)
    with TemporaryDirectory() as folder, Server(toy) as engine, Server(Toy()) as reference:
        request = ServerRequest(engine.url, reference.url, tokens=2, budget=budget, epsilon=0.1, seed=seed)
        found = certified_server(request, Path(folder), lambda share: None)
    return {"name": name, "wrong": wrong} | {key: found[key] for key in ("verdict", "calls", "seconds", "summary")}
