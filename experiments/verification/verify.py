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

import json
from collections.abc import Callable, Collection
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any, NamedTuple

from experiments.attempts import Failure
from experiments.interrupts import held_interrupts
from experiments.results import versions, write_json, write_text
from experiments.verification import pool
from experiments.verification.claims import entry, finding_of, headlines, not_decided, tasks, with_parts
from experiments.verification.pool import Done, Task
from theory.claims import CLAIMS
from theory.claims.moved import MOVED
from theory.claims.witnesses import programs

VERDICTS, MANIFEST = "verdicts.json", "manifest.json"
KERNELS, KERNELS_CONTINUOUS = "kernels", "kernels of continuous tokens"

Progress = Callable[[Done, int, int], None]  # the job that has just ended, how many have, how many there are


class Verified(NamedTuple):
    """What ``verdicts.json`` holds, the seconds that each job took, and what is told of verdicts that did not stay."""

    document: dict[str, Any]
    seconds: dict[str, float]
    gone: str = ""


def verify(ids: list[str], seed: int, out: Path, measure: bool, progress: Progress) -> Verified:
    """Decide the claims ``ids``, take the measurements if ``measure``, and save everything under ``out``.

    A check that failed is named under ``failed`` with its reason, and its claim is ``not-decided``; the other checks
    run all the same. Unless everything is measured, what ``out`` has of other claims stays, and files that would say
    the same are left as they are. What does not stay is told.
    """
    started = perf_counter()
    taken = _measurements() if measure else None
    decisions, measurements = tasks(ids, seed), taken.measurements(seed) if taken else []
    claims = [id for task in decisions for id in task.jobs]
    exact = [task for task in decisions if task.exact]
    sampled = [task for task in decisions if not task.exact] + measurements
    chains = [task for task in sampled if _is_continuous(task)]
    others = [task for task in sampled if not _is_continuous(task)]
    kernels = {KERNELS: others, KERNELS_CONTINUOUS: chains}  # each compiled first, then what runs them
    first = [Task({KERNELS: _compile_discrete}, exact=True)] if others else []
    second = [Task({KERNELS_CONTINUOUS: _compile_continuous}, exact=True)] if chains else []
    total = sum(len(task.jobs) for task in first + exact + second + sampled) + (taken.AFTER_FIT if taken else 0)

    def follow(done: Done) -> list[Task]:
        return kernels.get(done.name) or (taken.after_fit(done, seed) if taken else [])

    results: dict[str, Any] = {}
    seconds: dict[str, float] = {}
    alone = len(exact) == 1 and not sampled
    for done in pool.here(exact[0]) if alone else pool.run(first + exact + second, follow):
        results[done.name], seconds[done.name] = done.result, round(done.seconds, 2)
        progress(done, len(results), total)

    failed = {name: result for name, result in results.items() if isinstance(result, Failure)}
    findings = {id: not_decided(failed[id]) if id in failed else results[id] for id in claims}
    measured = measure and not (failed.keys() - set(claims))
    entries = {id: entry(id, finding_of(id, findings)) for id in ids}
    manifest = {
        "seed": seed,
        "measured": measured,
        "sequences": taken.SEQUENCES if taken and measured else 0,
        "versions": versions(),
        "seconds": seconds | {"all": round(perf_counter() - started, 2)},
    }
    earlier, gone = (None, "") if measure else _earlier(out, manifest, entries, failed.keys())
    if earlier:
        entries = earlier.others | entries
        failed = {name: why for name, why in earlier.document["failed"].items() if name not in entries} | failed
        manifest = earlier.manifest | {"seconds": earlier.manifest["seconds"] | manifest["seconds"]}
    listed = [entries[id] for id in CLAIMS if id in entries]
    document = {
        "simlab": versions()["simlab"],
        "seed": seed,
        **headlines(listed),
        "claims": listed,
        "moved": MOVED,
        "failed": failed,
    }
    texts = {out / "claims" / f"{id}.py": text for id, text in programs([entries[id] for id in ids]).items()}
    new = [id for id in CLAIMS if id in ids or id not in entries]  # whose programs of earlier runs do not stay
    stale = [path for id in new if (path := out / "claims" / f"{id}.py") not in texts and path.is_file()]
    texts = {path: text for path, text in texts.items() if not path.is_file() or path.read_text("utf-8") != text}
    if earlier and document == earlier.document and not texts and not stale:
        return Verified(document, seconds)
    with held_interrupts():  # all of it or nothing
        if taken and measured:
            taken.save(results, out)
        for path, text in texts.items():
            write_text(path, text)
        for path in stale:
            path.unlink()
        write_json(out / VERDICTS, document)
        write_json(out / MANIFEST, manifest)  # last: where a run is killed in between, the two do not fit
    return Verified(document, seconds, gone)


