"""The training loop of every model: deterministic in the order of data, and resumable.

Each step draws its batch and its noise from generators seeded with (seed, step), so a run that was killed goes on
from its last saved state as if nothing had happened. Only the number of steps may change on the way, where a run takes
longer than there is time for: its *legs* say from which step on it was to take how many. The state is tensors and
numbers only, and is read as such.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from math import cos, pi
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from experiments.results import write
from simlab.checks import check_at_least, check_number
from simlab.models.checkpoints import first_line, load_plain

SAVE_EVERY = 100  # steps
WARM_UP = 0.05  # of all steps
CLIP = 1.0
CHUNK = 250  # images at a time where nothing is trained
HELD_OUT = 2000  # images that losses are measured on
DROPPED = 0.1  # of the classes, so that a model knows what no class is like
MIX = 0.05  # of a step's loss in the running mean that is displayed
NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True)
class Plan:
    """How long and how: the same for all models. Raises ``ValueError`` for a number that cannot be."""

    steps: int
    batch: int
    rate: float
    decay: float
    seed: int
    precision: str = "float32"
    compiled: bool = False

    def __post_init__(self) -> None:
        check_at_least("steps", self.steps, 1)
        check_at_least("batch", self.batch, 1)
        check_number("rate", self.rate)


class Trained(NamedTuple):
    """What a training took."""

    seconds: float  # those before an interruption too
    legs: list[list[int]]  # [first step, steps of the plan it followed]


class Task(ABC):
    """A model to be trained, and the loss of some of its examples; it is where they are."""

    model: nn.Module
    examples: int  # how many there are

    @abstractmethod
    def loss(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        """The mean loss of the examples ``rows[batch]``."""

    def after(self, step: int, generator: torch.Generator) -> None:  # noqa: B027  # most have nothing to do
        """Whatever follows a step of the optimiser."""


def train(
    task: Task,
    plan: Plan,
    state: Path,
    device: torch.device,
    notify: Callable[[int, str], None],
    built_on: Mapping[str, str] = NOTHING,
) -> Trained:
    """Train ``task.model`` in place.

    ``notify(step, text)`` hears of every step. The state is saved in ``state`` and removed by the caller; ``built_on``
    says what else the training comes from, by name. Raises ``ValueError`` for a state of another plan or of other
    things, one that cannot be read, and a loss that is not finite.
    """
    trained = [weights for weights in task.model.parameters() if weights.requires_grad]
    optimiser = torch.optim.AdamW(
        [
            {"params": [w for w in trained if w.ndim > 1], "weight_decay": plan.decay},
            {"params": [w for w in trained if w.ndim <= 1], "weight_decay": 0.0},
        ],
        lr=plan.rate,
        betas=(0.9, 0.95),
    )
    done, seconds, mean, legs = _resume(task.model, optimiser, plan, state, dict(built_on))
    began = perf_counter()
    task.model.train()
    if plan.compiled:
        task.model.compile()
    for step in range(done, plan.steps):
        for group in optimiser.param_groups:
            group["lr"] = plan.rate * schedule(step, plan.steps)
        generator = torch.Generator(device).manual_seed(step_seed(plan.seed, step))
        rows = torch.from_numpy(batch_rows(task.examples, plan, step)).to(device)
        with torch.autocast(device.type, torch.bfloat16, enabled=plan.precision == "bfloat16"):
            loss = task.loss(rows, generator)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(trained, CLIP)
        optimiser.step()
        task.after(step, generator)
        now = float(loss.detach())
        if not np.isfinite(now):
            raise ValueError(f"the loss is {now} at step {step}; expected a finite one: try a lower rate")
        mean = now if step == 0 else (1 - MIX) * mean + MIX * now
        notify(step + 1, f"loss {mean:.3f}")
        if (step + 1) % SAVE_EVERY == 0:
            content = {
                "plan": asdict(plan),
                "built_on": dict(built_on),
                **Progress(step + 1, seconds + perf_counter() - began, mean, legs)._asdict(),
                # with the buffers that a checkpoint leaves out
                "weights": {**task.model.state_dict(), **dict(task.model.named_buffers())},
                "optimiser": optimiser.state_dict(),
            }
            write(state, partial(torch.save, content))
    task.model.eval()
    return Trained(seconds + perf_counter() - began, legs)


def some_dropped(labels: Tensor, nothing: int, generator: torch.Generator) -> Tensor:
    """Classes ``int[n]``, some of which are ``nothing``."""
    dropped = torch.rand(len(labels), generator=generator, device=labels.device) < DROPPED
    return torch.where(dropped, nothing, labels)


def schedule(step: int, steps: int) -> float:
    """The share of the rate at a step: up in a line, then down along a cosine to a tenth and below."""
    warm = max(1, int(WARM_UP * steps))
    if step < warm:
        return (step + 1) / warm
    return 0.02 + 0.98 * (1 + cos(pi * (step - warm) / max(1, steps - warm))) / 2


def step_seed(seed: int, step: int) -> int:
    """A seed for one step of a run."""
    return int(np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)[0] >> 1)


def batch_rows(examples: int, plan: Plan, step: int) -> np.ndarray:
    """Which examples step ``step`` sees: every epoch has an order of its own."""
    places = np.arange(step * plan.batch, (step + 1) * plan.batch)
    epochs = places // examples
    orders = {epoch: np.random.default_rng([plan.seed, int(epoch)]).permutation(examples) for epoch in set(epochs)}
    return np.array([orders[epoch][place % examples] for epoch, place in zip(epochs, places, strict=True)])


class Progress(NamedTuple):
    """How far a training is."""

    step: int
    seconds: float
    loss: float  # the running mean
    legs: list[list[int]]


def _resume(
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    plan: Plan,
    path: Path,
    built_on: dict[str, str],
) -> Progress:
    """How far it is, with model and optimiser as they were then."""
    if not path.is_file():
        return Progress(0, 0.0, 0.0, [[0, plan.steps]])
    try:
        # through the host: the optimiser takes its moments to the device, and counts its steps here
        content: dict[str, Any] = load_plain(path)
        progress = Progress(*(content[name] for name in Progress._fields))
        begun, other = {**content["plan"], "steps": plan.steps}, content["built_on"] != built_on
        asked = progress.legs[-1][1]
    except Exception as error:  # whatever a damaged file makes of the reader
        raise ValueError(f"{path}: {first_line(error)}; expected a saved state: delete it to begin again") from None
    if other:
        raise ValueError(f"{path}: was begun on other data or models; delete it to begin again")
    if begun != asdict(plan):
        raise ValueError(f"{path}: was begun as {begun}; expected {asdict(plan)}: delete it to begin again")
    if asked != plan.steps and progress.step >= plan.steps:  # what follows the last step would be left out
        raise ValueError(
            f"{path}: has taken {progress.step} steps; expected a plan of more than {plan.steps}: delete it to begin "
            "again"
        )
    try:
        with torch.no_grad():
            for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
                tensor.copy_(content["weights"][name])
        optimiser.load_state_dict(content["optimiser"])
    except Exception as error:  # of a model with other parts
        raise ValueError(
            f"{path}: {first_line(error)}; expected the saved state of such a model: delete it to begin again"
        ) from None
    return progress if asked == plan.steps else progress._replace(legs=[*progress.legs, [progress.step, plan.steps]])
