"""A known law and counts of what was seen, brought to the same places."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from simlab.checks import as_pmf


class Law:
    """A known law over finitely many outcomes.

    Parameters
    ----------
    values
        A mapping from outcomes to probabilities (as :func:`theory.exact.sequence_law` gives), or a row ``[V]`` whose
        outcomes are 0 to V - 1; floats or rationals.
    what
        What errors call it.

    Attributes
    ----------
    size
        V, the number of outcomes.
    support
        ``int64[K]``, the places of outcomes with a probability above 0.
    mass
        ``float64[K]``, their probabilities, summing to one.

    Raises
    ------
    ValueError
        If ``values`` is no pmf, or not one row.
    """

    def __init__(self, values: Any, what: str = "law") -> None:
        named = isinstance(values, Mapping)
        row = as_pmf(list(values.values()) if named else values, what)
        if row.ndim != 1:
            raise ValueError(f"{what} has shape {tuple(row.shape)}; expected one row [V]")
        row = np.asarray(row, dtype=np.float64)
        self.size = len(row)
        self.support = np.flatnonzero(row > 0)
        self.mass = row[self.support] / row.sum()
        self._names = list(values) if named else range(self.size)

    @classmethod
    def of(cls, values: Any, what: str = "law") -> Law:
        """A value as a law, unless it is one.

        ``values``, ``what``: as for :class:`Law`. Returns ``values`` itself where it is one.
        """
        return values if isinstance(values, cls) else cls(values, what)

    @cached_property
    def order(self) -> np.ndarray:
        """The places from the rarest outcome to the most frequent."""
        return np.argsort(self.mass, kind="stable")

    @cached_property
    def _place(self) -> dict[Any, int]:
        return {name: place for place, name in enumerate(self._names)}

    def counts(self, counts: Any) -> tuple[np.ndarray, np.ndarray]:
        """Counts of the outcomes of the law, and of those it excludes.

        ``counts``: a mapping from outcomes to how often they were seen, or an array ``int[..., V]``. Returns those of
        the outcomes with a probability above 0, ``int64[..., K]``, and of all others together, ``int64[...]``. Raises
        ``ValueError`` if a number is not whole or below 0, counts sum to 0, or their length is not the law's.
        """
        seen, excluded = self.counts_of_some(counts)
        if (seen.sum(axis=-1) + excluded == 0).any():
            raise ValueError("counts sum to 0; expected at least one observation")
        return seen, excluded

    def counts_of_some(self, counts: Any) -> tuple[np.ndarray, np.ndarray]:
        """As :meth:`counts`, where rows of which nothing was seen may be among others."""
        seen, excluded = self._parted(counts, "counts")
        if not all((np.isfinite(part) & (part == np.rint(part))).all() for part in (seen, excluded)):
            raise ValueError("counts holds a number that is not whole; expected how often each outcome was seen")
        if (seen.min(initial=0) < 0) or (excluded < 0).any():
            raise ValueError("counts holds a number below 0; expected how often each outcome was seen")
        if seen.sum() + excluded.sum() == 0:
            raise ValueError("counts sum to 0; expected at least one observation")
        check_fits((seen.sum(axis=-1) + excluded).max(), "counts sum")
        return seen.astype(np.int64), excluded.astype(np.int64)

    def masses(self, wrong: Any, what: str = "wrong") -> tuple[np.ndarray, float]:
        """The probabilities that another law gives to these outcomes, and to others.

        ``wrong``: the other law: a ``Law``, a mapping or a row ``[V]``. ``what``: what errors call it. Returns those of
        the outcomes of this law, ``float64[K]``, and that of all others. Raises ``ValueError`` if ``wrong`` is no pmf,
        or of another length.
        """
        if isinstance(wrong, Law):
            wrong = wrong.named
        as_pmf(list(wrong.values()) if isinstance(wrong, Mapping) else wrong, what)
        inside, outside = self._parted(wrong, what)
        return inside, float(outside)

    @cached_property
    def named(self) -> dict[Any, float]:
        """Outcomes and their probabilities."""
        return {self._names[place]: float(mass) for place, mass in zip(self.support, self.mass, strict=True)}

    def _parted(self, values: Any, what: str) -> tuple[np.ndarray, np.ndarray]:
        """Numbers at the outcomes of the law, and the sum of those elsewhere."""
        if isinstance(values, Mapping):
            full, outside = np.zeros(self.size), 0.0
            for outcome, value in zip(values, as_floats(list(values.values()), what).tolist(), strict=True):
                place = self._place.get(outcome)
                if place is None:
                    _refuse_negative(value, what)
                    outside += value
                else:
                    full[place] += value
        else:
            full, outside = as_floats(values, what), 0.0
            if full.ndim == 0 or full.shape[-1] != self.size:
                raise ValueError(f"{what} has shape {full.shape}; expected [..., {self.size}], a number an outcome")
        inside = full[..., self.support]
        excluded = np.delete(full, self.support, axis=-1)
        _refuse_negative(excluded.min(initial=0), what)
        return inside, excluded.sum(axis=-1) + outside


def as_floats(values: Any, what: str) -> np.ndarray:
    """``values`` as float64; raise ``ValueError`` for what holds no numbers."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{what} is {values!r}; expected numbers") from None


def check_fits(total: Any, what: str) -> None:
    """Raise ``ValueError`` for a float of so many observations that int64 does not hold it."""
    if not total < 2.0**63:
        raise ValueError(f"{what} to {total:.4g}; expected fewer than 2^63 observations")


def _refuse_negative(value: Any, what: str) -> None:
    """Two numbers the law excludes must not cancel."""
    if not value >= 0:
        raise ValueError(f"{what} holds {value!r}; expected numbers >= 0")


def observations(seen: np.ndarray, excluded: np.ndarray) -> int:
    """How many observations each row of counts holds; raise ``ValueError`` unless all hold as many."""
    totals = np.unique(seen.sum(axis=-1) + excluded)
    if len(totals) > 1:
        raise ValueError(f"counts sum to {totals[0]} and to {totals[-1]}; expected one n in all rows")
    return int(np.rint(totals[0]))  # means of several observations are no whole numbers


def tally(rows: Any) -> dict[Any, int]:
    """How often each row or number occurs.

    Parameters
    ----------
    rows
        ``[n, N]``, sequences, or ``[n]``, single tokens.

    Returns
    -------
    dict
        From a tuple of N tokens, or a number, to its count: what tests take as counts.
    """
    values, counts = np.unique(np.asarray(rows), axis=0, return_counts=True)
    keys = map(tuple, values.tolist()) if values.ndim > 1 else values.tolist()
    return dict(zip(keys, counts.tolist(), strict=True))


def as_p_values(values: Any) -> Any:
    """A float for one set of counts, an array for many."""
    return float(values) if np.ndim(values) == 0 else np.asarray(values)
