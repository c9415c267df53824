"""Image decoders that verify less: phrases, neighbourhoods, skipped tokens, pooled candidates.

Of their papers only abstracts could be read, and of one the code; none of the abstracts says that the law is kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from inspect import Parameter, Signature
from random import Random
from typing import Any, get_args

import numpy as np

from simlab.decoders import Block, Decoder
from simlab.decoders.local import Local, Redraw
from simlab.decoders.phrase import Phrase
from simlab.processes import TableProcess
from simlab.rules import Mixture, Rule, Speculative
from theory.claims.base import Claims, Finding
from theory.claims.evidence import enumeration, example, holds_if, identity, rejects_mutants
from theory.claims.format import fmt, fmt_row
from theory.claims.hierarchical.hierarchical import THIRDS, accepted, off, random_cases, same_rows
from theory.claims.lossy.truncation import PAIR
from theory.claims.sources import Repository, said
from theory.distances import aligned, tv
from theory.exact import acceptance, sequence_law, step_law, target_law
from theory.exact.laws import Law
from theory.example_processes import random_process, random_row

CLAIMS = Claims("images")
Row = Sequence[Fraction]
FIFTH, HALF = Fraction(1, 5), Fraction(1, 2)

# SJD-PV --------------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "sjd-pv.law",
    said(
        "SJD-PV, arXiv 2603.06666, abstract",
        "During inference, the proposed phrase-level verification evaluates aggregated likelihood ratios over each "
        "phrase, allowing simultaneous acceptance of multiple tokens while preserving generation quality.",
        "ours",
        "Abstract read, no code found. What follows a rejected phrase is not in it: two readings are stated. A third, "
        "the phrase's tokens tried again one by one by the plain rule, is not. Nor is a fourth, the phrase drawn anew "
        "from $[P - Q]^+$: it is lossless, accepts 4/3 too, and asks a further call of the target.",
    ),
    r"For $p = (1/3, 2/3)$ and $q = (2/3, 1/3)$ at each of two positions, accepting both drafts with $\min(1, P/Q)$, "
    r"$P/Q$ the product of their ratios, emits a law at TV 1/9 from the target's and accepts 4/3 drafts if else the "
    r"first is redrawn from $[p - q]^+$, and at TV 2/9 with 3/2 drafts if else the first is tried alone; block "
    r"verification of the same drafts accepts 11/9, the most of what emits a prefix and one token and is lossless once "
    r"the target completes it, and emits the target's law.",
)
def phrases(seed: int) -> Finding:
    r"""By enumeration. With $\min(1, P/Q)$ a phrase $x$ is emitted with $\min(P(x), Q(x))$ by acceptance, and the rest,
    $[P - Q]^+$, is a law of whole phrases, of which a residual of one position knows nothing. Block verification
    weighs each prefix by $\min(1, w r)$ in turn, and stops where the residual of that prefix can make up for it
    (baselines.block-verification); what accepts more pays for it in bias (hsd.frontier).
    """
    case = same_rows(*THIRDS, 2)
    made: list[Decoder] = [Phrase(2), Phrase(2, failing="shorten"), Block(2)]
    found = [(off(decoder, case), accepted(decoder, case)) for decoder in made]
    wanted = [(Fraction(1, 9), Fraction(4, 3)), (Fraction(2, 9), Fraction(3, 2)), (Fraction(0), Fraction(11, 9))]
    cases = random_cases(seed, (2,))
    lossless = max(off(Block(2), each) for each in cases)
    biased = [sum(off(decoder, each) > 0 for each in cases) for decoder in made[:2]]
    return holds_if(
        found == wanted and lossless == 0,
        enumeration(
            f"the law of two tokens, in rationals; of {len(cases)} pairs of random processes, both readings differ "
            f"from the target in {biased[0]} and {biased[1]}, and block verification in none"
        ),
        rejects_mutants(
            dict(zip(("a phrase at once", "a phrase shortened"), made, strict=False)),
            lambda decoder: max(off(decoder, each) for each in cases),
            "the law of block verification",
        ),
    )


# MuLo-SD -------------------------------------------------------------------------------------------------------


def chain(start: Row, length: int) -> TableProcess:
    """Two tokens: the first from ``start``, and each other stays with 4/5."""
    return TableProcess(
        2, length, lambda prefix: [1 - FIFTH if x == prefix[-1] else FIFTH for x in (0, 1)] if prefix else list(start)
    )


STARTS: tuple[Row, Row] = (Fraction(1, 4), Fraction(3, 4)), (HALF, HALF)  # of target and draft


def emitted(decoder: Decoder, target: TableProcess, first: Row) -> Law:
    """The law of a block whose drafts follow the target but for the first."""
    draft = TableProcess(target.vocabulary, target.length, lambda prefix: list(target.row(prefix)) if prefix else first)
    return sequence_law(decoder, target, Speculative(), draft)[0]


def local_tv(decoder: Decoder, length: int) -> Fraction:
    """TV of a block of the chain."""
    target = chain(STARTS[0], length)
    return Fraction(tv(*aligned(emitted(decoder, target, STARTS[1]), target_law(target))))


def together(was: np.ndarray, now: np.ndarray) -> np.ndarray:
    """The law of a token from ``was`` and of what it becomes: it stays where it can, or is one from [now - was]+."""
    both = np.minimum(was, now)
    return np.diag(both) + np.outer(was - both, now - both) / (1 - both.sum() or 1)


def argued(target: TableProcess, first: Row, reach: int, redraw: Redraw) -> Law:
    """The law of such a block as the proof has it: the drafts, and what is put in their places, token by token."""
    law: dict[Any, Any] = {((), ()): Fraction(1)}
    for place in range(target.length):
        grown: defaultdict[Any, Any] = defaultdict(Fraction)
        for (drafts, put), mass in law.items():
            was, now = target.row(drafts) if drafts else np.array(first, dtype=object), target.row(put)
            if place > reach:
                joint = np.diag(was)
            else:
                joint = np.outer(was, now) if redraw == "fresh" and drafts != put else together(was, now)
            for (x, y), share in np.ndenumerate(joint):
                grown[(*drafts, x), (*put, y)] += mass * share
        law = grown
    block: defaultdict[tuple[int, ...], Any] = defaultdict(Fraction)
    for (_, put), mass in law.items():
        block[put] += mass
    return block


@CLAIMS.claim(
    "mulo-sd.law",
    said(
        "MuLo-SD, arXiv 2601.05149, abstract",
        "Crucially, we incorporate a local rejection and resampling mechanism, enabling efficient correction of draft "
        "errors by focusing on spatial neighborhoods rather than raster-scan resampling after the first rejection.",
        "ours",
        "Abstract read, and notes by others: there a draft is accepted by a threshold on the target's mass around it. "
        "The statement is about locality alone, with the lossless rule in its place. No code found.",
    ),
    r"For every target, if the drafts of a block follow it but for the first, each is verified without loss, and the "
    r"$l$ tokens behind a rejected one are redrawn from the target's rows, the tokens that stay follow the target "
    r"given the drafts that are gone. A block of two-valued tokens that stay with $4/5$, whose first token has $p = "
    r"(1/4, 3/4)$ and $q = (1/2, 1/2)$, is then at TV $3 (1 + (3/5)^{2 l})/40$ from the target's law, which falls to "
    r"3/40 and no further however large the neighbourhood, short of the block; if these $l$ are coupled with the "
    r"tokens that stood there, it is at TV $(3/20) (3/5)^l$.",
)
def locality(seed: int) -> Finding:
    r"""The drafts are a sequence of the target from its first token on, so that none but that one is rejected; the
    redrawn tokens are one from its replacement, independent of the drafts or coupled with them row by row, and what
    stays is the end of the drafts. On the chain, the first draft is rejected if it is 0, with 1/4, and becomes 1. Token
    $l$ behind it is redrawn from the chain that starts at 1, token $l + 1$ stays and follows the chain from 0. The step
    between both should stay with 4/5; both sides are independent if tokens are redrawn anew, with $P(\text{token } l =
    1) = (1 + (3/5)^l)/2$, against the same for 0 with the old ones. Coupled, token $l$ is as it was but with $(3/5)^l$,
    the chance that two such chains have not met, so that the bias dies out. Where rows depend on more than the last
    token, chains that meet part again, and coupled tokens can be further off than fresh ones. Verifying the tokens that
    stay once more against their new rows, as SJD with maximal coupling does, leaves none. Enumerated for blocks of up
    to five of the chain, and for blocks of three and four of tables with a row of its own for every prefix.
    """
    ways = get_args(Redraw)
    cases = [(length, reach) for length in range(2, 6) for reach in range(length - 1)]
    tables = [
        (random_process(seed, v, length, zeros=0), random_row(Random(seed), v, 1), reach)
        for v, length in ((2, 4), (3, 3))
        for reach in range(length - 1)
    ]
    laws = [{redraw: argued(*table, redraw) for redraw in ways} for table in tables]

    def differs(kind: Callable[..., Decoder]) -> int:
        """For how many blocks and neighbourhoods it is another number than the closed form, or another law."""
        wrong = 0
        for length, reach in cases:
            near = Fraction(3, 5) ** reach
            stated = {"fresh": 3 * (1 + near**2) / 40, "coupled": 3 * near / 20}
            wrong += sum(
                local_tv(kind(length, reach=reach, redraw=redraw), length) != value for redraw, value in stated.items()
            )
        for (target, first, reach), each in zip(tables, laws, strict=True):
            for redraw, law in each.items():
                found = emitted(kind(target.length, reach=reach, redraw=redraw), target, first)
                wrong += tv(*aligned(found, law)) > 0
        return wrong

    whole = [local_tv(Local(4, reach=3, redraw=redraw), 4) for redraw in ways]
    apart = [
        [tv(*aligned(each[redraw], target_law(target))) for redraw in ways]
        for (target, *_), each in zip(tables, laws, strict=True)
    ]
    return holds_if(
        differs(Local) == 0 and whole == [0, 0],
        enumeration(
            f"{len(cases)} pairs of block and neighbourhood of the chain, in rationals; 0 where it is the whole block"
        ),
        enumeration(
            f"{len(tables)} pairs on two random tables, V = 2 and 3, whose rows depend on all earlier tokens: the law "
            f"is the one argued, in rationals; TV {fmt(min(map(min, apart)))} to {fmt(max(map(max, apart)))}, coupled "
            f"tokens further off than fresh ones in {sum(coupled > fresh for fresh, coupled in apart)} of them"
        ),
        rejects_mutants({"a token further": Wider}, differs, "the closed form and the law"),
    )


class Wider(Local):
    """Redraws a token more than it is told to."""

    def near(self, process: Any, position: Any, rejected: Any) -> Any:
        return Local(self.gamma, reach=self.reach + 1).near(process, position, rejected)


# VVS -----------------------------------------------------------------------------------------------------------

VVS = Repository("HyattDD/VVS", "77901736dbc56c3ceb4123cdf37bc28ab15ab9f1")


def of_a_leaf(paths: Sequence[tuple[int, ...]], size: int) -> tuple[Fraction, ...]:
    """The law of the first token of a path of the tree, where every leaf has the same chance."""
    return tuple(Fraction(sum(path[0] == x for path in paths), len(paths)) for x in range(size))


LEAVES = of_a_leaf([(1, 0), (2, 0)], 3)  # one below each of the two likeliest tokens of the pair's q


@CLAIMS.claim(
    "vvs.law",
    VVS.function(
        "models/skip_utils_llamagen.py",
        "skip_evaluate",
        "At a skipped verification a path of the draft tree is taken, uniformly among its leaves, without the draft's "
        "probabilities; the next call keeps its tokens, and fills the cache for them. Of the paper, arXiv 2511.13587, "
        "the abstract was read; it does not say that the law is kept.",
    ),
    r"For every $p$ and $q$, a token whose verification is skipped follows $u$, the share of the tree's leaves below "
    r"each token, at $\mathrm{TV}(p, u)$ from the target's row; drawn from the draft it follows $q$ at $\mathrm{TV}(p, "
    r"q)$, the least at which every draft from $q$ can be accepted.",
)
def skipped(seed: int) -> Finding:
    r"""Every leaf has one chance, so token $x$ has its share of leaves, whatever the draft and the target give it; with
    acceptance 1 that law is what is emitted. By leviathan.frontier acceptance is at most $1 - \mathrm{TV}(p, q)$ plus
    the TV of what is emitted, so acceptance 1 costs $\mathrm{TV}(p, q)$ at least, which drawing the token from $q$
    costs. Over the skipped tokens of an image the TVs add up, given what stands before each.
    """
    random, (p, q) = Random(seed), PAIR
    leaves, uneven = LEAVES, of_a_leaf([(0, 1), (0, 2), (1, 0)], len(p))
    rows = [
        (p, leaves),
        (p, uneven),
        *((random_row(random, v), random_row(random, v)) for v in (2, 3, 4) for _ in range(5)),
    ]
    skips = Mixture(0)  # verifies against q alone, which accepts every draft

    def wrong(rule: Rule) -> int:
        """In how many pairs something else comes out than the draft's row, by every draft."""
        laws = [step_law(rule, a, b) for a, b in rows]
        kept = [acceptance(rule, a, b) for a, b in rows]
        return sum(tv(law, b) > 0 or share != 1 for law, share, (_, b) in zip(laws, kept, rows, strict=True))

    return holds_if(
        wrong(skips) == 0 and (leaves, uneven) == ((0, HALF, HALF), (Fraction(2, 3), Fraction(1, 3), 0)),
        enumeration(f"on {len(rows)} pairs of rows, V = 2 to 4, in rationals"),
        example(
            f"p = {fmt_row(p)}, q = {fmt_row(q)}, a leaf below each of the two likeliest tokens of q: TV "
            f"{fmt(tv(p, leaves))}; drawn from q {fmt(tv(p, q))}"
        ),
        rejects_mutants({"verified": Speculative(), "verified by half": Mixture(HALF)}, wrong, "skipping"),
    )


