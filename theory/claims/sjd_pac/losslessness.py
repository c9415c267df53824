"""Claims of SJD-PAC: proactive drafting, adaptive continuation, and both together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

from simlab import mutants
from simlab.arrays import Array, without
from simlab.decoders import Decoder, SjdAc, SjdPac, SjdPd
from simlab.mutants.trees import ac_decoders, tree_decoders
from simlab.processes import TableProcess
from simlab.rules import Rule, Speculative
from theory.candidates import candidates_law
from theory.claims.base import Claims, Finding
from theory.claims.evidence import enumeration, first, holds_if, holds_under_assumptions_if, identity, rejects_mutants
from theory.claims.format import fmt
from theory.claims.leviathan.speculative_rule import random_pairs
from theory.claims.sjd.losslessness import deviation, random_tables
from theory.distances import tv
from theory.exact import transitions
from theory.example_processes import random_process, random_row

CLAIMS = Claims("sjd-pac")
Row = tuple[Fraction, ...]

# Accepting a token -----------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "pac.retention",
    "4.2",
    "A token drawn from p' is accepted by verification against p with probability 1 - TV(p', p), and comes out again "
    "when it is drawn anew from p with probability sum p' p <= exp(-(H2(p') + H2(p))/2).",
)
def retention(seed: int) -> Finding:
    """Verification accepts it with sum p' min(1, p/p') = sum min(p', p) = 1 - TV. Drawn independently, both are x with
    probability p'(x) p(x). By Cauchy and Schwarz (sum p' p)^2 <= sum p'^2 sum p^2, and sum p^2 = exp(-H2(p)) is what
    the Renyi entropy of order 2 means; equality holds iff p' and p are in proportion, that is equal. And
    min(a, b) >= a b for probabilities, so verification accepts at least as much. How large either is on image models
    (above 0.7, below 0.01) is not a matter of proof.
    """
    tried = random_pairs(seed, 300)

    def excess(accepted: Callable[[Row, Row], Fraction]) -> Fraction:
        return max(
            abs(accepted(q, p) - sum((y * Speculative().accept(p, q, x) for x, y in enumerate(q)), Fraction(0)))
            for p, q in tried
        )

    worst = excess(lambda old, new: 1 - tv(old, new))
    above = max(_again(p, q) ** 2 - _again(p, p) * _again(q, q) for p, q in tried)
    strict = all((_again(p, q) ** 2 == _again(p, p) * _again(q, q)) == (p == q) for p, q in [*tried, *_same(tried)])
    less = min(1 - tv(p, q) - _again(p, q) for p, q in tried)
    return holds_if(
        worst == 0 and above <= 0 and strict and less >= 0,
        identity(
            f"on {len(tried)} pairs, in rationals: accepted = 1 - TV (largest difference {worst}); (sum p' p)^2 - sum "
            f"p'^2 sum p^2 is at most {fmt(above)}, 0 just where the two are equal; verification accepts more by "
            f"{fmt(less)} or more",
        ),
        rejects_mutants({"drawing anew": _again}, excess, "the retention"),
    )


def _same(tried: list[tuple[Row, Row]]) -> list[tuple[Row, Row]]:
    return [(p, p) for p, _ in tried]


def _again(p: Row, q: Row) -> Fraction:
    """The probability that two independent draws agree."""
    return sum((x * y for x, y in zip(p, q, strict=True)), Fraction(0))


# Adaptive continuation -----------------------------------------------------------------------------------------

CLAIMS.summary(
    "pac.theorem-1",
    "App. A.2, Theorem 1",
    "Adaptive continuation preserves the target law of every token later accepted, and of whole sequences.",
    ["pac.theorem-1.token", "pac.theorem-1.sequence"],
)


@CLAIMS.claim(
    "pac.theorem-1.token",
    "App. A.2, Theorem 1",
    "After adaptive continuation every draft follows its declared q given all tokens to its left: the row of this call "
    "for a token that was verified.",
)
def continuation_token(seed: int) -> Finding:
    """The paper's proof takes for granted that a draft follows its q; this is what has to be proven. Let everything to
    the left of position j be known: tokens, coins and rows of all calls (the row at j is computed from tokens to the
    left alone). By induction the old token at j follows its old q given that. It is accepted or replaced with its own
    coin by the rule for (p_j, q_j), so what stands there follows the rule's output law, p_j for a lossless rule. That
    is its new declared q, and it is a row that is known from the left. Tokens to the right do not matter: they are
    drawn after. The argument needs that the token at j had not been looked at, which is so behind the first
    rejection.
    """
    some = random_tables(seed, small=True)
    tried: list[tuple[Decoder, TableProcess]] = [(SjdAc(w), process) for process in some for w in (2, 3)]
    tried += [(SjdPac(3, candidates=2, depth=2), process) for process in some]
    worst = max(left_gap(*case) for case in tried)
    return holds_if(
        worst == 0,
        enumeration(
            f"after every step of {len(tried)} pairs of process and decoder each draft follows its declared q, "
            f"given the tokens and rows to its left, over all histories (largest difference {fmt(worst)})",
        ),
        rejects_mutants(
            ac_decoders(3), lambda d: first(left_gap(d, process) for process in some), "the law of continued drafts"
        ),
    )


def left_gap(decoder: Decoder, process: TableProcess, rule: Rule | None = None) -> Fraction:
    """Largest difference between a declared q and the law of its draft, given what stands to its left.

    That is: the tokens to its left and the rows declared for them and for it, after each number of steps, over all
    histories. Given the whole state before the step it would not hold: a accepted token is known there.
    """
    worst = Fraction(0)
    for outcomes in transitions(decoder, process, rule or Speculative()):
        drafts: dict[Any, list[Fraction]] = {}
        for states, paths in outcomes:
            for tokens, length, rows, path in zip(
                states.tokens.tolist(), states.length.tolist(), states.q, paths, strict=True
            ):
                for j, row in enumerate(rows[: process.length - length]):
                    key = length, tuple(tokens[: length + j]), tuple(map(tuple, rows[: j + 1]))
                    drafts.setdefault((key, tuple(row)), [Fraction(0)] * process.vocabulary)[tokens[length + j]] += (
                        path.weight
                    )
        for (_, row), masses in drafts.items():
            total = sum(masses)
            worst = max(worst, *(abs(m / total - q) for m, q in zip(masses, row, strict=True)))
    return worst


@CLAIMS.claim(
    "pac.theorem-1.sequence",
    "App. A.2, Theorem 1",
    "Sequences decoded with adaptive continuation follow the autoregressive law exactly.",
)
def continuation_sequence(seed: int) -> Finding:
    """A verified token that is committed has a final prefix and a draft that follows its declared q given it
    (pac.theorem-1.token), so it follows p given that prefix as in sjd.theorem-1.
    """
    tried = [
        (SjdAc(w, bonus=bonus), process)
        for process in random_tables(seed)
        for w in (1, 2, 3, 5)
        for bonus in (True, False)
    ]
    worst = max(deviation(*case) for case in tried)
    some = random_tables(seed + 7, small=True) + random_tables(seed + 17, small=True)
    wrong: dict[str, tuple[Decoder, Rule]] = {
        name: (decoder, Speculative()) for name, decoder in ac_decoders(3).items()
    }
    wrong |= {name: (SjdAc(2), rule) for name, rule in mutants.RULES.items()}
    return holds_if(
        worst == 0,
        enumeration(
            f"the joint law of finished sequences equals the target's in rationals for {len(tried)} pairs of "
            "process and decoder (V = 2, 3; length 3 to 6; window 1, 2, 3, 5; with and without bonus and zeros); "
            f"largest TV {fmt(worst)}",
        ),
        rejects_mutants(wrong, lambda v: first(deviation(v[0], process, v[1]) for process in some), "the sequence law"),
    )


# Proactive drafting --------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "pac.theorem-2",
    "App. A.3, Theorem 2",
    "K candidates drawn without replacement and verified in turn with recursive residuals recover p exactly, for K "
    "up to and beyond the support of q.",
)
def theorem_2(seed: int) -> Finding:
    """Given c_1 to c_{k-1}, candidate c_k follows q^(k), and p^(k) and q^(k) are functions of these. By the argument
    for one candidate (leviathan.lossless) with (p^(k), q^(k)), the token is p^(k)-distributed if what follows a
    rejection of c_k is p^(k+1)-distributed *given all candidates so far*. That is true for the final draw from
    p^(K+1), and by induction backwards for every k: the emitted token follows p^(1) = p. If the support is used up
    there is no further candidate, and the draw is from the residual so far. Nothing may depend on candidates not yet
    looked at, so their order must be the order of drawing.
    """
    random = Random(seed)
    sizes = [(size, k) for size in (2, 3, 4) for k in (1, 2, 3, 5)] * 4
    tried = [(random_row(random, size), random_row(random, size), k) for size, k in sizes]

    def gap(rule: Rule, after: Callable[[Array, int], Array] = without) -> Fraction:
        """Largest TV of the emitted law from p."""
        return max(tv(tuple(candidates_law(rule, p, q, k, after)[0]), p) for p, q, k in tried)

    worst = gap(Speculative())
    beyond = sum(k > sum(y > 0 for y in q) for _, q, k in tried)
    wrong: Mapping[str, tuple[Any, ...]] = {
        "siblings scored with unconditional q": (Speculative(), lambda q, x: q),
        "target not updated: p again": (mutants.ResidualIsTarget(),),
        "residual not renormalised": (mutants.ResidualNotNormalised(),),
    }
    return holds_if(
        worst == 0,
        enumeration(
            f"law p in rationals for {len(tried)} cases, V = 2 to 4, K = 1 to 5, K above the support in {beyond}",
        ),
        rejects_mutants(wrong, lambda case: gap(*case), "the law of K candidates"),
    )


@CLAIMS.claim(
    "pac.rejection-mass",
    "eq. 9",
    "P(reject c_k) = sum max(0, p^(k) - q^(k)).",
    assumptions=["there is a k-th candidate: beyond the support of q, q^(k) is no pmf"],
)
def rejection_mass(seed: int) -> Finding:
    """Given the candidates before it, c_k is rejected with sum_x q (1 - min(1, p/q)) = sum max(0, q - p), for p =
    p^(k) and q = q^(k); and since both rows sum to one, the masses by which one exceeds the other are equal.
    """
    rule = Speculative()
    tried = [pair for p, q in random_pairs(seed, 60) for pair in _chain(np.array(p, object), np.array(q, object))]

    def gap(rejected: Callable[[Any, Any], Fraction]) -> Fraction:
        return max(
            abs(sum((y * (1 - rule.accept(p, q, x)[()]) for x, y in enumerate(q)), Fraction(0)) - rejected(p, q))
            for p, q in tried
        )

    worst = gap(_excess)
    return holds_under_assumptions_if(
        worst == 0,
        identity(
            f"equal in rationals for {len(tried)} rows (p^(k), q^(k)) met on the way through K candidates "
            f"(largest difference {worst})",
        ),
        rejects_mutants({"sum of |p - q|": lambda p, q: 2 * tv(p, q)}, gap, "the mass of rejection"),
    )


def _chain(p: Any, q: Any) -> list[tuple[Any, Any]]:
    """The rows (p^(k), q^(k)) when the likeliest token left is drawn each time, and rejected if it can be."""
    found = []
    while (q > 0).any():
        found.append((p, q))
        x = int(np.argmax(q))
        if Speculative().accept(p, q, x)[()] == 1:
            break
        p, q = Speculative().residual(p, q, x), without(q, x)
    return found


def _excess(p: Row, q: Row) -> Fraction:
    return sum((max(Fraction(0), x - y) for x, y in zip(p, q, strict=True)), Fraction(0))


# Both together -------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "pac.combined",
    "4.3",
    "Proactive drafting and adaptive continuation together are lossless on sequences, with a full tree and with a "
    "comb.",
)
def combined(seed: int) -> Finding:
    """The window's own token at a position follows its declared q given everything to the left (pac.theorem-1.token),
    and as c_1 of a node, with siblings drawn from what is left of q, it makes a draw of K without replacement from q.
    So the token emitted at the node follows the node's row (pac.theorem-2). The next node's row is the target's given
    the tokens on the path, and its candidates have not been looked at. A path that ends in an accepted draft is
    followed by a bonus token from that draft's own row, or by nothing. What stays in the window are tokens of the
    chain behind the last committed one, which no coin has looked at. So the arguments for both go through together.
    """
    small: list[tuple[int, int, float]] = [(2, 4, 0.0), (2, 4, 0.35), (3, 3, 0.0), (3, 3, 0.35)]
    processes = [random_process(seed + k, v, n, zeros=z) for k, (v, n, z) in enumerate(small)]
    tried: list[tuple[Decoder, TableProcess]] = [
        (make(3, candidates=k, depth=d, tree=tree, bonus=bonus), process)
        for process in processes
        for tree in ("comb", "full")
        for k, d in ((2, 1), (2, 2), (4, 1))
        for bonus in (True, False)
        for make in (SjdPd, SjdPac)
        if not (tree == "full" and d == 2 and process.vocabulary == 3)
    ]
    wide = random_process(seed + 9, 3, 3, zeros=0.35)
    tried += [(SjdPac(2, candidates=2, depth=2, tree="full"), wide), (SjdPac(2, candidates=3, depth=2), wide)]
    worst = max(deviation(*case) for case in tried)
    some = [random_process(seed + k, 3, 3, zeros=0.35) for k in range(12)]
    return holds_if(
        worst == 0,
        enumeration(
            f"the joint law of finished sequences equals the target's in rationals for {len(tried)} pairs of "
            "process and decoder: both trees, K = 2 to 4 (above the support for V = 2 and 3), D = 1, 2, with and "
            f"without bonus and zeros; largest TV {fmt(worst)}",
        ),
        rejects_mutants(
            tree_decoders(2, 2, 2, "comb"),
            lambda d: first(deviation(d, process) for process in some),
            "the sequence law of a tree",
        ),
    )
