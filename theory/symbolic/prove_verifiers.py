"""That a verifier of several candidates is lossless."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from simlab.candidates import Candidates, Independent, Verifier, verified_law
from simlab.candidates.base import NONE
from theory.symbolic.answers import Answer, Asked, Heard, arrays, told_rows, up_to
from theory.symbolic.cells import Cell, Cells, Limits
from theory.symbolic.histories import Histories, Weighted, laws, outcomes
from theory.symbolic.piecewise import added, vanishes
from theory.symbolic.rows import Rows, unknown_rows
from theory.symbolic.small_rows import Row, simple_rows
from theory.symbolic.statements import LOSSLESS

__all__ = ["prove_verifier"]


def prove_verifier(
    verifier: Verifier,
    that: str = LOSSLESS,
    candidates: Candidates | None = None,
    count: int = 2,
    sizes: Sequence[int] = (2, 3),
    zeros: bool = True,
    limits: Limits | None = None,
    heard: Heard | None = None,
) -> Answer:
    """Prove that a verifier is lossless; arguments and answer are those of :func:`theory.symbolic.prove`."""
    if that != LOSSLESS:
        raise ValueError(f"that is {that!r}; expected {LOSSLESS}, all that is known of verifiers")
    drawing = candidates or (Independent() if verifier.takes == (Candidates,) else verifier.takes[0]())
    asked = Asked(f"{verifier!r} of candidates {drawing!r}", that, told_rows(zeros), heard)

    def fails(named: Mapping[str, Row]) -> bool:
        given = arrays(named)
        found = verified_law(verifier, drawing, given["p"], given["q"], count)
        return bool(np.any(found.accepted + found.drawn != given["p"]))

    for size in sizes:
        cells, rows = unknown_rows({"p": size, "q": size}, zeros, limits)
        asked.spaces.append(cells)

        def look(cells: Cells = cells, rows: Rows = rows) -> Cell[bool] | None:
            law = laws(lambda: _emitted(verifier, drawing, rows, count, cells), cells, heard)
            differences = (added([*law.get(x, {}).items(), (frozenset(), -p)], cells) for x, p in enumerate(rows["p"]))
            return next((cell for terms in differences if (cell := vanishes(terms, cells))), None)

        found = asked.settled(
            f"K = {count}, V = {size}",
            look,
            lambda point: simple_rows(fails, rows, point, not zeros),  # noqa: B023
        )
        if found:
            return found
    return asked.answer("proven", f"K = {count}, {up_to(sizes)}")


def _emitted(verifier: Verifier, drawing: Candidates, rows: Rows, count: int, cells: Cells) -> list[Weighted]:
    """The token emitted, and its probability, for candidates that are drawn one way after the other."""
    p, q = rows["p"][None], rows["q"][None]

    def verified(batch: np.ndarray, randomness: Histories) -> Iterator[list[Any]]:
        drawn = list[int]()
        for k in range(count):
            row = drawing.row(q, np.array([drawn], dtype=np.int64), last=k == count - 1)[0].tolist()
            drawn.append(randomness.token(row) if sum(row) else NONE)
        found = verifier.verify(p, q, np.array([drawn], dtype=np.int64), drawing)
        yield (found.accepted + found.drawn)[0].tolist()

    return [(x, weight * mass) for law, weight in outcomes(verified, cells) for x, mass in enumerate(law)]
