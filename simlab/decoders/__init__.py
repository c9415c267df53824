"""Decoders, one file each. ``make_decoder(name, **parameters)`` makes one by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simlab.decoders.autoregressive import Autoregressive
from simlab.decoders.base import Decoder, Info
from simlab.decoders.block import Block
from simlab.decoders.candidate_tree import CandidateTree
from simlab.decoders.dynamic_tree import DynamicTree
from simlab.decoders.hierarchical import Hierarchical
from simlab.decoders.jacobi import Jacobi
from simlab.decoders.run import Run, run
from simlab.decoders.sjd import Sjd
from simlab.decoders.sjd_ac import SjdAc
from simlab.decoders.sjd_pac import SjdPac
from simlab.decoders.sjd_pd import SjdPd
from simlab.decoders.sjd_pp import SjdPp
from simlab.decoders.sjd_reference import sjd_reference
from simlab.decoders.sjd_unrefined import SjdUnrefined
from simlab.decoders.speculative import SpeculativeDecoder
from simlab.decoders.traversal import Traversal
from simlab.registry import make

DECODERS: dict[str, Callable[..., Decoder]] = {
    "autoregressive": Autoregressive,
    "speculative": SpeculativeDecoder,
    "block": Block,
    "hierarchical": Hierarchical,
    "traversal": Traversal,
    "candidate-tree": CandidateTree,
    "dynamic-tree": DynamicTree,
    "jacobi": Jacobi,
    "sjd": Sjd,
    "sjd-ac": SjdAc,
    "sjd-pd": SjdPd,
    "sjd-pac": SjdPac,
    "sjd-pp": SjdPp,
    "sjd-unrefined": SjdUnrefined,
    "sjd-reference": sjd_reference,
}


def make_decoder(name: str, **parameters: Any) -> Decoder:
    """The decoder called ``name``.

    Parameters
    ----------
    name
        A key of ``DECODERS``.
    parameters
        The fields of the decoder's class.

    Raises
    ------
    ValueError
        For an unknown name or parameter, a missing parameter, or a bad value.
    """
    return make("decoder", DECODERS, name, parameters)


def verifies(decoder: Decoder) -> bool:
    """Whether a decoder verifies drafts one by one by a rule."""
    by_themselves = Autoregressive | Block | CandidateTree | DynamicTree | Hierarchical | Jacobi | Traversal
    return not isinstance(decoder, by_themselves)


__all__ = [
    "DECODERS",
    "Autoregressive",
    "Block",
    "CandidateTree",
    "Decoder",
    "DynamicTree",
    "Hierarchical",
    "Info",
    "Jacobi",
    "Run",
    "Sjd",
    "SjdAc",
    "SjdPac",
    "SjdPd",
    "SjdPp",
    "SjdUnrefined",
    "SpeculativeDecoder",
    "Traversal",
    "make_decoder",
    "run",
    "sjd_reference",
    "verifies",
]
