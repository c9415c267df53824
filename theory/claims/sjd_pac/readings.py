"""What SJD-PAC leaves open, reading by reading: which are lossless, and what each costs or saves in steps."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from simlab.arrays import Array, Number
from simlab.decoders import Decoder, Sjd, SjdAc, SjdPac, SjdPd
from simlab.decoders.sjd_ac import Relabel
from simlab.decoders.tree import NONE, make_tree
from simlab.mutants import trees
from simlab.processes import TableProcess
from simlab.rules import Rule, Speculative, make_rule
from simlab.statistics import Estimate
from theory.candidates import candidate_sets, candidates_law, optimal_acceptance
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.evidence import (
    counterexample,
    described,
    enumeration,
    example,
    first,
    holds_if,
    not_refuted_if,
    rejects_mutants,
    require,
    simulation,
)
from theory.claims.format import fmt, fmt_row, numbers
from theory.claims.proven import proven
from theory.claims.sjd.losslessness import declared_left, deviation, honesty_gap, mean_steps, random_tables
from theory.claims.sjd.speeds import ERRORS, beyond, excess
from theory.claims.sjd_pac.speed import MANY, PLACES, SIMULATES, SOME, Tree, comb, printed_row, tree_of_code
from theory.claims.sources import derived
from theory.example_processes import random_process
from theory.image_process import STAND_IN, Speed, compare, speed
from theory.search import Pmf

CLAIMS = Claims("sjd-pac")
BUDGET, WIDTH, DEPTH = 64, 4, 3  # the paper's L, K and D


def processes(seed: int) -> list[TableProcess]:
    """Processes with room for a tree: three kinds of tokens and four of them, and two kinds and five."""
    return [random_process(seed, 3, 4, zeros=0.5), random_process(seed + 1, 2, 5, zeros=0.3)]


def steps(decoder: Decoder, some: list[TableProcess]) -> Fraction:
    """Exact mean number of calls, averaged over processes."""
    return Fraction(sum(mean_steps(decoder, process) for process in some), len(some))


@CLAIMS.claim(
    "pac.readings.budget",
    derived(
        "4.1, 5.1, 5.3.2",
        "The paper verifies a fixed number of tokens a step; it does not count the tree's nodes. Its text has K "
        "candidates at the D positions behind the resampled token; published code counts that token as the first of D "
        "levels (sjd-pac-reference.tree).",
    ),
    r"With $K = 4$ candidates at $D = 3$ positions, as the text counts, a full $K$-ary tree has at least 84 nodes, "
    r"more than 64 verified tokens, and a comb, in which only the first candidate of a position has children, exactly "
    r"64 with a chain of 55. With the root as the first of $D = 3$ levels, as published code counts, a full tree and a "
    r"chain of 45 have exactly 64 nodes, the root among them.",
)
def budget(seed: int) -> Finding:
    r"""A full tree has $K + K^2 + K^3 = 4 + 16 + 64 = 84$ nodes in its first three positions alone, before any chain. A
    comb has a chain of $w$ drafts and $K - 1$ more candidates at each of $D$ positions, $w + (K - 1) D$ nodes: 64 for
    $w = 55$. With the root counted, two positions have candidates: $1 + 4 + 16 = 21$ nodes, and $w - 2$ more of a chain
    of $w$: 64 for $w = 45$. The shapes are counted by making them.
    """
    smallest = make_tree("full", DEPTH, WIDTH, DEPTH).nodes
    of_code = 1 + make_tree("full", 45, WIDTH, DEPTH - 1, shared=True).nodes

    def off(chain: int) -> int:
        """How far the nodes of a comb with that chain are from the budget."""
        return abs(make_tree("comb", chain, WIDTH, DEPTH).nodes - BUDGET)

    return holds_if(
        smallest > BUDGET and off(55) == 0 and of_code == BUDGET,
        example(
            f"the smallest full tree with K = 4 candidates at 3 positions has {smallest} nodes, {smallest - BUDGET} "
            f"over the budget of 64; a comb with a chain of 55 drafts has {BUDGET + off(55)}; a full tree with "
            f"candidates at 2 positions and a chain of 45 has {of_code}, with its root",
            numbers(
                candidates=WIDTH,
                depth=DEPTH,
                chain=55,
                full=smallest,
                comb=make_tree("comb", 55, WIDTH, DEPTH).nodes,
                code=of_code,
            ),
        ),
        rejects_mutants({"a chain of 54": 54, "a chain of 56": 56}, off, "the count of nodes"),
    )


@CLAIMS.claim(
    "pac.readings.bonus",
    derived("4.1", "The paper does not say whether a token follows an accepted candidate that has no verified child."),
    "If no bonus token follows an accepted sibling, a comb of candidates takes exactly as many calls in law as no "
    "tree at all, with adaptive continuation and without.",
)
def bonus(seed: int) -> Finding:
    """Where the chain's own token at a position is accepted, both go on. Where it is rejected, the chain commits a
    token from the residual there and stops. The comb may accept a sibling or not, but commits one token there and
    stops, since only the chain has children; and given the rejection that token follows the residual too (pac.theorem-2
    for the candidates that are left). Siblings are drawn from rows that are known and are verified only here, so what
    stays in the window is the same in law, and so is the number of calls. What a comb gains is the bonus token from the
    accepted sibling's row.
    """
    return holds_if(proven("pac.readings.bonus"))


@CLAIMS.claim(
    "pac.readings.kept",
    derived(
        "4.3, Algorithm 1", "The paper does not say which of the K candidates the retained token is, or whether any."
    ),
    "SJD-PAC is lossless both if the token that adaptive continuation has retained is the first candidate of its node, "
    "and if it is dropped for K fresh candidates.",
)
def kept(seed: int) -> Finding:
    """Fresh candidates follow their declared rows as retained ones do (pac.theorem-1), so the law of a node is
    the target's either way (pac.theorem-2). At its own position a retained token is accepted no more often than a fresh
    one: given the left it has the same law. What retaining saves are the rows behind it, which were computed with the
    retained token and are stale for any other. As the last candidate it is not lossless: candidates drawn without
    replacement may not change places.
    """
    some, dense = processes(seed), [random_process(seed + 1, 2, 5, zeros=0.0)]
    shape: dict[str, Any] = {"candidates": 2, "depth": 1}
    exact = {
        "retained token first": steps(SjdPac(4, **shape), dense),
        "dropped": steps(SjdPac(4, kept="dropped", **shape), dense),
        "no continuation": steps(SjdPd(4, **shape), dense),
    }
    worst = max(deviation(SjdPac(3, kept=which, **shape), one) for which in ("first", "dropped") for one in some)
    return holds_if(
        proven("pac.readings.kept") and worst == 0,
        enumeration(
            f"beyond the proof: V = 3 with length 4, V = 2 with length 5. The sequence law of both readings is the "
            f"target's on {len(some)} processes (largest TV {fmt(worst)}); exact mean steps, window 4, K = 2, D = 1, "
            "on one without zeros: " + ", ".join(f"{name} {float(value):.4f}" for name, value in exact.items()),
        ),
    )


@CLAIMS.claim(
    "pac.readings.shared",
    derived("4.1", "The paper does not say whether the nodes of one position have candidates of their own."),
    "A full tree in which all nodes of one position share their candidates is lossless.",
)
def shared(seed: int) -> Finding:
    """One node a position is verified, and its candidates have the right law whichever other nodes have the same ones
    (pac.theorem-2). The shared candidates must not depend on which node above is accepted, and they do not: they are
    drawn before. The number of calls may differ, either way, where drafts are left behind a walk that has left the
    chain: with shared candidates it may have come to the very tokens that their rows were computed with.
    """
    some = processes(seed)
    shape: dict[str, Any] = {"candidates": 2, "depth": 2, "tree": "full"}
    worst = max(deviation(SjdPac(2, shared=True, **shape), process) for process in some)
    means = [[steps(SjdPac(3, shared=s, bonus=False, **shape), [one]) for s in (False, True)] for one in some]
    wrong = trees.WrongBranch(2, shared=True, **shape)
    return holds_if(
        worst == 0,
        enumeration(
            f"the sequence law equals the target's in rationals on {len(some)} processes (largest TV "
            f"{fmt(worst)}); exact mean steps, full tree, K = D = 2, window 3, no bonus: "
            + "; ".join(f"own candidates {float(own):.4f}, shared {float(common):.4f}" for own, common in means),
        ),
        rejects_mutants(
            {"first candidate's branch after another": wrong},
            lambda d: first(deviation(d, process) for process in some),
            "the sequence law",
        ),
    )


ROWS = ("SJD, L = 32", "+PD", "+PD+AC", "L = 64")
READINGS = 4  # images for readings that are only described
OFF_ALARMS = 1e-3  # false alarms of one factor
NEAR = 2 * MANY  # images of a reading whose factors are near the printed ones


def table_2(tree: Tree, seed: int, images: int = MANY) -> dict[str, Speed]:
    """The rows of Table 2, with a tree for each kind of decoder and each L; ``images`` of the two of L = 32."""
    trees = ((SjdPd, 32, images), (SjdPac, 32, images), (SjdPac, 64, MANY))
    found = speed(Sjd(32), seed, SOME), *(speed(tree(kind, nodes), seed, n) for kind, nodes, n in trees)
    return dict(zip(ROWS, found, strict=True))


def cases(rows: dict[str, Speed]) -> dict[str, tuple[Speed, Speed, tuple[float, float]]]:
    """Each row but the first, the one before it, and the printed factor between them."""
    printed = [factor(one, before) for before, one in pairwise(PLACES.values())]
    speeds = pairwise(rows.values())
    return {name: (one, before, each) for name, (before, one), each in zip(ROWS[1:], speeds, printed, strict=True)}


def apart(rows: dict[str, Speed]) -> dict[str, tuple[Estimate, bool]]:
    """How far each row is from the printed factor times the one before it, and whether it is surely off."""
    return {name: off(*case) for name, case in cases(rows).items()}


def told(gains: dict[str, tuple[Estimate, bool]]) -> str:
    """What :func:`apart` has found, to read."""
    return (
        "tokens a call less the printed factor times those of the row before, image by image: "
        + "; ".join(f"{name}: {gain}, {'surely off' if sure else 'not off'}" for name, (gain, sure) in gains.items())
        + f"; {ERRORS}; false alarms {OFF_ALARMS:g} a factor"
    )


def beside_itself(rows: dict[str, Speed]) -> Evidence:
    """The same comparison of each row with itself: a factor of 1 is surely off the printed ones."""
    return rejects_mutants(
        {f"{name}, by a factor of 1": (one, one, factors) for name, (one, _, factors) in cases(rows).items()},
        lambda case: off(*case)[1],
        "the factors",
    )


def factor(one: tuple[str, int], other: tuple[str, int]) -> tuple[float, float]:
    """The least and the largest quotient of two rows of Table 2 that round to what is printed."""
    a, b = (printed_row("2", method, L=length).interval for method, length in (one, other))
    return float((a / b).low), float((a / b).high)


def off(one: Speed, other: Speed, factors: tuple[float, float]) -> tuple[Estimate, bool]:
    """``one`` less the middle factor times ``other``, and whether it is surely off all factors."""
    least, most = factors
    sure = beyond(one, other, most, OFF_ALARMS) == 1 or beyond(one, other, least, OFF_ALARMS) == -1
    return excess(one, other, (least + most) / 2), sure


@CLAIMS.claim(
    "pac.readings.steps",
    derived(
        "Table 2",
        "The rows for SJD with L = 32 and for the full method with L = 64 were used to fit the process; the factors in "
        f"between are predictions. It may be the process that is wrong, and not the reading. {STAND_IN}",
    ),
    "On the simulated image-like process, a comb with K = 4 and D = 3 within its budget of nodes, with the retained "
    "token first and a bonus after an accepted sibling, raises tokens a call by the factors between the rows of "
    "Table 2: 2.71/2.31 for +PD, 3.52/2.71 for +PD+AC, and 4.51/3.52 from L = 32 to L = 64.",
    simulates=SIMULATES,
)
def reading_steps(seed: int) -> Finding:
    """A factor is off if, image by image, tokens a call differ on average from the printed factor times those of the
    other decoder, whatever the printed digits were rounded from. Factors between rows on the same images are far surer
    than the rows. A comb without the bonus after a sibling saves nothing (pac.readings.bonus). Other lossless readings
    fit the budget too, the tree of the published code and K separate paths (pac.readings): this says nothing of them.
    """
    rows = table_2(comb, seed)
    gains, full = apart(rows), rows["L = 64"]
    tree: dict[str, Any] = {"candidates": 4, "depth": 3}
    others: dict[str, Decoder] = {
        "retained token dropped": SjdPac(55, kept="dropped", **tree),
        "no bonus": SjdPac(55, bonus=False, **tree),
        "full tree of K = 2": SjdPac(53, candidates=2, depth=3, tree="full"),  # 14 nodes of 64
    }
    found = {name: compare(speed(decoder, seed, READINGS), full) for name, decoder in others.items()}
    return not_refuted_if(
        not any(sure for _, sure in gains.values()),
        counterexample(
            f"image-like process, {told(gains)}",
            numbers(
                tokens=full.tokens,
                calls={name: found.calls for name, found in rows.items()},
                apart={name: gain.mean for name, (gain, _) in gains.items()},
                error={name: gain.error for name, (gain, _) in gains.items()},
                off={name: sure for name, (_, sure) in gains.items()},
            ),
        ),
        simulation(
            "tokens a call with L = 64 against the comb, other readings: "
            + "; ".join(f"{name} {value}" for name, value in found.items())
            + f"; {ERRORS}, n = {READINGS}"
        ),
        beside_itself(rows),
    )


class Paths(SjdPac):
    """K separate paths from the root: behind candidate k stands candidate k of the next position, and no other.

    As a full tree whose nodes share their candidates, of which nothing but the paths is verified.
    """

    def verify_candidates(
        self, rule: Rule, p: Array, declared: list[Array], candidates: Array
    ) -> tuple[Array, Array, Array]:
        probability, residual, order = super().verify_candidates(rule, p, declared, candidates)
        tree = self.draft_tree()
        for parent, row in enumerate(tree.families.rows.values):
            if row > 0:  # not the root: the path of candidate k goes on with candidate k alone
                k, only = int(np.argwhere(tree.children.values == row - 1)[0, 1]), [parent]
                alone = np.where(np.arange(self.candidates) == 0, candidates[:, only, k : k + 1], NONE)
                rows = [declared[k][:, only]] * self.candidates
                probability[:, only], residual[:, only], _ = super().verify_candidates(rule, p[:, only], rows, alone)
                order[:, parent, 0] = k
        return probability, residual, order


class WrongPaths(Paths, trees.SiblingsUnconditional):
    """Declares the row of a position for all its candidates, although they are drawn without those before."""


@CLAIMS.claim(
    "pac.readings",
    derived(
        "4.1, 4.3, Table 2",
        "The text leaves open the shape of the tree, what follows an accepted sibling, and which candidate the "
        "retained token is. Judged are a comb (pac.readings.steps) and the tree of the published code, drawn and "
        "verified as the proofs ask for; K separate paths are shown lossless. The noise of the process was fitted with "
        f"a comb. {STAND_IN}",
    ),
    "A reading of SJD-PAC that is lossless and fits 64 verified tokens reproduces, on the simulated image-like "
    "process, the factors between the rows of Table 2.",
    simulates=SIMULATES,
)
def readings(seed: int) -> Finding:
    r"""That there is such a reading is not refuted by those that fail, and others are left. The published code has a
    full tree whose nodes share their candidates, the retained token first and a bonus token behind an accepted path,
    and counts depth from the root: with K = 4, D = 3 two positions have candidates, and 64 nodes leave a chain of 45
    drafts (sjd-pac-reference.tree). Mended it is lossless (pac.combined, pac.readings.shared), and far nearer to the
    printed rows than a comb: 32 nodes leave it a chain of 13 drafts, and a comb one of 23, so that continuation gains
    less and the wider window more. By these images its factor of continuation is off all the same, by 0.1 tokens a call
    of 3.5, on a process that was fitted with a comb.

    The paper speaks of "multiple diverse proposal paths rooted at" the new token, too, and extends "one of these paths
    (e.g., the first path, k=1)". As candidates of a node that are followed by one draft each, these are $K$ paths of
    depth $D$, of which one goes on: $K D + 52 = 64$ nodes for $K = 4$, $D = 3$. Behind candidate $k$ stands candidate
    $k$ of the next position, drawn without the $k - 1$ before it and verified with the row without them, whose law it
    has given them. So $K$ paths are lossless as a comb is (pac.theorem-2), and unlike a comb they save calls without
    any bonus token. One reading fails on every process: if all drafts behind the tree are drawn again, as section 4.1
    literally says, adaptive continuation changes nothing, and the row of +PD+AC would be that of +PD.
    """
    shape: dict[str, Any] = {"candidates": 2, "depth": 2}
    full: dict[str, Any] = {**shape, "tree": "full", "shared": True}
    dense = random_process(seed + 1, 2, 5, zeros=0.0)
    tried = [*processes(seed), dense]

    def worst(kind: type[SjdPac]) -> Number:
        """The largest TV between a law of sequences and the target's."""
        return max(deviation(kind(3, bonus=bonus, **full), one) for one in tried for bonus in (True, False))

    means = {
        ("without" if not bonus else "with") + " a bonus": {
            "chain": steps(SjdAc(3, bonus=bonus), [dense]),
            "comb": steps(SjdPac(3, bonus=bonus, **shape), [dense]),
            "full tree, shared": steps(SjdPac(3, bonus=bonus, **full), [dense]),
            "K paths": steps(Paths(3, bonus=bonus, **full), [dense]),
        }
        for bonus in (False, True)
    }
    rows, off_law, off_paths = table_2(tree_of_code, seed, NEAR), worst(SjdPac), worst(Paths)
    gains = apart(rows)
    fits = off_law == 0 and not any(sure for _, sure in gains.values())
    return Finding(
        "not-refuted" if fits else "not-decided",
        [
            simulation(
                "image-like process, tree of the published code, tokens a call: "
                + "; ".join(f"{name} {found}" for name, found in rows.items())
                + f"; {told(gains)}",
                numbers(compression={name: found.mean.mean for name, found in rows.items()}),
            ),
            beside_itself(rows),
            enumeration(
                f"a full tree with shared candidates and K separate paths are lossless on {len(tried)} processes, K = "
                f"D = 2, window 3, with and without bonus (largest TV {fmt(max(off_law, off_paths))}); exact mean "
                "steps on one without zeros: "
                + "; ".join(
                    f"{name} " + ", ".join(f"{kind} {float(mean):.4f}" for kind, mean in found.items())
                    for name, found in means.items()
                )
            ),
            rejects_mutants({"a row declared for all of its candidates": WrongPaths}, worst, "the sequence law"),
        ],
    )


