"""Shapes that are asked for: how they are read, what is refused, and what a large one takes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.bench.memory import GIB, peak_of
from simlab.arrays import Array
from simlab.certify import CONTRACTS, certify
from simlab.certify.registry import makes
from simlab.certify.shapes.drawing import STEPS, cells
from simlab.certify.shapes.positions import ANYTHING, Wanted
from simlab.certify.shapes.ranges import (
    LARGEST,
    MOST,
    PRESETS,
    Ranges,
    Shape,
    V,
    limits,
    numbers,
    parsed,
    size_at,
)
from simlab.certify.shapes.rows import WITHOUT
from simlab.mutants.gated.correct import CORRECT
from tests.support.certify import verifier
from tests.support.regions import any_shape, region_of


@pytest.mark.exact
def test_shapes_are_read() -> None:
    axes = CONTRACTS["verify_batch"].axes
    one = parsed("V=151936, gamma=4..8", axes)
    assert one.of == {"V": (151_936, 151_936), "gamma": (4, 8)}
    assert limits("V=65_536,batch=64", axes) == {"V": 65_536, "batch": 64}
    for name, preset in PRESETS.items():
        assert parsed(name, axes).source == preset.source
        assert parsed(name, axes).within(axes, {}) is not None
    axes = CONTRACTS["verify_candidates"].axes
    assert parsed("V=8,K=4", axes).of == {"V": (8, 8), "K": (4, 4)}  # candidates are at most half of the tokens
    assert parsed("K=6", axes).of == {"K": (6, 6)}


@pytest.mark.exact
def test_what_a_user_asks_for_may_be_larger_than_what_is_drawn_besides() -> None:
    """A batch of 32 with 7 drafts over 151,936 tokens, in bfloat16 where an operator takes tensors; by one process."""
    text, rng = "V=151936,gamma=7,batch=32", np.random.default_rng(0)
    for name in ("verify_batch", "batch_uniforms", "flat_exponential"):
        axes = CONTRACTS[name].axes
        one = parsed(text, axes).within(axes, {})
        assert one is not None
        assert one.least(axes) == numbers(axes, any_shape(one, axes, rng)) > MOST
    of_any_gamma = parsed("V=151936,gamma=1..16,batch=32", axes).within(axes, {})
    assert of_any_gamma is not None
    sizes = [numbers(axes, any_shape(of_any_gamma, axes, rng)) for _ in range(40)]
    assert 2 * of_any_gamma.least(axes) < max(sizes) <= LARGEST


@pytest.mark.exact
@pytest.mark.parametrize("seed", range(5))
def test_no_edge_of_a_band_is_missing_in_sixty_cases_of_it_whatever_the_seed(seed: int) -> None:
    """By chance alone two of the twelve would be, in the mean."""
    drawing = region_of(*cells(CONTRACTS["verify"].axes, {}), seed=seed).drawing
    those = [at for at, one in enumerate(drawing.ranges) if one.of["V"] == (65, 1024)]
    sizes = {drawing.shape(drawing.number(at, turn))["V"] for at in those for turn in range(60 // len(those))}
    assert {65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1024} <= sizes


@pytest.mark.exact
@pytest.mark.parametrize(("cells_of_band", "most"), [(range(1, 12), 5.2), ((29, 30), 13)])
def test_cases_of_a_band_or_of_one_of_its_cells_leave_no_large_gap(cells_of_band: Iterable[int], most: float) -> None:
    for step, every, n in product(STEPS, cells_of_band, range(8, 65)):
        places = np.sort(np.arange(n) * every * step % 1)
        assert np.diff(places, append=places[0] + 1).max() < most / n


@pytest.mark.property
@given(low=st.integers(1, 70_000), more=st.integers(0, 200_000), where=st.floats(0, 1, exclude_max=True))
def test_every_number_from_0_to_1_says_a_size_of_the_band(low: int, more: int, where: float) -> None:
    assert low <= size_at(low, low + more, V.usual, where) <= low + more


@pytest.mark.exact
@pytest.mark.parametrize(
    ("name", "arrays"), [("batch_uniforms", "torch.bfloat16"), ("flat_exponential", "numpy.float16")]
)
@pytest.mark.parametrize("where", [ANYTHING, Wanted(kind=WITHOUT)])
def test_rows_of_few_bits_are_handed_to_batches_as_they_are(name: str, arrays: str, where: Wanted) -> None:
    """Nothing is rounded, whatever is asked for: what the law is computed from is what is given."""
    (library, _, dtype), shape = arrays.partition("."), Shape((("V", 700), ("gamma", 5), ("batch", 9)))
    case: Any = makes(name, library, dtype)(shape, np.random.default_rng(0), where)
    (drafts,) = case.inputs(1, np.random.default_rng(0))
    for rows_handed in case.handed(drafts):
        given_as = case.given_as.rows(rows_handed)
        assert dtype in str(given_as.dtype)
        assert (np.asarray(given_as.double() if library == "torch" else given_as) == rows_handed).all()


LARGE = """
from simlab.certify import certify
from simlab.mutants.gated.correct import CORRECT

