"""What a step of compiled decoders does beside the model is a few calls, and makes no tensor of an array."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import simlab
from simlab.decoders import make_decoder
from simlab.decoders.compiled.tensors import Tensors
from simlab.models.engine import compiled
from simlab.models.engine.compiled import CompiledRows
from simlab.models.engine.requests import Numbered, Request
from simlab.models.process.clock import UNTIMED
from simlab.rules import Speculative
from tests.support.cases import by_decoder, tree
from tests.support.networks import model

pytestmark = pytest.mark.parity

MOST = 50  # functions of simlab that one step calls, those of the model among them but not those of its modules
MODULES = "architectures"
OWN = str(Path(simlab.__file__).parent)


def calls_of_a_step(name: str, parameters: dict[str, Any]) -> tuple[int, int]:
    """How many functions of ``simlab`` one step calls, and how many tensors are made over arrays; buffers are there."""
    asked = [Numbered(0, Request(0, make_decoder(name, **parameters), Speculative()))]
    rows = CompiledRows(model("target"), model("draft"), asked, 1, UNTIMED)
    rows.enter(asked)
    rows.step()
    called, made = 0, 0

    def count(frame: FrameType, event: str, given: Any) -> None:
        nonlocal called, made
        path = frame.f_code.co_filename
        called += event == "call" and path.startswith(OWN) and MODULES not in path
        made += event == "c_call" and given.__name__ == "from_numpy"

    sys.setprofile(count)
    try:
        rows.step()
        rows.leave({})
    finally:
        sys.setprofile(None)
    return called, made


@by_decoder([("autoregressive", {}), ("sjd-ac", {"window": 3}), ("sjd-pac", tree(3, 2, 2))])
def test_a_step_is_few_calls(name: str, parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    called, made = calls_of_a_step(name, parameters)
    waits = 2 if name == "sjd-pac" else 0  # where a tree begins, and its nodes
    assert called <= MOST
    assert made == waits
    monkeypatch.setattr(compiled, "as_arrays", Tensors)  # as any process of torch is shown
    assert calls_of_a_step(name, parameters)[1] > waits
