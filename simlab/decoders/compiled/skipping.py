"""Partial verification compiled: :mod:`simlab.decoders.skipping`."""

from __future__ import annotations

import numpy as np

from simlab.decoders.compiled.speculative import Chains, SpeculativeKernel, verify_drafts
from simlab.decoders.skipping import Skipping


class SkippingKernel(SpeculativeKernel, of=(Skipping,)):
    """As :class:`SpeculativeKernel`, with the first drafts accepted whatever they are."""

    def verify(self, chains: Chains) -> np.ndarray:
        return verify_drafts(self.rule, chains, self.decoder.skipped)
