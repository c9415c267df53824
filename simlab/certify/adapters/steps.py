"""sequential-speculative-decoding, and mini-infer: packages whose step drafts, verifies and commits a block."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np

from simlab.certify.adapters.tables import Model, after_each, drafted, ended, logits
from simlab.certify.adapters.torch_random import drawing

GAMMA = 3  # tokens a step drafts: with fewer, hierarchical acceptance has nothing to look back on


def sequential(method: str) -> Any:
    """Steps of ``seqspecdecod`` at temperature 1: ``standard_sd``, ``naive_hsd`` or ``capped_hsd``."""
    named = {"standard_sd": "standard_speculative_step"}.get(method, f"{method}_step")
    step = getattr(import_module(f"seqspecdecod.{method}"), named)

    def extended(target: Model, draft: Model, tokens: Any) -> Any:
        nets = (lambda ids, net=net: SimpleNamespace(logits=_logits(net, ids)) for net in (draft, target))
        return step(*nets, tokens, gamma=GAMMA, draft_temperature=1.0, target_temperature=1.0)[0]

    return _decoding(extended)


def mini_infer() -> Any:
    """``speculative_step`` at temperature 1."""
    import torch
    from mini_infer.speculative.verifier import speculative_step

    def extended(target: Model, draft: Model, tokens: Any) -> Any:
        nets = (lambda ids, net=net: (_logits(net, ids), None) for net in (target, draft))
        found, _ = speculative_step(*nets, tokens, k_draft=GAMMA, temperature=1.0)
        return torch.cat([tokens, torch.tensor([found])], dim=1)

    return _decoding(extended)


def _logits(model: Model, ids: Any) -> Any:
    """Those of the model after each token ``[1, n, V]``."""
    return logits(after_each(model, ids.tolist()[0]))[None]


def _decoding(extended: Callable[[Model, Model, Any], Any]) -> Any:
    """The loop of the contract ``decode`` that takes such a step until there are enough tokens."""
    import torch

    def decode(model: Model, length: int, rng: np.random.Generator, eos: int | None = None) -> list[int]:
        tokens, draft = torch.zeros(1, 1, dtype=torch.long), drafted(model)
        with drawing(rng):
            while tokens.shape[1] <= length and eos not in tokens[0, 1:].tolist():
                tokens = extended(model, draft, tokens)
        return ended([int(token) for token in tokens[0, 1:].tolist()][:length], eos)

    return decode
