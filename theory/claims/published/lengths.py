"""Claims about printed acceptance against printed lengths (LANTERN), and about perplexities (SJD)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from math import exp, log, sqrt

from theory.claims.base import Claims, Finding
from theory.claims.evidence import require_found
from theory.claims.published.comparisons import Comparison, judged, together
from theory.claims.sources import derived
from theory.published.ledger import Interval, Ledger, Row, published

CLAIMS = Claims("published")


# Accepted lengths ----------------------------------------------------------------------------------------------

CANDIDATES = 60  # that the target verifies at once (appendix C)
# Rows of Table 2; the table and the rows of a length.
SETTINGS: dict[str, tuple[dict[str, str], tuple[str, dict[str, str]]]] = {
    "EAGLE-2": ({}, ("3", {"temperature": "1"})),
    "delta = 0.05": ({"k": "1000", "delta": "0.05"}, ("4", {"metric": "l2", "delta": "0.05"})),
    "delta = 0.1": ({"k": "1000", "delta": "0.1"}, ("3", {"temperature": "1", "delta": "0.1"})),
    "delta = 0.2": ({"k": "1000", "delta": "0.2"}, ("4", {"metric": "l2", "delta": "0.2"})),
    "delta = 0.4": ({"k": "1000", "delta": "0.4"}, ("4", {"bound": "tvd", "delta": "0.4"})),
}


def _printed(ledger: Ledger) -> dict[str, tuple[Row, Row]]:
    """The accept probability of the first draft and the mean accepted length, by setting, at temperature 1."""
    found = {}
    for name, (params, (table, others)) in SETTINGS.items():
        method = "eagle-2" if name == "EAGLE-2" else "lantern"
        rate = ledger.one(params, paper="lantern", table="2", method=method)
        length = ledger.one(others, paper="lantern", table=table, method=method, metric="mean_accepted_length")
        found[name] = (rate, length)
    return found


@CLAIMS.claim(
    "published.accepted-length",
    derived("LANTERN Tables 2 to 4, appendix C", "The paper gives 60 candidates and not the shape of their tree."),
    "For EAGLE-2 and for LANTERN at $k = 1000$ and each of four $\\delta$ there is a tree of at most 60 candidates "
    "whose mean accepted length, with each candidate accepted as often as the first draft of LANTERN's Table 2, is at "
    "least that of Tables 3 and 4, up to rounding; and a larger accept probability goes with a larger length.",
    assumptions=[
        "independent siblings: a candidate is accepted with the first draft's probability, whatever its depth and "
        "whatever becomes of its siblings",
        "temperature 1: Table 2, which does not say, is for the temperature of the lengths it is held against",
        "counted token: the mean accepted length counts the token after the accepted drafts, as it is 1.00 without "
        "drafts",
    ],
)
def accepted_length_tree(seed: int) -> Finding:
    r"""Rows of the tables are put side by side by temperature 1. With independent siblings, if every node has $m$
    children, and each is accepted with probability $a$, some child is with probability $b = 1 - (1 - a)^m$, and a tree
    of depth $D$ has, with the counted token, the mean length $1 + b + ... + b^D$, for $m + ... + m^D$ candidates. For
    each row some tree of at most 60 is long enough, and thinner ones have every length below. So no row contradicts
    another: the numbers fit together. Which tree was drafted is not printed, and the five rows may share it: 5 children
    to a depth of 2 come near four of them, and to 2.70 for 2.40 at $\delta = 0.4$, as if siblings were less independent
    the more is accepted.

    A single chain of any length, each draft accepted with probability $a$, has a mean of $1 + a + a^2 + ...$, below $1
    / (1 - a)$. All five printed lengths are above it: they are lengths of trees, in which a position has several
    candidates, and $a$ is the probability of the first. The number of independent siblings a level that would give the
    length in a tree of any depth is in the table; it falls as $\delta$ grows.
    """
    ledger = published()
    row = ledger.one({"temperature": "1"}, paper="lantern", table="3", method="eagle-2", metric="mean_accepted_length")
    least = ledger.one({"metric": "l2", "delta": "0.05"}, paper="lantern", table="4", metric="mean_accepted_length")
    found = together(
        judged(
            _trees,
            ("lengths", "are within reach of a tree of 60", "are out of reach of a tree of 60"),
            {"a length of 2.20 for EAGLE-2": ledger.altered({row.line: 2.2})},
        ),
        judged(
            _orders,
            ("neighbouring settings", "are in the same order in both", "are not in the same order in both"),
            {"a length of 1.80 for delta = 0.05": ledger.altered({least.line: 1.8})},
        ),
    )
    chains = judged(
        _chains,
        ("lengths", "are within reach of a chain", "are out of reach of a chain, beyond rounding"),
        {"every length 1.00": ledger.altered({length.line: 1.0 for _, length in _printed(ledger).values()})},
    )
    return Finding(found.verdict, [*found.evidence, *chains.evidence])


def _trees(ledger: Ledger) -> list[Comparison]:
    found, shapes = [], _shapes()
    for name, (rate, length) in _printed(ledger).items():
        reached = [(n, m, d, tree_length(rate.interval.high, m, d)) for n, m, d in shapes]
        enough = [shape for shape in reached if shape[3] >= length.interval.low]
        candidates, children, depth, most = enough[0] if enough else max(reached, key=lambda shape: shape[3])
        found.append(
            Comparison(
                name,
                {
                    "first draft accepted": rate,
                    "mean length": length,
                    "children": children,
                    "depth": depth,
                    "candidates": candidates,
                    "length of this tree": f"{float(most):.2f}",
                    "5 children, depth 2": f"{float(tree_length(Fraction(rate.value), 5, 2)):.2f}",
                },
                bool(enough),
            )
        )
    return found


def _shapes() -> list[tuple[int, int, int]]:
    """Candidates, children and depth of the full trees there are room for, small ones first."""
    numbers = range(1, CANDIDATES + 1)
    near = ((children, depth) for children in numbers for depth in numbers if children == 1 or 2**depth <= CANDIDATES)
    shapes = ((size(children, depth), children, depth) for children, depth in near)
    return sorted(shape for shape in shapes if shape[0] <= CANDIDATES)


def size(children: int, depth: int) -> int:
    """Candidates of a tree without its root."""
    return sum(children**level for level in range(1, depth + 1))


def tree_length(rate: Fraction, children: int, depth: int) -> Fraction:
    """Mean length of a tree whose nodes are accepted independently with probability ``rate``."""
    some = 1 - (1 - rate) ** children
    return sum((some**level for level in range(1, depth + 1)), start=Fraction(1))


def _orders(ledger: Ledger) -> Iterator[Comparison]:
    settings = sorted(_printed(ledger).items(), key=lambda item: item[1][0].value)
    for (name, (rate, length)), (other, (more, longer)) in pairwise(settings):
        yield Comparison(
            f"{name}, {other}",
            {"accepted": f"{rate.printed}, {more.printed}", "lengths": f"{length.printed}, {longer.printed}"},
            longer.value > length.value,
            beside=(rate, length, more, longer),
        )


def _chains(ledger: Ledger) -> Iterator[Comparison]:
    for name, (rate, length) in _printed(ledger).items():
        most = 1 / (1 - rate.interval.high)
        siblings = log(1 / float(length.value)) / log(1 - float(rate.value))
        yield Comparison(
            name,
            {
                "first draft accepted": rate,
                "a chain has at most": f"{float(most):.3f}",
                "mean length": length,
                "siblings a level": f"{siblings:.1f}",
            },
            length.interval.low <= most,
        )


# Perplexities --------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "published.sjd-perplexity",
    derived("SJD Tables 6, 11", "SJD does not say that the two tables are of the same images."),
    r"Each perplexity of SJD's Table 6 at top-k 2000 is $\exp(-m)$ with $m$ the mean log-probability of Table 11, up "
    "to rounding.",
)
def perplexity(seed: int) -> Finding:
    r"""Over one set of tokens, perplexity is $\exp(-m)$, $m$ the mean log-probability: $\exp(4.895) = 133.6$ for the
    autoregressive model, printed 204.06. Table 11 does not say its top-k; at 2000, the default, an average of
    perplexities over images would explain the difference, since by Jensen's inequality it is the larger one: with
    logarithms of image perplexities that are normal, deviations of 0.9 to 1.0 between images would be enough (Table 11
    has 2.3 between tokens). Other images would explain it too.
    """
    ledger = published()
    follow = {
        row.line: exp(-float(require_found(_logarithm(ledger, row), "no mean in Table 11").value))
        for row in _perplexities(ledger)
    }
    return judged(
        _compared_perplexities,
        ("perplexities", "follow from Table 11", "do not follow from Table 11, beyond rounding"),
        {"the perplexities that follow": ledger.altered(follow)},
    )


def _perplexities(ledger: Ledger) -> list[Row]:
    rows = ledger.select({"top_k": "2000"}, paper="sjd", table="6", metric="perplexity")
    return [row for row in rows if _logarithm(ledger, row)]


def _logarithm(ledger: Ledger, row: Row) -> Row | None:
    """The mean log-probability of the same method: that of SJD is for SJD with initialisation from neighbours too."""
    method = "sjd" if row.method == "sjd-isp" else row.method
    return next(iter(ledger.select(paper="sjd", table="11", method=method)), None)


def _compared_perplexities(ledger: Ledger) -> Iterator[Comparison]:
    for row in _perplexities(ledger):
        mean = require_found(_logarithm(ledger, row), "no mean in Table 11")
        follows = Interval(Fraction(exp(-mean.interval.high)), Fraction(exp(-mean.interval.low)))
        spread = sqrt(max(0.0, 2 * (log(float(row.value)) + float(mean.value))))
        yield Comparison(
            row.method,
            {
                "mean log-probability": mean,
                "perplexity that follows": follows,
                "printed": row,
                "deviation between images that would do": f"{spread:.2f}",
            },
            follows.meets(row.interval),
        )
