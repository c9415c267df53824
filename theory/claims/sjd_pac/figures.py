"""The numbers from which SJD-PAC's published code redraws Figs. 1 and 4 of the paper: figs/make_figs.py.

They are the authors', taken from the figures, and all that says how large the bars and points are. They are not the
data: shares of Fig. 1a add up to 1.025, and contributions of Fig. 1b are not those of calls with these shares. Of which
prompts and window Fig. 1 is is not said, nor how many images any of them rests on.
"""

from __future__ import annotations

from collections.abc import Sequence

DRAWN = (
    'figs/make_figs.py of KangJialiang/SJD-PAC, commit 4fbc099f7f76, redraws the figure ("All numbers are taken '
    'directly from the paper") from'
)
SHARES = (0.49, 0.22, 0.11, 0.075, 0.045, 0.028, 0.018, 0.012, 0.009, 0.006, 0.004, 0.003, 0.0022, 0.0015, 0.001)
"""Fig. 1a: of the calls of SJD that commit 1 to 15 tokens. They add up to 1.025, and are scaled."""
GAINS = (0.0, 0.175, 0.197, 0.17, 0.135, 0.075, 0.05, 0.035, 0.025, 0.018, 0.012, 0.008, 0.006, 0.004, 0.003)
"""Fig. 1b: what these calls contribute to the speedup. They add up to 0.913.

By Fig. 1a calls of k tokens would contribute in proportion to (k - 1) times their share: those of more than 5 tokens
41 % and not 24 %, or 26 % of the sum.
"""
OFFSETS = (1, 3, 5, 7, 9, 11, 13, 15)
TEXT = (0.32, 0.15, 0.11, 0.095, 0.088, 0.083, 0.080, 0.078)
"""Fig. 4: TV of text tokens by offset."""
IMAGE = (0.32, 0.06, 0.042, 0.034, 0.030, 0.027, 0.025, 0.024)
"""Fig. 4: TV of image tokens by offset."""


def above(length: int, shares: Sequence[float] = SHARES) -> float:
    """The share of calls that commit more than ``length`` tokens."""
    return sum(shares[length:]) / sum(shares)


def gained(length: int, shares: Sequence[float] = SHARES) -> float:
    """The share of the tokens beyond one a call that calls with more than ``length`` tokens give."""
    beyond = [share * k for k, share in enumerate(shares)]
    return sum(beyond[length:]) / sum(beyond)
