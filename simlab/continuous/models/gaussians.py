"""Normal laws in the log domain, and the two layouts their matrices have.

A diagonal matrix is stored as ``[d]``, or ``[B, d]`` if it differs from row to row; a dense one as ``[d, d]``. A root
of a covariance S is any L with L L' = S: symmetric, triangular or neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, pi
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

HALF_LOG_TURN = 0.5 * log(2 * pi)


class Layout(NamedTuple):
    """Operations with matrices of one layout, for vectors ``[B, d]``."""

    diagonal: bool

    def times(self, matrix: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        """``[B, d]``: the matrix times each vector."""
        return matrix * vectors if self.diagonal else vectors @ matrix.T

    def whitened(self, root: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        """``[B, d]``: the inverse of the root times each vector."""
        return vectors / root if self.diagonal else np.linalg.solve(root, vectors.T).T

    def log_volume(self, root: np.ndarray) -> np.ndarray:
        """log |det root|, half the logarithm of the determinant of the covariance; -inf if it is singular."""
        if not self.diagonal:
            return np.linalg.slogdet(root)[1]
        with np.errstate(divide="ignore"):
            return np.sum(np.log(np.abs(root)), axis=-1)

    def only(self, root: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The roots of some vectors, where each has its own."""
        return root[rows] if self._each(root) else root

    def joined(self, roots: Sequence[np.ndarray]) -> np.ndarray:
        """The roots of the vectors of several parts, behind each other, where each vector has its own."""
        return np.concatenate(roots) if self._each(roots[0]) else roots[0]

    def _each(self, root: np.ndarray) -> bool:
        """Whether each vector has a root of its own, as those of diagonal matrices may."""
        return self.diagonal and root.ndim == 2

    def through(self, matrix: np.ndarray, covariance: np.ndarray) -> np.ndarray:
        """A S A', the covariance of what the matrix A makes of vectors of covariance S."""
        return matrix * covariance * matrix if self.diagonal else matrix @ covariance @ matrix.T

    def squared(self, root: np.ndarray) -> np.ndarray:
        """L L', the covariance that the root L is of."""
        return root * root if self.diagonal else root @ root.T

    def dense(self, matrix: np.ndarray) -> np.ndarray:
        """``[d, d]``."""
        return np.diag(matrix) if self.diagonal else matrix


DIAGONAL, DENSE = Layout(diagonal=True), Layout(diagonal=False)


def layout_of(matrix: np.ndarray) -> Layout:
    """Of one matrix, ``[d]`` or ``[d, d]``."""
    return DIAGONAL if matrix.ndim == 1 else DENSE


def product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Of two diagonal matrices ``[d]`` or two dense ones ``[d, d]``."""
    return left * right if left.ndim == 1 else left @ right


def root_of(covariance: Any) -> np.ndarray:
    """The symmetric root of a covariance.

    ``covariance``: variances ``[d]`` or a matrix ``[d, d]``; singular ones are fine. Returns standard deviations
    ``float64[d]``, or a dense root ``float64[d, d]``. Raises ``ValueError`` for a negative variance, or a matrix that
    is not symmetric or has a negative eigenvalue.
    """
    values = as_numbers(covariance, "covariance")
    if values.ndim == 1:
        if (values < 0).any():
            raise ValueError(f"covariance holds the variance {values[values < 0][0]}; expected numbers >= 0")
        return np.sqrt(values)
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise ValueError(f"covariance has shape {values.shape}; expected variances [d] or a matrix [d, d]")
    if not np.allclose(values, values.T, rtol=1e-10, atol=0):
        raise ValueError("covariance is not symmetric; expected a covariance")
    sizes, vectors = np.linalg.eigh(values)
    if sizes[0] < -1e-12 * max(abs(sizes[-1]), 1e-300):
        raise ValueError(f"covariance has the eigenvalue {sizes[0]:.4g}; expected none below 0")
    return (vectors * np.sqrt(np.clip(sizes, 0, None))) @ vectors.T


class Normal(NamedTuple):
    """Normal laws of one covariance: means ``[B, d]``, covariance ``[d, d]``."""

    mean: np.ndarray
    covariance: np.ndarray

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """The log density of points.

        ``x``: ``float64[B, d]``. Returns ``float64[B]``. Raises ``ValueError`` where the covariance is singular.
        """
        size = x.shape[-1]
        factor = np.linalg.cholesky(self.checked())
        away = DENSE.whitened(factor, x - self.mean)
        return -0.5 * np.sum(away * away, axis=-1) - DENSE.log_volume(factor) - size * HALF_LOG_TURN

    def root(self) -> np.ndarray:
        """``[d, d]``: the lower triangular root."""
        return np.linalg.cholesky(self.checked())

    def checked(self) -> np.ndarray:
        """The covariance; raises ``ValueError`` where it is singular or not positive definite."""
        least = float(np.linalg.eigvalsh(self.covariance)[0])
        if least <= 1e-14 * float(np.abs(self.covariance).max(initial=1e-300)):
            raise ValueError(f"the covariance has the eigenvalue {least:.4g}; expected all above 0: else no density")
        return self.covariance


def as_vector(values: Any, size: int, what: str) -> np.ndarray:
    """``float64[size]`` from a number or from ``size`` of them; raises ``ValueError`` for anything else."""
    vector = as_numbers(values, what)
    if vector.ndim == 0:
        return np.full(size, float(vector))
    if vector.shape != (size,):
        raise ValueError(f"{what} has shape {vector.shape}; expected a number or [{size}]")
    return vector


def as_numbers(values: Any, what: str, infinite: bool = False) -> np.ndarray:
    """``values`` as float64 of any shape; raises ``ValueError`` unless all are real numbers, and finite ones.

    With ``infinite`` minus infinity is a number too, as the logarithm of zero.
    """
    try:
        found = np.asarray(values)
    except ValueError:
        raise ValueError(f"{what} is {values!r}; expected numbers in rows of one length") from None
    plain = found.dtype.kind in "iuf" or (
        found.dtype.kind == "O" and all(isinstance(value, Real) for value in found.ravel())
    )
    if not plain:
        raise ValueError(f"{what} is {values!r}; expected real numbers")
    found = np.ascontiguousarray(found, dtype=np.float64).reshape(found.shape)
    wrong = ~np.isfinite(found) & ~(infinite & (found == -np.inf))
    if wrong.any():
        raise ValueError(f"{what} holds {found[wrong][0]}; expected finite numbers")
    return found
