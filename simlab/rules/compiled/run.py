"""Call compiled rules from Python; Numba is loaded with the first row."""

from __future__ import annotations

import numpy as np

from simlab.rules.base import Rule, Step


def compiled_step(rule: Rule, p: np.ndarray, q: np.ndarray) -> Step:
    """:meth:`simlab.rules.Rule.step_rows` of one pair of rows ``[V]``, compiled: for vocabularies of thousands.

    Rows are float32 or float64 and taken as they are, unchecked. A rule that has no compiled form is asked as it is.
    Raises ``ValueError`` for one with a table of another vocabulary.
    """
    from simlab.rules.compiled.dispatch import COMPILERS, compiled, step

    if type(rule) not in COMPILERS:
        return rule.step_rows(p, q)
    rule.check_vocabulary(p.shape[-1])
    return Step(*step(compiled(rule), np.ascontiguousarray(p), np.ascontiguousarray(q)))
