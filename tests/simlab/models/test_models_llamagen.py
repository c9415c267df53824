"""LlamaGen written a second time, a number at a time, against what the loaders build; and the engine on it.

The second form follows the description alone: loops over positions and heads, rotations as complex numbers. It shares
no code with the first but the tiny files both read.
"""

from __future__ import annotations

import cmath
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from simlab.decoders import make_decoder
from simlab.models.adapters.llamagen import left_padded, load_gpt
from simlab.models.architectures.transformer import Config, Transformer, rotations
from simlab.models.process.cached import Cached
from simlab.models.process.sampling import Sampling
from simlab.models.process.uncached import Uncached
from simlab.randomness import Tape
from tests.support import plain_transformer
from tests.support.cases import by_decoder, tree
from tests.support.llamagen import DIM, HEADS, LAYERS, SHAPE, TEXT_DIM, V, Weights, gpt_weights, saved
from tests.support.networks import same, sequences
from tests.support.published import in_meta
from tests.support.refusals import refused

pytestmark = pytest.mark.parity
DEFAULT_EVERY = 4

LENGTH = SHAPE[0] * SHAPE[1]
CLOSE: dict[str, float] = {"rtol": 1e-10, "atol": 1e-10}
FAR = 1e-3  # what a planted bug moves at least
conditions = pytest.mark.parametrize("condition", ["class", "text"])


# the transformer a second time ----------------------------------------------------------------------------------


