"""Chance: a tape for running, an enumerator for proving."""

from simlab.randomness.base import Chance, Purpose
from simlab.randomness.enumerator import Enumerator, Path, explore
from simlab.randomness.tape import Tape

__all__ = ["Chance", "Enumerator", "Path", "Purpose", "Tape", "explore"]
