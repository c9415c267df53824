"""Which known rule a user's rule equals: the same acceptance and the same residual wherever they matter.

The parameter of amplify, addition and the optimal lossy rule is read off the first draft that is accepted with a
probability between 0 and 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from simlab import mutants
from simlab.arrays import Array, Number, full, is_exact, number
from simlab.rules import Addition, Amplify, OptimalLossy, Rule, Speculative, make_rule
from theory.claims.format import fmt
from theory.distances import tv
from theory.judge.user_rule import NEGLIGIBLE, UserRule


class _Constant(Rule):
    """Accepts every draft with the same probability."""

    def __init__(self, accepted: Number) -> None:
        self.accepted = accepted

    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        return full(tuple(np.shape(x)), self.accepted, p)


class _DrawsDraft(Speculative):
    """Draws from q after a rejection."""

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        return q


class RuleMatch(NamedTuple):
    """The names of the known rules that agree; ``None`` for none."""

    rule: str | None  # agrees in all
    accept: str | None  # agrees in what it accepts
    residual: str | None  # agrees in what it draws after a rejection

    def summary(self) -> str:
        """One line for people."""
        if self.rule:
            return f"behaves like: {self.rule}"
        alike = [
            f"accepts like {self.accept}" if self.accept else "",
            f"after a rejection draws like {self.residual}" if self.residual else "",
        ]
        return "; ".join(filter(None, alike)) or "like none of the rules it was compared with"


class _Answers(NamedTuple):
    """What a rule answers for one pair of rows, at every token that can be drafted."""

    p: Array
    q: Array
    x: Array
    accepted: Array  # [n]
    drawn: Array  # [n, V]


def match_rule(rule: UserRule, cases: Iterable[tuple[Array, Array]], tolerance: float) -> RuleMatch:
    """Which known rules a user's rule is like, by its answers on pairs of rows p and q ``[V]``.

    ``tolerance``: within which answers agree; 0 for exact rows. Raises ``Broken`` if the rule does not answer as a rule
    must, and ``Inexact`` if rationals are answered with floats.
    """
    answers = [_answers(rule, p, q) for p, q in cases]
    accepts = {**_rules(answers), "accepting every draft": _Constant(1), "accepting no draft": _Constant(0)}
    residuals = {**_rules(answers), "q": _DrawsDraft()}
    same_accept = [name for name, known in accepts.items() if all(_accepts(known, a, tolerance) for a in answers)]
    rejects = any((a.accepted < 1 - NEGLIGIBLE).any() for a in answers)
    same_residual = (
        [name for name, known in residuals.items() if all(_draws(known, a, tolerance) for a in answers)]
        if rejects
        else []
    )
    both = [name for name in same_accept if name in same_residual or not rejects]
    return RuleMatch(*(names[0] if names else None for names in (both, same_accept, _plain(same_residual))))


def _plain(names: Sequence[str]) -> list[str]:
    """Many rules share the lossless residual: it is named after what it is."""
    return ["[p - q]+, the lossless residual" if name == "speculative" else name for name in names]


def _answers(rule: UserRule, p: Array, q: Array) -> _Answers:
    x = np.flatnonzero(q > 0)
    target, draft = _each(p, q, len(x))
    return _Answers(p, q, x, rule.accept_rows(target, draft, x), rule.residual_rows(target, draft, x))


def _each(p: Array, q: Array, count: int) -> tuple[Array, Array]:
    """The two rows, once for each of ``count`` tokens."""
    return np.broadcast_to(p, (count, len(p))), np.broadcast_to(q, (count, len(q)))


def _rules(answers: Sequence[_Answers]) -> dict[str, Rule]:
    """The rules that are compared, those that say more first."""
    windows = {
        f"dynamic-grouped, {window}, size = {size}": make_rule("dynamic-grouped", size=size, window=window)
        for window in ("centred", "clamped", "printed")
        for size in (2, 3, 4, 6, 8)
    }
    return {
        "speculative": Speculative(),
        **{f"the wrong variant “{name}”": rule for name, rule in mutants.RULES.items()},
        **_fitted(answers),
        **windows,
        "gsd-reference": make_rule("gsd-reference"),
        "typical, ε = 0.09, δ = 0.3": make_rule("typical"),
    }


def _fitted(answers: Sequence[_Answers]) -> dict[str, Rule]:
    """Amplify, addition and optimal lossy with the parameter that the first telling draft asks for."""
    for p, q, x, accepted, _ in answers:
        for token, probability in zip(x.tolist(), accepted.tolist(), strict=True):
            target, draft = p[token], q[token]
            if not 0 < probability < 1 or not 0 < target < draft:
                continue
            share = (probability * draft - target) / (draft - target)
            fitted: dict[str, tuple[Any, str, Number]] = {
                "amplify": (Amplify, "k", probability * draft / target),
                "addition": (Addition, "ε", probability * draft - target),
                "optimal-lossy": (OptimalLossy, "tv", share * tv(p, q)),
            }
            return {
                f"{name}, {parameter} = {fmt(value)}": make(_round(value))
                for name, (make, parameter, value) in fitted.items()
                if value > 0 and (name != "optimal-lossy" or value < 1)
            }
    return {}


def _round(value: Number) -> Number:
    """A float without the noise of its last digits."""
    return value if isinstance(value, Fraction) else float(f"{value:.12g}")


def _accepts(known: Rule, a: _Answers, tolerance: float) -> bool:
    return _close(known.accept_rows(*_each(a.p, a.q, len(a.x)), x=a.x), a.accepted, tolerance)


def _draws(known: Rule, a: _Answers, tolerance: float) -> bool:
    rejected = a.accepted < number(1 - NEGLIGIBLE, a.p)
    if not rejected.any():
        return True
    x = a.x[rejected]
    drawn = known.residual_rows(*_each(a.p, a.q, len(x)), x=x)
    return _close(drawn, a.drawn[rejected], tolerance)


def _close(one: Array, other: Array, tolerance: float) -> bool:
    away = abs(one - other).max(initial=0) if not is_exact(one) else max(abs(one - other).ravel(), default=0)
    return bool(away <= tolerance)
