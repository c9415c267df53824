"""vllm-ascend: the PyTorch form of its rejection sampler, which it takes where there is no Triton.

``simlab certify experiments/engines/vllm_ascend.py:scored --contract flat_exponential --arrays torch`` certifies the
usual verification, ``:blockwise`` the block verification that is turned on by ``enable_block_verify``, ``:unscored``
with ``flat_tokens`` drafts without q. The file is that of the installed package, or of the sources in
``$VLLM_ASCEND_SOURCE``. Pinned memory, which a CPU has not, is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

import torch

from experiments.engines.source import find, load

SOURCE = "vllm_ascend/sample/rejection_sampler.py"
PINNED = ("arange", "full", "ones", "tensor")  # functions that are asked for pinned memory

Tensor = torch.Tensor

_sampler = load(
    find("vllm-ascend", SOURCE, "VLLM_ASCEND_SOURCE"),
    "ascend_rejection_sampler",
    ["vllm", "vllm_ascend"],
    {"vllm.v1.sample.rejection_sampler": {"PLACEHOLDER_TOKEN_ID": -1, "GREEDY_TEMPERATURE": 0, "MAX_SPEC_LEN": 128}},
)


def unscored(drafts: Tensor, ends: Tensor, p: Tensor, bonus: Tensor, uniforms: Tensor, exponential: Tensor) -> Tensor:
    """The contract ``flat_tokens``."""
    return scored(drafts, ends, None, p, bonus, uniforms, exponential)


def blockwise(
    drafts: Tensor, ends: Tensor, q: Tensor, p: Tensor, bonus: Tensor, uniforms: Tensor, exponential: Tensor
) -> Tensor:
    """The contract ``flat_exponential``: block verification where the longest block has three drafts or more."""
    longest = int(torch.diff(ends, prepend=torch.zeros(1, dtype=ends.dtype)).max())
    return scored(drafts, ends, q, p, bonus, uniforms, exponential, blocks=longest >= 3)


def scored(
    drafts: Tensor,
    ends: Tensor,
    q: Tensor | None,
    p: Tensor,
    bonus: Tensor,
    uniforms: Tensor,
    exponential: Tensor,
    blocks: bool = False,
) -> Tensor:
    """The contract ``flat_exponential``: recovered tokens, then the verification, as ``rejection_sample`` has them."""
    batch, vocabulary = exponential.shape
    most = int(torch.diff(ends, prepend=torch.zeros(1, dtype=ends.dtype)).max())
    emitted = torch.full((batch, most + 1), -1, dtype=torch.int32)
    recovered = torch.empty_like(drafts)
    recover = _sampler.sample_recovered_tokens_blockwise_pytorch if blocks else _sampler.sample_recovered_tokens_pytorch
    verify = (
        _sampler.rejection_random_sample_block_verify_pytorch if blocks else _sampler.rejection_random_sample_pytorch
    )
    if not most:  # nothing to verify: the sampler is not called
        emitted[:, 0] = bonus[:, 0]
        return emitted
    none_greedy = torch.zeros(batch, dtype=torch.bool)
    with _unpinned():
        recover(recovered, ends, drafts, q, p, exponential, vocabulary, IS_NGRAM=q is None)
        verify(
            *(emitted, ends, drafts, q, p, bonus, recovered, uniforms, none_greedy, most, vocabulary),
            IS_NGRAM=q is None,
        )
    return emitted


@contextmanager
def _unpinned() -> Iterator[None]:
    """Within it no memory is pinned."""

    def without(function: Callable[..., Any], *values: Any, pin_memory: bool = False, **options: Any) -> Any:
        return function(*values, **options)

    with ExitStack() as stack:
        for name in PINNED:
            stack.enter_context(patch.object(torch, name, partial(without, getattr(torch, name))))
        yield
