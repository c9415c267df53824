"""``simlab verify``: decide the claims, take the measurements, save the results.

Everything here is independent of everything else, so it runs as tasks over a few processes. Nothing here
draws: the report is made from the files this leaves (:mod:`reports`).

=====================  ==================================================================================
verdicts.json          the claims: source, quote, statement, verdict, assumptions, evidence, counterexamples
claims/<id>.py         a program that recomputes the numbers of the claim without simlab
manifest.json          seed, versions, seconds each task took
steps.parquet          exact step distributions on a small process
compounding.parquet    exact TV of whole sequences against length, on small processes
pac-steps.parquet      exact step distributions of SJD-PAC's decoders and its readings
codebook-map           acceptance against distortion of all rules on rows over a codebook
codebook-frontier      ... and the least distance there is for the acceptance gained
codebook-candidates    how often rules accept one of several candidates, beside the most possible
digits.parquet         every decoder x rule pair on digits, with standard errors
digits-compounding     ... its distortion summed over the tokens up to each position
digits-map             ... acceptance against distortion of all rules on one set of contexts
digits-frontier        ... and the least distance there is for the acceptance gained
digits-pac             ... calls of SJD-PAC's decoders over its parameters and readings
digits-lengths         ... and how many tokens a call commits
digits-quality         ... how good target and draft are, and what they cost
digits-samples.npz     ... the images
continuous-laws        continuous tokens: the density each rule emits, beside the target's
continuous-acceptance  ... acceptance with shared noise, with independent noise, and at most
continuous-dimensions  ... the same against the dimension of a token
continuous-trials      ... proposals, and what they leave unfinished
continuous-sequences   ... correlation of tokens, cut at a rejection and replaced in place
continuous-walltime    ... printed speedups beside eq. 51 of CSpD
continuous-tables      ... printed rates and ratios of CSpD beside what processes give
draft-length-printed   CSpD's rates by draft length: the mean acceptance of a position that each asks for
draft-length-rates     ... and rates of pairs of models, for each decoder and reading
=====================  ==================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from experiments.interrupts import held_interrupts
from experiments.measurements import (
    candidates,
    codebook,
    continuous,
    continuous_tables,
    digits,
    digits_pac,
    draft_length,
    small_processes,
)
from experiments.results import versions, write_arrays, write_json, write_table, write_text
from experiments.verification import pool
from experiments.verification.claims import entry, finding_of, headlines, not_decided, tasks
from experiments.verification.kernels import compile_continuous, compile_discrete
from experiments.verification.pool import Done, Failure, Task
from simlab.processes.digits import DigitsPair, fit_digits
from theory.claims import CLAIMS
from theory.claims.witnesses import programs

SEQUENCES = 128  # digits a decoder x rule pair
KERNELS, KERNELS_CONTINUOUS = "kernels", "kernels of continuous tokens"

Progress = Callable[[Done, int, int], None]  # the job that has just ended, how many have, how many there are


class Verified(NamedTuple):
    """What ``verdicts.json`` holds, and the seconds that each job took."""

    document: dict[str, Any]
    seconds: dict[str, float]


def verify(ids: list[str], seed: int, out: Path, measure: bool, progress: Progress) -> Verified:
    """Decide the claims ``ids``, take the measurements if ``measure``, and save everything under ``out``.

    A check that failed is named under ``failed`` with its reason, and its claim is ``not-decided``; the other checks
    run all the same.
    """
    started = perf_counter()
    decisions, measurements = tasks(ids, seed), _measurements(seed) if measure else []
    claims = [id for task in decisions for id in task.jobs]
    exact = [task for task in decisions if task.exact]
    sampled = [task for task in decisions if not task.exact] + measurements
    chains = [task for task in sampled if _is_continuous(task)]
    others = [task for task in sampled if not _is_continuous(task)]
    kernels = {KERNELS: others, KERNELS_CONTINUOUS: chains}  # each compiled first, then what runs them
    first = [Task({KERNELS: compile_discrete}, exact=True)] if others else []
    second = [Task({KERNELS_CONTINUOUS: compile_continuous}, exact=True)] if chains else []
    total = sum(len(task.jobs) for task in first + exact + second + sampled) + AFTER_FIT * measure

    def follow(done: Done) -> list[Task]:
        return kernels.get(done.name) or _after_fit(done, seed)

    results: dict[str, Any] = {}
    seconds: dict[str, float] = {}
    for done in pool.run(first + exact + second, follow):
        results[done.name], seconds[done.name] = done.result, round(done.seconds, 2)
        progress(done, len(results), total)

    failed = {name: result for name, result in results.items() if isinstance(result, Failure)}
    findings = {id: not_decided(failed[id]) if id in failed else results[id] for id in claims}
    measured = measure and not (failed.keys() - set(claims))
    entries = [entry(id, finding_of(id, findings)) for id in ids]
    document = {
        "simlab": versions()["simlab"],
        "seed": seed,
        **headlines(entries),
        "claims": entries,
        "failed": failed,
    }
    manifest = {
        "seed": seed,
        "measured": measured,
        "sequences": SEQUENCES if measured else 0,
        "versions": versions(),
        "seconds": seconds | {"all": round(perf_counter() - started, 2)},
    }
    texts = programs(entries)
    with held_interrupts():  # all of it or nothing
        if measured:
            _save_measurements(results, out)
        for id, text in texts.items():
            write_text(out / "claims" / f"{id}.py", text)
        write_json(out / "manifest.json", manifest)
        write_json(out / "verdicts.json", document)
    return Verified(document, seconds)


def _is_continuous(task: Task) -> bool:
    """Whether a task runs the kernels of continuous tokens."""
    return any(CLAIMS[job].paper == "cspd" if job in CLAIMS else job.startswith("continuous: ") for job in task.jobs)


# Measurements --------------------------------------------------------------------------------------------------

FIT = "digits: fit"
SECONDS = {FIT: 100.0, "digits pac: random": 5.0, "codebook": 10.0}  # of long tasks, and of those that follow them


def _measurements(seed: int) -> list[Task]:
    jobs: dict[str, Callable[[], Any]] = {
        FIT: partial(fit_digits, seed),
        "steps": small_processes.step_distributions,
        "compounding": partial(small_processes.compounding, seed),
        **{f"pac: {name}": partial(small_processes.pac_steps, name) for name in small_processes.PAC_PROCESSES},
        "codebook": partial(codebook.measure, seed, codebook.CONTEXTS),
        "candidates": partial(candidates.measure, seed, candidates.CONTEXTS),
        **{f"continuous: {name}": partial(continuous.measure, name, seed) for name in continuous.MEASURED},
        "continuous: tables": partial(continuous_tables.tables, seed),
        **{f"draft length: {name}": partial(draft_length.measure, name, seed) for name in draft_length.MEASURED},
    }
    return [Task({name: job}, seconds=SECONDS.get(name, 1.0)) for name, job in jobs.items()]


AFTER_FIT = len(digits.DECODERS) + len(digits_pac.INITIALS)  # tasks


def _after_fit(done: Done, seed: int) -> list[Task]:
    """What can be measured once the digits are fitted."""
    if done.name != FIT or not isinstance(done.result, DigitsPair):
        return []
    pair: DigitsPair = done.result
    jobs: dict[str, Callable[[], Any]] = {
        **{f"digits: {name}": partial(digits.measure, name, pair, seed, SEQUENCES) for name in digits.DECODERS},
        **{
            f"digits pac: {initial}": partial(
                digits_pac.measure, initial, pair, seed, min(SEQUENCES, digits_pac.SEQUENCES)
            )
            for initial in digits_pac.INITIALS
        },
    }
    return [Task({name: job}, seconds=SECONDS.get(name, 10.0)) for name, job in jobs.items()]


def _save_measurements(results: dict[str, Any], out: Path) -> None:
    pair, over_codebook = results[FIT], results["codebook"]
    measured: dict[str, digits.Measured] = {name: results[f"digits: {name}"] for name in digits.DECODERS}
    pac: list[digits_pac.Measured] = [results[f"digits pac: {initial}"] for initial in digits_pac.INITIALS]
    tables = {
        "steps": results["steps"],
        "compounding": results["compounding"],
        "pac-steps": pd.concat([results[f"pac: {name}"] for name in small_processes.PAC_PROCESSES]),
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
        **{f"draft-length-{name}": results[f"draft length: {name}"] for name in draft_length.MEASURED},
    }
    for name, table in tables.items():
        write_table(out / f"{name}.parquet", table)
    images = {f"{name} | {rule}": grid for name, m in measured.items() for rule, grid in m.samples.items()}
    write_arrays(out / "digits-samples.npz", {"data": pair.held_out.astype(np.uint8)} | images)
