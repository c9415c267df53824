"""The checker names what a model lacks: each finding is seen on a model that is broken just so."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from simlab.models.architectures.backbone import PARTS
from simlab.models.architectures.transformer import Causal, Memory, Transformer
from simlab.models.check import CHECKS, SIZES, VALUES, check_logits, check_model
from simlab.models.process.cached import Cached
from simlab.models.process.uncached import Uncached
from tests.support.networks import CLASSES, SHAPE, V, classes, config, model, randomised

pytestmark = pytest.mark.property


def made(kind: type[Transformer] = Transformer, condition: str = "class") -> Transformer:
    return randomised(kind(config("target", condition)), seed=5)  # type: ignore[return-value]


def problems(model: Any, given: Any = None) -> dict[str, str]:
    return {finding.check: finding.problem for finding in check_model(model, given) if finding.problem is not None}


def test_a_model_that_lacks_nothing() -> None:
    findings = check_model(model("target"))
    assert [finding.check for finding in findings] == list(CHECKS)
    assert problems(model("target")) == {}


def test_a_model_in_single_precision() -> None:
    assert problems(made().float()) == {}


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
    found = problems(SimpleNamespace(**dict.fromkeys(PARTS, 1)))
    assert found["parts"].startswith("is missing condition, null, embed, features, logits; expected condition(given)")


@pytest.mark.parametrize("process", [Cached, Uncached])
def test_a_process_of_what_is_no_model(process: type[Cached | Uncached]) -> None:
    lacking: Any = torch.nn.Linear(2, 2)
    with pytest.raises(
        ValueError, match="Linear is missing config, condition, null, embed, features, logits; expected"
    ):
        process(lacking, classes(2))


class Resized(Transformer):
    """A model whose sizes are not what they are."""

    wrong: Any = None

    def __getattribute__(self, name: str) -> Any:
        if name != "config" or type(self).wrong is None:
            return super().__getattribute__(name)
        own = super().__getattribute__("config")
        sizes = {size: getattr(own, size) for size in (*SIZES, "shape", "classes")}
        return SimpleNamespace(**{size: value for size, value in (sizes | type(self).wrong).items() if value != "gone"})


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        *(({size: "gone"}, f"config is missing {size}; expected {SIZES[size]}") for size in SIZES),
        ({"shape": "gone"}, "config is missing shape; expected (rows, columns) of tokens"),
        ({"prefix": 0}, "config.prefix is 0; expected a whole number >= 1: positions of the condition, at least one"),
        ({"dim": 16.0}, "config.dim is 16.0; expected a whole number >= 1: numbers of an input"),
        ({"shape": (3, 4)}, "config.shape is (3, 4) and length 9; expected (rows, columns), and rows * columns tokens"),
    ],
)
def test_sizes(wrong: dict[str, Any], problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    resized = made(Resized)
    monkeypatch.setattr(Resized, "wrong", wrong)
    assert problems(resized) == {"sizes": problem}


# what a method returns, and how ---------------------------------------------------------------------------------------


class FlatCondition(Transformer):
    def condition(self, given: Tensor) -> Tensor:
        return super().condition(given)[:, 0]


class NoNull(Transformer):
    def null(self, batch: int) -> Tensor:
        return torch.full((batch,), CLASSES + 1)


class OtherPrecision(Transformer):
    def embed(self, tokens: Tensor) -> Tensor:
        return super().embed(tokens).float()


class SmallTable(Transformer):
    def embed(self, tokens: Tensor) -> Tensor:
        return functional.embedding(tokens, self.tok_embeddings.weight[:-1])


class LastOnly(Transformer):
    def features(self, inputs: Tensor, position: Tensor, memory: Memory) -> Tensor:
        return super().features(inputs, position, memory)[:, -1:]


class FewLogits(Transformer):
    def logits(self, features: Tensor) -> Tensor:
        return super().logits(features)[..., 1:]


class HalfLogits(Transformer):
    def logits(self, features: Tensor) -> Tensor:
        return super().logits(features).half()


class NoNumber(Transformer):
    def logits(self, features: Tensor) -> Tensor:
        found = super().logits(features)
        found[1, 3] = torch.nan
        return found


class Dropout(Transformer):
    def features(self, inputs: Tensor, position: Tensor, memory: Memory) -> Tensor:
        return functional.dropout(super().features(inputs, position, memory), 0.5)


class Peeking(Transformer):
    """A token sees the next one."""

    def features(self, inputs: Tensor, position: Tensor, memory: Memory) -> Tensor:
        found = super().features(inputs, position, memory)
        return found + torch.cat([found[:, 1:], found[:, -1:]], dim=1)


class BatchNorm(Transformer):
    def features(self, inputs: Tensor, position: Tensor, memory: Memory) -> Tensor:
        found = super().features(inputs, position, memory)
        return found - found.mean(0)


class ShortTable(Transformer):
    def features(self, inputs: Tensor, position: Tensor, memory: Memory) -> Tensor:
        self.frequencies[position]
        return super().features(inputs, position, memory)


class NothingBefore(Transformer):
    def features(self, inputs: Tensor, position: Tensor, memory: Memory) -> Tensor:
        functional.embedding(position.clamp(max=N), self.frequencies.flatten(1))
        return super().features(inputs, position, memory)


class OwnAttention(Transformer):
    """Attention over what is fed, of which nothing is kept."""

    def features(self, inputs: Tensor, position: Tensor, memory: Memory) -> Tensor:
        return super().features(inputs, position, Causal())


class GroupedKeys(Transformer):
    """Keys and values for fewer heads than said."""

    def features(self, inputs: Tensor, position: Tensor, memory: Memory) -> Tensor:
        class Fewer:
            def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
                return memory.attend(layer, query, key[:, :1], value[:, :1])

        return super().features(inputs, position, Fewer())


class CountsFromZero(Transformer):
    """Every call is taken for the beginning of the sequence."""

    def features(self, inputs: Tensor, position: Tensor, memory: Memory) -> Tensor:
        return super().features(inputs, torch.arange(inputs.shape[1]).expand(inputs.shape[:2]), memory)


class OneOff(Transformer):
    """The last token of every call stands one further on."""

    def features(self, inputs: Tensor, position: Tensor, memory: Memory) -> Tensor:
        last = torch.arange(inputs.shape[1]) == inputs.shape[1] - 1
        return super().features(inputs, position + last.long() * (inputs.shape[1] == 2), memory)


N = SHAPE[0] * SHAPE[1]


@pytest.mark.parametrize(
    ("kind", "check", "problem"),
    [
        (FlatCondition, "condition", "condition(given) has shape (3, 16); expected (3, 1, 16)"),
        (NoNull, "no condition", "raises IndexError: index out of range in self"),
        (OtherPrecision, "tokens", "embed(tokens) is torch.float32; expected torch.float64, as condition(given) is"),
        (SmallTable, "tokens", "raises IndexError: index out of range in self"),
        (LastOnly, "features", "features(inputs, position, memory) has shape (3, 1, 16); expected (3, 7, 16)"),
        (FewLogits, "logits", f"logits(features) has shape (3, 7, {V - 1}); expected (3, 7, {V})"),
        (HalfLogits, "logits", "logits are torch.float16; expected float32 or better, as in .float()"),
        (NoNumber, "numbers", "the row before token 3 of sequence 1 holds NaN or infinity; expected numbers"),
        (Dropout, "same twice", "two calls with the same tokens differ; expected one answer: call eval()"),
        (Peeking, "causality", "token 5 changes the row before token 5, by "),
        (BatchNorm, "batch", "sequence 0 alone has other rows than beside others, by "),
        (ShortTable, "outside", f"features raises IndexError at position {N + 1}, outside of the sequence; expected"),
        (NothingBefore, "outside", "features raises IndexError at position -1, outside of the sequence; expected no"),
        (OwnAttention, "memory", "features calls memory.attend for the layers []; expected each of config.layers = 2"),
        (GroupedKeys, "memory", "keys of layer 0 have shape (3, 1, 7, 8); expected [B, heads, L, head_dim] = (3, 2, "),
        (CountsFromZero, "cache", "expected features to place inputs by position[B, L], of which they take no notice"),
        (OneOff, "cache", "expected attention over all that memory.attend has kept, and no more"),
    ],
)
def test_a_broken_model(kind: type[Transformer], check: str, problem: str) -> None:
    found = problems(made(kind))
    assert check in found
    assert problem in found[check]
    assert next(iter(found)) == check  # what is wrong comes before what follows from it


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


@pytest.mark.parametrize(
    ("wrong", "check", "problem"),
    [
        (
            lambda tokens, given: logits(tokens, given)[:, 1:],
            "logits",
            r"expected floats [3, 1, V], a row before every",
        ),
        (lambda tokens, given: 1 / 0, "logits", "raises ZeroDivisionError: division by zero"),
        (lambda tokens, given: logits(tokens, given).log(), "numbers", "holds NaN or infinity; expected numbers"),
        (lambda tokens, given: logits(tokens, given) + torch.rand(1), "same twice", "two calls with the same tokens"),
        (
            lambda tokens, given: logits(torch.nn.functional.pad(tokens, (0, 1)), given)[:, 1:],
            "causality",
            "token 5 changes the row before token 5, by ",
        ),
        (lambda tokens, given: logits(tokens, given).cumsum(0), "batch", "sequence 1 alone has other rows than beside"),
    ],
)
def test_a_broken_function(wrong: Any, check: str, problem: str) -> None:
    found = {finding.check: finding.problem for finding in check_logits(wrong, SHAPE, classes(3)) if finding.problem}
    assert problem in found[check]
    assert next(iter(found)) == check
