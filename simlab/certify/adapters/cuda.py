"""vLLM and FlashInfer: verifiers that run on a CUDA device only.

The device may be given, for what stands in for them elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.adapters.torch_random import drawing


def vllm(device: str = "cuda") -> Any:
    """``rejection_sample``; the bonus token, which its caller draws, is drawn by ``multinomial``."""
    import torch
    from vllm.v1.sample.logits_processor import LogitsProcessors
    from vllm.v1.sample.metadata import SamplingMetadata
    from vllm.v1.sample.rejection_sampler import rejection_sample

    none = torch.empty(0, device=device)
    metadata = SamplingMetadata(
        temperature=torch.ones(1, device=device),
        all_greedy=False,
        all_random=True,
        top_p=None,
        top_k=None,
        generators={},
        max_num_logprobs=None,
        no_penalties=True,
        prompt_token_ids=None,
        frequency_penalties=none,
        presence_penalties=none,
        repetition_penalties=none,
        output_token_ids=[[]],
        allowed_token_ids_mask=None,
        bad_words_token_ids={},
        logitsprocs=LogitsProcessors(),
    )

    def verify(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        gamma = len(drafts)
        target, draft = (torch.from_numpy(rows).float().to(device) for rows in (p, q))
        with drawing(rng):
            bonus = torch.multinomial(target[-1], 1).to(torch.int32)[None]
            emitted = rejection_sample(
                torch.from_numpy(drafts).to(device, torch.int32),
                [gamma],
                gamma,
                torch.tensor([gamma], dtype=torch.int32, device=device),
                draft.contiguous(),
                target[:-1].log().contiguous(),
                bonus,
                metadata,
            )
        return [int(token) for token in emitted[0].tolist() if token >= 0]

    return verify


def flashinfer(device: str = "cuda") -> Any:
    """``chain_speculative_sampling``."""
    import torch
    from flashinfer.sampling import chain_speculative_sampling

    def verify(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        target, draft = (torch.from_numpy(rows).float().to(device)[None] for rows in (p, q))
        proposed = torch.from_numpy(drafts).to(device, torch.int32)[None]
        with drawing(rng):
            emitted, _, _ = chain_speculative_sampling(draft, proposed, target)
        return [int(token) for token in emitted[0].tolist() if token >= 0]

    return verify
