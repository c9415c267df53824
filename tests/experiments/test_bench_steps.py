"""Both forms that are measured on ready rows take the same steps."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from experiments.bench.steps import DECODERS, NODES, Ready, kernel_steps, one_thread, reference_steps

pytestmark = pytest.mark.parity


@pytest.mark.parametrize("name", DECODERS)
def test_both_forms_take_the_same_steps(name: str) -> None:
    drawn = np.random.Generator(np.random.Philox(1)).standard_exponential((2, NODES + 1, 32))
    rows = torch.from_numpy((drawn / drawn.sum(-1, keepdims=True)).astype(np.float32))
    kernel, reference = (form(DECODERS[name], Ready(rows)) for form in (kernel_steps, reference_steps))
    gained = []
    with one_thread():
        for _ in range(5):
            mine, other = kernel(), reference()
            length = int(mine.length[0])
            assert length == int(other.length[0])
            assert (mine.tokens[0, : length + 8] == other.tokens[0, : length + 8].numpy()).all()
            gained.append(length)
    assert len(set(gained)) > 1
