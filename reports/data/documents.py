"""Saved JSON documents: a certificate, a self-test of the certifier, a benchmark, what devices and models measured."""

from __future__ import annotations

from pathlib import Path

from reports.data.files import Document, Rows, having

CERTIFICATE = Document(
    Path("certificate.json"),
    "simlab certify SPEC",
    having(
        *("simlab", "subject", "about", "signature", "verdict", "meaning", "summary", "lines", "failure", "exact"),
        *("forced", "notes", "epsilon", "confidence", "false_alarms", "budget", "calls", "seconds", "seed"),
        *("command", "versions"),
    ),
)
SELF_TEST = Document(
    Path("selftest.json"),
    "simlab certify --self-test",
    having(
        *("simlab", "seed", "versions", "missed", "rejected"),
        bugs=Rows(
            having(
                *("contract", "mutant", "name", "by", "diagnosis", "named", "sampled", "sampled_calls", "case"),
                *("sampled_diagnosis", "sampled_named", "calls_for_power", "calls_in_a_pass", "confirmed"),
            )
        ),
        passes=Rows(having("contract", "name", "verdict", "seconds", "tv_at_most", "detectable")),
        correct=Rows(
            having("contract", "name", "runs", "calls_a_run", "false_alarms", "rate_at_most", "stated", "fault")
        ),
    ),
)
RATIO = having("benchmark", "what", "contender", "against", "kind", "per", "value", "at_least", "at_most", "met")
BENCHMARKS = Document(
    Path("bench.json"),
    "simlab bench --json out/bench.json",
    having(
        machine=dict,
        notes=list,
        ratios=Rows(RATIO, 0),
        times=Rows(having("benchmark", "what", "contender", "work", "fastest", "cores", "seconds"), 0),
    ),
)
REPLAY = Document(  # of rows
    Path("replay", "replay.json"),
    "simlab replay out/rows.npz --out out/replay",
    having("recording", "rows", "windows", "rules"),
)
DEVICE = Document(
    Path("device.json"),
    "simlab model device --device cuda --out out/device.json",
    having("device", "versions", "small", "window", "breakdown", "verification"),
)
MAP = Document(
    Path("map.json"),
    "simlab model device --map --out out/map.json",
    having("device", "threads", "clock", "versions", "sampling", "costs", "predicted", "measured", "auto"),
)
COMPARISON = Document(
    Path("compare", "compare.json"),
    "simlab compare --out out/compare",
    having(
        *("model", "shape", "vocabulary", "classes", "sampling", "n", "seed", "device", "threads", "machine"),
        *("clock", "versions", "memory", "measures", "nearest_codes", "testing", "locality"),
        methods=Rows(
            having(
                *("method", "decoder", "rule", "drafter", "lossless", "nodes", "rows", "steps", "compression"),
                *("committed", "accepted", "quality", "distortion", "checks"),
                timing=Rows(
                    having(
                        *("batch", "seconds", "step_ms", "ms", "speedup", "speedup_error", "predicted", "peak_bytes")
                    ),
                    0,
                ),
            )
        ),
    ),
)
PAIR = Document(  # of continuous tokens
    Path("compare", "compare-continuous.json"),
    "simlab compare --model fashion-continuous --out out/compare",
    having(
        *("model", "shape", "dimension", "classes", "settings", "gamma", "prefill", "n", "seed", "device", "testing"),
        methods=Rows(
            having(
                *("method", "lossless", "noisy_end", "acceptance", "steps", "proposals", "timing", "quality"),
                *("log_sigma", "gap", "checks"),
            )
        ),
    ),
)
