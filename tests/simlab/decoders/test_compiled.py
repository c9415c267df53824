"""Decoders on NumPy, on torch and compiled commit the very same tokens, in the very same steps, however configured.

Hypothesis draws the options of the decoder, the rule and its tables, the vocabulary, the grid, the rows (with zeros,
point masses and ties), the seed, the replicates in any order, the threads and the size of a batch. By default these are
a few configurations of each decoder with the lossless rule over float32, as models have it, and with the other rules
over float64 where it is no variant of SJD but SJD-PAC, for each pair of types is a kernel to compile; in the slow run
there are six for each decoder with each rule, in both. Equality is of tokens, steps, and what every call accepted and
committed; as the reference form is one batch, no form depends on its batch.
"""

from __future__ import annotations

import inspect
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from simlab import mutants
from simlab.arrays import Array, full, grid, namespace
from simlab.decoders import DECODERS, Decoder, Sjd, make_decoder, run
from simlab.decoders import compiled as kernels
from simlab.decoders.compiled import simulate
from simlab.decoders.compiled.kernels import KERNELS
from simlab.decoders.compiled.sjd import SjdKernel
from simlab.decoders.sjd_reference import UnrefinedPointMassSjd
from simlab.processes import Process
from simlab.randomness import Purpose, Tape
from simlab.randomness.tape_compiled import Uniforms
from simlab.registry import make
from simlab.rules import RULES, Rule, Speculative, make_rule
from tests.support.strategies import PARTS, decoder_options, parameters

pytestmark = pytest.mark.parity

FEW, EACH = 5, 6  # configurations of a decoder with some rule, and with each
ALL: dict[str, Any] = {**DECODERS, "unrefined point masses": UnrefinedPointMassSjd}
SEQUENCES = 5
VERIFIERS = {
    "verifier": st.sampled_from(["recursive", "greedy", "k-seq", "sample-and-match"])
}  # the others: few tokens
# decided by them: no ties for these
LOGARITHMS = (
    "typical",
    "medusa-reference",
    "fuzzy",
    "mars",
    "mars-reference",
    "lantern",
    "lantern-greedy",
    "lantern-reference",
)


class Hashed(Process):
    """Rows out of ``table[C, V]``, picked by a hash of the whole prefix: every token before matters."""

    def __init__(self, table: Array, shape: tuple[int, int]) -> None:
        self.table, self.shape, self.vocabulary = table, shape, table.shape[1]
        self.length = shape[0] * shape[1]
        self.uniform = full((self.vocabulary,), 1 / self.vocabulary, table)

    def on_torch(self) -> Hashed:
        return Hashed(torch.from_numpy(self.table), self.shape)

    def _rows(self, tokens: Array, start: Array, count: int) -> Array:
        xp, numbers = namespace(tokens), [start * 0]
        for k in range(tokens.shape[1]):
            numbers.append((31 * numbers[-1] + tokens[:, k] + 7) % 1009)
        place = xp.clip(grid(start, count), 0, tokens.shape[1])
        return self.table[xp.take_along_axis(xp.stack(numbers, axis=1), place, axis=1) % len(self.table)]


