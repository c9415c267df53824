"""flashspec: its verification step, and its engine with a drafter of another temperature."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.adapters.tables import Model, drafted, ended, logits, model_class
from simlab.certify.adapters.torch_random import drawing


def verify() -> Any:
    """``rejection_step`` on log-probabilities, float32 as its engine has them."""
    import torch
    from flashspec.sampling.rejection import rejection_step

    def verify(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        with drawing(rng):
            found = rejection_step(torch.from_numpy(drafts)[None], logits(q)[None], logits(p)[None])
        accepted, last = found[0].tolist()
        return [*drafts[:accepted].tolist(), last]

    return verify


def engine(temperature: float = 0.0, batch: int = 2, gamma: int = 2) -> Any:
    """The first row of what the engine generates, sampling at temperature 1, with a drafter of ``temperature``."""
    import torch
    from flashspec import FlashSpecConfig, SamplingConfig, SpeculativeEngine
    from flashspec.engine.hf_drafter import HuggingFaceDrafter
    from flashspec.engine.verifier import TargetModel

    logging.getLogger("flashspec").setLevel(logging.ERROR)
    engines: dict[int, tuple[Any, Any, Any]] = {}
    prompt = torch.zeros(batch, 1, dtype=torch.long)

    def made(vocabulary: int) -> tuple[Any, Any, Any]:
        target, draft = (model_class()(vocabulary) for _ in range(2))
        device, single = torch.device("cpu"), torch.float32
        drafter = HuggingFaceDrafter("draft", device, single, temperature, model=draft)
        sampling = SamplingConfig(gamma=gamma, temperature=1.0)
        config = FlashSpecConfig(device="cpu", dtype="float32", sampling=sampling)
        return target, draft, SpeculativeEngine(config, [drafter], TargetModel("target", device, single, model=target))

    def decode(model: Model, length: int, rng: np.random.Generator, eos: int | None = None) -> list[int]:
        vocabulary = len(model(()))
        if vocabulary not in engines:
            engines[vocabulary] = made(vocabulary)
        target, draft, engine = engines[vocabulary]
        target.pmf, draft.pmf = model, drafted(model)
        with drawing(rng):
            found = engine.generate(prompt, max_new_tokens=length, eos_token_ids=[] if eos is None else [eos])
        return ended([int(token) for token in found.output_ids[0]], eos)

    return decode
