"""The law of a sequence of continuous tokens in closed form: autoregressive, and decoded in place.

Each token is an affine image of one token before it plus independent normal noise, so that a sequence is normal, and
its law grows token by token. The maps are read off the chain itself
(:meth:`~simlab.continuous.models.chains.Chain.marginal` is affine in the condition), so that the law is that of the
process that is run, also if a chain does not end in its data.

Hellinger's distance bounds total variation, H^2 <= TV <= H sqrt(2 - H^2), and so does Pinsker's inequality; from below,
so does the total variation along any line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy

from simlab.checks import check_at_least
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.gaussians import DENSE, DIAGONAL
from simlab.continuous.models.sequences import Tokens
from theory.continuous.gaussian_overlap import acceptance_rates


class Link(NamedTuple):
    """Token n = slope x_parent + offset + noise; the parent -1 is what stands before the sequence."""

    parent: int
    slope: np.ndarray  # [d, d]
    offset: np.ndarray  # [d]
    covariance: np.ndarray  # [d, d], of the noise


@dataclass(frozen=True)
class SequenceLaw:
    """A normal law of sequences, token by token."""

    mean: np.ndarray  # float64[N, d]
    covariance: np.ndarray  # float64[N d, N d]

    def token(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Mean ``[d]`` and covariance ``[d, d]`` of token n."""
        return self.mean[n], self.between(n, n)

    def between(self, n: int, m: int) -> np.ndarray:
        """``[d, d]``: the covariance of token n with token m."""
        size = self.mean.shape[1]
        return self.covariance[n * size : (n + 1) * size, m * size : (m + 1) * size]

    def autocorrelation(self, lag: int) -> np.ndarray:
        """``[N - lag, d]``: the correlation of each coordinate with itself ``lag`` tokens on, 1 to N - 1."""
        length, size = self.mean.shape
        spread = np.sqrt(np.diag(self.covariance)).reshape(length, size)
        across = [np.diag(self.between(n, n + lag)) for n in range(length - lag)]
        return np.array(across).reshape(-1, size) / (spread[: length - lag] * spread[lag:])

    def whitened(self, tokens: np.ndarray) -> np.ndarray:
        """Tokens ``[B, N, d]`` as normals ``[B, N d]``, each from those so far; standard if they follow the law."""
        away = (tokens - self.mean).reshape(len(tokens), -1)
        return np.linalg.solve(np.linalg.cholesky(self.covariance), away.T).T


def autoregressive(tokens: Tokens) -> SequenceLaw:
    """The model's own law, which a lossless rule preserves if a block is cut at its first rejection (``Truncating``).

    Raises ``ValueError`` if the chain has a learned range, where states are not normal.
    """
    link = _link(tokens.chain, tokens.ar_coefficient, tokens.level)
    return sequence_law([link._replace(parent=n - 1) for n in range(tokens.length)], tokens.first)


def in_place(target: Tokens, gamma: int, prefill: int = 0) -> SequenceLaw:
    """The law ``InPlace`` gives with a lossless rule: given the token before its block, a token is independent of it.

    ``gamma``: the draft length, at least 1. ``prefill``: how many first tokens the target draws itself. Raises
    ``ValueError`` for others, and for a learned range.
    """
    check_at_least("gamma", gamma, 1)
    check_at_least("prefill", prefill, 0)
    one = _link(target.chain, target.ar_coefficient, target.level)
    links = [one._replace(parent=n - 1) for n in range(min(prefill, target.length))]
    most = min(gamma, target.length)
    ahead = [_link(chain, ar_coefficient, level) for ar_coefficient, level, chain in target.ahead(most)]
    while len(links) < target.length:
        before, left = len(links) - 1, target.length - len(links)
        links += [link._replace(parent=before) for link in ahead[:left]]
    return sequence_law(links, target.first)


def sequence_law(links: Sequence[Link], first: np.ndarray) -> SequenceLaw:
    """The law of a sequence of normal tokens: for each, how it follows from one before it.

    ``first``: what stands before the sequence, ``float[d]``.
    """
    size = len(first)
    mean = np.zeros((len(links), size))
    covariance = np.zeros((len(links) * size, len(links) * size))
    for n, (parent, slope, offset, noise) in enumerate(links):
        own, known = slice(n * size, (n + 1) * size), slice(0, n * size)
        mean[n] = slope @ (mean[parent] if parent >= 0 else first) + offset
        covariance[own, own] = noise
        if parent >= 0:
            before = slice(parent * size, (parent + 1) * size)
            covariance[own, known] = slope @ covariance[before, known]
            covariance[known, own] = covariance[own, known].T
            covariance[own, own] += slope @ covariance[before, before] @ slope.T
    return SequenceLaw(mean, covariance)


def affine_map(chain: Chain) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """M ``[d, d]``, m ``[d]`` and S ``[d, d]``: under the condition c a token has the law N(M c + m, S).

    ``chain``: one with fixed variances.
    """
    size = chain.dimension
    offset, covariance = chain.marginal(np.zeros((1, size)))
    return (chain.marginal(np.eye(size)).mean - offset).T, offset[0], covariance


def _link(chain: Chain, ar_coefficient: np.ndarray, level: np.ndarray) -> Link:
    """A token under the condition level + ar_coefficient x, where x is not known yet."""
    slope, offset, covariance = affine_map(chain)
    layout = DIAGONAL if ar_coefficient.ndim == 1 else DENSE
    return Link(-1, slope @ layout.dense(ar_coefficient), slope @ level + offset, covariance)


# How far two of them are apart --------------------------------------------------------------------------------------


def kl(one: SequenceLaw, other: SequenceLaw) -> float:
    """KL(one || other), in nats, of laws of as many tokens and numbers a token whose covariances are not singular."""
    away = (other.mean - one.mean).ravel()
    ratio = np.linalg.solve(other.covariance, one.covariance)
    distance = float(away @ np.linalg.solve(other.covariance, away))
    return 0.5 * (float(np.trace(ratio)) - len(away) + distance - float(np.linalg.slogdet(ratio)[1]))


def hellinger(one: SequenceLaw, other: SequenceLaw) -> float:
    """Hellinger's distance H, with H^2 = 1 - int sqrt(one other), of laws as for :func:`kl`."""
    away = (other.mean - one.mean).ravel()
    middle = (one.covariance + other.covariance) / 2
    logs = [float(np.linalg.slogdet(matrix)[1]) for matrix in (one.covariance, other.covariance, middle)]
    log_overlap = (logs[0] + logs[1]) / 4 - logs[2] / 2 - float(away @ np.linalg.solve(middle, away)) / 8
    return float(np.sqrt(-np.expm1(min(log_overlap, 0.0))))


def tv_bounds(one: SequenceLaw, other: SequenceLaw) -> tuple[float, float]:
    """Between which two numbers the total variation lies, of laws as for :func:`kl`.

    From below H^2, and the total variation along the lines where variances differ most; from above H sqrt(2 - H^2) and
    Pinsker's sqrt(KL / 2).
    """
    square = hellinger(one, other) ** 2
    _, lines = scipy.linalg.eigh(one.covariance, other.covariance)
    along = [
        1
        - float(
            acceptance_rates(
                float(line @ (other.mean - one.mean).ravel()),
                0.0,
                *(float(np.sqrt(line @ law.covariance @ line)) for law in (other, one)),
            ).acceptance
        )
        for line in lines.T
    ]
    return max(square, *along), min(float(np.sqrt(square * (2 - square))), float(np.sqrt(kl(one, other) / 2)))
