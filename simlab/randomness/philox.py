"""Philox 4x32-10, a counter-based generator, written once for NumPy, torch and Numba.

Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. Only ``* << >> & | ^ +``
on 64-bit integers are used, and they wrap the same way everywhere, so the very same functions run on NumPy
arrays, on torch tensors, and compiled (:mod:`simlab.randomness.philox_compiled`). Words are 32 bits held in int64.
"""

from __future__ import annotations

from simlab.arrays import Array, namespace

MASK = 0xFFFFFFFF
ROUNDS = 10
STEP = 2.0**-53

Words = tuple[Array, Array, Array, Array]


def philox4x32(c0: Array, c1: Array, c2: Array, c3: Array, k0: Array, k1: Array) -> Words:
    """Four random words for the counter (c0, c1, c2, c3) under the key (k0, k1); all int64, 0 to 2^32 - 1."""
    for _ in range(ROUNDS):
        even = c0 * 0xD2511F53
        odd = c2 * 0xCD9E8D57
        c0, c1, c2, c3 = (
            ((odd >> 32) & MASK) ^ c1 ^ k0,
            odd & MASK,
            ((even >> 32) & MASK) ^ c3 ^ k1,
            even & MASK,
        )
        k0 = (k0 + 0x9E3779B9) & MASK
        k1 = (k1 + 0xBB67AE85) & MASK
    return c0, c1, c2, c3


def mantissa(high: Array, low: Array) -> Array:
    """The 53-bit number made of two words: 27 bits of ``high``, then 26 of ``low``."""
    return ((high >> 5) << 26) | (low >> 6)


def unit(high: Array, low: Array) -> Array:
    """That number over 2^53: a float64 in [0, 1)."""
    xp = namespace(high)
    return xp.astype(mantissa(high, low), xp.float64) * STEP
