"""Input and output types of recorders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from simlab.decoders import Decoder
from simlab.decoders.compiled import Simulation
from simlab.processes import Pair
from simlab.randomness import Tape
from simlab.rules import Rule


class Sample(NamedTuple):
    """A simulation of B sequences, and everything it was made from."""

    simulation: Simulation
    pair: Pair
    decoder: Decoder
    rule: Rule
    tape: Tape


Columns = Mapping[str, Any]  # [B], or B lists, by name
