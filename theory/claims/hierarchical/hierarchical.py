"""Claims about hierarchical speculative decoding, and what any verification of one path of drafts can reach."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, product
from typing import Any, NamedTuple

from simlab.decoders import Block, Decoder, Hierarchical, SpeculativeDecoder
from simlab.processes import TableProcess
from simlab.rules import Speculative
from theory.claims.base import Claims, Finding
from theory.claims.evidence import counterexample, enumeration, example, holds_if, refuted_if, rejects_mutants
from theory.claims.format import fmt, fmt_row, numbers
from theory.claims.leviathan.speculative_rule import Row, constant, two_processes
from theory.claims.proven import proven
from theory.claims.sources import Repository, derived, said
from theory.distances import aligned, tv
from theory.exact import Law, block_acceptance, block_law, complete, target_law
from theory.failures import CheckFailed

CLAIMS = Claims("hierarchical")
CODE = Repository("ZhouYuxuanYX/Hierarchical-Speculative-Decoding", "b8575e2ad42bcf2b32d0c6f3481eb49099453f33")
README = (
    "This hierarchical verification enables HSD to accept more tokens in expectation than both token-wise and "
    "block-wise verification methods, while strictly preserving the target model’s output distribution"
)
RULE = Speculative()
THIRDS = (Fraction(1, 3), Fraction(2, 3)), (Fraction(2, 3), Fraction(1, 3))  # p and q of examples


class Case(NamedTuple):
    """A target and a draft process, long enough for a block of ``gamma`` drafts and the token after it."""

    target: TableProcess
    draft: TableProcess
    gamma: int


def same_rows(p: Row, q: Row, gamma: int) -> Case:
    """Rows that depend on nothing."""
    return Case(constant(p, gamma + 1), constant(q, gamma + 1), gamma)


def random_cases(seed: int, gammas: Sequence[int] = (1, 2, 3)) -> list[Case]:
    """Processes that depend on the whole prefix, with zeros and without."""
    return [
        Case(*two_processes(seed + k, v, gamma + 1, z), gamma)
        for k, (v, z) in enumerate(((2, 0.0), (2, 0.3), (3, 0.3)))
        for gamma in gammas
        if v ** (2 * gamma) < 700
    ]


def first_tokens(decoder: Decoder, case: Case) -> Law:
    """The law of the first gamma tokens: of the first block, completed by the target."""
    target, draft, gamma = case
    return marginals(complete(block_law(decoder, target, RULE, draft), target, gamma), gamma)[gamma]


def off(decoder: Decoder, case: Case) -> Fraction:
    """TV between the law of the first gamma tokens and the target's."""
    return Fraction(tv(*aligned(first_tokens(decoder, case), target_law(case.target, case.gamma))))


def accepted(decoder: Decoder, case: Case) -> Fraction:
    return Fraction(block_acceptance(decoder, case.target, RULE, case.draft))


def smallest(biased: Decoder, gamma: int) -> tuple[Case, list[Row]]:
    """The pair of rows of two tokens with the smallest denominator for which a decoder is biased."""
    for denominator in range(1, 7):
        for a, b in product(range(denominator + 1), repeat=2):
            rows: list[Row] = [(Fraction(k, denominator), Fraction(denominator - k, denominator)) for k in (a, b)]
            if off(biased, case := same_rows(rows[0], rows[1], gamma)) > 0:
                return case, rows
    raise CheckFailed(f"no pair of rows with a denominator up to 6 shows a bias at gamma = {gamma}")


# One algorithm under two names ---------------------------------------------------------------------------------


