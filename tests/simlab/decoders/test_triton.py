"""Fused decoders: the same tokens in the same steps as the reference form, and kernels that compile for sm_90.

Kernels are interpreted, and compiled, in processes of their own: Triton decides at its first import which it does.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from experiments.models.operations import Operations
from simlab.decoders import DECODERS, make_decoder
from simlab.decoders.triton import unsupported
from simlab.randomness import Tape
from simlab.registry import examples
from simlab.rules import Speculative, make_rule
from tests.support import triton_cases
from tests.support.children import output
from tests.support.triton_cases import CHECKS, SMALLEST, Ready

pytestmark = pytest.mark.parity
FIRST = (*triton_cases.DECODERS, *triton_cases.STARTS)
GROUPS = {
    "decoders and starts": FIRST,
    "the others": tuple(name for name in CHECKS if name not in (SMALLEST, *FIRST)),
}


def test_the_same_tokens_of_the_smallest_case() -> None:
    assert output("triton_cases", SMALLEST, TRITON_INTERPRET="1") == {SMALLEST: None}


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_the_same_tokens(group: str) -> None:
    assert output("triton_cases", *GROUPS[group], TRITON_INTERPRET="1") == dict.fromkeys(GROUPS[group])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("vocabulary", "names"),
    [
        (256, ["sjd-pac", "sjd", "sjd-block", "sjd-pv", "sjd-vp", "sjd2", "speculative"]),
        (65536, ["sjd-pac"]),
    ],
)
def test_kernels_compile_for_a_gpu(vocabulary: int, names: list[str], tmp_path: Path) -> None:
    """Where a row is one block, and where it is as many as are added up side by side."""
    cache = {"TRITON_CACHE_DIR": str(tmp_path), "TRITON_INTERPRET": "0"}
    found = output("triton_compile", str(vocabulary), *names, **cache)
    kernels = {name.partition(" ")[0] for name in found}
    expected = {"begin_windows", "walk", "redraw", "commit"}
    expected |= {"draw_candidates", "verify_families"} if "sjd-pac" in names else set()
    expected |= {"draw_draft"} if "speculative" in names else set()
    expected |= {"blur"} if "sjd2" in names else set()
    expected |= {"rise"} if "sjd-vp" in names else set()
    expected |= {"weigh", "step_back"} if "sjd-block" in names else set()
    assert kernels == expected
    assert all(size > 0 for size in found.values())


@pytest.mark.parametrize(
    ("name", "parameters", "kernels"),
    [
        ("autoregressive", {}, 3),
        ("sjd", {"window": 4}, 3),
        ("sjd-ac", {"window": 4}, 3),
        ("sjd-block", {"window": 4}, 4),
        ("sjd-pv", {"window": 4}, 3),
        ("sjd-vp", {"window": 4}, 4),
        ("sjd2", {"window": 4}, 4),
        ("sjd-pac", {"window": 4, "candidates": 2, "depth": 2}, 5),
        ("sjd-pac", {"window": 4, "candidates": 3, "depth": 2, "tree": "full"}, 5),
        ("speculative", {"gamma": 3}, 6),
    ],
)
def test_launches_of_a_step(name: str, parameters: dict[str, Any], kernels: int) -> None:
    """Kernels, and nothing that torch launches or the host reads besides, but the positions of drafts."""
    from simlab.decoders.triton.fused import Fused

    launched = []

    class Counted(Fused):
        def _launch(self, kernel: Any, grid: tuple[int, ...], *given: Any, **more: Any) -> None:
            launched.append(kernel)

    rows = torch.full((1, 40, 32), 1 / 32)
    process = Ready(32, (1, 8))
    vars(process).update(
        forward=lambda tokens, start, count: rows[:, :count],
        forward_tree=lambda tokens, start, nodes, paths: rows[:, : len(paths) + 1],
    )
    draft = process if name == "speculative" else None
    fused = Counted(make_decoder(name, **parameters), process, Speculative(), 1, draft)
    state = fused.start(Tape(0, 1))
    launched.clear()
    with Operations() as counted:
        fused.step(state)
    assert len(launched) == kernels
    asked = sum(count for operation, count in counted.of.items() if "empty" in operation)  # memory, nothing to launch
    assert counted.launched - asked == parameters.get("gamma", 0)
    assert counted.host_reads == 0


@pytest.mark.cuda
@pytest.mark.parametrize("name", CHECKS)
def test_the_same_tokens_on_a_device(name: str) -> None:
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    assert CHECKS[name](device="cuda") is None


FUSED = {case.decoder for case in triton_cases.CASES.values()}


@pytest.mark.parametrize("name", sorted(DECODERS))
def test_what_has_no_fused_form_is_refused_by_name(name: str) -> None:
    decoder = make_decoder(name, **examples(DECODERS, name, {})[0])
    reason = unsupported(decoder, make_rule("speculative"))
    assert (reason is None) == (name in FUSED)
    assert reason is None or type(decoder).__name__ in reason


def test_other_rules_and_laws_are_refused_by_name() -> None:
    assert "Amplify" in str(unsupported(make_decoder("sjd", window=2), make_rule("amplify", k=2)))
    assert "relabel" in str(unsupported(make_decoder("sjd-ac", window=2, relabel="law"), make_rule("speculative")))
    assert unsupported(make_decoder("autoregressive"), make_rule("amplify", k=2)) is None
