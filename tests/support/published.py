"""Small checkpoints of Chameleon's family in the layouts they were published in, written name by name without loaders.

What the files are called, and what stands in them, is as the code of each publication reads it; the loaders' modules
say where that is.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from simlab.models.adapters.emu3 import SPECIAL
from simlab.models.adapters.grammars import Layout
from tests.support.layers import Layers, drawn

LAYERS, DIM, HEADS, KEYS, INNER, VOCABULARY = 2, 32, 4, 2, 48, 64
HEAD = DIM // HEADS
CODES = [3, 0, 5, 1, 4, 2]  # of the ids from 4 on: names are in an order of their own
TEXT = dict(zip("abcdefghijklmnopqrstuvwxyz :012346", range(14, 50), strict=False))
NAMED = {"<s>": 0, "<pad>": 1, "</s>": 2, "<eoss>": 12, "<racm3:break>": 13, "<reserved08799>": 50}
NAMED |= {"<reserved08706>": 51, "<reserved08801>": 52, "<reserved08802>": 53}
IMAGES = {f"IMGIMG{'ABCDEFGHIJ'[code]}Z": id for id, code in enumerate(CODES, start=4)}
NAMES = IMAGES | NAMED | TEXT | {"<image>": 63}
LAYOUT = Layout(range(4, 10), 2, 2, line=50, end=(12, 51), header=(13, 52, 52))
PROMPT = [20, 21, 22, *LAYOUT.header]
BYTES = [bytes([byte]) for byte in range(256)] + [b"th", b"he", b"the", b" a"]  # byte pairs of the small Emu3
PAIRS = len(BYTES)
VISUAL = PAIRS + len(SPECIAL) + 3
EMU3_VOCABULARY = VISUAL + 8
EMU3_LAYOUT = Layout(range(VISUAL, VISUAL + 6), 2, 2, line=PAIRS + 203, end=(PAIRS + 204, VISUAL - 1, PAIRS + 207))

Weights = dict[str, Tensor]


# language models ----------------------------------------------------------------------------------------------------

PARTS = {
    "in": "input_layernorm.weight",
    "post": "post_attention_layernorm.weight",
    "q": "self_attn.q_proj.weight",
    "k": "self_attn.k_proj.weight",
    "v": "self_attn.v_proj.weight",
    "o": "self_attn.o_proj.weight",
    "qn": "self_attn.q_norm.weight",
    "qb": "self_attn.q_norm.bias",
    "kn": "self_attn.k_norm.weight",
    "kb": "self_attn.k_norm.bias",
    "gate": "mlp.gate_proj.weight",
    "up": "mlp.up_proj.weight",
    "down": "mlp.down_proj.weight",
}
OF_META = {
    "in": "attention_norm.weight",
    "post": "ffn_norm.weight",
    "q": "attention.wq.weight",
    "k": "attention.wk.weight",
    "v": "attention.wv.weight",
    "o": "attention.wo.weight",
    "qn": "attention.q_normalization.weight",
    "qb": "attention.q_normalization.bias",
    "kn": "attention.k_normalization.weight",
    "kb": "attention.k_normalization.bias",
    "gate": "feed_forward.w1.weight",
    "up": "feed_forward.w3.weight",
    "down": "feed_forward.w2.weight",
}


def in_library(part: str, layer: int) -> str:
    whole = {"embed": "model.embed_tokens.weight", "norm": "model.norm.weight", "output": "lm_head.weight"}
    return whole.get(part) or f"model.layers.{layer}.{PARTS[part]}"


def in_meta(part: str, layer: int) -> str:
    whole = {"embed": "tok_embeddings.weight", "norm": "norm.weight", "output": "output.weight"}
    return whole.get(part) or f"layers.{layer}.{OF_META[part]}"


def shapes(name: Callable[[str, int], str], vocabulary: int, norms: tuple[int, ...] | None) -> dict[str, Any]:
    """Of every tensor; ``norms`` is the shape of what norms queries and keys, if anything does."""
    found: dict[str, Any] = {name(part, 0): (vocabulary, DIM) for part in ("embed", "output")}
    found[name("norm", 0)] = (DIM,)
    for layer in range(LAYERS):
        found |= {name(part, layer): (DIM,) for part in ("in", "post")}
        found |= {name(part, layer): (DIM, DIM) for part in ("q", "o")}
        found |= {name(part, layer): (KEYS * HEAD, DIM) for part in ("k", "v")}
        found |= {name(part, layer): (INNER, DIM) for part in ("gate", "up")}
        found[name("down", layer)] = (DIM, INNER)
        found |= {name(part, layer): norms for part in ("qn", "qb", "kn", "kb") if norms}
    return found


def tokenizer_file() -> dict[str, Any]:
    """A ``tokenizer.json`` of letters, with the names of special tokens."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    added = [{"id": id, "content": name, **flags} for name, id in NAMED.items()]
    model = {"type": "BPE", "vocab": NAMES, "merges": [], "unk_token": None, "dropout": None}
    parts = dict.fromkeys(("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder"))
    return {"version": "1.0", "added_tokens": added, "model": model, **parts}


