"""What speculative decoding does on the trained pair of continuous tokens that comes with simlab.

    python -m experiments.models.continuous.measurement --images 20

draws images by each setting and writes ``theory/measured/fashion_continuous.json``, which the claims on this pair are
judged by. For every draft that is verified the probability of accepting it, min(1, rho), is known; its mean has less
spread than the share of accepted drafts. Drafts of one image hang together: errors are those of means of images.

MAR's own steps end with so little noise that last-step accepts nothing. Where nothing else is said, the sampler leaves
out the least noisy of the thousand steps, and ends with noise.

Speedups are ratios of processor time to the target alone, all images in one batch; beside them stands what CSpD's eq.
51 predicts from the acceptance and from the cost of the draft, drawing alone, by that of the target. What one call
costs, transformer and head apart, is measured for a batch of 16.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import process_time
from typing import Annotated, Any, NamedTuple

import numpy as np
from torch.utils.flop_counter import FlopCounterMode

from experiments.models.compare import estimate_record
from experiments.models.continuous.kind import Continuous
from experiments.options import count_option, file_option, run_module, seed_option
from experiments.results import write_json
from simlab.continuous.decoders import InPlace, Truncating, autoregressive
from simlab.continuous.decoders.base import Verified
from simlab.continuous.networks.adapter import NetworkTokens
from simlab.continuous.networks.fashion import orders
from simlab.continuous.networks.sampler import Sampler
from simlab.continuous.rules import Rule, make_rule
from simlab.continuous.rules.base import log_acceptance
from simlab.randomness import Tape
from simlab.statistics import clustered
from theory.acceptance import speedup as eq_51

RESULT = Path(__file__).parents[3] / "theory" / "measured" / "fashion_continuous.json"
USUAL = Sampler(12, least=250, noisy_end=True)
LIMIT = 200  # proposals
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
BLOCKS = (2, 4, 8, 16)
PREFILLS = (0, 2, 7, 12)  # none, 5 %, 15 % and 25 % of 49 tokens, as in Table 5
BATCH, CALLS = 16, 9  # of calls that are timed


@dataclass(frozen=True)
class Setting:
    """One way to draw images."""

    rule: str = "last-step"
    aligned: bool = True
    in_place: bool = False
    gamma: int = 4
    prefill: int = 0
    sampler: Sampler = USUAL

    def decoder(self) -> Truncating | InPlace:
        return (InPlace if self.in_place else Truncating)(self.gamma, self.prefill, LIMIT)

    def made(self) -> Rule:
        return make_rule(self.rule, aligned=self.aligned)


def settings() -> Iterator[tuple[str, Setting]]:
    """All of them by name."""
    for gamma in BLOCKS:
        yield f"gamma {gamma}", Setting(gamma=gamma)
    for prefill in PREFILLS[1:]:
        yield f"prefill {prefill}", Setting(prefill=prefill)
    yield "in place", Setting(in_place=True)
    yield "unaligned, last-step", Setting(aligned=False)
    yield "variance-product", Setting("variance-product")
    yield "two-path, independent noise", Setting("two-path", aligned=False)
    fixed = replace(USUAL, variances="posterior")
    yield "fixed variances", Setting(sampler=fixed)
    yield "fixed variances, reflection", Setting("reflection", sampler=fixed)
    changed = {
        "temperature 0.9": Setting(sampler=replace(USUAL, temperature=0.9)),
        "temperature 0.95": Setting(sampler=replace(USUAL, temperature=0.95)),
        "guidance 2": Setting(sampler=replace(USUAL, guidance=2.0)),
        "guidance 3": Setting(sampler=replace(USUAL, guidance=3.0)),
    }
    yield from changed.items()
    yield "MAR's steps", Setting(sampler=Sampler(25, noisy_end=True), gamma=2)
    others = {f"gamma {gamma}": Setting(gamma=gamma) for gamma in (2, 8)}
    others |= {f"prefill {prefill}": Setting(prefill=prefill) for prefill in PREFILLS[1:]}
    for name, setting in (others | changed).items():
        yield f"unaligned, {name}", replace(setting, aligned=False)
    silent = replace(USUAL, noisy_end=False)
    yield "no noise at the end, last-noise", Setting("last-noise", sampler=silent)
    yield "no noise at the end, target-end", Setting("target-end", sampler=silent)
    # the only noise is that of x_T: the density of the whole flow, a Jacobian a step
    yield "DDIM, last-noise", Setting("last-noise", gamma=2, sampler=replace(silent, variances="ddim"))


class Drafts(NamedTuple):
    """Drafts that were verified."""

    image: np.ndarray  # int[D], each draft's
    chance: np.ndarray  # float64[D], the probability of accepting it
    # sigma, with_sigma: float64[D]: log Sigma, and the probability with the product of variances in the ratio
    sigma: np.ndarray
    with_sigma: np.ndarray
    # float64[D], between the means of the step of the last noise, in the target's deviations; of none where x_T is all
    # the noise there is
    gap: np.ndarray


def drafts_of(rule: Rule, verified: Verified) -> Drafts:
    """What there is to say of drafts that were verified together."""
    pair, last = verified.pair, verified.pair.target.chain.last_noise
    ratio = rule.log_draft_ratio(pair)
    with np.errstate(invalid="ignore"):  # variances of 0 have no ratio
        sigma = pair.log_sigma()
    chance, with_sigma = (np.exp(log_acceptance(log_ratio)) for log_ratio in (ratio, ratio + sigma))
    gap = np.zeros(0)
    if last <= pair.target.chain.steps:
        target, draft = (trajectory.kernel(last) for trajectory in pair)
        gap = np.linalg.norm((target.mean - draft.mean) / target.root, axis=1)
    images = verified.tape.replicates.astype(int)
    return Drafts(images, chance, sigma, with_sigma, gap)


def cost(models: Continuous) -> dict[str, dict[str, float]]:
    """What the tokens of ``BATCH`` images in the middle of their orders cost both models.

    Milliseconds of the processor, the median of ``CALLS``, and millions of multiply-adds.
    """
    numbers = np.arange(BATCH)
    tokens = np.zeros((BATCH, models.pair.length, models.pair.target.config.token_dim))
    noise = np.random.default_rng(0).normal(size=(USUAL.steps + 1, *tokens[:, 0].shape))
    at = numbers * 0 + models.pair.length // 2

    def parts(model: NetworkTokens) -> dict[str, float]:
        conditions = model.conditions(tokens, numbers, at)
        calls: dict[str, Callable[[], object]] = {
            "transformer": lambda: model.conditions(tokens, numbers, at),
            "head": lambda: model.chain.walk(conditions, noise.__getitem__),
        }
        found = {}
        for name, call in calls.items():
            with FlopCounterMode(display=False) as counter:
                call()
            found[f"{name}_ms"] = 1e3 * float(np.median([seconds(call) for _ in range(CALLS)]))
            found[f"{name}_million_multiply_adds"] = counter.get_total_flops() / 2e6
        return found

    pair = models.pair.pair(numbers % 10, None, USUAL)
    return {"target": parts(pair.target), "draft": parts(pair.draft)}


def seconds(call: Callable[[], object]) -> float:
    """Of the processor, all threads together."""
    begun = process_time()
    call()
    return process_time() - begun


def speed(setting: Setting, acceptance: float, taken: float, alone: list[float]) -> dict[str, float]:
    """The speedup over the target alone, and eq. 51's; ``alone`` are the seconds of target and draft."""
    target, draft = alone
    return {
        "seconds": taken,
        "speedup": target / taken,
        "cost": draft / target,
        "predicted": float(eq_51(acceptance, setting.gamma, draft / target)),
    }


