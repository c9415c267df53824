"""Ids of entries that are entries no more, each with the entry that says what it said.

An id is an address: it stands in papers, in pages and in commands. What an entry found moved with it.
"""

from __future__ import annotations

from collections.abc import Iterable

MOVED: dict[str, str] = {
    "gsd.dynamic.printed": "gsd.printed-slice",
    "gsd.support.clamped": "gsd.support.centred",
    "gsd.accumulation.always": "gsd.accumulation.concentrated",
    "lantern.neighbours.always": "lantern.neighbours.printed",
    "lantern.quality-of-near.equal-length": "lantern.quality-of-near",
    "lantern.quality-of-near.equal-delta": "lantern.quality-of-near",
    "cspd.prefill.diminishing-any": "cspd.prefill.diminishing",
    "cspd.theorem-1.non-commuting": "cspd.theorem-1",
    "cspd.theorem-1.several-steps": "cspd.theorem-1",
    "cspd.correlation.one-step": "cspd.correlation",
    "cspd.correlation.trajectory": "cspd.correlation",
    "cspd.alignment-helps.always": "cspd.alignment-helps",
    "cspd.ratio-table.order": "cspd.ratio-table",
    "cspd.corollary-1.paths": "cspd.corollary-1",
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
    "cspd.output-law.algorithm-1": "cspd.output-law",
    "cspd.output-law.two-path": "cspd.output-law",
    "cspd.output-law.fixed-variances": "cspd.output-law.last-step",
    "cspd.alignment-helps.near": "cspd.alignment-helps",
    "cspd.ratio-table.shape": "cspd.ratio-table",
    "cspd.theorem-1.commuting": "cspd.theorem-1",
    "cspd.theorem-1.any-root": "cspd.theorem-1.corrected",
    "cspd.corollary-1.two-path": "cspd.corollary-1",
    "cspd.corollary-1.one-step": "cspd.corollary-1",
    "cspd.corollary-1.given-states": "cspd.corollary-1",
    "cspd.termination.printed": "cspd.termination",
    "cspd.termination.large-sigma": "cspd.termination",
    "cspd.samplers.deterministic": "cspd.samplers",
    "cspd.mixtures.densities": "cspd.mixtures",
    "cspd.mixtures.aligned-weights": "cspd.mixtures.aligned-components",
    "cspd.in-place.sequence": "cspd.in-place",
    "cspd.in-place.calls": "cspd.in-place",
    "cspd.tables.one-deviation": "cspd.tables.own-deviation",
    "cspd.noiseless.uncut": "cspd.noiseless.cut",
    "cspd.prefill.no-cost-any": "cspd.prefill.no-cost",
    "cspd.draft-length.printed": "cspd.draft-length",
    "cspd.draft-length.share": "cspd.draft-length",
    "cspd.path-ratio.alignment": "cspd.path-ratio.two-path",
    "cspd.path-ratio.last-step": "cspd.path-ratio.unbiased",
    "cspd.log-ratio.identity": "cspd.log-ratio",
    "cspd.log-ratio.sign": "cspd.log-ratio",
    "cspd.log-ratio.higher-mean": "cspd.log-ratio",
    "cspd.log-ratio.mean": "cspd.log-ratio",
    "cspd.log-ratio.shared-end": "cspd.log-ratio",
    "cspd.log-ratio.own-end-mean": "cspd.log-ratio.own-end-sign",
    "cspd.log-ratio.unassumed": "cspd.log-ratio.own-end-sign",
}


def addressed(ids: Iterable[str]) -> set[str]:
    """The entries that ids lead to today."""
    return {MOVED.get(id, id) for id in ids}
