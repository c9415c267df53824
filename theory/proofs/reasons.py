"""Of each claim that holds and has no proof by solvers: why not."""

from __future__ import annotations

STEP, SEQUENCE, POINTWISE = (
    "a statement about one step, which solvers could decide" + "; it is not put to them yet",
    "a statement about sequences, which solvers could decide" + "; it is not put to them yet",
    "a pointwise statement, which solvers could decide" + "; it is not put to them yet",
)
SUMMARY = "a summary: it follows from its parts"

REASONS: dict[str, str] = {
    "leviathan.expected-tokens": SUMMARY,
    "leviathan.expected-tokens.iid": SEQUENCE,
    "leviathan.expected-tokens.block": POINTWISE,
    "leviathan.cost-of-rows": SUMMARY,
    "leviathan.cost-of-rows.speedup": (
        "renewal theorem (limit of infinitely many sequences) and costs, not a statement about rows; for one "
        "table it is arithmetic on the law of steps"
    ),
    "leviathan.cost-of-rows.break-even": POINTWISE,
    "leviathan.cost-of-rows.draft-length": POINTWISE,
    "gsd.theorem-1": SUMMARY,
    "gsd.expected-ratio": SUMMARY,
    "gsd.unbiased": SUMMARY,
    "gsd.unbiased.ratio": STEP,
    "gsd.support.printed": STEP,
    "gsd.naive-lossy": SUMMARY,
    "gsd.naive-lossy.printed": "published numbers (Table 1)",
    "gsd.naive-lossy.explode": SUMMARY,
    "gsd.accumulation": SUMMARY,
    "gsd.accumulation.bounded": STEP,
    "lantern.monotone": STEP,
    "lantern.largest": SUMMARY,
    "lantern.output-bound": SUMMARY,
    "lantern.support": STEP,
    "lantern.metric": "KL: logarithms, and one numeric example",
    "lantern.metric.js": "Jensen-Shannon: logarithms, one example",
    "lantern.jsd": SUMMARY,
    "lantern.jsd.printed": "published numbers (Table 4)",
    "lantern.jsd.bits": "Jensen-Shannon divergence: logarithms and floats (moved_js_bits)",
    "lantern.speed": "published numbers",
    "lantern.neighbours.printed": "published numbers (Table 4)",
    "lantern.greedy": SUMMARY,
    "lantern.greedy.after": STEP,
    "lantern.greedy.one-hot": STEP,
    "lantern.greedy.code": STEP,
    "lantern-reference.dynamic.lossless": STEP,
    "lantern-reference.static.lossless": STEP,
    "sjd.theorem-1": SUMMARY,
    "sjd.worst-case": SEQUENCE,
    "sjd.greedy": (
        "rows are point masses: no unknown reals, the finite cases are enumerated exhaustively today (V=2 "
        "N=3, V=3 N=2); the initial drafts are uniform"
    ),
    "sjd.refinement.certain": SEQUENCE,
    "sjd.refinement.sticky": SEQUENCE,
    "sjd-reference.residual": STEP,
    "sjd-reference.greedy": "existence: one rational example (found by search) proves it; nothing universal",
    "pac.entropy": SUMMARY,
    "pac.eagle": SUMMARY,
    "pac.eagle.cited": "published numbers",
    "pac.theorem-1": SUMMARY,
    "pac.readings.budget": "counts nodes of a fixed tree: whole numbers",
    "pac.readings.bonus": SEQUENCE,
    "pac.readings.shared": SEQUENCE,
    "pac.continuation-speed": "existence of two processes: two rational examples prove it",
    "pac.relabel": SEQUENCE,
    "pac.optimal": (
        "existence: one rational example; (the universal half, optimal >= in turn, is baselines.optimal-candidates)"
    ),
    "baselines.block-verification": SUMMARY,
    "baselines.optimal-candidates": STEP,
    "baselines.frontier-candidates": "reached-part is checked today with floating optimal_transport",
    "cactus.budget.mended": "KL divergence: logarithms",
    "cactus.law": "the square root itself is irrational; replaced by an unknown",
    "cactus.frontier": "root replaced by an unknown",
    "cascade.law": STEP,
    "typical.law": (
        "the threshold is an exp of an entropy in floats (Typical refuses unknowns); 'the likeliest is in A' "
        "stays with the proof"
    ),
    "medusa-reference.no-chance": (
        "threshold is exp(entropy) in floats; and the statement (0/1 acceptance, one-hot residual) has no "
        "arithmetic to prove"
    ),
    "cspd.output-law.two-path": (
        "continuous tokens (Gaussian kernels, quadrature or simulation); existence by an example with exponentials"
    ),
    "cspd.noiseless.cut": "continuous tokens (Gaussian kernels, quadrature or simulation), simulation",
    "cspd.reflection": "normal densities: the step uses exp and Phi",
    "cspd.corollary-1": SUMMARY,
    "cspd.corollary-1.one-step": STEP,
    "cspd.alignment-helps": SUMMARY,
    "cspd.alignment-helps.near": (
        "continuous tokens (Gaussian kernels, quadrature or simulation); limits, chi-squares, Gamma"
    ),
    "cspd.alignment-helps.centred": (
        "continuous tokens (Gaussian kernels, quadrature or simulation); Anderson's theorem, Phi, arctan"
    ),
    "cspd.ratio-table": SUMMARY,
    "cspd.ratio-table.shape": "continuous tokens (Gaussian kernels, quadrature or simulation); limits and Phi",
    "cspd.ratio-table.means": "existence with Phi and printed numbers",
    "cspd.theorem-1": SUMMARY,
    "cspd.theorem-1.commuting": "d>2 and the joint law of kernels are numeric",
    "cspd.theorem-1.any-root": "the range of tr by singular values is numeric",
    "cspd.theorem-1.corrected": "the DDPM half (functions of C) and general d are numeric",
    "cspd.trajectory-distance": (
        "square roots of expectations (Jensen), continuous tokens (Gaussian kernels, quadrature or simulation)"
    ),
    "cspd.correlation": SUMMARY,
    "cspd.correlation.one-step": "correlation of affine functions of one noise: nothing to decide, continuous",
    "cspd.ratio-collapse": "exp and log densities themselves",
    "cspd.path-ratio.two-path": "Gaussian integrals that are infinite",
    "cspd.path-ratio.alignment": "compares with an infinite mean",
    "cspd.path-ratio.eq-15-first-order": "first-order expansion, gradients of normal densities",
    "cspd.log-ratio.own-end": "logarithms of densities, entropies",
    "cspd.log-ratio.own-end-sign": "logarithms of densities, entropies",
    "cspd.log-ratio.own-end-mean": "logarithms of densities, entropies",
    "cspd.log-ratio.mean": "logarithms of densities, entropies",
    "cspd.log-ratio.unassumed": "logarithms of densities, entropies",
    "cspd.log-ratio.shared-end": "logarithms of densities, entropies",
    "cspd.samplers.stochastic": "normal densities of DDIM; determinants in floats",
    "cspd.in-place.token": "continuous decoders in place; averaging of kernels, checked by moments and simulation",
    "cspd.in-place.mend": "continuous decoders, simulation and Gaussian examples",
    "cspd.in-place.calls": "counts calls: ceil(N/gamma), nothing about rows",
    "cspd.prefill": SUMMARY,
    "cspd.prefill.raises": (
        "rates 2 Phi(-x): normal distribution function (that leaving out the least of N rates raises the mean "
        "is linear)"
    ),
    "cspd.prefill.diminishing": POINTWISE,
    "cspd.prefill.no-cost": "long-run renewal and simulation stay",
    "cspd.batch-cost": "published numbers (the monotone step c=(n/S-1)/gamma is a one-line inequality)",
    "cspd.draft-length.bounds": (
        "sequence form is heavy; the counting argument K/(V+B)<=abar<=(K+B)/(V+B) plus monotonicity is pointwise"
    ),
    "cspd.draft-length.in-place": "published numbers, existence of a pair within 0.04",
    "cspd.mixtures": SUMMARY,
    "cspd.mixtures.aligned-weights": (
        "existence: one example worked out in rationals (1/3, 1/2, 1/6), other checks are quadrature and simulation"
    ),
    "cspd.temperature": "Phi of a normal overlap",
    "cspd.guidance": (
        "Phi of a normal overlap (|g_u+w(g_c-g_u)| rising in w is a polynomial fact, the acceptance is not)"
    ),
    "cspd.tables.own-deviation": "published numbers and Phi",
    "published.steps": "published numbers",
    "published.latency-bound": "published numbers",
    "published.full-blocks-harmon": "published numbers",
    "published.cspd-alpha.ablations": "published numbers",
    "published.cspd-scores": "published numbers",
    "published.accepted-length": "published numbers",
    "published.accepted-length.tree": "published numbers",
    "published.accepted-length.order": "published numbers",
    "candidates.greedy": STEP,
    "candidates.replacement": STEP,
    "candidates.optimum-unreached": "existence: one rational pair; K-SEQ in floats",
    "candidates.eagle-2": "ranking of products of draft probabilities makes many cells (>2500 with zeros)",
    "scd.gumbel-repeats": STEP,
}

