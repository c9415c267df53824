"""Proofs about one step of lossy rules, for all rows up to a size, at every setting."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from simlab.arrays import Array, total_variation
from simlab.rules import (
    Addition,
    Amplify,
    Cascade,
    Fuzzy,
    Lenience,
    Mixture,
    OptimalLossy,
    Rule,
    Speculative,
    Truncation,
)
from simlab.rules.cactus import Cactus
from simlab.rules.truncation import likely
from theory.proofs.base import Numbers, Stated, eq, equal, ge, le, proof_of_rows
from theory.proofs.settings import (
    HALF,
    LINE,
    TENTH,
    THIRD,
    always,
    but_at,
    law_and_tv_below,
    on_the_line,
    proof_of_settings,
    set_to,
    step,
)

__all__ = ["LOSSY_PROOFS"]


# Rules of a setting that is made of s, from 0 to 1 -------------------------------------------------------------


def amplified(s: Any, size: int = 0) -> Rule | None:
    """k = 1/s, any number from 1."""
    return set_to(Amplify(1), k=1 / s) if s > 0 else None


def added(s: Any, size: int = 0) -> Rule | None:
    """epsilon = s/(1 - s), any number from 0."""
    return set_to(Addition(1), epsilon=s / (1 - s)) if s < 1 else None


def lenient(s: Any, size: int = 0, residual: str = "target") -> Rule | None:
    """l = s, above 0."""
    return set_to(Lenience(1, residual), factor=s) if s > 0 else None


def budget(s: Any, size: int = 0) -> Rule:
    """The TV that may be spent is s."""
    return set_to(OptimalLossy(1), tv=s)


def mixture(s: Any, size: int = 0) -> Rule:
    """w = s."""
    return set_to(Mixture(1), weight=s)


def truncated(s: Any, size: int = 0, residual: str = "truncated") -> Rule:
    """t = s."""
    return set_to(Truncation(1, residual), threshold=s)


def fuzzed(s: Any, size: int = 0, beyond: str = "target") -> Rule | None:
    """T = s/(1 - s), any number from 0."""
    return set_to(Fuzzy(1, "tv", beyond), threshold=s / (1 - s)) if s < 1 else None


# Statements about a step ---------------------------------------------------------------------------------------


def law_between(rule: Any, n: Numbers) -> Stated:
    """No token is emitted more often than the larger of p and q."""
    p, q, law, _ = step(rule, n)
    return [(mass, le, max(a, b)) for mass, a, b in zip(law, p, q, strict=True)]


def sure_below(rule: Rule, n: Numbers, added: bool) -> Stated:
    """Where q <= p + epsilon everywhere, or q <= k p, drafts are kept and q comes out."""
    p, q, law, accepts = step(rule, n)
    s = n["s"]  # k = 1/s, epsilon = s/(1 - s)
    if not all((b - a) * (1 - s) <= s if added else b * s <= a for a, b in zip(p, q, strict=True)):
        return []
    return [(accepts, eq, 1), *equal(law, q)]


def budgeted(rule: Rule, n: Numbers) -> Stated:
    """TV is the budget s, or TV(p, q) if that is less, and acceptance is what such a TV buys."""
    p, q, law, accepts = step(rule, n)
    apart = total_variation(p, q)
    spent = min(apart, n["s"])
    return [(total_variation(p, law), eq, spent), (accepts, eq, min(1 - apart + spent, 1))]


def mixed(rule: Rule, n: Numbers) -> Stated:
    """The law is a mixture, its TV to p 1 - w of TV(p, q), and acceptance 1 - w TV(p, q)."""
    p, q, law, accepts = step(rule, n)
    apart, w = total_variation(p, q), n["s"]
    return [
        *equal(law, p * w + q * (1 - w)),
        (total_variation(law, p), eq, apart * (1 - w)),
        (accepts, eq, 1 - apart * w),
    ]


def cut(rule: Rule, n: Numbers) -> Stated:
    """The law of truncation: q where p is likely, the rest from p cut to there; and its TV to p cut to there."""
    p, q, law, accepts = step(rule, n)
    inside = [int(each) for each in likely(p[None], n["s"])[0]]
    own, other = p * inside / sum(p * inside), q * inside
    kept = sum(other)
    found = [(accepts, eq, kept), *equal(law, other + own * (1 - kept))]
    apart = total_variation(other / kept, own) * kept if kept > 0 else kept
    return [*found, (total_variation(law, own), eq, apart)]


def fuzzy(rule: Rule, n: Numbers, verified: bool) -> Stated:
    """q within the threshold s/(1 - s), where all is accepted; p beyond it, where nothing is, or as without loss."""
    p, q, law, accepts = step(rule, n)
    apart = total_variation(p, q)
    if apart * (1 - n["s"]) <= n["s"]:
        return [(accepts, eq, 1), *equal(law, q)]
    return [(accepts, eq, 1 - apart if verified else 0), *equal(law, p)]


def cascade(n: Numbers, residual: str = "target") -> Stated:
    """The cascade's law, by both ways of making it, and how often drafts are accepted."""
    p, q, threshold = n["p"], n["q"], n["t"]
    inside = [bool(each) for each in likely(p[None], threshold)[0]]
    kept = sum((mass for mass, is_in in zip(q, inside, strict=True) if is_in), p[0] * 0)
    own = np.array([(b if i else b * 0) + a * (1 - kept) for a, b, i in zip(p, q, inside, strict=True)], dtype=object)
    _, _, law, accepts = step(set_to(Cascade(HALF), threshold=threshold), n)
    _, _, other, _ = step(truncated(threshold, residual=residual), n)
    alike = 1 - total_variation(own, q)
    return [*equal(law, own), *equal(other, own), (accepts, eq, alike), (accepts, ge, kept)]