@CLAIMS.claim(
    "vvs-reference.call",
    VVS.function(
        "models/ea_llamagen.py",
        "generate",
        "The loop calls skip_verify with eight arguments by position and last_step_skip by name; the function has "
        "seven parameters before last_step_skip.",
    ),
    "The call of `skip_verify` in the loop that is published for VVS gives the parameter `last_step_skip` two values, "
    "which Python refuses, so that the loop does not run as it is published.",
)
def skip_call(seed: int) -> Finding:
    """The signature of the published function is bound to as many arguments as its call has. With one fewer by position
    it binds.
    """
    first = ("cur_step", "steps_in_1st_row", "skip_interval", "new_token", "draft_candidates", "head_avg_sim")
    names, more = (*first, "skipped_steps"), ("policy", "latents", "sim_threshold")

    def refuses(before: tuple[str, ...], count: int) -> bool:
        """Whether ``count`` arguments by position do not bind, with these parameters before last_step_skip."""
        every = (*before, "last_step_skip", *more)
        signature = Signature([Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in every])
        try:
            signature.bind(*range(count), last_step_skip=False, **dict.fromkeys(more))
        except TypeError:
            return True
        return False

    mended = {"a parameter more": ((*names, "more"), 8), "an argument fewer": (names, 7)}
    return holds_if(
        refuses(names, 8),
        identity("eight arguments by position do not bind: multiple values for last_step_skip"),
        rejects_mutants(mended, lambda call: not refuses(*call), "the call"),
    )


