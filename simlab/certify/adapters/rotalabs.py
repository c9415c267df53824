"""rotalabs-accel: its verification, its rejection of one token, and its loop."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.adapters.tables import Model, drafted, ended, logits, model_class
from simlab.certify.adapters.torch_random import drawing

GAMMA = 2


def verify_tokens() -> Any:
    """``verify_tokens`` at temperature 1 with nothing filtered out, with rows in place of the target model."""
    import torch
    from rotalabs_accel.speculative.core import verify_tokens

    last = torch.zeros(1, 1, dtype=torch.long)

    def verify(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        answer = SimpleNamespace(logits=logits(p)[None], past_key_values=None)
        proposed = torch.from_numpy(drafts)
        scored = torch.from_numpy(q).float().gather(1, proposed[:, None])[:, 0]
        with drawing(rng):
            tokens, _, _ = verify_tokens(lambda *_, **__: answer, last, proposed, scored, None, 1.0, 1.0)
        return [int(token) for token in tokens.tolist()]

    return verify


def rejection_sample() -> Any:
    """``rejection_sample`` for one draft after another; the token behind the last one is drawn from p here."""
    import torch
    from rotalabs_accel.speculative import rejection_sample

    def verify(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        target, draft = (torch.from_numpy(rows).float() for rows in (p, q))
        tokens = []
        with drawing(rng):
            for i, token in enumerate(torch.from_numpy(drafts)):
                kept, emitted = rejection_sample(target[i, token], draft[i, token], token, target[i].log())
                tokens.append(int(emitted))
                if not kept:
                    return tokens
            return [*tokens, int(torch.multinomial(target[-1], 1))]

    return verify


def decode() -> Any:
    """``speculative_decode`` at temperature 1 with nothing filtered out."""
    import torch
    from rotalabs_accel.speculative import DecodingMode, SpeculativeConfig
    from rotalabs_accel.speculative.core import speculative_decode

    def decode(model: Model, length: int, rng: np.random.Generator, eos: int | None = None) -> list[int]:
        vocabulary = len(model(()))
        target, draft = (model_class()(vocabulary) for _ in range(2))
        target.pmf, draft.pmf = model, drafted(model)
        found: list[list[int]] = []
        tokenizer = SimpleNamespace(
            encode=lambda *_, **__: torch.zeros(1, 1, dtype=torch.long),
            decode=lambda tokens, **_: found.append(tokens.tolist()),
            eos_token_id=-1 if eos is None else eos,
        )
        config = SpeculativeConfig(
            mode=DecodingMode.SAMPLING,  # its default is greedy
            lookahead_k=GAMMA,
            max_new_tokens=length,
            temperature=1.0,
            top_p=1.0,
            top_k=0,
            adaptive_k=False,
        )
        with drawing(rng):
            speculative_decode(draft, target, tokenizer, "", config, torch.device("cpu"))
        return ended(found[0][1:], eos)[:length]

    return decode