@dataclass(frozen=True)
class Raised(Cactus):
    """Cactus with any row h >= p in the place of the one with the root."""

    rows: Any = None

    def raised(self, own: Array) -> Array:
        return np.array(self.rows, dtype=object).reshape(own.shape)


class Lowered(Raised):
    """Takes h where it is below p as well."""


def cactus(n: Numbers, over: int = 0, kind: type[Raised] = Raised) -> Stated:
    """A token with q > p comes out with min(q, h), and acceptance = 1 - TV(p, q) + TV(p, law)."""
    p, q = n["p"], n["q"]
    rows = [n[f"h{x}"] for x in range(len(p))]
    if kind is Raised and not all(own <= more for own, more in zip(p, rows, strict=True)):
        return []
    _, _, law, accepts = step(kind(HALF, rows), n)
    emitted = [(mass, eq, min(b, h)) for mass, a, b, h in zip(law, p, q, rows, strict=True) if b > a]
    return [*emitted, (accepts, eq, 1 - total_variation(p, q) + total_variation(p, law) * (1 - over))]


# The proofs ----------------------------------------------------------------------------------------------------

HALVED = always(Amplify(HALF))
HALF_OF_EACH = {
    "amplify with 1/2": HALVED,
    "the same for k = 3 alone": but_at(THIRD, HALVED, amplified),
    "the same for epsilon = 1/2 alone": but_at(THIRD, HALVED, added),
}

