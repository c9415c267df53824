"""Claims of the papers, a file a paper: statement, assumptions, proof, checks, verdict."""

from __future__ import annotations

from theory.claims import (
    baselines,
    cspd_alignment,
    cspd_bias,
    cspd_log_ratio,
    cspd_many,
    cspd_mixtures,
    cspd_output,
    cspd_paths,
    cspd_prefill,
    cspd_prefill_cost,
    cspd_ratios,
    cspd_residual,
    cspd_samplers,
    cspd_sequences,
    cspd_tables,
    cspd_termination,
    gsd,
    gsd_lossy,
    gsd_output,
    gsd_reference,
    gsd_scale,
    lantern,
    lantern_jsd,
    lantern_near,
    lantern_output,
    lantern_reference,
    lantern_scale,
    lantern_scale_output,
    leviathan,
    leviathan_scale,
    pac,
    pac_locality,
    pac_readings,
    pac_scale,
    published,
    published_cspd,
    published_cspd_tables,
    published_lengths,
    published_rows,
    sjd,
    sjd_reference,
    sjd_scale,
)
from theory.claims.base import VERDICTS, CheckFailed, Claim, Evidence, Finding, Verdict, combined

_TOLD = (  # in the order they are told
    leviathan,
    leviathan_scale,
    gsd,
    gsd_output,
    gsd_lossy,
    gsd_reference,
    gsd_scale,
    lantern,
    lantern_output,
    lantern_jsd,
    lantern_near,
    lantern_reference,
    lantern_scale,
    lantern_scale_output,
    sjd,
    sjd_scale,
    sjd_reference,
    pac,
    pac_locality,
    pac_scale,
    pac_readings,
    baselines,
    cspd_output,
    cspd_many,
    cspd_residual,
    cspd_termination,
    cspd_alignment,
    cspd_paths,
    cspd_ratios,
    cspd_bias,
    cspd_log_ratio,
    cspd_samplers,
    cspd_sequences,
    cspd_prefill,
    cspd_prefill_cost,
    cspd_mixtures,
    cspd_tables,
    published,
    published_rows,
    published_cspd,
    published_cspd_tables,
    published_lengths,
)
CLAIMS: dict[str, Claim] = {id: claim for module in _TOLD for id, claim in module.CLAIMS.items()}
PAPERS: tuple[str, ...] = tuple(dict.fromkeys(claim.paper for claim in CLAIMS.values()))

__all__ = ["CLAIMS", "PAPERS", "VERDICTS", "CheckFailed", "Claim", "Evidence", "Finding", "Verdict", "combined", "find"]


def find(id: str) -> Claim:
    """The claim called ``id``; raises ``ValueError`` with the nearest ids if there is none."""
    if id in CLAIMS:
        return CLAIMS[id]
    from difflib import get_close_matches

    near = get_close_matches(id, CLAIMS, n=3, cutoff=0.4)
    raise ValueError(
        f"unknown claim {id!r}; expected one of those `simlab claims` lists"
        + (f", such as {', '.join(near)}" if near else "")
    )
