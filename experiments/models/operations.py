"""Count of torch operations and of synchronisations with the host in a piece of code.

On an accelerator every operation is a kernel that the host has to launch, and every value that is read back makes it
wait for all of them. Both are the same on a CPU, where they can be counted without an accelerator.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

# operations whose result, or its size, the host needs at once
READS = frozenset(
    f"aten.{name}" for name in ("_local_scalar_dense", "item", "is_nonzero", "nonzero", "masked_select", "equal")
) | {"aten._unique2", "aten.unique_dim", "aten.unique_consecutive", "aten.bincount", "aten.allclose"}
# methods that hand numbers over; on a CPU they are no operations
HANDED = frozenset(("tolist", "numpy", "cpu", "__array__"))
# operations that make another view of the same numbers, for which nothing is launched
VIEWS = frozenset(
    f"aten.{name}"
    for name in (
        "_unsafe_view",
        "alias",
        "as_strided",
        "detach",
        "expand",
        "permute",
        "select",
        "slice",
        "split",
        "split_with_sizes",
        "squeeze",
        "t",
        "transpose",
        "unbind",
        "unsqueeze",
        "view",
    )
)


class Operations(TorchDispatchMode):
    """A context that counts the operations within it, and those that make the host wait."""

    def __init__(self) -> None:
        super().__init__()
        self.of: Counter[str] = Counter()
        self.waits: Counter[str] = Counter()
        self._methods = _Methods(self.waits)

    def __enter__(self) -> Operations:
        self._methods.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)
        self._methods.__exit__(*raised)

    @property
    def launched(self) -> int:
        """Operations for which a device has something to do."""
        return sum(count for name, count in self.of.items() if name not in VIEWS)

    @property
    def host_reads(self) -> int:
        """Operations whose result the host waits for."""
        return sum(self.waits.values())

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = str(func.overloadpacket)
        self.of[name] += 1
        if name in READS or (name.startswith("aten.index") and _by_flags(args)) or (name == REPEAT and _sized(args)):
            self.waits[name] += 1
        return func(*args, **(kwargs or {}))


class _Methods(TorchFunctionMode):
    """Counts the calls of methods that are no operations."""

    def __init__(self, waits: Counter[str]) -> None:
        super().__init__()
        self.waits = waits

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in HANDED:
            self.waits[name] += 1
        return func(*args, **(kwargs or {}))


REPEAT = "aten.repeat_interleave"


def _by_flags(args: Any) -> bool:
    """Whether one of the indices is a mask: how many are picked is known only when it is read."""
    flags = torch.bool, torch.uint8
    given = args[1] if len(args) > 1 and isinstance(args[1], list | tuple) else ()
    return any(isinstance(index, Tensor) and index.dtype in flags for index in given)


def _sized(args: Any) -> bool:
    """Whether the number of repetitions is a tensor."""
    return any(isinstance(value, Tensor) for value in args[:2])
