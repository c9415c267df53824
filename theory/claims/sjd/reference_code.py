"""Claims about SJD as its published code runs it."""

from __future__ import annotations

import numpy as np

from simlab import mutants
from simlab.decoders import Decoder, Sjd, make_decoder
from simlab.decoders.sjd_reference import PointMassSjd
from simlab.processes import Processed, TableProcess
from simlab.processes.processors import top_k
from theory.claims.base import Claims, Finding
from theory.claims.evidence import example, holds_if, rejects_mutants, require, require_found, small_scale
from theory.claims.format import fmt, fmt_row, numbers
from theory.claims.gsd.acceptance import weights
from theory.claims.proven import over_more_tokens, proven
from theory.claims.sjd.losslessness import (
    LOSSLESS,
    deviation,
    mean_steps,
    on_two_tokens,
    random_tables,
    sequences,
    two_tokens,
)
from theory.claims.sources import Repository
from theory.distances import tv
from theory.exact import sequence_law, step_law, target_law
from theory.example_processes import random_process
from theory.proofs.loops import RowBehind
from theory.search import pairs, searched, smallest_violation

CLAIMS = Claims("sjd")
CODE = Repository("tyshiwo1/Accelerating-T2I-AR-with-SJD", "b389cfb2b6aa228efab32190f98bc13c3fd4b8e6")
FILE = "scheduler/jacobi_iteration_lumina_mgpt.py"


@CLAIMS.claim(
    "sjd-reference.lossless",
    CODE.function(
        FILE,
        "SpeculativeSampler.__call__, get_multi_token_for_preparation",
        "The inputs of a call are the last committed token and W - 1 drafts. It accepts drafts from the left with "
        "min(1, p/q), draws the first rejected one again from the positive part of p - q, and the others from the rows "
        "of this call, with a token from the row behind the window, which is committed if none is rejected and a draft "
        "if one is: a call that commits i tokens needs i - 1 new drafts. New drafts are uniform, or copies, or the "
        "likeliest token of the row to the left, always scored as point masses.",
    ),
    r"For every target and window, sequences decoded with the published loop, whose new drafts are uniform and scored "
    r"as point masses, have the autoregressive law.",
    assumptions=[
        "residual unfiltered: the processors that the loop applies to the positive part of p - q leave it as it is",
    ],
)
def reference_lossless(seed: int) -> Finding:
    r"""The draft from the row behind the window follows the q that is declared for it, as those that are drawn again
    do. A new draft was drawn before the tokens that stand to its left in the call that verifies it, and is a known
    value by then: given that value the point mass on it is the law of the draft, as the uniform row is before it is
    known. The proof of sjd.theorem-1.sequence goes through for either. It matters to speed: a new draft $x$ is accepted
    with $p(x)$ and not with $\min(1, V p(x))$. With as many new drafts as tokens are committed, as in the paper, the
    loop is the decoder ``sjd-reference``, of which speeds are.

    That a rejected draft is drawn again from the positive part of $p - q$ needs the residual unfiltered. It is so where
    rows are not filtered, and with top-k at temperature 1 where no tokens tie for the k-th place; with a tie or another
    temperature the law is another (sjd-reference.residual).
    """
    tried = [
        (decoder, p)
        for p in random_tables(seed, small=True)
        for w in (2, 3)
        for decoder in (make_decoder("sjd-reference", window=w), RowBehind(w - 1))
    ]
    worst, enumerated = sequences(
        tried,
        "beyond the proof, with a new draft or one from the row behind the window, V = 2 with length 4, V = 3 with "
        "length 3, windows 2, 3",
    )
    small = random_process(seed, 3, 4, zeros=0)
    decoders = {
        "uniform q": Sjd(2),
        "point mass": make_decoder("sjd-reference", window=3),
        "point mass, and a draft from the row behind the window": RowBehind(2),
    }
    found = ", ".join(f"{name} {float(mean_steps(decoder, small)):.3f}" for name, decoder in decoders.items())
    return holds_if(
        proven("sjd-reference.lossless") and worst == 0,
        enumerated,
        small_scale(f"exact mean calls for 4 tokens, V = 3, two drafts and a bonus: {found}"),
    )


K = 2  # of top-k, at vocabularies of 2 to 5 tokens


