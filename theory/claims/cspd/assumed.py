"""What several claims about CSpD are about or assume, in one wording."""

from theory.claims.sources import Repository

CODE = Repository("MarkXCloud/CSpD", "d91f721ab15307df17215d21f31ddb9159add238")

UNBOUNDED = "unbounded proposals: after a rejection, proposals are drawn until one is accepted"
LAST_NOISE = "noise in the last step: the last denoising step of both models adds Gaussian noise of full rank"
INDEPENDENT_LAST_NOISE = (
    "independent last noise: the draft's noise of the last step is independent of both trajectories down to $x_1$, as "
    "it is where noise is shared step by step, and where it is not shared"
)
ALL_SHARED = "all noise shared: the trajectories share $x_T$ and the noise of every step"
FULL_RANK = "noise in all steps: every denoising step adds Gaussian noise of full rank, the last one too"
KNOWN_DENSITIES = "known densities: both models' densities of a token exist and can be evaluated"
SOMEWHERE_ABOVE = r"somewhere above: $\Sigma p(x_0 | x_1^p) > q(x_0 | x_1^q)$ at some $x_0$"