def lumina_files(home: Path, shards: int, norms: Weights | None = None) -> Weights:
    """As Lumina-mGPT publishes: the sizes of its training code, weights in several files, no image tokenizer."""
    home.mkdir()
    described = {
        "architectures": ["ChameleonXLLMXForConditionalGeneration"],
        "attention_bias": False,
        "hidden_size": DIM,
        "intermediate_size": INNER,
        "max_position_embeddings": 512,
        "mlp_bias": False,
        "model_parallel_size": shards,
        "model_type": "chameleon",
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "num_key_value_heads": KEYS,
        "rms_norm_eps": 1e-5,
        "rope_scaling": None,
        "rope_theta": 10000.0,
        "swin_norm": False,
        "torch_dtype": "bfloat16",
        "vocab_size": VOCABULARY,
        "vocabulary_map": NAMES,
        "z_loss_weight": 1e-5,
    }
    (home / "config.json").write_text(json.dumps(described))
    (home / "tokenizer.json").write_text(json.dumps(tokenizer_file()))
    weights = drawn(shapes(in_library, VOCABULARY, (shards, HEAD))) | (norms or {})
    parts = [dict(list(weights.items())[start::2]) for start in range(2)]
    places = {}
    for number, part in enumerate(parts, start=1):
        file = f"model-0000{number}-of-00002.safetensors"
        save_file({name: tensor.contiguous() for name, tensor in part.items()}, home / file, {"format": "pt"})
        places |= dict.fromkeys(part, file)
    (home / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))
    return weights


