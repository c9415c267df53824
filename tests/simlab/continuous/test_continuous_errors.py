"""Bad input to continuous tokens: a ``ValueError`` that names the value and what was expected."""

from __future__ import annotations

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

BAD_PARAMETERS: list[tuple[Callable[..., Any], dict[str, Any], str, str]] = [
    (affine, {"steps": 0}, "steps is 0", "expected a whole number >= 1"),
    (affine, {"steps": 1.5}, "steps is 1.5", "expected a whole number >= 1"),
    (affine, {"dimension": 0}, "dimension is 0", "expected a whole number >= 1"),
    (affine, {"offset": [1, 2, 3]}, "offset has shape (3,)", "expected a number, [2] or (2, 1)"),
    (affine, {"offset": "a"}, "offset is 'a'", "expected real numbers"),
    (affine, {"slope": [[1, 2, 3]]}, "slope has shape (1, 3)", "expected a number, [2]"),
    (affine, {"sd": -1.0}, "sd holds -1.0", "expected numbers >= 0"),
    (affine, {"sd": [1, -2]}, "sd holds -2.0", "expected numbers >= 0"),
    (affine, {"sd": NAN}, "sd holds nan", "expected finite numbers"),
    (
        affine,
        {"ar_coefficient": [1, 2]},
        "ar_coefficient has shape (2,)",
        "expected a number or (1,), as the covariance has",
    ),
    (affine, {"first": None}, "first is None", "expected real numbers"),
    (affine, {"length": 1 << 16}, "length is 65536", "expected at most 65535"),
    (DDPM, {"variance": "a"}, "variance is 'a'", "expected real numbers"),
    (DDPM, {"variance": None}, "variance is None", "expected real numbers"),
    (DDPM, {"variance": [1, 2]}, "variance has shape (2,)", "expected a number or [3]"),
    (DDPM, {"variance": [1, [2]]}, "variance is [1, [2]]", "expected"),
    (DDPM, {"variance": -1}, "variance holds -1.0", "expected numbers >= 0"),
    (DDPM, {"variance": -1, "correlation": 0.5}, "variance holds -1.0", "expected numbers >= 0"),
    (DDPM, {"correlation": 2}, "correlation is 2", "expected a number from -1 to 1"),
    (DDPM, {"kernels": "tight"}, "kernels is 'tight'", "expected one of exact, posterior, upper"),
    (DDIM, {"eta": 2}, "eta is 2", "expected a number from 0 to 1"),
    (DDIM, {"end": "a", "eta": 0.5}, "end is 'a'", "expected a finite number >= 0"),
    (DDPM, {"level": NAN}, "level holds nan", "expected finite numbers"),
    (DDPM().modified, {"change": partial(tempered, temperature=-1)}, "temperature is -1", "a finite number >= 0"),
    (DDPM().modified, {"change": lambda chain: 1}, "build gives 1", "expected a Chain"),
    (
        DDPM,
        {"ar_coefficient": [1, 2]},
        "ar_coefficient has shape (2,)",
        "expected a number or (3,), as the covariance has",
    ),
    (DDPM, {"ar_coefficient": np.eye(3)}, "ar_coefficient has shape (3, 3)", "expected a number or (3,)"),
    (DDPM, {"ar_coefficient": NAN}, "ar_coefficient holds nan", "expected finite numbers"),
    (DDPM, {"first": [1, 2]}, "first has shape (2,)", "expected a number or [3]"),
    (schedule, {"name": "sigmoid"}, "schedule is 'sigmoid'", "expected one of linear, cosine"),
    (schedule, {"name": "linear", "steps": 1.5}, "steps is 1.5", "expected a whole number >= 1"),
    (schedule, {"name": "linear", "steps": 0}, "steps is 0", "expected a whole number >= 1"),
    (schedule, {"name": "linear", "steps": 1001}, "steps is 1001", "expected at most the 1000"),
    (schedule, {"name": "linear", "spacing": 1}, "spacing is 1", "expected one of trailing, linspace"),
    *[
        (partial(form, np.ones(2)), {"abar": abar, **more}, named, expected)
        for form, more in ((ddpm_chain, {}), (ddim_chain, {"eta": 0.5}), (ddpm_chain, {"kernels": "upper"}))
        for abar, named, expected in (
            ([1.0, 0.5], "abar holds 1.0", "expected numbers between 0 and 1"),
            ([0.5, 0.0], "abar holds 0.0", "expected numbers between 0 and 1"),
            ([0.5, NAN], "abar holds nan", "expected finite numbers"),
            ([0.5, 0.6], "abar goes from 0.5 to 0.6", "expected falling numbers"),
            ([0.5, 0.5], "abar goes from 0.5 to 0.5", "expected falling numbers"),
            ([], "abar has shape (0,)", "expected [T]"),
            (0.5, "abar has shape ()", "expected [T]"),
            ("linear", "abar is 'linear'", "expected real numbers"),
            (ABAR * 1j, "abar is array([", "expected real numbers"),
        )
    ],
    (
        ddpm_chain,
        {"covariance": AROUND, "abar": ABAR, "exact_start": "no"},
        "exact_start is 'no'",
        "expected True or False",
    ),
    (learned_range, {"chain": FLAT, "abar": ABAR[:2]}, "abar has 2 numbers", "expected 3, one a step"),
    (learned_range, {"chain": FLAT, "abar": ABAR, "slope": [1]}, "slope has shape (1,)", "expected a number or [2]"),
    (learned_range, {"chain": FLAT, "abar": ABAR, "bias": "a"}, "bias is 'a'", "expected real numbers"),
    (learned_range, {"chain": ddpm_chain(np.eye(2), ABAR), "abar": ABAR}, "the chain is dense", "a diagonal one"),
    (learned_range, {"chain": FLAT, "abar": ABAR, "slope": NAN}, "slope holds nan", "expected finite numbers"),
    (tempered, {"chain": FLAT, "temperature": "a"}, "temperature is 'a'", "expected a finite number >= 0"),
    (partial(guided, FLAT, FLAT), {"scale": NAN}, "scale is nan", "expected a finite number >= 0"),
    (partial(guided, FLAT, FLAT, 2.0), {"condition": [1]}, "condition has shape (1,)", "expected a number or [2]"),
    *[
        (partial(replace, FLAT), change, named, expected)
        for change, named, expected in (
            ({"factor": None}, "factor is None", "expected real numbers"),
            ({"slope": 1.0}, "slope has shape ()", "expected [T, d] if diagonal or [T, d, d] if dense"),
            ({"slope": np.ones((3, 2)) * 1j}, "slope is array([", "expected real numbers"),
            ({"slope": "a"}, "slope is 'a'", "expected real numbers"),
            ({"start_mean": np.ones(3)}, "start_mean has shape (3,)", "expected (2,)"),
            ({"start_gain": np.ones((2, 2))}, "start_gain has shape (2, 2)", "expected (2,)"),
            ({"offset": np.full((3, 2), INF)}, "offset holds inf", "expected finite numbers"),
            ({"noisy_end": "no"}, "noisy_end is 'no'", "expected True or False"),
            ({"learned": (1, 2)}, "learned is (1, 2)", "expected a LearnedRange"),
            ({"learned": np.ones((3, 3, 2))}, "learned is array([", "expected a LearnedRange"),
            (
                {"learned": RANGE._replace(slope=np.full((3, 2), NAN))},
                "slope of learned holds nan",
                "expected finite",
            ),
            ({"learned": RANGE._replace(bias=None)}, "bias of learned is None", "expected real numbers"),
            ({"learned": RANGE._replace(width=-np.ones((3, 2)))}, "width of learned holds -1.0", "from 0 to 700"),
            ({"learned": RANGE._replace(width=np.full((3, 2), 701.0))}, "width of learned holds 701.0", "0 to 700"),
            ({"learned": RANGE._replace(slope=np.ones(2))}, "a learned range needs", "shapes (3, 2)"),
        )
    ],
    *[
        (
            partial(Tokens, **{"build": lambda data: ddpm_chain(data, ABAR), "covariance": AROUND, **change}),
            {},
            named,
            expected,
        )
        for change, named, expected in (
            ({"build": FLAT}, "build is Chain(", "expected a function from a covariance to a Chain"),
            ({"build": lambda data: data}, "build gives array([1., 1.])", "expected a Chain"),
            ({"build": lambda data: affine_chain(2)}, "build gives a chain of 1 dimensions", "expected 2"),
            ({"covariance": "a"}, "covariance is 'a'", "expected real numbers"),
            ({"covariance": AROUND * 1j}, "covariance is array([", "expected real numbers"),
            ({"covariance": [1.0, -1.0]}, "covariance holds the variance -1.0", "expected numbers >= 0"),
            ({"level": [1, 2, 3]}, "level has shape (3,)", "expected a number or [2]"),
            ({"length": 0}, "length is 0", "expected a whole number >= 1"),
        )
    ],
    (root_of, {"covariance": None}, "covariance is None", "expected real numbers"),
    (as_vector, {"values": True, "size": 1, "what": "it"}, "it is True", "expected real numbers"),
]


@pytest.mark.parametrize(
    ("call", "given", "named", "expected"), BAD_PARAMETERS, ids=[named for _, _, named, _ in BAD_PARAMETERS]
)
def test_parameters(call: Callable[..., Any], given: dict[str, Any], named: str, expected: str) -> None:
    refused(lambda: call(**given), named, expected)


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
