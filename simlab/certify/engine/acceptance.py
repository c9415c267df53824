"""What a verifier leaves on the table: how often it keeps a draft, against the most that any lossless one could.

A draft counts as kept where the token that comes out in its place is the draft, however that came about. So a verifier
couples the law of the drafts with p, and no coupling makes the two equal more often than 1 - TV(p, q); with several
candidates than the optimum of :mod:`simlab.optimum`. Only the first drafts are looked at, of the cases that are small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.base import Case
from simlab.certify.engine.exact import Exact

DEVIATIONS = 3.29  # of a frequency, for its interval of confidence 0.999
ROUNDING = 1e-6  # that an enumerated acceptance and the optimum may differ by


@dataclass(frozen=True)
class Acceptance:
    """Means over cases of how often first drafts are kept."""

    kept: float  # what the verifier does; known up to ``within``, which is 0 where all cases were enumerated
    within: float
    most: float  # the most that any lossless verifier can
    # what it would be if the target's own token were drawn and compared with the draft: also lossless, sum p q
    matching: float
    # cases, enumerated: how many cases these are means over, and in how many of them kept is exact
    cases: int
    enumerated: int

    @property
    def told(self) -> str:
        """In a sentence; a share only of what is known to be another than all that is possible."""
        size = f" +- {self.within:.2g}" if self.within else ""
        all_of_it = abs(self.kept - self.most) <= self.within + ROUNDING
        share = "as much as is possible" if all_of_it else f"{self.kept / self.most:.0%} of what is possible"
        within = ": within that " if all_of_it and self.within else ", "
        return (
            f"first drafts are kept with {self.kept:.3g}{size}{within}{share} "
            f"without loss ({self.most:.3g}); drawing from p and matching keeps {self.matching:.3g}"
        )


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
