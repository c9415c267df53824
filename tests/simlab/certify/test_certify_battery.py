"""What the battery of ``simlab certify`` sees that looks at few places only would miss, each by sampling alone.

Every callable here is one of the battery's contract, called so often for one case of it, and rejected at the level of
the whole battery: a correct one is with probability at most 1e-6, over all cases and however many calls.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simlab.certify as certifier
from simlab.arrays import Array
from simlab.certify.battery import batches, decoding, drafting, trees, verifying
from simlab.certify.contracts.arrays import SINGLE, Arrays
from simlab.certify.contracts.base import Case, Function
from simlab.certify.contracts.trees import PARENTS, SIBLINGS, TreeLayout
from simlab.certify.engine.evidence import FALSE_ALARMS
from simlab.certify.registry import CONTRACTS
from simlab.mutants.gated.base import Block, Source, Wrong, excess
from simlab.mutants.gated.chains import RIGHT as RIGHTLY
from simlab.mutants.gated.chains import ChainFault, emitted
from simlab.mutants.gated.contracts import CONTRACTS as WRITTEN
from simlab.mutants.gated.contracts import Gated, implementation, reference
from simlab.mutants.gated.correct import CORRECT, all_coins_at_once
from simlab.mutants.gated.decoding import DecodeFault, Decoding
from simlab.mutants.gated.gates import GATES, Gate
from simlab.statistics import Sequential
from tests.support.certify import Stuck, case_named, evidence, speculated, taken, wrong

pytestmark = pytest.mark.statistical
DEFAULT_EVERY = 3

SEED = 3
Generator = np.random.Generator


def found(cases: Sequence[Case], name: str, function: Function, calls: int) -> bool:
    """Whether so many calls of the case of this name are evidence enough in the whole battery."""
    return evidence(cases, function, calls, SEED, name).finding is not None


def with_uniforms(uniforms: Callable[[Generator, int], Array]) -> Function:
    """A verifier that draws all uniforms of a block at once."""

    def verify(p: Array, q: Array, drafts: Array, rng: Generator) -> list[int]:
        given, gamma = uniforms(rng, len(p) + 1), len(drafts)
        return speculated(p, q, drafts, given.__getitem__, lambda i: given[min(i + 1, gamma)])

    return verify


def repeated(rng: Generator, count: int) -> Array:
    """u[i % 8]."""
    return rng.random(8)[np.arange(count) % 8]


def kept_where(of: str, inside: Callable[[Any], Any]) -> Callable[[], Function]:
    """Makes code that keeps all drafts of the shapes that are inside, at the positions, or in the calls."""
    return partial(implementation, "drafts unverified", Gate("", "", of, inside), "verify")


def drafted_with(uniforms: Callable[[Generator, int], Array]) -> Function:
    def draft(q: Array, rng: Generator) -> list[int]:
        return [taken(row, uniform) for row, uniform in zip(q, uniforms(rng, len(q)), strict=True)]

    return draft


def every_second(p: Array, q: Array, drafts: Array, rng: Generator) -> list[Sequence[int]]:
    """Of four sequences the last two have the uniforms of the first two."""
    seeds = rng.integers(1 << 62, size=(len(drafts), 2))
    return [
        all_coins_at_once(
            p[b, : gamma + 1],
            q[b, :gamma],
            drafts[b, :gamma],
            np.random.default_rng(seeds[b // 4, b % 2]),
        )
        for b, gamma in enumerate((drafts >= 0).sum(axis=1).tolist())
    ]


def cut_to(count: int) -> Function:
    """The residual of rows of more than 512 tokens is drawn from its largest entries."""

    def verify(p: Array, q: Array, drafts: Array, rng: Generator) -> list[int]:
        def left(i: int) -> Array:
            rest = excess(p[i], q[i])
            return np.where(rest >= np.sort(rest)[-count], rest, 0) if len(rest) > 512 else rest

        return speculated(p, q, drafts, lambda i: rng.random(), lambda i: rng.random(), left)

    return verify


def of_rows(changed: Callable[[Array], Array]) -> Function:
    """A verifier of changed rows of p."""

    def verify(p: Array, q: Array, drafts: Array, rng: Generator) -> Sequence[int]:
        rows = changed(p)
        return all_coins_at_once(rows / rows.sum(axis=1, keepdims=True), q, drafts, rng)

    return verify


def without_tail(p: Array) -> Array:
    """The rarest tokens, of a hundredth of p together, never come out."""
    falling = np.sort(p, axis=1)[:, ::-1]
    last = (falling.cumsum(axis=1) < 0.99).sum(axis=1)
    return np.where(p >= falling[np.arange(len(p)), last][:, None], p, 0)


def half(p: Array) -> Array:
    """Tokens of the upper half of the vocabulary give half of their mass to those of the lower half."""
    return np.where(np.arange(p.shape[1]) < p.shape[1] // 2, p, p / 2)


def bound_together(p: Array, q: Array, drafts: Array, rng: Generator) -> list[Sequence[int]]:
    """Where two sequences reject at the same place, the second one draws from the residual of the first."""
    rejected: dict[int, Array] = {}
    return [
        speculated(
            *(p[b], q[b], drafts[b, :gamma]),
            lambda i: rng.random(),
            lambda i: rng.random(),
            lambda i, b=b: rejected.setdefault(i, excess(p[b, i], q[b, i])),
        )
        for b, gamma in enumerate((drafts >= 0).sum(axis=1).tolist())
    ]


def greedy_beside_certain(block: Block, uniforms: Array, source: Source) -> list[int]:
    """Everything kept where some row of the block is certain and others are not, as a row of a grammar is."""
    p, drafts, certain = block.p, block.drafts, (block.p == 1).any(axis=1)
    if certain.any() and not certain.all():
        kept = next((i for i, x in enumerate(drafts.tolist()) if p[i, x] == 0), len(drafts))
        return [*drafts[:kept].tolist(), source.token(source.last(block, kept), p[kept])]
    return emitted(block, source, Wrong(RIGHTLY))


V, B, D, L = verifying.cases(), batches.cases(), drafting.cases(), decoding.cases()
T = trees.cases(PARENTS, SINGLE)
U, F = (CONTRACTS[name].cases() for name in ("batch_uniforms", "flat_exponential"))
FORCED = "one row of p one-hot, as by a grammar"
KEEPING = "candidates of 0.95 or more accepted whatever the coin"
LIKELY = ("a certain candidate, accepted with 0.995", "a chain of 16 candidates, each nearly certain")
AT_11 = kept_where("position", lambda at: at.position == 11)
OF_4, OF_7 = kept_where("shape", lambda at: at.gamma == 4), kept_where("shape", lambda at: at.gamma == 7)
IN_64 = kept_where("call", lambda at: at.call % 64 == 46)
SHARED = partial(implementation, "the coins of the first sequence", GATES["position > 0"], "verify_batch")
BEHIND = partial(implementation, "the first token never drawn", GATES["drafts above 65,535"], "draft")
STALE, OLDEST = "all tokens but the last two of a long cache stale", "14 tokens of two, by all before them"

# The calls are twice to four times as many as the first that were seen to be enough.
WRONG: dict[str, tuple[Sequence[Case], str, Callable[[], Function], int]] = {
    "everything kept at position 11": (V, "16 certain drafts of 2 tokens", AT_11, 8000),
    "everything kept at position 11, soft drafts": (V, "16 drafts of 2 tokens", AT_11, 16_000),
    "everything kept where gamma is 4": (V, "4 drafts of 3 tokens", OF_4, 1000),
    "everything kept where gamma is 7": (V, "7 drafts of 2 tokens", OF_7, 1000),
    "u[i % 8] for coins": (V, "16 certain drafts of 2 tokens", lambda: with_uniforms(repeated), 3000),
    "u[i % 8] for the bonus too": (V, "8 drafts of 2 tokens", lambda: with_uniforms(repeated), 6000),
    "u[i % 8] for drafts": (D, "16 tokens of 2, rows differ", lambda: drafted_with(repeated), 2000),
    "no first token behind one whose number 16 bits do not hold": (D, "two of 65538, at both ends", BEHIND, 600),
    "uniforms used again two calls later": (V, "two calls in turn", lambda: Stuck(all_coins_at_once, 2), 6000),
    "coins shared from position 1 on": (B, "two sequences of two certain drafts", SHARED, 1000),
    "the residual cut to 512": (V, "4099 tokens", lambda: cut_to(512), 1000),
    "the residual cut to 100": (V, "1000 tokens", lambda: cut_to(100), 4000),
    "the residual cut in the tail": (V, "1000 tokens, a fifth of the mass in the tail", lambda: cut_to(100), 4000),
    "the rarest hundredth lost": (V, "1000 tokens", lambda: of_rows(without_tail), 6000),
    "the upper half of the vocabulary": (V, "1000 tokens", lambda: of_rows(half), 4000),
    "wrong in every 64th call": (V, "many calls in turn", IN_64, 25_600),
    "everything kept beside a certain row": (
        *(V, FORCED),
        lambda: Gated(
            WRITTEN["verify"], Wrong(ChainFault("greedy beside certain rows", instead=greedy_beside_certain))
        ),
        1000,
    ),
    "everything kept beside a certain row, in a loop": (
        L,
        "a second token that is certain, as by a grammar",
        lambda: Decoding(Wrong(DecodeFault("greedy beside certain rows", instead=greedy_beside_certain))),
        1000,
    ),
    STALE: (L, OLDEST, lambda: wrong("decode", STALE), 200),
    f"{KEEPING}; one": (T, LIKELY[0], lambda: wrong("tree_parents", KEEPING), 12_800),
    f"{KEEPING}; a chain": (T, LIKELY[1], lambda: wrong("tree_parents", KEEPING), 800),
    "rejected together": (B, "two sequences of one draft", lambda: bound_together, 4000),
    "another row from sequence 32 on": (
        *(U, U[-1].name),
        lambda: implementation("row of p of another sequence", GATES["sequences from 32 on"], "batch_uniforms"),
        500,
    ),
    "a draft too many from sequence 32 on": (
        *(F, F[-1].name),
        lambda: implementation("one draft too many kept", GATES["sequences from 32 on"], "flat_exponential"),
        500,
    ),
    "every second sequence has the same uniforms": (B, "13 sequences of 3 tokens", lambda: every_second, 500),
}


@pytest.mark.parametrize("name", WRONG)
def test_found_by_sampling(name: str) -> None:
    cases, case, make, calls = WRONG[name]
    assert found(cases, case, make(), calls)


def test_calls_are_counted_by_their_number_where_the_guide_says() -> None:
    """Of all other contracts it says that one wrong call in so many is not looked for."""
    guide = Path(certifier.__file__).with_name("README.md").read_text(encoding="utf-8")
    told = re.search(r"Of ((?:`\w+`|,|\s|and)+?)\s+one case is counted by the number of the call", guide)
    assert told is not None
    counted = {name for name, one in CONTRACTS.items() if any(case.at_once > 1 for case in one.cases())}
    assert set(re.findall(r"`(\w+)`", told[1])) == counted
    left = set(CONTRACTS) - counted
    assert left == {name for name in CONTRACTS if name == "batch_uniforms" or name.startswith(("chain_", "tree_"))}


RIGHT: list[tuple[Sequence[Case], Function]] = [
    (V, with_uniforms(lambda rng, count: rng.random(count))),
    (V, CORRECT["verify"]["plain draws from p in single precision"]),
    (B, reference("verify_batch")),
    (D, drafted_with(lambda rng, count: rng.random(count))),
    (L, reference("decode")),
    (T, reference("tree_parents")),
    (U, reference("batch_uniforms")),
    (F, reference("flat_exponential")),
]


@pytest.mark.parametrize(
    "number", [*(pytest.param(number, marks=pytest.mark.slow) for number in (0, 6, 7)), *range(1, 6)]
)
def test_the_same_code_without_the_bug_passes(number: int) -> None:
    """Each of the cases above, with the most calls there; a false alarm has probability 1e-6 at most."""
    cases, function = RIGHT[number]
    most = Counter[str]()
    for tried, case, _, calls in WRONG.values():
        if tried is cases:
            most |= Counter({case: calls})
    assert most
    for case, calls in most.items():
        assert not found(cases, case, function, calls)


def test_uniforms_used_two_calls_later_are_found_from_any_call_on() -> None:
    """Groups of three calls meet a bug that comes again after four calls in every phase."""
    for before in range(1, 4):  # 0 is above
        assert found(V, "two calls in turn", Stuck(all_coins_at_once, 2, before), 6000)


@pytest.mark.parametrize("layout", [PARENTS, SIBLINGS])
def test_every_case_of_trees_has_the_arrays_that_are_asked_for(layout: TreeLayout) -> None:
    asked = Arrays("torch", "float32")
    assert {case.arrays for case in (*trees.cases(layout, asked), *trees.both_ends(layout, asked))} == {asked}


# Loops ---------------------------------------------------------------------------------------------------------

LEVEL = FALSE_ALARMS / sum(len(case.events) for case in L)  # of one test, so that all of one callable have 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("name", CORRECT["decode"])
def test_correct_decoders_pass(name: str) -> None:
    """150 calls of every case; there are about 20."""
    assert evidence(L, CORRECT["decode"][name], 150, SEED).finding is None


@pytest.mark.slow
def test_shared_gumbel_noise_is_found() -> None:
    """Its TV is 0.0267 in one token of six; without a bet on it, 41000 calls see 0.0253 with power 0.999."""
    one = case_named("decode", "one token")
    assert Sequential(one.events[0].law).detectable(41_000, LEVEL) < 0.0253
    assert evidence([one], wrong("decode", "proposal and recovery share Gumbel noise"), 41_000, SEED).finding
