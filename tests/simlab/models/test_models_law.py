"""What decoders make of a trained transformer, by the engine and in float32, follows its exact law.

A small transformer is trained on two tables, so that its rows are neither flat nor certain; the law of its sequences
is the product of its rows, of every sequence there is. Each decoder draws ``SEQUENCES`` of them with the cache, and the
G-test compares them with that law; all p-values together keep a false-alarm rate of 1e-6. The smallest TV it detects
with power 0.999 is stated and bounded, and wrong engines are seen to fail.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from statsmodels.stats.multitest import multipletests
from torch import Tensor
from torch.nn import functional

from simlab import mutants
from simlab.arrays import at
from simlab.decoders import make_decoder, run
from simlab.models.architectures.transformer import Config, Transformer
from simlab.models.process.cached import Cached, Fed
from simlab.models.process.sampling import Sampling
from simlab.models.process.uncached import Uncached
from simlab.randomness import Tape
from simlab.rules import Rule, Speculative
from simlab.statistics import GTest, tally
from tests.support.cases import tree
from tests.support.dense import DenseProcess
from theory.example_processes import random_process

pytestmark = pytest.mark.statistical
DEFAULT_EVERY = 3

V, N, SHAPE = 3, 4, (2, 2)
SEQUENCES, SEED = 20_000, 1
FALSE_ALARMS = 1e-6
SMALLEST_TV = 0.052  # what must be detected with power 0.999
SAMPLING = Sampling(guidance=1.5, temperature=0.9)

DECODERS: list[tuple[str, dict[str, Any]]] = [
    ("autoregressive", {}),
    ("speculative", {"gamma": 2}),
    ("sjd", {"window": 3}),
    ("sjd-ac", {"window": 3}),
    ("sjd-pac", tree(3, 2, 2)),
]


@cache
def trained(layers: int, seed: int) -> Transformer:
    """A transformer that has seen sequences of two tables, one a class."""
    model = Transformer(Config(layers, 16, 2, V, SHAPE, classes=2, multiple=8))
    model.initialise(torch.Generator().manual_seed(seed))
    tables = [DenseProcess(random_process(table, V, N, SHAPE, zeros=0)) for table in (7, 8)]
    drawn = [run(make_decoder("autoregressive"), t, Speculative(), Tape(seed, 512)).tokens for t in tables]
    tokens = torch.from_numpy(np.concatenate(drawn))
    labels = torch.arange(2).repeat_interleave(512)
    optimiser = torch.optim.Adam(model.parameters(), 3e-3)
    for _ in range(60):
        logits = model(labels, tokens[:, :-1])
        optimiser.zero_grad()
        functional.cross_entropy(logits.flatten(0, 1), tokens.flatten()).backward()
        optimiser.step()
    return model.eval().requires_grad_(False)


@cache
def law() -> dict[tuple[int, ...], float]:
    """The law of the sequences of class 1, from all rows of all of them."""
    every = torch.tensor(list(product(range(V), repeat=N)))
    process = Uncached(trained(2, 3), torch.ones(len(every), dtype=torch.int64), SAMPLING)
    rows = process.forward(every, every[:, 0] * 0, N).double().numpy()
    masses = at(rows, every.numpy()).prod(axis=1)
    return dict(zip(map(tuple, every.tolist()), (masses / masses.sum()).tolist(), strict=True))


def drawn(name: str, parameters: dict[str, Any], rule: Rule, engine: type[Cached] = Cached) -> dict[Any, int]:
    decoder, given = make_decoder(name, **parameters), torch.ones(SEQUENCES, dtype=torch.int64)
    draft = Cached(trained(1, 4), given, SAMPLING, lag=1) if decoder.needs_draft else None
    found = run(decoder, engine(trained(2, 3), given, SAMPLING), rule, Tape(SEED, SEQUENCES), draft)
    return dict(tally(found.tokens.numpy()))


@pytest.mark.slow
def test_the_model_is_worth_it() -> None:
    masses = np.array(list(law().values()))
    assert len(masses) == V**N
    assert masses.max() > 5 * np.median(masses)
    assert masses.min() > 1e-6


@pytest.mark.slow
def test_every_decoder_follows_the_law() -> None:
    test, level = GTest(law()), FALSE_ALARMS / len(DECODERS)
    stated = test.stated(SEQUENCES, level)
    print(stated)
    assert stated.detectable < SMALLEST_TV
    p_values = {name: test.p_value(drawn(name, parameters, Speculative())) for name, parameters in DECODERS}
    assert not multipletests(list(p_values.values()), FALSE_ALARMS, "holm")[0].any()


class NoOwnEntry(Cached):
    """A token does not see itself."""

    def _chain(self, tokens: Tensor, start: Tensor, count: int) -> Fed:
        fed = super()._chain(tokens, start, count)
        return fed._replace(limit=(fed.limit - 1).clamp(min=0))


class FreeFirst(Cached):
    """What is seen with the condition and without it changes places."""

    def _see(self, *fed: Any) -> Tensor:
        return super()._see(*fed).unflatten(0, (-1, 2)).flip(1).flatten(0, 1)


@pytest.mark.parametrize(
    ("rule", "engine"),
    [(mutants.ResidualIsTarget(), Cached), (Speculative(), NoOwnEntry), (Speculative(), FreeFirst)],
)
def test_a_wrong_engine_or_rule_does_not(rule: Rule, engine: type[Cached]) -> None:
    test = GTest(law())
    assert test.p_value(drawn("sjd", {"window": 3}, rule, engine)) < FALSE_ALARMS / len(DECODERS)