shape = "V=151936,gamma=7,batch=32"
found = certify(CORRECT["verify_batch"]["sorted"], "verify_batch", calls=2, shapes=[shape], limit=600)
assert found.shapes.own[0].outcomes > 0
assert any(f"with rows of {shape}" in note for note in found.notes)
"""


@pytest.mark.slow
@pytest.mark.exact
def test_a_large_shape_of_ones_own_is_called_within_two_gibibytes(tmp_path: Path) -> None:
    """By one process: the rows of two would not fit."""
    peak = peak_of([sys.executable, "-c", LARGE], tmp_path)
    assert peak is not None
    assert peak < 1.5 * GIB  # of any process


@pytest.mark.exact
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("V=1", "V is 1 in shape 'V=1'; expected at least 2"),
        ("V=5,gamma=0", "gamma is 0"),
        ("gamma=8..4", "the smaller one first"),
        ("V=many", "expected a whole number"),
        ("V=5,dtype=float80", "expected one of float64"),
        ("V=5,dtype=bfloat16", "takes float64 alone"),
        ("llama-9", "expected sizes such as V=151936,gamma=7, or one of llama-3"),
        ("qwen-33", "did you mean qwen-3? expected sizes such as V=151936"),
        ("V=1000000,gamma=90", "does not fit memory"),
        ("dtype=float32", "which has no size"),
        ("gama=3", "'gama' in shape 'gama=3'; did you mean gamma? expected V, gamma or dtype"),
        ("gamma=7,gamma=9", "gamma is given twice in shape 'gamma=7,gamma=9'; expected it once"),
        ("V=9,gamma=4..5000", "gamma is 5000 in shape 'V=9,gamma=4..5000'; expected at most 4096: cases beyond that"),
        ("V=8,K=6", "K is 6 and V 8 in shape 'V=8,K=6'; expected K at most half of V"),
        ("V=4..9,K=6..8", "V of at least 12, or K of at most 4"),
        ("V=200000000,K=1", "does not fit memory"),
    ],
)
def test_a_shape_that_there_is_not_is_refused(text: str, says: str) -> None:
    contract = "verify_candidates" if ",K=" in text else "verify"
    with pytest.raises(ValueError, match=re.escape(says)):
        certify(verifier(), contract, calls=1, shapes=[text])


@pytest.mark.exact
def test_rows_of_a_call_are_bounded_whatever_v_is() -> None:
    """Each takes about a millisecond beside the call itself, so that a million of them would take long."""
    axes = CONTRACTS["verify_batch"].axes
    with pytest.raises(ValueError, match="has calls of 65552 rows and more; expected at most 32768"):
        parsed("V=2,gamma=4096,batch=16", axes)
    one, rng = parsed("V=2,gamma=1000..4096", axes).within(axes, {}), np.random.default_rng(0)
    assert one is not None
    drawn = [any_shape(one, axes, rng) for _ in range(40)]
    drawn += [one.draw(axes, dict.fromkeys(one.of, 1 - 1e-9), rng) for _ in range(40)]  # the largest
    assert max((shape["gamma"] + 1) * shape["batch"] for shape in drawn) <= 1 << 15
    assert max(shape["batch"] for shape in drawn) > 1


@pytest.mark.exact
def test_what_numpy_has_not_and_what_is_beyond_a_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="which NumPy has not"):
        makes("chain_uniforms", None, "bfloat16")
    assert callable(makes("chain_uniforms", "torch", "bfloat16"))
    with pytest.raises(ValueError, match=r"V=5\.\.9 in at-most 'V=5\.\.9'; expected one number, the most"):
        certify(verifier(), calls=1, at_most="V=5..9")
    with pytest.raises(ValueError, match="V is given twice in at-most 'V=9,V=50'; expected it once"):
        limits("V=9,V=50", CONTRACTS["verify"].axes)
    with pytest.raises(ValueError, match="shapes is 'V=9,gamma=2'; expected a list of such texts"):
        certify(verifier(), calls=1, shapes="V=9,gamma=2")
    with pytest.raises(ValueError, match="is beyond at-most"):
        certify(verifier(), calls=1, shapes=["V=100"], at_most="V=50")
    with pytest.raises(ValueError, match=r"'V=2..64' reaches beyond at-most 'V=50'; expected V of at most 50"):
        certify(verifier(), calls=1, shapes=["V=2..64"], at_most="V=50")
    with pytest.raises(ValueError, match="expected one of V, gamma"):
        certify(verifier(), calls=1, at_most="batch=3")
    with pytest.raises(ValueError, match="'batch=1' leaves no case of verify_batch; the smallest has V = 2"):
        certify(CORRECT["verify_batch"]["sorted"], "verify_batch", calls=1, at_most="batch=1")


@pytest.mark.exact
@pytest.mark.parametrize("name", CONTRACTS)
def test_a_limit_holds_for_all_cases_of_a_contract(name: str) -> None:
    """Those for the ends of coins, and those a failure is reduced to, among them."""
    contract = CONTRACTS[name]
    most = {axis.name: 3 if axis.name == "V" else 2 for axis in contract.axes}
    limited = contract.within(most)
    for made, whole in (
        (limited.cases(), contract.cases()),
        (limited.both_ends(), contract.both_ends()),
        (limited.simplest(), contract.simplest()),
    ):
        fitting = [case.name for case in whole if all(case.sizes[axis] <= size for axis, size in most.items())]
        assert [case.name for case in made] == fitting
    assert contract.within({}) is contract


@pytest.mark.statistical
def test_nothing_is_called_beyond_a_limit() -> None:
    """Neither with coins at their ends nor for a smaller case: that one raises where there are three tokens."""

    def verify(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> Any:
        if p.shape[1] > 3 or len(drafts) > 1:
            raise RuntimeError("is beyond")
        return verifier()(p, q, drafts, rng)

    def three(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> Any:
        if p.shape[1] == 3:
            raise RuntimeError("has three")
        return verify(p, q, drafts, rng)

    assert certify(verify, calls=8, processes=1, at_most="V=3,gamma=1").verdict == "inconclusive"
    failure = certify(three, calls=8, processes=1, at_most="V=3,gamma=1").failure
    assert failure
    assert failure.told == "it raises RuntimeError: has three, in V = 3, gamma = 1"


@pytest.mark.exact
def test_ranges_know_their_shapes() -> None:
    one = Ranges({"V": (10, 20)})
    assert Shape((("V", 20), ("gamma", 3))) in one
    assert Shape((("V", 21), ("gamma", 3))) not in one
    assert cells(CONTRACTS["verify"].axes, {"V": 64}) == tuple(
        cell for cell in cells(CONTRACTS["verify"].axes, {}) if cell.of["V"][1] <= 64
    )
