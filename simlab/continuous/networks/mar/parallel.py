"""MAR's own sampler: places in random order, a few at first and many at the end, each by its diffusion head.

    left_k = max(1, min(left_{k-1} - 1, floor(N cos(pi/2 (k + 1) / K)))),  all that are left in the last iteration
    scale_k = 1 + (guidance - 1) (N - left_k) / N

Tokens of one iteration do not see each other: with as many iterations as tokens it is the autoregressive law in random
order, which speculative decoding keeps, and with fewer it is another law. Li et al., arXiv 2406.11838, section 4.3;
the schedule of Chang et al., "MaskGIT", arXiv 2202.04200.
"""

from __future__ import annotations

from collections.abc import Callable
from math import cos, floor, pi

import torch
from torch import Tensor

from simlab.checks import check_at_least, check_number
from simlab.continuous.models.diffusion import forward_steps, respacing, schedule
from simlab.continuous.networks.mar.kernel import guided, kernel
from simlab.continuous.networks.mar.trunk import Mar
from simlab.continuous.networks.sampler import TRAIN_STEPS

Normals = Callable[..., Tensor]  # from sizes to standard normals


def mask_schedule(length: int, iterations: int) -> list[int]:
    """How many tokens each iteration leaves; the last leaves none, though guidance counts it as one.

    ``length``: N, tokens of an image. ``iterations``: K, from 1 to N. Returns K falling numbers, at least 1. Raises
    ``ValueError`` for numbers out of range.
    """
    check_at_least("length", length, 1)
    if check_at_least("iterations", iterations, 1) > length:
        raise ValueError(f"iterations is {iterations}; expected at most the {length} tokens")
    left, found = length, []
    for k in range(iterations):
        left = max(1, min(left - 1, floor(length * cos(pi / 2 * (k + 1) / iterations))))
        found.append(left)
    return found


@torch.no_grad()
def sample_tokens(
    model: Mar,
    classes: Tensor,
    order: Tensor,
    normals: Normals,
    iterations: int = 64,
    guidance: float = 1.0,
    temperature: float = 1.0,
    steps: int = 100,
) -> Tensor:
    """Tokens of images, as MAR's published sampler makes them: its last denoising step adds no noise.

    Returns ``float[B, N, d]``, in raster order. Raises ``ValueError`` for numbers out of range, and an ``order`` of
    another shape. See Li et al., arXiv 2406.11838, sections 3 and 4.3.

    Parameters
    ----------
    model
        The transformer with its head.
    classes
        ``int64[B]``; ``config.classes`` is no class.
    order
        ``int64[B, N]``, the places of each image; the last ones are made first.
    normals
        From sizes to standard normals, as ``partial(torch.randn, generator=g)``.
    iterations
        K; as many as tokens is autoregressive.
    guidance
        The scale at the end; it grows from 1 with the share of tokens that are there.
    temperature
        Factor of the noise of denoising steps; the noise they start from stays as it is.
    steps
        T, of the diffusion's thousand.
    """
    count, length, size = len(classes), model.config.length, model.config.token_dim
    if order.shape != (count, length):
        raise ValueError(f"order has the shape {tuple(order.shape)}; expected {(count, length)}")
    check_number("guidance", guidance)
    check_number("temperature", temperature)
    none = torch.full_like(classes, model.config.classes)
    tokens = model.z_proj.weight.new_zeros(count, length, size)
    left = length
    for k, after in enumerate(mask_schedule(length, iterations)):
        there = order[:, left:]
        here = order[:, (after if k < iterations - 1 else 0) : left]
        known = tokens.gather(1, there[..., None].expand(-1, -1, size))
        at = here[..., None].expand(-1, -1, model.config.dim)
        scale = 1 + (guidance - 1) * (length - after) / length
        given = model(classes, known, there).gather(1, at).flatten(0, 1)
        without = model(none, known, there).gather(1, at).flatten(0, 1) if guidance != 1 else None
        made = denoised(model, given, without, scale, normals, temperature, steps)
        tokens.scatter_(1, here[..., None].expand(-1, -1, size), made.to(tokens).unflatten(0, here.shape))
        left = after
    return tokens


def denoised(
    model: Mar, given: Tensor, without: Tensor | None, scale: float, normals: Normals, temperature: float, steps: int
) -> Tensor:
    """``[B, d]``: tokens of the conditions ``given[B, D]``, guided away from those ``without`` a class.

    States are in float32 at least, whatever the head is in: the least noisy steps change less than a half can show.
    """
    head, size = model.head, model.config.token_dim
    forward = forward_steps(schedule("cosine", TRAIN_STEPS, steps, "linspace"))
    original = torch.from_numpy(respacing(TRAIN_STEPS, steps, "linspace")).to(given.device)
    wide = torch.promote_types(given.dtype, torch.float32)

    def fresh() -> Tensor:
        return normals(len(given), size).to(given.device, wide)

    x = fresh()
    for t in range(steps, 0, -1):
        at, seen = original[t - 1 : t], x.to(given.dtype)
        predicted = head(seen, at, given).to(wide)
        if without is not None:
            predicted = guided(predicted, head(seen, at, without).to(wide), scale, size)
        mean, sd = kernel(predicted, x, forward, t)
        x = mean + temperature * sd * fresh() if t > 1 else mean
    return x
