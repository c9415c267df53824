"""Decoders on rows of unknowns: one step from every state, and what follows from it for whole sequences.

A decoder that follows the target does so step by step. What is proven is, for every prefix and all rows:

1. *a step emits the target's law*: the tokens that it commits, completed by the target, follow the target. In a state
   with drafts each is drawn from the row declared for it, which may be **any** row, and another for any drafts before;
2. *it leaves drafts as declared*: given the tokens committed, the drafts before it and the rows declared up to it, each
   draft follows the row declared for it. So does each in the state before the first step;
3. *it leaves what it may*: at least one token more than before, drafts that are tokens, and declared rows that are
   pmfs; and before the first step nothing is committed.

By induction over steps, whole sequences then follow the target: after a step the state is again one of those in 1.
The tokens that a declared row may have mass on, its *support*, are those that some step leaves: all of V for most, a
single one where a token was copied or the sequence is over. On its support a row is any pmf; where zeros are left out,
it is positive there, as the other rows are everywhere.
A decoder that is lossless without this is not proven here, and not refuted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, product
from typing import Any, NamedTuple

import numpy as np

from simlab.decoders import Decoder
from simlab.decoders.sjd import SjdState
from simlab.decoders.speculative import SpeculativeState
from simlab.randomness import Path, Purpose
from simlab.rules import Rule
from theory.symbolic.cells import Cell, Cells, Limits
from theory.symbolic.histories import Histories, laws, outcomes
from theory.symbolic.piecewise import Terms, Where, added, simplified, vanishes, without_edges
from theory.symbolic.rows import Context, Rows, Table, contexts, row_name, unknown_rows
from theory.symbolic.signs import POSITIVE, SIGNS, ZERO, of_powers, sign_of
from theory.symbolic.space import Literal
from theory.symbolic.unknown import Refused, Unknown

__all__ = [
    "Outcome",
    "Run",
    "Step",
    "commits_nothing",
    "first_difference",
    "first_failure",
    "one_step",
    "probability",
    "runs",
    "steps",
]


Supports = tuple[tuple[Context, Context], ...]  # after which drafts a row may have mass on which tokens, in order
Declared = tuple[str, ...]  # what tells apart the rows declared for drafts, one after the other


class Outcome(NamedTuple):
    """What a step leaves.

    Attributes
    ----------
    tokens
        The committed tokens, prefix and all.
    declared
        What tells apart the rows declared for the next drafts.
    drafts
        Those drafts.
    accepted
        How many drafts the step accepted.
    proper
        Whether a step may leave this: tokens more than before, or none at the start, before drafts that are tokens and
        rows declared for them that are pmfs.
    """

    tokens: Context
    declared: Declared
    drafts: Context
    accepted: int
    proper: bool


class Step(NamedTuple):
    """One step from all states with one prefix.

    Attributes
    ----------
    prefix
        The committed tokens before it; None before the first step, where only drafts are made.
    cells
        The space.
    rows
        The rows by name: ``p_01_`` is the target's after tokens 0 and 1, ``q_01_`` a draft model's, ``d_01_`` the
        row declared for the third draft after drafts 0 and 1.
    target
        The target.
    laws
        The probability of each outcome.
    supports
        The tokens that the row declared for a draft may have mass on, after each of the drafts before it.
    declared
        The row ``[V]`` that each entry of ``Outcome.declared`` stands for.
    """

    prefix: Context | None
    supports: Supports
    cells: Cells
    rows: Rows
    target: Table
    laws: dict[Outcome, Terms]
    declared: dict[str, Any]


def steps(
    decoder: Decoder,
    rule: Rule,
    vocabulary: int,
    length: int,
    zeros: bool = True,
    limits: Limits | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Step]:
    """The start, and one step of a decoder from all states that it may be in.

    Parameters
    ----------
    decoder, rule
        Whose step it is.
    vocabulary, length
        V, and N, the tokens of a sequence.
    zeros
        Whether masses may be 0 where they are not for certain.
    limits
        When to give up, for one step.
    progress
        Is told how many cells of all steps have been visited.

    Yields
    ------
    Step
        The start, then one step for each prefix and the supports of the rows declared for drafts.

    Raises
    ------
    Refused
        For a decoder whose state holds more than tokens, drafts and their rows.
    Limit
        If there are too many cells, or it takes too long.
    """
    waiting: list[tuple[Context | None, Supports]] = [(None, ())]
    known = set(waiting)
    visited = 0
    while waiting:
        prefix, supports = waiting.pop(0)

        def more(count: int, before: int = visited) -> None:
            if progress:
                progress(before + count)

        made = one_step(decoder, rule, vocabulary, length, prefix, supports, zeros, limits, more)
        visited += made.cells.visited
        yield made
        for after in _states_after(made, zeros):
            if after not in known:
                known.add(after)
                waiting.append(after)


def one_step(
    decoder: Decoder,
    rule: Rule,
    vocabulary: int,
    length: int,
    prefix: Context | None = (),
    supports: Supports = (),
    zeros: bool = True,
    limits: Limits | None = None,
    progress: Callable[[int], Any] | None = None,
    beside: Step | None = None,
) -> Step:
    """One step of a decoder from all states with one prefix.

    Parameters
    ----------
    decoder, rule, vocabulary, length, zeros, limits, progress
        As for :func:`steps`.
    prefix
        The committed tokens before it; None for the start, which makes drafts and commits nothing.
    supports
        The tokens that the row declared for a draft may have mass on, after each of the drafts before it.
    beside
        A step with the same rows, in whose space this one is made as well.

    Returns
    -------
    Step
        It.

    Raises
    ------
    Refused, Limit
        As :func:`steps` does.
    """
    done = prefix or ()
    models = ("p", "q") if decoder.needs_draft else ("p",)
    after = [each for each in contexts(vocabulary, length) if each[: len(done)] == done]
    sizes = {row_name(model, each): vocabulary for model in models for each in after}
    drafted = {row_name("d", each): len(support) for each, support in supports}
    cells, rows = (beside.cells, beside.rows) if beside else unknown_rows(sizes | drafted, zeros, limits)
    target, *drafts = (Table(vocabulary, length, {each: rows[row_name(m, each)] for each in after}) for m in models)
    given = {each: np.full(vocabulary, cells.number(0)) for each, _ in supports}
    for each, support in supports:
        given[each][list(support)] = rows[row_name("d", each)]

    start = decoder.init(target, Histories(cells, [Path(0, (), 1)]), 1)  # one of those there are, for its shape

    def step(batch: np.ndarray, randomness: Histories) -> Iterator[Outcome]:
        if prefix is None:
            state = decoder.init(target, randomness, len(batch))
            accepted = state.length
        else:
            state = _state(start, batch, prefix, given, randomness)
            state, info = decoder.step(state, target, rule, randomness, *drafts)
            accepted = info.accepted
        return (_outcome(state, b, int(accepted[b]), declared, prefix, target) for b in range(len(batch)))

    declared: dict[str, Any] = {}
    found = laws(lambda: outcomes(step, cells), cells, progress)
    return Step(prefix, supports, cells, rows, target, found, declared)


class Run(NamedTuple):
    """What a decoder comes to from its start: tokens that it commits, steps, and the drafts that the first accepts."""

    tokens: Context
    steps: int
    accepted: int


def runs(
    decoder: Decoder,
    rule: Rule,
    tables: Sequence[Table],
    cells: Cells,
    whole: bool,
    progress: Callable[[int], None] | None = None,
) -> dict[Run, Terms]:
    """The law of what a decoder comes to from its start.

    Parameters
    ----------
    decoder, rule
        Whose law it is.
    tables
        The target, and the draft model where one is needed.
    cells
        The space.
    whole
        Whether whole sequences are run, and not the first step alone.
    progress
        Is told how many cells have been visited.

    Returns
    -------
    dict
        By outcome.

    Raises
    ------
    Refused, Limit
        As :func:`steps` does.
    """
    target, *drafts = tables

    def run(batch: np.ndarray, randomness: Histories) -> Iterator[Run]:
        state = decoder.init(target, randomness, len(batch))
        state, first = decoder.step(state, target, rule, randomness, *drafts)
        taken = 1
        while whole and state.length[0] < target.length:
            if taken == target.length:
                told = f"{decoder!r} has not finished sequences of {taken} tokens after as many steps"
                raise ArithmeticError(f"{told}; expected a token a step")
            state, _ = decoder.step(state, target, rule, randomness, *drafts)
            taken += 1
        yield Run(tuple(state.tokens[0, : state.length[0]].tolist()), taken, int(first.accepted[0]))

    return laws(lambda: outcomes(run, cells), cells, progress)


def _state(start: Any, batch: np.ndarray, prefix: Context, given: dict[Context, Any], randomness: Histories) -> Any:
    """Any state with a prefix: its drafts are drawn from the rows ``given`` after the drafts before them, and behind
    them stands no token at all, so that whoever looks a row up there does not get far. Who compares what stands there
    sees another number than in a run, where it is 0, or an old draft."""
    done, none = len(prefix), np.iinfo(start.tokens.dtype).max
    length = np.full(len(batch), done)
    tokens = np.full((len(batch), start.tokens.shape[1]), none)
    tokens[:, :done] = prefix
    if type(start) is SpeculativeState:
        return SpeculativeState(tokens, length)
    if type(start) is not SjdState or start.known.shape[2] or start.past.shape[1]:
        raise Refused(
            f"its state, {type(start).__name__}, holds more than tokens, drafts and the rows declared for them"
        )
    declared = []
    for j in range(start.q.shape[1]):
        row = np.array([[given[tuple(each)]] for each in tokens[:, done : done + j].tolist()])
        tokens[:, done + j : done + j + 1] = randomness.draw(row, length + j, Purpose.DRAFT)
        declared.append(row)
    rest = (np.repeat(each, len(batch), axis=0) for each in (start.past, start.known))
    return SjdState(tokens, length, np.concatenate(declared, axis=1), *rest)


def _states_after(step: Step, zeros: bool) -> Iterator[tuple[Context, Supports]]:
    """Where a step leads, up to the masses of rows: a prefix, and each way in which rows may have their support."""
    found: defaultdict[Context, defaultdict[Context, set[Context]]] = defaultdict(lambda: defaultdict(set))
    for outcome in step.laws:
        if len(outcome.tokens) < step.target.length:
            known = found[outcome.tokens]
            for j, row in enumerate(outcome.declared):
                known[outcome.drafts[:j]].add(_support(step.declared[row], zeros))
    for tokens, known in found.items():
        for supports in product(*known.values()):
            yield tokens, tuple(sorted(zip(known, supports, strict=True)))


def _support(row: Any, zeros: bool) -> Context:
    """The tokens that a row may have mass on; where zeros are left out, it has to have it everywhere in the space."""
    found = []
    for token, mass in enumerate(row):
        if isinstance(mass, Unknown):
            product = mass.cells.product(mass)
            sign = of_powers(product.sign, [(_signs_of(atom, mass.cells), odd) for atom, odd in product.factors])
        else:
            sign = sign_of(mass)
        if sign not in (ZERO, POSITIVE) and not zeros:
            raise Refused(f"it declares {mass} for a draft, which may be 0 or not")
        found += [token] if sign & POSITIVE else []
    return tuple(found)


def _signs_of(atom: int, cells: Cells) -> int:
    """The signs that a polynomial may have in the space."""
    assumed = cells.may_be(atom)
    if assumed in SIGNS:
        return assumed
    return sum(sign for sign in SIGNS if assumed & sign and cells.possible((Literal(atom, sign),)))


def _outcome(
    state: Any, b: int, accepted: int, declared: dict[str, Any], prefix: Context | None, target: Table
) -> Outcome:
    done, tokens = int(state.length[b]), state.tokens[b].tolist()
    rows = getattr(state, "q", np.empty((len(tokens), 0, 0)))[b]
    keys = tuple(" ".join(map(str, row.tolist())) for row in rows)
    declared |= dict(zip(keys, rows, strict=True))
    committed, drafts = tuple(tokens[:done]), tuple(tokens[done : done + len(rows)])
    begun = prefix or ()
    proper = committed[: len(begun)] == begun and (done == 0 if prefix is None else len(begun) < done <= target.length)
    if done < target.length:  # what stands behind a sequence that is over, nobody looks at
        proper = proper and all(0 <= token < target.vocabulary for token in drafts) and all(map(_is_pmf, rows))
    return Outcome(committed, keys, drafts, accepted, proper)


def _is_pmf(row: Any) -> bool:
    """Whether masses are none below 0 and sum to one, in the cell that is explored."""
    return all(mass >= 0 for mass in row) and sum(row) == 1


# Statements ------------------------------------------------------------------------------------------------------


def first_failure(step: Step, emits: bool = True) -> Cell[bool] | None:
    """A cell in which a step leaves what none may, or drafts not as declared, or, if ``emits``, does not emit the
    target's law."""
    improper = [part for outcome, terms in step.laws.items() if not outcome.proper for part in terms.items()]
    checks = _emits(step) if emits and step.prefix is not None else iter(())
    for terms in chain([_sum(improper, step.cells)], checks, _leaves(step)):
        if cell := vanishes(terms, step.cells):
            return cell
    return None


