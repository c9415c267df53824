"""Decoders of continuous tokens, one file each."""

from simlab.continuous.decoders.base import Decoded, Outcome
from simlab.continuous.decoders.in_place import InPlace
from simlab.continuous.decoders.truncating import Truncating

__all__ = ["Decoded", "InPlace", "Outcome", "Truncating"]
