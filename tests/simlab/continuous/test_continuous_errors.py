"""Bad input to continuous tokens: a ``ValueError`` that names the value and what was expected."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from simlab.continuous import Chain, InPlace, Tokens, Truncating, affine, affine_chain, ddim, ddpm
from simlab.continuous.compiled import simulate
from simlab.continuous.decoders import Decoded
from simlab.continuous.models.chains import LearnedRange
from simlab.continuous.models.diffusion import ddim_chain, ddpm_chain, guided, learned_range, schedule, tempered
from simlab.continuous.models.gaussians import as_vector, root_of
from simlab.continuous.models.mixtures import Densities, Mixture, speculate
from simlab.continuous.rules import LastStep, Marginal, ReferenceCode
from simlab.continuous.rules.reference_code import PROPOSALS
from simlab.randomness import Tape
from tests.simlab.test_bad_input import refused

pytestmark = pytest.mark.property

NAN, INF = float("nan"), float("inf")
ABAR = np.array([0.9, 0.5, 0.1])
FLAT = affine_chain(3, dimension=2)
RANGE = LearnedRange(*np.ones((3, 3, 2)))
AROUND = np.ones(2)
DDPM, DDIM = partial(ddpm, 3, ABAR), partial(ddim, 3, ABAR)

ALPHAS: tuple[Any, ...] = ([1.0, 0.5], [0.5, 0.0], [0.5, NAN], [0.5, 0.6], [0.5, 0.5], [], 0.5, "linear", ABAR * 1j)
BAD: list[tuple[Callable[..., Any], dict[str, tuple[Any, ...]]]] = [  # what is called, and values that it refuses
    (
        affine,
        {
            "steps": (0, 1.5),
            "dimension": (0,),
            "offset": ([1, 2, 3], "a"),
            "slope": ([[1, 2, 3]],),
            "sd": (-1.0, [1, -2], NAN),
            "ar_coefficient": ([1, 2],),
            "first": (None,),
            "length": (1 << 16,),
        },
    ),
    (
        DDPM,
        {
            "variance": ("a", None, [1, 2], [1, [2]], -1),
            "correlation": (2,),
            "kernels": ("tight",),
            "level": (NAN,),
            "ar_coefficient": ([1, 2], np.eye(3), NAN),
            "first": ([1, 2],),
        },
    ),
    (partial(DDPM, correlation=0.5), {"variance": (-1,)}),
    (partial(DDIM, eta=0.5), {"eta": (2,), "end": ("a",)}),
    (DDPM().modified, {"change": (lambda chain: 1,)}),
    (lambda temperature: DDPM().modified(partial(tempered, temperature=temperature)), {"temperature": (-1,)}),
    (schedule, {"name": ("sigmoid",)}),
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
            "factor": (None, np.full((3, 2), NAN)),
            "slope": (1.0, np.ones((3, 2)) * 1j, "a", np.ones((4, 2))),
            "start_mean": (np.ones(3),),
            "start_gain": (np.ones((2, 2)),),
            "start_factor": (np.ones(3),),
            "offset": (np.full((3, 2), INF), np.zeros(2)),
            "noisy_end": ("no",),
            "learned": (
                *((1, 2), np.ones((3, 3, 2))),
                *(RANGE._replace(slope=np.full((3, 2), NAN)), RANGE._replace(bias=None)),
                *(RANGE._replace(width=-np.ones((3, 2))), RANGE._replace(width=np.full((3, 2), 701.0))),
                RANGE._replace(slope=np.ones(2)),
            ),
        },
    ),
    (
        partial(Tokens, covariance=AROUND),
        {"build": (FLAT, lambda data: data, lambda data: affine_chain(2))},
    ),
    (
        partial(Tokens, lambda data: ddpm_chain(data, ABAR), AROUND),
        {"level": ([1, 2, 3],), "length": (0,)},
    ),
    (partial(Tokens, lambda data: ddpm_chain(data, ABAR)), {"covariance": ("a", AROUND * 1j, [1.0, -1.0])}),
    (root_of, {"covariance": (None, [[1.0, 0.5], [0.4, 1.0]], [[1.0, 2.0], [2.0, 1.0]])}),
    (partial(as_vector, size=1, what="values"), {"values": (True,)}),
]
NAMED = {"name": "schedule", "change": "build"}  # what a parameter is called, where it is not by its name


def refusal(key: str, value: Any) -> str:
    """How a message begins, and what it goes on with: the parameter, the value where it is short, what is expected."""
    shown = f"(has|holds|goes|gives|needs|is) .*{re.escape(repr(value)) if isinstance(value, str | None) else ''}"
    return rf"(?s)\b{NAMED.get(key, key)}\b.*{shown}.*expected"


@pytest.mark.parametrize(("call", "bad"), BAD)
def test_parameters(call: Callable[..., Any], bad: dict[str, tuple[Any, ...]]) -> None:
    for key, values in bad.items():
        for value in values:
            with pytest.raises(ValueError, match=refusal(key, value)):
                call(**{key: value})


MODEL = affine(length=3)
RUNS: dict[str, Callable[..., Decoded]] = {
    "truncating": Truncating(2).run,
    "in place": InPlace(2).run,
    "truncating, compiled": partial(simulate, Truncating(2)),
    "in place, compiled": partial(simulate, InPlace(2)),
}
GOOD = {"target": MODEL, "draft": MODEL, "rule": LastStep(), "tape": Tape(0, 2)}
BAD_RUNS = [
    ({"rule": LastStep}, "rule is <class", "expected a Rule, as make_rule gives"),
    ({"rule": "last-step"}, "rule is 'last-step'", "expected a Rule, as make_rule gives"),
    ({"target": MODEL.chain}, "the target is a Chain", "expected Tokens, as ddpm gives"),
    ({"draft": MODEL.chain}, "the draft is a Chain", "expected Tokens, as ddpm gives"),
    ({"draft": replace(MODEL, length=4)}, "the draft has length 4", "expected the target's 3"),
    ({"tape": 7}, "tape is 7", "expected a Tape"),
    ({"tape": np.random.default_rng(0)}, "tape is Generator", "expected a Tape"),
]


@pytest.mark.parametrize("form", RUNS)
@pytest.mark.parametrize(("change", "named", "expected"), BAD_RUNS, ids=[named for _, named, _ in BAD_RUNS])
def test_runs(form: str, change: dict[str, Any], named: str, expected: str) -> None:
    refused(lambda: RUNS[form](**(GOOD | change)), named, expected)


@pytest.mark.parametrize("form", RUNS)
def test_what_is_good_runs(form: str) -> None:
    assert np.isfinite(RUNS[form](**GOOD).tokens).all()


@pytest.mark.parametrize("decoder", [Truncating(1, limit=70_000), InPlace(1, limit=70_000)])
def test_a_limit_beyond_the_tape(decoder: Truncating | InPlace) -> None:
    for run in (decoder.run, partial(simulate, decoder)):
        refused(lambda run=run: run(**GOOD), "limit is 70000", "expected at most 65535")


ONE = Mixture(np.zeros(1), np.zeros((1, 2)), np.ones((1, 2)))
BAD_MIXTURES = [
    ({"position": np.array([0, -1])}, "position holds -1", "expected 0 to 65535"),
    ({"position": np.array([0, 1 << 16])}, "position holds 65536", "expected 0 to 65535"),
    ({"position": np.zeros(3, int)}, "position is array([0, 0, 0])", "expected an array of 2 whole numbers"),
    ({"position": np.zeros(2)}, "position is array([0., 0.])", "expected an array of 2 whole numbers"),
    ({"position": 0}, "position is 0", "expected an array of 2 whole numbers"),
    ({"limit": 70_000}, "limit is 70000", "expected at most 65535"),
    ({"tape": 7}, "tape is 7", "expected a Tape"),
    ({"ratio": Densities}, "ratio is <class", "expected a Ratio"),
    ({"target": MODEL}, "the target is a Tokens", "expected a Mixture"),
]


@pytest.mark.parametrize(("change", "named", "expected"), BAD_MIXTURES, ids=[named for _, named, _ in BAD_MIXTURES])
def test_mixtures(change: dict[str, Any], named: str, expected: str) -> None:
    good: dict[str, Any] = {
        "target": ONE,
        "draft": ONE,
        "ratio": Densities(),
        "tape": Tape(0, 2),
        "position": np.array([0, (1 << 16) - 1]),
    }
    assert speculate(**good).accepted.all()
    refused(lambda: speculate(**(good | change)), named, expected)


def test_what_looks_odd_and_is_fine() -> None:
    """Lists, whole numbers, and options beside what they belong to."""
    assert_equal = np.testing.assert_array_equal
    assert_equal(ddpm_chain([1, 1], list(ABAR)).factor, ddpm_chain(np.ones(2), ABAR).factor)
    assert_equal(DDPM(variance=[1, 1, 1]).covariance, np.ones(3))
    apart, one = DDPM(variance=[1, 4, 9], correlation=0.5), DDPM(variance=0.3, correlation=0.5)
    assert_equal(apart.covariance[0], [1, 1, 0.75])
    assert_equal(np.diag(one.covariance), np.full(3, 0.3))
    assert DDIM(0.5, end=0.1).chain.factor[0, 0] == 0.1
    assert ReferenceCode().sharpness == 42**-2
    assert Truncating(1, limit=PROPOSALS).limit == 100
    assert isinstance(Marginal(aligned=False), Marginal)
    assert isinstance(replace(FLAT, learned=RANGE), Chain)
