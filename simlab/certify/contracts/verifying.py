"""Contracts of verifiers that draw for themselves: ``verify`` of one block, ``verify_batch`` of several at once.

``verify(p, q, drafts, rng) -> tokens``: ``p`` float64 ``[gamma + 1, V]``, ``q`` float64 ``[gamma, V]``, ``drafts``
int64 ``[gamma]`` drawn from q, ``rng`` a ``numpy.random.Generator``; out come 1 to gamma + 1 tokens. Completed to
gamma + 1 by draws from p, they must follow p.

``verify_batch(p, q, drafts, rng) -> tokens``: ``p`` ``[B, gmax + 1, V]``, ``q`` ``[B, gmax, V]``, ``drafts``
``[B, gmax]``. Sequence b has gamma_b drafts, from none to gmax; behind them ``drafts`` holds -1 and ``q`` zeros. The
row for its bonus is ``p[b, gamma_b]``; what ``p`` holds behind that are zeros too. Out come, for each sequence, 1 to
gamma_b + 1 tokens: a list for each, or an array ``[B, gmax + 1]``, padded with -1. Completed by p, those of each
sequence must follow its p, and those of different sequences must be independent.
"""

from __future__ import annotations

from simlab.arrays import Array
from simlab.certify.contracts.arrays import Arrays
from simlab.certify.contracts.layouts import Arguments, Generator, Layout, as_rows, one_row


def _drawing(arrays: Arrays, p: Array, q: Array, drafts: Array, rng: Generator) -> Arguments:
    return {"p": arrays.rows(p), "q": arrays.rows(q), "drafts": drafts.copy(), "rng": rng}


CALLED = "p.copy(), q.copy(), drafts, rng"
VERIFY = Layout("verify", _drawing, one_row, CALLED, coins=False)
BATCH = Layout("verify_batch", _drawing, as_rows, CALLED, single=False, coins=False)
