"""Claims about numbers in the running text of a paper against its tables."""

from __future__ import annotations

from theory.claims.base import Claims, Finding
from theory.claims.published.comparisons import Comparison, judged
from theory.claims.published.repeated_rows import COCO, PARTI, metrics, same, setting, twice
from theory.claims.sources import derived
from theory.published.ledger import Ledger, Row, published

CLAIMS = Claims("published")

PLACES = ("abstract", "text-1", "text-7")  # where the average speedup is
BASELINES = {"vanilla decoding": "ar", "Jacobi decoding": "jacobi", "SJD": "sjd"}


@CLAIMS.claim(
    "published.gsd-speed",
    derived(
        "abstract, 1, 5, 7, Table 1",
        "Averages are those of abstract, introduction and conclusion; Fig. 9 and the supplement say 3.6, as section "
        "5. Section 5 also says that G = 3 achieves higher performance with fewer NFEs: it does in CLIP score and "
        "calls, and not in FID.",
    ),
    "Every average speedup of GSD's abstract, introduction and conclusion, every speedup at $G = 50$ in its text, and "
    "that at $G = 3$ it needs fewer calls for no worse scores than vanilla decoding and the lossless methods, agrees "
    "with what its abstract, introduction, conclusion and Table 1 print.",
)
def gsd_speed(seed: int) -> Finding:
    r"""The average speedup is 3.7 in the abstract, and 3.8 in the introduction and the conclusion; it is not said of
    which rows it is the average. Table 1 has a step compression of 3.76 at $G = 50$, which is 3.8 rounded and 3.7 cut
    off. Of $G = 50$ section 5 says 3.6 over vanilla decoding, where Table 1 has 3.76 in calls and 4.65 in latency, both
    more; and 1.63 over SJD, which is the ratio of calls. At $G = 3$ calls are fewer and CLIP scores higher than those
    of all three baselines on both sets of prompts; FID on MS-COCO is 31.50, where vanilla decoding has 30.79 and the
    lossless methods have 30.78. A difference of 0.7 in FID may be chance: SJD's own table has 0.28 between two lossless
    rows.
    """
    ledger = published()
    average = ledger.one(paper="gsd", table="abstract")
    vanilla = ledger.one(paper="gsd", table="text-5", metric="speedup_over_ar")
    fid = metrics(ledger, setting("gsd", "1", "gsd", {"G": "3"}, dataset=COCO))["FID"]
    return judged(
        _text,
        ("statements", "are what is printed elsewhere", "are not what is printed elsewhere"),
        {
            "an average of 3.8, 3.8 over vanilla decoding and an FID of 30.70": ledger.altered(
                {average.line: 3.8, vanilla.line: 3.8, fid.line: 30.7}
            )
        },
    )


def _text(ledger: Ledger) -> list[Comparison]:
    first, *others = (ledger.one(paper="gsd", table=place, metric="average_speedup") for place in PLACES)
    found = [twice(f"average speedup, {other.place}", first, other) for other in others]
    found += [_at_50(ledger, name) for name in ("vanilla decoding", "SJD")]
    for dataset in (PARTI, COCO):
        own = metrics(ledger, setting("gsd", "1", "gsd", {"G": "3"}, dataset=dataset))
        for name, method in BASELINES.items():
            base = metrics(ledger, setting("gsd", "1", method, dataset=dataset))
            for metric in ("nfe", "CLIP", "FID"):
                if metric in own:
                    found.append(_at_3(f"G = 3 on {dataset}, {metric}, {name}", own[metric], base[metric]))
    return found


def _at_50(ledger: Ledger, name: str) -> Comparison:
    """A speedup that the text gives, beside what the table gives in calls and in latency."""
    method = BASELINES[name]
    told = ledger.one(paper="gsd", table="text-5", metric=f"speedup_over_{method}")
    own = metrics(ledger, setting("gsd", "1", "gsd", {"G": "50"}, dataset=PARTI))
    base = metrics(ledger, setting("gsd", "1", method, dataset=PARTI))
    ratios = {metric: base[metric].interval / own[metric].interval for metric in ("nfe", "latency_seconds")}
    calls, latency = ratios.values()
    return Comparison(
        f"G = 50 over {name}",
        {"text": told, "Table 1 in calls": calls, "in latency": latency},
        any(ratio.meets(told.interval) for ratio in ratios.values()),
        beside=[rows[metric] for rows in (own, base) for metric in ratios],
    )


def _at_3(label: str, own: Row, base: Row) -> Comparison:
    """A number of the row of G = 3 beside a baseline's: it agrees unless it is worse."""
    rises = own.metric == "CLIP"
    better = own.value > base.value if rises else own.value < base.value
    return Comparison(label, {"G = 3": own, "baseline": base}, better or (same(own, base) and own.metric != "nfe"))
