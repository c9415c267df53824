"""Adjudicate the claims, measure the digits, and save what was found.

Everything here is independent of everything else, so it runs as tasks over a few processes. Nothing here
draws: the report is made from the files this leaves (:mod:`reports`).

=====================  ==================================================================================
verdicts.json          the claims: statement, verdict, assumptions, evidence, counterexamples
manifest.json          seed, versions, seconds each task took
steps.parquet          exact step distributions on a small world
compounding.parquet    exact TV of whole sequences against length, on small worlds
pac-steps.parquet      exact step distributions of SJD-PAC's decoders and its readings
codebook-map           acceptance against distortion of all rules on rows over a codebook
codebook-frontier      ... and the least distance there is for the acceptance gained
codebook-candidates    what rules keep of several candidates, beside the most that can be kept
digits.parquet         every decoder x rule pair on digits, with standard errors
digits-compounding     ... its distortion summed over the tokens up to each position
digits-map             ... acceptance against distortion of all rules on one set of contexts
digits-frontier        ... and the least distance there is for the acceptance gained
digits-pac             ... calls of SJD-PAC's decoders over its parameters and readings
digits-lengths         ... and how many tokens a call commits
digits-quality         ... how good target and draft are, and what they cost
digits-samples.npz     ... the images
continuous-laws        continuous tokens: the density each rule emits, beside the target's
continuous-acceptance  ... what is kept with shared noise, with noise of its own, and at most
continuous-dimensions  ... the same against the dimension of a token
continuous-trials      ... proposals, and what they leave unfinished
continuous-sequences   ... correlation of tokens, cut at a rejection and replaced in place
continuous-walltime    ... printed speedups beside eq. 51 of CSpD
continuous-tables      ... printed rates and ratios of CSpD beside what processes give
=====================  ==================================================================================
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from hypothesis.configuration import set_hypothesis_home_dir
from threadpoolctl import threadpool_limits

from experiments.measurements import candidates, codebook, continuous, continuous_tables, digits, digits_pac
from experiments.measurements import small_processes as small_worlds
from experiments.results import versions, write_arrays, write_json, write_table
from simlab.processes.digits import DigitsPair, fit_digits
from theory.claims import CLAIMS, Evidence, Finding, combined
from theory.claims.format import plain

SEQUENCES = 128  # digits a decoder x rule pair

Task = Callable[[], Any]
Progress = Callable[[str, int, int], None]  # what has just ended, how many have, how many there are


def with_parts(ids: Iterable[str]) -> list[str]:
    """``ids`` and the parts they split into, in the order of the list of claims."""
    wanted, waiting = set(), list(ids)
    while waiting:
        id = waiting.pop()
        wanted.add(id)
        waiting += CLAIMS[id].parts
    return [id for id in CLAIMS if id in wanted]


def verify(ids: list[str], seed: int, out: Path, measure: bool, progress: Progress) -> dict[str, Any]:
    """Decide the claims ``ids``, take the measurements if ``measure``, and save everything under ``out``.

    Returns what ``verdicts.json`` holds. A check that failed is named under ``failed`` with its reason, and its
    claim is ``not-decided``; the other checks run all the same.
    """
    started = perf_counter()
    claims: dict[str, Task] = {id: partial(decide, id, seed) for id in ids if CLAIMS[id].decide}
    measurements = _measurements(seed) if measure else {}
    results: dict[str, Any] = {}
    seconds: dict[str, float] = {}
    for name, result, took in _run(measurements | claims, seed, progress):
        results[name], seconds[name] = result, round(took, 2)

    failed = {name: result for name, result in results.items() if isinstance(result, Failure)}
    findings = {id: _failure(failed[id]) if id in failed else results[id] for id in claims}
    measured = measure and not (failed.keys() - claims.keys())
    document = {
        "simlab": versions()["simlab"],
        "seed": seed,
        "claims": [_entry(id, finding_of(id, findings)) for id in ids],
        "failed": failed,
    }
    if measured:
        _save_measurements(results, out)
    run = {"seed": seed, "measured": measured, "sequences": SEQUENCES if measured else 0, "versions": versions()}
    write_json(out / "verdicts.json", document)
    write_json(out / "manifest.json", run | {"seconds": seconds | {"all": round(perf_counter() - started, 2)}})
    return document


# Claims --------------------------------------------------------------------------------------------------------


class Failure(str):
    """Why a task failed, for people: the last line says what, the rest where."""


def decide(id: str, seed: int) -> Finding:
    """The finding on one claim."""
    check = CLAIMS[id].decide
    assert check is not None, f"{id} is decided by its parts"
    return check(seed)


def finding_of(id: str, findings: dict[str, Finding]) -> Finding:
    """The finding on a claim, put together from its parts where it has some."""
    claim = CLAIMS[id]
    if not claim.parts:
        return findings[id]
    return combined({part: (CLAIMS[part], finding_of(part, findings)) for part in claim.parts})


def _failure(reason: Failure) -> Finding:
    return Finding("not-decided", [Evidence("check-failed", reason.splitlines()[-1])])


def _entry(id: str, finding: Finding) -> dict[str, Any]:
    claim = CLAIMS[id]
    return {
        "id": id,
        "paper": claim.paper,
        "where": claim.where,
        "statement": claim.statement,
        "stated": claim.stated,
        "verdict": finding.verdict,
        "assumptions": _assumptions(id) if finding.verdict == "holds-under-assumptions" else [],
        "parts": list(claim.parts),
        "argument": claim.proof,
        "evidence": [_piece(piece) for piece in finding.evidence],
    }


def _assumptions(id: str) -> list[str]:
    """The assumptions of a claim and of its parts."""
    inherited = [line for part in CLAIMS[id].parts for line in _assumptions(part)]
    return list(dict.fromkeys([*CLAIMS[id].assumptions, *inherited]))


def _piece(evidence: Evidence) -> dict[str, Any]:
    """One piece of evidence; its numbers stand under ``counterexample`` or ``example``."""
    told = {"kind": evidence.kind, "summary": evidence.summary}
    return told | ({evidence.kind: plain(evidence.numbers)} if evidence.numbers else {})


# Measurements --------------------------------------------------------------------------------------------------

FIT = "digits: fit"


def _measurements(seed: int) -> dict[str, Task]:
    return {
        FIT: partial(fit_digits, seed),
        "steps": small_worlds.step_distributions,
        "compounding": partial(small_worlds.compounding, seed),
        **{f"pac: {world}": partial(small_worlds.pac_steps, world) for world in small_worlds.PAC_WORLDS},
        "codebook": partial(codebook.measure, seed, codebook.CONTEXTS),
        "candidates": partial(candidates.measure, seed, candidates.CONTEXTS),
        **{f"continuous: {name}": partial(continuous.measure, name, seed) for name in continuous.MEASURED},
        "continuous: tables": partial(continuous_tables.tables, seed),
    }


AFTER_FIT = len(digits.DECODERS) + len(digits_pac.INITIALS)  # tasks


def after_fit(pair: DigitsPair, seed: int) -> dict[str, Task]:
    """What can be measured once the digits are fitted."""
    return {
        **{f"digits: {name}": partial(digits.measure, name, pair, seed, SEQUENCES) for name in digits.DECODERS},
        **{
            f"digits pac: {initial}": partial(digits_pac.measure, initial, pair, seed, SEQUENCES)
            for initial in digits_pac.INITIALS
        },
    }


def _save_measurements(results: dict[str, Any], out: Path) -> None:
    pair, over_codebook = results[FIT], results["codebook"]
    measured: dict[str, digits.Measured] = {name: results[f"digits: {name}"] for name in digits.DECODERS}
    pac: list[digits_pac.Measured] = [results[f"digits pac: {initial}"] for initial in digits_pac.INITIALS]
    tables = {
        "steps": results["steps"],
        "compounding": results["compounding"],
        "pac-steps": pd.concat([results[f"pac: {world}"] for world in small_worlds.PAC_WORLDS]),
        "codebook-map": over_codebook.map,
        "codebook-frontier": over_codebook.frontier,
        "codebook-candidates": results["candidates"],
        "digits": pd.DataFrame([row for m in measured.values() for row in m.pairs]),
        "digits-compounding": pd.concat([m.compounding for m in measured.values()]),
        "digits-map": pd.concat([m.map for m in measured.values()]),
        "digits-frontier": pd.concat([m.frontier for m in measured.values()]),
        "digits-pac": pd.concat([m.runs for m in pac]),
        "digits-lengths": pd.concat([m.lengths for m in pac]),
        "digits-quality": pd.DataFrame([asdict(pair.quality)]),
        **{f"continuous-{name}": results[f"continuous: {name}"] for name in (*continuous.MEASURED, "tables")},
    }
    for name, table in tables.items():
        write_table(out / f"{name}.parquet", table)
    images = {f"{name} | {rule}": grid for name, m in measured.items() for rule, grid in m.samples.items()}
    write_arrays(out / "digits-samples.npz", {"data": pair.held_out.astype(np.uint8)} | images)


# Running -------------------------------------------------------------------------------------------------------


def _run(tasks: dict[str, Task], seed: int, progress: Progress) -> Iterator[tuple[str, Any, float]]:
    """Results as they come, over a process a core; the digits are measured as soon as they are fitted."""
    total, done = len(tasks) + AFTER_FIT * (FIT in tasks), 0
    workers = min(_cores(), total)
    with (
        TemporaryDirectory() as scratch,
        ProcessPoolExecutor(workers, get_context("spawn"), initializer=_settle, initargs=(scratch,)) as pool,
    ):
        running: dict[Future[tuple[Any, float]], str] = {}

        def submit(more: dict[str, Task]) -> None:
            running.update({pool.submit(_timed, task): name for name, task in more.items()})

        submit(tasks)
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                name, (result, took) = running.pop(future), future.result()
                if name == FIT and isinstance(result, DigitsPair):
                    submit(after_fit(result, seed))
                done += 1
                progress(name, done, total)
                yield name, result, took


def _settle(scratch: str) -> None:
    """What a worker does first: a process a core, so a thread a process; and no notes in the user's folder."""
    threadpool_limits(1)
    set_hypothesis_home_dir(scratch)


def _timed(task: Task) -> tuple[Any, float]:
    """What a task returns, or the :class:`Failure` it ended in, and the seconds it took."""
    started = perf_counter()
    try:
        result = task()
    except Exception:  # a check that breaks has failed, and the others go on
        result = Failure(traceback.format_exc().strip())
    return result, perf_counter() - started


def _cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
