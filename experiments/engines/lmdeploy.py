"""LMDeploy: the rejection sampling that its PyTorch engine takes where a device has no kernel of its own.

``simlab certify experiments.engines.lmdeploy:scored`` certifies it with the rows of the draft, ``:unscored`` without.
The file is that of the installed package, which may be installed without its dependencies, or of the sources in
``$LMDEPLOY_SOURCE``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch

from experiments.engines.source import find, load
from simlab.arrays import Array
from simlab.certify.adapters.torch_random import drawing

BACKENDS = "lmdeploy.pytorch.backends"
SOURCE = "lmdeploy/pytorch/backends/default/rejection_sampling.py"

_module = load(
    find("lmdeploy", SOURCE, "LMDEPLOY_SOURCE"),
    f"{BACKENDS}.default.rejection_sampling",
    ["lmdeploy"],
    {f"{BACKENDS}.rejection_sampling": {"PLACEHOLDER_TOKEN_ID": -1, "RejectionSamplingImpl": object}},
)
_sampler = _module.DefaultRejectionSamplingImpl()


def verify(p: Array, q: Array, drafts: Array, rng: np.random.Generator, with_q: bool = True) -> list[int]:
    """The contract ``verify``; the bonus token, which its caller draws, is drawn by ``multinomial``."""
    target, draft = (torch.from_numpy(rows).float() for rows in (p, q))
    with drawing(rng):
        tokens, _, _ = _sampler.forward(
            target[:-1].log()[None],
            torch.from_numpy(drafts)[None],
            torch.multinomial(target[-1], 1),
            is_greedy=None,
            draft_probs=draft[None] if with_q else None,
        )
    return [int(token) for token in tokens[0] if token >= 0]


scored: Any = verify
unscored: Any = partial(verify, with_q=False)
