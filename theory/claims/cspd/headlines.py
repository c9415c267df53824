"""What a reader asks about CSpD first, and results of ours to take home."""

from __future__ import annotations

from theory.claims.headlines import Headline, Result

HEADLINES = (
    Headline(
        "cspd.theorem-1",
        "Bound: sharing the noise of a denoising step lowers the distance of the samples by 2 tr sqrt(Sq Sp).",
        "holds-under-assumptions",
        "With given means and covariances that commute, as DDPM's diagonal ones do, it is the cross term of the noise.",
        "For other roots and along whole trajectories it is the trace of a sum over steps (cspd.theorem-1.corrected).",
    ),
    Headline(
        "cspd.alignment-helps",
        "Mechanism: aligning the denoising trajectories raises the acceptance rate.",
        "holds-under-assumptions",
        "Near the target shared noise accepts nearly all drafts, and independent noise at most 0.510 of them for T = "
        "100, d = 16.",
        "Not for any two models: with last means two deviations apart, T = 100 and d = 16, shared noise accepts 0.317 "
        "and independent noise 0.490.",
    ),
    Headline(
        "cspd.path-ratio",
        "Bound: the two-path ratio is biased, less so with alignment, and its bias has a first-order bound.",
        "refuted",
        "The bias is as stated, but eq. 21 multiplies two means where the mean of a product stands, and can be below "
        "the bias.",
        "Eq. 15, the mean of the product, does bound it to first order; with shared noise the mean is exactly Sigma.",
    ),
)

TAKE_HOME = (
    Result(
        "cspd.alignment-helps.near",
        "Without shared noise half of all drafts are lost",
        "The two-path ratio carries the densities of both noises, half the difference of two chi-squares with n = (T - "
        "1) d degrees of freedom, so without alignment it accepts at most 1/2 + Gamma(n) / (n/2 Gamma(n/2)^2 2^n), "
        "0.510 for T = 100 and d = 16, however good the draft is. With alignment it is the product Sigma that is left "
        "of them, and without Sigma the rule is lossless.",
    ),
)
