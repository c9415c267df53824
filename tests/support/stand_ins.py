"""Stand-ins for packages of others that are not installed here, as their adapters call them.

A stand-in has the names, arguments and shapes of the package, at the version that is named, and a few lines of
speculative sampling of its own behind them: right, or with a residual that is drawn from p (``wrong``). What is called
otherwise than the package allows fails.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

Rows = Callable[[Tensor], Tensor]  # of logits [1, n, V], one for each of the tokens [1, n]


def emitted(p: Tensor, q: Tensor, drafts: list[int], wrong: bool) -> list[int]:
    """Speculative sampling: rows ``p[gamma + 1, V]``, ``q[gamma, V]`` and ``drafts[gamma]``."""
    for i, token in enumerate(drafts):
        if torch.rand(()) * q[i, token] >= p[i, token]:
            return [*drafts[:i], drawn(p[i] if wrong else (p[i] - q[i]).clamp(min=0))]
    return [*drafts, drawn(p[-1])]


def drawn(row: Tensor) -> int:
    return int(torch.multinomial(row, 1))


def extended(target: Rows, draft: Rows, tokens: Tensor, gamma: int, wrong: bool) -> list[int]:
    """What a step adds to ``tokens[1, n]``."""
    assert tokens.dtype == torch.long
    assert tokens.shape[0] == 1
    seen, q = tokens, []
    for _ in range(gamma):
        q.append(draft(seen)[0, -1].softmax(-1))
        seen = torch.cat([seen, torch.tensor([[drawn(q[-1])]])], dim=1)
    p = target(seen)[0, -gamma - 1 :].softmax(-1)
    return emitted(p, torch.stack(q), seen[0, tokens.shape[1] :].tolist(), wrong)


# The packages ----------------------------------------------------------------------------------------------------


@dataclass
class SamplingMetadata:
    """vLLM's since 0.11: what has a default there is left out."""

    temperature: Tensor | None
    all_greedy: bool
    all_random: bool
    top_p: Tensor | None
    top_k: Tensor | None
    generators: dict[int, torch.Generator]
    max_num_logprobs: int | None
    no_penalties: bool
    prompt_token_ids: Tensor | None
    frequency_penalties: Tensor
    presence_penalties: Tensor
    repetition_penalties: Tensor
    output_token_ids: list[list[int]]
    allowed_token_ids_mask: Tensor | None
    bad_words_token_ids: dict[int, list[list[int]]]
    logitsprocs: Any


def vllm(wrong: bool) -> dict[str, dict[str, Any]]:
    """vLLM 0.11 and later: ``rejection_sample`` of one flattened batch."""

    def rejection_sample(
        draft_token_ids: Tensor,
        num_draft_tokens: list[int],
        max_spec_len: int,
        cu_num_draft_tokens: Tensor,
        draft_probs: Tensor,
        target_logits: Tensor,
        bonus_token_ids: Tensor,
        sampling_metadata: SamplingMetadata,
    ) -> Tensor:
        (gamma,) = num_draft_tokens
        assert (draft_token_ids.dtype, draft_token_ids.shape) == (torch.int32, (gamma,))
        assert (cu_num_draft_tokens.dtype, cu_num_draft_tokens.tolist()) == (torch.int32, [gamma])
        assert (bonus_token_ids.dtype, bonus_token_ids.shape) == (torch.int32, (1, 1))
        assert max_spec_len == gamma
        assert draft_probs.dtype == torch.float32
        assert draft_probs.shape == target_logits.shape == (gamma, target_logits.shape[1])
        assert all(one.is_contiguous() for one in (draft_token_ids, draft_probs, target_logits, bonus_token_ids))
        assert sampling_metadata.all_random
        assert not sampling_metadata.all_greedy
        assert sampling_metadata.temperature is not None
        assert sampling_metadata.temperature.tolist() == [1.0]
        p = target_logits.softmax(-1, dtype=torch.float32)
        bonus = torch.zeros_like(p[0])
        bonus[int(bonus_token_ids)] = 1
        tokens = emitted(torch.cat([p, bonus[None]]), draft_probs, draft_token_ids.tolist(), wrong)
        return torch.tensor([tokens + [-1] * (gamma + 1 - len(tokens))], dtype=torch.int32)

    return {
        "vllm.v1.sample.logits_processor": {"LogitsProcessors": list},
        "vllm.v1.sample.metadata": {"SamplingMetadata": SamplingMetadata},
        "vllm.v1.sample.rejection_sampler": {"rejection_sample": rejection_sample},
    }