@st.composite
def tables(draw: st.DrawFn, vocabulary: int, ties: bool, dtype: Any) -> np.ndarray:
    """Rows ``[C, V]``; with ``ties`` all masses are multiples of 1/64, so that ratios and ranks are often equal."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.integers(1, 12))
    if ties:
        rows = rng.multinomial(PARTS, rng.dirichlet(np.full(vocabulary, 0.7), count)) / PARTS
    else:
        rows = rng.dirichlet(np.full(vocabulary, 10.0 ** rng.uniform(-1.5, 1)), count)
        rows *= rng.random(rows.shape) > draw(st.sampled_from([0, 0.3]))
        rows += (rows.sum(axis=1, keepdims=True) == 0) / vocabulary
        rows /= rows.sum(axis=1, keepdims=True)
    return rows.astype(dtype)


def the_same(decoder: Decoder, rule: Rule, target: Hashed, draft: Hashed | None, tape: Tape, threads: int = 1) -> bool:
    """Whether the compiled form, and the reference form on torch, commit the tokens that the reference form does, in
    the same steps; what that has committed stays."""
    infos: list[Any] = []

    def seen(before: Any, after: Any, info: Any) -> None:
        infos.append(info)
        committed = np.arange(before.tokens.shape[1]) < before.length[:, None]
        assert np.array_equal(after.tokens[committed], before.tokens[committed]), "a committed token changed"

    right = run(decoder, target, rule, tape, draft, seen)
    accepted, committed = (np.stack([info[k] for info in infos], axis=1) for k in range(2))
    found = simulate(decoder, target, rule, tape, draft, threads)
    on_torch = run(decoder, target.on_torch(), rule, tape, None if draft is None else draft.on_torch())
    pairs = zip((*found, *on_torch), (right.tokens, right.steps, accepted, committed, *right[:2]), strict=True)
    return all(np.array_equal(one, other) for one, other in pairs)


@pytest.mark.parametrize("name", ALL)
def test_kernels_commit_the_tokens_of_the_reference_form(name: str) -> None:
    check_kernels(name, st.just("speculative"), FEW, np.float32)


@pytest.mark.parametrize("name", [name for name in ALL if not name.startswith("sjd") or name in ("sjd", "sjd-pac")])
def test_so_they_do_with_other_rules(name: str) -> None:
    check_kernels(name, st.sampled_from([rule for rule in RULES if rule != "speculative"]), FEW, np.float64)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_so_they_do_with_every_rule(name: str) -> None:
    for rule in RULES:
        check_kernels(name, st.just(rule), EACH, np.float64, np.float32)


def check_kernels(name: str, rules: st.SearchStrategy[str], count: int, *dtypes: Any) -> None:
    """``count`` configurations of the decoder ``name`` with ``rules``."""

    @settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def check(data: st.DataObject) -> None:
        rule_name = data.draw(rules, label="rule")
        large = name != "sjd-pac" and data.draw(st.integers(0, 9)) == 0  # more than one block of a sum
        vocabulary = data.draw(st.sampled_from([257, 300, 520]) if large else st.integers(1, 9), label="V")
        assume(not (large and rule_name == "grouped-group-residual"))
        setting = {} if rule_name == "speculative" else data.draw(table_free(rule_name, vocabulary), label="setting")
        chosen = decoder_options(ALL, name, VERIFIERS if name == "candidate-tree" else {}).filter(
            lambda own: "law" not in own.values() or not (large or dtypes == (np.float32,))  # a law is float64
        )
        decoder = make("decoder", ALL, name, data.draw(chosen))
        dtype = data.draw(st.sampled_from(dtypes), label="dtype")
        ties = rule_name not in LOGARITHMS and data.draw(st.booleans())
        shape = data.draw(st.sampled_from([(1, 1), (1, 5), (2, 3), (3, 2), (4, 1), (3, 4)]), label="shape")
        target, other = (Hashed(data.draw(tables(vocabulary, ties, dtype)), shape) for _ in range(2))
        replicates = data.draw(st.lists(st.integers(0, 9), min_size=1, max_size=SEQUENCES), label="replicates")
        tape = Tape(data.draw(st.integers(0, 2**64 - 1)), replicates)
        threads, batch = data.draw(st.integers(1, 3), label="threads"), data.draw(st.integers(1, SEQUENCES))
        draft = other if decoder.needs_draft else None
        with mock.patch.object(kernels.run, "LARGEST_BATCH", batch):
            assert the_same(decoder, make_rule(rule_name, **setting), target, draft, tape, threads)

    check()


def table_free(name: str, vocabulary: int) -> st.SearchStrategy[dict[str, Any]]:
    """Parameters of a rule; over a large vocabulary its tables are made, not drawn token by token."""
    if vocabulary < 10:
        return parameters(name, vocabulary)
    small = parameters(name, 5).map(lambda setting: {k: v for k, v in setting.items() if k not in TABLES})
    return small.map(
        lambda setting: (
            setting
            | {key: TABLES[key](vocabulary) for key in TABLES if key in inspect.signature(RULES[name]).parameters}
        )
    )


TABLES: dict[str, Any] = {
    "neighbours": lambda size: [[(x + k * k) % size for k in range(1, 1 + x % 9)] for x in range(size)],
    "labels": lambda size: [(7 * x) % 13 for x in range(size)],
    "distances": lambda size: np.abs(np.subtract.outer(np.arange(size), np.arange(size))) / 8,
}


def test_uniforms_are_those_of_the_tape() -> None:
    tape = Tape((1 << 63) + 12345, [5, 9, 2**32 - 1])
    start, offsets, lanes = np.array([3, -1, 1000]), np.array([0, 0, 2, 7]), np.array([0, 9, 2, 3])
    for iteration in (0, 7):
        at, compiled = tape.at(iteration), Uniforms.of_tape(tape, np.array([2, 0, 1]), iteration)
        order = Tape(tape.seed, tape.replicates[[2, 0, 1]], iteration)
        places = start[:, None] + offsets
        right = order.uniform(places, Purpose.DRAFT, lanes)
        assert np.array_equal(compiled.of(start, offsets, lanes, Purpose.DRAFT), right)
        assert not np.array_equal(right, at.uniform(places, Purpose.DRAFT, lanes))
        row = start[:, None] + np.arange(5)
        assert np.array_equal(compiled.row(start, 5, Purpose.TARGET, 3), order.uniform(row, Purpose.TARGET, 3))
        assert np.array_equal(compiled.fixed(start, 5), order.uniform(row, Purpose.NOISE, iteration=0))


# Batches, threads and errors -------------------------------------------------------------------------------------

WORLD = Hashed(np.random.default_rng(3).dirichlet(np.ones(4), 9), (2, 5))


def test_a_form_that_depends_on_its_batch_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference form has all sequences in one batch, in any order; compiled they are divided, over threads."""

    class Ahead(SjdKernel):
        """Has the uniforms of its first sequence for all."""

        def step(self, state: Any, uniforms: Uniforms) -> np.ndarray:
            uniforms.replicates = uniforms.replicates * 0 + uniforms.replicates[0]
            return super().step(state, uniforms)

    monkeypatch.setitem(KERNELS, Sjd, Ahead)
    assert not the_same(make_decoder("sjd", window=3), Speculative(), WORLD, None, Tape(0, 9))
    monkeypatch.setattr(kernels.run, "LARGEST_BATCH", 1)
    assert the_same(make_decoder("sjd", window=3), Speculative(), WORLD, None, Tape(0, 9))


