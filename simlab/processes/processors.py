"""Sampling processors (guidance, mask, temperature, top-k, top-p), each a function of rows ``[..., V]``.

They take pmfs instead of logits: log p is a logit row up to a constant, which none of them depend on. Exact rows stay
exact where the operation is rational: whole guidance scales, and temperatures 1/n.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np

from simlab.arrays import Array, Number, full, is_exact, namespace, normalised, number, one_hot, wide

__all__ = ["guided", "likeliest", "masked", "tempered", "top_k", "top_p"]

WHOLE = 2.0**62  # units of mass
COLDEST = 1e-30  # the lowest temperature above 0: a logit that is divided by less may be none


def guided(conditional: Array, unconditional: Array, scale: Number) -> Array:
    """Classifier-free guidance: logits u + scale (c - u), so a row in proportion to c^scale u^(1 - scale).

    ``conditional``, ``unconditional``: ``float[..., V]``: the rows c and u. ``scale``: the guidance scale; 1 leaves c.
    Raises ``ValueError`` for exact rows and a scale that is not whole. See Ho and Salimans, "Classifier-free diffusion
    guidance", 2022, on the logits of tokens.

    A token that the conditional row excludes stays excluded; one that only the unconditional row excludes counts as
    having its conditional mass there, because a ratio to 0 is undefined.
    """
    xp, there = namespace(conditional), conditional > 0
    base = xp.where(unconditional > 0, unconditional, xp.where(there, conditional, number(1, conditional)))
    if 0 <= scale <= 1:  # between the two rows: a ratio might be too small for what it is to be divided by
        weights = _power(wide(conditional), scale, "guidance") * _power(wide(base), 1 - scale, "guidance")
        return normalised(xp.where(there, weights, number(0, conditional)), conditional)
    ratio = wide(conditional) / wide(base)
    ratio = ratio / xp.max(ratio, axis=-1, keepdims=True)  # a power of at most 1 cannot overflow
    return normalised(wide(conditional) * _power(ratio, scale - 1, "guidance"), conditional)


def masked(rows: Array, allowed: Array) -> Array:
    """A grammar's mask: the rows on the allowed tokens.

    ``rows``: ``float[..., V]``. ``allowed``: ``bool[..., V]``. Returns ``float[..., V]``: scaled to sum to one; uniform
    over the allowed tokens where a row has no mass on them.
    """
    xp, zero = namespace(rows), number(0, rows)
    ones = full(tuple(rows.shape), 1, rows)
    return normalised(xp.where(allowed, rows, zero), normalised(xp.where(allowed, ones, zero), rows))


def tempered(rows: Array, temperature: Number) -> Array:
    """Rows in proportion to p^(1/temperature).

    ``rows``: ``float[..., V]``. ``temperature``: >= 0; at 0 a point mass on the likeliest token, the first of ties.
    Raises ``ValueError`` for exact rows and a temperature that is not 0 or 1/n.
    """
    if temperature == 0:
        return one_hot(namespace(rows).argmax(rows, axis=-1), rows)
    top = namespace(rows).max(rows, axis=-1, keepdims=True)
    return normalised(_power(rows / top, 1 / _as_fraction(temperature), "1/temperature"), rows)


def top_k(rows: Array, k: int) -> Array:
    """The k likeliest tokens, and all that tie with the last of them, scaled up.

    ``rows``: ``float[..., V]``. ``k``: >= 1; V and more leave the rows.
    """
    k = min(k, rows.shape[-1])
    if isinstance(rows, np.ndarray):
        least = np.partition(rows, -k, axis=-1)[..., -k, None]
    else:
        least = rows.topk(k, dim=-1, sorted=False).values.amin(-1, keepdim=True)
    return normalised(namespace(rows).where(rows >= least, rows, number(0, rows)), rows)


def top_p(rows: Array, mass: Number) -> Array:
    """The fewest likeliest tokens that have at least ``mass`` together, scaled up; of ties the first.

    ``rows``: ``float[..., V]``. ``mass``: above 0, at most 1.
    """
    return likeliest(rows, -namespace(rows).sort(-rows, axis=-1), mass)


def likeliest(rows: Array, falling: Array, mass: Number) -> Array:
    """:func:`top_p` of rows whose largest entries are known.

    ``rows``: ``float[..., V]``. ``falling``: ``float[..., K]``, the K largest entries in falling order; all others are
    0 or equal the last of them. ``mass``: above 0, at most 1. Returns ``float[..., V]``, in float64 unless exact.

    Masses of floating-point rows are counted in whole units of 2^-62: such sums are the same in every order, so what is
    kept depends on no library and no device.
    """
    xp, wanted = namespace(rows), _units(number(mass, rows))
    units = _units(falling)
    needed = xp.astype(xp.cumulative_sum(units, axis=-1) - units < wanted, xp.int64)
    last = xp.take_along_axis(falling, xp.sum(needed, axis=-1, keepdims=True) - 1, axis=-1)
    above = xp.sum(xp.where(falling > last, units, units * 0), axis=-1, keepdims=True)
    ties = rows == last
    earlier = xp.cumulative_sum(xp.astype(ties, xp.int64), axis=-1) - 1
    kept = (rows > last) | (ties & (above + earlier * _units(last) < wanted))
    return normalised(xp.where(kept, rows, number(0, rows)), rows)


def _units(masses: Any) -> Any:
    """Masses as whole numbers of 2^-62, a single one from above; exact ones as they are."""
    if isinstance(masses, float):
        return ceil(masses * WHOLE)
    if isinstance(masses, Fraction) or is_exact(masses):
        return masses
    return namespace(masses).astype(wide(masses) * WHOLE, namespace(masses).int64)


def _as_fraction(value: Number) -> Fraction:
    return value if isinstance(value, Fraction) else Fraction(str(value))


def _power(rows: Array, exponent: Number, what: str) -> Array:
    """``rows ** exponent`` with 0 to the power of anything 0; exact rows take whole exponents."""
    if not is_exact(rows):
        xp = namespace(rows)
        return xp.where(rows > 0, xp.where(rows > 0, rows, 1.0) ** float(exponent), 0.0)
    if _as_fraction(exponent).denominator != 1:
        raise ValueError(
            f"{what} takes the power {exponent} of exact rows; expected a whole one, or floating-point rows"
        )
    whole = int(_as_fraction(exponent))
    held: Array = rows > 0
    base: Array = np.where(held, rows, full((1,), 1, rows))
    return np.where(held, base**whole, rows * 0)
