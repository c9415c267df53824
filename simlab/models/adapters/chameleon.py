"""Chameleon, Lumina-mGPT and Anole from the files they were published in.

Two layouts. That of ``transformers``: ``config.json`` and safetensors, where a norm of queries or keys has a row for
each part that the model was trained in, ``[model_parallel_size, head_dim]``, and each row is for ``heads /
model_parallel_size`` heads. And Meta's: ``params.json`` and ``consolidated.pth``, with other names, one such row, and
pairs that turn together next to each other instead of half a head apart.

Sources: ``ChameleonLayerNorm`` in ``lumina_mgpt/model/chameleon/modeling_chameleon.py`` and the conversion
``convert_chameleon_weights_to_hf.py`` beside it, github.com/Alpha-VLLM/Lumina-mGPT at 104abe4;
``chameleon/inference/{transformer,loader}.py`` of github.com/facebookresearch/chameleon at dbbe47f, which Anole's own
code (github.com/GAIR-NLP/anole at af563fa) holds a copy of.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from simlab.models.adapters.codes import chameleon_codes
from simlab.models.adapters.grammars import Layout
from simlab.models.adapters.hugging_face import NO_TOKENIZER, HuggingFace, config_of, configured, fitted, ids_of, loaded
from simlab.models.checkpoints import CheckpointError, read_folder, read_json, read_weights

MODEL = "ChameleonForConditionalGeneration"
POSITIONS = 4096
META = "params.json"  # what tells Meta's layout
META_MODELS = "models/7b"  # where a published folder keeps its model
META_TOKENIZER = "tokenizer/text_tokenizer.json"
COMPUTED = ("rope.freqs",)  # a table that a file may hold, and that is computed here
NORM = re.compile(r"self_attn\.[qk]_norm\.(weight|bias)$")

WHOLE = {"tok_embeddings": "model.embed_tokens", "norm": "model.norm", "output": "lm_head"}
OF_LAYER = {
    "attention.wq": "self_attn.q_proj",
    "attention.wk": "self_attn.k_proj",
    "attention.wv": "self_attn.v_proj",
    "attention.wo": "self_attn.o_proj",
    "attention.q_normalization": "self_attn.q_norm",
    "attention.k_normalization": "self_attn.k_norm",
    "feed_forward.w1": "mlp.gate_proj",
    "feed_forward.w2": "mlp.down_proj",
    "feed_forward.w3": "mlp.up_proj",
    "attention_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}


def load_chameleon(
    folder: Path,
    layout: Layout,
    prefix: int,
    unconditional: Sequence[int] | None = None,
    dtype: torch.dtype = torch.bfloat16,
) -> HuggingFace:
    """A Chameleon, Lumina-mGPT or Anole of a folder.

    Returns a HuggingFace, its weights frozen, on the CPU. Raises ``CheckpointError`` for a folder that is missing,
    holds another model, or not all of this one, or a layout that does not fit it. Raises ``ImportError`` where
    ``transformers`` is missing.

    Parameters
    ----------
    folder
        With ``config.json`` and safetensors; or, as Meta and Anole publish them, with ``params.json`` and
        ``consolidated.pth``, or with these in ``models/7b``, and ``tokenizer/text_tokenizer.json`` in it or above.
    layout, prefix, unconditional
        As for :class:`~simlab.models.adapters.hugging_face.HuggingFace`.
    dtype
        Of the weights; frequencies of positions stay in float32.
    """
    names, config, weights = _of_meta(folder) if is_meta(folder) else _of_library(folder)
    heads = {"q": config.num_attention_heads, "k": config.num_key_value_heads}
    model = loaded(MODEL, config, norms_of_heads(weights, heads), folder, dtype)
    return fitted(folder, model, layout, prefix, unconditional, chameleon_codes, names)


def is_meta(folder: Path) -> bool:
    """Whether a folder is in Meta's layout."""
    return _home(folder) is not None


def vocabulary(folder: Path) -> Mapping[str, int]:
    """The ids of a vocabulary by their names, in either layout. Raises :class:`CheckpointError` where there is none."""
    home = _home(folder)
    if home is None:
        return ids_of(config_of(folder, "chameleon"), folder / "config.json", "vocabulary_map")
    file = _tokenizer(home)
    return ids_of(read_json(file), file, "model", "vocab")


def tokenizer_file(folder: Path) -> Path:
    """The tokenizer of a folder in either layout."""
    home = _home(folder)
    return folder / "tokenizer.json" if home is None else _tokenizer(home)


