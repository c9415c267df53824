"""Claims about Medusa's typical acceptance (Cai et al., arXiv 2401.10774), and its published code, which was read."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import scipy

from simlab.rules import MedusaReference, Rule, Speculative, Typical
from theory.claims.base import Claims, Finding
from theory.claims.evidence import example, holds_if, identity, rejects_mutants
from theory.claims.format import fmt, fmt_row
from theory.claims.leviathan.speculative_rule import random_pairs
from theory.claims.lossy.mars import one_child
from theory.claims.lossy.truncation import PAIR
from theory.claims.sources import Repository, derived
from theory.distances import tv
from theory.exact import step_law
from theory.example_processes import point_mass
from theory.search import Pmf

CLAIMS = Claims("lossy")
CODE = Repository("FasterDecoding/Medusa", "e2a5d20c048a9b0a4092e6933c34313687422518")
FILE, FUNCTIONS = "medusa/model/utils.py", "generate_candidates and evaluate_posterior"
COMPUTES = (
    "With fast=True and sampling='typical', the defaults of medusa_generate, which calls both, a step begins with the "
    "argmax of the logits, whatever the temperature, and goes on with the topk of each head. A candidate's token x is "
    "kept if p(x) exceeds min(posterior_threshold, posterior_alpha exp(-H)), p at the temperature; the longest path is "
    "taken, of equals the likeliest. With fast=False the first token is drawn, and evaluate_posterior calls "
    "get_typical_posterior_mask with six arguments, which takes five. With sampling='nucleus' candidates are compared "
    "with tokens that are drawn, whatever fast is."
)


def likely(p: Pmf) -> list[bool]:
    """The tokens that typical acceptance keeps."""
    least = min(Typical.epsilon, Typical.delta * exp(-scipy.stats.entropy([*map(float, p)])))
    return [mass > least for mass in p]


@CLAIMS.claim(
    "typical.law",
    derived(
        "after section 2.3.1 of Medusa",
        "Of the paper what is accepted is taken. That a rejected draft is replaced from p is how the rule is written "
        "here, and what it emits is computed here.",
    ),
    r"For every $p$ and $q$, with $A$ the tokens with $p(x) > \min(\epsilon, \delta e^{-H(p)})$, accepting $x$ if and "
    r"only if $x \in A$ and replacing from $p$ emits $q(x) 1[x \in A] + (1 - q(A)) p(x)$, whose TV to $p$ is $q(A)$ "
    r"times that between $p$ and $q$ cut to $A$; for $\delta < 1$ the likeliest token is in $A$.",
)
def typical_law(seed: int) -> Finding:
    r"""A draft in $A$ is emitted; one off $A$, of probability $1 - q(A)$, is replaced from $p$. The difference to $p$
    is $q(x) 1[x \in A] - q(A) p(x)$, which is $q(A)$ times that of $q$ cut to $A$ and $p$. And $-H(p) = \sum_x p(x)
    \log p(x) \le \log \max p$, so that $\delta e^{-H(p)} < \max p$: the likeliest token is always kept.
    """
    tried = random_pairs(seed, 60)

    def gap(rule: Rule) -> Fraction:
        worst = Fraction(0)
        for p, q in tried:
            kept, law = likely(p), step_law(rule, p, q)
            inside = [mass if keep else 0 * mass for mass, keep in zip(q, kept, strict=True)]
            said = [own + (1 - sum(inside)) * mass for own, mass in zip(inside, p, strict=True)]
            apart = sum(abs(own - sum(inside) * mass) for own, mass in zip(inside, p, strict=True)) / 2
            missing = Fraction(not kept[p.index(max(p))])
            worst = max(worst, tv(law, said), abs(tv(law, p) - apart), missing)
        return worst

    law = step_law(Typical(), *PAIR)
    return holds_if(
        gap(Typical()) == 0,
        identity(f"in rationals on {len(tried)} pairs over 2 to 6 tokens with zeros"),
        example(f"p = {fmt_row(PAIR[0])}, q = {fmt_row(PAIR[1])}, every token is in A: emits q, {fmt_row(law)}"),
        rejects_mutants(
            {"replaced by the likeliest": MedusaReference(), "the lossless rule": Speculative()}, gap, "the law emitted"
        ),
    )


@CLAIMS.claim(
    "medusa-reference.no-chance",
    CODE.function(FILE, FUNCTIONS, COMPUTES),
    r"With fast=True and sampling='typical', the defaults, nothing is drawn, whatever the temperature: for every $p$ "
    r"and every child $x$ the token emitted is $x$ or the likeliest one, surely.",
)
def no_chance(seed: int) -> Finding:
    """Children are the likeliest tokens of the heads, a child is kept or not by its probability alone, and where none
    is kept the next step begins with the likeliest token: no random number is asked for. So at temperature 1 a token's
    law is all on one token, and its TV from p is what p gives the others.
    """
    rows = [p for pair in random_pairs(seed, 60) for p in pair]

    def drawn(rule: Rule) -> Fraction:
        """What is left to chance: the most that is not surely the child, or surely the likeliest token."""
        laws = ((p, x, one_child(rule, p, point_mass(x, len(p)), x)) for p in rows for x in range(len(p)))
        return max(1 - max(law[x], law[p.index(max(p))]) for p, x, law in laws)

    p, x = PAIR[0], 2
    law = one_child(MedusaReference(), p, point_mass(x, len(p)), x)
    return holds_if(
        drawn(MedusaReference()) == 0,
        identity(f"in rationals on {len(rows)} rows over 2 to 6 tokens with zeros, and every child"),
        example(
            f"p = {fmt_row(p)}, the child is the third token: emitted in every run, at TV {fmt(tv(law, p))} from p"
        ),
        rejects_mutants(
            {
                "drawn from p cut to the likely tokens": MedusaReference(residual="truncated"),
                "drawn from p": Typical(),
            },
            drawn,
            "the law emitted",
        ),
    )
