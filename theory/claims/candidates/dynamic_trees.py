"""Claims about dynamic trees of drafts, as EAGLE-2 builds and its published code verifies them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from simlab.candidates import NONE, Deterministic, Recursive
from simlab.decoders import Decoder, DynamicTree
from simlab.mutants.trees import OtherParents
from simlab.rules import Speculative
from theory.claims.base import Claims, Finding
from theory.claims.candidates.verifiers import P, Q, of
from theory.claims.evidence import (
    control,
    counterexample,
    enumeration,
    example,
    holds_if,
    refuted_if,
    rejects_mutants,
    require,
)
from theory.claims.format import fmt, fmt_row, numbers
from theory.claims.proven import proven
from theory.claims.sources import Repository, said
from theory.exact import deviation
from theory.example_processes import random_process

CLAIMS = Claims("candidates")
RULE = Speculative()
CODE = Repository("SafeAILab/EAGLE", "cb7e0841fe0c206c6ed74a197ad5e2a1f13f5a2b")
SHAPES = ((1, 0, 1), (2, 1, 3), (2, 2, 4), (2, 2, 14), (3, 1, 5))


@CLAIMS.claim(
    "candidates.eagle-2",
    said(
        "arXiv 2406.16858, abstract",
        "EAGLE-2 also ensures that the distribution of the generated text remains unchanged, making it a lossless "
        "acceleration algorithm.",
        "formalised",
        "The tree is built as in the published code, at temperatures above 0, and verified with q = 1.",
    ),
    r"For every target, draft and size of the tree, decoding with a dynamic tree of drafts, built from the draft's "
    r"probabilities and verified with $q = 1$ on its nodes, emits sequences of the target's law.",
)
def eagle_2(seed: int) -> Finding:
    r"""No chance is in the tree, given the prefix: which nodes there are depends on the draft's rows alone. At each
    node a token of law $p$ is emitted (candidates.eagle-2.posterior), and whether it has a node decides only whether
    the row after it is known already. So every token follows the target's row after all tokens before it.
    """
    tried = [
        (random_process(seed + k, v, n, zeros=z), random_process(seed + k + 500, v, n, zeros=z))
        for k, (v, n) in enumerate(((2, 3), (3, 3)))
        for z in (0.0, 0.3)
    ]

    def apart(make: Callable[[int, int, int], Decoder]) -> Fraction:
        return max(Fraction(deviation(make(*shape), t, RULE, d)) for shape, (t, d) in product(SHAPES, tried))

    found = apart(DynamicTree)
    return holds_if(
        found == 0,
        enumeration(
            f"law of sequences of three tokens in rationals, {len(SHAPES)} trees over {len(tried)} pairs of processes "
            f"(V = 2, 3, with and without zeros); largest TV {fmt(found)}"
        ),
        rejects_mutants({"nodes under other parents": OtherParents}, apart, "the law of sequences"),
    )


@CLAIMS.claim(
    "candidates.eagle-2.posterior",
    CODE.function(
        "eagle/model/utils.py",
        "evaluate_posterior",
        "For each level the different candidates in order: accepted with the current p(x), the draft's probability "
        "being written as 1; a rejected one is set to zero in p, which is normalised. Sampling, not at temperature 0.",
    ),
    r"For every $p$ and every set $C$ of deterministic candidates, accepting each in turn with the current $p(x)$ and "
    r"removing it from $p$ if it is rejected emits the law $p$ and accepts with probability $p(C)$.",
)
def posterior(seed: int) -> Finding:
    r"""A candidate $x$ has the point mass on $x$ as its $q$: it is accepted with $\min(1, p(x)/1)$, and $[p - q]^+$ is
    $p$ without $x$. So this is recursive rejection, which emits $p$. The candidates before $x$ are rejected with
    $1 - p$ of them together, and $x$ is then accepted with $p(x)$ over that: with $p(x)$ in all.
    """
    accepted = of(Recursive(), Deterministic(), P, Q, 2)[1]
    return holds_if(
        proven("candidates.eagle-2.posterior"),
        example(
            f"p = {fmt_row(P)}, the two likeliest of q = {fmt_row(Q)}: {fmt(accepted)} accepted",
            numbers(p=P, q=Q, candidates=2, accepted=accepted),
        ),
    )


BEAM = (Fraction(1, 2), Fraction(1, 2))  # the row after the prefix, and after token 0
CERTAIN = (Fraction(1), Fraction(0))  # the row after token 1


def meant(kept: list[int], parents: Sequence[int]) -> list[int]:
    """The place in ``kept`` of the parent of each node that is kept, NONE for the root or where it is not."""
    return [kept.index(parents[node]) if parents[node] in kept else NONE for node in kept]


def searched(kept: list[int], parents: Sequence[int]) -> list[int]:
    """The same as the code looks for it."""
    wanted = np.array([parents[node] for node in kept])
    return np.where(wanted == NONE, NONE, np.searchsorted(np.array(kept), wanted)).tolist()


def retrieved(placed: list[int], node: int) -> list[int]:
    """The path to a node as the code walks it, NONE for the root: as many steps up as the node's mask has nodes."""
    masks: list[set[int]] = []
    for k, above in enumerate(placed):
        masks.append({k} | (masks[above] if NONE < above < k else set()))
    path = [node]
    for _ in masks[node]:
        path.insert(0, placed[path[0]] if path[0] != NONE else NONE)
    return path


