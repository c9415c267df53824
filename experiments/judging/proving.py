"""Prove a statement about whatever a person brings: a rule, a decoder or a verifier, by name, file or object.

=====================  ==============================================================================
answer.json            what was asked and what came out; of a counterexample the rows, as fractions
proof-K.smt2           of a proof, everything that the solver was asked, one file a space
check.py               asks cvc5 the same, and z3 again
=====================  ==============================================================================
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, update_wrapper
from math import isfinite
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from experiments.apart import Link, Lost, Unfit, answer_apart
from experiments.judging.at_numbers import MADE, held, held_decoder, of_size, otherwise
from experiments.judging.decoder_in_bounds import BrokenDecoder
from experiments.judging.load_object import EXPECTED, as_rule, load_object, needed, rule_of
from experiments.judging.measures import codebook
from experiments.results import versions, write_json, write_text
from simlab.candidates import VERIFIERS, Verifier
from simlab.candidates import make_verifier as verifier_of
from simlab.decoders import DECODERS, Decoder, make_decoder
from simlab.registry import meant
from simlab.rules import RULES, Rule
from theory.exact import target_law
from theory.judge.on_unknowns import BrokenRule, RuleOnUnknowns
from theory.judge.user_rule import Functions, UserRule, last_line
from theory.symbolic.answers import Answer
from theory.symbolic.cells import Limit, Limits, Unsound
from theory.symbolic.prove import prove as prove_for_all
from theory.symbolic.prove_rules import FREE
from theory.symbolic.rows import Table, contexts, row_name
from theory.symbolic.smtlib import CHECKER, written
from theory.symbolic.statements import FRONTIER, LOSSLESS, OF_ROWS, OF_SEQUENCES, read_statement
from theory.symbolic.unknown import Refused

LIMIT = 300.0  # seconds
LENGTH, COUNT = 3, 2  # of a decoder's sequences, and of a verifier's candidates
SEARCH = 45.0  # seconds more, in which rows are looked for and made simple
HEARD = 0.1  # seconds between two reports of progress
BROKEN = f"the rule raises {BrokenRule.__name__}: "  # what is wrong is said after it
FICKLE = "it answers now this way, now that"
ANY = "accepts == accepts"  # true of every rule that keeps its contract
AGAIN = 8  # runs at the rows of a counterexample
OTHERWISE = "it answers otherwise at rows of numbers"
DECIMAL = re.compile(r"(?<![\w.])(?=[\d_]*[.eE])(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])")
OF_SIZE = ["size"], ["vocabulary"], ["V"]  # the argument of a function from V to a rule


def prove(
    subject: Any,
    that: str = LOSSLESS,
    size: int | Sequence[int] | None = None,
    *,
    rule: Any = None,
    length: int = LENGTH,
    count: int = COUNT,
    zeros: bool = True,
    limit: float = LIMIT,
    progress: Callable[[int], Any] | None = None,
) -> Answer:
    """Prove a statement for all rows, or find rows at which it fails.

    The ``outcome`` of the answer is ``proven``, ``counterexample`` or ``unknown``. Raises ``ValueError`` if there is no
    such subject, or the statement is none.

    What is brought is run on numbers that are not known, and may look at what numbers it gets, or draw some at random.
    So a rule or a verifier of which something is proven is run at a few rows as well, as fractions and as floats, a few
    times and at once, and a decoder at a few tables, on a tape too: it is ``unknown`` where they do otherwise. What
    they do otherwise at other rows, or once in a hundred runs, is not surely seen. A class of a rule or a verifier is
    held to its contract as two functions are (:mod:`experiments.judging.in_bounds`): what is no mass proves nothing.
    So is a decoder (:mod:`experiments.judging.decoder_in_bounds`), which keeps nothing that its state does not hold;
    how many of the tokens that a step commits are accepted drafts it says itself.

    Parameters
    ----------
    subject
        A rule, a decoder or a verifier: an object, two functions ``(accept, residual)``, an object that has both, or
        text as ``simlab prove`` takes it: a name known here, or ``file.py:NAME``.
    that
        The statement; see :mod:`theory.symbolic.statements`.
    size
        V, or several; 2 and 3 by default, of decoders 2.
    rule
        Of a decoder, its verification rule.
    length
        Of a decoder, the tokens of a sequence.
    count
        Of a verifier, K.
    zeros
        Whether rows may hold zeros.
    limit
        Seconds after which it is ``unknown``.
    progress
        Is told how many cells are done.
    """
    made, until = _subject(subject, {}), perf_counter() + limit
    limits = Limits(seconds=limit)

    def going_on(cells: int) -> None:
        if progress:
            progress(cells)
        if perf_counter() > until:
            raise Limit(f"it took {limit:g} s, the longest that it may, for {cells:,} cells")

    sizes = (size,) if isinstance(size, int) else tuple(size or ())
    _check_verified_by(made, rule)
    _check_digits(that)
    verified = None if rule is None else of_size(_subject(rule, {}), sizes[0] if sizes else 2)
    _check_is_rule(verified)
    verifying = held(verified)
    asked = held_decoder(made, verified, that) if isinstance(made, Decoder) else held(made)

    def unknown(why: str) -> Answer:
        told = f"V = {', '.join(map(str, sizes or ((2,) if isinstance(made, Decoder) else (2, 3))))}"
        return Answer("unknown", _name(made), that, told, "", 0, perf_counter() - until + limit, why=why)

    def wrong_of_rule() -> str:
        """How a rule to verify by breaks its contract, where nobody else has looked at what it answers."""
        if verifying is verified:
            return ""
        kept = prove_for_all(verifying, ANY, sizes or (2,), zeros=zeros, limits=limits, progress=going_on)
        if kept.outcome == "proven":
            return ""
        rows = "".join(f"; {name} = ({', '.join(map(str, row))})" for name, row in kept.rows.items())
        return f"of the rule that it verifies by: {kept.why.removeprefix(BROKEN)}{rows}"

    try:
        try:
            answer = prove_for_all(
                asked,
                that,
                sizes,
                rule=verifying,
                length=length,
                count=count,
                zeros=zeros,
                limits=limits,
                progress=going_on,
            )
        except BrokenDecoder as error:
            return unknown(wrong_of_rule() or str(error))
        if answer.outcome == "proven" and (why := wrong_of_rule()):
            return replace(answer, outcome="unknown", why=why, spaces=())
    except Refused as error:
        return unknown(str(error))
    except Unsound as error:
        return unknown(f"nothing follows from what it does: {error}")
    except BrokenRule as error:
        if isinstance(made, Decoder):
            raise
        return unknown(str(error) if isinstance(made, Verifier) else FICKLE)
    if answer.outcome == "counterexample" and not isinstance(made, Decoder | Verifier) and not _repeats(asked, answer):
        return replace(answer, outcome="unknown", why=f"at the rows that were found {FICKLE}", rows={}, values={})
    if answer.outcome == "proven" and (why := otherwise(made, verified, that, sizes, zeros, length, count)):
        return replace(answer, outcome="unknown", why=f"{OTHERWISE}: {why}", spaces=())
    return replace(answer, why=answer.why.removeprefix(BROKEN))


def _repeats(made: Any, answer: Answer) -> bool:
    """Whether a rule does the same at the rows of a counterexample whenever it is run there."""
    p, q = (np.array([answer.rows[name]], dtype=object) for name in ("p", "q"))
    rule = of_size(made, p.shape[-1])
    wanted = None if answer.why else (list(answer.values["law"]), answer.values["accepts"])
    return all(_answers(rule, p, q) == wanted for _ in range(AGAIN))


def _answers(rule: Rule, p: np.ndarray, q: np.ndarray) -> tuple[Any, Any] | None:
    """What a rule emits and how often it accepts; None where it raises."""
    try:
        step = rule.step_rows(p, q)
    except Exception:
        return None
    return step.law[0].tolist(), step.acceptance[0]


# Subjects --------------------------------------------------------------------------------------------------------


def subject_of(spec: str, settings: Mapping[str, Any] | None = None, kind: str = "", seed: int = 0) -> Any:
    """What ``spec`` names: of this house, or of a module or a file.

    Returns a decoder, a verifier, a rule, or a function from V to a rule. Raises ``ValueError`` if there is none,
    saying what was expected.

    ``spec``: a name, ``module:name`` or ``file.py:name``. ``settings``: what it is made with. ``kind``: ``decoder`` or
    ``rule``, where it has to be one. ``seed``: of the codebook of a rule that is made from one.
    """
    given = {name: _fraction(value) for name, value in (settings or {}).items()}
    if ":" not in spec and not spec.endswith(".py"):
        if spec in RULES and kind != "decoder":
            return _built_in(spec, given)
        if spec in DECODERS and kind != "rule":
            return make_decoder(spec, **given)
        if spec in VERIFIERS and not kind:
            return verifier_of(spec, **given)
        if kind == "decoder":
            return make_decoder(spec, **given)  # which says what is known
        if kind == "rule":
            return rule_of(spec, given, 2)
    made = _subject_from(load_object(spec, (*RULES, *DECODERS, *VERIFIERS)), spec, given, seed)
    if kind == "decoder" and not isinstance(made, Decoder):
        raise ValueError(f"--decoder {spec}: expected a simlab.decoders.Decoder, or a class of one")
    return made


def _built_in(name: str, given: Mapping[str, Any]) -> Callable[[int], Rule]:
    def of(size: int) -> Rule:
        return rule_of(name, dict(given), size)

    of.__name__ = name if not given else f"{name}({', '.join(f'{k}={v}' for k, v in given.items())})"
    of(2)
    return of


def _subject(value: Any, given: Mapping[str, Any]) -> Any:
    return subject_of(value, given) if isinstance(value, str) else _subject_from(value, _name(value), given)


def _subject_from(value: Any, spec: str, given: Mapping[str, Any], seed: int = 0) -> Any:
    if isinstance(value, MADE):
        if given:
            raise ValueError(f"{spec} is made already; expected no settings")
        return RuleOnUnknowns(value.functions, spec) if type(value) is UserRule else value
    if callable(value) and not isinstance(value, type) and not given and needed(value) in OF_SIZE:
        return value
    if isinstance(value, type) or (callable(value) and (given or not needed(value))):
        if given or (isinstance(value, type) and issubclass(value, MADE)):
            if missing := [name for name in needed(value) if name not in given]:
                raise ValueError(f"{spec} needs {', '.join(missing)}; {EXPECTED}")
            try:
                value = value(**given)
            except Exception as error:
                raise ValueError(f"{spec}, called to make it, raises {last_line(error)}") from error
        elif not isinstance(value, type) and not hasattr(value, "accept"):
            try:
                made = value()
            except Exception as error:
                raise ValueError(f"{spec}, called to make a rule, raises {last_line(error)}; {EXPECTED}") from error
            value = made if isinstance(made, MADE) else value
        if isinstance(value, MADE):
            return value
    elif given:
        raise ValueError(f"{spec} is made already; expected no settings")
    name = f"{spec} of the codebook of seed {seed}" if needed(value) == ["codebook"] else spec
    return RuleOnUnknowns(as_rule(value, spec, lambda size: codebook(seed, size)).functions, name)


def _name(value: Any) -> str:
    return str(getattr(value, "__name__", None) or repr(value))


def _fraction(value: Any) -> Any:
    if isinstance(value, float):
        return Fraction(str(value)) if isfinite(value) else value  # which whoever takes it refuses by its name
    return [_fraction(each) for each in value] if isinstance(value, list) else value


# Answers ---------------------------------------------------------------------------------------------------------


def write_answer(answer: Answer, out: Path, **more: Any) -> dict[str, Any]:
    """Write it to a folder, with the files of a proof, and ``more`` in answer.json; nothing of an earlier one is left.

    Returns what answer.json holds.
    """
    for stale in (*out.glob("proof-*.smt2"), out / "check.py"):
        stale.unlink(missing_ok=True)
    files = []
    if answer.outcome == "proven":
        for k, text in enumerate(written(answer.spaces, str(answer))):
            files.append(f"proof-{k + 1}.smt2")
            write_text(out / files[-1], text)
        write_text(out / "check.py", CHECKER.read_text(encoding="utf-8"))
    document = {
        "simlab": versions()["simlab"],
        "outcome": answer.outcome,
        "told": str(answer),
        "subject": answer.subject,
        "statement": answer.statement,
        "size": answer.size,
        "assumed": answer.assumed,
        "cells": answer.cells,
        "seconds": round(answer.seconds, 2),
        "why": answer.why,
        "rows": {name: [str(mass) for mass in row] for name, row in answer.rows.items()},
        "values": {name: _value(value) for name, value in answer.values.items()},
        "files": files,
        **more,
    }
    write_json(out / "answer.json", document)
    return document


def write_unknown(subject: str, statement: str, why: str, out: Path) -> dict[str, Any]:
    """Write that nothing is known, where nothing was asked; nothing of an earlier answer is left."""
    return write_answer(Answer("unknown", subject, statement, "no size", "", 0, 0.0, why=why), out)


def take_back(document: Mapping[str, Any], why: str, out: Path) -> dict[str, Any]:
    """Write that what was proven is unknown, as a second solver says otherwise; the files stay for whoever looks."""
    told = f"unknown, {document['size']}: {document['statement']}; {why}"
    document = {**document, "outcome": "unknown", "told": told, "why": why}
    write_json(out / "answer.json", document)
    return document


def _value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {" ".join(map(str, sequence)): str(mass) for sequence, mass in value.items()}
    return [str(each) for each in value] if isinstance(value, tuple | list | np.ndarray) else str(value)


def _worst(answer: Answer, size: int, length: int) -> dict[str, Any]:
    """Of sequences that do not follow the target, the one that is most off."""
    law = answer.values.get("law")
    if not isinstance(law, Mapping):
        return {}
    rows = {each: np.array(list(answer.rows[row_name("p", each)]), dtype=object) for each in contexts(size, length)}
    wanted = target_law(Table(size, length, rows))
    worst = max(sorted({*law, *wanted}), key=lambda each: abs(law.get(each, 0) - wanted.get(each, 0)))
    named = {"sequence": " ".join(map(str, worst))}
    return {"worst": {**named, "law": str(law.get(worst, 0)), "target": str(wanted.get(worst, 0))}}


def prove_apart(
    spec: str,
    that: str,
    out: Path,
    *,
    settings: Mapping[str, Any],
    kind: str = "",
    rule: str | None = None,
    sizes: Sequence[int] = (),
    length: int | None = None,
    count: int | None = None,
    zeros: bool = True,
    limit: float = LIMIT,
    seed: int = 0,
    found: Callable[[], None] = lambda: None,
    progress: Callable[[int], None] = lambda cells: None,
) -> dict[str, Any]:
    """As :func:`prove`, in a process that may be lost, by names alone; what answer.json holds.

    Raises ``ValueError`` where there is no such subject or statement, or a ``length`` or ``count`` for what has none.
    ``seed``: of the codebook of a rule that is made from one. ``found`` is called once, unless it is refused.
    """
    began = perf_counter()
    named = f"V = {', '.join(map(str, sizes))}" if sizes else "the smallest size"

    def work(link: Link) -> dict[str, Any]:
        try:
            with link.importing():
                subject = subject_of(spec, settings, kind, seed)
                _check_verified_by(subject, rule)
                _check_asked(subject, length, count)
                verifying = None if rule is None else subject_of(rule, {}, "rule" if ":" not in rule else "")
                _check_is_rule(verifying)
                if kind != "decoder" and not isinstance(subject, Rule | Decoder | Verifier):
                    _fits(subject, sizes or (2, 3))
                _read(that, *((tuple(DECODERS), OF_SEQUENCES) if isinstance(subject, Decoder) else (FREE, OF_ROWS)))
            link.tell(0)
            begin = perf_counter()
            answer = watched(subject, link, begin, verifying)
        except ValueError as error:
            raise Unfit(str(error)) from None
        size = sizes[0] if sizes else 2
        return write_answer(answer, out, **_worst(answer, size, length or LENGTH))

    def told_apart(link: Link) -> Callable[[int], None]:
        last = [0.0]

        def tell(cells: int) -> None:
            if perf_counter() - last[0] > HEARD:
                last[0] = perf_counter()
                link.tell(cells)

        return tell

    def watched(subject: Any, link: Link, begin: float, verifying: Any) -> Answer:
        def proven(subject: Any) -> Answer:
            try:
                return prove(
                    subject,
                    that,
                    tuple(sizes),
                    rule=verifying,
                    length=length or LENGTH,
                    count=count or COUNT,
                    zeros=zeros,
                    limit=limit,
                    progress=told_apart(link),
                )
            except ValueError as error:
                if not isinstance(subject, Decoder | Verifier) or str(error).startswith(("that is", "size is")):
                    raise
                why = str(error) if isinstance(error, BrokenRule) else f"it raises {last_line(error)}"
            except Exception as error:
                why = f"it raises {last_line(error)}"
            return Answer("unknown", spec, that, named, "", 0, perf_counter() - begin, why=why)

        if isinstance(subject, RuleOnUnknowns):  # each call of its functions is watched
            return proven(_watched_rule(subject, link, limit))
        with link.asking(limit + SEARCH):
            return proven(subject)

    answer, imported = answer_apart(work, found, progress)
    if isinstance(answer, Lost):
        late = answer.kind == "hangs" and imported
        why = f"it took longer than --limit {limit:g} s" if late else f"it {answer.message}"
        lost = Answer("unknown", spec, that, named, "", 0, perf_counter() - began, why=why)
        return write_answer(lost, out)
    return dict(answer)


def _read(that: str, others: tuple[str, ...], own: tuple[str, ...]) -> None:
    """Raises ``ValueError`` where that is no statement, with the name that a mistyped one was meant to be."""
    _check_digits(that)
    try:
        read_statement(that, others, own)
    except ValueError as error:
        known = (LOSSLESS, FRONTIER, *own, *others)
        near = [meant(word, known) for word in re.findall(r"[a-z][\w-]*", that) if word not in known]
        raise ValueError(str(error).replace("expected", "".join(near) + "expected", 1)) from None


def _check_digits(that: str) -> None:
    """Raise ``ValueError`` for a decimal number that a float, as which it is read, does not hold."""
    for number in DECIMAL.findall(that):
        if Fraction(number.replace("_", "")) != Fraction(str(float(number))):
            raise ValueError(f"that is {that!r}: {number} has more digits than are read; expected a fraction, as 1/3")


def _check_verified_by(subject: Any, rule: Any) -> None:
    """Raise ``ValueError`` for a rule to verify by where nothing is decoded."""
    if rule is not None and not isinstance(subject, Decoder):
        raise ValueError(f"rule is {_name(rule)}; expected none: {_name(subject)} is no decoder, which verifies by one")


def _check_is_rule(verified: Any) -> None:
    """Raise ``ValueError`` for a decoder or a verifier to verify by."""
    if isinstance(verified, Decoder | Verifier):
        raise ValueError(f"rule is {_name(verified)}; expected a rule, which has accept and residual")


def _check_asked(subject: Any, length: int | None, count: int | None) -> None:
    """Raise ``ValueError`` for a length where nothing is decoded, and a count where there are no candidates."""
    if length is not None and not isinstance(subject, Decoder):
        raise ValueError(f"length is {length}; expected none: {_name(subject)} is no decoder, of whose sequences it is")
    if count is not None and not isinstance(subject, Verifier):
        raise ValueError(f"count is {count}; expected none: {_name(subject)} is no verifier, of whose candidates it is")


def _watched_rule(rule: RuleOnUnknowns, link: Link, limit: float) -> RuleOnUnknowns:
    def called(function: Callable[..., Any]) -> Callable[..., Any]:
        return update_wrapper(link.within(limit, function), function, updated=())  # it takes the same arguments

    return RuleOnUnknowns(cache(lambda size: Functions(*map(called, rule.functions(size)))), rule.name)


def _fits(subject: Callable[[int], Rule], sizes: Sequence[int]) -> None:
    """Raise ``ValueError`` if a rule of this house has settings of other sizes."""
    for size in sizes:
        row = np.array([Fraction(1, size)] * size, dtype=object)
        subject(size).step_rows(row[None], row[None])
