"""Engines that are not installed here, on stand-ins: what mlx-lm's loop is given, how llama.cpp's server is started."""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar
from urllib.request import Request, urlopen

import numpy as np
import pytest

from experiments.engines import llama_cpp, openvino_genai, sizes
from simlab.arrays import Array
from simlab.certify.servers.client import LLAMA
from tests.support.adapters import ROW, constant, first_token
from tests.support.cli import written

pytestmark = pytest.mark.cli

stand_ins = pytest.importorskip("tests.support.stand_ins")


# mlx-lm ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def decode(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Its loop on a stand-in, with the coins that are drawn in place of a generator."""
    coins: list[float] = []
    stand_ins.install(monkeypatch, stand_ins.mlx_lm(getattr(request, "param", False), coins))
    module = importlib.import_module("experiments.engines.mlx_lm")
    seeds = SimpleNamespace(integers=lambda high: 0)

    def called(model: Any, length: int, uniforms: Any, eos: int | None = None) -> list[int]:
        coins[:] = uniforms
        found: list[int] = module.decode(model, length, seeds, eos)
        return found

    yield called
    del sys.modules["experiments.engines.mlx_lm"]


@pytest.mark.exact
@pytest.mark.parametrize(("decode", "law"), [(False, ROW), (True, [0.46, 0.54])], indirect=["decode"])
def test_a_loop_of_mlx_follows_the_target_unless_its_package_does_not(decode: Any, law: Array) -> None:
    """One draft of q = (.46, .54), then two tokens of p: the first is p's own. A wrong package keeps the draft."""
    found = first_token(lambda rng: decode(constant, 1, rng.uniforms), 0.46, 0.7, 0.7)
    np.testing.assert_allclose(found, law)


def test_a_loop_of_mlx_asks_for_rows_after_what_was_committed(decode: Any) -> None:
    """Two drafts a step, each kept as p draws the same; rows are asked for after every prefix, and caches are cut."""
    seen: set[tuple[int, ...]] = set()

    def turning(prefix: tuple[int, ...]) -> Array:
        seen.add(prefix)
        return np.array([0.2, 0.8] if prefix and prefix[-1] == 0 else [0.8, 0.2])

    assert decode(turning, 4, [0.1] * 12) == [0, 0, 0, 0]
    assert {(), (0,), (0, 0), (0, 0, 0)} <= seen
    seen.clear()
    assert decode(turning, 3, [0.1, 0.1, 0.1, 0.9, 0.9, 0.1, 0.1, 0.1]) == [0, 1, 0]  # the second draft is not kept
    assert (0, 1) in seen
    assert decode(turning, 4, [0.1] * 12, eos=0) == [0]


# llama.cpp -------------------------------------------------------------------------------------------------------


class Writer:
    """GGUF's writer of gguf 0.19, as far as it is used: whatever is not a method of it fails."""

    METHODS = (
        *("add_context_length", "add_embedding_length", "add_block_count", "add_feed_forward_length", "add_head_count"),
        *("add_head_count_kv", "add_rope_dimension_count", "add_layer_norm_rms_eps", "add_vocab_size"),
        *("add_tokenizer_model", "add_token_list", "add_token_scores", "add_token_types", "add_unk_token_id"),
        *("add_bos_token_id", "add_eos_token_id"),
    )
    written: ClassVar[list[dict[str, Array]]] = []

    def __init__(self, path: Path, arch: str) -> None:
        self.path, self.said, self.tensors = Path(path), dict[str, Any](arch=arch), dict[str, Array]()

    def __getattr__(self, name: str) -> Any:
        if name not in Writer.METHODS:
            raise AttributeError(name)
        return lambda value: self.said.__setitem__(name, value)

    def add_tensor(self, name: str, tensor: Array) -> None:
        assert tensor.dtype == np.float32
        self.tensors[name] = tensor

    def write_header_to_file(self) -> None:
        assert set(self.said) == {"arch", *Writer.METHODS}

    def write_kv_data_to_file(self) -> None:
        size = self.said["add_vocab_size"]
        assert {len(self.said[f"add_token_{what}"]) for what in ("list", "scores", "types")} == {size}

    def write_tensors_to_file(self) -> None:
        self.path.write_bytes(b"GGUF")

    def close(self) -> None:
        Writer.written.append(self.tensors)


