"""Compiled rules: each rule of :mod:`simlab.rules`, one row at a time, inside Numba kernels.

A compiled rule is a :class:`CompiledRule`, plain numbers and tables of one type for all rules, so that a decoder is
compiled once and not once a rule; its ``kind`` says which it is. The lossless one alone has a type of its own,
:class:`Lossless`: kernels for it hold no other rule, and take half as long to compile. The formulas lie beside their
definitions in name: :mod:`~simlab.rules.compiled.ratio` for the lossless rule, :mod:`~simlab.rules.compiled.grouped`,
:mod:`~simlab.rules.compiled.lantern` and, for the rest, :mod:`~simlab.rules.compiled.lossy`;
:mod:`~simlab.rules.compiled.dispatch` chooses among them.

All functions take contiguous rows ``p[V]`` and ``q[V]``, float32 or float64, and add up in the order of the
definition. ``typical``, ``medusa-reference``, ``fuzzy``, ``mars`` and ``lantern`` with a Jensen-Shannon bound take
logarithms; there a decision may differ from the definition where a threshold is met to the last bit, since libraries
round logarithms differently.
"""

from simlab.rules.compiled.run import compiled_step

__all__ = ["compiled_step"]
