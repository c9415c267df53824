"""Operators of a batch: padded as FlashInfer calls its kernel, or flattened as vLLM does.

``batch_uniforms(draft_probs[B, gamma, V], draft_token_ids[B, gamma], uniform_samples[B, gamma + 1],
target_probs[B, gamma + 1, V])``: every sequence has gamma drafts; the token that ends it is drawn with a uniform that
no draft was compared with. ``flat_exponential(draft_token_ids[N], cu_num_draft_tokens[B], draft_probs[N, V],
target_probs[N, V], bonus_token_ids[B, 1], uniform_probs[N], exponential[B, V])``: rows of all sequences behind each
other, ending where ``cu_num_draft_tokens`` says; bonus tokens are drawn beforehand, and a rejected draft is replaced
with the noise of its sequence. ``flat_tokens`` is the same without ``draft_probs``. Out comes an array of tokens a
sequence, padded with -1.

References
----------
``chain_speculative_sampling`` of FlashInfer 0.1, ``include/flashinfer/sampling.cuh``; ``rejection_sample`` of vLLM,
``vllm/v1/sample/rejection_sampler.py``, and of vllm-ascend, ``vllm_ascend/sample/rejection_sampler.py``.
"""

from __future__ import annotations

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.arrays import Arrays
from simlab.certify.contracts.layouts import Arguments, Generator, Layout, race, rows_first


def _padded(arrays: Arrays, p: Array, q: Array, drafts: Array, rng: Generator) -> Arguments:
    return {
        "draft_probs": arrays.rows(q),
        "draft_token_ids": arrays.whole(drafts),
        "uniform_samples": arrays.uniforms(rng.random((len(p), p.shape[1]))),
        "target_probs": arrays.rows(p),
    }


def _flat(arrays: Arrays, p: Array, q: Array, drafts: Array, rng: Generator) -> Arguments:
    there = drafts >= 0
    gammas = there.sum(axis=1)
    return {
        "draft_token_ids": arrays.whole(drafts[there]),
        "cu_num_draft_tokens": arrays.whole(gammas.cumsum()),
        "draft_probs": arrays.rows_at(q, there),
        "target_probs": arrays.rows_at(p, np.column_stack((there, np.zeros(len(there), bool)))),
        "bonus_token_ids": arrays.whole(
            np.array([[_drawn(arrays.upto(p, at), rng)] for at in enumerate(gammas.tolist())])
        ),
        "uniform_probs": arrays.uniforms(rng.random(int(gammas.sum()))),
        "exponential": arrays.exponential(race(rng, arrays, len(p), p.shape[2])),
    }


def _flat_tokens(arrays: Arrays, p: Array, q: Array, drafts: Array, rng: Generator) -> Arguments:
    return {name: one for name, one in _flat(arrays, p, q, drafts, rng).items() if name != "draft_probs"}


def _drawn(upto: Array, rng: Generator) -> int:
    return int(np.searchsorted(upto, rng.random() * upto[-1], side="right"))


PADDED = Layout("batch_uniforms", _padded, rows_first, single=False, ragged=False)
FLAT = Layout("flat_exponential", _flat, rows_first, single=False, noisy=True)
FLAT_TOKENS = Layout("flat_tokens", _flat_tokens, rows_first, single=False, noisy=True, scored=False)