@CLAIMS.claim(
    "hsd.block",
    derived(
        "arXiv 2601.05724",
        "The abstract calls the method lossless; the published code does not cap its last step. Capped it is this.",
    ),
    r"For every target, draft and draft length, hierarchical verification whose last step is capped, which accepts "
    r"all drafts with $\min(1, r_\gamma/M_{\gamma-1})$, accepts each number of drafts and emits each token with the "
    r"probability of block verification, and so is lossless.",
)
def is_block_verification(seed: int) -> Finding:
    r"""Let $r_k = P(x_1 \dots x_k)/Q(x_1 \dots x_k)$ and $M_k = \max(1, r_0, \dots, r_k)$. Block verification has the
    weights $w_0 = 1$, $w_k = \min(1, w_{k-1} r_k/r_{k-1})$. They are $w_k = r_k/M_k$: if it holds for $k - 1$, then
    $w_k = \min(1, r_k/M_{k-1}) = r_k/\max(M_{k-1}, r_k)$, and where $r_k = 0$ both are 0 from then on. Divided by
    $Q(x_1 \dots x_k)$ the masses of prefix $k$ are $w_k p_k - q_k$. With $S^+$ and $S^-$ the sums of their positive and
    negative parts, $S^+ - S^- = w_k - 1 \le 0$, so the larger one is $S^- = S^+ + 1 - w_k$, and hierarchical
    verification stops at prefix $k$ with probability $S^+/(S^+ + 1 - w_k)$: the coin $h_k$ of block verification. The
    whole block has $\min(1, r_\gamma/M_{\gamma-1}) = w_\gamma$ in both, the token after prefix $k$ follows $[w_k p_k -
    q_k]^+$ in both, and to step back to the first coin that comes up is to take the longest prefix whose coin does. So
    both make the same choices with the same probabilities; block verification is lossless
    (baselines.block-verification).
    """
    tried = [case for case in random_cases(seed) if case.gamma > 2 or case.target.vocabulary > 2]
    laws = [
        [block_law(made(case.gamma), case.target, RULE, case.draft) for made in (Hierarchical, Block)] for case in tried
    ]
    worst = max(Fraction(tv(*aligned(*pair))) for pair in laws)
    return holds_if(
        proven("hsd.block") and worst == 0,
        enumeration(
            "beyond the proof: V = 2 with gamma = 3, V = 3 with gamma = 1, 2. The joint law of what a first step "
            f"commits is that of block verification in rationals for {len(tried)} pairs of processes"
        ),
    )


# What is published ---------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "hsd-reference.lossless",
    CODE.function(
        "transformers/generation/utils.py",
        "_speculative_sampling",
        "With backward=True and clever=True prefixes are scaled by the running maximum of P/Q, and stopped at with "
        "the sum of p'; all drafts are accepted with min(1, P/Q) of the whole, which the maximum does not cap. At this "
        "commit the file mixes tabs and spaces and does not compile: it is read with tabs as four spaces. f3adf7f, of "
        "October 2025, compiles, and has the same last step.",
    ),
    r"For every target, draft and draft length, the tokens that the published hierarchical verification emits, "
    r"completed by the target, have the law of the target.",
)
def published_is_lossless(seed: int) -> Finding:
    r"""Where a prefix has $r_k > 1$, its running maximum is $M > 1$, and the whole draft is accepted with $\min(1,
    r_\gamma)$ where block verification accepts it with $\min(1, r_\gamma/M)$ (hsd.block). What is accepted too often is
    emitted too often: with two drafts of $p = (1/3, 2/3)$ and $q = (2/3, 1/3)$ the draft $(1, 0)$ has $r = (2, 1)$ and
    is accepted always, not half of the time. One draft alone is verified right.
    """
    case, (p, q) = smallest(Hierarchical(2, final="uncapped"), 2)
    published = Hierarchical(2, final="uncapped")
    law, bias = first_tokens(published, case), off(published, case)
    alone = max(off(Hierarchical(1, final="uncapped"), other) for other in random_cases(seed, (1,)))
    capped = off(Hierarchical(2), case)
    return refuted_if(
        bias > 0 and capped == 0,
        counterexample(
            f"p = {fmt_row(p)}, q = {fmt_row(q)} at each position, two drafts: 00, 01, 10, 11 are emitted with "
            f"{fmt_row(law.values())}, TV {fmt(bias)}; {fmt(accepted(published, case))} drafts accepted, "
            f"{fmt(accepted(Block(2), case))} by block verification. No pair with a smaller denominator shows a bias",
            numbers(
                p=p,
                q=q,
                gamma=2,
                law=list(law.values()),
                tv=bias,
                accepted=accepted(published, case),
                by_block=accepted(Block(2), case),
            ),
        ),
        enumeration(f"with a single draft the law is the target's (largest TV {fmt(alone)})"),
        enumeration(f"with the last step capped the law is the target's in the same case (TV {fmt(capped)})"),
    )


