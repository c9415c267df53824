"""Claims about traversal verification, a tree of drafts verified from its leaves to its root."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

from simlab.decoders import Block, Decoder, Traversal
from simlab.processes import TableProcess
from simlab.rules import Speculative
from theory.claims.base import Claims, Finding
from theory.claims.evidence import enumeration, example, holds_if, rejects_mutants
from theory.claims.format import fmt, fmt_row, numbers
from theory.claims.hierarchical.hierarchical import THIRDS
from theory.claims.leviathan.speculative_rule import constant, two_processes
from theory.claims.proven import proven
from theory.claims.sources import derived, said
from theory.distances import aligned, tv
from theory.exact import block_acceptance, block_law, deviation
from theory.trees import top_down_acceptance

CLAIMS = Claims("traversal")
RULE = Speculative()
AGAIN = "The abstract alone could be read: the algorithm is made again from it, and from what is stated of it there."


class Case(NamedTuple):
    """A target and a draft process, and a tree of drafts over them."""

    target: TableProcess
    draft: TableProcess
    branching: Sequence[int]
    replacement: bool


def random_cases(seed: int, shapes: Sequence[tuple[int, Sequence[int], bool]], more: int = 0) -> list[Case]:
    """Processes ``more`` tokens longer than their trees are deep, with zeros and without, for each (V, branching,
    replacement)."""
    return [
        Case(*two_processes(seed + k, v, len(branching) + more, z), branching, replacement)
        for k, (v, branching, replacement) in enumerate(shapes)
        for z in (0.0, 0.3)
    ]


TREES: list[tuple[int, Sequence[int], bool]] = [
    (2, (2,), True),
    (3, (2,), False),
    (2, (1, 2), True),
    (2, (2, 1), True),
    (2, (2, 1), False),
    (2, (3, 1), True),
    (2, (2, 2), True),
    (3, (2, 1), False),
    (3, (1, 2), False),
]
FEWER = tuple(  # two rows of target and of draft; siblings without replacement, of which fewer are accepted
    tuple(tuple(Fraction(mass) for mass in masses.split()) for masses in rows)
    for rows in (("9/10 1/10 0 0", "0 1/4 1/2 1/4"), ("1 0 0 0", "1/2 1/4 1/4 0"))
)
PROVEN = [(2, (2,), True), (2, (1, 2), True)]  # for all rows


@CLAIMS.claim(
    "traversal.lossless",
    said(
        "arXiv 2505.12398, abstract",
        "We theoretically prove that the probability distribution obtained through Traversal Verification is identical "
        "to that of the target model, guaranteeing lossless inference while achieving substantial acceleration gains.",
        "formalised",
        AGAIN,
    ),
    r"For every target, draft and tree whose siblings are drawn independently, or each without those before it, "
    r"sequences decoded with traversal verification have the joint law of the target.",
)
def lossless(seed: int) -> Finding:
    r"""Let a node be tried with weight $\alpha$ and row $p$, some of its children, drawn in turn from $q, q', \dots$,
    being left. Over their drafts and all coins below, something is accepted at the node or under it with probability
    $\alpha$, and what follows the node, completed by the target, then has the law of $p$ and of the target's rows after
    it. By induction on the children left and the height. A leaf is accepted with $\alpha$, and its token follows $p$.
    Else the first child $x$ has the weight $\min(1, \alpha p(x)/q(x))$, so by induction the node goes on with an
    accepted $x$ with probability $q(x) \min(1, \alpha p(x)/q(x)) = \min(q(x), \alpha p(x))$, and rightly after it.
    Nothing is accepted there with probability $1 - \sum_y \min(q(y), \alpha p(y)) = s + 1 - \alpha$ with $s = \sum_y
    [\alpha p(y) - q(y)]^+$. Then the weight is $s/(s + 1 - \alpha)$ and the row $[\alpha p - q]^+/s$, whichever $x$ it
    was, and there is a child less: by induction the node goes on with $y$ with probability $[\alpha p(y) - q(y)]^+$ in
    all, for whatever row the next child is drawn from. Together it goes on with $\min(q(y), \alpha p(y)) + [\alpha p(y)
    - q(y)]^+ = \alpha p(y)$. The root has weight 1 and the target's row.
    """
    larger = [tree for tree in TREES if tree not in PROVEN]
    tried = random_cases(seed, larger)
    worst = max(Fraction(deviation(Traversal(c.branching, c.replacement), c.target, RULE, c.draft)) for c in tried)
    return holds_if(
        worst == 0,
        enumeration(
            f"beyond the proof: V = 3, siblings without replacement, trees of more nodes. The sequence law is the "
            f"target's in rationals in {len(tried)} cases of {len(larger)} trees; largest TV {fmt(worst)}"
        ),
    )


@CLAIMS.claim(
    "traversal.chain",
    derived("arXiv 2505.12398", AGAIN),
    r"For every target and draft, traversal verification of a tree in which every node has one child commits each "
    r"sequence of tokens with the probability with which block verification of the same drafts does.",
)
def chain(seed: int) -> Finding:
    r"""Over a chain the weight of node $i$ is $w_i = \min(1, w_{i-1} p(x_i)/q(x_i))$ with $w_0 = 1$. The leaf is
    accepted with $w_\gamma$; once it is rejected its parent has the weight $s/(s + 1 - w)$ with $s = \sum_y [w p(y) -
    q(y)]^+$ and the row $[w p - q]^+/s$. These are the coins and residuals of block verification
    (baselines.block-verification), tossed from the last one back, and the first that comes up is the longest
    prefix whose coin does.
    """
    tried = random_cases(seed, [(3, (1, 1), False), (2, (1, 1, 1), True)], more=1)
    laws = [
        [
            block_law(made, c.target, RULE, c.draft)
            for made in (Traversal(c.branching, c.replacement), Block(len(c.branching)))
        ]
        for c in tried
    ]
    worst = max(Fraction(tv(*aligned(*pair))) for pair in laws)
    return holds_if(
        proven("traversal.chain") and worst == 0,
        enumeration(
            f"beyond the proof: V = 3 and two drafts, V = 2 and three. The joint law of what the first step commits is "
            f"that of block verification in rationals in {len(tried)} cases"
        ),
    )


@CLAIMS.claim(
    "traversal.top-down",
    said(
        "arXiv 2505.12398, version 2, abstract",
        "Experimental results on various models and multiple tasks demonstrate that our method consistently improves "
        "acceptance length and throughput over token-level verification.",
        "stronger",
        "Acceptance length is the mean number of drafts accepted, of the same tree and rows; for every target and "
        "draft instead of those that were measured, and siblings that are drawn independently. Throughput is not "
        f"judged. The abstract on arXiv's own page has “over existing methods”, the wider claim. {AGAIN}",
    ),
    r"For every target, draft and tree in which all nodes of a level have as many children, drawn independently, "
    r"traversal verification accepts at least as many drafts in the mean as trying the families of the same tree from "
    r"the root down, each by recursive rejection. Where siblings are each drawn without those before it, there are a "
    r"target, a draft and such a tree of which it accepts fewer.",
)
def no_fewer_than_top_down(seed: int) -> Finding:
    r"""Let a node be tried with weight $\beta$, and $f(a) = \sum_y [\beta p(y) - a q(y)]^+$: $a + f(a)$ does not fall.
    Once nothing is accepted under $k$ children, $[\beta p - b_k q]^+$ is left, with $b_0 = 0$ and $b_{k+1} = b_k + 1 -
    \beta + f(b_k)$: this has the probability $1 - \beta + f(b_k)$, with which the next child is drawn. From the root
    down $[\beta p - a_k q]^+$ is left, times $\beta$, with $a_{k+1} = a_k + f(a_k)$. So $b_k \ge a_k$ stays, and of
    each $y$ at least as much is accepted, by children whose trees are alike. Something is accepted at a node of weight
    $\beta$ or under it with probability $\beta$; by induction on the height, under each child of weight $w$ there are
    at least $w$ times as many drafts accepted as from the root down. The root has weight 1. Without replacement the
    next $q$ depends on which $y$ was rejected, and these are weighted by $[q - \beta p]^+$ here, by $[q - p]^+$ there.
    """
    trees = [tree for tree in TREES if tree[2]]
    tried = [case for shift in range(2) for case in random_cases(seed + 10 * shift, trees)]

    def behind(make: Callable[[Sequence[int], bool], Decoder]) -> Fraction:
        """By how many drafts it is behind where it is most."""
        return max(top_down(c) - accepted(make(c.branching, c.replacement), c) for c in tried)

    p, q = THIRDS
    case = Case(constant(p, 2), constant(q, 2), (2, 1), True)
    fewer = Case(by_place(*FEWER[0]), by_place(*FEWER[1]), (1, 2), False)
    ahead = [accepted(Traversal(c.branching, c.replacement), c) - top_down(c) for c in tried]
    own, down = accepted(Traversal(fewer.branching, fewer.replacement), fewer), top_down(fewer)
    return holds_if(
        proven("traversal.top-down") and behind(Traversal) <= 0 and own < down,
        enumeration(
            f"beside the proof: {len(tried)} cases of {len(trees)} trees (V = 2, with and without zeros, of seeds "
            f"{seed} and {seed + 10}): never behind, ahead in {sum(a > 0 for a in ahead)} of them, by up to "
            f"{float(max(ahead)):.4f} drafts"
        ),
        example(
            f"p = {fmt_row(p)}, q = {fmt_row(q)} at each position, two children with one child each: "
            f"{fmt(accepted(Traversal((2, 1)), case))} accepted, {fmt(top_down(case))} from the root down",
            numbers(p=p, q=q, branching=(2, 1), accepted=accepted(Traversal((2, 1)), case), top_down=top_down(case)),
        ),
        example(
            f"fewer without replacement: p = {fmt_row(FEWER[0][0])}, q = {fmt_row(FEWER[1][0])}, then p = "
            f"{fmt_row(FEWER[0][1])}, q = {fmt_row(FEWER[1][1])}, one child with two: {fmt(own)} accepted, {fmt(down)} "
            "from the root down",
            numbers(p=FEWER[0], q=FEWER[1], branching=(1, 2), accepted=own, top_down=down),
        ),
        rejects_mutants({"only the root's first family": FirstFamily}, behind, "drafts accepted"),
    )


def by_place(*rows: Sequence[Fraction]) -> TableProcess:
    """A process whose row is that of its position."""
    return TableProcess(len(rows[0]), len(rows), lambda prefix: rows[len(prefix)])


class FirstFamily(Traversal):
    """Drops all drafts below the first level."""

    def __init__(self, branching: Sequence[int], replacement: bool = True) -> None:
        super().__init__(branching[:1], replacement)


def accepted(decoder: Decoder, case: Case) -> Fraction:
    return Fraction(block_acceptance(decoder, case.target, RULE, case.draft))


def top_down(case: Case) -> Fraction:
    return Fraction(top_down_acceptance(*case))