def measured(models: Continuous, setting: Setting, images: int, seed: int) -> dict[str, Any]:
    """What one setting does, over random orders and all classes in turn."""
    numbers = np.arange(images)
    order = orders("random", numbers, models.pair.length, seed)
    target, draft = models.pair.pair(numbers % 10, order, setting.sampler)
    rule, seen = setting.made(), list[Verified]()
    alone = [seconds(partial(autoregressive, model, Tape(seed, images))) for model in (target, draft)]
    begun = process_time()
    made = setting.decoder().run(target, draft, rule, Tape(seed, images), seen.append)
    taken = process_time() - begun
    image, chance, sigma, with_sigma, gap = map(
        np.concatenate, zip(*(drafts_of(rule, verified) for verified in seen), strict=True)
    )
    acceptance = estimate_record(clustered(image, chance))
    rejected = made.trials > 0
    return {
        "images": images,
        "drafts": len(chance),
        "acceptance": acceptance,
        # by how much the product of variances raises acceptance at the same trajectories
        **(
            {"sigma_adds": estimate_record(clustered(image, with_sigma - chance))}
            if setting.rule == "last-step"
            else {}
        ),
        "calls": estimate_record(clustered(numbers, made.calls)),
        "proposals_a_rejection": float(made.trials[rejected].mean()) if rejected.any() else None,
        "unfinished": float(np.isnan(made.tokens[:, :, 0]).mean()),
        "log_sigma": quantiles(sigma),
        "gap": quantiles(gap),
        **speed(setting, float(acceptance["mean"] or 0), taken, alone),
    }


def quantiles(values: np.ndarray) -> dict[str, float] | None:
    """By share; None without values, or where they are no numbers, as variances of 0 have no ratio."""
    if not len(values) or np.isnan(values).any():
        return None
    return dict(zip(map(str, QUANTILES), np.quantile(values, QUANTILES).tolist(), strict=True))


def begun(path: Path, images: int, seed: int, cost: Callable[[], Any]) -> dict[str, Any]:
    """What a run of as many images from the same seed has left at ``path``; else what a new one begins with."""
    if path.exists():
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if (found["images"], found["seed"]) == (images, seed):
            return found
    return {"images": images, "seed": seed, "cost": cost(), "settings": {}}


def measurement_command(
    images: Annotated[int, count_option("--images", "images a setting")] = 20,
    seed: Annotated[int, seed_option("of all random numbers")] = 0,
    out: Annotated[Path, file_option("--out", "where to write")] = RESULT,
) -> int:
    """Measure every setting that is not yet in the file."""
    models = Continuous()
    document = begun(out, images, seed, partial(cost, models))
    found = document["settings"]
    for name, setting in settings():
        if name in found:
            continue
        found[name] = measured(models, setting, images, seed)
        print(f"{name}: {found[name]['acceptance']}", flush=True)
        write_json(out, document)
    return 0


if __name__ == "__main__":
    sys.exit(run_module(measurement_command))
