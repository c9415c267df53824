"""Time of a decoding step on a device, part by part: the counterpart of SJD-PAC's Table 4.

``breakdown``
    of one step of ``sjd-pac`` over a model of official size with random weights, which take as long as trained ones:
    the model at one and at ``WINDOW`` tokens, from logits to rows (guidance, top-k, softmax), verification and all that
    a decoder does besides, the cache, and the whole step, operation by operation and recorded as a CUDA graph. One
    image with guidance, so batches are doubled.
``verification``
    a decoder's step over rows that are ready, in all ways there are to run it (``WAYS``): each goes on where the last
    step left off, with coins of its own, as in a run.
``bandwidth``
    of a large copy on the device, beside which stands what a step has to read.

Times are medians over single calls, each between two synchronisations: ``ms`` by the clock, which is what a user
waits, and ``device_ms`` between two events on the device. What cannot be measured says why in its place.
"""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from experiments.kept import Kept
from experiments.models.operations import Operations
from experiments.models.timing import PARTS, Clock
from simlab.decoders import Decoder, Info, make_decoder
from simlab.decoders.graph import FIRST, BufferedStep, CannotRecord, record
from simlab.decoders.tree import count_nodes
from simlab.decoders.triton import unsupported
from simlab.models.adapters.grammars import Layout, lumina
from simlab.models.adapters.llamagen import official
from simlab.models.architectures.backbone import Backbone
from simlab.models.architectures.transformer import Config, Transformer
from simlab.models.checkpoints import first_line
from simlab.models.process.cache import Cache, Window
from simlab.models.process.cached import Cached
from simlab.models.process.sampling import Sampling
from simlab.processes import Process
from simlab.randomness import Randomness, Tape
from simlab.rules import Rule, Speculative

WINDOW, CANDIDATES, DEPTH = 64, 4, 3  # of SJD-PAC's Table 4
LLAMAGEN_XL = official("XL", 384)
SMALL = Config(2, 64, 4, 256, (8, 8), classes=10)
IMAGE_MARK, PROMPT = 8711, 64  # Chameleon's id for an image in a text; tokens of a prompt
SMALL_CHAMELEON: dict[str, Any] = {
    "vocab_size": 9000,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "vq_config": {"base_channels": 32, "resolution": 32, "num_embeddings": 16, "channel_multiplier": [1, 1]},
}
SAMPLING = Sampling(guidance=3.0, top_k=2000)
VOCABULARIES = 16384, 65536
DECODERS = "sjd", "sjd-ac", "sjd-pac"
WAYS = "eager", "graph", "compiled", "compiled graph", "triton", "triton graph"
# kernels that torch makes of the whole step, and the project's own, launched one by one and at once
COMPILED, FUSED = WAYS[2:4], WAYS[4:]
COPIED, COPIED_SMALL = 1 << 30, 1 << 24  # bytes of the copy that the bandwidth is taken from
NEEDS_CUDA = "needs a CUDA device"
SPREAD = 3.0  # standard deviation of the logits of ready rows

Entry = dict[str, Any]
Notify = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """How large, and how often."""

    device: torch.device
    small: bool
    window: int
    vocabularies: tuple[int, ...]
    warm: int
    repeats: int

    @property
    def on_cuda(self) -> bool:
        return self.device.type == "cuda"


def plan_for(device: str, small: bool) -> Plan:
    """The plan of official sizes, or of sizes that any machine can do in seconds."""
    if small:
        return Plan(torch.device(device), True, 8, (256, 1024), 1, 3)
    return Plan(torch.device(device), False, WINDOW, VOCABULARIES, 20, 200)


def measure(plan: Plan, folder: Path, notify: Notify = lambda what: None) -> Iterator[Entry]:
    """A document after each part, of all parts until then, which are kept in ``folder``; the last is of all.

    After the last, the parts are removed from the folder; what else is in it stays.
    """
    with torch.cuda.device(plan.device) if plan.on_cuda else nullcontext():
        yield from _measured(plan, folder, notify)


