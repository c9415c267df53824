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

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.base import Function, Possible
from simlab.certify.contracts.batches import BatchCase
from simlab.certify.contracts.blocks import Tokens
from simlab.certify.contracts.operators.arrays import SINGLE, Arrays
from simlab.certify.contracts.operators.layouts import Arguments, Generator, race
from simlab.certify.contracts.verifying import OfBlock

MANY = (33, 70)  # sequences: engines work through 32 or 64 of them at a time
APART = (1, 32, 64)  # sequences that a slip of an index takes for each other


@dataclass(frozen=True)
class BatchLayout:
    """A call for padded rows p ``[B, gmax + 1, V]``, q ``[B, gmax, V]`` and drafts ``[B, gmax]``, -1 behind a gamma.

    ``ragged`` says whether sequences may have different gammas.
    """

    name: str
    signature: str
    arguments: Callable[[Arrays, Array, Array, Array, Generator], Arguments]
    ragged: bool = True
    scored: bool = True


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
        "draft_probs": arrays.rows(q[there]),
        "target_probs": arrays.rows(p[:, :-1][there]),
        "bonus_token_ids": arrays.whole(
            np.array([[_drawn(p[b, gamma], rng)] for b, gamma in enumerate(gammas.tolist())])
        ),
        "uniform_probs": arrays.uniforms(rng.random(int(gammas.sum()))),
        "exponential": arrays.exponential(race(rng, len(p), p.shape[2])),
    }


def _flat_tokens(arrays: Arrays, p: Array, q: Array, drafts: Array, rng: Generator) -> Arguments:
    return {name: one for name, one in _flat(arrays, p, q, drafts, rng).items() if name != "draft_probs"}


def _drawn(weights: Array, rng: Generator) -> int:
    upto = weights.cumsum()
    return int(np.searchsorted(upto, rng.random() * upto[-1], side="right"))


PADDED = BatchLayout(
    "batch_uniforms",
    "batch_uniforms(draft_probs, draft_token_ids, uniform_samples, target_probs) -> tokens",
    _padded,
    ragged=False,
)
FLAT = BatchLayout(
    "flat_exponential",
    "flat_exponential(draft_token_ids, cu_num_draft_tokens, draft_probs, target_probs, bonus_token_ids, "
    "uniform_probs, exponential) -> tokens",
    _flat,
)
FLAT_TOKENS = BatchLayout(
    "flat_tokens",
    "flat_tokens(draft_token_ids, cu_num_draft_tokens, target_probs, bonus_token_ids, uniform_probs, exponential) "
    "-> tokens",
    _flat_tokens,
    scored=False,
)


@dataclass(frozen=True, eq=False)
class OperatorBatchCase(BatchCase):
    """A block a sequence, for an operator that is called as ``layout`` says."""

    layout: BatchLayout = FLAT
    arrays: Arrays = SINGLE

    @property
    def contract(self) -> str:  # type: ignore[override]
        return self.layout.name

    def ask(self, function: Function, inputs: Any, i: int, rng: np.random.Generator) -> Tokens:
        answer = function(*self.layout.arguments(self.arrays, *self.padded_rows(inputs[i]), inputs[i], rng).values())
        return self.read(answer[0] if isinstance(answer, tuple) else answer)  # FlashInfer counts tokens as well

    def arguments(self, given: Array) -> dict[str, Array]:
        found = super().arguments(given)
        if not self.layout.scored:
            sequences, places = np.nonzero(given >= 0)
            found["q"][:] = 0
            found["q"][sequences, places, given[sequences, places]] = 1
        return found

    @cached_property
    def possible(self) -> Possible | None:
        found = super().possible
        return found if found is None or self.layout.scored else Possible(found.matching, found.matching)

    def call_arguments(self, inputs: Any, i: int) -> dict[str, Any]:
        p, q, drafts = super().arguments(inputs[i]).values()
        given = self.layout.arguments(Arrays(dtype="float64"), p, q, drafts, np.random.default_rng(0))
        return {name: one for name, one in given.items() if name not in DRAWN}

    def script(self, where: str, name: str, calls: int) -> str | None:
        return None


DRAWN = ("uniform_samples", "uniform_probs", "exponential", "bonus_token_ids")  # anew in every call


@dataclass(frozen=True)
class Pooled:
    """Events of several sequences that have one law and are independent: each call counts once for each of them."""

    name: str
    of: OfBlock
    starts: tuple[int, ...]

    @property
    def law(self) -> Array:
        return self.of.law

    def codes(self, tokens: Array) -> Array:
        width = len(self.of.block.p)
        return np.concatenate([self.of.codes(tokens[:, start : start + width]) for start in self.starts])

    def format(self, code: int) -> str:
        return self.of.format(code)


@dataclass(frozen=True)
class Pairs:
    """First tokens of pairs of sequences, all of them with the laws ``of`` these two."""

    name: str
    of: tuple[OfBlock, OfBlock]
    starts: tuple[tuple[int, int], ...]

    @property
    def law(self) -> Array:
        return np.outer(*(events.law for events in self.of)).ravel()

    def codes(self, tokens: Array) -> Array:
        first, second = (np.concatenate([tokens[:, pair[k], None] for pair in self.starts]) for k in range(2))
        return self.of[0].codes(first) * len(self.of[1].law) + self.of[1].codes(second)

    def format(self, code: int) -> str:
        first, second = divmod(code, len(self.of[1].law))
        return f"{self.of[0].format(first)}; {self.of[1].format(second)}"