def meta_files(home: Path, at: str = "models/7b") -> Weights:
    """As Anole publishes: sizes in two files, weights of one in a pickle, the vocabulary beside them."""
    (home / at).mkdir(parents=True)
    (home / "tokenizer").mkdir()
    sizes = {"dim": DIM, "n_layers": LAYERS, "n_heads": HEADS, "n_kv_heads": KEYS, "norm_eps": 1e-5}
    sizes |= {"rope_theta": 10000.0, "qk_normalization": True, "swin_norm": False, "vocab_size": -1}
    (home / at / "params.json").write_text(json.dumps({"model": sizes, "model_parallel_size": 1}))
    (home / at / "consolidate_params.json").write_text(json.dumps({"model_parallel_size": 1}))
    (home / "tokenizer" / "text_tokenizer.json").write_text(json.dumps(tokenizer_file()))
    weights = drawn(shapes(in_meta, VOCABULARY, (HEAD,)), seed=1)
    torch.save(weights | {"rope.freqs": torch.ones(HEAD // 2)}, home / at / "consolidated.pth")
    return weights


def emu3_files(home: Path) -> Weights:
    """As Emu3-Gen is published: a Llama's names, byte pairs and names of vision tokens in two files."""
    home.mkdir()
    described = {
        "architectures": ["Emu3ForCausalLM"],
        "bos_token_id": PAIRS + 206,
        "eos_token_id": PAIRS + 207,
        "hidden_act": "silu",
        "hidden_size": DIM,
        "image_area": 518400,  # one of many that nobody here reads
        "intermediate_size": INNER,
        "max_position_embeddings": 512,
        "model_type": "Emu3",
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "num_key_value_heads": KEYS,
        "pad_token_id": PAIRS,
        "rms_norm_eps": 1e-5,
        "rope_scaling": None,
        "rope_theta": 1000000.0,
        "tie_word_embeddings": False,
        "vocab_size": EMU3_VOCABULARY,
    }
    (home / "config.json").write_text(json.dumps(described))
    write_emu3_vocabulary(home)
    weights = drawn(shapes(in_library, EMU3_VOCABULARY, None), seed=2)
    save_file(weights, home / "model.safetensors", {"format": "pt"})
    return weights


def write_emu3_vocabulary(home: Path) -> None:
    (home / "emu3.tiktoken").write_bytes(b"".join(b64encode(c) + b" %d\n" % n for n, c in enumerate(BYTES)))
    names = ["<|image token|>", "<|image start|>", "<|image end|>", *(f"<|visual token {n:06d}|>" for n in CODES)]
    (home / "emu3_vision_tokens.txt").write_text("\n".join(names) + "\n")


# image tokenizers -------------------------------------------------------------------------------------------------

WIDTH, LATENT, CODE_DIM, LEVELS = 32, 4, 4, (1, 2)
ENTRIES = len(CODES)


def vqgan_shapes() -> Layers:
    """Of ``vqgan.ckpt``: two levels, a block each, no attention but in the middle."""
    shapes = Layers({"quantize.embedding.weight": (ENTRIES, CODE_DIM)})
    shapes.autoencoder([level * WIDTH for level in LEVELS], 1, LATENT, LATENT)
    shapes.convolution("quant_conv", LATENT, CODE_DIM, 1)
    shapes.convolution("post_quant_conv", CODE_DIM, LATENT, 1)
    return shapes


def vqgan_files(file: Path) -> Weights:
    """``vqgan.ckpt``: what training kept, with the loss's networks."""
    file.parent.mkdir(parents=True, exist_ok=True)
    weights = {name: tensor.double() for name, tensor in drawn(vqgan_shapes(), seed=3).items()}
    held = weights | {"loss.discriminator.main.0.weight": torch.ones(2, 3)}
    torch.save({"epoch": 3, "global_step": 100, "state_dict": held}, file)
    return weights


def emu3_tokenizer_shapes() -> Layers:
    """Of Emu3-VisionTokenizer: two levels, a block each, attention at the lower, the decoder's norms by the codes."""
    shapes = Layers({"quantize.embedding.weight": (ENTRIES, CODE_DIM)})
    shapes.autoencoder([level * WIDTH for level in LEVELS], 1, LATENT, LATENT, ("encoder", "decoder"), by=CODE_DIM)
    for side, long in (("encoder", 4), ("decoder", 3)):
        for number in range(2):
            shapes[f"{side}.time_conv.{number}.conv.conv.weight"] = (LATENT, LATENT, long, 3, 3)
            shapes[f"{side}.time_conv.{number}.conv.conv.bias"] = (LATENT,)
        for part in ("1", "2"):
            stack = f"{side}.time_res_stack.0"
            shapes[f"{stack}.conv{part}.conv.weight"] = (LATENT, LATENT, 3, 3, 3)
            shapes[f"{stack}.conv{part}.conv.bias"] = (LATENT,)
            for kind in ("weight", "bias", "running_mean", "running_var"):
                shapes[f"{stack}.norm{part}.{kind}"] = (LATENT,)
            shapes[f"{stack}.norm{part}.num_batches_tracked"] = ()
    for name in ("quant_conv", "post_quant_conv"):
        shapes[f"{name}.conv.weight"], shapes[f"{name}.conv.bias"] = (CODE_DIM, LATENT, 3, 1, 1), (LATENT,)
    return shapes


def emu3_tokenizer_files(home: Path) -> Weights:
    """As Emu3-VisionTokenizer is published."""
    home.mkdir(parents=True)
    described = {
        "attn_resolutions": [len(LEVELS) - 1],
        "ch": WIDTH,
        "ch_mult": list(LEVELS),
        "codebook_size": ENTRIES,
        "double_z": False,  # one of those that nobody here reads
        "embed_dim": CODE_DIM,
        "model_type": "Emu3VisionVQ",
        "num_res_blocks": 1,
        "out_channels": 3,
        "temporal_downsample_factor": 4,
        "z_channels": LATENT,
    }
    (home / "config.json").write_text(json.dumps(described))
    weights = drawn(emu3_tokenizer_shapes(), seed=4)
    weights = {name: t.abs() + 0.5 if name.endswith("running_var") else t for name, t in weights.items()}
    weights = {name: t.long() if name.endswith("tracked") else t for name, t in weights.items()}
    save_file(weights, home / "model.safetensors", {"format": "pt"})
    return weights