# Speed, rules and optimality: what is not so ----------------------------------------------------------------------


@CLAIMS.claim(
    "pac.continuation-speed",
    derived(
        "4.2", "The paper says that continuation raises tokens a call on image models, and nothing of every process."
    ),
    "Adaptive continuation takes more calls in the mean than SJD on some processes, and fewer on others.",
)
def continuation_speed(seed: int) -> Finding:
    r"""Retaining a token keeps the rows behind it right if the tokens to its left that did change matter little to
    them. Where they matter, retaining can be worse than drawing anew. Four tokens of two kinds: 0, a uniform one, one
    that the first two decide, a uniform one; window 3, first drafts uniform. If the first draft is a 0, both methods
    are equal and take $3/2$ calls in the mean. If it is a 1, it is replaced by 0, and the third draft was made for $(1,
    x)$. SJD draws $x$ anew: it is the old one half of the time, and the third draft is right half of the time, $5/2$
    calls in the mean. Let the third token copy the second: continuation retains $x$, the third draft is right, 2
    calls. Let it be the second after a 0 and the other one after a 1: continuation retains $x$ and the third draft is
    wrong, 3 calls.
    """
    by_name = {"copy": _four(lambda a, b: b), "compare": _four(lambda a, b: a ^ b)}

    def found(decoder: Decoder) -> tuple[Fraction, ...]:
        return tuple(mean_steps(decoder, process) for process in by_name.values())

    def differs(decoder: Decoder) -> bool:
        """Whether the decoder does not both save on the one process and lose on the other."""
        return not found(decoder)[0] < found(Sjd(3))[0] or not found(decoder)[1] > found(Sjd(3))[1]

    require(
        max(deviation(SjdAc(3), process) for process in by_name.values()) == 0, "continuation is not lossless there"
    )
    (copy, compared), plain = found(SjdAc(3)), found(Sjd(3))
    return holds_if(
        not differs(SjdAc(3)),
        example(
            f"mean calls, third token a copy of the second: SJD {fmt(plain[0])}, with continuation {fmt(copy)}; third "
            f"token the second compared with the first: SJD {fmt(plain[1])}, with continuation {fmt(compared)}",
            numbers(
                window=3, copy={"sjd": plain[0], "continued": copy}, compare={"sjd": plain[1], "continued": compared}
            ),
        ),
        rejects_mutants({"SJD itself": Sjd(3), "a window of 2": SjdAc(2)}, differs, "the number of calls"),
    )


