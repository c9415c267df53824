"""Claims of speculative Jacobi decoding (SJD), and of its reference code."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from simlab import mutants
from simlab.decoders import Decoder, Jacobi, Sjd, SjdUnrefined, make_decoder
from simlab.decoders.initial import INITIALS
from simlab.processes import Process, TableProcess
from simlab.rules import Rule, Speculative
from theory.claims.base import Claims, Finding
from theory.claims.evidence import (
    control,
    enumeration,
    example,
    holds_if,
    holds_under_assumptions_if,
    rejects_mutants,
    require,
    require_found,
    small_scale,
)
from theory.claims.format import fmt, numbers
from theory.distances import tv
from theory.exact import laws as exact
from theory.exact import mean, merged_unfinished, sequence_law, target_law, transitions
from theory.example_processes import copying_process, greedy_process, random_process
from theory.search import pairs, smallest_violation

CLAIMS = Claims("sjd")
LOSSLESS = Speculative()


def random_tables(seed: int, small: bool = False) -> list[TableProcess]:
    """Random context-dependent tables, with and without zeros, in one row and on a grid."""
    shapes: list[tuple[int, int, tuple[int, int] | None]] = [(2, 4, None), (2, 4, (2, 2)), (3, 3, None)]
    if not small:
        shapes += [(2, 6, (2, 3)), (2, 5, None), (3, 4, (2, 2))]
    return [
        random_process(seed + k, v, n, shape, zeros) for k, (v, n, shape) in enumerate(shapes) for zeros in (0.0, 0.35)
    ]


def deviation(decoder: Decoder, process: TableProcess, rule: Rule = LOSSLESS) -> Fraction:
    """TV between the law of finished sequences and the target's."""
    return Fraction(exact.deviation(decoder, process, rule))


def mean_steps(decoder: Decoder, process: Process, rule: Rule = LOSSLESS) -> Fraction:
    """Exact mean number of calls of the target."""
    return Fraction(mean(sequence_law(decoder, process, rule)[1]))


# Theorem 1 -----------------------------------------------------------------------------------------------------

CLAIMS.summary(
    "sjd.theorem-1",
    "Theorem 1",
    "Each sampled token follows p given its current prefix, and finished sequences follow the "
    "autoregressive law exactly.",
    ["sjd.theorem-1.token", "sjd.theorem-1.sequence"],
)


@CLAIMS.claim(
    "sjd.theorem-1.sequence",
    "Theorem 1",
    "Finished sequences follow the autoregressive law exactly.",
)
def theorem_1_sequence(seed: int) -> Finding:
    """Look at position i of a window and let J be the tokens to its left. The draft x_i was drawn in an earlier call,
    with its own randomness, from a row that was known then and is declared as its q; the tokens of J that came
    after were drawn without looking at it. So given J and that row, x_i follows q. (A copied draft is a function of
    J, and q is the point mass on its value.) This call computes p = p(. | J). Whether the scan reaches i depends on
    J, the coins before i and nothing at i; if it does, J is final, x_i is accepted or replaced by the rule for (p, q),
    and as for one block (leviathan.lossless) the result follows p(. | J), the target's pmf given a final prefix. The
    bonus token follows its row by construction. By induction over positions the finished sequence has the
    autoregressive law, for every window, initialisation and number of calls.
    """
    tried = [
        (Sjd(w, bonus=bonus), process)
        for process in random_tables(seed)
        for w in (1, 2, 3, 5)
        for bonus in (True, False)
    ]
    worst = max(deviation(*case) for case in tried)
    some = random_tables(seed + 7, small=True)
    wrong: dict[str, tuple[Decoder, Rule]] = {n: (Sjd(2), rule) for n, rule in mutants.RULES.items()}
    wrong |= {n: (decoder, LOSSLESS) for n, decoder in mutants.sjd_decoders(2).items()}
    return holds_if(
        worst == 0,
        enumeration(
            f"the joint law of finished sequences equals the target's in rationals for {len(tried)} "
            f"pairs of process and decoder (V = 2, 3; length 3 to 6; window 1, 2, 3, 5; with and without bonus "
            f"and zeros); largest TV {fmt(worst)}",
        ),
        rejects_mutants(wrong, lambda v: max(deviation(v[0], process, v[1]) for process in some), "the sequence law"),
    )


