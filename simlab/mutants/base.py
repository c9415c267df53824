"""What is known of a wrong implementation: its name, which bug it is an instance of, and the code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from simlab.arrays import Array

Code = TypeVar("Code")


@dataclass(frozen=True)
class Mutant(Generic[Code]):
    """A known bug. ``name`` completes the sentence "it looks like: ..."; ``mutant`` is its number in the docs."""

    name: str
    mutant: str
    run: Code


def single_draw(weights: Array, rng: np.random.Generator) -> int:
    """A token by inverse CDF, all of it in float32."""
    upto = weights.astype(np.float32).cumsum(dtype=np.float32)
    return int(np.searchsorted(upto, rng.random(dtype=np.float32) * upto[-1], side="right"))
