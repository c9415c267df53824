"""Claims about MARS as its published code verifies a tree (Song et al., arXiv 2601.15498; the abstract was read)."""

from __future__ import annotations

from fractions import Fraction
from math import log

import numpy as np

from simlab.rules import Mars, MarsReference, Rule, Speculative
from theory.claims.base import Claims, Finding
from theory.claims.evidence import control, counterexample, refuted_if, require
from theory.claims.format import fmt, fmt_row, numbers
from theory.claims.lossy.truncation import PAIR
from theory.claims.sources import Repository
from theory.distances import tv
from theory.example_processes import point_mass
from theory.search import Pmf

CLAIMS = Claims("lossy")
CODE = Repository("5SSjw/MARS", "8909b411bcf69ef9876acf63366d5a72de32cd49")
FILE, FUNCTION = "mars/model/utils.py", "evaluate_posterior"
COMPUTES = (
    "When sampling, a position is relaxed if the second largest of the processed logits over the largest exceeds "
    "relaxation_threshold, 0.9: then the first child of the node that is one of the two likeliest tokens is accepted. "
    "Elsewhere a child x is accepted with min(1, p(x)/q(x)), q(x) from retrieve_probs, and after a rejection p(x) "
    "becomes max(0, p(x) - q(x)) and p is scaled up: “Standard rejection sampling”, as its comment says."
)
UNRELAXED = 2  # a normaliser of logits at which the pair is not relaxed


def one_child(rule: Rule, p: Pmf, q: Pmf, x: int) -> list[Fraction]:
    """The law of the token emitted at a node whose only child is x, without chance: no draw of q."""
    accepted, after = rule.accept(p, q, x), rule.residual(p, q, x)
    return [(1 - accepted) * mass + (accepted if y == x else 0) for y, mass in enumerate(after)]


@CLAIMS.claim(
    "mars-reference.unrelaxed",
    CODE.function(FILE, FUNCTION, f"{COMPUTES} The children are the draft model's likeliest tokens, not drawn from q."),
    r"At a position that is not relaxed, a node whose only child is the token $x$, whatever $p$, $q$ and $x$, emits a "
    r"token of law $p$ when $x$ is accepted with $\min(1, p(x)/q(x))$ and else replaced from $p$ with $\max(0, p(x) - "
    r"q(x))$ in the place of $p(x)$, scaled up.",
)
def unrelaxed(seed: int) -> Finding:
    r"""The child is chosen, not drawn, so the draft row that belongs to it is the point mass on $x$, with which the
    rule would be lossless: accept with $p(x)$, else draw from $p$ without $x$. With $q(x) < 1$ in the ratio it is
    accepted with $\min(1, p(x)/q(x)) > p(x)$. For $p = q = (2/3, 1/3)$ it is always accepted, not two times
    out of three.
    """
    p = q = (Fraction(2, 3), Fraction(1, 3))
    x = 0
    drawn = one_child(MarsReference(UNRELAXED), p, q, x)
    scored = one_child(Speculative(), p, point_mass(x, 2), x)
    require(tv(scored, p) == 0, "a child scored with its point mass is said to be verified with loss")
    return refuted_if(
        tv(drawn, p) > 0,
        counterexample(
            f"p = q = {fmt_row(p)}, the child is the first token: emits {fmt_row(drawn)}, at TV {fmt(tv(drawn, p))}",
            numbers("mars-reference", {"normaliser": UNRELAXED}, p=p, q=q, child=x, law=drawn, tv=tv(drawn, p)),
        ),
        control("the same check finds the law p where the child is scored with the point mass it is"),
    )


@CLAIMS.claim(
    "mars-reference.shift",
    CODE.function(FILE, FUNCTION, COMPUTES, "ours"),
    r"For all logits $z$ and $z'$ with one softmax, $z_{(2)}/z_{(1)} > 9/10$ if and only if $z'_{(2)}/z'_{(1)} > "
    r"9/10$, where $z_{(1)}$ and $z_{(2)}$ are the two largest logits.",
)
def shift(seed: int) -> Finding:
    r"""Adding $c$ to all logits leaves the softmax and changes the ratio, $(z_{(2)} + c)/(z_{(1)} + c)$, which goes to
    1 as $c$ grows. With $z = \log p + c$ and $p = (1/2, 3/10, 1/5)$ it exceeds 9/10 at $c = 20$ and does not at $c =
    2$. The margin $z_{(1)} - z_{(2)} = \log(p_{(1)}/p_{(2)})$ is left alone.
    """
    p, constants = PAIR[0], (2, 20)
    logits = [[log(mass) + c for mass in p] for c in constants]
    relaxed = [bool(Mars(c).relaxed_rows(np.array(p, dtype=object))[0]) for c in constants]
    margins = [z[0] - z[1] > log(2) for z in logits]
    require(margins[0] == margins[1], "the difference of the two largest logits is said to depend on a constant")
    return refuted_if(
        relaxed[0] != relaxed[1],
        counterexample(
            f"p = {fmt_row(p)}: logits {fmt_row(logits[0])} have the ratio {logits[0][1] / logits[0][0]:.3f}, and "
            f"{fmt_row(logits[1])}, with the same softmax, {logits[1][1] / logits[1][0]:.3f}",
            numbers(p=p, logits=logits, ratios=[z[1] / z[0] for z in logits], relaxed=relaxed),
        ),
        control("the same check finds that the difference of the two largest logits does not depend on the constant"),
    )
