"""Pointwise statements over real numbers >= 0: what sums over tokens, or integrals of densities, are made of.

Each is about one token, or one point of a density: no V is in it. A *sum lemma* then says what follows for all tokens:
an equation or an inequality that is true of every term is true of their sum, and of their integral.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from simlab.rules.base import acceptance_ratio
from theory.proofs.base import Comparison, Proof, eq, for_all_masses, ge, le

SUM = "a sum over tokens of terms that are equal, or ordered, is equal or ordered; so is an integral over densities"
GROUPS = "induction over the tokens of a group: each is added to both sides by the inequality that is proven"
STEPS = "induction over the drafts of a block, each of which adds one such step; then a sum over prefixes"

Numbers = Mapping[str, Any]
Stated = Iterable[Comparison]


def accepted(p: Any, q: Any, ratio: Any = None) -> Any:
    """How often the code accepts a draft that has masses, or densities, p and q; ``ratio`` is p/q if it is not said."""
    one = np.array([p if ratio is None else ratio], dtype=object), np.array([q], dtype=object)
    return acceptance_ratio(one[0], *one, one[1])[0]


def kept(n: Numbers, factor: int = 1) -> Stated:
    """q a = min(p, q), and what is accepted and the residual make p."""
    p, q = n["p"] * factor, n["q"]
    mass = q * accepted(p, q)
    return [(mass, eq, min(n["p"], q)), (mass + max(0, n["p"] - q), eq, n["p"])]


def rejected(n: Numbers, sign: int = 1) -> Stated:
    """What is rejected and the residual are as much as the excess of q, and of p."""
    p, q = n["p"], n["q"]
    return [
        (q - q * accepted(p, q), eq, max(0, (q - p) * sign)),
        (p - min(p, q), eq, max(0, p - q)),
        (min(p, q) * 2, eq, p + q - abs(p - q)),
    ]


def proposed(n: Numbers, divisor: str = "p") -> Stated:
    """The residual drawn by proposals from p: each is kept with [1 - q/p]+, which makes [p - q]+."""
    p, q = n["p"], n["q"]
    if not p > 0 or not n[divisor] > 0:
        return []
    return [(p * max(0, (p - q) / n[divisor]), eq, max(0, p - q))]


def proposed_at(n: Numbers, right: bool = True) -> Stated:
    """The same with the factor s of CSpD's ratio: what is kept is [s p - q]+ / s."""
    p, q, s = n["p"], n["q"], n["s"]
    if not p > 0 or not s > 0:
        return []
    threshold = max(0, s * p - q) / (s * p)
    return [(p * threshold, eq, max(0, s * p - q) / (s if right else 1))]


def scaled(n: Numbers, right: bool = True) -> Stated:
    """With the ratio s p/q what is accepted and the residual make s p."""
    p, q, s = n["p"], n["q"], n["s"]
    return [(q * accepted(s * p, q) + max(0, s * p - q), eq, s * p if right else p)]


def left_over(n: Numbers, power: int = 1) -> Stated:
    """s > 1: the residual of [p - q/s]+ is at least p - q/s, which integrates to 1 - 1/s."""
    p, q, s = n["p"], n["q"], n["s"]
    return [(max(0, p - q / s), ge, p - q / s**power)] if s > 1 else []


def merged(n: Numbers, worse: bool = True) -> Stated:
    """The smaller of two sums is at least the sum of the smaller ones."""
    both, apart = min(n["a"] + n["b"], n["c"] + n["d"]), min(n["a"], n["c"]) + min(n["b"], n["d"])
    return [(both, ge, apart)] if worse else [(both, le, apart)]


def any_rule(n: Numbers, price: int = 1) -> Stated:
    """Whatever a rule accepts is at most q and r, the law it emits: min(q, r) <= min(q, p) + [r - p]+."""
    p, q, r = n["p"], n["q"], n["r"]
    return [(min(q, r) * price, le, min(q, p) * price + max(0, r - p))]


def best_block(n: Numbers, room: int = 1) -> Stated:
    """Any rule's mass m <= q, m <= M P with M <= B stays below that of block verification, min(q, B P)."""
    m, q, before, best, p = n["m"], n["q"], n["M"], n["B"], n["P"]
    if not (m <= q and m <= before * p * room and before <= best):
        return []
    return [(m, le, min(q, best * p))]


def best_biased(n: Numbers, price: int = 1) -> Stated:
    """The same for a rule with a bias d: what it has more, it pays for."""
    m, q, before, best, p, d = (n[name] for name in ("m", "q", "M", "B", "P", "d"))
    if not (m <= q and m <= before * p + d):
        return []
    own = min(q, best * p)
    return [(max(0, m - own), le, max(0, before - best) * p + d * price)]


def block_tokens(n: Numbers, right: bool = True) -> Stated:
    """w <= 1: the weight min(1, w r) that block verification goes on with is at least w min(1, r)."""
    w, r = n["w"], n["r"]
    if not w <= 1:
        return []
    one, other = min(w * r, 1), w * min(r, 1)
    return [(one, ge, other)] if right else [(other, ge, one)]


def unbiased(n: Numbers, right: bool = True) -> Stated:
    """q (p/q) = p where q > 0."""
    p, q = n["p"], n["q"]
    return [(q * (p / q), eq, p if right else q)] if q > 0 else []


def row_costs(n: Numbers, rises: bool = True) -> Stated:
    """0 < t <= T <= r t and 1 <= C: C/r <= C t/T <= C."""
    t, top, r, c = n["t"], n["T"], n["r"], n["C"]
    if not (t > 0 and (t <= top or not rises) and top > 0 and top <= r * t and c >= 1):
        return []
    return [(c * t, le, c * top), (c * t * r, ge, c * top)]


