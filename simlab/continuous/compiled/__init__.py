"""Compiled decoders of continuous tokens: the decisions of the reference form on the same tape, at scale.

Compiled code is kept on disk, beside the files, as long as they stay as they are (:mod:`simlab.kernel_cache`).
"""

from simlab.continuous.compiled.run import simulate

__all__ = ["simulate"]