@CLAIMS.claim(
    "hsd.accepts-more",
    said(
        f"README of the published code at {CODE.commit[:12]}",
        README,
        "formalised",
        "Of the forms that emit a prefix and one token, completed by the target (clever=True), the capped one "
        "preserves its distribution. More is read as never fewer, which is true with equality, and more for some "
        "models, which is false.",
    ),
    r"Capped hierarchical verification accepts at least as many drafts in the mean as block verification for every "
    r"target, draft and draft length, and more for some.",
)
def accepts_more(seed: int) -> Finding:
    r"""The form that is lossless accepts each number of drafts with the probability of block verification (hsd.block),
    for every target and draft: by solvers for two tokens and up to two drafts, and beyond by the argument there. So it
    accepts as many in the mean, and more for none. No form that emits a prefix and one token, and is lossless once the
    target completes it, accepts more (block.optimal); what the published last step accepts beyond is paid for by a bias
    (hsd.frontier).

    A form that draws the rest of a block from what is left of its joint law does accept more, and pays in calls: a
    token that is drawn so needs a row that no call has had. With the two drafts of the example, kept with $\min(1,
    P/Q)$ and else drawn anew from $[P - Q]_+$, the law is $P$, and $2 \sum \min(P, Q) = 4/3$ are accepted.
    """
    tried = [same_rows(*THIRDS, 2), *random_cases(seed, (2, 3))]

    def lead(**choice: Any) -> Fraction:
        """The most drafts by which it is ahead of block verification."""
        return max(accepted(Hierarchical(c.gamma, **choice), c) - accepted(Block(c.gamma), c) for c in tried)

    p, q = THIRDS
    found = [accepted(decoder, tried[0]) for decoder in (Hierarchical(2), Block(2), SpeculativeDecoder(2))]
    one = is_block_verification(seed).verdict == "holds"
    return refuted_if(
        one and lead() <= 0,
        counterexample(
            f"more for none: both accept each number of drafts with one probability, for every target and draft "
            f"(hsd.block). With p = {fmt_row(p)}, q = {fmt_row(q)} at each position and two drafts {fmt(found[0])} are "
            f"accepted, as by block verification, {fmt(found[2])} one by one",
            numbers(p=p, q=q, gamma=2, accepted=found[0], by_block=found[1], by_token=found[2]),
        ),
        enumeration(f"in none of {len(tried)} cases is it ahead (largest lead {fmt(lead())})"),
        rejects_mutants(
            {"the published last step": {"final": "uncapped"}}, lambda choice: lead(**choice), "drafts accepted"
        ),
    )


# What a verification of one path can reach ----------------------------------------------------------------------


@CLAIMS.claim(
    "hsd.frontier",
    derived(
        "after arXiv 2403.10444 and arXiv 2601.05724",
        "The optimum of block verification, with the price of what goes beyond it.",
    ),
    r"For every target and draft, a rule that emits the first $\tau$ of $\gamma$ drafts and one token more, the "
    r"target going on from there, has "
    r"$\mathbb{E} \tau \le \mathbb{E} \tau_{\mathrm{block}} + \sum_{j=1}^{\gamma} (\gamma - j + 1) d_j$, where $d_j$ "
    r"is the mean, over what it emits before, of the TV between its emitted token $j$ and the target's row: accepting "
    r"more drafts than block verification is a bias.",
)
def frontier(seed: int) -> Finding:
    r"""Complete the output by $p$, let $e(x^i)$ be the probability that it begins with $x^i = x_1 \dots x_i$, and
    $m(x^i)$ that the drafts do and $\tau \ge i$; so $m(x^i) \le q(x^i)$. Of the outputs that begin with $x^{i-1}$ those
    with $\tau < i - 1$, of mass $e(x^{i-1}) - m(x^{i-1})$, draw token $i$ from the target. The others go on with $x_i$
    with at least the mass $m(x^i)$. Hence $m(x^i) \le m(x^{i-1}) p(x_i | x^{i-1}) + \delta(x^i)$ with $\delta(x^i) =
    e(x^i) - e(x^{i-1}) p(x_i | x^{i-1})$. Block verification has $b(x^i) = q(x^i) w_i = \min(q(x^i), b(x^{i-1}) p(x_i |
    x^{i-1}))$. With $u = [m - b]^+$ both bounds give $u(x^i) \le u(x^{i-1}) p(x_i | x^{i-1}) + [\delta(x^i)]^+$. Summed
    over $x^i$, $U_i \le U_{i-1} + d_i$, since $d_i = \sum [\delta(x^i)]^+ = \sum e(x^{i-1}) \mathrm{TV}(e(\cdot |
    x^{i-1}), p(\cdot | x^{i-1}))$, and $U_0 = 0$. So $P(\tau \ge i) \le P(\tau_{\mathrm{block}} \ge i) + \sum_{j \le i}
    d_j$, and the sum over $i$ is the bound. A lossless rule has $d_j = 0$.
    """
    case, published = same_rows(*THIRDS, 2), Hierarchical(2, final="uncapped")
    p, q = THIRDS
    found, block, paid = accepted(published, case), accepted(Block(2), case), spent(published, case)
    return holds_if(
        proven("hsd.frontier") and found == block + paid,
        example(
            f"p = {fmt_row(p)}, q = {fmt_row(q)} at each position, two drafts, the published last step: "
            f"{fmt(found)} accepted, {fmt(block)} by block verification, and a bias of {fmt(paid)}: on the line",
            numbers(p=p, q=q, gamma=2, accepted=found, by_block=block, bias=paid),
        ),
    )


