"""What was brought, and something is proven of, tried at numbers: it may look at what numbers it gets.

A rule or a verifier is run at a few rows, as fractions and as floats, a few times, and at all of them at once; a
decoder at a few tables: of fractions, where it is held to its contract as well, of floats, and of floats on a tape.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from inspect import signature
from itertools import product
from math import sqrt
from time import perf_counter
from types import FunctionType
from typing import Any

import numpy as np

from experiments.judging.decoder_in_bounds import BrokenDecoder, DecoderInBounds
from experiments.judging.in_bounds import RuleInBounds, VerifierInBounds, fraction_near
from simlab.arrays import is_exact
from simlab.candidates import Verifier, verified_law
from simlab.candidates.base import drawn_law
from simlab.decoders import DECODERS, Decoder, make_decoder, run
from simlab.processes import Process, TableProcess
from simlab.randomness import Tape
from simlab.rules import Rule, Speculative, Step
from theory.distances import aligned, tv
from theory.exact import block_acceptance, mean, sequence_law, target_law
from theory.example_processes import random_process
from theory.judge.on_unknowns import BrokenRule, RuleOnUnknowns
from theory.judge.user_rule import NEGLIGIBLE, Broken, UserRule, last_line
from theory.symbolic.prove_rules import FREE, Emitted
from theory.symbolic.prove_verifiers import usual_drawing
from theory.symbolic.statements import LOSSLESS, OF_SEQUENCES, Statement, read_statement
from theory.symbolic.unknown import Refused

MADE = Rule, Decoder, Verifier
RUNS = 20  # runs at rows of numbers
LONGEST_RUNS = 5.0  # seconds after which there is no further run
TABLES = 3  # of random rows, at which a decoder is run
PARTS = 64  # that the masses of such a table are in whole numbers of, where floats are compared
SEQUENCES = 10_000  # that a decoder makes on a tape, of each of them
SURE = 20.0  # of a law, so rarely is a count so far from its mean: exp(-SURE)


def otherwise(made: Any, verified: Any, that: str, sizes: Sequence[int], zeros: bool, length: int, count: int) -> str:
    """How what was brought, of which a statement is proven, does otherwise at numbers; nothing where it does not.

    Of a rule that a decoder verifies by only that floats get the answers of fractions. What is of this house is not
    tried.
    """
    sizes, stated = sizes or ((2,) if isinstance(made, Decoder) else (2, 3)), None
    if not isinstance(made, Decoder):
        stated, verified = read_statement(that, FREE), made
    elif any(map(_is_brought, (made, verified))) and (
        why := _decoder_off(made, verified or Speculative(), that, sizes, zeros, length)
    ):
        return why
    until, brought = perf_counter() + LONGEST_RUNS, dict[int, Any]()
    if verified is not None:
        brought = {size: one for size in sizes if _is_brought(one := of_size(verified, size))}
    tried = [(one, *pair) for size, one in brought.items() for pair in _pairs(size, zeros)]
    for turn in range(RUNS):
        for one, p, q in tried:
            if turn and perf_counter() > until:
                return ""
            if why := _wrong_at(one, stated, p, q, count):
                return f"{why}; p = ({', '.join(map(str, p))}), q = ({', '.join(map(str, q))})"
        if turn == 0:
            for size, one in brought.items():
                if why := _wrong_together(one, _pairs(size, zeros), count):
                    return why
    return ""


def of_size(made: Any, size: int) -> Any:
    """What was made, or what a function from V makes."""
    return made if isinstance(made, MADE) else made(size)


def _is_brought(value: Any) -> bool:
    """Whether it is a rule, a verifier or a decoder, and none of this house; or one that is made with such a one, or
    given a function.
    """
    if value is None:
        return False
    if isinstance(value, RuleOnUnknowns) or not _of_house(type(value)):
        return True
    return any(
        _is_brought(part) if isinstance(part, MADE) else isinstance(part, FunctionType) and not _of_house(part)
        for part in getattr(value, "__dict__", {}).values()
    )


def _of_house(value: Any) -> bool:
    return str(value.__module__).partition(".")[0] == "simlab"


def held(made: Any) -> Any:
    """What was brought with its answers looked at, where nobody else does; all else as it is, and decoders too."""
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


def held_decoder(decoder: Decoder, rule: Any, that: str) -> Decoder:
    """A decoder with what it draws with looked at, and what a step leaves, where it was brought, or its rule was; as it
    is else. ``that``: the statement that is to be proven of it.
    """
    return DecoderInBounds(decoder, "calls" in that) if _is_brought(decoder) or held(rule) is not rule else decoder


def _decoder_off(decoder: Decoder, rule: Rule, that: str, sizes: Sequence[int], zeros: bool, length: int) -> str:
    """How a decoder does otherwise at tables of numbers than a statement says, or at floats than at fractions."""
    until = perf_counter() + LONGEST_RUNS
    for seed, size in product(range(TABLES), sizes):
        tables = [random_process(one, size, length, zeros=zeros / 4) for one in (seed, seed + TABLES)]
        told, begun = f"a table of V = {size}", perf_counter()
        try:
            with np.errstate(all="ignore"):
                if why := _false_at(decoder, rule, that, *tables):
                    return f"{why} {told}"
                longer = perf_counter() + 3 * (perf_counter() - begun)  # about what the others take
                if longer < until and (why := _laws_apart(decoder, rule, that, *tables)):
                    return f"{why} {told}"
        except (Broken, BrokenRule, BrokenDecoder) as error:
            return str(error)
        except Exception as error:
            return f"it raises {last_line(error)}"
        if perf_counter() > until and that.strip() != LOSSLESS:
            return ""
    return ""


def _false_at(decoder: Decoder, rule: Rule, that: str, target: Process, draft: Process) -> str:
    """How a statement about a decoder is false of tables of fractions."""

    def given(each: Decoder) -> tuple[Any, ...]:
        return (target, rule, draft) if each.needs_draft else (target, rule)

    law, steps = sequence_law(decoder, *given(decoder))
    wanted = target_law(target)
    if that.strip() == LOSSLESS:
        return "its sequences do not follow" if _laws_differ(law, wanted) else ""
    statement = read_statement(that, tuple(DECODERS), OF_SEQUENCES)
    counts: dict[str, Callable[[Decoder], Any]] = {
        "accepts": lambda each: block_acceptance(each, *given(each)),
        "calls": lambda each: mean(sequence_law(each, *given(each))[1] if each is not decoder else steps),
    }
    counted = next((name for name in statement.names if name in counts), "accepts")
    values = {"tv": tv(*aligned(law, wanted))} if "tv" in statement.names else {}
    for name in statement.names:
        if name != "tv":
            values[name] = counts[name](decoder) if name in counts else counts[counted](_named(name, decoder))
    if any(isinstance(value, float) for value in values.values()) or statement.holds(values.__getitem__):
        return ""  # floats round, so that what they say is not looked at
    return f"{statement.text} is false of"


def _named(name: str, decoder: Decoder) -> Decoder:
    """The decoder of a name, as :func:`theory.symbolic.prove_decoders.prove_decoder` makes it beside another."""
    parameters = signature(DECODERS[name]).parameters.values()
    return make_decoder(
        name, **{one.name: getattr(decoder, one.name) for one in parameters if one.default is one.empty}
    )


def _laws_apart(decoder: Decoder, rule: Rule, that: str, target: TableProcess, draft: TableProcess) -> str:
    """How a decoder breaks its contract at tables of fractions, or comes to another law of sequences, or of steps, at
    the same tables of floats, with outcomes enumerated or drawn on a tape.
    """
    target, draft = map(_of_parts, (target, draft))
    drafts = decoder.needs_draft
    exact = sequence_law(DecoderInBounds(decoder, "calls" in that), target, rule, draft if drafts else None)
    rule = UserRule(rule.functions) if isinstance(rule, RuleOnUnknowns) else rule
    target, draft = map(_in_floats, (target, draft))
    floats = sequence_law(decoder, target, rule, draft if drafts else None)
    if _laws_differ(exact[0], floats[0]) or _laws_differ(exact[1], floats[1]):
        return "floats come to another law than fractions at"
    most = left = 4 * target.length + 4

    def watch(*_: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise BrokenDecoder(f"it has not finished after {most} steps; expected a token a step")

    drawn = run(decoder, target, rule, Tape(0, SEQUENCES), draft if drafts else None, watch)
    sequences, steps = Counter(map(tuple, drawn.tokens.tolist())), Counter(drawn.steps.tolist())
    if _far(sequences, exact[0]) or _far(steps, exact[1]):
        return "on a tape it comes to another law than it is proven of at"
    return ""


def _of_parts(table: TableProcess) -> TableProcess:
    """A table near another whose masses floats hold exactly, and their sums, so that they compare as fractions do."""

    def row(prefix: tuple[int, ...]) -> list[Fraction]:
        parts = [int(mass * PARTS) for mass in table.row(prefix)]
        parts[parts.index(max(parts))] += PARTS - sum(parts)
        return [Fraction(part, PARTS) for part in parts]

    return TableProcess(table.vocabulary, table.length, row)


def _in_floats(table: TableProcess) -> TableProcess:
    return TableProcess(table.vocabulary, table.length, lambda prefix: [float(mass) for mass in table.row(prefix)])


def _laws_differ(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> bool:
    return _apart(*([each.get(key, 0) for key in one.keys() | other.keys()] for each in (one, other)))


def _far(counts: Mapping[Any, int], law: Mapping[Any, Any]) -> bool:
    """Whether the counts of ``SEQUENCES`` outcomes are further from a law than chance is, by Bernstein's inequality."""
    for key in counts.keys() | law.keys():
        chance = min(max(float(law.get(key, 0)), 0.0), 1.0)
        spread = 2 * SURE * SEQUENCES * chance * (1 - chance)
        if abs(counts.get(key, 0) - SEQUENCES * chance) > SURE / 3 + sqrt((SURE / 3) ** 2 + spread):
            return True
    return False


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


