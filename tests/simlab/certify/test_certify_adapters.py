"""Verifiers by others, through their adapters: laws they follow exactly, and what they do where a coin is 0.

Laws are enumerated from the published code itself, with PyTorch's draws served from a list of uniforms. Where a routine
is off, the law it should then follow is written out by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

from simlab.arrays import Array
from simlab.certify import certify
from simlab.certify.adapters import ADAPTERS, Adapter, adapter, flashspec, universal
from simlab.certify.adapters.tables import drafted
from simlab.certify.adapters.torch_random import drawing
from simlab.certify.battery import verifying
from simlab.certify.contracts.scripted import HIGHEST, NotScripted, Scripted
from tests.support.adapters import ROW, SINGLE, constant, first_token
from tests.support.certify import tv_of

pytestmark = pytest.mark.exact

torch = pytest.importorskip("torch")
pytest.importorskip("flashspec")

VERIFIERS = ("transformers", "flashspec", "specdec")
EARLY = "transformers-early-exit"
P, Q = np.array([[0.5, 0.5], [0.3, 0.7]]), np.array([[0.9, 0.1]])
EXCLUDING, HALF = np.array([[0.0, 1.0], [0.5, 0.5]]), np.array([[0.5, 0.5]])


@cache
def made(name: str) -> Any:
    return adapter(name).make()


def verified(verify: Any, draft: int, kept: float | None) -> Array:
    """The exact law of the first token after this draft, which is kept with this probability."""
    return first_token(lambda rng: verify(P, Q, np.array([draft]), rng), kept, None)


@pytest.mark.parametrize("name", VERIFIERS)
@pytest.mark.parametrize("case", [case for case in verifying.cases() if case.branches][:2], ids=lambda case: case.name)
def test_what_comes_out_is_exactly_the_target(name: str, case: Any) -> None:
    assert tv_of(case, made(name)) < SINGLE


def test_an_ensemble_with_the_draft_is_exactly_that() -> None:
    """v = w p + (1 - w) q with w = 1/2, p = (.5, .5), q = (.9, .1): the first token is 0 with probability .7.

    Draft 0 is kept with v / q = 7 / 9, where p / q = 5 / 9 were right; draft 1 always.
    """
    ensemble, plain = made("transformers-ensemble"), made("transformers")
    off = 0.9 * verified(ensemble, 0, 7 / 9) + 0.1 * verified(ensemble, 1, None)
    np.testing.assert_allclose(off, [0.7, 0.3])
    np.testing.assert_allclose(0.9 * verified(plain, 0, 5 / 9) + 0.1 * verified(plain, 1, None), P[0])


def test_transformers_accepts_a_token_without_mass_where_the_coin_is_zero() -> None:
    """It compares r <= p / q, and r is 0 once in 2^24. If this fails it has been mended: say so where it is told."""
    assert made("transformers")(EXCLUDING, HALF, np.array([0]), Scripted((0.0,)))[0] == 0
    assert made("transformers")(EXCLUDING, HALF, np.array([0]), Scripted((2.0**-24,))) == [1]


@pytest.mark.parametrize("name", ["flashspec", "specdec"])
def test_others_reject_it(name: str) -> None:
    assert made(name)(EXCLUDING, HALF, np.array([0]), Scripted((0.0,))) == [1]


# Loops ---------------------------------------------------------------------------------------------------------


ROOT = float(np.sqrt(0.46) / np.sqrt([0.46, 0.54]).sum())  # drafts at temperature 2, which are scored as such
SECOND = 0.54 * 0.3 / 0.46
LOOPS: dict[str, tuple[Callable[[], Any], int, tuple[float | None, ...], Any]] = {  # tokens, edges, and the law
    # q = (.46, .54) drafts token 1 always, kept with .3 / .54 = 5 / 9; else [p - q]+ gives 0: two coins, two tokens
    "flashspec scores greedy drafts with a soft q": (
        lambda: flashspec.engine(gamma=1),
        1,
        (5 / 9, None, None, None),
        [4 / 9, 5 / 9],
    ),
    "alone in its batch a draft is drawn from q": (
        lambda: flashspec.engine(batch=1),
        1,
        (0.46, None, 5 / 9, None),
        ROW,
    ),
    # drafts follow q = (.46, .54) and are scored with (.54, .46), for the vocabulary is listed in another order: token
    # 0 is kept always, token 1 with .3 / .46; else [p - (.54, .46)]+ gives token 0
    "universal assisted decoding takes one token for another": (
        universal.generate,
        2,
        (0.54, 0.3 / 0.46, None),
        [1 - SECOND, SECOND],
    ),
    "where the vocabulary is listed by number it does not": (
        lambda: universal.generate(universal.by_number),
        2,
        (0.46, 0.3 / 0.54, None),
        ROW,
    ),
    # drafts of the early layer are kept where the coin is below 5 / 9, as those of an assistant
    **{name: (partial(made, name), 2, (0.46, 5 / 9, None), ROW) for name in ("transformers-generate", EARLY)},
    # drafts are drawn from the root of q, scaled, and scored with it: that is lossless, though not what is asked
    "transformers-generate-temperature": (
        partial(made, "transformers-generate-temperature"),
        2,
        (ROOT, 0.3 / (1 - ROOT), None),
        ROW,
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_the_first_token_of_a_loop(name: str) -> None:
    make, length, edges, law = LOOPS[name]
    decode = make()
    np.testing.assert_allclose(first_token(lambda rng: decode(constant, length, rng), *edges), law)


def test_the_draft_is_p_moved_on() -> None:
    np.testing.assert_allclose(drafted(constant)(()), [0.46, 0.54])


def test_prompt_lookup_of_transformers_keeps_what_the_target_draws_again() -> None:
    """Token 0 stands before the sequence, so that after another one a third is looked up; each is drawn from p."""
    decode = made("transformers-prompt-lookup")
    assert decode(constant, 3, Scripted((0.1, 0.1, 0.1, 0.1))) == [0, 0, 0]
    law = first_token(lambda rng: decode(constant, 2, rng)[1:], None, 0.7, None)
    np.testing.assert_allclose(law, ROW)


def test_an_enumeration_of_noisy_logits_is_refused() -> None:
    with pytest.raises(NotScripted, match="noisy logits"):
        made("speculative-decoding")(constant, 2, Scripted(()))


# Draws ---------------------------------------------------------------------------------------------------------


def test_uniforms_are_served_below_one() -> None:
    with drawing(Scripted((0.25, HIGHEST, 0.0, 0.75), HIGHEST)):
        assert torch.rand(1).item() == 0.25
        assert torch.rand_like(torch.ones(2)).tolist() == [1 - 2.0**-24, 0]
        assert torch.empty(1).uniform_(2, 4).item() == 3.5
        assert torch.rand(1, dtype=torch.float64).item() == HIGHEST


def test_multinomial_inverts_the_cdf() -> None:
    rng = Scripted((0.0, 0.25, 0.75, HIGHEST))
    with drawing(rng):
        weights = torch.tensor([0.0, 1.0, 2.0, 1.0, 0.0])
        assert [torch.multinomial(weights, 1).item() for _ in range(4)] == [1, 2, 3, 3]
        assert torch.multinomial(weights.repeat(2, 1), 1).shape == (2, 1)
        with pytest.raises(RuntimeError, match="probability tensor"):
            torch.multinomial(torch.tensor([float("nan"), 1.0]), 1)
    assert rng.edges[:4] == [0, 0.25, 0.75, 1]


@pytest.mark.parametrize("draw", [lambda: torch.randn(1), lambda: torch.empty(1).exponential_()])
def test_other_distributions_are_not_scripted(draw: Callable[[], Any]) -> None:
    with drawing(Scripted(())), pytest.raises(NotScripted, match="torch"):
        draw()


def test_a_generator_seeds_one_stream() -> None:
    def drawn(rng: np.random.Generator) -> list[float]:
        with drawing(rng):
            return [float(u) for u in torch.rand(3)]

    rng, same = np.random.default_rng(5), np.random.default_rng(5)
    first, second = drawn(rng), drawn(rng)
    assert first != second
    assert [drawn(same), drawn(same)] == [first, second]


# Messages ------------------------------------------------------------------------------------------------------


def test_names_are_listed() -> None:
    with pytest.raises(
        ValueError,
        match=r"adapter is 'tranformers'; did you mean transformers\? expected one of transformers, .*specdec",
    ):
        adapter("tranformers")


def test_a_missing_package_says_what_to_install() -> None:
    absent = Adapter("absent", "verify", "Nothing.", "no-such-package", "transformers:verify")
    for asked in (absent.make, absent.version):
        with pytest.raises(ValueError, match=r"absent needs the package no-such-package; pip install 'simlab\[ver"):
            asked()


@pytest.mark.parametrize("name", ["vllm", "flashinfer"])
def test_a_missing_device_certifies_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(ValueError, match=f"{name} needs a CUDA device, and there is none here; nothing was certified"):
        adapter(name).make()


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", [name for name, found in ADAPTERS.items() if found.needs_cuda])
def test_kernels_of_a_device_are_certified_there(name: str) -> None:
    """Whatever they say, they can be called: the certificate is about the kernel, not about the adapter."""
    pytest.importorskip({"vllm": "vllm", "flashinfer": "flashinfer"}[name])
    certificate = certify(adapter(name).make(), calls=20, processes=0)
    assert certificate.verdict != "breaks", certificate.summary