@CLAIMS.claim(
    "sjd.theorem-1.token",
    "Theorem 1",
    "Each token sampled in an iteration follows p given the tokens that stand to its left in that iteration.",
)
def theorem_1_token(seed: int) -> Finding:
    """For a token accepted or replaced this is the argument of sjd.theorem-1.sequence. A token behind the first
    rejection is drawn from p given the *old* drafts to its left; that row is declared as its q, and it follows q given
    the new tokens to its left because these are drawn independently of it. So "its prefix" means the tokens
    its row was computed from, as in the paper's superscripts.
    """
    tried = [
        (make_decoder("sjd", window=w, initial=initial), process)
        for process in random_tables(seed, small=True)
        for w in (2, 3)
        for initial in INITIALS
    ]
    worst = max(honesty_gap(decoder, process) for decoder, process in tried)
    small = random_tables(seed, small=True)
    recalled = max(recall_gap(Sjd(w), process) for process in small for w in (2, 3))
    wrong = {
        "tail reused, q relabelled": mutants.TailRelabelled(3),
        "tail drawn again, q stale": mutants.TailStale(3),
        "neighbour scored with uniform q": mutants.NeighbourScoredUniform(3, "repeat-left"),
    }
    return holds_if(
        worst == recalled == 0,
        enumeration(
            f"at the start and after every step, in every state, each draft follows its declared q given all "
            f"tokens to its left: in rationals for {len(tried)} pairs of process and decoder, all five "
            f"initialisations (largest difference {fmt(worst)})",
        ),
        enumeration(
            f"the q declared for a token behind the first rejection is the target's row given the tokens "
            f"that stood to its left in that call (largest TV {fmt(recalled)}); for accepted and replaced tokens see "
            f"sjd.theorem-1.sequence",
        ),
        rejects_mutants(
            {"tail uniform, and declared so": mutants.FlatTail(3)},
            lambda d: max(recall_gap(d, process) for process in small),
            "the rows of the tail",
        ),
        rejects_mutants(
            wrong,
            lambda d: max(honesty_gap(d, process) for process in small),
            "the law of the drafts",
        ),
    )


def recall_gap(decoder: Sjd, process: TableProcess) -> Fraction:
    """How far the q declared for the tokens behind a rejection is from the target's rows in that call, over all steps.

    Those rows are p given the tokens that stood to the left when the call was made.
    """
    worst = Fraction(0)
    start, *steps = transitions(decoder, process, LOSSLESS)
    states = merged_unfinished(start, process.length)
    for outcomes in steps:
        for after, paths in outcomes:
            for length, rows, path in zip(after.length.tolist(), after.q, paths, strict=True):
                tokens, first = states.tokens[path.row].tolist(), int(states.length[path.row])
                for place in range(length, min(first + decoder.window, process.length)):
                    worst = max(worst, tv(rows[place - length], process.row(tuple(tokens[:place]))))
        states = merged_unfinished(outcomes, process.length)
    return worst


def honesty_gap(decoder: Decoder, process: TableProcess) -> Fraction:
    """Largest difference between a declared q and the law of its draft given everything to its left.

    Given the state before it, at the start and over all steps; a position counts while it is inside the sequence.
    """
    worst = Fraction(0)
    for outcomes in transitions(decoder, process, LOSSLESS):
        drafts: dict[Any, list[Fraction]] = {}
        for states, paths in outcomes:
            for tokens, length, rows, path in zip(
                states.tokens.tolist(), states.length.tolist(), states.q, paths, strict=True
            ):
                for j, row in enumerate(rows[: process.length - length]):
                    place = length + j
                    key = path.row, length, tuple(tokens[:place]), tuple(row)
                    drafts.setdefault(key, [Fraction(0)] * process.vocabulary)[tokens[place]] += path.weight
        for (*_, row), masses in drafts.items():
            total = sum(masses)
            worst = max(worst, *(abs(m / total - q) for m, q in zip(masses, row, strict=True)))
    return worst