def plain_rotations(prefix: int, pairs: int, shape: tuple[int, int] = SHAPE) -> Tensor:
    """``complex128[prefix + N, pairs]``: what turns the pairs of a head at each place; before the image nothing of them
    is left. Half of the pairs turn with the row, half with the column."""
    speeds = [10_000.0 ** -(pair / (pairs // 2)) for pair in range(pairs // 2)]
    image = [
        [cmath.exp(1j * place * speed) for place in (row, column) for speed in speeds]
        for row in range(shape[0])
        for column in range(shape[1])
    ]
    turns = torch.tensor(image, dtype=torch.complex128)
    return torch.cat([turns.new_zeros(prefix, pairs), turns])


def plain_gelu(values: Tensor) -> Tensor:
    return 0.5 * values * (1 + torch.tanh(math.sqrt(2 / math.pi) * (values + 0.044715 * values**3)))


def plain_logits(weights: Weights, given: Tensor, tokens: list[int], hidden: frozenset[int] = frozenset()) -> Tensor:
    """``[n + 1, V]`` behind one class, or one text, of which the positions ``hidden`` are padding."""
    if given.ndim == 0:
        inputs = [weights["cls_embedding.embedding_table.weight"][int(given)]]
    else:
        first, second = (weights[f"cls_embedding.cap_proj.fc{i}.weight"] for i in (1, 2))
        inputs = [second @ plain_gelu(first @ vector) for vector in given]
    prefix = len(inputs)
    inputs += [weights["tok_embeddings.weight"][token] for token in tokens]
    held = dict(weights)
    for layer in range(LAYERS):  # queries, keys and values in one
        parts = weights[f"layers.{layer}.attention.wqkv.weight"].chunk(3)
        held |= {in_meta(part, layer): tensor for part, tensor in zip("qkv", parts, strict=True)}

    turns = plain_rotations(prefix, DIM // HEADS // 2)

    def turn(head: Tensor, place: int) -> Tensor:
        return torch.view_as_real(torch.view_as_complex(head.reshape(-1, 2)) * turns[place]).flatten()

    return plain_transformer.plain_logits(in_meta, held, inputs, turn, HEADS, hidden)[prefix - 1 :]


# what is compared -----------------------------------------------------------------------------------------------


def loaded(condition: str, folder: Path, seed: int = 1) -> Transformer:
    """The model of a file, with its rotations in float64, as the second form has them."""
    path = saved(gpt_weights(condition, seed), folder / f"{condition}-{seed}.pt")
    model = load_gpt(path, SHAPE, condition, heads=HEADS, vocabulary=V, dtype=torch.float64)
    model.frequencies = torch.view_as_real(plain_rotations(model.config.prefix, DIM // HEADS // 2))
    return model


def conditioned(condition: str, config: Config, batch: int) -> tuple[Tensor, Tensor | None]:
    """Conditions of that many sequences; texts of different lengths, left-padded."""
    if condition == "class":
        return torch.arange(batch), None
    generator = torch.Generator().manual_seed(8)
    lengths = [2, config.text_tokens, 1][:batch]
    texts = [torch.randn(n, TEXT_DIM, generator=generator, dtype=torch.float64) for n in lengths]
    return left_padded(texts, config)


def some_tokens(batch: int) -> Tensor:
    return torch.randint(V, (batch, LENGTH), generator=torch.Generator().manual_seed(4))


def padding(visible: Tensor | None, row: int) -> frozenset[int]:
    return frozenset() if visible is None else frozenset(np.flatnonzero(~visible[row].numpy()).tolist())


@conditions
def test_logits(condition: str, tmp_path: Path) -> None:
    model, weights, tokens = loaded(condition, tmp_path), gpt_weights(condition), some_tokens(3)[:, :-1]
    given, _ = conditioned(condition, model.config, 3)
    expected = torch.stack([plain_logits(weights, given[b], tokens[b].tolist()) for b in range(3)])
    torch.testing.assert_close(model(given, tokens), expected, **CLOSE)
    assert expected.std(-1).min() > 0.1  # worth comparing


def test_rotations() -> None:
    for config in (Config(1, 16, 2, V, SHAPE), Config(1, 64, 1, V, (32, 32), "text", text_tokens=120)):
        plain = torch.view_as_real(plain_rotations(config.prefix, config.head_dim // 2, config.shape))
        torch.testing.assert_close(rotations(config).double(), plain, rtol=0, atol=1e-5)


SAMPLINGS = {"guided": Sampling(guidance=3.0, temperature=0.7, top_k=6, top_p=0.8), "plain": Sampling()}


@pytest.mark.parametrize("sampling", SAMPLINGS)
@conditions
def test_rows(condition: str, sampling: str, tmp_path: Path) -> None:
    """Rows of the engine, behind padded texts; the padding of a text hides the same positions of no text."""
    how, batch = SAMPLINGS[sampling], 2
    model, weights, tokens = loaded(condition, tmp_path), gpt_weights(condition), some_tokens(batch)
    given, visible = conditioned(condition, model.config, batch)
    logits = [
        plain_logits(weights, text[b], tokens[b, :-1].tolist(), padding(visible, b))
        for text in ((given, model.null(batch)) if how.guided else (given,))
        for b in range(batch)
    ]
    expected = how.rows(torch.stack(logits), torch.arange(LENGTH).expand(batch, -1))
    start = torch.zeros(batch, dtype=torch.int64)
    for form in (Cached, Uncached):
        rows = form(model, given, how, visible=visible).forward(tokens, start, LENGTH)
        torch.testing.assert_close(rows, expected, **CLOSE)
        if visible is not None:
            seen = form(model, given, how).forward(tokens, start, LENGTH)
            assert (seen - expected).abs().max() > FAR


def test_a_visible_that_does_not_fit(tmp_path: Path) -> None:
    model = loaded("text", tmp_path)
    given, visible = conditioned("text", model.config, 3)
    assert visible is not None
    refused(lambda: Cached(model, given, visible=visible[:, 1:]), "visible", "(3, 4)", "(3, 5)")
    refused(lambda: Uncached(model, given, visible=visible.long()), "visible", "torch.int64", "bool")


# the engine -----------------------------------------------------------------------------------------------------


@conditions
@by_decoder([("speculative", {"gamma": 3}), ("sjd-pac", tree(3, 2, 2))])
def test_the_engine(name: str, parameters: dict[str, Any], condition: str, tmp_path: Path) -> None:
    """Behind padded texts; what goes for all decoders is in :mod:`tests.simlab.models.test_models_cached`."""
    pair = loaded(condition, tmp_path), loaded(condition, tmp_path, seed=2)
    given, visible = conditioned(condition, pair[0].config, 3)
    case = *pair, given, make_decoder(name, **parameters), Tape(3, 3), SAMPLINGS["guided"]
    assert same(*(sequences(form, *case, visible=visible) for form in (Cached, Uncached)))
