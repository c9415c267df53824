"""Compiled decoders of continuous tokens: the decisions of the reference form on the same tape, at scale.

Compiled code is kept on disk, beside the files. Numba does not notice that a function it has compiled in has changed in
another file: after editing a kernel, delete ``simlab/continuous/compiled/__pycache__``.
"""

from simlab.continuous.compiled.run import simulate

__all__ = ["simulate"]
