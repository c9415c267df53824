"""Speculative sampling of the denoising steps of the trained pair of continuous tokens, step by step and as a block.

    python -m experiments.models.continuous.denoising OUT --images 8

draws images token by token, the steps of each token drafted and verified (:mod:`simlab.continuous.drafted_steps`), and
writes how many calls of the target's head a token takes, for drafts of the draft model and of the target's own step
repeated. Variances are fixed, as the coupling asks. A call sees gamma + 1 states at most; the transformer in front of
the head is called once a token in any case. Errors are of means of images.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from experiments.models.continuous.kind import Continuous
from experiments.options import count_option, run_module
from experiments.results import versions, write_json
from simlab.continuous.drafted_steps import Means, drafted_steps
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


def means(model: NetworkTokens, tokens: np.ndarray, rows: np.ndarray, place: int) -> Means:
    """The means of a model's kernels for the tokens at a place."""
    conditions = model.conditions(tokens, rows, np.full(len(rows), place))
    return lambda t, x, rows: model.chain.kernel(t, x, conditions[rows]).mean


def _deviation(model: NetworkTokens, tokens: np.ndarray, t: int) -> float:
    """Of kernel t, which fixed variances have for all tokens and numbers."""
    first = np.zeros(1, np.int64)
    conditions = model.conditions(tokens[:1], first, first)
    return float(np.ravel(model.chain.kernel(t, tokens[:1, 0], conditions).root)[0])


def denoising_command(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="the file to write")],
    images: Annotated[int, count_option("--images", "of each setting")] = 8,
) -> int:
    """Measure what is taken of denoising steps that are verified."""
    models = Continuous()
    rows = []
    for gamma in GAMMAS:
        for own in (False, True):
            for block in (False, True):
                rows.append(measured(models, images, gamma, own, block))
                print(rows[-1], flush=True)
    write_json(out, {"images": images, "steps": SAMPLER.steps, "versions": versions(), "rows": rows})
    return 0


if __name__ == "__main__":
    sys.exit(run_module(denoising_command))
