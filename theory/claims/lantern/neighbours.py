"""Claims of LANTERN about near tokens, and about temperature 0."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np

from simlab.processes.processors import tempered
from simlab.rules import (
    Lantern,
    LanternGreedy,
    OptimalLossy,
    Rule,
    Speculative,
    codebook_distances,
    codebook_neighbours,
)
from theory.acceptance import alpha
from theory.claims.base import Claims, Finding
from theory.claims.evidence import (
    counterexample,
    described,
    enumeration,
    example,
    holds_under_assumptions_if,
    identity,
    refuted_if,
    rejects_mutants,
    small_scale,
)
from theory.claims.format import fmt, fmt_row
from theory.claims.lantern.relaxation import cases
from theory.distances import tv, wasserstein1
from theory.exact import acceptance, step_law
from theory.example_processes import codebook_pairs, point_mass

CLAIMS = Claims("lantern")

# Near tokens ---------------------------------------------------------------------------------------------------

CLAIMS.summary(
    "lantern.neighbours",
    "Table 4",
    "Nearest neighbours accept more than random ones at equal delta, with L2 and cosine alike; and because near "
    "tokens are interchangeable, little is lost.",
    [
        "lantern.neighbours.empirical",
        "lantern.neighbours.settings",
        "lantern.neighbours.naive",
        "lantern.neighbours.always",
        "lantern.neighbours.distance",
    ],
)


def _mean(family: Any, lists: Any, delta: float) -> tuple[float, float, float]:
    """Mean acceptance, TV and Wasserstein-1 over the codebook."""
    rule = Lantern(lists, delta)
    law = step_law(rule, family.p, family.q)
    metric = codebook_distances(family.codebook)
    accepted = acceptance(rule, family.p, family.q)
    return float(accepted.mean()), float(tv(law, family.p).mean()), float(wasserstein1(law, family.p, metric).mean())


@CLAIMS.claim(
    "lantern.neighbours.always",
    "Table 4",
    "For every pair of rows nearest neighbours accept at least as much as any other tokens.",
    stated=False,
)
def neighbours_always(seed: int) -> Finding:
    """The mass decides, not the distance: a far token with more mass does more for acceptance."""
    p, q = (Fraction(1, 2), Fraction(0), Fraction(1, 2)), point_mass(0, 3)
    near, far = [[1], [0], [1]], [[2], [0], [0]]
    less, more = (acceptance(Lantern(lists, 1), p, q) for lists in (near, far))
    return refuted_if(
        less < more,
        counterexample(
            f"three tokens on a line, p = {fmt_row(p)}, q = (1, 0, 0), delta = 1: with the nearest token "
            f"of 0 acceptance is {fmt(less)}, with the farthest {fmt(more)}",
            described("lantern", {"neighbours": near, "delta": 1, "bound": "tv"}, p, q, far=far),
        ),
    )


@CLAIMS.claim(
    "lantern.neighbours.distance",
    "3.1, Table 4",
    "At equal delta nearest neighbours distort less than others, measured as Wasserstein-1 in the codebook.",
    stated=False,
)
def neighbours_distance(seed: int) -> Finding:
    """The rule accepts x with the mass of its neighbours but does not take it from them: a neighbour that is not
    drafted loses only through residuals, and what x has too much of is missing wherever p exceeds q, near or far. So
    the distance over which mass ends up displaced is that between q and p, not that between neighbours.
    """
    line = [[abs(x - y) for y in range(3)] for x in range(3)]
    p, q = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)), (Fraction(0), Fraction(0), Fraction(1))
    near, other, delta = [[1], [0], [1]], [[1], [0], [0]], Fraction(3, 10)
    accepted, moved, accepted_other, moved_other = (
        value
        for lists in (near, other)
        for value in (
            acceptance(Lantern(lists, delta), p, q),
            wasserstein1(step_law(Lantern(lists, delta), p, q), p, line),
        )
    )
    family = codebook_pairs(seed, 60)
    lossless = float(alpha(family.p, family.q).mean())
    means = {name: _mean(family, codebook_neighbours(family.codebook, 16, name), 0.1) for name in ("l2", "random")}
    text = "; ".join(
        f"{name}: acceptance gained {a - lossless:.3f}, distance {w:.3f}, {w / (a - lossless):.2f} for each unit gained"
        for name, (a, _, w) in means.items()
    )
    return refuted_if(
        moved > moved_other,
        counterexample(
            f"three tokens on a line, p = {fmt_row(p)}, q = (0, 0, 1), delta = {fmt(delta)}: with the nearest "
            f"token of 2 acceptance {fmt(accepted)} at distance {fmt(moved)}, with the farthest, which has "
            f"too much mass to join, {fmt(accepted_other)} at {fmt(moved_other)}",
            described("lantern", {"neighbours": near, "delta": delta, "bound": "tv"}, p, q, other=other),
        ),
        small_scale(
            f"over the codebook family, 16 neighbours, delta = 0.1, Wasserstein-1: {text}",
        ),
    )


# Temperature 0 -------------------------------------------------------------------------------------------------

CLAIMS.summary(
    "lantern.greedy",
    "3.3",
    "At temperature 0 the rule reduces to: accept x iff x = argmax of p_A(. given D = x).",
    ["lantern.greedy.after", "lantern.greedy.one-hot", "lantern.greedy.softmax"],
)


def temperature_zero(rule: Lantern, p: Any, x: int) -> tuple[Fraction, tuple[Fraction, ...]]:
    """What the rule does when temperature 0 is applied to p_A, and the draft is a point mass on x.

    The probability of accepting x, and the row a rejected one is replaced from.
    """
    given = rule.conditional_rows(np.array([p], dtype=object), np.array([x]))
    target = tempered(given, 0)[0]
    q = point_mass(x, len(p))
    lossless = Speculative()
    return Fraction(lossless.accept(target, q, x)[()]), tuple(lossless.residual(target, q, x))


@CLAIMS.claim(
    "lantern.greedy.after",
    "3.3",
    "With temperature 0 applied to p_A, the row the draft is compared with, the rule is the criterion.",
    assumptions=["p_A is formed from the softmax row, and temperature 0 is applied to it afterwards"],
)
def greedy_after(seed: int) -> Finding:
    """Temperature 0 makes p_A a point mass on t = argmax p_A(. given x). The draft at temperature 0 is a point mass
    on x. So x is accepted with min(1, [x = t]/1), which is the criterion, and what is left after a rejection is t. Here
    the relaxation acts: x may be the argmax of p_A without being that of p. It is the reading under which Table 3 can
    find longer accepted lengths at temperature 0, and what it emits is then not what greedy decoding emits
    (lantern.greedy.softmax).
    """
    tried = cases(seed, 60)

    def differences(make: Callable[[Any, Fraction], Rule]) -> int:
        count = 0
        for p, _, lists, delta in tried:
            for x in range(len(p)):
                q = point_mass(x, len(p))
                accept, row = temperature_zero(Lantern(lists, delta), p, x)
                rule = make(lists, delta)
                same = accept == rule.accept(p, q, x)[()]
                count += not (same and (accept == 1 or row == tuple(rule.residual(p, q, x))))
        return count

    found = differences(LanternGreedy)
    acts = sum(
        LanternGreedy(lists, delta).accept(p, point_mass(x, len(p)), x)[()] == 1 and p[x] < max(p)
        for p, _, lists, delta in tried
        for x in range(len(p))
    )
    return holds_under_assumptions_if(
        found == 0 and acts,
        identity(
            f"every draft over {len(tried)} rows: criterion and rule agree ({found} differences); {acts} drafts "
            "are accepted that are not the target's argmax",
        ),
        rejects_mutants({"temperature 0 on p": _on_target}, differences, "the comparison"),
    )


def _on_target(lists: Any, delta: Fraction) -> Rule:
    """The criterion without neighbours: accept the target's own argmax."""
    return LanternGreedy([[] for _ in lists], delta)


