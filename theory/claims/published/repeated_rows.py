"""Claims about what is printed more than once: in tables of a paper, quoted by another, and in its text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from theory.claims.base import Claims, Finding
from theory.claims.evidence import example
from theory.claims.format import numbers
from theory.claims.published.comparisons import Comparison, judged, together
from theory.claims.sources import derived, said
from theory.published.ledger import Ledger, Row, published

CLAIMS = Claims("published")

Setting = tuple[Mapping[str, str], Mapping[str, str]]  # parameters and columns that select the rows of one setting
COCO, PARTI, LUMINA = "MS-COCO-2017", "PartiPrompts", "Lumina-mGPT"


def setting(paper: str, table: str, method: str, params: Mapping[str, str] | None = None, **columns: str) -> Setting:
    """Where a setting is printed."""
    return params or {}, {"paper": paper, "table": table, "method": method, **columns}


def metrics(ledger: Ledger, where: Setting) -> dict[str, Row]:
    """The numbers of a setting by metric."""
    params, columns = where
    return {row.metric: row for row in ledger.select(params, **columns)}


def same(one: Row, other: Row) -> bool:
    """Whether both print one number, to the digits of the one that has fewer."""
    short, long = sorted((one, other), key=lambda row: row.decimals)
    return short.prints(long.value)


def shared(label: str, ledger: Ledger, one: Setting, other: Setting) -> list[Comparison]:
    """The metrics that are printed for both settings, compared one by one."""
    here, there = metrics(ledger, one), metrics(ledger, other)
    return [twice(f"{label}: {metric}", row, there[metric]) for metric, row in here.items() if metric in there]


def twice(label: str, one: Row, other: Row) -> Comparison:
    """One number that is printed in two places."""
    return Comparison(
        label,
        {"printed": one, "place": one.place, "printed again": other, "place again": other.place},
        same(one, other),
    )


# Within a paper ------------------------------------------------------------------------------------------------

REPEATED: dict[str, tuple[Setting, Setting]] = {
    "GSD, G = 50 on PartiPrompts": (
        setting("gsd", "1", "gsd", {"G": "50"}, dataset=PARTI),
        setting("gsd", "2", "gsd clustering=target+filters"),
    ),
    "SJD in GSD, on PartiPrompts": (setting("gsd", "1", "sjd", dataset=PARTI), setting("gsd", "2", "sjd")),
    "SJD-PAC, L = 64": (
        setting("sjd-pac", "1", "sjd-pac", dataset=COCO, target=LUMINA),
        setting("sjd-pac", "2", "sjd+pd+ac", {"L": "64"}),
    ),
    "SJD-PAC, K = 4, D = 3": (
        setting("sjd-pac", "2", "sjd+pd+ac", {"L": "64"}),
        setting("sjd-pac", "3", "sjd-pac", {"K": "4", "D": "3"}),
    ),
    "SJD, window 16, top-k 2000": (
        setting("sjd", "7", "sjd", {"top_k": "2000"}),
        setting("sjd", "9", "sjd", {"window": "16"}),
    ),
    "autoregressive, in SJD": (
        setting("sjd", "7", "ar", {"top_k": "2000"}),
        setting("sjd", "9", "sjd", {"window": "1"}),
    ),
    "LANTERN, largest delta at temperature 1": (
        setting("lantern", "text-1", "lantern"),
        setting("lantern", "text-4.2.1", "lantern"),
    ),
    "LANTERN, L2, TV below 0.2": (
        setting("lantern", "4", "lantern", {"metric": "l2", "delta": "0.2"}),
        setting("lantern", "4", "lantern", {"bound": "tvd", "delta": "0.2"}),
    ),
}


@CLAIMS.claim(
    "published.repeated",
    derived("GSD Tables 1, 2; SJD Tables 7, 9; SJD-PAC Tables 1 to 3; LANTERN introduction, 4.2.1, Tables 3, 4"),
    "Every number that one of the papers prints for one setting in two tables, or in a table and the text, is the same "
    "in both places.",
)
def repeated(seed: int) -> Finding:
    r"""Printed twice, a number is the same to the digits of the place that has fewer, but for one unit of a last digit:
    LANTERN's speedup over autoregressive decoding at temperature 1 and the largest $\delta$ is 1.64 in the introduction
    and 1.65 in section 4.2.1, as one number is that is cut off in one place and rounded in the other. LANTERN's text
    gives the rise of FID there, and Tables 3 and 4 the two values it is the difference of. CSpD's acceptance rates are
    a claim of their own (published.cspd-alpha), as is what GSD's text says (published.gsd-speed). SJD's step
    compression in SJD-PAC's Tables 1 and 2 is not counted, 2.22 and 2.31: the window is printed in one of them only
    (published.sjd-pac-baselines).
    """
    ledger = published()
    told = ledger.one(paper="lantern", table="text-1", metric="speedup")
    return judged(
        _repeated,
        ("numbers printed twice", "are the same both times", "are not the same both times"),
        {"LANTERN's introduction with 1.65 for 1.64": ledger.altered({told.line: 1.65})},
    )


def _repeated(ledger: Ledger) -> list[Comparison]:
    found = [c for label, (one, other) in REPEATED.items() for c in shared(label, ledger, one, other)]
    rise = ledger.one(paper="lantern", metric="FID_increase")
    base = ledger.one({"temperature": "1"}, paper="lantern", table="3", method="ar", metric="FID")
    high = ledger.one({"bound": "tvd", "delta": "0.4"}, paper="lantern", table="4", metric="FID")
    difference = high.interval - base.interval
    return [
        *found,
        Comparison(
            "LANTERN, rise of FID at delta = 0.4",
            {high.place: high, base.place: base, "difference": difference, "text": rise},
            difference.meets(rise.interval),
        ),
    ]


# Between papers ------------------------------------------------------------------------------------------------

AUTOREGRESSIVE: dict[str, tuple[Setting, ...]] = {
    COCO: tuple(setting(paper, "1", "ar", dataset=COCO, target=LUMINA) for paper in ("sjd", "gsd", "sjd-pac")),
    PARTI: tuple(
        setting(paper, table, "ar", dataset=PARTI, target=LUMINA)
        for paper, table in (("sjd", "2"), ("gsd", "1"), ("sjd-pac", "1"))
    ),
}


@CLAIMS.claim(
    "published.autoregressive",
    derived("SJD Tables 1, 2; GSD Table 1; SJD-PAC Table 1"),
    "SJD, GSD and SJD-PAC print one FID and one CLIP score of autoregressive decoding with Lumina-mGPT on MS-COCO "
    "2017, and one CLIP score on PartiPrompts.",
)
def autoregressive(seed: int) -> Finding:
    """All three name the 7B model at 768 x 768 and top-k 2000, and what else they name (guidance 3, temperature 1) does
    not differ. Their images are drawn separately, so that scores may differ by sampling, and evaluation code may
    differ. On MS-COCO the scores of GSD and SJD-PAC are one number to two digits. How far the papers are apart is a
    scale for differences between methods: these tables have no standard errors of scores.
    """
    ledger = published()
    scores = {row.line for _, rows in _papers(ledger) for row in rows}
    first: dict[tuple[str, str], float] = {}
    agreed = {
        row.line: first.setdefault((row.dataset, row.metric), float(row.value)) for row in ledger if row.line in scores
    }
    grouped = metrics(ledger, setting("gsd", "1", "gsd", {"G": "3"}, dataset=PARTI))["CLIP"]
    alone = [metrics(ledger, where)["CLIP"] for where in AUTOREGRESSIVE[PARTI]]
    gain = grouped.value - alone[1].value
    spread = max(row.value for row in alone) - min(row.value for row in alone)
    return judged(
        _autoregressive,
        ("scores, by pairs of papers,", "are the same", "are not the same"),
        {"every score the one SJD prints": ledger.altered(agreed)},
        [
            example(
                f"the scale it sets: on PartiPrompts GSD's G = 3 has CLIP {grouped.printed}, {gain} more than the "
                f"autoregressive row beside it, and the papers' autoregressive rows differ by up to {spread}",
                numbers(
                    gsd=grouped.printed,
                    autoregressive={row.place: row.printed for row in alone},
                    gain=str(gain),
                    spread=str(spread),
                ),
            )
        ],
    )


def _papers(ledger: Ledger) -> list[tuple[str, list[Row]]]:
    """For each dataset and score, its rows in the papers."""
    found = []
    for dataset, places in AUTOREGRESSIVE.items():
        printed = [metrics(ledger, where) for where in places]
        for score in ("FID", "CLIP"):
            found.append((f"{dataset}, {score}", [rows[score] for rows in printed if score in rows]))
    return found


def _autoregressive(ledger: Ledger) -> list[Comparison]:
    return [
        twice(f"{label}: {one.place}, {other.place}", one, other)
        for label, rows in _papers(ledger)
        for one, other in combinations(rows, 2)
    ]


# Quoted baselines ----------------------------------------------------------------------------------------------

SOURCES: dict[str, tuple[Setting, ...]] = {  # first the row as SJD-PAC prints it, then those it can be taken from
    "SJD on MS-COCO": (
        setting("sjd-pac", "1", "sjd", dataset=COCO, target=LUMINA),
        setting("sjd", "1", "sjd", dataset=COCO, target=LUMINA),
        setting("sjd", "1", "sjd-isp", dataset=COCO, target=LUMINA),
    ),
    "SJD on PartiPrompts": (
        setting("sjd-pac", "1", "sjd", dataset=PARTI, target=LUMINA),
        setting("sjd", "2", "sjd", dataset=PARTI, target=LUMINA),
        setting("sjd", "2", "sjd-isp", dataset=PARTI, target=LUMINA),
    ),
    "GSD, G = 10 on MS-COCO": (
        setting("sjd-pac", "1", "gsd", {"G": "10"}, dataset=COCO),
        setting("gsd", "1", "gsd", {"G": "10"}, dataset=COCO),
    ),
    "GSD, G = 50 on PartiPrompts": (
        setting("sjd-pac", "1", "gsd", {"G": "50"}, dataset=PARTI),
        setting("gsd", "1", "gsd", {"G": "50"}, dataset=PARTI),
    ),
}
OF_32 = setting("sjd-pac", "2", "sjd", {"L": "32"}, dataset=COCO, target=LUMINA)
RISING = ("step_compression", "speedup", "CLIP")  # metrics of which more is better


@CLAIMS.claim(
    "published.sjd-pac-baselines",
    derived(
        "SJD-PAC Tables 1, 2; SJD Tables 1, 2; GSD Table 1",
        "The paper reproduced baselines; equal rows are not what it promises, nor that its two tables are of one "
        "setting: Table 1 does not print the window of SJD.",
    ),
    "Each row of SJD and GSD on Lumina-mGPT in SJD-PAC's Table 1 equals a row of its source, of SJD with "
    "initialisation from neighbours or without and of GSD with the same group size, and the step compression of SJD on "
    "MS-COCO that of SJD-PAC's Table 2.",
)
def quoted_sjd(seed: int) -> Finding:
    """SJD prints two rows a model, without and with initialisation from neighbours (ISP). On PartiPrompts SJD-PAC has
    the row with ISP. On MS-COCO its speedup, FID and CLIP are those with ISP, and its step compression the one
    without: the difference is 0.01. SJD-PAC says that it reproduced baselines and prints the published value where
    its own is worse; a row put together from both can come of that (published.sjd-pac-baselines.protocol). SJD
    prints no numbers of Emu3.

    Six of the seven numbers of GSD are those of GSD's Table 1. The CLIP score on PartiPrompts is 31.25 where GSD has
    32.075 at G = 50; 31.25 is GSD's score of G = 10 on MS-COCO, the other row that is quoted. A sentence on quality
    rests on it (published.sjd-pac-drop). Rows of EAGLE, LANTERN++ and SJD2 cannot be compared: the papers they are from
    are not in the ledger.

    Within SJD-PAC, Table 1 has the 2.22 of SJD's own Table 1, Table 2 has 2.31 at a window of 32. Another window, other
    images or the rule that a published value stands in for a worse one of their own would explain it, though 2.31 is
    not worse. It matters to factors: 4.51 is 2.03 times the one and 1.95 times the other.
    """
    ledger = published()
    row = metrics(ledger, SOURCES["SJD on MS-COCO"][0])["step_compression"]
    score = metrics(ledger, SOURCES["GSD, G = 50 on PartiPrompts"][0])["CLIP"]
    own = metrics(ledger, OF_32)["step_compression"]
    return together(
        judged(
            lambda table: [_sourced(label, table) for label in ("SJD on MS-COCO", "SJD on PartiPrompts")],
            ("rows", "equal a row of the source", "equal no row of the source"),
            {"a step compression of 2.23 for 2.22": ledger.altered({row.line: 2.23})},
        ),
        judged(
            lambda table: [
                comparison
                for label in ("GSD, G = 10 on MS-COCO", "GSD, G = 50 on PartiPrompts")
                for comparison in shared(label, table, *SOURCES[label])
            ],
            ("numbers", "are those of the source", "are not those of the source"),
            {"a CLIP score of 32.08 on PartiPrompts": ledger.altered({score.line: 32.08})},
        ),
        judged(
            lambda table: shared("SJD in SJD-PAC, on MS-COCO", table, SOURCES["SJD on MS-COCO"][0], OF_32),
            ("pairs of rows", "are the same", "are not the same"),
            {"2.22 in Table 2": ledger.altered({own.line: 2.22})},
        ),
    )


@CLAIMS.claim(
    "published.sjd-pac-baselines.protocol",
    said(
        "SJD-PAC 5.1",
        "we use the official parameters and checkpoints from their respective papers. To ensure a fair comparison, if "
        "our reproduced metric for a baseline falls below its reported score, we report the published value.",
        "formalised",
        "Each metric is judged alone, and against the worst row that the baseline's paper prints for it. Baselines of "
        "papers other than SJD and GSD are left out.",
    ),
    "No step compression, speedup, FID or CLIP score of SJD or GSD on Lumina-mGPT in SJD-PAC's Table 1 is worse than "
    "in every row that the method's own paper prints for it.",
)
def protocol(seed: int) -> Finding:
    """If what is printed is the better of a reproduced and a published metric, it is never worse than the published
    one. The numbers of SJD's row on MS-COCO are, each for itself, in one of SJD's two rows. GSD's CLIP score on
    PartiPrompts is 31.25 where GSD prints 32.075: it is below by 0.8. It is GSD's score of another row
    (published.sjd-pac-baselines), so a misprint would explain it.
    """
    ledger = published()
    clip = metrics(ledger, SOURCES["GSD, G = 50 on PartiPrompts"][0])["CLIP"]
    return judged(
        lambda table: [each for label in SOURCES for each in _kept(label, table)],
        ("metrics", "are no worse than published", "are worse than published"),
        {"a CLIP score of 32.08 on PartiPrompts": ledger.altered({clip.line: 32.08})},
    )


def _kept(label: str, ledger: Ledger) -> Iterator[Comparison]:
    """The metrics of a quoted row, each beside the rows it can be taken from: it agrees if it is worse than not all."""
    quote, *sources = (metrics(ledger, where) for where in SOURCES[label])
    for metric, row in quote.items():
        better = 1 if metric in RISING else -1
        told = [rows[metric] for rows in sources]
        yield Comparison(
            f"{label}: {metric}",
            {"quoted": row} | {f"source: {each.method}": each for each in told},
            any(better * row.value > better * each.value or same(row, each) for each in told),
        )


def _sourced(label: str, ledger: Ledger) -> Comparison:
    """A quoted row beside those it can be taken from: it agrees if it is one of them, number by number."""
    quote, *sources = (metrics(ledger, where) for where in SOURCES[label])
    named = {"quoted": quote} | {f"source: {source['speedup'].method}": source for source in sources}
    text = {
        name: ", ".join(f"{metric.replace('_', ' ')} {rows[metric].printed}" for metric in quote)
        for name, rows in named.items()
    }
    return Comparison(
        label,
        text,
        any(all(same(row, source[metric]) for metric, row in quote.items()) for source in sources),
        beside=[row for rows in (quote, *sources) for row in rows.values()],
    )


# In the text --------------------------------------------------------------------------------------------------

PLACES = ("abstract", "text-1", "text-7")  # where the average speedup is


@CLAIMS.claim(
    "published.gsd-speed",
    derived(
        "GSD abstract, 1, 7",
        "It is not said of which rows it is the average. What section 5 says of G = 3 and of G = 50 are entries of "
        "their own (published.gsd-g3, published.gsd-g50).",
    ),
    "The average speedup of GSD's abstract is that of its introduction and that of its conclusion.",
)
def gsd_speed(seed: int) -> Finding:
    """It is 3.7 in the abstract, and 3.8 in the introduction and the conclusion. Table 1 has a step compression of 3.76
    at G = 50, which is 3.8 rounded and 3.7 cut off. The caption of Fig. 9 and the supplement say 3.6, as section 5 does
    of G = 50, and of Fig. 9 3.5.
    """
    ledger = published()
    average = ledger.one(paper="gsd", table="abstract")
    return judged(
        _averages,
        ("places", "have the average of the abstract", "have another average than the abstract"),
        {"3.8 in the abstract": ledger.altered({average.line: 3.8})},
    )


def _averages(ledger: Ledger) -> list[Comparison]:
    first, *others = (ledger.one(paper="gsd", table=place, metric="average_speedup") for place in PLACES)
    return [twice(f"average speedup, {other.place}", first, other) for other in others]
