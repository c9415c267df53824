"""Chameleon and Emu3 from ``transformers`` under the engine: with a cache or without the same tokens in the same steps.

Their logits are held against formulas in :mod:`tests.simlab.models.test_models_published`.

Tiny checkpoints in the official format, in float64. Queries share keys and values; prompts differ in length; a grammar
like Lumina's and guidance depend on the position. Norms of the library round to float32 even so: what
need not be the same in every bit is compared at 1e-4, what is one computation at 1e-10.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor

from simlab.decoders import Run, make_decoder
from simlab.models.adapters.chameleon import load_chameleon
from simlab.models.adapters.emu3 import load_emu3
from simlab.models.adapters.grammars import Layout
from simlab.models.adapters.hugging_face import HuggingFace, padded
from simlab.models.checkpoints import CheckpointError
from simlab.models.process.cached import Cached
from simlab.models.process.sampling import Sampling
from simlab.models.process.uncached import Uncached
from simlab.randomness import Tape
from tests.support.cases import by_decoder, tree
from tests.support.networks import logits_of, randomised, same, sequences
from tests.support.refusals import refused

pytestmark = pytest.mark.parity
DEFAULT_EVERY = 8

LAYOUT = Layout(range(4, 10), 3, 2, line=50, end=(12, 51), header=(13, 52, 52))
PREFIX, BATCH, SEED = 6, 4, 7
PROMPTS = [[20, 21, 22, *LAYOUT.header], [23, *LAYOUT.header], [24, 25, *LAYOUT.header], [26, 27, 28, *LAYOUT.header]]
SAMPLINGS = {
    "plain": Sampling(),
    "guided": Sampling(grammar=LAYOUT.grammar(), guidance=LAYOUT.guidance(3.0), temperature=0.9, top_k=5),
}
SIZES: dict[str, Any] = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32,
}
SMALL = {**SIZES, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1}
IMAGES: dict[str, Any] = {"base_channels": 32, "channel_multiplier": [1], "num_res_blocks": 1}  # of their tokenizers
LOADERS = {"chameleon": load_chameleon, "emu3": load_emu3, "draft": load_chameleon}
models = pytest.mark.parametrize("kind", ["chameleon", "emu3"])


def chameleon(sizes: dict[str, Any]) -> Any:
    tokenizer = {**IMAGES, "embed_dim": 4, "num_embeddings": 6, "latent_channels": 4, "resolution": 8}
    names = {"<image>": 63, **{f"IMGIMG{letter}Z": token for letter, token in zip("ABCDEF", LAYOUT.image, strict=True)}}
    return transformers.ChameleonForConditionalGeneration(
        transformers.ChameleonConfig(**sizes, vq_config=tokenizer, vocabulary_map=names)
    )


def emu3(sizes: dict[str, Any]) -> Any:
    tokenizer = {**IMAGES, "codebook_size": 6, "hidden_size": 32, "attn_resolutions": []}
    names = {f"<|visual token {index:06d}|>": token for index, token in enumerate(LAYOUT.image)}
    special = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 51}
    return transformers.Emu3ForConditionalGeneration(
        transformers.Emu3Config(
            text_config={**sizes, **special},
            vq_config=tokenizer,
            vocabulary_map={"<image>": 63, "<|extra_200|>": 50, **names},
        )
    )


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Checkpoints in the official format."""
    home = tmp_path_factory.mktemp("models")
    made = {"chameleon": chameleon(SIZES), "emu3": emu3(SIZES), "draft": chameleon(SMALL)}
    for seed, (name, model) in enumerate(made.items()):
        randomised(model, seed, spread=0.3).save_pretrained(home / name)
    return {name: home / name for name in made}


@pytest.fixture(scope="module")
def loaded(folders: dict[str, Path]) -> dict[str, HuggingFace]:
    return {name: LOADERS[name](folder, LAYOUT, PREFIX, dtype=torch.float64) for name, folder in folders.items()}


def allowed(batch: int) -> Tensor:
    """Tokens that the grammar allows."""
    rng, rows = np.random.default_rng(0), np.asarray(LAYOUT.grammar())
    return torch.tensor([[rng.choice(np.flatnonzero(row)) for row in rows] for _ in range(batch)])


# logits --------------------------------------------------------------------------------------------------------


