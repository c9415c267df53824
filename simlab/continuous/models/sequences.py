"""Sequences of continuous tokens whose prefix enters the kernels.

Token n is made by a chain under the condition c_n = level + Phi x_{n-1}; before the first token stands ``first``, which
is what a class or a prompt amounts to. A chain that ends in N(c, C) makes this a normal autoregression, whose law is
known in closed form. MAR and its kin (CSpD, section 3.1) differ in what they are conditioned on, not in this.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from simlab.checks import check_at_least
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.gaussians import as_numbers, as_vector, layout_of, root_of
from simlab.continuous.models.marginal_check import check_end
from simlab.continuous.models.sequence_model import SequenceModel
from simlab.continuous.tape import check_room


@dataclass(frozen=True)
class Tokens(SequenceModel):
    """A model of sequences of tokens of d numbers.

    Parameters
    ----------
    build
        From a data covariance, ``[d]`` or ``[d, d]``, to the chain of a token.
    covariance
        That of a token given the one before.
    length
        N, how many tokens a sequence has.
    ar_coefficient
        Phi: a number, ``[d]`` for a diagonal one, or ``[d, d]`` beside dense covariances.
    level, first
        Numbers or ``[d]``: the constant part of a condition, and what stands before the first token.

    Raises
    ------
    ValueError
        For anything else.
    """

    build: Callable[[np.ndarray], Chain]
    covariance: np.ndarray
    length: int = 1
    ar_coefficient: Any = 0.0
    level: Any = 0.0
    first: Any = 0.0

    def __post_init__(self) -> None:
        root_of(self.covariance)
        covariance = as_numbers(self.covariance, "covariance")
        size = len(covariance)
        ar_coefficient = as_numbers(self.ar_coefficient, "ar_coefficient")
        if ar_coefficient.ndim == 0:
            ar_coefficient = (
                np.full(size, float(ar_coefficient)) if covariance.ndim == 1 else float(ar_coefficient) * np.eye(size)
            )
        if ar_coefficient.shape != covariance.shape:
            raise ValueError(
                f"ar_coefficient has shape {ar_coefficient.shape}; expected a number or {covariance.shape}, "
                "as the covariance has"
            )
        object.__setattr__(self, "covariance", covariance)
        object.__setattr__(self, "ar_coefficient", ar_coefficient)
        object.__setattr__(self, "level", as_vector(self.level, size, "level"))
        object.__setattr__(self, "first", as_vector(self.first, size, "first"))
        if not callable(self.build):
            raise ValueError(f"build is {self.build!r}; expected a function from a covariance to a Chain")
        if not isinstance(self.chain, Chain):
            raise ValueError(f"build gives {self.chain!r}; expected a Chain")
        check_room(self.chain.steps, size, check_at_least("length", self.length, 1), 1)
        if self.chain.dimension != size:
            raise ValueError(f"build gives a chain of {self.chain.dimension} dimensions; expected {size}")

    @cached_property
    def chain(self) -> Chain:
        """The chain of a token given the one before."""
        return self.build(self.covariance)

    def modified(self, change: Callable[[Chain], Chain]) -> Tokens:
        """The same model with every chain changed.

        ``change``: from a chain to a chain, as :func:`~simlab.continuous.models.diffusion.tempered`. Returns a new
        model. Raises ``ValueError`` as ``change`` does.
        """
        return replace(self, build=partial(_modified, self.build, change))

    def condition(self, previous: np.ndarray) -> np.ndarray:
        """The condition of the tokens that follow given ones.

        ``previous``: ``float64[B, d]``, the tokens before. Returns ``float64[B, d]``, level + Phi previous.
        """
        return self.level + layout_of(self.ar_coefficient).times(self.ar_coefficient, previous)

    def before(self, tokens: np.ndarray, position: np.ndarray) -> np.ndarray:
        """``[B, d]``: what stands before ``position[B]`` in ``tokens[B, N, d]``."""
        rows = np.arange(len(tokens))
        return np.where((position > 0)[:, None], tokens[rows, np.maximum(position - 1, 0)], self.first)

    def conditions(self, tokens: np.ndarray, rows: np.ndarray, position: np.ndarray) -> np.ndarray:
        return self.condition(self.before(tokens[rows], position))

    def chains_ahead(self, count: int) -> list[Chain]:
        return [chain for _, _, chain in self.ahead(count)]

    def conditions_ahead(
        self, tokens: np.ndarray, rows: np.ndarray, position: np.ndarray, count: int
    ) -> list[np.ndarray]:
        known = self.before(tokens[rows], position)
        times = layout_of(self.ar_coefficient).times
        return [level + times(ar_coefficient, known) for ar_coefficient, level, _ in self.ahead(count)]

    def ahead(self, count: int) -> list[tuple[np.ndarray, np.ndarray, Chain]]:
        """The laws of the next tokens given the last known one alone.

        Of each of ``count`` tokens ``ar_coefficient``, ``level`` and ``chain``: given the last known token x, the token
        j places on is made by ``chain`` under the condition level + ar_coefficient x; those in between are integrated
        out. Raises ``ValueError`` for a chain that ends elsewhere than in N(c, covariance).

        This asks of ``build`` that chains end in N(c, covariance), under every condition c and for every covariance.
        Where an ``ar_coefficient`` that is not 0 makes it matter, and ``count`` is 2 or more, it is checked: mean maps
        to 0.02, constant parts to 0.02 standard deviations, covariances to 5 % of their largest entry. Of a learned
        range that follows the state the mean is known and the variance bounded: it passes where the variance may be
        right, and its law is then right in its mean alone.
        """
        dense = layout_of(self.ar_coefficient).dense
        phi, one = dense(self.ar_coefficient), dense(self.covariance)
        ar_coefficient, level, covariance = phi, self.level, one
        found = []
        for _ in range(count):
            flat = self.covariance.ndim == 1
            given = np.diag(covariance).copy() if flat else (covariance + covariance.T) / 2
            chain = self.build(given)
            if count > 1 and self.ar_coefficient.any():
                check_end(chain, given)
            found.append((np.diag(ar_coefficient).copy() if flat else ar_coefficient, level, chain))
            ar_coefficient, level, covariance = (
                phi @ ar_coefficient,
                self.level + phi @ level,
                phi @ covariance @ phi.T + one,
            )
        return found


def _modified(build: Callable[[np.ndarray], Chain], change: Callable[[Chain], Chain], covariance: np.ndarray) -> Chain:
    return change(build(covariance))


Model = TypeVar("Model", bound=SequenceModel)


class Pair(NamedTuple, Generic[Model]):
    """A target and a draft over the same sequences.

    Attributes
    ----------
    target, draft
        The two models, of one dimension, length, number of steps and layout.
    """

    target: Model
    draft: Model


def check_pair(target: SequenceModel, draft: SequenceModel) -> None:
    """Raise ``ValueError`` unless the two are models of the same sequences, in as many steps."""
    for name, model in (("target", target), ("draft", draft)):
        if not isinstance(model, SequenceModel):
            raise ValueError(f"the {name} is a {type(model).__name__}; expected Tokens, as ddpm gives")
    for name in ("dimension", "length"):
        if getattr(target, name) != getattr(draft, name):
            found = getattr(draft, name)
            raise ValueError(f"the draft has {name} {found}; expected the target's {getattr(target, name)}")
    steps, others = target.chain.steps, draft.chain.steps
    if steps != others:
        raise ValueError(f"the draft takes {others} denoising steps; expected the target's {steps}: noise is a step's")
    if target.chain.layout is not draft.chain.layout:
        raise ValueError("one of target and draft is diagonal and the other dense; expected one layout")
