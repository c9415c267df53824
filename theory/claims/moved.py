"""Ids of entries that are entries no more, each with the entry that says what it said.

An id is an address: it stands in papers, in pages and in commands. What an entry found moved with it.
"""

from __future__ import annotations

MOVED: dict[str, str] = {
    "gsd.dynamic.printed": "gsd.printed-slice",
    "gsd.support.clamped": "gsd.support.centred",
    "gsd.accumulation.always": "gsd.accumulation.concentrated",
    "lantern.neighbours.always": "lantern.neighbours.printed",
    "lantern.quality-of-near.equal-length": "lantern.quality-of-near",
    "lantern.quality-of-near.equal-delta": "lantern.quality-of-near",
    "cspd.prefill.diminishing-any": "cspd.prefill.diminishing",
    "cspd.theorem-1.non-commuting": "cspd.theorem-1.commuting",
    "cspd.theorem-1.several-steps": "cspd.theorem-1.commuting",
    "cspd.correlation.one-step": "cspd.correlation",
    "cspd.correlation.trajectory": "cspd.correlation",
    "cspd.alignment-helps.always": "cspd.alignment-helps.near",
    "cspd.ratio-table.order": "cspd.ratio-table.shape",
    "cspd.corollary-1.paths": "cspd.corollary-1.two-path",
    "cspd.unbiased-suffices": "cspd.path-ratio.unbiased",
    "cspd.prefill.raises-any": "cspd.prefill.raises",
    "cspd.draft-length.falls": "cspd.pair.gamma",
    "cspd.tables.ddim": "cspd.samplers.stochastic",
    "gsd.unbiased.windows": "gsd.unbiased.ratio",
    "gsd.unbiased.token": "gsd.unbiased.ratio",
    "gsd.unbiased.group": "gsd.unbiased.ratio",
    "gsd.expected-ratio": "gsd.expected-ratio.capped",
    "gsd.expected-ratio.uncapped": "gsd.expected-ratio.capped",
    "lantern.largest": "lantern.largest.nearest",
    "lantern.largest.subset": "lantern.largest.nearest",
    "lantern.output-bound.sequence": "lantern.output-bound.sum",
    "pac.entropy": "pac.entropy.candidates",
    "pac.entropy.sampled": "pac.entropy.candidates",
    "pac.eagle.cited": "pac.eagle",
    "pac.eagle.table-1": "pac.eagle",
}
