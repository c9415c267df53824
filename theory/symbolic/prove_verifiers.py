"""Statements about a verifier of several candidates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from simlab.candidates import Candidates, Independent, Verifier, verified_law
from simlab.candidates.base import NONE
from theory.symbolic.answers import Answer, Progress, ProofAttempt, arrays, rows_in_words, up_to
from theory.symbolic.cells import Cell, Cells, Limits, Unsound
from theory.symbolic.histories import Histories, Weighted, laws, outcomes
from theory.symbolic.piecewise import Terms, added, simplified, value_of, vanishes, without_edges
from theory.symbolic.prove_rules import FREE, Emitted
from theory.symbolic.rows import Rows, unknown_rows
from theory.symbolic.small_rows import Row, simple_rows
from theory.symbolic.statements import LOSSLESS, read_statement

Kept = tuple[int, bool]  # a token, and whether it is a candidate that was accepted

__all__ = ["prove_verifier", "usual_drawing"]


def prove_verifier(
    verifier: Verifier,
    that: str = LOSSLESS,
    candidates: Candidates | None = None,
    count: int = 2,
    sizes: Sequence[int] = (2, 3),
    zeros: bool = True,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> Answer:
    """Prove a statement about a verifier; arguments and answer are those of :func:`theory.symbolic.prove`."""
    statement = read_statement(that, FREE)
    drawing = candidates or usual_drawing(verifier)
    attempt = ProofAttempt(f"{verifier!r} of candidates {drawing!r}", statement.text, rows_in_words(zeros), progress)

    def emitted(named: Mapping[str, Row]) -> Emitted:
        p, q = (arrays(named)[name] for name in "pq")
        found = verified_law(verifier, drawing, p, q, count)
        return Emitted(p, q, found.accepted + found.drawn, sum(found.accepted))

    for size in sizes:
        cells, rows = unknown_rows({"p": size, "q": size}, zeros, limits)
        attempt.spaces.append(cells)

        def look(cells: Cells = cells, rows: Rows = rows, size: int = size) -> Cell[bool] | None:
            found = laws(lambda: _emitted(verifier, drawing, rows, count, cells), cells, progress)
            law = [_of(found, ((token, True), (token, False)), cells) for token in range(size)]
            if statement.text == LOSSLESS:
                differences = (
                    added([*terms.items(), (frozenset(), -p)], cells) for terms, p in zip(law, rows["p"], strict=True)
                )
                return next((cell for terms in differences if (cell := vanishes(terms, cells))), None)
            law = [simplified(terms, cells) for terms in law if "tv" in statement.names]  # else it would cut cells
            accepted = simplified(_of(found, ((token, True) for token in range(size)), cells), cells)

            def program() -> bool:
                masses = np.array([value_of(terms, cells) for terms in law], dtype=object)
                step = Emitted(rows["p"], rows["q"], masses, value_of(accepted, cells))
                with cells.stating():
                    return statement.holds(step.value)

            return attempt.first_false(cells, program)

        found = attempt.settled(
            f"K = {count}, V = {size}",
            look,
            lambda point: simple_rows(lambda named: not emitted(named).fulfils(statement), rows, point, not zeros),  # noqa: B023
        )
        if found:
            return replace(found, values=emitted(found.rows).values()) if found.rows else found
    return attempt.answer("proven", f"K = {count}, {up_to(sizes)}")


def usual_drawing(verifier: Verifier) -> Candidates:
    """The way of drawing candidates that a verifier is made for; independent ones where it takes any."""
    return Independent() if verifier.takes == (Candidates,) else verifier.takes[0]()


def _of(found: Mapping[Kept, Terms], keys: Iterable[Kept], cells: Cells) -> Terms:
    """The probability of some tokens."""
    parts = [part for key in keys for part in found.get(key, {}).items()]
    return added(without_edges(parts, cells), cells)


def _emitted(verifier: Verifier, drawing: Candidates, rows: Rows, count: int, cells: Cells) -> list[Weighted]:
    """The token emitted, whether it is a candidate, and its probability, for candidates that are drawn one way after
    the other."""
    p, q = rows["p"][None], rows["q"][None]

    def verified(batch: np.ndarray, randomness: Histories) -> Iterator[list[tuple[Kept, Any]]]:
        drawn = list[int]()
        for k in range(count):
            row = drawing.row(q, np.array([drawn], dtype=np.int64), last=k == count - 1)[0].tolist()
            drawn.append(randomness.token(row) if sum(row) else NONE)
        found = verifier.verify(p, q, np.array([drawn], dtype=np.int64), drawing)
        parts = {True: found.accepted[0].tolist(), False: found.drawn[0].tolist()}
        if not all(mass >= 0 for row in parts.values() for mass in row):
            raise cells.stopped(Unsound(f"{verifier!r} emits a token with a mass below 0; expected probabilities"))
        yield [((x, kept), mass) for kept, row in parts.items() for x, mass in enumerate(row)]

    return [(key, weight * mass) for law, weight in outcomes(verified, cells) for key, mass in law]
