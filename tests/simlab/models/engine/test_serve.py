"""Every request has the tokens it has alone, whatever is decoded beside it, and is told what became of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from simlab.decoders import make_decoder, run
from simlab.models.architectures.eagle import EagleDraft
from simlab.models.engine import Request, Result, serve
from simlab.models.process.cached import Cached
from simlab.models.process.sampling import Sampling
from simlab.randomness import Tape
from simlab.rules import Rule, Speculative, make_rule
from tests.support.cases import tree
from tests.support.networks import CLASSES, SAMPLINGS, head, model

pytestmark = pytest.mark.parity

RULE = Speculative()
DECODERS: list[tuple[str, dict[str, Any]]] = [
    ("autoregressive", {}),
    ("speculative", {"gamma": 3}),
    ("block", {"gamma": 2}),
    ("jacobi", {"window": 4}),
    ("sjd", {"window": 4}),
    ("sjd-ac", {"window": 4}),
    ("sjd-pac", tree(3, 3, 2, "full")),
]


def request(k: int, name: str, parameters: dict[str, Any], sampling: str = "plain", rule: Rule = RULE) -> Request:
    return Request(k % CLASSES, make_decoder(name, **parameters), rule, 5 + k % 2, k, SAMPLINGS[sampling])


def alone(asked: Request, eagle: bool = False) -> tuple[np.ndarray, int]:
    """Tokens and steps of a request by the reference form."""
    given = torch.tensor([asked.given])
    target = Cached(model("target"), given, asked.sampling)
    draft = None
    if asked.decoder.needs_draft:
        draft = EagleDraft(head(), target) if eagle else Cached(model("draft"), given, asked.sampling, lag=1)
    found = run(asked.decoder, target, asked.rule, Tape(asked.seed, [asked.replicate]), draft)
    return found.tokens[0].numpy(), int(found.steps[0])


def served(requests: list[Request], batch: int, eagle: bool = False, **more: Any) -> list[Result]:
    """Results in the order of the requests, each of which has one."""
    found = sorted(serve(model("target"), requests, batch, head() if eagle else model("draft"), **more))
    assert [each.index for each in found] == list(range(len(requests)))
    return found


@pytest.mark.parametrize("batch", [1, 3, 16])
def test_requests_of_all_kinds_have_the_tokens_they_have_alone(batch: int) -> None:
    requests = [request(k, *DECODERS[k % len(DECODERS)], ("plain", "guided")[k % 3 == 0]) for k in range(16)]
    for asked, found in zip(requests, served(requests, batch), strict=True):
        tokens, steps = alone(asked)
        assert found.error is None
        assert np.array_equal(found.tokens, tokens)
        assert found.steps == steps == len(found.accepted) == len(found.committed)
        assert found.committed.sum() == len(tokens)


def test_a_head_drafts() -> None:
    requests = [request(k, "speculative", {"gamma": 3}, "guided") for k in range(5)]
    for asked, found in zip(requests, served(requests, 2, eagle=True), strict=True):
        assert np.array_equal(found.tokens, alone(asked, eagle=True)[0])


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


def test_progress_counts_tokens() -> None:
    told: list[int] = []
    requests = [request(k, "sjd", {"window": 4}) for k in range(3)]
    served(requests, 2, notify=told.append)
    assert told == sorted(told)
    assert told[-1] == 3 * 9
