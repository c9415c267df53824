"""Certificates of verifiers that are published as code: ``python -m experiments.certification.published NAME FOLDER``.

FOLDER is a checkout of the repository at the commit that is certified, NAME one of those that ``--list`` lists. The
certificate is written to ``--out``, with repository, commit and the versions of what ran it. Those that are kept with
the project are in ``experiments/engines/certificates``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from experiments.certification.request import finite
from experiments.results import versions, write_json
from simlab import __version__
from simlab.certify import certify
from simlab.certify.adapters.checkouts.registry import PUBLISHED, Published, commit_of
from simlab.certify.api import LIMIT
from simlab.certify.certificate import VERDICTS, Failure
from simlab.statistics import GTest

LEVEL = 1e-6  # false alarms of the test on a pair of rows
PAIR_CALLS = 4000
PAIR = "V = 2, gamma = 2, one pair of rows"


def certificate_of(
    published: Published, checkout: Path, budget: float, epsilon: float = 0.03, seed: int = 0, limit: float = LIMIT
) -> dict[str, Any]:
    """What is written: the certificate, and what was certified.

    Raises ``ValueError`` if the folder is no checkout, or has not what is certified.

    Parameters
    ----------
    published
        The verifier.
    checkout
        The folder of its repository.
    budget
        Seconds.
    epsilon
        The TV that a pass excludes.
    seed
        Of the random calls.
    limit
        Seconds that a call may take.
    """
    commit = commit_of(checkout)
    asked: dict[str, Any] = {"budget": budget, "epsilon": epsilon, "seed": seed, "processes": 1, "limit": limit}
    found = certify(published.callable(checkout), published.contract, **asked)
    document: dict[str, Any] = finite(found.document)
    for failure in (document["failure"], document["edge"]):
        if failure:
            failure["script"] = ""  # it would need the checkout
    about = {"name": published.name, "about": published.about, "repository": published.repository, "commit": commit}
    about["command"] = f"python -m experiments.certification.published {published.name} FOLDER --budget {budget:g}"
    ran = {"file": published.file, "budget": budget, "seed": seed, "simlab": __version__, "versions": versions()}
    if published.contract == "verify":
        pair = document["pair"] = pair_document(published.callable(checkout), PAIR_CALLS, seed)
        if document["verdict"] in ("lossless", "inconclusive") and not pair["follows_the_target"]:
            document |= pair_failure(pair)
    return about | ran | document


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


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 0 where a certificate was written, 2 for wrong usage."""
    parser = argparse.ArgumentParser(prog="python -m experiments.certification.published", description=__doc__)
    parser.add_argument("name", nargs="?", choices=list(PUBLISHED), metavar="NAME", help="what is certified")
    parser.add_argument("checkout", nargs="?", type=Path, metavar="FOLDER", help="a checkout of its repository")
    parser.add_argument("--out", type=Path, default=Path("out/published-code"), help="the folder to write to")
    parser.add_argument("--budget", type=float, default=60.0, metavar="S", help="seconds (default: 60)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the random calls (default: 0)")
    parser.add_argument("--list", action="store_true", help="list what can be certified")
    asked = parser.parse_args(arguments)
    if asked.list:
        for each in PUBLISHED.values():
            print(f"{each.name:26}{each.contract:20}{each.repository}: {each.about}")
        return 0
    if asked.checkout is None:
        parser.error("expected NAME and FOLDER, or --list")
    try:
        document = certificate_of(PUBLISHED[asked.name], asked.checkout, asked.budget, seed=asked.seed)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    path = asked.out / f"{asked.name}.json"
    write_json(path, document)
    print(f"{document['verdict']}: {document['summary']}")
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
