"""Emu3 from the files it was published in: its own layout, and that of ``transformers``.

Its own (BAAI/Emu3-Gen) has the names of a Llama, ``config.json`` of the type ``Emu3``, and a vocabulary in two files:
``emu3.tiktoken``, a line for each of the byte pairs, and ``emu3_vision_tokens.txt``, names that follow 3 + 205 special
ones. That of ``transformers`` (Emu3-Gen-hf) puts the names in a ``vocabulary_map`` and the image tokenizer beside the
language model.

Sources: ``emu3/mllm/{configuration,tokenization}_emu3.py`` of github.com/baaivision/Emu3 at f6ea9aa;
``convert_emu3_weights_to_hf.py`` of github.com/huggingface/transformers at 084673d.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from simlab.models.adapters.codes import emu3_codes
from simlab.models.adapters.grammars import Layout
from simlab.models.adapters.hugging_face import NO_TOKENIZER, HuggingFace, config_of, configured, fitted, ids_of, loaded
from simlab.models.checkpoints import CheckpointError, read_folder, read_json

OWN, LIBRARY = "Emu3", "emu3"  # types of a model that the two layouts name
PAIRS, VISION = "emu3.tiktoken", "emu3_vision_tokens.txt"
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", *(f"<|extra_{number}|>" for number in range(205)))
THETA = 1e6  # base of the positions' frequencies
TEXT = (  # sizes that both layouts know by one name
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "hidden_act",
    "max_position_embeddings",
    "rms_norm_eps",
    "pad_token_id",
    "bos_token_id",
    "eos_token_id",
    "tie_word_embeddings",
)


def load_emu3(
    folder: Path,
    layout: Layout,
    prefix: int,
    unconditional: Sequence[int] | None = None,
    dtype: torch.dtype = torch.bfloat16,
) -> HuggingFace:
    """An Emu3 of a folder, in its own layout or in that of ``transformers``.

    ``folder``: with ``config.json`` and safetensors; in its own layout with the two files of the vocabulary too.
    ``layout``, ``prefix``, ``unconditional``, ``dtype``: as for
    :func:`~simlab.models.adapters.chameleon.load_chameleon`. Returns a HuggingFace, its weights frozen, on the CPU.
    Raises ``CheckpointError`` and ``ImportError`` as :func:`~simlab.models.adapters.chameleon.load_chameleon` does.
    """
    names, described = vocabulary(folder), read_json(folder / "config.json")
    if described["model_type"] == LIBRARY:
        name, sizes = "Emu3ForConditionalGeneration", described | {"vq_config": NO_TOKENIZER}
        config = configured("Emu3Config", sizes, folder / "config.json")
    else:
        name, config = "Emu3ForCausalLM", _own_config(described, folder)
    model = loaded(name, config, read_folder(folder), folder, dtype)
    return fitted(folder, model, layout, prefix, unconditional, emu3_codes, names)


def vocabulary(folder: Path) -> Mapping[str, int]:
    """The ids of a vocabulary by their names; of its own layout those of special tokens alone, which follow the byte
    pairs.

    Raises :class:`CheckpointError` where a file is missing or says nothing of the kind.
    """
    described = config_of(folder, LIBRARY, OWN)
    if described["model_type"] == LIBRARY:
        return ids_of(described, folder / "config.json", "vocabulary_map")
    try:
        names = [*SPECIAL, *(line.decode() for line in _lines(folder / VISION))]
    except UnicodeDecodeError as error:
        raise CheckpointError(f"{folder / VISION}: {error}; expected the names of vision tokens") from None
    return {name: id for id, name in enumerate(names, start=len(byte_pairs(folder)))}


def byte_pairs(folder: Path) -> dict[bytes, int]:
    """The ranks of the byte pairs, from 0 on, which are their ids."""
    file = folder / PAIRS
    try:
        pairs = {b64decode(token): int(rank) for token, rank in (line.split() for line in _lines(file))}
    except ValueError as error:
        raise CheckpointError(f"{file}: {error}; expected a byte pair in base64 and its rank on each line") from None
    if sorted(pairs.values()) != list(range(len(pairs))):
        raise CheckpointError(f"{file}: ranks are not 0 to {len(pairs) - 1}; expected each once")
    return pairs


def _lines(file: Path) -> list[bytes]:
    try:
        return [line.strip() for line in file.read_bytes().splitlines() if line.strip()]
    except OSError:
        raise CheckpointError(f"{file}: there is no such file; expected a part of Emu3's vocabulary") from None


def _own_config(described: Mapping[str, Any], folder: Path) -> Any:
    if described.get("rope_scaling"):
        raise CheckpointError(f"{folder / 'config.json'}: rope_scaling is {described['rope_scaling']}; expected none")
    sizes = {name: described[name] for name in TEXT if name in described}
    sizes["rope_parameters"] = {"rope_type": "default", "rope_theta": described.get("rope_theta", THETA)}
    return configured("Emu3TextConfig", sizes, folder / "config.json")
