"""How a network's kernels are sampled: steps, variances, temperature, guidance, and the end.

MAR's own sampler (Li et al., arXiv 2406.11838) takes 100 of 1000 steps of the cosine schedule with learned variances,
multiplies the noise of steps by a temperature, lets guidance rise linearly with the tokens that are there, and adds no
noise at its last step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from simlab.checks import check_at_least, check_choice, check_flag, check_number
from simlab.continuous.models.diffusion import SPACINGS, ForwardSteps, forward_steps, respacing, schedule

TRAIN_STEPS = 1000  # of the diffusion, by the cosine schedule
VARIANCES = ("learned", "posterior", "upper", "ddim")


@dataclass(frozen=True)
class Sampler:
    """A way to sample the kernels of a network that was trained on 1000 steps of the cosine schedule.

    Raises ``ValueError`` for any other value. See Li et al., arXiv 2406.11838; Song et al., "Denoising diffusion
    implicit models", 2020, eqs. 12 and 16.
    """

    steps: int = 25  # T, how many of the 1000 are taken
    # how many of the 1000, from the least noisy on, they are spread over. MAR has 1000; but in the last of them nothing
    # is left of a token, and a small network's error there is multiplied by a thousand on the way down
    span: int = 950
    # how many of the least noisy of them are left out, so that the last step goes further and has more noise
    least: int = 0
    # which of the rest are taken: "linspace", as MAR does, ends with the least noisy, "trailing" does not
    spacing: str = "linspace"
    variances: str = "learned"  # "learned"; fixed ones, "posterior" or "upper"; or "ddim", those that eta says
    temperature: float = 1.0  # factor of the noise of every step but of the first states, at least 0
    guidance: float = 1.0  # of the last tokens, at least 0; it rises linearly from the first. At 1 there is none
    noisy_end: bool = False  # whether the last step adds its noise: MAR's does not
    eta: float = 0.0  # share of DDPM's noise, from 0 to 1, where variances are DDIM's

    def __post_init__(self) -> None:
        check_at_least("steps", self.steps, 1)
        wanted = self.steps + check_at_least("least", self.least, 0)
        if not wanted <= check_at_least("span", self.span, 1) <= TRAIN_STEPS:
            raise ValueError(f"span is {self.span}; expected {wanted}, steps and least together, to {TRAIN_STEPS}")
        check_choice("spacing", self.spacing, SPACINGS)
        check_choice("variances", self.variances, VARIANCES)
        check_number("temperature", self.temperature)
        check_number("guidance", self.guidance)
        check_flag("noisy_end", self.noisy_end)
        check_number("eta", self.eta, 0, 1)

    @property
    def original(self) -> np.ndarray:
        """``int64[T]``: the numbers of its steps among the 1000, from 0."""
        return self.least + respacing(self.span - self.least, self.steps, self.spacing)

    @property
    def forward(self) -> ForwardSteps:
        """The steps of the forward process."""
        return forward_steps(schedule("cosine", TRAIN_STEPS)[self.original])

    def scale(self, position: Any, length: int) -> Any:
        """``[R]``: the guidance of the tokens at ``position[R]`` of ``length``, as MAR has it for one token at a time.

        Position n counts as n + 1 of ``length`` tokens, but for the last, which counts as the one before.
        """
        left = (length - 1 - position).clip(min=1)
        return 1 + (self.guidance - 1) * (length - left) / length

    def adds_noise(self, t: int) -> bool:
        """Whether step t adds noise."""
        return (t > 1 or self.noisy_end) and not self._still(t)

    def _still(self, t: int) -> bool:
        """Whether kernel t is a point."""
        return self.temperature == 0 or (self.variances == "ddim" and self.eta * self.forward.tilde[t - 1] == 0)

    def check_density(self, first: int, last: int) -> None:
        """Raise ``ValueError`` if a kernel of the steps ``first`` to ``last`` has no density."""
        for t in range(first, last + 1):
            if self._still(t):
                why = f"DDIM with eta = {self.eta:g}" if self.temperature else "temperature 0"
                raise ValueError(
                    f"kernel {t} of {self.steps} adds no noise, by {why}; expected one with a density: a step that "
                    "adds no noise leads to points, and ratios of densities do not exist; the rule last-noise compares "
                    "what the noise before it leads to"
                )
