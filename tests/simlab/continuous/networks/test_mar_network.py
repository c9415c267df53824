"""A MAR as decoders drive it: kernels of prefixes in any order, against the same formulas in NumPy, and samplers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from simlab.continuous import InPlace, Truncating, ddim, ddpm, make_rule
from simlab.continuous.models.diffusion import forward_steps, schedule
from simlab.continuous.models.trajectories import Trajectory, sampled
from simlab.continuous.networks.adapter import NetworkKernels, NetworkTokens
from simlab.continuous.networks.fashion import orders
from simlab.continuous.networks.mar.head import Head
from simlab.continuous.networks.mar.kernel import kernel
from simlab.continuous.networks.mar.network import MarNetwork
from simlab.continuous.networks.mar.network import ddim as ddim_kernel
from simlab.continuous.networks.mar.trunk import Mar, MarConfig
from simlab.continuous.networks.sampler import Sampler
from simlab.continuous.rules.last_noise import walked_back
from simlab.randomness import Tape
from tests.support.mar import SMALL, PlainMar, Schedule, as_tensors, drawn, mar_shapes
from tests.support.refusals import refused, refuses

pytestmark = pytest.mark.parity
STEPS = 10
SLOW = ("variance-product", "path")
CLASSES = np.array([0, 3, SMALL.classes, 1])
ORDER = orders("random", np.arange(4), SMALL.length, seed=5)
CONFIG = MarConfig(
    *((SMALL.side, SMALL.side), SMALL.token_dim, SMALL.dim, SMALL.heads, SMALL.depth, SMALL.depth),
    *(SMALL.width, SMALL.layers, SMALL.buffer, SMALL.classes),
)


def loaded(seed: int = 4) -> tuple[Mar, PlainMar]:
    weights = drawn(mar_shapes(), seed)
    model = Mar(CONFIG).double()
    model.load_state_dict(as_tensors(weights))  # the official names, all of them and no others
    return model.requires_grad_(False), PlainMar(weights)


def tokens_of(sampler: Sampler, seed: int = 4) -> NetworkTokens:
    return NetworkTokens(MarNetwork(loaded(seed)[0], CLASSES, ORDER, sampler))


@pytest.mark.parametrize(("steps", "guidance"), [(2, 1.0), (10, 2.5), (1000, 2.5)])
def test_kernels_of_prefixes(steps: int, guidance: float) -> None:
    """At both ends of the schedule and between, from no token known to all but one."""
    made = tokens_of(Sampler(steps, 1000, guidance=guidance, temperature=0.8))
    (_, plain), spaced = loaded(), Schedule(steps)
    random = np.random.default_rng(2)
    tokens = random.normal(size=(4, SMALL.length + 3, SMALL.token_dim))
    rows, position = np.array([0, 0, 1, 2, 3, 3]), np.array([0, 4, 9, 3, 15, 18])  # the last of them behind the end
    x = random.normal(size=(6, SMALL.token_dim))
    conditions = made.conditions(tokens, rows, position)
    found = {t: made.chain.kernel(t, x, conditions) for t in {1, 2, steps // 2, steps}}
    for i, (row, place) in enumerate(zip(rows, np.minimum(position, SMALL.length - 1), strict=True)):
        placed, masked = np.zeros((SMALL.length, SMALL.token_dim)), np.ones(SMALL.length, bool)
        placed[ORDER[row, :place]], masked[ORDER[row, :place]] = tokens[row, :place], False
        label = None if CLASSES[row] == SMALL.classes else int(CLASSES[row])
        z, other = (plain.trunk(placed, masked, given)[ORDER[row, place]] for given in (label, None))
        # MAR's schedule, a token an iteration: how many are left sets the scale
        left = max(1, SMALL.length - place - 1)
        scale = 1 + (guidance - 1) * (SMALL.length - left) / SMALL.length
        for t, law in found.items():
            mean, sd = plain.step(x[i], t - 1, z, other, scale, spaced)
            np.testing.assert_allclose(law.mean[i], mean, rtol=1e-8, atol=1e-8)
            np.testing.assert_allclose(law.root[i], 0.8 * sd, rtol=1e-8, atol=1e-12)


def test_as_many_known_in_all_rows_need_no_counts() -> None:
    model, _ = loaded()
    random = np.random.default_rng(1)
    places = torch.from_numpy(np.stack([random.permutation(SMALL.length)[:5] for _ in range(3)]))
    tokens = torch.from_numpy(random.normal(size=(3, 5, SMALL.token_dim)))
    classes = torch.tensor([1, 2, 3])
    counted = model(classes, tokens, places, torch.full((3,), 5))
    torch.testing.assert_close(model(classes, tokens, places), counted, rtol=1e-12, atol=1e-12)
    other = model(classes, tokens + torch.eye(5, SMALL.token_dim, dtype=torch.float64), places, torch.zeros(3).long())
    none = model(classes, tokens[:, :0], places[:, :0])
    torch.testing.assert_close(other, none, rtol=1e-12, atol=1e-12)  # what is not counted is not seen


def test_conditions_of_some_places() -> None:
    model, _ = loaded()
    places, asked = torch.tensor([[3, 0], [7, 15]]), torch.tensor([[5, 5, 1], [0, 14, 2]])
    tokens = torch.from_numpy(np.random.default_rng(2).normal(size=(2, 2, SMALL.token_dim)))
    whole = model(torch.tensor([1, 2]), tokens, places)
    some = model(torch.tensor([1, 2]), tokens, places, asked=asked)
    torch.testing.assert_close(some, whole[torch.arange(2)[:, None], asked], rtol=1e-12, atol=1e-12)


def test_initial_weights_predict_nothing() -> None:
    model = Mar(CONFIG)
    model.initialise(torch.Generator().manual_seed(0))
    made = model.head(torch.ones(2, SMALL.token_dim), torch.tensor([0, 5]), torch.ones(2, SMALL.dim))
    assert (made == 0).all()
    assert all(weights.isfinite().all() for weights in model.parameters())
    assert float(model.decoder_norm.weight.detach().mean()) == 1


def test_tokens_ahead_are_asked_of_one_prefix() -> None:
    made = tokens_of(Sampler(STEPS))
    tokens = np.random.default_rng(3).normal(size=(4, SMALL.length, SMALL.token_dim))
    rows, position = np.arange(4), np.array([2, 2, 5, 0])
    ahead = made.conditions_ahead(tokens, rows, position, 3)
    torch.testing.assert_close(ahead[0], made.conditions(tokens, rows, position))  # another batch rounds otherwise
    changed = tokens.copy()
    for row, place in enumerate(position):
        changed[row, place:] += 1  # tokens of the block are not seen
    for one, other in zip(ahead, made.conditions_ahead(changed, rows, position, 3), strict=True):
        torch.testing.assert_close(one, other)
    assert not torch.allclose(ahead[1], made.conditions(tokens, rows, position + 1))


@pytest.mark.parametrize("rule", ["last-step", *(pytest.param(r, marks=pytest.mark.slow) for r in SLOW)])
def test_a_pair_of_networks(rule: str) -> None:
    sampler = Sampler(3, noisy_end=True, variances="upper", spacing="trailing")
    target, draft = tokens_of(sampler), tokens_of(sampler, seed=9)
    for decoder in (Truncating(3, prefill=2, limit=20), InPlace(4, limit=20)):
        found = decoder.run(target, draft, make_rule(rule), Tape(7, 4))
        assert found.tokens.shape == (4, SMALL.length, SMALL.token_dim)
        assert found.calls.max() <= SMALL.length
    alike = Truncating(3).run(target, target, make_rule(rule), Tape(7, 4))
    assert alike.acceptance > 0.99  # but for rounding, which differs with the number of rows
    assert (alike.calls == -(-SMALL.length // 4)).all()


def test_ddim_is_refused_by_name_where_it_has_no_density() -> None:
    def run(rule: str, **changed: Any) -> None:
        model = tokens_of(Sampler(STEPS, **{"variances": "ddim", "noisy_end": True, **changed}))
        Truncating(2).run(model, model, make_rule(rule), Tape(0, 4))

    refused(lambda: run("last-step"), "kernel 1 of 10", "eta = 0")
    refused(lambda: run("path", eta=0.5), "kernel 1 of 10", "eta = 0.5")  # noiseless whatever eta is
    refused(lambda: run("last-step", variances="learned", temperature=0), "temperature 0")
    refused(lambda: run("last-step", variances="learned", noisy_end=False), "last step", "noise")


@pytest.mark.parametrize("kind", ["posterior", "upper", 0.0, 0.6])
def test_kernels_are_those_of_affine_chains(kind: str | float) -> None:
    """With fixed variances, and DDIM's with eta. For data N(c, C) the noise that is predicted best is known: with it
    the kernel is the affine chain's."""
    abar, variance = schedule("cosine", 1000)[::100], 0.7
    if isinstance(kind, str):
        chain, of_noise = ddpm(1, abar, variance, kernels=kind).chain, kernel
    else:
        chain, of_noise = ddim(1, abar, kind, variance=variance).chain, ddim_kernel
    x, c = np.array([[0.4], [-1.3]]), np.array([[0.2], [0.5]])
    for t in (1, 4, 10):
        a = abar[t - 1]
        clean = c + np.sqrt(a) * variance / (a * variance + 1 - a) * (x - np.sqrt(a) * c)
        noise = (x - np.sqrt(a) * clean) / np.sqrt(1 - a)
        found = of_noise(torch.from_numpy(noise), torch.from_numpy(x), forward_steps(abar), t, kind)
        np.testing.assert_allclose(found.mean.numpy(), chain.mean(t, x, c), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found.sd.numpy()[0], chain.factor[t - 1], rtol=1e-9, atol=1e-12)


