"""Chance: a tape for running, an enumerator for proving."""

from simlab.chance.base import Chance, Purpose
from simlab.chance.enumerator import Enumerator, Path, explore
from simlab.chance.tape import Tape

__all__ = ["Chance", "Enumerator", "Path", "Purpose", "Tape", "explore"]
