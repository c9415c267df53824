"""Bad input to continuous tokens: a ``ValueError`` that names the value and what was expected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from simlab.continuous import Chain, InPlace, Tokens, Truncating, affine, make_pair, make_rule
from simlab.continuous.compiled import simulate
from simlab.continuous.decoders import Decoded
from simlab.continuous.models.chains import LearnedRange
from simlab.continuous.models.diffusion import ddim, ddpm, guided, learned_range, schedule, tempered
from simlab.continuous.models.gaussians import as_vector, root_of
from simlab.continuous.models.mixtures import Densities, Mixture, speculate
from simlab.continuous.rules import RULES, LastStep, Marginal, ReferenceCode
from simlab.continuous.rules.reference_code import PROPOSALS
from simlab.randomness import Tape
from tests.simlab.test_bad_input import refused

pytestmark = pytest.mark.property

NAN, INF = float("nan"), float("inf")
ABAR = np.array([0.9, 0.5, 0.1])
FLAT = affine(3, dimension=2)
RANGE = LearnedRange(*np.ones((3, 3, 2)))
AROUND = np.ones(2)
DDPM, AFFINE = partial(make_pair, "ddpm", steps=3, dimension=3), partial(make_pair, "affine")

BAD_PARAMETERS: list[tuple[Callable[..., Any], dict[str, Any], str, str]] = [
    (AFFINE, {"steps": 0}, "steps is 0", "expected a whole number >= 1"),
    (AFFINE, {"steps": 1.5}, "steps is 1.5", "expected a whole number >= 1"),
    (AFFINE, {"dimension": 0}, "dimension is 0", "expected a whole number >= 1"),
    (AFFINE, {"gap": [1, 2, 3]}, "gap has shape (3,)", "expected a number, [2] or (2, 1)"),
    (AFFINE, {"gap": "a"}, "gap is 'a'", "expected real numbers"),
    (AFFINE, {"slope": [[1, 2, 3]]}, "slope has shape (1, 3)", "expected a number, [2]"),
    (AFFINE, {"draft_slope": [1, 2, 3]}, "draft_slope has shape (3,)", "expected a number, [2]"),
    (AFFINE, {"draft_sd": -1.0}, "draft_sd holds -1.0", "expected numbers >= 0"),
    (AFFINE, {"sd": [1, -2]}, "sd holds -2.0", "expected numbers >= 0"),
    (AFFINE, {"sd": NAN}, "sd holds nan", "expected finite numbers"),
    (AFFINE, {"carry": [1, 2]}, "carry has shape (2,)", "expected a number or (1,), as the covariance has"),
    (AFFINE, {"first": None, "draft_first": 0.0}, "first is None", "expected real numbers"),
    (AFFINE, {"length": 1 << 16}, "length is 65536", "expected at most 65535"),
    (DDPM, {"steps": 1.5}, "steps is 1.5", "expected a whole number >= 1"),
    (DDPM, {"steps": 0}, "steps is 0", "expected a whole number >= 1"),
    (DDPM, {"steps": 1001}, "steps is 1001", "expected at most the 1000"),
    (DDPM, {"schedule": "sigmoid"}, "schedule is 'sigmoid'", "expected one of linear, cosine"),
    (DDPM, {"spacing": "leading"}, "spacing is 'leading'", "expected one of trailing, linspace"),
    (DDPM, {"variance": "a"}, "variance is 'a'", "expected real numbers"),
    (DDPM, {"variance": None}, "variance is None", "expected real numbers"),
    (DDPM, {"variance": [1, 2]}, "variance has shape (2,)", "expected a number or [3]"),
    (DDPM, {"variance": [1, [2]]}, "variance is [1, [2]]", "expected"),
    (DDPM, {"variance": -1}, "variance holds -1.0", "expected numbers >= 0"),
    (DDPM, {"draft_variance": -1, "correlation": 0.5}, "draft_variance holds -1.0", "expected numbers >= 0"),
    (DDPM, {"correlation": 2}, "correlation is 2", "expected a number from -1 to 1"),
    (DDPM, {"kernels": "tight"}, "kernels is 'tight'", "expected one of exact, posterior, upper"),
    (DDPM, {"kernels": "tight", "eta": 0.5}, "kernels is 'tight'", "expected one of exact, posterior, upper"),
    (DDPM, {"draft_kernels": "tight"}, "draft_kernels is 'tight'", "expected one of exact, posterior, upper"),
    (DDPM, {"eta": 2}, "eta is 2", "expected a number from 0 to 1"),
    (DDPM, {"end": 0.1}, "end is 0.1 without eta", "expected eta beside it"),
    (DDPM, {"eta": 0.5, "draft_kernels": "upper"}, "and 'upper' beside eta", "expected none"),
    (DDPM, {"end": "a", "eta": 0.5}, "end is 'a'", "expected a finite number >= 0"),
    (DDPM, {"gate": 0.5}, "gate is 0.5 without tilt", "expected tilt or draft_tilt beside it"),
    (DDPM, {"gate": [1, 2], "tilt": 0}, "gate has shape (2,)", "expected a number or [3]"),
    (DDPM, {"tilt": INF}, "tilt holds inf", "expected finite numbers"),
    (DDPM, {"draft_tilt": "a"}, "draft_tilt is 'a'", "expected real numbers"),
    (DDPM, {"tilt": 0.5, "correlation": 0.5}, "the chain is dense", "expected a diagonal one"),
    (DDPM, {"shift": NAN}, "shift holds nan", "expected finite numbers"),
    (DDPM, {"guidance": NAN}, "guidance is nan", "expected a finite number >= 0"),
    (DDPM, {"temperature": -1}, "temperature is -1", "expected a finite number >= 0"),
    (DDPM, {"noisy_end": "no"}, "noisy_end is 'no'", "expected True or False"),
    (DDPM, {"carry": [1, 2]}, "carry has shape (2,)", "expected a number or (3,), as the covariance has"),
    (DDPM, {"carry": np.eye(3)}, "carry has shape (3, 3)", "expected a number or (3,)"),
    (DDPM, {"carry": NAN}, "carry holds nan", "expected finite numbers"),
    (DDPM, {"first": [1, 2]}, "first has shape (2,)", "expected a number or [3]"),
    *[(partial(make_rule, name), {"aligned": "no"}, "aligned is 'no'", "expected True or False") for name in RULES],
    *[
        (ReferenceCode, {"sharpness": value}, f"sharpness is {value!r}", "expected a finite number >= 0")
        for value in (NAN, -1, "1", None, True)
    ],
    (Truncating, {"gamma": 0}, "gamma is 0", "expected a whole number >= 1"),
    (InPlace, {"gamma": 1, "prefill": -1}, "prefill is -1", "expected a whole number >= 0"),
    (InPlace, {"gamma": 1, "limit": 1.5}, "limit is 1.5", "expected a whole number >= 1"),
    (schedule, {"name": "linear", "spacing": 1}, "spacing is 1", "expected one of trailing, linspace"),
    *[
        (partial(form, np.ones(2)), {"abar": abar, **more}, named, expected)
        for form, more in ((ddpm, {}), (ddim, {"eta": 0.5}), (ddpm, {"variance": "upper"}))
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
    (ddpm, {"covariance": AROUND, "abar": ABAR, "exact_start": "no"}, "exact_start is 'no'", "expected True or False"),
    (learned_range, {"chain": FLAT, "abar": ABAR[:2]}, "abar has 2 numbers", "expected 3, one a step"),
    (learned_range, {"chain": FLAT, "abar": ABAR, "gate": NAN}, "gate holds nan", "expected finite numbers"),
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
            ({"start_drive": np.ones((2, 2))}, "start_drive has shape (2, 2)", "expected (2,)"),
            ({"offset": np.full((3, 2), INF)}, "offset holds inf", "expected finite numbers"),
            ({"noisy_end": "no"}, "noisy_end is 'no'", "expected True or False"),
            ({"learned": (1, 2)}, "learned is (1, 2)", "expected a LearnedRange"),
            ({"learned": np.ones((3, 3, 2))}, "learned is array([", "expected a LearnedRange"),
            ({"learned": RANGE._replace(gate=np.full((3, 2), NAN))}, "gate of learned holds nan", "expected finite"),
            ({"learned": RANGE._replace(tilt=None)}, "tilt of learned is None", "expected real numbers"),
            ({"learned": RANGE._replace(width=-np.ones((3, 2)))}, "width of learned holds -1.0", "from 0 to 700"),
            ({"learned": RANGE._replace(width=np.full((3, 2), 701.0))}, "width of learned holds 701.0", "0 to 700"),
            ({"learned": RANGE._replace(gate=np.ones(2))}, "a learned range needs", "shapes (3, 2)"),
        )
    ],
    *[
        (
            partial(Tokens, **{"build": lambda data: ddpm(data, ABAR), "covariance": AROUND, **change}),
            {},
            named,
            expected,
        )
        for change, named, expected in (
            ({"build": FLAT}, "build is Chain(", "expected a function from a covariance to a Chain"),
            ({"build": lambda data: data}, "build gives array([1., 1.])", "expected a Chain"),
            ({"build": lambda data: affine(2)}, "build gives a chain of 1 dimensions", "expected 2"),
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


PAIR = make_pair("affine", length=3)
RUNS: dict[str, Callable[..., Decoded]] = {
    "truncating": Truncating(2).run,
    "in place": InPlace(2).run,
    "truncating, compiled": partial(simulate, Truncating(2)),
    "in place, compiled": partial(simulate, InPlace(2)),
}
GOOD = {"target": PAIR.target, "draft": PAIR.draft, "rule": LastStep(), "tape": Tape(0, 2)}
BAD_RUNS = [
    ({"rule": LastStep}, "rule is <class", "expected a Rule, as make_rule gives"),
    ({"rule": "last-step"}, "rule is 'last-step'", "expected a Rule, as make_rule gives"),
    ({"target": PAIR.target.chain}, "the target is a Chain", "expected Tokens, as make_pair gives"),
    ({"draft": PAIR.draft.chain}, "the draft is a Chain", "expected Tokens, as make_pair gives"),
    ({"draft": replace(PAIR.draft, length=4)}, "the draft has length 4", "expected the target's 3"),
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
    ({"target": PAIR.target}, "the target is a Tokens", "expected a Mixture"),
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
    assert speculate(**good).kept.all()
    refused(lambda: speculate(**(good | change)), named, expected)


def test_what_looks_odd_and_is_fine() -> None:
    """Lists, whole numbers, and options beside what they belong to."""
    assert_equal = np.testing.assert_array_equal
    assert_equal(ddpm([1, 1], list(ABAR)).factor, ddpm(np.ones(2), ABAR).factor)
    assert_equal(DDPM(variance=[1, 1, 1]).target.covariance, np.ones(3))
    apart, one = DDPM(variance=[1, 4, 9], correlation=0.5), DDPM(variance=0.3, correlation=0.5)
    assert_equal(apart.target.covariance[0], [1, 1, 0.75])
    assert_equal(np.diag(one.target.covariance), np.full(3, 0.3))
    assert DDPM(gate=0.5, draft_tilt=0.0).target.chain.learned is None
    assert DDPM(end=0.1, eta=0.5).target.chain.factor[0, 0] == 0.1
    assert ReferenceCode().sharpness == 42**-2
    assert Truncating(1, limit=PROPOSALS).limit == 100
    assert isinstance(Marginal(aligned=False), Marginal)
    assert isinstance(replace(FLAT, learned=RANGE), Chain)