def first_difference(step: Step, other: Step, key: Callable[[Outcome], Any]) -> Cell[bool] | None:
    """A cell in which two steps from one state do not have the same law of ``key(outcome)``."""
    parts: defaultdict[Any, list[tuple[Where, Any]]] = defaultdict(list)
    for sign, made in ((1, step), (-1, other)):
        for outcome, terms in made.laws.items():
            parts[key(outcome)] += [(where, value * sign) for where, value in terms.items()]
    differences = (_sum(each, step.cells) for each in parts.values())
    return next((cell for terms in differences if (cell := vanishes(terms, step.cells))), None)


def commits_nothing(step: Step) -> Cell[bool] | None:
    """A cell in which a step may end without a token more than before; None also for the start."""
    idle = [part for outcome, terms in step.laws.items() if outcome.tokens == step.prefix for part in terms.items()]
    return vanishes(_sum(idle, step.cells), step.cells) if idle else None


def _emits(step: Step) -> Iterator[Terms]:
    """For each sequence, what the committed tokens, completed by the target, are off its probability."""
    cells, prefix, length = step.cells, step.prefix or (), step.target.length
    committed: defaultdict[Context, list[tuple[Where, Any]]] = defaultdict(list)
    for outcome, terms in step.laws.items():
        committed[outcome.tokens] += terms.items()
    laws = {tokens: simplified(_sum(parts, cells), cells) for tokens, parts in committed.items()}
    for rest in product(range(step.target.vocabulary), repeat=length - len(prefix)):
        sequence = (*prefix, *rest)
        parts: list[tuple[Where, Any]] = [(frozenset(), -probability(step.target, sequence, len(prefix)))]
        for tokens, terms in laws.items():
            if sequence[: len(tokens)] == tokens:
                more = probability(step.target, sequence, len(tokens))
                parts += [(where, value * more) for where, value in terms.items()]
        yield _sum(parts, cells)