def test_what_has_no_compiled_form_is_run_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels.run, "LARGEST_BATCH", 7)
    for decoder, rule in [
        (mutants.TailStale(2), Speculative()),
        (make_decoder("sjd", window=2), mutants.ResidualIsTarget()),
    ]:
        assert not kernels.has_kernel(decoder, rule)
        assert the_same(decoder, rule, WORLD, None, Tape((1 << 63) + 5, 20), threads=2)


@pytest.mark.parametrize(("name", "given"), [("sjd-pp", {}), ("sjd-ac", {"relabel": "law"}), ("sjd-vp", {})])
def test_so_is_what_it_declares_for_rows_of_float32(name: str, given: dict[str, Any]) -> None:
    """In float64 or in float32, as the decoder has it."""
    decoder, rule = make_decoder(name, window=3, **given), mutants.ResidualIsTarget()
    process, right, found = Hashed(WORLD.table.astype(np.float32), WORLD.shape), list[Any](), list[Any]()
    run(decoder, process, rule, Tape(1, 9), watch=lambda before, after, info: right.append(before.q))
    simulate(decoder, process, rule, Tape(1, 9), watch=lambda rows, before, *_: found.append((rows, before.q)))
    assert all(np.array_equal(q[rows], declared) for q, (rows, declared) in zip(right, found, strict=True))


def test_a_row_that_nothing_is_left_of_beyond_it_stays_as_it_is() -> None:
    """Rows of float32 miss 1 by rounding, so that p may be below q everywhere: then p it is, not 0/0."""
    table = np.array([[0.5, 0.5], [0.5, 0.5]], np.float32) * np.array([[1], [1 - 2**-23]], np.float32)
    decoder = make_decoder("sjd-vp", window=3, strength=1e9)
    assert the_same(decoder, Speculative(), Hashed(table, (2, 5)), None, Tape(0, 9))


def test_fixed_jacobi_is_sequential_decoding_with_the_same_noise() -> None:
    """Its fixed point does not depend on the window: with one uniform a position there is one sequence."""
    found = [
        run(make_decoder("jacobi", window=window, noise="fixed"), WORLD, Speculative(), Tape(7, 48)).tokens
        for window in (1, 2, 3, 6)
    ]
    assert all(np.array_equal(found[0], other) for other in found)


def test_rows_of_torch_may_hold_gradients() -> None:
    learned = Hashed(torch.from_numpy(WORLD.table).requires_grad_(), WORLD.shape)
    decoder = make_decoder("sjd", window=2)
    found, right = (simulate(decoder, process, Speculative(), Tape(3, 9)) for process in (learned, WORLD))
    assert np.array_equal(found.tokens, right.tokens)


def test_bad_input() -> None:
    right = make_decoder("sjd", window=2)
    exact = Hashed(np.full((1, 2), Fraction(1, 2)), (1, 2))
    with pytest.raises(ValueError, match="process gives rows of object; expected NumPy rows, or torch's on a CPU"):
        simulate(right, exact, Speculative(), Tape(0, 1))
    with pytest.raises(ValueError, match=r"process gives rows of torch\.bfloat16; expected NumPy"):
        simulate(right, Hashed(torch.full((1, 2), 0.5, dtype=torch.bfloat16), (1, 2)), Speculative(), Tape(0, 1))
    with pytest.raises(ValueError, match="threads is 0; expected a whole number >= 1"):
        simulate(right, WORLD, Speculative(), Tape(0, 1), threads=0)
