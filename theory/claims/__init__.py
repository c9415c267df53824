"""Claims of the papers, a file a paper: statement, assumptions, proof, checks, verdict."""

from __future__ import annotations

from theory.claims.base import VERDICTS, CheckFailed, Claim, Evidence, Finding, Verdict, combined
from theory.claims.baselines import baselines
from theory.claims.cspd import alignment as cspd_alignment
from theory.claims.cspd import bias as cspd_bias
from theory.claims.cspd import log_ratio as cspd_log_ratio
from theory.claims.cspd import many_dimensions as cspd_many
from theory.claims.cspd import mixtures as cspd_mixtures
from theory.claims.cspd import output as cspd_output
from theory.claims.cspd import paths as cspd_paths
from theory.claims.cspd import prefill as cspd_prefill
from theory.claims.cspd import prefill_cost as cspd_prefill_cost
from theory.claims.cspd import ratios as cspd_ratios
from theory.claims.cspd import residual as cspd_residual
from theory.claims.cspd import samplers as cspd_samplers
from theory.claims.cspd import sequences as cspd_sequences
from theory.claims.cspd import tables as cspd_tables
from theory.claims.cspd import termination as cspd_termination
from theory.claims.gsd import acceptance as gsd
from theory.claims.gsd import large_vocabulary as gsd_scale
from theory.claims.gsd import naive_lossy as gsd_lossy
from theory.claims.gsd import output as gsd_output
from theory.claims.gsd import reference_code as gsd_reference
from theory.claims.lantern import jensen_shannon as lantern_jsd
from theory.claims.lantern import large_vocabulary as lantern_scale
from theory.claims.lantern import large_vocabulary_output as lantern_scale_output
from theory.claims.lantern import neighbours as lantern_near
from theory.claims.lantern import output as lantern_output
from theory.claims.lantern import reference_code as lantern_reference
from theory.claims.lantern import relaxation as lantern
from theory.claims.leviathan import expected_tokens as leviathan_scale
from theory.claims.leviathan import speculative_rule as leviathan
from theory.claims.published import cspd as published_cspd
from theory.claims.published import cspd_tables as published_cspd_tables
from theory.claims.published import lengths as published_lengths
from theory.claims.published import repeated_rows as published_rows
from theory.claims.published import speedups as published
from theory.claims.sjd import losslessness as sjd
from theory.claims.sjd import reference_code as sjd_reference
from theory.claims.sjd import speed as sjd_scale
from theory.claims.sjd_pac import locality as pac_locality
from theory.claims.sjd_pac import losslessness as pac
from theory.claims.sjd_pac import readings as pac_readings
from theory.claims.sjd_pac import speed as pac_scale

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