def _four(third: Callable[[int, int], int]) -> TableProcess:
    """Four tokens of two kinds; the third is decided by the first two."""

    def row(prefix: tuple[int, ...]) -> tuple[Fraction, ...]:
        if len(prefix) in (0, 2):
            sure = third(*prefix) if prefix else 0
            return tuple(Fraction(int(token == sure)) for token in (0, 1))
        return Fraction(1, 2), Fraction(1, 2)

    return TableProcess(2, 4, row)


GROUPS = (0, 0, 1)
TARGET = (Fraction(0), Fraction(1, 2), Fraction(1, 2))  # every row of an example


@CLAIMS.claim(
    "pac.relabel",
    derived(
        "4.2, 6",
        "The paper proposes lossy acceptance rules as future work; what has to be declared then it does not say.",
    ),
    r"With a lossy acceptance rule a token that adaptive continuation has verified does not follow the row $p$ of the "
    r"call but the law that the rule emits for $(p, q)$; drafts follow their declared rows again if that law is "
    r"declared.",
)
def relabel(seed: int) -> Finding:
    r"""What stands behind the first rejection is accepted, or replaced, by the rule for $(p, q)$, so it follows the law
    that the rule emits, by the argument of pac.theorem-1. For a lossy rule that is not $p$. Declaring $p$ makes
    every later comparison one with a draft that was not drawn from it; declaring the law restores the induction, and
    the only distortion left is that of the rule.
    """
    rule: Rule = make_rule("grouped", labels=list(GROUPS))
    some = [process for process in random_tables(seed, small=True) if process.vocabulary == 3]
    some.append(TableProcess(3, 3, lambda prefix: TARGET))
    shown = described("grouped", {"labels": list(GROUPS)}, TARGET, (Fraction(1, 3),) * 3)

    def gap(declared: Relabel, verified: Rule) -> Fraction:
        return max(honesty_gap(SjdAc(2, relabel=declared), process, verified, declared_left) for process in some)

    law, target = gap("law", rule), gap("target", Speculative())
    return holds_if(
        law == target == 0,
        enumeration(
            f"sjd-ac with groups (0, 0, 1), window 2, on {len(some)} processes of three tokens: with the law "
            f"declared each draft follows its declared row (largest difference {fmt(law)}), and with p and the "
            f"lossless rule ({fmt(target)})"
        ),
        example(
            "every row p = (0, 1/2, 1/2), first drafts uniform: the second draft, verified behind a rejected first, "
            f"follows {fmt_row(Fraction(x) for x in shown['exact']['law'])}",
            shown,
        ),
        rejects_mutants({"p declared with the lossy rule": rule}, lambda r: gap("target", r), "the declared rows"),
    )