def _measured(plan: Plan, folder: Path, notify: Notify) -> Iterator[Entry]:
    head: Entry = {
        "device": torch.cuda.get_device_name(plan.device)
        if plan.on_cuda
        else f"CPU, {torch.get_num_threads()} threads",
        "versions": _versions(),
        "small": plan.small,
        "window": plan.window,
        "candidates": CANDIDATES,
        "depth": DEPTH,
        "sampling": {"guidance": SAMPLING.guidance, "top_k": SAMPLING.top_k},
        "repeats": plan.repeats,
    }
    kept = Kept(folder, head)
    speed = kept.document({"part": "bandwidth"}, partial(bandwidth, plan))
    parts: Entry = {}
    verified: list[Entry] = []
    document = head | {"bandwidth": speed, "breakdown": parts, "verification": verified}
    for vocabulary, decoder in product(plan.vocabularies, DECODERS):
        notify(f"{decoder}, V = {vocabulary}")
        run: Callable[[], Entry] = partial(verification, decoder, vocabulary, plan, speed)
        verified.append(kept.document({"part": decoder, "vocabulary": vocabulary}, run))
        yield document
    for name, make in _models(plan).items():
        notify(name)
        own = partial(lambda make: breakdown(make(), plan), make)
        parts[name] = make if isinstance(make, dict) else kept.document({"part": name}, own)
        if plan.on_cuda:
            torch.cuda.empty_cache()
        yield document
    for entry in verified:  # last: torch takes up to a minute to compile a step
        decoder, vocabulary = entry["decoder"], entry["vocabulary"]
        notify(f"{decoder}, V = {vocabulary}, compiled")
        run = partial(compiled, decoder, vocabulary, plan, speed)
        entry |= kept.document({"part": decoder, "vocabulary": vocabulary, "ways": COMPILED}, run)
        yield document
    kept.remove()


# Timing -----------------------------------------------------------------------------------------------------------


def timed(call: Callable[[], object], plan: Plan) -> Entry:
    """Medians of a call that is warm."""
    for _ in range(plan.warm):
        call()
    clock, device = [], []
    for _ in range(plan.repeats):
        _wait(plan)
        events = [torch.cuda.Event(enable_timing=True) for _ in range(2)] if plan.on_cuda else []
        begun = time.perf_counter()
        for event in events[:1]:
            event.record(torch.cuda.current_stream(plan.device))
        call()
        for event in events[1:]:
            event.record(torch.cuda.current_stream(plan.device))
        _wait(plan)
        clock.append(1e3 * (time.perf_counter() - begun))
        if plan.on_cuda:
            device.append(events[0].elapsed_time(events[1]))
    found: Entry = {"ms": statistics.median(clock), "least_ms": min(clock), "repeats": len(clock)}
    return found | {"device_ms": statistics.median(device)} if device else found


def bandwidth(plan: Plan) -> Entry:
    """A copy of what fits no cache, on a device: every byte is read and written."""
    source = torch.zeros(COPIED_SMALL if plan.small else COPIED, dtype=torch.uint8, device=plan.device)
    target = torch.empty_like(source)
    found = timed(lambda: target.copy_(source), plan)
    size = 2 * source.numel()
    return found | {"bytes": size, "gigabytes_per_second": size / 1e6 / _milliseconds(found)}


def _milliseconds(entry: Entry) -> float:
    """On the device, where that was measured."""
    return float(entry["device_ms"] if "device_ms" in entry else entry["ms"])


def not_measured(reason: str) -> Entry:
    """An entry that says why there is no number."""
    return {"not_measured": reason}


def _wait(plan: Plan) -> None:
    if plan.on_cuda:
        torch.cuda.synchronize(plan.device)


# Models -----------------------------------------------------------------------------------------------------------


def _models(plan: Plan) -> dict[str, Callable[[], Backbone] | Entry]:
    """What is broken down: how each model is made, or why it is not."""
    there = find_spec("transformers") is not None
    missing = not_measured("transformers is not installed; pip install 'simlab[engines]'")
    if plan.small:
        large = not_measured("small sizes were asked for")
        small = (lambda: chameleon(lumina(8, 8), plan, **SMALL_CHAMELEON)) if there else missing
        return {
            "llamagen-xl": large,
            "chameleon-7b": large,
            "llamagen-small": lambda: llamagen(SMALL, plan),
            "chameleon-small": small,
        }
    return {
        "llamagen-xl": lambda: llamagen(LLAMAGEN_XL, plan),
        "chameleon-7b": (lambda: chameleon(lumina(), plan)) if there else missing,
    }


