"""What a verifier makes of two drafts of one pair of rows, where a biased joint verification shows most plainly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from itertools import product
from typing import Any

import numpy as np

from simlab.certify.certificate import VERDICTS, Failure
from simlab.statistics import GTest

LEVEL = 1e-6  # false alarms of the test on a pair of rows
PAIR_CALLS = 4000
PAIR = "V = 2, gamma = 2, one pair of rows"


def with_pair(document: dict[str, Any], verify: Callable[..., Any], seed: int) -> dict[str, Any]:
    """A certificate that found nothing, with what ``verify`` makes of the pair, which decides then."""
    pair = pair_document(verify, PAIR_CALLS, seed)
    if pair["follows_the_target"]:
        return document | {"pair": pair}
    found = {"seconds_to_finding": document["seconds"], "calls_to_finding": document["calls"] + PAIR_CALLS}
    return document | {"pair": pair} | found | pair_failure(pair)


def pair_document(verify: Callable[..., Any], calls: int, seed: int) -> dict[str, Any]:
    """What a verifier makes of two drafts where block verification and its biased forms differ most plainly.

    At every position p = (1/3, 2/3) and q = (2/3, 1/3). The first two tokens, completed by p, are counted and held
    against their law by a G-test, whose rate of false alarms is ``LEVEL``.

    Parameters
    ----------
    verify
        A callable of the contract ``verify``.
    calls
        How often it is called.
    seed
        Of the calls.
    """
    rng, (p, q) = np.random.default_rng(seed), (np.array(row) / 3 for row in ((1, 2), (2, 1)))
    counts, accepted = dict.fromkeys(product((0, 1), repeat=2), 0), 0
    for _ in range(calls):
        drafts = rng.choice(2, size=2, p=q)
        tokens = verify(np.stack([p] * 3), np.stack([q] * 2), drafts, rng)
        accepted += len(tokens) - 1
        first, second = (*tokens, int(rng.choice(2, p=p)))[:2]
        counts[first, second] += 1
    test = GTest({tokens: float(p[tokens[0]] * p[tokens[1]]) for tokens in counts})
    p_value = float(test.p_value(counts))
    return {
        "p": p.tolist(),
        "q": q.tolist(),
        "calls": calls,
        "tokens": ["".join(map(str, tokens)) for tokens in counts],
        "target": [float(p[one] * p[two]) for one, two in counts],
        "measured": [count / calls for count in counts.values()],
        "accepted": accepted / calls,
        "p_value": p_value,
        "follows_the_target": p_value >= LEVEL,
        "test": str(test.stated(n=calls, level=LEVEL)),
    }


def pair_failure(pair: dict[str, Any]) -> dict[str, Any]:
    """What a certificate says where a pair of rows alone shows that the target is not followed."""
    told = f"two drafts of one pair of rows do not follow the target (p-value {pair['p_value']:.2g})"
    laws = zip(pair["tokens"], pair["target"], pair["measured"], strict=True)
    failure = Failure(
        kind="law",
        found_in=PAIR,
        told=told,
        case=PAIR,
        arguments={name: [pair[name]] * 2 for name in "pq"},
        calls=pair["calls"],
        tv_measured=sum(abs(p - x) for p, x in zip(pair["target"], pair["measured"], strict=True)) / 2,
        outcomes=[{"outcome": one, "target": p, "measured": x, "exact": None} for one, p, x in laws],
    )
    return {"verdict": "lossy", "meaning": VERDICTS["lossy"], "summary": told, "failure": asdict(failure)}
