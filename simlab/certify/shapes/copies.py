"""Copies of large arrays that cost nothing until they are written to: private maps of the same memory."""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.arrays import Arrays

LARGE = 1 << 20  # bytes from which a map is quicker than a copy


class Copies:
    """Gives copies of an array, each of which may be written to. Where memory cannot be mapped so it copies."""

    def __init__(self, array: Array) -> None:
        self.array = np.ascontiguousarray(array)
        self._file = -1
        if self.array.nbytes >= LARGE and hasattr(os, "memfd_create"):
            self._file = os.memfd_create("rows")
            with os.fdopen(os.dup(self._file), "wb") as written:
                written.write(self.array.data.cast("B"))
            self.array = self._mapped()  # the memory of the file alone is kept

    def __call__(self) -> Array:
        return self.array.copy() if self._file < 0 else self._mapped()

    def _mapped(self) -> Array:
        """The file as memory of its own; it goes with the array."""
        private = mmap.mmap(self._file, self.array.nbytes, flags=mmap.MAP_PRIVATE)
        return np.frombuffer(private, self.array.dtype).reshape(self.array.shape)

    def __del__(self) -> None:
        if self._file >= 0:
            os.close(self._file)


class KeptArrays(Arrays):
    """Arrays of a kind, of which some rows are converted once and then handed out as :class:`Copies`; their CDFs stay.

    Rows are known by what they are, not by their values: only those that ``keep`` was told of, which last as long.
    """

    def keep(self, *rows: Array) -> KeptArrays:
        """The same, with these rows kept."""
        self.__dict__["_kept"] = {id(one): one for one in rows}
        self.__dict__["_made_of"] = dict[tuple[int, bytes], Copies]()
        self.__dict__["_upto"] = dict[tuple[int, tuple[int, ...]], Array]()
        return self

    def upto(self, values: Array, at: tuple[int, ...]) -> Array:
        if not self._keeps(values):
            return super().upto(values, at)
        kept, key = self.__dict__["_upto"], (id(values), at)
        if key not in kept:
            kept[key] = super().upto(values, at)
        return kept[key]

    def rows(self, values: Array) -> Any:
        return self._copy(values) if self._keeps(values) else super().rows(values)

    def rows_at(self, values: Array, there: Array) -> Any:
        return self._copy(values, there) if self._keeps(values) else super().rows_at(values, there)

    def _keeps(self, values: Array) -> bool:
        """Whether these are rows that are kept; none is on a device, which gets them anew."""
        return self.library != "cuda" and id(values) in self.__dict__.get("_kept", {})

    def _copy(self, values: Array, there: Array | None = None) -> Any:
        """A copy of converted rows, all of them or those that are ``there``, which are converted when first asked."""
        made, key = self.__dict__["_made_of"], (id(values), b"" if there is None else there.tobytes())
        if key not in made:
            made[key] = self._copies(values if there is None else values[there])
        copied = made[key]()
        if self.library == "numpy":
            return copied
        import torch

        tensor = torch.from_numpy(copied)
        return tensor.view(torch.bfloat16) if self.dtype == "bfloat16" else tensor

    def _copies(self, values: Array) -> Copies:
        """Copies of rows that are converted."""
        if self.library == "numpy":
            return Copies(np.asarray(values, self.dtype))
        import torch

        made = super().rows(values)
        return Copies(made.view(torch.int16).numpy() if self.dtype == "bfloat16" else made.numpy())

    @classmethod
    def of(cls, arrays: Arrays, *rows: Array) -> KeptArrays:
        """Arrays of the same kind that keep these rows."""
        return cls(arrays.library, arrays.dtype, arrays.coins).keep(*rows)