def llamagen(config: Config, plan: Plan) -> Transformer:
    """A transformer with random weights, in bfloat16 but for what is computed in float32."""
    with _made_on(plan):
        return Transformer(config).eval().requires_grad_(False)


def chameleon(layout: Layout, plan: Plan, **sizes: Any) -> Backbone:
    """A Chameleon as Lumina-mGPT uses it, with random weights in bfloat16: ``ChameleonConfig`` but for ``sizes``."""
    from transformers import ChameleonConfig, ChameleonForConditionalGeneration

    from simlab.models.adapters.hugging_face import HuggingFace

    attention: dict[str, Any] = {"attn_implementation": "sdpa"}  # which the class takes, but does not declare
    names = {"<image>": IMAGE_MARK} | {f"IMGIMG{id}": id for id in layout.image}
    config = ChameleonConfig(**sizes, vocabulary_map=names, **attention)
    with _made_on(plan):
        model = ChameleonForConditionalGeneration(config)
    return HuggingFace(model, layout, PROMPT).requires_grad_(False).to(plan.device)


@contextmanager
def _made_on(plan: Plan) -> Iterator[None]:
    """New weights are made where they stay, in bfloat16."""
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with plan.device:
            yield
    finally:
        torch.set_default_dtype(usual)


# One step, part by part -------------------------------------------------------------------------------------------


@torch.no_grad()
def breakdown(model: Backbone, plan: Plan) -> Entry:
    """The parts of a step of ``sjd-pac`` over ``model``, and the whole of it; ``sizes`` says how large."""
    sizes, nodes = model.config, count_nodes("comb", plan.window, CANDIDATES, DEPTH)
    place = sizes.length // 2
    cache = _cache(model, plan, nodes)
    logits = torch.randn(2, nodes + 1, sizes.vocabulary, device=plan.device)
    position = torch.arange(place, place + nodes + 1, device=plan.device)[None]
    return {
        "sizes": {
            "layers": sizes.layers,
            "dim": sizes.dim,
            "heads": sizes.heads,
            "vocabulary": sizes.vocabulary,
            "tokens": sizes.length,
            "nodes": nodes,
            "parameters": sum(weights.numel() for weights in model.parameters()),  # type: ignore[attr-defined]
        },
        "forward_1": timed(_forward(model, cache, 1, place, plan), plan),
        f"forward_{plan.window}": timed(_forward(model, cache, plan.window, place, plan), plan),
        "sampling": timed(lambda: SAMPLING.rows(logits, position), plan),
        "verification": verification("sjd-pac", sizes.vocabulary, plan)["eager"],
        "cache": {
            "copy_of_all": timed(lambda: [store.clone() for store in (*cache.keys, *cache.values)], plan),
            "bytes": sum(store.numel() * store.element_size() for store in (*cache.keys, *cache.values)),
        },
        **whole_step(model, plan),
    }


def _cache(model: Backbone, plan: Plan, nodes: int) -> Cache:
    """The cache of one image with guidance, and room for the nodes of a tree."""
    sizes = model.config
    dtype = model.condition(model.null(1)).dtype
    slots = sizes.prefix + sizes.length + nodes
    return Cache(sizes.layers, 2, sizes.heads, slots, sizes.head_dim, dtype, plan.device)


def _forward(model: Backbone, cache: Cache, count: int, place: int, plan: Plan) -> Callable[[], Tensor]:
    """A call of the model for ``count`` tokens in the middle of an image."""
    slot = (model.config.prefix + place + torch.arange(count, device=plan.device)).expand(2, -1)
    seen = torch.arange(cache.slots, device=plan.device) <= slot[..., None]
    mask = torch.zeros_like(seen, dtype=cache.keys[0].dtype).masked_fill(~seen, -torch.inf)
    tokens = torch.zeros(2, count, dtype=torch.int64, device=plan.device)
    return lambda: model.logits(model.features(model.embed(tokens), slot, Window(cache, slot, mask)))


