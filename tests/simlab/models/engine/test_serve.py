"""Every request has the tokens it has alone, whatever is decoded beside it, and is told what became of it."""

from __future__ import annotations

import copy
import sys
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest
import torch

from simlab.decoders import make_decoder, run
from simlab.models.architectures.transformer import Transformer
from simlab.models.engine import Request, Result, serve
from simlab.models.process.cached import Cached
from simlab.models.process.sampling import Sampling
from simlab.models.process.uncached import Uncached
from simlab.randomness import Tape
from simlab.rules import Rule, Speculative, make_rule
from tests.support.cases import CANDIDATE_TREES, tree
from tests.support.networks import CLASSES, SAMPLINGS, Broken, alone, config, head, model, randomised

pytestmark = pytest.mark.parity

DEFAULT_EVERY = 4

RULE = Speculative()
DECODERS: list[tuple[str, dict[str, Any]]] = [
    ("autoregressive", {}),
    ("speculative", {"gamma": 3}),
    ("block", {"gamma": 2}),
    ("jacobi", {"window": 4}),
    ("sjd", {"window": 4}),
    ("sjd-ac", {"window": 4}),
    ("sjd-pac", tree(3, 3, 2, "full")),
    ("sjd2", {"window": 4}),
    *CANDIDATE_TREES,
]


def request(k: int, name: str, parameters: dict[str, Any], sampling: str = "plain", rule: Rule = RULE) -> Request:
    return Request(k % CLASSES, make_decoder(name, **parameters), rule, 5 + k % 2, k, SAMPLINGS[sampling])


def served(requests: list[Request], batch: int, eagle: bool = False, **more: Any) -> list[Result]:
    """Results in the order of the requests, each of which has one."""
    found = sorted(serve(model("target"), requests, batch, head() if eagle else model("draft"), **more))
    assert [each.index for each in found] == list(range(len(requests)))
    return found


@pytest.mark.parametrize("batch", [3, 1, 16])
def test_requests_of_all_kinds_have_the_tokens_they_have_alone(batch: int) -> None:
    requests = [request(k, *DECODERS[k % len(DECODERS)], ("plain", "guided")[k % 3 == 0]) for k in range(16)]
    for asked, found in zip(requests, served(requests, batch), strict=True):
        tokens, steps = alone(asked)
        assert found.error is None
        assert np.array_equal(found.tokens, tokens)
        assert found.steps == steps == len(found.accepted) == len(found.committed)
        assert found.committed.sum() == len(tokens)