def norms_of_heads(weights: Mapping[str, Tensor], heads: Mapping[str, int]) -> dict[str, Tensor]:
    """The weights, the norms of queries and keys with a row for each head.

    ``weights``: by their names in ``transformers``; norms have the shape ``[n, head_dim]``. ``heads``: how many there
    are of ``"q"`` and ``"k"``. Returns rows repeated where n divides the heads: head h has row ``h // (heads / n)``.
    Others are as they were.
    """

    def repeated(name: str, tensor: Tensor) -> Tensor:
        count = heads["q" if ".q_norm." in name else "k"]
        if not NORM.search(name) or tensor.ndim != 2 or not len(tensor) or count % len(tensor):
            return tensor
        return tensor.repeat_interleave(count // len(tensor), dim=0)

    return {name: repeated(name, tensor) for name, tensor in weights.items()}


# the layout of transformers ---------------------------------------------------------------------------------------


def _of_library(folder: Path) -> tuple[Mapping[str, int], Any, dict[str, Tensor]]:
    names, described = vocabulary(folder), read_json(folder / "config.json")
    config = configured("ChameleonConfig", described | {"vq_config": NO_TOKENIZER}, folder / "config.json")
    return names, config, read_folder(folder)


# Meta's layout -----------------------------------------------------------------------------------------------------


def _of_meta(folder: Path) -> tuple[Mapping[str, int], Any, dict[str, Tensor]]:
    home = _home(folder)
    assert home is not None
    described = read_json(home / META)
    names, weights = vocabulary(folder), read_weights(home / "consolidated.pth")
    try:
        sizes = {**described, **(described.get("model") or {})}
        heads = int(sizes["n_heads"])
        keys = int(sizes.get("n_kv_heads") or heads)
        table, layers = weights["tok_embeddings.weight"], {k.split(".")[1] for k in weights if k.startswith("layers.")}
        config = configured(
            "ChameleonConfig",
            {
                "vocab_size": len(table),
                "hidden_size": table.shape[1],
                "intermediate_size": len(weights["layers.0.feed_forward.w1.weight"]),
                "num_hidden_layers": len(layers),
                "num_attention_heads": heads,
                "num_key_value_heads": keys,
                "max_position_embeddings": POSITIONS,
                "rms_norm_eps": sizes.get("norm_eps", 1e-5),
                "rope_parameters": {"rope_type": "default", "rope_theta": sizes.get("rope_theta", 1e4)},
                "swin_norm": sizes.get("swin_norm", False),
                "vq_config": NO_TOKENIZER,
                "vocabulary_map": names,
            },
            home / META,
        )
        return names, config, from_meta(weights, heads, keys)
    except (LookupError, TypeError, ValueError, OverflowError, RuntimeError) as error:
        raise CheckpointError(f"{home}: {error}; expected the weights and sizes of a Chameleon") from None


def from_meta(weights: Mapping[str, Tensor], heads: int, keys: int) -> dict[str, Tensor]:
    """Meta's weights by the names and in the order of ``transformers``; names it does not know are as they were."""
    turned = {
        "attention.wq": heads,
        "attention.wk": keys,
        "attention.q_normalization": 1,
        "attention.k_normalization": 1,
    }
    found = {}
    for name, tensor in weights.items():
        if name in COMPUTED:
            continue
        stem, _, kind = name.rpartition(".")
        layer, number, rest = (*stem.split(".", 2), "", "")[:3]
        if layer == "layers" and rest in OF_LAYER:
            name = f"model.layers.{number}.{OF_LAYER[rest]}.{kind}"
            tensor = _halves(tensor, turned[rest]) if rest in turned else tensor
            tensor = tensor[None] if rest.endswith("normalization") else tensor
        elif stem in WHOLE:
            name = f"{WHOLE[stem]}.{kind}"
        found[name] = tensor
    return found


def _halves(rows: Tensor, heads: int) -> Tensor:
    """Of each head first the even rows, then the odd ones: pairs that turn together are half a head apart."""
    return rows.unflatten(0, (heads, -1, 2)).transpose(1, 2).flatten(0, 2)


def _home(folder: Path) -> Path | None:
    """Where the model of a folder in Meta's layout is."""
    return next((home for home in (folder, folder / META_MODELS) if (home / META).is_file()), None)


def _tokenizer(home: Path) -> Path:
    places = [place / META_TOKENIZER for place in (home, home.parent, home.parent.parent)]
    return next((place for place in places if place.is_file()), places[-1])
