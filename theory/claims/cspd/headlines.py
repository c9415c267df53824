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
        "cspd.path-rule",
        "Verifying whole denoising trajectories is lossless.",
        "holds-under-assumptions",
        "It is speculative sampling for the densities of trajectories, wherever these exist.",
        "Acceptance falls with every step in which the models differ, which is why the paper leaves it.",
    ),
    Headline(
        "cspd.theorem-1",
        "Sharing the noise reduces the expected distance of target and draft.",
        "refuted",
        "The distance does fall, by the printed amount for covariances that commute; for others the printed trace is "
        "not the one that the symmetric roots give.",
        r"Write $2 \mathrm{tr}[\sqrt{\Sigma^p} \sqrt{\Sigma^q}]$, which holds for every pair.",
    ),
    Headline(
        "cspd.alignment-helps",
        "Denoising trajectory alignment raises acceptance.",
        "refuted",
        "There are pairs of models whose last states are nearer to each other on independent noise.",
        "It holds for many pairs, and may for those of the paper.",
    ),
    Headline(
        "cspd.residual",
        "Acceptance-rejection sampling draws from the modified distribution without its integral.",
        "holds",
        "What is accepted has the positive part of the difference as its density, and the unknown integral cancels.",
    ),
    Headline(
        "cspd.samplers",
        "The densities that are verified exist for any sampler, DDIM and rectified flow included.",
        "refuted",
        "A step that adds no noise leads to a point, and a trajectory of such steps has no density.",
        "Verify the density of the token itself, by change of variables from the initial noise.",
    ),
)

TAKE_HOME = (
    Result(
        "cspd.output-law.last-step",
        "The ratio of the last denoising step is enough",
        "Verified by the densities of the last step alone, continuous tokens have exactly the target's law, however the "
        "two trajectories are coupled. It costs at most one proposal a token in the mean, and no extra inference.",
    ),
    Result(
        "cspd.in-place.sequence",
        "Blocks that are never cut lose the correlation of tokens",
        "If the target does not see the drafts of a block and rejected tokens are replaced in place, tokens of a block "
        r"are independent given what stands before it. Such blocks take $N / \gamma$ calls whatever is accepted.",
    ),
)
