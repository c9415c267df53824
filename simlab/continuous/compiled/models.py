"""A model of continuous tokens as plain arrays of one type, diagonal or dense, learned range or not.

Whatever a model does is an affine map with noise, A x + B c + o + L e, so one index says which map is meant. Kernel t
stands at t - 1, and four more at the end (:mod:`simlab.continuous.compiled.constants`): ``END`` is what steps after
the last noise do; ``MARGINAL``, the law of x_0, and ``START``, that of x_T, do not look at a state; ``CONDITION`` has
no noise, and its B x + o is the condition level + ar_coefficient x of the token after x.

A matrix is ``[d, K]``, K = 1 for a diagonal one and d for a dense one, so that both compile to one function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from simlab.continuous.models.chains import Chain
from simlab.continuous.models.gaussians import DENSE, DIAGONAL
from simlab.continuous.models.merged import EndMap, end_map
from simlab.continuous.models.sequences import Tokens

Ahead = tuple[np.ndarray, np.ndarray, Chain]


class CompiledModel(NamedTuple):
    """J chains of one ``Tokens``: its own first, then those of the tokens ahead."""

    slope: np.ndarray  # [J, T + 4, d, K], as the next three: A
    condition_gain: np.ndarray  # B
    factor: np.ndarray  # L
    inverse: np.ndarray  # of L; 0 where that is singular
    offset: np.ndarray  # [J, T + 4, d]: o
    volume: np.ndarray  # [J, T + 4]: log |det L|
    range_width: np.ndarray  # [J, R, d], as the next two: R = T for a learned range, else 0
    range_slope: np.ndarray
    range_bias: np.ndarray
    end: np.ndarray  # [J]: 1 where the last step adds its noise, else 0
    first: np.ndarray  # [d]: what stands before the first token
    shift: np.ndarray  # [J]: how many steps kernel 1 is farther on the tape, where steps were cut or merged


def compiled_model(
    tokens: Tokens, ahead: Sequence[Ahead], with_marginal: bool, judged: Callable[[Chain], Chain]
) -> CompiledModel:
    """``tokens`` as arrays, with chains for the tokens ``ahead``, as ``Tokens.ahead`` gives them.

    Without ``with_marginal`` the marginals are left out, which do not exist for every chain. Of each chain what
    ``judged`` makes of it is taken. Raises ``ValueError`` where that leaves chains of several lengths.
    """
    whole = [(tokens.ar_coefficient, tokens.level, tokens.chain), *ahead]
    known = [(ar_coefficient, level, judged(chain)) for ar_coefficient, level, chain in whole]
    steps = sorted({chain.steps for _, _, chain in known})
    if len(steps) > 1:
        raise ValueError(f"the rule leaves chains of {steps} steps of one model; expected one length, or decoder.run")
    maps = [_maps(*each, end_map(chain), with_marginal) for each, (_, _, chain) in zip(known, whole, strict=True)]
    slope, condition_gain, factor, offset = (np.stack([each[k] for each in maps]) for k in range(4))
    none = np.zeros((0, tokens.dimension))
    learned = [chain.learned or (none, none, none) for _, _, chain in known]
    range_width, range_slope, range_bias = (np.stack([each[k] for each in learned]) for k in range(3))
    end = np.array([float(chain.noisy_end) for _, _, chain in known])
    shift = np.array(
        [
            0 if short is chain else (chain.last_noise if chain.last_noise <= chain.steps else 0) - 1
            for (_, _, chain), (_, _, short) in zip(whole, known, strict=True)
        ]
    )
    volume = DENSE.log_volume(factor) if factor.shape[-1] > 1 else DIAGONAL.log_volume(factor[..., 0])
    inverse = _inverses(factor, np.isfinite(volume))
    return CompiledModel(
        slope,
        condition_gain,
        factor,
        inverse,
        offset,
        volume,
        range_width,
        range_slope,
        range_bias,
        end,
        tokens.first,
        shift,
    )


def _maps(
    ar_coefficient: np.ndarray, level: np.ndarray, chain: Chain, end: EndMap, with_marginal: bool
) -> tuple[np.ndarray, ...]:
    """Slopes, drives and factors ``[T + 4, d, K]`` and offsets ``[T + 4, d]``."""
    none = np.zeros_like(chain.slope[0])
    condition_gain, factor, offset = _marginal(chain) if with_marginal else (none, none, np.zeros(chain.dimension))
    return (
        _matrices([*chain.slope, end.slope, none, none, none]),
        _matrices([*chain.condition_gain, end.condition_gain, condition_gain, chain.start_gain, ar_coefficient]),
        _matrices([*chain.factor, none, factor, chain.start_factor, none]),
        np.stack([*chain.offset, end.offset, offset, chain.start_mean, level]),
    )


def _marginal(chain: Chain) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How the mean of x_0 follows the condition, a root of its covariance, and its mean under the condition 0."""
    size = chain.dimension
    law = chain.marginal(np.concatenate([np.zeros((1, size)), np.eye(size)]))
    condition_gain, root = (law.mean[1:] - law.mean[0]).T, law.root()
    return (
        (np.diag(condition_gain), np.diag(root), law.mean[0]) if chain.diagonal else (condition_gain, root, law.mean[0])
    )


def _matrices(values: Sequence[np.ndarray]) -> np.ndarray:
    """``[..., d, K]``."""
    stacked = np.stack(values)
    return stacked[..., None] if stacked.ndim == 2 else stacked


def _inverses(roots: np.ndarray, regular: np.ndarray) -> np.ndarray:
    """The inverses of those of the matrices ``[..., d, K]`` that are ``regular[...]``, else 0."""
    found = np.zeros_like(roots)
    found[regular] = np.linalg.inv(roots[regular]) if roots.shape[-1] > 1 else 1 / roots[regular]
    return found
