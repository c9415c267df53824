"""Methods with as many drafts a call as are asked for."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.models.methods import GAMMA, METHODS, NODES, make_method, rows, with_drafts

pytestmark = pytest.mark.exact
CODEBOOK = np.random.default_rng(0).normal(size=(128, 2))


@pytest.mark.parametrize("drafts", [NODES, 64, 12])
@pytest.mark.parametrize("name", METHODS)
def test_all_calls_of_windows_are_as_large(name: str, drafts: int) -> None:
    made, usual = (make(name, CODEBOOK, *more) for make, more in ((with_drafts, [drafts]), (make_method, [])))
    wanted = 1 if name == "ar" else GAMMA + 1 if usual.drafter else drafts + 1
    assert rows(made.decoder) == wanted
    if drafts == NODES:
        assert made.decoder == usual.decoder


def test_some_numbers_no_window_of_a_tree_holds() -> None:
    with pytest.raises(
        ValueError, match="--drafts 10: expected a number that some window of sjd-pac holds, such as 32"
    ):
        with_drafts("sjd-pac", CODEBOOK, 10)