@CLAIMS.claim(
    "sjd-reference.residual",
    CODE.function(
        FILE,
        "SpeculativeSampler.reject_sampling_single_token",
        "Takes the logarithm of the positive part of p - q, where p and q are rows that have passed through the logits "
        "processors (guidance aside), and passes it through the same processors again before it draws from it: a mask, "
        "top-k with ties, and any warpers of temperature and top-p.",
    ),
    r"For every $p$ and $q$ filtered to top-k, filtering the normalised residual $[p - q]^+$ to top-k again leaves it "
    r"as it is.",
    assumptions=[
        "top-k alone: the temperature is 1 and there is no top-p",
        "no tie: no tokens tie for the k-th place of the target's row",
    ],
)
def reference_residual(seed: int) -> Finding:
    r"""By top-k alone a residual has mass only where the filtered $p$ has. With no tie these are at most $k$ tokens, so
    the $k$ likeliest of the residual are all of it. With a tie they can be more, and filtering the residual drops the
    least of them. A temperature is applied to the residual a second time. In both cases the output law is not $p$: it
    is off by TV 1/12 with a tie of three tokens at top-2, and by 2/15 at temperature 1/2.
    """
    tied = weights(1, 1, 1, 0), weights(1, 0, 0, 3)
    p, q = weights(0, 1, 2), weights(1, 0, 0)
    law = step_law(mutants.ResidualTempered(), p, q)
    filtered_p, filtered_q = (top_k(np.array(row, dtype=object), K) for row in tied)
    residual = LOSSLESS.residual(filtered_p, filtered_q, np.int64(0))
    again = top_k(residual, K)
    require((again != residual).any(), "a tie changes nothing")
    kept = np.minimum(filtered_p, filtered_q)
    tied_law = kept + (1 - kept.sum()) * again
    return holds_if(
        proven("sjd-reference.residual"),
        over_more_tokens("sjd-reference.residual", seed),
        example(
            f"with a tie at place {K}, p = {fmt_row(tied[0])} and q = {fmt_row(tied[1])} before the filter: "
            f"top-{K} turns the residual {fmt_row(residual)} into {fmt_row(again)}, and the law is "
            f"{fmt_row(tied_law)} where the target has {fmt_row(filtered_p)}",
            numbers(
                p=tied[0],
                q=tied[1],
                k=K,
                residual=residual,
                again=again,
                law=tied_law,
                tv=tv(tied_law, filtered_p),
            ),
        ),
        example(
            f"at temperature 1/2, applied to p, to q and again to the residual, {len(p)} tokens: law "
            f"{fmt_row(law)} where the target has {fmt_row(p)}",
            numbers(p=p, q=q, temperature=0.5, law=law, tv=tv(law, p)),
        ),
    )


@CLAIMS.claim(
    "sjd-reference.greedy",
    CODE.function(
        FILE,
        "sampling_logits2tokens, SpeculativeSampler.__call__",
        "With do_sample off it takes the argmax of each row as its token and declares the softmax row as its q; the "
        "verification still tosses coins and draws from the residual. The paper's runs sample, where this is not used: "
        "there the randomness is set by top-k, and top-1 gives point masses (sjd.greedy).",
    ),
    r"There is a target for which the published loop with do_sample off neither has the law of the target nor gives "
    r"its argmax sequence.",
)
def reference_greedy(seed: int) -> Finding:
    r"""A draft is the argmax $x$ of a row $q$, so a point mass, and is accepted with $\min(1, p(x)/q(x))$ instead of
    $p(x)$: too often for the law of the target if $q(x) < 1$. A new draft that is rejected is drawn again at random, so
    the argmax is not what comes out either.
    """
    loop = ArgmaxLoop(2)

    def like_either(decoder: Decoder, process: TableProcess) -> int:
        """Whether a decoder has the law of the target or gives its argmax sequence."""
        law = sequence_law(decoder, process, LOSSLESS)[0]
        return int(law in (target_law(process), target_law(Processed(process, temperature=0))))

    levels = (2, 1), (2, 4)
    found = smallest_violation(
        pairs, lambda e: all(a != b for a, b in e) and not like_either(loop, two_tokens(*e)), seed, levels
    )
    first, then = require_found(found, f"no deviation found: {searched(levels)}")
    process = two_tokens(first, then)
    return holds_if(
        not like_either(loop, process),
        example(
            f"two tokens, two drafts: the law of the sequence is off the target by TV "
            f"{fmt(deviation(loop, process))}, and is no point mass",
            on_two_tokens(loop, first, then, window=3),
        ),
        rejects_mutants(
            {"sampling": PointMassSjd(2)}, lambda decoder: like_either(decoder, process), "being like neither"
        ),
    )


class ArgmaxLoop(mutants.GreedyDrafts, PointMassSjd):
    """The published loop with do_sample off, for sequences no longer than its drafts, so without a bonus token."""
