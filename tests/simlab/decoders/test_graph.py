"""A step recorded once and replayed: it deals new coins and carries its state, and gives the tokens of the loop.

On a CPU a step is recorded as the list of its operations on its buffers, by FX, and replayed as a CUDA graph is: no
line of Python is run again. On a device the same runs are compared (``cuda``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode

from experiments.models.device import Ready
from simlab.decoders import Decoder, graph, make_decoder, run
from simlab.decoders.graph import FIRST, BufferedStep, CannotRecord, record
from simlab.decoders.run import Faulty
from simlab.models.process.cached import Cached
from simlab.randomness import Tape
from simlab.rules import Speculative, make_rule
from tests.support.cases import DECODERS, RENEWED, by_decoder, tree
from tests.support.dense import DenseProcess
from tests.support.networks import SAMPLINGS, as_on_a_device, classes, model
from theory.example_processes import random_process

pytestmark = pytest.mark.parity
DEFAULT_EVERY = 8

RULE = make_rule("speculative")
SEED, REPLICATES = 7, 6
WORLDS = {seed: random_process(seed, 3, 6, (2, 3), zeros=0.2) for seed in (1, 2)}
SOME = [
    ("sjd", {"window": 3}),
    RENEWED[1],
    ("sjd-pac", tree(3, 2, 2)),
    ("sjd-pac", tree(3, 2, 2, "full", shared=True)),
]


def operations(step: Any, device: torch.device) -> Any:
    """A step as the list of its operations, on the very buffers it has."""
    return make_fx(step)()


def dense(seed: int) -> DenseProcess:
    return DenseProcess(WORLDS[seed], torch.from_numpy)


def cached(device: str = "cpu") -> Cached:
    return Cached(model("target"), classes(2).to(device), SAMPLINGS["guided"])


def tape() -> Tape:
    return Tape(SEED, REPLICATES)


def same(one: Any, other: Any) -> bool:
    return np.array_equal(one.tokens.cpu(), other.tokens.cpu()) and np.array_equal(one.steps.cpu(), other.steps.cpu())


@by_decoder(SOME)
def test_a_replayed_step_deals_new_coins_and_carries_its_state(name: str, parameters: dict[str, Any]) -> None:
    decoder = make_decoder(name, **parameters)
    right = run(decoder, dense(1), RULE, tape())
    told: list[str] = []
    assert same(graph.run(decoder, dense(1), RULE, tape(), recorder=operations, told=told.append), right)
    assert told == []


@by_decoder(DECODERS)
def test_a_buffered_step_is_a_step(name: str, parameters: dict[str, Any]) -> None:
    decoder = make_decoder(name, **parameters)
    draft = dense(2) if decoder.needs_draft else None
    infos: list[Any] = []
    found = graph.run(decoder, dense(1), RULE, tape(), draft, lambda before, after, info: infos.append(info))
    assert same(found, run(decoder, dense(1), RULE, tape(), draft))
    assert torch.stack([info.committed for info in infos]).sum(0).tolist() == [6] * REPLICATES


@by_decoder([("sjd-pp", {"window": 3}), ("sjd-ac", {"window": 3, "relabel": "law"})])
def test_rows_that_are_declared_in_float64_keep_their_digits(name: str, parameters: dict[str, Any]) -> None:
    """Of a model in float32, too: the buffers have the type that the first step gives."""
    decoder, rule = make_decoder(name, **parameters), make_rule("amplify", k=1.5)
    process = dense(1)
    process.table, process.uniform = process.table.float(), process.uniform.float()
    right, found = list[Any](), list[Any]()
    run(decoder, process, rule, tape(), watch=lambda before, after, info: right.append(after.q))
    graph.run(decoder, process, rule, tape(), watch=lambda before, after, info: found.append(after.q.clone()))
    assert right[0].dtype == torch.float64
    assert all(torch.equal(one, other) for one, other in zip(right, found, strict=True))


class CountedByHost(Tape):
    """A tape whose iteration is a number of the host's: a recorded step keeps the one it was recorded with."""

    def at(self, iteration: Any) -> Tape:
        return super().at(int(iteration))


def test_coins_that_repeat_are_seen() -> None:
    decoder, broken = make_decoder("jacobi", window=2), CountedByHost(SEED, REPLICATES)
    right = run(decoder, dense(1), RULE, tape())
    assert same(graph.run(decoder, dense(1), RULE, broken), right)
    assert not same(graph.run(decoder, dense(1), RULE, broken, recorder=operations), right)


@pytest.mark.parametrize("recorder", [None, operations], ids=["called", "replayed"])
@pytest.mark.parametrize("name", ["sjd-pac", "sjd"])
def test_what_a_model_remembers_is_carried(name: str, recorder: Any) -> None:
    """Its cache, and the tree whose accepted path is not in place yet."""
    decoder = make_decoder(name, **(tree(4, 2, 2) if name == "sjd-pac" else {"window": 4}))
    right, found = (
        each(decoder, as_on_a_device(cached()), RULE, Tape(3, 2), **given)
        for each, given in ((run, {}), (graph.run, {"recorder": recorder}))
    )
    assert same(right, found)


def test_the_others_are_finished_beside_a_sequence_that_cannot_go_on() -> None:
    class Broken(DenseProcess):
        def faults(self) -> dict[int, str]:
            return {1: "is broken"}

    right = run(make_decoder("sjd", window=3), dense(1), RULE, tape())
    for form in (run, graph.run):
        with pytest.raises(Faulty, match="sequence 1: is broken") as told:
            form(make_decoder("sjd", window=3), Broken(WORLDS[1], torch.from_numpy), RULE, tape())
        assert told.value.faults == {1: "is broken"}
        assert same(told.value.run, right)


