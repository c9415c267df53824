"""Claims about the papers' printed numbers against each other: steps, latencies, speedups and quoted rows.

Every verdict is about what is printed. Where numbers do not agree, the argument names what could explain it, and the
evidence has the rows and the arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from theory.claims.base import Claims, Finding
from theory.claims.evidence import require_found
from theory.claims.published.comparisons import Comparison, judged
from theory.claims.sources import derived
from theory.published.ledger import Ledger, Row, published

CLAIMS = Claims("published")


# Latencies, steps and speedups ---------------------------------------------------------------------------------

COUNTED = {"latency_seconds": "speedup", "nfe": "step_compression"}  # what is measured, and the ratio printed of it


@CLAIMS.claim(
    "published.steps",
    derived("SJD Tables 1, 2, 4, 5; GSD Table 1", "No sentence says how one column follows from another."),
    "In SJD's Tables 1, 2, 4, 5 and GSD's Table 1 each speedup is the latency of autoregressive decoding over that of "
    "the method, and each step compression beside a number of calls is the ratio of those numbers, up to rounding.",
)
def steps(seed: int) -> Finding:
    """A printed quotient agrees if some latencies, or numbers of calls, that round to the printed ones have a quotient
    that rounds to it. SJD's Tables 4 and 5 share the autoregressive rows of its Tables 1 and 2. SJD prints no number
    of calls: its step compressions are means over images and cannot be computed again from its tables.
    """
    ledger = published()
    gsd = ledger.one({"G": "50"}, paper="gsd", dataset="PartiPrompts", method="gsd", metric="latency_seconds")
    anole = ledger.one(paper="sjd", table="4", target="Anole", method="sjd", metric="speedup")
    calls = ledger.one({"G": "25"}, paper="gsd", dataset="MS-COCO-2017", method="gsd", metric="nfe")
    return judged(
        _quotients,
        ("quotients", "are as printed", "are not as printed"),
        {
            "GSD's latency at G = 50 a second longer": ledger.altered({gsd.line: float(gsd.value) + 1}),
            "SJD's speedup of Anole 0.02 more": ledger.altered({anole.line: float(anole.value) + 0.02}),
            "GSD's calls at G = 25 ten more": ledger.altered({calls.line: float(calls.value) + 10}),
        },
    )


def _quotients(ledger: Ledger) -> Iterator[Comparison]:
    for row in ledger:
        ratio = ledger.beside(row, COUNTED[row.metric]) if row.metric in COUNTED else None
        if ratio is None or row.method == "ar":
            continue
        base = _autoregressive(ledger, row)
        quotient = base.interval / row.interval
        yield Comparison(
            f"{row.place}: {row.setting}: {ratio.metric}",
            {"autoregressive": base, "method": row, "quotient": quotient, "printed": ratio},
            quotient.meets(ratio.interval),
        )


def _autoregressive(ledger: Ledger, row: Row) -> Row:
    """The autoregressive row that ``row`` is measured against."""
    return ledger.one(method="ar", paper=row.paper, dataset=row.dataset, target=row.target, metric=row.metric)


@CLAIMS.claim(
    "published.gsd-latency",
    derived(
        "GSD Table 1",
        "GSD does not say so. SJD and SJD-PAC call step compression the theoretical acceleration ratio, which latency "
        "would not exceed if calls took no less time.",
    ),
    "In GSD's Table 1 no speedup in latency exceeds the step compression in the same row.",
)
def gsd_latency(seed: int) -> Finding:
    """A call that verifies 16 drafts does all that an autoregressive call does, and more: if calls cost at least as
    much, latency falls by no more than the number of calls. Where it falls by more, a call of the method took less
    time than a call of the autoregressive row of the same table. Averaging does not explain it: both columns are
    quotients of the printed means (published.steps). Nor do shorter or fewer calls as such: amplify with k = 3 makes
    fewer calls on PartiPrompts than any other row there, and they take longer than autoregressive ones. Latencies
    measured at other times, on another card, or with another version of the software would explain it; the table says
    nothing of these. SJD-PAC quotes two of these rows (published.sjd-pac-baselines).
    """
    ledger = published()
    rows = ledger.select(paper="gsd", table="1", metric="speedup")
    beside = [(row, ledger.beside(row, "step_compression")) for row in rows]
    bounded = {row.line: float(most.value) for row, most in beside if most and row.value > most.value}
    return judged(
        lambda table: _bounded(table, table.select(paper="gsd", table="1", metric="speedup")),
        ("rows", "have no more speedup than step compression", "have more speedup than step compression"),
        {"no speedup above the step compression beside it": ledger.altered(bounded)},
    )


@CLAIMS.claim(
    "published.latency-bound",
    derived("SJD Tables 1 to 5, LANTERN Table 3, SJD-PAC Table 1"),
    "In SJD's Tables 1 to 5, LANTERN's Table 3 and SJD-PAC's Table 1 without the rows of GSD, no speedup in latency "
    "exceeds the step compression or mean accepted length in the same row.",
)
def latency_bound(seed: int) -> Finding:
    """The bound of published.gsd-latency where other papers print both columns. It is an ordinary property of such
    tables: every row of these has it.
    """
    ledger = published()
    row = ledger.one(paper="sjd", table="2", target="Lumina-mGPT", method="sjd", metric="speedup")
    return judged(
        lambda table: _bounded(table, [r for r in table.select(metric="speedup") if "gsd" not in (r.paper, r.method)]),
        ("rows", "have no more speedup than they save steps", "have more speedup than they save steps"),
        {"SJD's speedup on PartiPrompts 2.32 for 2.12": ledger.altered({row.line: 2.32})},
    )


def _bounded(ledger: Ledger, speedups: Sequence[Row]) -> Iterator[Comparison]:
    """Speedups against the steps saved, where both are printed; with what a call takes, where that is known."""
    for row in speedups:
        saved = ledger.beside(row, "step_compression") or ledger.beside(row, "mean_accepted_length")
        if saved is None or row.method == "ar":
            continue
        numbers, rows = _call(ledger, row)
        yield Comparison(
            f"{row.place}: {row.setting}",
            {"speedup": row, "steps saved": saved, **numbers},
            not row.interval.exceeds(saved.interval),
            beside=rows,
        )


def _call(ledger: Ledger, row: Row) -> tuple[dict[str, str], list[Row]]:
    """Milliseconds a call of the method takes, and one of the autoregressive row, where the table has them."""
    latency, calls = ledger.beside(row, "latency_seconds"), ledger.beside(row, "nfe")
    if latency is None or calls is None:
        return {}, []
    base = [_autoregressive(ledger, latency), _autoregressive(ledger, calls)]
    took, alone = (f"{1000 * float(t.value / n.value):.1f}" for t, n in ((latency, calls), base))
    return {"ms a call": took, "ms an autoregressive call": alone}, [latency, calls, *base]


@CLAIMS.claim(
    "published.sjd-pac-overhead",
    derived("SJD-PAC Tables 1, 4", "The paper breaks down a step and compares it with no speedup."),
    "On Lumina-mGPT the speedup of SJD-PAC in its Table 1 is the step compression there times the duration of an "
    "autoregressive step over that of a step of SJD-PAC, both from its Table 4, up to rounding.",
)
def sjd_pac_overhead(seed: int) -> Finding:
    r"""A step takes $44.3 + 3.2 + 2.2 + 1.0 = 50.7$ ms, and an autoregressive one $40.8 + 1.0 = 41.8$ ms, so that a
    step compression of 4.51 is worth $4.51 \cdot 41.8 / 50.7 = 3.72$. The printed speedups are 2 and 4 % above that.
    Averages can do this: if the step compression is a quotient of sums and the speedup a mean over images, the mean is
    larger by about the squared coefficient of variation of the steps an image takes, and 15 to 20 % would be enough;
    the other way round the gap grows. Table 4 may also have been measured on other images than Table 1.
    """
    ledger = published()
    fast, faster = ledger.select(paper="sjd-pac", table="1", method="sjd-pac", target="Lumina-mGPT", metric="speedup")
    return judged(
        _overhead,
        ("rows", "have the speedup that follows", "have another speedup than follows"),
        {"speedups 3.72 and 3.81": ledger.altered({fast.line: 3.72, faster.line: 3.81})},
    )


def _overhead(ledger: Ledger) -> Iterator[Comparison]:
    times = {method: ledger.select(paper="sjd-pac", table="4", method=method) for method in ("ar", "sjd-pac")}
    alone, step = (
        sum((row.interval for row in rows[1:]), start=rows[0].interval) for rows in (times["ar"], times["sjd-pac"])
    )
    for row in ledger.select(paper="sjd-pac", table="1", method="sjd-pac", target="Lumina-mGPT", metric="speedup"):
        saved = require_found(ledger.beside(row, "step_compression"), f"{row.setting} has no step compression")
        follows = saved.interval / (step / alone)
        yield Comparison(
            f"{row.place}: {row.setting}",
            {
                "step compression": saved,
                "ms a step": step,
                "ms an autoregressive step": alone,
                "speedup that follows": follows,
                "printed": row,
            },
            follows.meets(row.interval),
            beside=(*times["ar"], *times["sjd-pac"]),
        )
