"""Networks under the decoders of affine chains: an affine map in torch makes the tokens of the affine pair."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor

from experiments.models.operations import Operations
from simlab.continuous import InPlace, Pair, Tokens, Truncating, ddpm, make_rule, schedule
from simlab.continuous.decoders import Decoded
from simlab.continuous.models.diffusion import learned_range, noiseless_end, tempered
from simlab.continuous.networks.adapter import NetworkTokens
from simlab.continuous.rules import Rule
from simlab.randomness import Tape
from tests.support.refusals import refused

pytestmark = pytest.mark.parity
ABAR, SIZE, LENGTH = schedule("cosine", steps=6), 3, 7
COUNT = 24


class AffineNetwork:
    """The kernels of a diagonal chain with a learned range, and conditions that follow the token before, in torch."""

    device = torch.device("cpu")
    dimension, length = SIZE, LENGTH

    def __init__(self, tokens: Tokens, off: float = 0.0) -> None:
        chain = tokens.chain
        self.steps, self.noisy_end, self.tokens, self.off = chain.steps, chain.noisy_end, tokens, off
        assert chain.learned is not None
        names = ("slope", "condition_gain", "offset", "factor")
        self.parts = {name: torch.from_numpy(getattr(chain, name)) for name in names}
        self.range = tuple(map(torch.from_numpy, chain.learned))

    def conditions(self, tokens: Tensor, rows: Tensor, known: Tensor, position: Tensor) -> Tensor:
        level, phi, first = (torch.from_numpy(getattr(self.tokens, n)) for n in ("level", "ar_coefficient", "first"))
        before = first.expand(len(rows), -1)
        if tokens.shape[1]:
            last = tokens[torch.arange(len(rows)), (known - 1).clamp(min=0)]
            before = torch.where((known > 0)[:, None], last, before)
        return level + phi * before

    def kernel(self, t: int, x: Tensor, conditions: Tensor) -> tuple[Tensor, Tensor]:
        slope, gain, offset, factor = (part[t - 1] for part in self.parts.values())
        width, along, bias = (part[t - 1] for part in self.range)
        share = torch.sigmoid(along * x + bias)
        return slope * x + (gain * conditions + offset) + self.off, factor * torch.exp(width * share)

    def adds_noise(self, t: int) -> bool:
        return self.tokens.chain.adds_noise(t)

    def check_density(self, first: int, last: int) -> None:
        self.tokens.chain.check_density(first, last)


def affine_pair(ar_coefficient: float, noisy: bool = True) -> Pair[Tokens]:
    """Two diffusion models with learned ranges, alike enough that drafts are accepted and rejected."""

    def model(variance: float, level: float, bias: float) -> Tokens:
        made = ddpm(SIZE, ABAR, variance, length=LENGTH, ar_coefficient=ar_coefficient, level=level, first=0.5)
        made = made.modified(partial(learned_range, abar=ABAR, slope=0.3, bias=bias))
        made = made.modified(partial(tempered, temperature=0.9))
        return made if noisy else made.modified(noiseless_end)

    return Pair(model(0.6, 0.05, -0.2), model(0.5, 0.0, 0.1))


def as_networks(pair: Pair[Tokens], off: float = 0.0) -> Pair[NetworkTokens]:
    return Pair(NetworkTokens(AffineNetwork(pair.target, off)), NetworkTokens(AffineNetwork(pair.draft)))


def same(one: Decoded, other: Decoded) -> None:
    for name in ("outcome", "trials", "calls"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_allclose(one.tokens, other.tokens, rtol=1e-11, atol=1e-11)


RULES = [
    make_rule("last-step"),
    make_rule("last-step", aligned=False),
    make_rule("variance-product"),
    make_rule("two-path"),
    make_rule("path"),
]


# with the coefficient of the tokens, whether the last step adds noise, and a seed
CASES: list[tuple[Rule, Truncating | InPlace, float, bool, int]] = [
    *((rule, Truncating(3, prefill=1, limit=200), 0.7, True, 11) for rule in RULES),
    *((rule, InPlace(3, prefill=2, limit=200), 0.0, True, 12) for rule in RULES[:3]),
    # also the means that are walked back, which a network does by Newton's method
    *((make_rule(name), Truncating(3, prefill=1, limit=200), 0.7, False, 14) for name in ("last-noise", "target-end")),
    (make_rule("cspd-reference"), Truncating(2, limit=100), 0.7, False, 13),
]


@pytest.mark.parametrize(
    ("rule", "decoder", "ar_coefficient", "noisy", "seed"),
    CASES,
    ids=[f"{type(decoder).__name__}-{rule.name}{'' if rule.aligned else '-apart'}" for rule, decoder, *_ in CASES],
)
def test_tokens_and_decisions_of_an_affine_map(
    rule: Rule, decoder: Truncating | InPlace, ar_coefficient: float, noisy: bool, seed: int
) -> None:
    pair, tape = affine_pair(ar_coefficient, noisy), Tape(seed, COUNT)
    affine = decoder.run(pair.target, pair.draft, rule, tape)
    assert 0 < affine.acceptance < 1
    same(decoder.run(*as_networks(pair), rule, tape), affine)


def test_another_map_makes_other_tokens() -> None:
    pair, tape = affine_pair(0.7), Tape(11, COUNT)
    affine = Truncating(3).run(pair.target, pair.draft, RULES[0], tape)
    with pytest.raises(AssertionError):
        same(Truncating(3).run(*as_networks(pair, off=1e-3), RULES[0], tape), affine)


def test_what_has_no_closed_form_or_no_density_is_refused() -> None:
    target, draft = as_networks(affine_pair(0.7))
    other = ddpm(SIZE, ABAR, correlation=0.3, length=LENGTH)
    refused(lambda: Truncating(2).run(target, draft, make_rule("marginal"), Tape(0, 2)))
    refused(lambda: Truncating(2).run(target, other, RULES[0], Tape(0, 2)), "layout")
    still = as_networks(affine_pair(0.7, noisy=False))
    refused(lambda: Truncating(2).run(*still, RULES[0], Tape(0, 2)), "last step", "noise")


def test_a_pass_for_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """All prefixes of a block are rows of one pass, and kernels that were walked are not asked for again."""
    target, draft = as_networks(affine_pair(0.7))
    passes: list[int] = []
    kernels: list[int] = []
    conditions, kernel = target.network.conditions, target.network.kernel

    def watched(tokens: Tensor, rows: Tensor, known: Tensor, position: Tensor) -> Tensor:
        passes.append(len(rows))
        return conditions(tokens, rows, known, position)

    def counted(t: int, x: Tensor, given: Tensor) -> tuple[Tensor, Tensor]:
        kernels.append(t)
        return kernel(t, x, given)

    monkeypatch.setattr(target.network, "conditions", watched)
    monkeypatch.setattr(target.network, "kernel", counted)
    found = Truncating(3).run(target, draft, RULES[0], Tape(5, COUNT))
    assert passes[0] == 4 * COUNT
    assert len(passes) == found.calls.max()
    assert (found.trials > 1).any()
    assert kernels == list(range(6, 0, -1)) * len(passes)


@pytest.mark.parametrize("decoder", [Truncating(3), InPlace(3)], ids=["truncating", "in-place"])
def test_a_block_comes_back_from_the_device_at_once(decoder) -> None:
    """Drafts are made from drafts, and the target is asked of them, where the networks are."""
    pair, tape = affine_pair(0.0), Tape(15, 5)
    networks = as_networks(pair)
    with Operations() as operations:
        decoded = decoder.run(*networks, RULES[0], tape)
    blocks = operations.host_reads
    assert blocks == decoded.calls.max() > 1
    with Operations() as operations:  # drafts of another kind have to come here to be verified
        same(decoder.run(networks.target, pair.draft, RULES[0], tape), decoded)
    assert operations.host_reads == blocks if isinstance(decoder, Truncating) else operations.host_reads > blocks
