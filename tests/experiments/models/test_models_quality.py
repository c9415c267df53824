"""What is said of samples: tests let the target's own pass and catch others, and distances are what they are called.

Everything runs on tiny untrained models, whose rows are far from flat. False alarms are below 1e-6 whatever the seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
import torch
from scipy.linalg import sqrtm
from scipy.stats import binom, hypergeom

from experiments.models.discrete.kind import Discrete
from experiments.models.discrete.methods import METHODS, Method, make_method
from experiments.models.distortion import contexts, distortion
from experiments.models.likelihood import Classified, Likelihood, likelihood
from experiments.models.locality import locality
from experiments.models.quality import (
    FALSE_ALARMS,
    Sample,
    cells,
    checks,
    frechet,
    in_cells,
    in_clusters,
    measures,
    rank_distance,
    stated,
)
from experiments.models.session import labels_for
from experiments.models.watched import Windows, watch
from simlab import mutants
from simlab.models.process.sampling import Sampling
from simlab.models.process.uncached import Uncached
from simlab.randomness import Purpose, Tape
from simlab.statistics import ProportionTest, TwoSampleG
from tests.support.fashion import SIDE, write_models
from theory.distances import tv

pytestmark = [pytest.mark.statistical, pytest.mark.slow]
DEFAULT_EVERY = 3

N, IMAGES = (SIDE // 2) ** 2, 300
PLAIN = Sampling()
LEVEL = FALSE_ALARMS / 4


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Discrete:
    folder = tmp_path_factory.mktemp("models")
    write_models(folder)
    return Discrete(folder)


@pytest.fixture(scope="module")
def reference(models: Discrete) -> Sample:
    return sample(models, made(models, "ar"), first=IMAGES)


def made(models: Discrete, name: str) -> Method:
    return make_method(name, models.codebook)


def sample(models: Discrete, method: Method, first: int = 0, sampling: Sampling = PLAIN) -> Sample:
    """Images as the target sees them; what the classifier says is left out, for it has learned nothing."""
    labels = labels_for(0, first + IMAGES)[first:]
    drawn = models.draw(method, labels, 0, sampling, IMAGES, first)
    nothing = Classified(np.random.default_rng(first).normal(size=(IMAGES, 3)), np.arange(IMAGES) % 2 == 0)
    return Sample(likelihood(models, labels, drawn.tokens, PLAIN, IMAGES), nothing)


# Tests against the target's law -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ar", "speculative", "eagle", "sjd", "sjd-pac"])
def test_a_lossless_method_is_not_told_apart(name: str, models: Discrete, reference: Sample) -> None:
    found = checks(sample(models, made(models, name)), reference, LEVEL, 0)
    assert [name for name, check in found.items() if not check["passes"]] == []
    assert found["ranks"]["detects"] < 0.1
    assert found["ranks"]["n"] == N * IMAGES


@pytest.mark.parametrize(
    ("name", "bug"),
    [
        ("speculative", "residual = p"),
        ("speculative", "residual not renormalised"),
        ("speculative", "ratio inverted"),
        ("sjd", "residual = p"),
        ("sjd", "residual = [q - p]+"),
    ],
)
def test_a_broken_rule_is(name: str, bug: str, models: Discrete, reference: Sample) -> None:
    broken = replace(made(models, name), rule=mutants.RULES[bug])
    assert not checks(sample(models, broken), reference, LEVEL, 0)["ranks"]["passes"]


def test_a_broken_loop_is(models: Discrete, reference: Sample) -> None:
    broken = replace(made(models, "sjd"), decoder=mutants.TailStale(window=8))
    assert not checks(sample(models, broken), reference, LEVEL, 0)["ranks"]["passes"]


def test_sharper_rows_are(models: Discrete, reference: Sample) -> None:
    sharper = sample(models, made(models, "ar"), sampling=Sampling(temperature=0.6))
    found = checks(sharper, reference, LEVEL, 0)
    assert not found["ranks"]["passes"]
    assert not found["likelihood"]["passes"]
    assert measures(sharper, reference, None)["bits_per_token"] < reference.bits.mean()


def test_other_pictures_are(reference: Sample) -> None:
    same = checks(reference, reference, LEVEL, 0)
    moved = Classified(reference.classes.features + 1.5, np.arange(IMAGES) % 8 == 0)
    found = checks(reference._replace(classes=moved), reference, LEVEL, 0)
    for name in ("features", "accuracy"):
        assert same[name]["passes"]
        assert not found[name]["passes"]


@pytest.mark.parametrize("cut", [in_cells, in_clusters])
def test_cells_of_both_samples_leave_the_level_as_it_is(cut: Callable[..., Any]) -> None:
    rng, level, times = np.random.default_rng(0), 0.1, 150
    shape = (150,) if cut is in_cells else (150, 2)
    alarms = sum(TwoSampleG(cells(150)).p_value(*cut(*rng.normal(size=(2, *shape)))) <= level for _ in range(times))
    assert ProportionTest(level).p_value(alarms, times) > FALSE_ALARMS


def test_what_is_surely_seen_is_seen() -> None:
    """The TV that is stated is detected: ranks off by that much, and none by as little as nothing."""
    rng, tokens = np.random.default_rng(0), 20_000
    flat = Likelihood(np.ones((200, 100)), np.zeros((200, 100)), np.ones((200, 100)))
    blank = Classified(rng.normal(size=(200, 2)), np.arange(200) % 2 == 0)
    even = checks(Sample(flat, blank), Sample(flat, blank), LEVEL, 0)["ranks"]
    assert even["passes"]
    assert even["n"] == tokens
    # a share of the tokens twice the TV is drawn from half of the ranks
    half = rng.random((200, 100)) < 2 * even["detects"]
    lower = flat._replace(mass=np.where(half, 0.5, 1.0))
    assert not checks(Sample(lower, blank), Sample(flat, blank), LEVEL, 0)["ranks"]["passes"]


# What the default of simlab compare is worth: 512 images of 196 tokens, four tests of every lossless method
CHECKED = sum(make_method(name, np.zeros((256, 1))).lossless for name in METHODS)
SHIPPED = 512, 512 * 196, FALSE_ALARMS / (4 * CHECKED)


def test_what_512_images_detect() -> None:
    found = {name: (round(says.detectable, 3), cells) for name, (says, cells) in stated(*SHIPPED).items()}
    assert found == {
        "ranks": (0.017, 16),
        "likelihood": (0.33, 16),
        "features": (0.33, 16),
        "accuracy": (0.275, 2),
    }
    few = {name: says.detectable for name, (says, _) in stated(100, 100 * 196, SHIPPED[2]).items()}
    assert min(few[name] for name in ("likelihood", "features", "accuracy")) > 0.6  # what 100 images were worth


@pytest.mark.parametrize(("share", "held"), [(1.0, True), (0.75, False)])
def test_two_cells_have_the_power_that_is_stated(share: float, held: bool) -> None:
    """Computed for all pairs of rates so far apart: every pair of counts, by its probability."""
    n, _, level = SHIPPED
    apart = share * stated(*SHIPPED)["accuracy"][0].detectable
    counts = np.arange(n + 1)
    first, together = np.broadcast_to(counts[:, None], (n + 1, n + 1)), counts[:, None] + counts
    tails = hypergeom.cdf(first, 2 * n, together, n), hypergeom.sf(first - 1, 2 * n, together, n)
    alarm = 2 * np.minimum(*tails) <= level
    assert alarm[300, 100] == (TwoSampleG(2).p_value([300, n - 300], [100, n - 100]) <= level)
    powers = [
        binom.pmf(counts, n, rate) @ alarm @ binom.pmf(counts, n, rate + apart)
        for rate in np.linspace(0, 1 - apart, 50)
    ]
    assert (min(powers) >= 0.999) == held


def test_an_impossible_token_has_no_bits(models: Discrete, reference: Sample) -> None:
    labels = labels_for(0, 20)
    drawn = models.draw(made(models, "ar"), labels, 0, PLAIN, 20)
    found = likelihood(models, labels, drawn.tokens, Sampling(top_k=3), 20)
    told = measures(Sample(found, Classified(*(part[:20] for part in reference.classes))), reference, None)
    assert told["bits_per_token"] is None
    assert told["impossible_tokens"] == np.isinf(found.bits).sum() > 0


def test_likelihoods_are_those_of_the_rows(models: Discrete) -> None:
    labels, tokens = np.array([3, 7]), np.random.default_rng(0).integers(80, size=(2, N))
    found = likelihood(models, labels, tokens, Sampling(guidance=2.0, top_p=0.95), 1)
    process = Uncached(models.target, torch.from_numpy(labels), Sampling(guidance=2.0, top_p=0.95))
    rows = process.forward(torch.from_numpy(tokens), torch.zeros(2, dtype=torch.int64), N).double().numpy()
    for image in range(2):
        for place in range(N):
            row, own = rows[image, place], tokens[image, place]
            order = np.lexsort((np.arange(len(row)), -row))
            before = row[order[: list(order).index(own)]].sum()
            assert found.above[image, place] == pytest.approx(before, abs=1e-6)
            assert found.mass[image, place] == pytest.approx(row[own], rel=1e-4, abs=1e-9)


# Frechet distance -------------------------------------------------------------------------------------------------


def test_the_frechet_distance_is_the_formula() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(200, 5)), rng.normal(1.0, 2.0, size=(300, 5)) @ rng.normal(size=(5, 5))
    first, second = np.cov(one, rowvar=False), np.cov(other, rowvar=False)
    root = np.real(sqrtm(first @ second))
    wanted = ((one.mean(0) - other.mean(0)) ** 2).sum() + np.trace(first + second - 2 * root)
    assert frechet(one, other) == pytest.approx(wanted, rel=1e-9)
    assert frechet(other, one) == pytest.approx(wanted, rel=1e-9)
    assert frechet(one, one) == pytest.approx(0, abs=1e-9)
    assert frechet(one, one + 3.0) == pytest.approx(45)


def test_the_frechet_distance_of_fewer_points_than_coordinates_is_a_number() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(2, 6, 20))
    assert np.isfinite(frechet(one, other))
    assert frechet(one, other) >= 0


# Distortion -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["speculative", "eagle", "sjd", "sjd-ac"])
def test_a_lossless_rule_distorts_nothing(name: str, models: Discrete) -> None:
    found = distortion(contexts(models, made(models, name), labels_for(0, 20), 0, PLAIN))
    assert found is not None
    assert found["tv"] == pytest.approx(0, abs=1e-6)
    assert found["acceptance"] == pytest.approx(found["acceptance_lossless"], abs=1e-6)


def test_drafts_that_cannot_be_accepted_count_too(models: Discrete) -> None:
    """Of rows of two tokens each, some have none in common."""
    visited = contexts(models, made(models, "speculative"), labels_for(0, 20), 0, Sampling(top_k=2))
    rates, found = visited[..., 2][np.isfinite(visited[..., 2])], distortion(visited)
    assert found is not None
    assert 0 < (rates == 0).mean() < 1
    assert found["acceptance"] == pytest.approx(rates.mean())


@pytest.mark.parametrize("name", ["gsd", "lantern"])
def test_a_lossy_rule_does(name: str, models: Discrete) -> None:
    visited = contexts(models, made(models, name), labels_for(0, 20), 0, PLAIN)
    later = contexts(models, made(models, name), labels_for(0, 20)[15:], 0, PLAIN, first=15)
    np.testing.assert_allclose(later, visited[15:], atol=1e-3)  # an image is its number's, whatever is drawn beside it
    found = distortion(visited)
    assert found is not None
    assert found["tv"] > 0.01
    assert found["wasserstein"] > 0
    assert found["acceptance"] - found["acceptance_lossless"] <= found["tv"] * 1.5


def test_a_tree_is_not_measured(models: Discrete) -> None:
    assert distortion(contexts(models, made(models, "sjd-pac+grouped"), labels_for(0, 2), 0, PLAIN)) is None


@pytest.mark.parametrize(("name", "shift", "same"), [("gsd", 0, True), ("lantern", 0, True), ("gsd", 1, False)])
def test_the_contexts_are_those_that_are_visited(name: str, shift: int, same: bool, models: Discrete) -> None:
    """The rows of a committed token are the target's after the tokens before it; those one place off are not."""
    labels, method = labels_for(0, 6), made(models, name)
    met: list[tuple[int, int, torch.Tensor]] = []

    def look(seen: Windows) -> None:
        for b, (image, start) in enumerate(zip(seen.sequences.tolist(), seen.start.tolist(), strict=True)):
            count = min(int(seen.committed[b]), seen.q.shape[1])
            met.extend((image, start + k, seen.p[b, k]) for k in range(count))

    watch(models, method, labels, PLAIN, Tape(0, 6), look)
    tokens = torch.from_numpy(models.draw(method, labels, 0, PLAIN, 6).tokens)
    plain = Uncached(models.target, torch.from_numpy(labels), PLAIN)
    rows = plain.forward(tokens, tokens[:, 0] * 0, N)
    off = [float((row - rows[image, min(place + shift, N - 1)]).abs().max()) for image, place, row in met]
    assert len(off) > N
    assert (max(off) < 1e-5) == same


