"""How much a device is given to do in a step, counted without one.

A step over ready rows at the sizes of SJD-PAC's Table 4, L = 64 and V = 16384: the operations of torch, each of which a
device has to launch. The bounds are a little above what is counted.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from experiments.models.device import Ready
from experiments.models.operations import Operations
from simlab.decoders import SjdPd, make_decoder
from simlab.randomness import Tape
from simlab.randomness import tape as tapes
from simlab.rules import make_rule
from tests.support.cases import tree

pytestmark = pytest.mark.exact

WINDOW, VOCABULARY = 64, 16384
LIMITS: list[tuple[str, dict[str, Any], int]] = [
    ("sjd", {"window": WINDOW}, 405),
    ("sjd-ac", {"window": WINDOW}, 450),
    ("sjd-pac", tree(WINDOW, 4, 3), 1400),
    ("sjd-pac", tree(WINDOW, 4, 3, "full"), 1500),
]


def counted(name: str, parameters: dict[str, Any]) -> Operations:
    """The operations of the second step, with the iteration counted on the device."""
    decoder = make_decoder(name, **parameters)
    nodes = decoder.draft_tree().nodes if isinstance(decoder, SjdPd) else WINDOW
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(1, nodes + 1, VOCABULARY, generator=generator).mul(3).softmax(-1)
    process, rule, tape = Ready(rows, 1024), make_rule("speculative"), Tape(0, 1)
    state, _ = decoder.step(decoder.init(process, tape.at(0), 1), process, rule, tape.at(torch.tensor([1])))
    second = tape.at(torch.tensor([2]))
    with Operations() as operations:
        decoder.step(state, process, rule, second)
    return operations


@pytest.mark.parametrize(("name", "parameters", "limit"), LIMITS, ids=["sjd", "sjd-ac", "comb", "full"])
def test_a_step_launches_no_more_than(name: str, parameters: dict[str, Any], limit: int) -> None:
    operations = counted(name, parameters)
    assert operations.launched <= limit
    assert operations.host_reads == 0


ALL: dict[str, dict[str, Any]] = {
    "autoregressive": {},
    "speculative": {"gamma": 3},
    "block": {"gamma": 3},
    "hierarchical": {"gamma": 3},
    "jacobi": {"window": 4},
    "sjd": {"window": 4},
    "sjd-ac": {"window": 4},
    "sjd-pd": tree(4, 2, 2),
    "sjd-pac": tree(4, 3, 2, "full", shared=True),
}


@pytest.mark.parametrize("name", ALL)
def test_all_coins_of_a_step_come_from_one_call(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, philox = [], tapes.philox4x32
    monkeypatch.setattr(tapes, "philox4x32", lambda *words: calls.append(None) or philox(*words))
    decoder = make_decoder(name, **ALL[name])
    process, draft, tape = (
        Ready(torch.rand(1, 20, 8).softmax(-1), 64),
        Ready(torch.rand(1, 1, 8).softmax(-1), 64),
        Tape(0, 1),
    )
    state = decoder.init(process, tape.at(0), 1)
    calls.clear()
    decoder.step(state, process, make_rule("speculative"), tape.at(1), draft if decoder.needs_draft else None)
    assert len(calls) == 1
