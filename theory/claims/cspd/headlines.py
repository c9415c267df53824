"""What CSpD says first, what is found, and what a reader takes home."""

from __future__ import annotations

from theory.claims.headlines import Headline, Result

HEADLINES = (
    Headline(
        "cspd.output-law",
        "Experiments show that the output distribution is maintained: read exactly, Algorithm 1 is lossless.",
        "refuted",
        r"The product of variances $\Sigma$ in ratio and threshold says nothing about the token, and where it is not 1 "
        "the law of the token is off, but for special pairs; the appendix itself calls the ratio biased. The paper "
        "measures FID and IS, which are another question, and says twice that theory proves that quality is "
        "maintained: where every step adds noise, as MAR's last does not, and variances do not depend on the state, a "
        "token is off by at most the bias of the ratio, which has no bound; where they do, as MAR's, it can be off "
        "without bias (cspd.proved.bias).",
        r"Leave $\Sigma$ out: where the last step adds noise, as that of MAR does not, the ratio of this step alone is "
        "exact, with noise shared or not. For MAR there are two rules, at a price: cspd.noiseless.last-noise walks "
        "drafts back through both networks, six times the time of the target alone on the trained pair, and assumes "
        "means that are one to one, which is not shown for MAR; with cspd.noiseless.target-end and a target that sees "
        "drafts a call commits one token (cspd.noiseless.cut).",
    ),
    Headline(
        "cspd.theorem-1",
        "Sharing the noise of a denoising step lowers the expected squared distance of the samples by "
        r"$2 \mathrm{tr}\sqrt{\Sigma_t^q \Sigma_t^p}$.",
        "holds-under-assumptions",
        "With given means and covariances that commute, as DDPM's diagonal ones do, it is the cross term of the noise.",
        "For other roots and along whole trajectories it is the trace of a sum over steps (cspd.theorem-1.corrected).",
    ),
    Headline(
        "cspd.alignment-helps",
        "Denoising trajectory alignment raises the acceptance rate of drafts that are close to the target.",
        "holds-under-assumptions",
        r"As drafts approach the target shared noise accepts nearly all of them, and independent noise, where $\Sigma$ "
        "is 1 as it is in the limit, at most 0.510 for T = 100, d = 16: this decides where more than that is accepted "
        r"and $\Sigma$ is 1.",
        "Elsewhere the two models decide, and every rate that is printed is at most 0.38. Table 4 has 0.30 to 0.33 "
        "with alignment, and less without in all four rows; with last means two deviations apart, T = 100 and d = 16, "
        r"shared noise accepts 0.317 and independent noise 0.490, and with $\log \Sigma = 40$ there are drafts that "
        "they accept with 0.567 and 0.661.",
    ),
    Headline(
        "cspd.prefill",
        "Pre-filling tokens of the target raises acceptance at no cost, with diminishing returns.",
        "holds-under-assumptions",
        "Where the mismatch of two models that are otherwise equal fades along the sequence, and drafts on shared "
        "noise are verified by the ratio of the last step, the positions that are drafted with least success are left "
        "to the target: the mean of the others rises, a block that accepts next to nothing is saved, and gains shrink "
        "once acceptance is concave, which in this model is from 0.317 on; the paper's rates begin at 5 %.",
        "With the 5 % that the paper names, its Table 5 has the speedup of none within rounding at all four draft "
        "lengths; 15 % cost something, beyond rounding at three of them (cspd.prefill.no-cost). There the gain in "
        "acceptance by one more percent falls beyond rounding at gamma 32, and rises at gamma 8 "
        "(cspd.prefill.diminishing). Where the mismatch does not fade, each of the three can fail, and with a lossless "
        "rule a draft behind the pre-filled tokens is accepted no more than it was at its place (cspd.prefill.raises).",
    ),
    Headline(
        "cspd.residual",
        "Acceptance-rejection sampling draws from the modified distribution without its integral.",
        "holds",
        "A proposal is accepted with the positive part of the difference of densities, and the unknown integral "
        "cancels.",
    ),
    Headline(
        "cspd.batch-cost",
        "Larger batches raise the speedup, to over 2.",
        "holds",
        "In all 16 rows of Tables 1 and 2 the printed speedup rises with every larger batch size.",
        "That the draft model's cost relative to the target's falls, the cause that the paper gives, is not decided: "
        "one cost is printed, at one batch size. How many tokens a block commits is another matter: 52 of the 64 "
        "printed speedups are above what eq. 51 gives at the acceptance rate beside them, whatever the cost "
        "(published.cspd-walltime).",
    ),
)

TAKE_HOME = (
    Result(
        "cspd.output-law.last-step",
        "The ratio of the last denoising step is enough",
        "Verified by the densities of the last step alone, continuous tokens have exactly the target's law, whether "
        "or not the noise of the steps is shared, if the last step of both models adds noise. It costs at most one "
        "proposal a token in the mean, and no extra inference. MAR's published sampler adds none there: its last noise "
        "is one step earlier, and cspd.noiseless.last-noise verifies that step if means are one to one, which is not "
        "shown for MAR, by walking back through both networks.",
    ),
    Result(
        "cspd.draft-length.bounds",
        "Acceptance averaged over positions does not depend on the draft length",
        r"For every lossless decoder that cuts blocks at the first rejection, it lies between $\alpha / (1 + \alpha / "
        r"\gamma)$ and $(\alpha + \alpha / \gamma) / (1 + \alpha / \gamma)$, where $\alpha$ is the "
        "rate of verified drafts. So printed rates can be checked against each other without the models: those of "
        "CSpD's Tables 1 and 2 at 4 and at 32 drafts, read of verified drafts, pooled or image by image, or of all "
        "drafts, are of no pair of models and such a decoder; averaged over blocks they can be (cspd.draft-length).",
    ),
)
