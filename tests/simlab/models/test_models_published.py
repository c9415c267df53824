"""Chameleon's family in the layouts it was published in: small checkpoints written name by name, a plain transformer.

The files are as the code of each publication reads them (named in the loaders' modules), and the logits are those of a
second formulation below: one sequence, loops over heads, pairs turned as each publication turns them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from simlab.models.adapters.chameleon import load_chameleon
from simlab.models.adapters.codes import chameleon_codes, emu3_codes, vectors_by_token
from simlab.models.adapters.emu3 import load_emu3
from simlab.models.adapters.hugging_face import HuggingFace, padded
from simlab.models.checkpoints import CheckpointError
from simlab.models.text_to_image import load
from simlab.rules.neighbourhood import codebook_neighbours
from tests.support.networks import logits_of
from tests.support.plain_transformer import plain_logits
from tests.support.published import (
    CODES,
    EMU3_LAYOUT,
    HEAD,
    HEADS,
    LAYOUT,
    PROMPT,
    VISUAL,
    Weights,
    emu3_files,
    in_library,
    in_meta,
    lumina_files,
    meta_files,
)
from tests.support.refusals import refused

pytestmark = pytest.mark.parity

# second formulation ---------------------------------------------------------------------------------------------


def halves(rows: Tensor, position: int, theta: float) -> Tensor:
    """Pairs half a head apart, as transformers turns them."""
    count = rows.shape[-1] // 2
    angles = position * theta ** (-torch.arange(count, dtype=torch.float64) / count)
    one, two = rows[:count], rows[count:]
    return torch.cat([one * angles.cos() - two * angles.sin(), two * angles.cos() + one * angles.sin()])


def neighbours(rows: Tensor, position: int, theta: float) -> Tensor:
    """Pairs next to each other, as Meta turns them."""
    count = rows.shape[-1] // 2
    angles = position * theta ** (-torch.arange(count, dtype=torch.float64) / count)
    turned = torch.view_as_complex(rows.reshape(count, 2)) * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).flatten()


def plain(name: Callable[[str, int], str], weights: Weights, ids: list[int], turn: Any, theta: float) -> Tensor:
    """``float64[L, V]`` of one sequence; ``name(part, layer)`` is how a layout calls a part."""
    held = {key: tensor.double() for key, tensor in weights.items()}
    stream = [held[name("embed", 0)][id] for id in ids]
    return plain_logits(name, held, stream, lambda rows, place: turn(rows, place, theta), HEADS)


def check(model: HuggingFace, given: list[int], expected: Callable[[list[int]], Tensor]) -> None:
    tokens = torch.from_numpy(np.random.default_rng(0).integers(6, size=7))
    wanted = expected([*given, *model.ids[tokens].tolist()])[:, model.ids]
    assert wanted.std() > 0.3
    found = logits_of(model, padded([given], len(given)), tokens[None])[0]
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


# Lumina-mGPT: the layout of transformers, norms by shard ---------------------------------------------------------


@pytest.mark.parametrize("shards", [1, 2])
def test_lumina_has_a_row_of_norms_for_each_part_it_was_trained_in(tmp_path: Path, shards: int) -> None:
    weights = lumina_files(tmp_path / "lumina", shards)
    model = load_chameleon(tmp_path / "lumina", LAYOUT, len(PROMPT), dtype=torch.float64)
    check(model, PROMPT, lambda ids: plain(in_library, weights, ids, halves, 10000.0))


def test_norms_that_no_heads_share_and_an_index_that_leaves_its_folder_are_refused(tmp_path: Path) -> None:
    lumina_files(tmp_path / "lumina", 1, {in_library("kn", 0): torch.ones(3, HEAD)})
    read = partial(load_chameleon, tmp_path / "lumina", LAYOUT, len(PROMPT))
    refused(read, "model.layers.0.self_attn.k_norm.weight", error=CheckpointError)
    index = tmp_path / "lumina" / "model.safetensors.index.json"
    inside = "model-00001-of-00002.safetensors"
    for other in ("../other.safetensors", 1, [inside]):
        index.write_text(json.dumps({"weight_map": {"lm_head.weight": inside, "model.norm.weight": other}}))
        refused(read, "model.safetensors.index.json", error=CheckpointError)


def test_frequencies_of_positions_stay_exact(tmp_path: Path) -> None:
    """In bfloat16 they would be off by up to 0.4 %, and positions of a whole image by more than a turn."""
    lumina_files(tmp_path / "lumina", 1)
    model = load_chameleon(tmp_path / "lumina", LAYOUT, len(PROMPT), dtype=torch.bfloat16)
    exact = 10000.0 ** (-torch.arange(HEAD // 2) / (HEAD // 2))
    for changed in (model, model.to(torch.bfloat16), model.to("cpu", torch.float16)):
        assert changed.model.lm_head.weight.dtype != torch.float32
        assert changed.decoder.rotary_emb.inv_freq.dtype == torch.float32
        torch.testing.assert_close(changed.decoder.rotary_emb.inv_freq, exact, rtol=1e-6, atol=0)


# Anole: Meta's layout ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", ["", "models/7b"])
def test_anole_turns_pairs_that_are_next_to_each_other(tmp_path: Path, at: str) -> None:
    weights = meta_files(tmp_path / "anole")
    model = load_chameleon(tmp_path / "anole" / at, LAYOUT, len(PROMPT), dtype=torch.float64)
    check(model, PROMPT, lambda ids: plain(in_meta, weights, ids, neighbours, 10000.0))
    wrong = plain(in_meta, weights, PROMPT, halves, 10000.0)
    right = plain(in_meta, weights, PROMPT, neighbours, 10000.0)
    assert (wrong - right).abs().max() > 0.1


# Emu3: its own layout --------------------------------------------------------------------------------------------


def test_emu3_in_its_own_layout(tmp_path: Path) -> None:
    weights, prompt = emu3_files(tmp_path / "emu3"), [3, 4, 5, VISUAL - 2, 7, VISUAL - 3]
    model = load_emu3(tmp_path / "emu3", EMU3_LAYOUT, len(prompt), dtype=torch.float64)
    check(model, prompt, lambda ids: plain(in_library, weights, ids, halves, 1000000.0))
    assert model.entries.tolist() == [*CODES, -1, -1, -1, -1]


def test_emu3_in_the_layout_of_transformers(tmp_path: Path) -> None:
    """The names of Emu3-Gen-hf: the language model is a part, beside the image tokenizer."""
    weights, prompt = emu3_files(tmp_path / "own"), [3, 4, 5, VISUAL - 2, 7, VISUAL - 3]
    own = json.loads((tmp_path / "own" / "config.json").read_text())
    names = ["<|image token|>", "<|image start|>", "<|image end|>", *(f"<|visual token {n:06d}|>" for n in CODES)]
    described = {
        "architectures": ["Emu3ForConditionalGeneration"],
        "model_type": "emu3",
        "text_config": own | {"model_type": "emu3_text_model"},
        "vocabulary_map": {"<|extra_200|>": VISUAL - 8} | {name: id for id, name in enumerate(names, VISUAL - 3)},
    }
    (tmp_path / "hf").mkdir()
    (tmp_path / "hf" / "config.json").write_text(json.dumps(described))
    held = {f"text_model.{name}": tensor for name, tensor in weights.items()}
    save_file(held | {"vqmodel.encoder.conv_in.bias": torch.ones(2)}, tmp_path / "hf" / "model.safetensors")
    model = load_emu3(tmp_path / "hf", EMU3_LAYOUT, len(prompt), dtype=torch.float64)
    check(model, prompt, lambda ids: plain(in_library, weights, ids, halves, 1000000.0))
    assert model.entries.tolist() == [*CODES, -1, -1, -1, -1]


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        ("emu3.tiktoken", b"YQ== 1\n", "0 to 0"),
        ("emu3.tiktoken", b"YQ==\n", ""),
        ("emu3_vision_tokens.txt", None, ""),
        ("emu3_vision_tokens.txt", b"\xff\n", "vision tokens"),
        ("config.json", b'{"model_type": "Emu3", "rope_scaling": {"type": "linear"}}', "rope_scaling"),
    ],
)
def test_emu3_files_that_cannot_be(tmp_path: Path, file: str, content: bytes | None, told: str) -> None:
    emu3_files(tmp_path / "emu3")
    changed = tmp_path / "emu3" / file
    changed.unlink() if content is None else changed.write_bytes(content)
    refused(lambda: load_emu3(tmp_path / "emu3", EMU3_LAYOUT, 6), file, told, error=CheckpointError)


@pytest.mark.parametrize("theta", [None, "x", [1]])
def test_a_base_of_positions_that_is_no_number_is_refused(tmp_path: Path, theta: Any) -> None:
    emu3_files(tmp_path / "emu3")
    described = json.loads((tmp_path / "emu3" / "config.json").read_text()) | {"rope_theta": theta}
    (tmp_path / "emu3" / "config.json").write_text(json.dumps(described))
    refused(lambda: load_emu3(tmp_path / "emu3", EMU3_LAYOUT, 6), "emu3", error=CheckpointError)


@pytest.mark.parametrize(
    ("names", "told"), [({"IMGIMGAZ": "5"}, "'5' for IMGIMGAZ"), ({"IMGIMGAAZ": 40}, "7 image tokens")]
)
def test_a_vocabulary_whose_ids_are_none_is_refused_with_its_folder(
    tmp_path: Path, names: dict[str, Any], told: str
) -> None:
    lumina_files(tmp_path / "lumina", 1)
    file = tmp_path / "lumina" / "config.json"
    described = json.loads(file.read_text())
    file.write_text(json.dumps(described | {"vocabulary_map": described["vocabulary_map"] | names}))
    refused(lambda: load_chameleon(file.parent, LAYOUT, len(PROMPT)), "lumina", told, error=CheckpointError)
    refused(lambda: load("lumina", file.parent, (32, 64)), "lumina", told, error=CheckpointError)


# codes ------------------------------------------------------------------------------------------------------------


def test_names_decide_which_entry_an_id_stands_for(tmp_path: Path) -> None:
    assert chameleon_codes({"IMGIMGBCZ": 7, "IMGIMGAZ": 9, "IMGIMGHBJZ": 4, "<image>": 5, "IMGIMG": 6}) == {
        7: 12,
        9: 0,
        4: 719,
    }
    assert emu3_codes({"<|visual token 000719|>": 3, "<|image start|>": 4}) == {3: 719}
    refused(lambda: chameleon_codes({"IMGIMGBZ": 4, "IMGIMGABZ": 5}), "2 image tokens", "1 entries")
    lumina_files(tmp_path / "lumina", 1)
    model = load_chameleon(tmp_path / "lumina", LAYOUT, len(PROMPT))
    assert model.entries.tolist() == [*CODES, -1, -1, -1]
    assert model.codes == dict(zip(range(4, 10), CODES, strict=True))


def test_a_table_over_raw_ids_would_be_wrong() -> None:
    """The neighbour of a token is the token whose entry is nearest, not the one whose number is."""
    vectors = np.arange(6.0)[:, None] * [1.0, 0.5]  # entry n is next to n - 1 and n + 1
    entries = np.array([*CODES, -1, -1])
    table = codebook_neighbours(vectors_by_token(vectors, entries), 1)[:6, 0]
    assert all(abs(entries[token] - entries[near]) == 1 for token, near in enumerate(table))
    raw = codebook_neighbours(vectors, 1)[:, 0]
    assert not all(abs(entries[token] - entries[near]) == 1 for token, near in enumerate(raw))


def test_tokens_of_no_image_are_nobody_s_neighbours() -> None:
    random = np.random.default_rng(0)
    placed = vectors_by_token(random.normal(size=(20, 3)), np.array([*random.permutation(20), -1, -1, -1]))
    assert codebook_neighbours(placed, 19)[:20].max() < 20
    refused(lambda: vectors_by_token(np.ones((20, 3)), np.array([20])), "20", "codebook")
