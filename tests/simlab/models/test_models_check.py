"""The checker names what a model lacks: each finding is seen on a model that is broken just so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from simlab.models.architectures.backbone import PARTS
from simlab.models.architectures.transformer import Causal, Memory, Transformer
from simlab.models.check import CHECKS, SIZES, VALUES, MemoryCalls, check_logits, check_model
from simlab.models.process.cached import Cached
from simlab.models.process.uncached import Uncached
from tests.support.networks import CLASSES, SHAPE, V, classes, config, model, randomised
from tests.support.refusals import refused

pytestmark = pytest.mark.property


def made(method: str = "", changed: Callable[..., Tensor] | None = None, condition: str = "class") -> Any:
    """A model, of which a method is ``changed``: a function of its own one, and of what that is given."""
    model: Any = randomised(Transformer(config("target", condition)), seed=5)
    if changed is not None:
        setattr(model, method, partial(changed, getattr(model, method)))
    return model


def problems(model: Any, given: Any = None) -> dict[str, str]:
    return {finding.check: finding.problem for finding in check_model(model, given) if finding.problem is not None}


def test_a_model_that_lacks_nothing() -> None:
    findings = check_model(model("target"))
    assert [finding.check for finding in findings] == list(CHECKS)
    assert problems(model("target")) == {}


def test_a_model_in_single_precision() -> None:
    assert problems(made().float()) == {}


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_a_large_vocabulary_hides_nothing(precision: torch.dtype) -> None:
    """Where every probability is small none is far from another."""

    def forgetful(own: Any, inputs: Tensor, position: Tensor, memory: Memory) -> Tensor:
        class Empty:
            def attend(self, *given: Any) -> Tensor:
                return memory.attend(*given) * isinstance(memory, Causal | MemoryCalls)

        return own(inputs, position, Empty())

    large = randomised(Transformer(replace(config("target", "class"), vocabulary=16_384)), seed=5).to(precision)
    assert large.logits(large.embed(torch.zeros(1, 1, dtype=torch.int64))).softmax(-1).max() < 0.01
    assert problems(large) == {}
    large.features = partial(forgetful, large.features)  # type: ignore[method-assign]
    assert list(problems(large)) == ["cache"]


def test_a_model_behind_a_text() -> None:
    text = made(condition="text")
    given = torch.randn(3, text.config.prefix, text.config.text_dim, generator=torch.Generator().manual_seed(0))
    assert problems(text, given.double()) == {}


# parts and sizes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_missing(part: str) -> None:
    lacking = SimpleNamespace(**{name: getattr(model("target"), name) for name in PARTS if name != part})
    found = problems(lacking)
    assert list(found) == ["parts"]
    assert found["parts"] == f"is missing {part}; expected {PARTS[part]}"


def test_a_part_that_cannot_be_called() -> None:
    assert all(part in problems(SimpleNamespace(**dict.fromkeys(PARTS, 1)))["parts"] for part in METHODS)


METHODS = ("condition", "null", "embed", "features", "logits")


@pytest.mark.parametrize("process", [Cached, Uncached])
def test_a_process_of_what_is_no_model(process: type[Cached | Uncached]) -> None:
    lacking: Any = torch.nn.Linear(2, 2)
    refused(lambda: process(lacking, classes(2)), "Linear", "config", *METHODS)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        *(({size: "gone"}, f"config is missing {size}") for size in (*SIZES, "shape")),
        ({"prefix": 0}, "config.prefix is 0"),
        ({"dim": 16.0}, "config.dim is 16.0"),
        *(
            ({"shape": shape}, f"config.shape is {shape} and length 9")
            for shape in ((3, 4), (-3, -3), (3.0, 3.0), 3, (9,))
        ),
    ],
)
def test_sizes(wrong: dict[str, Any], told: str) -> None:
    resized = made()
    sizes = {size: getattr(resized.config, size) for size in (*SIZES, "shape", "classes")} | wrong
    resized.config = SimpleNamespace(**{size: value for size, value in sizes.items() if value != "gone"})
    found = problems(resized)
    assert list(found) == ["sizes"]
    assert found["sizes"].startswith(f"{told}; expected")


# what a method returns, and how ---------------------------------------------------------------------------------------


N = SHAPE[0] * SHAPE[1]


def no_number(own: Any, features: Tensor) -> Tensor:
    found = own(features)
    found[1, 3] = torch.nan
    return found


def peeking(own: Any, *given: Any) -> Tensor:
    """A token sees the next one."""
    found = own(*given)
    return found + torch.cat([found[:, 1:], found[:, -1:]], dim=1)


def looked_up(places: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """Positions are looked up in a table of their own."""

    def features(own: Any, inputs: Tensor, position: Tensor, memory: Memory) -> Tensor:
        functional.embedding(places(position), torch.ones(1 + N, 1))
        return own(inputs, position, memory)

    return features


def grouped_keys(own: Any, inputs: Tensor, position: Tensor, memory: Memory) -> Tensor:
    """Keys and values for fewer heads than said."""

    class Fewer:
        def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            return memory.attend(layer, query, key[:, :1], value[:, :1])

    return own(inputs, position, Fewer())


def from_zero(own: Any, inputs: Tensor, position: Tensor, memory: Memory) -> Tensor:
    """Every call is taken for the beginning of the sequence."""
    return own(inputs, torch.arange(inputs.shape[1]).expand(inputs.shape[:2]), memory)


def one_off(own: Any, inputs: Tensor, position: Tensor, memory: Memory) -> Tensor:
    """The last of two tokens of a call stands one further on."""
    last = torch.arange(inputs.shape[1]) == inputs.shape[1] - 1
    return own(inputs, position + last.long() * (inputs.shape[1] == 2), memory)


def of_the_first(own: Any, inputs: Tensor, position: Tensor, memory: Memory) -> Tensor:
    """All sequences are taken to be as far as the first."""
    return own(inputs, position[:1].expand(len(position), -1), memory)


def one_after_the_other(own: Any, inputs: Tensor, position: Tensor, memory: Memory) -> Tensor:
    """All inputs of a call are taken to follow one another, nodes of a tree too."""
    return own(inputs, position[:, :1] + torch.arange(inputs.shape[1]), memory)


def no_number_behind(own: Any, inputs: Tensor, position: Tensor, memory: Memory) -> Tensor:
    """NaN at positions behind the sequence."""
    found: Tensor = own(inputs, position, memory)
    return found.masked_fill((position > N)[..., None], torch.nan)


def no_number_alone(own: Any, inputs: Tensor, position: Tensor, memory: Memory) -> Tensor:
    """NaN for a batch of one, as a deviation is."""
    found: Tensor = own(inputs, position, memory)
    return found + torch.nan if len(found) == 1 else found


def of_no_condition(wrong: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """What stands for no condition is another than a condition is."""
    return lambda own, given: wrong(own(given)) if bool((given == CLASSES).all()) else own(given)


BROKEN: list[tuple[str, Callable[..., Tensor], str, str]] = [  # a method, what it is, what finds it, and what is shown
    ("condition", lambda own, given: own(given)[:, 0], "condition", "(3, 16)"),
    ("null", lambda own, batch: torch.full((batch,), CLASSES + 1), "no condition", "IndexError"),
    ("condition", of_no_condition(lambda found: found.float()), "no condition", "torch.float32"),
    ("condition", of_no_condition(lambda found: found * torch.nan), "no condition", "NaN"),
    ("embed", lambda own, tokens: own(tokens).float(), "tokens", "torch.float32"),
    ("embed", lambda own, tokens: functional.embedding(tokens, torch.zeros(V - 1, 16)), "tokens", "IndexError"),
    ("features", lambda own, *given: own(*given)[:, -1:], "features", "(3, 1, 16)"),
    ("logits", lambda own, given: own(given)[..., 1:], "logits", f"(3, 7, {V - 1})"),
    ("logits", lambda own, given: own(given).half(), "logits", "torch.float16"),
    ("logits", no_number, "numbers", "token 3 of sequence 1"),
    ("features", lambda own, *given: functional.dropout(own(*given)), "same twice", "eval()"),
    ("features", peeking, "causality", "token 5"),
    ("features", lambda own, *given: own(*given) - own(*given).mean(0), "batch", "sequence 0"),
    ("features", looked_up(lambda at: at.clamp(min=0)), "outside", f"position {N + 1}"),
    ("features", looked_up(lambda at: at.clamp(max=N)), "outside", "position -1"),
    ("features", lambda own, inputs, place, memory: own(inputs, place, Causal()), "memory", "layers []"),
    ("features", grouped_keys, "memory", "keys of layer 0"),
    ("features", from_zero, "cache", "position[B, L]"),
    ("features", one_off, "cache", "memory.attend"),
    ("features", of_the_first, "cache", "its own row of position[B, L]"),
    ("features", one_after_the_other, "cache", "behind a tree of drafts"),
    ("features", no_number_alone, "batch", "by nan"),
    ("features", no_number_behind, "outside", f"NaN or infinity at position {N + 1}"),
    ("features", looked_up(lambda at: (at - 1).clamp(min=0)), "outside", f"position {1 + 2 * N}"),
    ("logits", lambda own, given: own(given) - torch.inf, "numbers", "-infinity for every token"),
]


@pytest.mark.parametrize(("method", "changed", "check", "shown"), BROKEN)
def test_a_broken_model(method: str, changed: Callable[..., Tensor], check: str, shown: str) -> None:
    found = problems(made(method, changed))
    assert next(iter(found)) == check  # what is wrong comes before what follows from it
    assert shown in found[check]


FORBIDDEN = -torch.inf, -1e9, torch.finfo(torch.float32).min


@pytest.mark.parametrize("low", FORBIDDEN)
@pytest.mark.parametrize(
    ("method", "changed", "check"), [each[:3] for each in BROKEN if each[2] in ("same twice", "causality", "batch")]
)
def test_tokens_that_are_forbidden_hide_nothing(
    low: float, method: str, changed: Callable[..., Tensor], check: str
) -> None:
    """Of -infinity there is no difference, and beside -1e9 every other is small."""

    def forbidding(own: Any, features: Tensor) -> Tensor:
        found: Tensor = own(features)
        return found.masked_fill(torch.arange(V) == 1, low)

    fine, broken = made("logits", forbidding), made("logits", forbidding)
    setattr(broken, method, partial(changed, getattr(broken, method)))
    assert problems(fine) == {}
    assert next(iter(problems(broken))) == check


@pytest.mark.parametrize("length", [1, 2, 3])
def test_sequences_that_are_short(length: int) -> None:
    short = Transformer(replace(config("target"), shape=(1, length)))
    assert problems(randomised(short, seed=5)) == {}


def test_conditions_of_one_s_own() -> None:
    assert problems(model("target"), classes(2)) == {}
    assert problems(model("target"), classes(2).double())["condition"].startswith("raises RuntimeError")


# functions of whole sequences ---------------------------------------------------------------------------------------


def logits(tokens: Tensor, given: Any) -> Tensor:
    found: Tensor = model("target")(classes(len(tokens)) if given is None else given, tokens)
    return found


def test_a_function_that_lacks_nothing() -> None:
    findings = check_logits(logits, SHAPE, classes(3))
    assert [finding.check for finding in findings] == ["logits", *VALUES]
    assert all(finding.problem is None for finding in findings)
    assert check_logits(lambda tokens, given: logits(tokens, classes(1).expand(len(tokens))), SHAPE)[-1].problem is None


def test_a_function_in_half_precision() -> None:
    """What it rounds off is no fault."""

    def rounded(tokens: Tensor, given: Any) -> Tensor:
        return (logits(tokens, given) + 1e-3 * len(tokens)).half()

    assert {each.problem for each in check_logits(rounded, SHAPE, classes(3))} == {None}


def test_of_sequences_of_one_token_a_function_sees_none() -> None:
    def first(tokens: Tensor, given: Any) -> Tensor:
        assert tokens.shape[1] == 0
        return torch.zeros(len(tokens), 1, 5)

    assert {each.problem for each in check_logits(first, (1, 1))} == {None}


def padded_first(tokens: Tensor, given: Any) -> Tensor:
    return logits(functional.pad(tokens, (0, 1)), given)[:, 1:]


@pytest.mark.parametrize(
    ("wrong", "check", "shown"),
    [
        (lambda tokens, given: logits(tokens, given)[:, 1:], "logits", "[3, 1, V]"),
        (lambda tokens, given: 1 / 0, "logits", "ZeroDivisionError"),
        (lambda tokens, given: logits(tokens, given).log(), "numbers", "NaN"),
        (lambda tokens, given: logits(tokens, given) + torch.rand(1), "same twice", "two calls"),
        (padded_first, "causality", "token 5"),
        (lambda tokens, given: logits(tokens, given).cumsum(0), "batch", "sequence 1"),
    ],
)
def test_a_broken_function(wrong: Any, check: str, shown: str) -> None:
    found = {finding.check: finding.problem for finding in check_logits(wrong, SHAPE, classes(3)) if finding.problem}
    assert next(iter(found)) == check
    assert shown in found[check]