# CASCADE -------------------------------------------------------------------------------------------------------

Sets = dict[int, tuple[int, ...]]  # what is interchangeable with each candidate, itself among it
EACH_OTHER: Sets = {1: (1, 2), 2: (1, 2)}


def pooled(p: Row, candidates: Sequence[int], near: Sets, zeroed: str = "set") -> tuple[list[Fraction], Fraction]:
    """The law and the acceptance of candidates that are accepted in turn with the mass of their sets.

    A rejected one is taken out of the row: with its whole set, or ``zeroed = "token"`` alone.
    """
    law, left, row = [Fraction(0)] * len(p), Fraction(1), list(p)
    for x in candidates:
        if zeroed == "set" and row[x] == 0:
            continue
        chance = sum((row[y] for y in near[x]), Fraction(0))
        law[x] += left * chance
        left *= 1 - chance
        for y in near[x] if zeroed == "set" else (x,):
            row[y] = Fraction(0)
        if not sum(row):
            break
        row = [mass / sum(row) for mass in row]
    return [emitted + left * mass for emitted, mass in zip(law, row, strict=True)], 1 - left


def excess(p: Row, candidates: Sequence[int], near: Sets, zeroed: str = "set") -> Fraction:
    """The TV of what is emitted beyond the least for its acceptance: how far it is off the frontier."""
    law, accepts = pooled(p, candidates, near, zeroed)
    free = sum((p[x] for x in candidates), Fraction(0))
    return Fraction(tv(law, p)) - max(accepts - free, Fraction(0))


