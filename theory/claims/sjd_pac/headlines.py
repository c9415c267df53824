"""What SJD-PAC says first, and what is found."""

from __future__ import annotations

from theory.claims.headlines import Headline, Result

HEADLINES = (
    Headline(
        "pac.combined",
        "Proactive drafting and adaptive continuation are lossless.",
        "holds",
        "A retained draft still follows its declared row given all that stands to its left, and candidates drawn "
        "without replacement and verified in turn recover the target's row, so both arguments go through together.",
        "If the retained token is kept, it is verified first, since last it would change the law; it may be dropped. "
        "The published code departs from the proofs in four places, besides its first call, whose siblings may repeat, "
        "and is not lossless (sjd-pac-reference.lossless).",
    ),
    Headline(
        "pac.retention",
        "Verification retains a token with probability 1 - TV, drawing anew with sum p' p.",
        "holds",
        "Both follow in a line, and verification is never behind.",
    ),
    Headline(
        "pac.match-rate",
        "Image tokens are drawn again with probability below 0.01, and retained with probability above 0.7.",
        "not-decided",
        "The paper does not say whether it means medians or means: on a simulated stand-in the median token is "
        "retained with 0.87 and drawn again with 0.009, too near 0.01 to tell, and on average it is retained with 0.71 "
        "and drawn again with 0.06, as rows of low entropy are.",
        "Say over which positions the numbers are taken: SJD's printed 1.04 tokens a call of Jacobi decoding put the "
        "mean over the drafts that it compares above 0.01.",
    ),
    Headline(
        "pac.ablation.components",
        "Tokens a call rise from SJD to +PD, to +PD+AC, and with a window of 64.",
        "not-refuted",
        "A simulated stand-in has the same order, with a comb and with the tree of the published code. Sizes depend on "
        "the tree, which the paper leaves open: with a comb adaptive continuation is worth more than in print, and the "
        "wider window less.",
        "How far a model's rows change from call to call would have to be measured on the model.",
    ),
    Headline(
        "pac.ablation.optimum",
        "K = 4 and D = 3 are the best tree.",
        "not-decided",
        "The printed differences to K = 5 and D = 4 are 0.04 and 0.02 tokens a call, without a spread; on a simulated "
        "stand-in quarters of an image differ by half a token.",
        "With the spread of that stand-in thousands of quarters would decide it at a false-alarm rate of 1e-4, which "
        "is some 1,200 and 2,500 whole images if quarters are independent; how many the paper used is not printed.",
    ),
    Headline(
        "pac.state-of-the-art",
        "Acceleration is state of the art for lossless generation of images.",
        "holds",
        "In all four configurations of the paper's Table 1 SJD-PAC has the largest step compression and the largest "
        "speedup of all lossless methods there: autoregressive decoding, EAGLE-2 and SJD.",
        "Of the lossy alternatives of the same sentence, GSD and SJD2 together, it is ahead in five of six speedups "
        "and in four of six step compressions; of each by itself in neither column: SJD2 has a larger step compression "
        "on Emu3, and GSD a larger speedup on Lumina-mGPT with PartiPrompts (pac.state-of-the-art.alternatives).",
    ),
)

TAKE_HOME = (
    Result(
        "pac.readings.bonus",
        "A comb of candidates gains by its bonus token alone",
        "If no token follows an accepted sibling, a comb takes exactly as many calls in law as no tree at all. All "
        "that a comb saves is the one token drawn from the accepted sibling's own row.",
    ),
)