# what stands in for xllamacpp in the server's process: a server that tells how it was asked to draft
XLLAMACPP = """
import json
import threading
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

common_speculative_type = Enum(
    "common_speculative_type",
    ["COMMON_SPECULATIVE_TYPE_DRAFT_SIMPLE", "COMMON_SPECULATIVE_TYPE_NGRAM_SIMPLE"],
)


class CommonParams:
    def __init__(self):
        self.model, self.cpuparams = SimpleNamespace(path=""), SimpleNamespace(n_threads=-1)
        draft = SimpleNamespace(probabilistic=False, mparams=SimpleNamespace(path=""))
        self.speculative = SimpleNamespace(types=[], draft=draft)


class Server:
    def __init__(self, asked):
        drafting = asked.speculative
        said = {
            "model": open(asked.model.path).read(),
            "types": [kind.name for kind in drafting.types],
            "drawn": drafting.draft.probabilistic,
            "draft": drafting.draft.mparams.path and open(drafting.draft.mparams.path).read(),
            "parallel": asked.n_parallel,
        }

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps(said).encode())

        self.server = ThreadingHTTPServer(("127.0.0.1", asked.port), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The stand-ins, for this process and those it starts."""
    Writer.written.clear()
    monkeypatch.setitem(sys.modules, "gguf", SimpleNamespace(GGUFWriter=Writer))
    (tmp_path / "xllamacpp.py").write_text(XLLAMACPP, encoding="utf-8")
    paths = [str(tmp_path), str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    return tmp_path


def test_the_draft_is_the_target_with_noise_on_its_weights(packages: Path) -> None:
    for noise in (0.0, sizes.NOISE, 0.0):
        llama_cpp.write_model(packages / "model.gguf", noise)
    target, draft, again = Writer.written
    size = sizes.BYTES + len(sizes.SPECIAL)
    assert target["token_embd.weight"].shape == target["output.weight"].shape == (size, sizes.WIDTH)
    for name, weights in target.items():
        np.testing.assert_array_equal(weights, again[name])
        off = (draft[name] - weights).std()
        assert np.isclose(off, sizes.NOISE * weights.std(), rtol=0.1) if "norm" not in name else off == 0


@pytest.mark.parametrize(("how", "drawn"), [("greedy", False), ("drawn", True)])
def test_one_server_drafts_and_the_other_does_not(packages: Path, how: str, drawn: bool) -> None:
    with llama_cpp.served(how) as addresses:
        told = [json.load(urlopen(address.removesuffix(LLAMA) + "/health", timeout=10)) for address in addresses]
    drafting, plain = told
    assert drafting["types"] == ["COMMON_SPECULATIVE_TYPE_DRAFT_SIMPLE"]
    assert (drafting["drawn"], drafting["model"], drafting["draft"]) == (drawn, "GGUF", "GGUF")
    assert (plain["types"], plain["draft"], plain["model"]) == ([], "", "GGUF")
    assert drafting["parallel"] == plain["parallel"] == llama_cpp.SLOTS


def test_a_server_that_ends_is_told_of(packages: Path) -> None:
    (packages / "xllamacpp.py").write_text("raise SystemExit(7)", encoding="utf-8")
    with pytest.raises(ValueError, match="llama_cpp does not listen; its exit status is 7"), llama_cpp.served("greedy"):
        pass


# OpenVINO GenAI -----------------------------------------------------------------------------------------------------


class Pipeline:
    """A pipeline that tells what it was asked, in place of tokens; it takes a while, so that others wait."""

    batches: ClassVar[list[int]] = []

    def __init__(self, model: str, scheduling: Any, device: str, properties: dict[str, Any]) -> None:
        assert (scheduling.cache_size, device) == (1, "CPU")
        self.drafts = "draft_model" in properties

    def generate(self, prompts: list[Array], settings: list[Any]) -> list[Any]:
        time.sleep(0.02)
        Pipeline.batches.append(len(prompts))
        assert all(one.do_sample and hasattr(one, "num_assistant_tokens") == self.drafts for one in settings)
        return [
            SimpleNamespace(m_generation_ids=[[*prompt[0].tolist()[:2], one.rng_seed, one.top_k][: one.max_new_tokens]])
            for prompt, one in zip(prompts, settings, strict=True)
        ]


@pytest.fixture
def openvino(monkeypatch: pytest.MonkeyPatch) -> None:
    Pipeline.batches.clear()
    names = {
        "SchedulerConfig": SimpleNamespace,
        "GenerationConfig": SimpleNamespace,
        "ContinuousBatchingPipeline": Pipeline,
        "draft_model": lambda model, device: (model, device),
    }
    stand_ins.install(monkeypatch, {"openvino_genai": names, "openvino": {"Tensor": np.asarray}})


def asked(prompt: str, seed: int, count: int = 4) -> dict[str, Any]:
    return {"prompt": prompt, "seed": seed, "n_predict": count, "temperature": 1.0, "top_p": 1.0, "top_k": 0}


@pytest.mark.parametrize("draft", [None, "draft"])
def test_requests_that_wait_are_served_in_one_batch_each_with_its_own(openvino: None, draft: str | None) -> None:
    batches = openvino_genai.Batches("model", draft)
    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda seed: batches.complete(asked(chr(97 + seed), seed)), range(8)))
    first = len(sizes.SPECIAL) + 97
    assert told == [[1, first + seed, seed, openvino_genai.SIZE] for seed in range(8)]
    assert sum(Pipeline.batches) == 8
    assert max(Pipeline.batches) > 1


