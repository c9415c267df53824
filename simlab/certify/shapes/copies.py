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
    """Arrays of a kind, of which some rows are converted once and then handed out as :class:`Copies`.

    Rows are known by what they are, not by their values: only those that ``keep`` was told of, which last as long.
    """

    def keep(self, *rows: Array) -> KeptArrays:
        """The same, with these rows kept."""
        self.__dict__["_kept"] = {id(one): (one, self._copies(one)) for one in rows}
        return self

    def rows(self, values: Array) -> Any:
        kept = self.__dict__.get("_kept", {}).get(id(values))
        if kept is None or kept[1] is None:
            return super().rows(values)
        copied = kept[1]()
        if self.library == "numpy":
            return copied
        import torch

        tensor = torch.from_numpy(copied)
        return tensor.view(torch.bfloat16) if self.dtype == "bfloat16" else tensor

    def _copies(self, values: Array) -> Copies | None:
        """Copies of converted rows; none on a device, which gets them anew."""
        if self.library == "cuda":
            return None
        made = super().rows(values)
        if self.library == "numpy":
            return Copies(made)
        import torch

        return Copies(made.view(torch.int16).numpy() if self.dtype == "bfloat16" else made.numpy())

    @classmethod
    def of(cls, arrays: Arrays, *rows: Array) -> KeptArrays:
        """Arrays of the same kind that keep these rows."""
        return cls(arrays.library, arrays.dtype, arrays.coins).keep(*rows)
