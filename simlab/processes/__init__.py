"""Processes: models of token sequences, which give the rows p and q.

``make_process(name, **parameters)`` makes a target and its draft by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from simlab.processes.base import Process
from simlab.processes.categorical import categorical_pair
from simlab.processes.codebook import codebook_pair
from simlab.processes.ending import Ending
from simlab.processes.local import local_pair
from simlab.processes.markov import markov_pair
from simlab.processes.pair import Pair, sampled
from simlab.processes.processed import Processed
from simlab.processes.table import TableProcess
from simlab.registry import make


def digits_pair(seed: int = 0) -> Pair:
    """The network and the table fitted to handwritten digits (:mod:`simlab.processes.digits`).

    Parameters
    ----------
    seed
        Decides the split of the images and the fit; any but 0 takes seconds.

    Returns
    -------
    Pair
        Target, draft, and as codebook the grey levels, ``float[V, 1]``.

    Notes
    -----
    It takes scikit-learn.
    """
    from simlab.processes.digits import fit_digits
    from simlab.processes.digits_network import VOCABULARY

    fitted = fit_digits(seed)
    return Pair(fitted.target, fitted.draft, np.arange(VOCABULARY)[:, None] / (VOCABULARY - 1))


PROCESSES: dict[str, Callable[..., Pair]] = {
    "categorical": categorical_pair,
    "markov": markov_pair,
    "codebook": codebook_pair,
    "local": local_pair,
    "digits": digits_pair,
}


def make_process(name: str, processors: Mapping[str, Any] | None = None, **parameters: Any) -> Pair:
    """The target and draft called ``name``.

    Parameters
    ----------
    name
        A key of ``PROCESSES``.
    processors
        Any of temperature, top_k and top_p, for both.
    parameters
        Those of the function in ``PROCESSES``.

    Raises
    ------
    ValueError
        For an unknown name, parameter or processor, or a bad value.
    """
    pair = make("process", PROCESSES, name, parameters)
    return pair if processors is None else sampled(pair, processors)


__all__ = [
    "PROCESSES",
    "Ending",
    "Pair",
    "Process",
    "Processed",
    "TableProcess",
    "categorical_pair",
    "codebook_pair",
    "digits_pair",
    "local_pair",
    "make_process",
    "markov_pair",
]
