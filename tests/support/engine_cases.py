"""Requests served by fused kernels: cases, each with the tokens that every request has alone in the reference form.

``python -m tests.support.engine_cases NAME...`` prints, as JSON, where a case differs. As in
:mod:`tests.support.triton_cases`, interpreted kernels need a process of their own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from simlab.decoders import make_decoder
from simlab.models.engine import Request, Result, serve
from simlab.models.process.sampling import Sampling
from simlab.rules import Speculative, make_rule
from tests.support.interpreted import prepare_once
from tests.support.networks import CLASSES, Broken, alone, head, model

RULE = Speculative()
COMB = {"window": 2, "candidates": 2, "depth": 1}


@dataclass(frozen=True)
class Case:
    """Requests of some decoders, one after the other, ``batch`` at a time."""

    decoders: tuple[tuple[str, dict[str, Any]], ...]
    count: int = 4
    batch: int = 2
    guidance: float = 1.0
    eagle: bool = False
    cancelled: int | None = None
    nan: int | None = None  # the class whose rows are no numbers

    def requests(self) -> list[Request]:
        """Each with a seed, a replicate, a class and a temperature of its own."""
        found = []
        for k in range(self.count):
            name, parameters = self.decoders[k % len(self.decoders)]
            sampling = Sampling(self.guidance, temperature=(1.0, 0.7)[k % 2])
            seed = 5 + k if k % 2 else (1 << 63) + k
            found.append(Request(k % CLASSES, make_decoder(name, **parameters), RULE, seed, 10 + k, sampling))
        return found


CASES = {
    "chains": Case((("sjd-ac", {"window": 3}),), nan=1, cancelled=3),
    "own rows": Case((("sjd-vp", {"window": 3}), ("sjd2", {"window": 3})), count=6),
    "trees": Case((("sjd-pac", COMB),), count=3),
    "drafts": Case((("speculative", {"gamma": 2}), ("autoregressive", {})), count=3, guidance=2.0),
    "heads": Case((("speculative", {"gamma": 2}),), count=2, eagle=True, guidance=2.0),
}


def expected(case: Case, asked: Request, index: int) -> str | None:
    """The error that a request is to have."""
    if case.nan == asked.given:
        return "hold NaN"
    return "cancelled" if case.cancelled == index else None


def difference(case: Case, device: str = "cpu") -> str | None:
    """How the results differ from those of each request alone, None where they do not."""
    for which in (model("target"), model("draft"), head()):
        which.to(device)
    target: Any = model("target") if case.nan is None else Broken(case.nan)
    requests = case.requests()
    drafter = head() if case.eagle else model("draft")
    results = sorted(
        serve(target, requests, case.batch, drafter, lambda index: index == case.cancelled, device="cuda"),
        key=lambda result: result.index,
    )
    if [each.index for each in results] != list(range(case.count)):
        return f"results are of {[each.index for each in results]}; expected one of each request"
    return next(filter(None, (_differs(case, *pair, device) for pair in zip(results, requests, strict=True))), None)


def _differs(case: Case, found: Result, asked: Request, device: str) -> str | None:
    error = expected(case, asked, found.index)
    if (error is None) != (found.error is None) or (error or "") not in (found.error or ""):
        return f"request {found.index} ends with {found.error}; expected {error}"
    if error is not None:
        return None
    tokens, steps = alone(asked, case.eagle, device)
    if not np.array_equal(found.tokens, tokens) or found.steps != steps:
        return f"request {found.index} is {found.tokens}, {found.steps}; expected {tokens.tolist()}, {steps}"
    if found.committed.sum() != len(tokens) or len(found.accepted) != steps:
        return f"request {found.index} counts {found.committed.tolist()}; expected {len(tokens)} in {steps} calls"
    return None


def other_rules(device: str = "cpu") -> str | None:
    """A rule without a fused form is run in its reference form."""
    case = Case((("sjd-ac", {"window": 3}),))
    rule = make_rule("typical", epsilon=0.3, delta=0.3)
    requests = [replace(request, rule=rule) for request in case.requests()]
    model("target").to(device)
    for found in serve(model("target"), requests, 3, device="cuda"):
        told = _differs(case, found, requests[found.index], device)
        if told is not None:
            return told
    return None


def ends(device: str = "cpu") -> str | None:
    """A request that ends after three tokens has those of a whole one, and the others all of theirs."""
    case = Case((("sjd-ac", {"window": 3}),))
    whole = case.requests()
    requests = [
        replace(request, written=lambda tokens, k=k: k % 2 and len(tokens) > 2) for k, request in enumerate(whole)
    ]
    model("target").to(device)
    for found in serve(model("target"), requests, 3, device="cuda"):
        tokens, steps = alone(whole[found.index], device=device)
        count = int(found.committed.sum())
        over = found.index % 2 == 0
        if found.error or (count < len(tokens)) == over or (found.steps == steps) != over or count < 3:
            return f"request {found.index} ends after {count} tokens in {found.steps} calls ({found.error})"
        if not np.array_equal(found.tokens[:count], tokens[:count]):
            return f"request {found.index} is {found.tokens[:count]}; expected {tokens[:count]}"
    return None


CHECKS: dict[str, Callable[..., str | None]] = {
    **{name: partial(difference, case) for name, case in CASES.items()},
    "other rules": other_rules,
    "ends": ends,
}


if __name__ == "__main__":
    prepare_once()
    print(json.dumps({name: CHECKS[name]() for name in sys.argv[1:]}))
