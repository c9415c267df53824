"""vllm-ascend's acceptance with `enable_block_verify`: three drafts of a draft model that is sure of token 0."""

from math import log

import numpy as np

P, GAMMA, CALLS = np.array([0.5, 0.5]), 3, 200_000  # the target's row at every position; the draft's is (1, 0)

rng = np.random.default_rng(0)
ratios = np.minimum(P[0] / np.ones((CALLS, GAMMA)), 1)
kept = np.cumprod(ratios, axis=1) >= np.cumprod(rng.random((CALLS, GAMMA)), axis=1)  # product against product
last = np.where(kept.any(axis=1), GAMMA - kept[:, ::-1].argmax(axis=1), 0)  # the longest prefix that passes

a = P[0] ** GAMMA  # of three uniforms: the probability that their product is at most a
exact = a * (1 - log(a) + log(a) ** 2 / 2)
print(f"three tokens 0: {np.mean(last == GAMMA):.3f} measured, {exact:.3f} exact, should be {a:.3f}")
