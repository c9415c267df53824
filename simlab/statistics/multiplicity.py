"""Many tests judged together, by Holm's method through statsmodels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simlab.statistics.power import check_share


def holm(p_values: Mapping[Any, float], level: float) -> dict[Any, float]:
    """The names rejected, with their adjusted p-values; any false one with probability at most ``level``.

    Raises ``ValueError`` unless 0 < level < 1 and all p-values are from 0 to 1.
    """
    from statsmodels.stats.multitest import multipletests

    check_share("level", level)
    values = np.array(list(p_values.values()), dtype=np.float64)
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"p_values hold {values[~((values >= 0) & (values <= 1))][0]}; expected numbers from 0 to 1")
    if not len(values):
        return {}
    rejected, adjusted, *_ = multipletests(values, alpha=level, method="holm")
    return {name: float(p) for name, wrong, p in zip(p_values, rejected, adjusted, strict=True) if wrong}