@CLAIMS.claim(
    "lantern.greedy.one-hot",
    "3.3",
    "With p the point mass that temperature 0 makes of a row, the rule and the criterion agree on every draft.",
    assumptions=["p is the one-hot row; then no neighbour ever joins, and nothing is relaxed"],
)
def greedy_one_hot(seed: int) -> Finding:
    """Let p be a point mass on t. A neighbour t of x would move mass 1, TV 1 >= delta, so it never joins, and other
    neighbours have no mass. So P(A) = p(x), p_A = p, and x is accepted iff x = t, which is the criterion; a rejected
    draft is replaced by t either way. This is the lossless rule. It does not accept more than that, so this reading
    does not explain why Table 3 finds longer accepted lengths at temperature 0.
    """

    def disagreements(make: Callable[[Any, Fraction], Rule]) -> int:
        count = 0
        for size in (2, 3, 4):
            lists = [list(permutations([y for y in range(size) if y != x]))[-1] for x in range(size)]
            for t in range(size):
                for d in range(size):
                    p, q = (point_mass(z, size) for z in (t, d))
                    for delta in (Fraction(1, 10), Fraction(1)):
                        greedy, rule = LanternGreedy(lists, delta), make(lists, delta)
                        same = greedy.accept(p, q, d) == rule.accept(p, q, d)
                        same &= (greedy.residual(p, q, d) == rule.residual(p, q, d)).all()
                        count += not same
        return count

    found = disagreements(Lantern)
    lossless = disagreements(lambda lists, delta: Speculative())
    return holds_under_assumptions_if(
        found == lossless == 0,
        enumeration(
            "every pair of point masses over 2 to 4 tokens, delta = 1/10 and 1: criterion, LANTERN's rule and "
            f"the lossless rule give the same answers ({found + lossless} differences)",
        ),
        rejects_mutants(
            {"optimal lossy, tv = 1/2": lambda *_: OptimalLossy(Fraction(1, 2))}, disagreements, "the comparison"
        ),
    )