def test_predictions_of_another_shape_are_refused() -> None:
    forward, x = forward_steps(schedule("cosine", 1000, 4, "linspace")), torch.zeros(2, 3)
    refused(lambda: kernel(torch.zeros(2, 3), x, forward, 1), "predicted", "(2, 3)", "6 numbers")
    refused(lambda: kernel(torch.zeros(2, 6), x, forward, 1, "upper"), "(2, 6)", "3 numbers", "upper")
    refused(lambda: Head(4, 4, 4, 0), "depth is 0")


def test_a_trajectory_is_walked_back_with_a_jacobian_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its maker finds the states that it came through at once, and another model near them."""
    sampler = Sampler(3, variances="ddim", spacing="trailing", span=900)
    maker, other = tokens_of(sampler), tokens_of(sampler, seed=9)
    tokens, rows = np.zeros((4, SMALL.length, SMALL.token_dim)), np.arange(4)
    noise = np.random.default_rng(1).normal(size=(4, 4, SMALL.token_dim))

    def drawn(model: NetworkTokens) -> Trajectory:
        return sampled(model.chain, model.conditions(tokens, rows, rows * 0), noise.__getitem__)

    made, steps = drawn(maker), []
    linear = NetworkKernels._linear

    def counted(self: NetworkKernels, t: int, *given: Any) -> Any:
        steps.append(t)
        return linear(self, t, *given)

    monkeypatch.setattr(NetworkKernels, "_linear", counted)
    state, volumes = walked_back(made, made.states)
    np.testing.assert_allclose(state, made.states[-1], rtol=1e-4, atol=1e-4)
    assert steps == [1, 2, 3]

    found, volumes_of_other = walked_back(drawn(other), made.states)
    for t in (3, 2, 1):
        found = other.chain.kernel(t, found, drawn(other).condition).mean
    np.testing.assert_allclose(found, made.states[0], rtol=1e-3, atol=1e-3)
    assert not np.allclose(volumes, volumes_of_other)


def test_orders() -> None:
    one, other = orders("random", np.arange(5), 9, seed=2), orders("random", np.array([3, 4]), 9, seed=2)
    assert (one[3:] == other).all()
    assert (np.sort(one, axis=1) == np.arange(9)).all()
    assert not (one == orders("random", np.arange(5), 9, seed=3)).all()
    assert (orders("raster", np.arange(2), 4) == [[0, 1, 2, 3]] * 2).all()


def network(classes: Any = (0, 1), order: np.ndarray = ORDER[:2]) -> MarNetwork:
    return MarNetwork(loaded()[0], np.array(classes), order, Sampler())


def sizes(**changed: Any) -> MarConfig:
    return MarConfig(**{**vars(CONFIG), **changed})


@pytest.mark.parametrize(
    ("make", "key", "value"),
    [
        (network, "classes", np.array([0, 9])),
        (network, "classes", np.array([0.5, 1.0])),
        (network, "order", ORDER),
        (network, "order", ORDER[:2] * 0),
        (sizes, "dim", 25),
        (sizes, "buffer", 0),
        (sizes, "shape", (4, 0)),
    ],
)
def test_what_cannot_be_is_refused(make: Any, key: str, value: Any) -> None:
    refuses(make, key, value)
