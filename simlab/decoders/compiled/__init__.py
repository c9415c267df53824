"""Compiled decoders: the tokens of the reference form on the same tape, bit for bit, for large vocabularies.

Compiled code is kept on disk, beside the files. Numba does not notice that a function it has compiled in has changed in
another file: after editing a kernel, delete the ``__pycache__`` of the compiled packages.
"""

from simlab.decoders.compiled.run import Simulation, has_kernel, simulate

__all__ = ["Simulation", "has_kernel", "simulate"]
