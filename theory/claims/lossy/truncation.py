"""Claims about rules that accept what the target finds likely: truncation, cascades, fuzzy."""

from __future__ import annotations

from fractions import Fraction

from simlab.rules import Fuzzy, Truncation
from theory.claims.base import Claims, Finding
from theory.claims.evidence import example, holds_if
from theory.claims.format import fmt, fmt_row
from theory.claims.proven import over_more_tokens, proven
from theory.claims.sources import derived, said
from theory.distances import tv
from theory.exact import acceptance, step_law
from theory.search import Pmf

CLAIMS = Claims("lossy")
PAIR: tuple[Pmf, Pmf] = (
    (Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)),
    (Fraction(1, 5), Fraction(3, 10), Fraction(1, 2)),
)


def cut(p: Pmf, threshold: Fraction) -> Pmf:
    """p cut to its likely tokens, scaled up: what a truncated sampler of the target draws."""
    left = [mass if mass >= threshold * max(p) else Fraction(0) for mass in p]
    return tuple(mass / sum(left) for mass in left)


@CLAIMS.claim(
    "truncation.law",
    derived("after acceptance by a threshold on p, as min-p sampling has it"),
    r"For every $p$, $q$ and $0 \le t \le 1$, with $A$ the tokens with $p(x) \ge t \max p$ and $p_A$ the row $p$ cut "
    r"to $A$, accepting $x$ if and only if $x \in A$ and replacing from $p_A$ emits $q(x) 1[x \in A] + (1 - q(A)) "
    r"p_A(x)$, whose TV to $p_A$ is $q(A)$ times that between $q$ cut to $A$ and $p_A$.",
)
def truncation_law(seed: int) -> Finding:
    r"""A draft in $A$ is emitted, so $q$ is emitted on $A$; a draft off $A$, of probability $1 - q(A)$, is replaced
    from $p_A$. With $q_A$ the row $q$ cut to $A$, this is $q(A) q_A + (1 - q(A)) p_A$, whose difference to $p_A$ is
    $q(A) (q_A - p_A)$. So it is what a truncated sampler of the target draws only if $q$ is in proportion to $p$ on $A$
    or puts nothing there.
    """
    law = step_law(Truncation(Fraction(1, 2)), *PAIR)
    return holds_if(
        proven("truncation.law"),
        over_more_tokens("truncation.law", seed),
        example(
            f"p = {fmt_row(PAIR[0])}, q = {fmt_row(PAIR[1])}, t = 1/2: emits {fmt_row(law)}, where p cut to A is "
            f"{fmt_row(cut(PAIR[0], Fraction(1, 2)))}"
        ),
    )


@CLAIMS.claim(
    "cascade.law",
    said(
        "Narasimhan et al., ICLR 2025, abstract",
        "In this paper, we leverage the best of both these approaches by designing new speculative cascading "
        "techniques that implement their deferral rule through speculative execution.",
        "ours",
        "The abstract names no rule and no law. This rule is one that decides token by token: defer where the target "
        "gives the drafted token less than t times what its likeliest has.",
    ),
    r"For every $p$, $q$ and $0 \le t \le 1$, with $A$ the tokens with $p(x) \ge t \max p$, lossless verification "
    r"against $c(x) = q(x) 1[x \in A] + p(x) (1 - q(A))$ emits $c$, which accepting $x$ if and only if $x \in A$ and "
    r"replacing from $p$ emits too, and accepts $1 - \mathrm{TV}(c, q) \ge q(A)$.",
)
def cascade_law(seed: int) -> Finding:
    r"""$c$ is a pmf, since $q(A) + (1 - q(A)) = 1$, and lossless verification against it emits $c$ and accepts $1 -
    \mathrm{TV}(c, q)$ (leviathan.acceptance). A cascade that defers drafts off $A$ emits $q$ on $A$ and $p$ in place of
    the rest, which is $c$ as well, and accepts $q(A)$. On $A$ $c \ge q$, so $1 - \mathrm{TV}(c, q) = \sum_x \min(c(x),
    q(x)) \ge q(A)$.
    """
    return holds_if(proven("cascade.law"), over_more_tokens("cascade.law", seed))


@CLAIMS.claim(
    "fuzzy.law",
    said(
        "Holsman et al., arXiv 2502.20704, abstract",
        "we introduce Fuzzy Speculative Decoding (FSD) - a decoding algorithm that generalizes SD by accepting "
        "candidate tokens based on the divergences between the target and draft model distributions.",
        "ours",
        "The sentence gives no rule. The divergence is taken to be TV, and beyond the threshold the draft is rejected "
        "and p drawn from, or the lossless rule goes on. Only the second generalizes SD: at T = 0 it is SD, where the "
        "first accepts nothing of a draft with q other than p.",
    ),
    r"For every $p$, $q$ and $T \ge 0$, accepting every draft where $\mathrm{TV}(p, q) \le T$ and elsewhere rejecting "
    r"every draft and drawing from $p$, or verifying without loss, emits $q$ where $\mathrm{TV}(p, q) \le T$ and $p$ "
    r"elsewhere, so a law within $T$ of $p$; the lossless verification accepts $1 - \mathrm{TV}(p, q)$ where the "
    r"rejection accepts nothing.",
)
def fuzzy_law(seed: int) -> Finding:
    """Where every draft is accepted, q is emitted. Where every draft is rejected and p drawn from, p is emitted, and so
    it is by the lossless rule. The draft is looked at by neither condition, so no token decides for itself. At T = 0
    the lossless rule goes on for all rows, as it accepts everything where q = p: that reading is speculative sampling.
    """
    left, verified = (acceptance(Fuzzy(0, "tv", beyond_it), *PAIR) for beyond_it in ("target", "speculative"))
    return holds_if(
        proven("fuzzy.law") and left == 0 and verified == 1 - tv(*PAIR),
        over_more_tokens("fuzzy.law", seed),
        example(
            f"p = {fmt_row(PAIR[0])}, q = {fmt_row(PAIR[1])}, T = 0: verified without loss {fmt(verified)} are "
            f"accepted, as by speculative sampling; with rejection {fmt(left)}"
        ),
    )
