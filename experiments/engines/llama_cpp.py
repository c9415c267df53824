"""llama.cpp's server with and without drafts, on a random model of two files that are written here.

xllamacpp's wheels hold the server of llama.cpp; ``python -m experiments.engines.llama_cpp MODEL PORT [HOW DRAFT]``
runs it. :func:`served` starts one with drafts and one without, for ``simlab certify --url``. The draft model is the
target with noise on its weights, so that drafts are kept often and rejected often.
"""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from simlab.certify.servers.client import LLAMA

BYTES, SPECIAL = 256, ("<unk>", "<s>", "</s>")
WIDTH, HEADS, INNER, CONTEXT = 32, 2, 64, 256
SHARPNESS = 3.0  # deviation of the logits
NOISE = 0.2  # of the draft's weights, in deviations
SLOTS = 8  # requests at a time
DRAFTS = {
    "greedy": ("DRAFT_SIMPLE", False),
    "drawn": ("DRAFT_SIMPLE", True),
    "n-gram": ("NGRAM_SIMPLE", False),
}
STARTING = 30.0  # seconds that a server has to listen


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


@contextmanager
def served(how: str) -> Iterator[tuple[str, str]]:
    """The addresses of a server that drafts in the way ``how``, and of one that does not, while the context lasts.

    Raises ``ValueError`` where one of them does not listen in time.
    """
    with TemporaryDirectory() as folder:
        target, draft = Path(folder, "target.gguf"), Path(folder, "draft.gguf")
        write_model(target, 0.0)
        write_model(draft, NOISE)
        ports = _free_ports(2)
        drafting = [[how, str(draft)], []]
        command = [sys.executable, "-m", "experiments.engines.llama_cpp", str(target)]
        servers = [
            subprocess.Popen([*command, str(port), *more], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for port, more in zip(ports, drafting, strict=True)
        ]
        try:
            for port, server in zip(ports, servers, strict=True):
                _await(port, server)
            yield tuple(f"http://127.0.0.1:{port}{LLAMA}" for port in ports)  # type: ignore[misc]  # two of them
        finally:
            for server in servers:
                server.kill()
                server.wait()


def _free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, all different."""
    with ExitStack() as opened:
        found = [opened.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in found]


def _await(port: int, server: subprocess.Popen[bytes]) -> None:
    """Until it says that its model is loaded."""
    last = time.monotonic() + STARTING
    while time.monotonic() < last and server.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
        with suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return
        connection.close()
        time.sleep(0.1)
    raise ValueError(f"llama.cpp's server does not listen; its exit status is {server.poll()}")


def main(model: str, port: str, how: str | None = None, draft: str | None = None) -> None:
    """Serve until killed."""
    import xllamacpp

    asked = xllamacpp.CommonParams()
    asked.model.path, asked.port = model, int(port)
    asked.n_parallel, asked.n_ctx, asked.n_threads_http = SLOTS, SLOTS * CONTEXT, SLOTS + 4
    asked.cpuparams.n_threads = 1
    if how:
        kind, asked.speculative.draft.probabilistic = DRAFTS[how]
        asked.speculative.types = [getattr(xllamacpp.common_speculative_type, f"COMMON_SPECULATIVE_TYPE_{kind}")]
        asked.speculative.draft.mparams.path = draft
    server = xllamacpp.Server(asked)
    while server:
        time.sleep(3600)


if __name__ == "__main__":
    main(*sys.argv[1:])
