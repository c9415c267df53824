"""Sequences of continuous tokens whose prefix enters the kernels.

Token n is made by a chain under the condition c_n = level + Phi x_{n-1}; before the first token stands ``first``, which
is what a class or a prompt amounts to. A chain that ends in N(c, C) makes this a normal autoregression, whose law is
known in closed form. MAR and its kin (CSpD, section 3.1) differ in what they are conditioned on, not in this.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from simlab.checks import check_at_least
from simlab.continuous.chains import Chain
from simlab.continuous.gaussians import DENSE, DIAGONAL, as_vector, root_of
from simlab.continuous.tape import check_room


@dataclass(frozen=True)
class Tokens:
    """A model of ``length`` tokens of d numbers.

    Parameters
    ----------
    build
        From a data covariance, ``[d]`` or ``[d, d]``, to the chain of a token.
    covariance
        That of a token given the one before.
    length
        How many tokens a sequence has.
    carry
        Phi: a number, ``[d]`` for a diagonal one, or ``[d, d]`` beside dense covariances.
    level, first
        Numbers or ``[d]``.

    Raises ``ValueError`` for anything else.
    """

    build: Callable[[np.ndarray], Chain]
    covariance: np.ndarray
    length: int = 1
    carry: Any = 0.0
    level: Any = 0.0
    first: Any = 0.0

    def __post_init__(self) -> None:
        root_of(self.covariance)
        covariance = np.asarray(self.covariance, dtype=np.float64)
        size = len(covariance)
        carry = np.asarray(self.carry, dtype=np.float64)
        if carry.ndim == 0:
            carry = np.full(size, float(carry)) if covariance.ndim == 1 else float(carry) * np.eye(size)
        if carry.shape != covariance.shape or not np.isfinite(carry).all():
            raise ValueError(f"carry has shape {carry.shape}; expected a number or finite ones, {covariance.shape}")
        object.__setattr__(self, "covariance", covariance)
        object.__setattr__(self, "carry", carry)
        object.__setattr__(self, "level", as_vector(self.level, size, "level"))
        object.__setattr__(self, "first", as_vector(self.first, size, "first"))
        check_room(self.chain.steps, size, check_at_least("length", self.length, 1), 1)
        if self.chain.dimension != size:
            raise ValueError(f"build gives a chain of {self.chain.dimension} dimensions; expected {size}")

    @cached_property
    def chain(self) -> Chain:
        """The chain of a token given the one before."""
        return self.build(self.covariance)

    @property
    def dimension(self) -> int:
        return len(self.covariance)

    def condition(self, previous: np.ndarray) -> np.ndarray:
        """``[B, d]``: the condition of the tokens that follow ``previous[B, d]``."""
        layout = DIAGONAL if self.carry.ndim == 1 else DENSE
        return self.level + layout.times(self.carry, previous)

    def before(self, tokens: np.ndarray, position: np.ndarray) -> np.ndarray:
        """``[B, d]``: what stands before ``position[B]`` in ``tokens[B, N, d]``."""
        rows = np.arange(len(tokens))
        return np.where((position > 0)[:, None], tokens[rows, np.maximum(position - 1, 0)], self.first)

    def ahead(self, count: int) -> list[tuple[np.ndarray, np.ndarray, Chain]]:
        """What is known of the next ``count`` tokens when none of them is.

        For each: ``(carry, level, chain)``, so that the token j places on, given the last known one x, is made by
        ``chain`` under the condition level + carry x: those in between are integrated out.
        """
        dense = DIAGONAL.dense if self.carry.ndim == 1 else DENSE.dense
        phi, one = dense(self.carry), dense(self.covariance)
        carry, level, covariance = phi, self.level, one
        found = []
        for _ in range(count):
            flat = self.covariance.ndim == 1
            given = np.diag(covariance).copy() if flat else (covariance + covariance.T) / 2
            found.append((np.diag(carry).copy() if flat else carry, level, self.build(given)))
            carry, level, covariance = phi @ carry, self.level + phi @ level, phi @ covariance @ phi.T + one
        return found


class Pair(NamedTuple):
    """A target and a draft over the same sequences."""

    target: Tokens
    draft: Tokens


def check_pair(target: Tokens, draft: Tokens) -> None:
    """Raise ``ValueError`` unless the two speak of the same sequences, in as many steps."""
    for name in ("dimension", "length"):
        if getattr(target, name) != getattr(draft, name):
            found = getattr(draft, name)
            raise ValueError(f"the draft has {name} {found}; expected the target's {getattr(target, name)}")
    steps, others = target.chain.steps, draft.chain.steps
    if steps != others:
        raise ValueError(f"the draft takes {others} denoising steps; expected the target's {steps}: noise is a step's")
    if target.chain.diagonal != draft.chain.diagonal:
        raise ValueError("one of target and draft is diagonal and the other dense; expected one layout")
