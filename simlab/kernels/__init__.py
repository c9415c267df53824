"""Rules and decoders compiled: the very tokens of the reference form on the same tape, at scale."""

from simlab.kernels.run import Simulation, simulate

__all__ = ["Simulation", "simulate"]
