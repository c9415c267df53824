"""OpenVINO GenAI with and without a draft model, on random models that are written here as graphs of its operations.

The package has no server; ``python -m experiments.engines.openvino_genai PORT MODEL [DRAFT]`` puts its
``ContinuousBatchingPipeline`` behind llama.cpp's interface: what waits is served in one batch, each request with its
seed. :func:`served` starts one with a draft model and one without, for ``simlab certify --url``. The draft model is the
target with noise on its weights.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

from experiments.engines import serving
from experiments.engines.sizes import BYTES, CONTEXT, HEADS, INNER, SHARPNESS, SPECIAL, WIDTH

SIZE = BYTES + len(SPECIAL)
DRAFTED = 3  # tokens of a draft
CACHE = 1  # gigabytes, the least that can be asked for


# Models ----------------------------------------------------------------------------------------------------------


class Network:
    """Operations of a random decoder; ``noise`` is added to its weights."""

    def __init__(self, noise: float) -> None:
        from openvino import opset15

        self.op: Any = opset15
        self.noise = noise
        self.rng, self.other = np.random.default_rng(0), np.random.default_rng(1)

    def number(self, value: Any, dtype: Any = np.int64) -> Any:
        return self.op.constant(np.array(value, dtype))

    def weights(self, rows: int, columns: int, scale: float = 1.0) -> Any:
        drawn = self.rng.normal(size=(rows, columns)) + self.noise * self.other.normal(size=(rows, columns))
        return self.number(drawn * scale / columns**0.5, np.float32)

    def linear(self, x: Any, rows: int, columns: int, scale: float = 1.0) -> Any:
        return self.op.matmul(x, self.weights(rows, columns, scale), False, True)

    def embedded(self, ids: Any, rows: int) -> Any:
        return self.op.gather(self.weights(rows, WIDTH, WIDTH**0.5), ids, self.number(0))

    def length(self, of: Any, axis: int) -> Any:
        return self.op.gather(self.op.shape_of(of, "i64"), self.number([axis]), self.number(0))

    def in_heads(self, x: Any) -> Any:
        parts = self.op.reshape(x, self.number([0, 0, HEADS, WIDTH // HEADS]), True)
        return self.op.transpose(parts, self.number([0, 2, 1, 3]))

    def later(self, ids: Any, mask: Any) -> Any:
        """Of attention ``[1, 1, n, N]``: what a token must not see is far below zero."""
        new, whole = (self.op.squeeze(self.length(of, 1), self.number(0)) for of in (ids, mask))
        keys = self.op.range(self.number(0), whole, self.number(1), "i64")
        rows = self.op.range(self.op.subtract(whole, new), whole, self.number(1), "i64")
        hidden = self.op.greater(self.op.unsqueeze(keys, self.number(0)), self.op.unsqueeze(rows, self.number(1)))
        added = self.op.select(hidden, self.number(-1e9, np.float32), self.number(0.0, np.float32))
        return self.op.unsqueeze(added, self.number([0, 1]))


def write_model(folder: Path, noise: float) -> None:
    """A random decoder of one layer over bytes, with a cache, and its tokenizer, in the format of OpenVINO."""
    import openvino as ov
    from openvino.op.util import Variable, VariableInfo
    from openvino_tokenizers import build_rwkv_tokenizer

    net = Network(noise)
    op = net.op
    inputs = {
        name: op.parameter(shape, dtype, name=name)
        for name, shape, dtype in (
            ("input_ids", [-1, -1], np.int64),
            ("attention_mask", [-1, -1], np.int64),
            ("position_ids", [-1, -1], np.int64),
            ("beam_idx", [-1], np.int32),
        )
    }
    for name, node in inputs.items():
        node.output(0).set_names({name})
    ids, mask = inputs["input_ids"], inputs["attention_mask"]
    kept = []

    def cached(new: Any, name: str) -> Any:
        info = VariableInfo()
        info.data_shape, info.data_type = ov.PartialShape([-1, HEADS, -1, WIDTH // HEADS]), ov.Type.f32
        info.variable_id = f"past_key_values.0.{name}"
        variable = Variable(info)
        shape = op.concat([net.length(ids, 0), net.number([HEADS]), net.number([0]), net.number([WIDTH // HEADS])], 0)
        before = op.read_value(op.broadcast(net.number(0.0, np.float32), shape), variable)
        whole = op.concat([op.gather(before, inputs["beam_idx"], net.number(0)), new], 2)
        kept.append(op.assign(whole, variable))
        return whole

    x = op.add(net.embedded(ids, SIZE), net.embedded(inputs["position_ids"], CONTEXT))
    query, key, value = (net.in_heads(net.linear(x, WIDTH, WIDTH)) for _ in range(3))
    seen = op.scaled_dot_product_attention(
        query, cached(key, "key"), cached(value, "value"), net.later(ids, mask), causal=False
    )
    seen = op.reshape(op.transpose(seen, net.number([0, 2, 1, 3])), net.number([0, 0, WIDTH]), True)
    x = op.add(x, net.linear(seen, WIDTH, WIDTH))
    inner = op.multiply(op.swish(net.linear(x, INNER, WIDTH)), net.linear(x, INNER, WIDTH))
    x = op.mvn(op.add(x, net.linear(inner, WIDTH, INNER)), net.number([-1]), True, 1e-5, "INSIDE_SQRT")
    logits = op.result(net.linear(x, SIZE, WIDTH, SHARPNESS))
    logits.output(0).set_names({"logits"})

    folder.mkdir()
    model = ov.Model([logits], kept, list(inputs.values()), "random")
    ov.save_model(model, folder / "openvino_model.xml", compress_to_fp16=False)
    # tokens are given; but without a tokenizer, or with one that makes no mask, there are no drafts
    tokenizer, detokenizer = build_rwkv_tokenizer([f"{byte} {bytes([byte])!r} 1" for byte in range(BYTES)])
    own = tokenizer.get_results()[0].input_value(0)
    ones = op.result(op.broadcast(net.number(1), op.shape_of(own, "i64")))
    ones.output(0).set_names({"attention_mask"})
    tokenizer.add_results([ones])
    ov.save_model(tokenizer, folder / "openvino_tokenizer.xml")
    ov.save_model(detokenizer, folder / "openvino_detokenizer.xml")
    ends = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2}
    (folder / "config.json").write_text(json.dumps({"model_type": "llama", **ends}), encoding="utf-8")
    (folder / "generation_config.json").write_text(json.dumps(ends), encoding="utf-8")


def served() -> AbstractContextManager[list[str]]:
    """The addresses of a server that draws drafts, and of one that does not, while the context lasts."""
    return serving.with_and_without_drafts(__name__, write_model)


# A server ---------------------------------------------------------------------------------------------------------


class Batches:
    """A pipeline that serves whatever waits, in one batch."""

    def __init__(self, model: str, draft: str | None) -> None:
        import openvino_genai

        self.package = openvino_genai
        scheduling = openvino_genai.SchedulerConfig()
        scheduling.cache_size = CACHE
        drafting = {"draft_model": openvino_genai.draft_model(draft, "CPU")} if draft else {}
        self.pipeline = openvino_genai.ContinuousBatchingPipeline(model, scheduling, "CPU", drafting)
        self.drafts = draft is not None
        self.waiting: queue.SimpleQueue[tuple[dict[str, Any], queue.SimpleQueue[list[int]]]] = queue.SimpleQueue()
        threading.Thread(target=self.serve, daemon=True).start()

    def complete(self, asked: dict[str, Any]) -> list[int]:
        """The tokens that are asked for, as soon as they are there."""
        answer: queue.SimpleQueue[list[int]] = queue.SimpleQueue()
        self.waiting.put((asked, answer))
        return answer.get()

    def serve(self) -> None:
        """Until the process ends."""
        import openvino

        while True:
            batch = [self.waiting.get()]
            while not self.waiting.empty():
                batch.append(self.waiting.get())
            prompts = [openvino.Tensor(np.array([tokens_of(asked["prompt"])], np.int64)) for asked, _ in batch]
            found = self.pipeline.generate(prompts, [self.settings(asked) for asked, _ in batch])
            for (_, answer), one in zip(batch, found, strict=True):
                answer.put(list(one.m_generation_ids[0]))

    def settings(self, asked: dict[str, Any]) -> Any:
        """Of a request; the package has no ``min_p``."""
        config = self.package.GenerationConfig()
        config.do_sample, config.rng_seed, config.max_new_tokens = True, asked["seed"], asked["n_predict"]
        config.temperature, config.top_p, config.eos_token_id = asked["temperature"], asked["top_p"], 2
        config.top_k = asked["top_k"] or SIZE
        if self.drafts:
            config.num_assistant_tokens = DRAFTED
        return config


def tokens_of(text: str) -> list[int]:
    """The beginning, and the bytes of a prompt."""
    return [1, *(byte + len(SPECIAL) for byte in text.encode())]


def server(port: int, batches: Batches) -> ThreadingHTTPServer:
    """One that answers ``/completion`` as llama.cpp's does."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_GET(self) -> None:
            self.say({"status": "ok"})

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            tokens = batches.complete(asked)
            kind = "limit" if len(tokens) == asked["n_predict"] else "eos"
            self.say({"content": "", "tokens": tokens, "stop": True, "stop_type": kind})

        def say(self, document: dict[str, Any]) -> None:
            data = json.dumps(document).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is logged."""

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def main(port: str, model: str, draft: str | None = None) -> None:
    """Serve until killed."""
    server(int(port), Batches(model, draft)).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
