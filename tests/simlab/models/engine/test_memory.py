"""What a run needs beside weights and cache is two slabs of rows, and nothing grows from image to image.

Memory of tensors is counted by torch's profiler, allocation by allocation, and that of Python and NumPy by
``tracemalloc``; the sum of both peaks is at least the peak. What kernels have to themselves, a window's masks and
counts, is in neither.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from itertools import accumulate

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from simlab.decoders import Decoder, make_decoder
from simlab.models.architectures.transformer import Config, Transformer
from simlab.models.engine import Request, Result, serve
from simlab.models.engine.compiled import CompiledRows
from simlab.models.engine.requests import Numbered
from simlab.models.process import cached
from simlab.models.process.clock import UNTIMED
from simlab.rules import Speculative
from tests.support.cases import tree
from tests.support.networks import model, randomised

WINDOW, BATCH, V = 32, 32, 8192
IMAGES, ROUND = 1000, 100
GROWN = 128 * IMAGES  # bytes: less than any record of an image; what Python keeps for reuse has come to 40 an image


def step_peak(decoder: Decoder) -> tuple[int, int]:
    """The most bytes at once of some steps, from before there is a cache on; and those of the weights, the cache, and
    two slabs of rows."""
    sizes = Config(2, 32, 2, V, (8, 8), "class", classes=3, multiple=8)
    network = randomised(Transformer(sizes), seed=1, spread=0.05).float()
    rule = Speculative()
    asked = [Numbered(i, Request(i % 3, decoder, rule, seed=i)) for i in range(BATCH)]
    tracemalloc.start()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        rows = CompiledRows(network, None, asked, BATCH, UNTIMED)
        rows.enter(asked)
        for _ in range(2):
            rows.step()
    _, of_arrays = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    taken = [event.nbytes() for event in seen.profiler.kineto_results.events() if event.name() == "[memory]"]  # type: ignore[union-attr]
    weights = sum(weight.nbytes for weight in network.parameters())
    cache = sum(kept.nbytes for kept in (*rows.target.cache.keys, *rows.target.cache.values))
    slab = 4 * BATCH * (WINDOW + 1) * V
    return weights + max(accumulate(taken)) + of_arrays, weights + cache + 2 * slab


@pytest.mark.slow
@pytest.mark.parity
def test_the_peak_is_weights_cache_and_two_slabs(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder = make_decoder("sjd-ac", window=WINDOW)
    step_peak(decoder)  # loads kernels
    peak, needed = step_peak(decoder)
    assert needed * 0.9 < peak < needed * 1.1
    # logits of all rows at once would be a third slab
    monkeypatch.setitem(cached.ENTRIES, "cpu", 1 << 40)
    peak, needed = step_peak(decoder)
    assert peak > needed * 1.1


def grown(keep: Callable[[Result], object]) -> tuple[int, int]:
    """By how many bytes Python, NumPy and tensors have grown over ``IMAGES`` images, after some to begin with."""
    rule, decoders = Speculative(), [make_decoder("sjd-ac", window=3), make_decoder("sjd-pac", **tree(3, 2, 2))]

    def draw(first: int) -> None:
        decoder = decoders[first // ROUND % 2]
        requests = [Request(i % 3, decoder, rule, seed=i) for i in range(first, first + ROUND)]
        for result in serve(model("target"), requests, 32):
            assert result.error is None
            keep(result)

    def held() -> tuple[int, int]:
        gc.collect()
        tensors = [thing for thing in gc.get_objects() if issubclass(type(thing), torch.Tensor)]
        return tracemalloc.get_traced_memory()[0], sum(tensor.nbytes for tensor in tensors)

    tracemalloc.start()
    for first in range(0, IMAGES, ROUND):  # what Python keeps for reuse fills up
        draw(first)
    before = held()
    for first in range(0, IMAGES, ROUND):
        draw(first)
    after = held()
    tracemalloc.stop()
    return after[0] - before[0], after[1] - before[1]


@pytest.mark.slow
@pytest.mark.parity
def test_nothing_grows_over_a_thousand_images() -> None:
    arrays, tensors = grown(lambda result: None)
    assert arrays < GROWN
    assert tensors <= 0  # what other tests have left may go meanwhile
    kept: list[object] = []
    assert grown(lambda result: kept.append([result.steps] * 32))[0] > GROWN  # a few numbers of each image
