"""Means over drafts, whose errors are of means of images: drafts of one image hang together. Needs no torch."""

from __future__ import annotations

import numpy as np


def clustered(images: np.ndarray, values: np.ndarray) -> dict[str, float | None]:
    """The mean of ``values``, and its standard error with images as clusters, a ratio of means; None of one image."""
    numbers, at = np.unique(images, return_inverse=True)
    sums, counts = np.bincount(at, values), np.bincount(at)
    mean = sums.sum() / counts.sum()
    if len(numbers) < 2:
        return {"mean": float(mean), "error": None}
    spread = (sums - mean * counts).std(ddof=1) / counts.mean() / np.sqrt(len(numbers))
    return {"mean": float(mean), "error": float(spread)}