class _Earlier(NamedTuple):
    """What a folder holds already, and what stays of it: entries of claims that were not decided now."""

    document: dict[str, Any]
    manifest: dict[str, Any]
    others: dict[str, dict[str, Any]]


def _earlier(
    out: Path, manifest: dict[str, Any], entries: dict[str, dict[str, Any]], failing: Collection[str]
) -> tuple[_Earlier | None, str]:
    """What ``out`` holds, if it is of the same seed and versions and has the same to say of the claims in ``entries``;
    and what is told of verdicts there that do not stay.

    A claim that comes out otherwise tells of other code, of which the verdicts on all claims would have to be. One
    whose check fails, now or then, tells nothing of it; but the verdict that follows from its parts goes.
    """
    try:
        document, was = (json.loads((out / name).read_text(encoding="utf-8")) for name in (VERDICTS, MANIFEST))
        there = {entry["id"]: entry for entry in document["claims"] if entry["id"] in CLAIMS}
        failing = {*failing, *document["failed"]}
        whole = (document["seed"], document["simlab"]) == (was["seed"], was["versions"]["simlab"])
        same = whole and all(was[key] == manifest[key] for key in ("seed", "versions"))
    except (OSError, ValueError, LookupError, TypeError):  # none, or none that can be read: nothing to keep
        unread = f"the verdicts that stood there went: {VERDICTS} or {MANIFEST} there could not be read"
        return None, unread if (out / VERDICTS).exists() else ""
    changed = [id for id in entries if there.get(id, entries[id]) != entries[id]]
    others = {id: entry for id, entry in there.items() if id not in entries}
    known = [id for id in changed if not failing.intersection(with_parts([id]))]
    if not same or known:
        other = "another seed or other versions" if whole else f"another run than {MANIFEST} there"
        why = f"{known[0]} comes out otherwise" if same else f"they are of {other}"
        return None, _gone(len(others), why)
    moot = [id for id, entry in others.items() if CLAIMS[id].parts and not set(changed).isdisjoint(with_parts([id]))]
    others = {id: entry for id, entry in others.items() if id not in moot}
    return _Earlier(document, was, others), _gone(len(moot), f"they follow from {', '.join(changed)}")


def _gone(count: int, why: str) -> str:
    """What is told of verdicts that do not stay; nothing where there are none."""
    return f"{count} verdict{'s' if count != 1 else ''} that stood there on other claims went: {why}" if count else ""


def _is_continuous(task: Task) -> bool:
    """Whether a task runs the kernels of continuous tokens."""
    return any(CLAIMS[job].paper == "cspd" if job in CLAIMS else job.startswith("continuous: ") for job in task.jobs)


def _measurements() -> ModuleType:
    """What is loaded only where something is measured: pandas, scikit-learn and what is measured with them."""
    from experiments.verification import measurements

    return measurements


def _compile_discrete() -> None:
    from experiments.verification.kernels import compile_discrete  # with Numba, for those that simulate alone

    compile_discrete()


def _compile_continuous() -> None:
    from experiments.verification.kernels import compile_continuous

    compile_continuous()
