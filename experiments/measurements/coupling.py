"""Tokens a call of lossless decoders at equal rows a call, on the simulated image process.

Couplings (how drafts behind a rejection are renewed) beside trees (several candidates at the first positions), and both
together. Adaptive continuation of SJD-PAC is the maximal coupling, so ``sjd-pac`` is a tree with it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from simlab.decoders import Decoder, Sjd, SjdPac
from theory.image_process import FEW, speed

ROWS = 32, 64  # drafts a call
TREE = {"candidates": 4, "depth": 3}  # SJD-PAC's K and D
RENEWALS = "fresh", "maximal", "gumbel"


def decoders(rows: int) -> Iterator[tuple[str, str, Decoder]]:
    """Shape, renewal and decoder of everything that is compared at that many drafts a call."""
    for renewal in RENEWALS:
        yield "chain", renewal, Sjd(rows, renewal=renewal)  # type: ignore[arg-type]
    for renewal in RENEWALS:
        chain = rows - (TREE["candidates"] - 1) * TREE["depth"]
        yield "tree", renewal, SjdPac(chain, **TREE, renewal=renewal)  # type: ignore[arg-type]


def coupling(seed: int = 0, images: int = FEW) -> pd.DataFrame:
    """Columns: rows, shape, renewal, images, tokens (a call), error (a standard error over images)."""
    found = []
    for rows in ROWS:
        for shape, renewal, decoder in decoders(rows):
            mean = speed(decoder, seed, images).mean
            told = {"rows": rows, "shape": shape, "renewal": renewal, "images": images}
            found.append(told | {"tokens": mean.mean, "error": mean.error})
    return pd.DataFrame(found)