def whole_step(model: Backbone, plan: Plan) -> Entry:
    """Steps over the cached model, from the start of an image on; none is like another.

    ``step`` is the whole, operation by operation, ``parts`` what each part takes of it, ``step_graph`` the same
    recorded once. ``in_place`` says whether keys and values stayed where they were.
    """
    process = Cached(model, model.null(1), SAMPLING)
    step = _steps(_decoder("sjd-pac", plan), process)
    held = [*process.cache.keys, *process.cache.values]  # held, so that no copy can have their place in memory
    with Operations() as counted:
        step()
    whole = timed(step, plan) | {"operations": counted.launched, "host_reads": counted.host_reads}
    parts = _parts_of_steps(model, plan)
    graph = _recorded(step, plan)
    same = all(before is now for before, now in zip(held, (*process.cache.keys, *process.cache.values), strict=True))
    return {"step": whole | {"in_place": same}, "parts": parts, "step_graph": graph}


def _parts_of_steps(model: Backbone, plan: Plan) -> Entry:
    """Medians of what the parts of a step take, as :mod:`experiments.models.timing` tells them apart."""
    process, decoder, tape = Cached(model, model.null(1), SAMPLING), _decoder("sjd-pac", plan), Tape(0, 1)
    state, found = decoder.init(process, tape.at(0), 1), []
    for iteration in range(plan.warm + plan.repeats):
        clock = Clock(plan.device)
        process.clock = clock
        with clock.during("verification"):
            state, _ = decoder.step(state, process, Speculative(), tape.at(iteration + 1))
        found.append(clock.seconds())
    kept = found[plan.warm :]
    return {part: {"ms": 1e3 * statistics.median(each[part] for each in kept), "repeats": len(kept)} for part in PARTS}


# Verification -----------------------------------------------------------------------------------------------------


class Ready(Process):
    """Rows that are there already, the same at every call."""

    def __init__(self, rows: Tensor, length: int) -> None:
        self.rows, self.vocabulary, self.length, self.shape = rows, rows.shape[-1], length, (1, length)
        self.uniform = torch.full_like(rows[0, 0], 1 / rows.shape[-1])

    def _rows(self, tokens: Tensor, start: Tensor, count: int) -> Tensor:
        return self.rows[:, :count]

    def forward_tree(self, tokens: Tensor, start: Tensor, nodes: Tensor, paths: Tensor) -> Tensor:
        return self.rows[:, : len(paths) + 1]


@torch.no_grad()
def verification(name: str, vocabulary: int, plan: Plan, speed: Entry | None = None) -> Entry:
    """Steps over rows that are ready, in the ways there are to run them.

    ``bytes`` is what a step has to read at least: the rows of the call, and those declared for the drafts. Beside the
    ``speed`` of a copy each way has the share of it that these bytes come to.
    """
    decoder, process, size = _ready(name, vocabulary, plan)
    nodes, step = process.rows.shape[1] - 1, _steps(decoder, process)
    with Operations() as counted:
        step()
    found: Entry = {"decoder": name, "vocabulary": vocabulary, "window": plan.window, "nodes": nodes, "bytes": size}
    found |= {"operations": counted.launched, "host_reads": counted.host_reads}
    ways = {"eager": timed(step, plan), "graph": _recorded(step, plan), **_fused(decoder, process, plan)}
    ways |= dict.fromkeys(COMPILED, not_measured("not reached"))
    return found | _with_shares({way: ways[way] for way in WAYS}, size, speed)


@torch.no_grad()
def compiled(name: str, vocabulary: int, plan: Plan, speed: Entry) -> Entry:
    """The same steps as kernels that torch makes of the whole, launched one by one and at once."""
    decoder, process, size = _ready(name, vocabulary, plan)
    return _with_shares(_compiled(decoder, process, plan), size, speed)


def _ready(name: str, vocabulary: int, plan: Plan) -> tuple[Decoder, Ready, int]:
    """A decoder, rows that are ready for it, and the bytes that a step has to read."""
    nodes = count_nodes("comb", plan.window, CANDIDATES, DEPTH) if name == "sjd-pac" else plan.window
    source = torch.Generator(plan.device).manual_seed(0)
    rows = torch.randn(1, nodes + 1, vocabulary, device=plan.device, generator=source).mul(SPREAD).softmax(-1)
    size = (nodes + 1 + plan.window) * vocabulary * rows.element_size()
    return _decoder(name, plan), Ready(rows, length=WINDOW * WINDOW), size


