"""The contract of a verification rule.

Given the target's pmf p, the draft's pmf q and a token x drafted from q, a rule is two functions:

* ``accept(p, q, x)``: the probability of accepting x;
* ``residual(p, q, x)``: the pmf of the token that replaces x where it is rejected.

So the token emitted follows the one-step law

    law(y) = q(y) a(y) + sum_x q(x) (1 - a(x)) r_x(y),

which is computed, not sampled (:meth:`Rule.step_rows`). Most rules accept with min(1, P/Q), P and Q being masses of the
target and the draft, and differ in which tokens the masses are taken over: they state their two masses
(:class:`RatioRule`), and their residual where it is not the usual [p - q]+.

Rows are ``[..., V]``, tokens ``[...]``: float64 NumPy, arrays of ``Fraction`` and torch tensors alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import prod
from typing import Any, ClassVar, NamedTuple

from simlab.arrays import Array, at, device, indices, namespace, normalised, number, positive_part, total, wide
from simlab.checks import as_pair, as_tokens
from simlab.memory import check_memory

FLOAT = 8  # bytes
TABLES = 5  # [..., V, V] that are in memory at once for the law of a rule with a residual for each token


class Step(NamedTuple):
    """What one draft from q comes to: how often it is accepted, and the law of the token emitted.

    Attributes
    ----------
    acceptance
        ``float[...]``: sum_x q(x) a(x).
    law
        ``float[..., V]``: the pmf of the token emitted.
    """

    acceptance: Any  # [...]: sum_x q(x) a(x)
    law: Array  # [..., V]


class Rule(ABC):
    """A verification rule.

    Attributes
    ----------
    one_residual
        Whether the residual is the same for every rejected token, so that the one-step law takes O(V). False in a class
        that states its own residual and does not say otherwise.
    """

    one_residual: ClassVar[bool] = True

    def __init_subclass__(cls, **options: Any) -> None:
        """A class that changes what is accepted or drawn does not inherit the faster forms of its parent."""
        super().__init_subclass__(**options)
        own = vars(cls).keys()
        accepts, draws = own & {"accept_rows", "_masses"}, own & {"weights_rows", "residual_rows"}
        if draws and "one_residual" not in own:
            cls.one_residual = False
        if accepts and "accept_each" not in own:
            cls.accept_each = Rule.accept_each  # type: ignore[method-assign]
        if (accepts or draws) and "step_rows" not in own:
            cls.step_rows = Rule.step_rows  # type: ignore[method-assign]

    def accept(self, p: Array, q: Array, x: Array) -> Array:
        """The probability of accepting x.

        Parameters
        ----------
        p, q
            ``float[..., V]``: the pmfs of target and draft, or exact rows of ``Fraction``.
        x
            ``int[...]``: the token drafted from q.

        Returns
        -------
        Array
            ``float[...]``, in [0, 1]: 1 where q(x) = 0, 0 where the draft mass is 0 otherwise.

        Raises
        ------
        ValueError
            Where p or q is no pmf, shapes differ, or x is outside the vocabulary.
        """
        return self.accept_rows(*_checked(p, q, x))

    def residual(self, p: Array, q: Array, x: Array) -> Array:
        """The pmf to draw from after rejecting x.

        Parameters
        ----------
        p, q
            ``float[..., V]``: the pmfs of target and draft, or exact rows of ``Fraction``.
        x
            ``int[...]``: the rejected token.

        Returns
        -------
        Array
            ``float[..., V]``: the residual; where it has no mass p, or what the rule says.

        Raises
        ------
        ValueError
            As :meth:`accept` does.
        """
        return self.residual_rows(*_checked(p, q, x))

    def check_vocabulary(self, size: int) -> None:  # noqa: B027 - most rules have no table
        """Raise ``ValueError`` where the rule has a table of the tokens of another vocabulary than one of ``size``."""

    # The same for rows that are known to be pmfs, as a process vouches for its own: no checks, no waiting.

    @abstractmethod
    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        """:meth:`accept` without the checks.

        ``p``, ``q``: ``[..., V]``: rows known to be pmfs. ``x``: ``int[...]``: drafted tokens. Returns ``float[...]``.
        """

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        """Weights in proportion to the residual, not all 0: [p - q]+ unless a rule has others.

        ``p``, ``q``: ``[..., V]``: rows known to be pmfs. ``x``: ``int[...]``: rejected tokens. Returns
        ``float[..., V]``: what a token is drawn from, in one pass over a row and with nothing to scale.
        """
        return positive_part(p, q)

    def residual_rows(self, p: Array, q: Array, x: Array) -> Array:
        """:meth:`residual` without the checks.

        ``p``, ``q``: ``[..., V]``: rows known to be pmfs. ``x``: ``int[...]``: rejected tokens. Returns
        ``float[..., V]``.
        """
        return normalised(self.weights_rows(p, q, x), wide(p))

    # The one-step law ---------------------------------------------------------------------------

    def accept_each(self, p: Array, q: Array) -> Array:
        """The probability of accepting each token of the vocabulary.

        ``p``, ``q``: ``[..., V]``: rows known to be pmfs. Returns ``float[..., V]``.
        """
        return self.accept_rows(*every_draft(p, q))

    def step_rows(self, p: Array, q: Array) -> Step:
        """The acceptance and the one-step law of one draft from q, without the checks.

        ``p``, ``q``: ``float[..., V]``: the pmfs of target and draft, or exact rows of ``Fraction``. Returns the
        acceptance ``float[...]`` and the law ``float[..., V]``. Raises ``NotEnoughMemory`` before any table of V^2
        numbers is made that memory does not hold.

        O(V) a row where ``one_residual``, O(V^2) otherwise, in memory too.
        """
        return self.drawn_rows(p, q, q)

    def drawn_rows(self, p: Array, q: Array, drawn: Array) -> Step:
        """:meth:`step_rows` of one draft that is drawn from another row than the q that is declared for it.

        ``p``, ``q``: ``float[..., V]``: the pmf of the target, and the one that the rule is told of the draft.
        ``drawn``: ``float[..., V]``: the pmf that the draft is drawn from. A draft with q(x) = 0 is accepted, as
        :meth:`accept` says. Returns and raises what :meth:`step_rows` does.
        """
        if not self.one_residual:
            check_memory(
                f"the one-step law of {type(self).__name__} for {prod(p.shape[:-1])} rows over {p.shape[-1]} tokens",
                TABLES * prod(p.shape) * p.shape[-1] * FLOAT,
                p,
            )
        each = self.accept_each(p, q)
        accepted, rejected = drawn * each, drawn * (number(1, p) - each)
        if self.one_residual:
            return Step(
                total(accepted)[()], accepted + total(rejected)[..., None] * self.residual_rows(p, q, _first(p))
            )
        replaced = rejected[..., None] * self.residual_rows(*every_draft(p, q))
        return Step(total(accepted)[()], accepted + total(namespace(p).moveaxis(replaced, -1, -2)))

    def law_rows(self, p: Array, q: Array) -> Array:
        """The law of the token emitted for one draft from q.

        ``p``, ``q``: ``[..., V]``: rows known to be pmfs. Returns ``float[..., V]``.
        """
        return self.step_rows(p, q).law


class RatioRule(Rule):
    """A rule that accepts with the ratio of two masses."""

    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        return acceptance_ratio(p, *self._masses(p, q, x), at(q, x))

    @abstractmethod
    def _masses(self, p: Array, q: Array, x: Array) -> tuple[Array, Array]:
        """The masses of target and draft ``[...]`` whose ratio accepts x; no draft mass rejects.

        In float64 for floating-point rows.
        """


def mass(rows: Array, x: Array) -> Array:
    """``[...]``: what ``rows[..., V]`` put on x; in float64 for floating-point rows, as all arithmetic on masses."""
    return wide(at(rows, x))


def acceptance_ratio(like: Array, target: Array, draft: Array, drafted: Array) -> Array:
    """min(1, target/draft) for masses ``[...]`` of rows ``like``: 1 where ``drafted``, q(x), is 0, else 0 where
    ``draft`` is 0."""
    xp, one = namespace(like), number(1, like)
    # the smaller of both, so that no ratio is more than a number can be
    ratio = xp.minimum(target, draft) / xp.where(draft > 0, draft, one)
    # written so that NaN, from rows nobody checked, is not accepted
    return xp.where((ratio >= 1) | (drafted <= 0), one, ratio)


def every_token(p: Array) -> Array:
    """``int[..., V]``: every token that could be drafted."""
    tokens = indices(p.shape[-1], p)
    return namespace(tokens).broadcast_to(tokens, tuple(p.shape))


def every_draft(p: Array, q: Array) -> tuple[Array, Array, Array]:
    """The rows ``[..., V, V]``, views, and the tokens ``[..., V]``: each pair of rows once for every token."""
    shape = *p.shape, p.shape[-1]
    one, other = (namespace(rows).broadcast_to(rows[..., None, :], shape) for rows in (p, q))
    return one, other, every_token(p)


def _first(p: Array) -> Array:
    """``int[...]``: token 0 for every row."""
    return namespace(p).zeros(tuple(p.shape[:-1]), dtype=namespace(p).int64, device=device(p))


def group_masses(p: Array, q: Array, group: Array) -> tuple[Array, Array]:
    """The masses ``[...]`` that p and q put on ``group[..., V]``."""
    xp, zero = namespace(p), number(0, p)
    return total(xp.where(group, p, zero)), total(xp.where(group, q, zero))


def _checked(p: Any, q: Any, x: Any) -> tuple[Array, Array, Array]:
    p, q = as_pair(p, q)
    return p, q, as_tokens(x, p)