@models
def test_a_padded_prompt_is_the_prompt(kind: str, loaded: dict[str, HuggingFace]) -> None:
    """Positions are relative, and padding is not seen."""
    model, tokens, short = loaded[kind], allowed(1), PROMPTS[1]
    tight = HuggingFace(model.model, LAYOUT, len(short))
    expected = logits_of(tight, padded([short], len(short)), tokens)
    found = logits_of(model, padded([short], PREFIX), tokens)[:, PREFIX - len(short) :]
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    seen = logits_of(model, padded([[30, 30, *short]], PREFIX), tokens)[:, PREFIX - len(short) :]
    assert (seen - expected).abs().max() > 0.1


@models
def test_another_way_of_attention(kind: str, folders: dict[str, Path], loaded: dict[str, HuggingFace]) -> None:
    """The mask says the same where it is added by hand."""
    eager = type(loaded[kind].model).from_pretrained(folders[kind], attn_implementation="eager", dtype=torch.float64)
    given, tokens = padded(PROMPTS, PREFIX), allowed(BATCH)
    found = logits_of(HuggingFace(eager, LAYOUT, PREFIX), given, tokens)
    torch.testing.assert_close(found, logits_of(loaded[kind], given, tokens), rtol=1e-4, atol=1e-4)


def test_all_tokens_or_those_of_an_image(loaded: dict[str, HuggingFace]) -> None:
    """Behind the grammar the pmfs are the same."""
    model, given, tokens = loaded["chameleon"], padded(PROMPTS, PREFIX), allowed(BATCH)
    full = HuggingFace(model.model, LAYOUT, PREFIX, ids=np.arange(64))
    start = torch.zeros(BATCH, dtype=torch.int64)
    few = SAMPLINGS["guided"]
    all_of_them = replace(few, grammar=LAYOUT.grammar(full.ids.numpy()))
    found = Uncached(model, given, few).forward(tokens, start, LAYOUT.length)
    expected = Uncached(full, given, all_of_them).forward(model.ids[tokens], start, LAYOUT.length)
    torch.testing.assert_close(found, expected[..., model.ids], rtol=1e-10, atol=1e-10)


# decoding ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "sampling"), [("chameleon", "plain"), ("chameleon", "guided"), ("emu3", "guided")])
@by_decoder(
    [
        ("autoregressive", {}),
        ("speculative", {"gamma": 3}),
        ("jacobi", {"window": 4}),
        ("sjd", {"window": 4, "initial": "sample-above"}),
        ("sjd-pac", tree(4, 3, 2)),
        ("sjd-pac", tree(3, 2, 2, "full")),
    ]
)
def test_with_a_cache_and_without(
    loaded: dict[str, HuggingFace], name: str, parameters: dict[str, Any], sampling: str, kind: str
) -> None:
    chosen, pair, decoder = SAMPLINGS[sampling], (loaded[kind], loaded["draft"]), make_decoder(name, **parameters)
    given, tape = padded(PROMPTS, PREFIX), Tape(SEED, BATCH)
    cached, reference = (sequences(form, *pair, given, decoder, tape, chosen) for form in (Cached, Uncached))
    assert same(cached, reference)
    if chosen.guided:
        alone = sequences(Cached, *pair, given[[1]], decoder, Tape(SEED, [1]), chosen)
        assert same(alone, Run(reference.tokens[[1]], reference.steps[[1]]))
        assert np.take_along_axis(np.asarray(LAYOUT.grammar()), reference.tokens.T, axis=1).all()


@by_decoder([("speculative", {"gamma": 3}), ("sjd-pac", tree(3, 2, 2, "full"))])
def test_a_header_alone_and_no_ends_of_lines(
    loaded: dict[str, HuggingFace], name: str, parameters: dict[str, Any]
) -> None:
    """As Anole has it; here the condition is one token, and the draft model is the target."""
    layout = Layout(LAYOUT.image, 3, 3, end=(12,), header=(13,))
    model = HuggingFace(loaded["emu3"].model, layout, 1)
    given = model.null(BATCH), make_decoder(name, **parameters), Tape(SEED, BATCH), Sampling(grammar=layout.grammar())
    assert same(*(sequences(form, model, model, *given) for form in (Cached, Uncached)))


# errors --------------------------------------------------------------------------------------------------------


TOKENIZER = {"chameleon": "model.vqmodel.", "emu3": "vqmodel."}


