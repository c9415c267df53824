"""Judge a rule: its contract, output law, acceptance, distortion, and examples of where it fails.

The rule is judged in rationals if it answers rationals with rationals, else in floats within a stated tolerance.

=========================  ==========================================================================
judge.json                 the verdict and all it rests on
judge-map.parquet          acceptance and distortion of this rule and all others on one set of contexts
judge-frontier.parquet     the least Wasserstein-1 for what is gained, on the same contexts
judge-manifest.json        versions, seconds
=========================  ==========================================================================
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from hypothesis.configuration import set_hypothesis_home_dir

from experiments.apart import Link, Lost, Unfit, answer_apart
from experiments.judging.measures import VOCABULARY, Placed, placed, several
from experiments.results import versions, write_json, write_table
from simlab.messages import tampered
from theory.claims.format import fmt, fmt_row, numbers
from theory.judge.contract import SMALL, Check, Fault, Pair, contract, families, floats, reason
from theory.judge.rule_matching import RuleMatch, match_rule
from theory.judge.searches import NARROW, WIDE, Judged, Searched, Step, step_tolerance
from theory.judge.user_rule import NEGLIGIBLE, Broken, Functions, Inexact, UserRule
from theory.search import TRIES, listed, searched

VERDICTS = {
    "lossless": "no deviation found",
    "lossy": "what it emits does not follow p",
    "breaks": "it breaks the contract of a rule",
}
READABLE = 8  # tokens a row may have and still be printed in a line
LEAST_TRIES = 10
SEARCH_SECONDS, MAP_SECONDS = 8.0, 8.0  # what a slow rule may take for each; a quick one never does
LIMIT = 10.0  # seconds that a call may take
LEAST_CONTEXTS, MOST_CONTEXTS = 8, 128

Progress = Callable[[str, int, int], None]  # what has just ended, how many have, how many there are
PARTS = ("contract", "searches", "likeness", "candidates", "map")


def judge(rule: UserRule, name: str, seed: int, out: Path, progress: Progress) -> dict[str, Any]:
    """Judge ``rule``, which its user calls ``name``; save everything under ``out``, return what judge.json holds."""
    started = perf_counter()
    with TemporaryDirectory() as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the user's code; what it answers is looked at
        set_hypothesis_home_dir(scratch)
        document, tables = _judged(rule, seed, lambda k: progress(PARTS[k], k + 1, len(PARTS)))
    return _saved(document, tables, name, seed, out, started)


def judge_apart(
    load: Callable[[], UserRule], name: str, seed: int, out: Path, found: Callable[[], None], progress: Progress
) -> dict[str, Any]:
    """As :func:`judge`, in a process that may be lost; ``load`` imports the rule there.

    ``found`` is called once there is a rule. Raises ``ValueError`` where there is none, as ``load`` does.
    """
    started = perf_counter()

    def work(link: Link) -> dict[str, Any]:
        try:
            with link.importing():
                rule = load()
        except ValueError as error:
            raise Unfit(str(error)) from None
        changed = tampered()
        if changed:
            return _saved(_breaks([_late(Broken("answers", changed))]), None, name, seed, out, started)
        link.tell("starting", 0, len(PARTS))
        return judge(_watched(rule, link), name, seed, out, link.tell)

    answer, _ = answer_apart(work, found, progress)
    if isinstance(answer, Lost):
        message = f"the rule {answer.message}" if answer.kind != "raises" else f"judging it {answer.message}"
        return _saved(_breaks([_late(Broken("answers", message))]), None, name, seed, out, started)
    return dict(answer)


def _watched(rule: UserRule, link: Link) -> UserRule:
    """The rule; a call that does not return loses the process."""
    called = partial(link.within, LIMIT)
    return UserRule(cache(lambda vocabulary: Functions(*map(called, rule.functions(vocabulary)))))


def _saved(
    document: dict[str, Any], tables: Placed | None, name: str, seed: int, out: Path, started: float
) -> dict[str, Any]:
    """Write it, and say what was written; nothing of an earlier judgement is left beside it."""
    document = {"simlab": versions()["simlab"], "rule": name, "seed": seed, **document}
    for stale in ("judge-map.parquet", "judge-frontier.parquet"):
        (out / stale).unlink(missing_ok=True)
    if tables is not None:
        write_table(out / "judge-map.parquet", tables.table)
        write_table(out / "judge-frontier.parquet", tables.frontier)
    write_json(out / "judge.json", document)
    took = round(perf_counter() - started, 2)
    write_json(out / "judge-manifest.json", {"seed": seed, "versions": versions(), "seconds": took})
    return document


def _judged(rule: UserRule, seed: int, done: Callable[[int], None]) -> tuple[dict[str, Any], Placed | None]:
    cases = families(seed)
    tries = _affordable(rule, cases)
    try:
        checks = contract(rule, seed, WIDE, tries, cases)
    except Broken as broken:  # a rule that answers now this way, now that
        return _breaks([_late(broken)]), None
    done(0)
    if any(check.outcome == "fails" for check in checks):
        return _breaks(checks), None
    try:
        return _by_arithmetic(rule, seed, cases, checks, tries, done)
    except Broken as broken:  # on rows that only a later part asked about
        return _breaks([*checks, _late(broken)]), None


def _by_arithmetic(
    rule: UserRule,
    seed: int,
    cases: dict[str, list[Pair]],
    checks: list[Check],
    tries: int,
    done: Callable[[int], None],
) -> tuple[dict[str, Any], Placed]:
    """The verdict in rationals if the rule takes them all, else in floats."""
    why = reason(rule, cases)
    if why is None:
        try:
            return _weighed(Judged(rule, exact=True), seed, cases, checks, tries, None, done)
        except (Inexact, Broken) as error:
            why = str(error)
    tolerance = step_tolerance(rule, cases["zeros in p or q"][-1])
    return _weighed(Judged(rule, exact=False, tolerance=tolerance), seed, cases, checks, tries, why, done)


def _weighed(
    judged: Judged,
    seed: int,
    cases: dict[str, list[Pair]],
    checks: list[Check],
    tries: int,
    why: str | None,
    done: Callable[[int], None],
) -> tuple[dict[str, Any], Placed]:
    steps = [judged.step(pair) for rows in cases.values() for pair in rows if len(pair[0]) <= VOCABULARY]
    found = judged.search(seed, tries)
    done(1)
    alike = match_rule(judged.rule, [judged.rows((s.p, s.q)) for s in steps], float(judged.tolerance))
    done(2)
    candidates = several(judged, seed)
    done(3)
    where = placed(judged.rule, seed, _contexts(judged.rule, cases))
    done(4)
    example = _counterexample(judged, found, steps, where)
    verdict = "lossless" if example is None else "lossy"
    document = {
        "verdict": verdict,
        "meaning": VERDICTS[verdict],
        "summary": _lossless(judged, steps, tries) if example is None else _lossy(example),
        "arithmetic": "rationals" if judged.exact else "floats",
        "not_rational": why,
        "tolerance": float(judged.tolerance),
        "contract": [_line(check) for check in checks],
        "counterexample": example,
        "searches": [_search(judged, one) for one in found],
        "behaves_like": _alike(alike),
        "candidates": candidates,
        "map": _own(where),
    }
    return document, where


# Effort --------------------------------------------------------------------------------------------------------


def _affordable(rule: UserRule, cases: dict[str, list[Pair]]) -> int:
    """How many examples a level the searches can try."""
    seconds = _seconds(rule, [pair for pair in cases["zeros in p or q"] if len(pair[0]) == 4])
    return int(np.clip(SEARCH_SECONDS / (len(WIDE) * seconds), LEAST_TRIES, TRIES))


def _contexts(rule: UserRule, cases: dict[str, list[Pair]]) -> int:
    seconds = _seconds(rule, cases["64 and 512 tokens"][:1])
    return int(np.clip(MAP_SECONDS / seconds, LEAST_CONTEXTS, MOST_CONTEXTS))


def _seconds(rule: UserRule, pairs: list[Pair]) -> float:
    """What a step for one pair takes, the second time."""
    for _ in range(2):
        started = perf_counter()
        for p, q in pairs:
            try:
                rule.step(floats(p), floats(q))
            except Broken:  # the contract will say so
                continue
    return max((perf_counter() - started) / len(pairs), 1e-6)


# The document --------------------------------------------------------------------------------------------------


def _breaks(checks: list[Check]) -> dict[str, Any]:
    fault = next(check.fault for check in checks if check.outcome == "fails")
    assert fault is not None, "what fails, fails somewhere"
    return {
        "verdict": "breaks",
        "meaning": VERDICTS["breaks"],
        "summary": _fault_text(fault),
        "arithmetic": None,
        "not_rational": None,
        "tolerance": NEGLIGIBLE,
        "contract": [_line(check) for check in checks],
        "counterexample": None,
        "searches": [],
        "behaves_like": None,
        "candidates": [],
        "map": None,
    }


def _late(broken: Broken) -> Check:
    at = broken.at
    fault = Fault(str(broken), tuple(at[0]), tuple(at[1]), at[2]) if at else Fault(str(broken), (), (), None)
    return Check("later", "the contract holds on the rows of the searches and the map", "fails", fault)


def _fault_text(fault: Fault) -> str:
    return f"{fault.message}; at {_at(fault)}" if len(fault.p) else fault.message  # where it is known


def _at(fault: Fault) -> str:
    if len(fault.p) > max(SMALL):
        return f"V = {len(fault.p)}" + ("" if fault.x is None else f", x = {fault.x}")
    return f"p = {fmt_row(fault.p)}, q = {fmt_row(fault.q)}" + ("" if fault.x is None else f", x = {fault.x}")


def _line(check: Check) -> dict[str, Any]:
    fault = check.fault
    entry = {"check": check.id, "statement": check.statement, "outcome": check.outcome}
    if fault is None:
        return entry | {"message": None, "example": None}
    example = numbers(p=fault.p, q=fault.q, x=fault.x) if 0 < len(fault.p) <= max(SMALL) else None
    return entry | {"message": _fault_text(fault), "example": example}


def _example(judged: Judged, step: Step) -> dict[str, Any]:
    """A pair of rows with everything needed to compute the law by hand."""
    p, q = judged.rows((step.p, step.q))
    again, _ = judged.rule.step(p, q)
    if max(map(abs, again - step.law)) > NEGLIGIBLE:
        raise Broken("repeatable", "the same rows give another law when they are asked about again", (p, q, 0))
    drafted = np.flatnonzero(q > 0).tolist()
    accepted = {x: judged.rule.acceptance_of(p, q, x) for x in drafted}
    return numbers(
        p=step.p,
        q=step.q,
        law=step.law,
        tv=step.tv,
        acceptance=step.accepted,
        acceptance_speculative=step.lossless,
        accept={str(x): probability for x, probability in accepted.items()},
        residual={
            str(x): judged.rule.residual_of(p, q, x)
            for x, probability in accepted.items()
            if not judged.rule.surely(probability, p)
        },
    )


def _counterexample(judged: Judged, found: list[Searched], steps: list[Step], where: Placed) -> dict[str, Any] | None:
    """The smallest pair of rows for which the law emitted is not p."""
    smallest = next(one.example for one in found if one.question.id == "law")
    if smallest is None:
        off = [step for step in steps if step.tv > judged.tolerance]
        smallest = min(off, key=lambda step: len(step.p), default=None)
    if smallest is not None:
        return _example(judged, smallest)
    p, q, off_by = where.worst
    if not off_by > max(float(judged.tolerance), NEGLIGIBLE):
        return None
    floating = Judged(judged.rule, exact=False)
    step = floating.step((tuple(p), tuple(q)))
    if not step.tv > NEGLIGIBLE:
        raise Broken("repeatable", "a pair of rows of the map gives p when tried again, and did not at first", None)
    return _example(floating, step)


def _lossy(example: dict[str, Any]) -> str:
    entry = example | example.get("exact", {})
    if len(entry["p"]) > READABLE:
        return f"for a pair of rows over {len(entry['p'])} tokens the law emitted is {_text(entry['tv'])} from p in TV"
    rows = {name: f"({', '.join(map(_text, entry[name]))})" for name in ("p", "q", "law")}
    exact = "tv" in example.get("exact", {})
    small = "; rounding in float32 makes as much" if not exact and float(example["tv"]) <= NARROW else ""
    return (
        f"p = {rows['p']}, q = {rows['q']}: it emits {rows['law']}, which is {_text(entry['tv'])} from p in TV{small}"
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else fmt(value)


def _lossless(judged: Judged, steps: list[Step], tries: int) -> str:
    exactly = "TV is 0 in rationals" if judged.exact else f"TV is at most {float(judged.tolerance):g}"
    sizes = listed({len(step.p) for step in steps})
    return (
        f"{exactly} on {len(steps)} pairs of rows over {sizes} tokens, and within "
        f"{max(float(judged.tolerance), NEGLIGIBLE):g} on the contexts of the map; a search looked at "
        f"{searched(WIDE, tries)}. This is no proof"
    )


def _search(judged: Judged, one: Searched) -> dict[str, Any]:
    return {
        "question": one.question.id,
        "looked_for": one.question.looked_for,
        "found": one.example is not None,
        "summary": one.summary,
        "example": None if one.example is None else _example(judged, one.example),
    }


def _alike(alike: RuleMatch) -> dict[str, Any]:
    return alike._asdict() | {"told": alike.summary()}


def _own(where: Placed) -> dict[str, Any]:
    own = where.table[where.table["own"]].iloc[0].drop(["family", "parameter", "own", "nearest"])
    return {"vocabulary": VOCABULARY, "contexts": where.contexts} | {str(k): float(v) for k, v in own.items()}
