"""A sequential test of what goes wrong in one call of so many.

In a batch of calls in turn those at each place of the period are tested on their own; it is not known at which place
the function's own count stands when a batch begins, so the evidence of a batch is the mean over the places, and that of
several batches is their product: under the law its expectation stays 1, as that of
:class:`~simlab.statistics.Sequential`.
"""

from __future__ import annotations

from copy import copy

import numpy as np

from simlab.arrays import Array
from simlab.statistics import Sequential


class Periodic:
    """Whether calls at every place modulo ``period`` follow ``law``; counts are ``[period * K]``, of one batch each."""

    def __init__(self, law: Array, period: int) -> None:
        self.period = period
        self.whole, self.apart = Sequential(law), Sequential(law)  # of all calls, and of each place
        self.log_e = self.highest = 0.0

    @property
    def n(self) -> int:
        return self.whole.n

    def update(self, counts: Array) -> Periodic:
        """The test after one batch more; as :meth:`simlab.statistics.Sequential.update`."""
        table = np.asarray(counts).reshape(self.period, -1)
        later = copy(self)
        later.whole = self.whole.update(table.sum(axis=0))
        called = table[table.sum(axis=1) > 0]
        apart = self.apart.update(called).log_e_value
        unseen = self.period - len(called)  # places without a call: no evidence, which is 1
        later.log_e = self.log_e + float(np.logaddexp.reduce([*apart, *[0.0] * unseen])) - float(np.log(self.period))
        later.highest = max(self.highest, max(later.log_e, float(later.whole.highest)) - float(np.log(2)))  # of two
        return later

    def tv_upper(self, confidence: float) -> float:
        """Of all calls together: where the places of a period differ, each can be farther from the law."""
        return self.whole.tv_upper(confidence)

    def detectable(self, n: int, level: float) -> float:
        """Of all calls together as well, of n; half of the level is for those of each place."""
        return self.whole.detectable(n, level / 2)
