"""Methods with as many drafts a call as are asked for, what a step launches, and the pictures that are drawn.

A step over ready rows at the sizes of SJD-PAC's Table 4, L = 64 and V = 16384: the operations of torch, each of which a
device has to launch. The bounds are a little above what is counted.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from experiments.models.device import Ready
from experiments.models.discrete.methods import METHODS, NODES, make_method, rows, with_drafts
from experiments.models.grid import FORMATS, write_grid
from experiments.models.operations import Operations
from experiments.models.partly_verified import largest_island
from experiments.verification.kernels import DRAWN_BY
from simlab.decoders import DECODERS, SjdPd, make_decoder
from simlab.decoders.compiled.kernels import KERNELS
from simlab.processes import make_process
from simlab.randomness import Tape
from simlab.randomness import tape as tapes
from simlab.registry import examples
from simlab.rules import make_rule
from simlab.rules.compiled.dispatch import COMPILERS, compiled
from tests.support.cases import tree
from tests.support.refusals import refused

pytestmark = pytest.mark.exact
OTHERS = ("block", "hierarchical", "traversal", "candidate-tree")  # of a draft model, named where they are asked for
CODEBOOK = np.random.default_rng(0).normal(size=(128, 2))


@pytest.mark.parametrize("drafts", [NODES, 64, 12])
@pytest.mark.parametrize("name", [*METHODS, *OTHERS])
def test_all_calls_are_as_large(name: str, drafts: int) -> None:
    made, usual = (make(name, CODEBOOK, *more) for make, more in ((with_drafts, [drafts]), (make_method, [])))
    assert rows(made.decoder) == (1 if name == "ar" else drafts + 1)
    if usual.drafter is None and drafts == NODES:
        assert made.decoder == usual.decoder


def test_of_a_dynamic_tree_so_many_nodes_are_kept() -> None:
    assert vars(with_drafts("dynamic-tree", CODEBOOK, 12).decoder)["total"] == 12


@pytest.mark.parametrize("name", ["speculative", "eagle", *OTHERS])
def test_by_default_draft_models_make_few(name: str) -> None:
    assert rows(make_method(name, CODEBOOK).decoder) < NODES


def test_numbers_of_drafts_that_no_tree_of_a_method_has() -> None:
    for name, drafts, fits in (("traversal", 2, "4"), ("traversal", 30, "4"), ("sjd-pac", 10, "32")):
        refused(lambda n=name, d=drafts: with_drafts(n, CODEBOOK, d), f"--drafts {drafts}")
        assert with_drafts(name, CODEBOOK, int(fits)).decoder


def test_every_kernel_of_a_method_is_compiled_with_those_that_are_set_up() -> None:
    """Numba compiles a kernel once more for another type: of a rule, a renewal, or the rows that are declared."""
    target = make_process("local", vocabulary=len(CODEBOOK), shape=(2, 2), entropy=2.0).target

    def kinds(name: str) -> set[tuple[type, type, type, bool]]:
        method = make_method(name, CODEBOOK)
        if type(method.decoder) not in KERNELS or type(method.rule) not in COMPILERS:
            return set()
        rule = compiled(method.rule)
        kernel = KERNELS[type(method.decoder)](method.decoder, target, rule, None)
        return {(type(kernel), type(rule), type(getattr(kernel, "renewal", None)), getattr(kernel, "wide", False))}

    assert set.union(*map(kinds, DRAWN_BY)) == set.union(*map(kinds, METHODS))


# How much a device is given to do in a step --------------------------------------------------------------------------


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


TREES = {"sjd-pd": tree(4, 2, 2), "sjd-pac": tree(4, 3, 2, "full", shared=True)}
TWICE = {"sjd-block"}  # which renews drafts by coins of their own


@pytest.mark.parametrize("name", DECODERS)
def test_all_coins_of_a_step_come_from_one_call(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, philox = [], tapes.philox4x32
    monkeypatch.setattr(tapes, "philox4x32", lambda *words: calls.append(None) or philox(*words))
    decoder = make_decoder(name, **TREES.get(name) or examples(DECODERS, name, {})[0])
    process, draft = (Ready(torch.rand(1, 512, 8).softmax(-1), 1024) for _ in range(2))
    tape = Tape(0, 1)
    state = decoder.init(process, tape.at(0), 1)
    calls.clear()
    decoder.step(state, process, make_rule("speculative"), tape.at(1), draft if decoder.needs_draft else None)
    assert len(calls) == 1 + (name in TWICE)


# Neighbourhoods that are drawn again ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("places", "size"),
    [([], 0), ([5], 1), ([0, 2], 1), ([0, 1, 3], 2), ([0, 5], 2), ([3, 4], 1), ([0, 5, 10, 3], 3)],
)
def test_tokens_hang_together_by_sides_and_corners_and_not_around_the_edge(places: list[int], size: int) -> None:
    assert largest_island(np.array(places, np.int64), (3, 4)) == size


# Pictures of grids ---------------------------------------------------------------------------------------------------


IMAGES = np.linspace(0, 1, 2 * 4 * 4).reshape(2, 4, 4)


@pytest.mark.parametrize("ending", ["", *FORMATS, ".PNG"])
def test_a_name_says_the_format(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"grid{ending}"
    write_grid(path, IMAGES)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    if ending == ".pdf":
        assert path.read_bytes().startswith(b"%PDF")
        return
    with Image.open(path) as read:
        assert read.format == FORMATS.get(ending.lower(), "PNG")
        assert read.size == (3 * 4 * 2 + 3 * 6, 3 * 4 + 2 * 6)


def test_pixels_are_no_larger_than_a_format_holds(tmp_path: Path) -> None:
    path = tmp_path / "grid.webp"
    write_grid(path, np.zeros((1, 6000, 2)))  # 18,000 pixels high at a scale of 3
    with Image.open(path) as read:
        assert read.size == (2 * 2 + 2 * 6, 2 * 6000 + 2 * 6)
    with pytest.raises(ValueError, match="1 x 1 images are more than the 16,383 pixels a side that WEBP holds"):
        write_grid(path, np.zeros((1, 17_000, 2)))
