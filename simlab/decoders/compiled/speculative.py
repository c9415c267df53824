"""Speculative decoding with a draft process compiled: :mod:`simlab.decoders.speculative`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from simlab.arrays_compiled import copy, fetch, fetch_beginning
from simlab.decoders.compiled.base import Kernel, forward, next_token, scan
from simlab.decoders.drafted import SpeculativeState
from simlab.decoders.skipping import Skipping
from simlab.decoders.speculative import SpeculativeDecoder
from simlab.randomness import Purpose
from simlab.randomness.inverse_cdf_compiled import inverse_cdf
from simlab.randomness.tape_compiled import Uniforms
from simlab.rules.compiled.base import CompiledRule


class Chains(NamedTuple):
    """A chain of gamma drafts behind each of B sequences, and the uniforms to verify it with."""

    p: np.ndarray  # [B, gamma + 1, V]
    q: np.ndarray  # [B, gamma, V]
    tokens: np.ndarray  # int64[B, N + gamma + 1], the drafts in place
    length: np.ndarray  # int64[B]
    coins: np.ndarray  # [B, gamma]
    noise: np.ndarray  # [B, gamma + 1]
    end: int  # N


class SpeculativeKernel(Kernel[SpeculativeState], of=(SpeculativeDecoder, Skipping)):
    """``gamma`` drafts, verified in one call but for those that are skipped, and one more token."""

    @property
    def rows(self) -> int:
        return 2 * self.decoder.gamma + 1

    def step(self, state: SpeculativeState, uniforms: Uniforms) -> np.ndarray:
        tokens, length = state
        gamma = self.decoder.gamma
        assert self.draft is not None, "simulate checks it"

        # draft gamma tokens, each given those before it
        q = np.empty((len(tokens), gamma, self.vocabulary), self.draft.uniform.dtype)
        drafting = uniforms.row(length, gamma, Purpose.DRAFT)
        for j in range(gamma):
            draw_draft(j, forward(self.draft, tokens, length + j, 1), q, drafting, tokens, length)

        # verify them in one call of the target; commit the accepted drafts and the token after them
        p = forward(self.process, tokens, length, gamma + 1)
        coins = uniforms.row(length, gamma, Purpose.ACCEPT)
        noise = uniforms.row(length, gamma + 1, Purpose.TARGET)
        return self.verify(Chains(p, q, tokens, length, coins, noise, self.end))

    def verify(self, chains: Chains) -> np.ndarray:
        """Verify and commit; returns the drafts accepted ``[B]``."""
        skipped = self.decoder.skipped if isinstance(self.decoder, Skipping) else 0
        return verify_drafts(self.rule, chains, skipped)


@njit(nogil=True, cache=True)
def draw_draft(
    j: int, rows: np.ndarray, q: np.ndarray, uniforms: np.ndarray, tokens: np.ndarray, length: np.ndarray
) -> None:
    """Declare ``rows[B, 1, V]`` as the ``q[B, gamma, V]`` of draft j, and draw it."""
    for b in range(len(rows)):
        copy(rows[b, 0], q[b, j])
        tokens[b, length[b] + j] = inverse_cdf(rows[b, 0], uniforms[b, j])


@njit(nogil=True, cache=True)
def verify_drafts(rule: CompiledRule, chains: Chains, unverified: int) -> np.ndarray:
    """Leviathan et al., Algorithm 1, for the drafts behind those ``unverified``; returns how many are accepted.

    Entries decide how many, and then one row a sequence is read: which, is known while the one before it is.
    """
    p, q, tokens, length, coins, noise, end = chains
    gamma = q.shape[1]
    counts = np.empty(len(p), np.int64)
    for b in range(len(p)):
        if b + 1 < len(p):
            fetch_entries(p[b + 1], q[b + 1], tokens[b + 1], length[b + 1])
        x = tokens[b, length[b] : length[b] + gamma]
        counts[b] = unverified + scan(rule, p[b], q[b], x, coins[b], unverified, gamma)

    for b in range(len(p)):
        if b + 1 < len(p):
            fetch_rows(p[b + 1], q[b + 1], counts[b + 1])
        count, first = counts[b], length[b]
        x = tokens[b, first : first + gamma]
        tokens[b, first + count] = next_token(rule, p[b], q[b], x, count, gamma, noise[b, count])
        length[b] = min(first + count + 1, end)
    return counts


@njit(inline="always")
def fetch_entries(p: np.ndarray, q: np.ndarray, tokens: np.ndarray, first: int) -> None:
    """Have what decides on a chain of drafts come from memory."""
    for j in range(len(q)):
        fetch(p[j], tokens[first + j])
        fetch(q[j], tokens[first + j])


@njit(inline="always")
def fetch_rows(p: np.ndarray, q: np.ndarray, count: int) -> None:
    """Have the beginning of the rows behind ``count`` accepted drafts come from memory."""
    fetch_beginning(p[count])
    if count < len(q):
        fetch_beginning(q[count])
