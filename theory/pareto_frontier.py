"""The least mean Wasserstein-1 distortion of a given mean acceptance over many contexts.

In one context it is a partial transport between what p and q have too much of. Over many contexts a rule may also
choose *where* to spend, so the least mean is that of the best share-out. Its Lagrangian separates: at price c for mass
moved, each context moves mass as long as that costs less than c, which is a full transport under the cost
min(metric, c), less what it moves at c. So every price gives one point of the frontier, and it gives a line below it
that touches there:

    mean W1 >= mean E_c - c (mean TV(p, q) - gained),    E_c the cost of the transport under min(metric, c).

The largest of these lines is a bound that no rule with one candidate crosses, and with more prices it comes as near to
the frontier as one likes. It is convex and 0 where nothing is gained.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from simlab.checks import as_metric, as_pair, check_at_least
from theory.distances import pot

__all__ = ["Envelope", "nearest_envelope"]


class Envelope(NamedTuple):
    """Points of the frontier, a price each, and the lines that touch it there."""

    price: np.ndarray  # [n]
    gained: np.ndarray  # [n]: mean acceptance beyond alpha
    wasserstein: np.ndarray  # [n]: mean distance
    most: float  # mean TV(p, q): what there is to gain

    def least(self, gained: Any) -> Any:
        """The bound: the least mean distance ``[...]`` at which ``gained[...]`` more than alpha is accepted."""
        lines = self.wasserstein + self.price * (np.asarray(gained)[..., None] - self.gained)
        return np.maximum(lines.max(axis=-1), 0.0)


def nearest_envelope(p: Any, q: Any, metric: Any, prices: int = 48) -> Envelope:
    """The frontier of rows ``p``, ``q`` ``[n, V]`` under one metric ``float[V, V]``, in its units.

    It has a point for each of so many ``prices``, at least 2, which are quantiles of the distances, and for one more;
    with more it comes nearer to the frontier. Raises ``ValueError`` if p or q is no pmf or not rows, their shapes
    differ, the metric is no table of finite distances, or ``prices`` < 2.
    """
    p, q = (np.asarray(rows, dtype=np.float64) for rows in as_pair(p, q))
    if p.ndim != 2 or not len(p):
        raise ValueError(f"p has shape {p.shape}; expected rows [n, V], at least one")
    cost = as_metric(metric, "metric", p.shape[-1])
    if not np.isfinite(cost).all():
        raise ValueError("metric holds infinity; expected finite distances")
    both = np.minimum(p, q)
    apart = [(over, under) for over, under in zip(p - both, q - both, strict=True) if over.sum() > 1e-12]
    away = cost[cost > 0]
    steps = np.linspace(0, 1, check_at_least("prices", prices, 2))
    levels = np.append(np.quantile(away, steps), 2 * away.max()) if away.size else np.ones(1)
    points = np.array([sum((_moved(u, v, cost, c) for u, v in apart), np.zeros(2)) for c in levels]) / len(p)
    return Envelope(levels, points[:, 0], points[:, 1], float(sum(u.sum() for u, _ in apart)) / len(p))


def _moved(over: np.ndarray, under: np.ndarray, cost: np.ndarray, price: float) -> np.ndarray:
    """The mass that is worth moving at a price, and what moving it costs."""
    rows, columns = over > 0, under > 0
    total, part = over.sum(), cost[np.ix_(rows, columns)]
    masses = over[rows] / total, under[columns] / under.sum()
    plan = pot().emd(*masses, np.minimum(part, price), center_dual=False, check_marginals=False) * total
    worth = part < price
    return np.array([plan[worth].sum(), (plan * part)[worth].sum()])
