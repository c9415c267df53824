"""Compiled decoders: the tokens of the reference form on the same tape, bit for bit, for large vocabularies.

Compiled code is kept on disk, beside the files, as long as they stay as they are (:mod:`simlab.kernel_cache`).
"""

from simlab.decoders.compiled.run import Simulation, has_kernel, simulate

__all__ = ["Simulation", "has_kernel", "simulate"]
