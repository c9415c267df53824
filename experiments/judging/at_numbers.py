"""What was brought, and something is proven of, tried at numbers: it may look at what numbers it gets.

A rule or a verifier is run at a few rows, as fractions and as floats, a few times; a decoder at a few tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np

from experiments.judging.in_bounds import RuleInBounds, VerifierInBounds, fraction_near
from simlab.arrays import is_exact
from simlab.candidates import Verifier, verified_law
from simlab.decoders import Decoder
from simlab.rules import Rule, Speculative, Step
from theory.exact import sequence_law, target_law
from theory.example_processes import random_process
from theory.judge.on_unknowns import BrokenRule, RuleOnUnknowns
from theory.judge.user_rule import NEGLIGIBLE, Broken, UserRule, last_line
from theory.symbolic.prove_rules import FREE, Emitted
from theory.symbolic.prove_verifiers import usual_drawing
from theory.symbolic.statements import LOSSLESS, Statement, read_statement
from theory.symbolic.unknown import Refused

MADE = Rule, Decoder, Verifier
RUNS = 20  # runs at rows of numbers
LONGEST_RUNS = 5.0  # seconds after which there is no further run
TABLES = 3  # of random rows, at which a decoder is run


def otherwise(made: Any, verified: Any, that: str, sizes: Sequence[int], zeros: bool, length: int, count: int) -> str:
    """How what was brought, of which a statement is proven, does otherwise at numbers; nothing where it does not.

    Of a rule that a decoder verifies by only that floats get the answers of fractions; of a decoder whether it is
    lossless, where that is what was proven. What is of this house is not tried.
    """
    sizes, stated = sizes or ((2,) if isinstance(made, Decoder) else (2, 3)), None
    if not isinstance(made, Decoder):
        stated, verified = read_statement(that, FREE), made
    elif (
        that.strip() == LOSSLESS
        and any(map(_is_brought, (made, verified)))
        and (why := _sequences_off(made, verified or Speculative(), sizes, zeros, length))
    ):
        return why
    until, brought = perf_counter() + LONGEST_RUNS, dict[int, Any]()
    if verified is not None:
        brought = {size: one for size in sizes if _is_brought(one := of_size(verified, size))}
    tried = [(one, *pair) for size, one in brought.items() for pair in _pairs(size, zeros)]
    for run in range(RUNS):
        for one, p, q in tried:
            if run and perf_counter() > until:
                return ""
            if why := _wrong_at(one, stated, p, q, count):
                return f"{why}; p = ({', '.join(map(str, p))}), q = ({', '.join(map(str, q))})"
    return ""


def of_size(made: Any, size: int) -> Any:
    """What was made, or what a function from V makes."""
    return made if isinstance(made, MADE) else made(size)


def _is_brought(value: Any) -> bool:
    """Whether it is a rule, a verifier or a decoder, and none of this house; or one that is made with such a one."""
    if value is None:
        return False
    if isinstance(value, RuleOnUnknowns) or type(value).__module__.partition(".")[0] != "simlab":
        return True
    return any(isinstance(part, MADE) and _is_brought(part) for part in getattr(value, "__dict__", {}).values())


def held(made: Any) -> Any:
    """What was brought with its answers looked at, where nobody else does; all else as it is."""
    if isinstance(made, Rule | Verifier):
        if isinstance(made, UserRule) or not _is_brought(made):
            return made
        return RuleInBounds(made) if isinstance(made, Rule) else VerifierInBounds(made)
    if made is None or isinstance(made, MADE):
        return made

    def of(size: int) -> Any:
        return held(made(size))

    of.__name__ = getattr(made, "__name__", repr(made))
    return of


def _sequences_off(decoder: Decoder, rule: Rule, sizes: Sequence[int], zeros: bool, length: int) -> str:
    """How the sequences of a decoder do not follow the target at tables of numbers."""
    for seed, size in product(range(TABLES), sizes):
        target, draft = (random_process(one, size, length, zeros=zeros / 4) for one in (seed, seed + TABLES))
        try:
            law, _ = sequence_law(decoder, target, rule, draft if decoder.needs_draft else None)
        except Exception as error:
            return f"it raises {last_line(error)}"
        wanted = target_law(target)
        if _apart(*([each.get(tokens, 0) for tokens in law.keys() | wanted.keys()] for each in (law, wanted))):
            return f"its sequences do not follow a table of V = {size}"
    return ""


def _apart(one: Any, other: Any) -> bool:
    """Whether two laws differ by more than rounding: a written 1.0 makes floats of fractions."""
    return not all(abs(float(left) - float(right)) <= NEGLIGIBLE for left, right in zip(one, other, strict=True))


def _pairs(size: int, zeros: bool) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows whose sums floats hold exactly, so that they compare as fractions do; some with ``zeros``."""
    falling = _halved(size)
    steep = [Fraction(3, 4), *(mass / 4 for mass in _halved(size - 1))] if size > 1 else falling
    full = [np.array(row, dtype=object) for row in (falling, falling[::-1], steep, steep[::-1])]
    pairs = list(product(full, full))
    if zeros:
        first, last = (np.array([Fraction(int(x == at)) for x in range(size)], dtype=object) for at in (0, size - 1))
        pairs += [(first, last), (last, last), *((row, one) for row in full for one in (first, last))]
        pairs += [(one, row) for row in full for one in (first, last)]
    return pairs


def _halved(size: int) -> list[Fraction]:
    """A row of masses each half of the one before, the last two equal."""
    return [Fraction(1, 2 ** min(x + 1, max(size - 1, 0))) for x in range(size)]


def _wrong_at(one: Rule | Verifier, stated: Statement | None, p: np.ndarray, q: np.ndarray, count: int) -> str:
    """What is wrong with a rule, or a verifier, at two rows of numbers: with the statement, or with floats beside
    fractions. How often a draft is accepted counts where the statement is about it.
    """
    try:
        exact = _step(one, p, q, count)
        *law, accepted = (Fraction(fraction_near(value)) for value in (*exact.law, exact.acceptance))
        if stated and not Emitted(p, q, np.array(law, dtype=object), accepted).fulfils(stated):
            return f"{stated.text} is false there"
        found = _step(one, p.astype(np.float64), q.astype(np.float64), count)
        off = _apart(found.law, exact.law)
        if stated and "accepts" in stated.names:
            off |= _apart([found.acceptance], [exact.acceptance])
    except (Broken, BrokenRule, Refused, ArithmeticError) as error:
        return str(error)
    except Exception as error:
        return f"it raises {last_line(error)}"
    return "floats get other answers than fractions" if off else ""


def _step(one: Rule | Verifier, p: np.ndarray, q: np.ndarray, count: int) -> Step:
    """What a rule makes of two rows ``[V]``, or a verifier of candidates drawn in the way that it takes."""
    if isinstance(one, Verifier):
        accepted, drawn = verified_law(one, usual_drawing(one), p, q, count)
        return Step(accepted.sum(), accepted + drawn)
    rule = UserRule(one.functions) if isinstance(one, RuleOnUnknowns) and not is_exact(p) else one
    return Step(*(part[0] for part in rule.step_rows(p[None], q[None])))