@CLAIMS.claim(
    "candidates.eagle-2.parents",
    CODE.function(
        "eagle/model/cnets.py",
        "Model.topK_genrate",
        "`torch.topk` picks the nodes that are verified by the sum of logarithms on their paths; the place of the "
        "parent of each among them is looked for with `torch.searchsorted`. The line after it, which would find "
        "parents that are not there, is commented out.",
        "ours",
    ),
    "For every draft and every choice among nodes of equal score, each node that is verified is placed under the node "
    "whose child it is.",
)
def parents(seed: int) -> Finding:
    r"""A child scores as much as its parent where the draft is certain of it, in floating point wherever its logarithm
    rounds to 0, and whoever picks the best may then take the child without the parent. A search for what is not there
    gives the next larger number: a node of the same level or below, or the child itself. In the example the children
    of the root are 0 and 1, with 1/2 each, and 1 is certainly followed by 0, the node numbered 4. Of the three nodes
    with score 1/2 two are verified; if these are 0 and 4, then 4 is looked for under 1, which is not there, and is
    placed under itself. With the logarithms 0 and -39 in place of those of 1 and 0, the function as it is published,
    run with torch 2.13 on a CPU, keeps 0 and 4 and places 4 so.

    The tree is then another one than was meant: one of its rows is spent on a node that stands under another, or under
    itself, where no path reaches it unless a child of it is kept. No chance is in the tree, and each node is verified
    in the context that its place gives it, so the tokens of the call are right, and the law is not changed, unless a
    node under itself has a kept child and repeats the last token. The path to that child then begins with the node in
    the place of the root, and verification takes it, as it compares tokens: if it is accepted, the cache keeps the
    node's key and value in the root's place, and the rows of later calls are those of another context. With the tokens
    0 and 0 after 1 all certain (second example), the last token 0 and two nodes to verify, the function as published
    keeps 4 and 6, and retrieves the path 4, 4, 6.
    """
    scores = [*BEAM, *(BEAM[0] * x for x in BEAM), *(BEAM[1] * x for x in CERTAIN)]
    above = [NONE, NONE, 0, 0, 1, 1]
    first, other = [0, 1], [0, 4]  # two nodes, of equal scores the first, and another
    require(all(sorted(scores)[-2:] == sorted(scores[k] for k in kept) for kept in (first, other)), "not the best two")
    found = searched(other, above)
    deeper = [*above, 4, 4]  # 6 is token 0 below 4, and certain
    below = [4, 6]  # of score 1/2 as well
    walked = [retrieved(places(below, deeper), 1) for places in (meant, searched)]
    paths = [[NONE if k == NONE else below[k] for k in path] for path in walked]
    require(paths == [[NONE, 4, 6], [4, 4, 6]], f"the paths to a child of a node under itself are {paths}")
    return refuted_if(
        found != meant(other, above) and searched(first, above) == meant(first, above),
        counterexample(
            "the nodes kept are 0 and 4; the parent of 4 is not among them, and the second node is placed under itself",
            numbers(scores=scores, parents=above, kept=other, placed=found),
        ),
        counterexample(
            "4 is followed by 6, certainly, and the nodes kept are 4 and 6: 4 is placed under itself, and the path to "
            "6 is 4, 4, 6, with 4 in the place of the root",
            numbers(scores=[*scores, *(BEAM[1] * x for x in CERTAIN)], parents=deeper, kept=below, path=paths[1]),
        ),
        control("the same search finds every parent where the first of equal scores are kept, as parents come first"),
    )
