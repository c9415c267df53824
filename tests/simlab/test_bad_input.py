"""Bad input is a ``ValueError`` that names the value it was given and what was expected instead.

A person who mistypes a parameter, or feeds a row that is no pmf, is to read what is wrong, not a traceback from inside
NumPy. What every parameter of its kind refuses is in :mod:`tests.simlab.test_bad_parameters`; here is what goes beyond
kinds, as tables that fit a vocabulary, and what is handed to laws and runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction as F
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from simlab import continuous as tokens
from simlab.candidates import Greedy, Independent, KSeq, Recursive, make_verifier, verified_law
from simlab.checks import as_pmf
from simlab.continuous.compiled import simulate as simulate_tokens
from simlab.continuous.drafted_steps import drafted_steps
from simlab.continuous.models.chains import LearnedRange
from simlab.continuous.models.diffusion import ddim_chain, ddpm_chain, guided, learned_range, schedule, tempered
from simlab.continuous.models.gaussians import as_vector, root_of
from simlab.continuous.models.mixtures import Densities, Mixture, speculate
from simlab.continuous.networks.sampler import Sampler
from simlab.continuous.rules import LastStep, Marginal, ReferenceCode
from simlab.continuous.rules.reference_code import PROPOSALS
from simlab.decoders import Sjd, make_decoder, run
from simlab.decoders.compiled import simulate
from simlab.models.adapters.grammars import Layout, emu3, lumina
from simlab.models.adapters.llamagen import official, token_grid
from simlab.models.architectures.vq16 import VqConfig
from simlab.models.process.grammar import Grammar
from simlab.processes import Ending, Processed, TableProcess, make_process
from simlab.randomness import Tape
from simlab.rules import codebook_distances, codebook_neighbours, make_rule
from simlab.rules.compiled import compiled_step
from simlab.statistics import (
    GTest,
    MeanTest,
    ProportionTest,
    Sequential,
    TwoSampleG,
    clustered,
    estimate,
    mean_interval,
    paired,
    proportion_interval,
    tv_upper,
)
from tests.support.refusals import refused, refuses
from theory.acceptance import expected_tokens, speedup
from theory.candidates import candidates_law
from theory.distances import kl, tv, wasserstein1, wasserstein1_line
from theory.exact import acceptance, block_acceptance, block_law, sequence_law, step_law, transitions
from theory.example_processes import random_process
from theory.symbolic import prove

pytestmark = pytest.mark.property

HALF = [0.5, 0.5]
EXACT = [F(1, 2), F(1, 2)]
SPECULATIVE = make_rule("speculative")
NAN, INF = float("nan"), float("inf")

Bad = list[tuple[Callable[..., Any], dict[str, tuple[Any, ...]]]]  # what is called, and values that it refuses


def table(row: Any = tuple(HALF), vocabulary: Any = 2, length: Any = 4, **given: Any) -> TableProcess:
    """A table with the same row after every prefix."""
    return TableProcess(vocabulary, length, lambda prefix: row, **given)


# Parameters ----------------------------------------------------------------------------------------------------

rule, decoder, process = (partial(partial, make) for make in (make_rule, make_decoder, make_process))
LANTERNS = ("lantern", "lantern-multiplicative", "lantern-greedy", "lantern-reference")
SHARES = (
    *(("optimal-lossy", "tv"), ("mixture", "weight"), ("lenience", "factor")),
    *(("truncation", "threshold"), ("cascade", "threshold")),
)
NO_LABELS = (
    *([0, -1], [0, 0.5], [0, 1.0], [True, 1], [[0, 1], [2]], [None, 0], [], "01", 3, None, {0, 1}, {0: 1}),
    *(np.zeros((2, 2), int), np.array([0.0, NAN])),
)
NO_LISTS = (
    *([[1], [1]], [[1, 2, 1], [], []], [[2], []], *([[], [x]] for x in (-1, 0.0, False, None, "0", [0]))),
    *(*([[], x] for x in (0, "0", None, {0})), np.array([1, 0]), np.array([[1.0], [0.0]]), np.array([[0], [0]])),
    *([], "01", 2, None, {0: [1]}),
)
SQUARE = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
NO_CODEBOOKS = (
    *([[1.0, NAN], [0.0, 1.0]], [[1.0, INF], [0.0, 1.0]], [1.0, 2.0], [[[1.0]]], [[], []], 3.0),
    *([[1.0, 2.0], [1.0]], "codes", [["a"], ["b"]]),
)
ROUND = [*SQUARE, [0.0, 0.0]]  # whose last vector has no direction
NO_REPLICATES = (
    *(0, -3, True, 2.0, None, "12"),
    *([], [1.5], [-1], [1 << 32], [1 << 64], [True], [[0, 1]], np.array(3)),
)
NO_TREES = ("mc_sim", [[0], []], [[0], 1], [[0], [0]], [[0], [-1]], [[0], [2]])

DISCRETE: Bad = [
    (decoder("sjd-reference"), {"window": (1,)}),
    *((decoder(name, window=2), {"depth": (0,)}) for name in ("sjd-pd", "sjd-pac")),
    *(
        (decoder(name, window=64, candidates=4, depth=3, tree="full"), {"budget": (64,)})
        for name in ("sjd-pd", "sjd-pac")
    ),
    (decoder("skipping", gamma=2), {"skipped": (3,)}),
    (decoder("sjd-pv", window=2), {"renewal": ("maximal",)}),
    *((decoder(name, window=3), {"renewal": ("maximal",)}) for name in ("sjd-unrefined", "sjd-pp", "sjd-vp", "sjd2")),
    (decoder("sjd-ac", window=3, relabel="law"), {"renewal": ("gumbel",)}),
    (decoder("sjd-block", window=3), {"renewal": ("gumbel",)}),
    (decoder("traversal"), {"branching": ([], "21", 2, [2, 0], [[0], [1, 0]])}),
    (decoder("candidate-tree"), {"branching": NO_TREES}),
    (partial(make_verifier, "k-seq"), {"rho": (F(1, 2),)}),
    (
        lambda candidates: verified_law(KSeq(), Independent(), np.array(EXACT), np.array(EXACT), candidates),
        {"candidates": (0,)},
    ),
    *((rule(name), {key: (1.01,)}) for name, key in SHARES),
    (rule("lenience"), {"factor": (0,)}),
    *((rule(name, neighbours=[[1], [0]]), {"delta": (F(9, 8),)}) for name in ("lantern", "lantern-greedy")),
    (rule("lantern-multiplicative", neighbours=[[1], [0]]), {"factor": (0, 0.99, F(7, 8))}),
    (rule("grouped"), {"labels": NO_LABELS}),
    (
        rule("dynamic-grouped", size=2, max_distance=1),
        {"distances": (None, [0, 1], [[0, 1]], [[0, -1], [1, 0]], [[0, NAN], [1, 0]], [[0, 1], [1]], "near")},
    ),
    (rule("gsd-reference", max_distance=0.5), {"distances": (None,)}),
    *((rule(name), {"neighbours": NO_LISTS}) for name in LANTERNS),
    *((make, {"codebook": NO_CODEBOOKS}) for make in (partial(codebook_neighbours, count=1), codebook_distances)),
    (partial(codebook_neighbours, count=1, normalised=True), {"codebook": (ROUND,)}),
    (partial(codebook_neighbours, count=1, measure="cosine"), {"codebook": (ROUND,)}),
    (partial(codebook_distances, normalised=True), {"codebook": (ROUND,)}),
    (partial(codebook_neighbours, SQUARE), {"count": (0, -1, 2.0, 1.5, "2", None, True, 3, 100)}),
    (partial(codebook_neighbours, SQUARE, 1), {"measure": ("l1", None)}),
    (partial(codebook_neighbours, SQUARE, 1, "random"), {"seed": (-1, 0.5, None, True)}),
    (partial(expected_tokens, gamma=2), {"alpha": (1.5, -0.5)}),
    (partial(expected_tokens, 0.5), {"gamma": (-1,)}),
    (partial(speedup, 0.5, 1), {"c": (NAN,)}),
    (partial(wasserstein1, HALF, HALF), {"metric": (np.zeros((3, 3)), [[0], [1, 0]], [[0, NAN], [1, 0]])}),
    (table, {"shape": ((2, 3),)}),
    (partial(Tape, replicates=1), {"seed": (1 << 64,)}),
    (lambda replicate: Tape(0, replicate), {"replicate": NO_REPLICATES}),
]

EIGHT = process("categorical", vocabulary=8)
WORLD, OTHER = random_process(1, 3, 2, zeros=0), random_process(2, 3, 3, zeros=0)
HIDDEN = np.array([[True, True, True], [False, False, False]])  # no token at the second position
PROCESSES: Bad = [
    (process("markov"), {"processors": ("top_k",), "contexts": (1,), "concentration": (0,)}),
    (lambda processor: make_process("markov", processors={processor: 3}), {"processor": ("topk",)}),
    (lambda top_k: make_process("markov", processors={"top_k": top_k}), {"top_k": (0,)}),
    (process("categorical"), {"vocabulary": (1,), "contexts": (1,), "seed": (1 << 64,)}),
    (process("categorical", length=6), {"shape": ((2, 2),)}),
    (EIGHT, {"entropy": (3.1, 0)}),
    (partial(EIGHT, entropy=1), {"tv": (1.5,)}),
    (partial(EIGHT, entropy=3), {"tv": (0.9,)}),
    (process("codebook"), {"temperature": (0,)}),
    (process("codebook", vocabulary=8), {"clusters": (64,)}),
    (process("local"), {"shape": ((16, 0),), "entropy": (11,), "coupling": (1.1,), "smoothness": (0,)}),
    (
        partial(Processed, WORLD),
        {
            **{"temperature": (-1, NAN, 1e-320), "top_k": (0,), "top_p": (0, 1.5, "a"), "guidance": (3,)},
            "grammar": (np.ones((2, 2), bool), np.ones((2, 3)), HIDDEN),
        },
    ),
    (lambda guidance: Processed(WORLD, unconditional=WORLD, guidance=guidance), {"guidance": (1,)}),
    (partial(Processed, WORLD, guidance=3), {"unconditional": (OTHER,)}),
    (partial(Ending, table()), {"end": (2, -1)}),
]

ABAR = np.array([0.9, 0.5, 0.1])
FLAT = tokens.affine_chain(3, dimension=2)
RANGE = LearnedRange(*np.ones((3, 3, 2)))
AROUND = np.ones(2)
DDPM, DDIM = partial(tokens.ddpm, 3, ABAR), partial(tokens.ddim, 3, ABAR)
ALPHAS: tuple[Any, ...] = ([1.0, 0.5], [0.5, 0.0], [0.5, NAN], [0.5, 0.6], [0.5, 0.5], [], 0.5, "linear", ABAR * 1j)
NO_RANGES = (
    *((1, 2), np.ones((3, 3, 2)), RANGE._replace(slope=np.full((3, 2), NAN)), RANGE._replace(bias=None)),
    *(RANGE._replace(width=-np.ones((3, 2))), RANGE._replace(width=np.full((3, 2), 701.0))),
    RANGE._replace(slope=np.ones(2)),
)
ONE = Mixture(np.zeros(1), np.zeros((1, 2)), np.ones((1, 2)))
MIXTURE: dict[str, Any] = {
    **{"target": ONE, "draft": ONE, "ratio": Densities(), "tape": Tape(0, 2)},
    "position": np.array([0, (1 << 16) - 1]),
}
CONTINUOUS: Bad = [
    (
        tokens.affine,
        {
            **{"steps": (0, 1.5), "dimension": (0,), "offset": ([1, 2, 3], "a"), "slope": ([[1, 2, 3]],)},
            **{"sd": (-1.0, [1, -2], NAN), "ar_coefficient": ([1, 2],), "first": (None,), "length": (1 << 16,)},
        },
    ),
    (
        DDPM,
        {
            **{"variance": ("a", None, [1, 2], [1, [2]], -1), "correlation": (2,), "kernels": ("tight",)},
            **{"level": (NAN,), "ar_coefficient": ([1, 2], np.eye(3), NAN), "first": ([1, 2],)},
        },
    ),
    (partial(DDPM, correlation=0.5), {"variance": (-1,)}),
    (partial(DDIM, eta=0.5), {"eta": (2,), "end": ("a",)}),
    (lambda build: DDPM().modified(build), {"build": (lambda chain: 1,)}),
    (lambda temperature: DDPM().modified(partial(tempered, temperature=temperature)), {"temperature": (-1,)}),
    (partial(schedule, "linear"), {"steps": (1.5, 0, 1001), "spacing": (1,)}),
    (partial(ddpm_chain, AROUND), {"abar": ALPHAS}),
    (partial(ddpm_chain, AROUND, kernels="upper"), {"abar": ALPHAS}),
    (partial(ddim_chain, AROUND, eta=0.5), {"abar": ALPHAS}),
    (partial(ddpm_chain, AROUND, ABAR), {"exact_start": ("no",)}),
    (partial(learned_range, FLAT, ABAR), {"slope": ([1], NAN), "bias": ("a",)}),
    (partial(learned_range, FLAT), {"abar": (ABAR[:2],)}),
    (partial(learned_range, abar=ABAR), {"chain": (ddpm_chain(np.eye(2), ABAR),)}),
    (partial(tempered, FLAT), {"temperature": ("a",)}),
    (partial(guided, FLAT, FLAT), {"scale": (NAN,)}),
    (partial(guided, FLAT, FLAT, 2.0), {"condition": ([1],)}),
    (
        partial(replace, FLAT),
        {
            **{"factor": (None, np.full((3, 2), NAN)), "slope": (1.0, np.ones((3, 2)) * 1j, "a", np.ones((4, 2)))},
            **{"start_mean": (np.ones(3),), "start_gain": (np.ones((2, 2)),), "start_factor": (np.ones(3),)},
            **{"offset": (np.full((3, 2), INF), np.zeros(2)), "noisy_end": ("no",), "learned": NO_RANGES},
        },
    ),
    (
        partial(tokens.Tokens, covariance=AROUND),
        {"build": (FLAT, lambda data: data, lambda data: tokens.affine_chain(2))},
    ),
    (
        partial(tokens.Tokens, lambda data: ddpm_chain(data, ABAR), AROUND),
        {"level": ([1, 2, 3],), "length": (0,)},
    ),
    (partial(tokens.Tokens, lambda data: ddpm_chain(data, ABAR)), {"covariance": ("a", AROUND * 1j, [1.0, -1.0])}),
    (root_of, {"covariance": (None, [[1.0, 0.5], [0.4, 1.0]], [[1.0, 2.0], [2.0, 1.0]])}),
    (partial(as_vector, size=1, what="values"), {"values": (True,)}),
    (
        lambda **changed: speculate(**(MIXTURE | changed)),
        {
            "position": (np.array([0, -1]), np.array([0, 1 << 16]), np.zeros(3, int), np.zeros(2), 0),
            **{"limit": (70_000,), "tape": (7,), "ratio": (Densities,), "target": (FLAT,)},
        },
    ),
]

MODELS: Bad = [
    (partial(lumina, columns=48), {"rows": (47,)}),
    (partial(lumina, 48), {"columns": (0,)}),
    (partial(emu3, columns=3), {"rows": (0,)}),
    (partial(Layout, range(4), 2), {"columns": (2.5,)}),
    (partial(Layout, rows=2, columns=2), {"image": (range(0), range(-3, 2))}),
    (lambda end: Layout(range(4), 2, 2, line=5, end=end), {"end": ((3,), (5,))}),
    (lambda grammar: Grammar(grammar, np.array([0])), {"grammar": (np.ones((2, 3)), np.zeros((1, 3), bool))}),
    (lambda rows: Grammar(np.ones((2, 3), bool), rows), {"rows": (np.array([0, 2]), np.array([0.5]))}),
    (token_grid, {"size": (255,)}),
    (lambda shape: token_grid(shape), {"shape": ((3,), (0, 2))}),
    (
        Sampler,
        {
            **{"steps": (0,), "least": (-1,), "span": (1001,), "variances": ("free",), "spacing": ("wide",)},
            **{"temperature": (-1.0,), "guidance": (NAN,), "noisy_end": (1,), "eta": (1.5,)},
        },
    ),
    (partial(Sampler, steps=8, least=3), {"span": (10,)}),
    (partial(official, size=256), {"name": ("M",)}),
    (partial(VqConfig, groups=4), {"width": (6,)}),
]

THREE = [0.5, 0.3, 0.2]
G = GTest(THREE)
STATISTICS: Bad = [
    (lambda law: GTest(law), {"law": ([0.5, 0.4], [[0.5, 0.5]])}),
    (G.p_value, {"counts": ([1, 2], [1, 2, -1], {0: 1, "x": -1}, [1, 2, 0.5], [1, 2, NAN], [0, 0, 0])}),
    (G.p_value, {"counts": ([[1, 0, 0], [1, 1, 0]],)}),
    (GTest([0.5, 0.5, 0, 0]).p_value, {"counts": ([5, 5, 1, -1], [5, 5, INF, 0])}),
    (partial(G.power_against, 100, 0.01), {"wrong": ([0.5, 0.5], [0.5, 0.5, 0.5])}),
    (partial(G.detectable, 100), {"level": (1.0, 0.0, "0.1")}),
    (partial(G.detectable, level=0.01), {"n": (0,)}),
    (partial(G.detectable, 100, 0.01), {"power": (0.005,)}),
    (partial(G.power, 100, 0.01), {"deviation": (1.5,)}),
    (partial(G.sample_size, level=0.01), {"deviation": (0,)}),
    (TwoSampleG, {"cells": (1,)}),
    (partial(MeanTest, least=0, most=1), {"mean": (2,)}),
    (partial(MeanTest, 0, 0), {"most": (0,)}),
    (MeanTest(0.5, 0, 1).p_value, {"values": ([0.5, 1.5],)}),
    (partial(tv_upper, [1, 2, 3], THREE), {"confidence": (1,)}),
    (Sequential(THREE).rejects, {"level": (0,)}),
]


def cases(tables: list[Bad]) -> Iterator[Any]:
    """A call, a parameter and a value that is refused, with a name of their own."""
    for name, calls in zip(("discrete", "process", "continuous", "models", "statistics"), tables, strict=True):
        for place, (call, bad) in enumerate(calls):
            for key, values in bad.items():
                for value in values:
                    yield pytest.param(call, key, value, id=f"{name}-{place}-{key}={str(value)[:20]!r}")


@pytest.mark.parametrize(("call", "key", "value"), [*cases([DISCRETE, PROCESSES, CONTINUOUS, MODELS, STATISTICS])])
def test_a_value_that_cannot_be_is_named_with_what_was_expected(call: Callable[..., Any], key: str, value: Any) -> None:
    refuses(call, key, value)


FEW = partial(Processed, WORLD)
RNG = np.random.default_rng(0)


def _simulated(rule: Any) -> Any:
    decoder, target, draft = make_decoder("speculative", gamma=1), *2 * [table(tuple(HALF))]
    return simulate(decoder, target, rule, Tape(0, 1), draft)


OF_SEVERAL: list[tuple[Callable[[], Any], tuple[str, ...]]] = [  # and what a message names of it
    (partial(FEW, temperature=F(2, 3)), ("1/temperature", "3/2", "exact rows")),
    (partial(FEW, unconditional=WORLD, guidance=1.5), ("guidance", "0.5", "exact rows")),
    (decoder("candidate-tree", branching=(2,), verifier="greedy"), ("expected Greedy",)),
    (partial(candidates_law, SPECULATIVE, [EXACT, EXACT], [EXACT, EXACT], 2), ("shape (2, 2)",)),
    (lambda: verified_law(KSeq(), Greedy(), np.array(EXACT), np.array(EXACT), 2), ("expected Independent",)),
    (decoder("traversal", branching=[[0], [1, 0]]), ("[1, 0]", "[1]")),
    (decoder("sjd-pac", window=64, candidates=4, depth=3, tree="full", budget=64), ("64", "145", "81")),
    *(
        (partial(ask, make_rule(name, **tables)), (told, "V = 2"))
        for name, tables, told in (
            ("grouped", {"labels": [0, 0, 1]}, "3 tokens"),
            ("dynamic-grouped", {"size": 2, "max_distance": 1, "distances": np.ones((3, 3))}, "[3, 3]"),
            *((name, {"neighbours": [[1], [0], []]}, "3 tokens") for name in LANTERNS),
        )
        for ask in (
            *(lambda rule: rule.accept(HALF, HALF, 0), lambda rule: step_law(rule, HALF, HALF)),
            *(_simulated, lambda rule: compiled_step(rule, np.array(HALF), np.array(HALF))),
        )
    ),
    *(
        (partial(wasserstein1_line, HALF, HALF, places), ("values", "2 finite numbers"))
        for places in ([0], [0, 1, 2], [0, float("nan")])
    ),
    *(
        (
            lambda sd=sd: drafted_steps(*(2 * [lambda k, x, _: x]), np.zeros((1, 1)), np.array(sd), 2, RNG),
            ("deviations", "expected finite numbers > 0"),
        )
        for sd in ([0.1, 0.0], [0.1, -1.0], [0.1, float("nan")])
    ),
    (lambda: prove(Recursive(), "lossless", 2, count=0), ("count", "0", ">= 1")),
    (lambda: prove(SPECULATIVE, "lossless", 0), ("size", "0", ">= 1")),
    (lambda: prove(make_decoder("sjd", window=2), "lossless", length=0), ("length", "0", ">= 1")),
    *(
        (partial(law, "speculative", HALF, HALF), ("rule", "'speculative'", "expected a Rule"))
        for law in (acceptance, step_law)
    ),
    (partial(step_law, SPECULATIVE, EXACT, EXACT, drawn=HALF), ("p and drawn", "fractions")),
    (partial(acceptance, SPECULATIVE, HALF, HALF, drawn=THREE), ("p ", "(2,)", "drawn (3,)")),
    *(
        (call, ())
        for call in (
            *(
                partial(TwoSampleG().p_value, [1, 2], other)
                for other in ({0: 1}, [1, 2, 3], [0, 0], [3, -2], [1, INF], [1, None], ["x", "y"], [2**70, 1])
            ),
            *(
                partial(call, 11, 10)
                for call in (ProportionTest(0.5).p_value, partial(proportion_interval, confidence=0.9))
            ),
            *(partial(ProportionTest(0.5).p_value, count, 10) for count in (2.5, NAN, "x", None, F(1, 2))),
            *(partial(ask, value) for ask in (estimate, G.p_value) for value in ({"a": None}, 1j, [None, 1j, 2])),
            *(partial(MeanTest, 0.5, *bounds) for bounds in ((None, 1), (0, [1]), (-INF, 1), (-1e308, 1e308))),
            *(partial(mean_interval, [0.1, 0.2], 0.9, *bounds) for bounds in ((None, 1), (0, "x"), (-1e308, 1e308))),
            *(partial(mean_interval, [0.5], 0.9, 0, 1), partial(paired, [1, 2], [1, 2, 3])),
            *(partial(clustered, *of) for of in (([0], [1.0, 2.0]), ([], []), ([0, 1], [1.0, NAN]))),
            partial(tv_upper, [[1, 2, 3]], THREE, 0.9),
        )
    ),
    (
        lambda: run(make_decoder("sjd", window=2), table(tuple(EXACT)), SPECULATIVE, Tape(0, 2)),
        ("exact", "expected floating-point rows"),
    ),
]


@pytest.mark.parametrize(("call", "told"), OF_SEVERAL)
def test_what_does_not_go_together_is_named(call: Callable[[], Any], told: tuple[str, ...]) -> None:
    refused(call, *told)


def test_a_vector_without_direction_is_named_where_it_needs_one() -> None:
    refused(lambda: codebook_distances(ROUND, normalised=True), "codebook[3]")
    assert codebook_neighbours(ROUND, 1)[3].tolist() == [0]


# Rows ----------------------------------------------------------------------------------------------------------

BAD_ROWS: list[tuple[Any, str]] = [  # and what a message shows of one
    *(
        ([0.5, 0.4], "0.9"),
        ([0.5, 0.6], "1.1"),
        ([F(1, 2), F(1, 3)], "5/6"),
        ([1, 1], "2"),
        ([HALF, [0.5, 0.25]], "0.75"),
    ),
    *(([F(1, 2), F(1, 2) + F(1, 10**9)], "sums to"), (torch.tensor([0.5, 0.25]), "0.75")),
    *(([1.25, -0.25], "-0.25"), ([F(5, 4), F(-1, 4)], "-1/4"), (torch.tensor([1.5, -0.5]), "-0.5")),
    *(([NAN, 1.0], "NaN"), (torch.tensor([NAN, 1.0]), "NaN"), (np.array([F(1), NAN], dtype=object), "nan")),
    *(([INF, 0.0], "inf"), ([INF, -INF], "inf"), (["a", "b"], "['a', 'b']"), (None, "shape ()"), (1.0, "shape ()")),
    (np.ma.array([0.5, 0.5, 0.9], mask=[0, 0, 1]), "none masked"),
    *(([], "shape (0,)"), ([[0.5, 0.5], [1.0]], "[[0.5, 0.5], [1.0]]")),
]


@pytest.mark.parametrize(("row", "shown"), BAD_ROWS)
def test_rows_that_are_no_pmf(row: Any, shown: str) -> None:
    refused(lambda: as_pmf(row, "the row"), "the row", shown)


def test_the_order_of_a_row_in_memory_is_no_error() -> None:
    rows = np.exp(np.random.default_rng(0).normal(size=(4, 65_536)).astype(np.float32))
    rows = np.asfortranarray(rows / rows.sum(axis=-1, keepdims=True))
    assert SPECULATIVE.accept(rows, rows, np.zeros(4, int)).tolist() == [1.0] * 4


@pytest.mark.parametrize(
    ("rows", "token"),
    [
        (np.array(HALF, ">f8"), np.array(1, ">i8")),
        (np.ma.array(HALF), 1),
        (pd.Series(HALF), 1),
        (np.array(HALF), torch.tensor(1)),
        (torch.tensor(HALF), np.int64(1)),
    ],
)
def test_arrays_of_any_make_are_read(rows: Any, token: Any) -> None:
    assert float(SPECULATIVE.accept(rows, rows, token)) == 1.0


def test_rounding_of_a_float_row_is_no_error() -> None:
    row = np.full(3, np.float32(1) / np.float32(3))
    assert as_pmf(row) is row


ASKED = {
    "accept": lambda p, q: SPECULATIVE.accept(p, q, 0),
    "residual": lambda p, q: SPECULATIVE.residual(p, q, 0),
    "step_law": lambda p, q: step_law(SPECULATIVE, p, q),
    "acceptance": lambda p, q: acceptance(SPECULATIVE, p, q),
    "tv": tv,
    "kl": kl,
    "wasserstein1": lambda p, q: wasserstein1(p, q, 1 - np.eye(2)),
}


@pytest.mark.parametrize("asked", ASKED)
def test_every_way_in_checks_both_rows(asked: str) -> None:
    for p, q, *told in (
        ([0.5, 0.4], HALF, "p ", "0.9"),
        (HALF, [1.5, -0.5], "q ", "-0.5"),
        ([F(1, 2), F(1, 3)], EXACT, "p ", "5/6"),
        (HALF, [NAN, 1.0], "q ", "NaN"),
        (HALF, [0.25, 0.25, 0.5], "p ", "(2,)", "q ", "(3,)"),
        (EXACT, [0.3, 0.7], "p and q", "fractions", "floats"),
    ):
        refused(lambda p=p, q=q: ASKED[asked](p, q), *told)


PAIR = torch.tensor([HALF] * 2)
BAD_TOKENS: list[tuple[Any, Any, str]] = [
    *((HALF, token, shown) for token, shown in ((2, "token 2"), (-1, "token -1"), (0.0, "float64"), (True, "bool"))),
    *((HALF, token, shown) for token, shown in ((F(1, 2), "object"), ([0, 1], "shape (2,)"))),
    *(([HALF] * 3, [0, 5, 1], "token 5"), ([HALF] * 3, [0, 1], "shape (2,)")),
    *((PAIR, torch.tensor([0, 2]), "token 2"), (PAIR, torch.tensor([0.0, 1.0]), "float32")),
]


@pytest.mark.parametrize(("rows", "token", "shown"), BAD_TOKENS)
@pytest.mark.parametrize("ask", [SPECULATIVE.accept, SPECULATIVE.residual])
def test_tokens(rows: Any, token: Any, shown: str, ask: Callable[..., Any]) -> None:
    refused(lambda: ask(rows, rows, token), "x ", shown)


@pytest.mark.parametrize(("row", "shown"), [([0.5, 0.4], "0.9"), ([0.25, 0.25, 0.5], "(3,)"), ([HALF], "(1, 2)")])
def test_first_row_of_tables(row: Any, shown: str) -> None:
    refused(lambda: table(row), "after ()", shown)


@pytest.mark.parametrize("exact", [True, False])
def test_later_rows_of_tables_name_their_prefix(exact: bool) -> None:
    good, bad = (EXACT, [F(1, 2), F(1, 4)]) if exact else (HALF, [0.5, 0.25])
    process = TableProcess(2, 3, lambda prefix: bad if prefix == (1, 0) else good)
    refused(lambda: sequence_law(make_decoder("autoregressive"), process, SPECULATIVE), "after (1, 0)", "sums to")


# Laws and runs -------------------------------------------------------------------------------------------------

LAWS = {
    "sequence_law": sequence_law,
    "block_law": block_law,
    "block_acceptance": block_acceptance,
    "transitions": lambda *given, **more: list(transitions(*given, **more)),
    "run": lambda decoder, process, rule, draft=None: run(decoder, process, rule, Tape(0, 2), draft),
    "simulate": lambda decoder, process, rule, draft=None: simulate(decoder, process, rule, Tape(0, 2), draft),
}
ALONE, NEEDS, TWO = make_decoder("sjd", window=2), make_decoder("speculative", gamma=1), make_process("markov")
BAD_LAWS: list[tuple[tuple[Any, ...], tuple[str, ...]]] = [
    ((NEEDS, table(), SPECULATIVE), ("draft is None",)),
    ((ALONE, table(), SPECULATIVE, table()), ("draft", "expected none")),
    ((NEEDS, table(), SPECULATIVE, table((0.25, 0.25, 0.5), vocabulary=3)), ("(3, 4)", "(2, 4)")),
    ((NEEDS, table(), SPECULATIVE, table(length=3)), ("(2, 3)", "(2, 4)")),
    # a float draft would quietly turn an exact law into a rounded one
    ((NEEDS, table(tuple(EXACT)), SPECULATIVE, table()), ("exact",)),
    (("sjd", table(), SPECULATIVE), ("decoder is 'sjd'", "Decoder")),
    ((Sjd, table(), SPECULATIVE), ("decoder is the class Sjd", "Decoder")),
    ((ALONE, "markov", SPECULATIVE), ("process is 'markov'", "Process")),
    ((ALONE, TWO, SPECULATIVE), ("process is a Pair", "Process")),
    ((ALONE, table(), "speculative"), ("rule is 'speculative'", "Rule")),
    ((ALONE, table(), type(SPECULATIVE)), ("rule is the class Speculative", "Rule")),
    ((ALONE, table(), None), ("rule is None", "Rule")),
    ((NEEDS, table(), SPECULATIVE, "markov"), ("draft is 'markov'", "Process")),
    ((NEEDS, table(), SPECULATIVE, TWO), ("draft is a Pair", "Process")),
]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("given", "told"), BAD_LAWS, ids=["-".join(told) for _, told in BAD_LAWS])
def test_a_law_or_a_run_of_what_is_none_of_its_parts(law: str, given: tuple[Any, ...], told: tuple[str, ...]) -> None:
    refused(lambda: LAWS[law](*given), *told)


@pytest.mark.parametrize("form", [run, simulate])
def test_a_run_on_what_is_no_tape(form: Any) -> None:
    refused(lambda: form(ALONE, table(), SPECULATIVE, 7), "tape is 7", "Tape")


MODEL = tokens.affine(length=3)
CUT, IN_PLACE = tokens.Truncating(2), tokens.InPlace(2)
RUNS = {
    f"{type(decoder).__name__} {name}": form
    for decoder in (CUT, IN_PLACE)
    for name, form in (("reference", decoder.run), ("compiled", partial(simulate_tokens, decoder)))
}
GOOD = {"target": MODEL, "draft": MODEL, "rule": LastStep(), "tape": Tape(0, 2)}
BAD_RUNS: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"rule": LastStep}, ("rule is <class", "Rule")),
    ({"rule": "last-step"}, ("rule is 'last-step'", "Rule")),
    ({"target": MODEL.chain}, ("target is a Chain", "Tokens")),
    ({"draft": MODEL.chain}, ("draft is a Chain", "Tokens")),
    ({"draft": replace(MODEL, length=4)}, ("draft has length 4", "3")),
    ({"tape": 7}, ("tape is 7", "Tape")),
    ({"tape": np.random.default_rng(0)}, ("tape is Generator", "Tape")),
]


@pytest.mark.parametrize("form", RUNS)
@pytest.mark.parametrize(("change", "told"), BAD_RUNS, ids=["-".join(told) for _, told in BAD_RUNS])
def test_a_run_over_continuous_tokens_of_what_is_none_of_its_parts(
    form: str, change: dict[str, Any], told: tuple[str, ...]
) -> None:
    assert np.isfinite(RUNS[form](**GOOD).tokens).all()
    refused(lambda: RUNS[form](**(GOOD | change)), *told)


@pytest.mark.parametrize("decoder", [tokens.Truncating(1, limit=1 << 16), tokens.InPlace(1, limit=1 << 16)])
def test_a_limit_beyond_the_tape(decoder: Any) -> None:
    for form in (decoder.run, partial(simulate_tokens, decoder)):
        refused(lambda form=form: form(**GOOD), "limit is 65536", "65535")


# What looks odd and is fine ------------------------------------------------------------------------------------


def test_lists_may_be_arrays_and_tuples() -> None:
    lists = [[1, 2], [0, 2], [1, 0]]
    given = lists, np.array(lists), tuple(map(tuple, lists)), [np.array(row) for row in lists]
    rows = [0.5, 0.25, 0.25], [0.25, 0.25, 0.5]
    laws = {str(step_law(make_rule("lantern", neighbours=near, delta=0.5), *rows)) for near in given}
    assert len(laws) == 1
    assert laws != {str(step_law(SPECULATIVE, *rows))}


def test_replicates_may_be_numpy_numbers() -> None:
    assert Tape(0, np.int64(3)).replicates.tolist() == [0, 1, 2]
    assert Tape(0, np.array([7, 5])).replicates.tolist() == [7, 5]
    assert Tape(0, [(1 << 32) - 1]).replicates.tolist() == [(1 << 32) - 1]


def test_continuous_models_take_lists_whole_numbers_and_options_beside_what_they_belong_to() -> None:
    assert_equal = np.testing.assert_array_equal
    assert_equal(ddpm_chain([1, 1], list(ABAR)).factor, ddpm_chain(np.ones(2), ABAR).factor)
    assert_equal(DDPM(variance=[1, 1, 1]).covariance, np.ones(3))
    apart, one = DDPM(variance=[1, 4, 9], correlation=0.5), DDPM(variance=0.3, correlation=0.5)
    assert_equal(apart.covariance[0], [1, 1, 0.75])
    assert_equal(np.diag(one.covariance), np.full(3, 0.3))
    assert DDIM(0.5, end=0.1).chain.factor[0, 0] == 0.1
    assert ReferenceCode().sharpness == 42**-2
    assert tokens.Truncating(1, limit=PROPOSALS).limit == 100
    assert isinstance(Marginal(aligned=False), Marginal)
    assert isinstance(replace(FLAT, learned=RANGE), tokens.Chain)
    assert speculate(**MIXTURE).accepted.all()
