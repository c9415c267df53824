"""Claims of SJD-PAC: proactive drafting, adaptive continuation, and both together."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np

from simlab.arrays import without
from simlab.decoders import Decoder, SjdAc, SjdPac, SjdPd
from simlab.decoders.tree import Shape
from simlab.processes import TableProcess
from simlab.rules import Speculative
from theory.candidates import candidates_law
from theory.claims.base import Claims, Finding
from theory.claims.evidence import enumeration, example, holds_if
from theory.claims.format import fmt, fmt_row, numbers
from theory.claims.proven import proven
from theory.claims.scd.coupling import again
from theory.claims.sjd.losslessness import declared_left, deviation, honesty_gap, random_tables, sequences
from theory.claims.sources import said
from theory.distances import tv
from theory.example_processes import random_process, random_row

CLAIMS = Claims("sjd-pac")

# Accepting a token -----------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "pac.rejection-sampling",
    said(
        "3.2",
        "The technique guarantees that accepted samples are distributed exactly according to [p], provided that [p(x) "
        "<= c q(x)] holds for all [x] and a known constant [c >= 1].",
        note="The probability of acceptance is von Neumann's, and not the one with which speculative decoding accepts.",
    ),
    r"If $p(x) \le c \, q(x)$ for all $x$, a token drawn from $q$ and accepted with probability $p(x) / (c \, q(x))$ "
    r"follows $p$ given that it is accepted.",
)
def rejection_sampling(seed: int) -> Finding:
    r"""A token $x$ is drawn and accepted with probability $q(x) \cdot p(x) / (c \, q(x)) = p(x) / c$, in proportion to
    $p$; where $q(x) = 0$ the premise says $p(x) = 0$. Speculative decoding uses neither $c$ nor the premise: it accepts
    with $\min(1, p(x) / q(x))$, and the accepted tokens alone follow $\min(p, q)$ in proportion, which is $p$ only if
    $q$ is in proportion to $p$ on all tokens that $p$ can draw. What follows $p$ there, for every $q$, is the token
    that is emitted, accepted or drawn from the residual (leviathan.lossless).
    """
    return holds_if(proven("pac.rejection-sampling"))


HALVES, NEW = (Fraction(1, 2),) * 2, (Fraction(1, 4), Fraction(3, 4))  # p' and p of an example


@CLAIMS.claim(
    "pac.retention",
    said(
        "4.2",
        "Specifically, the probability that a token at position [i] remains unchanged is [1 - TV(p', p)]. In contrast, "
        "if SJD were to independently resample the same token, the probability would be [sum p' p, at most "
        "exp(-(H2(p') + H2(p))/2)].",
        note="p' is the row of the last iteration and p the row of this one; the cases of equality are added.",
    ),
    r"A token drawn from $p'$ is accepted by verification against $p$ with probability $1 - \mathrm{TV}(p', p)$. A "
    r"token drawn independently from $p$ equals it with probability "
    r"$\sum_x p'(x) p(x) \le \exp(-(H_2(p') + H_2(p))/2)$, with equality only if $p' = p$, where $H_2$ is the Rényi "
    r"entropy of order 2.",
)
def retention(seed: int) -> Finding:
    r"""Verification accepts it with probability
    $\sum_x p'(x) \min(1, p(x)/p'(x)) = \sum_x \min(p'(x), p(x)) = 1 - \mathrm{TV}(p', p)$. Two independent draws are
    both $x$ with probability $p'(x) p(x)$. By Cauchy and Schwarz $(\sum p' p)^2 \le \sum p'^2 \sum p^2$, and
    $\sum p^2 = \exp(-H_2(p))$ by definition; equality holds only if $p'$ and $p$ are in proportion, that is equal.
    Since $\min(a, b) \ge a b$ for probabilities, verification retains a token at least as often as drawing it anew
    does.
    """
    shown = 1 - tv(HALVES, NEW), again(HALVES, NEW), float(again(HALVES, HALVES) * again(NEW, NEW)) ** 0.5
    return holds_if(
        proven("pac.retention") and shown[0] >= shown[1] and shown[1] < shown[2],
        example(
            f"p' = (1/2, 1/2), p = (1/4, 3/4): accepted {fmt(shown[0])}, drawn again {fmt(shown[1])}, at most "
            f"{fmt(shown[2])}",
            numbers(old=HALVES, new=NEW, accepted=shown[0], again=shown[1], bound=shown[2]),
        ),
    )


# Adaptive continuation -----------------------------------------------------------------------------------------


@CLAIMS.claim(
    "pac.theorem-1",
    said(
        "App. A.2, Theorem 1; 4.2",
        "AC preserves the target distribution [p(x)] for all tokens accepted in the subsequent iteration. ... "
        "Crucially, AC remains rigorously lossless.",
        "formalised",
        "Lossless is read as: the law of finished sequences. The proof in the paper takes the distribution that "
        "generated a draft as fixed and known. That a retained token still follows it is what has to be shown, and it "
        "is true given the tokens to its left, not given the window.",
    ),
    r"With adaptive continuation every draft follows the row $q$ declared for it, given all tokens and rows to its "
    r"left; so a token that is verified in the next call follows the target's row $p$ given the tokens to its left, "
    "and finished sequences the target's autoregressive law, for every process, window and number of calls.",
)
def continuation_token(seed: int) -> Finding:
    r"""Let everything to the left of position $j$ be known: tokens, coins and rows of all calls. (The row at $j$ is
    computed from tokens to the left alone.) By induction the old token at $j$ follows its old $q_j$ given that. It is
    accepted, or replaced, by its own coin and the rule for $(p_j, q_j)$. So the token that stands there afterwards
    follows the law that the rule emits, which is $p_j$ for a lossless rule. And $p_j$ is what is declared as its new
    $q_j$, a row that is known from the left. Tokens to the right do not matter: they are drawn after it. The argument
    needs that the token at $j$ has not been verified in this call before, which is so behind the first rejection. In
    the next call the draft is verified by the rule for $(p, q)$ with this $q$, and what is emitted follows $p$
    (leviathan.lossless).

    A draft that is verified and committed has a final prefix, so that the committed token follows $p$ given the prefix.
    A bonus token follows its row by construction. By induction over positions a finished sequence $x$ has probability
    $\prod_i p(x_i | x_{<i})$.
    """
    some = random_tables(seed, small=True)
    tried: list[tuple[Decoder, TableProcess]] = [(SjdAc(w), process) for process in some for w in (2, 3)]
    tried += [(SjdPac(3, candidates=2, depth=2), process) for process in some]
    worst = max(honesty_gap(*case, known=declared_left) for case in tried)
    whole = [
        (SjdAc(w, bonus=bonus), process)
        for process in [*some, random_process(seed + 4, 2, 5, zeros=0)]
        for w in (1, 2, 3)
        for bonus in (True, False)
    ]
    off = max(deviation(*case) for case in whole)
    return holds_if(
        proven("pac.theorem-1") and worst == off == 0,
        enumeration(
            f"beyond the proof: V = 2 with length 4, V = 3 with length 3. After every step of {len(tried)} pairs of "
            f"process and decoder each draft follows its declared q, given the tokens and rows to its left, over all "
            f"histories (largest difference {fmt(worst)}). The joint law of finished sequences, of lengths up to 5 and "
            f"windows of 1 to 3 with and without bonus, equals the target's in rationals for {len(whole)} pairs "
            f"(largest TV {fmt(off)})",
        ),
    )


# Proactive drafting --------------------------------------------------------------------------------------------


SHOWN = (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)), (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2))  # p, q


@CLAIMS.claim(
    "pac.theorem-2",
    said(
        "App. A.3, Theorem 2",
        "PD, which involves the sequential verification of [K] candidates sampled without replacement and is "
        "supplemented by sampling from the residual distribution upon total rejection, guarantees exact recovery of "
        "the target distribution [p(x)].",
        note="that it stays so where K exceeds the number of tokens that q can draw is added",
    ),
    r"$K$ candidates drawn without replacement from $q$ and verified in turn with the recursive residuals "
    r"$p^{(k+1)} \propto \max(0, p^{(k)} - q^{(k)})$, with a draw from $p^{(K+1)}$ if all are rejected, emit a token "
    r"that follows $p$ exactly, for every $p$, $q$ and $K$.",
)
def theorem_2(seed: int) -> Finding:
    r"""Given $c_1, \ldots, c_{k-1}$ the candidate $c_k$ follows $q^{(k)}$, and $p^{(k)}$ and $q^{(k)}$ are functions of
    them. By the argument for one candidate (leviathan.lossless) the emitted token follows $p^{(k)}$ if what follows a
    rejection of $c_k$ is distributed as $p^{(k+1)}$ given all candidates so far. That is true of the final draw from
    $p^{(K+1)}$, and by induction backwards for every $k$; so the emitted token follows $p^{(1)} = p$. Where no token is
    left to draw there is no further candidate, and the draw is from the residual so far. Nothing may depend on
    candidates that have not been verified yet, so they are verified in the order of drawing.
    """
    random = Random(seed)
    sizes = [(2, 5), (3, 3), (3, 5), (4, 1), (4, 2), (4, 3), (4, 5)] * 4
    shown = tuple(candidates_law(Speculative(), *SHOWN, 2))
    tried = [(random_row(random, size), random_row(random, size), k) for size, k in sizes]
    worst = max(tv(tuple(candidates_law(Speculative(), p, q, k)[0]), p) for p, q, k in tried)
    beyond = sum(k > sum(y > 0 for y in q) for _, q, k in tried)
    return holds_if(
        proven("pac.theorem-2") and worst == 0,
        enumeration(
            f"beyond the proof: law p in rationals for {len(tried)} cases of V = 4, or of V = 2, 3 with K = 3, 5, K "
            f"above the support in {beyond}",
        ),
        example(
            f"p = (1/2, 1/3, 1/6), q = (1/4, 1/4, 1/2), K = 2: the law emitted is {fmt_row(shown[0])}; a candidate is "
            f"accepted with probability {fmt(shown[1])}",
            numbers(p=SHOWN[0], q=SHOWN[1], candidates=2, law=shown[0], accepted=shown[1]),
        ),
    )


@CLAIMS.claim(
    "pac.rejection-mass",
    said(
        "App. A.3, eq. 9",
        "Specifically, the probability of rejecting candidate [c_k] is the complement of the acceptance mass",
        note="eq. 9 continues with the sum of the statement; a candidate c_k is there if q has a token left to draw",
    ),
    r"For every $p$, $q$ and every candidate $c_k$ that is drawn, given the candidates before it, "
    r"the probability that it is rejected is $\sum_x \max(0, p^{(k)}(x) - q^{(k)}(x))$.",
)
def rejection_mass(seed: int) -> Finding:
    r"""Given the candidates before it, $c_k$ follows $q = q^{(k)}$ and is rejected with probability
    $\sum_x q(x) (1 - \min(1, p(x)/q(x))) = \sum_x \max(0, q(x) - p(x))$ for $p = p^{(k)}$. Both rows sum to one, so the
    masses by which one exceeds the other are equal.
    """
    masses, (p, q) = [], (np.array(row, object) for row in SHOWN)
    for _ in range(2):  # the likeliest candidate, rejected
        masses.append(np.maximum(p - q, 0).sum())
        x = int(np.argmax(q))
        p, q = Speculative().residual(p, q, x), without(q, x)
    return holds_if(
        proven("pac.rejection-mass"),
        example(
            f"p = (1/2, 1/3, 1/6), q = (1/4, 1/4, 1/2), the likeliest candidate first: rejected with probability "
            f"{fmt(masses[0])}, and the next with {fmt(masses[1])}",
            numbers(p=SHOWN[0], q=SHOWN[1], rejected=masses),
        ),
    )


# Both together -------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "pac.combined",
    said(
        "4.3",
        "SJD-PAC is rigorously lossless, as both the AC and PD components preserve the underlying target distribution.",
        "formalised",
        "The shape of the tree and what follows an accepted path are left open. Covered are two shapes, with the "
        "retained token as first candidate; K separate paths are another reading, and lossless as well "
        "(pac.readings). Taken literally, section 4.1 draws all drafts behind the tree again, and adaptive "
        "continuation is without effect: that is proactive drafting alone.",
    ),
    "SJD-PAC, proactive drafting and adaptive continuation together, is lossless: finished sequences follow the "
    "target's autoregressive law exactly, for a full tree of candidates and for a comb, with and without a bonus "
    "token.",
)
def combined(seed: int) -> Finding:
    r"""The window's own token at a position follows its declared $q$ given everything to the left
    (pac.theorem-1). As $c_1$ of a node, with siblings drawn from what is left of $q$, it makes a draw of $K$
    without replacement from $q$. So the token emitted at the node follows the node's row (pac.theorem-2). The next
    node's row is the target's given the tokens on the path, and its candidates have not been verified yet. A path that
    ends in an accepted draft is followed by a bonus token from that draft's own row, or by nothing. What stays in the
    window are tokens of the chain behind the last committed one, which no coin has decided. So both arguments apply at
    every node, and by induction over positions the sequence follows the target's law.
    """
    shapes: list[tuple[Shape, int, int]] = [("comb", 2, 2), ("comb", 4, 1), ("full", 2, 2)]
    small: list[tuple[int, int, float]] = [(2, 4, 0.0), (2, 4, 0.35), (3, 3, 0.35)]
    processes = [random_process(seed + k, v, n, zeros=z) for k, (v, n, z) in enumerate(small)]
    tried: list[tuple[Decoder, TableProcess]] = [
        (make(3, candidates=k, depth=d, tree=tree, bonus=bonus), process)
        for process in processes
        for tree, k, d in shapes
        for bonus in (True, False)
        for make in (SjdPd, SjdPac)
        if tree == "comb" or (process.vocabulary == 2 and make is SjdPac)
    ]
    wide = random_process(seed + 9, 3, 3, zeros=0.35)
    tried += [(SjdPac(2, candidates=2, depth=2, tree="full"), wide), (SjdPac(2, candidates=3, depth=2), wide)]
    worst, enumerated = sequences(
        tried,
        "beyond the proof, V = 2 with length 4, V = 3 with length 3, full trees as well, K = 2 to 4 (above the support "
        "for V = 2 and 3), D = 1, 2, with and without bonus",
    )
    return holds_if(worst == 0, enumerated)
