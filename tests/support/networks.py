"""Tiny transformers in float64 with weights large enough that every token and every class matters."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch

from simlab.decoders import Decoder, Run, run
from simlab.models.architectures.eagle import EagleDraft, Head, HeadDrafting
from simlab.models.architectures.transformer import Causal, Config, Transformer
from simlab.models.engine.requests import Request
from simlab.models.process.cached import Cached
from simlab.models.process.sampling import Sampling
from simlab.models.process.uncached import Uncached
from simlab.randomness import Tape
from simlab.rules import Rule, Speculative

V, SHAPE, CLASSES = 5, (3, 3), 3
SIZES = {"target": (2, 16, 2), "draft": (1, 8, 2)}  # layers, dim, heads
SPECULATIVE = Speculative()
SAMPLINGS = {
    "plain": Sampling(),
    "guided": Sampling(guidance=2.0, temperature=0.8, top_k=4, top_p=0.95),
}


def randomised(model: torch.nn.Module, seed: int, spread: float = 0.5) -> torch.nn.Module:
    """Normal weights, gains 1, float64, nothing to train."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weights in model.parameters():
            if weights.ndim > 1:
                weights.normal_(0.0, spread, generator=generator)
    return model.double().eval().requires_grad_(False)


def config(which: str, condition: str = "class") -> Config:
    layers, dim, heads = SIZES[which]
    return Config(layers, dim, heads, V, SHAPE, condition, classes=CLASSES, text_tokens=4, text_dim=6, multiple=8)


@cache
def model(which: str) -> Transformer:
    return randomised(Transformer(config(which)), seed=len(which))  # type: ignore[return-value]


@cache
def head() -> Head:
    return randomised(Head(config("target")), seed=9)  # type: ignore[return-value]


class EagleUncached(HeadDrafting):
    """The reference form: for every draft the whole sequence is seen, and the head goes on from there, again."""

    target: Uncached
    _depth: int

    @torch.no_grad()
    def _rows(self, tokens: torch.Tensor, start: torch.Tensor, count: int) -> torch.Tensor:
        self._depth = 0 if self.begins(start, count) else self._depth + 1
        prefix, target = self.head.config.prefix, self.target
        features = target.features(tokens)
        inputs = torch.cat(
            [target.conditions(len(tokens)), target.model.embed(target.doubled(tokens[:, : self.length]))], dim=1
        )
        slot = torch.arange(inputs.shape[1], device=inputs.device).expand(inputs.shape[:2])
        base = prefix + target.doubled(self.base)[:, None]
        known = torch.where((slot <= base - 2)[..., None], features, 0.0)
        for depth in range(self._depth + 1):
            before = torch.cat([torch.zeros_like(known[:, :1]), known[:, :-1]], dim=1)
            made = self.head.features(before, inputs, slot, Causal())
            known = torch.where((slot == base - 1 + depth)[..., None], made, known)
        last = (prefix + target.doubled(start) - 1).clamp(max=inputs.shape[1] - 1)
        seen = made.take_along_dim(last[:, None, None], dim=1)
        return target.sampling.rows(target.model.logits(seen), start[:, None])


def classes(batch: int) -> torch.Tensor:
    return torch.arange(batch) % CLASSES


def as_on_a_device(process: Cached) -> Cached:
    """The process as it is on an accelerator: on a CPU it reads values wherever that saves work."""
    process._on_host = False
    return process


def decoded(
    decoder: Decoder,
    form: type[Cached] | type[Uncached],
    tape: Tape,
    sampling: Sampling = SAMPLINGS["plain"],
    rule: Rule = SPECULATIVE,
    eagle: bool = False,
    decode: Callable[..., Any] = run,
) -> Run:
    """Sequences of the tiny target, one for each replicate and its class; the small model drafts, or the head does."""
    given = torch.from_numpy(tape.replicates) % CLASSES
    if not (decoder.needs_draft and eagle):
        return sequences(form, model("target"), model("draft"), given, decoder, tape, sampling, rule, decode)
    target = form(model("target"), given, sampling)
    draft = EagleDraft(head(), target) if isinstance(target, Cached) else EagleUncached(head(), target)
    return in_arrays(decode(decoder, target, rule, tape, draft))


def sequences(
    form: type[Cached] | type[Uncached],
    target: Any,
    draft: Any,
    given: torch.Tensor,
    decoder: Decoder,
    tape: Tape,
    sampling: Sampling = SAMPLINGS["plain"],
    rule: Rule = SPECULATIVE,
    decode: Callable[..., Any] = run,
    **more: Any,
) -> Run:
    """Sequences of two models by the engine, where the draft's cache is a token behind, or by the reference form."""
    lag = {"lag": 1} if issubclass(form, Cached) else {}
    drafting = form(draft, given, sampling, **lag, **more) if decoder.needs_draft else None
    return in_arrays(decode(decoder, form(target, given, sampling, **more), rule, tape, drafting))


def in_arrays(found: Any) -> Run:
    """Tokens and steps, of whatever decoded them."""
    return Run(np.asarray(found.tokens), np.asarray(found.steps))


def same(one: Run, other: Run) -> bool:
    return np.array_equal(one.tokens, other.tokens) and np.array_equal(one.steps, other.steps)


def alone(asked: Request, eagle: bool = False, device: str = "cpu") -> tuple[np.ndarray, int]:
    """Tokens and steps of a request by the reference form."""
    given = torch.tensor([asked.given], device=device)
    target = Cached(model("target"), given, asked.sampling)
    draft = None
    if asked.decoder.needs_draft:
        draft = EagleDraft(head(), target) if eagle else Cached(model("draft"), given, asked.sampling, lag=1)
    found = run(asked.decoder, target, asked.rule, Tape(asked.seed, [asked.replicate]), draft)
    return found.tokens[0].cpu().numpy(), int(found.steps[0])


class Broken(torch.nn.Module):
    """The target, but that its rows are no numbers for the class ``nan``, or that it finds no memory for ``least``."""

    def __init__(self, nan: int | None = None, least: int = 10**9) -> None:
        super().__init__()
        self.inner, self.nan, self.least = model("target"), nan, least
        self.config = self.inner.config

    def __getattr__(self, name: str) -> Any:
        return super().__getattr__(name) if name == "inner" else getattr(self.inner, name)

    def condition(self, given: torch.Tensor) -> torch.Tensor:
        made = self.inner.condition(given)
        return made if self.nan is None else made.masked_fill((given == self.nan)[:, None, None], torch.nan)

    def features(self, inputs: torch.Tensor, *more: Any) -> torch.Tensor:
        if len(inputs) >= self.least:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes")
        return self.inner.features(inputs, *more)


def logits_of(model: Any, given: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """The logits behind conditions and sequences, all positions at once."""
    inputs = torch.cat([model.condition(given), model.embed(tokens)], dim=1)
    position = torch.arange(inputs.shape[1]).expand(inputs.shape[:2])
    with torch.no_grad():
        return model.logits(model.features(inputs, position, Causal()))
