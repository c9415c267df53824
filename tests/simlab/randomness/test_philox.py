"""Philox 4x32-10 is the published one, and the same in NumPy, torch and Numba, bit for bit.

The known answers are those of Random123 (Salmon, Moraes, Dror and Shaw, SC 2011; file ``kat_vectors``). Beyond
them, thousands of random counters and keys, and the corners of 32 bits, must give equal words in all libraries;
plain Python integers, which cannot overflow, are the reference.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from numba import njit

from simlab.randomness import philox_compiled as kernels
from simlab.randomness.philox import MASK, philox4x32, unit

pytestmark = pytest.mark.parity

KNOWN_ANSWERS = [
    # counter, key, output
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((MASK,) * 4, (MASK,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
COUNT = 20_000


@njit
def each(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numba's answer for every row (c0, c1, c2, c3, k0, k1): four words and a number in [0, 1)."""
    found, units = np.empty((len(words), 4), dtype=np.int64), np.empty(len(words))
    for i in range(len(words)):
        w = words[i]
        a, b, c, d = kernels.philox4x32(w[0], w[1], w[2], w[3], w[4], w[5])
        found[i, 0], found[i, 1], found[i, 2], found[i, 3] = a, b, c, d
        units[i] = kernels.unit(a, b)
    return found, units


def by_python(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows = [philox4x32(*row) for row in words.tolist()]
    return np.array(rows), np.array([((high >> 5 << 26) + (low >> 6)) / 2**53 for high, low, *_ in rows])


def by_numpy(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    found = philox4x32(*words.T)
    return np.stack(found, axis=1), unit(*found[:2])


def by_torch(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    found = philox4x32(*torch.from_numpy(words).T)
    return torch.stack(found, dim=1).numpy(), unit(*found[:2]).numpy()


LIBRARIES = {"numpy": by_numpy, "torch": by_torch, "numba": each}


def test_known_answers() -> None:
    words = np.array([(*counter, *key) for counter, key, _ in KNOWN_ANSWERS])
    assert by_python(words)[0].tolist() == [list(output) for *_, output in KNOWN_ANSWERS]


@pytest.fixture(scope="module")
def words() -> np.ndarray:
    """Random counters and keys, and every corner of 32 bits."""
    random = np.random.default_rng(0).integers(0, MASK, (COUNT, 6), endpoint=True)
    corners = np.array(list(product((0, 1, 1 << 31, MASK), repeat=6)))
    return np.concatenate([random, corners])


@pytest.mark.parametrize("library", LIBRARIES)
def test_all_libraries_agree_bit_for_bit(library: str, words: np.ndarray) -> None:
    found, units = LIBRARIES[library](words)
    expected, expected_units = by_python(words)
    assert np.array_equal(found, expected)
    assert np.array_equal(units, expected_units)
    assert 0 <= found.min() <= found.max() <= MASK
    assert 0 <= units.min() <= units.max() < 1
