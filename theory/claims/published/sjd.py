"""Claims about sentences of SJD on its own printed numbers: speed, perplexities and probabilities of tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import sqrt

from theory.claims.base import Claims, Finding
from theory.claims.evidence import require_found
from theory.claims.published.comparisons import Comparison, judged, undecided
from theory.claims.published.repeated_rows import LUMINA
from theory.claims.sources import said
from theory.published.ledger import Interval, Ledger, Row, published

CLAIMS = Claims("published")

GAINS = ("speedup", "step_compression")
MAIN = ("1", "2")  # MS-COCO and PartiPrompts


def _printed(ledger: Ledger, tables: Sequence[str], methods: Sequence[str], *metrics: str) -> list[Row]:
    """What SJD prints of methods."""
    rows = [row for table in tables for row in ledger.select(paper="sjd", table=table)]
    return [row for row in rows if row.method in methods and row.metric in metrics]


def _against(row: Row, bound: Fraction, above: bool) -> Comparison:
    """A printed number that is to be above a bound, or not."""
    label = f"{row.place}, {row.dataset}, {row.target}, {row.method}: {row.metric.replace('_', ' ')}"
    high = row.interval.low > bound
    return Comparison(label, {"printed": row}, high is above)


# Speed ---------------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "published.sjd-speed",
    said(
        "SJD 5.2; Tables 1, 2",
        "we observe that our probabilistic method greatly accelerates the generation by more than 2× while the "
        "Jacobi decoding cannot.",
        "formalised",
        "Said of configurations B, C and D, on Lumina-mGPT; both columns count, latency and steps. That Jacobi "
        "decoding cannot is read as not by more than 2. On Anole the paper says a step compression of about 2, and its "
        "tables have 1.94 to 2.11.",
    ),
    "Every speedup and step compression that SJD's Tables 1 and 2 print for SJD on Lumina-mGPT is above 2, and none "
    "that they print for Jacobi decoding is.",
)
def speed(seed: int) -> Finding:
    """The speedups are 2.04 to 2.13 and the step compressions 2.22 to 2.28; Jacobi decoding has 1.01 to 1.04."""
    ledger = published()
    (first, *_) = _printed(ledger, MAIN, ("sjd",), "speedup")
    return judged(
        _speeds,
        ("factors", "are as said", "are not as said"),
        {"SJD's speedup on MS-COCO 1.99": ledger.altered({first.line: 1.99})},
    )


def _speeds(ledger: Ledger) -> list[Comparison]:
    rows = [row for row in _printed(ledger, MAIN, ("sjd", "sjd-isp", "jacobi"), *GAINS) if row.target == LUMINA]
    return [_against(row, Fraction(2), row.method != "jacobi") for row in rows]


@CLAIMS.claim(
    "published.sjd-beyond-3",
    said(
        "SJD 1",
        "Moreover, the acceleration ratio can be beyond 3× in certain scenarios containing simple patterns.",
        "formalised",
        "One such prompt is enough. The tables print means over prompts.",
    ),
    "There is a prompt of simple patterns for which an image model of the paper with SJD has a step compression "
    "above 3.",
)
def beyond_three(seed: int) -> Finding:
    """The tables print means over sets of prompts, none of which is above 3, so that they do not decide it: single
    prompts are in Figures 1 and 9, without a table. That SJD commits more than 3 tokens a call on some target is
    certain (sjd.refinement.sticky), and says nothing of these models.
    """
    ledger = published()
    rows = _single(ledger)
    return undecided(
        judged(
            lambda table: [_against(row, Fraction(3), above=True) for row in _single(table)],
            ("mean step compressions", "are above 3", "are not above 3"),
            {"all of them 3.1": ledger.altered({row.line: 3.1 for row in rows})},
        )
    )


def _single(ledger: Ledger) -> list[Row]:
    return _printed(ledger, ("1", "2", "3", "4", "5"), ("sjd", "sjd-isp"), "step_compression")


ANOLE = ("1", "2", "4", "5")


@CLAIMS.claim(
    "published.sjd-anole",
    said(
        "SJD D; Tables 1, 2, 4, 5",
        "consistent with the results on Lumina-mGPT, SJD with spatial token initialization can create larger "
        "acceleration ratios than other decoding methods on Anole, and the cost of visual quality is small.",
        "formalised",
        "Other methods are those of the tables, SJD without that initialisation among them. The scale for a small "
        "cost is Jacobi decoding, which the paper does not say costs quality.",
    ),
    "In SJD's Tables 1, 2, 4 and 5, SJD with spatial initialisation has a larger speedup and step compression on Anole "
    "than Jacobi decoding and SJD without it; its FID is above vanilla decoding's by less than that of Jacobi decoding "
    "is, and no CLIP score is lower.",
)
def anole(seed: int) -> Finding:
    """The speedups are 1.87 and 1.92, next are 1.81 and 1.80. FID is 0.27 higher than vanilla decoding's, that of
    Jacobi decoding 0.47; both CLIP scores are higher. The gain over SJD without that initialisation is 1.5 % to 7 %.
    """
    ledger = published()
    (first, *_) = [row for row in _printed(ledger, ANOLE, ("sjd-isp",), "speedup") if row.target == "Anole"]
    return judged(
        _anole,
        ("comparisons", "are as said", "are not as said"),
        {"a speedup of 1.80 on MS-COCO": ledger.altered({first.line: 1.8})},
    )


def _anole(ledger: Ledger) -> Iterator[Comparison]:
    rows = {
        (row.dataset, row.method, row.metric): row
        for row in _printed(ledger, ANOLE, ("ar", "jacobi", "sjd", "sjd-isp"), *GAINS, "FID", "CLIP")
        if row.target == "Anole"
    }
    for (dataset, method, metric), own in rows.items():
        if method == "sjd-isp" and metric in GAINS:
            others = [rows[dataset, other, metric] for other in ("jacobi", "sjd")]
            yield Comparison(
                f"{dataset}, {metric.replace('_', ' ')}",
                {"spatial": own} | {row.method: row for row in others},
                all(own.interval.exceeds(row.interval) for row in others),
            )
        elif method == "sjd-isp":
            base, jacobi = (rows[dataset, other, metric] for other in ("ar", "jacobi"))
            yield Comparison(
                f"{dataset}, {metric}",
                {"spatial": own, "vanilla": base, "jacobi": jacobi},
                own.value < jacobi.value if metric == "FID" else own.value >= base.value,
            )


TEXT = Interval(Fraction("2.425"), Fraction("2.435"))  # section 5.4: 2.43


@CLAIMS.claim(
    "published.sjd-resolution",
    said(
        "SJD 5.4, Fig. 7",
        "Moreover, with higher resolutions, the acceleration can be slightly better. For example, SJD achieves "
        "2.43× acceleration for 1024×1024 images.",
        "weaker",
        "Fig. 7 compares one set of prompts at three resolutions, and no table has its ratios. Other prompts are "
        "compared here: 2.43 with the tables' step compressions at 768 x 768.",
    ),
    "The step compression of 2.43 that SJD's section 5.4 gives for images of 1024 x 1024 is above every one that its "
    "Tables 1 and 2 print for Lumina-mGPT at 768 x 768.",
)
def resolution(seed: int) -> Finding:
    """The tables have 2.22 to 2.28. Prompts differ between them by 0.05, less than the 0.15 that 2.43 is above them."""
    ledger = published()
    highest = max(_at_768(ledger), key=lambda row: row.value)
    return judged(
        lambda table: [
            Comparison(
                f"{row.place}, {row.dataset}, {row.method}",
                {"at 768": row, "at 1024": "2.43"},
                TEXT.exceeds(row.interval),
            )
            for row in _at_768(table)
        ],
        ("step compressions", "are below 2.43", "are not below 2.43"),
        {"the highest 2.45": ledger.altered({highest.line: 2.45})},
    )


def _at_768(ledger: Ledger) -> list[Row]:
    rows = _printed(ledger, MAIN, ("sjd", "sjd-isp"), "step_compression")
    return [row for row in rows if row.target == LUMINA]


@CLAIMS.claim(
    "published.sjd-spatial",
    said(
        "SJD 5.4, Fig. 9",
        "The results show that the average step compression with the spatial-prior-aware initialization is much "
        "greater than that using the random initialization.",
        "formalised",
        "Much greater is read as by more than the tables have on general prompts, where section 5.2 says marginal: "
        "up to 5.5 %, on Anole.",
    ),
    "On Lumina-mGPT with the prompt of a white box in a black background, the mean step compression of SJD is greater "
    "with each of the four spatial initialisations than with random initialisation, by more than 5.5 %.",
)
def spatial(seed: int) -> Finding:
    """The ratios of Fig. 9 are in no table: Table 10 has the scores of its images alone. What the tables have of
    initialisations is of general prompts, 0.5 % to 5.5 %, and decides nothing about this one.
    """
    ledger = published()
    pairs = [one for one, _ in _pairs(ledger)]
    return undecided(
        judged(
            _initialised,
            ("differences, of general prompts,", "are more than 5.5 %", "are at most 5.5 %"),
            {"all of them a quarter": ledger.altered({row.line: float(row.value) * 1.25 for row in pairs})},
        )
    )


def _pairs(ledger: Ledger) -> list[tuple[Row, Row]]:
    """Step compressions with initialisation from neighbours, each beside the one of the same model without."""
    rows = _printed(ledger, ("1", "2", "4", "5"), ("sjd", "sjd-isp"), "step_compression")
    random = {(row.dataset, row.target): row for row in rows if row.method == "sjd"}
    return [(row, random[row.dataset, row.target]) for row in rows if row.method == "sjd-isp"]


def _initialised(ledger: Ledger) -> list[Comparison]:
    return [
        Comparison(
            f"{other.dataset}, {other.target}",
            {"random": other, "spatial": one, "more": f"{float(one.value / other.value - 1):.1%}"},
            (one.interval / other.interval).low > Fraction(211, 200),
        )
        for one, other in _pairs(ledger)
    ]


# Probabilities of tokens ---------------------------------------------------------------------------------------


@CLAIMS.claim(
    "published.sjd-perplexity-close",
    said(
        "SJD D, Table 6",
        "Given an identical K value, the perplexities between our method and other decoding methods are close.",
        "formalised",
        "The scale is that of the table: close is nearer to each other, as a ratio, than to any perplexity at another "
        "K. A second scale agrees: SJD's two rows, which have one law, are 9 % apart at K = 2000.",
    ),
    "In SJD's Table 6, perplexities of two decoding methods at one K have a smaller ratio than perplexities at "
    "different K.",
)
def close(seed: int) -> Finding:
    """As algorithms all four methods have one law, so that perplexities would differ by chance alone. At K = 2000 they
    are 197.64 to 217.96, a ratio of 1.10, and SJD's is 6.8 % above autoregression's; at 100 and 10 the ratios are 1.02.
    From one K to the next it is more than 4.
    """
    ledger = published()
    most = next(row for row in _perplexities(ledger) if row.method == "sjd" and row.params["top_k"] == "2000")
    return judged(
        _close,
        ("values of K", "have close perplexities", "do not have close perplexities"),
        {"SJD's at K = 2000 ten times as large": ledger.altered({most.line: float(most.value) * 10})},
    )


def _perplexities(ledger: Ledger) -> list[Row]:
    return ledger.select(paper="sjd", table="6", metric="perplexity")


def _close(ledger: Ledger) -> Iterator[Comparison]:
    rows = _perplexities(ledger)
    for k in dict.fromkeys(row.params["top_k"] for row in rows):
        here = sorted((row for row in rows if row.params["top_k"] == k), key=lambda row: row.value)
        others = [row for row in rows if row.params["top_k"] != k]
        within = here[-1].value / here[0].value
        between = min(max(a.value, b.value) / min(a.value, b.value) for a in here for b in others)
        yield Comparison(
            f"K = {k}",
            {row.method: row for row in here}
            | {"largest ratio": f"{within:.3f}", "smallest ratio to another K": f"{between:.3f}"},
            within < between,
        )


@CLAIMS.claim(
    "published.sjd-preference",
    said(
        "SJD D, Table 7",
        "From Tab. 7, given any K values in the top-K sampling strategies, we can observe that the human preferences "
        "are also not much different among the original auto-regressive decoding, the original Jacobi decoding, and "
        "our SJD.",
        "stronger",
        "Not much has no number, and the table none to measure it by. The scale taken is more than the sentence says: "
        "not more than any two of the nine scores with K = 10, 100 and 2000 differ, of whatever methods and K. At "
        "top-1 more than a quarter of autoregression's score is lost with Jacobi decoding. The caption says that "
        "images at top-1 are poor, which is no difference between methods. At the other K scores are 0.0018 to 0.0138 "
        "apart, which this scale, made of them, allows by itself.",
    ),
    "In SJD's Table 7, HPSv2 of autoregressive decoding, Jacobi decoding and SJD at one K differ by no more than the "
    "largest difference between two scores of the table with K = 10, 100 and 2000.",
)
def preference(seed: int) -> Finding:
    """At top-1 the scores are 0.1976, 0.1413 and 0.1695, 0.0563 apart, where all with larger K lie between 0.2942 and
    0.3103, 0.0161 apart. The three methods would give one and the same image at top-1 (sjd.greedy).
    """
    ledger = published()
    jacobi, own = (row for row in _preferences(ledger) if row.params["top_k"] == "1" and row.method != "ar")
    return judged(
        _preferred,
        ("values of K", "have scores that differ by no more", "have scores that differ by more"),
        {"0.1976 and 0.1970 printed at top-1": ledger.altered({jacobi.line: 0.1976, own.line: 0.1970})},
    )


def _preferences(ledger: Ledger) -> list[Row]:
    return ledger.select(paper="sjd", table="7", metric="HPSv2")


def _preferred(ledger: Ledger) -> Iterator[Comparison]:
    rows = sorted(_preferences(ledger), key=lambda row: row.value)
    others = [row for row in rows if row.params["top_k"] != "1"]
    most = others[-1].interval - others[0].interval
    for k in ("1", "10", "100", "2000"):
        here = [row for row in rows if row.params["top_k"] == k]
        yield Comparison(
            f"K = {k}",
            {row.method: row for row in here}
            | {"apart": str(here[-1].value - here[0].value), "at most": str(others[-1].value - others[0].value)},
            not (here[-1].interval - here[0].interval).exceeds(most),
            beside=(others[0], others[-1]),
        )


IMAGE = 2357  # tokens of one at 768 x 768, at least


@CLAIMS.claim(
    "published.sjd-token-statistics",
    said(
        "SJD D, Table 11",
        "Consequently, our method generally does not mistakenly accept tokens with lower probabilities.",
        "weaker",
        "This is about the mean, in which the paper sees it; a mean can hide single tokens. That SJD is lossless is a "
        "proof (sjd.theorem-1). The table does not say of how many images it is.",
    ),
    "In SJD's Table 11, the mean log-probability of SJD's tokens is below that of autoregressive decoding by less than "
    "the standard error of the difference of two images of 2,357 independent tokens.",
)
def statistics(seed: int) -> Finding:
    """The means differ by 0.0057, where the deviation between tokens is 2.3, so that one image's mean has a standard
    error of 0.048, and more if its tokens depend on each other, and the difference of two images 0.068. The difference
    would be one standard error with 143 images each.
    """
    ledger = published()
    own = ledger.one(paper="sjd", table="11", method="sjd")
    return judged(
        _statistics,
        ("means", "differ by less", "do not differ by less"),
        {"SJD's mean -5.1": ledger.altered({own.line: -5.1})},
    )


def _statistics(ledger: Ledger) -> list[Comparison]:
    base, own = (ledger.one(paper="sjd", table="11", method=method) for method in ("ar", "sjd"))
    spread = [float(require_found(row.std, "no deviation in Table 11")) for row in (base, own)]
    apart, error = float(base.value - own.value), sqrt(sum(each**2 for each in spread) / IMAGE)
    return [
        Comparison(
            "SJD below autoregressive decoding",
            {"autoregressive": base, "SJD": own, "below": f"{apart:.4f}", "error": f"{error:.4f}"},
            apart < error,
        )
    ]