def _leaves(step: Step) -> Iterator[Terms]:
    """For each draft after each outcome, how far its probability is off that which was declared."""
    together: defaultdict[tuple[Context, Declared, Context], list[tuple[Where, Any]]] = defaultdict(list)
    apart: defaultdict[tuple[Context, Declared, Context], list[tuple[Where, Any]]] = defaultdict(list)
    for outcome, terms in step.laws.items():
        if len(outcome.tokens) < step.target.length:
            for j in range(len(outcome.drafts)):
                declared = outcome.declared[: j + 1]
                together[outcome.tokens, declared, outcome.drafts[:j]] += terms.items()
                apart[outcome.tokens, declared, outcome.drafts[: j + 1]] += terms.items()
    for (tokens, declared, drafts), parts in apart.items():
        chance = step.declared[declared[-1]][drafts[-1]]
        whole = together[tokens, declared, drafts[:-1]]
        yield _sum(parts + [(where, value * chance * -1) for where, value in whole], step.cells)


def _sum(parts: list[tuple[Where, Any]], cells: Cells) -> Terms:
    return added(without_edges(parts, cells), cells)


def probability(target: Table, sequence: Context, begin: int) -> Any:
    """Of the tokens from ``begin`` on."""
    found: Any = 1
    for k in range(begin, len(sequence)):
        found = target.row(sequence[:k])[sequence[k]] * found
    return found
