"""Proofs about drafts that are drawn from another row than is declared, engines that never look at it, and decoders."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np

from simlab.arrays import total_variation
from simlab.decoders import Sjd2, SjdBlock, SjdBlockTree, SjdPp
from simlab.decoders.renewal import Drafts
from simlab.mutants.blocks import CoupledUnseen, TreeUnseen
from simlab.rules import Rule, SamplerMatch, Speculative
from theory.proofs.base import Numbers, Proof, Stated, eq, equal, le, proof_of_rows
from theory.proofs.sequences import at_tables
from theory.symbolic import prove_decoder

__all__ = ["METHOD_PROOFS"]


def matched(n: Numbers, rule: Rule | None = None) -> Stated:
    """Drafts from r, declared as q: what is emitted follows p, and sum r p are accepted, at most 1 - TV(p, r)."""
    p, q, r = n["p"], n["q"], n["r"]
    found = (rule or SamplerMatch()).drawn_rows(p, q, r)
    law = [(a, eq, b) for a, b in zip(found.law, p, strict=True)]
    return [*law, (found.acceptance, eq, sum(p * r)), (found.acceptance, le, 1 - total_variation(p, r))]


def declared(n: Numbers, share: Fraction = Fraction(1)) -> Stated:
    """Speculative sampling of drafts from r, declared as q: TV(law, p) <= TV(r, q), and the law is r where p = q."""
    p, q, r = n["p"], n["q"], n["r"]
    law, apart = Speculative().drawn_rows(p, q, r).law, total_variation(r, q)
    same = Speculative().drawn_rows(q, q, r).law
    return [(total_variation(law, p), le, apart * share), *((a, eq, b) for a, b in zip(same, r, strict=True))]


def channel(n: Numbers, share: Fraction = Fraction(1)) -> Stated:
    """What a rule makes of drafts from r and from q where it emits the row ``k0`` for even tokens, ``k1`` for odd ones.

    Over two tokens that is any rule.
    """
    q, r = n["q"], n["r"]
    emitted = np.array([n[f"k{x % 2}"] for x in range(len(q))], dtype=object)
    return [(total_variation(r @ emitted, q @ emitted), le, total_variation(r, q) * share)]


def reused(n: Numbers, times: int = 1) -> Stated:
    """A draft from q behind a rejection, renewed by SJD++ with the threshold t, follows q(y) 1[p(y) > t q(y)] + p(y)
    sum_x q(x) 1[p(x) <= t q(x)], which is declared for it."""
    if n["t"] == 1:
        return []
    p, q, t = n["p"], n["q"], n["t"] / (1 - n["t"])  # any number >= 0
    decoder, found = SjdPp(2), p * 0
    object.__setattr__(decoder, "tau", t)  # no constructor takes a number that is not known
    for x, mass in enumerate(q):
        drafts = Drafts(p[None, None], q[None, None], np.array([[x]]), np.array([[True]]), np.array([0]))
        drawn, declared = (rows[0, 0] for rows in decoder.renew(drafts, Speculative(), None))  # type: ignore[arg-type]
        found = found + drawn * mass
    liked = [bool(a > t * b * times) for a, b in zip(p, q, strict=True)]
    anew = sum((b for b, stays in zip(q, liked, strict=True) if not stays), p[0] * 0)
    row = [(b if stays else 0) + a * anew for a, b, stays in zip(p, q, liked, strict=True)]
    return [*equal(found, row), *equal(declared, row)]


HALF = Fraction(1, 2)
SERVED = "declared-draft.law", "sjd-vp.law"
ANY_CHANNEL = ("q", "r", "k0", "k1")

METHOD_PROOFS = (
    proof_of_rows(
        "sampler-match.law",
        ("sampler-match.law", "sampler-match.biased"),
        "drafts from r, declared as q: p is emitted, and sum r p accepted",
        matched,
        wrong={"speculative": {"rule": Speculative()}},
        rows="pqr",
    ),
    proof_of_rows(
        "declared-draft.speculative",
        SERVED,
        "speculative sampling of drafts from r, declared as q: TV(law, p) <= TV(r, q); r is emitted where p = q",
        declared,
        wrong={"half of it": {"share": HALF}},
        sizes=(2,),
        rows="pqr",
    ),
    proof_of_rows(
        "declared-draft.any-rule",
        SERVED,
        "whatever a rule makes of each draft, it brings drafts from r and from q no further apart",
        channel,
        wrong={"half of it": {"share": HALF}},
        sizes=(2,),
        rows=ANY_CHANNEL,
    ),
    proof_of_rows(
        "sjdpp.reused",
        ("sjdpp.law",),
        "for every threshold t: a draft renewed by SJD++ follows q 1[p > t q] + p sum q 1[p <= t q], as declared",
        reused,
        wrong={"twice the threshold": {"times": 2}},
        shares=("t",),
    ),
    Proof(
        "decoder.sjd-pp",
        ("sjdpp.mended",),
        "SJD++ that declares the row its drafts follow: a step from every state emits the target's law, and leaves "
        "drafts as declared, for thresholds 0, 1/2 and 1",
        tuple(
            partial(prove_decoder, SjdPp(window, tau=tau), "lossless", None, size=2, length=3)
            for window, tau in ((2, Fraction(0)), (2, HALF), (2, Fraction(1)), (3, HALF))
        ),
        {
            "the newest row": partial(
                prove_decoder, SjdPp(2, tau=HALF, declared="newest"), "lossless", None, size=2, length=3
            )
        },
    ),
    Proof(
        "decoder.sjd2",
        ("sjd2.law",),
        "SJD whose new drafts are noise for a call, verified once they are tokens: sequences follow the target",
        (partial(prove_decoder, Sjd2(2), "lossless", None, size=2, length=2),),
        {"verified behind noise": partial(at_tables, Sjd2(2, criterion="noisy"), 2, 2)},
    ),
    Proof(
        "decoder.sjd-block",
        ("sjd-block.lossless",),
        "SJD that verifies its window as a block, and couples the drafts behind, leaves them or draws them anew: a "
        "step from every state emits the target's law, and leaves drafts as declared",
        tuple(
            partial(prove_decoder, decoder, "lossless", None, size=2, length=3)
            for decoder in (
                SjdBlock(2),
                SjdBlock(2, bonus=False),
                SjdBlock(2, renewal="fresh"),
                SjdBlock(2, renewal="kept"),
            )
        ),
        {"coupled as drafts from q": partial(prove_decoder, CoupledUnseen(2), "lossless", None, size=2, length=3)},
    ),
    Proof(
        "decoder.sjd-block-tree",
        ("sjd-block.siblings",),
        "the same with a sibling of the first draft, tried where the block accepts nothing: a step from every state "
        "emits the target's law, and leaves drafts as declared",
        (  # of two tokens a sibling is always accepted, of three not
            *(
                partial(prove_decoder, SjdBlockTree(2, bonus=bonus, candidates=2), "lossless", None, size=2, length=3)
                for bonus in (True, False)
            ),
            partial(prove_decoder, SjdBlockTree(1, candidates=2), "lossless", None, size=3, length=2),
        ),
        {
            "coupled as drafts from q": partial(
                prove_decoder, TreeUnseen(2, bonus=False, candidates=2), "lossless", None, size=2, length=3
            )
        },
    ),
)