@CLAIMS.claim(
    "lantern.greedy.softmax",
    "3.3",
    "With p the softmax row and a greedy draft, the rule reduces to the criterion.",
    stated=False,
)
def greedy_softmax(seed: int) -> Finding:
    """A greedy draft is a point mass on x, accepted by the rule with probability P(A), which is neither 0 nor 1 on a
    softmax row; the criterion accepts it surely or never. It is a rule of its own: it emits x in place of the target's
    argmax whenever P(A) exceeds every other mass.
    """
    p, q = (Fraction(2, 5), Fraction(1, 5), Fraction(2, 5)), (Fraction(1), Fraction(0), Fraction(0))
    lists, delta = [[1], [0], [0]], Fraction(1, 4)
    rule, greedy = Lantern(lists, delta), LanternGreedy(lists, delta)
    accept, sure = rule.accept(p, q, 0), greedy.accept(p, q, 0)
    wide_lists, flat = [[1, 2], [0, 2], [0, 1]], (Fraction(3, 10), Fraction(3, 10), Fraction(2, 5))
    wide = LanternGreedy(wide_lists, Fraction(2, 5))
    replaced = step_law(wide, flat, q)
    return refuted_if(
        accept != sure and replaced[2] == 0,
        counterexample(
            "p = (2/5, 1/5, 2/5), a greedy draft of token 0 whose neighbour is 1, delta = 1/4: the rule accepts it "
            f"with probability {accept}, the criterion with {sure}",
            described("lantern", {"neighbours": lists, "delta": delta, "bound": "tv"}, p, q),
        ),
        example(
            "p = (3/10, 3/10, 2/5), delta = 2/5: the criterion emits token 0 surely, where greedy decoding emits "
            f"2: law {fmt_row(replaced)}",
            described("lantern-greedy", {"neighbours": wide_lists, "delta": Fraction(2, 5), "bound": "tv"}, flat, q),
        ),
    )
