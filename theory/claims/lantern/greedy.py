"""Claims of LANTERN about temperature 0, and about the indices of its Algorithm 1."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from simlab.rules import LanternGreedy, Rule
from theory.claims.base import Claims, Finding
from theory.claims.evidence import (
    control,
    counterexample,
    described,
    example,
    holds_if,
    identity,
    refuted_if,
    rejects_mutants,
    require,
)
from theory.claims.format import fmt_row, numbers
from theory.claims.lantern.reference_code import CODE, LLAMAGEN
from theory.claims.lantern.relaxation import cases, parameters
from theory.claims.proven import over_more_tokens, proven
from theory.claims.sources import said
from theory.exact import step_law
from theory.example_processes import point_mass

CLAIMS = Claims("lantern")

# Temperature 0 -------------------------------------------------------------------------------------------------


def in_code(lists: Any, delta: Fraction, p: Any, x: int) -> tuple[bool, int]:
    """What the code does: softmax, raise x by what joins, argmax; and the token that a rejected x is replaced by."""
    raised, moved = list(p), Fraction(0)
    for y in lists[x]:
        if moved + p[y] > delta:
            break
        moved += p[y]
    raised[x] += moved
    return raised.index(max(raised)) == x, list(p).index(max(p))


@CLAIMS.claim(
    "lantern.greedy",
    said(
        "3.3",
        "For greedy decoding, LANTERN can be simply reduced to accept $\\tilde{x}$ if $\\tilde{x} = \\arg \\max_x "
        "q_{k,\\delta}(x|s, D = \\tilde{x})$.",
        "formalised",
        "The neighbourhood is formed from the softmax row, as the code does, then argmax. It is so in the other order "
        "as well, where the neighbourhood is formed from a point mass and nothing is relaxed.",
    ),
    r"For every $p$, list of neighbours, $\delta$ and deterministic draft $x$: with temperature 0 applied to "
    r"$p_A(\cdot \mid x)$, formed from the softmax row $p$, the rule accepts $x$ exactly if "
    r"$x = \mathrm{argmax}\ p_A(\cdot \mid x)$, and otherwise emits that argmax.",
)
def greedy_after(seed: int) -> Finding:
    r"""Temperature 0 makes $p_A$ a point mass on $t = \mathrm{argmax}\ p_A(\cdot \mid x)$, the first of equals. The
    draft is a point mass on $x$. So $x$ is accepted with probability 1 if $x = t$ and 0 if not, and what is left after
    a rejection is $t$. Here the relaxation acts: $x$ may be the argmax of $p_A$ without being that of $p$, which is how
    Table 3 can find longer accepted lengths at temperature 0; what is emitted is then not what greedy decoding emits.

    Where temperature 0 comes first, let $p$ be a point mass on $t$. A neighbour $t$ of $x$ would move mass 1, and $1
    \ge \delta$, so it never joins, and other neighbours have no mass. So $P(A) = p(x)$, $p_A = p$, and $x$ is accepted
    exactly if $x = t$; a rejected draft is replaced by $t$. This is the lossless rule, and does not explain the longer
    accepted lengths of Table 3.
    """
    p, lists, delta = (Fraction(3, 10), Fraction(3, 10), Fraction(2, 5)), [[1, 2], [0, 2], [0, 1]], Fraction(2, 5)
    law = step_law(LanternGreedy(lists, delta), p, point_mass(0, 3))
    return holds_if(
        proven("lantern.greedy") and law[0] == 1 and p[0] < max(p),
        over_more_tokens("lantern.greedy", seed),
        example(
            f"p = {fmt_row(p)}, draft 0 with neighbours 1 and 2, delta = 2/5: token 0 is emitted surely, where greedy "
            f"decoding emits 2: law {fmt_row(law)}",
            described("lantern-greedy", parameters(lists, delta), p, point_mass(0, 3)),
        ),
    )


@CLAIMS.claim(
    "lantern.greedy.code",
    CODE.function(
        LLAMAGEN,
        "evaluate_posterior",
        "Without a logits processor, which is temperature 0: softmax of the logits, p(x) raised by the mass of the "
        "neighbours that join, x accepted if it is the argmax; after a rejection the argmax of the logits is emitted. "
        "The paper's sentence is about the rule, not about this function.",
        "ours",
    ),
    r"For every softmax row $p$, list of neighbours, $\delta$ and deterministic draft $x$ with "
    r"$p(x) > 0$, the published code accepts $x$ exactly if $x = \mathrm{argmax}\ p_A(\cdot \mid x)$, and otherwise "
    r"emits that argmax.",
    assumptions=[
        "delta is no sum: $\\delta$ is not the mass of any set of tokens",
    ],
)
def greedy_code(seed: int) -> Finding:
    r"""The order in the code is softmax, raise $x$, argmax (lantern.greedy). It raises $p(x)$ to $P(A)$ and
    leaves the neighbours their mass. That decides nothing: $p(y) < P(A)$ for every $y \ne x$ in $A$, as $p(x) > 0$, so
    $x$ is the argmax of the raised row exactly if $P(A)$ exceeds all masses outside $A$, as for $p_A$. If not, the
    argmax of $p_A$ is a token outside $A$ with more mass than $P(A)$, and so than any token of $A$: the argmax of $p$,
    which the code emits; of equals both take the first, and those of $A$ are none. As delta is no sum, $\le$ for
    $<$ does not matter.
    """
    tried = [(p, lists, min(delta + Fraction(1, 7919), Fraction(1))) for p, _, lists, delta in cases(seed, 40)]

    def differences(make: Callable[[Any, Fraction], Rule]) -> int:
        count = 0
        for p, lists, delta in tried:
            for x in (x for x in range(len(p)) if p[x] > 0):
                rule, q = make(lists, delta), point_mass(x, len(p))
                accepts, instead = in_code(lists, delta, p, x)
                same = accepts == bool(rule.accept(p, q, x)[()])
                count += not (same and (accepts or rule.residual(p, q, x)[instead] == 1))
        return count

    found = differences(LanternGreedy)
    p, lists, delta = (Fraction(1, 4), Fraction(5, 16), Fraction(7, 16)), [[1, 2], [0, 2], [0, 1]], Fraction(2, 5)
    accepts = [in_code(lists, delta, p, x) for x in range(3)]
    return holds_if(
        found == 0,
        identity(f"every draft over {len(tried)} rows: code and criterion agree ({found} differences)"),
        example(
            f"p = {fmt_row(p)}, all tokens neighbours in the order of their numbers, delta = 2/5: the code accepts "
            + ", ".join(str(x) for x in range(3) if accepts[x][0]),
            numbers("lantern-greedy", {"neighbours": lists, "delta": delta}, p=p, accepts=[int(a) for a, _ in accepts]),
        ),
        rejects_mutants(
            {"temperature 0 on p": lambda lists, delta: LanternGreedy([[] for _ in lists], delta)},  # no neighbours
            differences,
            "the comparison",
        ),
    )


# Algorithm 1 ---------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "lantern.algorithm-1",
    said(
        "B, Algorithm 1, line 12",
        "Set $x_{n+t} \\leftarrow \\tilde{x}_t$ and $n \\leftarrow n+1$",
        "stronger",
        "A slip of the indices, which changes nothing in the rule: the paper does not say that the line is to be taken "
        "to the letter, and every other claim reads what is meant.",
    ),
    r"With the indices as printed in Algorithm 1, accepting all $L$ drafts of a block writes the $L$ positions after "
    r"the prefix.",
)
def algorithm_1(seed: int) -> Finding:
    r"""Line 12 writes $x_{n+t}$ and then raises $n$, inside the loop over $t$. So the $t$-th accepted draft is written
    to position $n + 2t - 1$, $n$ being what it was before the block: every other position is left out. Without the
    increment, and with $n \leftarrow n + t$ once the loop is left, $x_{n+t}$ are the positions after the prefix.
    """

    def positions(length: int, increment: bool) -> list[int]:
        """Where the drafts of a block are written, after a prefix that ends at position 0."""
        n, found = 0, []
        for t in range(1, length + 1):
            found.append(n + t)
            n += increment
        return found

    length = 4
    printed, meant = positions(length, True), positions(length, False)
    require(meant == [1, 2, 3, 4], "without the increment a position is left out")
    return refuted_if(
        printed != meant,
        counterexample(
            f"L = {length}, a prefix that ends at position 0, all drafts accepted: written to positions "
            f"{', '.join(map(str, printed))}",
            numbers(parameters={"drafts": length}, positions=printed),
        ),
        control("without the increment inside the loop the same count finds positions 1 to 4"),
    )