@models
def test_the_image_tokenizer_may_be_missing(
    folders: dict[str, Path], loaded: dict[str, HuggingFace], tmp_path: Path, kind: str
) -> None:
    held, prefix = load_file(folders[kind] / "model.safetensors"), TOKENIZER[kind]
    kept = {name: tensor for name, tensor in held.items() if not name.startswith(prefix)}
    assert len(kept) < len(held)
    save_file({**kept, f"{prefix}another.weight": torch.ones(2)}, tmp_path / "model.safetensors", {"format": "pt"})
    (tmp_path / "config.json").write_bytes((folders[kind] / "config.json").read_bytes())
    model = LOADERS[kind](tmp_path, LAYOUT, PREFIX, dtype=torch.float64)
    given, tokens = padded(PROMPTS, PREFIX), allowed(BATCH)
    assert torch.equal(logits_of(model, given, tokens), logits_of(loaded[kind], given, tokens))


def test_another_model(folders: dict[str, Path], tmp_path: Path) -> None:
    read = partial(load_emu3, tmp_path, LAYOUT, PREFIX)
    refused(lambda: load_chameleon(folders["emu3"], LAYOUT, PREFIX), "'emu3'", "'chameleon'", error=CheckpointError)
    refused(lambda: load_emu3(folders["chameleon"], LAYOUT, PREFIX), "'chameleon'", "'emu3'", error=CheckpointError)
    refused(lambda: load_chameleon(tmp_path / "nowhere", LAYOUT, PREFIX), "nowhere", error=CheckpointError)
    for text, told in (("{", "JSON"), ("[1]", "JSON"), ("{}", "None"), ('{"model_type": "emu3"}', "vocabulary_map")):
        (tmp_path / "config.json").write_text(text)
        refused(read, told, error=CheckpointError)
    (tmp_path / "config.json").write_bytes((folders["chameleon"] / "config.json").read_bytes())
    torch.save(load_file(folders["chameleon"] / "model.safetensors"), tmp_path / "pytorch_model.bin")  # is not read
    refused(lambda: load_chameleon(tmp_path, LAYOUT, PREFIX), "model.safetensors", error=CheckpointError)


@models
@pytest.mark.parametrize(
    ("layout", "prefix", "told"),
    [
        (Layout(range(4, 10), 3, 2, line=64, header=(13,)), PREFIX, "64"),
        (Layout(range(4, 11), 3, 2, header=(13,)), PREFIX, "range(4, 11)"),
        (Layout(range(4, 10), 5, 6, header=(13,)), 3, "33 tokens"),
        (LAYOUT, 2, "prefix is 2"),
    ],
)
def test_a_model_that_does_not_fit(folders: dict[str, Path], kind: str, layout: Layout, prefix: int, told: str) -> None:
    refused(lambda: LOADERS[kind](folders[kind], layout, prefix), kind, told, error=CheckpointError)


def test_prompts_that_do_not_fit(loaded: dict[str, HuggingFace]) -> None:
    model = loaded["chameleon"]
    silent = HuggingFace(model.model, Layout(range(4, 10), 3, 2), PREFIX)
    refused(lambda: Cached(model, padded([[1, 2]] * 4, 5)), "(4, 5)", "6")
    refused(lambda: model.condition(padded([[64, *LAYOUT.header]], PREFIX)), "64")
    refused(lambda: model.condition(padded(PROMPTS, PREFIX).flip(1)), "padding")
    refused(lambda: padded([[1] * 7], PREFIX), "7 tokens", "6")
    refused(lambda: Cached(silent, padded(PROMPTS, PREFIX), Sampling(guidance=2.0)), "unconditional")


def test_attention_without_masks(loaded: dict[str, HuggingFace], monkeypatch: pytest.MonkeyPatch) -> None:
    model = loaded["emu3"]
    monkeypatch.setattr(model.decoder.config, "_attn_implementation_internal", "flash_attention_2")
    refused(lambda: HuggingFace(model.model, LAYOUT, PREFIX), "attention is 'flash_attention_2'", "sdpa", "eager")


def test_transformers_missing(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ImportError, match=r"pip install 'simlab\[engines\]'"):
        load_emu3(folders["emu3"], LAYOUT, PREFIX)


def test_a_token_whose_vector_is_zero_is_no_padding(loaded: dict[str, HuggingFace]) -> None:
    """As that of ``padding_idx`` is, which a prompt may well hold."""
    model = loaded["chameleon"]
    weights = model.decoder.embed_tokens.weight
    kept = weights[30].clone()
    weights[30] = 0
    given, tokens = torch.tensor([[20, 30, 22, *LAYOUT.header]]), allowed(1)
    with torch.no_grad():
        expected = model.model.model(torch.cat([given, model.ids[tokens]], dim=1)).last_hidden_state @ model.output.T
    torch.testing.assert_close(logits_of(model, given, tokens), expected, rtol=1e-10, atol=1e-10)
    weights[30] = kept
