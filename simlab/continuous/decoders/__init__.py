"""Decoders of continuous tokens, one file each."""

from simlab.continuous.decoders.autoregressive import autoregressive
from simlab.continuous.decoders.base import Decoded, Outcome, Verified
from simlab.continuous.decoders.in_place import InPlace
from simlab.continuous.decoders.truncating import Truncating

__all__ = ["Decoded", "InPlace", "Outcome", "Truncating", "Verified", "autoregressive"]