LOSSY_PROOFS = (
    proof_of_settings(
        "lossy.frontier",
        ("leviathan.frontier", "gsd.naive-lossy.tv"),
        f"for every k >= 1 and epsilon >= 0: amplify and addition are on the line: {LINE}",
        on_the_line,
        amplified,
        added,
        wrong=HALF_OF_EACH,
    ),
    proof_of_settings(
        "amplify.bounded",
        ("gsd.naive-lossy.explode",),
        "for every k >= 1: amplify emits no token above k p, and TV is at most 1 - 1/k",
        law_and_tv_below,
        amplified,
        wrong={
            "addition": always(Addition(Fraction(3, 10))),
            "10 in place of k = 3 alone": but_at(THIRD, always(Amplify(10)), amplified),
        },
    ),
    proof_of_settings(
        "amplify.explodes",
        ("gsd.naive-lossy.explode",),
        "for every k >= 1: where q <= k p, amplify keeps every draft, so that q is emitted",
        partial(sure_below, added=False),
        amplified,
        wrong={"2 in place of k = 3 alone": but_at(THIRD, always(Amplify(2)), amplified)},
    ),
    proof_of_settings(
        "addition.explodes",
        ("gsd.naive-lossy.explode",),
        "for every epsilon >= 0: where q <= p + epsilon, addition keeps every draft, so that q is emitted",
        partial(sure_below, added=True),
        added,
        wrong={"1/4 in place of epsilon = 1/2 alone": but_at(THIRD, always(Addition(Fraction(1, 4))), added)},
    ),
    proof_of_settings(
        "lossy.no-token-gains",
        ("gsd.naive-lossy.explode",),
        "for every k >= 1 and epsilon >= 0: law <= max(p, q) for amplify and addition",
        law_between,
        amplified,
        added,
        wrong=HALF_OF_EACH,
    ),
    proof_of_settings(
        "optimal-lossy.budget",
        ("baselines.optimal-lossy",),
        "for every s: TV = min(s, TV(p, q)), acceptance = min(1, 1 - TV(p, q) + s)",
        budgeted,
        budget,
        wrong={
            "amplify": lambda s, size: set_to(Amplify(1), k=1 + s),
            "1/2 in place of s = 1/3 alone": but_at(THIRD, always(OptimalLossy(HALF)), budget),
        },
    ),
    proof_of_settings(
        "mixture.law",
        ("ensemble.frontier",),
        "for every w: law = w p + (1 - w) q, at TV (1 - w) TV(p, q) from p, and acceptance = 1 - w TV(p, q)",
        mixed,
        mixture,
        wrong={
            "1 - w": lambda s, size: mixture(1 - s),
            "1/2 in place of w = 1/3 alone": but_at(THIRD, always(Mixture(HALF)), mixture),
        },
    ),
    proof_of_settings(
        "lenience.bounded",
        ("lenience.bound",),
        "for every l: law <= p/l, and TV <= 1 - l, with both residuals",
        law_and_tv_below,
        *(partial(lenient, residual=residual) for residual in ("target", "lenient")),
        wrong={
            "the factor squared": lambda s, size: lenient(s * s),
            **{
                f"1/10 in place of l = 1/3 alone, [p - {told}q]+": but_at(
                    THIRD, always(Lenience(TENTH, residual)), partial(lenient, residual=residual)
                )
                for told, residual in (("", "target"), ("l ", "lenient"))
            },
        },
    ),
    proof_of_settings(
        "truncation.law",
        ("truncation.law",),
        "for every threshold: q on A, the rest from p cut to A, and its TV to p cut to A",
        cut,
        truncated,
        wrong={
            "replaced from p": partial(truncated, residual="target"),
            "lossless": always(Speculative()),
            "1/10 in place of the threshold 1/3 alone": but_at(THIRD, always(Truncation(TENTH)), truncated),
        },
    ),
    *(
        proof_of_settings(
            name,
            ("fuzzy.law",),
            f"for every threshold on TV: q within it, where all is accepted; p beyond it, where {told}",
            partial(fuzzy, verified=beyond == "speculative"),
            partial(fuzzed, beyond=beyond),
            wrong={
                "1/10 in place of the threshold 1/2 alone": but_at(
                    THIRD, always(Fuzzy(TENTH, "tv", beyond)), partial(fuzzed, beyond=beyond)
                ),
                f"beyond 1/2 alone {other}": but_at(
                    THIRD, partial(fuzzed, beyond=another), partial(fuzzed, beyond=beyond)
                ),
            },
        )
        for name, beyond, told, another, other in (
            ("fuzzy.law", "target", "nothing is accepted", "speculative", "as without loss"),
            ("fuzzy.verified", "speculative", "1 - TV(p, q) is accepted", "target", "nothing is accepted"),
        )
    ),
    proof_of_rows(
        "cascade.law",
        ("cascade.law",),
        "for every threshold: a cascade emits c, as truncation that replaces from p does, and accepts 1 - "
        "TV(c, q) >= q(A)",
        cascade,
        wrong={"replaced from p cut to A": {"residual": "truncated"}},
        shares=("t",),
    ),
    proof_of_rows(
        "cactus.law",
        ("cactus.law", "cactus.frontier"),
        "for every h >= p in the place of the one with the root: min(q, h) where q > p, and on the line",
        cactus,
        wrong={"any h": {"kind": Lowered}, "nothing gained": {"over": 1}},
        sizes=(2,),
        shares=("h0", "h1"),
    ),
)
