"""Transformers of Llama's kind a second time: one sequence, loops over places and heads, over the names of a file."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def rms(row: Tensor, gain: Tensor, eps: float = 1e-5) -> Tensor:
    return row / (row.square().mean() + eps).sqrt() * gain


def plain_logits(
    name: Callable[[str, int], str],
    held: dict[str, Tensor],
    stream: list[Tensor],
    turn: Callable[[Tensor, int], Tensor],
    heads: int,
    hidden: frozenset[int] = frozenset(),
) -> Tensor:
    """``float64[L, V]`` behind every place of a ``stream`` of vectors.

    ``name(part, layer)`` is how a layout calls a part, ``turn(rows, place)`` how a head is turned there; ``hidden`` are
    places that no other sees. Queries and keys are normed where the file holds norms for them.
    """
    layer = 0
    while name("in", layer) in held:
        rows = [rms(row, held[name("in", layer)]) for row in stream]
        keys, values, queries = [], [], []
        size = len(held[name("q", layer)]) // heads
        count = len(held[name("k", layer)]) // size  # of keys, which heads share
        for place, row in enumerate(rows):
            found = {}
            for part, number in (("q", heads), ("k", count)):
                made = (held[name(part, layer)] @ row).view(number, size)
                if name(f"{part}n", layer) in held:
                    gain, bias = (held[name(f"{part}{which}", layer)].reshape(-1, size) for which in "nb")
                    shard = torch.arange(number) // (number // len(gain))
                    away = made - made.mean(1, keepdim=True)
                    made = away / (away.square().mean(1, keepdim=True) + 1e-5).sqrt() * gain[shard] + bias[shard]
                found[part] = [turn(head, place) for head in made]
            queries.append(found["q"])
            keys.append(found["k"])
            values.append(list((held[name("v", layer)] @ row).view(count, size)))
        for place, own in enumerate(queries):
            seen = [other for other in range(place + 1) if other == place or other not in hidden]
            mixed = []
            for head, query in enumerate(own):
                of = head // (heads // count)
                scores = torch.stack([query @ keys[other][of] for other in seen]) / size**0.5
                mixed.append(scores.softmax(0) @ torch.stack([values[other][of] for other in seen]))
            stream[place] = stream[place] + held[name("o", layer)] @ torch.cat(mixed)
        for place, row in enumerate(stream):
            inner = rms(row, held[name("post", layer)])
            gate = held[name("gate", layer)] @ inner
            stream[place] = row + held[name("down", layer)] @ (
                gate / (1 + torch.exp(-gate)) * (held[name("up", layer)] @ inner)
            )
        layer += 1
    return torch.stack([held[name("output", 0)] @ rms(row, held[name("norm", 0)]) for row in stream])