def test_rules_and_samplings_of_their_own() -> None:
    rules = [RULE, make_rule("typical", epsilon=0.3, delta=0.3), make_rule("amplify", k=1.3)]
    warm = [Sampling(temperature=t, top_k=k) for t, k in ((1.0, None), (0.7, 3), (0.0, None))]
    decoder = make_decoder("sjd-ac", window=4)
    requests = [Request(k % CLASSES, decoder, rules[k // 3], k, 7, warm[k % 3]) for k in range(9)]
    for asked, found in zip(requests, served(requests, 4), strict=True):
        assert np.array_equal(found.tokens, alone(asked)[0])


def test_a_cancelled_request_leaves_the_others_alone() -> None:
    requests = [request(k, "sjd", {"window": 4}) for k in range(5)]
    found = served(requests, 2, cancelled=lambda index: index == 1)
    assert [each.error for each in found] == [None, "cancelled", None, None, None]
    assert found[1].tokens is None
    assert np.array_equal(found[2].tokens, alone(requests[2])[0])
    found = served(requests, 2, cancelled=lambda index: True)
    assert [(each.error, each.steps) for each in found] == [("cancelled", 0)] * len(requests)


class OfMyOwn(Speculative):
    """A rule without a compiled form."""


@pytest.mark.parametrize("rule", [RULE, OfMyOwn()], ids=["compiled", "reference"])
def test_a_request_ends_where_it_says(rule: Rule) -> None:
    """In kernels and in the reference form: with the first tokens of a whole one, and the others with all of theirs."""
    whole = [request(2 * k, "sjd-ac", {"window": 4}, rule=rule) for k in range(4)]
    told: list[list[int]] = []

    def third(tokens: np.ndarray) -> bool:
        told.append(tokens.tolist())
        return len(tokens) >= 3

    requests = [whole[0], replace(whole[1], written=third), whole[2], whole[3]]
    found = served(requests, 2)
    count = int(found[1].committed.sum())
    tokens, steps = alone(whole[1])
    assert 3 <= count < len(tokens)
    assert found[1].error is None
    assert found[1].steps == len(told) < steps
    assert told[-1] == tokens[:count].tolist()
    assert all(len(own) < 3 for own in told[:-1])
    for k in (0, 2, 3):
        assert np.array_equal(found[k].tokens, alone(whole[k])[0])


def test_cancelled_requests_that_wait_are_told_at_once() -> None:
    requests = [request(k, *DECODERS[4 + k // 4]) for k in range(6)]
    told = [each.index for each in serve(model("target"), requests, 1, cancelled=lambda index: index in (3, 5))]
    assert told == [3, 5, 0, 1, 2, 4]


def test_progress_counts_tokens() -> None:
    told: list[int] = []
    requests = [request(k, "sjd", {"window": 4}) for k in range(3)]
    served(requests, 2, notify=told.append)
    assert told == sorted(told)
    assert told[-1] == 3 * 9


def test_the_first_step_of_the_reference_form_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[serve.__module__], "has_kernel", lambda decoder, rule: False)
    told: list[int] = []
    served([request(2 * k, "sjd", {"window": 4}) for k in range(3)], 2, notify=told.append)
    assert told == [0, 2 * 9, 2 * 9, 3 * 9]


def test_conditions_with_padding_of_their_own() -> None:
    """In kernels, with a cache in the reference form, and without one."""
    text = randomised(Transformer(config("target", "text")), seed=2)
    rng = torch.Generator().manual_seed(1)
    decoder, requests = make_decoder("sjd-pac", **tree(3, 3, 2)), []
    for k in range(5):
        given = torch.randn(4, 6, generator=rng, dtype=torch.float64)
        visible = None if k == 2 else torch.arange(4) >= k % 3
        requests.append(Request(given, decoder, RULE, k, 0, SAMPLINGS["guided"], visible))
    found = sorted(serve(text, requests, 2))
    for asked, one in zip(requests, found, strict=True):
        visible = None if asked.visible is None else asked.visible[None]
        for form in (Cached, Uncached):
            process = form(text, asked.given[None], asked.sampling, visible=visible)  # type: ignore[arg-type]
            right = run(decoder, process, RULE, Tape(asked.seed, 1))
            assert np.array_equal(one.tokens, right.tokens[0])
            assert one.steps == right.steps[0]


# What goes wrong -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [RULE, OfMyOwn()], ids=["compiled", "reference"])
@pytest.mark.parametrize("name", ["autoregressive", "sjd-ac"])
def test_rows_that_are_no_numbers_are_told_of_their_request_alone(name: str, rule: Rule) -> None:
    parameters = {} if name == "autoregressive" else {"window": 4}
    requests = [request(k, name, parameters, rule=rule) for k in range(6)]
    found = sorted(serve(Broken(nan=1), requests, 4), key=lambda result: result.index)
    for k, each in enumerate(found):
        if requests[k].given == 1:
            assert each.tokens is None
            assert "hold NaN" in str(each.error)
        else:
            assert np.array_equal(each.tokens, alone(requests[k])[0])


def test_too_little_memory_halves_the_batch_and_changes_no_token() -> None:
    requests = [request(k, "sjd", {"window": 4}) for k in range(7)]
    for each in serve(Broken(least=3), requests, 5):
        assert each.error is None
        assert np.array_equal(each.tokens, alone(requests[each.index])[0])
    told = sorted(serve(Broken(least=1), requests[:2], 5))
    assert [each.error for each in told] == [
        "out of memory: DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes"
    ] * 2


@pytest.mark.parametrize("call", range(3, 10))
def test_those_that_enter_when_memory_runs_out_are_not_lost(call: int) -> None:
    """At that call of the model's conditions, beside sequences that are on their way."""
    own, calls = copy.copy(model("target")), count(1)

    def condition(given: Any) -> Any:
        if next(calls) == call:
            raise torch.OutOfMemoryError("no more")
        return model("target").condition(given)

    own.condition = condition  # type: ignore[method-assign]
    requests = [request(k, "sjd", {"window": 4}) for k in range(7)]
    found = sorted(serve(own, requests, 3), key=lambda result: result.index)
    assert [each.index for each in found] == list(range(7))
    for each in found:
        assert np.array_equal(each.tokens, alone(requests[each.index])[0])


@pytest.mark.parametrize(("seed", "replicate"), [(-1, 0), (0, -1)])
def test_a_seed_that_no_tape_has(seed: int, replicate: int) -> None:
    with pytest.raises(ValueError, match=r"seed|replicate"):
        Request(0, make_decoder("sjd", window=2), RULE, seed=seed, replicate=replicate)


def test_names_in_the_place_of_what_they_name() -> None:
    with pytest.raises(ValueError, match="decoder is 'sjd'; expected a Decoder, as make_decoder gives"):
        Request(0, "sjd", RULE)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="rule is the class Speculative; expected a Rule, as make_rule gives"):
        Request(0, make_decoder("sjd", window=2), Speculative)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["speculative", "skipping"])
def test_a_decoder_that_needs_a_drafter_says_so(name: str) -> None:
    """In its compiled form, and in its reference form."""
    with pytest.raises(ValueError, match=r"drafter is None; expected a smaller model or a head: .* needs one"):
        list(serve(model("target"), [Request(0, make_decoder(name, gamma=2), RULE)], 1))


@pytest.mark.parametrize("other", [{"vocabulary": 2}, {"vocabulary": 99}, {"shape": (2, 3)}], ids=str)
@pytest.mark.parametrize("name", ["speculative", "skipping"])
def test_a_drafter_of_other_sequences_is_refused(name: str, other: dict[str, Any]) -> None:
    """Its rows would be taken for rows over the target's tokens."""
    draft = randomised(Transformer(replace(config("draft"), **other)), seed=1)
    with pytest.raises(ValueError, match=r"draft has \(vocabulary, length\) .*; expected the target's"):
        list(serve(model("target"), [Request(0, make_decoder(name, gamma=2), RULE)], 1, drafter=draft))


def test_other_errors_are_not_swallowed() -> None:
    for wrong in (99, -1):
        with pytest.raises(ValueError, match=f"given is {wrong}; expected the number of a class, 0 to {CLASSES}"):
            list(serve(model("target"), [Request(wrong, make_decoder("sjd", window=2), RULE)], 1))
    with pytest.raises(ValueError, match="batch is 0"):
        list(serve(model("target"), [], 0))
    with pytest.raises(ValueError, match="device is 'tpu'"):
        list(serve(model("target"), [], 1, device="tpu"))
