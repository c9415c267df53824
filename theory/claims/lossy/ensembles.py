"""Claims about lossless verification against a mixture, and about lenience."""

from __future__ import annotations

from theory.claims.base import Claims, Finding
from theory.claims.evidence import holds_if
from theory.claims.proven import over_more_tokens, proven
from theory.claims.sources import Repository, said

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
    """
    return holds_if(proven("ensemble.frontier"), over_more_tokens("ensemble.frontier", seed))


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
