"""Requests served by fused kernels have the tokens they have alone: interpreted on a CPU, and on a device."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from simlab.decoders import make_decoder
from simlab.models.engine import Request
from simlab.models.engine.reference import decode_batches
from simlab.models.engine.serve import form
from simlab.rules import make_rule
from tests.support.children import output
from tests.support.engine_cases import CHECKS
from tests.support.networks import model

pytestmark = pytest.mark.parity


@pytest.mark.slow
@pytest.mark.parametrize("names", [("chains", "own rows", "other rules", "ends"), ("trees", "drafts", "heads")])
def test_requests_have_the_tokens_they_have_alone(names: tuple[str, ...]) -> None:
    assert output("engine_cases", *names, TRITON_INTERPRET="1") == dict.fromkeys(names)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("name", CHECKS)
def test_requests_on_a_device(name: str) -> None:
    try:
        assert CHECKS[name](device="cuda") is None
    finally:
        model("target").cpu(), model("draft").cpu()


def test_which_form_is_taken() -> None:
    def taken(name: str, rule: str, device: str, **more: float) -> object:
        own = {"gamma": 2} if name == "block" else {"window": 2}
        found = form(Request(0, make_decoder(name, **own), make_rule(rule, **more)), device)
        return found.keywords["form"].__name__ if isinstance(found, partial) else found

    assert taken("sjd", "speculative", "cpu") == "CompiledRows"
    assert taken("block", "speculative", "cuda") is decode_batches
    assert taken("sjd", "amplify", "cuda", k=2.0) is decode_batches
    assert taken("sjd", "speculative", "mps") is decode_batches
    assert taken("sjd-pac", "speculative", "cuda") == "FusedRows"