def _with_shares(ways: Entry, size: int, speed: Entry | None) -> Entry:
    """Beside each time the share of the speed of a copy that the bytes come to."""
    for entry in ways.values():
        if speed is not None and "ms" in entry:
            entry["bandwidth"] = size / 1e6 / _milliseconds(entry) / speed["gigabytes_per_second"]
    return ways


def _decoder(name: str, plan: Plan) -> Decoder:
    tree = {"candidates": CANDIDATES, "depth": DEPTH, "tree": "comb"} if name == "sjd-pac" else {}
    return make_decoder(name, window=plan.window, **tree)


def _steps(decoder: Decoder, process: Process) -> BufferedStep:
    """A step that has been taken until all it needs is there."""
    step = BufferedStep(decoder, process, Speculative(), Tape(0, 1))
    for _ in range(FIRST):
        step()
    return step


def _recorded(step: Callable[[], object], plan: Plan) -> Entry:
    """The same kernels, launched at once."""
    if not plan.on_cuda:
        return not_measured(NEEDS_CUDA)
    try:
        return timed(record(step, plan.device), plan)
    except CannotRecord as error:
        return not_measured(first_line(error))


class Compiled(Decoder[Any]):
    """A decoder whose step torch makes kernels of, as a whole; the first is as it was, so that tables are there."""

    def __init__(self, decoder: Decoder, process: Process, rule: Rule, tape: Tape) -> None:
        self.decoder, self._taken, moved = decoder, 0, tape.at(0)

        def step(state: Any, iteration: Any) -> tuple[Any, Info]:
            moved.iteration = iteration  # no copy of the tape, which torch 2.11 does not trace
            return decoder.step(state, process, rule, moved)

        self._step = torch.compile(step, fullgraph=True, dynamic=False)

    def init(self, process: Process, randomness: Randomness, batch: int) -> Any:
        return self.decoder.init(process, randomness, batch)

    def step(
        self, state: Any, process: Process, rule: Rule, randomness: Randomness, draft: Process | None = None
    ) -> tuple[Any, Info]:
        self._taken += 1
        if self._taken == 1:
            return self.decoder.step(state, process, rule, randomness, draft)
        assert isinstance(randomness, Tape), "a buffered step is run on a tape"
        found: tuple[Any, Info] = self._step(state, randomness.iteration)
        return found


def _compiled(decoder: Decoder, process: Process, plan: Plan) -> Entry:
    """Kernels that torch makes of the whole step."""

    def made() -> Callable[[], object]:
        torch._dynamo.reset()  # of other sizes, which it would want to be one program with
        return _steps(Compiled(decoder, process, Speculative(), Tape(0, 1)), process)

    return _both_ways(COMPILED, made, plan, None if plan.on_cuda else NEEDS_CUDA)


def _fused(decoder: Decoder, process: Process, plan: Plan) -> Entry:
    """The project's own kernels, where there are some for the decoder."""

    def made() -> Callable[[], object]:
        from simlab.decoders.triton import Fused  # loads Triton

        loop = Fused(decoder, process, Speculative(), 1)
        state = loop.start(Tape(0, 1))

        def step() -> None:
            nonlocal state
            state = loop.step(state)

        step()
        return step

    return _both_ways(FUSED, made, plan, unsupported(decoder, Speculative()) if plan.on_cuda else NEEDS_CUDA)


def _both_ways(
    ways: tuple[str, ...], made: Callable[[], Callable[[], object]], plan: Plan, reason: str | None
) -> Entry:
    """Kernels of the step that is ``made``, launched one by one and at once; not for a ``reason``, if there is one."""
    if reason is not None:
        return dict.fromkeys(ways, not_measured(reason))
    try:
        step = made()
        return dict(zip(ways, (timed(step, plan), _recorded(step, plan)), strict=True))
    except Exception as error:  # whatever the compiler makes of it
        return dict.fromkeys(ways, not_measured(f"cannot be compiled: {first_line(error)}"))


def _versions() -> dict[str, str]:
    """What it was measured with."""
    found = {"python": platform.python_version(), "simlab": version("simlab"), "torch": torch.__version__}
    for name in ("transformers", "triton"):
        found |= {name: version(name)} if find_spec(name) else {}
    return found | ({"cuda": str(torch.version.cuda)} if torch.version.cuda else {})