@CLAIMS.claim(
    "sjd.independence",
    "eq. 6",
    "p(J_j | x, J_{j-1}) = p(J_j | J_{j-1}): given the last call, a draft is independent of the tokens that "
    "will stand to its left.",
    assumptions=[
        "all tokens of a call are drawn with independent uniforms",
        "for `repeat-left` and `repeat-above` only in the form that is needed: a copied draft is a "
        "function of the tokens to its left, and its declared q is the point mass on that value",
    ],
)
def independence(seed: int) -> Finding:
    """In the algorithm as run each token of a call is drawn with its own uniform from rows that are known, so given
    the rows the tokens are independent, which is the equation. Copied drafts are not independent of the
    token they copy, but they are declared as what they are. One uniform for all draws of a call breaks the
    equation, and the output law with it.
    """
    some = random_tables(seed, small=True)
    gap = max(honesty_gap(Sjd(3, initial), process) for process in some for initial in ("random", "sample-left"))
    broken = mutants.WithRandomness(Sjd(2), mutants.OneUniform)
    first, then = require_found(
        smallest_violation(pairs, lambda e: deviation(broken, two_tokens(*e)) > 0, seed, levels=((2, 1), (2, 4))),
        "one uniform for all draws of a call does not change the law",
    )
    process = two_tokens(first, then)
    law = sequence_law(broken, process, LOSSLESS)[0]
    return holds_under_assumptions_if(
        gap == 0,
        enumeration(
            f"in every state of {len(some)} processes a draft follows its declared q given all "
            f"tokens to its left (largest difference {fmt(gap)})",
        ),
        rejects_mutants(
            {"one uniform for all draws": broken},
            lambda d: max(honesty_gap(d, process) for process in some),
            "independence",
        ),
        example(
            f"what follows without it: two tokens, window 2, all draws of a call from one uniform; "
            f"the law of the sequence is off by TV {fmt(deviation(broken, process))}",
            numbers(
                p={"": first, "0": then, "1": then[::-1]},
                q={"new draft": (Fraction(1, 2),) * 2, "0": then, "1": then[::-1]},
                window=2,
                law=law,
                target=target_law(process),
            ),
        ),
    )


def two_tokens(first: tuple[Fraction, ...], then: tuple[Fraction, ...]) -> TableProcess:
    """Two tokens; the second follows ``then`` after a 0 and its mirror image after a 1."""
    return TableProcess(2, 2, lambda prefix: first if not prefix else then if prefix[0] == 0 else then[::-1])


# Steps ---------------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "sjd.worst-case", "3.2", "Steps never exceed the sequence length: at least one token is committed per step."
)
def worst_case(seed: int) -> Finding:
    """A step commits its accepted drafts and the token that replaces the first rejected one. If none is rejected it
    commits the whole window, which holds at least one position.
    """
    tried = [
        (decoder, process)
        for process in random_tables(seed)
        for decoder in (Sjd(1), Sjd(3), Sjd(3, bonus=False), Sjd(4, "sample-above"), SjdUnrefined(3), Jacobi(3))
    ]
    longest = [(max(sequence_law(decoder, process, LOSSLESS)[1]), process.length) for decoder, process in tried]
    holds = all(steps <= length for steps, length in longest)
    reached = any(steps == length for steps, length in longest)
    require(reached, "no case takes as many steps as tokens: the bound is never put to the test")
    small = random_tables(seed, small=True)

    def excess(decoder: Decoder) -> int:
        """By how many steps the longest decoding is longer than the sequence."""
        try:
            return max(max(sequence_law(decoder, process, LOSSLESS)[1]) - process.length for process in small)
        except ArithmeticError:  # it may go on for ever
            return small[0].length

    return holds_if(
        holds,
        enumeration(
            f"exact step distributions of {len(tried)} pairs of process and decoder: none beyond the "
            f"length, which is reached in {sum(s == n for s, n in longest)}",
        ),
        rejects_mutants(
            {"a decoder that tries again when its first draft is rejected": _TriesAgain(2)},
            excess,
            "the number of steps",
        ),
    )


class _TriesAgain(Sjd):
    """Commits nothing when the first draft is rejected."""

    def step(self, state: Any, process: Process, rule: Rule, randomness: Any, draft: Process | None = None) -> Any:
        new, info = super().step(state, process, rule, randomness, draft)
        same = info.accepted == 0
        return type(state)(
            *(
                np.where(same.reshape(-1, *[1] * (old.ndim - 1)), old, field)
                for old, field in zip(state, new, strict=True)
            )
        ), info


