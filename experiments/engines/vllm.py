"""vLLM: the kernels of its rejection sampler, on a CUDA device or, without one, by Triton's interpreter.

``simlab certify experiments/engines/vllm.py:scored --contract flat_exponential --arrays torch`` certifies both kernels
together, as ``rejection_sample`` launches them; ``:unscored`` with ``flat_tokens`` the same for drafts without q, as
n-gram drafts are; on a device with ``--arrays cuda``. The file is that of the installed package, which may be installed
without its dependencies, or of the sources in ``$VLLM_SOURCE``.
"""

from __future__ import annotations

import os

import torch

if not torch.cuda.device_count():  # starts no device, unlike is_available: a certificate is a fork
    os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported
import triton
import triton.language as tl

from experiments.engines.source import find, load

BLOCK = 8192  # tokens of a tile, as the package launches it
SOURCE = "vllm/v1/sample/rejection_sampler.py"

Tensor = torch.Tensor

_sampler = load(
    find("vllm", SOURCE, "VLLM_SOURCE"),
    "rejection_sampler",
    ["vllm"],
    {"vllm.triton_utils": {"tl": tl, "triton": triton}},
)


def unscored(drafts: Tensor, ends: Tensor, p: Tensor, bonus: Tensor, uniforms: Tensor, exponential: Tensor) -> Tensor:
    """The contract ``flat_tokens``."""
    return scored(drafts, ends, None, p, bonus, uniforms, exponential)


def scored(
    drafts: Tensor, ends: Tensor, q: Tensor | None, p: Tensor, bonus: Tensor, uniforms: Tensor, exponential: Tensor
) -> Tensor:
    """The contract ``flat_exponential``."""
    batch, vocabulary = exponential.shape
    most = int(torch.diff(ends, prepend=ends.new_zeros(1)).max())
    emitted = torch.full((batch, most + 1), -1, dtype=torch.int32, device=drafts.device)
    recovered = torch.empty_like(drafts)
    if most:
        _sampler.sample_recovered_tokens_kernel[(batch, most)](
            recovered,
            ends,
            drafts,
            q,
            p,
            exponential.reciprocal(),
            vocabulary,
            BLOCK_SIZE=BLOCK,
            NO_DRAFT_PROBS=q is None,
            USE_FP64_GUMBEL=exponential.dtype == torch.float64,
        )
    _sampler.rejection_random_sample_kernel[(batch,)](
        emitted,
        ends,
        drafts,
        q,
        p,
        bonus,
        recovered,
        uniforms,
        torch.zeros(batch, dtype=torch.bool, device=drafts.device),  # none is greedy
        most,
        vocabulary,
        None,
        NO_DRAFT_PROBS=q is None,
        SYNTHETIC_MODE=False,
    )
    return emitted