def square(n: Numbers, count: int, factor: bool = True) -> Stated:
    """(sum of K masses)^2 <= K times the sum of their squares."""
    masses = [n[f"p{k}"] for k in range(count)]
    whole, squares = sum(masses), sum(each * each for each in masses)
    return [(whole * whole, le, squares * (count if factor else 1))]


def _proof(
    name: str,
    claims: Iterable[str],
    statement: str,
    states: Any,
    names: str,
    lemma: str,
    **wrong: tuple[str, Mapping[str, Any]],
) -> Proof:
    variables = tuple(names.split())

    def question(settings: Mapping[str, Any]) -> Any:
        return partial(for_all_masses, partial(states, **settings), variables, statement)

    others = {told: question(settings) for told, settings in wrong.values()}
    return Proof(name, tuple(claims), statement, (question({}),), others, lemma)


DENSITIES = (
    "cspd.output-law.fixed-variances",
    "cspd.output-law.last-step",
    "cspd.output-law.marginal",
    "cspd.noiseless.target-end",
    "cspd.noiseless.last-noise",
    "cspd.path-rule",
    "cspd.samplers.marginal",
    "cspd.mixtures.densities",
    "cspd.mixtures.aligned-components",
)

POINTWISE = (
    _proof(
        "pointwise.kept",
        ("leviathan.acceptance", "scd.visit", *DENSITIES),
        "q min(1, p/q) = min(p, q), and min(p, q) + [p - q]+ = p",
        kept,
        "p q",
        SUM,
        doubled=("ratio doubled", {"factor": 2}),
    ),
    _proof(
        "pointwise.rejected",
        ("leviathan.acceptance", "pac.rejection-mass", "pac.retention", "cspd.termination.without-sigma"),
        "q - min(p, q) = [q - p]+, p - min(p, q) = [p - q]+, 2 min(p, q) = p + q - |p - q|",
        rejected,
        "p q",
        SUM,
        reversed=("excess the other way", {"sign": -1}),
    ),
    _proof(
        "pointwise.proposed",
        ("leviathan.residual-cost", "cspd.residual", "cspd.mixtures.densities"),
        "p [1 - q/p]+ = [p - q]+ where p > 0",
        proposed,
        "p q",
        SUM,
        divided=("divided by q", {"divisor": "q"}),
    ),
    _proof(
        "pointwise.proposed-with-sigma",
        ("cspd.corollary-1.two-path",),
        "p [1 - q/(s p)]+ = [s p - q]+ / s where p, s > 0",
        proposed_at,
        "p q s",
        SUM,
        unscaled=("without 1/s", {"right": False}),
    ),
    _proof(
        "pointwise.with-sigma",
        ("cspd.corollary-1.given-states",),
        "q min(1, s p/q) + [s p - q]+ = s p",
        scaled,
        "p q s",
        SUM,
        unscaled=("p for s p", {"right": False}),
    ),
    _proof(
        "pointwise.large-sigma",
        ("cspd.termination.large-sigma",),
        "[p - q/s]+ >= p - q/s for s > 1",
        left_over,
        "p q s",
        SUM,
        squared=("s squared", {"power": 2}),
    ),
    _proof(
        "pointwise.grouped",
        ("gsd.theorem-1.partition", "gsd.dynamic.partition", "cspd.noiseless.merging", "cspd.output-law.marginal"),
        "min(a + b, c + d) >= min(a, c) + min(b, d)",
        merged,
        "a b c d",
        GROUPS,
        other=("at most", {"worse": False}),
    ),
    _proof(
        "pointwise.frontier",
        ("leviathan.frontier",),
        "min(q, r) <= min(q, p) + [r - p]+ for whatever law r a rule emits",
        any_rule,
        "p q r",
        SUM,
        cheaper=("half the price", {"price": 2}),
    ),
    _proof(
        "pointwise.block-tokens",
        ("baselines.block-verification.tokens",),
        "min(1, w r) >= w min(1, r) for w <= 1",
        block_tokens,
        "w r",
        STEPS,
        other=("at most", {"right": False}),
    ),
    _proof(
        "pointwise.block-optimal",
        ("block.optimal",),
        "m <= q, m <= M P and M <= B give m <= min(q, B P)",
        best_block,
        "m q M B P",
        STEPS,
        double=("twice the room", {"room": 2}),
    ),
    _proof(
        "pointwise.biased-block",
        ("hsd.frontier",),
        "m <= q and m <= M P + d give [m - min(q, B P)]+ <= [M - B]+ P + d",
        best_biased,
        "m q M B P d",
        STEPS,
        free=("bias for nothing", {"price": 0}),
    ),
    _proof(
        "pointwise.unbiased",
        ("cspd.path-ratio.unbiased", "cspd.path-ratio.last-step"),
        "q (p/q) = p where q > 0",
        unbiased,
        "p q",
        SUM,
        draft=("q for p", {"right": False}),
    ),
    _proof(
        "pointwise.cost-of-rows",
        ("leviathan.cost-of-rows.bounds",),
        "0 < t <= T <= r t and C >= 1 give C/r <= C t/T <= C",
        row_costs,
        "t T r C",
        "r, the rows of a call, is any real number here, and so any whole one",
        falls=("a cost that falls", {"rises": False}),
    ),
    *(
        _proof(
            f"pointwise.entropy-{count}",
            ("pac.entropy.candidates",),
            f"(p0 + ... )^2 <= {count} (p0^2 + ...), for {count} masses",
            partial(square, count=count),
            " ".join(f"p{k}" for k in range(count)),
            "tokens that are no candidates add to the right side alone",
            without=("without K", {"factor": False}),
        )
        for count in (2, 3, 4)
    ),
)
