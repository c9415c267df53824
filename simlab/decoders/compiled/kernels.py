"""The kernel of every decoder: of those that have none, their reference form."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import numpy as np

from simlab.decoders import Decoder
from simlab.decoders.compiled.base import KERNELS, Kernel
from simlab.decoders.compiled.renewal import declares_wide
from simlab.processes import Process
from simlab.randomness.tape_compiled import Uniforms
from simlab.rules import Rule
from simlab.rules.compiled.dispatch import COMPILERS, compiled

__all__ = ["KERNELS", "kernel_of"]

for module in iter_modules([str(Path(__file__).parent)]):  # each says which decoders its kernel is of
    if module.name != "tensors":  # which needs torch
        import_module(f"simlab.decoders.compiled.{module.name}")


def kernel_of(decoder: Decoder, process: Process, rule: Rule, draft: Process | None) -> Kernel[Any]:
    """The kernel of a decoder with a rule; where one of them has no compiled form, one that runs both as they are.

    Raises ``ValueError`` for a rule with a table of another vocabulary, which a kernel would read beyond its end.
    """
    rule.check_vocabulary(process.vocabulary)
    if type(decoder) in KERNELS and type(rule) in COMPILERS:
        return KERNELS[type(decoder)](decoder, process, compiled(rule), draft)
    return Reference(decoder, process, rule, draft)  # type: ignore[arg-type]


class Reference(Kernel[Any]):
    """A decoder and a rule in their reference forms, for sequences of one seed that are in one iteration."""

    rows = 1  # or more: batches of what is not compiled are better large

    def start(self, uniforms: Uniforms, batch: int) -> Any:
        state = super().start(uniforms, batch)
        if declares_wide(self.decoder):  # from the first step on
            state = state._replace(q=state.q.astype(np.float64))
        return state

    def step(self, state: Any, uniforms: Uniforms) -> np.ndarray:
        found, info = self.decoder.step(state, self.process, self.rule, uniforms.tape(), self.draft)
        for array, changed in zip(state, found, strict=True):
            array[...] = changed
        return info.accepted
