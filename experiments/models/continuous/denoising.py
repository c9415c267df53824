"""Speculative sampling of the denoising steps of the trained pair of continuous tokens, step by step and as a block.

    python -m experiments.models.continuous.denoising OUT --images 8

draws images token by token, the steps of each token drafted and verified (:mod:`simlab.continuous.drafted_steps`), and
writes how many calls of the target's head a token takes, for drafts of the draft model and of the target's own step
repeated. Variances are fixed, as the coupling asks. A call sees gamma + 1 states at most; the transformer in front of
the head is called once a token in any case. Errors are of means of images.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.models.continuous.kind import Continuous
from experiments.models.own import load_models
from experiments.models.session import check_device
from experiments.results import versions, write_json
from simlab.continuous.drafted_steps import drafted_steps
from simlab.continuous.networks.adapter import NetworkTokens
from simlab.continuous.networks.fashion import orders
from simlab.continuous.networks.sampler import Sampler
from simlab.statistics import estimate

SAMPLER = Sampler(12, least=250, variances="posterior", noisy_end=True)
GAMMAS = 1, 2, 4


def measured(models: Continuous, images: int, gamma: int, own: bool, block: bool, seed: int = 0) -> dict[str, Any]:
    """What one setting takes; ``own``: the target's step is its draft."""
    numbers, rng = np.arange(images), np.random.default_rng(seed)
    pair = models.pair.pair(numbers % 10, orders("raster", numbers, models.pair.length, seed), SAMPLER)
    tokens = np.zeros((images, models.pair.length, models.pair.target.config.token_dim))
    calls, accepted, drafted = (np.zeros((images, models.pair.length)) for _ in range(3))
    deviations = np.array([_deviation(pair.target, tokens, t) for t in range(1, SAMPLER.steps + 1)])
    for place in range(models.pair.length):
        target, draft = (means(model, tokens, numbers, place) for model in pair)
        start = rng.standard_normal(tokens[:, place].shape)
        found = drafted_steps(target, None if own else draft, start, deviations, gamma, rng, block)
        tokens[:, place] = found.tokens
        calls[:, place], accepted[:, place], drafted[:, place] = found.calls, found.accepted, found.drafted
    each = estimate(calls.mean(axis=1))
    return {
        "gamma": gamma,
        "draft": "own step" if own else "draft model",
        "verified": "as a block" if block else "step by step",
        "calls": each.mean,
        "error": each.error,
        "acceptance": float(accepted.sum() / drafted.sum()),
    }


def means(model: NetworkTokens, tokens: np.ndarray, rows: np.ndarray, place: int) -> Any:
    """The means of a model's kernels for the tokens at a place."""
    conditions = model.conditions(tokens, rows, np.full(len(rows), place))
    return partial(_means, model, conditions)


def _means(model: NetworkTokens, conditions: Any, t: int, x: np.ndarray, rows: np.ndarray) -> np.ndarray:
    found: np.ndarray = model.chain.kernel(t, x, conditions[rows]).mean
    return found


def _deviation(model: NetworkTokens, tokens: np.ndarray, t: int) -> float:
    """Of kernel t, which fixed variances have for all tokens and numbers."""
    first = np.zeros(1, np.int64)
    conditions = model.conditions(tokens[:1], first, first)
    return float(np.ravel(model.chain.kernel(t, tokens[:1, 0], conditions).root)[0])


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m experiments.models.continuous.denoising", description=__doc__)
    parser.add_argument("out", type=Path, metavar="OUT", help="the file to write")
    parser.add_argument("--images", type=int, default=8, metavar="N", help="of each setting (default: 8)")
    given = parser.parse_args(arguments)
    models = load_models("fashion-continuous", None, check_device("cpu"))
    assert isinstance(models, Continuous)
    rows = []
    for gamma in GAMMAS:
        for own in (False, True):
            for block in (False, True):
                rows.append(measured(models, given.images, gamma, own, block))
                print(rows[-1], flush=True)
    write_json(given.out, {"images": given.images, "steps": SAMPLER.steps, "versions": versions(), "rows": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
