"""Random choices: sampled from a tape of uniforms, or enumerated with exact probabilities."""

from simlab.randomness.base import Choices, Purpose, Randomness, Run
from simlab.randomness.enumerator import Enumerator, Path, explore
from simlab.randomness.tape import Tape

__all__ = ["Choices", "Enumerator", "Path", "Purpose", "Randomness", "Run", "Tape", "explore"]
