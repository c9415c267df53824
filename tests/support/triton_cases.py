"""Parity of the fused decoders: cases, each run in both forms. Used under Triton's interpreter and on a device.

``python -m tests.support.triton_cases NAME...`` prints, as JSON, where a case differs from the reference form. Whether
kernels are interpreted (``TRITON_INTERPRET=1``) is settled when Triton is first imported, so that takes a process of
its own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from simlab.decoders import Run, make_decoder, run
from simlab.decoders.initial import INITIALS
from simlab.processes import Process
from simlab.randomness import Tape
from simlab.rules import Speculative


class Ready(Process):
    """Rows that depend on the position and the token before it, where they are ready."""

    TABLE = 31

    def __init__(self, vocabulary: int, shape: tuple[int, int], device: str = "cpu", seed: int = 0) -> None:
        generator = torch.Generator().manual_seed(seed)
        logits = torch.randn(self.TABLE, vocabulary, generator=generator) * 3
        self.table = logits.softmax(-1).to(device)
        self.table[::3, vocabulary // 3 :] = 0  # not normalised, and with zeros
        self.vocabulary, self.shape, self.length = vocabulary, shape, shape[0] * shape[1]
        self.uniform = torch.full((vocabulary,), 1 / vocabulary, device=device)

    def _rows(self, tokens: Tensor, start: Tensor, count: int) -> Tensor:
        position = start[:, None] + torch.arange(count, device=start.device)
        before = tokens.gather(1, (position - 1).clamp(0, tokens.shape[1] - 1))
        return self.table[(7 * position + before % 3) % self.TABLE]


@dataclass(frozen=True)
class Case:
    """A decoder over a process, at a seed, for a batch."""

    decoder: str
    parameters: dict[str, Any]
    vocabulary: int = 300
    shape: tuple[int, int] = (2, 2)
    seed: int = 0
    batch: int = 2

    def processes(self, device: str) -> tuple[Process, Process | None]:
        """The target, and the draft where there is one, made afresh."""
        drafts = make_decoder(self.decoder, **self.parameters).needs_draft
        draft_rows = Ready(self.vocabulary, self.shape, device, seed=5) if drafts else None
        return Ready(self.vocabulary, self.shape, device), draft_rows


def difference(case: Case, device: str = "cpu") -> str | None:
    """How the fused form differs from the reference form, None where it does not."""
    from simlab.decoders.triton import run as run_fused

    def decoded(form: Callable[..., Run], seed: int) -> Run:
        process, draft = case.processes(device)
        tape = Tape(seed + (1 << 63), range(3, 3 + case.batch))
        return form(make_decoder(case.decoder, **case.parameters), process, Speculative(), tape, draft)

    expected, found = decoded(run, case.seed), decoded(run_fused, case.seed)
    others = [decoded(run, case.seed + k).tokens for k in range(1, 5)]
    assert not all(torch.equal(found.tokens, tokens) for tokens in others), "other seeds should be seen"
    for what, one, other in zip(("tokens", "steps"), expected, found, strict=True):
        if not torch.equal(one, other):
            return f"{what} are {other.tolist()}; expected {one.tolist()}"
    return None


def without_mass(device: str = "cpu") -> str | None:
    """Rows that are no numbers end in an error for people."""
    from simlab.decoders.triton import run as run_fused

    process = Ready(64, (1, 3), device)
    process.table[:] = float("nan")
    try:
        found = run_fused(make_decoder("sjd", window=1), process, Speculative(), Tape(0, 1))
    except RuntimeError as error:
        return None if "no mass" in str(error) else str(error)
    return f"tokens are {found.tokens.tolist()}; expected an error"


FULL = {"window": 3, "candidates": 2, "depth": 2, "tree": "full"}
NOISY = {"window": 2, "initial": "sample-above", "bonus": False, "levels": 2, "criterion": "noisy"}
SMALLEST = "sjd-pac"
SMALL = {SMALLEST: Case("sjd-pac", {"window": 2, "candidates": 2, "depth": 1}, batch=1, shape=(1, 2))}
DECODERS = {
    "autoregressive": Case("autoregressive", {}),
    "speculative": Case("speculative", {"gamma": 2}, shape=(1, 3), batch=1),
    "skipping": Case("skipping", {"gamma": 3, "skipped": 2}, shape=(1, 4), batch=1),
    "sjd-ac": Case("sjd-ac", {"window": 3}),
    "sjd-block": Case("sjd-block", {"window": 3}),
    "block, fresh": Case("sjd-block", {"window": 2, "renewal": "fresh", "bonus": False}, shape=(1, 3), batch=1),
    "sjd-unrefined": Case("sjd-unrefined", {"window": 2}, shape=(1, 3), batch=1),
    "sjd-reference": Case("sjd-reference", {"window": 3}, shape=(1, 3), batch=1),
    "sjd-pv": Case("sjd-pv", {"window": 3}, shape=(1, 3), seed=3, batch=1),
    "phrases, shortened": Case("sjd-pv", {"window": 5, "phrase": 3, "failing": "shorten"}, 20, (2, 4), seed=4),
    "sjd-vp": Case("sjd-vp", {"window": 3}, shape=(1, 4), batch=1),
    "rising, from above": Case("sjd-vp", {"window": 2, "initial": "sample-above"}, 64, (2, 3), batch=1),
    "rising, declared newest": Case("sjd-vp", {"window": 3, "declared": "newest"}, 64, (1, 5), seed=9, batch=1),
    "sjd2": Case("sjd2", {"window": 3}, shape=(1, 4), seed=1, batch=1),
    "noise accepted": Case("sjd2", NOISY, 64, (2, 3), seed=8, batch=1),
    "without bonus": Case("sjd", {"window": 1, "bonus": False}, shape=(1, 3), batch=1),
}
TREES = {
    "full": Case("sjd-pac", FULL, batch=1, shape=(1, 3)),
    "comb": Case("sjd-pd", {"window": 2, "candidates": 3, "depth": 1}, batch=1, shape=(1, 3)),
    "shared": Case("sjd-pd", FULL | {"shared": True}, batch=1, shape=(1, 2)),
    "dropped": Case("sjd-pac", {"window": 2, "candidates": 2, "depth": 1, "kept": "dropped"}, batch=1, shape=(1, 3)),
}
STARTS = {each: Case("sjd", {"window": 2, "initial": each}, 64, (2, 3), batch=1) for each in INITIALS[1:]}
VOCABULARIES = {
    "256": Case("sjd", {"window": 2}, 256, (1, 3), seed=7, batch=1),
    "1000": Case("sjd-ac", {"window": 2}, 1000, (1, 2), seed=8),
    "4096": Case("sjd-pac", {"window": 1, "candidates": 2, "depth": 1}, 4096, (1, 3), seed=9, batch=1),
    "5000": Case("sjd", {"window": 2}, 5000, (1, 2), seed=9, batch=1),
    "16384": Case("sjd-pac", {"window": 1, "candidates": 2, "depth": 1}, 16384, (1, 2), batch=1),
}
CASES = {**SMALL, **DECODERS, **TREES, **STARTS, **VOCABULARIES}
CHECKS: dict[str, Callable[..., str | None]] = {
    **{name: partial(difference, case) for name, case in CASES.items()},
    "without mass": without_mass,
}


if __name__ == "__main__":
    from tests.support.interpreted import prepare_once

    prepare_once()
    print(json.dumps({name: CHECKS[name]() for name in sys.argv[1:]}))
