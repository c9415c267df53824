"""MAR's transformer against the same formulas in NumPy, one image at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from simlab.continuous.networks.mar.trunk import Mar, MarConfig
from tests.support.mar import SMALL, PlainMar, as_tensors, drawn, mar_shapes

pytestmark = pytest.mark.parity
CONFIG = MarConfig(
    (SMALL.side, SMALL.side),
    SMALL.token_dim,
    SMALL.dim,
    SMALL.heads,
    SMALL.depth,
    SMALL.depth,
    SMALL.width,
    SMALL.layers,
    SMALL.buffer,
    SMALL.classes,
)


def loaded(seed: int = 4) -> tuple[Mar, PlainMar]:
    weights = drawn(mar_shapes(), seed)
    model = Mar(CONFIG).double()
    model.load_state_dict(as_tensors(weights))  # the official names, all of them and no others
    return model.requires_grad_(False), PlainMar(weights)


def test_conditions_of_prefixes_in_any_order() -> None:
    model, plain = loaded()
    random = np.random.default_rng(0)
    known = np.array([0, 1, 7, 15])
    order = np.stack([random.permutation(SMALL.length) for _ in known])
    tokens = random.normal(size=(len(known), SMALL.length, SMALL.token_dim))
    classes = np.array([0, 4, SMALL.classes, 2])
    longest = known.max()
    found = model(
        torch.from_numpy(classes),
        torch.from_numpy(tokens[:, :longest]),
        torch.from_numpy(order[:, :longest]),
        torch.from_numpy(known),
    ).numpy()
    for row, count in enumerate(known):
        placed, masked = np.zeros((SMALL.length, SMALL.token_dim)), np.ones(SMALL.length, bool)
        placed[order[row, :count]], masked[order[row, :count]] = tokens[row, :count], False
        label = None if classes[row] == SMALL.classes else int(classes[row])
        expected = plain.trunk(placed, masked, label)
        assert np.abs(expected).max() > 0.5
        np.testing.assert_allclose(found[row], expected, rtol=1e-9, atol=1e-9)


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


@pytest.mark.parametrize(
    ("changed", "said"),
    [({"dim": 25}, "dim is 25 and heads 3"), ({"buffer": 0}, "buffer is 0"), ({"shape": (4, 0)}, "side")],
)
def test_sizes_that_cannot_be(changed: dict, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        MarConfig(**{**vars(CONFIG), **changed})
