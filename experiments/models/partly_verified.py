"""What ``simlab compare`` cannot run of the trained pair: neighbourhoods of rejected drafts, and drafts of other rows.

    python -m experiments.models.partly_verified OUT --images 12

*Neighbourhoods*: blocks of the draft model, of whose tokens only those near a rejected one are drawn again, as MuLo-SD
does (:mod:`simlab.decoders.local`; the draft model stands in for one of lower resolution). The others keep what a
cache would have to forget, so nothing is cached. A call is counted for the block, and one for each token of its largest
island: islands are what is drawn again side by side or corner to corner, and may share calls; here their tokens are
drawn in turn all the same, which is no further from the target. *Rounded*: the draft model's rows as bfloat16 has
them, declared in float32, at every eighth place of images of the target; what is emitted is off by the TV of its law
from the target's row.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from scipy.ndimage import label
from torch import Tensor

from experiments.models.discrete.kind import Discrete
from experiments.models.likelihood import likelihood
from experiments.models.quality import rank_distance
from experiments.models.session import labels_for
from experiments.options import count_option, run_module
from experiments.results import versions, write_json
from simlab.arrays import how_many_first
from simlab.decoders import run
from simlab.decoders.local import Local
from simlab.models.process.sampling import Sampling
from simlab.models.process.uncached import Uncached
from simlab.processes.filters import bfloat16, softmax
from simlab.randomness import Tape
from simlab.rules import Speculative
from simlab.statistics import estimate
from theory.distances import tv
from theory.exact import step_law

DRAFTS, REACHES, TEMPERATURES, STRIDE = 32, (0, 1), (1.0, 0.7), 8
PLAIN = Sampling()


class Short(Uncached):
    """Sees no token behind the rows that are asked for."""

    def _rows(self, tokens: Tensor, start: Tensor, count: int) -> Tensor:
        return super()._rows(tokens[:, : int(start.max()) + count], start, count)


class Counted(Local):
    """Keeps how many tokens the largest island of each image had that a call has drawn again."""

    def near(self, process: Any, position: Tensor, rejected: Tensor) -> Any:
        found = super().near(process, position, rejected)
        behind = position > position[:, :1] + how_many_first(~rejected)[:, None]
        again = found & behind & (position < process.length)
        sizes = [
            largest_island(places[drawn], process.shape)
            for places, drawn in zip(position.numpy(), again.numpy(), strict=True)
        ]
        self.__dict__.setdefault("again", []).append(torch.tensor(sizes))
        return found


def largest_island(places: np.ndarray, shape: tuple[int, int]) -> int:
    """How many of these places of a grid hang together, by sides or corners."""
    grid = np.zeros(shape, bool)
    grid.flat[places] = True
    return int(np.bincount(label(grid, np.ones((3, 3)))[0].ravel())[1:].max(initial=0))


def neighbourhoods(models: Discrete, images: int, reach: int, seed: int = 0) -> dict[str, Any]:
    """Tokens a call of blocks whose neighbourhoods reach so far, and what ranks show of their TV."""
    labels = labels_for(seed, images)
    target, draft = (Short(model, torch.from_numpy(labels), PLAIN) for model in (models.target, models.draft))
    decoder = Counted(DRAFTS, reach=reach)
    done = run(decoder, target, Speculative(), Tape(seed, range(images)), draft)
    calls = (done.steps + torch.stack(vars(decoder)["again"]).sum(dim=0)).numpy()
    tokens = estimate(target.length / calls)
    ranks = rank_distance(likelihood(models, labels, done.tokens.numpy(), PLAIN, images), seed)
    return {"reach": reach, "rows": DRAFTS + 1, "tokens": tokens.mean, "error": tokens.error, "ranks": ranks}


@torch.no_grad()
def rounded(models: Discrete, images: int, temperature: float, seed: int = 0) -> dict[str, Any]:
    """Mean TV of the draft's rows in bfloat16 from those in float32, and of what is emitted from the target's."""
    labels = labels_for(seed, images)
    sampling = Sampling(temperature=temperature)
    tokens = torch.from_numpy(models.draw(models.method("ar", {}), labels, seed, sampling, images).tokens)
    places = np.arange(STRIDE, tokens.shape[1], STRIDE)
    target, draft = (Uncached(model, torch.from_numpy(labels), sampling) for model in (models.target, models.draft))
    p = target.forward(tokens, tokens[:, 0] * 0, target.length)[:, places].double().numpy()
    logits = draft.model.logits(draft.features(tokens)[:, places + draft.model.config.prefix - 1]).numpy()
    q = softmax(logits / np.float32(temperature)).astype(np.float64)
    masses = bfloat16(softmax(bfloat16(bfloat16(logits) / np.float32(temperature)))).astype(np.float64)
    r = masses / masses.sum(axis=-1, keepdims=True)
    off = [[tv(step_law(Speculative(), *rows[:2], drawn=rows[2]), rows[0]) for rows in zip(*each, strict=True)]
           for each in zip(p, q, r, strict=True)]  # fmt: skip
    found = estimate(np.array(off, np.float64).mean(axis=1))
    apart = float(np.abs(r - q).sum(axis=-1).mean() / 2)
    return {"temperature": temperature, "apart": apart, "tv": found.mean, "tv_error": found.error}


def partly_verified_command(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="the file to write")],
    images: Annotated[int, count_option("--images", "of each setting")] = 12,
) -> int:
    """Measure drafts that are verified in part, and rows that are rounded."""
    models = Discrete()
    found: dict[str, Any] = {"images": images, "drafts": DRAFTS, "versions": versions()}
    asked: Any = (("rounded", rounded, TEMPERATURES), ("neighbourhoods", neighbourhoods, REACHES))
    for name, measured, settings in asked:
        found[name] = []
        for each in settings:
            found[name].append(measured(models, images, each))
            print(name, found[name][-1], flush=True)
    write_json(out, found)
    return 0


if __name__ == "__main__":
    sys.exit(run_module(partly_verified_command))
