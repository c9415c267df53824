"""llama.cpp's server with and without drafts, on a random model of two files that are written here.

xllamacpp's wheels hold the server of llama.cpp; ``python -m experiments.engines.llama_cpp PORT MODEL [HOW [DRAFT]]``
runs it. :func:`served` starts one with drafts and one without, for ``simlab certify --url``. A draft model is the
target with noise on its weights, so that drafts are kept often and rejected often; else drafts are n-grams of the text.
"""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np

from experiments.engines import serving
from experiments.engines.sizes import BYTES, CONTEXT, HEADS, INNER, SHARPNESS, SPECIAL, WIDTH

SLOTS = 8  # requests at a time
BY_MODEL = "DRAFT_SIMPLE"
DRAFTS = {
    "greedy": (BY_MODEL, False),
    "drawn": (BY_MODEL, True),
    "n-gram": ("NGRAM_SIMPLE", False),
    "n-gram-pool": ("NGRAM_MOD", False),
}


def write_model(path: Path, noise: float) -> None:
    """A random decoder of one layer over bytes, in the format GGUF; ``noise`` is added to its weights."""
    from gguf import GGUFWriter

    rng, other = np.random.default_rng(0), np.random.default_rng(1)
    writer = GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    vocabulary = [*SPECIAL, *(f"<0x{byte:02X}>" for byte in range(BYTES))]
    writer.add_vocab_size(len(vocabulary))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(vocabulary)
    writer.add_token_scores([0.0] * len(vocabulary))
    writer.add_token_types([2, 3, 3] + [6] * BYTES)  # unknown, control, bytes
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    shapes = {
        "token_embd": (len(vocabulary), WIDTH, WIDTH**0.5),
        **{f"blk.0.attn_{part}": (WIDTH, WIDTH, 1.0) for part in ("q", "k", "v", "output")},
        "blk.0.ffn_gate": (INNER, WIDTH, 1.0),
        "blk.0.ffn_up": (INNER, WIDTH, 1.0),
        "blk.0.ffn_down": (WIDTH, INNER, 1.0),
        "output": (len(vocabulary), WIDTH, SHARPNESS),
    }
    for name, (rows, columns, scale) in shapes.items():
        weights = rng.normal(size=(rows, columns)) + noise * other.normal(size=(rows, columns))
        writer.add_tensor(f"{name}.weight", (weights * scale / columns**0.5).astype(np.float32))
    for name in ("blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(WIDTH, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def served(how: str) -> AbstractContextManager[list[str]]:
    """The addresses of a server that drafts in the way ``how``, and of one that does not, while the context lasts."""
    return serving.with_and_without_drafts(__name__, write_model, ".gguf", [how], DRAFTS[how][0] == BY_MODEL)


def main(port: str, model: str, how: str | None = None, draft: str | None = None) -> None:
    """Serve until killed."""
    import xllamacpp

    asked = xllamacpp.CommonParams()
    asked.model.path, asked.port = model, int(port)
    asked.n_parallel, asked.n_ctx, asked.n_threads_http = SLOTS, SLOTS * CONTEXT, SLOTS + 4
    asked.cpuparams.n_threads = 1
    if how:
        kind, asked.speculative.draft.probabilistic = DRAFTS[how]
        asked.speculative.types = [getattr(xllamacpp.common_speculative_type, f"COMMON_SPECULATIVE_TYPE_{kind}")]
        if draft:
            asked.speculative.draft.mparams.path = draft
        else:  # after one token: of random text no more comes back
            looked_up, pool = asked.speculative.ngram_simple, asked.speculative.ngram_mod
            looked_up.size_n, looked_up.size_m = 1, 4
            pool.n_match, pool.n_min, pool.n_max = 1, 1, 4
    server = xllamacpp.Server(asked)
    while server:
        time.sleep(3600)


if __name__ == "__main__":
    main(*sys.argv[1:])
