"""Rules and verifiers of somebody else, held to their contract while something is proven of them.

A law is a sum, in which masses below 0 cancel those that are too large: what comes to p so can be drawn from by nobody.
So where a class of somebody else is run on exact rows, of fractions or of numbers that are not known, what it answers
is looked at. A float that it makes of fractions, by a written 1.0, is read as the fraction that it stands for, where
rows are of small denominators: of others it says too little.
"""

from __future__ import annotations

from fractions import Fraction
from math import isfinite, lcm, prod
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.candidates import Candidates, Verified, Verifier
from simlab.rules import Rule, Step
from theory.judge.on_unknowns import BrokenRule
from theory.judge.user_rule import exact_pmf
from theory.symbolic.unknown import Refused, Unknown

LARGEST = 10**6  # denominator of a fraction that a float stands for


class RuleInBounds(Rule):
    """A rule on exact rows, as it is.

    Its step raises :class:`BrokenRule` where a draft that can be drawn is not accepted with a probability, is not
    replaced by a pmf where it can be rejected, or by another than the weights that decoders draw from, or where the
    step itself, or the law that it tells of it, is not what these come to.
    """

    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    def __repr__(self) -> str:
        return repr(self.rule)

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # which a decoder of somebody else may look for
        return type(self.rule)

    def __getattr__(self, name: str) -> Any:
        if name == "rule":  # which is not there while a copy is made
            raise AttributeError(name)
        return getattr(self.rule, name)

    def check_vocabulary(self, size: int) -> None:
        self.rule.check_vocabulary(size)

    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        return _read(self.rule.accept_rows(p, q, x), p, q)

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        return _read(self.rule.weights_rows(p, q, x), p, q)

    def residual_rows(self, p: Array, q: Array, x: Array) -> Array:
        return _read(self.rule.residual_rows(p, q, x), p, q)

    def law_rows(self, p: Array, q: Array) -> Array:
        return _read(self.rule.law_rows(p, q), p, q)

    def step_rows(self, p: Array, q: Array) -> Step:
        step = Step(*(_read(part, p, q) for part in self.rule.step_rows(p.copy(), q.copy())))
        size = p.shape[-1]
        steps = [self._step(*rows) for rows in zip(p.reshape(-1, size), q.reshape(-1, size), strict=True)]
        for told, part in zip(step, zip(*steps, strict=True), strict=True):
            if not _alike(told, part):
                raise BrokenRule("step_rows gives another step than accept_rows and residual_rows come to")
        if type(self.rule).law_rows is not Rule.law_rows and not _alike(self.law_rows(p.copy(), q.copy()), step.law):
            raise BrokenRule("law_rows gives another law than step_rows does")
        return step

    def _step(self, p: Array, q: Array) -> tuple[Any, list[Any]]:
        """How often a draft is accepted, and what is emitted, for rows ``[V]``, by what is answered for each draft."""
        accepted, law = q[0] * 0, [mass * 0 for mass in p]
        for x in range(len(p)):
            if not q[x] > 0:
                continue
            (chance,) = np.broadcast_to(np.asarray(self.accept_rows(*_asked(p, q, x))), 1).tolist()
            if not chance >= 0 or not chance <= 1:
                raise BrokenRule(f"accept_rows gives {chance} for x = {x}; expected a number from 0 to 1")
            accepted, law[x] = accepted + q[x] * chance, law[x] + q[x] * chance
            if chance < 1:
                row = np.broadcast_to(np.asarray(self.residual_rows(*_asked(p, q, x))), (1, len(p)))[0].tolist()
                drawn = exact_pmf(row, f"the residual for x = {x}", BrokenRule)
                self._check_weights(drawn, _asked(p, q, x))
                law = [mass + q[x] * (1 - chance) * more for mass, more in zip(law, drawn, strict=True)]
        return accepted, law

    def _check_weights(self, residual: Array, asked: tuple[Array, Array, Array]) -> None:
        """Raise :class:`BrokenRule` unless the weights that decoders draw from are in proportion to the residual."""
        (x,) = asked[2].tolist()
        weights = np.broadcast_to(np.asarray(self.weights_rows(*asked)), (1, len(residual)))[0].tolist()
        whole = sum(weights)
        if not whole > 0:
            raise BrokenRule(f"the weights for x = {x} sum to {whole}; expected more than 0")
        if not _alike(weights, residual * whole):
            raise BrokenRule(f"weights_rows and residual_rows draw otherwise for x = {x}")


class VerifierInBounds(Verifier):
    """A verifier on exact rows, as it is; raises :class:`BrokenRule` where the masses of what is emitted are no pmf, or
    what is no candidate is accepted.
    """

    def __init__(self, verifier: Verifier) -> None:
        self.verifier = verifier
        self.takes = verifier.takes  # type: ignore[misc]  # of this one

    def __repr__(self) -> str:
        return repr(self.verifier)

    @property
    def lossless(self) -> bool:
        return self.verifier.lossless

    def check_takes(self, candidates: Candidates) -> None:
        self.verifier.check_takes(candidates)

    def verify(self, p: Array, q: Array, x: Array, candidates: Candidates) -> Verified:
        seen = [q] * x.shape[-1]  # one for each candidate that may be refused
        verified = self.verifier.verify(p.copy(), q.copy(), x.copy(), candidates)
        found = Verified(*(_read(part, p, *seen) for part in verified))
        for accepted, drawn, tokens in zip(*(part.tolist() for part in (found.accepted, found.drawn, x)), strict=True):
            told = f"for the candidates {', '.join(map(str, tokens))}"
            exact_pmf([*accepted, *drawn], f"what is emitted {told}", BrokenRule)
            if other := [token for token, mass in enumerate(accepted) if token not in tokens and mass > 0]:
                raise BrokenRule(f"it accepts {other[0]} {told}; expected one of them")
        return found


def _asked(p: Array, q: Array, x: int) -> tuple[Array, Array, Array]:
    """What a rule is asked about a draft: rows of its own, in which it may write, so that a law is compared with p."""
    return p[None].copy(), q[None].copy(), np.array([x])


def _alike(one: Any, other: Any) -> bool:
    return all(x == y for x, y in zip(np.ravel(one).tolist(), np.ravel(other).tolist(), strict=True))


def _read(values: Any, *rows: Array) -> Any:
    """What was answered for exact rows, with fractions for the floats where rows are fractions.

    Raises :class:`~theory.symbolic.unknown.Refused` where what comes of these rows may have larger denominators than
    are read.
    """
    answers = np.ravel(values).tolist()
    if not any(isinstance(value, float) for value in answers):
        return values
    unknown = (isinstance(mass, Unknown) for row in rows for mass in row.flat)
    if any(unknown):  # past the end a row is known, beside others
        return values
    if prod(lcm(*(Fraction(mass).denominator for mass in row.flat)) for row in rows) > LARGEST:
        raise Refused("it answers with floats, where rows are exact; write a Fraction, or no decimal point")
    return np.array([fraction_near(value) for value in answers], dtype=object).reshape(np.shape(values))


def fraction_near(value: Any) -> Any:
    """A number as it is, a float as the fraction of small denominator that it stands for."""
    return Fraction(value).limit_denominator(LARGEST) if isinstance(value, float) and isfinite(value) else value
