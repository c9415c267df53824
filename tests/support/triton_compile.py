"""Compile the fused kernels for a GPU that is not there: what the interpreter forgives, the compiler does not.

``python -m tests.support.triton_compile VOCABULARY NAME...`` prints, as JSON, the kernels of these decoders and the
sizes of the programs that ptxas makes of them for sm_90.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import torch
import triton
from torch import Tensor
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from simlab.decoders import make_decoder
from simlab.decoders.triton.fused import Fused, FusedState, warps_of
from simlab.randomness import Tape
from simlab.rules import Speculative
from tests.support.triton_cases import Ready

HOPPER = GPUTarget("cuda", 90, 32)
TYPES = {torch.float32: "*fp32", torch.float64: "*fp64", torch.int64: "*i64"}
DECODERS: dict[str, dict[str, Any]] = {
    "sjd-pac": {"window": 64, "candidates": 4, "depth": 3},
    "sjd-ac": {"window": 16, "initial": "repeat-above"},
    "sjd": {"window": 16, "initial": "sample-above"},
    "sjd-block": {"window": 16},
    "sjd-pv": {"window": 16, "phrase": 3, "failing": "shorten"},
    "sjd-vp": {"window": 16, "initial": "sample-above"},
    "sjd2": {"window": 16, "levels": 2},
    "speculative": {"gamma": 5},
    "autoregressive": {},
}
found: dict[str, int] = {}


class Compiled(Fused):
    """Compiles what it would launch."""

    def _launch(
        self,
        kernel: Any,
        grid: tuple[int, ...],
        state: FusedState,
        batch: Tensor,
        call: Tensor | None = None,
        **more: Any,
    ) -> None:
        known = self._known(state, batch, call, more)
        fixed = {parameter.name: known[parameter.name] for parameter in kernel.params if parameter.is_constexpr}
        signature = {
            name: "constexpr" if name in fixed else "i32" if isinstance(known[name], int) else TYPES[known[name].dtype]
            for name in kernel.arg_names
        }
        options = {"num_warps": warps_of(kernel), "enable_fp_fusion": False}
        made = triton.compile(ASTSource(kernel, signature, fixed), target=HOPPER, options=options)
        assert "fma.rn.f" not in made.asm["ptx"], "a fused multiplication and addition rounds once"
        found[f"{kernel.__name__} {sorted(fixed.items())}"] = len(made.asm["cubin"])


if __name__ == "__main__":
    process = Ready(int(sys.argv[1]), (24, 24))
    for name in sys.argv[2:]:
        draft = process if name == "speculative" else None
        fused = Compiled(make_decoder(name, **DECODERS[name]), process, Speculative(), 2, draft)
        fused.step(fused.start(Tape(0, 2)))
    print(json.dumps(found))