@CLAIMS.claim(
    "cascade-image.law",
    said(
        "CASCADE, arXiv 2605.07230, abstract",
        "By capturing these redundancies across the depth and breadth of the predicted token tree, our method "
        "identifies principled opportunities for acceptance relaxation without requiring additional training.",
        "ours",
        "Abstract read, no code found. It does not give the sets of interchangeable tokens, or how acceptance is "
        "relaxed: read as the target's mass of the set in the place of the token's, for given sets.",
    ),
    r"For every $p$ and sets $R(x)$ of interchangeable tokens, accepting one candidate $x$ with $p(R(x))$, and else "
    r"drawing from $p$ without $R(x)$, emits a law at TV $p(R(x)) - p(x)$, the least at that acceptance. For $p = "
    r"(1/2, 3/10, 1/5)$ and the second and third token as candidates, interchangeable with each other, the law is at "
    r"TV 3/10 if the third is tried first, and at 1/5 if the second is, at an acceptance of $1/2$, which could be had "
    r"without loss, if a rejected set is taken out of the row; "
    r"with sets that hold one candidate each, and are disjoint, several candidates are at the least TV too.",
)
def interchangeable(seed: int) -> Finding:
    r"""$x$ gains $p(R(x)) - p(x)$, and what the others lose is as much. A rule with candidates $C$ emits each of them
    with $p$ at least up to an acceptance $p(C)$ without loss, and what is accepted beyond that is TV: at acceptance $A$
    the least is $A - p(C)$. Pooling a token of $C$ only moves mass between candidates, which acceptance does not count.
    With disjoint sets, one candidate each, and a rejected set taken out, candidate $x$ is emitted with $p(R(x))$, so
    that $A - p(C)$ is what they gain, and what the others lose.
    """
    random, (p, _) = Random(seed), PAIR
    law, accepts = pooled(p, (2, 1), EACH_OTHER)
    other = pooled(p, (1, 2), EACH_OTHER)
    rows = [random_row(random, size) for size in (4, 5, 6) for _ in range(5)]

    def off_frontier(zeroed: str) -> Fraction:
        """Of one candidate and of two with disjoint sets."""
        apart: Sets = {0: (0, 2), 1: (1, 3)}
        return max(excess(row, candidates, apart, zeroed) for row in rows for candidates in ((0,), (1,), (0, 1)))

    return holds_if(
        off_frontier("set") == 0
        and (tv(law, p), accepts) == (Fraction(3, 10), HALF)
        and (tv(other[0], p), other[1]) == (FIFTH, HALF)
        and p[1] + p[2] == accepts,
        enumeration(f"one candidate, and two with disjoint sets, on {len(rows)} random rows of 4 to 6 tokens"),
        example(
            f"p = {fmt_row(p)}, candidates 2 and 1: emits {fmt_row(law)}, accepts {fmt(accepts)}; candidates 1 and 2: "
            f"emits {fmt_row(other[0])}"
        ),
        rejects_mutants({"the token alone is taken out": "token"}, off_frontier, "the frontier"),
    )