def test_without_a_device_it_says_so_and_goes_on() -> None:
    told: list[str] = []
    decoder = make_decoder("sjd", window=3)
    assert same(graph.run(decoder, dense(1), RULE, tape(), told=told.append), run(decoder, dense(1), RULE, tape()))
    assert told == ["a step on cpu cannot be recorded; expected a CUDA device"]
    with pytest.raises(CannotRecord, match="expected a CUDA device"):
        record(lambda: None, torch.device("cpu"))


class Growing(DenseProcess):
    """A process that keeps more and more."""

    def forward(self, tokens: Any, start: Any, count: int) -> Any:
        kept = getattr(self, "kept", tokens[:, :0])
        self.kept = torch.cat([kept, tokens[:, :1]], dim=1)
        return super().forward(tokens, start, count)


def test_what_grows_is_run_operation_by_operation() -> None:
    told: list[str] = []
    decoder, growing = make_decoder("sjd", window=3), Growing(WORLDS[1], torch.from_numpy)
    found = graph.run(decoder, growing, RULE, tape(), recorder=operations, told=told.append)
    assert same(found, run(decoder, dense(1), RULE, tape()))
    assert told == ["Growing.kept is not what it was before the step; expected tensors of the same shape"]


@pytest.mark.slow
@by_decoder(SOME)
def test_a_step_compiles_as_a_whole(name: str, parameters: dict[str, Any]) -> None:
    """Without a break or a warning, and the numbers are the same."""
    decoder, process, counted = make_decoder(name, **parameters), dense(1), tape()
    start, _ = decoder.step(decoder.init(process, counted.at(0), REPLICATES), process, RULE, counted.at(1))

    def step(state: Any, iteration: torch.Tensor) -> Any:
        return decoder.step(state, process, RULE, counted.at(iteration))[0]

    torch._dynamo.reset()
    compiled = torch.compile(step, fullgraph=True, dynamic=False, backend="eager")
    state = right = start
    for iteration in (2, 3):
        state, right = compiled(state, torch.tensor([iteration])), step(right, torch.tensor([iteration]))
        assert all(torch.equal(one, other) for one, other in zip(state, right, strict=True))


class OfTheHost(TorchDispatchMode):
    """A context that collects the operations with a tensor of the host."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        tensors = [each for each in (*args, result) if isinstance(each, torch.Tensor)]
        self.found += [str(func) for each in tensors if each.device.type == "cpu"]
        return result


def on_no_device(rule: Any, name: str, parameters: dict[str, Any]) -> list[str]:
    """What a steady step has on the host, over rows that are nowhere: there are shapes, but no number to be read."""
    decoder = make_decoder(name, **parameters)
    target, draft = (Ready(torch.rand(2, count, 9, device="meta"), 64) for count in (40, 1))
    step = BufferedStep(decoder, target, rule, Tape(0, 2), draft if decoder.needs_draft else None)
    for _ in range(FIRST):
        step()
    with OfTheHost() as host:
        step()
    return host.found


@by_decoder(
    [*SOME, ("autoregressive", {}), ("speculative", {"gamma": 2}), ("block", {"gamma": 2}), ("jacobi", {"window": 2})]
)
def test_a_steady_step_has_nothing_on_the_host(name: str, parameters: dict[str, Any]) -> None:
    """No operand that would be copied while a step is recorded, and no value that is read."""
    assert on_no_device(RULE, name, parameters) == []


def test_an_operand_of_the_host_is_seen() -> None:
    class Slow(Speculative):
        def accept_rows(self, p: Any, q: Any, x: Any) -> Any:
            return super().accept_rows(p, q, x) * torch.tensor(1.0)

    class Reading(Speculative):
        def accept_rows(self, p: Any, q: Any, x: Any) -> Any:
            return super().accept_rows(p, q, x) * float(p.max())

    assert on_no_device(Slow(), "sjd", {"window": 3})
    with pytest.raises((RuntimeError, NotImplementedError), match="meta"):
        on_no_device(Reading(), "sjd", {"window": 3})


# On a device ----------------------------------------------------------------------------------------------------


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@by_decoder(SOME)
def test_a_graph_gives_the_tokens_of_the_loop(name: str, parameters: dict[str, Any]) -> None:
    def process() -> DenseProcess:
        return DenseProcess(WORLDS[1], lambda rows: torch.from_numpy(rows).cuda())

    decoder: Decoder = make_decoder(name, **parameters)
    told: list[str] = []
    found = graph.run(decoder, process(), RULE, tape(), told=told.append)
    assert told == []
    assert same(found, run(decoder, process(), RULE, tape()))
    assert same(found, run(decoder, dense(1), RULE, tape()))


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("name", ["sjd", "sjd-pac"])
def test_a_graph_of_a_model_gives_the_tokens_of_the_loop(name: str) -> None:
    decoder = make_decoder(name, **(tree(4, 2, 2) if name == "sjd-pac" else {"window": 4}))
    told: list[str] = []
    model("target").to("cuda")
    right = run(decoder, cached("cuda"), RULE, Tape(3, 2))
    found = graph.run(decoder, cached("cuda"), RULE, Tape(3, 2), told=told.append)
    model("target").to("cpu")
    assert told == []
    assert same(found, right)