PARTLY: dict[str, str] = {  # claims of which solvers prove a part: what is left to the proof in prose
    "sjd.theorem-1.token": "the rows declared behind a rejection, which are enumerated",
    "samplers.processors": "processors that are powers; the rest follows from the proof of the rule for all rows",
    "pac.retention": "the form with entropies: exponentials and logarithms",
    "pac.entropy.candidates": "more than four candidates, and the form with entropies",
    "cspd.output-law.fixed-variances": "that densities are those of Gaussian kernels, by quadrature",
    "cspd.output-law.last-step": "that densities are those of Gaussian kernels, by quadrature",
    "cspd.noiseless.target-end": "the change of variables, which is continuous",
    "cspd.noiseless.last-noise": "the change of variables, which is continuous",
    "cspd.noiseless.merging": "the integral over Gaussian kernels",
    "cspd.path-rule": "that trajectories have these densities",
    "cspd.samplers.marginal": "the change of variables, which is continuous",
    "cspd.mixtures.aligned-components": "the sum over coupled components",
    "cspd.termination.without-sigma": "the bound by 1/(e n), which has e",
    "lantern.largest.nearest": "that the prefix which joins is the longest",
    "lantern.output-bound.sum": "other delta than 0",
    "lantern.gain": "the printed gains",
    "lantern.frontier": "neighbours bounded in Jensen-Shannon divergence: logarithms",
    "lantern.zero-delta": "delta above 0 but below every mass",
    "gsd.drawbacks": "the mean ratio, and drafts that are surely kept",
    "gsd.compounding": "the bound with a KL divergence, and more than two tokens",
    "candidates.lossless": "optimal transport and list sampling, which keep tables by the values of rows",
    "candidates.k-seq": "the share 1 - 1/e, and the smallest rho, which is a root",
    "candidates.sample-and-match": "that recursive rejection accepts at least as much",
    "hsd.block": "that the joint law of what is committed is the same, not the accepted drafts alone",
    "traversal.chain": "that it commits what block verification does; that it is lossless is proven",
    "scd.lossless": "the coupling by Gumbel noise: its laws are volumes",
    "scd.with-trees": "the coupling by Gumbel noise: its laws are volumes",
    "scd.continuation": "that both decoders take as many steps; that it is lossless is proven",
    "sjd.initialisation": "the initialisations that look at the row above",
}
