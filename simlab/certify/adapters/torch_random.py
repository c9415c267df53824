"""Replace PyTorch's randomness by a NumPy generator.

An ordinary generator seeds PyTorch's own, once, so that what is tried is the real thing. A scripted one
(:mod:`simlab.certify.contracts.scripted`) serves the draws themselves: uniforms are its uniforms, ``multinomial`` is
one of them put through the CDF. All other distributions raise ``NotScripted``.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np

from simlab.certify.contracts.scripted import NotScripted, Scripted

UNKNOWN = {  # what a uniform does not stand for
    *("randn", "randn_like", "normal", "normal_", "log_normal_", "cauchy_", "exponential_", "geometric_", "poisson"),
    *("randint", "randint_like", "random_", "randperm", "bernoulli", "bernoulli_", "binomial", "dropout"),
}


class _Seeded:
    """The generator that PyTorch's global one was last seeded from."""

    rng: np.random.Generator | None = None


def drawing(rng: np.random.Generator) -> AbstractContextManager[Any]:
    """Within it PyTorch's global generator draws as ``rng`` says.

    PyTorch is seeded when a generator is first seen, so calls in turn with the same one go on in one stream.
    """
    if isinstance(rng, Scripted):
        _Seeded.rng = None  # what is drawn meanwhile is no part of a stream
        served: AbstractContextManager[Any] = _mode()(rng)
        return served
    if rng is not _Seeded.rng:
        import torch

        torch.manual_seed(int(rng.integers(2**63)))
        _Seeded.rng = rng
    return nullcontext()


@cache
def _mode() -> Any:
    import torch
    from torch.overrides import TorchFunctionMode

    class Served(TorchFunctionMode):
        """Every draw comes from a scripted generator."""

        def __init__(self, rng: Scripted) -> None:
            super().__init__()
            self.rng = rng

        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            named = kwargs or {}
            name = getattr(function, "__name__", "")
            if name in UNKNOWN:
                raise NotScripted(f"torch.{name}")
            if name == "rand":
                return self.filled(torch.empty(*args, **_without_generator(named)))
            if name == "rand_like":
                return self.filled(torch.empty_like(*args, **_without_generator(named)))
            if name == "uniform_":
                return self.uniform(*args, **_without_generator(named))
            if name == "multinomial":
                function(*args, **named)  # raises what it raises for weights that are none
                return self.tokens(*args, **_without_generator(named))
            return function(*args, **named)

        def filled(self, tensor: torch.Tensor) -> torch.Tensor:
            if tensor.dtype not in (torch.float32, torch.float64):
                raise NotScripted(f"uniforms of {tensor.dtype}")
            single = tensor.dtype == torch.float32
            values = self.rng.random(tensor.numel(), dtype=np.float32 if single else np.float64)
            return tensor.copy_(torch.from_numpy(values).view(tensor.shape))

        def uniform(self, tensor: torch.Tensor, low: float = 0.0, high: float = 1.0, **bounds: float) -> torch.Tensor:
            low, high = bounds.get("from", low), bounds.get("to", high)
            self.filled(tensor)
            return tensor if (low, high) == (0, 1) else tensor.mul_(high - low).add_(low)

        def tokens(self, weights: torch.Tensor, num_samples: int = 1, replacement: bool = False) -> torch.Tensor:
            if num_samples != 1:
                raise NotScripted("several tokens of one multinomial")
            rows = weights.double().reshape(-1, weights.shape[-1]).numpy()
            picked = [int(self.rng.token(row)) for row in rows]
            return torch.tensor(picked).view(*weights.shape[:-1], 1)

    return Served


def _without_generator(named: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in named.items() if name != "generator"}