def _wrong_together(one: Rule | Verifier, pairs: Sequence[tuple[np.ndarray, np.ndarray]], count: int) -> str:
    """How a class of a rule, or of a verifier, does otherwise with several rows at once than with each by itself: what
    is proven of it is of one pair of rows.
    """
    if isinstance(one, UserRule):  # whose functions are given one pair of rows
        return ""
    rows = [np.array(each, dtype=object) for each in zip(*pairs, strict=True)]
    try:
        for kind in (object, np.float64):
            given = [each.astype(kind) for each in rows]
            if isinstance(one, Verifier):
                laws = (list(drawn_law(usual_drawing(one), q, count)) for _, q in pairs)
                given.append(np.array([law[k % len(law)] for k, law in enumerate(laws)]))
            together = _parts(one, given)
            alone = zip(*(_parts(one, [each[k : k + 1] for each in given]) for k in range(len(pairs))), strict=True)
            if any(_apart(part, np.concatenate(each)) for part, each in zip(together, alone, strict=True)):
                return "rows beside others get other answers than by themselves"
    except Exception as error:
        return f"it raises {last_line(error)}, given {len(pairs)} rows at once"
    return ""


def _parts(one: Rule | Verifier, given: Sequence[np.ndarray]) -> list[np.ndarray]:
    """What a rule makes of rows, or a verifier of rows and candidates: each of the two parts, as one list."""
    p, q, *x = (each.copy() for each in given)
    found = one.verify(p, q, x[0], usual_drawing(one)) if isinstance(one, Verifier) else one.step_rows(p, q)
    return [np.ravel(part) for part in found]


def _step(one: Rule | Verifier, p: np.ndarray, q: np.ndarray, count: int) -> Step:
    """What a rule makes of two rows ``[V]``, or a verifier of candidates drawn in the way that it takes."""
    if isinstance(one, Verifier):
        accepted, drawn = verified_law(one, usual_drawing(one), p, q, count)
        return Step(accepted.sum(), accepted + drawn)
    rule = UserRule(one.functions) if isinstance(one, RuleOnUnknowns) and not is_exact(p) else one
    return Step(*(part[0] for part in rule.step_rows(p[None].copy(), q[None].copy())))
