"""What a verifier leaves on the table: how often it keeps a draft, against the most that any lossless one could.

A draft counts as kept where the token that comes out in its place is the draft, however that came about. So a verifier
couples the law of the drafts with p, and no coupling makes the two equal more often than 1 - TV(p, q); with several
candidates than the optimum of :mod:`simlab.optimum`. Only the first drafts are looked at, of the cases that are small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

import numpy as np

from simlab.arrays import Array
from simlab.certify.certificate import Acceptance
from simlab.certify.contracts.base import Case
from simlab.certify.engine.exact import Exact

DEVIATIONS = 3.29  # of a frequency, for its interval of confidence 0.999


def acceptance(cases: Sequence[Case], laws: Mapping[int, Exact], kept: Array, calls: Array) -> Acceptance | None:
    """How often first drafts are kept in the small cases that were enumerated or called; ``None`` without one.

    Parameters
    ----------
    cases
        All cases.
    laws
        What was enumerated, by the number of the case.
    kept, calls
        ``[cases]``: in how many of the calls the first draft was kept.
    """
    found = []
    for i, case in enumerate(cases):
        exact = laws[i].kept if i in laws else None
        if case.possible and case.possible.most and (exact is not None or calls[i]):
            share = float(kept[i] / calls[i]) if exact is None else exact
            variance = share * (1 - share) / calls[i] if exact is None else 0.0
            found.append((share, variance, *case.possible, exact is not None))
    if not found:
        return None
    share, variance, most, matching, exact_ones = np.array(found, np.float64).T
    return Acceptance(
        kept=float(share.mean()),
        within=DEVIATIONS * sqrt(float(variance.sum())) / len(found),
        most=float(most.mean()),
        matching=float(matching.mean()),
        cases=len(found),
        enumerated=int(exact_ones.sum()),
    )
