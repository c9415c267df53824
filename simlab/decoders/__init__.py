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
from simlab.decoders.levels import count_branches
from simlab.decoders.phrase import SjdPv
from simlab.decoders.run import Run, run
from simlab.decoders.sjd import Sjd
from simlab.decoders.sjd2 import Sjd2
from simlab.decoders.sjd_ac import SjdAc
from simlab.decoders.sjd_block import SjdBlock
from simlab.decoders.sjd_block_tree import SjdBlockTree
from simlab.decoders.sjd_pac import SjdPac
from simlab.decoders.sjd_pd import SjdPd
from simlab.decoders.sjd_pp import SjdPp
from simlab.decoders.sjd_reference import sjd_reference
from simlab.decoders.sjd_unrefined import SjdUnrefined
from simlab.decoders.sjd_vp import SjdVp
from simlab.decoders.skipping import Skipping
from simlab.decoders.speculative import SpeculativeDecoder
from simlab.decoders.traversal import Traversal
from simlab.decoders.tree import count_nodes
from simlab.registry import make

DECODERS: dict[str, Callable[..., Decoder]] = {
    "autoregressive": Autoregressive,
    "speculative": SpeculativeDecoder,
    "block": Block,
    "skipping": Skipping,
    "hierarchical": Hierarchical,
    "traversal": Traversal,
    "candidate-tree": CandidateTree,
    "dynamic-tree": DynamicTree,
    "jacobi": Jacobi,
    "sjd": Sjd,
    "sjd-ac": SjdAc,
    "sjd-block": SjdBlock,
    "sjd-block-tree": SjdBlockTree,
    "sjd-pd": SjdPd,
    "sjd-pac": SjdPac,
    "sjd-pp": SjdPp,
    "sjd-vp": SjdVp,
    "sjd-pv": SjdPv,
    "sjd2": Sjd2,
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
    """Whether a decoder verifies all its drafts one by one by a rule."""
    trees = CandidateTree | DynamicTree | Traversal
    by_themselves = Autoregressive | Block | Hierarchical | Jacobi | SjdBlock | SjdPv | Skipping | trees
    return not isinstance(decoder, by_themselves)


def nodes(decoder: Decoder) -> int:
    """The drafts that one call of the target sees, counted without making a tree."""
    sizes = vars(decoder)
    if isinstance(decoder, SjdPd):
        return count_nodes(decoder.tree, decoder.window, decoder.candidates, decoder.depth)
    if isinstance(decoder, SjdBlockTree):
        return count_nodes("comb", decoder.window, decoder.candidates, 1)
    if "branching" in sizes:
        return count_branches(sizes["branching"])
    if "total" in sizes:
        return int(sizes["total"]) * (int(sizes["depth"]) + 1)  # a path for every node
    return int(sizes.get("window", sizes.get("gamma", 0)))


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
    "Sjd2",
    "SjdAc",
    "SjdBlock",
    "SjdBlockTree",
    "SjdPac",
    "SjdPd",
    "SjdPp",
    "SjdPv",
    "SjdUnrefined",
    "SjdVp",
    "Skipping",
    "SpeculativeDecoder",
    "Traversal",
    "make_decoder",
    "nodes",
    "run",
    "sjd_reference",
    "verifies",
]