@CLAIMS.claim("sjd.greedy", "3.2, 5.4", "At top-1, SJD = Jacobi = autoregressive argmax.")
def greedy(seed: int) -> Finding:
    """With one-hot rows a draft is accepted exactly if it is the target's token: then p(x) = 1 >= q(x), otherwise p(x)
    = 0. A rejected draft has residual [p - q]+ = p, the target's token. So each step commits the leading drafts that
    agree with the target and the target's token after them, which is Jacobi's criterion, and both end in the
    argmax sequence. Without bonus the two take the same steps.
    """
    cases = [(2, 3), (3, 2)]
    agree = different = 0
    for v, n in cases:
        prefixes = [prefix for k in range(n) for prefix in product(range(v), repeat=k)]
        for values in product(range(v), repeat=len(prefixes)):
            process = greedy_process(dict(zip(prefixes, values, strict=True)), v, n)
            only = target_law(process)
            for w in (1, 2, 3):
                jacobi = sequence_law(Jacobi(w), process, LOSSLESS)
                same = jacobi[0] == only and sequence_law(Jacobi(w, "fixed"), process, LOSSLESS) == jacobi
                same = same and sequence_law(Sjd(w, bonus=False), process, LOSSLESS) == jacobi
                same = same and sequence_law(Sjd(w), process, LOSSLESS)[0] == only
                agree, different = agree + same, different + (not same)
    soft = random_process(seed, 2, 3, zeros=0)
    apart = sequence_law(Sjd(2, bonus=False), soft, LOSSLESS)[1] != sequence_law(Jacobi(2), soft, LOSSLESS)[1]
    require(apart, "the comparison does not tell SJD from Jacobi where they differ")
    return holds_if(
        not different,
        enumeration(
            f"every top-1 process with V = 2, length 3 and V = 3, length 2, windows 1 to 3: sequences "
            f"equal, and step distributions of SJD without bonus and Jacobi equal, in {agree} of "
            f"{agree + different} cases",
        ),
        control("away from top-1 the same comparison tells SJD from Jacobi"),
    )


@CLAIMS.claim(
    "sjd.initialisation",
    "4.2",
    "Random, horizontal and vertical repeat, and horizontal and vertical sample initialisation leave the law "
    "unchanged.",
    assumptions=[
        "each new draft is declared with the q it was drawn from: the uniform row for random, a point "
        "mass on the copied token for repeat, the neighbour's target row for sample"
    ],
)
def initialisation(seed: int) -> Finding:
    """The proof of sjd.theorem-1 asks of a new draft only that it follows its declared q given the tokens to its left.
    A uniform token does; so does a token drawn from any row known before it; a copied token is a function of
    tokens to its left, and follows a point mass on that value. Repeat needs the point mass: with the uniform row, or
    the neighbour's, declared for it the law changes.
    """
    tried = [
        (make_decoder("sjd", window=w, initial=initial, bonus=bonus), process)
        for process in random_tables(seed)
        for initial in INITIALS
        for w, bonus in ((2, True), (4, True), (2, False))
    ]
    worst = max(deviation(*case) for case in tried)
    some = random_tables(seed, small=True)
    wrong = {
        "neighbour scored with uniform q, " + initial: mutants.NeighbourScoredUniform(2, initial)
        for initial in ("repeat-left", "repeat-above", "sample-left", "sample-above")
    }
    grid = copying_process(Fraction(9, 10), 2, (3, 2))
    steps = {initial: mean_steps(make_decoder("sjd", window=3, initial=initial), grid) for initial in INITIALS}
    return holds_under_assumptions_if(
        worst == 0,
        enumeration(
            f"the sequence law equals the target's in rationals for {len(tried)} pairs of process and "
            f"decoder, on one row and on grids; largest TV {fmt(worst)}",
        ),
        rejects_mutants(wrong, lambda d: max(deviation(d, process) for process in some), "initialisation"),
        small_scale(
            "speed differs: mean steps on a 3 x 2 grid that copies the token above with probability 0.9, window 3: "
            + ", ".join(f"{k} {float(v):.3f}" for k, v in steps.items()),
        ),
    )
