"""Distances between pmfs ``[..., V]`` and between laws of sequences.

TV is exact for rationals. KL, Jensen-Shannon and Wasserstein are floating point, by SciPy and POT.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import scipy

from simlab.arrays import is_exact, total_variation
from simlab.checks import as_metric, as_pair, as_pmf

__all__ = ["aligned", "js", "kl", "pot", "tv", "wasserstein1", "wasserstein1_line"]


def tv(p: Any, q: Any) -> Any:
    """Total variation, ``sum |p - q|/2``.

    Parameters
    ----------
    p, q
        Rows ``[..., V]``, floats or ``Fraction``.

    Returns
    -------
    Any
        ``[...]``, a number for single rows; ``Fraction`` for exact rows.

    Raises
    ------
    ValueError
        If p or q is no pmf, or their shapes differ.
    """
    return total_variation(*as_pair(p, q))


def kl(p: Any, q: Any) -> Any:
    """KL(p || q) in nats; infinite where p has mass and q has none.

    Parameters
    ----------
    p, q
        Rows ``[..., V]``, floats or ``Fraction``.

    Returns
    -------
    Any
        ``float64[...]``.

    Raises
    ------
    ValueError
        If p or q is no pmf, or their shapes differ.
    """
    p, q = _floats(p, q)
    return scipy.special.rel_entr(p, q).sum(axis=-1)


def js(p: Any, q: Any) -> Any:
    """The Jensen-Shannon divergence in nats (not its square root); at most log 2.

    Parameters
    ----------
    p, q
        Rows ``[..., V]``, floats or ``Fraction``.

    Returns
    -------
    Any
        ``float64[...]``.

    Raises
    ------
    ValueError
        If p or q is no pmf, or their shapes differ.
    """
    p, q = _floats(p, q)
    both = p + q  # not halved, which takes the smallest masses to 0
    return np.maximum(
        (scipy.special.rel_entr(2 * p, both) + scipy.special.rel_entr(2 * q, both)).sum(axis=-1) / 4, 0.0
    )  # rounding may go below


def wasserstein1(p: Any, q: Any, metric: Any) -> Any:
    """Wasserstein-1 under a ground metric, in its units.

    Parameters
    ----------
    p, q
        Rows ``[..., V]``, floats or ``Fraction``.
    metric
        Distances between tokens, ``float[V, V]``.

    Returns
    -------
    Any
        ``float64[...]``, a ``float`` for single rows.

    Raises
    ------
    ValueError
        If p or q is no pmf, their shapes differ, or the metric has another shape or holds NaN or negative numbers.
    """
    p, q = _floats(p, q)
    size = p.shape[-1]
    cost = as_metric(metric, "metric", size)
    flat = zip(p.reshape(-1, size), q.reshape(-1, size), strict=True)
    values = np.array([float(pot().emd2(a, b * (a.sum() / b.sum()), cost)) for a, b in flat])
    return values.reshape(p.shape[:-1]) if p.ndim > 1 else float(values[0])


def wasserstein1_line(p: Any, q: Any, values: Any) -> Any:
    """Wasserstein-1 on a line; batched.

    Parameters
    ----------
    p, q
        Rows ``[..., V]``, floats or ``Fraction``.
    values
        Where the tokens stand, ``float[V]``, finite, in any order.

    Returns
    -------
    Any
        ``float64[...]``, in units of ``values``.

    Raises
    ------
    ValueError
        If p or q is no pmf, their shapes differ, or there is not one place a token.
    """
    p, q = _floats(p, q)
    places = np.asarray(values, dtype=np.float64)
    if places.shape != p.shape[-1:] or not np.isfinite(places).all():
        raise ValueError(f"values is {values!r}; expected {p.shape[-1]} finite numbers, one a token")
    order = np.argsort(places)
    moved = abs(np.cumsum((p - q)[..., order], axis=-1))[..., :-1]  # past each place but the last
    return moved @ np.diff(places[order])


def aligned(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Two laws as pmfs over the outcomes of either.

    Parameters
    ----------
    one, other
        Each outcome, and its probability; outcomes can be ordered.

    Returns
    -------
    tuple of numpy.ndarray
        Two pmfs of one length, outcomes in ascending order.

    Raises
    ------
    ValueError
        If one of them does not sum to 1, or holds a negative number.
    """
    outcomes = sorted(one.keys() | other.keys())
    return as_pmf([one.get(o, 0) for o in outcomes], "law"), as_pmf([other.get(o, 0) for o in outcomes], "law")


@cache
def pot() -> ModuleType:
    """The library POT, imported at the first call: it and scikit-learn, on which it rests, take seconds."""
    for backend in ("PYTORCH", "JAX", "TENSORFLOW", "CUPY"):  # POT would import whatever is installed
        os.environ.setdefault(f"POT_BACKEND_DISABLE_{backend}", "1")
    import ot

    return ot


def _floats(p: Any, q: Any) -> tuple[np.ndarray, np.ndarray]:
    p, q = (np.asarray(r.astype(np.float64) if is_exact(r) else r, dtype=np.float64) for r in as_pair(p, q))
    return p, q
