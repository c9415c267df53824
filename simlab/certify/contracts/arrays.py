"""Which arrays an operator is given: of NumPy or PyTorch, in which precision, and on which device.

Rows are rounded to the nearest number of the precision. Uniforms are what generators make of as many random bits as the
precision has: multiples of 2^-24 in [0, 1 - 2^-24] in float32, of 2^-8 in bfloat16. Noise is made of uniforms that are
neither 0 nor 1, in float32 at least, as engines do. Beside coarse rows of any shape uniforms are those of float32 too:
one of eight bits can choose among 256 tokens only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from simlab.arrays import Array

BITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}  # of a significand, and of a uniform
COARSE = 16  # bits below which ratios and sums of arbitrary rows are off by more than is rounding
LIBRARIES = ("numpy", "torch", "cuda")

DEFINED = """\
coins = lambda uniforms: real(np.floor(uniforms * 2.0**{bits}) / 2.0**{bits})
exponential = lambda rng, shape: -np.log1p(-np.clip(rng.random(shape), 2.0**-25, 1 - 2.0**-25))"""


@dataclass(frozen=True)
class Arrays:
    """Arrays of one kind; see :meth:`named`."""

    library: str = "numpy"
    dtype: str = "float32"
    coins: str = ""  # the precision of uniforms, where it is not that of rows

    @classmethod
    def named(cls, name: str) -> Arrays:
        """``numpy``, ``torch`` or ``cuda``, or one of them with a precision: ``torch.bfloat16``.

        Raises ``ValueError`` for another name, and for a precision or device that is not there.
        """
        library, _, dtype = name.partition(".")
        dtype = dtype or "float32"
        if library not in LIBRARIES or dtype not in BITS:
            raise ValueError(
                f"arrays is {name!r}; expected {', '.join(LIBRARIES)}, or one of them with .{', .'.join(BITS)}"
            )
        if library == "numpy" and dtype == "bfloat16":
            raise ValueError("arrays is 'numpy.bfloat16', which NumPy has not; expected torch.bfloat16")
        if library != "numpy":
            _torch(name)
        return cls(library, dtype)

    @property
    def bits(self) -> int:
        """Bits of a significand."""
        return BITS[self.dtype]

    @property
    def coarse(self) -> bool:
        """Whether only rows made for it are free of rounding."""
        return self.bits < COARSE

    @property
    def of_any_shape(self) -> Arrays:
        """The same for rows that are not made for it: coins of coarse ones have 24 bits."""
        return replace(self, coins="float32") if self.coarse else self

    @property
    def definitions(self) -> str:
        """Lines of a program that define ``real``, ``whole``, ``coins`` and ``noise``, which make such arrays."""
        noise = "noise = real"
        if self.library == "numpy":
            lines = [f"real, whole = np.{self.dtype}, np.int64"]
            noise = noise if self.noise == self.dtype else f"noise = np.{self.noise}"
        else:
            made = f"lambda values: torch.tensor(np.asarray(values), dtype=torch.{{}}, device={self._device!r})"
            lines = ["import torch", "", f"real = {made.format(self.dtype)}", f"whole = {made.format('int64')}"]
            noise = noise if self.noise == self.dtype else f"noise = {made.format(self.noise)}"
        return "\n".join([*lines, noise, DEFINED.format(bits=self.bits)])

    @property
    def read(self) -> str:
        """How a program reads an answer with NumPy, which stands for the braces; of a device it has to be fetched."""
        return "torch.as_tensor({}).cpu()" if self.library == "cuda" else "{}"

    def rows(self, values: Array) -> Any:
        """Real numbers."""
        return self._made(values, self.dtype)

    def rounded(self, values: Array) -> Array:
        """Real numbers in their precision, as float64 of NumPy."""
        made = self.rows(values)
        return np.array(made if self.library == "numpy" else made.double().cpu().numpy(), np.float64)

    def rows_at(self, values: Array, there: Array) -> Any:
        """Real numbers: the rows of ``values[..., V]`` that are ``there``, behind each other."""
        return self.rows(values[there])

    def upto(self, values: Array, at: tuple[int, ...]) -> Array:
        """The CDF of row ``at`` of ``values[..., V]``, as it is given."""
        return values[at].cumsum()

    def whole(self, values: Array) -> Any:
        """Whole numbers, as int64."""
        return self._made(values, "int64")

    def uniforms(self, uniforms: Array) -> Any:
        """Coins in [0, 1) of float64 ``uniforms``, cut off after as many bits as their precision has."""
        dtype = self.coins or self.dtype
        return self._made(np.floor(np.asarray(uniforms) * 2.0 ** BITS[dtype]) * 2.0 ** -BITS[dtype], dtype)

    def exponential(self, uniforms: Array) -> Any:
        """Exponential noise above 0: the smaller a uniform is, the smaller."""
        return self._made(self._exponential(uniforms), self.noise)

    def gumbel(self, uniforms: Array) -> Any:
        """Gumbel noise: minus the logarithm of the exponential one."""
        noise = self._exponential(uniforms)
        return self._made(np.negative(np.log(noise, out=noise), out=noise), self.noise)

    def _exponential(self, uniforms: Array) -> Array:
        """In the precision of the uniforms, and in one array: those of a block of a large vocabulary are many."""
        bits = BITS[self.noise]
        noise = np.floor(uniforms * 2.0**bits)
        noise += 0.5
        noise *= -(2.0**-bits)
        np.maximum(noise, -np.nextafter(noise.dtype.type(1), 0), out=noise)  # the last one may be rounded to -1
        return np.negative(np.log1p(noise, out=noise), out=noise)

    @property
    def noise(self) -> Literal["float32", "float64"]:
        """The precision of noise."""
        return "float64" if self.dtype == "float64" else "float32"

    def _made(self, values: Array, dtype: str) -> Any:
        if self.library == "numpy":
            return np.array(values, dtype)
        torch = _torch(self.library)
        return torch.tensor(np.asarray(values), dtype=getattr(torch, dtype), device=self._device)

    @property
    def _device(self) -> str:
        return "cuda" if self.library == "cuda" else "cpu"


SINGLE, DOUBLE = Arrays(), Arrays(dtype="float64")


def _torch(name: str) -> Any:
    try:
        import torch
    except ImportError:
        raise ValueError(f"arrays is {name!r}, but torch is not installed; pip install 'simlab[torch]'") from None
    if name.startswith("cuda") and not torch.cuda.device_count():  # starts no device, which would survive no fork
        raise ValueError(f"arrays is {name!r}, but there is no CUDA device here")
    return torch
