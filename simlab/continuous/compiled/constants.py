"""Whole numbers that are handed to compiled functions.

They are NumPy's: for each of Python's own, Numba would compile the function once more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simlab.randomness import Purpose


def _fixed(value: int) -> Any:
    return np.int64(value)


ACCEPT, DRAFT, TARGET = _fixed(Purpose.ACCEPT), _fixed(Purpose.DRAFT), _fixed(Purpose.TARGET)
PROPOSAL, TRIAL = _fixed(Purpose.PROPOSAL), _fixed(Purpose.TRIAL)
START_NOISE, LAST_NOISE = _fixed(0), _fixed(1)  # denoising steps on the tape: that of x_T, and the last one

OWN = _fixed(0)  # of the chains of a compiled model, its own
FIRST, END, MARGINAL, START, CONDITION = _fixed(0), _fixed(-4), _fixed(-3), _fixed(-2), _fixed(-1)  # of its maps
EXTRA = 4  # maps beside the T kernels
