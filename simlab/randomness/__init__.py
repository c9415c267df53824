"""Random choices: sampled from a tape of uniforms, or enumerated with exact probabilities."""

from simlab.randomness.base import Purpose, Randomness
from simlab.randomness.enumerator import Enumerator, Path, explore
from simlab.randomness.tape import Tape

__all__ = ["Enumerator", "Path", "Purpose", "Randomness", "Tape", "explore"]
