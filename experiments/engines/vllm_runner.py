"""vLLM's second model runner: ``rejection_sample``, whose kernels run by Triton's interpreter on a CPU.

``simlab certify experiments.engines.vllm_runner:scored`` certifies the usual verification, ``:blockwise`` block
verification, ``:unscored`` drafts without q. Coins come of a seed of each call, which the generator draws. Files are
those of the installed package, or of the sources in ``$VLLM_SOURCE``.
"""

from __future__ import annotations

import os

os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported

from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from experiments.engines.source import find, load
from simlab.arrays import Array

SOURCE = "vllm/v1/worker/gpu/"


@triton.jit
def _log1p(x: Any) -> Any:
    """The interpreter has no functions of a device."""
    return tl.log(1.0 + x)


_triton = {"vllm.triton_utils": {"tl": tl, "triton": triton, "tldevice": SimpleNamespace(log1p=_log1p)}}
_gumbel = load(find("vllm", f"{SOURCE}sample/gumbel.py", "VLLM_SOURCE"), "vllm_gumbel", ["vllm"], _triton)
_noise = {"vllm.v1.worker.gpu.sample.gumbel": vars(_gumbel)}
_sampler = load(
    find("vllm", f"{SOURCE}spec_decode/rejection_sampler_utils.py", "VLLM_SOURCE"),
    "vllm_rejection_sampler_utils",
    ["vllm"],
    _triton | _noise,
)


def verify(
    p: Array, q: Array, drafts: Array, rng: np.random.Generator, with_q: bool = True, blocks: bool = False
) -> list[int]:
    """The contract ``verify``: a request at temperature 1."""
    gamma, places = len(drafts), torch.arange(len(p))
    tokens, count = _sampler.rejection_sample(
        target_logits=torch.from_numpy(p).log().float(),
        draft_logits=torch.from_numpy(q).log().float()[None] if with_q else None,
        draft_sampled=torch.from_numpy(np.concatenate([[0], drafts])),
        cu_num_logits=torch.tensor([0, len(p)], dtype=torch.int32),
        pos=places,
        idx_mapping=torch.zeros(1, dtype=torch.int32),
        expanded_idx_mapping=torch.zeros(len(p), dtype=torch.int32),
        expanded_local_pos=places,
        temperature=torch.ones(1),
        seed=torch.tensor([int(rng.integers(2**62))]),
        num_speculative_steps=gamma,
        use_block_verification=blocks,
    )
    return [int(token) for token in tokens[0, : int(count[0])]]


scored: Any = verify
unscored: Any = partial(verify, with_q=False)
blockwise: Any = partial(verify, blocks=True)
