"""Claims about coupled drafts: losslessness, how often a token is drawn again, and trees of candidates with them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random
from typing import Any

from simlab.decoders import Decoder, Sjd, SjdPac
from simlab.mutants.decoders import StaleRows, UnverifiedRelabelled
from simlab.processes import TableProcess
from simlab.randomness.simplex import race, unbounded
from simlab.rules import Speculative
from theory.claims.base import Claims, Finding
from theory.claims.evidence import enumeration, example, first, holds_if, rejects_mutants
from theory.claims.format import fmt, fmt_row, numbers
from theory.claims.lossy.truncation import PAIR
from theory.claims.proven import proven
from theory.claims.sjd.losslessness import deviation, sequences
from theory.claims.sources import derived, said
from theory.distances import tv
from theory.exact import sequence_law
from theory.example_processes import random_process, random_row
from theory.proofs.loops import Continuation

CLAIMS = Claims("scd")
Row = Sequence[Fraction]
COUPLINGS = "maximal", "gumbel"


def worlds(seed: int) -> list[TableProcess]:
    """Small tables, one with zeros."""
    return [random_process(seed, 2, 4, zeros=0), random_process(seed + 1, 3, 3, zeros=0.35)]


@CLAIMS.claim(
    "scd.lossless",
    said(
        "abstract, version 1",
        "To overcome this, we introduce MC-SJD, an information-theoretic approach based on coupling, which "
        "substantially accelerates standard SJD by maximizing the probability of sampling identical draft tokens "
        "across consecutive iterations, all while preserving its lossless property.",
        "formalised",
        "Only the abstract could be read. Lossless: the law of finished sequences. The declared row is the newest one, "
        "and the second coupling, by Gumbel noise, is that of the second version's code.",
    ),
    "Speculative Jacobi decoding whose drafts behind a rejection are renewed by the maximal coupling with the row of "
    "the last call, or drawn from that row with Gumbel noise that each position has for itself, emits the target's "
    "autoregressive law when that row is declared for the draft.",
)
def lossless(seed: int) -> Finding:
    r"""Let all that stands to the left of position $j$ be known: tokens, coins, noise and rows of all calls. A row at
    $j$ is computed from tokens to its left alone, and how far each call commits before it reaches $j$ depends on what
    is there too. *Maximal.* By induction the old draft follows its old row $q$ given that; its coin and its residual
    draw are independent of the rest, and turn $q$ into $p$, so that the new draft follows $p$. *Gumbel.* The noise at
    $j$ is independent of all that is known, since tokens at $j$ have no part in what stands to the left; so the winner
    for $p$ follows $p$, whatever earlier winners were. Either way a draft follows its declared row given its prefix
    when it is verified, with a coin and a residual draw of the position and call alone, and the token committed follows
    $p$ (leviathan.lossless). What is committed leaves the window, so that no noise is used again after it was looked
    at.
    """
    tried: list[tuple[Decoder, TableProcess]] = [
        (Sjd(window, renewal=renewal, bonus=bonus), process)  # type: ignore[arg-type]
        for process in worlds(seed)
        for renewal in COUPLINGS
        for window, bonus in ((2, True), (3, False))
        if (process.vocabulary, window) != (3, 3)
    ]
    worst, enumerated = sequences(tried, "V = 2, 3, windows of 2 and 3, with and without zeros")
    wrong = {
        "maximal, q of the call before": StaleRows(3, renewal="maximal"),
        "Gumbel, q of the call before": StaleRows(3, renewal="gumbel"),
        "old token, q relabelled": UnverifiedRelabelled(3),
        "q of the call before for accepted drafts": Sjd(3, renewal="maximal-reference"),
    }
    return holds_if(
        worst == 0,
        enumerated,
        rejects_mutants(wrong, lambda d: first(deviation(d, process) for process in worlds(seed)), "the sequence law"),
    )


@CLAIMS.claim(
    "scd.visit",
    derived("one verification", "whatever is coupled, it is the rows that decide"),
    r"A draft that follows its declared row $q$ is accepted with probability $1 - \mathrm{TV}(p, q)$ by one "
    r"verification against $p$, whichever coupling it was drawn with.",
)
def visit(seed: int) -> Finding:
    r"""The coin is independent of how the draft was drawn, and the draft follows $q$ given its prefix
    (scd.lossless): $\sum_x q(x) \min(1, p(x)/q(x)) = \sum_x \min(p(x), q(x)) = 1 - \mathrm{TV}(p, q)$. What a coupling
    changes is how far rows move between calls, since the tokens to their left change less often.
    """
    return holds_if(proven("scd.visit"))


@CLAIMS.claim(
    "scd.gumbel-repeats",
    derived(
        "Gumbel coupling against maximal coupling",
        "The sum is the probability Jaccard index of Moulton and Jiang, arXiv 1809.04052, who have it as how often two "
        "races with the same times have one winner.",
    ),
    r"Gumbel noise that is shared by two rows $p$ and $q$ draws one token from both with probability "
    r"$\sum_x 1 / \sum_y \max(p(y)/p(x), q(y)/q(x))$ over the tokens $x$ that both may draw, which is at least "
    r"$(1 - \mathrm{TV})/(1 + \mathrm{TV})$, at most the maximal coupling's $1 - \mathrm{TV}$, and equal to that for "
    r"$V = 2$.",
)
def gumbel_repeats(seed: int) -> Finding:
    r"""Gumbel's trick is a race: with independent exponential times $E_y$ the token with least $E_y / p(y)$ wins. $x$
    wins for both rows where $E_y \ge c_y E_x$ for all $y$ with $c_y = \max(p(y)/p(x), q(y)/q(x))$, and $c_x = 1$; given
    $E_x = t$ that has probability $e^{-t \sum_{y \ne x} c_y}$, and $\int e^{-t \sum_y c_y} dt = 1/\sum_y c_y$. Let $m
    = \min(p(x), q(x))$. As $c_y \le \max(p(y), q(y))/m$ and $\sum_y \max(p(y), q(y)) = 1 + \mathrm{TV}$, the term of
    $x$ is at least $m/(1 + \mathrm{TV})$, and $\sum_x m = 1 - \mathrm{TV}$. No coupling has one token more often than
    $1 - \mathrm{TV}$, since $P(x, x) \le \min(p(x), q(x))$. For two tokens $c_y$ belongs to the row that has less
    of $x$, so that the term is $1/(1 + (1 - m)/m) = m$.
    """
    random = Random(seed)
    rows = [(size, least) for least in (1, 0) for size in (2, 2, 3, 3, 4)]  # with zeros most pairs decide nothing
    tried = [PAIR, *((random_row(random, *row), random_row(random, *row)) for row in rows)]

    def fails(found: Any) -> int:
        """On how many pairs it is another number than the closed form, or beyond the bounds."""
        off = 0
        for p, q in tried:
            value, far = found(p, q), tv(p, q)
            two = len(p) > 2 or value == 1 - far
            off += not (value == repeated(p, q) and (1 - far) / (1 + far) <= value <= 1 - far and two)
        return off

    wrong = fails(raced)
    return holds_if(
        wrong == 0,
        enumeration(
            f"on {len(tried)} pairs of rows, V = 2 to 4, with zeros and without, the volumes of the simplex where both "
            f"races have one winner add up to the closed form, and the bounds hold; not so on {wrong}"
        ),
        example(
            f"p = {fmt_row(PAIR[0])}, q = {fmt_row(PAIR[1])}: Gumbel {fmt(raced(*PAIR))}, maximal "
            f"{fmt(1 - tv(*PAIR))}, a new draw {fmt(again(*PAIR))}",
            numbers(p=PAIR[0], q=PAIR[1], gumbel=raced(*PAIR), maximal=1 - tv(*PAIR), fresh=again(*PAIR)),
        ),
        rejects_mutants({"a new draw": again, "maximal coupling": lambda p, q: 1 - tv(p, q)}, fails, "the closed form"),
    )


def repeated(p: Row, q: Row) -> Fraction:
    """How often two races with the same times have one winner, in closed form."""
    return sum(
        (
            1 / sum((max(p[y] / p[x], q[y] / q[x]) for y in range(len(p))), Fraction(0))
            for x in range(len(p))
            if p[x] and q[x]
        ),
        Fraction(0),
    )


def raced(p: Row, q: Row) -> Fraction:
    """The same from the volumes of the parts of the simplex."""
    return sum(
        (one * two for x, known, one in race(p, unbounded(len(p))) for y, _, two in race(q, known) if x == y),
        Fraction(0),
    )


def again(p: Row, q: Row) -> Fraction:
    """How often two independent draws agree."""
    return sum((x * y for x, y in zip(p, q, strict=True)), Fraction(0))


@CLAIMS.claim(
    "scd.continuation",
    derived("SJD-PAC, Algorithm 1, and SCD"),
    "Speculative Jacobi decoding with maximal coupling and with the adaptive continuation of SJD-PAC are one decoder: "
    "the laws of sequences and of calls are equal on every process.",
)
def continuation(seed: int) -> Finding:
    r"""Adaptive continuation tosses a coin with $\min(1, p(x)/q(x))$ for every draft behind the first rejection, and
    replaces a rejected one from $[p - q]_+$. That is the construction of the maximal coupling of $q$ and $p$, given
    that $x$ follows $q$. Both declare $p$. So all that a step does agrees, and by induction all states.

    The decoder ``sjd-ac`` is the coupled one by another name. What both are held against is Algorithm 1 itself, lines 2
    to 16, written down apart from them.
    """
    tried = [(window, bonus, process) for process in worlds(seed) for window in (2, 3) for bonus in (True, False)]
    different = [
        (window, bonus, process)
        for window, bonus, process in tried
        if sequence_law(Sjd(window, bonus=bonus, renewal="maximal"), process, Speculative())
        != sequence_law(Continuation(window, bonus), process, Speculative())
    ]
    return holds_if(
        proven("scd.continuation") and not different,
        enumeration(
            f"beyond the proof: V = 2 with length 4, V = 3 with length 3, windows of 2 and 3, with a bonus token and "
            f"without. Equal in rationals in {len(tried) - len(different)} of {len(tried)} cases"
        ),
    )


@CLAIMS.claim(
    "scd.with-trees",
    derived("SCD with SJD-PAC"),
    "Proactive drafting with several candidates a node, drawn without replacement beside a window's own draft, emits "
    "exactly the target's autoregressive law when that draft is renewed by maximal or by Gumbel coupling.",
)
def with_trees(seed: int) -> Finding:
    r"""Given all that stands to the left of a position, its own draft follows the row $q$ that is declared for it
    (scd.lossless: the argument asks nothing of positions to the right, and how far the tree above it is accepted is
    known from the left). Its siblings are drawn from $q$ without it, with independent randomness, when the call begins;
    so all of them are $K$ draws without replacement from $q$, and what is emitted follows $p$ (pac.theorem-2). Children
    of other nodes are drawn from the same rows with independent randomness. A sibling that is accepted tells nothing of
    the noise of positions to its right, and its own position is committed.
    """
    shapes: list[dict[str, Any]] = [{"tree": "comb", "depth": 1}, {"tree": "full", "depth": 1, "kept": "dropped"}]
    tried: list[tuple[Decoder, TableProcess]] = [
        (SjdPac(2, candidates=2, renewal=renewal, **shape), process)  # type: ignore[arg-type]
        for process in [random_process(seed, 2, 3, zeros=0), random_process(seed + 1, 3, 3, zeros=0.35)]
        for renewal in COUPLINGS
        for shape in shapes
    ]
    worst, enumerated = sequences(tried, "combs and full trees")
    wrong = {"q of the call before for accepted drafts": SjdPac(3, candidates=2, depth=1, renewal="maximal-reference")}
    return holds_if(
        worst == 0,
        enumerated,
        rejects_mutants(
            wrong, lambda d: deviation(d, random_process(seed + 5, 2, 4, zeros=0)), "the sequence law of a tree"
        ),
    )