# Locality ---------------------------------------------------------------------------------------------------------


def test_locality_is_what_the_claim_says(models: Discrete) -> None:
    """Against a token replaced by hand, whose row is looked up with nothing before it but what is given."""
    labels = labels_for(0, 4)
    tokens = models.draw(made(models, "ar"), labels, 0, PLAIN, 4).tokens
    found = locality(models, labels, tokens, 5, PLAIN)
    assert found.offsets.tolist() == list(range(1, 3 * (SIDE // 2) + 1))
    offsets = len(found.offsets)
    seen = np.zeros((4, offsets))
    places = range(N - offsets)
    for image in range(4):
        process = Uncached(models.target, torch.tensor([labels[image]]), PLAIN)
        for place in places:
            own = torch.from_numpy(tokens[image][None])
            row = process.forward(own, torch.tensor([place]), 1)[0, 0].double().numpy()
            left = np.where(np.arange(len(row)) == tokens[image, place], 0.0, row)
            drawn = Tape(5, [image], N + 1).draw((left / left.sum())[None, None], np.array([place]), Purpose.DRAFT)
            other = own.clone()
            other[0, place] = int(drawn[0, 0])
            assert int(drawn[0, 0]) != tokens[image, place]
            for j in range(1, offsets + 1):
                two = [process.forward(s, torch.tensor([place + j]), 1)[0, 0].double().numpy() for s in (own, other)]
                seen[image, j - 1] += tv(*(r / r.sum() for r in two)) / len(places)
    assert found.tv == pytest.approx(seen.mean(axis=0), abs=1e-5)
    assert found.error == pytest.approx(seen.std(axis=0, ddof=1) / 2, abs=1e-5)
    assert (found.tv > 0.001).all()


def test_ranks_that_are_not_uniform_are_as_far_as_they_are() -> None:
    """Tokens that are always among the likelier half of the mass are 1/2 away; errors are of means of images."""
    above, mass = np.zeros((200, 30)), np.full((200, 30), 0.5)
    half = rank_distance(Likelihood(mass, above, mass), seed=0)
    assert half["at_least"] == 0.5
    assert half["error"] == 0
    whole = rank_distance(Likelihood(mass, above, 2 * mass), seed=0)
    assert whole["at_least"] < 6 * whole["error"]
    assert 0 < whole["error"] < 2 * 0.5 / np.sqrt(above.size)
