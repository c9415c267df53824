"""Saved JSON documents: a certificate, a self-test of the certifier, a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reports.data.files import are_rows, read_json, unreadable

CERTIFICATE, CERTIFY = "certificate.json", "simlab certify SPEC"
SELF_TEST, CERTIFY_SELF_TEST = "selftest.json", "simlab certify --self-test"
BENCHMARKS, BENCH = "bench.json", "simlab bench --json out/bench.json"
BUG = {
    "contract", "mutant", "name", "by", "diagnosis", "named", "sampled", "sampled_calls", "sampled_diagnosis",
    "sampled_named", "case", "calls_for_power", "calls_in_a_pass", "confirmed",
}  # fmt: skip
PASS = {"contract", "name", "verdict", "seconds", "tv_at_most", "detectable"}
CORRECT = {"contract", "name", "runs", "calls_a_run", "false_alarms", "rate_at_most", "stated", "fault"}
RATIO = {"benchmark", "what", "contender", "against", "kind", "per", "value", "at_least", "at_most", "met"}
TIME = {"benchmark", "what", "contender", "work", "fastest", "cores", "seconds"}


def read_certificate(out: Path) -> dict[str, Any]:
    """The certificate in ``out``.

    Raises ``FileNotFoundError`` where there is none and :class:`~reports.data.files.Unreadable` where the file is
    another.
    """
    return read_json(out / CERTIFICATE, CERTIFY, {"verdict", "meaning", "lines", "failure", "command"})


def read_self_test(out: Path) -> dict[str, Any]:
    """The self-test in ``out``; raises as :func:`read_certificate`."""
    document = read_json(out / SELF_TEST, CERTIFY_SELF_TEST)
    tables = {"bugs": BUG, "correct": CORRECT, "passes": PASS}
    complete = {"simlab", "seed", "versions", "missed", "rejected"} <= document.keys()
    if not complete or not all(document.get(name) and are_rows(document[name], keys) for name, keys in tables.items()):
        raise unreadable(out / SELF_TEST, "it is no self-test", CERTIFY_SELF_TEST)
    return document


def read_benchmarks(out: Path) -> dict[str, Any] | None:
    """The benchmark in ``out``, if there is one; raises :class:`~reports.data.files.Unreadable` for another file."""
    path = out / BENCHMARKS
    if not path.exists():
        return None
    document = read_json(path, BENCH)
    rows = are_rows(document.get("ratios"), RATIO) and are_rows(document.get("times"), TIME)
    if not (rows and isinstance(document.get("machine"), dict) and isinstance(document.get("notes"), list)):
        raise unreadable(path, "it is no document of a benchmark", BENCH)
    return document