def test_its_server_answers_as_that_of_llama_cpp_does(openvino: None) -> None:
    with openvino_genai.server(0, openvino_genai.Batches("model", None)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        with urlopen(address + "/health", timeout=10) as answer:
            assert answer.status == 200
        for count, kind in ((4, "limit"), (9, "eos")):
            body = json.dumps(asked("a", 5, count)).encode()
            with urlopen(Request(address + LLAMA, body), timeout=10) as answer:
                told = json.load(answer)
            assert (told["tokens"][2], told["stop_type"]) == (5, kind)
        server.shutdown()


# Samplers of one file -----------------------------------------------------------------------------------------------

SAMPLERS = {  # each keeps all drafts and ends with token 1, if it gets what the published one takes
    "lmdeploy": {
        "lmdeploy/pytorch/backends/default/rejection_sampling.py": """
import torch
from ..rejection_sampling import PLACEHOLDER_TOKEN_ID, RejectionSamplingImpl

class DefaultRejectionSamplingImpl(RejectionSamplingImpl):
    def forward(self, target_logits, draft_token_ids, bonus_token_ids, *, is_greedy, draft_probs=None):
        count, size = target_logits.shape[1:]
        assert is_greedy is None and target_logits.exp().sum(-1).allclose(torch.ones(1, count))
        assert draft_token_ids.shape == (1, count) and bonus_token_ids.tolist() == [1]
        assert draft_probs is None or draft_probs.shape == (1, count, size)
        ended = torch.full((1, 1), PLACEHOLDER_TOKEN_ID)
        return torch.cat([draft_token_ids, bonus_token_ids[None], ended], 1), None, None
"""
    },
    "sglang": {
        "sglang/kernels/ops/speculative/reject_sampling.py": """
def chain_speculative_sampling_triton(
    predicts, accept_index, accept_token_num, candidates, retrive_index, retrive_next_token, retrive_next_sibling,
    uniform_samples, uniform_samples_for_final_sampling, target_probs, draft_probs, threshold_single, threshold_acc,
    deterministic, *, block_verification=False,
):
    slots = candidates.shape[1]
    assert target_probs.shape == (1, slots, 2) and draft_probs.shape == (1, slots - 1, 2)
    assert uniform_samples.shape == (1, slots - 1) and uniform_samples_for_final_sampling.shape == (1,)
    for place in range(slots - 1):
        predicts[retrive_index[0, place]] = candidates[0, place + 1]
    predicts[slots - 1], accept_token_num[0] = 1, slots - 1
"""
    },
    "vllm": {
        "vllm/v1/worker/gpu/sample/gumbel.py": """
from vllm.triton_utils import tl, triton

def salted(seed): return seed + 1
""",
        "vllm/v1/worker/gpu/spec_decode/rejection_sampler_utils.py": """
import torch
from vllm.triton_utils import tl, tldevice, triton
from vllm.v1.spec_decode.fly import compute_fly_entropy
from vllm.v1.worker.gpu.sample.gumbel import salted

def rejection_sample(
    target_logits, draft_logits, draft_sampled, cu_num_logits, pos, idx_mapping, expanded_idx_mapping,
    expanded_local_pos, temperature, seed, num_speculative_steps, use_block_verification=False,
):
    rows = num_speculative_steps + 1
    assert target_logits.shape == (rows, 2) and draft_sampled.shape == (rows,) and cu_num_logits.tolist() == [0, rows]
    assert draft_logits is None or draft_logits.shape == (1, rows - 1, 2)
    assert tldevice.log1p and salted(int(seed)) > 0 and float(temperature) == 1
    last = torch.tensor([1, 0])
    return torch.cat([draft_sampled[1:], last])[None], torch.tensor([rows])
""",
    },
}


@pytest.mark.parametrize(
    ("package", "module", "names"),
    [
        ("lmdeploy", "lmdeploy", ("scored", "unscored")),
        ("sglang", "sglang", ("chain", "blocks")),
        ("vllm", "vllm_runner", ("scored", "unscored", "blockwise")),
    ],
)
def test_a_sampler_of_one_file_gets_what_it_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, module: str, names: tuple[str, ...]
) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setenv(f"{package.upper()}_SOURCE", str(written(tmp_path, SAMPLERS[package])))
    monkeypatch.delitem(sys.modules, f"experiments.engines.{module}", raising=False)
    loaded = importlib.import_module(f"experiments.engines.{module}")
    p, q, drafts = np.array([[0.5, 0.5], [0.25, 0.75], [0.0, 1.0]]), np.full((2, 2), 0.5), np.array([0, 1])
    for name in names:
        called = getattr(loaded, name)
        if package == "sglang":
            rows = [torch.from_numpy(given) for given in (p, q, drafts, np.full(2, 0.5))]
            assert called(*rows, torch.tensor(0.5)) == [0, 1, 1]
        else:
            assert called(p, q, drafts, np.random.default_rng(0)) == [0, 1, 1]
    monkeypatch.delitem(sys.modules, f"experiments.engines.{module}")
