"""Decoders of continuous tokens, one file each."""

from simlab.continuous.decoders.base import Decoded, Fate
from simlab.continuous.decoders.in_place import InPlace
from simlab.continuous.decoders.truncating import Truncating

__all__ = ["Decoded", "Fate", "InPlace", "Truncating"]
