"""SGLang: the Triton kernel that verifies a chain of drafts, on a CUDA device or, without one, by the interpreter.

``simlab certify experiments/engines/sglang.py:chain --contract chain_uniforms --arrays torch`` certifies the usual
verification, ``:blocks`` that with ``block_verification``; on a device with ``--arrays cuda``. The file is that of the
installed package, which may be installed without its dependencies, or of the sources in ``$SGLANG_SOURCE``.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import torch

if not torch.cuda.device_count():  # starts no device, unlike is_available: a certificate is a fork
    os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported

from experiments.engines.source import find, load

SOURCE = "sglang/kernels/ops/speculative/reject_sampling.py"

Tensor = torch.Tensor

_kernel = load(find("sglang", SOURCE, "SGLANG_SOURCE"), "sglang_reject_sampling", [])


def chain(p: Tensor, q: Tensor, drafts: Tensor, uniforms: Tensor, uniform: Tensor, **options: Any) -> list[int]:
    """The contract ``chain_uniforms``."""
    slots = len(p)  # the token before the drafts, and the drafts
    index = torch.arange(slots, device=p.device)[None]
    emitted, accepted = torch.full((slots,), -1, device=p.device), torch.zeros(1, dtype=torch.long, device=p.device)
    _kernel.chain_speculative_sampling_triton(
        *(emitted, torch.full_like(index, -1), accepted),
        torch.cat([accepted, drafts])[None],
        *(index, None, None),
        *(uniforms[None], uniform.reshape(1), p[None], q[None]),
        *(1.0, 1.0, True),
        **options,
    )
    return [int(token) for token in emitted[: int(accepted) + 1].tolist()]


blocks: Any = partial(chain, block_verification=True)  # the same, verified block by block