def spent(decoder: Decoder, case: Case) -> Fraction:
    """What the bias of a decoder costs: the sum of (gamma - j + 1) d_j."""
    laws = marginals(first_tokens(decoder, case), case.gamma)
    total = Fraction(0)
    for place, (begun, emitted) in enumerate(pairwise(laws)):
        for prefix, mass in begun.items():
            row = case.target.row(prefix)
            excess = (emitted.get((*prefix, x), Fraction(0)) - mass * row[x] for x in range(len(row)))
            total += (case.gamma - place) * sum(max(gap, Fraction(0)) for gap in excess)
    return total


def marginals(law: Law, gamma: int) -> list[dict[tuple[int, ...], Any]]:
    """The laws of the first 0, 1, ..., gamma tokens."""
    found: list[defaultdict[tuple[int, ...], Any]] = [defaultdict(Fraction) for _ in range(gamma + 1)]
    for tokens, mass in law.items():
        for place in range(gamma + 1):
            found[place][tokens[:place]] += mass
    return [dict(part) for part in found]


# Other prefixes ------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "hsd.min-prefix",
    derived(
        "after a line of the published code that is commented out",
        f"In _speculative_sampling of {CODE.name} the line takes the smaller of the probabilities of target and draft "
        "for a prefix, where the code has the target's over the running maximum. The capped last step is not the "
        "code's either (hsd-reference.lossless).",
    ),
    r"For every target, draft and draft length, hierarchical verification with a capped last step that takes "
    r"$\min(P, Q)$ of a prefix in place of $P/M$ is lossless.",
)
def smaller_prefix(seed: int) -> Finding:
    r"""Up to two drafts the only prefixes that count have at most one token, and $\min(1, r_1) = r_1/\max(1, r_1)$.
    With three drafts prefix 2 has $\min(1, r_2)$, which is above $r_2/\max(1, r_1)$ where $r_1 > 1$ and $r_2 < r_1$:
    the prefix is stopped at too often, and then continued by too much. The bias is enumerated.
    """
    cases = random_cases(seed, (1, 2))
    short = max(off(Hierarchical(case.gamma, prefix="min"), case) for case in cases)
    case, (p, q) = smallest(Hierarchical(3, prefix="min"), 3)
    biased = Hierarchical(3, prefix="min")
    law, bias = first_tokens(biased, case), off(biased, case)
    return refuted_if(
        bias > 0 and short == 0,
        counterexample(
            f"p = {fmt_row(p)}, q = {fmt_row(q)} at each position, three drafts: TV {fmt(bias)}",
            numbers(p=p, q=q, gamma=3, law=list(law.values()), tv=bias),
        ),
        enumeration(f"with one draft and with two the law is the target's in {len(cases)} cases (TV {fmt(short)})"),
    )