def flashinfer(wrong: bool) -> dict[str, dict[str, Any]]:
    """FlashInfer 0.7: ``chain_speculative_sampling`` of a batch."""

    def chain_speculative_sampling(
        draft_probs: Tensor, draft_token_ids: Tensor, target_probs: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        batch, gamma, size = draft_probs.shape
        assert batch == 1
        assert draft_token_ids.shape == (1, gamma)
        assert target_probs.shape == (1, gamma + 1, size)
        assert not target_probs.dtype.is_complex
        tokens = emitted(target_probs[0], draft_probs[0], draft_token_ids[0].tolist(), wrong)
        counts = torch.tensor([len(tokens) - 1], dtype=torch.int32)
        return torch.tensor([tokens + [-1] * (gamma + 1 - len(tokens))], dtype=torch.int32), counts, counts

    return {"flashinfer.sampling": {"chain_speculative_sampling": chain_speculative_sampling}}


class DecodingMode(Enum):
    GREEDY = "greedy"
    SAMPLING = "sampling"


@dataclass
class SpeculativeConfig:
    """Of rotalabs-accel 1.1.1, with its defaults."""

    lookahead_k: int = 4
    max_new_tokens: int = 256
    temperature: float = 1.0
    top_p: float = 0.9
    top_k: int = 50
    mode: DecodingMode = DecodingMode.GREEDY
    adaptive_k: bool = False
    min_k: int = 2
    max_k: int = 8
    use_kv_cache: bool = True


def rotalabs(wrong: bool) -> dict[str, dict[str, Any]]:
    """rotalabs-accel 1.1.1. Two of its functions get q of the drafted token alone.

    Of such, what draws from p and goes on while the draft is the same is right.
    """

    def one(p: Tensor, q: Tensor, token: int) -> tuple[bool, int]:
        if not wrong:
            own = drawn(p)
            return own == token, own
        kept = bool(torch.rand(()) * q < p[token])
        return kept, token if kept else drawn(p)

    def rejection_sample(
        target_prob: Tensor, draft_prob: Tensor, draft_token: Tensor, target_logits: Tensor, use_sampling: bool = True
    ) -> tuple[bool, Tensor]:
        assert use_sampling
        p = target_logits.softmax(-1)
        torch.testing.assert_close(p[draft_token], target_prob)
        kept, token = one(p, draft_prob, int(draft_token))
        return kept, torch.tensor(token)

    def verify_tokens(
        model: Any,
        input_ids: Tensor,
        draft_tokens: Tensor,
        draft_probs: Tensor,
        past_key_values: Any,
        temperature: float = 1.0,
        top_p: float = 0.9,
        use_sampling: bool = True,
    ) -> tuple[Tensor, int, Any]:
        assert (temperature, top_p, use_sampling) == (1.0, 1.0, True)
        assert draft_probs.shape == draft_tokens.shape
        told = model(
            torch.cat([input_ids, draft_tokens[None]], dim=-1), past_key_values=past_key_values, use_cache=True
        )
        p = told.logits[0].softmax(-1)
        tokens: list[int] = []
        for i, token in enumerate(draft_tokens.tolist()):
            kept, found = one(p[i], draft_probs[i], token)
            tokens.append(found)
            if not kept:
                return torch.tensor(tokens), i, told.past_key_values
        return torch.tensor([*tokens, drawn(p[-1])]), len(tokens), told.past_key_values

    def speculative_decode(
        draft_model: Any, target_model: Any, tokenizer: Any, prompt: str, config: SpeculativeConfig, device: Any
    ) -> tuple[str, Any]:
        assert (config.mode, config.temperature, config.top_p) == (DecodingMode.SAMPLING, 1.0, 1.0)
        assert (config.top_k, config.adaptive_k) == (0, False)
        tokens = begun = tokenizer.encode(prompt, return_tensors="pt").to(device)
        nets = (lambda ids, net=net: net(ids, use_cache=True).logits for net in (target_model, draft_model))
        target, draft = nets
        while tokens.shape[1] - begun.shape[1] < config.max_new_tokens:
            more = extended(target, draft, tokens, config.lookahead_k, wrong)
            tokens = torch.cat([tokens, torch.tensor([more])], dim=1)
            if tokenizer.eos_token_id in more:
                break
        return tokenizer.decode(tokens[0], skip_special_tokens=True), None

    names = {"SpeculativeConfig": SpeculativeConfig, "DecodingMode": DecodingMode, "rejection_sample": rejection_sample}
    return {
        "rotalabs_accel.speculative": names,
        "rotalabs_accel.speculative.core": {"verify_tokens": verify_tokens, "speculative_decode": speculative_decode},
    }


def sequential(wrong: bool) -> dict[str, dict[str, Any]]:
    """sequential-speculative-decoding 0.1.1: the steps of its three methods, all of them the standard one here."""

    def step(
        draft_model: Any,
        target_model: Any,
        input_ids: Tensor,
        gamma: int = 5,
        draft_temperature: float = 0.6,
        target_temperature: float = 0.6,
    ) -> tuple[Tensor, int, int]:
        assert draft_temperature == target_temperature == 1.0
        nets = (lambda ids, net=net: net(ids).logits for net in (target_model, draft_model))
        more = extended(*nets, input_ids, gamma, wrong)
        return torch.cat([input_ids, torch.tensor([more])], dim=1), len(more) - 1, gamma

    return {
        "seqspecdecod.standard_sd": {"standard_speculative_step": step},
        "seqspecdecod.naive_hsd": {"naive_hsd_step": step},
        "seqspecdecod.capped_hsd": {"capped_hsd_step": step},
    }


def mini_infer(wrong: bool) -> dict[str, dict[str, Any]]:
    """mini-infer 0.2.5: ``speculative_step``."""

    def speculative_step(
        target_model: Any, draft_model: Any, prefix_ids: Tensor, k_draft: int = 3, temperature: float = 0.0
    ) -> tuple[list[int], int]:
        assert temperature == 1.0
        nets = (lambda ids, net=net: net(ids)[0] for net in (target_model, draft_model))
        more = extended(*nets, prefix_ids, k_draft, wrong)
        return more, len(more) - 1

    return {"mini_infer.speculative.verifier": {"speculative_step": speculative_step}}


def mlx_lm(wrong: bool, coins: list[float]) -> dict[str, dict[str, Any]]:
    """mlx 0.3x and mlx-lm 0.32: each token is drawn from p, and drafts are kept while they are the same.

    What it draws is served from ``coins``; a wrong one keeps the last draft that is not the same.
    """

    def categorical(logits: np.ndarray) -> np.ndarray:
        assert logits.dtype == np.float32
        return np.array([int((np.exp(row).cumsum() <= coins.pop(0)).sum()) for row in logits])

    def drawn_by(model: Any, cache: list[Any], tokens: list[int], count: int, sampler: Any) -> list[int]:
        logits = model(np.array(tokens)[None], cache=cache)[0, -count:]
        found: list[int] = sampler(logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)).tolist()
        return found

    def speculative_generate_step(
        prompt: np.ndarray, model: Any, draft_model: Any, *, num_draft_tokens: int, max_tokens: int, sampler: Any
    ) -> Any:
        caches = [net.make_cache() for net in (model, draft_model)]
        assert all(one.is_trimmable() for cache in caches for one in cache)
        seen, count = prompt.tolist(), 0
        while count < max_tokens:
            drafts, unseen = list[int](), seen
            for _ in range(min(max_tokens - count, num_draft_tokens)):
                unseen = drawn_by(draft_model, caches[1], unseen, 1, sampler)
                drafts += unseen
            own = drawn_by(model, caches[0], [*seen, *drafts], len(drafts) + 1, sampler)
            for cache, more in zip(caches, (len(drafts), max(len(drafts) - 1, 0)), strict=True):
                assert cache[0].trim(more) == more  # and what was seen before, which the package would keep
                cache[0].trim(len(seen))
            same = next((i for i, token in enumerate(drafts) if own[i] != token), len(drafts))
            found = drafts[: same + 1] if wrong and same < len(drafts) else own[: same + 1]
            yield from ((token, None, False) for token in found[: max_tokens - count])
            count += len(found)
            seen += found

    random = SimpleNamespace(seed=lambda number: None, categorical=categorical)
    return {
        "mlx.core": {"array": np.asarray, "random": random},
        "mlx_lm.generate": {"speculative_generate_step": speculative_generate_step},
    }


def install(monkeypatch: Any, modules: dict[str, dict[str, Any]]) -> None:
    """Have these modules imported, and the packages that they are in, for as long as the test runs."""
    parents = {name.rsplit(".", depth)[0] for name in modules for depth in range(1, name.count(".") + 1)}
    for name in parents | set(modules):
        module = ModuleType(name)
        module.__dict__.update(modules.get(name, {}), __path__=[])
        monkeypatch.setitem(sys.modules, name, module)
