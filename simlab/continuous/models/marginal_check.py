"""Check that a chain's marginal is N(c, covariance), which integrating tokens out needs.

All is known in closed form but for a learned range that follows the state. There the mean is that of any noise, since
noise is 0 in the mean; and as dimensions do not mix, the variance of x_0 lies between those of the lowest and of the
highest standard deviations.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simlab.continuous.models.chains import Chain

CLOSE, SHARE = 0.02, 0.05  # how far means, and variances as a share, may be off: models start from N(0, I)
NEEDS = "in place, tokens are integrated out, which needs chains that end in N(c, covariance)"


def check_end(chain: Chain, covariance: np.ndarray) -> None:
    """Raise ``ValueError`` unless ``chain`` ends in N(c, ``covariance``) under every condition c, or nearly so.

    Near are slopes of the mean in c to 0.02, its constant part to 0.02 standard deviations, and covariances to 5 % of
    the largest entry. A learned range that follows the state fails only where its variance is wrong for sure.
    """
    dense, size = chain.layout.dense, chain.dimension
    wanted = dense(covariance)
    probes = np.concatenate([np.zeros((1, size)), np.ones((1, size)) if chain.diagonal else np.eye(size)])
    least, most = (bound.marginal(probes) for bound in bounds(chain))

    constant, slopes = least.mean[0], least.mean[1:] - least.mean[0]  # one vector determines a diagonal map
    slope = np.diag(slopes[0]) if chain.diagonal else slopes.T
    off = np.abs(slope - np.eye(size))
    if off.max() > CLOSE:
        at = np.unravel_index(off.argmax(), off.shape)
        raise ValueError(
            f"the chain ends in a mean that follows the condition by {slope[at]:.4g}; expected {int(at[0] == at[1])}, "
            f"at most {CLOSE} off: {NEEDS}"
        )
    off = np.abs(constant) - CLOSE * np.sqrt(np.diag(wanted))
    if off.max() > 0:
        raise ValueError(
            f"the chain ends in the mean {constant[off.argmax()]:.4g} under the condition 0; expected 0, at most "
            f"{CLOSE} standard deviations off: {NEEDS}"
        )
    off = np.maximum(least.covariance - wanted, wanted - most.covariance)
    if off.max() > SHARE * np.abs(wanted).max():
        at = np.unravel_index(off.argmax(), off.shape)
        what = "variance" if at[0] == at[1] else "covariance"
        found = " to ".join(dict.fromkeys(f"{bound.covariance[at]:.4g}" for bound in (least, most)))
        raise ValueError(
            f"the chain ends in {what} {found} where covariance says {wanted[at]:.4g}; "
            f"expected at most {SHARE:.0%} off: {NEEDS}"
        )


def bounds(chain: Chain) -> tuple[Chain, Chain]:
    """Chains of fixed variances that ``chain`` lies between; both are it where standard deviations are fixed."""
    if chain.learned is None:
        return chain, chain
    width, slope, _ = chain.learned
    still = np.stack([chain.root(t, np.zeros((1, chain.dimension)))[0] for t in range(1, chain.steps + 1)])
    ends = [np.where(slope == 0, still, factor) for factor in (chain.factor, chain.factor * np.exp(width))]
    low, high = (replace(chain, factor=factor, learned=None) for factor in ends)
    return low, high
