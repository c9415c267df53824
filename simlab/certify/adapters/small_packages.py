"""specdec, and speculative-decoding: small packages with a verification routine or a loop."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.adapters.tables import Model, after_each, drafted, ended, logits
from simlab.certify.adapters.torch_random import drawing
from simlab.certify.contracts.scripted import NotScripted, Scripted

GAMMA = 2


def specdec() -> Any:
    """``SpecDecoder.verify``, with rows in place of the large model."""
    import torch
    from specdec.decoder import SpecDecoder

    prompt = torch.zeros(1, 1, dtype=torch.long)

    def verify(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        answer = SimpleNamespace(logits=logits(p)[None])
        decoder = SimpleNamespace(big_model=lambda tokens: answer, device="cpu")
        with drawing(rng):
            rows = list(torch.from_numpy(q).float()[:, None])
            return [int(token) for token in SpecDecoder.verify(decoder, prompt, drafts.tolist(), rows)]

    return verify


def speculative_decoding() -> Any:
    """The whole loop ``speculative_decoding``, with no token filtered out."""
    import torch
    from speculative_decoding import speculative_decoding

    prompt = torch.zeros(1, 1, dtype=torch.long)

    def net(model: Model) -> Any:
        def forward(out: torch.Tensor, **_: Any) -> Any:
            (tokens,) = out.tolist()
            cached = torch.zeros(1, 1, 2, 1, len(tokens), 1)  # nothing is cached; its shape is read
            return logits(after_each(model, tokens))[None], (cached, None)

        return forward

    def decode(model: Model, length: int, rng: np.random.Generator, eos: int | None = None) -> list[int]:
        if isinstance(rng, Scripted):
            raise NotScripted("tokens drawn as the largest of noisy logits")  # one uniform for every token there is
        with drawing(rng):
            found, _ = speculative_decoding(
                net(model), net(drafted(model)), prompt, length + 1, gamma=GAMMA, filter_thres=0.0
            )
        return ended([int(token) for token in found[0].tolist()], eos)

    return decode
