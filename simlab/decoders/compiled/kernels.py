"""The kernel of every decoder."""

from __future__ import annotations

from simlab import decoders
from simlab.decoders.compiled.autoregressive import AutoregressiveKernel
from simlab.decoders.compiled.base import Kernel
from simlab.decoders.compiled.block import BlockKernel
from simlab.decoders.compiled.candidate_tree import CandidateTreeKernel
from simlab.decoders.compiled.dynamic_tree import DynamicTreeKernel
from simlab.decoders.compiled.hierarchical import HierarchicalKernel
from simlab.decoders.compiled.jacobi import JacobiKernel
from simlab.decoders.compiled.sjd import SjdKernel
from simlab.decoders.compiled.sjd_tree import TreeKernel
from simlab.decoders.compiled.speculative import SpeculativeKernel
from simlab.decoders.compiled.traversal import TraversalKernel
from simlab.decoders.sjd_reference import PointMassSjd, UnrefinedPointMassSjd

KERNELS: dict[type, type[Kernel]] = {
    decoders.Autoregressive: AutoregressiveKernel,
    decoders.SpeculativeDecoder: SpeculativeKernel,
    decoders.Block: BlockKernel,
    decoders.Hierarchical: HierarchicalKernel,
    decoders.Jacobi: JacobiKernel,
    decoders.Sjd: SjdKernel,
    PointMassSjd: SjdKernel,
    UnrefinedPointMassSjd: SjdKernel,
    decoders.SjdUnrefined: SjdKernel,
    decoders.SjdAc: SjdKernel,
    decoders.SjdPd: TreeKernel,
    decoders.SjdPac: TreeKernel,
    decoders.Traversal: TraversalKernel,
    decoders.CandidateTree: CandidateTreeKernel,
    decoders.DynamicTree: DynamicTreeKernel,
}
