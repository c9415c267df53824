"""Claims about CSpD's parallel verification: how many sequences a target with bidirectional attention is called on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product

from theory.claims.base import Claims, Finding
from theory.claims.evidence import enumeration, example, holds_if, rejects_mutants
from theory.claims.format import fmt_row, numbers
from theory.claims.sources import derived

CLAIMS = Claims("cspd")
LENGTH = 3  # places of an image
DRAFTS = [(Fraction(a), Fraction(b)) for a, b in product((0, 1, 3), (0, 2, 5))]  # values of a block of two

Attention = Callable[[Sequence[Fraction]], list[Fraction]]  # from what stands at each place to the output there


def uniform(values: Sequence[Fraction]) -> list[Fraction]:
    """Every place looks at all places alike: queries of 0."""
    return [sum(values, Fraction(0)) / len(values)] * len(values)


def causal(values: Sequence[Fraction]) -> list[Fraction]:
    """Every place looks at the ones before it alone; masks behind a prefix add nothing to it."""
    return [sum(values[:i], Fraction(0)) / len(values) for i in range(len(values))]


def wanted(attention: Attention, drafts: Sequence[Fraction]) -> list[Fraction]:
    """What the target says of each place of the block given the drafts before it, a sequence for each; masks are 0."""
    rows = [[*drafts[:i], *[Fraction(0)] * (LENGTH - i)] for i in range(len(drafts) + 1)]
    return [attention(row)[i] for i, row in enumerate(rows)]


def passes(attention: Attention) -> list[tuple[int, ...]]:
    """The ways to place drafts (1, 2) and masks (0) in one sequence whose outputs are all that is wanted."""

    def serves(placed: tuple[int, ...]) -> bool:
        """Whether each wanted output is at one place, whatever the drafts are."""
        outputs = [attention([(Fraction(0), *drafts)[k] for k in placed]) for drafts in DRAFTS]
        aims = [wanted(attention, drafts) for drafts in DRAFTS]
        return all(
            any(all(out[at] == aim[i] for out, aim in zip(outputs, aims, strict=True)) for at in range(len(placed)))
            for i in range(len(aims[0]))
        )

    return [
        placed
        for size in (LENGTH, LENGTH + 1, LENGTH + 2)
        for placed in product(range(3), repeat=size)
        if serves(placed)
    ]


@CLAIMS.claim(
    "cspd.parallel-verification",
    derived(
        "Algorithm 1; App. D",
        r"Algorithm 1 runs the target in parallel on prefix to prefix + $[x_1, ..., x_\gamma]$. App. D says of MAR's "
        "bidirectional attention that “each output token can be regarded as the last since they can see every previous "
        "token”: so it is of a sequence for each prefix, while in one sequence they see later tokens too. Causal "
        "attention gives all outputs in one pass, as in language models. So of Algorithm 1 the 1 of a call in eq. 51 "
        r"stands for $\gamma + 1$ times the sequences (leviathan.cost-of-rows). The published code has one pass, over "
        "masks, and verifies without the drafts (cspd.in-place).",
    ),
    r"With bidirectional attention no pass over one sequence, however drafts and masks are placed in it, gives "
    r"$p(\cdot | x_{<i})$ for all $i = 1, ..., \gamma + 1$ of a block of $\gamma \ge 1$ drafts whatever the weights "
    r"are; a pass over $\gamma + 1$ sequences, one for each prefix, does.",
)
def parallel(seed: int) -> Finding:
    r"""A sequence for each prefix does by definition. For one sequence take weights with queries of 0: every output is
    the mean of the values of all places. $p(\cdot | x_{<\gamma + 1})$ depends on $x_\gamma$, so $x_\gamma$ stands
    somewhere in the sequence. Then every output depends on it, while $p(\cdot | x_{<1})$ does not.

    With the drafts at their places, an output sees its own draft and those behind it; with masks there, none before it.
    """
    found = passes(uniform)
    drafts = DRAFTS[-1]
    everything, masked = uniform([*drafts, Fraction(0)]), uniform([Fraction(0)] * LENGTH)
    aim = wanted(uniform, drafts)
    return holds_if(
        not found,
        enumeration(
            "a block of two drafts in rationals, one layer of uniform attention: none of the ways to place drafts and "
            f"masks in a sequence of {LENGTH} to {LENGTH + 2} gives the three outputs"
        ),
        example(
            f"drafts {fmt_row(drafts)}, three places, a mask of value 0: given each prefix the target says "
            f"{fmt_row(aim)}; a pass over both drafts says {fmt_row(everything)}, one over masks {fmt_row(masked)}",
            numbers(drafts=drafts, outputs=aim, over_drafts=everything, over_masks=masked),
        ),
        rejects_mutants({"causal attention": causal}, lambda attention: len(passes(attention)), "one pass"),
    )
