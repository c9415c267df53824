"""Claims about lossless verification against a mixture, and about lenience."""

from __future__ import annotations

from fractions import Fraction

from simlab.rules import Amplify, Mixture
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.evidence import example, holds_if, require
from theory.claims.format import fmt_row, numbers
from theory.claims.gsd.acceptance import weights
from theory.claims.proven import over_more_tokens, proven
from theory.claims.sources import Repository, said
from theory.distances import kl, tv
from theory.exact import acceptance, step_law

CLAIMS = Claims("lossy")
FAST_HSD = Repository("ZhouYuxuanYX/Fast-HSD", "00ffcd7a34e33d30de397e75f9f96355cbc391c4")


@CLAIMS.claim(
    "ensemble.frontier",
    said(
        "DIVERSED, abstract at NeurIPS 2025",
        "We first introduce Static Ensemble, a training-free fixed-weight mixture of draft and target that provably "
        "traces the Pareto-optimal trade-off between rejection probability and distributional bias.",
        "formalised",
        "The bias is the TV between the law that a step emits and p; optimal is among all rules with one draft from q. "
        "In KL divergence the mixture is not the best (example). "
        "The abstract of the proceedings (AISTATS 2026, arXiv 2604.07622) does not say it.",
    ),
    r"For every $p$, $q$ and $0 \le w \le 1$, lossless verification against $m = w p + (1 - w) q$ emits $m$, at "
    r"$\mathrm{TV}(m, p) = (1 - w) \mathrm{TV}(p, q)$, and accepts $1 - w \mathrm{TV}(p, q)$, the most that a rule "
    r"with one draft from $q$ can accept at that TV.",
)
def static_ensemble(seed: int) -> Finding:
    r"""The rule is the lossless one for the target $m$: it emits $m$ and accepts $1 - \mathrm{TV}(m, q)$
    (leviathan.acceptance). As $m - p = (1 - w) (q - p)$ and $m - q = w (p - q)$, the two distances are $(1 - w)$ and
    $w$ times $\mathrm{TV}(p, q)$. With $\alpha = 1 - \mathrm{TV}(p, q)$ the acceptance is $\alpha + \mathrm{TV}(m, p)$,
    the bound of leviathan.frontier.

    Which law of that TV is emitted is another matter: amplify reaches the bound as well, and with another law, which
    can be nearer to p in KL divergence.
    """
    return holds_if(proven("ensemble.frontier"), over_more_tokens("ensemble.frontier", seed), in_divergence())


def in_divergence() -> Evidence:
    """Rows for which amplify accepts as much at one TV, with a smaller divergence.

    Raises
    ------
    CheckFailed
        If there it accepts another share, at another TV, or with no smaller divergence.
    """
    p, q = weights(1, 3, 6), weights(4, 4, 2)
    rules = Mixture(Fraction(1, 2)), Amplify(2)
    laws = [step_law(rule, p, q) for rule in rules]
    nats = [float(kl(law, p)) for law in laws]
    same = [(acceptance(rule, p, q), tv(law, p)) for rule, law in zip(rules, laws, strict=True)]
    require(same == [(Fraction(4, 5), Fraction(1, 5))] * 2, f"acceptance and TV of the two rules are {same}")
    require(nats[1] < nats[0], f"the divergences are {nats}")
    return example(
        f"p = {fmt_row(p)}, q = {fmt_row(q)}: the mixture with w = 1/2 and amplify with k = 2 both accept 4/5 at TV "
        f"1/5; the mixture emits {fmt_row(laws[0])}, {nats[0]:.4f} nats from p, amplify {fmt_row(laws[1])}, "
        f"{nats[1]:.4f} nats",
        numbers(p=p, q=q, weight=Fraction(1, 2), k=2, laws=laws, kl=nats),
    )


@CLAIMS.claim(
    "lenience.bound",
    FAST_HSD.function(
        "simulation/algorithm.py",
        "naive",
        "Accepts with p/(l q), l the lenience, and draws from [p - q]+ after a rejection; nothing in it states the "
        "bound.",
        "ours",
    ),
    r"For every $p$, $q$ and $0 < l \le 1$, accepting with $\min(1, p/(l q))$ and replacing from $[p - q]^+$ or from "
    r"$[p - l q]^+$ emits every token $x$ with probability at most $p(x)/l$.",
)
def lenience(seed: int) -> Finding:
    r"""Let $R = \sum_x [q(x) - p(x)/l]^+$ be what is rejected. With $[p - q]^+$, a token with $p(x) \le q(x)$ is never
    drawn in place of another and emitted with $\min(q(x), p(x)/l)$; any other with $q(x) + R (p(x) -
    q(x))/\mathrm{TV}(p, q) \le p(x)$, as $R \le \mathrm{TV}(p, q)$. With $[p - l q]^+$, whose sum is $S = 1 - l + l R
    \ge l R$, a token with $p(x) > l q(x)$ is emitted with $q(x) + R (p(x) - l q(x))/S \le q(x) + (p(x) - l q(x))/l =
    p(x)/l$, and any other with $p(x)/l$.
    """
    return holds_if(proven("lenience.bound"), over_more_tokens("lenience.bound", seed))