@CLAIMS.claim(
    "pac.optimal",
    derived("4.1, App. A.3", "The paper does not say that verification in turn is optimal; SpecTr has the optimum."),
    r"For some $p$ and $q$ a lossless method accepts one of $K = 2$ candidates drawn without replacement more often "
    r"than verification in turn does.",
)
def optimal(seed: int) -> Finding:
    r"""The optimum is a transport between $p$ and the law of the set of candidates. For $K = 1$ both accept with
    probability $1 - \mathrm{TV}(p, q)$. For $K \ge 2$ verification in turn decides on $c_1$ before it has seen $c_2$.
    With $p = (0, 1/2, 1/2)$ and $q = (1/4, 1/4, 1/2)$ the sets $\{0, 1\}$, $\{0, 2\}$, $\{1, 2\}$ have probabilities
    $1/6$, $5/12$, $5/12$. Accepting 1 from the first, 2 from the second, and from the third 1 with mass $1/3$ and 2
    with mass $1/12$ gives 1 and 2 mass $1/2$ each: a candidate is always accepted. In turn $c_1$ is accepted unless it
    is 0, and then $p^{(2)} = (0, 1, 0)$ accepts $c_2$ if it is 1: $3/4 + 1/4 \cdot 1/3 = 5/6$.
    """
    p, q = TARGET, (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2))

    def short(case: tuple[Pmf, Pmf, int]) -> Fraction:
        """By how much verification in turn falls short of the optimum."""
        p, q, k = case
        return Fraction(optimal_acceptance(p, candidate_sets(q, k)) - candidates_law(Speculative(), p, q, k)[1])

    best, turn = optimal_acceptance(p, candidate_sets(q, 2)), candidates_law(Speculative(), p, q, 2)[1]
    return holds_if(
        short((p, q, 2)) > 0,
        example(
            f"K = 2, p = {fmt_row(p)}, q = {fmt_row(q)}: in turn {fmt(turn)}, optimum {fmt(best)}",
            numbers("speculative", {"candidates": 2}, p=p, q=q, acceptance=turn, optimal=best),
        ),
        rejects_mutants(
            {"one candidate": (p, q, 1), "p = q": (q, q, 2), "all tokens as candidates": (p, q, 3)},
            lambda case: not short(case) > 0,
            "the shortfall",
        ),
    )
