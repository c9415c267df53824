"""Of each claim that holds and has no proof by solvers, or one of a part: why not, and of which part."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from theory.claims.base import Claim

SUMMARY = "a summary: it follows from its parts"
PRINTED = "published numbers"

REASONS: dict[str, str] = {
    "leviathan.cost-of-rows.speedup": (
        "renewal theorem (limit of infinitely many sequences) and costs, not a statement about rows; for one "
        "table it is arithmetic on the law of steps"
    ),
    "leviathan.expected-tokens.regions": "a chain of kinds of positions, and blocks of any length: roots and powers",
    "gsd.speed": "calls of sequences of any length: a coupling of positions; acceptance is gsd.theorem-1",
    "gsd.single-token": "a quotient of two masses, in which no other occurs: nothing to prove",
    "gsd.avoids-explosion": "one quotient, bounded by one term of its denominator",
    "gsd.naive-lossy.printed": "published numbers (Table 1)",
    "lantern.concentrated": "one term of a sum of minima, for rows of any size",
    "lantern.not-catastrophic": "sequences of any length: a coupling of positions; one token is lantern.output-bound",
    "lantern.metric": "KL: logarithms, and one numeric example",
    "lantern.jsd": "published numbers (Table 4)",
    "lantern.jsd.bits": "Jensen-Shannon divergence: logarithms and floats (moved_js_bits)",
    "lantern.speed": PRINTED,
    "lantern.neighbours.printed": "published numbers (Table 4)",
    "sjd.greedy": (
        "rows are point masses: no unknown reals, the finite cases are enumerated exhaustively today (V=2 "
        "N=3, V=3 N=2); the initial drafts are uniform"
    ),
    "sjd-reference.greedy": "existence: one rational example (found by search) proves it; nothing universal",
    "pac.eagle": PRINTED,
    "pac.state-of-the-art": PRINTED,
    "pac.state-of-the-art.alternatives": PRINTED,
    "pac.readings.budget": "counts nodes of a fixed tree: whole numbers",
    "pac.continuation-speed": "existence of two processes: two rational examples prove it",
    "pac.optimal": (
        "existence: one rational example; (the universal half, optimal >= in turn, is baselines.optimal-candidates)"
    ),
    "cactus.budget": "KL divergence: logarithms",
    "cactus.budget.mended": "KL divergence: logarithms",
    "cactus.emitted": "a KL divergence: logarithms; law and acceptance are those of cactus.law and cactus.frontier",
    "medusa-reference.no-chance": (
        "threshold is exp(entropy) in floats; and the statement (0/1 acceptance, one-hot residual) has no "
        "arithmetic to prove"
    ),
    "lantern.quality-of-near": "published numbers (Table 4)",
    "cspd.noiseless.cut": "continuous tokens (Gaussian kernels, quadrature or simulation), simulation",
    "cspd.proved.bias": "an integral over normal densities: two parts of one mass and opposite signs",
    "cspd.parallel-verification": "existence of weights: a layer of uniform attention; all ways to place two drafts",
    "cspd.reflection": "normal densities: the step uses exp and Phi",
    "cspd.alignment-helps": (
        "continuous tokens (Gaussian kernels, quadrature or simulation); limits, chi-squares, Gamma"
    ),
    "cspd.alignment-helps.centred": (
        "continuous tokens (Gaussian kernels, quadrature or simulation); Anderson's theorem, Phi, arctan"
    ),
    "cspd.ratio-table": "continuous tokens (Gaussian kernels, quadrature or simulation); limits and Phi",
    "cspd.ratio-table.means": "existence with Phi and printed numbers",
    "cspd.theorem-1": "d>2 and the joint law of kernels are numeric",
    "cspd.theorem-1.corrected": "the DDPM half (functions of C) and general d are numeric",
    "cspd.trajectory-distance": (
        "square roots of expectations (Jensen), continuous tokens (Gaussian kernels, quadrature or simulation)"
    ),
    "cspd.correlation": "correlation of affine functions of one noise: nothing to decide, continuous",
    "cspd.ratio-collapse": "exp and log densities themselves",
    "cspd.path-ratio.two-path": "Gaussian integrals that are infinite",
    "cspd.path-ratio.eq-15-first-order": "first-order expansion, gradients of normal densities",
    "cspd.log-ratio.own-end": "logarithms of densities, entropies",
    "cspd.log-ratio.own-end-sign": "logarithms of densities, entropies",
    "cspd.log-ratio.higher-mean": "logarithms of densities, entropies (Jensen)",
    "cspd.samplers.stochastic": "the chain rule for densities; determinants in floats",
    "cspd.in-place.token": "continuous decoders in place; averaging of kernels, checked by moments and simulation",
    "cspd.in-place.mend": "continuous decoders, simulation and Gaussian examples",
    "cspd.prefill.no-cost": "long-run renewal and simulation stay",
    "cspd.batch-cost": PRINTED,
    "cspd.prefill.printed": PRINTED,
    "cspd.draft-length.in-place": "published numbers, existence of a pair within 0.04",
    "cspd.temperature": "Phi of a normal overlap",
    "cspd.guidance": (
        "Phi of a normal overlap (|g_u+w(g_c-g_u)| rising in w is a polynomial fact, the acceptance is not)"
    ),
    "cspd.tables.own-deviation": "published numbers and Phi",
    "declared-draft.bfloat16": "rounding of floats at fixed seeds",
    "sjd-pv.law": "existence: the exact law of one pair of rows",
    "mulo-sd.law": "a proof in prose for every target; a family of chains and two tables are enumerated",
    "vvs.law": "acceptance 1 leaves nothing to prove; the bound is leviathan.frontier",
    "vvs-reference.call": "a signature, and no rows",
    "speculative-diffusion.law": "normal densities: the step uses exp and Phi",
    "block-diffusion.law": "normal densities: the step uses exp and Phi; of tokens it is decoder.block",
    "cascade-image.law": "one line of algebra for disjoint sets, and one row",
    "sjdpp.calls": "existence of a chain: exact mean calls of one",
    "sjd-vp.calls": "existence of a chain: exact mean calls of one",
    "sjd-pv.calls": "existence of a chain: exact mean calls of one",
    "sjd-block.calls": "exact mean calls of one chain",
    "candidates.optimum-unreached": "existence: one rational pair; K-SEQ in floats",
}

PARTLY: dict[str, str] = {  # claims of which solvers prove a part: what is left to the proof in prose
    "sjd.theorem-1.token": "the rows declared behind a rejection, which are enumerated",
    "samplers.processors": "processors that are powers; the rest follows from the proof of the rule for all rows",
    "cspd.output-law.last-step": "that densities are those of Gaussian kernels, by quadrature",
    "cspd.noiseless.target-end": "the change of variables, which is continuous",
    "cspd.noiseless.last-noise": "the change of variables, which is continuous",
    "cspd.noiseless.merging": "the integral over Gaussian kernels",
    "cspd.path-rule": "that trajectories have these densities",
    "cspd.samplers.marginal": "the change of variables, which is continuous",
    "cspd.termination.without-sigma": "the bound by 1/(e n), which has e",
    "lantern.gain": "the printed gains",
    "lantern.frontier": "neighbours bounded in Jensen-Shannon divergence: logarithms",
    "gsd.compounding": "the bound with a KL divergence: logarithms",
    "candidates.lossless": "list sampling by shared exponentials: its laws are volumes",
    "candidates.k-seq": "the share 1 - 1/e, and the smallest rho, which is a root",
    "scd.lossless": "the coupling by Gumbel noise: its laws are volumes",
    "scd.with-trees": "the coupling by Gumbel noise: its laws are volumes",
    "sjd.initialisation": "the initialisations that look at the row above",
    "sjdpp.law": "the exact laws of one chain and one table",
    "sjd2.law": "its second half, the exact law of one chain",
    "sjd.worst-case": "Jacobi decoding, whose state holds intervals; that N calls happen is an example",
    "pac.relabel": "lossy rules other than a mixture and amplify, and longer windows",
    "typical.law": "that the likeliest token is in A: the threshold is the exponential of an entropy",
    "cspd.prefill.raises": "that rates rise along the sequence: the normal distribution function",
    "scd.gumbel-repeats": "that the coupling has this probability: a race of exponentials, whose laws are volumes",
    "pac.combined": "full trees, and either shape without a bonus token, which are enumerated",
    "traversal.lossless": "siblings that are each drawn without those before it, which are enumerated",
    "cspd.mixtures.aligned-components": "that tokens follow the mixture, and the bias with weights: normal densities",
    "candidates.eagle-2": (
        "trees of more than two nodes, longer sequences, V > 2 and rows with zeros: the ranking of products of draft "
        "probabilities makes many cells"
    ),
}

UP_TO_A_SIZE: dict[str, str] = {  # claims of which a lemma covers a part: what is proven for rows up to a size alone
    "leviathan.frontier": "the equality for amplify and addition",
    "gsd.theorem-1": "that groups accept 1 - TV(p', q'), and when that is 1 - TV(p, q)",
    "gsd.drawbacks": "that the acceptance gained is the TV to p",
    "gsd.accumulation": "the bound 1 - c of rows that both give one token c",
    "lantern.output-bound": "that the TV is 0 at delta = 0, and otherwise the acceptance gained",
    "baselines.block-verification": "that sequences have the joint law of the target",
    "block.optimal": "that block verification is lossless itself",
    "candidates.sample-and-match": "the formula of the acceptance",
}


def reason(claim: Claim) -> str:
    """Why a claim that holds has no proof by solvers; nothing where it has one."""
    told = SUMMARY if claim.decide is None else PRINTED if claim.id.startswith("published.") else ""
    return REASONS.get(claim.id, told)
