"""Methods with as many drafts a call as are asked for."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.models.methods import METHODS, NODES, make_method, rows, with_drafts
from experiments.verification.kernels import DRAWN_BY
from simlab.decoders.compiled.kernels import KERNELS
from simlab.processes import make_process
from simlab.rules.compiled.dispatch import COMPILERS, compiled

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


@pytest.mark.parametrize("drafts", [2, 30])
def test_a_tree_of_levels_has_paths_of_one_length(drafts: int) -> None:
    with pytest.raises(ValueError, match=f"--drafts {drafts}: expected a multiple of 4, the paths of traversal's tree"):
        with_drafts("traversal", CODEBOOK, drafts)


def test_every_kernel_of_a_method_is_compiled_with_those_that_are_set_up() -> None:
    """Numba compiles a kernel once more for another type: of a rule, or of the rows that are declared."""
    target = make_process("local", vocabulary=len(CODEBOOK), shape=(2, 2), entropy=2.0).target

    def kinds(name: str) -> set[tuple[type, type, bool]]:
        method = make_method(name, CODEBOOK)
        if type(method.decoder) not in KERNELS or type(method.rule) not in COMPILERS:
            return set()
        rule = compiled(method.rule)
        kernel = KERNELS[type(method.decoder)](method.decoder, target, rule, None)
        return {(type(kernel), type(rule), getattr(kernel, "wide", False))}

    assert set.union(*map(kinds, DRAWN_BY)) == set.union(*map(kinds, METHODS))


def test_some_numbers_no_window_of_a_tree_holds() -> None:
    with pytest.raises(
        ValueError, match="--drafts 10: expected a number that some window of sjd-pac holds, such as 32"
    ):
        with_drafts("sjd-pac", CODEBOOK, 10)
