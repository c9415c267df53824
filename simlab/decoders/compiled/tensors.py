"""A process of torch on a CPU as kernels see it: NumPy in and out, over the same memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from simlab.processes import Process
from simlab.processes.wrapped import Wrapped


class Tensors(Wrapped):
    """The rows of ``process`` as NumPy arrays, which are not copied."""

    def __init__(self, process: Process) -> None:
        super().__init__(process)
        self.uniform = process.uniform.detach().numpy()
        self._paths: dict[int, tuple[np.ndarray, torch.Tensor]] = {}  # by table, which so stays alive

    def forward(self, tokens: np.ndarray, start: np.ndarray, count: int) -> Any:
        return self.process.forward(torch.from_numpy(tokens), torch.from_numpy(start), count).detach().numpy()

    def forward_tree(self, tokens: np.ndarray, start: np.ndarray, nodes: np.ndarray, paths: np.ndarray) -> Any:
        return self.process.forward_tree(*self._tree(tokens, start, nodes, paths)).detach().numpy()

    def hold(self, tokens: np.ndarray, start: np.ndarray, nodes: np.ndarray, paths: np.ndarray) -> None:
        self.process.hold(*self._tree(tokens, start, nodes, paths))

    def _tree(self, tokens: np.ndarray, start: np.ndarray, nodes: np.ndarray, paths: np.ndarray) -> list[torch.Tensor]:
        if id(paths) not in self._paths:
            self._paths[id(paths)] = paths, torch.from_numpy(paths)
        return [*map(torch.from_numpy, (tokens, start, nodes)), self._paths[id(paths)][1]]

    def over(self, tokens: np.ndarray, length: np.ndarray) -> Any:
        return self.process.over(torch.from_numpy(tokens), torch.from_numpy(length)).numpy()

    def closed(self, tokens: np.ndarray) -> Any:
        return self.process.closed(torch.from_numpy(tokens)).numpy()
