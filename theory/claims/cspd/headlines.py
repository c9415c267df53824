"""What CSpD says first, what is found, and what a reader takes home."""

from __future__ import annotations

from theory.claims.headlines import Headline, Result

HEADLINES = (
    Headline(
        "cspd.output-law",
        "Continuous speculative decoding maintains the output distribution.",
        "refuted",
        r"The product of variances $\Sigma$ in ratio and threshold says nothing about the token, and where it is not 1 "
        "tokens come out with up to twice the target's density; the appendix itself calls the ratio biased.",
        r"Leave $\Sigma$ out: the ratio of the last step alone is exact, with noise shared or not, at one proposal a "
        "token at most. FID and IS, which the paper measures, are another question.",
    ),
    Headline(
        "cspd.theorem-1",
        "Sharing the noise of a step lowers the expected squared distance of target and draft by "
        r"$2 \mathrm{tr}\sqrt{\Sigma_t^q \Sigma_t^p}$.",
        "holds-under-assumptions",
        "It is an identity for one step of given means whose covariances commute, as the diagonal ones of the paper "
        "do.",
        r"For all covariances write $2 \mathrm{tr}[\sqrt{\Sigma_t^q} \sqrt{\Sigma_t^p}]$; over several steps the slopes "
        "of the models enter, and the distance can grow.",
    ),
    Headline(
        "cspd.alignment-helps",
        "Denoising trajectory alignment raises the acceptance rate.",
        "holds-under-assumptions",
        "As a draft approaches its target, the acceptance rate tends to 1 with shared noise, and stays bounded away from "
        "1 with independent noise.",
        "It is no rule without exceptions: there are pairs of models for which independent noise accepts more.",
    ),
    Headline(
        "cspd.prefill",
        "Pre-filling tokens of the target raises acceptance at no cost, with diminishing returns.",
        "holds-under-assumptions",
        "All three follow where the mismatch of the models fades along the sequence: the positions that are drafted "
        "with least success are left to the target.",
        "Where it does not rise, each of the three can fail.",
    ),
    Headline(
        "cspd.residual",
        "Acceptance-rejection sampling draws from the modified distribution without its integral.",
        "holds",
        "A proposal is accepted with the positive part of the difference of densities, and the unknown integral "
        "cancels.",
    ),
    Headline(
        "cspd.draft-length",
        "Acceptance rates fall from about 0.3 at 4 drafts to about 0.2 at 32, as printed beside the speedups.",
        "refuted",
        "A lossless decoder that cuts blocks at the first rejection accepts, averaged over positions, as much at every "
        "draft length, and the means that the printed rates allow at 4 and at 32 drafts do not meet.",
        "Rates of blocks that are verified against the prefix alone and replaced in place, as the published code does, "
        "can fall like the printed ones.",
    ),
)

TAKE_HOME = (
    Result(
        "cspd.output-law.last-step",
        "The ratio of the last denoising step is enough",
        "Verified by the densities of the last step alone, continuous tokens have exactly the target's law, however "
        "the two trajectories are coupled. It costs at most one proposal a token in the mean, and no extra inference.",
    ),
    Result(
        "cspd.draft-length.bounds",
        "Acceptance averaged over positions does not depend on the draft length",
        "For every lossless decoder that cuts blocks at the first rejection, it lies between "
        r"$\alpha / (1 + \alpha / \gamma)$ and $(\alpha + \alpha / \gamma) / (1 + \alpha / \gamma)$, with $\alpha$ the rate "
        "of verified drafts. Two printed rates of one pair of models can so be checked against each other without the models.",
    ),
)
