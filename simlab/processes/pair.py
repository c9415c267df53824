"""A target with its draft, and sampling processors on both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from simlab.processes.base import Process
from simlab.processes.processed import Processed
from simlab.registry import meant

PROCESSORS = ("temperature", "top_k", "top_p")


class Pair(NamedTuple):
    """Two processes over the same sequences.

    Attributes
    ----------
    target
        The process that gives p.
    draft
        The process that gives q, or ``None``.
    codebook
        ``float[V, d]``, where distances between tokens have a meaning.
    """

    target: Process
    draft: Process | None
    codebook: np.ndarray | None = None


def sampled(pair: Pair, processors: Mapping[str, Any]) -> Pair:
    """``pair`` with ``processors`` on both its processes.

    ``pair``: the processes. ``processors``: any of temperature, top_k and top_p, with their values. Raises
    ``ValueError`` for any other name, and as :class:`simlab.processes.Processed` does for values.
    """
    if not isinstance(processors, Mapping):
        raise ValueError(f"processors is {processors!r}; expected a mapping of {', '.join(PROCESSORS)}")
    for name in processors:
        if name not in PROCESSORS:
            raise ValueError(
                f"unknown processor {name!r}; {meant(name, PROCESSORS)}expected one of {', '.join(PROCESSORS)}"
            )
    draft = None if pair.draft is None else Processed(pair.draft, **processors)
    return Pair(Processed(pair.target, **processors), draft, pair.codebook)
